//! Run checked models and compiled modules.
//!
//! ```
//! use typeloom::run::{Verify, session};
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
//! let outcome = session.run([("x", x)], Verify::EveryValue)?;
//! assert_eq!(outcome.get("y"), Some(&AnyTensor::from_scalar(42.0_f32).into()));
//! assert_eq!(outcome.symbols.get("N"), Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Executor`] runs a compiled module with the components of its slots, and [`Part`] runs it on several
//! peers. The modules [`components`], [`engine`], [`values`], [`wire`] and [`host`] serve these two; their
//! items can change between versions.

pub mod components;
pub mod engine;
pub mod host;
mod peer;
pub mod values;
pub mod wire;

#[doc(inline)]
pub use peer::{Peer, PeerOptions, PeerPart};
/// The embedded backend.
///
/// ```
/// use typeloom::module::Backend as _;
/// use typeloom::run::Cpu;
/// use typeloom::types::AnyTensor;
///
/// let product = Cpu.mul(&AnyTensor::from([2.0_f32]), &AnyTensor::from([3.0_f32]))?;
/// assert_eq!(product, AnyTensor::from([6.0_f32]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::backend::Cpu;
/// [`Executor`] has an example.
#[doc(inline)]
pub use typeloom_runtime::components::Components;
/// Protocols that can run: declared operators and a function that computes them.
///
/// ```
/// use typeloom::module::Protocol;
/// use typeloom::onnx::AttributeProto;
/// use typeloom::run::{Datum, RunProtocol};
/// use typeloom::types::operators::AtomicOpsetDecl;
///
/// static OPS: AtomicOpsetDecl = AtomicOpsetDecl { domain: "org.example.noop", version: 1, ops: &[] };
///
/// struct Noop;
///
/// impl Protocol for Noop {
///     const OPSET: &'static AtomicOpsetDecl = &OPS;
/// }
///
/// impl RunProtocol for Noop {
///     type Error = std::convert::Infallible;
///
///     fn call(&mut self, _: &str, _: &[Option<Datum>], _: &[AttributeProto]) -> Result<Vec<Datum>, Self::Error> {
///         Ok(Vec::new())
///     }
/// }
///
/// assert_eq!(Noop.call("Any", &[], &[]), Ok(Vec::new()));
/// ```
#[doc(inline)]
pub use typeloom_runtime::components::RunProtocol;
/// [`RunError`] has an example.
#[doc(inline)]
pub use typeloom_runtime::error::PrepareError;
/// Errors of preparing and of running a program.
///
/// ```
/// use typeloom::run::{PrepareError, RunError, Verify, session};
/// use typeloom::types::AnyTensor;
///
/// let model = |graph: &str| {
///     let text = format!(r#"<ir_version: 10, opset_import: ["" : 21]> {graph}"#);
///     typeloom::onnx::model_from_text(&text).expect("the text is a model")
/// };
/// let unordered = model("g (float[2] x) => (y) { y = Relu(h)  h = Abs(x) }");
/// let error: PrepareError = session(&mut typeloom::check(&unordered, &Default::default())?).unwrap_err();
/// println!("{error}");
///
/// let relu = model("g (float[2] x) => (y) { y = Relu(x) }");
/// let session = session(&mut typeloom::check(&relu, &Default::default())?)?;
/// let x = AnyTensor::from([1.0_f32, 2.0, 3.0]);
/// let error: RunError = session.run([("x", x)], Verify::Inputs).unwrap_err();
/// println!("{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::error::RunError;
/// A compiled module with the components of its slots, ready to run.
///
/// ```
/// use typeloom::module::{Graph, Module, OperatorMethods as _};
/// use typeloom::run::{Components, Cpu, Executor, Verify};
/// use typeloom::types::AnyTensor;
///
/// struct Rectifier;
///
/// impl Module for Rectifier {
///     fn name(&self) -> &str {
///         "rectifier"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[N]");
///         g.output("y", &g.backend("compute").relu(&x));
///     }
/// }
///
/// let components = Components::new().backend("compute", Cpu);
/// let artifact = components.compiler().compile(Rectifier)?;
/// let executor = Executor::new(&artifact, &components)?;
/// let x = AnyTensor::from([1.0_f32, -2.0]);
/// let outcome = executor.run([("x", x)], Verify::EveryValue)?;
/// assert_eq!(outcome.get("y"), Some(&AnyTensor::from([1.0_f32, 0.0]).into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::executor::Executor;
/// The program of one class of peers, connected to the others by a transport; a run returns a
/// [`PartOutcome`](wire::PartOutcome).
///
/// ```
/// use typeloom::module::{Compiler, Graph, Module, OperatorMethods as _};
/// use typeloom::run::wire::PartOutcome;
/// use typeloom::run::{Components, Datum, Part};
///
/// struct Remote;
///
/// impl Module for Remote {
///     fn name(&self) -> &str {
///         "remote"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let (x, workers) = (g.input("x").of("float[2]"), g.input("workers").of("peer_id_vec"));
///         let (sent, _) = g.send(&x, &workers);
///         let (received, _) = g.receive(&sent);
///         g.output("y", &received.relu());
///     }
/// }
///
/// let artifact = Compiler::new().compile(Remote)?;
/// let part = Part::new(&artifact, "workers", &Components::new())?;
/// assert_eq!((part.program(), part.name()), ("remote", "workers"));
///
/// fn result(outcome: &PartOutcome) -> Option<&Datum> {
///     outcome.get("y")
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::executor::part::Part;
/// [`Inputs`] has an example.
#[doc(inline)]
pub use typeloom_runtime::inputs;
/// Values of inputs by name: a list of pairs, a map, or the macro for values that are written in the program.
///
/// ```
/// use typeloom::run::{Inputs, Verify, inputs, session};
/// use typeloom::types::AnyTensor;
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (float[N] x, float16[N] y) => (z) { w = Cast <to = 1> (y)  z = Add(x, w) }"#,
/// )?;
/// let session = session(&mut typeloom::check(&model, &Default::default())?)?;
/// // A literal gets the element type of its input.
/// let x = vec![0.5_f32, 1.0];
/// let outcome = session.run(inputs! { "x" => x, "y" => [1.5, 2] }, Verify::Inputs)?;
/// assert_eq!(outcome.get("z"), Some(&[2.0_f32, 3.0].into()));
///
/// let wrong = inputs! { "x" => [true], "y" => [0] };
/// let error = session.run(wrong, Verify::Inputs).unwrap_err();
/// assert_eq!(error.to_string(), "input `x`: `true` is no value of type float");
/// let inputs = Inputs::from([("x", AnyTensor::from([1.0_f32]))]);
/// assert_eq!(session.run(inputs, Verify::Inputs).unwrap_err().to_string(), "input `y` is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::named::Inputs;
/// Options of a run: checks and limits. An [`Interrupt`](host::Interrupt) ends it from another thread.
///
/// ```
/// use typeloom::run::host::Interrupt;
/// use typeloom::run::{Inputs, RunLimits, Verify, session_with};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (y) { y = Relu(x) }"#,
/// )?;
/// let mut checked = typeloom::check(&model, &Default::default())?;
/// let session = session_with(&mut checked, &|tensor| Err(format!("no file for `{}`", tensor.name())))?
///     .with_limits(RunLimits { steps: 1_000, ..RunLimits::default() });
/// let inputs = Inputs::from([("x", [1.0_f32, -1.0])]);
/// assert!(session.run(inputs.clone(), Verify::Inputs).is_ok());
///
/// let interrupt = Interrupt::default();
/// let session = session.with_interrupt(interrupt.clone());
/// interrupt.trigger(); // usually on another thread
/// assert!(session.run(inputs, Verify::Inputs).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::options::RunLimits;
/// [`RunLimits`] has an example.
#[doc(inline)]
pub use typeloom_runtime::options::Verify;
/// A prepared model, its inputs and outputs, and the result of a run.
///
/// ```
/// use typeloom::run::{Port, RunOutcome, Session, Verify, session};
/// use typeloom::types::AnyTensor;
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Neg(x) }"#,
/// )?;
/// let session: Session = session(&mut typeloom::check(&model, &Default::default())?)?;
/// let input: &Port = &session.inputs()[0];
/// assert_eq!((input.name.as_str(), input.ty.to_string().as_str()), ("x", "float[N]"));
///
/// let x = AnyTensor::from([1.0_f32, 2.0]);
/// let outcome: RunOutcome = session.run([("x", x)], Verify::Inputs)?;
/// assert_eq!(outcome.get("y"), Some(&AnyTensor::from([-1.0_f32, -2.0]).into()));
/// assert_eq!(outcome.symbols.get("N"), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_runtime::session::Session;
/// [`Session`] has an example.
#[doc(inline)]
pub use typeloom_runtime::session::{Port, RunOutcome};
/// A value at run time: a tensor, a sequence, a scalar, peers, or another leaf.
///
/// ```
/// use typeloom::run::Datum;
/// use typeloom::types::AnyTensor;
///
/// let datum = Datum::from(AnyTensor::from([1.0_f32, 2.0]));
/// assert_eq!(datum.as_tensor().map(AnyTensor::shape), Some(&[2][..]));
/// assert_eq!(datum.type_node().map(|node| node.id), Some("tensor.f32"));
/// ```
#[doc(inline)]
pub use typeloom_tensor::datum::Datum;

