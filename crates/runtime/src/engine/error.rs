//! Why an engine gave no result.

use typeloom_onnx::DecodeError;
use typeloom_rewrite::annotate::AnnotateError;

use typeloom_wire::stamp::Mismatch;

/// Why an engine gave no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// The solved types could not be written into the model.
    #[error("the types cannot be read off the model: {0}")]
    Types(#[from] AnnotateError),
    /// The bytes are no model.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// There is no graph.
    #[error("the model has no graph")]
    NoGraph,
    /// The graph does not type-check, so that there are no types to hold the engine to.
    #[error("the graph has no solved types: {0}")]
    Unsolved(String),
    /// A tensor that is kept in another file could not be read.
    #[error("the data of `{name}` cannot be read: {reason}")]
    ExternalData {
        /// The tensor.
        name: String,
        /// Why.
        reason: String,
    },
    /// Graphs are nested too deeply.
    #[error("graphs are nested more than {limit} deep")]
    TooDeep {
        /// The most that is accepted.
        limit: usize,
    },
    /// The engine does not run an operator on these types.
    #[error("{engine} does not run `{operator}` on {types} ({node}): {reason}")]
    Unsupported {
        /// The engine.
        engine: String,
        /// The node in words.
        node: String,
        /// The operator, with its domain where that is not ONNX's.
        operator: String,
        /// The solved types of the node.
        types: String,
        /// Why.
        reason: String,
    },
    /// An input or output of the model is of a type that engines are not handed.
    #[error("{engine} takes and gives tensors only: `{name}` is {found}")]
    NoTensor {
        /// The engine.
        engine: String,
        /// The input or output.
        name: String,
        /// Its type.
        found: String,
    },
    /// The engine gives a value another type than the one that was proved.
    #[error("{engine} does not keep the type of `{value}`, which `{operator}` makes: {mismatch}")]
    NotKept {
        /// The engine.
        engine: String,
        /// The value.
        value: String,
        /// What makes it.
        operator: String,
        /// In which way.
        mismatch: Mismatch,
    },
    /// The engine does not take the model, and names no node.
    #[error("{engine} does not take the model: {reason}")]
    Load {
        /// The engine.
        engine: String,
        /// What it says.
        reason: String,
    },
    /// An input that has no default is missing.
    #[error("input `{name}` is missing")]
    MissingInput {
        /// The input.
        name: String,
    },
    /// An input that the model does not have.
    #[error("the model has no input `{name}`")]
    UnknownInput {
        /// The input.
        name: String,
    },
    /// More or fewer tensors than the graph has inputs.
    #[error("the graph has {expected} inputs, not {given}")]
    InputCount {
        /// How many inputs the graph lists.
        expected: usize,
        /// How many tensors were given.
        given: usize,
    },
    /// A default that engines have built in.
    #[error("{engine} cannot be given another value for `{name}`, which has a default")]
    Default {
        /// The engine.
        engine: String,
        /// The input.
        name: String,
    },
    /// An input is not of the type that was proved for it.
    #[error("input `{name}`: {mismatch}")]
    Input {
        /// The input.
        name: String,
        /// In which way.
        mismatch: Mismatch,
    },
    /// A run failed.
    #[error("{engine} failed{}: {reason}", at(node.as_deref()))]
    Failed {
        /// The engine.
        engine: String,
        /// The node in words, where the engine named it.
        node: Option<String>,
        /// What it says.
        reason: String,
    },
    /// A result is not of the type that was proved for it.
    #[error("{engine} gave `{name}` another type: {mismatch}")]
    Output {
        /// The engine.
        engine: String,
        /// The value.
        name: String,
        /// In which way.
        mismatch: Mismatch,
    },
    /// A run gave more or fewer results than the model has outputs.
    #[error("{engine} gave {given} results, not {expected}")]
    OutputCount {
        /// The engine.
        engine: String,
        /// How many outputs were asked for.
        expected: usize,
        /// How many came.
        given: usize,
    },
}

fn at(node: Option<&str>) -> String {
    node.map_or_else(String::new, |node| format!(" at {node}"))
}

impl EngineError {
    /// Whether the engine broke what was proved, rather than refusing: a result of another type than its solved one.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        match self {
            Self::Output { .. } | Self::OutputCount { .. } => true,
            Self::Types(_) | Self::Malformed(_) | Self::NoGraph | Self::Unsolved(_) => false,
            Self::ExternalData { .. } | Self::TooDeep { .. } | Self::Unsupported { .. } => false,
            Self::NoTensor { .. } | Self::NotKept { .. } | Self::Load { .. } => false,
            Self::MissingInput { .. } | Self::UnknownInput { .. } | Self::InputCount { .. } => false,
            Self::Default { .. } | Self::Input { .. } | Self::Failed { .. } => false,
        }
    }
}
