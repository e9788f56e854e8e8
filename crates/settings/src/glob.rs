//! Globs of paths and of names: the dialect of the crate `globset`.
//!
//! | syntax | matches |
//! |---|---|
//! | `?` | one character |
//! | `*` | any number of characters |
//! | `[ab-z]`, `[!ab-z]` | one character of a set, or one that is not in it |
//! | `{a,b*}` | one of several globs |
//! | `**` as a whole part of a path | any folders: `**/a`, `a/**/b`, `a/**` |
//! | `\?` | the character `?` itself |
//!
//! In globs of paths, `*`, `?` and sets match no `/`.

use globset::{GlobBuilder, GlobMatcher};
use thiserror::Error;

/// The kind of texts that a glob matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Paths separated by `/`. On Windows, `\` in a glob is also a separator.
    Paths,
    /// Names, in which `/` is a character like others.
    Names,
}

/// A syntax error of a glob.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{0}")]
pub struct GlobError(globset::ErrorKind);

/// A parsed glob.
#[derive(Clone, Debug)]
pub struct Glob(GlobMatcher);

impl Glob {
    /// Parses a glob.
    ///
    /// # Errors
    /// A syntax error.
    pub fn parse(text: &str, subject: Subject) -> Result<Self, GlobError> {
        let mut builder = GlobBuilder::new(text);
        match subject {
            Subject::Paths => builder.literal_separator(true),
            Subject::Names => builder.backslash_escape(true),
        };
        let glob = builder.build().map_err(|error| GlobError(error.kind().clone()))?;
        Ok(Self(glob.compile_matcher()))
    }

    /// The text of the glob.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.glob().glob()
    }

    /// Whether the whole text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}
