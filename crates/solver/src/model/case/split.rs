//! Enumeration of the cases of a model.
//!
//! Algorithm: depth-first search over a binary tree of assumptions. A pass under some assumptions ends at its
//! first open question, which splits the case in two. Beyond the limits it goes on. Cases that contradict
//! themselves or the model are dropped, because no run belongs to them. All passes share one arena of dims,
//! so symbols mean the same in all of them; anonymous variables belong to one pass.

use typeloom_dim::{Decision, DimId, Dims, Domain, Facts, Solved, Verdict, progression};

use super::{CaseRequest, Literal, MAX_CASES, MAX_DEPTH, Question};
use crate::engine::call::{Calls, Instance};
use crate::model::CheckError;
use crate::model::solve::{Pass, PassResult, Passes};
use crate::solve_error::Limit;
use crate::solve_error::{SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::assumptions::Assumptions;
use crate::state::cases::AtQuestion;
use crate::state::frame::Frame;
use crate::state::rare::Rare;

/// A solved case. The dims of its core are empty, because all cases share those of the model.
pub(crate) struct Leaf<'a> {
    pub(crate) literals: Vec<Literal>,
    /// Whether every binding of the case has a symbol that is 0. Such a case gives types but no diagnostics,
    /// like conditions outside branches (see [`Domain`]).
    pub(crate) needs_empty: bool,
    /// Whether avoiding the case leaves no binding, or finitely many values of a symbol. A case of data
    /// cannot be avoided.
    pub(crate) leaves_little: bool,
    pub(crate) facts: Facts,
    pub(crate) core: Box<Core<'a>>,
    pub(crate) frame: Box<Frame<'a>>,
    /// The instances of functions with errors.
    pub(crate) erroneous: Vec<Instance<'a>>,
    /// Whether a declared shape inside a function is neither confirmed nor refuted.
    pub(crate) has_open_claims: bool,
    /// All errors, including those about conditions on symbols.
    pub(crate) errors: Vec<SolveError<'a>>,
}

impl Leaf<'_> {
    /// Substitutes the assumptions of the case in a dim.
    pub(crate) fn substitute_in(&self, dims: &mut Dims, dim: DimId) -> DimId {
        self.core.assumptions.substitute_in(dims, dim)
    }
}

/// Solves the cases of a model whose plain pass has open questions; returns none if there is only one case.
pub(crate) fn split<'a>(core: &mut Core<'a>, passes: &Passes<'_, 'a>) -> Result<Vec<Leaf<'a>>, CheckError> {
    let Some(first) = core.cases.next() else { return Ok(Vec::new()) };
    let base = core.assumptions.clone();
    let mut leaves: Vec<Leaf<'a>> = Vec::new();
    let mut open: Vec<Vec<Literal>> = both(&[], first);
    while let Some(literals) = open.pop() {
        let Some((assumptions, facts)) = assumptions_of(&mut core.dims, &base, &literals) else { continue };
        let may_split = literals.len() < MAX_DEPTH && leaves.len() + open.len() + 2 <= MAX_CASES;
        let at_question = if may_split { AtQuestion::Stop } else { AtQuestion::Join };
        let pass = Pass { literals: literals.clone(), at_question, ..Pass::default() };
        match solve(core, passes, pass, assumptions, facts)? {
            Outcome::Impossible => {}
            Outcome::Question(next) => open.extend(both(&literals, next)),
            Outcome::Leaf(leaf) => leaves.push(*leaf),
        }
    }
    Ok(leaves)
}

/// The result of a pass under the assumptions of a case.
enum Outcome<'a> {
    /// No run is in the case.
    Impossible,
    /// The question that ended the pass.
    Question(CaseRequest),
    Leaf(Box<Leaf<'a>>),
}

/// Solves a case again with a trace.
pub(crate) fn trace<'a>(
    core: &mut Core<'a>,
    base: &Assumptions,
    leaf: &mut Leaf<'a>,
    passes: &Passes<'_, 'a>,
) -> Result<(), CheckError> {
    if leaf.core.trace.is_some() {
        return Ok(());
    }
    if let Some((assumptions, facts)) = assumptions_of(&mut core.dims, base, &leaf.literals) {
        let pass = Pass { trace: true, literals: leaf.literals.clone(), ..Pass::default() };
        if let Outcome::Leaf(traced) = solve(core, passes, pass, assumptions, facts)? {
            *leaf = *traced;
        }
    }
    Ok(())
}

