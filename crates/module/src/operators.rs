//! Operator sets in addition to ONNX's: those of contracts, the wire, types, bundles and imports.
//!
//! A port of a component's storage type is declared as `any`. The relation `slot.storage` narrows it to the
//! type in the metadata that the solver gets, which states the placement of the node. All ports of one
//! storage type of a slot have the type `<slot as Contract>::Assoc`, one type variable of the program. For a
//! component that stores an abstract type, such as `AnyTensor`, it relates the element types of the ports.

use typeloom_contracts::protocol::Protocols;
use typeloom_contracts::role::Role;
use typeloom_program::{domain, keys};
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpKind::{Pure, Stateful, Wire};
use typeloom_types::op::{AtomicOpDecl, AtomicOpsetDecl, PortDecl};
use typeloom_types::plural::counted;
use typeloom_types::relation::custom::CustomRelationCtx;
use typeloom_types::relation::{PortRef, RelationError, RelationResult, TypeRelation};
use typeloom_types::tree::builtin::{
    TYPE_ANY, TYPE_BYTES, TYPE_COMPOSITE, TYPE_PEER_ID, TYPE_PEER_ID_VEC, TYPE_TENSOR_F32, TYPE_TENSOR_U64,
    TYPE_TRIGGER, TYPE_WIRE_REQ_ID,
};

use crate::names;

/// The name of the relation between a port and the storage type of its slot, as diagnostics cite it.
pub const SLOT_STORAGE: &str = "slot.storage";

const fn any(name: &'static str) -> PortDecl {
    PortDecl::required(name, &TYPE_ANY)
}

const fn several(name: &'static str) -> PortDecl {
    PortDecl::variadic(name, &TYPE_ANY)
}

const DONE: PortDecl = PortDecl::required("done", &TYPE_TRIGGER);
const WHEN: PortDecl = PortDecl::optional("when", &TYPE_TRIGGER);
const IDS: PortDecl = PortDecl::required("ids", &TYPE_TENSOR_U64);
const DISTANCES: PortDecl = PortDecl::required("distances", &TYPE_TENSOR_F32);
const PEERS: PortDecl = PortDecl::required("peers", &TYPE_PEER_ID_VEC);
const SOURCE: PortDecl = PortDecl::required("source", &TYPE_PEER_ID);
const SENDER: PortDecl = PortDecl::required("sender", &TYPE_PEER_ID);
const METADATA: PortDecl = PortDecl::optional("metadata", &TYPE_BYTES);
const HANDLE: PortDecl = PortDecl::required("handle", &TYPE_WIRE_REQ_ID);
const BUNDLE: PortDecl = PortDecl::required("bundle", &TYPE_COMPOSITE);

/// The associated types of all contracts, for use as constant parameters.
const ASSOCS: [&str; 7] = ["Tensor", "Vector", "Element", "In", "Out", "Sample", "Metadata"];
const TENSOR: usize = 0;
const VECTOR: usize = 1;
const ELEMENT: usize = 2;
const IN: usize = 3;
const OUT: usize = 4;
const SAMPLE: usize = 5;

const fn input<const PORT: usize, const ASSOC: usize>() -> TypeRelation {
    TypeRelation::Custom { name: SLOT_STORAGE, run: stores::<true, PORT, ASSOC> }
}

const fn output<const PORT: usize, const ASSOC: usize>() -> TypeRelation {
    TypeRelation::Custom { name: SLOT_STORAGE, run: stores::<false, PORT, ASSOC> }
}

