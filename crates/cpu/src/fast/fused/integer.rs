//! Products and convolutions of 8-bit integers, and the nodes that follow them.
//!
//! A kernel begins with `MatMulInteger`, `ConvInteger`, `QLinearMatMul` or `QLinearConv` with constant
//! weights, or with a `MatMul`, `Gemm` or `Conv` whose operands are dequantised 8-bit integers.
//!
//! Rounding: sums of products of integers are exact. The nodes that follow are applied to each sum in `f32`,
//! each with its own rounding, so results equal those of the separate nodes in every bit. The exception are
//! kernels that begin with a float node: they compute `f32(sum) * f32(x_scale * w_scale) + bias`, where the
//! separate nodes round every product and sum of the dequantised floats. Both are within the rounding of a
//! float product; a quantisation that follows can differ by one unit where the value is that close to a tie.

use std::borrow::Cow;

use pulp::bytemuck::cast_slice_mut;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use super::link::{Link, LinkInput};
use super::nodes::{Quantisation, bounds, byte, floats, quantisation, scalar};
use super::{Absorbed, FusedError, Node, Operand};
use crate::attributes::Attributes;
use crate::call::Call;
use crate::element::{to_f64s, widest};
use crate::error::{KernelError, KernelErrorKind};
use crate::fast::product::integer::{self, Sink};
use crate::fast::quantised::convolution::Filter;
use crate::fast::quantised::linear::Target;
use crate::fast::quantised::product::{Columns, with_columns};
use crate::fast::quantised::requantize::{Lanes, Requantizer};
use crate::memory;
use crate::ops::Operator;

/// Number of sums that are finished together.
const CHUNK: usize = 256;

/// Packed weights.
#[derive(Clone, Debug)]
enum Weights {
    /// Lanes are columns.
    Columns(Columns),
    /// Lanes are channels.
    Filter(Filter),
}

impl Weights {
    fn lanes(&self) -> usize {
        match self {
            Self::Columns(columns) => columns.shape()[1],
            Self::Filter(filter) => filter.channels(),
        }
    }
}

/// Zero point of the input.
#[derive(Clone, Debug)]
enum InputZero {
    Absent,
    Constant(AnyTensor),
    /// The second input of a run.
    Read,
}

/// Operand of an arithmetic step.
#[derive(Clone, Debug)]
enum Source {
    /// One number, or one per lane.
    Constant(Vec<f32>),
    /// An input of the run.
    Input(usize),
}

/// A step on floats.
#[derive(Clone, Debug)]
enum Step<T> {
    Multiply(T),
    Add(T),
    /// Raises to the first and lowers to the second number. NaN is preserved.
    Clamp(f32, f32),
}

/// The form of the results.
#[derive(Clone, Debug)]
enum Results {
    Sums,
    Floats,
    /// Quantised with this scale and zero point to this type.
    Quantised(f32, f32, Dtype),
    Requantised(Requantizer),
}

/// A kernel on integers.
#[derive(Clone, Debug)]
pub(super) struct Integer {
    pub(super) operator: &'static Operator,
    version: i64,
    attributes: Attributes,
    weights: Weights,
    zero: InputZero,
    inputs: Vec<usize>,
    /// Number of inputs of a run.
    reads: usize,
    steps: Vec<Step<Source>>,
    results: Results,
    /// The absorbed nodes after the first.
    links: Vec<Link>,
}

impl Integer {
    pub(super) fn begins_with(operator: &Operator) -> bool {
        matches!(
            operator.name(),
            "MatMulInteger" | "ConvInteger" | "QLinearMatMul" | "QLinearConv" | "MatMul" | "Gemm" | "Conv"
        )
    }

    pub(super) fn prepare(node: &Node<'_>) -> Option<Self> {
        if node.outputs != 1 {
            return None;
        }
        match node.operator.name() {
            "MatMulInteger" | "ConvInteger" => Self::of_sums(node),
            "QLinearMatMul" | "QLinearConv" => Self::of_requantised(node),
            "MatMul" | "Gemm" | "Conv" => Self::of_floats(node),
            _ => None,
        }
    }

