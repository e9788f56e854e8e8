//! Metadata cached on every node: flags, depth, free binders, weight.
//!
//! **Invariant:** the metadata of a node is a function of its content, computed once when the node is built.
//! Traversals use it to skip terms that they cannot change: shifting a closed term or resolving a term
//! without variables is O(1).

use crate::binder::BoundVar;

/// Maximum depth of a term. Constructors refuse deeper terms.
///
/// The bound makes recursion over one term safe: 256 levels of the deepest recursion in this crate (relating
/// binders in an unoptimized build) fit in half of a 2 MiB thread stack. It is twice rustc's default
/// recursion limit.
pub const MAX_DEPTH: u16 = 256;

/// Weight from which a term counts as large: traversals cache such nodes in every family.
pub const LARGE: u16 = 4096;

/// Error of building a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TermError {
    /// The term would be deeper than [`MAX_DEPTH`].
    #[error("the type is nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// A bound variable refers to a binder beyond the maximum depth.
    #[error("a bound variable refers to a binder more than {MAX_DEPTH} levels out")]
    BinderTooFar,
    /// A binder was instantiated with too few arguments of one kind.
    #[error("bound variable {} of the binder has no argument", .0.index)]
    Unbound(BoundVar),
    /// More universes or variables than 32 bits can number.
    #[error("there are more than 4294967295 variables or universes")]
    TooMany,
    /// A goal with more than [`MAX_GOALS`](crate::goal::MAX_GOALS) parts.
    #[error("a goal has more than {} parts", crate::goal::MAX_GOALS)]
    LargeGoal,
    /// A function without a result type, or with an argument that is not a type.
    #[error("a function needs types for its parameters and a result type at the end")]
    NotASignature,
}

/// Properties of a term, as a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// Mentions a type variable of an inference table.
    pub const TY_INFER: Self = Self(1 << 0);
    /// Mentions a region variable of an inference table.
    pub const REGION_INFER: Self = Self(1 << 1);
    /// Mentions a constant variable of an inference table.
    pub const CONST_INFER: Self = Self(1 << 2);
    /// Mentions a canonical variable of any kind.
    pub const CANONICAL: Self = Self(1 << 3);
    /// Mentions a type placeholder.
    pub const TY_PLACEHOLDER: Self = Self(1 << 4);
    /// Mentions a region placeholder.
    pub const REGION_PLACEHOLDER: Self = Self(1 << 5);
    /// Mentions a constant placeholder.
    pub const CONST_PLACEHOLDER: Self = Self(1 << 6);
    /// Mentions a placeholder of a universe above the root.
    pub const INNER_UNIVERSE: Self = Self(1 << 7);
    /// Mentions an alias of a type or constant.
    pub const ALIAS: Self = Self(1 << 8);
    /// Contains an error.
    pub const ERROR: Self = Self(1 << 9);
    /// Mentions a region that is not bound inside the term, including `'static`.
    pub const FREE_REGION: Self = Self(1 << 10);
    /// Contains a binder or an existential type.
    pub const BINDER: Self = Self(1 << 11);
    /// Contains a constant expression that may be evaluated.
    pub const CONST_EXPR: Self = Self(1 << 12);

    /// Variables of an inference table, of any kind.
    pub const INFER: Self = Self(Self::TY_INFER.0 | Self::REGION_INFER.0 | Self::CONST_INFER.0);
    /// Placeholders of any kind.
    pub const PLACEHOLDER: Self =
        Self(Self::TY_PLACEHOLDER.0 | Self::REGION_PLACEHOLDER.0 | Self::CONST_PLACEHOLDER.0);

    /// Returns the union of both sets.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets have a property in common.
    #[inline]
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [&str; 13] = [
            "ty-infer",
            "region-infer",
            "const-infer",
            "canonical",
            "ty-placeholder",
            "region-placeholder",
            "const-placeholder",
            "inner-universe",
            "alias",
            "error",
            "free-region",
            "binder",
            "const-expr",
        ];
        let set = NAMES.iter().enumerate().filter(|(bit, _)| self.0 & (1 << bit) != 0);
        f.debug_set().entries(set.map(|(_, name)| name)).finish()
    }
}

/// Cached metadata of a node, 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Meta {
    /// Properties of the term.
    pub flags: Flags,
    /// Nesting depth; a term without children has depth 1.
    pub depth: u16,
    /// Number of enclosing binders that the term's free bound variables reach; 0 for a closed term.
    pub outer: u16,
    /// Number of nodes of the term written out as a tree, at most 65535.
    pub weight: u16,
}

impl Meta {
    /// Creates the metadata of a leaf.
    #[inline]
    #[must_use]
    pub const fn leaf(flags: Flags) -> Self {
        Self { flags, depth: 1, outer: 0, weight: 1 }
    }

    /// Equality in one comparison of eight bytes.
    #[inline(always)]
    pub(crate) fn is(self, other: Self) -> bool {
        let bits = |meta: Self| {
            let [a, b, c, d] = [meta.flags.0, meta.depth, meta.outer, meta.weight].map(u64::from);
            a | b << 16 | c << 32 | d << 48
        };
        bits(self) == bits(other)
    }

    /// Whether all bound variables of the term are bound inside it.
    #[inline]
    #[must_use]
    pub const fn is_closed(self) -> bool {
        self.outer == 0
    }
}

/// Accumulates the metadata of a node from its children.
#[derive(Clone, Copy, Debug)]
pub struct MetaBuilder {
    flags: Flags,
    depth: u16,
    outer: u32,
    weight: u16,
}

impl MetaBuilder {
    /// Starts a node with these flags and no children.
    #[inline]
    #[must_use]
    pub fn new(flags: Flags) -> Self {
        Self { flags, depth: 0, outer: 0, weight: 1 }
    }

    /// Adds a child that is under `binders` binders of this node.
    #[inline]
    pub fn child(&mut self, meta: Meta, binders: u32) {
        self.flags = self.flags.union(meta.flags);
        self.depth = self.depth.max(meta.depth);
        self.outer = self.outer.max(u32::from(meta.outer).saturating_sub(binders));
        self.weight = self.weight.saturating_add(meta.weight);
    }

    /// Adds a bound variable that is this node itself.
    #[inline]
    pub fn bound(&mut self, var: BoundVar) {
        self.outer = self.outer.max(var.depth.0.saturating_add(1));
    }

    /// Returns the metadata, or the error if the node must not exist.
    #[inline]
    pub fn finish(self) -> Result<Meta, TermError> {
        let depth = self.depth.saturating_add(1);
        if depth > MAX_DEPTH {
            return Err(TermError::TooDeep);
        }
        let outer = u16::try_from(self.outer).map_err(|_| TermError::BinderTooFar)?;
        Ok(Meta { flags: self.flags, depth, outer, weight: self.weight })
    }
}
