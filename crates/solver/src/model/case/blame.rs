//! Attribution of errors to branches, by comparing the errors of all cases.
//!
//! An error in every case is an ordinary error. An error in some cases is caused by a common property of
//! these cases: a branch that runs in all of them and in no other case. If there are several, the error names
//! the one nearest upstream.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{Leaf, Question};
use crate::engine::call::Instance;
use crate::map::Map;
use crate::program::{Body, GraphId, Origin, StepId, ValueId};
use crate::solution::EquationSource;
use crate::solve_error::{CaseOwner, ErrorSite, Reach, SolveError, SolveErrorKind};
use crate::state::frame::Frame;

/// Maximum number of values visited in search of the branch that causes an error.
const MAX_ANCESTORS: usize = 1024;

/// A branch that runs: the first step of its node, and its graph.
pub(crate) type Branch = (StepId, GraphId);

/// The errors of the cases, and the possible cases.
pub(crate) struct Verdict<'a> {
    pub(crate) errors: Vec<SolveError<'a>>,
    /// The cases whose types are joined.
    pub(crate) counted: Vec<usize>,
    /// The cases that errors refer to.
    pub(crate) shown: BTreeSet<usize>,
    /// The positions of the function instances of the plain pass that are in error in every case.
    pub(crate) instances: Vec<usize>,
}

/// A location with at most one error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    Step(StepId),
    /// The shapes of a node with an error in its element types.
    Shapes(StepId),
    /// The declared type of a value, which contradicts the proven one for some or all bindings.
    Value(ValueId),
    /// The condition of a node on symbols.
    Condition(StepId),
}

impl Spot {
    /// The value with the wrong declared type.
    fn value(self) -> Option<ValueId> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }
}

/// The comparison of the errors of all cases.
struct Attribution<'c, 'a> {
    frame: &'c Frame<'a>,
    /// The errors of the plain pass.
    errors: &'c [SolveError<'a>],
    leaves: &'c [Leaf<'a>],
    /// The errors of each case.
    found: Vec<BTreeMap<Spot, &'c SolveError<'a>>>,
    /// The branches that run in each case.
    decisions: Vec<Vec<Branch>>,
    /// The cases in which every run fails.
    excluded: BTreeSet<usize>,
}

/// Decides the errors of all cases, given those of the plain pass.
pub(crate) fn decide<'a>(
    frame: &Frame<'a>,
    erroneous: &[Instance<'a>],
    errors: &[SolveError<'a>],
    leaves: &[Leaf<'a>],
) -> Verdict<'a> {
    let open = open_claims(leaves);
    let is_kept = |error: &&SolveError<'a>| {
        let is_current = match &error.kind {
            SolveErrorKind::Assumed { value, .. } => open.contains(value),
            // Limits are reported after the cases are joined.
            SolveErrorKind::LimitReached { .. } => false,
            _ => true,
        };
        is_current && !is_at_spot(frame, error) && claimed(error).is_none()
    };
    let mut verdict = Verdict {
        errors: errors.iter().filter(is_kept).cloned().collect(),
        counted: Vec::new(),
        shown: BTreeSet::new(),
        instances: Vec::new(),
    };
    let mut attribution = Attribution {
        frame,
        errors,
        leaves,
        found: leaves.iter().map(spots).collect(),
        decisions: leaves.iter().map(|leaf| decisions(frame, &leaf.frame)).collect(),
        excluded: BTreeSet::new(),
    };
    let wrong: BTreeSet<Spot> = attribution.found.iter().flat_map(|found| found.keys().copied()).collect();
    for spot in wrong {
        attribution.spot(spot, &mut verdict);
    }
    let Attribution { decisions, excluded, .. } = attribution;
    functions(frame, erroneous, leaves, &decisions, &mut verdict);
    verdict.counted = (0..leaves.len()).filter(|at| !excluded.contains(at)).collect();
    if verdict.counted.is_empty() {
        verdict.counted = (0..leaves.len()).collect();
    }
    verdict
}

