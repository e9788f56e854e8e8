//! Reasons why bytes are not a compiled program.

use typeloom_interface::{EncodeError, NotAnInterface};
use typeloom_onnx::DecodeError;
use typeloom_pool::{ImportError, NotPortable, ReconstructError};
use typeloom_program::read::ReadError;

/// Reason why bytes are not a compiled program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotAnArtifact {
    /// The bytes are no model.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The model is no program.
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the model contains no interface: it was not compiled")]
    NoInterface,
    #[error("the interface is not in hexadecimal")]
    InterfaceNotHex,
    #[error("function `{name}` is not in hexadecimal")]
    FunctionNotHex { name: String },
    #[error("function `{name}` has functions or a second program")]
    NestedFunctions { name: String },
    #[error("the interface has no export `{name}`")]
    NoExport { name: String },
    /// The interface is no bundle.
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Reconstruct(#[from] ReconstructError),
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    /// The types of the program cannot be encoded.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// The interface describes no program.
    #[error(transparent)]
    Interface(#[from] NotAnInterface),
}
