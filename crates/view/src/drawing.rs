//! The geometry of a planned picture: boxes with lines of text, and links, in absolute coordinates.
//!
//! Frames are laid out from the inside out; an expanded item has the size of its contents. The widths of
//! texts are estimated: the font has a fixed width, and wide characters have two columns.
//!
//! **Invariant:** boxes of one frame do not overlap, and the boxes of an inner frame are inside of its item.

use std::sync::Arc;

use typeloom_solver::diagnostic::Severity;

use crate::label::{self, Label, Line, Role, Shape};
use crate::layout::{Layout, LinkSpec, Point, Rect, Size};
use crate::level::{Item, Link};
use crate::plan::Plan;
use crate::recent::Cache;
use crate::scene::{Change, Child, Evidence, GroupKind, Scene, ValueId};
use crate::text::columns;

/// The width of a column: at 12 pixels, fonts with a fixed width have between 6.6 and 7.4.
const COLUMN: f64 = 7.4;

/// The height of a line.
pub(crate) const LINE: f64 = 16.0;

/// The distance between the border of a box and its text.
pub(crate) const PADDING: f64 = 8.0;

/// The distance between the border of a frame and its boxes.
const INSET: f64 = 16.0;

/// The minimum width of a box.
const MIN_WIDTH: f64 = 48.0;

/// A drawn box.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// The frame that contains it.
    pub(crate) frame: usize,
    pub(crate) rect: Rect,
    pub(crate) label: Label,
    /// Whether its contents are drawn.
    pub(crate) is_expanded: bool,
}

/// The title of a frame inside of a node.
#[derive(Clone, Debug)]
pub(crate) struct Caption {
    pub(crate) frame: usize,
    pub(crate) at: Point,
    pub(crate) text: String,
}

/// A drawn link.
#[derive(Clone, Debug)]
pub(crate) struct Arrow {
    pub(crate) frame: usize,
    /// The items of the frame at its ends.
    #[cfg(test)]
    pub(crate) ends: [usize; 2],
    pub(crate) points: Vec<Point>,
    /// The center of the label.
    pub(crate) label: Option<Point>,
    pub(crate) text: String,
    /// Whether the type of a value is not complete.
    pub(crate) is_incomplete: bool,
    /// The worst severity of the diagnostics of its values.
    pub(crate) severity: Option<Severity>,
    /// The change between two models.
    pub(crate) change: Change,
}

/// The geometry of a picture.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drawing {
    pub(crate) size: Size,
    /// Boxes, frame by frame; those of one frame are in the order of its items.
    pub(crate) blocks: Vec<Block>,
    pub(crate) captions: Vec<Caption>,
    pub(crate) links: Vec<Arrow>,
}

/// The geometry of one frame, relative to its corner.
struct Placed {
    layout: Arc<Layout>,
    labels: Vec<Label>,
    texts: Vec<String>,
}

/// The size of a text.
pub(crate) fn text_size(text: &str) -> Size {
    Size { width: columns(text) as f64 * COLUMN, height: LINE }
}

/// The size of the text of a box.
fn lines_size(lines: &[Line]) -> Size {
    let width = lines.iter().map(|line| text_size(&line.text).width).fold(MIN_WIDTH, f64::max);
    Size { width: width + 2.0 * PADDING, height: lines.len() as f64 * LINE + 2.0 * PADDING }
}

impl Drawing {
    /// Lays out a plan.
    pub(crate) fn of(scene: &Scene, plan: &Plan) -> Self {
        Self::of_cached(scene, plan, &mut Cache::default())
    }

    /// As [`Drawing::of`].
    pub(crate) fn of_cached(scene: &Scene, plan: &Plan, cache: &mut Cache) -> Self {
        let mut placed: Vec<Option<Placed>> = plan.frames.iter().map(|_| None).collect();
        for at in (0..plan.frames.len()).rev() {
            let frame = place(scene, plan, at, &placed, cache);
            placed[at] = Some(frame);
        }
        let mut drawing = Self::default();
        let mut corners = vec![Point::default(); placed.len()];
        for (at, frame) in placed.iter().enumerate() {
            let Some(frame) = frame else { continue };
            if at == 0 {
                corners[0] = Point { x: INSET, y: INSET };
                let Size { width, height } = frame.layout.size;
                drawing.size = Size { width: width + 2.0 * INSET, height: height + 2.0 * INSET };
            }
            drawing.add(scene, plan, at, frame, &placed, &mut corners);
        }
        drawing
    }

    fn add(
        &mut self,
        scene: &Scene,
        plan: &Plan,
        at: usize,
        frame: &Placed,
        placed: &[Option<Placed>],
        corners: &mut [Point],
    ) {
        let corner = corners[at];
        let moved = |point: Point| Point { x: point.x + corner.x, y: point.y + corner.y };
        let level = &plan.frames[at].level;
        for (link, (route, text)) in level.links.iter().zip(frame.layout.routes.iter().zip(&frame.texts)) {
            self.links.push(Arrow {
                frame: at,
                #[cfg(test)]
                ends: [link.from, link.to],
                points: route.points.iter().copied().map(moved).collect(),
                label: route.label.map(moved),
                text: text.clone(),
                is_incomplete: link.values.iter().any(|value| is_incomplete(scene, *value)),
                severity: label::codes_of_values(scene, &link.values).first().map(|(severity, _)| *severity),
                change: change_of(scene, [link.from, link.to].map(|item| level.items[item]), &link.values),
            });
        }
        for (item, (rect, label)) in frame.layout.boxes.iter().zip(&frame.labels).enumerate() {
            let rect = Rect { at: moved(rect.at), size: rect.size };
            let inner = &plan.frames[at].inner[item];
            let mut x = rect.at.x + INSET;
            let y = rect.at.y + lines_size(&label.lines).height;
            for frame in inner {
                let caption = caption(scene, plan, *frame);
                let below = if caption.is_some() { LINE } else { 0.0 };
                corners[*frame] = Point { x, y: y + below };
                if let Some(text) = caption {
                    self.captions.push(Caption { frame: *frame, at: Point { x, y }, text });
                }
                x += inner_size(scene, plan, *frame, placed).width + INSET;
            }
            let is_expanded = !inner.is_empty();
            self.blocks.push(Block { frame: at, rect, label: label.clone(), is_expanded });
        }
    }
}

