//! Errors of a store.

use object_store::Error as Cause;

/// Error of accessing an object, which each variant names by its URL.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The object or the bucket does not exist.
    #[error("`{0}` is not there")]
    NotFound(String),
    /// The store refuses access.
    #[error("no access to `{0}`: {1}")]
    Denied(String, String),
    /// The object was replaced between two reads.
    #[error("`{0}` changed while it was read")]
    Changed(String),
    /// The object has more bytes than the caller accepts.
    #[error("`{0}` has {1} bytes, more than {2}")]
    TooLarge(String, u64, u64),
    /// A folder has more objects than the caller accepts.
    #[error("`{0}` has more than {1} objects")]
    TooMany(String, usize),
    /// The URL or an option is wrong.
    #[error("{0}")]
    Usage(String),
    /// Any other error of the store or of the connection, after all retries.
    #[error("`{0}`: {1}")]
    Store(String, String),
}

impl StoreError {
    /// Names the object of an error.
    #[must_use]
    pub fn of(url: &str, error: Cause) -> Self {
        let url = url.to_owned();
        match error {
            Cause::NotFound { .. } => Self::NotFound(url),
            Cause::Precondition { .. } | Cause::NotModified { .. } => Self::Changed(url),
            Cause::PermissionDenied { source, .. } | Cause::Unauthenticated { source, .. } => {
                Self::Denied(url, source.to_string())
            }
            Cause::InvalidPath { source } => Self::Usage(format!("`{url}` is no path: {source}")),
            Cause::UnknownConfigurationKey { key, store } => {
                Self::Usage(format!("{store} has no option `{key}`"))
            }
            other => Self::Store(url, other.to_string()),
        }
    }
}
