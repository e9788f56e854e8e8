//! Operators that work element by element.

use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Failure, Rule, RuleCx};

use super::Entry;

/// `elementwise.shape`: the output has the shape of the first input, and knowledge flows both ways.
pub(super) const SAME_SHAPE: Rule = Rule { name: "elementwise.shape", run: same_shape };

/// `broadcast.shape`: the output has the shape that all inputs broadcast to.
/// Source: "Broadcasting in ONNX", multidirectional broadcasting.
pub(super) const BROADCAST: Rule = Rule { name: "broadcast.shape", run: broadcast };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Abs", &[SAME_SHAPE]),
    Entry::of("Add", &[BROADCAST]).since(7),
    Entry::of("Identity", &[SAME_SHAPE]),
    Entry::of("Neg", &[SAME_SHAPE]),
    Entry::of("Relu", &[SAME_SHAPE]),
];

fn same_shape(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    cx.same_shape(In(0), Out(0))
}

fn broadcast(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let inputs: smallvec::SmallVec<[_; 4]> = (0..cx.input_count()).map(In).collect();
    match cx.broadcast(&inputs)? {
        Some(shape) => cx.set_shape(Out(0), &shape),
        None => Ok(()),
    }
}
