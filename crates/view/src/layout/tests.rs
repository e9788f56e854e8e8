use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::*;

const CLOSE: f64 = 0.01;

/// The violated invariants of a layout.
pub(crate) fn problems(layout: &Layout, links: &[LinkSpec]) -> Vec<String> {
    let mut found = Vec::new();
    let inside = |at: Point, size: Size| {
        at.x >= -CLOSE
            && at.y >= -CLOSE
            && at.x + size.width <= layout.size.width + CLOSE
            && at.y + size.height <= layout.size.height + CLOSE
    };
    for (at, one) in layout.boxes.iter().enumerate() {
        if !inside(one.at, one.size) {
            found.push(format!("box {at} is outside"));
        }
        for (other, two) in layout.boxes.iter().enumerate().skip(at + 1) {
            let apart =
                |a: f64, size: f64, b: f64, other: f64| a + size <= b + CLOSE || b + other <= a + CLOSE;
            if !apart(one.at.x, one.size.width, two.at.x, two.size.width)
                && !apart(one.at.y, one.size.height, two.at.y, two.size.height)
            {
                found.push(format!("boxes {at} and {other} overlap"));
            }
        }
    }
    for (at, (route, link)) in layout.routes.iter().zip(links).enumerate() {
        let ends = [(route.points.first(), link.from), (route.points.last(), link.to)];
        for (point, of) in ends {
            let on = point.is_some_and(|point| is_on_border(*point, layout.boxes[of]));
            if !on {
                found.push(format!("link {at} does not end at box {of}"));
            }
        }
    }
    found
}

fn is_on_border(point: Point, of: Rect) -> bool {
    let (right, bottom) = (of.at.x + of.size.width, of.at.y + of.size.height);
    let within = |value: f64, low: f64, high: f64| value >= low - CLOSE && value <= high + CLOSE;
    let close = |a: f64, b: f64| (a - b).abs() <= CLOSE;
    within(point.x, of.at.x, right)
        && within(point.y, of.at.y, bottom)
        && (close(point.x, of.at.x)
            || close(point.x, right)
            || close(point.y, of.at.y)
            || close(point.y, bottom))
}

fn link(from: usize, to: usize) -> LinkSpec {
    LinkSpec { from, to, label: Size { width: 60.0, height: 14.0 } }
}

fn sizes(count: usize) -> Vec<Size> {
    (0..count)
        .map(|at| Size { width: 60.0 + (at % 7) as f64 * 20.0, height: 30.0 + (at % 3) as f64 * 15.0 })
        .collect()
}

#[track_caller]
fn check(count: usize, links: &[LinkSpec], method: Method) {
    let boxes = sizes(count);
    let found = layout(&boxes, links);
    assert_eq!(found.method, method);
    assert_eq!(problems(&found, links), [""; 0]);
    assert_eq!(found, layout(&boxes, links));
}

#[test]
fn odd_graphs_have_a_layout() {
    check(0, &[], Method::Layered);
    check(1, &[], Method::Layered);
    check(1, &[link(0, 0)], Method::Layered);
    check(2, &[link(0, 0), link(0, 1), link(1, 1), link(0, 1), link(1, 0)], Method::Layered);
    check(3, &[link(0, 1), link(1, 2), link(2, 0)], Method::Layered);
    check(12, &[link(0, 1), link(4, 5)], Method::Layered);
}

#[test]
fn a_level_that_needs_much_work_is_linear() {
    let all: Vec<_> = (0..40).flat_map(|from| (from + 1..40).map(move |to| link(from, to))).collect();
    let boxes = sizes(40);
    assert_eq!(layered::layout(&boxes, &all, 1000), None);
    let many: Vec<_> = (0..=MAX_LINKS).map(|at| link(at % 30, at % 31)).collect();
    check(31, &many, Method::Linear);
    check(MAX_BOXES + 1, &[link(0, MAX_BOXES)], Method::Linear);
}

#[test]
fn a_link_to_no_box_has_no_points() {
    let found = layout(&sizes(1), &[link(0, 7)]);
    assert_eq!(found.routes, [Route::default()]);
}

#[test]
fn random_graphs_have_no_overlaps_and_attached_links() {
    let graphs = (1_usize..24)
        .prop_flat_map(|count| (Just(count), prop::collection::vec((0..count, 0..count), 0..40)));
    let config = Config { cases: 60, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let property = |(count, pairs): (usize, Vec<(usize, usize)>)| {
        let links: Vec<_> = pairs.iter().map(|(from, to)| link(*from, *to)).collect();
        let found = layout(&sizes(count), &links);
        prop_assert_eq!(problems(&found, &links), Vec::<String>::new());
        Ok(())
    };
    if let Err(error) = TestRunner::new_with_rng(config, rng).run(&graphs, property) {
        panic!("{error}");
    }
}
