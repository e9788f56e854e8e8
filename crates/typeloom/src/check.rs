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
//! # Operators of other domains
//!
//! | declaration | types of ports | shapes |
//! |---|---|---|
//! | text ([`Described`]) | sets of ONNX's element types | lines of the text, on symbolic dims |
//! | text with a rule in Rust ([`Described::with_rule`], [`OperatorCx`]) | sets of ONNX's element types | a closure, on symbolic dims |
//! | static ([`AtomicOpsetDecl`](crate::types::operators::AtomicOpsetDecl), [`Operators::with_opset`]) | nodes of the type tree, also registered leaves | built-in relations, on symbolic dims; a custom relation can pass on symbolic dims, but not compute with them |
//!
//! A text and a rule can be created at run time: the text is parsed, and the rule is a closure that owns its
//! data. `docs/operator-files.md` describes the text.

mod checked;

/// Result of a check: the values of the model with their types and origins, and the diagnostics.
///
/// ```
/// use typeloom::check::{Checked, Origin, TypedValue, check};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let mut checked: Checked<'_> = check(&model, &Default::default())?;
/// let values: Vec<TypedValue> = checked.values();
/// assert_eq!(values[0].to_string(), "x: float[N]");
/// assert_eq!(format!("{:14}|", values[0]), "x: float[N]   |");
/// assert_eq!(values[0].origin(), &Origin::Input);
/// assert_eq!(values[1].name(), "y");
/// assert_eq!(values[1].ty().to_string(), "float[N]");
/// assert_eq!(values[1].origin().to_string(), "Relu");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub use checked::Checked;
/// [`Checked`] has an example.
pub use checked::{Origin, TypedValue};
/// Operators of other domains: a description as text, and optionally a rule in Rust.
///
/// ```
/// use typeloom::check::{Described, OperatorCx, OperatorError, Operators, Options, RuleDim, check_with};
///
/// fn pairs(cx: &mut OperatorCx<'_, '_, '_>) -> Result<(), OperatorError> {
///     let Some(shape) = cx.shape(0) else { return Ok(()) };
///     let Some(&length) = shape.last() else { return Err(cx.error("a scalar has no pairs")) };
///     let count = pairs_of(cx, length);
///     let two = cx.fixed(2);
///     cx.set_shape(0, &[count, two])
/// }
///
/// fn pairs_of(cx: &mut OperatorCx<'_, '_, '_>, length: RuleDim) -> RuleDim {
///     let (one, two) = (cx.fixed(1), cx.fixed(2));
///     let less = cx.sub(length, one);
///     let product = cx.mul(length, less);
///     cx.floor_div(product, two)
/// }
///
/// let text = "typeloom-operators 1\ndomain com.example 1\nop Pairs 1\n  type T tensor(float)\n  in data T\n  out pairs T\n";
/// let described = Described::parse(text)?.with_rule("com.example", "Pairs", pairs)?;
/// let operators = Operators::standard().with(described);
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["com.example" : 1]>
///     g (float[5] x) => (y) { y = com.example.Pairs(x) }"#,
/// )?;
/// let mut checked = check_with(&model, &Options::default(), &operators)?;
/// assert_eq!(checked.value("y").unwrap().ty().to_string(), "float[10, 2]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_ops::described::Described;
/// [`Described`] has an example.
#[doc(inline)]
pub use typeloom_ops::described::{OperatorCx, OperatorError, Operators, RuleDim};
/// Text of a diagnostic or an explanation as the command prints it: nodes with labels, notes and help.
///
/// ```
/// use typeloom::check::{Color, Options, check, render, render_explanation};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (float[2, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }"#,
/// )?;
/// let mut checked = check(&model, &Options { trace: true, ..Options::default() })?;
/// let text = render("model.onnx", &checked.diagnostics()[0], Color::Never);
/// assert!(text.starts_with("error[dim-mismatch]"), "{text}");
/// let explanation = checked.explain("x").expect("the model has this value");
/// println!("{}", render_explanation("model.onnx", &explanation, Color::Never));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_report::human::diagnostic as render;
/// [`render`] has an example.
#[doc(inline)]
pub use typeloom_report::human::{Color, explanation as render_explanation};
/// The casts that [`Checked::repair`] may insert.
///
/// ```
/// use typeloom::check::{Options, Policy, check};
/// use typeloom::types::Dtype;
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (float[2] x, int64[2] w) => (y) { y = Mul(x, w) }"#,
/// )?;
/// let checked = check(&model, &Options::default())?;
/// assert!(!checked.repair(Policy::Lossless)?.is_ok, "no cast between the two types keeps every value");
/// assert!(checked.repair(Policy::Fewest)?.is_ok);
/// assert_eq!(checked.repair(Policy::To(Dtype::F16))?.casts.len(), 2);
/// assert_eq!(Policy::parse("to=float16")?, Policy::To(Dtype::F16));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_rewrite::coerce::Policy;
/// [`Policy`] has an example.
#[doc(inline)]
pub use typeloom_rewrite::coerce::PolicyError;
/// Problems of a model: code, severity, message, location, labels, fix.
///
/// ```
/// use typeloom::check::{Code, Diagnostic, Options, Severity, check};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (float[2] x, int64[2] mask) => (y) { y = Add(x, mask) }"#,
/// )?;
/// let diagnostics: Vec<Diagnostic> = check(&model, &Options::default())?.diagnostics();
/// assert_eq!(diagnostics[0].code, Code::ElementTypeMismatch);
/// assert_eq!(diagnostics[0].severity, Severity::Error);
/// assert_eq!(Code::from_name("element-type-mismatch"), Some(Code::ElementTypeMismatch));
/// assert!(Code::ElementTypeMismatch.page().contains("Add"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_solver::diagnostic::Diagnostic;
/// [`Diagnostic`] has an example.
#[doc(inline)]
pub use typeloom_solver::diagnostic::{Code, Severity};
/// Options of a check, and the error of a file that is not a model.
///
/// ```
/// use typeloom::check::{CheckError, FollowedValues, Mode, Options, Seed, check};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[batch] x, w) => (y) { y = Add(x, w) }"#,
/// )?;
/// let options = Options {
///     mode: Mode::Strict,
///     values: FollowedValues::Computed,
///     seeds: vec![("w".to_owned(), Seed::parse("float[1]")?)],
///     assume: vec![("batch".to_owned(), "8".to_owned())],
///     ..Options::default()
/// };
/// assert_eq!(check(&model, &options)?.value("y").unwrap().ty().to_string(), "float[8]");
/// assert!(matches!(check(b"", &options), Err(CheckError::NoGraph)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_solver::model::Options;
/// [`Options`] has an example.
#[doc(inline)]
pub use typeloom_solver::model::{CheckError, Detail, FollowedValues, Mode, Seed};
/// The solved type of a value: node of the type tree, kind and element type, dims.
///
/// The text form is that of ONNX: `float[N, 3]`, `float` for rank 0, `float[...]` for unknown rank,
/// `float[?]` for an unknown dim.
///
/// ```
/// use typeloom::check::{Dim, Element, ValueType};
/// use typeloom::types::Dtype;
///
/// let ty = ValueType::tensor(Dtype::F32, [Dim::Symbol("N".into()), Dim::Fixed(3)]);
/// assert_eq!(ty.to_string(), "float[N, 3]");
/// assert_eq!(ty.element, Element::Tensor(Some(Dtype::F32)));
/// let sizes: Vec<_> = ty.shape.iter().flat_map(|shape| shape.iter()).map(Dim::fixed).collect();
/// assert_eq!(sizes, [None, Some(3)]);
/// ```
#[doc(inline)]
pub use typeloom_tensor::value_type::ValueType;
/// [`ValueType`] has an example.
#[doc(inline)]
pub use typeloom_tensor::value_type::{Dim, Element};

use typeloom_ops::check::STANDARD;
use typeloom_rewrite::annotate::AnnotateError;

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
/// If the bytes are not a model, or a tag is damaged.
pub fn strip(model: &[u8]) -> Result<Vec<u8>, AnnotateError> {
    Ok(typeloom_rewrite::annotate::strip(model)?.file.to_vec())
}
