//! The cost of a checked model before it runs: memory and arithmetic, as polynomials over its symbols.
//!
//! # The question
//!
//! Does a model fit into 4 GB, and for which batch? A profiler answers for one size, after a run. Planners of
//! memory need numbers for all extents. But the solver knows each extent as a function of the symbols of the
//! inputs, so bytes and operations are functions too:
//!
//! ```
//! use typeloom_onnx::text::model_bytes;
//! use typeloom_ops::check::check;
//! use typeloom_solver::model::Options;
//!
//! let bytes = model_bytes(
//!     r#"<ir_version: 10, opset_import: ["" : 21]>
//!     g (float[batch, 64] x, float[64, 256] w) => (y) { h = MatMul (x, w)  y = Relu (h) }"#,
//! )?;
//! let mut checked = check(&bytes, &Options { functions: true, ..Options::default() })?;
//! let cost = typeloom_cost::cost(&mut checked);
//! let dims = checked.dims_mut();
//! assert_eq!(cost.work.macs.text(dims), "16384*batch");
//! assert_eq!(cost.embedded.peak.text(dims), "1280*batch + 65536");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Parts
//!
//! | module | contents |
//! |---|---|
//! | [`amount`] | polynomials with coefficients of 128 bits |
//! | [`maximum`] | the maximum of many amounts, as few candidates |
//! | `values` | the bytes of each value |
//! | `operations` | formulas of operators: the place for a new operator |
//! | [`work`] | work by node and operator, with loops, branches and calls |
//! | [`weights`] | constants by element type |
//! | [`executor`], `fusion`, `frames` | which values share memory, in the embedded runtime and in a plain executor |
//! | `peak` | live bytes over the order of the file |
//! | [`caches`] | inputs that grow from run to run |
//! | [`fit`] | the largest value of a symbol for a limit of memory |
//! | [`undecided`] | what has no known cost |
//!
//! **Invariant:** the crate performs no I/O. A part without a known cost is listed, and never silently 0.
//!
//! **Cost:** linear in the nodes and their ports. A function is analysed once for each solve of it.
//!
//! Limits: of the scratch memory of kernels, only the copies of inputs of convolutions are counted. Texts have
//! no size. A branch that never runs counts like others.

pub mod amount;
pub mod caches;
pub mod executor;
pub mod fit;
pub mod maximum;
pub mod undecided;
pub mod weights;
pub mod work;

mod attributes;
mod frames;
mod fusion;
mod operations;
mod peak;
mod values;

use std::collections::BTreeMap;

use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{Body, Origin, StepId, StepKind, ValueId};

use crate::amount::Amount;
use crate::caches::Cache;
use crate::executor::Executor;
use crate::maximum::Maximum;
use crate::peak::Peaks;
use crate::undecided::Undecided;
use crate::weights::{Collector, Weights};
use crate::work::{Operator, OperatorWork, Totals, Work, Worker};

/// The peak of live activation bytes of an executor.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Peak {
    /// The peak, with the node of the model's graph at which each candidate occurs.
    pub peak: Maximum<StepId>,
}

/// The work of one node of the model's graph, with its nested graphs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeWork {
    /// The node.
    pub step: StepId,
    /// Its work.
    pub work: Work,
}

/// The cost of a model.
#[derive(Clone, Debug)]
pub struct Cost<'a> {
    /// The work of one run.
    pub work: Work,
    /// The work by operator.
    pub operators: BTreeMap<Operator<'a>, OperatorWork>,
    /// The work of each node of the model's graph, in the order of the file.
    pub nodes: Vec<NodeWork>,
    /// The constants.
    pub weights: Weights,
    /// The bytes of the inputs without a default.
    pub inputs: Amount,
    /// The bytes of the outputs.
    pub outputs: Amount,
    /// The peak in a plain executor.
    pub plain: Peak,
    /// The peak in the embedded runtime.
    pub embedded: Peak,
    /// Inputs and outputs that are caches.
    pub caches: Vec<Cache>,
    /// The parts without a known cost.
    pub undecided: Undecided<'a>,
}

impl Cost<'_> {
    /// The bytes of one position in all caches.
    #[must_use]
    pub fn cache_bytes(&self) -> Amount {
        self.caches.iter().fold(Amount::default(), |sum, cache| sum.plus(&cache.bytes))
    }

    /// The peak in an executor.
    #[must_use]
    pub fn peak(&self, executor: Executor) -> &Maximum<StepId> {
        match executor {
            Executor::Plain => &self.plain.peak,
            Executor::Embedded => &self.embedded.peak,
        }
    }
}

