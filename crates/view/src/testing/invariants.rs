//! The stated invariants of scenes, levels and drawings.

use std::collections::HashSet;

use crate::drawing::Drawing;
use crate::layout::{Point, Rect};
use crate::level::{Item, Level, MAX_PORTS};
use crate::plan::Plan;
use crate::scene::{Child, GroupId, MAX_CHILDREN, MAX_EXTENT, Maker, NodeId, Preview, Scene, ValueId};

/// The tolerance for coordinates.
const CLOSE: f64 = 0.01;

/// The violated invariants of a scene and of its levels.
pub(crate) fn scene_problems(scene: &Scene) -> Vec<String> {
    let mut found = Vec::new();
    tree(scene, &mut found);
    types(scene, &mut found);
    edges(scene, &mut found);
    for group in (0..scene.groups.len()).map(GroupId::new) {
        level(scene, group, &mut found);
    }
    found
}

fn tree(scene: &Scene, found: &mut Vec<String>) {
    let mut listed: HashSet<Child> = HashSet::new();
    for (at, group) in scene.groups.iter().enumerate() {
        let id = GroupId::new(at);
        if group.children.len() > MAX_CHILDREN {
            found.push(format!("group {at} has {} children", group.children.len()));
        }
        let mut below = 0;
        for (slot, child) in group.children.iter().enumerate() {
            if !listed.insert(*child) {
                found.push(format!("{child:?} is listed twice"));
            }
            let (parent, own, count) = match child {
                Child::Node(node) => (Some(scene.node(*node).group), scene.node(*node).slot, 1),
                Child::Group(inner) => {
                    let inner = scene.group(*inner);
                    if inner.kind.is_root() || inner.depth != group.depth + 1 {
                        found.push(format!("group {at} has a child of another graph"));
                    }
                    (inner.parent, inner.slot, inner.nodes.len())
                }
            };
            below += count;
            if parent != Some(id) || own as usize != slot {
                found.push(format!("{child:?} has another parent than group {at}"));
            }
        }
        if below != group.nodes.len() {
            found.push(format!("group {at} has {below} nodes in a range of {}", group.nodes.len()));
        }
    }
    let groups = scene.groups.iter().enumerate().filter(|(_, group)| !group.kind.is_root());
    let expected = scene.nodes.len() + groups.count();
    if listed.len() != expected {
        found.push(format!("{} of {expected} nodes and groups are listed", listed.len()));
    }
    for (at, node) in scene.nodes.iter().enumerate() {
        let mut group = Some(node.group);
        while let Some(around) = group {
            let around = scene.group(around);
            if !(around.nodes.start as usize..around.nodes.end as usize).contains(&at) {
                found.push(format!("node {at} is not in the range of its group"));
            }
            group = if around.kind.is_root() { None } else { around.parent };
        }
    }
}

fn types(scene: &Scene, found: &mut Vec<String>) {
    for (at, ty) in scene.types.iter().enumerate() {
        if ty.texts.len() != ty.shapes.len() + 1 {
            found.push(format!("type {at} has {} texts and {} shapes", ty.texts.len(), ty.shapes.len()));
        }
    }
    let elements = scene.previews.iter().flat_map(|preview| match preview {
        Preview::Extents { elements, .. } => elements.as_slice(),
        Preview::Text(_) => &[],
    });
    let extents = scene.types.iter().flat_map(|ty| ty.shapes.iter().flatten()).chain(elements);
    if extents.max().is_some_and(|extent| extent.index() >= scene.extents.len()) {
        found.push("a type or a small tensor has an extent outside of the table".to_owned());
    }
    if scene.extents.iter().any(|extent| extent.text().len() > MAX_EXTENT) {
        found.push("an extent is too long".to_owned());
    }
}

fn edges(scene: &Scene, found: &mut Vec<String>) {
    for (at, value) in scene.values.iter().enumerate() {
        let id = ValueId::new(at);
        if let Maker::Node { node, output } = value.maker
            && scene.node(node).outputs.get(output as usize) != Some(&Some(id))
        {
            found.push(format!("value {at} is no output of its maker"));
        }
        if value.preview.is_some_and(|preview| preview.index() >= scene.previews.len()) {
            found.push(format!("value {at} has unknown elements"));
        }
        if !scene.group(value.graph).kind.is_root() || value.ty.index() >= scene.types.len() {
            found.push(format!("value {at} has no graph or no type"));
        }
    }
    let reads =
        (0..scene.nodes.len()).map(NodeId::new).flat_map(|node| scene.reads(node).map(move |it| (it, node)));
    let mut reads: Vec<(ValueId, NodeId)> = reads.collect();
    reads.sort_unstable();
    let listed = (0..scene.values.len()).map(ValueId::new);
    let listed: Vec<_> =
        listed.flat_map(|value| scene.readers(value).iter().map(move |it| (value, *it))).collect();
    if reads != listed {
        found.push("the readers of values are not those of the nodes".to_owned());
    }
}

