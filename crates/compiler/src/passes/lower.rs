//! `lower`: rewrites operators that the backend of a slot does not compute as primitives.
//!
//! Every backend computes the thirty primitives and declares further operators, by name and with the types of
//! their ports. Other operators are rewritten as primitives on the same slot. Each operator has one rule, in
//! the file of its family, which sees the solved types of the node's ports. The solver types the rewritten
//! program again, so a rule that would change a type is an error. A node that no rule can rewrite is kept,
//! and `resolve_dispatch` reports the reason.
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

use std::cell::RefCell;

use indexmap::IndexMap;
use typeloom_module::bindings::{Binding, Bindings};
use typeloom_module::ir::{self, Map, Set};
use typeloom_module::names;
use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::{GraphProto, NodeProto};
use typeloom_onnx::nested;
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_solver::value_type::ValueType;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpDecl;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::tree::TypeNode;

use super::stamp::stamp_all;
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
    let Solved { mut unit, mut types, interface, casts: _ } = solved;
    if !may_need_lowering(unit.graph(), &unit.bindings) {
        return Ok(Lowered { unit, types, interface, refusals: Map::default() });
    }
    let version = ir::imported(&unit.model, "").unwrap_or(1);
    let Unit { model, bindings, .. } = &mut unit;
    let graph = model.graph.get_or_insert_default();
    let constants = Constants::of(graph);
    let taken = RefCell::new(nested::value_names(graph));
    let mut lowered: IndexMap<String, usize> = IndexMap::new();
    let mut refusals: Map<String, String> = Map::default();
    nested::each_numbered_graph_mut(graph, |graph, number| {
        let visible = VisibleTypes { types: &types, graph: number };
        let mut nodes = Vec::with_capacity(graph.node.len());
        for node in std::mem::take(&mut graph.node) {
            let Some((slot, bound)) = on_backend(&node, bindings) else {
                nodes.push(node);
                continue;
            };
            if computes(bound, &node, |value| visible.leaf(value)) {
                nodes.push(node);
                continue;
            }
            let storage = bound.stores("Tensor").and_then(|node| Dtype::from_node_id(node.id));
            let form = Rewriting::new(&node, version, storage, visible, &constants, &taken);
            match write(&form) {
                Ok(()) => {
                    *lowered.entry(slot.to_owned()).or_default() += 1;
                    let built = form.into_built();
                    graph.initializer.extend(built.initializers);
                    nodes.extend(built.nodes);
                }
                Err(form::Refusal(why)) => {
                    refusals.insert(node.output.concat(), why);
                    nodes.push(node);
                }
            }
        }
        graph.node = nodes;
    });
    if !lowered.is_empty() {
        unit.report.lowered = lowered.into_iter().collect();
        let solution = solve(&unit.model, &unit.bindings, unit.mode)?;
        if !solution.is_ok() {
            return Err(failed(&unit, solution.diagnostics));
        }
        types = solution.types;
        stamp_all(&mut unit, &types);
    }
    Ok(Lowered { unit, types, interface, refusals })
}

fn write(form: Form<'_>) -> form::OrRefusal<()> {
    let op = form.node.op_type();
    let found = FAMILIES.iter().copied().flatten().find(|rule| rule.operator == op);
    let Some(rule) = found else { return form::refuse("no rule knows the operator") };
    let first = (rule.run)(form)?;
    form.finish(first)
}

/// The solved types of the values that are visible in one graph.
#[derive(Clone, Copy)]
pub(crate) struct VisibleTypes<'t> {
    pub(crate) types: &'t ValueTypes,
    pub(crate) graph: usize,
}

impl<'t> VisibleTypes<'t> {
    fn get(&self, value: &str) -> Option<&'t ValueType> {
        if value.is_empty() { None } else { self.types.visible_from(self.graph, value) }
    }

    /// Returns the type node of a value, if it is a leaf.
    pub(crate) fn leaf(&self, value: &str) -> Option<&'static TypeNode> {
        self.get(value)?.leaf()
    }
}

/// Whether a node on a backend is not a primitive. Each operator is tested once per slot.
fn may_need_lowering(graph: &GraphProto, bindings: &Bindings) -> bool {
    let mut known: Map<&str, Set<&str>> = Map::default();
    let mut any = false;
    nested::each_node(graph, |node| {
        let Some((slot, _)) = on_backend(node, bindings) else { return };
        let seen = known.get(slot).is_some_and(|ops| ops.contains(node.op_type()));
        if !seen {
            known.entry(slot).or_default().insert(node.op_type());
            any |= !is_primitive(node);
        }
    });
    any
}

/// Returns the slot and the backend of an ONNX operator.
fn on_backend<'n, 'b>(node: &'n NodeProto, bindings: &'b Bindings) -> Option<(&'n str, &'b Binding)> {
    if !node.is_onnx() {
        return None;
    }
    let slot = ir::metadata(node, names::SLOT_ID)?;
    Some((slot, bindings.get(slot)?))
}

/// Whether a node is one of the thirty primitives.
pub(crate) fn is_primitive(node: &NodeProto) -> bool {
    node.is_onnx() && TENSOR_PRIMITIVES.op(node.op_type()).is_some()
}

/// Whether a backend computes a node: a primitive, or a declared operator on types within the bounds of its
/// ports.
pub(crate) fn computes(
    bound: &Binding,
    node: &NodeProto,
    leaf_of: impl Fn(&str) -> Option<&'static TypeNode>,
) -> bool {
    if is_primitive(node) {
        return true;
    }
    let own = bound.opsets.iter().filter(|opset| canonical(opset.domain) == canonical(node.domain()));
    own.filter_map(|opset| opset.op(node.op_type())).any(|decl| takes(decl, node, &leaf_of))
}

/// Whether all inputs are within the bounds of a declaration. Unresolved types are left to the backend.
fn takes(decl: &AtomicOpDecl, node: &NodeProto, leaf_of: impl Fn(&str) -> Option<&'static TypeNode>) -> bool {
    node.input.iter().enumerate().all(|(at, value)| {
        let Some(port) = decl.inputs.get(at).or(decl.inputs.last()) else { return false };
        leaf_of(value).is_none_or(|leaf| leaf.is_subtype_of(port.bound))
    })
}
