//! Reasons why an interface cannot be described.

use typeloom_interface::EncodeError;
use typeloom_pool::{ExportError, NotPortable, PoolError, ReconstructError};

/// Reason why an interface cannot be described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInterface {
    #[error("the name `{name}` begins with `{prefix}`, which is reserved for other exports")]
    ReservedName { name: String, prefix: &'static str },
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(transparent)]
    Pool(#[from] PoolError),
    #[error(transparent)]
    NotPortable(#[from] NotPortable),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Reconstruct(#[from] ReconstructError),
}
