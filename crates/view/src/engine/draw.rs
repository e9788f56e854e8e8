//! Pictures of the page.

use std::cell::Cell;

use super::Engine;
use super::answers::{DrawnBox, File, Picture};
use super::item::Subject;
use super::paths::{Paths, selection};
use super::request::View;
use super::targets;
use crate::drawing::Drawing;
use crate::plan::{Options, Plan};
use crate::recent::Cache;
use crate::scene::Scene;
use crate::svg;
use crate::svg::interactive::{Emphasis, Interaction, MAX_DRAWN_LINKS, box_label, is_expanded};
use crate::svg::overlay::Overlay;

/// Maximum number of boxes of a picture.
pub(super) const MAX_ITEMS: usize = 2000;

/// A picture, for the next requests with the same expanded groups.
#[derive(Debug)]
pub(super) struct Drawn {
    expanded: Option<Vec<String>>,
    max_items: Option<usize>,
    pub(super) plan: Plan,
    pub(super) paths: Paths,
    drawing: Drawing,
}

impl Drawn {
    fn of(scene: &Scene, expanded: Option<&[String]>, max_items: Option<usize>, cache: &mut Cache) -> Self {
        cache.turn();
        let limit = |default| max_items.unwrap_or(default).min(MAX_ITEMS);
        let plan = match expanded {
            None => {
                let options = Options { max_items: limit(Options::PAGE_ITEMS), ..Options::default() };
                Plan::of_cached(scene, &options, cache)
            }
            Some(paths) => Plan::selected_cached(scene, &selection(scene, paths), limit(MAX_ITEMS), cache),
        };
        Self {
            expanded: expanded.map(<[String]>::to_vec),
            max_items,
            paths: Paths::of(&plan),
            drawing: Drawing::of_cached(scene, &plan, cache),
            plan,
        }
    }

    /// The frames and items of the picture in reading order: from the top, then from the left, and inside of
    /// a box before the next one. Each has the position of its box in the drawing.
    fn reading_order(&self) -> Vec<(usize, usize, usize)> {
        let mut first = vec![0; self.plan.frames.len() + 1];
        for block in &self.drawing.blocks {
            first[block.frame + 1] += 1;
        }
        for at in 1..first.len() {
            first[at] += first[at - 1];
        }
        let sorted = |frame: usize| {
            let mut blocks: Vec<usize> = (first[frame]..first[frame + 1]).collect();
            let corner = |at: &usize| self.drawing.blocks[*at].rect.at;
            blocks.sort_by(|a, b| {
                let (a, b) = (corner(a), corner(b));
                a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x))
            });
            // The last is visited first.
            blocks.reverse();
            blocks
        };
        let mut order = Vec::with_capacity(self.drawing.blocks.len());
        let mut open: Vec<usize> = sorted(0);
        while let Some(at) = open.pop() {
            let frame = self.drawing.blocks[at].frame;
            let item = at - first[frame];
            order.push((frame, item, at));
            for inner in self.plan.frames[frame].inner[item].iter().rev() {
                open.extend(sorted(*inner));
            }
        }
        order
    }
}

impl Engine {
    /// The geometry for expanded groups; the last one if it is the same.
    pub(super) fn drawn(&mut self, expanded: Option<&[String]>, max_items: Option<usize>) -> &Drawn {
        let is_same = |drawn: &Drawn| drawn.expanded.as_deref() == expanded && drawn.max_items == max_items;
        let drawn = self.drawn.take().filter(is_same);
        let drawn = drawn.unwrap_or_else(|| Drawn::of(&self.scene, expanded, max_items, &mut self.cache));
        self.drawn.insert(drawn)
    }

    pub(super) fn draw(&mut self, view: &View) -> Picture {
        self.drawn(view.expanded.as_deref(), view.max_items);
        let Self { scene, drawn: Some(drawn), .. } = self else {
            return Picture {
                svg: String::new(),
                expanded: Vec::new(),
                drawn: 0,
                nodes: 0,
                notes: Vec::new(),
                width: 0.0,
                height: 0.0,
                boxes: Vec::new(),
            };
        };
        let parse = |item: &String| Subject::parse(scene, item);
        let selected = view.selected.as_ref().and_then(parse);
        let emphasis = Emphasis::new(scene, selected, view.highlight.iter().filter_map(parse));
        let drawn = &*drawn;
        let Drawn { plan, paths, drawing, .. } = drawn;
        let boxes: Vec<DrawnBox> = drawn
            .reading_order()
            .into_iter()
            .map(|(frame, item, at)| {
                let block = &drawing.blocks[at];
                let shown = plan.frames[frame].level.items[item];
                DrawnBox {
                    item: paths.item_of(plan, frame, shown),
                    place: paths.of_box(frame, shown),
                    x: block.rect.at.x,
                    y: block.rect.at.y,
                    w: block.rect.size.width,
                    h: block.rect.size.height,
                    label: box_label(&block.label),
                    is_expanded: is_expanded(scene, shown, block.is_expanded),
                }
            })
            .collect();
        let text = selected.map(|subject| subject.to_string());
        let focus = boxes.iter().find(|it| Some(&it.item) == text.as_ref()).or(boxes.first());
        let target = view.target.as_ref().and_then(|name| targets::named(scene, name));
        let overlay = target.map(|target| Overlay::of(scene, target));
        let interaction = Interaction {
            scene,
            plan,
            paths,
            emphasis: &emphasis,
            overlay: overlay.as_ref(),
            focus: focus.map_or("", |it| it.place.as_str()),
            links: Cell::new(MAX_DRAWN_LINKS),
        };
        let svg = svg::write(scene, drawing, &scene.about.title, plan.note().as_deref(), Some(&interaction));
        let links = drawing.links.len();
        let mut notes = plan.notes();
        if links > MAX_DRAWN_LINKS {
            notes.push(format!("{MAX_DRAWN_LINKS} of {links} links are drawn"));
        }
        let size = svg::size(drawing, None);
        Picture {
            svg,
            expanded: paths.expanded(),
            drawn: plan.total - plan.hidden,
            nodes: plan.total,
            notes,
            width: size.width,
            height: size.height,
            boxes,
        }
    }

    /// The same picture as a static file, without emphasis.
    pub(super) fn export(&mut self, view: &View) -> File {
        self.drawn(view.expanded.as_deref(), view.max_items);
        let Self { scene, drawn: Some(drawn), .. } = self else {
            return File { svg: String::new(), width: 0.0, height: 0.0 };
        };
        let note = drawn.plan.note();
        let size = svg::size(&drawn.drawing, note.as_deref());
        let svg = svg::write(scene, &drawn.drawing, &scene.about.title, note.as_deref(), None);
        File { svg, width: size.width, height: size.height }
    }
}
