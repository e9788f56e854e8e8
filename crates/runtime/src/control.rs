//! Branches, loops, and maps over sequences.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::error::NodeFault;
use crate::execute::{Frame, Given, Run};
use crate::flow::Flow;
use crate::plan::Plan;
use typeloom_wire::stamp::{Extent, Stamp};

pub(crate) fn bad(what: impl Into<String>) -> NodeFault {
    NodeFault::ControlFlow(what.into())
}

/// Runs one operator of ONNX's own domain.
pub(crate) fn operator(name: &str, attributes: &Attributes, inputs: Vec<Value>) -> Result<Value, NodeFault> {
    let unknown = || NodeFault::UnknownOperator { domain: String::new(), op: name.to_owned() };
    let operator = ops::find("", name).ok_or_else(unknown)?;
    let inputs = inputs.into_iter().map(Some).collect();
    let results = operator.run(Call { version: 21, attributes, inputs, outputs: 1 })?;
    results.into_iter().next().ok_or_else(|| bad(format!("`{name}` gave nothing")))
}

/// The one truth value of an input; `None` where it is left out.
fn truth<F: Flow>(value: Option<&F::Value>) -> Result<Option<bool>, NodeFault> {
    let Some(value) = value else { return Ok(None) };
    match F::as_tensor(value).and_then(|tensor| tensor.as_slice::<bool>().ok()) {
        Some([flag]) => Ok(Some(*flag)),
        Some(_) | None => Err(bad("the condition is not one truth value")),
    }
}

pub(crate) fn branch<F: Flow>(
    run: &Run<'_, F>,
    frame: &Frame<'_, F>,
    inputs: &[Option<F::Value>],
    then_branch: &Plan<F>,
    else_branch: &Plan<F>,
) -> Result<Vec<F::Value>, F::Fault> {
    let condition = truth::<F>(inputs.first().and_then(Option::as_ref))?;
    let Some(condition) = condition else { return Err(bad("the condition is missing").into()) };
    run.body(frame, if condition { then_branch } else { else_branch }, Vec::new())
}

/// Slices of the same shape as one tensor with a new first axis.
pub(crate) fn stack(slices: Vec<Value>, stamp: &Stamp) -> Result<Value, NodeFault> {
    if slices.is_empty() {
        // Of what was never made only the type is known.
        let (dtype, shape) = match stamp {
            Stamp::Tensor { dtype, shape } => (*dtype, shape.as_deref()),
            Stamp::Open | Stamp::Sequence(_) | Stamp::Optional(_) => (None, None),
        };
        let extent = |extent: &Extent| match extent {
            Extent::Known(extent) => *extent,
            Extent::Open | Extent::Symbol(_) | Extent::Expression(_) => 0,
        };
        let inner = shape.unwrap_or_default().iter().map(extent);
        let shape: Vec<usize> = std::iter::once(0).chain(inner).collect();
        let empty = AnyTensor::zeros(dtype.unwrap_or(Dtype::F32), &shape);
        return empty.map(Value::Tensor).map_err(|error| bad(error.to_string()));
    }
    let attributes =
        Attributes::default().with("axis", Attribute::Int(0)).with("new_axis", Attribute::Int(1));
    operator("ConcatFromSequence", &attributes, vec![Value::Sequence(slices)])
}

/// `Loop`: a number of turns, a condition, values that are carried from turn to turn, and values that are collected. What is
/// carried can be anything, what is collected is tensors.
pub(crate) fn repeat<F: Flow>(
    run: &Run<'_, F>,
    frame: &Frame<'_, F>,
    inputs: Given<F>,
    body: &Plan<F>,
) -> Result<Vec<F::Value>, F::Fault> {
    let turns = match inputs.first().and_then(Option::as_ref) {
        None => i64::MAX,
        Some(turns) => match F::as_tensor(turns).and_then(|tensor| tensor.as_slice::<i64>().ok()) {
            Some([turns]) => *turns,
            Some(_) | None => return Err(bad("the number of turns is not one 64-bit integer").into()),
        },
    };
    let mut go_on = truth::<F>(inputs.get(1).and_then(Option::as_ref))?.unwrap_or(true);
    let mut carried = Vec::new();
    for value in inputs.into_iter().skip(2) {
        carried.push(value.ok_or_else(|| bad("a carried value is left out"))?);
    }
    let count = carried.len();
    let Some(collected) = body.outputs.len().checked_sub(1 + count) else {
        return Err(bad("the body gives fewer values than are carried").into());
    };
    let mut slices: Vec<Vec<Value>> = vec![Vec::new(); collected];
    let mut turn = 0;
    run.begin_loop();
    while go_on && turn < turns {
        run.turn()?;
        let mut given = Vec::with_capacity(2 + count);
        given.push(F::of(AnyTensor::from_scalar(turn).into()));
        given.push(F::of(AnyTensor::from_scalar(go_on).into()));
        given.append(&mut carried);
        let mut results = run.body(frame, body, given)?.into_iter();
        go_on = truth::<F>(results.next().as_ref())?.unwrap_or(true);
        carried = results.by_ref().take(count).collect();
        for (at, (slices, slice)) in slices.iter_mut().zip(results).enumerate() {
            slices.push(F::into_value(slice, at)?);
        }
        turn += 1;
    }
    for (slices, slot) in slices.into_iter().zip(&body.outputs[1 + count..]) {
        carried.push(F::of(stack(slices, F::stamp(&body.slot(*slot).proved))?));
    }
    Ok(carried)
}

/// `SequenceMap`: the body for each element of the first sequence, and of others beside it.
pub(crate) fn map<F: Flow>(
    run: &Run<'_, F>,
    frame: &Frame<'_, F>,
    inputs: &[Option<F::Value>],
    body: &Plan<F>,
) -> Result<Vec<F::Value>, F::Fault> {
    let first = inputs.first().and_then(Option::as_ref).and_then(F::as_sequence);
    let Some(first) = first else { return Err(bad("the first input is no sequence").into()) };
    let mut results: Vec<Vec<F::Value>> = vec![Vec::new(); body.outputs.len()];
    run.begin_loop();
    for turn in 0..first.len() {
        run.iteration()?;
        let mut given = Vec::with_capacity(inputs.len());
        for input in inputs.iter().flatten() {
            given.push(match F::as_sequence(input) {
                Some(values) => {
                    values.get(turn).cloned().ok_or_else(|| bad("the sequences differ in length"))?
                }
                None => input.clone(),
            });
        }
        for (results, result) in results.iter_mut().zip(run.body(frame, body, given)?) {
            results.push(result);
        }
    }
    Ok(results.into_iter().map(F::sequence).collect())
}
