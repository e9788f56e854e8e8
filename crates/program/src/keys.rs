//! Keys of the metadata that stores facts in files.
//!
//! [`read`](mod@crate::read) and [`write`](mod@crate::write) convert between these entries and
//! [`Facts`](crate::facts::Facts). The relations of the solver read them too, from the bytes that the solver
//! gets.

use std::sync::LazyLock;

use typeloom_contracts::role::Role;
use typeloom_onnx::messages::SharedText;

/// The name of the trait that a node requires of its component.
pub const REQUIRED_TRAIT: &str = "ai.bytesandbrains.required_trait";
/// The slot that a node runs on.
pub const SLOT_ID: &str = "ai.bytesandbrains.slot_id";
/// The slot and the method that a node was resolved to.
pub const DISPATCH: &str = "ai.bytesandbrains.dispatch";
/// Prefix of the storage types of a slot's component: `ai.bytesandbrains.binding.Tensor`.
pub const BINDING: &str = "ai.bytesandbrains.binding.";
/// The storage type of the tensors of a backend, a model or an index.
pub const TENSOR_BINDING: &str = "ai.bytesandbrains.binding.Tensor";
/// The peer class of a node or value, or the target of a send.
pub const PEER_CLASS: &str = "ai.bytesandbrains.peer_class";
/// Set on outputs that go to the network; on their sends, the name of the output.
pub const NET_OUT: &str = "ai.bytesandbrains.net_out";
/// The source location of a node, `file:line:column`.
pub const SOURCE_LOCATION: &str = "typeloom.place";

/// The key of a storage type, by the associated type of the contract.
#[must_use]
pub fn binding(assoc: &str) -> String {
    format!("{BINDING}{assoc}")
}

/// The keys as texts that all entries share.
pub(crate) struct Shared {
    pub(crate) required_trait: SharedText,
    pub(crate) slot_id: SharedText,
    pub(crate) dispatch: SharedText,
    pub(crate) peer_class: SharedText,
    pub(crate) net_out: SharedText,
    pub(crate) source_location: SharedText,
    /// The names of traits, by the position of the role.
    traits: Vec<SharedText>,
}

impl Shared {
    /// The name of a role's trait.
    pub(crate) fn trait_name(&self, role: Role) -> SharedText {
        self.traits[role as usize].clone()
    }
}

pub(crate) static SHARED: LazyLock<Shared> = LazyLock::new(|| Shared {
    required_trait: REQUIRED_TRAIT.into(),
    slot_id: SLOT_ID.into(),
    dispatch: DISPATCH.into(),
    peer_class: PEER_CLASS.into(),
    net_out: NET_OUT.into(),
    source_location: SOURCE_LOCATION.into(),
    traits: Role::ALL.iter().map(|role| role.trait_name().into()).collect(),
});
