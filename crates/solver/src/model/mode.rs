//! The mode of a check, and the values that it follows.

/// Whether values of unresolved type and unknown operators are errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Both are errors.
    #[default]
    Strict,
    /// Both are accepted.
    Permissive,
}

/// The values that decide shapes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FollowedValues {
    /// Stored tensors, and all values that are computed from them and from extents.
    #[default]
    Computed,
    /// Stored tensors only: initializers and the results of nodes without inputs.
    Stored,
}
