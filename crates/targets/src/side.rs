//! Constants in other files that the loader needs to infer shapes.
//!
//! The loader infers shapes before it has the files of a model, and fails if it has to read elements from one
//! of them. Whether it reads them depends on the other constants of the node and, for most operators, on the
//! rank of the first input.

use typeloom_onnx::view::TensorView;
use typeloom_solver::diagnostic::TargetIssue;
use typeloom_solver::program::{Body, Initializer, Origin, ValueId};

use crate::facts::Signature;
use crate::node::{NodeCx, operator, undecided};

/// The issue of a node whose shape depends on a constant in another file.
pub(crate) fn issue(cx: &mut NodeCx<'_, '_>, signature: &Signature<'_>) -> Option<TargetIssue> {
    let reads = signature.reads.as_ref()?;
    let body = std::sync::Arc::clone(&cx.body.body);
    let inputs = body.inputs(cx.step);
    let is_read =
        |at: usize| signature.inputs.get(at).is_some_and(|formal| reads.inputs.contains(&formal.name));
    let read = inputs.iter().enumerate().filter(|(at, _)| is_read(*at)).filter_map(|(_, value)| *value);
    let read: Vec<ValueId> = read.collect();
    let value = read.iter().copied().find(|value| is_in_other_file(&body, *value))?;
    let name = body.value_name(value);
    let are_constants = read.iter().all(|value| body.is_stored(*value));
    let is_ranked =
        !reads.needs_rank || inputs.first().copied().flatten().is_some_and(|data| has_rank(cx, data));
    let is_main = cx.body.is_main() && body.step(cx.step).graph == body.root();
    Some(match are_constants && is_ranked && is_main {
        true => operator(format!(
            "the loader infers its shape, and does not read `{name}` from another file for that"
        )),
        false => {
            undecided(&format!("the loader may need `{name}` to infer a shape, and it is in another file"))
        }
    })
}

fn has_rank(cx: &mut NodeCx<'_, '_>, value: ValueId) -> bool {
    let ty = cx.checked.type_within(cx.body, value);
    ty.tensor().is_some_and(|tensor| tensor.shape.is_some())
}

/// Whether a value is a tensor that is stored in another file.
fn is_in_other_file(body: &Body<'_>, value: ValueId) -> bool {
    tensor(body, value).and_then(|tensor| tensor.header().ok()).is_some_and(|header| header.is_external())
}

/// The dense tensor of an initializer or constant.
pub(crate) fn tensor<'a>(body: &Body<'a>, value: ValueId) -> Option<TensorView<'a>> {
    match body.value(value).origin {
        Origin::Initializer(initializer) => match body.initializer(initializer) {
            Initializer::Dense(tensor) => Some(tensor),
            Initializer::Sparse(_) => None,
        },
        Origin::Step(step) if body.op_name(step) == "Constant" => {
            let attributes = body.step(step).node.attributes().flatten();
            attributes.filter_map(|attribute| attribute.parse().ok()).find_map(|attribute| attribute.t)
        }
        Origin::Step(_) | Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => None,
    }
}
