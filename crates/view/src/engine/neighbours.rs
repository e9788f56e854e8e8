//! The boxes at the other ends of the links of a box.
//!
//! A port of an expanded group continues in the group around it.

use super::answers::{Neighbour, Neighbours};
use super::item::Subject;
use super::{Engine, draw::Drawn};
use crate::level::{Item, Link};
use crate::scene::{Scene, ValueId};
use crate::svg::interactive::values_label;

/// Maximum number of boxes on each side.
const MAX_BOXES: usize = 200;

impl Engine {
    pub(super) fn neighbours(
        &mut self,
        subject: Subject,
        place: Option<&str>,
        expanded: Option<&[String]>,
    ) -> Neighbours {
        self.drawn(expanded, None);
        let mut found = Neighbours { inputs: Vec::new(), outputs: Vec::new() };
        let Self { scene, drawn: Some(drawn), .. } = self else { return found };
        let Some((frame, item)) = drawn.locate(subject, place) else { return found };
        drawn.collect(scene, frame, item, &mut found);
        found
    }
}

impl Drawn {
    /// The frame and item with a path, or the first ones of an item.
    fn locate(&self, subject: Subject, place: Option<&str>) -> Option<(usize, usize)> {
        let text = subject.to_string();
        let items = self.plan.frames.iter().enumerate().flat_map(|(at, frame)| {
            frame.level.items.iter().enumerate().map(move |(item, shown)| (at, item, *shown))
        });
        let mut found = items.filter(|(at, _, shown)| match place {
            Some(place) => self.paths.of_box(*at, *shown) == place,
            None => self.paths.item_of(&self.plan, *at, *shown) == text,
        });
        found.next().map(|(at, item, _)| (at, item))
    }

    fn collect(&self, scene: &Scene, frame: usize, item: usize, found: &mut Neighbours) {
        let level = &self.plan.frames[frame].level;
        let neighbour = |frame: usize, item: usize, values: &[ValueId]| {
            let shown = self.plan.frames[frame].level.items[item];
            Neighbour {
                item: self.paths.item_of(&self.plan, frame, shown),
                place: self.paths.of_box(frame, shown),
                value: values.first().map_or_else(String::new, |value| Subject::Value(*value).to_string()),
                label: values_label(scene, values),
            }
        };
        for Link { from, to, values } in &level.links {
            if *to == item && found.inputs.len() < MAX_BOXES {
                found.inputs.push(neighbour(frame, *from, values));
            }
            if *from == item && found.outputs.len() < MAX_BOXES {
                found.outputs.push(neighbour(frame, *to, values));
            }
        }
        // A port continues in the frame around it.
        let Some((outer, around)) = self.plan.frames[frame].parent else { return };
        let links = &self.plan.frames[outer].level.links;
        match level.items[item] {
            Item::Input(value) => {
                let own = links.iter().filter(|it| it.to == around && it.values.contains(&value));
                found.inputs.extend(own.take(MAX_BOXES).map(|it| neighbour(outer, it.from, &[value])));
            }
            Item::Output(value) => {
                let own = links.iter().filter(|it| it.from == around && it.values.contains(&value));
                found.outputs.extend(own.take(MAX_BOXES).map(|it| neighbour(outer, it.to, &[value])));
            }
            Item::Child(_) | Item::MoreInputs(_) | Item::MoreOutputs(_) => {}
        }
    }
}
