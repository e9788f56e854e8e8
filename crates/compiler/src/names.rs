//! Names in the IR: domains of operators, keys of stamps.

/// Operators that turn one type into another.
pub const TYPES_DOMAIN: &str = "ai.bytesandbrains.types";
/// Operators that send values to peers and receive them.
pub const WIRE_DOMAIN: &str = "ai.bytesandbrains.wire";
/// Operators that put values together and take them apart.
pub const COMPOSITE_DOMAIN: &str = "ai.bytesandbrains.composite";
/// Calls of functions that another module exports.
pub const IMPORT_DOMAIN: &str = "ai.bytesandbrains.import";
/// Structural operators on lists of peers.
pub const PEERS_DOMAIN: &str = "ai.bytesandbrains.peers";
/// Modules that are called as functions.
pub const MODULE_DOMAIN: &str = "ai.bytesandbrains.module";

/// The contract that a node needs, by the name of its trait.
pub const REQUIRED_TRAIT: &str = "ai.bytesandbrains.required_trait";
/// The slot that a node runs on.
pub const SLOT_ID: &str = "ai.bytesandbrains.slot_id";
/// The component that a node was resolved to, and the method or graph call that runs it.
pub const DISPATCH: &str = "ai.bytesandbrains.dispatch";
/// What the component of a slot stores: followed by a dot and the associated type.
pub const BINDING: &str = "ai.bytesandbrains.binding";
/// The class of peers that a send goes to, that a node runs on, or that a value lives on.
pub const PEER_CLASS: &str = "ai.bytesandbrains.peer_class";
/// Whether an output of the graph goes to the network.
pub const NET_OUT: &str = "ai.bytesandbrains.net_out";
/// The types of an imported function's parameters, as an attribute.
pub const PARAMS: &str = "params";
/// The types of an imported function's results, as an attribute.
pub const RESULTS: &str = "results";
/// The line of the author's program that a node comes from: `file:line:column`.
pub const PLACE: &str = "typeloom.place";
/// The bundle of interface types of an artifact, in hexadecimal, in the model's metadata.
pub const INTERFACE: &str = "ai.bytesandbrains.interface";

/// The keys of stamps that most nodes carry, each made once.
pub(crate) mod keys {
    use std::sync::LazyLock;

    use typeloom_onnx::messages::SharedText;

    pub(crate) static REQUIRED_TRAIT: LazyLock<SharedText> = LazyLock::new(|| super::REQUIRED_TRAIT.into());
    pub(crate) static SLOT_ID: LazyLock<SharedText> = LazyLock::new(|| super::SLOT_ID.into());
    pub(crate) static DISPATCH: LazyLock<SharedText> = LazyLock::new(|| super::DISPATCH.into());
    pub(crate) static PLACE: LazyLock<SharedText> = LazyLock::new(|| super::PLACE.into());
}
