//! Copies of functions whose calls have different conversions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::super::FunctionCopy;
use super::super::layout::{BodyId, Layout, NodeId, Source};
use super::super::problem::{CallId, Conversion, LocalValue, Problem, Solution};
use typeloom_solver::program::GraphId;

use crate::ids::ids;

ids! {
    /// A copy, by its position in the result of [`copies`].
    CopyId
}

/// A body or a copy of it, shared by some of its calls.
pub(super) struct BodyCopy {
    pub(super) body: BodyId,
    pub(super) calls: Vec<CallId>,
    /// The copies that its nodes call.
    pub(super) callees: BTreeMap<NodeId, CopyId>,
    pub(super) name: String,
}

impl BodyCopy {
    /// The first call that uses the copy.
    pub(super) fn first_call(&self) -> CallId {
        self.calls.first().copied().unwrap_or(CallId::MAIN)
    }

    pub(super) fn describe(&self, layouts: &[Layout<'_>], problem: &Problem<'_>) -> FunctionCopy {
        let sites: BTreeSet<String> =
            self.calls.iter().filter_map(|call| problem.call_site(layouts, *call)).collect();
        FunctionCopy {
            function: layouts[self.body.index()].name.to_owned(),
            name: self.name.clone(),
            calls: sites.into_iter().collect(),
        }
    }
}

/// The copies of all bodies, in the order of bodies and of their first calls.
///
/// Calls share a copy if they have the same conversions and their nodes call the same copies.
pub(super) fn copies(layouts: &[Layout<'_>], solution: &Solution<'_, '_>) -> Vec<BodyCopy> {
    let calls = &solution.problem.calls;
    // For each call: the call whose copy it shares. Callees come after their callers, so the loop runs
    // backwards.
    let mut representatives: Vec<CallId> = (0..calls.len()).map(CallId::new).collect();
    let mut callees: Vec<BTreeMap<NodeId, CallId>> = vec![BTreeMap::new(); calls.len()];
    let mut known: HashMap<BodyId, Vec<CallId>> = HashMap::new();
    for at in (0..calls.len()).rev() {
        let call = CallId::new(at);
        let known = known.entry(calls[at].body).or_default();
        let is_same = |other: &&CallId| {
            callees[other.index()] == callees[at]
                && are_same(solution.conversions(**other), solution.conversions(call))
        };
        match known.iter().find(is_same) {
            Some(other) => representatives[at] = *other,
            None => known.push(call),
        }
        if let Some((caller, node)) = calls[at].caller {
            callees[caller.index()].insert(node, representatives[at]);
        }
    }
    let mut order: Vec<CallId> = Vec::new();
    for representative in &representatives {
        if !order.contains(representative) {
            order.push(*representative);
        }
    }
    order.sort_by_key(|representative| calls[representative.index()].body);
    let ids: HashMap<CallId, CopyId> =
        order.iter().enumerate().map(|(at, representative)| (*representative, CopyId::new(at))).collect();
    let mut copies: Vec<BodyCopy> = order
        .iter()
        .map(|representative| BodyCopy {
            body: calls[representative.index()].body,
            calls: Vec::new(),
            callees: callees[representative.index()]
                .iter()
                .map(|(node, callee)| (*node, ids[callee]))
                .collect(),
            name: String::new(),
        })
        .collect();
    for (at, representative) in representatives.iter().enumerate() {
        copies[ids[representative].index()].calls.push(CallId::new(at));
    }
    name_copies(&mut copies, layouts, solution);
    copies
}

fn are_same(left: &[Conversion<'_>], right: &[Conversion<'_>]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.is_same_node(right))
}

/// The first copy keeps the function's name; others get the element types of their inputs as a suffix.
fn name_copies(copies: &mut [BodyCopy], layouts: &[Layout<'_>], solution: &Solution<'_, '_>) {
    let functions = layouts.iter().filter_map(|layout| match layout.source() {
        Source::Function(view) => {
            Some((view.domain().unwrap_or_default().to_owned(), layout.name.to_owned()))
        }
        Source::Graph(_) => None,
    });
    let mut taken: HashSet<(String, String)> = functions.collect();
    let mut seen: HashSet<BodyId> = HashSet::new();
    for copy in copies {
        let layout = &layouts[copy.body.index()];
        layout.name.clone_into(&mut copy.name);
        let Source::Function(function) = layout.source() else { continue };
        if seen.insert(copy.body) {
            continue;
        }
        let call = copy.first_call();
        let elems = function.inputs().flatten().filter_map(|name| {
            let formal = LocalValue { graph: GraphId::new(0), name };
            solution.value_elem(call, formal)?.onnx_name()
        });
        let wanted = elems.fold(copy.name.clone(), |name, elem| name + "_" + elem);
        let domain = function.domain().unwrap_or_default().to_owned();
        let numbered = (2_usize..).map(|number| format!("{wanted}_{number}"));
        let is_free = |name: &String| !taken.contains(&(domain.clone(), name.clone()));
        copy.name = std::iter::once(wanted.clone()).chain(numbered).find(is_free).unwrap_or(wanted);
        taken.insert((domain, copy.name.clone()));
    }
}
