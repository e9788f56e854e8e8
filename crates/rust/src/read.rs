//! rustdoc JSON, from bytes.
//!
//! The version is read first and on its own, so that a file of another version is named as such and not reported as
//! malformed in some odd place. Nesting is bounded by the JSON reader (128 levels).

use rustdoc_types::{Crate, FORMAT_VERSION};
use serde::Deserialize;

/// Why bytes are not the JSON of a crate.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file ends too early.
    #[error("the file is cut off: it ends at line {line}, column {column}, in the middle of a value")]
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
        found: u32,
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
    format_version: Option<u32>,
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
            Category::Data => ReadError::NoVersion,
            Category::Syntax | Category::Io => ReadError::NotJson { message: error.to_string() },
        }
    })?;
    match header.format_version {
        None => Err(ReadError::NoVersion),
        Some(FORMAT_VERSION) => {
            serde_json::from_slice(bytes).map_err(|error| ReadError::Malformed { message: error.to_string() })
        }
        Some(found) => Err(ReadError::Version { found }),
    }
}
