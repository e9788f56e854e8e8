//! Check models: types of all values, diagnostics, fixes.
//!
//! ```
//! use typeloom::check::{Options, check};
//!
//! let model = typeloom::onnx::model_from_text(r#"<ir_version: 10, opset_import: ["" : 21]>
//! g (float[N, 2] x, int64[2] mask) => (y) { h = Relu(x)  y = Add(h, mask) }"#)?;
//!
//! let mut checked = check(&model, &Options::default())?;
//! for value in checked.values() {
//!     println!("{value} from {}", value.origin());
//! }
//! let diagnostics = checked.diagnostics();
//! assert_eq!(
//!     diagnostics[0].to_string(),
//!     "error[element-type-mismatch]: `Add` needs one element type, but `h` is float and `mask` is int64"
//! );
//! let fixed = checked.apply_fix(&diagnostics[0]).expect("a cast resolves the mismatch");
//! assert!(check(&fixed, &Options::default())?.is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Operators of other domains are described by a text or by a text with a rule in Rust ([`Described`],
//! [`OperatorCx`]).

mod checked;

pub use checked::{Checked, Origin, TypedValue};
#[doc(inline)]
pub use typeloom_ops::described::{
    DescribeError, Described, NoSuchOperator, OperatorCx, OperatorError, Operators, RuleDim,
};
#[doc(inline)]
pub use typeloom_report::human::{Color, diagnostic as render};
#[doc(inline)]
pub use typeloom_rewrite::annotate::AnnotateError;
#[doc(inline)]
pub use typeloom_rewrite::coerce::{Policy, Repair, RepairError};
#[doc(inline)]
pub use typeloom_solver::diagnostic::{Code, Diagnostic, Explanation, Severity};
#[doc(inline)]
pub use typeloom_solver::model::{CheckError, Coverage, Mode, Options, Seed};
#[doc(inline)]
pub use typeloom_solver::value_type::{Dim, Element, ValueType};

use typeloom_solver::universe::Universe;

/// The operators of ONNX and ONNX Runtime.
static STANDARD: Operators = Operators::standard();

/// Checks a serialized ONNX model against the standard operators and the registered type nodes.
///
/// ```
/// use typeloom::check::{Mode, Options, check};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (x) => (y) { y = Relu(x) }"#,
/// )?;
/// assert!(!check(&model, &Options::default())?.is_ok(), "the element type is unknown");
/// let permissive = Options { mode: Mode::Permissive, ..Options::default() };
/// assert!(check(&model, &permissive)?.is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`CheckError`] if the bytes are not a model. Problems of a model are [diagnostics](Checked::diagnostics).
pub fn check<'a>(model: &'a [u8], options: &Options) -> Result<Checked<'a>, CheckError> {
    check_with(model, options, &STANDARD)
}

/// Checks a serialized ONNX model with additional operators.
///
/// ```
/// use typeloom::check::{Described, Operators, Options, check_with};
///
/// let described = Described::parse(
///     r#"typeloom-operators 1
/// domain com.example 1
/// op Fold 1
///   type T tensor(float+float16)
///   in data T
///   out folded T
///   attr width int required
/// "#,
/// )?
/// .with_rule("com.example", "Fold", |cx| {
///     let (Some(data), Some(width)) = (cx.shape(0), cx.int("width")?) else { return Ok(()) };
///     let [batch, length] = data[..] else { return Err(cx.error("`Fold` needs two axes")) };
///     let width = cx.fixed(width);
///     let folds = cx.floor_div(length, width);
///     cx.set_shape(0, &[batch, folds, width])
/// })?;
/// let operators = Operators::standard().with(described);
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
///     g (float[N, 4*S] x) => (y) { y = com.example.Fold <width = 4> (x) }"#,
/// )?;
/// let mut checked = check_with(&model, &Options::default(), &operators)?;
/// assert_eq!(checked.value("y").unwrap().ty().to_string(), "float[N, S, 4]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`check`].
pub fn check_with<'a>(
    model: &'a [u8],
    options: &Options,
    operators: &'a Operators,
) -> Result<Checked<'a>, CheckError> {
    Checked::new(model, options, operators)
}

/// Repairs the element types of a model with the fewest casts that a policy allows, the order of its nodes, and false
/// declared shapes.
///
/// ```
/// use typeloom::check::{Options, Policy, repair};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (float[2] x, double[2] w) => (y) { y = Mul(x, w) }"#,
/// )?;
/// let repair = repair(&model, &Options::default(), Policy::Lossless)?;
/// assert!(repair.is_ok && repair.casts.len() == 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RepairError`] if the model cannot be read. [`Repair::is_ok`] states whether all errors were resolved.
pub fn repair(model: &[u8], options: &Options, policy: Policy) -> Result<Repair, RepairError> {
    typeloom_rewrite::coerce::repair(model, &STANDARD, Universe::standard(), options, policy)
}

/// Removes the types that [`Checked::annotated`] added to a model.
///
/// ```
/// use typeloom::check::{Options, check, strip};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { h = Relu(x)  y = Abs(h) }"#,
/// )?;
/// let annotated = check(&model, &Options::default())?.annotated()?;
/// assert_ne!(annotated, model);
/// assert_eq!(strip(&annotated)?, model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`AnnotateError`] if the bytes are not a model, or a tag is damaged.
pub fn strip(model: &[u8]) -> Result<Vec<u8>, AnnotateError> {
    Ok(typeloom_rewrite::annotate::strip(model)?.file.to_vec())
}