    fn new(node: &Node<'_>, weights: Weights, zero: InputZero, results: Results) -> Self {
        let inputs = if matches!(zero, InputZero::Read) { vec![0, 2] } else { vec![0] };
        Self {
            operator: node.operator,
            version: node.version,
            attributes: node.attributes.clone(),
            weights,
            zero,
            reads: inputs.len(),
            inputs,
            steps: Vec::new(),
            results,
            links: Vec::new(),
        }
    }

    fn weights(node: &Node<'_>, w: &AnyTensor, zero: Option<&AnyTensor>) -> Option<Weights> {
        if w.is_empty() {
            return None;
        }
        if node.operator.name().contains("Conv") {
            Filter::pack(node.attributes, w, zero).ok()?.map(Weights::Filter)
        } else {
            Columns::pack(w, zero).map(Weights::Columns)
        }
    }

    fn of_sums(node: &Node<'_>) -> Option<Self> {
        let w = Operand::constant(node.inputs, 1)?;
        let zero = match node.inputs.get(2) {
            None | Some(Operand::Absent) => InputZero::Absent,
            Some(Operand::Constant(zero)) => InputZero::Constant((*zero).clone()),
            Some(Operand::Unknown) => InputZero::Read,
            Some(Operand::Dequantised(_) | Operand::Result) => return None,
        };
        let weights = Self::weights(node, w, Operand::optional(node.inputs, 3)?)?;
        Some(Self::new(node, weights, zero, Results::Sums))
    }

    fn of_requantised(node: &Node<'_>) -> Option<Self> {
        let constant = |index| Operand::constant(node.inputs, index);
        let zero = constant(2)?;
        let weights = Self::weights(node, constant(3)?, Some(constant(5)?))?;
        byte(zero)?;
        let x_scale = <[f64; 1]>::try_from(to_f64s(constant(1)?).ok()?).ok()?[0];
        let y_scale = <[f64; 1]>::try_from(to_f64s(constant(6)?).ok()?).ok()?[0];
        let factors = to_f64s(constant(4)?).ok()?.iter().map(|scale| x_scale * scale).collect();
        let bias =
            if node.operator.name() == "QLinearConv" { Operand::optional(node.inputs, 8)? } else { None };
        let requantizer = Requantizer::new(factors, y_scale, constant(7)?, bias, weights.lanes()).ok()?;
        let zero = InputZero::Constant(zero.clone());
        Some(Self::new(node, weights, zero, Results::Requantised(requantizer)))
    }

    /// A float node whose operands are dequantised.
    fn of_floats(node: &Node<'_>) -> Option<Self> {
        let x = Operand::dequantised(node.inputs, 0)?;
        let w = Operand::dequantised(node.inputs, 1)?;
        let x_scale = scalar(&x.scale)?;
        let zero = match &x.zero {
            Some(zero) => {
                byte(zero)?;
                InputZero::Constant(zero.clone())
            }
            None => InputZero::Absent,
        };
        let integers = w.x.as_ref()?;
        let is_gemm = node.operator.name() == "Gemm";
        let is_conv = node.operator.name() == "Conv";
        let flips = is_gemm && node.attributes.int("transB").ok()?.unwrap_or(0) != 0;
        if is_gemm {
            let one = |name| Some(node.attributes.float(name).ok()?.unwrap_or(1.0) == 1.0);
            if node.attributes.int("transA").ok()?.unwrap_or(0) != 0 || !one("alpha")? || !one("beta")? {
                return None;
            }
        }
        // Scales are one per lane: a row of a filter, or a column.
        let lane_axis = if is_conv || flips { 0 } else { integers.rank().checked_sub(1)? };
        let scales = w.scale.as_slice::<f32>().ok()?;
        let axis = usize::try_from(if w.axis < 0 { w.axis + integers.rank() as i64 } else { w.axis }).ok()?;
        if scales.len() != 1 && (axis != lane_axis || scales.len() != *integers.shape().get(lane_axis)?) {
            return None;
        }
        let weights = if flips {
            Weights::Columns(Columns::pack_transposed(integers, w.zero.as_ref())?)
        } else {
            Self::weights(node, integers, w.zero.as_ref())?
        };
        let ratios: Vec<f32> = scales.iter().map(|scale| x_scale * scale).collect();
        let mut kernel = Self::new(node, weights, zero, Results::Floats);
        kernel.steps.push(Step::Multiply(Source::Constant(ratios)));
        if !is_conv && !is_gemm || Operand::is_absent(node.inputs, 2) {
            return Some(kernel);
        }
        let bias = floats(node.inputs.get(2)?)?;
        let axis = if is_conv { Lane::Alone } else { Lane::Last };
        let bias = kernel.per_lane(&bias, axis)?;
        kernel.steps.push(Step::Add(Source::Constant(bias)));
        Some(kernel)
    }

