//! Placeholders of components in the body of a module, with one method for each operation of the contract.
//!
//! | method of [`Graph`](super::Graph) | placeholder | operations |
//! |---|---|---|
//! | `backend(slot)` | [`BackendSlot`] | every ONNX operator ([`OperatorMethods`](super::OperatorMethods)); `node` records others |
//! | `index(slot)` | [`IndexSlot`] | `add`, `search`, `remove`, `train` |
//! | `model(slot)` | [`ModelSlot`] | `forward`, `backward`, `apply_delta`, `compute_loss`, `params`, `load_parameters` |
//! | `aggregator(slot)` | [`AggregatorSlot`] | `contribute`, `aggregate` |
//! | `codec(slot)` | [`CodecSlot`] | `encode`, `decode`, `train` |
//! | `data_source(slot)` | [`DataSourceSlot`] | `next_batch`, `reset`, `on_data_loaded` |
//! | `peer_selector(slot)` | [`PeerSelectorSlot`] | `select`, `sample`, `current_view` |
//! | `address_book(slot)` | [`AddressBookSlot`] | `install`, `look_up`, `remove`, `own` |
//! | `protocol(slot, domain)` | [`ProtocolSlot`] | `call` |
//!
//! An operation without a result returns a trigger. An argument `when` is a trigger that an operation waits
//! for.
//!
//! ```
//! use typeloom::module::slots::{BackendSlot, IndexSlot, ModelSlot};
//! use typeloom::module::{Compiler, Graph, Module, OperatorMethods as _};
//!
//! struct Retrieval;
//!
//! impl Module for Retrieval {
//!     fn name(&self) -> &str {
//!         "retrieval"
//!     }
//!
//!     fn body(&self, g: &mut Graph) {
//!         let compute: BackendSlot = g.backend("compute");
//!         let (near, embedder): (IndexSlot, ModelSlot) = (g.index("near"), g.model("embedder"));
//!         let query = embedder.forward(&compute.relu(&g.input("text").of("float[8]")));
//!         let (ids, distances) = near.search(&query.of("float[4]"), 3);
//!         g.output("ids", &ids);
//!         g.output("distances", &distances);
//!     }
//! }
//!
//! let artifact = Compiler::new().with_permissive_types().compile(Retrieval)?;
//! assert_eq!(artifact.type_of("ids"), Some("tensor.u64"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[doc(inline)]
pub use typeloom_module::graph::slots::{
    AddressBookSlot, AggregatorSlot, BackendSlot, CodecSlot, DataSourceSlot, IndexSlot, ModelSlot,
    PeerSelectorSlot, ProtocolSlot,
};
