//! The memory of the values of a body, as an executor assigns it.
//!
//! Values that share memory have one *buffer*, with one size and one interval of life. Two executors are
//! described:
//!
//! | | plain executor | the embedded runtime |
//! |---|---|---|
//! | inputs of the model | live until the end | live until their last reader |
//! | result of a view (`Reshape`) | own buffer | buffer of its input |
//! | elementwise result | own buffer | buffer of the first input, if that dies and has the same type |
//! | node on constants | own buffer | computed once, before the run |
//! | `Conv` with constant weights, and what follows it | own buffers | one buffer (`fusion`) |
//! | `Conv` with padding or stride 1 | nothing else | a copy of its input (`frames`) |
//!
//! Both free a value after its last reader, and constants of the file are weights in both.
//!
//! **Cost:** linear in the ports of the body, times the depth of nesting for values that nested graphs read.

use typeloom_dim::Dims;
use typeloom_onnx::domain::canonical;
use typeloom_solver::program::{Body, GraphId, Origin, StepId, StepKind, ValueId};
use typeloom_types::dtype::Dtype;

use crate::amount::Amount;
use crate::attributes::states;
use crate::frames::frame;
use crate::fusion::{self, Fusions};
use crate::values::Size;

/// An executor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Executor {
    /// It runs node after node, and frees each intermediate value after its last reader.
    Plain,
    /// The embedded runtime.
    Embedded,
}

/// The end of a life: after a step, or with its graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum End {
    Step(StepId),
    Graph,
}

/// Memory that several values can share.
#[derive(Clone, Debug)]
struct Buffer {
    bytes: Amount,
    end: End,
}

/// The changes of live memory in a body.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The bytes that each graph allocates at its start.
    pub(crate) at_entry: Vec<Amount>,
    /// The bytes that each step allocates for its results.
    pub(crate) allocated: Vec<Amount>,
    /// The bytes that each step needs while it runs.
    pub(crate) scratch: Vec<Amount>,
    /// The bytes that are free after each step.
    pub(crate) freed: Vec<Amount>,
    /// The bytes that live until the end of each graph.
    pub(crate) at_end: Vec<Amount>,
}

/// Elementwise operators that the embedded runtime computes in the memory of their first input.
const IN_PLACE: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "Hardmax",
    "LeakyRelu",
    "Log",
    "LogSoftmax",
    "LpNormalization",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softmax",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "SwiGLU",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
];

