//! The work of bodies: by operator, and by node.
//!
//! | node | work |
//! |---|---|
//! | `If` | that of the larger branch |
//! | `Loop`, `Scan` | that of the body for each iteration; an unknown factor if no number of iterations is known |
//! | call of a function | that of the function, for each call |
//!
//! Bytes are those that a node reads and writes if it keeps nothing between nodes. Views (`Reshape`) move
//! none, and operators that select elements (`Gather`, `Slice`) read as many as they write.

use std::collections::BTreeMap;

use typeloom_dim::DimId;
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{GraphId, StepId, StepKind, ValueId};

use crate::amount::Amount;
use crate::attributes::ints;
use crate::executor::VIEWS;
use crate::operations::{Node, operations};
use crate::undecided::{Undecided, Why};
use crate::values::Size;

/// Arithmetic and moved bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Multiply-accumulates.
    pub macs: Amount,
    /// Floating-point operations: two for each multiply-accumulate, and all others.
    pub flops: Amount,
    /// Bytes that nodes read.
    pub read: Amount,
    /// Bytes that nodes write.
    pub written: Amount,
}

impl Work {
    fn each<'w>(&'w mut self, other: &'w Self) -> [(&'w mut Amount, &'w Amount); 4] {
        let Self { macs, flops, read, written } = self;
        [(macs, &other.macs), (flops, &other.flops), (read, &other.read), (written, &other.written)]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.each(other).into_iter().for_each(|(own, other)| own.add(other, 1));
    }

    fn times(&self, dims: &mut typeloom_dim::Dims, factor: DimId) -> Self {
        let Self { macs, flops, read, written } = self;
        let [macs, flops, read, written] = [macs, flops, read, written].map(|it| it.times(dims, factor));
        Self { macs, flops, read, written }
    }
}

/// The work of the nodes of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorWork {
    /// The number of times that a node of it runs.
    pub runs: Amount,
    /// Their work.
    pub work: Work,
}

/// An operator: domain and name.
pub type Operator<'a> = (&'a str, &'a str);

/// The work of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals<'a> {
    pub(crate) work: Work,
    pub(crate) operators: BTreeMap<Operator<'a>, OperatorWork>,
}

impl<'a> Totals<'a> {
    fn add(&mut self, other: &Self) {
        self.work.add(&other.work);
        for (operator, found) in &other.operators {
            let own = self.operators.entry(*operator).or_default();
            own.runs.add(&found.runs, 1);
            own.work.add(&found.work);
        }
    }

    fn times(&self, dims: &mut typeloom_dim::Dims, factor: DimId) -> Self {
        let operators = self.operators.iter().map(|(operator, found)| {
            let OperatorWork { runs, work } = found;
            (*operator, OperatorWork { runs: runs.times(dims, factor), work: work.times(dims, factor) })
        });
        let operators = operators.collect();
        Self { work: self.work.times(dims, factor), operators }
    }
}

/// Operators that read as many elements of their first input as they write.
const SELECTIONS: &[&str] =
    &["Compress", "Gather", "GatherElements", "GatherND", "SequenceAt", "Slice", "Trilu"];

/// A body whose work is computed.
pub(crate) struct Worker<'w, 'a> {
    pub(crate) checked: &'w mut Checked<'a>,
    pub(crate) body: &'w SolvedBody<'a>,
    pub(crate) sizes: &'w [Size],
    /// The work of called functions, by the number of their solve.
    pub(crate) callees: &'w BTreeMap<u32, Totals<'a>>,
    pub(crate) undecided: &'w mut Undecided<'a>,
}

