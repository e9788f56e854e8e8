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

/// The results of a check that the caller uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Detail {
    /// Types, errors with their causes, and conditions on symbols.
    #[default]
    Full,
    /// Types, with declared shapes assumed where nothing confirms or refutes them. In a model with such a
    /// shape no type counts as proved. Nodes in error are found, because they change types, but without
    /// causes and similar names. The outputs of branches that differ in shape are joined, without a solve for
    /// each case. Conditions on symbols are not decided, so a model that runs for no binding of its symbols
    /// has no error for it. Nested graphs that decide no type of their node are not typed, see
    /// [`GraphTypes::Check`](crate::rule::GraphTypes::Check). Other errors that change no type are left out
    /// too: versions of operator sets, extents that overflow, and warnings.
    Types,
}
