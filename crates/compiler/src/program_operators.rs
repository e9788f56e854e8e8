//! The operators of one program: the operators of ONNX, extended for the program's bindings, and the
//! operators of its [`Registry`].
//!
//! A node on the slot of a backend computes on tensors of the backend's storage type, so the rule
//! `slot.storage` narrows the *data ports* of the node to this type. Indices, conditions and shapes are not
//! data. The data ports are:
//! - for an ONNX operator, the ports of its first type variable that allows floats;
//! - for a declared operator (of `extension_opsets`), the ports with an abstract tensor type as their bound.
//!
//! A mask is 1 and 0 in every element type of ONNX. So a data port of a primitive that ONNX defines for masks,
//! such as `Equal` and `Cast`, keeps a mask that is known to be one.
//!
//! A backend can store a leaf type that ONNX does not define. ONNX operators on a slot that accept floats
//! then accept this leaf too, and the backend is responsible for computing with it.

use std::collections::BTreeMap;

use typeloom_contracts::role::Role;
use typeloom_module::bindings::Bindings;
use typeloom_module::operators::{self, SLOT_STORAGE};
use typeloom_module::registry::{Registry, RegistryError};
use typeloom_onnx::domain::is_onnx;
use typeloom_ops::catalogue::Standard;
use typeloom_program::domain::Domain;
use typeloom_program::facts::Facts;
use typeloom_program::keys;
use typeloom_program::program::Program;
use typeloom_solver::catalogue::{Catalogue, DeclaredRule, Lookup, Operator};
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::rule::{Control, Port, Rule, RuleCx, RuleError};
use typeloom_solver::signature::{Formal, FormalType, Schema};
use typeloom_solver::universe::Universe;
use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::lookup_by_id;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::op::{AtomicOpDecl, PortDecl};
use typeloom_types::relation::{PortRef, RelationError};
use typeloom_types::tree::TypeNode;
use typeloom_types::tree::builtin::TYPE_TENSOR;

/// An ONNX operator, extended for nodes on the slot of a backend.
struct Prepared {
    schema: Schema,
    rules: Vec<Rule>,
    control: Option<Control>,
}

/// The operators of one program.
pub(crate) struct Operators {
    prepared: BTreeMap<String, Prepared>,
    registry: Registry,
}

impl Operators {
    /// Returns the operators of a program with these bindings.
    ///
    /// # Errors
    /// Those of [`Registry::of`].
    pub(crate) fn of(
        program: &Program,
        facts: &Facts,
        bindings: &Bindings,
        universe: &Universe,
    ) -> Result<Self, Vec<RegistryError>> {
        let registry = Registry::of(bindings)?;
        let custom = custom_leaves(bindings, universe);
        let version = program.imported(&Domain::Onnx).unwrap_or(i64::MAX);
        let mut prepared = BTreeMap::new();
        for id in program.nodes_in(program.main()) {
            let node = &program[id];
            let placement = facts.placements.get(id).filter(|_| node.domain.is_onnx());
            if placement.is_none_or(|placement| placement.storage("Tensor").is_none())
                || prepared.contains_key(&node.op)
            {
                continue;
            }
            if let Lookup::Found(operator) = Standard.lookup(node.domain.name(), &node.op, version) {
                prepared.insert(node.op.clone(), prepare(operator, custom));
            }
        }
        Ok(Self { prepared, registry })
    }
}

/// Returns the element types that bound backends store, but that ONNX does not define.
fn custom_leaves(bindings: &Bindings, universe: &Universe) -> ElemSet {
    let mut custom = ElemSet::EMPTY;
    for (_, binding) in bindings.iter() {
        let Some(node) = binding.stores("Tensor").and_then(|node| universe.lattice().number_of(node)) else {
            continue;
        };
        let stored = universe.tensor_elems(node).unwrap_or(ElemSet::EMPTY);
        custom = stored
            .iter()
            .filter(|elem| elem.onnx_name().is_none())
            .fold(custom, |custom, elem| custom.union(ElemSet::of(elem)));
    }
    custom
}

fn prepare(operator: Operator<'_>, custom: ElemSet) -> Prepared {
    let mut schema = operator.schema.clone();
    for variable in &mut schema.type_vars {
        if variable.allowed.tensor.contains(Elem::FLOAT) {
            variable.allowed.tensor = variable.allowed.tensor.union(custom);
        }
    }
    let mut rules = operator.rules.to_vec();
    let run = if takes_masks(&schema) { slot_storage::<true> } else { slot_storage::<false> };
    rules.push(Rule { name: SLOT_STORAGE, run });
    Prepared { schema, rules, control: operator.control.copied() }
}

/// Whether an operator of ONNX is a primitive whose data can be masks.
pub(crate) fn takes_masks(schema: &Schema) -> bool {
    let is_data = |allowed: ElemSet| allowed.contains(Elem::FLOAT);
    let data =
        schema.type_vars.iter().map(|variable| variable.allowed.tensor).find(|allowed| is_data(*allowed));
    TENSOR_PRIMITIVES.op(&schema.name).is_some() && data.is_some_and(|allowed| allowed.contains(Elem::BOOL))
}