    /// Indices of the inputs of the first node that a run reads.
    pub(super) fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// The axis of the lanes in tensors that broadcast to the result.
    fn lane(&self) -> Lane {
        match &self.weights {
            Weights::Columns(_) => Lane::Last,
            Weights::Filter(filter) => Lane::Channel(filter.rank()),
        }
    }

    /// The elements of an `f32` tensor as one number, or one per lane.
    fn per_lane(&self, tensor: &AnyTensor, lane: Lane) -> Option<Vec<f32>> {
        let values = tensor.as_slice::<f32>().ok()?;
        lane.fits(tensor.shape(), self.weights.lanes()).then(|| values.to_vec())
    }

    /// The floats of a constant operand, if they are as few as the lanes.
    fn constant_floats(&self, operand: &Operand<'_>) -> Option<AnyTensor> {
        let is_small = match operand {
            Operand::Constant(_) => true,
            Operand::Dequantised(given) => given.x.as_ref().is_some_and(|x| x.len() <= self.weights.lanes()),
            Operand::Absent | Operand::Unknown | Operand::Result => false,
        };
        if is_small { floats(operand) } else { None }
    }

    /// Absorbs the only consumer of the result, if supported.
    pub(super) fn absorb(&mut self, node: &Node<'_>) -> Absorbed {
        let absorbed = self.absorbed(node).unwrap_or(Absorbed::No);
        if absorbed != Absorbed::No {
            let inputs = node.inputs.iter().enumerate().map(|(index, input)| match input {
                Operand::Result => LinkInput::Previous,
                Operand::Constant(tensor) => LinkInput::Constant((*tensor).clone()),
                Operand::Dequantised(_) | Operand::Unknown if absorbed == Absorbed::WithInput(index) => {
                    LinkInput::Input(self.reads)
                }
                Operand::Dequantised(_) => floats(input).map_or(LinkInput::Absent, LinkInput::Constant),
                Operand::Absent | Operand::Unknown => LinkInput::Absent,
            });
            self.links.push(Link::new(node, inputs.collect()));
            self.reads += usize::from(absorbed != Absorbed::Whole);
        }
        absorbed
    }

    fn absorbed(&mut self, node: &Node<'_>) -> Option<Absorbed> {
        if node.outputs != 1 {
            return None;
        }
        let result = node.inputs.iter().position(|input| matches!(input, Operand::Result))?;
        match (node.operator.name(), &self.results) {
            ("Cast", Results::Sums) => {
                let to = node.attributes.int("to").ok()??;
                if to != i64::from(Dtype::F32.onnx_number()) {
                    return None;
                }
                self.results = Results::Floats;
            }
            ("Mul" | "Add", Results::Floats) if node.version >= 7 && node.inputs.len() == 2 => {
                let is_product = node.operator.name() == "Mul";
                let step = if is_product { Step::Multiply } else { Step::Add };
                if let Some(tensor) = self.constant_floats(&node.inputs[1 - result]) {
                    let values = self.per_lane(&tensor, self.lane())?;
                    self.steps.push(step(Source::Constant(values)));
                } else if is_product && self.steps.is_empty() {
                    self.steps.push(step(Source::Input(self.reads)));
                    return Some(Absorbed::WithInput(1 - result));
                } else {
                    return None;
                }
            }
            ("Relu" | "Clip", Results::Floats) => {
                let (low, high) = bounds(node, result)?;
                self.steps.push(Step::Clamp(low, high));
            }
            ("QuantizeLinear", Results::Floats) if result == 0 => {
                let Quantisation { scale, zero, dtype } = quantisation(node)?;
                self.results = Results::Quantised(scale, zero, dtype);
            }
            _ => return None,
        }
        Some(Absorbed::Whole)
    }

