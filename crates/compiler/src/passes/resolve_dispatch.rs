//! `resolve_dispatch`: assigns every node on a slot to a method of its component.

use typeloom_contracts::role::Role;
use typeloom_module::Map;
use typeloom_module::bindings::{Binding, Bindings};
use typeloom_module::dispatch::{is_primitive_form, method_of};
use typeloom_onnx::messages::SharedText;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement, Table, Types};
use typeloom_program::program::{Node, NodeId, Program};

use super::lower::{computes, is_primitive};
use crate::error::BuildError;
use crate::representation::{depends_on_types, obstacle};
use crate::stage::{Dispatched, Lowered};
use crate::unit::Unit;

/// Resolves every node on a slot to a method of its component.
pub(crate) fn run(lowered: Lowered) -> Result<Dispatched, BuildError> {
    let Lowered { mut unit, interface, refusals } = lowered;
    let Unit { program, facts, bindings, .. } = &mut unit;
    let mut resolver =
        Resolver { program, bindings, refusals: &refusals, known: Known::default(), errors: Vec::new() };
    for node in program.nodes_in(program.main()) {
        resolver.node(node, facts);
    }
    BuildError::of(resolver.errors).map(|()| Dispatched { unit, interface })
}

/// Resolved operators by slot and name; those of different domains are in one list.
type Known = Map<SharedText, Map<String, Vec<ResolvedOperator>>>;

/// An operator on a slot.
struct ResolvedOperator {
    domain: Domain,
    role: Role,
    method: SharedText,
    /// Whether each node is checked, because the backend may compute the operator only for some types.
    depends_on_types: bool,
    /// Whether the nodes have the form of a primitive, see [`is_primitive_form`].
    is_primitive_form: bool,
}

impl ResolvedOperator {
    fn find<'k>(known: &'k Known, slot: &str, node: &Node) -> Option<&'k Self> {
        let operators = known.get(slot)?.get(&node.op)?;
        let agrees = |known: &&Self| {
            known.domain == node.domain
                && (known.role != Role::Backend || known.is_primitive_form == is_primitive_form(node))
        };
        operators.iter().find(agrees)
    }
}

struct Resolver<'a> {
    program: &'a Program,
    bindings: &'a Bindings,
    /// Reasons why nodes were not lowered.
    refusals: &'a Table<NodeId, String>,
    known: Known,
    errors: Vec<BuildError>,
}

impl Resolver<'_> {
    fn node(&mut self, id: NodeId, facts: &mut Facts) {
        let node = &self.program[id];
        let Some(placement) = facts.placements.get(id) else { return };
        let known = ResolvedOperator::find(&self.known, &placement.slot, node);
        let method = match known.filter(|known| !known.depends_on_types) {
            Some(known) => known.method.clone(),
            None => match self.check(id, placement, facts) {
                Ok(true) => self.resolve(placement, node),
                Ok(false) => return,
                Err(error) => return self.errors.push(error),
            },
        };
        if let Some(placement) = facts.placements.get_mut(id) {
            placement.method = Some(method);
        }
    }

    /// The method that runs a node, which the component computes.
    fn resolve(&mut self, placement: &Placement, node: &Node) -> SharedText {
        let Placement { slot, role, .. } = placement;
        if let Some(known) = ResolvedOperator::find(&self.known, slot, node) {
            return known.method.clone();
        }
        let method = SharedText::from(method_of(*role, node));
        let resolved = ResolvedOperator {
            domain: node.domain.clone(),
            role: *role,
            method: method.clone(),
            depends_on_types: *role == Role::Backend && (!is_primitive(node) || depends_on_types(&node.op)),
            is_primitive_form: is_primitive_form(node),
        };
        let operators = self.known.entry(slot.clone()).or_default();
        operators.entry(node.op.clone()).or_default().push(resolved);
        method
    }

    /// Whether a component runs a node; `false` without a component, in permissive mode.
    fn check(&self, id: NodeId, placement: &Placement, facts: &Facts) -> Result<bool, BuildError> {
        let Placement { slot, role, .. } = placement;
        let Some(bound) = self.bindings.get(slot) else { return Ok(false) };
        let node = &self.program[id];
        let stored = bound.stores("Tensor").filter(|_| *role == Role::Backend && is_primitive(node));
        let reason = if let Some(why) = stored.and_then(|stored| obstacle(stored, node, &facts.types)) {
            format!("{}: {why}", on_types(node, &facts.types))
        } else if *role == Role::Backend && !computes(bound, node, &facts.types) {
            no_form(node, &facts.types, self.refusals.get(id))
        } else if *role == Role::Protocol && !is_of_protocol(bound, node) {
            ", which is no operator of its protocol".to_owned()
        } else {
            return Ok(true);
        };
        let (component, op) = (bound.component, &node.op);
        Err(BuildError::NotDispatchable {
            message: format!(
                "`{component}`, which is bound to slot `{slot}`, does not compute `{op}`{reason}"
            ),
            source_line: facts.location(id).to_owned(),
        })
    }
}

fn is_of_protocol(bound: &Binding, node: &Node) -> bool {
    let opset = bound.protocol.filter(|opset| opset.domain == node.domain.name());
    opset.is_some_and(|opset| opset.op(&node.op).is_some())
}

/// The element types of the inputs of a node.
fn on_types(node: &Node, types: &Types) -> String {
    let mut found: Vec<&str> =
        node.inputs.iter().flatten().filter_map(|value| Some(types.leaf(*value)?.id)).collect();
    found.dedup();
    if found.is_empty() { String::new() } else { format!(" on {}", found.join(", ")) }
}

/// Returns the reason why a backend cannot run a node: its element types, and the obstacle to lowering it.
fn no_form(node: &Node, types: &Types, why: Option<&String>) -> String {
    let on = on_types(node, types);
    let why = why.map_or_else(String::new, |why| format!(": {why}"));
    format!("{on}, which is not a primitive and cannot be lowered to primitives here{why}")
}
