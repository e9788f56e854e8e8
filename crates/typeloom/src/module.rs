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

pub mod passes;
pub mod slots;

#[cfg(doctest)]
mod tests;

/// Compiled programs, and the error of loading one.
///
/// ```
/// use typeloom::module::{Artifact, Bindings, Compiler, Graph, LoadError, Module, OperatorMethods as _};
///
/// struct Twice;
///
/// impl Module for Twice {
///     fn name(&self) -> &str {
///         "twice"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[N]");
///         g.output("y", &x.add(&x));
///     }
/// }
///
/// let artifact: Artifact = Compiler::new().compile(Twice)?;
/// let bytes = artifact.to_bytes()?;
/// let loaded = Artifact::load(&bytes, &Bindings::new())?;
/// assert_eq!(loaded.type_of("y"), Some("tensor.f32"));
/// assert_eq!(loaded.value_type("y").unwrap().to_string(), "float[N]");
/// let error: LoadError = Artifact::load(b"no program", &Bindings::new()).unwrap_err();
/// println!("{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_compiler::artifact::Artifact;
/// [`Artifact`] has an example.
#[doc(inline)]
pub use typeloom_compiler::artifact::LoadError;
/// The compiler: bindings of slots, policies for casts, [passes]. A [`BuildError`] lists all errors of a
/// module's author, each with its source location.
///
/// ```
/// use typeloom::module::{BuildError, Coercion, Compiler, Graph, Module, OperatorMethods as _};
///
/// struct Mixed;
///
/// impl Module for Mixed {
///     fn name(&self) -> &str {
///         "mixed"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let (x, w) = (g.input("x").of("float[N]"), g.input("w").of("double[N]"));
///         g.output("y", &x.abs().of("double[N]").add(&w));
///     }
/// }
///
/// let error: BuildError = Compiler::new().compile(Mixed).unwrap_err();
/// println!("{error}");
/// assert!(Compiler::new().with_coercion(Coercion::Lossless).compile(Mixed).is_ok());
/// ```
#[doc(inline)]
pub use typeloom_compiler::compiler::Compiler;
/// [`Compiler`] has an example.
#[doc(inline)]
pub use typeloom_compiler::{error::BuildError, unit::Coercion};
/// Backends. [`Backend::execute`] is enough: a typed method that the type does not implement executes a graph of
/// one node. A type that has the methods only implements [`Primitives`], and is a backend inside
/// [`ByPrimitives`](crate::run::engine::ByPrimitives).
///
/// ```
/// use typeloom::module::{Backend, Primitives};
/// use typeloom::onnx::{AttributeProto, GraphProto};
/// use typeloom::run::Cpu;
/// use typeloom::types::AnyTensor;
///
/// /// Delegates graphs to the embedded backend.
/// struct Traced;
///
/// impl Backend for Traced {
///     type Tensor = AnyTensor;
///     type Error = <Cpu as Backend>::Error;
///
///     fn execute(
///         &self,
///         graph: &GraphProto,
///         inputs: Vec<AnyTensor>,
///         attrs: &[AttributeProto],
///     ) -> Result<Vec<AnyTensor>, Self::Error> {
///         println!("{} nodes", graph.node.len());
///         Cpu.execute(graph, inputs, attrs)
///     }
/// }
///
/// let (one, two) = (AnyTensor::from([1.0_f32]), AnyTensor::from([2.0_f32]));
/// assert_eq!(Traced.add(&one, &two)?, AnyTensor::from([3.0_f32]));
/// // The embedded backend has both traits, and its methods are inherent too.
/// assert_eq!(Cpu.add(&one, &two)?, AnyTensor::from([3.0_f32]));
/// assert!(!Cpu::extension_opsets().is_empty());
///
/// fn double<P: Primitives>(methods: &P, x: &P::Tensor) -> Result<P::Tensor, P::Error> {
///     methods.add(x, x)
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A backend without `execute` does not compile, and neither does an adapter around a type with neither part.
///
/// ```compile_fail,E0046
/// struct Empty;
///
/// impl typeloom::module::Backend for Empty {
///     type Tensor = Vec<f32>;
///     type Error = std::fmt::Error;
/// }
/// ```
///
/// ```compile_fail,E0277
/// use typeloom::module::Compiler;
/// use typeloom::run::engine::ByPrimitives;
///
/// struct Empty;
///
/// Compiler::new().bind_backend::<ByPrimitives<Empty>>("compute");
/// ```
#[doc(inline)]
pub use typeloom_contracts::backend::Backend;
/// [`Backend`] has an example.
#[doc(inline)]
pub use typeloom_contracts::backend::{GraphExecutor, Primitives};
/// Contracts of components; each associated type is a storage type.
///
/// ```
/// use typeloom::module::{Aggregator, Codec, DataSource, Index, Model};
///
/// #[derive(Default)]
/// struct Newest(Option<u64>);
///
/// impl Index for Newest {
///     type Vector = [f32];
///     type Error = std::fmt::Error;
///
///     fn add(&mut self, id: u64, _vector: &[f32]) -> Result<(), Self::Error> {
///         self.0 = Some(id);
///         Ok(())
///     }
///
///     fn search(&self, _query: &[f32], _k: usize) -> Result<Vec<(u64, f32)>, Self::Error> {
///         self.0.map(|id| vec![(id, 0.0)]).ok_or(std::fmt::Error)
///     }
///
///     fn remove(&mut self, id: u64) -> Result<bool, Self::Error> {
///         Ok(self.0.take_if(|newest| *newest == id).is_some())
///     }
///
///     fn train(&mut self, _vectors: &[&[f32]]) -> Result<(), Self::Error> {
///         Ok(())
///     }
/// }
///
/// let mut index = Newest::default();
/// index.add(7, &[0.5])?;
/// assert_eq!(index.search(&[0.5], 1)?, [(7, 0.0)]);
///
/// // The other contracts follow the same pattern.
/// fn others(_: &impl Aggregator, _: &impl Codec, _: &impl DataSource, _: &impl Model) {}
/// # Ok::<(), std::fmt::Error>(())
/// ```
///
/// A component of another contract, and a storage type that the tree does not have, do not compile:
///
/// ```compile_fail,E0277
/// use typeloom::run::components::Int8;
///
/// typeloom::module::Compiler::new().bind_index::<Int8<[f32]>>("near");
/// ```
///
/// ```compile_fail,E0277
/// use typeloom::module::DataSource;
///
/// struct Lines;
///
/// impl DataSource for Lines {
///     type Sample = String;
///     type Error = std::fmt::Error;
///
///     fn next_batch(&mut self) -> Result<Option<Box<String>>, Self::Error> {
///         Ok(None)
///     }
///
///     fn reset(&mut self) -> Result<(), Self::Error> {
///         Ok(())
///     }
///
///     fn on_data_loaded(&mut self, _: &String) -> Result<(), Self::Error> {
///         Ok(())
///     }
/// }
/// ```
#[doc(inline)]
pub use typeloom_contracts::data_source::DataSource;
/// Peers and their selection.
///
/// ```
/// use typeloom::module::{PeerId, PeerSelector};
///
/// struct First(Vec<PeerId>);
///
/// impl PeerSelector for First {
///     type Error = std::convert::Infallible;
///
///     fn select(&mut self, count: usize) -> Result<Vec<PeerId>, Self::Error> {
///         Ok(self.0.iter().take(count).cloned().collect())
///     }
///
///     fn sample(&mut self, count: usize) -> Result<Vec<PeerId>, Self::Error> {
///         self.select(count)
///     }
///
///     fn current_view(&self) -> Result<Vec<PeerId>, Self::Error> {
///         Ok(self.0.clone())
///     }
/// }
///
/// let mut selector = First(vec![PeerId(b"a".to_vec()), PeerId(b"b".to_vec())]);
/// assert_eq!(selector.select(1), Ok(vec![PeerId(b"a".to_vec())]));
/// ```
#[doc(inline)]
pub use typeloom_contracts::peer_selector::PeerSelector;
/// Components with operators of their own.
///
/// ```standalone_crate
/// use typeloom::module::{Protocol, register_protocol};
/// use typeloom::types::builtins::{TYPE_PEER_ID_VEC, TYPE_TRIGGER};
/// use typeloom::types::operators::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, NO_RELATIONS, PortDecl};
///
/// static OPS: AtomicOpsetDecl = AtomicOpsetDecl {
///     domain: "org.example.gossip",
///     version: 1,
///     ops: &[AtomicOpDecl {
///         name: "Round",
///         inputs: &[PortDecl::required("start", &TYPE_TRIGGER)],
///         outputs: &[PortDecl::required("peers", &TYPE_PEER_ID_VEC)],
///         kind: AtomicOpKind::Stateful,
///         type_relations: NO_RELATIONS,
///     }],
/// };
///
/// struct Gossip;
///
/// impl Protocol for Gossip {
///     const OPSET: &'static AtomicOpsetDecl = &OPS;
/// }
/// register_protocol!(Gossip);
/// ```
#[doc(inline)]
pub use typeloom_contracts::protocol::Protocol;
/// Registers an operator set with the compiler, for the whole program. [`Compiler::with_operators`] adds
/// operators to one compilation.
///
/// ```standalone_crate
/// use typeloom::check::{Described, Operators};
/// use typeloom::module::{Compiler, Graph, Module, register_opset};
/// use typeloom::types::builtins::TYPE_TENSOR;
/// use typeloom::types::operators::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, ELEMENTWISE, PortDecl};
///
/// static OPS: AtomicOpsetDecl = AtomicOpsetDecl {
///     domain: "org.example",
///     version: 1,
///     ops: &[AtomicOpDecl {
///         name: "Twist",
///         inputs: &[PortDecl::required("x", &TYPE_TENSOR)],
///         outputs: &[PortDecl::required("y", &TYPE_TENSOR)],
///         kind: AtomicOpKind::Pure,
///         type_relations: ELEMENTWISE,
///     }],
/// };
/// register_opset!(OPS);
///
/// struct Twisted;
///
/// impl Module for Twisted {
///     fn name(&self) -> &str {
///         "twisted"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[N, 8]");
///         let twisted = g.node("org.example", "Twist", &[&x], Vec::new(), 1);
///         g.output("y", &g.node("com.example", "Halve", &[&twisted[0]], Vec::new(), 1)[0]);
///     }
/// }
///
/// let halve = "typeloom-operators 1
/// domain com.example 1
/// op Halve 1
///   type T tensor(float+double)
///   in x T
///   out y T
///   shape x [batch, length]
///   shape y [batch, length // 2]
/// ";
/// let operators = Operators::standard().with(Described::parse(halve)?);
/// let artifact = Compiler::new().with_operators(operators).compile(Twisted)?;
/// assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_contracts::register_opset;
/// [`Protocol`] has an example.
#[doc(inline)]
pub use typeloom_contracts::register_protocol;
/// [`DataSource`] has an example.
#[doc(inline)]
pub use typeloom_contracts::{aggregator::Aggregator, codec::Codec, index::Index, model::Model};
/// The types that are bound to the slots of a module.
///
/// ```
/// use typeloom::module::{Bindings, Compiler};
/// use typeloom::run::Cpu;
///
/// let bindings = Bindings::new().bind_backend::<Cpu>("compute");
/// let compiler = Compiler::new().with_bindings(bindings);
/// assert!(format!("{compiler:?}").contains("compute"));
/// ```
#[doc(inline)]
pub use typeloom_module::bindings::Bindings;
/// The optional attributes of each operator, for the methods of [`OperatorMethods`] and [`ValueRef`].
///
/// ```
/// use typeloom::module::attributes::{ReshapeAttrs, SoftmaxAttrs};
/// use typeloom::module::{Compiler, Graph, Module};
///
/// struct Attention;
///
/// impl Module for Attention {
///     fn name(&self) -> &str {
///         "attention"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[2, N]");
///         let scores = x.softmax(SoftmaxAttrs { axis: Some(0) });
///         g.output("y", &scores.reshape(&g.ints(&[-1]), ReshapeAttrs { allowzero: Some(1) }));
///     }
/// }
///
/// assert_eq!(Compiler::new().compile(Attention)?.type_of("y"), Some("tensor.f32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_module::graph::operators::attributes;
/// Functions of compiled modules, imported by their types. Their source is not needed.
///
/// ```
/// use typeloom::module::{Compiler, Graph, Imported, Module, OperatorMethods as _};
///
/// struct Half;
///
/// impl Module for Half {
///     fn name(&self) -> &str {
///         "half"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[2*N]");
///         g.output("y", &x.reshape(&g.ints(&[2, -1]), Default::default()));
///     }
/// }
///
/// struct Caller(Imported);
///
/// impl Module for Caller {
///     fn name(&self) -> &str {
///         "caller"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x = g.input("x").of("float[8]");
///         g.output("y", &g.call_import(&self.0, "half", &[&x])["y"]);
///     }
/// }
///
/// let imported = Imported::new(&Compiler::new().compile(Half)?.interface)?;
/// assert_eq!(imported.functions().collect::<Vec<_>>(), ["half"]);
/// assert_eq!(Compiler::new().compile(Caller(imported))?.type_of("y"), Some("tensor.f32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The main function and the exported modules are public; modules that are only called are private.
///
/// ```
/// use typeloom::module::{Compiler, Graph, Imported, Module, OperatorMethods as _};
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
/// const HELPER: Function = Function("helper", |g| g.output("y", g.input("x").relu()));
/// const ROUND: Function = Function("round", |g| g.output("y", g.input("x").of("float[N]").round()));
/// const LIBRARY: Function = Function("library", |g| {
///     let x = g.input("x").of("float[N]");
///     g.output("y", &g.call(&HELPER, &[&x])["y"]);
///     g.export(&ROUND);
/// });
///
/// let artifact = Compiler::new().compile(LIBRARY)?;
/// let imported = Imported::new(&artifact.interface)?;
/// assert_eq!(imported.functions().collect::<Vec<_>>(), ["library", "round"]);
/// assert_eq!(artifact.functions["round"].type_of("y"), Some("tensor.f32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_module::module::imports::Imported;
/// Modules and the graph that records their bodies. Placeholders of components are in [slots].
///
/// ```
/// use typeloom::module::{Compiler, Graph, Module, OperatorMethods as _, ValueRef};
///
/// struct Layer;
///
/// impl Module for Layer {
///     fn name(&self) -> &str {
///         "layer"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let x: ValueRef = g.input("x").of("float[N, 4]");
///         let w = g.input("w").of("float[4, 4]");
///         g.output("y", &x.matmul(&w).relu());
///     }
/// }
///
/// struct Network;
///
/// impl Module for Network {
///     fn name(&self) -> &str {
///         "network"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let (x, w) = (g.input("x").of("float[N, 4]"), g.input("w").of("float[4, 4]"));
///         let [hidden] = g.call(&Layer, &[&x, &w]).array();
///         g.output("y", &(&hidden + &x));
///     }
/// }
///
/// let artifact = Compiler::new().compile(Network)?;
/// assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_module::{
    graph::{Graph, operators::OperatorMethods, outputs::Outputs, value::ValueRef},
    module::Module,
};
/// [`PeerSelector`] has an example.
#[doc(inline)]
pub use typeloom_tensor::peer::PeerId;
