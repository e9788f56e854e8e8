//! Parts of a model whose cost is not known. They count as nothing, or as an unknown factor, and are listed.

use std::collections::BTreeMap;

use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::StepId;

use crate::work::Operator;

/// The reason why a part of the cost of a node is not known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Why {
    /// There is no formula for the operations of the operator, or it needs a rank that is not known.
    Operations,
    /// An input or output has no known size.
    Bytes,
    /// Data decides an extent of an output.
    Extent,
    /// Data decides the number of iterations.
    Iterations,
    /// Neither branch has more work for all values of the symbols.
    Branch,
    /// The types inside the called function are not known.
    Call,
}

impl Why {
    /// A short name, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Bytes => "bytes",
            Self::Extent => "extent",
            Self::Iterations => "iterations",
            Self::Branch => "branch",
            Self::Call => "call",
        }
    }

    /// The effect on the cost, as a clause.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Operations => "no formula for its operations, which count as 0",
            Self::Bytes => "the size of an input or output is unknown and counts as 0",
            Self::Extent => "data decides an extent of its result, which is `?` in amounts",
            Self::Iterations => "data decides the number of iterations, which is `?` in amounts",
            Self::Branch => "either branch can have more work; the one with more operations is counted",
            Self::Call => "the types inside the function are unknown, and its work counts as 0",
        }
    }
}

/// Nodes of an operator with the same reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndecidedNodes {
    /// The first of them, by its name or its first output.
    pub first: String,
    /// Their number. Those of a function are counted once for each solve of the function.
    pub nodes: usize,
}

/// Nodes whose cost is not known, by operator and reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Undecided<'a> {
    /// The nodes.
    pub nodes: BTreeMap<(Operator<'a>, Why), UndecidedNodes>,
}

impl<'a> Undecided<'a> {
    pub(crate) fn add(&mut self, checked: &Checked<'a>, body: &SolvedBody<'a>, step: StepId, why: Why) {
        let operator = (checked.domain_of(&body.body, step), body.body.op_name(step));
        let found = self
            .nodes
            .entry((operator, why))
            .or_insert_with(|| UndecidedNodes { first: crate::label(&body.body, step), nodes: 0 });
        found.nodes += 1;
    }
}
