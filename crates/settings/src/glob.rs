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
//!
//! **Limits:** a glob has at most [`MAX_LENGTH`] bytes. The automaton of a glob takes a multiple of its
//! length in memory, so globs of files that are not trusted are compiled together (`Globs`) or replaced by
//! what they match ([`Selector`](crate::levels::Selector)), and their number is bounded.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use thiserror::Error;

/// The kind of texts that a glob matches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Paths separated by `/`. On Windows, `\` in a glob is also a separator.
    Paths,
    /// Names, in which `/` is a character like others.
    Names,
}

/// The longest glob, in bytes: longer than a path of usual systems.
pub const MAX_LENGTH: usize = 4096;

/// Error of a glob.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum GlobError {
    /// A syntax error.
    #[error("{0}")]
    Syntax(globset::ErrorKind),
    /// It is longer than [`MAX_LENGTH`].
    #[error("it has {length} bytes, more than {MAX_LENGTH}")]
    Length {
        /// Its length in bytes.
        length: usize,
    },
    /// The automaton is larger than the limit of the crate `regex`.
    #[error("it is too large: {0}")]
    Size(globset::ErrorKind),
}

/// A parsed glob.
#[derive(Clone, Debug)]
pub struct Glob(Globs);

impl Glob {
    /// Parses a glob.
    ///
    /// # Errors
    /// [`GlobError`].
    pub fn parse(text: &str, subject: Subject) -> Result<Self, GlobError> {
        Globs::compile([parsed(text, subject)?]).map(Self)
    }

    /// Whether the whole text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.0.0.is_match(text)
    }
}

/// Checks the syntax of a glob without compiling it.
pub(crate) fn parsed(text: &str, subject: Subject) -> Result<globset::Glob, GlobError> {
    if text.len() > MAX_LENGTH {
        return Err(GlobError::Length { length: text.len() });
    }
    let mut builder = GlobBuilder::new(text);
    match subject {
        Subject::Paths => builder.literal_separator(true),
        Subject::Names => builder.backslash_escape(true),
    };
    builder.build().map_err(|error| GlobError::Syntax(error.kind().clone()))
}

/// Globs that are compiled together.
#[derive(Clone, Debug)]
pub(crate) struct Globs(GlobSet);

impl Globs {
    /// Compiles globs.
    pub(crate) fn compile(globs: impl IntoIterator<Item = globset::Glob>) -> Result<Self, GlobError> {
        let mut builder = GlobSetBuilder::new();
        for glob in globs {
            builder.add(glob);
        }
        builder.build().map(Self).map_err(|error| GlobError::Size(error.kind().clone()))
    }

    /// The positions of the globs that match the whole text.
    pub(crate) fn matches(&self, text: &str) -> Vec<usize> {
        self.0.matches(text)
    }
}