/// Narrows a port to the storage type of the node's slot, and unifies it with all ports of this storage type.
fn stores<const IS_INPUT: bool, const PORT: usize, const ASSOC: usize>(
    cx: &CustomRelationCtx<'_>,
) -> RelationResult {
    let port = if IS_INPUT { PortRef::Input(PORT) } else { PortRef::Output(PORT) };
    let assoc = ASSOCS[ASSOC];
    let Some(slot) = cx.metadata(keys::SLOT_ID).map(str::to_owned) else {
        return RelationResult::Satisfied;
    };
    let role = cx.metadata(keys::REQUIRED_TRAIT).unwrap_or_default().to_owned();
    if let Some(id) = cx.metadata(&keys::binding(assoc)).map(str::to_owned) {
        if let Err(failure) = cx.refine(port, id.as_str()) {
            let message = demand(&slot, &role, assoc, &id);
            return RelationResult::Failed(RelationError { message, expected: id, ..failure });
        }
        if cx.lattice().lookup(&id).is_some_and(|node| node.is_concrete()) {
            return RelationResult::Satisfied;
        }
    }
    match cx.share(port, &alias(&slot, &role, assoc)) {
        Ok(_) => RelationResult::Satisfied,
        Err(failure) => {
            let message = format!("{} is one type at all ports of slot `{slot}`", alias(&slot, &role, assoc));
            RelationResult::Failed(RelationError { message, ..failure })
        }
    }
}

/// The storage type of a slot before a component is bound.
#[must_use]
pub fn alias(slot: &str, role: &str, assoc: &str) -> String {
    format!("<{slot} as {role}>::{assoc}")
}

/// The message of a port that contradicts the storage type of its slot.
#[must_use]
pub fn demand(slot: &str, role: &str, assoc: &str, id: &str) -> String {
    format!("slot `{slot}` stores {id}, as its binding declares for {}", alias(slot, role, assoc))
}

/// The target of a send is one peer or a list of peers.
const TO_PEERS: TypeRelation = TypeRelation::Custom { name: "wire.peers", run: to_peers };

fn to_peers(cx: &CustomRelationCtx<'_>) -> RelationResult {
    let peers = PortRef::Input(1);
    let fits = |node: &str| [TYPE_PEER_ID.id, TYPE_PEER_ID_VEC.id].contains(&node);
    let Some(found) = cx.bound_node(peers) else { return RelationResult::Satisfied };
    if fits(found.id) {
        return RelationResult::Satisfied;
    }
    if found.id == TYPE_ANY.id {
        // A list serves every caller: one peer is a list with one element.
        if let Some(list) = cx.lattice().number_of(&TYPE_PEER_ID_VEC) {
            cx.fall_back(peers, list);
        }
        return RelationResult::Defer;
    }
    let found = found.id.to_owned();
    RelationResult::Failed(RelationError {
        message: "a value is sent to peers".to_owned(),
        ports: vec![peers],
        expected: "peer_id or peer_id_vec".to_owned(),
        found,
    })
}

const PASSED_ON: TypeRelation = TypeRelation::SameType(&[PortRef::Input(0), PortRef::Output(0)]);

/// Narrows the two sides of a cast to the types in its attributes: ids of leaves, or names of element types
/// (`F32`).
fn cast_sides(cx: &CustomRelationCtx<'_>) -> RelationResult {
    for (attribute, port) in [("from", PortRef::Input(0)), ("to", PortRef::Output(0))] {
        let Some(text) = cx.attr_str(attribute).map(str::to_owned) else { continue };
        let dtype = Dtype::from_name(&text.to_ascii_lowercase());
        if let Err(failure) = cx.refine(port, dtype.map_or(text.as_str(), |dtype| dtype.type_node().id)) {
            return RelationResult::Failed(failure);
        }
    }
    RelationResult::Satisfied
}

const CAST_SIDES: TypeRelation = TypeRelation::Custom { name: "cast.sides", run: cast_sides };

/// Both sides have the same shape; their element types are unrelated.
const SAME_SHAPE: TypeRelation =
    TypeRelation::BroadcastShape { in0: PortRef::Input(0), in1: PortRef::Input(0), out: PortRef::Output(0) };

fn signature(cx: &CustomRelationCtx<'_>) -> RelationResult {
    match cx.instantiate(names::PARAMS, names::RESULTS) {
        Ok(_) => RelationResult::Defer,
        Err(failure) => RelationResult::Failed(failure),
    }
}

const SIGNATURE: TypeRelation = TypeRelation::Custom { name: "import.signature", run: signature };

