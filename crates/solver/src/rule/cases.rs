//! Operations on conditions: comparisons that dims do not decide, and branches.
//!
//! [`crate::model::case`] solves the cases of a question.

use std::cmp::Ordering;

use typeloom_dim::{Bind, Decision, DimId, Dims, Facts};

use super::cx::Uncached;
use super::{Port, RuleCx};
use crate::map::Set;
use crate::program::{Body, GraphId, Origin, StepId, ValueId};
use crate::solve_error::Reach;
use crate::state::cases::{CaseRequest, Question};
use crate::state::constants::Data;
use typeloom_onnx::domain::is_onnx;

/// Maximum number of values visited to decide whether a condition depends on data.
const MAX_ANCESTORS: usize = 256;

/// A comparison of two integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparisonOp {
    /// `a = b`
    Equal,
    /// `a != b`
    Different,
    /// `a < b`
    Less,
    /// `a <= b`
    LessOrEqual,
    /// `a > b`
    Greater,
    /// `a >= b`
    GreaterOrEqual,
}

impl ComparisonOp {
    /// Whether the comparison holds between two numbers. Unordered numbers (NaN) are only different.
    #[must_use]
    pub fn holds(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::Different => order != Some(Ordering::Equal),
            Self::Less => order.is_some_and(Ordering::is_lt),
            Self::LessOrEqual => order.is_some_and(Ordering::is_le),
            Self::Greater => order.is_some_and(Ordering::is_gt),
            Self::GreaterOrEqual => order.is_some_and(Ordering::is_ge),
        }
    }

    /// Decides the comparison of two integers `a` and `b` from their equality and the bounds of `a - b`.
    /// `None` if undecided.
    #[must_use]
    pub fn judge(self, equality: Decision, (least, most): (Option<i64>, Option<i64>)) -> Option<bool> {
        if equality == Decision::Equal {
            return Some(self.holds(Some(Ordering::Equal)));
        }
        let (least, most) = (least.unwrap_or(i64::MIN), most.unwrap_or(i64::MAX));
        match self {
            Self::Equal => (equality == Decision::Different).then_some(false),
            Self::Different => (equality == Decision::Different).then_some(true),
            Self::Less if most < 0 => Some(true),
            Self::Less if least >= 0 => Some(false),
            Self::LessOrEqual if most <= 0 => Some(true),
            Self::LessOrEqual if least > 0 => Some(false),
            Self::Greater if least > 0 => Some(true),
            Self::Greater if most <= 0 => Some(false),
            Self::GreaterOrEqual if least >= 0 => Some(true),
            Self::GreaterOrEqual if most < 0 => Some(false),
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => None,
        }
    }
}

impl RuleCx<'_, '_> {
    /// The truth value of an undecided comparison: an unknown, which is the same for equal comparisons.
    pub fn open_comparison(&mut self, a: DimId, comparison: ComparisonOp, b: DimId) -> DimId {
        let core = self.core();
        let (a, b) = (core.dims.resolve(a), core.dims.resolve(b));
        // `x > y` is `x - y - 1 >= 0`.
        let mut greater = |x: DimId, y: DimId| {
            let difference = core.dims.sub(x, y);
            let one = core.dims.constant(1);
            Question::NonNegative(core.dims.sub(difference, one))
        };
        let (question, negated) = match comparison {
            ComparisonOp::Equal => (Question::Equal(a.min(b), a.max(b)), false),
            ComparisonOp::Different => (Question::Equal(a.min(b), a.max(b)), true),
            ComparisonOp::Greater => (greater(a, b), false),
            ComparisonOp::LessOrEqual => (greater(a, b), true),
            ComparisonOp::Less => (greater(b, a), false),
            ComparisonOp::GreaterOrEqual => (greater(b, a), true),
        };
        let truth = core.cases.truth(&mut core.dims, question);
        if !negated {
            return truth;
        }
        let one = core.dims.constant(1);
        core.dims.sub(one, truth)
    }

