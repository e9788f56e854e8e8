//! Errors of a store.

use object_store::Error as Cause;

/// Error of accessing an object, which each variant names by its URL.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The object does not exist.
    #[error("`{0}` is not there")]
    NotFound(String),
    /// The bucket or container of the object does not exist.
    #[error("the bucket of `{0}` does not exist")]
    NoBucket(String),
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
    /// A file of a local folder is no regular file.
    #[error("`{0}` is {1}; a folder of objects has regular files and folders only")]
    Irregular(String, &'static str),
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
            _ if is_of_bucket(&error) => Self::NoBucket(url),
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

/// Whether the reason is that the bucket does not exist. Stores state it in the body of the answer only.
pub(crate) fn is_of_bucket(error: &Cause) -> bool {
    let Cause::NotFound { source, .. } = error else { return false };
    let text = source.to_string();
    // Amazon S3, Azure and Google Cloud Storage.
    ["NoSuchBucket", "ContainerNotFound", "specified bucket does not exist"]
        .iter()
        .any(|code| text.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_bucket_differs_from_a_missing_object() {
        let of = |body: &str| {
            let error = Cause::NotFound { path: "k".to_owned(), source: body.to_owned().into() };
            StoreError::of("s3://b/k", error).to_string()
        };
        assert_eq!(of("404: <Error><Code>NoSuchKey</Code></Error>"), "`s3://b/k` is not there");
        assert_eq!(
            of("404: <Error><Code>NoSuchBucket</Code></Error>"),
            "the bucket of `s3://b/k` does not exist"
        );
    }
}