impl<'a> Attribution<'_, 'a> {
    /// The error of the plain pass at a spot. Its conditions on symbols stay unchanged and are not returned.
    fn plain_error(&self, spot: Spot) -> Option<&SolveError<'a>> {
        match spot {
            Spot::Step(step) => self.frame.rare.errors.get(&step),
            Spot::Shapes(step) => self.frame.rare.second_errors.get(&step),
            Spot::Value(value) => {
                let refuted = || self.errors.iter().find(|error| claimed(error) == Some(value));
                self.frame.rare.value_errors.get(&value).or_else(refuted)
            }
            Spot::Condition(_) => None,
        }
    }

    /// Whether the plain pass reports the condition of a node in all of the cases `at`.
    fn is_known_condition(&self, spot: Spot, at: &[usize]) -> bool {
        let Spot::Condition(step) = spot else { return false };
        let mut plain = self.errors.iter();
        plain.any(|plain| at.iter().all(|leaf| is_known(plain, step, self.found[*leaf].get(&spot))))
    }

    /// Decides the errors at one spot.
    fn spot(&mut self, spot: Spot, verdict: &mut Verdict<'a>) {
        let Self { frame, leaves, .. } = *self;
        let body = &frame.body;
        let runs: Vec<usize> = (0..leaves.len()).filter(|at| runs(&leaves[*at].frame, body, spot)).collect();
        let at: Vec<usize> =
            runs.iter().copied().filter(|leaf| self.found[*leaf].contains_key(&spot)).collect();
        let Some(first) = at.first().copied() else { return };
        if self.is_known_condition(spot, &at) {
            return;
        }
        let everywhere = at.len() == runs.len();
        if let (true, Some(plain)) = (everywhere, self.plain_error(spot)) {
            verdict.errors.push(plain.clone());
            return;
        }
        // In a failing case every run fails.
        let failing = at.iter().copied().filter(|leaf| fails(&leaves[*leaf].frame, spot));
        if at.iter().all(|leaf| leaves[*leaf].needs_empty) {
            self.excluded.extend(failing);
            return;
        }
        // A declaration need not hold in a case in which every run fails.
        if spot.value().is_some() && at.iter().all(|leaf| self.excluded.contains(leaf)) {
            return;
        }
        // A case in which every run fails computes no value.
        let gives_none = |leaf: &usize| spot.value().is_some() && self.excluded.contains(leaf);
        let in_every_case = (0..leaves.len()).all(|leaf| at.contains(&leaf) || gives_none(&leaf));
        let certain = at.iter().copied().find(|leaf| is_certain(body, spot, &leaves[*leaf]));
        let reach = if in_every_case || certain.is_some() { Reach::Free } else { Reach::Doubtful };
        // Such a declared type is reported as assumed, not as an error.
        if reach == Reach::Doubtful
            && spot.value().is_some_and(|value| frame.rare.open_claims.contains(&value))
        {
            return;
        }
        if reach == Reach::Doubtful && !matches!(spot, Spot::Condition(_)) {
            self.excluded.extend(failing);
        }
        let everywhere = if matches!(spot, Spot::Condition(_)) { in_every_case } else { everywhere };
        let branches = (!everywhere).then(|| blamed(body, spot, &at, &self.decisions));
        let case = certain.unwrap_or(first);
        let Some(error) = self.found[case].get(&spot) else { return };
        verdict.shown.insert(case);
        let owner = match spot {
            Spot::Value(value) => CaseOwner::Value(value),
            Spot::Step(_) | Spot::Shapes(_) | Spot::Condition(_) => CaseOwner::Node,
        };
        let kind =
            SolveErrorKind::InCase { case, branches, error: Box::new(error.kind.clone()), owner, reach };
        verdict.errors.push(SolveError { site: error.site, kind });
    }
}