    /// `a` where an undecided comparison holds, and `b` elsewhere, as a dim: the smaller or the greater one
    /// of both, or an expression in one symbol. `None` for other numbers.
    pub fn chosen(&mut self, truth: DimId, a: DimId, b: DimId) -> Option<DimId> {
        let truth = self.dims().resolve(truth);
        let negated = self.dims().sub(DimId::ONE, truth);
        let (question, a, b) = match (self.core().cases.question(truth), self.core().cases.question(negated))
        {
            (Some(question), _) => (question, a, b),
            (None, Some(question)) => (question, b, a),
            (None, None) => return None,
        };
        let dims = self.dims();
        let holds = match question {
            Question::NonNegative(dim) => {
                let next = dims.add(dim, DimId::ONE);
                let difference = dims.sub(a, b);
                if difference == dim || difference == next {
                    return Some(dims.max(a, b));
                }
                let difference = dims.neg(difference);
                if difference == dim || difference == next {
                    return Some(dims.min(a, b));
                }
                let holds = dims.min(next, DimId::ONE);
                dims.max(holds, DimId::ZERO)
            }
            Question::Equal(left, right) => {
                let (over, under) = (dims.sub(left, right), dims.sub(right, left));
                let distance = dims.max(over, under);
                let differs = dims.min(distance, DimId::ONE);
                dims.sub(DimId::ONE, differs)
            }
            Question::Condition(_) => return None,
        };
        let difference = dims.sub(a, b);
        let change = dims.mul(difference, holds);
        let chosen = dims.add(b, change);
        (!dims.is_anonymous(chosen) && dims.symbols_of(chosen).len() <= 1).then_some(chosen)
    }

    /// Whether the condition at a port is true, if it is known or assumed.
    pub fn truth(&mut self, port: Port) -> Option<bool> {
        match self.const_int(port) {
            Some(truth) => Some(truth != 0),
            None => {
                let value = self.value(port)?;
                let Uncached { core, frame, .. } = self.uncached();
                if frame.number == 0 { core.cases.assumed(value) } else { None }
            }
        }
    }

    /// Requests separate cases for the condition at a port, because they make the types of the node more
    /// precise.
    pub fn request_cases(&mut self, port: Port) {
        let Some(value) = self.value(port) else { return };
        let item = self.ints(port).and_then(|ints| ints.single()).map(|item| self.dims().resolve(item));
        if let Some(question) = item.and_then(|item| self.question_about_symbols(item)) {
            // Only conditions of the main graph have truth values of their own.
            let Uncached { core, frame, .. } = self.uncached();
            let rank = match question {
                Question::Condition(value) if frame.number == 0 => {
                    frame.slots[value.index()].shape.map(|shape| core.shapes.get(shape).len())
                }
                Question::Condition(_) => Some(0),
                Question::Equal(..) | Question::NonNegative(_) => None,
            };
            self.split_on(CaseRequest { question, reach: Reach::Free, rank });
            return;
        }
        let frame = self.frame();
        if frame.number != 0 || !frame.runs_once(frame.body.value(value).graph) {
            return;
        }
        let is_decided = item.is_some() || !depends_on_data(&frame.body, value);
        let reach = if is_decided { Reach::Doubtful } else { Reach::Free };
        let rank = self.rank(port);
        self.split_on(CaseRequest { question: Question::Condition(value), reach, rank });
    }

    fn split_on(&mut self, request: CaseRequest) {
        let step = self.first_step();
        let Uncached { core, frame, .. } = self.uncached();
        core.cases.request(request);
        frame.rare.splitting.insert(step);
    }

    /// The first question about symbols alone on which a truth value depends.
    fn question_about_symbols(&self, truth: DimId) -> Option<Question> {
        let dims = &self.tables().dims;
        let mut open = dims.variables_of(truth).to_vec();
        let mut seen = open.clone();
        while let Some(variable) = (!open.is_empty()).then(|| open.remove(0)) {
            let Some(question) = self.tables().cases.question(variable) else { continue };
            let (a, b) = match question {
                Question::Equal(a, b) => (a, b),
                Question::NonNegative(dim) => (dim, dim),
                Question::Condition(_) => return Some(question),
            };
            if !dims.is_anonymous(a) && !dims.is_anonymous(b) {
                return Some(question);
            }
            for inner in dims.variables_of(a).into_iter().chain(dims.variables_of(b)) {
                if !seen.contains(&inner) {
                    seen.push(inner);
                    open.push(inner);
                }
            }
        }
        None
    }

