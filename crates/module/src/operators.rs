//! Operator sets in addition to ONNX's: those of contracts, the wire, types, bundles and imports.
//!
//! A port of a component's storage type is declared as `any`. The relation `slot.storage` narrows it to the
//! type in the node's metadata, which the pass `bind_slots` writes before the solver runs.

use typeloom_contracts::protocol::Protocols;
use typeloom_contracts::role::Role;
use typeloom_types::op::AtomicOpKind::{Pure, Stateful, Wire};
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::relation::custom::CustomRelationCtx;
use typeloom_types::relation::{NO_RELATIONS, PortRef, RelationError, RelationResult, TypeRelation};
use typeloom_types::tree::builtin::{
    TYPE_ANY, TYPE_BYTES, TYPE_COMPOSITE, TYPE_PEER_ID, TYPE_PEER_ID_VEC, TYPE_TENSOR_F32, TYPE_TENSOR_U64,
    TYPE_TRIGGER, TYPE_WIRE_REQ_ID,
};

use crate::names;

/// The name of the relation between a port and the storage type of its slot, as diagnostics cite it.
pub const SLOT_STORAGE: &str = "slot.storage";

const fn op(
    name: &'static str,
    kind: AtomicOpKind,
    inputs: &'static [PortDecl],
    outputs: &'static [PortDecl],
    type_relations: &'static [TypeRelation],
) -> AtomicOpDecl {
    AtomicOpDecl { name, inputs, outputs, kind, type_relations }
}

/// Declares an operator of a component.
const fn method(
    name: &'static str,
    inputs: &'static [PortDecl],
    outputs: &'static [PortDecl],
    type_relations: &'static [TypeRelation],
) -> AtomicOpDecl {
    op(name, Stateful, inputs, outputs, type_relations)
}

const fn any(name: &'static str) -> PortDecl {
    PortDecl::required(name, &TYPE_ANY)
}

const DONE: PortDecl = PortDecl::required("done", &TYPE_TRIGGER);
const WHEN: PortDecl = PortDecl::optional("when", &TYPE_TRIGGER);
const IDS: PortDecl = PortDecl::required("ids", &TYPE_TENSOR_U64);
const PEERS: PortDecl = PortDecl::required("peers", &TYPE_PEER_ID_VEC);

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

/// Narrows a port to the storage type of the node's slot.
fn stores<const IS_INPUT: bool, const PORT: usize, const ASSOC: usize>(
    cx: &mut CustomRelationCtx<'_>,
) -> RelationResult {
    let port = if IS_INPUT { PortRef::Input(PORT) } else { PortRef::Output(PORT) };
    let assoc = ASSOCS[ASSOC];
    let Some(id) = cx.metadata(&binding_key(assoc)).map(str::to_owned) else {
        return RelationResult::Satisfied;
    };
    let demand = demand(
        cx.metadata(names::SLOT_ID).unwrap_or_default(),
        cx.metadata(names::REQUIRED_TRAIT).unwrap_or_default(),
        assoc,
        &id,
    );
    match cx.refine(port, id.as_str()) {
        Ok(_) => RelationResult::Satisfied,
        Err(failure) => RelationResult::Failed(RelationError { message: demand, expected: id, ..failure }),
    }
}

/// The message of a port that contradicts the storage type of its slot.
#[must_use]
pub fn demand(slot: &str, role: &str, assoc: &str, id: &str) -> String {
    format!("slot `{slot}` stores {id}, as its binding says of <{slot} as {role}>::{assoc}")
}

/// The metadata key of a storage type.
#[must_use]
pub fn binding_key(assoc: &str) -> String {
    format!("{}.{assoc}", names::BINDING)
}

static INDEX: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: Role::Index.domain(),
    version: 1,
    ops: &[
        method("Add", &[IDS, any("vectors")], &[DONE], &[input::<1, VECTOR>()]),
        method(
            "Search",
            &[any("query")],
            &[IDS, PortDecl::required("distances", &TYPE_TENSOR_F32)],
            &[input::<0, VECTOR>()],
        ),
        method("Remove", &[IDS], &[DONE], NO_RELATIONS),
        method("Train", &[any("vectors")], &[DONE], &[input::<0, VECTOR>()]),
    ],
};

