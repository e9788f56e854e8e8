//! `lower`: rewrites operators that the backend of a slot does not compute as primitives.
//!
//! Every backend computes the thirty primitives and declares further operators, by name and with the types of
//! their ports. Other operators are rewritten as primitives on the same slot. Each operator has one rule, in
//! the file of its family, which sees the solved types of the node's ports. The solver types the rewritten
//! program again, so a rule that would change a type is an error. A node that no rule can rewrite is kept,
//! and `resolve_dispatch` reports the reason. If the reason is the storage of the backend, and
//! `run_on_backend` assigned the node to the slot, the session runs the node.
//!
//! | file | operators |
//! |---|---|
//! | `activation` | activation functions, softmax |
//! | `arithmetic` | variadic arithmetic, signs, logic, hyperbolic functions |
//! | `periodic` | rounding, sines |
//! | `reduction` | norms, products, positions of maxima, running sums |
//! | `shape` | movement of elements, constants derived from shapes |
//! | `matrix` | `Gemm`, `Einsum` |
//! | `normalization` | means and variances |
//! | `window` | convolution and pooling |
//! | `select` | selection by indices |
//! | `loss` | losses |

use indexmap::IndexMap;
use typeloom_module::bindings::Binding;
use typeloom_module::{Map, Set};
use typeloom_program::domain::Domain;
use typeloom_program::facts::Types;
use typeloom_program::program::{Node, NodeId};
use typeloom_types::op::AtomicOpDecl;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;

use crate::error::BuildError;
use crate::solve_program::{failed, solve};
use crate::stage::{Lowered, Solved};
use crate::unit::Unit;

mod constants;
mod form;

mod activation;
mod arithmetic;
mod loss;
mod matrix;
mod normalization;
mod periodic;
mod reduction;
mod select;
mod shape;
mod window;

use constants::Constants;
use form::{Form, Rewriting};

/// The rewriting of one operator.
struct LoweringRule {
    operator: &'static str,
    run: fn(Form<'_>) -> form::Lowered<'_>,
}

const fn rule(operator: &'static str, run: fn(Form<'_>) -> form::Lowered<'_>) -> LoweringRule {
    LoweringRule { operator, run }
}

const FAMILIES: [&[LoweringRule]; 10] = [
    activation::RULES,
    arithmetic::RULES,
    periodic::RULES,
    reduction::RULES,
    shape::RULES,
    matrix::RULES,
    normalization::RULES,
    window::RULES,
    select::RULES,
    loss::RULES,
];

/// Returns the operators that can be rewritten as primitives for at least some types.
pub fn lowered_operators() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().copied().flatten().map(|rule| rule.operator)
}

/// Rewrites the operators that backends do not compute.
pub(crate) fn run(solved: Solved) -> Result<Lowered, BuildError> {
    let mut lowered = Lowered::unchanged(solved);
    let Lowered { unit, refusals, .. } = &mut lowered;
    if !may_need_lowering(unit) {
        return Ok(lowered);
    }
    let version = unit.program.imported(&Domain::Onnx).unwrap_or(1);
    let constants = Constants::of(&unit.program);
    let mut names = unit.program.names();
    let mut counts: IndexMap<String, usize> = IndexMap::new();
    for graph in unit.program.graphs_in(unit.program.main()) {
        let former = unit.program.take_nodes(graph);
        let mut nodes = Vec::with_capacity(former.len());
        for id in former {
            let Some((slot, bound)) = on_backend(unit, id) else {
                nodes.push(id);
                continue;
            };
            let node = &unit.program[id];
            if computes(bound, node, &unit.facts.types) {
                nodes.push(id);
                continue;
            }
            let stored = bound.stores("Tensor");
            let form = Rewriting::new(&unit.program, &unit.facts.types, node, version, stored, &constants);
            match write(&form) {
                Ok(()) => {
                    *counts.entry(slot.to_owned()).or_default() += 1;
                    let built = form.into_built();
                    nodes.extend(built.add(unit, graph, id, &mut names));
                }
                // The author did not choose the backend for this node.
                Err(_) if form.is_misfit() && unit.assigned.contains(&id) => {
                    unit.facts.placements.remove(id);
                    nodes.push(id);
                }
                Err(form::Refusal(why)) => {
                    refusals.set(id, why);
                    nodes.push(id);
                }
            }
        }
        unit.program[graph].nodes = nodes;
    }
    if !counts.is_empty() {
        unit.report.lowered = counts.into_iter().collect();
        let solution = solve(&unit.program, &unit.facts, &unit.bindings, unit.mode)?;
        if !solution.is_ok() {
            return Err(failed(unit, solution.diagnostics));
        }
        unit.facts.types = solution.types;
    }
    Ok(lowered)
}

fn write(form: Form<'_>) -> form::OrRefusal<()> {
    let found = FAMILIES.iter().copied().flatten().find(|rule| rule.operator == form.node.op);
    let Some(rule) = found else { return form::refuse("no rule knows the operator") };
    let first = (rule.run)(form)?;
    form.finish(first)
}

/// Whether a node on a backend is not a primitive. Each operator is tested once per slot.
fn may_need_lowering(unit: &Unit) -> bool {
    let mut known: Map<&str, Set<&str>> = Map::default();
    unit.program.nodes_in(unit.program.main()).any(|id| {
        let Some((slot, _)) = on_backend(unit, id) else { return false };
        let node = &unit.program[id];
        known.entry(slot).or_default().insert(&node.op) && !is_primitive(node)
    })
}

/// Returns the slot and the backend of an ONNX operator.
fn on_backend(unit: &Unit, id: NodeId) -> Option<(&str, &Binding)> {
    if !unit.program[id].domain.is_onnx() {
        return None;
    }
    let slot = unit.facts.slot(id)?;
    Some((slot, unit.bindings.get(slot)?))
}

/// Whether a node is one of the thirty primitives.
pub(crate) fn is_primitive(node: &Node) -> bool {
    node.domain.is_onnx() && TENSOR_PRIMITIVES.op(&node.op).is_some()
}

/// Whether a backend computes a node: a primitive, or a declared operator on types within the bounds of its
/// ports. [`obstacle`](crate::representation::obstacle) states whether it represents the values of a
/// primitive.
pub(crate) fn computes(bound: &Binding, node: &Node, types: &Types) -> bool {
    if is_primitive(node) {
        return true;
    }
    let own = bound.opsets.iter().filter(|opset| Domain::of(opset.domain) == node.domain);
    own.filter_map(|opset| opset.op(&node.op)).any(|decl| takes(decl, node, types))
}

/// Whether all inputs are within the bounds of a declaration. Unresolved types are left to the backend.
fn takes(decl: &AtomicOpDecl, node: &Node, types: &Types) -> bool {
    node.inputs.iter().enumerate().all(|(at, value)| {
        let Some(port) = decl.inputs.get(at).or(decl.inputs.last()) else { return false };
        let leaf = value.and_then(|value| types.leaf(value));
        leaf.is_none_or(|leaf| leaf.is_subtype_of(port.bound))
    })
}