/// Removes the errors of the plain pass that no case has.
pub(crate) fn prune<'a>(frame: &mut Frame<'a>, leaves: &[Leaf<'a>]) {
    let found: BTreeSet<Spot> =
        leaves.iter().flat_map(|leaf| spots(leaf).into_keys().collect::<Vec<_>>()).collect();
    frame.rare.errors.retain(|step, _| found.contains(&Spot::Step(*step)));
    frame.rare.second_errors.retain(|step, _| found.contains(&Spot::Shapes(*step)));
    frame.rare.value_errors.retain(|value, _| found.contains(&Spot::Value(*value)));
    let open = open_claims(leaves);
    frame.rare.open_claims.retain(|value| open.contains(value));
    frame.assumed_shapes.retain(|value, _| open.contains(value));
}

/// The values whose declared shapes a case neither confirms nor refutes, or refutes although the case may be
/// impossible.
pub(crate) fn open_claims(leaves: &[Leaf<'_>]) -> BTreeSet<ValueId> {
    let mut open = BTreeSet::new();
    for leaf in leaves {
        open.extend(leaf.frame.rare.open_claims.iter().copied());
        if may_be_impossible(leaf) {
            open.extend(spots(leaf).into_keys().filter_map(Spot::value));
        }
    }
    open
}

/// Decides the errors of functions. Those of every case stay with the plain pass.
fn functions<'a>(
    frame: &Frame<'a>,
    erroneous: &[Instance<'a>],
    leaves: &[Leaf<'a>],
    decisions: &[Vec<Branch>],
    verdict: &mut Verdict<'a>,
) {
    let body = &frame.body;
    let has_errors = leaves.iter().any(|leaf| !leaf.erroneous.is_empty());
    let steps = if has_errors { body.steps_by_offset() } else { Map::default() };
    let call = |instance: &Instance<'a>| Some(instance.calls.first()?.node.offset());
    let mut wrong: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, leaf) in leaves.iter().enumerate() {
        for (position, instance) in leaf.erroneous.iter().enumerate() {
            let Some(offset) = call(instance) else { continue };
            let Some(step) = steps.get(&offset) else { continue };
            let found = wrong.entry(offset).or_default();
            if runs(&leaf.frame, body, Spot::Step(*step)) && found.last().is_none_or(|(leaf, _)| *leaf != at)
            {
                found.push((at, position));
            }
        }
    }
    let everywhere = |step: StepId, found: &[(usize, usize)]| {
        found.len() == leaves.iter().filter(|leaf| runs(&leaf.frame, body, Spot::Step(step))).count()
    };
    let stays = |instance: &Instance<'a>| {
        let found = call(instance).and_then(|offset| Some((steps.get(&offset)?, wrong.get(&offset)?)));
        found.is_some_and(|(step, found)| everywhere(*step, found))
    };
    verdict.instances = (0..erroneous.len()).filter(|at| stays(&erroneous[*at])).collect();
    let stays =
        |offset: usize| erroneous.iter().any(|instance| call(instance) == Some(offset) && stays(instance));
    for (offset, found) in &wrong {
        let (Some(step), Some((case, position))) = (steps.get(offset), found.first().copied()) else {
            continue;
        };
        if stays(*offset) {
            continue;
        }
        let at: Vec<usize> = found.iter().map(|(leaf, _)| *leaf).collect();
        if at.iter().all(|leaf| leaves[*leaf].needs_empty) {
            continue;
        }
        let spot = Spot::Step(*step);
        let all = everywhere(*step, found);
        let branches = (!all).then(|| blamed(body, spot, &at, decisions));
        let is_wrong = all || at.iter().any(|leaf| is_certain(body, spot, &leaves[*leaf]));
        let reach = if is_wrong { Reach::Free } else { Reach::Doubtful };
        let Some(error) = leaves[case].erroneous[position].frame.all_errors().next() else { continue };
        verdict.shown.insert(case);
        let (error, owner) = (Box::new(error.kind.clone()), CaseOwner::Instance(position));
        let kind = SolveErrorKind::InCase { case, branches, error, owner, reach };
        verdict.errors.push(SolveError { site: ErrorSite::Step(*step), kind });
    }
}