/// Returns a predicate for the data ports of an ONNX operator; `None` if it has none.
pub(crate) fn data_ports(schema: &Schema) -> Option<impl Fn(Option<&Formal>) -> bool + use<>> {
    let float = schema.type_vars.iter().position(|variable| variable.allowed.tensor.contains(Elem::FLOAT))?;
    let data = FormalType::Var(u8::try_from(float).ok()?);
    Some(move |formal: Option<&Formal>| formal.is_some_and(|formal| formal.ty == data))
}

/// Narrows the data ports to the storage type of the slot's backend.
///
/// If the storage type is abstract, such as `AnyTensor`, the backend can compute on several element types. An
/// input of the model may then have no source of its element type. It gets the element type of the slot's
/// other data ports, if they have only one.
///
/// With `MASKS`, masks stay masks if the storage type is one of ONNX's element types.
fn slot_storage<const MASKS: bool>(cx: &mut RuleCx<'_, '_>) -> Result<(), RuleError> {
    let Some(id) = cx.metadata(keys::TENSOR_BINDING) else { return Ok(()) };
    let Some(schema) = cx.schema() else { return Ok(()) };
    let Some(is_data) = data_ports(schema) else { return Ok(()) };
    let inputs = (0..cx.input_count()).filter(|at| is_data(schema.input(*at))).map(Port::In);
    let outputs = (0..cx.output_count()).filter(|at| is_data(schema.output(*at))).map(Port::Out);
    let is_abstract = lookup_by_id(id).is_some_and(TypeNode::is_abstract);
    let shared = if is_abstract { cx.metadata(keys::SLOT_ID) } else { None };
    let keeps_masks = MASKS && Dtype::from_node_id(id).is_some();
    for port in inputs.chain(outputs) {
        if keeps_masks && cx.elem(port) == Some(Elem::BOOL) {
            continue;
        }
        // The message is only built for an error.
        cx.refine_to_node(port, id, "").map_err(|mut failure| {
            if let RuleError::Relation(failed) = &mut failure {
                let slot = cx.metadata(keys::SLOT_ID).unwrap_or_default();
                let role = cx.metadata(keys::REQUIRED_TRAIT).unwrap_or_default();
                failed.message = operators::demand(slot, role, "Tensor", id);
            }
            failure
        })?;
        if let Some(slot) = shared {
            cx.prefer_common_element(port, slot);
        }
    }
    Ok(())
}

/// Whether a port with the bound `bound` is a data port of a declared operator, for a backend that stores
/// `stored`.
pub(crate) fn is_extension_data(bound: &TypeNode, stored: &TypeNode) -> bool {
    bound.is_abstract() && bound.is_subtype_of(&TYPE_TENSOR) && stored.is_subtype_of(bound)
}

/// Narrows the data ports of a declared operator to the storage type of the slot's backend, as
/// [`slot_storage`] does. An output of a concrete type outside of the storage type is an error.
fn extension_storage(cx: &mut RuleCx<'_, '_>, decl: &'static AtomicOpDecl) -> Result<(), RuleError> {
    let Some(stored) = cx.metadata(keys::TENSOR_BINDING).and_then(lookup_by_id) else { return Ok(()) };
    let Some(slot) = cx.metadata(keys::SLOT_ID) else { return Ok(()) };
    if cx.metadata(keys::REQUIRED_TRAIT) != Some(Role::Backend.trait_name()) {
        return Ok(());
    }
    let demand = || operators::demand(slot, Role::Backend.trait_name(), "Tensor", stored.id);
    let inputs = (0..cx.input_count()).filter_map(|at| Some((Port::In(at), decl.input(at)?)));
    let outputs = (0..cx.output_count()).filter_map(|at| Some((Port::Out(at), decl.output(at)?)));
    for (port, PortDecl { name, bound, .. }) in inputs.chain(outputs) {
        if is_extension_data(bound, stored) {
            cx.refine_to_node(port, stored.id, "").map_err(|mut failure| {
                if let RuleError::Relation(failed) = &mut failure {
                    failed.message = demand();
                }
                failure
            })?;
            if stored.is_abstract() {
                cx.prefer_common_element(port, slot);
            }
        } else if let Port::Out(at) = port
            && bound.is_concrete()
            && !bound.is_subtype_of(stored)
        {
            let message = format!("{}, so it cannot return output `{name}`", demand());
            let error = RelationError::new(message, [PortRef::Output(at)], stored.id, bound.id);
            return Err(RuleError::Relation(Box::new(error)));
        }
    }
    Ok(())
}

impl Catalogue for Operators {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        if is_onnx(domain) {
            return match self.prepared.get(name) {
                Some(Prepared { schema, rules, control }) => {
                    Lookup::Found(Operator { schema, rules, control: control.as_ref(), described: None })
                }
                None => Standard.lookup(domain, name, version),
            };
        }
        self.registry.lookup(domain, name, version)
    }

    fn declared_rule(&self) -> Option<DeclaredRule> {
        Some(DeclaredRule { name: SLOT_STORAGE, run: extension_storage })
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        self.registry.names(domain)
    }

    fn domains(&self) -> Vec<&str> {
        self.registry.domains()
    }

    fn newest(&self, domain: &str) -> Option<i64> {
        self.registry.newest(domain)
    }
}