static MODEL: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: Role::Model.domain(),
    version: 1,
    ops: &[
        method("Forward", &[any("input")], &[any("output")], &[input::<0, TENSOR>(), output::<0, TENSOR>()]),
        method("LoadParameters", &[any("parameters")], &[DONE], &[input::<0, TENSOR>()]),
        method(
            "Backward",
            &[any("gradient")],
            &[any("parameters")],
            &[input::<0, TENSOR>(), output::<0, TENSOR>()],
        ),
        method("ApplyDelta", &[any("delta")], &[DONE], &[input::<0, TENSOR>()]),
        method(
            "ComputeLoss",
            &[any("prediction"), any("target")],
            &[any("loss")],
            &[input::<0, TENSOR>(), input::<1, TENSOR>(), output::<0, TENSOR>()],
        ),
        method("Params", &[WHEN], &[any("parameters")], &[output::<0, TENSOR>()]),
    ],
};

static AGGREGATOR: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: Role::Aggregator.domain(),
    version: 1,
    ops: &[
        method(
            "Contribute",
            &[
                PortDecl::required("source", &TYPE_PEER_ID),
                any("element"),
                PortDecl::optional("metadata", &TYPE_BYTES),
            ],
            &[DONE],
            &[input::<1, ELEMENT>()],
        ),
        method("Aggregate", &[WHEN], &[any("element")], &[output::<0, ELEMENT>()]),
    ],
};

static CODEC: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: Role::Codec.domain(),
    version: 1,
    ops: &[
        method("Train", &[any("samples")], &[DONE], &[input::<0, IN>()]),
        method("Encode", &[any("value")], &[any("encoded")], &[input::<0, IN>(), output::<0, OUT>()]),
        method("Decode", &[any("encoded")], &[any("value")], &[input::<0, OUT>(), output::<0, IN>()]),
    ],
};

static DATA_SOURCE: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: Role::DataSource.domain(),
    version: 1,
    ops: &[
        method("NextBatch", &[WHEN], &[any("sample")], &[output::<0, SAMPLE>()]),
        method("Reset", &[WHEN], &[DONE], NO_RELATIONS),
        method("OnDataLoaded", &[any("batch")], &[DONE], &[input::<0, SAMPLE>()]),
    ],
};

static PEER_SELECTOR: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: Role::PeerSelector.domain(),
    version: 1,
    ops: &[
        method("Select", &[WHEN], &[PEERS], NO_RELATIONS),
        method("Sample", &[WHEN], &[PEERS], NO_RELATIONS),
        method("CurrentView", &[WHEN], &[PEERS], NO_RELATIONS),
    ],
};

/// The target of a send is one peer or a list of peers.
const TO_PEERS: TypeRelation = TypeRelation::Custom { name: "wire.peers", run: to_peers };

