//! The contracts of components: what a Rust type implements to be bound to a slot of a module.
//!
//! | contract | what it does |
//! |---|---|
//! | [`backend::Backend`] | computes tensor operators |
//! | [`index::Index`] | finds the nearest of stored vectors |
//! | [`model::Model`] | holds parameters, predicts and learns |
//! | [`aggregator::Aggregator`] | combines the contributions of several peers |
//! | [`codec::Codec`] | turns one representation into another and back |
//! | [`data_source::DataSource`] | gives batches of samples |
//! | [`peer_selector::PeerSelector`] | chooses peers |
//! | [`protocol::Protocol`] | operators of somebody else's, with a component behind them |
//!
//! The compiler checks bindings against these traits and the runtime calls them, so they stand in a
//! crate of their own below both.
//!
//! **Invariant:** an associated type that stands for tensors is bounded by
//! [`Storage`](typeloom_types::storage::Storage), so that its place in the type tree is known where the
//! component is bound, at compile time, and any storage will do: `[f32]`, `[f64]`, `AnyTensor`, a leaf
//! of somebody's own.
//!
//! **Invariant:** nothing here computes, but for the adapter of [`backend::by_execution`], which only
//! forwards.

pub mod datum;

pub mod role;

pub mod backend;

pub mod index;

pub mod model;

pub mod aggregator;

pub mod codec;

pub mod data_source;

pub mod peer_selector;

pub mod protocol;

/// What the macros of this crate expand to; not an interface.
#[doc(hidden)]
pub mod private {
    pub use inventory;
}
