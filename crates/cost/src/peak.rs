//! The peak of live activation bytes.
//!
//! Nodes run in the order of the file. A running sum starts with the inputs; a step adds its results, and
//! afterwards subtracts what no later step reads. So each step costs the size of its change, and not of all
//! live values. The peak is the [`Maximum`] of the sums between the two.
//!
//! | node | live in addition |
//! |---|---|
//! | `If` | the values of one branch, then of the other |
//! | `Loop`, `Scan` | the values of one iteration, and the results collected so far |
//! | call of a function | the values of the function, from its own peak |

use std::collections::BTreeMap;

use typeloom_dim::Dims;
use typeloom_solver::program::{Body, GraphId, StepId, StepKind, ValueId};

use crate::amount::Amount;
use crate::attributes::states;
use crate::executor::{Executor, Memory};
use crate::maximum::Maximum;
use crate::values::Size;

/// A body with what its peak depends on.
pub(crate) struct Peaks<'p, 'a> {
    pub(crate) body: &'p Body<'a>,
    pub(crate) sizes: &'p [Size],
    pub(crate) executor: Executor,
    /// The peaks of called functions, without their inputs, by the step of the call.
    pub(crate) calls: BTreeMap<StepId, &'p Maximum<StepId>>,
    memory: Memory,
}

type Visit<'v> = dyn FnMut(&mut Dims, &Amount, StepId) + 'v;

impl<'p, 'a> Peaks<'p, 'a> {
    pub(crate) fn new(
        body: &'p Body<'a>,
        sizes: &'p [Size],
        executor: Executor,
        calls: BTreeMap<StepId, &'p Maximum<StepId>>,
        graphs: usize,
        dims: &mut Dims,
    ) -> Self {
        let (_, steps) = body.graph(body.root()).steps;
        let memory = Memory::of(dims, executor, body, sizes, graphs, steps);
        Self { body, sizes, executor, calls, memory }
    }

    /// The peak of the body.
    pub(crate) fn peak(&self, dims: &mut Dims) -> Maximum<StepId> {
        Maximum::of(dims, |dims, visit| {
            let mut live = Amount::default();
            self.graph(self.body.root(), &mut live, dims, visit);
        })
    }

    /// Walks through a graph. Afterwards, `live` is as before. The recursion is over nested graphs, whose
    /// depth the solver bounds.
    fn graph(&self, graph: GraphId, live: &mut Amount, dims: &mut Dims, visit: &mut Visit<'_>) {
        let (from, to) = self.body.graph(graph).steps;
        live.add(&self.memory.at_entry[graph.index()], 1);
        if from < to {
            visit(dims, live, StepId::new(from));
        }
        let mut at = from;
        while at < to {
            let step = StepId::new(at);
            let last = self.body.last_step(step);
            if let StepKind::Enter(_) = self.body.step(step).kind {
                self.nested(step, live, dims, visit);
            }
            if let Some(callee) = self.calls.get(&step) {
                for candidate in &callee.candidates {
                    visit(dims, &live.plus(&candidate.amount), step);
                }
            }
            live.add(&self.memory.allocated[last.index()], 1);
            let scratch = &self.memory.scratch[last.index()];
            live.add(scratch, 1);
            visit(dims, live, last);
            live.add(scratch, -1);
            live.add(&self.memory.freed[last.index()], -1);
            at = last.index() + 1;
        }
        live.add(&self.memory.at_end[graph.index()], -1);
    }

    /// Walks through the graphs of a node.
    fn nested(&self, step: StepId, live: &mut Amount, dims: &mut Dims, visit: &mut Visit<'_>) {
        // Initial states of loops, which belong to the first iteration.
        live.add(&self.memory.freed[step.index()], -1);
        let collected = self.collected(step);
        live.add(&collected, 1);
        for (graph, _) in self.body.graphs_of(step) {
            self.graph(graph, live, dims, visit);
        }
        // The embedded runtime joins the collected results at the end. A plain executor writes them in place.
        if self.executor == Executor::Plain {
            live.add(&collected, -1);
            return;
        }
        let joined = live.plus(&self.memory.allocated[self.body.last_step(step).index()]);
        visit(dims, &joined, step);
        live.add(&collected, -1);
    }

    /// The bytes of the results that a loop collects from its iterations.
    fn collected(&self, step: StepId) -> Amount {
        let outputs = self.body.outputs(self.body.last_step(step));
        if !matches!(self.body.op_name(step), "Loop" | "Scan") {
            return Amount::default();
        }
        let states = states(self.body, step).len();
        let bytes = |value: &ValueId| self.sizes[value.index()].bytes.clone();
        let collected = outputs.iter().skip(states).flatten().filter_map(bytes);
        collected.fold(Amount::default(), |sum, bytes| sum.plus(&bytes))
    }
}