use typeloom_runtime::options::ExternalData;

use crate::check::Checked;

/// Prepares a checked model for the embedded backend. Use [`session_with`] if tensors are stored in other
/// files.
///
/// ```
/// use typeloom::run::session;
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Neg(x) }"#,
/// )?;
/// let session = session(&mut typeloom::check(&model, &Default::default())?)?;
/// assert_eq!(session.outputs()[0].name, "y");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`PrepareError`] if the model has no executable form. Type errors are not reported: see
/// [`Checked::is_ok`]. A node without a kernel is an error of the run.
pub fn session(checked: &mut Checked<'_>) -> Result<Session, PrepareError> {
    session_with(checked, &|_| Err("external tensors need `session_with`".to_owned()))
}

/// Prepares a checked model; `read` returns the bytes of an external tensor, or a message.
///
/// ```
/// use typeloom::run::session_with;
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Neg(x) }"#,
/// )?;
/// let mut checked = typeloom::check(&model, &Default::default())?;
/// let session = session_with(&mut checked, &|tensor| {
///     let file = tensor.external_data.iter().find(|entry| entry.key() == "location");
///     let file = file.ok_or("no location")?.value().to_owned();
///     std::fs::read(&file).map(Into::into).map_err(|error| format!("{file}: {error}"))
/// })?;
/// assert_eq!(session.inputs().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`session`], and [`PrepareError`] if `read` returns a message.
pub fn session_with(checked: &mut Checked<'_>, read: &ExternalData<'_>) -> Result<Session, PrepareError> {
    Session::of_checked(checked.solved(), read)
}
