//! Errors of reading an object.

use object_store::Error as StoreError;

/// Error of reading an object, as opposed to a problem of the model in it.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The object or the bucket does not exist.
    #[error("`{0}` is not there")]
    NotFound(String),
    /// The store refuses access.
    #[error("no access to `{0}`: {1}")]
    Denied(String, String),
    /// The object was replaced between two reads.
    #[error("`{0}` changed while it was read")]
    Changed(String),
    /// A limit of [`Limits`](crate::Limits) is reached.
    #[error("{0}")]
    Limit(String),
    /// The URL or an option is wrong.
    #[error("{0}")]
    Usage(String),
    /// Any other error of the store or of the connection, after all retries.
    #[error("`{0}`: {1}")]
    Store(String, String),
}

impl FetchError {
    /// Names the object of an error.
    pub(crate) fn of(url: &str, error: StoreError) -> Self {
        let url = url.to_owned();
        match error {
            StoreError::NotFound { .. } => Self::NotFound(url),
            StoreError::Precondition { .. } | StoreError::NotModified { .. } => Self::Changed(url),
            StoreError::PermissionDenied { source, .. } | StoreError::Unauthenticated { source, .. } => {
                Self::Denied(url, source.to_string())
            }
            StoreError::InvalidPath { source } => Self::Usage(format!("`{url}` is no path: {source}")),
            StoreError::UnknownConfigurationKey { key, store } => {
                Self::Usage(format!("{store} has no option `{key}`"))
            }
            other => Self::Store(url, other.to_string()),
        }
    }
}
