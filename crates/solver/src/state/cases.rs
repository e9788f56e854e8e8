//! Conditions that only a run decides. See [`crate::model::case`].

use typeloom_dim::{Condition, DimId, Dims, Facts, Relation};

use crate::map::Map;
use crate::program::id::ValueId;
use crate::solve_error::Reach;

/// A condition that a run decides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Question {
    /// Two dims are equal. The one with the smaller id comes first.
    Equal(DimId, DimId),
    /// A dim is zero or more.
    NonNegative(DimId),
    /// A value of the main graph, or of a branch in it, is true.
    Condition(ValueId),
}

impl Question {
    /// Adds the facts that an answer implies.
    pub(crate) fn note(self, holds: bool, dims: &mut Dims, facts: &mut Facts) {
        match (self, holds) {
            (Self::Equal(a, b), true) => {
                facts.add_non_negative(dims.sub(a, b));
                facts.add_non_negative(dims.sub(b, a));
            }
            (Self::Equal(a, b), false) => facts.add_nonzero(dims.sub(a, b)),
            (Self::NonNegative(dim), true) => facts.add_non_negative(dim),
            (Self::NonNegative(dim), false) => {
                let minus_one = dims.constant(-1);
                facts.add_non_negative(dims.sub(minus_one, dim));
            }
            (Self::Condition(_), _) => {}
        }
    }
}

/// A question on which the solve should be split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CaseRequest {
    pub(crate) question: Question,
    pub(crate) reach: Reach,
    /// The number of axes of the condition's value, if it is known.
    pub(crate) rank: Option<usize>,
}

/// A question with the answer that a case assumes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Literal {
    pub(crate) request: CaseRequest,
    pub(crate) holds: bool,
}

impl Literal {
    /// The same question with the opposite answer.
    pub(crate) fn negated(self) -> Self {
        Self { holds: !self.holds, ..self }
    }

    /// The condition on symbols that the answer implies. Conditions on data and unequal dims have none.
    pub(crate) fn condition(self, dims: &mut Dims) -> Option<Condition> {
        match (self.request.question, self.holds) {
            (Question::Condition(_), _) | (Question::Equal(..), false) => None,
            (Question::Equal(left, right), true) => Some(Condition::new(Relation::Equal, left, right)),
            (Question::NonNegative(dim), true) => Some(Condition::new(Relation::AtMost, DimId::ZERO, dim)),
            (Question::NonNegative(dim), false) => {
                Some(Condition::new(Relation::AtMost, dim, dims.constant(-1)))
            }
        }
    }
}

/// The treatment of the first question of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum AtQuestion {
    /// The pass goes on, and the outputs of the node are joined.
    #[default]
    Join,
    /// The pass ends, because its two cases replace it.
    Stop,
}

/// The questions of one pass.
#[derive(Default)]
pub(crate) struct Cases {
    pub(crate) literals: Vec<Literal>,
    at_question: AtQuestion,
    pub(crate) requests: Vec<CaseRequest>,
    truths: Map<Question, DimId>,
    questions: Map<DimId, Question>,
    /// Whether the assumptions contradict the model, so that no run is in the case.
    pub(crate) impossible: bool,
}

impl Cases {
    /// Creates the questions of a pass under assumptions.
    pub(crate) fn new(literals: Vec<Literal>, at_question: AtQuestion) -> Self {
        Self { literals, at_question, ..Self::default() }
    }

    /// Whether the pass ends here.
    #[inline]
    pub(crate) fn ends_pass(&self) -> bool {
        self.at_question == AtQuestion::Stop && !self.requests.is_empty()
    }

    /// Returns the truth value of an undecided question: a variable, always the same one for a question.
    pub(crate) fn truth(&mut self, dims: &mut Dims, question: Question) -> DimId {
        if let Some(known) = self.truths.get(&question) {
            return *known;
        }
        let truth = dims.fresh_integer();
        self.truths.insert(question, truth);
        self.questions.insert(truth, question);
        truth
    }

    /// The question whose truth value is this variable.
    pub(crate) fn question(&self, truth: DimId) -> Option<Question> {
        self.questions.get(&truth).copied()
    }

    /// Whether a dim is computed from truth values of questions alone, so that it has one meaning in all
    /// bodies.
    pub(crate) fn is_about_questions(&self, dims: &Dims, dim: DimId) -> bool {
        !self.questions.is_empty()
            && dims.variables_of(dim).iter().all(|variable| self.questions.contains_key(variable))
    }

    /// The assumed truth value of a condition.
    pub(crate) fn assumed(&self, value: ValueId) -> Option<bool> {
        let of_value = |literal: &&Literal| literal.request.question == Question::Condition(value);
        self.literals.iter().find(of_value).map(|literal| literal.holds)
    }

    /// Whether the pass has no assumptions.
    pub(crate) fn assumes_nothing(&self) -> bool {
        self.literals.is_empty()
    }

    /// Adds a question whose answer would make types more precise.
    pub(crate) fn request(&mut self, request: CaseRequest) {
        let same = |known: &CaseRequest| known.question == request.question;
        if !self.requests.iter().any(same) && !self.literals.iter().any(|literal| same(&literal.request)) {
            self.requests.push(request);
        }
    }

    /// The question to split on next.
    pub(crate) fn next(&self) -> Option<CaseRequest> {
        self.requests.first().copied()
    }

    /// Records that no run is in the case.
    pub(crate) fn contradict(&mut self) {
        self.impossible = true;
    }
}

#[cfg(test)]
mod tests {
    use super::{AtQuestion, CaseRequest, Cases, Question};
    use crate::program::id::ValueId;
    use crate::solve_error::Reach;

    #[test]
    fn a_question_ends_a_pass_only_if_its_cases_replace_the_pass() {
        let question = Question::Condition(ValueId::new(3));
        let request = CaseRequest { question, reach: Reach::Free, rank: Some(0) };
        for (at_question, ends) in [(AtQuestion::Join, false), (AtQuestion::Stop, true)] {
            let mut cases = Cases::new(Vec::new(), at_question);
            assert!(!cases.ends_pass());
            cases.request(request);
            assert_eq!(cases.ends_pass(), ends);
            assert_eq!(cases.next(), Some(request));
        }
    }
}