/// The named ports of one side of a bundle.
fn children(
    cx: &CustomRelationCtx<'_>,
    ports: impl Iterator<Item = PortRef>,
) -> Result<Vec<(String, PortRef)>, RelationError> {
    let names = cx.attr_strs("keys").unwrap_or_default();
    let ports: Vec<PortRef> = ports.collect();
    if names.len() != ports.len() {
        let message =
            format!("it has {} for {}", counted(names.len(), "name"), counted(ports.len(), "child"));
        return Err(RelationError::new(message, [], "", ""));
    }
    let mut seen = std::collections::HashSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(**name)) {
        return Err(RelationError::new(format!("`{name}` occurs twice in the bundle"), [], "", ""));
    }
    Ok(names.into_iter().map(str::to_owned).zip(ports).collect())
}

/// A bundle is the composite of the types of its children.
fn bundles(cx: &CustomRelationCtx<'_>) -> RelationResult {
    related(children(cx, (0..cx.input_count()).map(PortRef::Input)).and_then(|children| {
        let children: Vec<(&str, PortRef)> =
            children.iter().map(|(name, port)| (name.as_str(), *port)).collect();
        cx.bundle(PortRef::Output(0), &children)
    }))
}

/// An unbundled value is of the type of the child.
fn unbundles(cx: &CustomRelationCtx<'_>) -> RelationResult {
    related(children(cx, (0..cx.output_count()).map(PortRef::Output)).and_then(|children| {
        let children: Vec<(&str, PortRef)> =
            children.iter().map(|(name, port)| (name.as_str(), *port)).collect();
        cx.unbundle(PortRef::Input(0), &children)
    }))
}

fn related(result: Result<bool, RelationError>) -> RelationResult {
    match result {
        Ok(_) => RelationResult::Satisfied,
        Err(failure) => RelationResult::Failed(failure),
    }
}

const BUNDLES: TypeRelation = TypeRelation::Custom { name: "composite.children", run: bundles };
const UNBUNDLES: TypeRelation = TypeRelation::Custom { name: "composite.children", run: unbundles };

/// Every list of peers has the type of the result.
const SAME_LIST: TypeRelation = TypeRelation::SameType(&[PortRef::InputsFrom(0), PortRef::Output(0)]);

/// Declares operator sets. A line is an operator with its inputs, outputs and relations.
macro_rules! opsets {
    ($($name:ident $domain:expr, $kind:ident {
        $($op:literal [$($input:expr),*] -> [$($output:expr),*] [$($relation:expr),*];)*
    })*) => {
        $(
            static $name: AtomicOpsetDecl = AtomicOpsetDecl {
                domain: $domain,
                version: 1,
                ops: &[$(AtomicOpDecl {
                    name: $op,
                    inputs: &[$($input),*],
                    outputs: &[$($output),*],
                    kind: $kind,
                    type_relations: &[$($relation),*],
                }),*],
            };
        )*
    };
}

