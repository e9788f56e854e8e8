//! Adjustments of the problem and of its solution that the planner does not know.
//!
//! | function | adjustment |
//! |---|---|
//! | [`settle`] | types of parts of the graph that no fixed type determines |
//! | [`keep_large`], [`copy_small`] | stored tensors that are read in both types |
//! | [`bypass`] | casts of the model: those without an effect, and those whose result is cast again |

use std::collections::{BTreeMap, HashMap, HashSet};

use petgraph::unionfind::UnionFind;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::ports::ClassId;

use super::edit::Restated;
use super::key;
use super::roles::Roles;
use crate::coerce::layout::BodyId;
use crate::coerce::problem::{CallId, Conversion, LocalValue, Problem, Solution, Target, Uses};

/// Chooses the types of classes with both types that no class of one type is connected to: arithmetic on
/// shapes keeps the old type, everything else gets the new one.
pub(super) fn settle(problem: &mut Problem<'_>, roles: &Roles<'_>, to: Elem) {
    let mut parts = UnionFind::<usize>::new(problem.classes.len());
    for uses in &problem.uses {
        // The classes of different calls are not connected by a value.
        for call in problem.calls_of(uses.body) {
            let own = uses.readers.values().filter_map(|classes| classes.get(call));
            let mut own = uses.makers.get(call).into_iter().chain(own);
            if let Some(first) = own.next() {
                own.for_each(|class| {
                    parts.union(first.index(), class.index());
                });
            }
        }
    }
    let mut is_fixed = vec![false; problem.classes.len()];
    let mut is_static = vec![true; problem.classes.len()];
    let labels = parts.into_labeling();
    for (at, set) in problem.classes.iter().enumerate() {
        is_fixed[labels[at]] |= set.len() == 1;
        is_static[labels[at]] &= roles.is_static[at];
    }
    for (at, set) in problem.classes.iter_mut().enumerate() {
        if set.len() == 2 && !is_fixed[labels[at]] {
            let old = roles.old[at].filter(|_| is_static[labels[at]]);
            *set = ElemSet::of(old.unwrap_or(to));
        }
    }
}

