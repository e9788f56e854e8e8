//! Bounds on what an import accepts.

/// How much a bundle may ask for. The defaults admit any bundle that a real interface produces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the whole bundle.
    pub bytes: usize,
    /// Types, members of groups among them.
    pub types: usize,
    /// Strings in the string table.
    pub strings: usize,
    /// Bytes of one name or label; names are also bounded by [`MAX_NAME`](crate::MAX_NAME).
    pub name_bytes: usize,
    /// Words of one type: children, names and numbers.
    pub arity: usize,
    /// Types on the longest way from a root down; a recursive group counts as one.
    pub depth: u32,
    /// Members of one recursive group.
    pub group: usize,
    /// Types imported by digest.
    pub imports: usize,
    /// Roots.
    pub roots: usize,
    /// Steps spent on minimising recursive groups and on walking the bodies of schemes and declarations.
    pub work: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
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
