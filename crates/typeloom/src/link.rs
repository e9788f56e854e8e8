//! Join two models by their types.
//!
//! ```
//! use typeloom::link::{Connection, LinkOptions, Linked, Part, link};
//!
//! let model = |text: &str| typeloom::onnx::model_from_text(&format!(r#"<ir_version: 10, opset_import: ["" : 21]> {text}"#));
//! let encoder = model("encoder (float[N, 8] x) => (float[N, 8] features) { features = Relu(x) }")?.into();
//! let head = model("head (float[batch, 8] x) => (float[batch, 8] scores) { scores = Softmax(x) }")?.into();
//!
//! let options = LinkOptions { map: vec![Connection::new("features", "x")], ..LinkOptions::default() };
//! let parts = [Part { name: "encoder", bytes: &encoder }, Part { name: "head", bytes: &head }];
//! let linked: Linked = link(&parts, &options)?;
//! assert_eq!(linked.interface.to_string(), "(x: float[N, 8]) -> (scores: float[N, 8])");
//!
//! let file = linked.to_vec([&encoder, &head]);
//! assert!(typeloom::check(&file, &Default::default())?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The result computes what the two models compute one after the other. `docs/linking.md` states the rules.

/// The options of linking.
///
/// ```
/// use typeloom::link::{Casts, Connection, LinkOptions, Narrowing, Outputs, Unproven};
///
/// let options = LinkOptions {
///     map: vec![Connection::new("features", "x")],
///     casts: Casts::Lossless,
///     narrowing: Narrowing::Allow,
///     unproven: Unproven::Reject,
///     outputs: Outputs::All,
///     ..LinkOptions::default()
/// };
/// assert_ne!(options, LinkOptions::default());
/// ```
#[doc(inline)]
pub use typeloom_link::LinkOptions;
/// The models, the result, and the reasons why two models do not fit.
///
/// ```
/// use typeloom::link::{LinkError, LinkOptions, Linked, Part, link};
///
/// let model = |text: &str| typeloom::onnx::model_from_text(&format!(r#"<ir_version: 10, opset_import: ["" : 21]> {text}"#));
/// let first = model("a (float[N, 8] x) => (float[N, 8] y) { y = Relu(x) }")?.into();
/// let second = model("b (float[K, 4] y) => (float[K, 4] z) { z = Exp(y) }")?.into();
/// let parts = [Part { name: "a.onnx", bytes: &first }, Part { name: "b.onnx", bytes: &second }];
/// let result: Result<Linked, LinkError> = link(&parts, &LinkOptions::default());
/// assert_eq!(result.unwrap_err().to_string(), "axis 1 of `y` is 8, but `y` needs 4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_link::Linked;
/// [`LinkOptions`] has an example.
#[doc(inline)]
pub use typeloom_link::{Casts, Connection, Narrowing, Outputs, Unproven};
/// [`Linked`] has an example.
#[doc(inline)]
pub use typeloom_link::{LinkError, Part};

use typeloom_ops::check::STANDARD;
use typeloom_solver::universe::Universe;

use crate::check::Operators;

/// Joins two models with the standard operators.
///
/// ```
/// use typeloom::link::{LinkOptions, Part, link};
///
/// let text = r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] x2) { x2 = Relu(x) }"#;
/// let model = typeloom::onnx::model_from_text(text)?.into();
/// let part = Part { name: "g", bytes: &model };
/// let error = link(&[part, part], &LinkOptions::default()).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "no output of `g` has the name of an input of `g`: the outputs are `x2`, the inputs are `x`"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`LinkError`] with both sides of everything that does not fit.
pub fn link(parts: &[Part<'_>; 2], options: &LinkOptions) -> Result<Linked, LinkError> {
    link_with(parts, options, &STANDARD)
}

/// Joins two models with additional operators.
///
/// ```
/// use typeloom::check::Operators;
/// use typeloom::link::{Connection, LinkOptions, Part, link_with};
///
/// let text = r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (float[N] x2) { x2 = Relu(x) }"#;
/// let model = typeloom::onnx::model_from_text(text)?.into();
/// let part = Part { name: "g", bytes: &model };
/// let options = LinkOptions { map: vec![Connection::new("x2", "x")], ..LinkOptions::default() };
/// let linked = link_with(&[part, part], &options, &Operators::standard())?;
/// assert_eq!(linked.interface.to_string(), "(x: float[N]) -> (x2: float[N])");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`link`].
pub fn link_with(
    parts: &[Part<'_>; 2],
    options: &LinkOptions,
    operators: &Operators,
) -> Result<Linked, LinkError> {
    typeloom_link::link(parts, operators, Universe::standard(), options)
}
