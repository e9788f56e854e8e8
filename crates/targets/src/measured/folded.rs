//! Values that a runtime computes before it decides where nodes run.
//!
//! ONNX Runtime replaces nodes by constants if their inputs are constants, and `Shape` of a fixed shape.
//! Where only models with fixed extents were measured, the shape arithmetic of a model is constant, too:
//!
//! ```text
//! x: float[batch, 4]     s = Shape(x)  n = Gather(s, 0)      constants as soon as `batch` is a number
//! ```
//!
//! Source: the transformer `ConstantFolding` of ONNX Runtime, which is on by default and leaves out
//! `DequantizeLinear`, operators with random results, and those with nested graphs.
//!
//! **Cost:** linear in the nodes.

use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, StepId, StepKind, ValueId};

use super::node::is_conversion;
use super::table::Table;

/// The longest list of integers that counts as shape arithmetic.
const MAX_LENGTH: usize = 256;
/// Operators whose results are not functions of their inputs.
const RANDOM: &[&str] = &["Bernoulli", "Multinomial", "RandomNormalLike", "RandomUniformLike"];

/// The values of a body that are constants when nodes get places.
pub(crate) struct Folded(Vec<bool>);

impl Folded {
    pub(crate) fn new<'a>(table: &Table<'_>, checked: &Checked<'a>, solved: &SolvedBody<'a>) -> Self {
        let body = &solved.body;
        let mut folded: Vec<bool> = body.values().map(|value| body.is_stored(value)).collect();
        if table.through.is_none() {
            return Self(folded);
        }
        let (from, to) = body.graph(body.root()).steps;
        for step in (from..to).map(StepId::new) {
            if body.step(step).kind != StepKind::Node || !is_pure(body, step) {
                continue;
            }
            let mut inputs = body.inputs(step).iter().flatten().peekable();
            let is_computed = inputs.peek().is_some() && inputs.all(|value| folded[value.index()]);
            for value in body.outputs(step).iter().flatten() {
                let is_shape =
                    || table.is_fixed && checked.elements_within(solved, *value, MAX_LENGTH).is_some();
                folded[value.index()] |= is_computed || is_shape();
            }
        }
        Self(folded)
    }

    /// Whether a value is a constant.
    pub(crate) fn has(&self, value: ValueId) -> bool {
        self.0.get(value.index()).copied().unwrap_or_default()
    }

    /// Whether nothing is left of a node.
    pub(crate) fn has_all_of(&self, body: &Body<'_>, step: StepId) -> bool {
        let mut outputs = body.outputs(body.last_step(step)).iter().flatten().peekable();
        outputs.peek().is_some() && outputs.all(|value| self.has(*value))
    }
}

fn is_pure(body: &Body<'_>, step: StepId) -> bool {
    !is_conversion(body, step) && !RANDOM.contains(&body.op_name(step))
}
