//! The error of a converted model on given inputs.
//!
//! Both models run on the embedded backend. The error of a value is the largest absolute difference of its
//! elements, divided by the largest absolute element of the original: small elements next to large ones do
//! not count as wrong. Elements beyond the range of the new type that became its greatest value, as masks do,
//! are left out. The error of a node is that of its outputs; its *growth* is this error divided by the largest
//! error of its inputs, or by half a step of the new type if that is greater.
//!
//! [`Plan::search`] is a heuristic: it keeps the converted node with the largest growth, as long as that
//! reduces the error of the outputs, and stops at the tolerance or after [`MAX_RUNS`] runs. Another list can
//! be shorter.

use std::collections::{HashMap, HashSet};

use typeloom::run::RunLimits;
use typeloom_cpu::ops::generate::Random;
use typeloom_io::files::{SideFiles, used};
use typeloom_rewrite::convert::{ConvertError, Converted};
use typeloom_runtime::error::{PrepareError, RunError};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::{Port, Session};
use typeloom_solver::elem::Elem;
use typeloom_solver::program::{StepId, StepKind};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::SymbolBindings;
use typeloom_tensor::value_type::Element;
use typeloom_types::dtype::{Dtype, DtypeClass};

use super::Conversion;
use crate::budget::{Budget, Size};
use crate::error::Error;
use crate::file::File;
use crate::plan::Plan;
use crate::run::difference::step;
use crate::run::{cast, random};

/// The largest number of conversions that a search runs.
pub const MAX_RUNS: usize = 24;

/// The number of proposed nodes.
const MAX_PROPOSED: usize = 3;

/// A growth from which a node is proposed.
const NOTABLE_GROWTH: f64 = 4.0;

/// The error of a value.
#[derive(Clone, PartialEq, Debug)]
pub struct ValueError {
    /// The name of the value.
    pub value: String,
    /// The name of its node, or of the first output of an unnamed node; empty for an input.
    pub node: String,
    /// The operator of the node.
    pub operator: String,
    /// The relative error, see the module.
    pub relative: f64,
    /// The largest relative error of the inputs of the node.
    pub inputs: f64,
    /// Whether the value has another type than in the original.
    pub is_converted: bool,
}

impl ValueError {
    /// The factor by which the node increases the error.
    #[must_use]
    pub fn growth(&self, to: Elem) -> f64 {
        let half = to.dtype().map_or(f64::EPSILON, step) / 2.0;
        self.relative / self.inputs.max(half)
    }
}

/// The errors of a converted model on some inputs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measurement {
    /// The outputs, in the order of the model.
    pub outputs: Vec<ValueError>,
    /// The other values of the main graph, the largest error first.
    pub values: Vec<ValueError>,
    /// The nodes that increase the error most, to keep.
    pub proposed: Vec<String>,
}

impl Measurement {
    /// The largest error of an output.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.outputs.iter().map(|output| output.relative).fold(0.0, f64::max)
    }
}

