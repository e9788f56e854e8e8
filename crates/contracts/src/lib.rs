//! Component contracts: the traits that a Rust type implements to be bound to a slot of a module.
//!
//! | contract | purpose |
//! |---|---|
//! | [`backend::Backend`] | computes tensor operators |
//! | [`index::Index`] | finds the stored vectors nearest to a query |
//! | [`model::Model`] | predicts and is trained through its parameters |
//! | [`aggregator::Aggregator`] | combines the contributions of several peers |
//! | [`codec::Codec`] | converts to another representation and back |
//! | [`data_source::DataSource`] | returns batches of samples |
//! | [`peer_selector::PeerSelector`] | selects peers |
//! | [`protocol::Protocol`] | user-defined operators, implemented by a component |
//!
//! [`address_book`] declares the operators on addresses of peers, as a protocol.
//!
//! The compiler checks bindings against these traits and the runtime calls them, so this crate is a
//! dependency of both.
//!
//! **Invariant:** associated types for tensors are bounded by [`Storage`](typeloom_types::storage::Storage).
//! The compiler therefore knows the type-tree node of a storage when a component is bound, and any storage
//! can be used: `[f32]`, `[f64]`, `AnyTensor` or a user-defined leaf.
//!
//! **Invariant:** this crate contains no computation. The adapter in [`backend::by_execution`] only forwards
//! calls.

pub mod address_book;
pub mod aggregator;
pub mod backend;
pub mod codec;
pub mod data_source;
pub mod index;
pub mod model;
pub mod opset;
pub mod peer_selector;
pub mod protocol;
pub mod role;

/// Dependencies of the macro expansions; not part of the API.
#[doc(hidden)]
pub mod private {
    pub use inventory;
}
