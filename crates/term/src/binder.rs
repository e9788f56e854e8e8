//! Binders: de Bruijn indices, arities and universes.
//!
//! A bound variable is a pair (depth, index): `depth` counts the binders between the variable and the one that binds
//! it, innermost first; `index` selects one of the variables of its own kind that the binder introduces.
//!
//! **Invariant:** a binder's variables are numbered per kind, so a term says by its own kind (region, type or
//! constant) which of the binder's lists it refers to, and a variable can never be used at the wrong kind.
//!
//! Universes follow the usual scheme for higher-ranked subtyping: a placeholder of universe `u` can be named by
//! variables of universe `u` and above. They are absolute, so nothing has to be undone when a binder is left.

/// How many binders lie between a bound variable and its own binder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DebruijnIndex(pub u32);

impl DebruijnIndex {
    /// The binder directly around the term.
    pub const INNERMOST: Self = Self(0);
}

/// A variable that a binder introduces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BoundVar {
    /// Which binder, counted outwards.
    pub depth: DebruijnIndex,
    /// Which of the binder's variables of this kind.
    pub index: u32,
}

impl BoundVar {
    /// The variable `index` of the innermost binder.
    #[must_use]
    pub fn innermost(index: u32) -> Self {
        Self { depth: DebruijnIndex::INNERMOST, index }
    }

    /// The variable `index` of the binder `depth` levels out.
    #[must_use]
    pub fn new(depth: u32, index: u32) -> Self {
        Self { depth: DebruijnIndex(depth), index }
    }
}

/// How many variables of each kind a binder introduces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Arity {
    /// Region variables.
    pub regions: u16,
    /// Type variables.
    pub types: u16,
    /// Constant variables.
    pub consts: u16,
}

impl Arity {
    /// A binder that binds nothing.
    pub const NONE: Self = Self { regions: 0, types: 0, consts: 0 };

    /// A binder of regions only, as `for<'a, 'b>` is.
    #[must_use]
    pub fn regions(regions: u16) -> Self {
        Self { regions, ..Self::NONE }
    }

    /// Whether the binder binds nothing.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }
}

/// A value under a binder. The bound variables of `arity` are free in `value` at the innermost depth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Binder<T> {
    /// What is bound.
    pub arity: Arity,
    /// The body.
    pub value: T,
}

impl<T> Binder<T> {
    /// Puts `value` under a binder of `arity`.
    #[must_use]
    pub fn new(arity: Arity, value: T) -> Self {
        Self { arity, value }
    }
}

/// A universe: the set of placeholders that a variable may be equal to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Universe(pub u32);

impl Universe {
    /// The universe of everything that the program itself names.
    pub const ROOT: Self = Self(0);

    /// Whether something of this universe may mention a placeholder of universe `other`.
    #[must_use]
    pub fn can_name(self, other: Self) -> bool {
        other <= self
    }

    /// The universe after this one, or `None` when they are used up.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}
