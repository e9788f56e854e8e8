//! `Scan`: a body that goes along an axis of its inputs, with state.
//!
//! In version 8 every input has a batch axis in front, and all batches are scanned one after the other; sequence
//! lengths of their own are not supported.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;

use crate::control::{bad, operator, stack};
use crate::error::NodeFault;
use crate::execute::{Frame, Given, Run, guarded};
use crate::flow::Flow;
use crate::plan::Plan;
use typeloom_wire::stamp::Stamp;

/// How a scan goes along its inputs and outputs.
struct Form<'a> {
    states: usize,
    scanned: usize,
    input_axes: &'a [i64],
    output_axes: &'a [i64],
    input_directions: &'a [i64],
    output_directions: &'a [i64],
}

/// The body of a scan: what it gives is of these types, and how it is run once, on states and slices.
struct Body<'b> {
    outputs: &'b [Stamp],
    turn: &'b mut dyn FnMut(Vec<Value>) -> Result<Vec<Value>, NodeFault>,
}

fn list<'s>(attributes: &'s Attributes, name: &str) -> &'s [i64] {
    match attributes.get(name) {
        Some(Attribute::Ints(values)) => values,
        Some(_) | None => &[],
    }
}

pub(crate) fn scan<F: Flow>(
    run: &Run<'_, F>,
    frame: &Frame<'_, F>,
    body: &Plan<F>,
    attributes: &Attributes,
    version: i64,
    inputs: Given<F>,
) -> Result<Vec<F::Value>, F::Fault> {
    let outputs: Vec<Stamp> =
        body.outputs.iter().map(|slot| F::stamp(&body.slot(*slot).proved).clone()).collect();
    let values = |values: Vec<F::Value>| -> Result<Vec<Value>, F::Fault> {
        values.into_iter().enumerate().map(|(at, value)| F::into_value(value, at)).collect()
    };
    let mut given = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.into_iter().enumerate() {
        given.push(input.map(|input| F::into_value(input, at)).transpose()?);
    }
    // What goes wrong in a turn is kept as it is.
    let mut inside = None;
    run.begin_loop();
    let mut turn = |given: Vec<Value>| {
        let inputs = given.into_iter().map(F::of).collect();
        let begun = run.iteration().map_err(F::Fault::from);
        let results = begun.and_then(|()| run.body(frame, body, inputs)).and_then(values);
        results.map_err(|fault| {
            inside = Some(fault);
            bad("a turn of the scan failed")
        })
    };
    let mut body = Body { outputs: &outputs, turn: &mut turn };
    let scanned = guarded(NodeFault::Panicked, || scanned(&mut body, attributes, version, given));
    match (scanned, inside) {
        (_, Some(fault)) => Err(fault),
        (Ok(values), None) => Ok(values.into_iter().map(F::of).collect()),
        (Err(fault), None) => Err(fault.into()),
    }
}

fn scanned(
    body: &mut Body<'_>,
    attributes: &Attributes,
    version: i64,
    inputs: Vec<Option<Value>>,
) -> Result<Vec<Value>, NodeFault> {
    let outputs = body.outputs;
    let scanned = match attributes.get("num_scan_inputs") {
        Some(Attribute::Int(count)) => usize::try_from(*count).unwrap_or(0),
        Some(_) | None => 0,
    };
    let batched = version < 9;
    let mut inputs = inputs;
    if batched && !inputs.is_empty() && inputs.remove(0).is_some() {
        return Err(bad("sequence lengths of a scan are not supported"));
    }
    let inputs: Option<Vec<Value>> = inputs.into_iter().collect();
    let Some(inputs) = inputs else { return Err(bad("an input of a scan is left out")) };
    let Some(states) = inputs.len().checked_sub(scanned) else {
        return Err(bad("there are fewer inputs than are scanned"));
    };
    let directions = if batched { "directions" } else { "scan_input_directions" };
    let form = Form {
        states,
        scanned,
        input_axes: list(attributes, "scan_input_axes"),
        output_axes: list(attributes, "scan_output_axes"),
        input_directions: list(attributes, directions),
        output_directions: list(attributes, "scan_output_directions"),
    };
    if !batched {
        return along(body, &form, inputs);
    }
    let batches =
        inputs.first().and_then(Value::as_tensor).and_then(|tensor| tensor.shape().first().copied());
    let Some(batches) = batches else { return Err(bad("a scan of version 8 has no batch axis")) };
    let mut results: Vec<Vec<Value>> = vec![Vec::new(); outputs.len()];
    for batch in 0..batches {
        let mut given = Vec::with_capacity(inputs.len());
        for input in &inputs {
            given.push(slice(input, 0, batch)?);
        }
        for (results, result) in results.iter_mut().zip(along(body, &form, given)?) {
            results.push(result);
        }
    }
    results.into_iter().zip(outputs).map(|(slices, stamp)| stack(slices, stamp)).collect()
}

