//! Inference engines, such as ONNX Runtime, as backends, and adapters that complete one half of a backend.
//!
//! ```
//! use typeloom::onnx::ModelProto;
//! use typeloom::run::engine::{ByExecution, Engine, Hosted, Loaded, Loads, Offer};
//! use typeloom::types::Dtype;
//!
//! struct Refusing;
//!
//! impl Engine for Refusing {
//!     fn name(&self) -> &str {
//!         "refusing"
//!     }
//!
//!     fn dtypes(&self) -> &[Dtype] {
//!         &[Dtype::F32]
//!     }
//!
//!     fn loads(&self) -> Loads {
//!         Loads::ForAllExtents
//!     }
//!
//!     fn objection(&self, _: &Offer<'_>) -> Option<String> {
//!         Some("no kernels".to_owned())
//!     }
//!
//!     fn load(&self, _: &ModelProto) -> Result<Loaded, String> {
//!         Err("no kernels".to_owned())
//!     }
//! }
//!
//! assert!(Refusing.load(&ModelProto::default()).is_err());
//! let backend = ByExecution(Hosted::new(Refusing));
//! # drop(backend);
//! ```

/// Adapters that complete one half of a backend.
///
/// ```
/// use typeloom::module::Backend;
/// use typeloom::run::{
///     Cpu,
///     engine::{ByExecution, ByPrimitives},
/// };
///
/// fn is_backend<B: Backend>() {}
/// is_backend::<Cpu>();
///
/// /// Wraps a type that implements only one half.
/// fn by_half<E, P>(executor: E, primitives: P) -> (ByExecution<E>, ByPrimitives<P>) {
///     (ByExecution(executor), ByPrimitives(primitives))
/// }
/// ```
#[doc(inline)]
pub use typeloom_contracts::backend::by_execution::ByExecution;
#[doc(inline)]
pub use typeloom_runtime::backend::by_primitives::ByPrimitives;
/// The traits of an engine and of a model that it loaded, and the types in their signatures.
///
/// ```
/// use typeloom::run::engine::{Loaded, Program};
/// use typeloom::types::AnyTensor;
///
/// /// Returns its inputs.
/// struct Echo;
///
/// impl Program for Echo {
///     fn run(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, String> {
///         Ok(inputs)
///     }
/// }
///
/// let loaded = Loaded { program: Box::new(Echo), types: Vec::new() };
/// assert_eq!(loaded.program.run(Vec::new()), Ok(Vec::new()));
/// ```
#[doc(inline)]
pub use typeloom_runtime::engine::Engine;
/// [`EngineSession`] has an example.
#[doc(inline)]
pub use typeloom_runtime::engine::error::EngineError;
/// Backends on an engine; the [module](self) has an example.
#[doc(inline)]
pub use typeloom_runtime::engine::executor::Hosted;
/// Models on an engine, with every result checked against its solved type, and the error.
///
/// ```no_run
/// use std::sync::Arc;
/// use typeloom::run::Verify;
/// use typeloom::run::engine::{Engine, EngineError, EngineSession};
///
/// fn prepare(engine: Arc<dyn Engine>, model: typeloom::onnx::ModelProto) -> Result<EngineSession, EngineError> {
///     EngineSession::new(engine, model, &|_| Err("no other files".to_owned()), Verify::EveryValue)
/// }
/// ```
#[doc(inline)]
pub use typeloom_runtime::engine::session::EngineSession;
/// [`Engine`] has an example.
#[doc(inline)]
pub use typeloom_runtime::engine::{Loaded, Loads, Offer, Program};