/// The name of a node, or its first output.
#[must_use]
pub fn label(body: &Body<'_>, step: StepId) -> String {
    let output = || body.outputs(body.last_step(step)).iter().flatten().next().map(|it| body.value_name(*it));
    match body.step(step).node.name() {
        Ok(name) if !name.is_empty() => name.to_owned(),
        Ok(_) | Err(_) => output().unwrap_or_default().to_owned(),
    }
}

/// A function that was analysed.
struct Callee {
    plain: Maximum<StepId>,
    embedded: Maximum<StepId>,
}

/// The cost of a checked model. The work inside functions is known if it was checked with
/// [`Options::functions`](typeloom_solver::model::Options::functions).
pub fn cost<'a>(checked: &mut Checked<'a>) -> Cost<'a> {
    let mut bodies = checked.bodies();
    // A function is solved before its callers. The model's graph is the first in the list.
    bodies.rotate_left(1);
    let mut totals: BTreeMap<u32, Totals<'a>> = BTreeMap::new();
    let mut peaks: BTreeMap<u32, Callee> = BTreeMap::new();
    let mut undecided = Undecided::default();
    let mut constants = Collector::default();
    let mut nodes = Vec::new();
    let (mut caches, mut of_main) = (Vec::new(), None);
    let [mut inputs, mut outputs] = [Amount::default(), Amount::default()];
    for solved in &bodies {
        let body = &*solved.body;
        let sizes = values::sizes(checked, solved);
        constants.add(body, &sizes);
        let mut worker =
            Worker { checked, body: solved, sizes: &sizes, callees: &totals, undecided: &mut undecided };
        let mut each = |step: StepId, work: &Work| {
            if solved.is_main() {
                nodes.push(NodeWork { step, work: work.clone() });
            }
        };
        let work = worker.graph(body.root(), &mut each);
        let graphs = graph_count(body);
        let called = called(checked, solved);
        let mut peak = |executor: Executor, of: fn(&Callee) -> &Maximum<StepId>| {
            let calls = called.iter().filter_map(|(step, number)| Some((*step, of(peaks.get(number)?))));
            let dims = checked.dims_mut();
            Peaks::new(body, &sizes, executor, calls.collect(), graphs, dims).peak(dims)
        };
        let plain = peak(Executor::Plain, |callee| &callee.plain);
        let embedded = peak(Executor::Embedded, |callee| &callee.embedded);
        if solved.is_main() {
            let dims = checked.dims_mut();
            caches = caches::caches(dims, body, &sizes);
            let root = body.graph(body.root());
            let sum = |values: &mut dyn Iterator<Item = ValueId>| {
                let bytes = values.filter_map(|value| sizes[value.index()].bytes.clone());
                bytes.fold(Amount::default(), |sum, bytes| sum.plus(&bytes))
            };
            let is_given = |value: &ValueId| body.value(*value).origin == Origin::Input;
            inputs = sum(&mut root.inputs.iter().copied().filter(is_given));
            outputs = sum(&mut root.outputs.iter().copied());
            of_main = Some((work, plain, embedded));
        } else {
            totals.insert(solved.number(), work);
            peaks.insert(solved.number(), Callee { plain, embedded });
        }
    }
    let (work, plain, embedded) = of_main.unwrap_or_default();
    Cost {
        work: work.work,
        operators: work.operators,
        nodes,
        weights: constants.weights,
        inputs,
        outputs,
        plain: Peak { peak: plain },
        embedded: Peak { peak: embedded },
        caches,
        undecided,
    }
}

/// The calls of functions in a body, each with the number of the solve.
fn called<'a>(checked: &Checked<'a>, solved: &SolvedBody<'a>) -> Vec<(StepId, u32)> {
    let body = &solved.body;
    let (from, to) = body.graph(body.root()).steps;
    let steps = (from..to).map(StepId::new).filter(|step| body.step(*step).kind == StepKind::Node);
    steps.filter_map(|step| Some((step, checked.callee(solved, step)?))).collect()
}

/// The number of graphs in a body.
fn graph_count(body: &Body<'_>) -> usize {
    let (mut most, mut open) = (body.root().index(), vec![body.root()]);
    while let Some(graph) = open.pop() {
        most = most.max(graph.index());
        open.extend(body.children(graph));
    }
    most + 1
}
