//! Coordinates of the boxes and links of one level: a layered layout.
//!
//! # Choice of the library
//!
//! [`dugong`] is a port of dagre: ranks by network simplex, crossing reduction by barycenters, coordinates
//! after Brandes and Köpf, routes of links between ranks, and space for labels on links. The alternatives,
//! tried on graphs of 200 boxes:
//!
//! | crate | version | licence | result |
//! |---|---|---|---|
//! | `dugong` | 0.9.3 | MIT or Apache-2.0 | can end at a limit of counted work; routes and labels; no panic on self loops, cycles, multiple links, unconnected boxes |
//! | `rust-sugiyama` | 0.4.0 | MIT | time without a limit; panics on self loops; no routes, no labels |
//! | `dagre` | 0.1.2 | Apache-2.0 | the same algorithm, slower; no limit |
//! | `layout-rs` | 0.1.3 | MIT | draws text itself; coordinates are not an interface |
//! | `ascii-dag` | 0.11.0 | MIT or Apache-2.0 | coordinates are cells of a terminal |
//!
//! `graphviz-rust` needs the program Graphviz, and `dagre-rs` and `graphviz-rust` state no licence.
//!
//! # Bounds
//!
//! A layout is layered if it has at most [`MAX_BOXES`] boxes and [`MAX_LINKS`] links and needs at most
//! [`MAX_WORK`] units of work, which the library counts. Otherwise it is [linear](Method::Linear): the boxes
//! in rows in their order. So the time is bounded, and the result does not depend on the machine.
//!
//! # Invariants
//!
//! - Boxes do not overlap and are inside of the layout.
//! - A link begins on the border of one box and ends on the border of the other one.
//! - Coordinates are finite, and the same for the same input.

mod layered;
mod linear;

#[cfg(test)]
mod tests;

/// Maximum number of boxes of a layered layout.
pub const MAX_BOXES: usize = 400;

/// Maximum number of links of a layered layout.
pub const MAX_LINKS: usize = 1200;

/// Maximum work of a layered layout, in units that the library counts. The example `measure` prints the time
/// of layouts.
pub const MAX_WORK: usize = 4_000_000;

/// The distance between boxes next to each other.
pub const GAP: f64 = 24.0;

/// The distance between layers, in which links and their labels are.
pub const LAYER_GAP: f64 = 40.0;

/// A width and a height.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Size {
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// A position; y grows downwards.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Point {
    /// The distance from the left side.
    pub x: f64,
    /// The distance from the top.
    pub y: f64,
}

/// A box.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Rect {
    /// The upper left corner.
    pub at: Point,
    /// The size.
    pub size: Size,
}

impl Rect {
    /// The center.
    #[must_use]
    pub fn center(&self) -> Point {
        Point { x: self.at.x + self.size.width / 2.0, y: self.at.y + self.size.height / 2.0 }
    }
}

/// A link before the layout.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkSpec {
    /// The position of the first box.
    pub from: usize,
    /// The position of the second box.
    pub to: usize,
    /// The size of the label.
    pub label: Size,
}

/// The algorithm of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Layers, with few crossings.
    Layered,
    /// Rows in the order of the boxes, because the level is large.
    Linear,
}

/// The route of a link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Route {
    /// The points from the first box to the second one, at least two.
    pub points: Vec<Point>,
    /// The center of the label; `None` if it has no space.
    pub label: Option<Point>,
}

/// The coordinates of a level.
#[derive(Clone, PartialEq, Debug)]
pub struct Layout {
    /// The algorithm.
    pub method: Method,
    /// The size of the level.
    pub size: Size,
    /// The boxes, in the given order.
    pub boxes: Vec<Rect>,
    /// The routes of the links, in the given order.
    pub routes: Vec<Route>,
}

/// Lays out boxes and links. Links to boxes that do not exist have no points.
#[must_use]
pub fn layout(boxes: &[Size], links: &[LinkSpec]) -> Layout {
    let fits = boxes.len() <= MAX_BOXES && links.len() <= MAX_LINKS;
    let layered = if fits { layered::layout(boxes, links, MAX_WORK) } else { None };
    layered.unwrap_or_else(|| linear::layout(boxes, links))
}
