//! Errors of reading an object.

use crate::stores::StoreError;

/// Error of reading an object, as opposed to a problem of the model in it.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The object cannot be accessed.
    #[error(transparent)]
    Access(#[from] StoreError),
    /// A limit of [`Limits`](crate::fleet::Limits) is reached.
    #[error("{0}")]
    Limit(String),
}