/// Error of a measurement.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A conversion of a search.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A model cannot be checked.
    #[error(transparent)]
    Check(#[from] Error),
    /// A model cannot be prepared.
    #[error("the model does not run on the embedded backend: {0}")]
    Prepare(#[from] PrepareError),
    /// A run fails.
    #[error("the run fails: {0}")]
    Run(#[from] RunError),
    /// An input cannot be generated.
    #[error("input `{input}` has to be given: {reason}")]
    Input {
        /// The input.
        input: String,
        /// The reason.
        reason: String,
    },
    /// An array that is no input.
    #[error("the model has no input `{0}`")]
    UnknownInput(String),
}

/// A conversion that a search found.
pub struct Found {
    /// The converted model.
    pub converted: Converted,
    /// Its errors.
    pub measurement: Measurement,
    /// The kept nodes, without those of the request.
    pub keep: Vec<String>,
    /// The number of conversions that were run.
    pub runs: usize,
}

type Values = HashMap<String, Datum>;

/// The original model with its inputs and its values.
pub struct Original {
    inputs: Values,
    values: Values,
}

impl Plan {
    /// Runs the original model. Inputs that are not given are generated.
    ///
    /// # Errors
    /// [`MeasureError`]
    pub fn original(
        &self,
        file: &File,
        given: Vec<(String, AnyTensor)>,
        seed: u32,
    ) -> Result<Original, MeasureError> {
        let session = self.session(file)?;
        let inputs = inputs(session.inputs(), given, seed)?;
        let mut values = HashMap::new();
        let mut observe = |name: &str, value: &Datum| {
            if floats(value).is_some() {
                values.insert(name.to_owned(), value.clone());
            }
        };
        inputs.iter().for_each(|(name, value)| observe(name, value));
        session.run_observed(inputs.clone(), Verify::Inputs, Some(&mut observe))?;
        Ok(Original { inputs, values })
    }

    fn session(&self, file: &File) -> Result<Session, MeasureError> {
        let side = SideFiles::new(file.folder().filter(|_| self.uses_side_files()));
        let read = |tensor: &_| side.read(tensor);
        let solved = self.solve(file, crate::check::SideFiles::Unchecked)?;
        let Ok(mut checked) = solved else {
            return Err(ConvertError::HasErrors.into());
        };
        let checked = checked.solved();
        let external = used(checked, file.folder());
        let bytes = file.model().shared();
        let size = Size { model: bytes.len() as u64, external, inputs: 0 };
        // The caller asked for a run of its own model: only memory is limited.
        let limits = RunLimits { work: u64::MAX, steps: u64::MAX, ..Budget::default().limits(size) };
        Ok(Session::of_checked_file(checked, bytes, &read, limits)?)
    }

    /// The errors of a converted model.
    ///
    /// # Errors
    /// [`MeasureError`]
    pub fn measure(
        &self,
        file: &File,
        original: &Original,
        converted: &Converted,
        to: Elem,
    ) -> Result<Measurement, MeasureError> {
        let new = file.with_model(converted.file.clone());
        let session = self.session(&new)?;
        let mut inputs = original.inputs.clone();
        for port in session.inputs() {
            let (Element::Tensor(Some(dtype)), Some(Datum::Tensor(tensor))) =
                (&port.ty.element, inputs.get(&port.name))
            else {
                continue;
            };
            if tensor.dtype() != *dtype {
                let cast = cast(tensor, *dtype).map_err(|error| MeasureError::Input {
                    input: port.name.clone(),
                    reason: error.to_string(),
                })?;
                inputs.insert(port.name.clone(), Datum::Tensor(cast));
            }
        }
        let mut errors: HashMap<String, (f64, bool)> = HashMap::new();
        let mut compare = |name: &str, value: &Datum| {
            if let Some(before) = original.values.get(name)
                && let (Some(before), Some(after)) = (floats(before), floats(value))
            {
                let is_converted = before.dtype() != after.dtype();
                errors.insert(name.to_owned(), (relative(before, after, to), is_converted));
            }
        };
        // The values of a run need not contain its inputs.
        for (name, value) in &inputs {
            compare(name, value);
        }
        session.run_observed(inputs, Verify::Inputs, Some(&mut compare))?;
        self.by_node(file, session.outputs(), &errors, to)
    }

    /// Relates the errors of values to the nodes of the original model.
    fn by_node(
        &self,
        file: &File,
        outputs: &[Port],
        errors: &HashMap<String, (f64, bool)>,
        to: Elem,
    ) -> Result<Measurement, MeasureError> {
        let Ok(mut checked) = self.solve(file, crate::check::SideFiles::Unchecked)? else {
            return Err(ConvertError::HasErrors.into());
        };
        let body = checked.solved().shared_body();
        let mut found = Measurement::default();
        let names: HashSet<&str> = outputs.iter().map(|port| port.name.as_str()).collect();
        let (from, end) = body.graph(body.root()).steps;
        for at in (from..end).map(StepId::new) {
            let own = body.step(at);
            if own.graph != body.root() || matches!(own.kind, StepKind::Exit(_)) {
                continue;
            }
            let outputs: Vec<&str> = body
                .outputs(body.last_step(at))
                .iter()
                .flatten()
                .map(|value| body.value_name(*value))
                .collect();
            let inputs =
                body.inputs(at).iter().flatten().filter_map(|value| errors.get(body.value_name(*value)));
            let inputs = inputs.map(|(relative, _)| *relative).fold(0.0, f64::max);
            let node = own.node.name().ok().filter(|name| !name.is_empty());
            let node = node.or(outputs.first().copied()).unwrap_or_default();
            for value in outputs {
                let Some((relative, is_converted)) = errors.get(value).copied() else { continue };
                let error = ValueError {
                    value: value.to_owned(),
                    node: node.to_owned(),
                    operator: body.op_name(at).to_owned(),
                    relative,
                    inputs,
                    is_converted,
                };
                if names.contains(value) { &mut found.outputs } else { &mut found.values }.push(error);
            }
        }
        found.values.sort_by(|a, b| b.relative.total_cmp(&a.relative));
        let mut growing: Vec<&ValueError> =
            found.values.iter().chain(&found.outputs).filter(|it| it.is_converted).collect();
        growing.sort_by(|a, b| b.growth(to).total_cmp(&a.growth(to)));
        let notable = growing.into_iter().filter(|it| it.growth(to) >= NOTABLE_GROWTH);
        let mut proposed: Vec<String> = Vec::new();
        for error in notable {
            if !proposed.contains(&error.node) && proposed.len() < MAX_PROPOSED {
                proposed.push(error.node.clone());
            }
        }
        found.proposed = proposed;
        Ok(found)
    }

    /// Searches for nodes to keep so that no output has a larger error than `tolerance`.
    ///
    /// # Errors
    /// [`MeasureError`]
    pub fn search(
        &self,
        file: &File,
        original: &Original,
        conversion: &Conversion,
        tolerance: f64,
    ) -> Result<Found, MeasureError> {
        let mut keep: Vec<String> = Vec::new();
        let mut tried: HashSet<String> = HashSet::new();
        let converted = self.convert(file, conversion)?;
        let measurement = self.measure(file, original, &converted, conversion.to)?;
        let mut best = Found { converted, measurement, keep: Vec::new(), runs: 1 };
        while best.measurement.error() > tolerance && best.runs < MAX_RUNS {
            let errors = best.measurement.values.iter().chain(&best.measurement.outputs);
            let open = errors.filter(|it| it.is_converted && !tried.contains(&it.node));
            let next = open.max_by(|a, b| a.growth(conversion.to).total_cmp(&b.growth(conversion.to)));
            let Some(next) = next.map(|it| it.node.clone()) else { break };
            tried.insert(next.clone());
            let mut trial = conversion.clone();
            trial.keep.extend(keep.iter().cloned().chain([next.clone()]));
            best.runs += 1;
            let converted = match self.convert(file, &trial) {
                Ok(converted) => converted,
                // Nothing is left to convert.
                Err(ConvertError::Nothing { .. }) => break,
                Err(error) => return Err(error.into()),
            };
            let measurement = self.measure(file, original, &converted, conversion.to)?;
            if measurement.error() < best.measurement.error() {
                keep.push(next);
                best = Found { converted, measurement, keep: keep.clone(), runs: best.runs };
            }
        }
        Ok(best)
    }
}

/// The tensor of floats in a value.
fn floats(value: &Datum) -> Option<&AnyTensor> {
    match value {
        Datum::Tensor(tensor) if tensor.dtype().class() == DtypeClass::Float => Some(tensor),
        _ => None,
    }
}

/// The given inputs and generated ones.
fn inputs(ports: &[Port], given: Vec<(String, AnyTensor)>, seed: u32) -> Result<Values, MeasureError> {
    let mut inputs = HashMap::new();
    let mut symbols = SymbolBindings::default();
    for (name, tensor) in given {
        let port = ports.iter().find(|port| port.name == name);
        let port = port.ok_or_else(|| MeasureError::UnknownInput(name.clone()))?;
        let value = Datum::Tensor(tensor);
        if let Err(mismatch) = symbols.check(&value, &port.ty) {
            return Err(MeasureError::Input { input: name, reason: mismatch.to_string() });
        }
        inputs.insert(name, value);
    }
    let mut random = Random::new(Some(f64::from(seed)));
    for port in ports.iter().filter(|port| !port.has_default) {
        if !inputs.contains_key(&port.name) {
            let value = random::value(&port.ty, &mut symbols, &mut random);
            let value = value.map_err(|error| MeasureError::Input {
                input: port.name.clone(),
                reason: error.to_string(),
            })?;
            inputs.insert(port.name.clone(), value);
        }
    }
    Ok(inputs)
}

/// The largest difference divided by the largest element, see the module.
fn relative(before: &AnyTensor, after: &AnyTensor, to: Elem) -> f64 {
    let numbers = |tensor: &AnyTensor| cast(tensor, Dtype::F64).ok()?.to_vec::<f64>().ok();
    let (Some(old), Some(new)) = (numbers(before), numbers(after)) else { return f64::INFINITY };
    if old.len() != new.len() {
        return f64::INFINITY;
    }
    let greatest = match to {
        Elem::FLOAT16 => 65504.0,
        Elem::BFLOAT16 => 3.389_531_389_251_535_5e38,
        _ => f64::MAX,
    };
    let (mut distance, mut size) = (0.0_f64, 0.0_f64);
    for (old, new) in old.into_iter().zip(new) {
        let is_saturated = old.abs() > greatest && new.abs() >= greatest / 2.0 && new.is_finite();
        if old == new || old.is_nan() && new.is_nan() || is_saturated && (old < 0.0) == (new < 0.0) {
            if old.is_finite() && !is_saturated {
                size = size.max(old.abs());
            }
            continue;
        }
        if !new.is_finite() || !old.is_finite() {
            return f64::INFINITY;
        }
        distance = distance.max((old - new).abs());
        size = size.max(old.abs());
    }
    match distance {
        0.0 => 0.0,
        distance => distance / size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_relative_to_the_largest_element() {
        let of = |numbers: &[f32]| AnyTensor::from_slice(&[numbers.len()], numbers).expect("it is small");
        let half = |numbers: &[f32]| cast(&of(numbers), Dtype::F16).expect("floats are converted");
        let error = |before: &_, after: &_| relative(before, after, Elem::FLOAT16);
        assert_eq!(error(&of(&[1.0, 8.0]), &of(&[1.0, 8.0])), 0.0);
        assert_eq!(error(&of(&[1.0, 8.0]), &of(&[2.0, 8.0])), 0.125);
        assert_eq!(error(&of(&[1.0, 1e9]), &of(&[1.0, f32::INFINITY])), f64::INFINITY);
        // A mask at the end of the range of float16.
        assert_eq!(error(&of(&[-3.4e38, 4.0]), &half(&[-65504.0, 5.0])), 0.25);
        assert_eq!(error(&of(&[-3.4e38, 4.0]), &of(&[-3.4e38, 5.0])), 0.25);
    }
}
