//! Errors of operators.

use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

/// Reason for the failure of an operator, without the operator's name.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum KernelErrorKind {
    /// The operator does not support this element type.
    #[error("elements of type {0} are not supported")]
    Dtype(Dtype),
    /// Two inputs have different element types, but must have the same.
    #[error("the inputs are of types {0} and {1}")]
    DtypeMismatch(Dtype, Dtype),
    /// An unsupported form of the operator.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// A required input is missing.
    #[error("input {0} is missing")]
    MissingInput(usize),
    /// An input has the wrong kind, for example a sequence instead of a tensor.
    #[error("input {index} is not {wanted}")]
    InputKind {
        /// Index of the input.
        index: usize,
        /// The expected kind.
        wanted: &'static str,
    },
    /// A required attribute is missing.
    #[error("attribute `{0}` is missing")]
    MissingAttribute(&'static str),
    /// An attribute has the wrong kind.
    #[error("attribute `{name}` is not {wanted}")]
    AttributeKind {
        /// Name of the attribute.
        name: String,
        /// The expected kind.
        wanted: &'static str,
    },
    /// Inputs or attributes are inconsistent.
    #[error("{0}")]
    Invalid(String),
    /// Integer division by zero.
    #[error("integer division by zero")]
    DivisionByZero,
    /// The result exceeds the maximum size of a tensor.
    #[error("the result would have more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The work of the run exceeds its limit.
    #[error("the run would take more than {limit} units of work")]
    TooMuchWork {
        /// The limit in units of [`work`](crate::work).
        limit: u64,
    },
    /// A tensor could not be constructed.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Error returned by an operator.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{op}`: {kind}")]
pub struct KernelError {
    /// Name of the operator.
    pub op: String,
    /// Reason for the failure.
    #[source]
    pub kind: KernelErrorKind,
}

/// Returns an error with this message.
pub(crate) fn invalid<T>(what: impl Into<String>) -> Result<T, KernelErrorKind> {
    Err(KernelErrorKind::Invalid(what.into()))
}
