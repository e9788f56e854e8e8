//! rustdoc JSON, from bytes.
//!
//! The version is read first and on its own, so that a file of another version is named as such and not reported as
//! malformed in some odd place. Nesting is bounded by the JSON reader (128 levels).

use rustdoc_types::{Crate, FORMAT_VERSION, ItemEnum};
use serde::Deserialize;

/// Why bytes are not the JSON of a crate.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file ends too early.
    #[error("the file is cut off: it ends at line {line}, column {column}, before the JSON does")]
    Truncated {
        /// The last line.
        line: usize,
        /// Where it ends.
        column: usize,
    },
    /// It is not JSON.
    #[error("not JSON: {message}")]
    NotJson {
        /// What the reader says, with line and column.
        message: String,
    },
    /// It is JSON, of something else.
    #[error("not rustdoc JSON: there is no `format_version`")]
    NoVersion,
    /// It is of another version of the format.
    #[error(
        "rustdoc JSON of format version {found}, but this program reads version {FORMAT_VERSION}; \
         write it with Rust 1.95"
    )]
    Version {
        /// The version that the file names.
        found: u64,
    },
    /// It is of the right version, but has something that the format does not: an unknown kind of item or type, or a
    /// missing field.
    #[error("not what rustdoc writes as format version {FORMAT_VERSION}: {message}")]
    Malformed {
        /// What the reader says, with line and column.
        message: String,
    },
}

#[derive(Deserialize)]
struct Header {
    format_version: Option<serde_json::Value>,
}

/// Reads a crate.
///
/// # Errors
/// [`ReadError`], with the place where there is one.
pub fn read(bytes: &[u8]) -> Result<Crate, ReadError> {
    let header: Header = serde_json::from_slice(bytes).map_err(|error| {
        use serde_json::error::Category;
        match error.classify() {
            Category::Eof => ReadError::Truncated { line: error.line(), column: error.column() },
            Category::Data if error.to_string().starts_with("duplicate") => {
                ReadError::Malformed { message: error.to_string() }
            }
            Category::Data => ReadError::NoVersion,
            Category::Syntax | Category::Io => ReadError::NotJson { message: error.to_string() },
        }
    })?;
    let Some(version) = header.format_version else { return Err(ReadError::NoVersion) };
    match version.as_u64() {
        Some(found) if found == u64::from(FORMAT_VERSION) => {}
        Some(found) => return Err(ReadError::Version { found }),
        None => return Err(ReadError::Malformed { message: format!("`format_version` is {version}") }),
    }
    let krate: Crate =
        serde_json::from_slice(bytes).map_err(|error| ReadError::Malformed { message: error.to_string() })?;
    // Whatever else is missing may be of another crate; without its root, a crate would pass for an empty one.
    match krate.index.get(&krate.root).map(|root| &root.inner) {
        Some(ItemEnum::Module(_)) => Ok(krate),
        Some(_) | None => Err(ReadError::Malformed {
            message: format!("its root (item {}) is not a module in its index", krate.root.0),
        }),
    }
}
