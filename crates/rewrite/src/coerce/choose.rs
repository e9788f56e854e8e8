//! Choice of an element type for every class, and of the conversions that follow.
//!
//! A value in a body with one call costs one conversion for each element type among its uses that differs
//! from the type of the value. In a body with several calls, a conversion is one node for all calls. It
//! converts into one element type, or, by `CastLike`, into the type of another value. If no set of
//! conversions suits all calls, each call is solved separately, and [`write`](super::write) copies the
//! function for calls with different conversions.
//!
//! [`assign`] states the costs as factors over variables, and [`eliminate`] minimises their sum exactly.

mod assign;
mod eliminate;
mod shared;

use std::collections::{BTreeMap, HashMap, HashSet};

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::ports::ClassId;
use typeloom_solver::program::GraphId;

use super::layout::{Layout, Site};
use super::number_format::rounds;
use super::policy::{Policy, Support};
use super::problem::{
    CallId, CastSource, Conversion, LocalValue, Problem, Refusal, RefusedConversion, Solution, Target, Uses,
};
use assign::{Assignment, Classes, Group, assign};
use shared::{Like, SharedGroup, Source};
use typeloom_solver::diagnostic::Safety;

/// The first version of the operator set that has `CastLike`.
const FIRST_CAST_LIKE: i64 = 15;

/// The maximum number of values to whose types a value can be converted, and the maximum number of
/// candidates.
const MAX_LIKES: usize = 5;
const MAX_CANDIDATES: usize = 64;

/// The maximum number of calls for which `CastLike` is considered.
const MAX_CALLS_WITH_LIKES: usize = 64;

/// The values whose types conversions can have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LikeScope {
    None,
    /// Values that a node reads together with the converted one.
    Operands,
    All,
}

/// Solves a problem under a policy.
pub(crate) fn choose<'p, 'a>(
    problem: &'p Problem<'a>,
    layouts: &[Layout<'_>],
    policy: Policy,
    support: Support,
) -> Solution<'p, 'a> {
    let chooser = Chooser { problem, layouts, policy, support };
    let has_shared = problem.uses.iter().any(|uses| problem.calls_of(uses.body).len() > 1);
    let joint = if has_shared { chooser.jointly() } else { None };
    joint.unwrap_or_else(|| chooser.separately())
}

/// The uses of a shared value that have one class in every call.
type Sites = Vec<Site>;

/// A value of a body with several calls, as [`assign`] takes it.
struct SharedUses<'p, 'a> {
    uses: &'p Uses<'a>,
    group: SharedGroup,
    /// The sites of each reader of the group.
    sites: Vec<Sites>,
    likes: Vec<LocalValue<'a>>,
}

struct Chooser<'p, 'l, 'a> {
    problem: &'p Problem<'a>,
    layouts: &'l [Layout<'l>],
    policy: Policy,
    support: Support,
}