/// Operators whose result is their first input with another shape.
pub(crate) const VIEWS: &[&str] = &["Dropout", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"];

/// Operators that give other results in each run, so they are not computed before it.
const RANDOM: &[&str] =
    &["Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"];

/// The largest tensor that the embedded runtime computes before a run.
const MAX_FOLDED: i128 = 1 << 29;

impl Memory {
    pub(crate) fn of(
        dims: &mut Dims,
        executor: Executor,
        body: &Body<'_>,
        sizes: &[Size],
        graphs: usize,
        steps: usize,
    ) -> Self {
        let constants = Constants::of(executor, body, sizes, steps);
        let fusions = match executor {
            Executor::Plain => Fusions::none(steps),
            Executor::Embedded => fusion::fusions(body, sizes, &constants, steps),
        };
        let mut builder = Builder {
            dims,
            body,
            sizes,
            buffer_of: vec![None; sizes.len()],
            buffers: Vec::new(),
            memory: Self {
                at_entry: vec![Amount::default(); graphs],
                allocated: vec![Amount::default(); steps],
                scratch: vec![Amount::default(); steps],
                freed: vec![Amount::default(); steps],
                at_end: vec![Amount::default(); graphs],
            },
            graph_of: Vec::new(),
            ends: Vec::new(),
            is_captured: Vec::new(),
        };
        (builder.ends, builder.is_captured) = ends(executor, body, sizes.len(), steps, &fusions);
        builder.inputs();
        for step in (0..steps).map(StepId::new) {
            match body.step(step).kind {
                StepKind::Enter(_) => {}
                StepKind::Node | StepKind::Exit(_) if fusions.is_absorbed(step) => {}
                StepKind::Node | StepKind::Exit(_) => builder.results(executor, step, &constants),
            }
        }
        if executor == Executor::Embedded {
            builder.states(steps);
            builder.frames(steps, &fusions);
        }
        builder.finish()
    }
}

/// The values that are known before the run.
pub(crate) struct Constants {
    is_constant: Vec<bool>,
}

impl Constants {
    fn of(executor: Executor, body: &Body<'_>, sizes: &[Size], steps: usize) -> Self {
        let is_stored =
            |value: ValueId| body.value(value).origin.initializer().is_some() || body.is_stored(value);
        let mut constants = Self { is_constant: body.values().map(is_stored).collect() };
        if executor == Executor::Plain {
            return constants;
        }
        for step in (0..steps).map(StepId::new).filter(|step| body.step(*step).kind == StepKind::Node) {
            let is_known = body.inputs(step).iter().flatten().all(|value| constants.has(*value));
            if !is_known || RANDOM.contains(&body.op_name(step)) {
                continue;
            }
            let is_small = |value: &ValueId| {
                let bytes = sizes[value.index()].bytes.as_ref().and_then(Amount::as_number);
                bytes.is_some_and(|bytes| bytes <= MAX_FOLDED)
            };
            let outputs: Vec<ValueId> = body.outputs(step).iter().flatten().copied().collect();
            if is_onnx(body, step) && outputs.iter().all(is_small) {
                outputs.into_iter().for_each(|value| constants.is_constant[value.index()] = true);
            }
        }
        constants
    }

    pub(crate) fn has(&self, value: ValueId) -> bool {
        self.is_constant[value.index()]
    }
}

/// Whether the operator of a node is one of ONNX.
pub(crate) fn is_onnx(body: &Body<'_>, step: StepId) -> bool {
    body.step(step).node.domain().is_ok_and(|domain| canonical(domain).is_empty())
}

/// The last read of each value, by steps of its own graph: those of a nested graph are at the end of the node
/// with the graph.
fn ends(
    executor: Executor,
    body: &Body<'_>,
    values: usize,
    steps: usize,
    fusions: &Fusions,
) -> (Vec<Option<End>>, Vec<bool>) {
    let mut ends: Vec<Option<End>> = vec![None; values];
    let mut is_captured = vec![false; values];
    let mut read = |value: ValueId, step: StepId| {
        let own = body.value(value).graph;
        let mut at = step;
        while body.step(at).graph != own {
            let Some(owner) = body.graph(body.step(at).graph).owner else { return };
            at = owner.step;
            is_captured[value.index()] = true;
        }
        let end = &mut ends[value.index()];
        *end = (*end).max(Some(End::Step(fusions.end_of(body.last_step(at)))));
    };
    for step in (0..steps).map(StepId::new) {
        if !matches!(body.step(step).kind, StepKind::Exit(_)) {
            body.inputs(step).iter().flatten().for_each(|value| read(*value, step));
        }
    }
    let mut returned = Vec::new();
    let mut graphs = vec![body.root()];
    while let Some(graph) = graphs.pop() {
        for value in &body.graph(graph).outputs {
            match body.graph(graph).owner.filter(|_| body.value(*value).graph != graph) {
                // A nested graph can return a value of the graph around it.
                Some(owner) => read(*value, owner.step),
                None => returned.push(*value),
            }
        }
        if graph == body.root() && executor == Executor::Plain {
            returned.extend(&body.graph(graph).inputs);
        }
        graphs.extend(body.children(graph));
    }
    returned.into_iter().for_each(|value| ends[value.index()] = Some(End::Graph));
    (ends, is_captured)
}

struct Builder<'b, 'a> {
    dims: &'b mut Dims,
    body: &'b Body<'a>,
    sizes: &'b [Size],
    buffer_of: Vec<Option<usize>>,
    buffers: Vec<Buffer>,
    /// The graph of each buffer.
    graph_of: Vec<GraphId>,
    ends: Vec<Option<End>>,
    /// Whether a nested graph reads a value of a graph around it.
    is_captured: Vec<bool>,
    memory: Memory,
}

impl Builder<'_, '_> {
    /// Gives a value a buffer of its own. An unknown size counts as 0.
    fn allocate(&mut self, value: ValueId, unread: End) -> Amount {
        let bytes = self.sizes[value.index()].bytes.clone().unwrap_or_default();
        let end = self.ends[value.index()].unwrap_or(unread);
        self.buffer_of[value.index()] = Some(self.buffers.len());
        self.buffers.push(Buffer { bytes: bytes.clone(), end });
        self.graph_of.push(self.body.value(value).graph);
        bytes
    }

    /// The inputs of all graphs. Those of a function belong to its caller.
    fn inputs(&mut self) {
        let body = self.body;
        let is_function = matches!(body.source(), typeloom_solver::program::BodySource::Function(_));
        let mut graphs = vec![body.root()];
        while let Some(graph) = graphs.pop() {
            graphs.extend(body.children(graph));
            if graph == body.root() && is_function {
                continue;
            }
            for value in &body.graph(graph).inputs {
                if body.value(*value).origin == Origin::Input && self.buffer_of[value.index()].is_none() {
                    let bytes = self.allocate(*value, End::Graph);
                    self.memory.at_entry[graph.index()].add(&bytes, 1);
                }
            }
        }
    }

    /// The results of a step.
    fn results(&mut self, executor: Executor, step: StepId, constants: &Constants) {
        let body = self.body;
        for (at, value) in body.outputs(step).iter().enumerate() {
            let Some(value) = *value else { continue };
            if constants.has(value) {
                continue;
            }
            let shared = match executor {
                Executor::Embedded if at == 0 && body.step(step).kind == StepKind::Node => {
                    self.shared(step, value, constants)
                }
                Executor::Plain | Executor::Embedded => Shared::Nothing,
            };
            match shared {
                Shared::Constant => {}
                Shared::Buffer(buffer) => {
                    self.buffer_of[value.index()] = Some(buffer);
                    let end = self.ends[value.index()].unwrap_or(End::Step(step));
                    self.buffers[buffer].end = self.buffers[buffer].end.max(end);
                }
                Shared::Nothing => {
                    let bytes = self.allocate(value, End::Step(step));
                    self.memory.allocated[step.index()].add(&bytes, 1);
                }
            }
        }
    }

    /// The memory that the embedded runtime uses for the first result.
    fn shared(&self, step: StepId, value: ValueId, constants: &Constants) -> Shared {
        let body = self.body;
        let name = body.op_name(step);
        let Some(input) = body.inputs(step).first().copied().flatten() else { return Shared::Nothing };
        if !is_onnx(body, step) {
            return Shared::Nothing;
        }
        // A function does not own its inputs, and a nested graph not those of the graph around it.
        let is_own = body.value(input).graph == body.value(value).graph;
        let buffer = self.buffer_of[input.index()].filter(|_| is_own);
        if VIEWS.contains(&name) {
            return match buffer {
                Some(buffer) => Shared::Buffer(buffer),
                None if constants.has(input) => Shared::Constant,
                None => Shared::Nothing,
            };
        }
        let (from, to) = (&self.sizes[input.index()], &self.sizes[value.index()]);
        let fits = |other: &Size| other.shape.is_some() && other.shape == to.shape && other.dtype == to.dtype;
        let is_wide = matches!(
            to.dtype,
            Some(Dtype::F32 | Dtype::F64 | Dtype::I32 | Dtype::I64 | Dtype::U8 | Dtype::I8 | Dtype::Bool)
        );
        let others = || body.inputs(step)[1..].iter().flatten();
        let is_pairwise = name != "Clip";
        let is_in_place = IN_PLACE.binary_search(&name).is_ok()
            && is_wide
            && fits(from)
            && (!is_pairwise || others().all(|other| fits(&self.sizes[other.index()]) && *other != input));
        match buffer {
            Some(buffer) if is_in_place && self.buffers[buffer].end == End::Step(step) => {
                Shared::Buffer(buffer)
            }
            Some(_) | None => Shared::Nothing,
        }
    }

    /// The initial states of loops, which the first iteration frees: their lives end before the loop.
    fn states(&mut self, steps: usize) {
        let body = self.body;
        for step in (0..steps).map(StepId::new) {
            let StepKind::Enter(exit) = body.step(step).kind else { continue };
            for at in states(body, step) {
                let Some(value) = body.inputs(step).get(at).copied().flatten() else { continue };
                let Some(buffer) = self.buffer_of[value.index()] else { continue };
                if self.buffers[buffer].end == End::Step(exit) && !self.is_captured[value.index()] {
                    self.buffers[buffer].end = End::Step(step);
                }
            }
        }
    }

    /// The copies that convolutions make of their inputs, with their padding.
    fn frames(&mut self, steps: usize, fusions: &Fusions) {
        for step in (0..steps).map(StepId::new).filter(|step| self.body.op_name(*step) == "Conv") {
            if let Some(bytes) = frame(self.dims, self.body, self.sizes, step) {
                self.memory.scratch[fusions.end_of(step).index()].add(&bytes, 1);
            }
        }
    }

    fn finish(mut self) -> Memory {
        for (buffer, graph) in self.buffers.iter().zip(&self.graph_of) {
            let freed = match buffer.end {
                End::Step(step) => &mut self.memory.freed[step.index()],
                End::Graph => &mut self.memory.at_end[graph.index()],
            };
            freed.add(&buffer.bytes, 1);
        }
        self.memory
    }
}

/// The memory of a result.
enum Shared {
    /// Its own.
    Nothing,
    /// That of other values.
    Buffer(usize),
    /// That of a constant.
    Constant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(IN_PLACE.is_sorted() && VIEWS.is_sorted() && RANDOM.is_sorted());
    }
}
