//! Branches of `If` that the loader removes.
//!
//! The loader computes nodes with constant inputs before it looks for kernels. If the condition of an `If` is
//! a constant then, it replaces the node by the branch that is taken, and the other branch is gone.

use std::collections::BTreeMap;

use typeloom_solver::program::{Body, GraphId, Initializer, Origin, StepId, ValueId};

/// The maximum number of values that are visited to decide whether a condition is computed from constants.
const MAX_VISITED: usize = 256;

/// Whether a graph remains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Branch {
    /// It remains.
    Taken,
    /// It may be removed: its condition is computed from constants, and its value is not known here.
    Unknown,
    /// It is removed.
    Dropped,
}

/// The graphs of a body.
pub(crate) struct Branches<'b, 'a> {
    body: &'b Body<'a>,
    /// Whether the inputs of the body may be constants: those of a function are, if a call passes constants.
    inputs: Inputs,
    known: BTreeMap<GraphId, Branch>,
}

/// Whether the inputs of a body may be constants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Inputs {
    /// They are not.
    Variable,
    /// They may be.
    MaybeConstant,
}

impl<'b, 'a> Branches<'b, 'a> {
    pub(crate) fn new(body: &'b Body<'a>, inputs: Inputs) -> Self {
        Self { body, inputs, known: BTreeMap::new() }
    }

    /// Whether an `If` remains itself; the loader replaces one with a constant condition by a branch.
    pub(crate) fn condition(&self, step: StepId) -> Branch {
        self.branch(step, "then_branch").max(self.branch(step, "else_branch"))
    }

    /// Whether the graph of a step remains.
    pub(crate) fn of(&mut self, step: StepId) -> Branch {
        let mut worst = Branch::Taken;
        let mut graph = self.body.step(step).graph;
        while let Some(owner) = self.body.graph(graph).owner {
            let branch = match self.known.get(&graph) {
                Some(branch) => *branch,
                None => {
                    let branch = self.branch(owner.step, owner.attribute);
                    self.known.insert(graph, branch);
                    branch
                }
            };
            worst = worst.max(branch);
            graph = self.body.step(owner.step).graph;
        }
        worst
    }

    /// Whether the loader decides an `If`, and a branch reads constants from outside of it: the loader
    /// computes with these constants in the branch that is not taken, too, and can fail there.
    pub(crate) fn may_fail(&self, owner: StepId) -> bool {
        let body = self.body;
        let mut graphs: Vec<GraphId> = body.graphs_of(owner).map(|(id, _)| id).collect();
        if ["then_branch", "else_branch"].iter().all(|name| self.branch(owner, name) == Branch::Taken) {
            return false;
        }
        let mut inside = graphs.clone();
        while let Some(graph) = graphs.pop() {
            let children: Vec<GraphId> = body.children(graph).collect();
            graphs.extend(&children);
            inside.extend(children);
        }
        let last = body.last_step(owner);
        let steps = (owner.index() + 1..last.index()).map(StepId::new);
        let mut reads = steps.flat_map(|step| body.inputs(step)).flatten();
        reads.any(|value| !inside.contains(&body.value(*value).graph) && is_foldable(body, *value))
    }

    fn branch(&self, owner: StepId, attribute: &str) -> Branch {
        let body = self.body;
        let condition = match body.inputs(owner) {
            [Some(condition), ..] if body.op_name(owner) == "If" => *condition,
            _ => return Branch::Taken,
        };
        match stored_bool(body, condition) {
            Some(value) if value == (attribute == "then_branch") => Branch::Taken,
            Some(_) => Branch::Dropped,
            None if is_foldable_with(body, condition, self.inputs) => Branch::Unknown,
            None => Branch::Taken,
        }
    }
}

/// The value of a Boolean initializer or constant.
fn stored_bool(body: &Body<'_>, value: ValueId) -> Option<bool> {
    match stored_ints(body, value, 1)?.as_slice() {
        [value] => Some(*value != 0),
        _ => None,
    }
}

/// The elements of an initializer or constant of integers or Booleans with at most `limit` elements.
pub(crate) fn stored_ints(body: &Body<'_>, value: ValueId, limit: usize) -> Option<Vec<i64>> {
    let tensor = match body.value(value).origin {
        Origin::Initializer(initializer) => match body.initializer(initializer) {
            Initializer::Dense(tensor) => tensor,
            Initializer::Sparse(_) => return None,
        },
        Origin::Step(step) if body.op_name(step) == "Constant" => {
            let attributes = body.step(step).node.attributes().flatten();
            let mut attributes = attributes.filter_map(|attribute| attribute.parse().ok());
            let attribute = attributes.next()?;
            match (attribute.t, attribute.i) {
                (Some(tensor), _) => tensor,
                (None, Some(value)) => return Some(vec![value]),
                (None, None) => return attribute.ints().take(limit).collect::<Result<_, _>>().ok(),
            }
        }
        Origin::Step(_) | Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => return None,
    };
    tensor.int_values(limit).ok()?
}

/// Whether a value may be computed from constants and shapes alone.
pub(crate) fn is_foldable(body: &Body<'_>, value: ValueId) -> bool {
    is_foldable_with(body, value, Inputs::Variable)
}

fn is_foldable_with(body: &Body<'_>, value: ValueId, inputs: Inputs) -> bool {
    let mut open = vec![value];
    let mut visited = 0;
    while let Some(value) = open.pop() {
        visited += 1;
        if visited > MAX_VISITED {
            return true;
        }
        match body.value(value).origin {
            Origin::Initializer(_) => {}
            Origin::Step(_) if body.is_stored(value) => {}
            Origin::Step(step) => {
                if !matches!(body.op_name(step), "Shape" | "Size") {
                    open.extend(body.inputs(body.first_step(step)).iter().flatten());
                }
            }
            Origin::Input if inputs == Inputs::MaybeConstant && body.value(value).graph == body.root() => {}
            Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => return false,
        }
    }
    true
}
