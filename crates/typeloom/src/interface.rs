//! Compare the interfaces of models, and transfer them to other processes.
//!
//! ```
//! use typeloom::interface::{Direction, Interface, PortIdentity, compare, export, import};
//!
//! let model = |text: &str| typeloom::onnx::model_from_text(&format!(r#"<ir_version: 10, opset_import: ["" : 21]> {text}"#));
//! let old = Interface::of(&model("g (float[N, 3] x) => (y) { y = Relu(x) }")?)?;
//! let new = Interface::of(&model("g (float[N, 4] x) => (y) { y = Relu(x) }")?)?;
//! assert_eq!(old.to_string(), "(x: float[N, 3]) -> (y: float[N, 3])");
//!
//! let comparison = compare(&old, &new, Direction::Backward, PortIdentity::NameAndPosition);
//! assert!(!comparison.is_compatible());
//! print!("{comparison}");
//!
//! let bundle = export(&[("scorer", &new)])?;
//! let imported = import(bundle.as_bytes())?;
//! assert_eq!(imported[0].label, "scorer");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The interface of a model is a type scheme: names of symbols do not affect its digest. [`Interface::of`]
//! does not report type errors; [`Checked::interface`](crate::check::Checked::interface) returns the
//! interface of a model that was checked.

/// Inputs, outputs, symbols and conditions of a model. An input or an output is a [`Parameter`].
///
/// ```
/// use typeloom::interface::{Interface, Parameter};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N, M] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let interface = Interface::of(&model)?;
/// assert_eq!(interface.symbols(), ["N", "M"]);
/// let input: &Parameter = &interface.inputs[0];
/// assert_eq!((input.name.as_str(), interface.show(&input.ty).as_str()), ("x", "float[N, M]"));
/// assert_eq!(interface.value_type(&input.ty).shape.unwrap().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_interface::Interface;
/// [`Interface`] has an example.
#[doc(inline)]
pub use typeloom_interface::Parameter;
/// [`import`] has an example.
#[doc(inline)]
pub use typeloom_interface::bundle::BundleError;
use typeloom_interface::bundle::Exported;
/// Interfaces in bundles: labels, digests and signatures.
///
/// ```
/// use typeloom::interface::{BundleError, Interface, export, import};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let bundle = export(&[("g", &Interface::of(&model)?)])?;
/// let imported = import(bundle.as_bytes())?;
/// assert_eq!(imported[0].interface.to_string(), "(x: float[N]) -> (y: float[N])");
/// let error: BundleError = import(b"no bundle").unwrap_err();
/// println!("{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_interface::bundle::import_interfaces as import;
/// Comparison of two interfaces: the direction, the identity of ports, and the differences.
///
/// ```
/// use typeloom::interface::{Direction, Interface, InterfaceChange, InterfaceComparison, PortIdentity, compare};
///
/// let interface = |graph: &str| {
///     let text = format!(r#"<ir_version: 10, opset_import: ["" : 21]> {graph}"#);
///     Interface::of(&typeloom::onnx::model_from_text(&text).expect("the text is a model"))
/// };
/// let old = interface("g (float[3] x) => (float[3] y) { y = Relu(x) }")?;
/// let new = interface("g (float[N] x) => (float[N] y) { y = Relu(x) }")?;
/// assert!(compare(&old, &new, Direction::Backward, PortIdentity::Name).is_compatible());
///
/// let comparison: InterfaceComparison = compare(&old, &new, Direction::Forward, PortIdentity::Name);
/// let first = &comparison.differences[0];
/// assert_eq!((first.path.to_string().as_str(), first.change), ("inputs.x.shape[0]", InterfaceChange::Extent));
/// assert!(comparison.is_breaking(first));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_interface::compare;
#[doc(inline)]
pub use typeloom_interface::recorded::Recorded;
/// [`compare`] has an example.
#[doc(inline)]
pub use typeloom_interface::{InterfaceChange, InterfaceComparison, PortIdentity};
use typeloom_pool::Bundle;
#[doc(inline)]
pub use typeloom_pool::compat::Direction;
use typeloom_report::c_header::{HeaderError, Program};
use typeloom_types::lattice::Lattice;

/// Writes interfaces into a bundle, each with a label.
///
/// ```
/// use typeloom::interface::{Interface, export};
/// use typeloom::pool::Pool;
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let bundle = export(&[("g", &Interface::of(&model)?)])?;
/// let mut pool = Pool::new();
/// let roots = pool.import(bundle.as_bytes())?;
/// println!("{}", pool.signature(roots[0].ty));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`BundleError`] if a type has no portable form.
pub fn export(interfaces: &[(&str, &Interface)]) -> Result<Bundle, BundleError> {
    let exported = interfaces.iter().map(|(label, interface)| Exported::new(label, (*interface).clone()));
    typeloom_interface::bundle::export_interfaces(&exported.collect::<Result<Vec<_>, _>>()?)
}

/// Returns a C header with the C interface, the registered leaves of the type tree, and constants for the
/// ports of the functions of a program, of which the first is the main one. Without functions, the header has
/// no program.
///
/// ```
/// use typeloom::interface::{Interface, c_header};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let header = c_header("scorer", &[("main", &Interface::of(&model)?)])?;
/// assert!(header.contains("#define SCORER_INPUT_X 0 /* `x`: float[N], bb_tensor_f32_t */"));
/// assert!(header.contains("#define BB_TENSOR_F32_WIRE_HASH UINT64_C(0x101)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A compiled program records its public functions and its parts:
///
/// ```
/// use typeloom::interface::{Recorded, c_header};
/// use typeloom::module::{Compiler, Graph, Module, OperatorMethods as _};
///
/// struct Function(&'static str, fn(&Graph));
///
/// impl Module for Function {
///     fn name(&self) -> &str {
///         self.0
///     }
///
///     fn body(&self, g: &mut Graph) {
///         (self.1)(g);
///     }
/// }
///
/// const ROUND: Function = Function("round", |g| g.output("y", g.input("x").of("float[N]").round()));
/// const LIBRARY: Function = Function("library", |g| {
///     g.output("y", g.input("x").of("float[N]").relu());
///     g.export(&ROUND);
/// });
///
/// let file = Compiler::new().compile(LIBRARY)?.to_bytes()?;
/// let recorded = Recorded::read(&file)?.ok_or("the file was not compiled")?;
/// let functions: Vec<_> = recorded.exports().map(|it| (it.label.as_str(), &it.interface)).collect();
/// let header = c_header("library", &functions)?;
/// assert!(header.contains("#define LIBRARY_ROUND_FUNCTION \"round\""));
/// assert!(header.contains("#define LIBRARY_ROUND_INPUT_X 0 /* `x`: float[N], bb_tensor_f32_t */"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a function has no portable type, or the `ffi_name` of a registered leaf is unusable.
pub fn c_header(program: &str, functions: &[(&str, &Interface)]) -> Result<String, HeaderError> {
    let exported = functions.iter().map(|(label, interface)| Exported::new(label, (*interface).clone()));
    let functions = exported.collect::<Result<Vec<_>, _>>()?;
    let program = Program { name: program, functions: &functions };
    typeloom_report::c_header::c_header(Lattice::get(), (!functions.is_empty()).then_some(program))
}