    /// Records that a nested graph runs any number of times.
    pub fn repeats(&mut self, graph: GraphId) {
        if !self.frame().rare.repeated.contains(&graph) {
            self.frame().rare.repeated.push(graph);
        }
    }

    /// Whether a node inside a nested graph that may run is in error.
    #[must_use]
    pub fn is_wrong_inside(&mut self, graph: GraphId) -> bool {
        let frame = self.frame();
        let (from, to) = frame.body.graph(graph).steps;
        let mut steps = frame.rare.errors.range(StepId::new(from)..StepId::new(to));
        steps.any(|(step, _)| frame.runs_in(frame.body.step(*step).graph))
    }

    /// Compares the value that a rule computes for a condition with the assumption of the case.
    pub(super) fn confirm(&mut self, value: ValueId, data: &Data) {
        if self.frame().number != 0 {
            return;
        }
        let Some(assumed) = self.core().cases.assumed(value) else { return };
        let Data::Ints(ints) = data else { return };
        let [item] = ints.items[..] else { return };
        let dims = self.dims();
        let item = dims.resolve(item);
        if let Some(found) = dims.as_constant(item) {
            if (found != 0) != assumed {
                self.core().cases.contradict();
            }
            return;
        }
        let one = dims.constant(1);
        let negated = dims.sub(one, item);
        let question = match (self.core().cases.question(item), self.core().cases.question(negated)) {
            (Some(question), _) => Some((question, assumed)),
            (None, Some(question)) => Some((question, !assumed)),
            (None, None) => None,
        };
        let Some((question, holds)) = question else { return };
        // The condition of a branch may never be computed, so it implies nothing about extents outside.
        if self.frame().body.value(value).graph != self.frame().body.root() {
            return;
        }
        let note = |dims: &mut Dims| {
            let mut facts = dims.set_facts(Facts::default());
            question.note(holds, dims, &mut facts);
            dims.set_facts(facts);
        };
        let dims = self.dims();
        match (question, holds) {
            (Question::Equal(a, b), true) => {
                let bound = [(a, b), (b, a)].into_iter().any(|(variable, value)| {
                    dims.is_variable(variable) && dims.bind(variable, value) == Bind::Bound
                });
                if !bound {
                    note(dims);
                }
            }
            (_, _) => note(dims),
        }
    }
}

/// Whether the data of model inputs can change a value. Shapes of inputs do not count as data. `true` if more
/// than [`MAX_ANCESTORS`] values would have to be visited.
fn depends_on_data(body: &Body<'_>, value: ValueId) -> bool {
    let mut open = vec![value];
    let mut seen: Set<ValueId> = Set::default();
    while let Some(value) = open.pop() {
        if !seen.insert(value) {
            continue;
        }
        if seen.len() > MAX_ANCESTORS {
            return true;
        }
        match body.value(value).origin {
            Origin::Input => match body.graph(body.value(value).graph).owner {
                Some(owner) => open.extend(body.inputs(owner.step).iter().flatten()),
                None => return true,
            },
            Origin::InputWithDefault(_) => return true,
            Origin::Initializer(_) | Origin::Undefined => {}
            Origin::Step(step) => {
                let first = body.first_step(step);
                // The results of other operators are unknown.
                if !body.step(first).node.domain().is_ok_and(is_onnx) {
                    return true;
                }
                match body.op_name(first) {
                    "Shape" | "Size" => continue,
                    name if is_random(name) => return true,
                    _ => {}
                }
                open.extend(body.inputs(first).iter().flatten());
                open.extend(body.graphs_of(first).flat_map(|(_, graph)| graph.outputs.iter()));
            }
        }
    }
    false
}

/// Whether an ONNX operator draws random numbers.
fn is_random(name: &str) -> bool {
    name.starts_with("Random") || matches!(name, "Bernoulli" | "Dropout" | "Multinomial")
}
