//! Run checked models and compiled modules.
//!
//! ```
//! use std::collections::HashMap;
//! use typeloom::run::{Value, Verify, session};
//! use typeloom::types::AnyTensor;
//!
//! let model = typeloom::onnx::model_from_text(
//!     r#"<ir_version: 10, opset_import: ["" : 21]>
//!     g (float[N, 2] x) => (y) { h = Add(x, x)  y = ReduceSum <keepdims = 0> (h) }"#,
//! )?;
//! let mut checked = typeloom::check(&model, &Default::default())?;
//! let session = session(&mut checked)?;
//!
//! let x = AnyTensor::from_slice(&[3, 2], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! let outcome = session.run(HashMap::from([("x".to_owned(), Value::Tensor(x))]), Verify::EveryValue)?;
//! assert_eq!(outcome.outputs[0].1, Value::Tensor(AnyTensor::from_scalar(42.0_f32)));
//! assert_eq!(outcome.symbols.get("N"), Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Executor`] runs a compiled module with the components of its slots, and [`Part`] runs it on several peers.

pub mod host;

#[doc(inline)]
pub use typeloom_components as components;
#[doc(inline)]
pub use typeloom_contracts::backend::by_execution::ByExecution;
#[doc(inline)]
pub use typeloom_contracts::datum::Datum;
#[doc(inline)]
pub use typeloom_cpu::value::Value;
#[doc(inline)]
pub use typeloom_runtime::backend::Cpu;
#[doc(inline)]
pub use typeloom_runtime::backend::by_primitives::ByPrimitives;
#[doc(inline)]
pub use typeloom_runtime::components::{Components, RunProtocol};
#[doc(inline)]
pub use typeloom_runtime::convert::{DatumElement, FromDatum, IntoDatum};
#[doc(inline)]
pub use typeloom_runtime::engine;
#[doc(inline)]
pub use typeloom_runtime::error::{PrepareError, RunError};
#[doc(inline)]
pub use typeloom_runtime::executor::Executor;
#[doc(inline)]
pub use typeloom_runtime::executor::part::Part;
#[doc(inline)]
pub use typeloom_runtime::options::{ExternalData, RunLimits, Verify};
#[doc(inline)]
pub use typeloom_runtime::session::{RunOutcome, Session};
#[doc(inline)]
pub use typeloom_wire as wire;

use crate::check::Checked;

/// Prepares a checked model for the embedded backend. Use [`session_with`] if tensors are stored in other files.
///
/// # Errors
/// [`PrepareError`] if the model has errors or an operator has no kernel.
pub fn session(checked: &mut Checked<'_>) -> Result<Session, PrepareError> {
    session_with(checked, &|_| Err("external tensors need `session_with`".to_owned()))
}

/// Prepares a checked model; `read` returns the bytes of an external tensor, or a message.
///
/// # Errors
/// [`PrepareError`] if the model has errors, an operator has no kernel, or a file cannot be read.
pub fn session_with(checked: &mut Checked<'_>, read: &ExternalData<'_>) -> Result<Session, PrepareError> {
    Session::of_checked(checked.solved(), read)
}
