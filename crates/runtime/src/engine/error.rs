//! Errors of engines.

use crate::named::UnknownName;
use typeloom_onnx::DecodeError;
use typeloom_rewrite::annotate::AnnotateError;
use typeloom_solver::diagnostic::{Code, Diagnostic, Location, diagnose_bytes, diagnose_external_data};
use typeloom_tensor::value_check::Mismatch;
use typeloom_types::plural::counted;

use crate::literal::LiteralError;

/// Error of an engine.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// The solved types could not be written into the model.
    #[error("the solved types cannot be written into the model: {0}")]
    Types(#[from] AnnotateError),
    /// The bytes are not a model.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The model has no graph.
    #[error("the model has no graph")]
    NoGraph,
    /// The graph does not type-check.
    #[error("the graph has no solved types: {0}")]
    Unsolved(String),
    /// The data of a tensor in another file could not be read.
    #[error("the data of `{name}` cannot be read: {reason}")]
    ExternalData { name: String, reason: String },
    /// Graphs are nested too deeply.
    #[error("graphs are nested more than {limit} deep")]
    TooDeep {
        /// The largest accepted depth.
        limit: usize,
    },
    /// The engine does not run an operator on these types.
    #[error("{engine} does not run `{operator}` on {types} ({node}): {reason}")]
    Unsupported {
        engine: String,
        node: String,
        /// The operator, with its domain unless that is ONNX's.
        operator: String,
        types: String,
        reason: String,
    },
    /// An input or output is not a tensor.
    #[error("{engine} supports tensors only: `{name}` is {found}")]
    NoTensor { engine: String, name: String, found: String },
    /// The engine reports another type for a value than the solved one.
    #[error("{engine} does not keep the type of `{value}`, which `{operator}` makes: {mismatch}")]
    NotKept { engine: String, value: String, operator: String, mismatch: Mismatch },
    /// The engine rejects the model without naming a node.
    #[error("{engine} rejects the model: {reason}")]
    Load { engine: String, reason: String },
    /// An input without a default is missing.
    #[error("input `{name}` is missing")]
    MissingInput { name: String },
    /// An unknown input was given.
    #[error("the model has {unknown}")]
    UnknownInput { unknown: UnknownName },
    /// The number of tensors differs from the number of inputs.
    #[error("the graph has {}, not {given}", counted(*expected, "input"))]
    InputCount { expected: usize, given: usize },
    /// The default of an input cannot be replaced.
    #[error("{engine} cannot replace the default value of `{name}`")]
    Default { engine: String, name: String },
    /// An input is not of its solved type.
    #[error("input `{name}`: {mismatch}")]
    Input { name: String, mismatch: Mismatch },
    /// Numbers that the element type of an input does not contain.
    #[error("input `{name}`: {error}")]
    Literal { name: String, error: LiteralError },
    /// A run failed.
    #[error("{engine} failed{}: {reason}", at(node.as_deref()))]
    Failed {
        engine: String,
        /// The node, if the engine names it.
        node: Option<String>,
        reason: String,
    },
    /// A result is not of its solved type.
    #[error("{engine} returned `{name}` with another type: {mismatch}")]
    Output { engine: String, name: String, mismatch: Mismatch },
    /// The number of results differs from the number of outputs.
    #[error("{engine} returned {}, not {expected}", counted(*given, "result"))]
    OutputCount { engine: String, expected: usize, given: usize },
}

fn at(node: Option<&str>) -> String {
    node.map_or_else(String::new, |node| format!(" at {node}"))
}

impl EngineError {
    /// The diagnostics of an error that concerns the model; errors of inputs and of the engine have none.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match self {
            Self::Malformed(error) => return vec![diagnose_bytes(error)],
            Self::ExternalData { name, reason } => return vec![diagnose_external_data(name, reason)],
            Self::NoGraph => Code::MalformedFile,
            Self::TooDeep { .. } => Code::NestingTooDeep,
            Self::Types(_) | Self::Unsolved(_) => Code::UnresolvedType,
            Self::Unsupported { .. } | Self::NoTensor { .. } | Self::NotKept { .. } | Self::Load { .. } => {
                Code::UnsupportedNode
            }
            Self::MissingInput { .. } | Self::UnknownInput { .. } | Self::InputCount { .. } => {
                return Vec::new();
            }
            Self::Default { .. } | Self::Input { .. } | Self::Literal { .. } | Self::Failed { .. } => {
                return Vec::new();
            }
            Self::Output { .. } | Self::OutputCount { .. } => return Vec::new(),
        };
        vec![Diagnostic::new(code, self.to_string(), Location::default())]
    }

    /// Whether a result of the engine contradicts its solved type. All other errors are refusals.
    #[must_use]
    pub fn is_contradiction(&self) -> bool {
        matches!(self, Self::Output { .. } | Self::OutputCount { .. })
    }
}
