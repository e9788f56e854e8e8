//! What can go wrong when a model is prepared or run.

use typeloom_cpu::decode::DecodeTensorError;
use typeloom_cpu::error::{Fault, KernelError};
use typeloom_onnx::DecodeError;
use typeloom_rewrite::annotate::AnnotateError;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_wire::stamp::Mismatch;

/// Why a model could not be prepared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PrepareError {
    /// The solved types could not be written into the model.
    #[error("the types cannot be read off the model: {0}")]
    Types(#[from] AnnotateError),
    /// The bytes are no model.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// There is no graph.
    #[error("the model has no graph")]
    NoGraph,
    /// A stored tensor is malformed.
    #[error(transparent)]
    Tensor(#[from] DecodeTensorError),
    /// A tensor that is kept in another file could not be read.
    #[error("the data of `{name}` cannot be read: {reason}")]
    ExternalData {
        /// The tensor.
        name: String,
        /// Why.
        reason: String,
    },
    /// A node reads a value that nothing makes.
    #[error("{node} reads `{value}`, which nothing makes before it")]
    UnknownValue {
        /// The node.
        node: String,
        /// The value.
        value: String,
    },
    /// An operator that holds graphs lacks one.
    #[error("{node} has no graph `{attribute}`")]
    MissingGraph {
        /// The node.
        node: String,
        /// The attribute.
        attribute: &'static str,
    },
    /// Graphs or functions are nested too deeply, or a function calls itself.
    #[error("{node} is nested more than {limit} graphs and functions deep")]
    TooDeep {
        /// The node.
        node: String,
        /// The most that is accepted.
        limit: usize,
    },
    /// A model whose functions multiply beyond what is reasonable.
    #[error("the functions of the model unfold to more than {limit} nodes")]
    TooManyNodes {
        /// The most that is accepted.
        limit: usize,
    },
}

/// Why a run ended without a result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RunError {
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
    /// An input is not of the type that was proved for it.
    #[error("input `{name}`: {mismatch}")]
    Input {
        /// The input.
        name: String,
        /// In which way.
        mismatch: Mismatch,
    },
    /// The extents of the inputs violate a condition that the model places on its symbols.
    #[error("the model runs only where {condition}, but {}", bound(symbols))]
    Precondition {
        /// The condition.
        condition: String,
        /// The extents of the symbols.
        symbols: Vec<(String, usize)>,
    },
    /// A node failed.
    #[error("{node}: {fault}")]
    Node {
        /// The node.
        node: String,
        /// In which way.
        fault: NodeFault,
    },
}

/// Extents of symbols as text: `batch = 2 and seq = 3`.
fn bound(symbols: &[(String, usize)]) -> String {
    let parts: Vec<String> = symbols.iter().map(|(name, extent)| format!("{name} = {extent}")).collect();
    parts.join(" and ")
}

impl PrepareError {
    /// Whether the cause is a limit of the budget, see [`Limits`](crate::session::Limits).
    #[must_use]
    pub fn exceeds_budget(&self) -> bool {
        match self {
            Self::Tensor(error) => match error {
                DecodeTensorError::Elements { error, .. } => matches!(error, TensorError::OverBudget { .. }),
                _ => false,
            },
            Self::Types(_)
            | Self::Malformed(_)
            | Self::NoGraph
            | Self::ExternalData { .. }
            | Self::UnknownValue { .. }
            | Self::MissingGraph { .. }
            | Self::TooDeep { .. }
            | Self::TooManyNodes { .. } => false,
        }
    }
}

impl RunError {
    /// Whether the cause is a limit of the budget, see [`Limits`](crate::session::Limits).
    #[must_use]
    pub fn exceeds_budget(&self) -> bool {
        let mut error = self;
        loop {
            let Self::Node { fault, .. } = error else { return false };
            match fault {
                NodeFault::Inside(inner) => error = inner,
                NodeFault::TooManySteps { .. } => return true,
                NodeFault::Kernel(KernelError { fault, .. }) => {
                    return matches!(fault, Fault::Tensor(TensorError::OverBudget { .. }));
                }
                NodeFault::UnknownOperator { .. }
                | NodeFault::Panicked(_)
                | NodeFault::NoValue(_)
                | NodeFault::TooManyTurns { .. }
                | NodeFault::ControlFlow(_)
                | NodeFault::Mismatch { .. } => return false,
            }
        }
    }
}

/// How a node failed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NodeFault {
    /// The operator could not be computed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// Nothing here runs the operator.
    #[error("operator `{op}` of domain `{domain}` is not supported")]
    UnknownOperator {
        /// The domain.
        domain: String,
        /// The operator.
        op: String,
    },
    /// The component panicked.
    #[error("the operator panicked: {0}")]
    Panicked(String),
    /// A value that the node reads was never made.
    #[error("`{0}` has no value")]
    NoValue(String),
    /// Loops took more turns than the session allows.
    #[error("the loops of the model took more turns than the limit of {limit}")]
    TooManyTurns {
        /// The most that are allowed.
        limit: u64,
    },
    /// The run took more steps than the session allows.
    #[error("the run took more steps than the limit of {limit}")]
    TooManySteps {
        /// The most that are allowed.
        limit: u64,
    },
    /// Control flow was given something that it cannot work with.
    #[error("{0}")]
    ControlFlow(String),
    /// A result is not of the type that was proved for it.
    #[error("output `{value}`: {mismatch}")]
    Mismatch {
        /// The value.
        value: String,
        /// In which way.
        mismatch: Mismatch,
    },
    /// A node of a graph inside failed.
    #[error("{0}")]
    Inside(Box<RunError>),
}
