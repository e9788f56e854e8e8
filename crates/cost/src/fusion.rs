//! Nodes that the embedded runtime computes together with a convolution.
//!
//! A `Conv` with constant weights absorbs the only reader of its result, as long as that is a batch
//! normalisation, a product or sum with a constant for each channel, the sum with another tensor (once), and
//! last a clamp. Convolutions whose results only a `Concat` of channels reads become one node with it. The
//! results in between are never stored, and the inputs live until the last of the nodes, where all of them
//! run. `typeloom_cpu::fast::fused` has the kernels.
//!
//! Limit: nodes on quantised integers are not merged here, so the memory of a quantised model is a bound.

use std::collections::BTreeMap;

use typeloom_dim::DimId;
use typeloom_solver::program::{Body, StepId, StepKind, ValueId};
use typeloom_types::dtype::Dtype;

use crate::attributes::int;
use crate::executor::{Constants, is_onnx};
use crate::values::Size;

/// The steps that run as a part of a later one.
pub(crate) struct Fusions {
    /// The step in which each step runs.
    end: Vec<StepId>,
}

impl Fusions {
    /// Each step runs alone.
    pub(crate) fn none(steps: usize) -> Self {
        Self { end: (0..steps).map(StepId::new).collect() }
    }

    /// The step in which a step runs.
    pub(crate) fn end_of(&self, step: StepId) -> StepId {
        self.end[step.index()]
    }

    /// Whether a step runs as a part of a later one, so its results are not stored.
    pub(crate) fn is_absorbed(&self, step: StepId) -> bool {
        self.end_of(step) != step
    }
}

/// A convolution that absorbs nodes.
struct Chain<'s> {
    /// The extents of its weights.
    weights: &'s [DimId],
    dtype: Dtype,
    adds: bool,
    is_clamped: bool,
}

struct Fuser<'f, 'a> {
    body: &'f Body<'a>,
    sizes: &'f [Size],
    constants: &'f Constants,
    is_returned: Vec<bool>,
}

/// Finds the nodes that convolutions absorb.
pub(crate) fn fusions(body: &Body<'_>, sizes: &[Size], constants: &Constants, steps: usize) -> Fusions {
    let mut is_returned = vec![false; sizes.len()];
    let mut graphs = vec![body.root()];
    while let Some(graph) = graphs.pop() {
        body.graph(graph).outputs.iter().for_each(|value| is_returned[value.index()] = true);
        graphs.extend(body.children(graph));
    }
    let fuser = Fuser { body, sizes, constants, is_returned };
    let mut fusions = Fusions::none(steps);
    // The nodes of convolutions without another input, by the last one.
    let mut joinable: BTreeMap<StepId, Vec<StepId>> = BTreeMap::new();
    for step in (0..steps).map(StepId::new) {
        let Some(mut chain) = fuser.begin(step) else { continue };
        let (mut last, mut taken) = (step, vec![step]);
        while let Some(next) = fuser.only_reader(last)
            && fuser.absorb(&mut chain, last, next).is_some()
        {
            taken.push(next);
            last = next;
        }
        taken.iter().for_each(|step| fusions.end[step.index()] = last);
        if !chain.adds {
            joinable.insert(last, taken);
        }
    }
    for step in (0..steps).map(StepId::new).filter(|step| body.op_name(*step) == "Concat") {
        let part = |value: &Option<ValueId>| {
            let chain = joinable.get(&body.maker((*value)?)?)?;
            (fuser.only_reader(*chain.last()?) == Some(step)).then_some(chain)
        };
        let parts: Option<Vec<&Vec<StepId>>> = body.inputs(step).iter().map(part).collect();
        let Some(parts) = parts.filter(|parts| parts.len() > 1 && fuser.joins_channels(step)) else {
            continue;
        };
        parts.into_iter().flatten().for_each(|part| fusions.end[part.index()] = step);
    }
    fusions
}