/// The errors of a case outside graphs that never run.
fn spots<'l, 'a>(leaf: &'l Leaf<'a>) -> BTreeMap<Spot, &'l SolveError<'a>> {
    let frame = &leaf.frame;
    let steps = frame.rare.errors.iter().map(|(step, error)| (Spot::Step(*step), error));
    let shapes = frame.rare.second_errors.iter().map(|(step, error)| (Spot::Shapes(*step), error));
    let claims = leaf.errors.iter().filter_map(|error| Some((Spot::Value(claimed(error)?), error)));
    let values = frame.rare.value_errors.iter().map(|(value, error)| (Spot::Value(*value), error));
    let conditions =
        leaf.errors.iter().filter_map(|error| Some((Spot::Condition(restricting(error)?), error)));
    steps
        .chain(shapes)
        .chain(claims)
        .chain(values)
        .chain(conditions)
        .filter(|(spot, _)| runs(frame, &frame.body, *spot))
        .collect()
}

/// The value whose declared extent an error refutes, for a binding or for all but finitely many values of a
/// symbol.
fn claimed(error: &SolveError<'_>) -> Option<ValueId> {
    match &error.kind {
        SolveErrorKind::RefutedClaim(claim) => Some(claim.value),
        SolveErrorKind::ForcedSymbol { equation, .. } => match equation.source {
            EquationSource::Declared(value) => Some(value),
            EquationSource::Ports { .. } | EquationSource::Call => None,
        },
        _ => None,
    }
}

/// The node of an error about a condition on symbols.
fn restricting(error: &SolveError<'_>) -> Option<StepId> {
    if claimed(error).is_some() {
        return None;
    }
    match (&error.kind, error.site) {
        (
            SolveErrorKind::ForcedSymbol { .. }
            | SolveErrorKind::ForcedSymbols { .. }
            | SolveErrorKind::ForcedEquality { .. }
            | SolveErrorKind::Restricted { .. },
            ErrorSite::Step(step),
        ) => Some(step),
        _ => None,
    }
}

/// Whether an error of the plain pass implies the condition on symbols at `step` that an error of a case
/// reports.
fn is_known(plain: &SolveError<'_>, step: StepId, error: Option<&&SolveError<'_>>) -> bool {
    let same_symbol = match (&plain.kind, error.map(|error| &error.kind)) {
        (
            SolveErrorKind::ForcedSymbol { symbol, .. },
            Some(SolveErrorKind::ForcedSymbol { symbol: other, .. }),
        ) => symbol == other,
        _ => false,
    };
    same_symbol || restricting(plain) == Some(step)
}

/// Whether an error of a case makes the whole model wrong.
///
/// A declared type must be valid in every possible case. An error of a node counts if few bindings avoid the
/// case and every run in the case reaches the node; a condition without an assumption may depend on an
/// assumed one. Conditions of a node on symbols count only if a caller chooses the case by data.
fn is_certain(body: &Body<'_>, spot: Spot, leaf: &Leaf<'_>) -> bool {
    let is_possible = !is_doubtful(leaf);
    match spot {
        Spot::Condition(_) => is_possible && is_chosen(body, leaf),
        Spot::Value(_) => is_possible,
        Spot::Step(_) | Spot::Shapes(_) => is_possible && leaf.leaves_little && fails(&leaf.frame, spot),
    }
}

/// Whether a caller chooses the case by an input. If symbols decide, the other case remains possible; a
/// computed condition may be the same in every run.
fn is_chosen(body: &Body<'_>, leaf: &Leaf<'_>) -> bool {
    leaf.literals.iter().all(|literal| match literal.request.question {
        Question::Condition(value) => body.value(value).origin == Origin::Input,
        Question::Equal(..) | Question::NonNegative(_) => false,
    })
}

/// Whether every run in a case reaches the error. A node in a branch without an assumed condition may not
/// run.
fn fails(frame: &Frame<'_>, spot: Spot) -> bool {
    match spot {
        Spot::Step(step) | Spot::Shapes(step) => frame.runs_with_body(step),
        Spot::Value(_) | Spot::Condition(_) => true,
    }
}

