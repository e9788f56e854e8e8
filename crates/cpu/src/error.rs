//! What can go wrong when an operator runs.

use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

/// Why an operator gave no result, without the operator's name.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The operator does not compute elements of this type.
    #[error("elements of type {0} are not supported")]
    Dtype(Dtype),
    /// Two inputs that must have one element type have two.
    #[error("the inputs are of types {0} and {1}")]
    DtypeMismatch(Dtype, Dtype),
    /// A form of the operator that is not supported.
    #[error("{0} is not supported")]
    Unsupported(String),
    /// An input that must be there is not.
    #[error("input {0} is missing")]
    MissingInput(usize),
    /// An input is a sequence where a tensor is wanted, or the like.
    #[error("input {index} is not {wanted}")]
    InputKind {
        /// Which input.
        index: usize,
        /// What it should be.
        wanted: &'static str,
    },
    /// An attribute that must be there is not.
    #[error("attribute `{0}` is missing")]
    MissingAttribute(&'static str),
    /// An attribute is of another kind than the operator's.
    #[error("attribute `{name}` is not {wanted}")]
    AttributeKind {
        /// Its name.
        name: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// Inputs or attributes do not fit each other.
    #[error("{0}")]
    Invalid(String),
    /// A whole number is divided by zero.
    #[error("a whole number is divided by zero")]
    DivisionByZero,
    /// The result would take more memory than one tensor may.
    #[error("the result would have more than {limit} bytes")]
    TooLarge {
        /// The most that one tensor may take.
        limit: usize,
    },
    /// A tensor could not be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Why an operator gave no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{op}`: {fault}")]
pub struct KernelError {
    /// The operator.
    pub op: String,
    /// What is wrong.
    #[source]
    pub fault: Fault,
}

/// A fault in words.
pub(crate) fn invalid<T>(what: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Invalid(what.into()))
}