fn level(scene: &Scene, group: GroupId, found: &mut Vec<String>) {
    let level = Level::of(scene, group);
    let at = group.index();
    if level.items.len() > MAX_CHILDREN + 2 * (MAX_PORTS + 1) {
        found.push(format!("level {at} has {} items", level.items.len()));
    }
    let below = scene.group(group).nodes.clone().map(|node| NodeId::new(node as usize));
    let read = |node| scene.reads(node).map(move |value| (node, value));
    let reads: HashSet<(usize, ValueId)> =
        below.flat_map(read).filter_map(|(node, value)| Some((level.item_of(scene, node)?, value))).collect();
    let mut ends = HashSet::new();
    for link in &level.links {
        let values: HashSet<_> = link.values.iter().collect();
        if link.from.max(link.to) >= level.items.len() || !ends.insert((link.from, link.to)) {
            found.push(format!("level {at} has a link without ends or twice"));
        }
        if values.is_empty() || values.len() != link.values.len() {
            found.push(format!("level {at} has a link without values or with one twice"));
        }
        for value in &link.values {
            let makes = match level.items[link.from] {
                Item::Input(input) => input == *value,
                Item::MoreInputs(_) => true,
                Item::Child(Child::Node(node)) => scene.node(node).outputs.contains(&Some(*value)),
                Item::Child(Child::Group(_)) => level.source(scene, *value) == Some(link.from),
                Item::Output(_) | Item::MoreOutputs(_) => false,
            };
            let is_read = match level.items[link.to] {
                Item::Output(output) => output == *value,
                Item::MoreOutputs(_) => true,
                Item::Child(_) => reads.contains(&(link.to, *value)),
                Item::Input(_) | Item::MoreInputs(_) => false,
            };
            if !makes || !is_read {
                found.push(format!("level {at} has a link between items that do not share the value"));
            }
        }
    }
}

/// The violated invariants of the drawing of a plan.
pub(crate) fn drawing_problems(plan: &Plan, drawing: &Drawing) -> Vec<String> {
    let mut found = Vec::new();
    let mut frames: Vec<Vec<Rect>> = vec![Vec::new(); plan.frames.len()];
    for block in &drawing.blocks {
        frames[block.frame].push(block.rect);
    }
    for (at, rects) in frames.iter().enumerate() {
        if rects.len() != plan.frames[at].level.items.len() {
            found.push(format!("frame {at} has {} boxes", rects.len()));
            continue;
        }
        for (one, rect) in rects.iter().enumerate() {
            if rects.iter().skip(one + 1).any(|other| overlap(rect, other)) {
                found.push(format!("box {one} of frame {at} overlaps another one"));
            }
            let outside = match plan.frames[at].parent {
                Some((frame, item)) => !contains(&frames[frame][item], rect),
                None => !contains(&Rect { at: Point::default(), size: drawing.size }, rect),
            };
            if outside {
                found.push(format!("box {one} of frame {at} is outside"));
            }
        }
    }
    for link in &drawing.links {
        let [from, to] = link.ends.map(|item| frames[link.frame][item]);
        let on = |point: Option<&Point>, rect: Rect| point.is_some_and(|point| on_border(*point, rect));
        if !on(link.points.first(), from) || !on(link.points.last(), to) {
            found.push(format!("a link of frame {} does not end at its boxes", link.frame));
        }
    }
    found
}

fn corner(rect: &Rect) -> Point {
    Point { x: rect.at.x + rect.size.width, y: rect.at.y + rect.size.height }
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    let (ends, others) = (corner(a), corner(b));
    let apart = ends.x <= b.at.x + CLOSE
        || others.x <= a.at.x + CLOSE
        || ends.y <= b.at.y + CLOSE
        || others.y <= a.at.y + CLOSE;
    !apart
}

fn contains(outer: &Rect, inner: &Rect) -> bool {
    let (ends, others) = (corner(outer), corner(inner));
    inner.at.x >= outer.at.x - CLOSE
        && inner.at.y >= outer.at.y - CLOSE
        && others.x <= ends.x + CLOSE
        && others.y <= ends.y + CLOSE
}

fn on_border(point: Point, rect: Rect) -> bool {
    let end = corner(&rect);
    let close = |a: f64, b: f64| (a - b).abs() <= CLOSE;
    let at = Rect { at: point, size: crate::layout::Size::default() };
    contains(&rect, &at)
        && (close(point.x, rect.at.x)
            || close(point.x, end.x)
            || close(point.y, rect.at.y)
            || close(point.y, end.y))
}
