//! `resolve_dispatch`: assigns every node on a slot to a method of its component.

use typeloom_contracts::role::Role;
use typeloom_module::bindings::{Binding, Bindings};
use typeloom_module::dispatch::{is_primitive_form, method_of};
use typeloom_module::ir::{self, Map};
use typeloom_module::names;
use typeloom_onnx::messages::{NodeProto, SharedText};
use typeloom_onnx::nested;

use super::lower::{VisibleTypes, computes, is_primitive};
use crate::error::BuildError;
use crate::stage::{Dispatched, Lowered};
use crate::unit::Unit;

/// Resolves every node on a slot to a method of its component.
pub(crate) fn run(lowered: Lowered) -> Result<Dispatched, BuildError> {
    let Lowered { mut unit, types, interface, refusals } = lowered;
    let Unit { model, bindings, .. } = &mut unit;
    let mut resolver =
        Resolver { bindings, refusals: &refusals, known: Known::default(), errors: Vec::new() };
    nested::each_numbered_graph_mut(model.graph.get_or_insert_default(), |graph, number| {
        let visible = VisibleTypes { types: &types, graph: number };
        graph.node.iter_mut().for_each(|node| resolver.node(node, &visible));
    });
    BuildError::of(resolver.errors).map(|()| Dispatched { unit, interface })
}

/// Resolved operators by slot and name; those of different domains are in one list.
type Known = Map<String, Map<String, Vec<ResolvedOperator>>>;

/// An operator on a slot.
struct ResolvedOperator {
    domain: String,
    role: Role,
    /// The value of the node's metadata.
    stamp: SharedText,
    /// Whether each node is checked, because the backend may compute the operator only for some types.
    depends_on_types: bool,
    /// Whether the nodes have the form of a primitive, see [`is_primitive_form`].
    is_primitive_form: bool,
}

impl ResolvedOperator {
    fn find<'k>(known: &'k Known, slot: &str, node: &NodeProto) -> Option<&'k Self> {
        let operators = known.get(slot)?.get(node.op_type())?;
        let agrees = |known: &&Self| {
            let depends_on_form = known.role == Role::Backend && !known.depends_on_types;
            known.domain == node.domain()
                && (!depends_on_form || known.is_primitive_form == is_primitive_form(node))
        };
        operators.iter().find(agrees)
    }

    fn assign(&self, node: &mut NodeProto) {
        ir::set(&mut node.metadata_props, &*names::keys::DISPATCH, &self.stamp);
    }
}

struct Resolver<'a> {
    bindings: &'a Bindings,
    /// Reasons why nodes were not lowered, by the names of their outputs.
    refusals: &'a Map<String, String>,
    known: Known,
    errors: Vec<BuildError>,
}

impl Resolver<'_> {
    fn node(&mut self, node: &mut NodeProto, types: &VisibleTypes<'_>) {
        let Some(slot) = ir::metadata(node, names::SLOT_ID) else { return };
        let known = ResolvedOperator::find(&self.known, slot, node);
        if let Some(known) = known.filter(|known| !known.depends_on_types) {
            return known.assign(node);
        }
        let role = match self.check(slot, node, types) {
            Ok(Some(role)) => role,
            Ok(None) => return,
            Err(error) => return self.errors.push(error),
        };
        if ResolvedOperator::find(&self.known, slot, node).is_none() {
            let method = method_of(role, node);
            let resolved = ResolvedOperator {
                domain: node.domain().to_owned(),
                role,
                stamp: format!("{slot}.{method}").as_str().into(),
                depends_on_types: role == Role::Backend && !is_primitive(node),
                is_primitive_form: is_primitive_form(node),
            };
            let operators = self.known.entry(slot.to_owned()).or_default();
            operators.entry(node.op_type().to_owned()).or_default().push(resolved);
        }
        if let Some(resolved) = ResolvedOperator::find(&self.known, slot, node) {
            resolved.assign(node);
        }
    }

    /// Returns the role of the component that runs a node; `None` without a component, in permissive mode.
    fn check(
        &self,
        slot: &str,
        node: &NodeProto,
        types: &VisibleTypes<'_>,
    ) -> Result<Option<Role>, BuildError> {
        let role = ir::metadata(node, names::REQUIRED_TRAIT).and_then(Role::from_trait_name);
        let (Some(role), Some(bound)) = (role, self.bindings.get(slot)) else { return Ok(None) };
        let reason = if role == Role::Backend && !computes(bound, node, |value| types.leaf(value)) {
            no_form(node, types, self.refusals.get(&node.output.concat()))
        } else if role == Role::Protocol && !is_of_protocol(bound, node) {
            ", which is no operator of its protocol".to_owned()
        } else {
            return Ok(Some(role));
        };
        let (component, op) = (bound.component, node.op_type());
        Err(BuildError::NotDispatchable {
            message: format!(
                "`{component}`, which is bound to slot `{slot}`, does not compute `{op}`{reason}"
            ),
            source_line: ir::metadata(node, names::SOURCE_LOCATION).unwrap_or_default().to_owned(),
        })
    }
}

fn is_of_protocol(bound: &Binding, node: &NodeProto) -> bool {
    let opset = bound.protocol.filter(|opset| opset.domain == node.domain());
    opset.is_some_and(|opset| opset.op(node.op_type()).is_some())
}

/// Returns the reason why a backend cannot run a node: its element types, and the obstacle to lowering it.
fn no_form(node: &NodeProto, types: &VisibleTypes<'_>, why: Option<&String>) -> String {
    let mut found: Vec<&str> = node.input.iter().filter_map(|value| Some(types.leaf(value)?.id)).collect();
    found.dedup();
    let on = if found.is_empty() { String::new() } else { format!(" on {}", found.join(", ")) };
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("{on}, which is not a primitive and cannot be lowered to primitives here{why}")
}
