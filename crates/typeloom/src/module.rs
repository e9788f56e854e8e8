//! Write modules, bind components to their slots, and compile them into typed artifacts.
//!
//! ```
//! use typeloom::module::{Compiler, Graph, Module, OperatorMethods as _};
//! use typeloom::run::Cpu;
//!
//! struct Scorer;
//!
//! impl Module for Scorer {
//!     fn name(&self) -> &str {
//!         "scorer"
//!     }
//!
//!     fn body(&self, g: &mut Graph) {
//!         let (query, weights) = (g.input("query").of("float[N, 4]"), g.input("weights").of("float[4, K]"));
//!         let compute = g.backend("compute");
//!         g.output("scores", &compute.matmul(&query, &weights).relu());
//!     }
//! }
//!
//! let artifact = Compiler::new().bind_backend::<Cpu>("compute").compile(Scorer)?;
//! assert_eq!(artifact.type_of("scores"), Some("tensor.f32"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use inventory;
#[doc(inline)]
pub use typeloom_compiler::artifact::{Artifact, LoadError};
#[doc(inline)]
pub use typeloom_compiler::compiler::Compiler;
#[doc(inline)]
pub use typeloom_compiler::error::BuildError;
#[doc(inline)]
pub use typeloom_compiler::pass::Pass;
#[doc(inline)]
pub use typeloom_compiler::unit::{Coercion, Unit};
#[doc(inline)]
pub use typeloom_contracts::aggregator::Aggregator;
#[doc(inline)]
pub use typeloom_contracts::backend::{Backend, GraphExecutor, Primitives};
#[doc(inline)]
pub use typeloom_contracts::codec::Codec;
#[doc(inline)]
pub use typeloom_contracts::data_source::DataSource;
#[doc(inline)]
pub use typeloom_contracts::index::Index;
#[doc(inline)]
pub use typeloom_contracts::model::Model;
#[doc(inline)]
pub use typeloom_contracts::peer_selector::{PeerId, PeerSelector};
#[doc(inline)]
pub use typeloom_contracts::protocol::Protocol;
#[doc(inline)]
pub use typeloom_contracts::register_protocol;
#[doc(inline)]
pub use typeloom_contracts::role::Role;
#[doc(inline)]
pub use typeloom_module::authoring::{AuthoringError, AuthoringErrorKind};
#[doc(inline)]
pub use typeloom_module::bindings::{Alias, Bindings};
#[doc(inline)]
pub use typeloom_module::graph::Graph;
#[doc(inline)]
pub use typeloom_module::graph::operators::OperatorMethods;
#[doc(inline)]
pub use typeloom_module::graph::value::ValueRef;
#[doc(inline)]
pub use typeloom_module::module::Module;
#[doc(inline)]
pub use typeloom_module::module::imports::Imported;
#[doc(inline)]
pub use typeloom_module::program::Program;