/// The slice at an index of an axis, without the axis.
fn slice(value: &Value, axis: i64, index: usize) -> Result<Value, NodeFault> {
    let attributes = Attributes::default().with("axis", Attribute::Int(axis));
    let index = AnyTensor::from_scalar(i64::try_from(index).unwrap_or(i64::MAX));
    operator("Gather", &attributes, vec![value.clone(), Value::Tensor(index)])
}

fn along(body: &mut Body<'_>, form: &Form<'_>, mut inputs: Vec<Value>) -> Result<Vec<Value>, NodeFault> {
    let scanned = inputs.split_off(form.states);
    let mut states = inputs;
    let at = |list: &[i64], which: usize| list.get(which).copied().unwrap_or(0);
    let mut length = None;
    for (which, value) in scanned.iter().enumerate() {
        let Some(tensor) = value.as_tensor() else { return Err(bad("a scanned input is no tensor")) };
        let axis = at(form.input_axes, which);
        let axis = if axis < 0 { axis + tensor.rank() as i64 } else { axis };
        let extent = usize::try_from(axis).ok().and_then(|axis| tensor.shape().get(axis).copied());
        let Some(extent) = extent else { return Err(bad(format!("axis {axis} is outside a scanned input"))) };
        if length.is_some_and(|length| length != extent) {
            return Err(bad("the scanned inputs differ in length"));
        }
        length = Some(extent);
    }
    let length = length.unwrap_or(0);
    let Some(collected) = body.outputs.len().checked_sub(form.states) else {
        return Err(bad("the body gives fewer values than there are states"));
    };
    debug_assert_eq!(form.scanned, scanned.len());
    let mut slices: Vec<Vec<Value>> = vec![Vec::new(); collected];
    for turn in 0..length {
        let mut given = std::mem::take(&mut states);
        for (which, value) in scanned.iter().enumerate() {
            let index = if at(form.input_directions, which) == 0 { turn } else { length - 1 - turn };
            given.push(slice(value, at(form.input_axes, which), index)?);
        }
        let mut results = (body.turn)(given)?.into_iter();
        states = results.by_ref().take(form.states).collect();
        for (slices, slice) in slices.iter_mut().zip(results) {
            slices.push(slice);
        }
    }
    for (which, mut slices) in slices.into_iter().enumerate() {
        if at(form.output_directions, which) != 0 {
            slices.reverse();
        }
        let stacked = stack(slices, &body.outputs[form.states + which])?;
        states.push(moved(stacked, at(form.output_axes, which))?);
    }
    Ok(states)
}

/// The first axis moved to another place.
fn moved(value: Value, axis: i64) -> Result<Value, NodeFault> {
    let Some(rank) = value.as_tensor().map(AnyTensor::rank) else { return Ok(value) };
    let rank = rank as i64;
    let axis = if axis < 0 { axis + rank } else { axis };
    if axis == 0 {
        return Ok(value);
    }
    if !(0..rank).contains(&axis) {
        return Err(bad(format!("axis {axis} is outside a scanned output")));
    }
    let mut perm: Vec<i64> = (1..rank).collect();
    perm.insert(usize::try_from(axis).unwrap_or(0), 0);
    let attributes = Attributes::default().with("perm", Attribute::Ints(perm));
    operator("Transpose", &attributes, vec![value])
}
