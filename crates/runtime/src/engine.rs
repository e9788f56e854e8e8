//! Engines of others as backends: they run whole graphs, and are held to the types that were solved.
//!
//! An [`Engine`] loads a model and runs it. Most engines do not keep ONNX's types everywhere: they promote, narrow or lack some
//! of them, ignore domains, or compute an operator differently. So a graph is offered to an engine in three steps:
//!
//! 1. Every node is held against what is known of the engine, with its solved types: the element types that the engine has
//!    ([`Engine::dtypes`]) and what it says of operators ([`Engine::objection`]).
//! 2. The engine loads the model, and what it says itself of its values ([`Loaded::types`]) is compared with the solved types.
//! 3. Every result of a run is compared with its solved type, like every input.
//!
//! What fails is an [`EngineError`](error::EngineError) that names the operator and its types; an engine never runs a graph of which one of the
//! first two steps has failed.
//!
//! [`EngineSession`](session::EngineSession) is what [`Session`](crate::session::Session) is for the embedded backend: a model that is prepared
//! once and run many times. [`Hosted`](executor::Hosted) makes an engine the half of the contract of backends that runs graphs.
//!
//! Engines are crates of their own outside of this workspace, because they are large; nothing here depends on one.

use typeloom_onnx::messages::{ModelProto, NodeProto};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use typeloom_wire::stamp::Stamp;

pub mod error;

mod extents;

mod offer;

pub mod session;

pub mod executor;

/// For which extents a loaded model can be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loads {
    /// For those that its types say: a model with symbols is loaded once for each set of extents of its inputs.
    ForFixedExtents,
    /// For all.
    ForAllExtents,
}

/// A node with its solved types, as it is offered to an engine.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// The node.
    pub node: &'a NodeProto,
    /// The version of the operator set that the node refers to.
    pub version: i64,
    /// The types of its inputs; `None` where an optional one is left out, [`Stamp::Open`] where nothing is known.
    pub inputs: Vec<Option<Stamp>>,
    /// The types of its outputs.
    pub outputs: Vec<Option<Stamp>>,
    /// Which outputs anything reads.
    pub read: Vec<bool>,
    /// Which inputs are constants of the model.
    pub constant: Vec<bool>,
}

impl Offer<'_> {
    /// The element type of an input, where it is a tensor of a known one.
    #[must_use]
    pub fn input_dtype(&self, at: usize) -> Option<Dtype> {
        dtype(self.inputs.get(at)?.as_ref()?)
    }

    /// The element type of an output, where it is a tensor of a known one.
    #[must_use]
    pub fn output_dtype(&self, at: usize) -> Option<Dtype> {
        dtype(self.outputs.get(at)?.as_ref()?)
    }

    /// Whether an input is there.
    #[must_use]
    pub fn has_input(&self, at: usize) -> bool {
        self.inputs.get(at).is_some_and(Option::is_some)
    }

    /// The number of an attribute, where it is given.
    #[must_use]
    pub fn int(&self, name: &str) -> Option<i64> {
        self.node
            .attribute
            .iter()
            .find(|it| it.name() == name)
            .map(typeloom_onnx::messages::AttributeProto::i)
    }

    /// The float of an attribute, where it is given.
    #[must_use]
    pub fn float(&self, name: &str) -> Option<f32> {
        self.node.attribute.iter().find(|it| it.name() == name)?.f
    }

    /// The numbers of an attribute, where they are given.
    #[must_use]
    pub fn ints(&self, name: &str) -> Option<&[i64]> {
        self.node.attribute.iter().find(|it| it.name() == name).map(|it| &it.ints[..])
    }

    /// The text of an attribute, where it is given.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        let attribute = self.node.attribute.iter().find(|it| it.name() == name)?;
        std::str::from_utf8(attribute.s.as_deref()?).ok()
    }
}

fn dtype(stamp: &Stamp) -> Option<Dtype> {
    match stamp {
        Stamp::Tensor { dtype, .. } => *dtype,
        Stamp::Open | Stamp::Sequence(_) | Stamp::Optional(_) => None,
    }
}

/// Something that runs whole ONNX models.
///
/// **Law.** What `load` accepts, the program computes as ONNX says or not at all: where an engine is known to compute
/// something else, `objection` says so.
///
/// An engine and its programs may panic; whoever hosts it turns that into an error.
pub trait Engine: Send + Sync + 'static {
    /// What it is called.
    fn name(&self) -> &str;

    /// The element types that its tensors can have.
    fn dtypes(&self) -> &[Dtype];

    /// For which extents a loaded model can be run.
    fn loads(&self) -> Loads;

    /// Why the engine is not offered a node with these types; nothing where it is.
    fn objection(&self, offer: &Offer<'_>) -> Option<String>;

    /// Whether it takes models with functions of their own.
    fn calls_functions(&self) -> bool {
        false
    }

    /// Loads a model. Its values are annotated with their solved types, with numbers for extents if the engine loads
    /// for fixed ones; nodes have names of their own, which the reason of a failure may quote; no tensor lies in
    /// another file. Only inputs without a default are left.
    ///
    /// # Errors
    /// Why the engine does not take the model.
    fn load(&self, model: &ModelProto) -> Result<Loaded, String>;
}

/// A model that an engine has loaded.
pub struct Loaded {
    /// What runs it.
    pub program: Box<dyn Program>,
    /// What the engine says the values are, by the model's names; as many as it can tell.
    pub types: Vec<(String, Stamp)>,
}

/// A model in an engine.
pub trait Program: Send + Sync {
    /// Runs the model on its inputs in order, and gives its outputs in order.
    ///
    /// # Errors
    /// What the engine says.
    fn run(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, String>;
}
