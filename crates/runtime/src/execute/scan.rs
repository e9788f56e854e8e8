//! `Scan`: a body that runs along an axis of its inputs, with states.
//!
//! In version 8 the first axis of every input is the batch, and the batches are scanned one after the other.
//! Sequence lengths are not supported.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::shape::position;

use super::control_flow::{invalid, stack};
use super::{Frame, Inputs, Run, catch_panic, operands};
use crate::error::NodeError;
use crate::operator;
use crate::plan::Plan;

/// The first version without a batch axis.
const UNBATCHED: i64 = 9;

/// A scan with its attributes.
struct Scan<'a, 'r> {
    run: &'a Run<'r>,
    frame: &'a Frame<'a>,
    body: &'a Plan,
    /// Types of the body's outputs.
    output_types: Vec<&'a ValueType>,
    states: usize,
    input_axes: &'a [i64],
    output_axes: &'a [i64],
    input_directions: &'a [i64],
    output_directions: &'a [i64],
}

fn ints<'s>(attributes: &'s Attributes, name: &str) -> &'s [i64] {
    match attributes.get(name) {
        Some(Attribute::Ints(values)) => values,
        Some(_) | None => &[],
    }
}

/// The element of an attribute with one element per input or output; 0 by default.
fn element(list: &[i64], at: usize) -> i64 {
    list.get(at).copied().unwrap_or(0)
}

pub(super) fn run(
    run: &Run<'_>,
    frame: &Frame<'_>,
    body: &Plan,
    attributes: &Attributes,
    version: i64,
    inputs: Inputs,
) -> Result<Vec<Datum>, NodeError> {
    let mut inputs = operands(inputs)?;
    run.begin_loop();
    let is_batched = version < UNBATCHED;
    if is_batched && !inputs.is_empty() && inputs.remove(0).is_some() {
        return Err(invalid("sequence lengths of a scan are not supported"));
    }
    let inputs: Option<Vec<Datum>> = inputs.into_iter().collect();
    let inputs = inputs.ok_or_else(|| invalid("an input of the scan is missing"))?;
    let scanned = match attributes.get("num_scan_inputs") {
        Some(Attribute::Int(count)) => usize::try_from(*count).unwrap_or(0),
        Some(_) | None => 0,
    };
    let Some(states) = inputs.len().checked_sub(scanned) else {
        return Err(invalid("the scan has too few inputs"));
    };
    let scan = Scan {
        run,
        frame,
        body,
        output_types: body.outputs.iter().map(|slot| &body.slot(*slot).ty).collect(),
        states,
        input_axes: ints(attributes, "scan_input_axes"),
        output_axes: ints(attributes, "scan_output_axes"),
        input_directions: ints(attributes, if is_batched { "directions" } else { "scan_input_directions" }),
        output_directions: ints(attributes, "scan_output_directions"),
    };
    catch_panic(NodeError::OperatorPanicked, || {
        if is_batched { scan.batches(&inputs) } else { scan.along_axes(inputs) }
    })
}

impl Scan<'_, '_> {
    fn batches(&self, inputs: &[Datum]) -> Result<Vec<Datum>, NodeError> {
        let first = inputs.first().and_then(Datum::as_tensor);
        let batches = first.and_then(|tensor| tensor.shape().first().copied());
        let batches = batches.ok_or_else(|| invalid("a scan of version 8 has no batch axis"))?;
        let mut results: Vec<Vec<Datum>> = vec![Vec::new(); self.output_types.len()];
        for batch in 0..batches {
            let inputs = inputs.iter().map(|input| slice(input, 0, batch)).collect::<Result<_, _>>()?;
            for (results, result) in results.iter_mut().zip(self.along_axes(inputs)?) {
                results.push(result);
            }
        }
        results.into_iter().zip(&self.output_types).map(|(slices, ty)| stack(slices, ty)).collect()
    }

    fn along_axes(&self, mut states: Vec<Datum>) -> Result<Vec<Datum>, NodeError> {
        let scanned = states.split_off(self.states);
        let length = self.length(&scanned)?;
        let Some(collected) = self.output_types.len().checked_sub(self.states) else {
            return Err(invalid("the body returns fewer values than the scan has states"));
        };
        let mut slices: Vec<Vec<Datum>> = vec![Vec::new(); collected];
        for iteration in 0..length {
            let mut inputs = std::mem::take(&mut states);
            for (at, value) in scanned.iter().enumerate() {
                let is_forward = element(self.input_directions, at) == 0;
                let index = if is_forward { iteration } else { length - 1 - iteration };
                inputs.push(slice(value, element(self.input_axes, at), index)?);
            }
            let mut results = self.iteration(inputs)?.into_iter();
            states = results.by_ref().take(self.states).collect();
            for (slices, slice) in slices.iter_mut().zip(results) {
                slices.push(slice);
            }
        }
        for (at, mut slices) in slices.into_iter().enumerate() {
            if element(self.output_directions, at) != 0 {
                slices.reverse();
            }
            let stacked = stack(slices, self.output_types[self.states + at])?;
            states.push(move_first_axis(stacked, element(self.output_axes, at))?);
        }
        Ok(states)
    }

    /// The common length of the scanned axes.
    fn length(&self, scanned: &[Datum]) -> Result<usize, NodeError> {
        let mut length = None;
        for (at, value) in scanned.iter().enumerate() {
            let tensor = value.as_tensor().ok_or_else(|| invalid("a scanned input is not a tensor"))?;
            let axis = element(self.input_axes, at);
            let extent = position(axis, tensor.rank()).map(|axis| tensor.shape()[axis]);
            let extent = extent.ok_or_else(|| invalid(format!("axis {axis} is outside a scanned input")))?;
            if length.is_some_and(|length| length != extent) {
                return Err(invalid("the scanned inputs differ in length"));
            }
            length = Some(extent);
        }
        Ok(length.unwrap_or(0))
    }

    /// Runs the body once, on states and slices.
    fn iteration(&self, inputs: Vec<Datum>) -> Result<Vec<Datum>, NodeError> {
        self.run.iteration()?;
        let results = self.run.body(self.frame, self.body, inputs)?;
        operands(results.into_iter().map(Some).collect())
            .map(|results| results.into_iter().flatten().collect())
    }
}

/// The slice at an index of an axis, without the axis.
fn slice(value: &Datum, axis: i64, index: usize) -> Result<Datum, NodeError> {
    let attributes = Attributes::default().with("axis", Attribute::Int(axis));
    let index = AnyTensor::from_scalar(i64::try_from(index).unwrap_or(i64::MAX));
    operator::run("Gather", &attributes, vec![value.clone(), Datum::Tensor(index)])
}

/// Moves the first axis to another position.
fn move_first_axis(value: Datum, axis: i64) -> Result<Datum, NodeError> {
    let Some(rank) = value.as_tensor().map(AnyTensor::rank) else { return Ok(value) };
    if axis == 0 {
        return Ok(value);
    }
    let to = position(axis, rank);
    let to = to.ok_or_else(|| invalid(format!("axis {axis} is outside a scanned output")))?;
    let mut perm: Vec<i64> = (1..rank as i64).collect();
    perm.insert(to, 0);
    let attributes = Attributes::default().with("perm", Attribute::Ints(perm));
    operator::run("Transpose", &attributes, vec![value])
}
