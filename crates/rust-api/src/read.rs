//! Parsing of rustdoc JSON.
//!
//! The format version is parsed first, so that a file of another version is rejected as such and not as
//! malformed. The JSON parser bounds nesting to 128 levels.

use rustdoc_types::{Crate, FORMAT_VERSION, ItemEnum};
use serde::Deserialize;

/// Error of parsing the JSON of a crate.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file ends too early.
    #[error("the file is cut off: it ends at line {line}, column {column}, before the JSON does")]
    Truncated {
        /// Number of the last line.
        line: usize,
        /// Column of the end of the file.
        column: usize,
    },
    /// The bytes are not JSON.
    #[error("not JSON: {message}")]
    NotJson {
        /// Message of the parser, with line and column.
        message: String,
    },
    /// The JSON has no format version.
    #[error("not rustdoc JSON: there is no `format_version`")]
    NoVersion,
    /// The JSON has another version of the format.
    #[error(
        "rustdoc JSON of format version {found}, but this program reads version {FORMAT_VERSION}; \
         write it with Rust 1.95"
    )]
    Version {
        /// The version in the file.
        found: u64,
    },
    /// The JSON does not follow the format: it has an unknown kind of item or type, or a field is missing.
    #[error("not rustdoc JSON of format version {FORMAT_VERSION}: {message}")]
    Malformed {
        /// Message of the parser, with line and column.
        message: String,
    },
}

#[derive(Deserialize)]
struct Header {
    format_version: Option<serde_json::Value>,
}

/// Parses the JSON of a crate.
///
/// # Errors
/// [`ReadError`], with line and column if they are known.
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
    // Other missing items can belong to other crates. A crate without a root would be treated as empty.
    match krate.index.get(&krate.root).map(|root| &root.inner) {
        Some(ItemEnum::Module(_)) => Ok(krate),
        Some(_) | None => Err(ReadError::Malformed {
            message: format!("its root (item {}) is not a module in its index", krate.root.0),
        }),
    }
}