/// Lets the readers of casts without an effect read the inputs of the casts, and new casts the inputs of the
/// casts of the model. Returns the results of casts to remove.
pub(super) fn bypass<'a>(solution: &mut Solution<'_, 'a>, restated: &mut Restated) -> HashSet<&'a str> {
    let problem = solution.problem;
    let mut inputs: HashMap<(BodyId, LocalValue<'a>), LocalValue<'a>> = HashMap::new();
    let mut own_elems: HashMap<(BodyId, LocalValue<'a>), Option<Elem>> = HashMap::new();
    let mut source_elems: HashMap<(BodyId, LocalValue<'a>), Option<Elem>> = HashMap::new();
    for uses in &problem.uses {
        let (Some(source), Some(maker)) = (uses.source, uses.makers.values().next()) else { continue };
        let value = (uses.body, uses.value);
        inputs.insert(value, source.value);
        own_elems.insert(value, solution.elems[maker.index()]);
        source_elems.insert(value, solution.elems[source.class.index()]);
    }
    let is_identity = |value: &(BodyId, LocalValue<'a>)| {
        source_elems.get(value).is_some_and(|elem| elem.is_some() && *elem == own_elems[value])
    };
    // The first value of a chain of casts without an effect.
    let resolved = |body: BodyId, value: LocalValue<'a>| {
        let mut at = value;
        while is_identity(&(body, at)) {
            at = inputs[&(body, at)];
        }
        at
    };
    let mut removed = HashSet::new();
    for uses in &problem.uses {
        let value = (uses.body, uses.value);
        let (Some(source), Some((call, _))) = (uses.source, uses.makers.iter().next()) else { continue };
        let input = resolved(uses.body, source.value);
        let from = own_elems[&value];
        let conversions = &mut solution.conversions[call.index()];
        for conversion in conversions.iter_mut().filter(|it| (it.value, it.graph) == (uses.value, uses.graph))
        {
            match conversion.target {
                Target::Elem(to) if source_elems[&value] != Some(to) || is_identity(&value) => {
                    solution.cast_inputs.insert(value, input);
                }
                Target::Source(_) => conversion.target = Target::Source(input),
                Target::Elem(_) | Target::Like(_) => {}
            }
        }
        if !is_identity(&value) {
            continue;
        }
        let Some(elem) = from else { continue };
        let unchanged = uses.readers.iter().filter(|(_, classes)| {
            classes.get(call).is_some_and(|class| solution.elems[class.index()] == Some(elem))
        });
        let (nodes, outputs): (Vec<_>, Vec<_>) =
            unchanged.map(|(site, _)| *site).partition(|site| site.node.is_some());
        if !outputs.is_empty() {
            restated.identities.insert(key(uses.body, uses.value));
        }
        removed.insert(uses.value.name);
        if !nodes.is_empty() {
            conversions.push(Conversion {
                value: uses.value,
                graph: uses.graph,
                target: Target::Source(input),
                readers: nodes,
                from: elem,
                to: elem,
            });
        }
    }
    removed
}

/// A large stored tensor that is read in both types keeps the old one, which has more precision.
pub(super) fn keep_large(solution: &mut Solution<'_, '_>, roles: &Roles<'_>, to: Elem) {
    for uses in solution.problem.uses.iter().filter(|uses| uses.stored.is_some()) {
        let [call] = solution.problem.calls_of(uses.body) else { continue };
        let Some(maker) = uses.makers.get(call) else { continue };
        let Some(old) = roles.old[maker.index()].filter(|old| *old != to) else { continue };
        let conversions = &mut solution.conversions[call.index()];
        let own = |it: &Conversion<'_>| (it.value, it.graph) == (uses.value, uses.graph);
        if solution.elems[maker.index()] != Some(to) || !conversions.iter().any(own) {
            continue;
        }
        conversions.retain(|it| !own(it));
        solution.elems[maker.index()] = Some(old);
        let (value, graph) = (uses.value, uses.graph);
        let readers = uses.readers.iter().filter(|(_, classes)| {
            classes.get(call).is_some_and(|class| solution.elems[class.index()] == Some(to))
        });
        let readers = readers.map(|(site, _)| *site).collect();
        let target = Target::Elem(to);
        solution.conversions[call.index()].push(Conversion { value, graph, target, readers, from: old, to });
    }
}

/// Gives a small stored tensor the types that its readers need.
pub(super) fn copy_small<'a>(
    copied: &[Uses<'a>],
    solution: &mut Solution<'_, 'a>,
    restated: &mut Restated,
    roles: &Roles<'_>,
    to: Elem,
) {
    for uses in copied {
        let [call] = solution.problem.calls_of(uses.body) else { continue };
        let Some(maker) = uses.makers.get(call) else { continue };
        let Some(old) = roles.old[maker.index()].filter(|old| *old != to) else { continue };
        let wants_new = |classes: &BTreeMap<CallId, ClassId>| {
            classes.get(call).is_some_and(|class| solution.elems[class.index()] == Some(to))
        };
        let new: Vec<_> =
            uses.readers.iter().filter(|(_, it)| wants_new(it)).map(|(site, _)| *site).collect();
        let can_change = roles.ports.classes[maker.index()].contains(to);
        if new.len() == uses.readers.len() && can_change {
            solution.elems[maker.index()] = Some(to);
            continue;
        }
        solution.elems[maker.index()] = Some(old);
        if new.is_empty() {
            continue;
        }
        restated.copied.insert(key(uses.body, uses.value), to);
        let (value, graph, target) = (uses.value, uses.graph, Target::Elem(to));
        solution.conversions[call.index()].push(Conversion {
            value,
            graph,
            target,
            readers: new,
            from: old,
            to,
        });
    }
}