opsets! {
    INDEX Role::Index.domain(), Stateful {
        "Add" [IDS, any("vectors")] -> [DONE] [input::<1, VECTOR>()];
        "Search" [any("query")] -> [IDS, DISTANCES] [input::<0, VECTOR>()];
        "Remove" [IDS] -> [DONE] [];
        "Train" [any("vectors")] -> [DONE] [input::<0, VECTOR>()];
    }
    MODEL Role::Model.domain(), Stateful {
        "Forward" [any("input")] -> [any("output")] [input::<0, TENSOR>(), output::<0, TENSOR>()];
        "LoadParameters" [any("parameters")] -> [DONE] [input::<0, TENSOR>()];
        "Backward" [any("gradient")] -> [any("parameters")] [input::<0, TENSOR>(), output::<0, TENSOR>()];
        "ApplyDelta" [any("delta")] -> [DONE] [input::<0, TENSOR>()];
        "ComputeLoss" [any("prediction"), any("target")] -> [any("loss")]
            [input::<0, TENSOR>(), input::<1, TENSOR>(), output::<0, TENSOR>()];
        "Params" [WHEN] -> [any("parameters")] [output::<0, TENSOR>()];
    }
    AGGREGATOR Role::Aggregator.domain(), Stateful {
        "Contribute" [SOURCE, any("element"), METADATA] -> [DONE] [input::<1, ELEMENT>()];
        "Aggregate" [WHEN] -> [any("element")] [output::<0, ELEMENT>()];
    }
    CODEC Role::Codec.domain(), Stateful {
        "Train" [any("samples")] -> [DONE] [input::<0, IN>()];
        "Encode" [any("value")] -> [any("encoded")] [input::<0, IN>(), output::<0, OUT>()];
        "Decode" [any("encoded")] -> [any("value")] [input::<0, OUT>(), output::<0, IN>()];
    }
    DATA_SOURCE Role::DataSource.domain(), Stateful {
        "NextBatch" [WHEN] -> [any("sample")] [output::<0, SAMPLE>()];
        "Reset" [WHEN] -> [DONE] [];
        "OnDataLoaded" [any("batch")] -> [DONE] [input::<0, SAMPLE>()];
    }
    PEER_SELECTOR Role::PeerSelector.domain(), Stateful {
        "Select" [WHEN] -> [PEERS] [];
        "Sample" [WHEN] -> [PEERS] [];
        "CurrentView" [WHEN] -> [PEERS] [];
    }
    WIRE domain::WIRE, Wire {
        "Send" [any("value"), any("peers")] -> [any("data"), HANDLE] [PASSED_ON, TO_PEERS];
        "Recv" [PortDecl::optional("data", &TYPE_ANY)] -> [any("payload"), SENDER] [PASSED_ON];
    }
    TYPES domain::TYPES, Pure {
        "Cast" [any("value")] -> [any("cast")] [CAST_SIDES, SAME_SHAPE];
        "Identity" [any("value")] -> [any("same")] [PASSED_ON];
        // A possible cast: the element types of its ends are independent.
        "Edge" [any("from")] -> [any("to")] [SAME_SHAPE];
    }
    COMPOSITE domain::COMPOSITE, Pure {
        "Bundle" [several("children")] -> [BUNDLE] [BUNDLES];
        "Unbundle" [BUNDLE] -> [several("children")] [UNBUNDLES];
    }
    IMPORT domain::IMPORT, Stateful {
        "Call" [several("arguments")] -> [several("results")] [SIGNATURE];
    }
    // Structural operators on lists of peers, between an input and a send.
    PEER_LISTS domain::PEERS, Pure {
        "Identity" [PEERS] -> [PEERS] [PASSED_ON];
        "Slice" [PEERS, several("positions")] -> [PEERS] [PASSED_ON];
        "Gather" [PEERS, several("positions")] -> [PEERS] [PASSED_ON];
        "Concat" [PortDecl::variadic("lists", &TYPE_PEER_ID_VEC)] -> [PEERS] [SAME_LIST];
        "Squeeze" [PEERS, several("positions")] -> [PEERS] [PASSED_ON];
        "Unsqueeze" [PEERS, several("positions")] -> [PEERS] [PASSED_ON];
    }
}

/// The operator sets of this crate.
pub const OPSETS: [&AtomicOpsetDecl; 11] = [
    &INDEX,
    &MODEL,
    &AGGREGATOR,
    &CODEC,
    &DATA_SOURCE,
    &PEER_SELECTOR,
    &WIRE,
    &TYPES,
    &COMPOSITE,
    &IMPORT,
    &PEER_LISTS,
];

/// The operator sets of a domain: those of this crate and of registered protocols.
pub fn opsets() -> impl Iterator<Item = &'static AtomicOpsetDecl> {
    OPSETS.into_iter().chain(Protocols::registered())
}

/// The operator set of a domain.
#[must_use]
pub fn opset(domain: &str) -> Option<&'static AtomicOpsetDecl> {
    opsets().find(|opset| opset.domain == domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declaration_is_valid() {
        for opset in OPSETS {
            assert_eq!(opset.check(), [], "{}", opset.domain);
        }
    }

    #[test]
    fn every_associated_type_of_a_contract_can_be_named() {
        for role in Role::ALL {
            assert!(role.storages().iter().all(|assoc| ASSOCS.contains(assoc)), "{role}");
        }
    }
}