impl<'p, 'a> Chooser<'p, '_, 'a> {
    fn assign(
        &self,
        groups: &[Group<'_>],
        shared: &[SharedGroup],
        policy: Policy,
        applied: Safety,
    ) -> Assignment {
        let Problem { classes: sets, compared, .. } = self.problem;
        assign(Classes { sets, compared }, groups, shared, policy, Support { applied, ..self.support })
    }

    fn solution(&self, assignment: &Assignment) -> Solution<'p, 'a> {
        Solution {
            problem: self.problem,
            elems: assignment.elems.clone(),
            conversions: vec![Vec::new(); self.problem.calls.len()],
            unsolved: HashSet::new(),
            unsolved_values: HashSet::new(),
            refused: Vec::new(),
            is_proved: assignment.is_proved,
            cast_inputs: HashMap::new(),
            folded: HashMap::new(),
        }
    }

    /// One set of conversions for all calls of each body; `None` if the policy allows none.
    fn jointly(&self) -> Option<Solution<'p, 'a>> {
        let problem = self.problem;
        let (single, several): (Vec<&Uses<'a>>, Vec<&Uses<'a>>) =
            problem.uses.iter().partition(|uses| problem.calls_of(uses.body).len() < 2);
        let groups: Vec<Group<'_>> = single.iter().flat_map(|uses| groups(uses, &problem.classes)).collect();
        let attempt = |scope: LikeScope| {
            let shared: Vec<SharedUses<'_, '_>> =
                several.iter().map(|uses| self.shared_uses(uses, scope)).collect();
            let shared_groups: Vec<SharedGroup> = shared.iter().map(|it| it.group.clone()).collect();
            (self.assign(&groups, &shared_groups, self.policy, self.support.applied), shared)
        };
        // An exact answer over all candidates can be too expensive. With fewer candidates it may be found,
        // and an answer with one conversion cannot be improved.
        let (mut best, mut shared) = attempt(LikeScope::None);
        let wider = if problem.calls.len() > MAX_CALLS_WITH_LIKES {
            &[][..]
        } else {
            &[LikeScope::Operands, LikeScope::All]
        };
        for scope in wider {
            if best.is_proved && best.is_complete() {
                break;
            }
            let (other, other_shared) = attempt(*scope);
            if other.cost < best.cost {
                (best, shared) = (other, other_shared);
            } else {
                best.is_proved |= other.is_proved && other.is_complete();
            }
        }
        if !best.is_complete() {
            return None;
        }
        let mut solution = self.solution(&best);
        for uses in single {
            for call in uses.makers.keys() {
                solution.conversions[call.index()].extend(conversions(uses, *call, &best.elems));
            }
        }
        for (shared, sources) in shared.iter().zip(&best.sources) {
            for call in problem.calls_of(shared.uses.body) {
                solution.conversions[call.index()].extend(shared.conversions(*call, sources, &best.elems));
            }
        }
        Some(solution)
    }

    /// Conversions for each call separately. A call whose conversions the policy forbids does not affect the
    /// others.
    fn separately(&self) -> Solution<'p, 'a> {
        let problem = self.problem;
        let parts: Vec<(usize, &Uses<'a>, CallId)> = problem
            .uses
            .iter()
            .enumerate()
            .flat_map(|(at, uses)| uses.makers.keys().map(move |call| (at, uses, *call)))
            .collect();
        let groups: Vec<Group<'_>> =
            problem.uses.iter().flat_map(|uses| groups(uses, &problem.classes)).collect();
        let applied = self.support.applied;
        let assignment = self.assign(&groups, &[], self.policy, applied);
        let mut solution = self.solution(&assignment);
        solution.is_proved &= problem.uses.iter().all(|uses| problem.calls_of(uses.body).len() < 2);
        let needed =
            |policy, applied| (!assignment.is_complete()).then(|| self.assign(&groups, &[], policy, applied));
        let (forbidden, unsafe_ones) = (needed(Policy::Widest, applied), needed(self.policy, Safety::Unsafe));
        for (group, (at, uses, call)) in parts.into_iter().enumerate() {
            if !assignment.is_unsolved(group) {
                solution.conversions[call.index()].extend(conversions(uses, call, &assignment.elems));
                continue;
            }
            solution.unsolved.insert((at, call));
            solution.unsolved_values.insert((call, uses.value));
            let needed = [(&forbidden, Refusal::Policy), (&unsafe_ones, Refusal::Unsafe)];
            let mut solved =
                needed.into_iter().filter_map(|(needed, reason)| Some((needed.as_ref()?, reason)));
            let Some((needed, reason)) = solved.find(|(needed, _)| !needed.is_unsolved(group)) else {
                continue;
            };
            let found = conversions(uses, call, &needed.elems).into_iter();
            solution.refused.extend(found.map(|Conversion { value, graph, from, to, .. }| {
                RefusedConversion { body: uses.body, value, graph, from, to, reason }
            }));
        }
        solution
    }

    fn shared_uses<'u>(&self, uses: &'u Uses<'a>, scope: LikeScope) -> SharedUses<'u, 'a> {
        let calls = self.problem.calls_of(uses.body);
        let by_call = |classes: &BTreeMap<CallId, ClassId>| -> Vec<Option<ClassId>> {
            calls.iter().map(|call| classes.get(call).copied()).collect()
        };
        let (mut readers, mut sites): (Vec<Vec<Option<ClassId>>>, Vec<Sites>) = (Vec::new(), Vec::new());
        for (site, classes) in &uses.readers {
            let classes = by_call(classes);
            match readers.iter().position(|known| *known == classes) {
                Some(at) => sites[at].push(*site),
                None => {
                    readers.push(classes);
                    sites.push(vec![*site]);
                }
            }
        }
        let has_cast_like = self.problem.bodies[uses.body.index()].version >= FIRST_CAST_LIKE;
        let (likes, is_complete) = match scope {
            _ if !has_cast_like => (Vec::new(), true),
            LikeScope::None => (Vec::new(), false),
            LikeScope::Operands | LikeScope::All => self.likes(uses, &sites, scope),
        };
        let (likes, like_groups) = likes.into_iter().unzip();
        let group = SharedGroup {
            makers: by_call(&uses.makers),
            readers,
            likes: like_groups,
            converts: uses.converts,
            is_complete,
        };
        SharedUses { uses, group, sites, likes }
    }

    /// The values whose types a value can be converted into, and whether these are all. Of values with the
    /// same class in every call one suffices.
    fn likes(
        &self,
        uses: &Uses<'a>,
        sites: &[Sites],
        scope: LikeScope,
    ) -> (Vec<(LocalValue<'a>, Like)>, bool) {
        let calls = self.problem.calls_of(uses.body);
        let operands = self.operands(uses, sites);
        let definition = |value: &LocalValue<'a>| self.problem.definitions.get(&(uses.body, *value)).copied();
        let Some(first) = calls.first() else { return (Vec::new(), true) };
        let mut candidates: Vec<(bool, Option<usize>, LocalValue<'a>)> = self.problem.makers[first.index()]
            .keys()
            .filter(|value| **value != uses.value)
            .filter(|value| value.graph.index() == 0 || value.graph == uses.graph)
            .map(|value| (!operands.contains(value), definition(value), *value))
            .collect();
        candidates.sort_unstable();
        let mut is_complete = scope == LikeScope::All && candidates.len() <= MAX_CANDIDATES;
        candidates.retain(|(is_distant, ..)| scope == LikeScope::All || !is_distant);
        candidates.truncate(MAX_CANDIDATES);
        let mut likes: Vec<(LocalValue<'a>, Like)> = Vec::new();
        for (_, definition, value) in candidates {
            let of_call = |call: &CallId| self.problem.makers[call.index()].get(&value).copied();
            let classes: Vec<Option<ClassId>> = calls.iter().map(of_call).collect();
            let is_defined_before =
                |sites: &Sites| match (definition, self.first_use(uses, sites, value.graph)) {
                    (Some(definition), Some(first)) => definition < first,
                    (None, _) | (_, None) => true,
                };
            let readers: Vec<usize> =
                (0..sites.len()).filter(|reader| is_defined_before(&sites[*reader])).collect();
            if readers.is_empty() || likes.iter().any(|(_, like)| like.classes == classes) {
                continue;
            }
            if likes.len() == MAX_LIKES {
                is_complete = false;
                break;
            }
            likes.push((value, Like { classes, readers }));
        }
        (likes, is_complete)
    }

    /// The position in `graph` of the first node that contains one of some uses; `None` for outputs alone.
    fn first_use(&self, uses: &Uses<'_>, sites: &[Site], graph: GraphId) -> Option<usize> {
        let layout = &self.layouts[uses.body.index()];
        sites.iter().filter_map(|site| layout.position_in(graph, *site)).min()
    }

    /// The values that nodes read together with a value.
    fn operands(&self, uses: &Uses<'a>, sites: &[Sites]) -> HashSet<LocalValue<'a>> {
        let nodes =
            sites.iter().flatten().filter_map(|site| self.problem.operands.get(&(uses.body, site.node()?)));
        nodes.flatten().copied().collect()
    }
}

/// One group for each call.
fn groups<'u, 'a>(uses: &'u Uses<'a>, sets: &[ElemSet]) -> impl Iterator<Item = Group<'u>> + use<'u, 'a> {
    let source = uses.readable_source(sets);
    uses.makers.iter().map(move |(call, maker)| Group {
        maker: *maker,
        readers: uses.readers.values().filter_map(|classes| classes.get(call).copied()).collect(),
        converts: uses.converts,
        stored: uses.stored.as_ref(),
        source: source.map(|source| source.class),
        declared: uses.declared,
    })
}

/// The conversions of a value in one call.
fn conversions<'a>(uses: &Uses<'a>, call: CallId, elems: &[Option<Elem>]) -> Vec<Conversion<'a>> {
    let Some(from) = elems[uses.makers[&call].index()] else { return Vec::new() };
    let mut by_elem: BTreeMap<Elem, Vec<Site>> = BTreeMap::new();
    for (site, classes) in &uses.readers {
        let elem = classes.get(&call).and_then(|class| elems[class.index()]);
        if let Some(to) = elem.filter(|to| *to != from) {
            by_elem.entry(to).or_default().push(*site);
        }
    }
    let conversion = |(to, readers): (Elem, Vec<Site>)| {
        let is_source = |source: &CastSource<'_>| elems[source.class.index()] == Some(to) && rounds(to, from);
        let are_nodes = readers.iter().all(|site| site.node.is_some());
        let source = uses.source.filter(|source| are_nodes && is_source(source));
        let target = source.map_or(Target::Elem(to), |source| Target::Source(source.value));
        Conversion { value: uses.value, graph: uses.graph, target, readers, from, to }
    };
    by_elem.into_iter().map(conversion).collect()
}

impl<'a> SharedUses<'_, 'a> {
    /// The conversions that all calls have, with the element types of one.
    fn conversions(&self, call: CallId, sources: &[Source], elems: &[Option<Elem>]) -> Vec<Conversion<'a>> {
        let elem = |class: Option<&ClassId>| class.and_then(|class| elems[class.index()]);
        let mut by_source: BTreeMap<Source, Vec<Site>> = BTreeMap::new();
        for (sites, source) in self.sites.iter().zip(sources) {
            by_source.entry(*source).or_default().extend(sites);
        }
        let mut conversions = Vec::new();
        for (source, mut readers) in by_source {
            readers.sort_unstable();
            let to = readers.iter().find_map(|site| elem(self.uses.readers[site].get(&call)));
            let (target, to) = match (source, to) {
                (Source::Direct, _) | (Source::Like(_), None) => continue,
                (Source::To(elem), _) => (Target::Elem(elem), elem),
                (Source::Like(at), Some(to)) => (Target::Like(self.likes[at]), to),
            };
            let from = elem(self.uses.makers.get(&call)).unwrap_or(to);
            let (value, graph) = (self.uses.value, self.uses.graph);
            conversions.push(Conversion { value, graph, target, readers, from, to });
        }
        conversions
    }
}
