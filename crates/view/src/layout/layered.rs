//! The layered layout, by the library.

use dugong::graphlib::{Graph, GraphOptions};
use dugong::{EdgeLabel, GraphLabel, NodeLabel, WorkControl, WorkError};

use super::{GAP, LAYER_GAP, Layout, LinkSpec, Method, Point, Rect, Route, Size};

/// The distance between links next to each other.
const LINK_GAP: f64 = 12.0;

/// The remaining units of work.
struct Budget(usize);

impl WorkControl for Budget {
    fn charge(&mut self, units: usize) -> Result<(), WorkError> {
        self.0 = self.0.checked_sub(units).ok_or(WorkError::Interrupted)?;
        Ok(())
    }
}

/// Lays out boxes and links within a budget of work; `None` if it does not suffice.
pub(super) fn layout(boxes: &[Size], links: &[LinkSpec], work: usize) -> Option<Layout> {
    let mut graph: Graph<NodeLabel, EdgeLabel, GraphLabel> =
        Graph::new(GraphOptions { multigraph: true, ..GraphOptions::default() });
    let label = GraphLabel { nodesep: GAP, ranksep: LAYER_GAP, edgesep: LINK_GAP, ..GraphLabel::default() };
    graph.set_graph(label);
    for (at, size) in boxes.iter().enumerate() {
        let label = NodeLabel { width: size.width, height: size.height, ..NodeLabel::default() };
        graph.set_node(at.to_string(), label);
    }
    for (at, LinkSpec { from, to, label }) in links.iter().enumerate() {
        if *from < boxes.len() && *to < boxes.len() {
            let label =
                EdgeLabel { width: label.width, height: label.height, weight: 1.0, ..EdgeLabel::default() };
            graph.set_edge_named(from.to_string(), to.to_string(), Some(at.to_string()), Some(label));
        }
    }
    dugong::layout_controlled(&mut graph, &mut Budget(work)).ok()?;

    let mut placed = Vec::with_capacity(boxes.len());
    for (at, size) in boxes.iter().enumerate() {
        let label = graph.node(&at.to_string())?;
        let center = finite(label.x?, label.y?)?;
        let at = Point { x: center.x - size.width / 2.0, y: center.y - size.height / 2.0 };
        placed.push(Rect { at, size: *size });
    }
    let mut routes = Vec::with_capacity(links.len());
    for (at, LinkSpec { from, to, label }) in links.iter().enumerate() {
        let (Some(start), Some(end)) = (placed.get(*from), placed.get(*to)) else {
            routes.push(Route::default());
            continue;
        };
        let edge = graph.edge(&from.to_string(), &to.to_string(), Some(&at.to_string()))?;
        let points: Option<Vec<Point>> = edge.points.iter().map(|point| finite(point.x, point.y)).collect();
        let points = attached(points?, *start, *end);
        let has_label = label.width > 0.0;
        let center = edge.x.zip(edge.y).filter(|_| has_label).and_then(|(x, y)| finite(x, y));
        routes.push(Route { points, label: center });
    }
    Some(shifted(placed, routes, links))
}

fn finite(x: f64, y: f64) -> Option<Point> {
    (x.is_finite() && y.is_finite()).then_some(Point { x, y })
}

/// The points of a link without those inside of its boxes, with ends on their borders.
fn attached(points: Vec<Point>, start: Rect, end: Rect) -> Vec<Point> {
    let mut inner: Vec<Point> = points;
    if inner.len() >= 2 {
        inner.pop();
        inner.remove(0);
    }
    let first = inner.first().copied().unwrap_or_else(|| end.center());
    let last = inner.last().copied().unwrap_or_else(|| start.center());
    let mut route = vec![border(start, first)];
    route.extend(inner);
    route.push(border(end, last));
    route
}

/// The point of the border of a box in the direction of a point.
fn border(of: Rect, towards: Point) -> Point {
    let center = of.center();
    let (dx, dy) = (towards.x - center.x, towards.y - center.y);
    let (half_width, half_height) = (of.size.width / 2.0, of.size.height / 2.0);
    if dx == 0.0 && dy == 0.0 {
        return Point { x: center.x, y: center.y + half_height };
    }
    // The smaller factor reaches the border first.
    let factor = (half_width / dx.abs()).min(half_height / dy.abs());
    Point { x: center.x + dx * factor, y: center.y + dy * factor }
}

/// Moves everything so that the upper left corner is at 0, and measures it.
fn shifted(mut boxes: Vec<Rect>, mut routes: Vec<Route>, links: &[LinkSpec]) -> Layout {
    let mut low = Point { x: f64::INFINITY, y: f64::INFINITY };
    let mut high = Point { x: 0.0, y: 0.0 };
    let mut reach = |at: Point, size: Size| {
        low = Point { x: low.x.min(at.x), y: low.y.min(at.y) };
        high = Point { x: high.x.max(at.x + size.width), y: high.y.max(at.y + size.height) };
    };
    boxes.iter().for_each(|one| reach(one.at, one.size));
    for (route, link) in routes.iter().zip(links) {
        route.points.iter().for_each(|point| reach(*point, Size::default()));
        if let Some(label) = route.label {
            let Size { width, height } = link.label;
            reach(Point { x: label.x - width / 2.0, y: label.y - height / 2.0 }, link.label);
        }
    }
    if !low.x.is_finite() {
        low = Point::default();
    }
    let moved = |point: Point| Point { x: point.x - low.x, y: point.y - low.y };
    boxes.iter_mut().for_each(|one| one.at = moved(one.at));
    for route in &mut routes {
        route.points.iter_mut().for_each(|point| *point = moved(*point));
        route.label = route.label.map(moved);
    }
    let size = Size { width: high.x - low.x, height: high.y - low.y };
    Layout { method: Method::Layered, size, boxes, routes }
}
