//! Conditions that only a run decides.

use crate::dim::{Condition, DimId, Dims, Relation};
use crate::map::Map;
use crate::program::ValueId;
use crate::solve_error::Reach;

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
    pub(crate) literals: Vec<Literal>,
    pub(crate) asked: Vec<Asked>,
    truths: Map<Question, DimId>,
    questions: Map<DimId, Question>,
    /// Whether what was assumed contradicts the model, so that no run is in this case.
    pub(crate) impossible: bool,
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