fn is_incomplete(scene: &Scene, value: ValueId) -> bool {
    scene.value(value).evidence == Evidence::Incomplete
}

/// The change of a link: that of its ends if one was added or removed, or else of all of its values, or of
/// one.
fn change_of(scene: &Scene, ends: [Item; 2], values: &[ValueId]) -> Change {
    let of_end = ends.iter().map(|end| match end {
        Item::Child(Child::Node(node)) => scene.node(*node).change,
        Item::Child(Child::Group(group)) => scene.group(*group).change(),
        Item::Input(value) | Item::Output(value) => scene.value(*value).change,
        Item::MoreInputs(_) | Item::MoreOutputs(_) => Change::Same,
    });
    let of_values = || values.iter().map(|value| scene.value(*value).change);
    let is_all = |change: Change| of_values().all(|it| it == change);
    let is_of = |change: Change| of_end.clone().any(|it| it == change) || is_all(change);
    if is_of(Change::Removed) {
        Change::Removed
    } else if is_of(Change::Added) {
        Change::Added
    } else if of_values().any(|it| it != Change::Same) {
        Change::Changed
    } else {
        Change::Same
    }
}

/// Lays out one frame, whose inner frames are laid out already.
fn place(scene: &Scene, plan: &Plan, at: usize, placed: &[Option<Placed>], cache: &mut Cache) -> Placed {
    let frame = &plan.frames[at];
    let (mut labels, mut sizes) = (Vec::new(), Vec::new());
    for (item, inner) in frame.level.items.iter().zip(&frame.inner) {
        let mut label = label::of_item(scene, *item);
        if !inner.is_empty() {
            shorten(scene, *item, &mut label);
        }
        let mut size = lines_size(&label.lines);
        if !inner.is_empty() {
            let contents = inner.iter().map(|frame| inner_size(scene, plan, *frame, placed));
            let contents: Vec<Size> = contents.collect();
            let width = contents.iter().map(|it| it.width + INSET).sum::<f64>() + INSET;
            let height = contents.iter().map(|it| it.height).fold(0.0, f64::max);
            size = Size { width: size.width.max(width), height: size.height + height + INSET };
        }
        labels.push(label);
        sizes.push(size);
    }
    let text = |link: &Link| {
        let ends = [link.from, link.to].map(|at| frame.level.items[at]);
        label::of_link(scene, ends, &link.values)
    };
    let texts: Vec<String> = frame.level.links.iter().map(text).collect();
    let links = frame.level.links.iter().zip(&texts);
    let links: Vec<LinkSpec> = links
        .map(|(link, text)| {
            let Size { width, height } = text_size(text);
            let height = if width > 0.0 { height } else { 0.0 };
            LinkSpec { from: link.from, to: link.to, label: Size { width, height } }
        })
        .collect();
    Placed { layout: cache.layout(&sizes, &links), labels, texts }
}

/// Removes the texts of an expanded group that its contents repeat.
fn shorten(scene: &Scene, item: Item, label: &mut Label) {
    if let Item::Child(Child::Group(group)) = item {
        let has_class = match &scene.group(group).kind {
            GroupKind::Scope { class } => !class.is_empty(),
            GroupKind::Main | GroupKind::Function | GroupKind::Body { .. } | GroupKind::Part => false,
        };
        label.lines.truncate(1 + usize::from(has_class));
        label.severity = None;
        if label.change == Change::Changed {
            label.change = Change::Same;
        }
    }
}

/// The title of a frame in a node.
fn caption(scene: &Scene, plan: &Plan, frame: usize) -> Option<String> {
    let group = scene.group(plan.frames[frame].level.group);
    group.kind.is_root().then(|| label::title_of(group))
}

/// The size of a frame with its title.
fn inner_size(scene: &Scene, plan: &Plan, frame: usize, placed: &[Option<Placed>]) -> Size {
    let size = placed[frame].as_ref().map(|it| it.layout.size).unwrap_or_default();
    match caption(scene, plan, frame) {
        Some(text) => Size { width: size.width.max(text_size(&text).width), height: size.height + LINE },
        None => size,
    }
}

/// The class of a line of text.
pub(crate) fn class_of(role: Role) -> &'static str {
    match role {
        Role::Title => "title",
        Role::Name => "name",
        Role::Type => "type",
        Role::Detail => "detail",
        Role::Error => "code-error",
        Role::Warning => "code-warning",
        Role::Change => "change",
    }
}

/// The class of a shape.
pub(crate) fn class_of_shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Node => "node",
        Shape::Group => "group",
        Shape::Port => "port",
    }
}
