//! Cases: conditions that only a run decides, and what is assumed of them.
//!
//! The outputs of a node with branches depend on a condition. Where the branches differ in shape, a join of the two is
//! imprecise: `[2, 3]` and `[4, 3]` become `[?, 3]`, and two ranks become no rank at all. So the solver also solves the
//! model once for each outcome of the condition, with the condition as a constant, and joins the results at the end.
//! This is trace partitioning (Mauborgne and Rival, 2005). Inside one case there is no choice left, so no rule knows
//! of cases, and whatever depends on one condition is correlated.
//!
//! A [`Question`] is a condition that can be assumed either way. Questions about dims are decided by facts about
//! symbols (`k = 1` is put in wherever `k` is declared, `k != 1` is a fact, see [`crate::dim`]), and hold for the
//! whole model. All other conditions are values of the main graph: the value is a constant in either case. The
//! condition of a graph that runs repeatedly differs from iteration to iteration, so it is never assumed; the outputs of
//! such a node are joined.
//!
//! Truth values of comparisons that dims leave open are variables that remember their question. Arithmetic on truth values
//! (`Not` is `1 - x`) leads back to it.
//!
//! **Invariant:** a model in which no branches differ is solved once.
//!
//! **Limits:** [`MAX_DEPTH`] questions in one case, [`MAX_CASES`] cases. Beyond these the outputs are joined.

mod blame;
mod display;
mod merge;
mod split;

pub(crate) use blame::{judge, open_claims, prune};
pub(crate) use display::display_union;
pub(crate) use merge::{Alternatives, merge};
pub(crate) use split::{Leaf, Run, Start, Tracing, split, trace};

use crate::dim::{Condition, DimId, Dims, Relation};
use crate::map::Map;
use crate::program::{GraphId, ValueId};
use crate::solve_error::Reach;
use crate::state::Core;
use crate::state::frame::Frame;

/// The most questions that are assumed at once.
pub(crate) const MAX_DEPTH: usize = 4;
/// The most cases of one model.
pub(crate) const MAX_CASES: usize = 16;

/// A condition that a run decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question {
    /// Whether two dims are equal; the one with the smaller id comes first.
    Equal(DimId, DimId),
    /// Whether a dim is zero or more.
    NonNegative(DimId),
    /// Whether this value of the main graph or of a branch in it is true.
    Condition(ValueId),
}

/// A question that is worth its own cases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    pub(crate) reach: Reach,
    /// The number of axes of the condition's value, if it is known.
    pub(crate) rank: Option<usize>,
}

/// A question with the answer that a case assumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Literal {
    pub(crate) asked: Asked,
    pub(crate) holds: bool,
}

impl Literal {
    /// The same question with the other answer.
    pub(crate) fn negated(self) -> Self {
        Self { holds: !self.holds, ..self }
    }

    /// What the answer says of symbols, as a condition. There is none for conditions of data and for dims that differ.
    pub(crate) fn condition(self, dims: &mut Dims) -> Option<Condition> {
        match (self.asked.question, self.holds) {
            (Question::Condition(_), _) | (Question::Equal(..), false) => None,
            (Question::Equal(left, right), true) => Some(Condition::new(Relation::Equal, left, right)),
            (Question::NonNegative(dim), true) => Some(Condition::new(Relation::AtMost, DimId::ZERO, dim)),
            (Question::NonNegative(dim), false) => {
                Some(Condition::new(Relation::AtMost, dim, dims.constant(-1)))
            }
        }
    }
}

/// The questions of one run.
#[derive(Default)]
pub(crate) struct Cases {
    literals: Vec<Literal>,
    asked: Vec<Asked>,
    truths: Map<Question, DimId>,
    questions: Map<DimId, Question>,
    /// Whether what was assumed contradicts the model, so that no run is in this case.
    impossible: bool,
}

impl Cases {
    /// The questions of a run under assumptions.
    pub(crate) fn new(literals: Vec<Literal>) -> Self {
        Self { literals, ..Self::default() }
    }

