//! `If`, `Loop` and `SequenceMap`.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::dtype::Dtype;

use super::{Frame, Inputs, Run, operand};
use crate::error::NodeError;
use crate::operator;
use crate::plan::Plan;

pub(super) fn invalid(message: impl Into<String>) -> NodeError {
    NodeError::ControlFlow(message.into())
}

/// The value of a condition; `None` if the input is absent.
fn condition(value: Option<&Datum>) -> Result<Option<bool>, NodeError> {
    let Some(value) = value else { return Ok(None) };
    match value.as_tensor().and_then(|tensor| tensor.as_slice::<bool>().ok()) {
        Some([flag]) => Ok(Some(*flag)),
        Some(_) | None => Err(invalid("the condition is not a single bool")),
    }
}

pub(super) fn run_if(
    run: &Run<'_>,
    frame: &Frame<'_>,
    inputs: &[Option<Datum>],
    then_branch: &Plan,
    else_branch: &Plan,
) -> Result<Vec<Datum>, NodeError> {
    let condition = condition(inputs.first().and_then(Option::as_ref))?;
    let condition = condition.ok_or_else(|| invalid("the condition is missing"))?;
    run.body(frame, if condition { then_branch } else { else_branch }, Vec::new())
}

/// Stacks slices of equal shape along a new first axis. Without slices, the result has the element type and
/// the known dims of `slice_type`.
pub(super) fn stack(slices: Vec<Datum>, slice_type: &ValueType) -> Result<Datum, NodeError> {
    if slices.is_empty() {
        let dims = slice_type.shape.as_deref().unwrap_or_default();
        let inner = dims.iter().map(|dim| dim.fixed().unwrap_or(0));
        let shape: Vec<usize> = std::iter::once(0).chain(inner).collect();
        let empty = AnyTensor::zeros(slice_type.dtype().unwrap_or(Dtype::F32), &shape);
        return empty.map(Datum::Tensor).map_err(|error| invalid(error.to_string()));
    }
    let attributes =
        Attributes::default().with("axis", Attribute::Int(0)).with("new_axis", Attribute::Int(1));
    operator::run("ConcatFromSequence", &attributes, vec![Datum::Sequence(slices)])
}

/// `Loop`: state values can be of any type; the values collected from the iterations are tensors.
pub(super) fn run_loop(
    run: &Run<'_>,
    frame: &Frame<'_>,
    inputs: Inputs,
    body: &Plan,
) -> Result<Vec<Datum>, NodeError> {
    let max_iterations = match inputs.first().and_then(Option::as_ref) {
        None => i64::MAX,
        Some(count) => match count.as_tensor().and_then(|tensor| tensor.as_slice::<i64>().ok()) {
            Some([count]) => *count,
            Some(_) | None => return Err(invalid("the number of iterations is not a single 64-bit integer")),
        },
    };
    let mut continues = condition(inputs.get(1).and_then(Option::as_ref))?.unwrap_or(true);
    let mut carried = Vec::new();
    for value in inputs.into_iter().skip(2) {
        carried.push(value.ok_or_else(|| invalid("the initial value of a state is missing"))?);
    }
    let count = carried.len();
    let Some(collected) = body.outputs.len().checked_sub(1 + count) else {
        return Err(invalid("the body returns fewer values than the loop has states"));
    };
    let mut slices: Vec<Vec<Datum>> = vec![Vec::new(); collected];
    let mut iteration = 0;
    run.begin_loop();
    while continues && iteration < max_iterations {
        run.loop_iteration()?;
        let mut inputs = Vec::with_capacity(2 + count);
        inputs.push(AnyTensor::from_scalar(iteration).into());
        inputs.push(AnyTensor::from_scalar(continues).into());
        inputs.append(&mut carried);
        let mut results = run.body(frame, body, inputs)?.into_iter();
        continues = condition(results.next().as_ref())?.unwrap_or(true);
        carried = results.by_ref().take(count).collect();
        for (at, (slices, slice)) in slices.iter_mut().zip(results).enumerate() {
            slices.push(operand(slice, at)?);
        }
        iteration += 1;
    }
    for (slices, slot) in slices.into_iter().zip(&body.outputs[1 + count..]) {
        carried.push(stack(slices, &body.slot(*slot).ty)?);
    }
    Ok(carried)
}

/// `SequenceMap`: runs the body for each element of the first sequence and the elements of the other
/// sequences at its position.
pub(super) fn sequence_map(
    run: &Run<'_>,
    frame: &Frame<'_>,
    inputs: &[Option<Datum>],
    body: &Plan,
) -> Result<Vec<Datum>, NodeError> {
    let first = inputs.first().and_then(Option::as_ref).and_then(Datum::as_sequence);
    let first = first.ok_or_else(|| invalid("the first input is not a sequence"))?;
    let mut results: Vec<Vec<Datum>> = vec![Vec::new(); body.outputs.len()];
    run.begin_loop();
    for at in 0..first.len() {
        run.iteration()?;
        let mut elements = Vec::with_capacity(inputs.len());
        for input in inputs.iter().flatten() {
            elements.push(match input.as_sequence() {
                Some(values) => {
                    values.get(at).cloned().ok_or_else(|| invalid("the sequences differ in length"))?
                }
                None => input.clone(),
            });
        }
        for (results, result) in results.iter_mut().zip(run.body(frame, body, elements)?) {
            results.push(result);
        }
    }
    Ok(results.into_iter().map(Datum::Sequence).collect())
}
