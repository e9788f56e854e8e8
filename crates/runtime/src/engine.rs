//! External engines as backends: they run whole graphs, and their results are checked against the solved
//! types.
//!
//! An [`Engine`] loads a model and runs it. Most engines deviate from ONNX's types: they promote, narrow or
//! lack some of them, ignore domains, or compute an operator differently. A graph is therefore checked in
//! three steps:
//!
//! 1. Each node is compared with the known limits of the engine: its element types ([`Engine::dtypes`]) and
//!    its objections to operators on their solved types ([`Engine::objection`]).
//! 2. The engine loads the model. The types that it reports ([`Loaded::types`]) are compared with the solved
//!    types.
//! 3. Every input and every result of a run is compared with its solved type.
//!
//! A failed step is an [`EngineError`](error::EngineError) that names the operator and its types; an engine
//! does not run a graph that fails in the first two steps.
//!
//! [`EngineSession`](session::EngineSession) corresponds to the [`Session`](crate::session::Session) of the
//! embedded backend. [`Hosted`](executor::Hosted) implements the graph half of the backend contract by an
//! engine.
//!
//! The engines are in separate workspaces because their dependencies take minutes to compile.

use typeloom_onnx::messages::{AttributeProto, ModelProto, NodeProto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use typeloom_tensor::value_type::ValueType;

pub mod error;
pub mod executor;
pub mod session;

mod extents;
mod offer;
mod recent;

/// The extents for which an engine loads a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loads {
    /// Fixed ones: a model with symbols is loaded once per set of input extents.
    ForFixedExtents,
    /// All extents.
    ForAllExtents,
}

/// A node with its solved types.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    pub node: &'a NodeProto,
    /// The imported version of the operator set.
    pub version: i64,
    /// The types of its inputs; `None` for absent optional inputs, unknown types are [`ValueType::default`].
    pub inputs: Vec<Option<ValueType>>,
    /// The types of its outputs.
    pub outputs: Vec<Option<ValueType>>,
    /// Whether each output is read.
    pub read: Vec<bool>,
    /// Whether each input is a constant of the model.
    pub constant: Vec<bool>,
}

impl Offer<'_> {
    /// The element type of an input, if it is a tensor.
    #[must_use]
    pub fn input_dtype(&self, at: usize) -> Option<Dtype> {
        self.inputs.get(at)?.as_ref()?.dtype()
    }

    /// The element type of an output, if it is a tensor.
    #[must_use]
    pub fn output_dtype(&self, at: usize) -> Option<Dtype> {
        self.outputs.get(at)?.as_ref()?.dtype()
    }

    /// Whether an optional input is present.
    #[must_use]
    pub fn has_input(&self, at: usize) -> bool {
        self.inputs.get(at).is_some_and(Option::is_some)
    }

    /// The value of an integer attribute.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        self.node.find_attribute(name).map(AttributeProto::i)
    }

    /// The value of a float attribute.
    #[must_use]
    pub fn float(&self, name: &str) -> Option<f32> {
        self.node.find_attribute(name)?.f
    }

    /// The values of an integer list attribute.
    #[must_use]
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        self.node.find_attribute(name).map(|it| &it.ints[..])
    }

    /// The value of a string attribute.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        crate::prepare::string(&self.node.attribute, name)
    }
}

/// A runtime for whole ONNX models.
///
/// **Law.** A loaded program computes what ONNX specifies or fails. `objection` rejects the operators for
/// which the engine is known to deviate.
///
/// An engine and its programs may panic; callers convert panics to errors.
pub trait Engine: Send + Sync + 'static {
    /// Name of the engine.
    fn name(&self) -> &str;

    /// The element types of the engine's tensors.
    fn dtypes(&self) -> &[Dtype];

    /// The extents for which the engine loads a model.
    fn loads(&self) -> Loads;

    /// The reason why the engine does not run a node, or `None` if it does.
    fn objection(&self, offer: &Offer<'_>) -> Option<String>;

    /// Whether the engine supports model-local functions.
    fn calls_functions(&self) -> bool {
        false
    }

    /// Loads a model. Its values are annotated with their solved types, with numbers as dims if the engine
    /// loads for fixed extents. Nodes have unique names, which the reason of an error may quote. All tensors
    /// are in the model, and inputs with a default are removed.
    ///
    /// # Errors
    /// The reason why the engine rejects the model.
    fn load(&self, model: &ModelProto) -> Result<Loaded, String>;
}

/// A loaded model.
pub struct Loaded {
    pub program: Box<dyn Program>,
    /// Types of values as far as the engine reports them, by the names in the model.
    pub types: Vec<(String, ValueType)>,
}

/// A loaded model as the engine runs it.
pub trait Program: Send + Sync {
    /// Runs the model on its inputs in order, and returns its outputs in order.
    ///
    /// # Errors
    /// The message of the engine.
    fn run(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, String>;
}