    /// The truth value of a question that nothing decides: a variable, always the same for one question.
    pub(crate) fn truth(&mut self, dims: &mut Dims, question: Question) -> DimId {
        if let Some(known) = self.truths.get(&question) {
            return *known;
        }
        let truth = dims.fresh_integer();
        self.truths.insert(question, truth);
        self.questions.insert(truth, question);
        truth
    }

    /// The question whose truth value a variable is.
    pub(crate) fn question(&self, truth: DimId) -> Option<Question> {
        self.questions.get(&truth).copied()
    }

    /// Whether a dim is computed from truth values of questions alone, so that it means the same in every body.
    pub(crate) fn is_about_questions(&self, dims: &Dims, dim: DimId) -> bool {
        !self.questions.is_empty()
            && dims.variables_of(dim).iter().all(|variable| self.questions.contains_key(variable))
    }

    /// What is assumed of a condition.
    pub(crate) fn assumed(&self, value: ValueId) -> Option<bool> {
        let of_value = |literal: &&Literal| literal.asked.question == Question::Condition(value);
        self.literals.iter().find(of_value).map(|literal| literal.holds)
    }

    /// Whether nothing is assumed.
    pub(crate) fn assumes_nothing(&self) -> bool {
        self.literals.is_empty()
    }

    /// Notes a question whose answer would make types more precise.
    pub(crate) fn ask(&mut self, asked: Asked) {
        let same = |known: &Asked| known.question == asked.question;
        if !self.asked.iter().any(same) && !self.literals.iter().any(|literal| same(&literal.asked)) {
            self.asked.push(asked);
        }
    }

    /// The question to split on next.
    pub(crate) fn next(&self) -> Option<Asked> {
        self.asked.first().copied()
    }

    /// Notes that no run is in this case.
    pub(crate) fn contradict(&mut self) {
        self.impossible = true;
    }
}

/// Gives the assumed conditions their value, where their shape is known, and the truth values that callers give a question
/// each, so that what is computed from them is recognised.
pub(crate) fn seed_conditions<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>) {
    let literals = core.cases.literals.clone();
    for Literal { asked, holds } in literals {
        let Question::Condition(value) = asked.question else { continue };
        let item = core.dims.constant(i64::from(holds));
        let ints = match asked.rank {
            Some(0) => crate::rule::Ints::scalar(item),
            Some(1) => crate::rule::Ints::vector([item]),
            Some(_) | None => continue,
        };
        core.set_data(frame, value, crate::state::constants::Data::Ints(std::sync::Arc::new(ints)));
    }
    let body = std::sync::Arc::clone(&frame.body);
    for value in body.graph(body.root()).inputs.iter().copied() {
        let slot = frame.slots[value.index()];
        let is_truth = slot.ty.and_then(crate::ty::Ty::constant_elem) == Some(crate::elem::Elem::BOOL);
        if !is_truth || slot.data.is_some() || body.value(value).origin != crate::program::Origin::Input {
            continue;
        }
        let truth = |core: &mut Core<'a>| core.cases.truth(&mut core.dims, Question::Condition(value));
        let ints = match slot.shape.map(|shape| core.shapes.get(shape)) {
            Some([]) => crate::rule::Ints::scalar(truth(core)),
            Some([DimId::ONE]) => crate::rule::Ints::vector([truth(core)]),
            Some(_) | None => continue,
        };
        core.set_data(frame, value, crate::state::constants::Data::Ints(std::sync::Arc::new(ints)));
    }
}

/// Whether a graph runs once at most each time that the body runs.
pub(crate) fn runs_once(frame: &Frame<'_>, graph: GraphId) -> bool {
    let body = &frame.body;
    let mut at = graph;
    loop {
        if frame.repeated.contains(&at) {
            return false;
        }
        match body.graph(at).owner {
            Some(owner) => at = body.step(owner.step).graph,
            None => return true,
        }
    }
}
