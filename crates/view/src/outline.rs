//! The nested structure of a plan as a sequence of events, for writers whose output is nested.

use crate::label;
use crate::plan::{At, Plan};
use crate::scene::{Scene, ValueId};

/// An event of a walk. The depth is the number of open frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A frame begins.
    Open { frame: usize, depth: usize, title: String },
    /// An item that is an end of links.
    Item { frame: usize, item: usize, depth: usize },
    /// The innermost frame ends.
    Close { depth: usize },
}

/// The frames of a plan in depth-first order, with their items. The model's graph itself does not open.
pub(crate) fn walk(scene: &Scene, plan: &Plan) -> Vec<Event> {
    let mut events = Vec::new();
    // Frames that are being listed: the frame, and the next item and inner frame.
    let mut open = vec![(0_usize, 0_usize, 0_usize)];
    while let Some((frame, item, inner)) = open.pop() {
        let depth = open.len() + 1;
        if item == plan.frames[frame].inner.len() {
            if !open.is_empty() {
                events.push(Event::Close { depth: depth - 1 });
            }
            continue;
        }
        if inner == 0 && plan.is_drawn(scene, frame, item) {
            events.push(Event::Item { frame, item, depth });
        }
        match plan.frames[frame].inner[item].get(inner) {
            Some(next) => {
                open.push((frame, item, inner + 1));
                let title = label::title_of(scene.group(plan.frames[*next].level.group));
                events.push(Event::Open { frame: *next, depth, title });
                open.push((*next, 0, 0));
            }
            None => open.push((frame, item + 1, 0)),
        }
    }
    events
}

impl Plan {
    /// The text of a link between items of any frames.
    pub(crate) fn link_text(&self, scene: &Scene, from: At, to: At, values: &[ValueId]) -> String {
        label::of_link(scene, [from, to].map(|(frame, item)| self.frames[frame].level.items[item]), values)
    }

    /// The nodes with their expanded graphs: the item of the node, and the first drawn item of the graph.
    pub(crate) fn nested(&self, scene: &Scene) -> Vec<(At, At)> {
        let mut found = Vec::new();
        for (at, frame) in self.frames.iter().enumerate() {
            let Some(parent) = frame.parent else { continue };
            if !scene.group(frame.level.group).kind.is_root() {
                continue;
            }
            let first = (0..frame.level.items.len()).find(|item| self.is_drawn(scene, at, *item));
            found.extend(first.map(|first| (parent, (at, first))));
        }
        found
    }
}
