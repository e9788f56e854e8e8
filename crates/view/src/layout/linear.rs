//! The layout of a large level: boxes in rows, in their order, and links as straight lines without labels.

use super::{GAP, LAYER_GAP, Layout, LinkSpec, Method, Point, Rect, Route, Size};

/// The wanted proportion of width and height.
const PROPORTION: f64 = 1.6;

pub(super) fn layout(boxes: &[Size], links: &[LinkSpec]) -> Layout {
    let area: f64 = boxes.iter().map(|it| (it.width + GAP) * (it.height + LAYER_GAP)).sum();
    let widest = boxes.iter().map(|it| it.width).fold(0.0, f64::max);
    let width = (area * PROPORTION).sqrt().max(widest);
    let mut placed = Vec::with_capacity(boxes.len());
    let (mut x, mut y, mut row) = (0.0, 0.0, 0.0_f64);
    for size in boxes {
        if x > 0.0 && x + size.width > width {
            (x, y, row) = (0.0, y + row + LAYER_GAP, 0.0);
        }
        placed.push(Rect { at: Point { x, y }, size: *size });
        x += size.width + GAP;
        row = row.max(size.height);
    }
    let routes = links.iter().map(|link| match (placed.get(link.from), placed.get(link.to)) {
        (Some(from), Some(to)) => Route { points: straight(*from, *to), label: None },
        (_, _) => Route::default(),
    });
    let routes = routes.collect();
    Layout { method: Method::Linear, size: Size { width, height: y + row }, boxes: placed, routes }
}

/// A line from the bottom of one box to the top of another one, or between their sides in the same row.
fn straight(from: Rect, to: Rect) -> Vec<Point> {
    let (start, end) = (from.center(), to.center());
    let bottom = |of: Rect| Point { x: of.center().x, y: of.at.y + of.size.height };
    let top = |of: Rect| Point { x: of.center().x, y: of.at.y };
    let right = |of: Rect| Point { x: of.at.x + of.size.width, y: of.center().y };
    let left = |of: Rect| Point { x: of.at.x, y: of.center().y };
    if from.at.y < to.at.y {
        vec![bottom(from), top(to)]
    } else if from.at.y > to.at.y {
        vec![top(from), bottom(to)]
    } else if start.x < end.x {
        vec![right(from), left(to)]
    } else {
        vec![left(from), right(to)]
    }
}