    /// Runs the kernel.
    pub(super) fn run(&self, inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, FusedError> {
        let mut call = Call { version: self.version, attributes: &self.attributes, inputs, outputs: 1 };
        let results = match self.resolve(&call) {
            Some(steps) => self.in_one(&call, &steps),
            None => self.one_by_one(&call),
        };
        memory::recycle_all(&mut call.inputs);
        results
    }

    /// The steps with the values of this run. `None` if an input does not have one number per lane.
    fn resolve<'a>(&'a self, call: &'a Call<'_>) -> Option<Vec<Step<Cow<'a, [f32]>>>> {
        let values = |source: &'a Source| match source {
            Source::Constant(values) => Some(Cow::Borrowed(&values[..])),
            Source::Input(index) => self.per_lane(call.tensor(*index).ok()?, self.lane()).map(Cow::Owned),
        };
        let each = |step: &'a Step<Source>| {
            Some(match step {
                Step::Multiply(source) => Step::Multiply(values(source)?),
                Step::Add(source) => Step::Add(values(source)?),
                Step::Clamp(low, high) => Step::Clamp(*low, *high),
            })
        };
        self.steps.iter().map(each).collect()
    }

    fn in_one(&self, call: &Call<'_>, steps: &[Step<Cow<'_, [f32]>>]) -> Result<Vec<Datum>, FusedError> {
        let lanes = |row: usize, first: usize| match self.weights {
            Weights::Columns(_) => Lanes::From(first),
            Weights::Filter(_) => Lanes::One(row),
        };
        match &self.results {
            Results::Sums => self.compute::<i32>(call, &integer::store),
            Results::Floats => self.compute::<f32>(call, &|row, first, sums, out| {
                widest(
                    #[inline(always)]
                    || finish(steps, lanes(row, first), sums, out),
                );
            }),
            Results::Quantised(scale, zero, dtype) => {
                let bounds = if *dtype == Dtype::I8 { (-128.0, 127.0) } else { (0.0, 255.0) };
                let sink = |row: usize, first: usize, sums: &[i32], out: &mut [u8]| {
                    widest(
                        #[inline(always)]
                        || quantise(steps, (*scale, *zero, bounds), lanes(row, first), sums, out),
                    );
                };
                self.bytes(call, *dtype, &sink)
            }
            Results::Requantised(requantizer) => {
                let sink = |row: usize, first: usize, sums: &[i32], out: &mut [u8]| {
                    requantizer.apply(lanes(row, first), sums, out);
                };
                self.bytes(call, requantizer.dtype(), &sink)
            }
        }
    }

    /// Runs with results of 8 bits.
    fn bytes(&self, call: &Call<'_>, dtype: Dtype, sink: &Sink<'_, u8>) -> Result<Vec<Datum>, FusedError> {
        if dtype == Dtype::I8 {
            self.compute::<i8>(call, &|row, first, sums, out| sink(row, first, sums, cast_slice_mut(out)))
        } else {
            self.compute::<u8>(call, sink)
        }
    }

    fn compute<T: Element + Send + Sync>(
        &self,
        call: &Call<'_>,
        sink: &Sink<'_, T>,
    ) -> Result<Vec<Datum>, FusedError> {
        let result = || {
            let x = call.tensor(0)?;
            let zero = match &self.zero {
                InputZero::Absent => None,
                InputZero::Constant(zero) => Some(zero),
                InputZero::Read => Some(call.tensor(1)?),
            };
            let result = match &self.weights {
                Weights::Columns(columns) => with_columns::<T>(x, zero, columns, sink)?,
                Weights::Filter(filter) => filter.apply::<T>(call, x, zero, sink)?,
            };
            let unsupported = || KernelErrorKind::Unsupported("zero points of this shape".to_owned());
            Ok(vec![result.ok_or_else(unsupported)?.into()])
        };
        let op = self.operator.name();
        result().map_err(|kind| FusedError { node: 0, error: KernelError { op: op.to_owned(), kind } })
    }

    /// Runs the absorbed nodes separately on the sums.
    fn one_by_one(&self, call: &Call<'_>) -> Result<Vec<Datum>, FusedError> {
        let mut results = self.compute::<i32>(call, &integer::store)?;
        for (at, link) in self.links.iter().enumerate() {
            results = link.run(at + 1, results.into_iter().next(), &call.inputs)?;
        }
        Ok(results)
    }
}

