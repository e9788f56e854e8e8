//! The overlay of a target: the places of nodes as colours and letters.
//!
//! | place | letter | class of the box |
//! |---|---|---|
//! | the device | `D` | `on-device` |
//! | the CPU instead | `C` | `on-cpu` |
//! | undecided | `?` | `on-unknown` |
//! | nowhere | `X` | `on-none` |
//!
//! A collapsed group has the letters of all its nodes, and the class of the last of these places in the table.

use super::{escaped, number, push};
use crate::layout::Rect;
use crate::level::Item;
use crate::scene::{Assignment, Child, Scene, Target};

/// The size of a letter.
const LETTER: f64 = 9.0;
const HEIGHT: f64 = 14.0;

impl Assignment {
    /// The letter of a box.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Device => 'D',
            Self::Cpu => 'C',
            Self::Unknown => '?',
            Self::Nowhere => 'X',
        }
    }

    /// The class of a box.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Device => "on-device",
            Self::Cpu => "on-cpu",
            Self::Unknown => "on-unknown",
            Self::Nowhere => "on-none",
        }
    }

    /// The assignment of a node as text.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Device => "on the device",
            Self::Cpu => "on the CPU",
            Self::Unknown => "undecided",
            Self::Nowhere => "does not run",
        }
    }
}

/// The places of the nodes of a picture.
pub(crate) struct Overlay {
    /// The place of each node of the scene.
    places: Vec<Option<Assignment>>,
}

impl Overlay {
    pub(crate) fn of(scene: &Scene, target: &Target) -> Self {
        let mut places = vec![None; scene.nodes.len()];
        target.places.iter().for_each(|placed| places[placed.node.index()] = Some(placed.place));
        Self { places }
    }

    /// The places of a node, or of the nodes of a collapsed group, each once.
    pub(super) fn places(&self, scene: &Scene, item: Item, is_expanded: bool) -> Vec<Assignment> {
        let nodes = match item {
            Item::Child(Child::Node(node)) => node.index()..node.index() + 1,
            Item::Child(Child::Group(group)) if !is_expanded => {
                let nodes = &scene.group(group).nodes;
                nodes.start as usize..nodes.end as usize
            }
            _ => 0..0,
        };
        let found = &self.places[nodes];
        Assignment::ALL.into_iter().filter(|place| found.contains(&Some(*place))).collect()
    }
}

/// Writes letters at the upper right corner of a box.
pub(super) fn push_letters(out: &mut String, rect: &Rect, places: &[Assignment]) {
    let Some(last) = places.last() else { return };
    let letters: String = places.iter().map(|place| place.letter()).collect();
    let width = LETTER * (places.len() as f64 + 0.6);
    let (x, y) = (rect.at.x + rect.size.width - width + 3.0, rect.at.y - HEIGHT / 2.0);
    let [left, top, base, start] = [x, y, y + HEIGHT - 3.0, x + LETTER * 0.4].map(number);
    push(
        out,
        format_args!(
            "<g class=\"letters {}\" aria-hidden=\"true\"><rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" \
             rx=\"3\"/><text x=\"{start}\" y=\"{base}\">{}</text></g>\n",
            last.class(),
            number(width),
            number(HEIGHT),
            escaped(&letters)
        ),
    );
}
