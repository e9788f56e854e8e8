//! The mode of a check.

/// Whether values of unresolved type and unknown operators are errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Both are errors.
    #[default]
    Strict,
    /// Both are accepted.
    Permissive,
}
