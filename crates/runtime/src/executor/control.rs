//! Branches, loops and scans of modules: what is carried can be anything, what is collected or scanned is tensors.

use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;

use super::declared::value;
use super::error::StepFault;
use super::plan::Body;
use super::run::{Frame, Run};
use crate::control::{bad, stack};
use crate::datum::Datum;
use crate::scan::scan_with;
use crate::stamp::Stamp;

/// The one truth value of an input; `None` where it is left out.
fn truth(datum: Option<&Datum>) -> Result<Option<bool>, StepFault> {
    let Some(datum) = datum else { return Ok(None) };
    match datum.as_tensor().and_then(|tensor| tensor.as_slice::<bool>().ok()) {
        Some([flag]) => Ok(Some(*flag)),
        Some(_) | None => Err(bad("the condition is not one truth value").into()),
    }
}

pub(super) fn branch(
    run: &Run,
    frame: &Frame,
    inputs: &[Option<Datum>],
    then_branch: &Body,
    else_branch: &Body,
) -> Result<Vec<Datum>, StepFault> {
    let condition = truth(inputs.first().and_then(Option::as_ref))?;
    let Some(condition) = condition else { return Err(bad("the condition is missing").into()) };
    run.body(frame, if condition { then_branch } else { else_branch }, Vec::new())
}

fn stamps(body: &Body) -> impl Iterator<Item = &Stamp> {
    body.outputs.iter().map(|slot| &body.slots[slot.index()].declared.stamp)
}

/// `Loop`: a number of turns, a condition, values that are carried from turn to turn, and values that are collected.
pub(super) fn repeat(
    run: &Run,
    frame: &Frame,
    inputs: Vec<Option<Datum>>,
    body: &Body,
) -> Result<Vec<Datum>, StepFault> {
    let turns = match inputs.first().and_then(Option::as_ref) {
        None => i64::MAX,
        Some(turns) => match turns.as_tensor().and_then(|tensor| tensor.as_slice::<i64>().ok()) {
            Some([turns]) => *turns,
            Some(_) | None => return Err(bad("the number of turns is not one 64-bit integer").into()),
        },
    };
    let mut go_on = truth(inputs.get(1).and_then(Option::as_ref))?.unwrap_or(true);
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
    while go_on && turn < turns {
        run.turn()?;
        let mut given =
            vec![Datum::Tensor(AnyTensor::from_scalar(turn)), Datum::Tensor(AnyTensor::from_scalar(go_on))];
        given.append(&mut carried);
        let mut results = run.body(frame, body, given)?.into_iter();
        go_on = truth(results.next().as_ref())?.unwrap_or(true);
        carried = results.by_ref().take(count).collect();
        for (at, (slices, slice)) in slices.iter_mut().zip(results).enumerate() {
            slices.push(value(slice, at)?);
        }
        turn += 1;
    }
    for (slices, stamp) in slices.into_iter().zip(stamps(body).skip(1 + count)) {
        carried.push(stack(slices, stamp)?.into());
    }
    Ok(carried)
}

/// `SequenceMap`: the body for each element of the first sequence, and of others beside it.
pub(super) fn map(
    run: &Run,
    frame: &Frame,
    inputs: &[Option<Datum>],
    body: &Body,
) -> Result<Vec<Datum>, StepFault> {
    let Some(Some(Datum::Sequence(first))) = inputs.first() else {
        return Err(bad("the first input is no sequence").into());
    };
    let mut results: Vec<Vec<Datum>> = vec![Vec::new(); body.outputs.len()];
    for turn in 0..first.len() {
        let mut given = Vec::with_capacity(inputs.len());
        for input in inputs.iter().flatten() {
            given.push(match input {
                Datum::Sequence(values) => {
                    values.get(turn).cloned().ok_or_else(|| bad("the sequences differ in length"))?
                }
                other => other.clone(),
            });
        }
        for (results, result) in results.iter_mut().zip(run.body(frame, body, given)?) {
            results.push(result);
        }
    }
    Ok(results.into_iter().map(Datum::Sequence).collect())
}

/// `Scan`: a body that goes along an axis of its inputs, with state.
pub(super) fn scan(
    run: &Run,
    frame: &Frame,
    inputs: Vec<Option<Datum>>,
    body: &Body,
    attributes: &Attributes,
    version: i64,
) -> Result<Vec<Datum>, StepFault> {
    let mut values = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.into_iter().enumerate() {
        values.push(input.map(|input| value(input, at)).transpose()?);
    }
    let outputs: Vec<Stamp> = stamps(body).cloned().collect();
    // What goes wrong inside is kept as it is.
    let mut inside = None;
    let mut turn = |given: Vec<Value>| {
        let results = run.body(frame, body, given.into_iter().map(Datum::from).collect());
        let results = results.and_then(|results| {
            results.into_iter().enumerate().map(|(at, result)| value(result, at)).collect::<Result<_, _>>()
        });
        results.map_err(|fault| {
            inside = Some(fault);
            bad("a turn of the scan failed")
        })
    };
    let scanned = scan_with(attributes, version, values, &outputs, &mut turn);
    match (scanned, inside) {
        (_, Some(fault)) => Err(fault),
        (Ok(values), None) => Ok(values.into_iter().map(Datum::from).collect()),
        (Err(fault), None) => Err(fault.into()),
    }
}