/// Runs a pass under the assumptions and facts of a case.
fn solve<'a>(
    core: &mut Core<'a>,
    passes: &Passes<'_, 'a>,
    pass: Pass,
    assumptions: Assumptions,
    facts: Facts,
) -> Result<Outcome<'a>, CheckError> {
    let literals = pass.literals.clone();
    let mut dims = std::mem::take(&mut core.dims);
    dims.forget_unknowns();
    dims.set_facts(facts);
    let PassResult { core: mut solved, mut frame, calls, mut errors, .. } =
        passes.run(Pass { shared: Some((dims, assumptions)), ..pass })?;
    core.dims = std::mem::take(&mut solved.dims);
    core.dims.forget_unknowns();
    let facts = core.dims.set_facts(Facts::default());
    if solved.cases.impossible {
        return Ok(Outcome::Impossible);
    }
    if let Some(question) = solved.cases.next() {
        if solved.cases.ends_pass() {
            return Ok(Outcome::Question(question));
        }
        // A pass with open questions is kept only beyond the limits.
        let limit = Limit::Cases { most: MAX_CASES, depth: MAX_DEPTH };
        let Rare { limited, splitting, .. } = &mut frame.rare;
        limited.extend(splitting.iter().map(|step| (*step, limit)));
    }
    let Calls { erroneous, has_open_claims, .. } = calls;
    errors.retain(|error| is_in_case(&mut core.dims, &facts, error));
    let needs_empty = needs_empty(&mut core.dims, &literals);
    let leaves_little = leaves_little(&mut core.dims, &literals);
    Ok(Outcome::Leaf(Box::new(Leaf {
        literals,
        needs_empty,
        leaves_little,
        facts,
        core: solved,
        frame,
        erroneous,
        has_open_claims,
        errors,
    })))
}

/// The two cases of a question. The one in which it holds is last, so it is solved first.
fn both(literals: &[Literal], request: CaseRequest) -> Vec<Vec<Literal>> {
    [false, true].map(|holds| literals.iter().copied().chain([Literal { request, holds }]).collect()).into()
}

/// The assumptions and facts that literals imply for symbols; `None` if they contradict each other.
fn assumptions_of(dims: &mut Dims, base: &Assumptions, literals: &[Literal]) -> Option<(Assumptions, Facts)> {
    let mut assumptions = base.clone();
    let mut facts = Facts::default();
    for Literal { request, holds } in literals {
        match (request.question, holds) {
            (Question::Equal(a, b), true) => {
                let (a, b) = (assumptions.substitute_in(dims, a), assumptions.substitute_in(dims, b));
                match dims.solve_for(a, b) {
                    Solved::Always => {}
                    Solved::Contradiction => return None,
                    Solved::Symbol { symbol, value } => {
                        assumptions.add(dims, symbol, value)?;
                        facts.add_non_negative(value);
                    }
                    Solved::Variable { .. } | Solved::Undecided => {
                        Question::Equal(a, b).note(true, dims, &mut facts);
                    }
                }
            }
            (question, holds) => question.note(*holds, dims, &mut facts),
        }
    }
    let facts = facts.map(|dim| assumptions.substitute_in(dims, dim));
    let contradict = dims.with_facts(facts.clone(), Dims::facts_contradict);
    (!contradict).then_some((assumptions, facts))
}

/// Whether the literals contradict each other if every symbol is at least 1.
fn needs_empty(dims: &mut Dims, literals: &[Literal]) -> bool {
    let mut domain = Domain::nonempty();
    for literal in literals {
        if let Some(condition) = literal.condition(dims) {
            if dims.examine(condition, &domain) == Verdict::Never {
                return true;
            }
            domain.assume(dims, condition);
        } else if let Some(negation) = literal.negated().condition(dims)
            && dims.examine(negation, &domain) == Verdict::Always
        {
            return true;
        }
    }
    false
}

/// Whether few bindings are outside all cases with these literals about symbols.
fn leaves_little(dims: &mut Dims, literals: &[Literal]) -> bool {
    let domain = Domain::nonempty();
    literals.iter().all(|literal| {
        let Some(negation) = literal.negated().condition(dims) else {
            // Unequal dims leave all but one value of a symbol; data is independent of symbols.
            return literal.condition(dims).is_none();
        };
        match dims.examine(negation, &domain) {
            Verdict::Never => true,
            Verdict::Only { values, .. } => progression(&values) != Some(1) || values.first() != Some(&1),
            Verdict::Always | Verdict::Equals { .. } | Verdict::Restricted { .. } | Verdict::Undecided => {
                false
            }
        }
    })
}

/// Compares a dim of the plain pass with one of a case.
pub(super) fn compare_in(dims: &mut Dims, leaf: &Leaf<'_>, a: DimId, b: DimId) -> Decision {
    let a = leaf.substitute_in(dims, a);
    dims.with_facts(leaf.facts.clone(), |dims| dims.compare(a, b))
}

/// Whether the binding in an error satisfies the facts of the case.
fn is_in_case(dims: &mut Dims, facts: &Facts, error: &SolveError<'_>) -> bool {
    let binding = match &error.kind {
        SolveErrorKind::RefutedClaim(claim) => &claim.binding,
        SolveErrorKind::Restricted { binding, .. } => binding,
        _ => return true,
    };
    let values: Vec<(DimId, DimId)> =
        binding.iter().map(|(symbol, value)| (*symbol, dims.constant(*value))).collect();
    let bound = facts.map(|dim| dims.substitute(dim, &values));
    !dims.with_facts(bound, Dims::facts_contradict)
}