/// Axis of the lanes in a tensor that broadcasts to the result.
#[derive(Clone, Copy)]
enum Lane {
    /// The only axis.
    Alone,
    /// The last axis.
    Last,
    /// The second axis of a result of this rank.
    Channel(usize),
}

impl Lane {
    /// Whether a shape has one element, or one per lane, and does not enlarge the result.
    fn fits(self, shape: &[usize], lanes: usize) -> bool {
        let rank = shape.len();
        let (at, most) = match self {
            Self::Alone => (Some(0), 1),
            Self::Last => (rank.checked_sub(1), 2),
            Self::Channel(of_result) => ((rank + 1).checked_sub(of_result), of_result),
        };
        let others = |at: usize| shape.iter().enumerate().all(|(axis, extent)| axis == at || *extent == 1);
        match at {
            _ if rank > most => false,
            _ if shape.iter().all(|extent| *extent == 1) => true,
            Some(at) => shape.get(at) == Some(&lanes) && others(at),
            None => false,
        }
    }
}

/// Applies the steps to sums.
#[inline(always)]
fn finish(steps: &[Step<Cow<'_, [f32]>>], lanes: Lanes, sums: &[i32], out: &mut [f32]) {
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = *sum as f32;
    }
    for step in steps {
        match step {
            Step::Multiply(values) => match operand(values, lanes) {
                Given::One(value) => out.iter_mut().for_each(|out| *out *= value),
                Given::Each(values) => out.iter_mut().zip(values).for_each(|(out, value)| *out *= value),
            },
            Step::Add(values) => match operand(values, lanes) {
                Given::One(value) => out.iter_mut().for_each(|out| *out += value),
                Given::Each(values) => out.iter_mut().zip(values).for_each(|(out, value)| *out += value),
            },
            Step::Clamp(low, high) => {
                for out in out.iter_mut() {
                    let raised = if *out < *low { *low } else { *out };
                    *out = if raised > *high { *high } else { raised };
                }
            }
        }
    }
}

/// The numbers of a step for some sums.
enum Given<'a> {
    One(f32),
    Each(&'a [f32]),
}

#[inline(always)]
fn operand(values: &[f32], lanes: Lanes) -> Given<'_> {
    match (values, lanes) {
        ([value], _) => Given::One(*value),
        (values, Lanes::One(lane)) => Given::One(values[lane]),
        (values, Lanes::From(first)) => Given::Each(&values[first..]),
    }
}

/// Applies the steps, and quantises with a scale, a zero point and bounds.
#[inline(always)]
fn quantise(
    steps: &[Step<Cow<'_, [f32]>>],
    (scale, zero, bounds): (f32, f32, (f32, f32)),
    lanes: Lanes,
    sums: &[i32],
    out: &mut [u8],
) {
    let mut buffer = [0.0; CHUNK];
    let target = Target::new(zero, bounds);
    for (at, (sums, out)) in sums.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).enumerate() {
        let lanes = match lanes {
            Lanes::From(first) => Lanes::From(first + at * CHUNK),
            Lanes::One(lane) => Lanes::One(lane),
        };
        let floats = &mut buffer[..sums.len()];
        finish(steps, lanes, sums, floats);
        for (out, value) in out.iter_mut().zip(&*floats) {
            *out = target.byte(*value / scale);
        }
    }
}