impl<'f> Fuser<'f, '_> {
    /// The only reader of the first result of a node, in the same graph.
    fn only_reader(&self, step: StepId) -> Option<StepId> {
        let [Some(value)] = *self.body.outputs(step) else { return None };
        let [reader] = *self.body.consumers().of(value) else { return None };
        let [own, other] = [step, reader].map(|step| self.body.step(step));
        let is_plain = other.kind == StepKind::Node && own.graph == other.graph;
        (is_plain && !self.is_returned[value.index()]).then_some(reader)
    }

    fn shape(&self, value: ValueId) -> Option<&'f [DimId]> {
        self.sizes[value.index()].shape.as_deref()
    }

    fn input(&self, step: StepId, at: usize) -> Option<ValueId> {
        self.body.inputs(step).get(at).copied().flatten()
    }

    fn begin(&self, step: StepId) -> Option<Chain<'f>> {
        let is_conv = self.body.op_name(step) == "Conv" && is_onnx(self.body, step);
        let weights = self.input(step, 1).filter(|weights| is_conv && self.constants.has(*weights))?;
        let dtype = self.sizes[weights.index()].dtype.filter(|it| matches!(it, Dtype::F32 | Dtype::F64))?;
        let has_open_bias = self.input(step, 2).is_some_and(|bias| !self.constants.has(bias));
        let chain = Chain { weights: self.shape(weights)?, dtype, adds: false, is_clamped: false };
        (!has_open_bias).then_some(chain)
    }

    /// Adds the reader of the result of `last`.
    fn absorb(&self, chain: &mut Chain<'_>, last: StepId, next: StepId) -> Option<()> {
        let result = self.body.outputs(last).first().copied().flatten();
        let at = self.body.inputs(next).iter().position(|input| *input == result)?;
        let inputs = self.body.inputs(next).len();
        if chain.is_clamped || self.body.outputs(next).len() != 1 || !is_onnx(self.body, next) {
            return None;
        }
        let are_constant = |from: usize| {
            (from..inputs).filter_map(|at| self.input(next, at)).all(|it| self.constants.has(it))
        };
        match self.body.op_name(next) {
            "Relu" => chain.is_clamped = true,
            "Clip" if at == 0 && are_constant(1) => chain.is_clamped = true,
            "Add" if inputs == 2 && !chain.adds => {
                chain.adds = !self.is_per_channel(chain, self.input(next, 1 - at)?);
            }
            "Mul" if inputs == 2 && !chain.adds && self.is_per_channel(chain, self.input(next, 1 - at)?) => {}
            "BatchNormalization" if at == 0 && !chain.adds && are_constant(1) => {}
            _ => return None,
        }
        Some(())
    }

    /// Whether a constant has one element for each channel, or one in total.
    fn is_per_channel(&self, chain: &Chain<'_>, value: ValueId) -> bool {
        let Some(shape) = self.shape(value).filter(|_| self.constants.has(value)) else { return false };
        if self.sizes[value.index()].dtype != Some(chain.dtype) || shape.len() > chain.weights.len() {
            return false;
        }
        let channel = (shape.len() + 1).checked_sub(chain.weights.len());
        let is_one = |(_, dim): (usize, &DimId)| *dim == DimId::ONE;
        let is_other = |(at, _): &(usize, &DimId)| Some(*at) != channel;
        let fits = channel.is_some_and(|at| shape.get(at) == chain.weights.first());
        shape.iter().enumerate().all(is_one) || fits && shape.iter().enumerate().filter(is_other).all(is_one)
    }

    /// Whether a `Concat` joins the second axis.
    fn joins_channels(&self, step: StepId) -> bool {
        let axis = int(self.body, step, "axis");
        let rank = self.body.outputs(step).first().copied().flatten().and_then(|it| self.shape(it));
        let from_end = rank.and_then(|shape| i64::try_from(shape.len()).ok()).map(|rank| 1 - rank);
        axis.is_some_and(|axis| axis == 1 || Some(axis) == from_end)
    }
}