fn to_peers(cx: &mut CustomRelationCtx<'_>) -> RelationResult {
    let peers = PortRef::Input(1);
    let fits = |node: &str| [TYPE_PEER_ID.id, TYPE_PEER_ID_VEC.id].contains(&node);
    let Some(found) = cx.bound_node(peers) else { return RelationResult::Satisfied };
    if fits(found.id) {
        return RelationResult::Satisfied;
    }
    if found.id == TYPE_ANY.id {
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

static WIRE: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: names::WIRE_DOMAIN,
    version: 1,
    ops: &[
        op(
            "Send",
            Wire,
            &[any("value"), any("peers")],
            &[any("data"), PortDecl::required("handle", &TYPE_WIRE_REQ_ID)],
            &[PASSED_ON, TO_PEERS],
        ),
        op(
            "Recv",
            Wire,
            &[PortDecl::optional("data", &TYPE_ANY)],
            &[any("payload"), PortDecl::required("sender", &TYPE_PEER_ID)],
            &[PASSED_ON],
        ),
    ],
};

/// Narrows the two sides of a cast to the types in its attributes.
fn cast_sides(cx: &mut CustomRelationCtx<'_>) -> RelationResult {
    for (attribute, port) in [("from", PortRef::Input(0)), ("to", PortRef::Output(0))] {
        let Some(id) = cx.attr_str(attribute).map(str::to_owned) else { continue };
        if let Err(failure) = cx.refine(port, id.as_str()) {
            return RelationResult::Failed(failure);
        }
    }
    RelationResult::Satisfied
}

/// Both sides have the same shape; their element types are unrelated.
const SAME_SHAPE: TypeRelation =
    TypeRelation::BroadcastShape { in0: PortRef::Input(0), in1: PortRef::Input(0), out: PortRef::Output(0) };

static TYPES: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: names::TYPES_DOMAIN,
    version: 1,
    ops: &[
        op(
            "Cast",
            Pure,
            &[any("value")],
            &[any("cast")],
            &[TypeRelation::Custom { name: "cast.sides", run: cast_sides }, SAME_SHAPE],
        ),
        op("Identity", Pure, &[any("value")], &[any("same")], &[PASSED_ON]),
        // A possible cast: the element types of its ends are independent.
        op("Edge", Pure, &[any("from")], &[any("to")], &[SAME_SHAPE]),
    ],
};

static COMPOSITE: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: names::COMPOSITE_DOMAIN,
    version: 1,
    ops: &[
        op(
            "Bundle",
            Pure,
            &[PortDecl::variadic("children", &TYPE_ANY)],
            &[PortDecl::required("bundle", &TYPE_COMPOSITE)],
            NO_RELATIONS,
        ),
        op(
            "Unbundle",
            Pure,
            &[PortDecl::required("bundle", &TYPE_COMPOSITE)],
            &[PortDecl::variadic("children", &TYPE_ANY)],
            NO_RELATIONS,
        ),
    ],
};

fn signature(cx: &mut CustomRelationCtx<'_>) -> RelationResult {
    match cx.instantiate(names::PARAMS, names::RESULTS) {
        Ok(_) => RelationResult::Defer,
        Err(failure) => RelationResult::Failed(failure),
    }
}

static IMPORT: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: names::IMPORT_DOMAIN,
    version: 1,
    ops: &[method(
        "Call",
        &[PortDecl::variadic("arguments", &TYPE_ANY)],
        &[PortDecl::variadic("results", &TYPE_ANY)],
        &[TypeRelation::Custom { name: "import.signature", run: signature }],
    )],
};

const SAME_LIST: &[TypeRelation] = &[TypeRelation::SameType(&[PortRef::InputsFrom(0), PortRef::Output(0)])];
const FIRST_LIST: &[TypeRelation] = &[TypeRelation::SameType(&[PortRef::Input(0), PortRef::Output(0)])];
const POSITIONS: PortDecl = PortDecl::variadic("positions", &TYPE_ANY);

/// Structural operators on lists of peers, between an input and a send.
static PEER_LISTS: AtomicOpsetDecl = AtomicOpsetDecl {
    domain: names::PEERS_DOMAIN,
    version: 1,
    ops: &[
        op("Identity", Pure, &[PEERS], &[PEERS], FIRST_LIST),
        op("Slice", Pure, &[PEERS, POSITIONS], &[PEERS], FIRST_LIST),
        op("Gather", Pure, &[PEERS, POSITIONS], &[PEERS], FIRST_LIST),
        op("Concat", Pure, &[PortDecl::variadic("lists", &TYPE_PEER_ID_VEC)], &[PEERS], SAME_LIST),
        op("Squeeze", Pure, &[PEERS, POSITIONS], &[PEERS], FIRST_LIST),
        op("Unsqueeze", Pure, &[PEERS, POSITIONS], &[PEERS], FIRST_LIST),
    ],
};

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
    fn every_declaration_makes_sense() {
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
