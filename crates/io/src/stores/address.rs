//! URLs of stores.

use std::path::PathBuf;

use object_store::path::Path as Key;

use crate::stores::error::StoreError;

/// The provider of an object store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheme {
    Amazon,
    Google,
    Azure,
}

/// An object of a bucket.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Remote<'u> {
    pub(crate) scheme: Scheme,
    /// The URL of the bucket.
    pub(crate) root: &'u str,
    key: &'u str,
}

impl<'u> Remote<'u> {
    /// The parts of a URL; `None` if it has another scheme or none.
    pub(crate) fn parse(url: &'u str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let scheme = match scheme {
            "s3" | "s3a" => Scheme::Amazon,
            "gs" => Scheme::Google,
            "az" | "abfs" | "abfss" => Scheme::Azure,
            _ => return None,
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let root = &url[..url.len() - rest.len() + bucket.len()];
        Some(Self { scheme, root, key })
    }

    pub(crate) fn key(&self, url: &str) -> Result<Key, StoreError> {
        Key::parse(self.key).map_err(|error| StoreError::of(url, error.into()))
    }
}

/// Whether a text is a URL of an object store, rather than a path.
#[must_use]
pub fn is_remote(url: &str) -> bool {
    Remote::parse(url).is_some()
}

/// The folder of a path or of a `file` URL.
pub(crate) fn local(url: &str) -> Result<PathBuf, StoreError> {
    let Some((scheme, path)) = url.split_once("://") else { return Ok(PathBuf::from(url)) };
    match (scheme, path.strip_prefix('/')) {
        // `file:///C:/registry` is a path of Windows.
        ("file", Some(path)) if cfg!(windows) => Ok(PathBuf::from(path)),
        ("file", Some(_)) => Ok(PathBuf::from(path)),
        ("file", None) => {
            Err(StoreError::Usage(format!("`{url}` is not a folder of this machine: `file:///FOLDER`")))
        }
        _ => Err(unknown(url)),
    }
}

pub(crate) fn unknown(url: &str) -> StoreError {
    StoreError::Usage(format!("`{url}` is not a URL of a supported object store (s3, gs, az)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_and_paths_are_distinguished() {
        assert!(
            ["s3://b/k", "gs://b/k", "az://c/k", "abfss://c@a.dfs.core.windows.net/k"]
                .into_iter()
                .all(is_remote)
        );
        assert!(!["model.onnx", "/tmp/s3/model.onnx", "C:\\m.onnx", "file:///m"].into_iter().any(is_remote));
    }

    #[test]
    fn a_url_of_a_bucket_has_no_key() {
        let of = |url| Remote::parse(url).map(|remote| (remote.root, remote.key));
        assert_eq!(of("s3://bucket"), Some(("s3://bucket", "")));
        assert_eq!(of("s3://bucket/a/b"), Some(("s3://bucket", "a/b")));
    }

    #[test]
    fn a_folder_is_a_path_or_a_file_url() {
        assert_eq!(local("a/b").ok(), Some(PathBuf::from("a/b")));
        assert!(local("file:///a").is_ok_and(|path| path.ends_with("a")));
        assert!(matches!(local("file://a"), Err(StoreError::Usage(_))));
        assert!(matches!(local("http://a"), Err(StoreError::Usage(_))));
    }
}
