//! Errors of writing and reading contracts.

use crate::Format;
use crate::signature::{MAX_RANK, Side};

/// Error of writing a contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// An input or output that the format cannot describe.
    #[error("{side} `{port}` {reason}")]
    Port {
        /// The list of the port.
        side: Side,
        /// Its name.
        port: String,
        /// The reason.
        reason: Reason,
    },
    /// The model has neither inputs nor outputs, so it has no axis of batches.
    #[error("a model without inputs and outputs has no batches")]
    NoBatches,
    /// Only one format has batches.
    #[error("only `{}` has a maximum batch size", Format::Triton)]
    MaxBatch,
}

/// The reason why a format cannot describe an input or output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The type is no dense tensor.
    #[error("has the type `{ty}`, and serving formats describe dense tensors only")]
    NotATensor {
        /// The type.
        ty: String,
    },
    /// The element type is not one element type of ONNX.
    #[error("has the type `{ty}`, whose element type is not a single one of ONNX")]
    Element {
        /// The type.
        ty: String,
    },
    /// The format lacks the element type.
    #[error("has the element type {element}, which {format} cannot express")]
    Unsupported {
        /// The name of the element type in ONNX.
        element: &'static str,
        /// The format.
        format: Format,
    },
    /// The format needs the rank.
    #[error("has an unknown rank, which {format} cannot express")]
    Unranked {
        /// The format.
        format: Format,
    },
    /// The format has no tensors of this shape.
    #[error("has no elements, because axis {axis} is 0, which {format} cannot express")]
    Empty {
        /// The axis.
        axis: usize,
        /// The format.
        format: Format,
    },
    /// There are too many axes.
    #[error("has {rank} axes, and the limit is {MAX_RANK}")]
    TooManyAxes {
        /// The number of axes.
        rank: usize,
    },
    /// The format needs a name.
    #[error("has an empty name, which {format} cannot express")]
    NoName {
        /// The format.
        format: Format,
    },
    /// Two ports have the name.
    #[error("occurs twice")]
    Duplicate,
    /// The first axis is not the symbol that all others begin with.
    #[error("has the type `{ty}`, whose first axis is not proved to be {batch}")]
    Batch {
        /// The type.
        ty: String,
        /// The expected axis.
        batch: String,
    },
    /// Another axis depends on the size of the batch.
    #[error("has the type `{ty}`, whose axis {axis} depends on the batch size `{batch}` too")]
    BatchInside {
        /// The type.
        ty: String,
        /// The axis.
        axis: usize,
        /// The symbol.
        batch: String,
    },
}

/// Error of reading a contract.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The content is none of the formats.
    #[error(
        "the file is no Triton configuration, no metadata of the Open Inference Protocol and no MLflow signature"
    )]
    Unknown,
    /// The format is only written.
    #[error("contracts of the format {0} cannot be read")]
    WriteOnly(Format),
    /// The file is too large.
    #[error("the file has {length} bytes, and the limit is {limit}")]
    TooLarge {
        /// The number of bytes.
        length: usize,
        /// The limit.
        limit: usize,
    },
    /// The file is not text.
    #[error("the file is not UTF-8")]
    NotUtf8,
    /// A problem of syntax or of a field, at a position.
    #[error("line {line}, column {column}: {message}")]
    At {
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// The problem.
        message: String,
    },
    /// A problem of JSON without a position.
    #[error("{path}: {message}")]
    Json {
        /// The path in the document, such as `inputs[0].shape`.
        path: String,
        /// The problem.
        message: String,
    },
    /// Two inputs, or two outputs, have one name.
    #[error("`{0}` is listed twice")]
    Duplicate(String),
    /// The contract has no inputs and outputs.
    #[error("the contract lists no inputs and outputs, so there is nothing to compare")]
    NoPorts,
}