impl<'a> Worker<'_, 'a> {
    /// The work of a graph; `each` receives that of each of its nodes. The recursion is over nested graphs,
    /// whose depth the solver bounds.
    pub(crate) fn graph(&mut self, graph: GraphId, each: &mut dyn FnMut(StepId, &Work)) -> Totals<'a> {
        let body = std::sync::Arc::clone(&self.body.body);
        let (mut at, to) = body.graph(graph).steps;
        let mut totals = Totals::default();
        while at < to {
            let step = StepId::new(at);
            at = body.last_step(step).index() + 1;
            if self.checked.is_call(&body, step) {
                let callees = self.callees;
                let callee = self.checked.callee(self.body, step).and_then(|number| callees.get(&number));
                match callee {
                    Some(callee) => {
                        each(step, &callee.work);
                        totals.add(callee);
                    }
                    None => self.undecided.add(self.checked, self.body, step, Why::Call),
                }
                continue;
            }
            if matches!(body.step(step).kind, StepKind::Enter(_)) {
                let nested = self.nested(step);
                each(step, &nested.work);
                totals.add(&nested);
                continue;
            }
            let work = self.node(step);
            each(step, &work);
            totals.work.add(&work);
            let operator = (self.checked.domain_of(&body, step), body.op_name(step));
            let own = totals.operators.entry(operator).or_default();
            own.runs.add(&Amount::from(1), 1);
            own.work.add(&work);
        }
        totals
    }

    /// The work of a node with graphs.
    fn nested(&mut self, step: StepId) -> Totals<'a> {
        let body = std::sync::Arc::clone(&self.body.body);
        let graphs: Vec<Totals<'a>> = body
            .graphs_of(step)
            .map(|(graph, _)| graph)
            .collect::<Vec<_>>()
            .into_iter()
            .map(|graph| self.graph(graph, &mut |_, _| {}))
            .collect();
        let iterations = match body.op_name(step) {
            "If" => return self.larger(step, graphs),
            "Loop" => body.inputs(step).first().copied().flatten().and_then(|count| {
                let known = self.checked.elements_within(self.body, count, 1)?;
                known.items.first().copied()
            }),
            "Scan" => self.scanned(step),
            _ => None,
        };
        let iterations = iterations.unwrap_or_else(|| {
            self.undecided.add(self.checked, self.body, step, Why::Iterations);
            self.checked.fresh_dim()
        });
        let mut totals = Totals::default();
        for graph in &graphs {
            totals.add(&graph.times(self.checked.dims_mut(), iterations));
        }
        totals
    }

    /// The extent of the scanned axis of the last input.
    fn scanned(&mut self, step: StepId) -> Option<DimId> {
        let body = &self.body.body;
        let axes = ints(body, step, "scan_input_axes");
        let axis = axes.and_then(|axes| axes.last().copied()).unwrap_or(0);
        let shape = self.sizes[body.inputs(step).last().copied().flatten()?.index()].shape.as_deref()?;
        let axis = if axis < 0 { axis.checked_add(i64::try_from(shape.len()).ok()?)? } else { axis };
        shape.get(usize::try_from(axis).ok()?).copied()
    }

    /// The branch with more work.
    fn larger(&mut self, step: StepId, branches: Vec<Totals<'a>>) -> Totals<'a> {
        let rank = |totals: &Totals<'a>| {
            let Work { macs, flops, read, written } = &totals.work;
            [flops, macs, read, written].map(Amount::clone)
        };
        let mut branches = branches.into_iter();
        let mut largest = branches.next().unwrap_or_default();
        for branch in branches {
            let (a, b) = (rank(&largest), rank(&branch));
            let at_least = |a: &[Amount; 4], b: &[Amount; 4]| a.iter().zip(b).all(|(a, b)| a.dominates(b));
            if at_least(&a, &b) {
                continue;
            }
            if !at_least(&b, &a) {
                self.undecided.add(self.checked, self.body, step, Why::Branch);
                if a[0].dominates(&b[0]) {
                    continue;
                }
            }
            largest = branch;
        }
        largest
    }

    /// The work of a node without graphs.
    fn node(&mut self, step: StepId) -> Work {
        let body = std::sync::Arc::clone(&self.body.body);
        let (domain, name) = (self.checked.domain_of(&body, step), body.op_name(step));
        let mut node =
            Node { domain, name, dims: self.checked.dims_mut(), body: &body, step, sizes: self.sizes };
        let mut work = Work::default();
        match operations(&mut node) {
            Some(found) => {
                work.flops = found.other;
                work.flops.add(&found.macs, 2);
                work.macs = found.macs;
            }
            None => self.undecided.add(self.checked, self.body, step, Why::Operations),
        }
        if VIEWS.contains(&name) || name == "Constant" {
            return work;
        }
        let bytes = |values: &[Option<ValueId>]| {
            let mut sum = Amount::default();
            let mut is_known = true;
            for (at, value) in values.iter().enumerate() {
                let Some(value) = value.filter(|value| !values[..at].contains(&Some(*value))) else {
                    continue;
                };
                match &self.sizes[value.index()].bytes {
                    Some(bytes) => sum.add(bytes, 1),
                    None => is_known = false,
                }
            }
            (sum, is_known)
        };
        let (written, is_written_known) = bytes(body.outputs(step));
        let inputs = body.inputs(step);
        let (read, is_read_known) = match name {
            "Shape" | "Size" => (Amount::default(), true),
            name if SELECTIONS.contains(&name) => {
                let (others, is_known) = bytes(inputs.get(1..).unwrap_or_default());
                (others.plus(&written), is_known)
            }
            _ => bytes(inputs),
        };
        if !(is_written_known && is_read_known) {
            self.undecided.add(self.checked, self.body, step, Why::Bytes);
        } else if written.is_unknown(self.checked.dims()) && !read.is_unknown(self.checked.dims()) {
            self.undecided.add(self.checked, self.body, step, Why::Extent);
        }
        work.read = read;
        work.written = written;
        work
    }
}
