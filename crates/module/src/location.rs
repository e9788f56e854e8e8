//! Source locations in the program that records a module.

use std::fmt;
use std::panic::Location;

/// A location in a Rust program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceLocation {
    /// The path as the Rust compiler prints it.
    pub file: &'static str,
    pub line: u32,
    pub column: u32,
}

impl SourceLocation {
    /// Returns the location of the caller.
    #[must_use]
    #[track_caller]
    pub fn here() -> Self {
        let at = Location::caller();
        Self { file: at.file(), line: at.line(), column: at.column() }
    }
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}
