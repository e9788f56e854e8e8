//! Limits of an import.

/// Limits of an import. The defaults accept any bundle of a real interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportLimits {
    /// Maximum number of bytes of the bundle.
    pub bytes: usize,
    /// Maximum number of types, including members of groups.
    pub types: usize,
    /// Maximum number of strings in the string table.
    pub strings: usize,
    /// Maximum number of bytes of one name or label; [`MAX_NAME`](crate::MAX_NAME) also bounds names.
    pub name_bytes: usize,
    /// Maximum number of words in one type: children, names and numbers.
    pub arity: usize,
    /// Maximum number of types on a path from a root; a recursive group counts as one.
    pub depth: u32,
    /// Maximum number of members of one recursive group.
    pub group: usize,
    /// Maximum number of types imported by digest.
    pub imports: usize,
    /// Maximum number of roots.
    pub roots: usize,
    /// Maximum number of steps for minimizing recursive groups and walking the bodies of schemes and
    /// declarations.
    pub work: u64,
}

impl Default for ImportLimits {
    fn default() -> Self {
        ImportLimits {
            bytes: 1 << 28,
            types: 1 << 24,
            strings: 1 << 22,
            name_bytes: crate::name::MAX_NAME,
            arity: 1 << 16,
            depth: 1 << 14,
            group: 1 << 14,
            imports: 1 << 20,
            roots: 1 << 20,
            work: 1 << 28,
        }
    }
}