fn runs(frame: &Frame<'_>, body: &Body<'_>, spot: Spot) -> bool {
    frame.runs_in(match spot {
        Spot::Step(step) | Spot::Shapes(step) | Spot::Condition(step) => body.step(step).graph,
        Spot::Value(value) => body.value(value).graph,
    })
}

/// Whether the cases replace an error of the plain pass.
fn is_at_spot(frame: &Frame<'_>, error: &SolveError<'_>) -> bool {
    let same = |own: &SolveError<'_>| {
        own.site == error.site && std::mem::discriminant(&own.kind) == std::mem::discriminant(&error.kind)
    };
    frame
        .rare
        .errors
        .values()
        .chain(frame.rare.second_errors.values())
        .chain(frame.rare.value_errors.values())
        .any(same)
}

fn is_doubtful(leaf: &Leaf<'_>) -> bool {
    leaf.needs_empty || may_be_impossible(leaf)
}

/// Whether the case has assumptions about unknown extents.
fn may_be_impossible(leaf: &Leaf<'_>) -> bool {
    leaf.literals.iter().any(|literal| literal.request.reach == Reach::Doubtful)
}

/// The branches that run in a case and are undecided in the plain pass.
fn decisions(plain: &Frame<'_>, leaf: &Frame<'_>) -> Vec<Branch> {
    let body = &plain.body;
    let news = leaf.rare.dead_graphs.iter().filter(|graph| !plain.rare.dead_graphs.contains(graph));
    let mut found: Vec<Branch> = news
        .filter_map(|graph| {
            let step = body.graph(*graph).owner?.step;
            let live = body.graphs_of(step).map(|(id, _)| id).find(|id| id != graph)?;
            leaf.runs_in(body.step(step).graph).then_some((step, live))
        })
        .collect();
    found.sort_unstable();
    found
}

/// The branches that cause the error of the cases `at`.
fn blamed(body: &Body<'_>, spot: Spot, at: &[usize], decisions: &[Vec<Branch>]) -> Vec<Branch> {
    let upstream = upstream(body, spot);
    let rank = |branch: &Branch| upstream.iter().position(|step| *step == branch.0).unwrap_or(usize::MAX);
    let taken = |branch: &Branch| -> Vec<usize> {
        (0..decisions.len()).filter(|leaf| decisions[*leaf].contains(branch)).collect()
    };
    let mut candidates: Vec<Branch> = at.iter().flat_map(|leaf| decisions[*leaf].iter().copied()).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let single = candidates
        .iter()
        .filter(|branch| taken(branch).iter().all(|leaf| at.contains(leaf)))
        .min_by_key(|branch| (rank(branch), **branch));
    if let Some(single) = single {
        return vec![*single];
    }
    let mut all = at.first().map(|leaf| decisions[*leaf].clone()).unwrap_or_default();
    if all.iter().any(|branch| rank(branch) < usize::MAX) {
        all.retain(|branch| rank(branch) < usize::MAX);
    }
    all
}

/// The nodes with branches upstream of a location, nearest first.
fn upstream(body: &Body<'_>, spot: Spot) -> Vec<StepId> {
    let mut queue: VecDeque<ValueId> = match spot {
        Spot::Step(step) | Spot::Shapes(step) | Spot::Condition(step) => {
            body.inputs(step).iter().flatten().copied().collect()
        }
        Spot::Value(value) => [value].into(),
    };
    let mut seen: BTreeSet<ValueId> = queue.iter().copied().collect();
    let mut found = Vec::new();
    while let Some(value) = queue.pop_front() {
        if seen.len() > MAX_ANCESTORS {
            break;
        }
        let Origin::Step(maker) = body.value(value).origin else { continue };
        let first = body.first_step(maker);
        if first != maker && !found.contains(&first) {
            found.push(first);
        }
        let inner = body.graphs_of(first).flat_map(|(_, graph)| graph.outputs.iter().copied());
        let next: Vec<ValueId> = body.inputs(first).iter().flatten().copied().chain(inner).collect();
        queue.extend(next.into_iter().filter(|value| seen.insert(*value)));
    }
    found
}
