//! Binders: de Bruijn indices, arities and universes.
//!
//! A bound variable is a pair (depth, index). `depth` counts the binders between the variable and its own
//! binder, innermost first; `index` selects a variable among those of its kind that the binder introduces.
//!
//! **Invariant:** a binder's variables are numbered per kind. The kind of a term (region, type or constant)
//! selects the list, so a variable cannot be used at the wrong kind.
//!
//! Universes follow the usual scheme for higher-ranked subtyping: variables of universe `u` and above can
//! name a placeholder of universe `u`. Universes are absolute, so leaving a binder requires no action.

/// Number of binders between a bound variable and its own binder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct DebruijnIndex(pub u32);

impl DebruijnIndex {
    /// The innermost binder around the term.
    pub const INNERMOST: Self = Self(0);
}

/// A variable that a binder introduces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BoundVar {
    /// The binder, counted outwards.
    pub depth: DebruijnIndex,
    /// Index among the binder's variables of this kind.
    pub index: u32,
}

impl BoundVar {
    /// Creates the variable `index` of the innermost binder.
    #[must_use]
    pub fn innermost(index: u32) -> Self {
        Self { depth: DebruijnIndex::INNERMOST, index }
    }

    /// Creates the variable `index` of the binder `depth` levels out.
    #[must_use]
    pub fn new(depth: u32, index: u32) -> Self {
        Self { depth: DebruijnIndex(depth), index }
    }
}

/// Kinds of variables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VarKind {
    /// A type variable.
    Ty,
    /// A region variable.
    Region,
    /// A constant variable.
    Const,
}

/// Number of variables of each kind that a binder introduces.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Arity {
    /// Number of region variables.
    pub regions: u16,
    /// Number of type variables.
    pub types: u16,
    /// Number of constant variables.
    pub consts: u16,
}

impl Arity {
    /// A binder without variables.
    pub const NONE: Self = Self { regions: 0, types: 0, consts: 0 };

    /// Creates a binder of regions only, such as `for<'a, 'b>`.
    #[must_use]
    pub fn regions(regions: u16) -> Self {
        Self { regions, ..Self::NONE }
    }

    /// Whether the binder has no variables.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }
}

/// A value for each kind of variable.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerKind<T> {
    pub(crate) regions: T,
    pub(crate) types: T,
    pub(crate) consts: T,
}

impl<T> PerKind<T> {
    pub(crate) fn of(&self, kind: VarKind) -> &T {
        match kind {
            VarKind::Ty => &self.types,
            VarKind::Region => &self.regions,
            VarKind::Const => &self.consts,
        }
    }

    pub(crate) fn of_mut(&mut self, kind: VarKind) -> &mut T {
        match kind {
            VarKind::Ty => &mut self.types,
            VarKind::Region => &mut self.regions,
            VarKind::Const => &mut self.consts,
        }
    }

    /// The arity of a binder with these numbers of variables, if they are in range.
    pub(crate) fn arity(&self, len: impl Fn(&T) -> usize) -> Option<Arity> {
        let count = |variables| u16::try_from(len(variables)).ok();
        let Self { regions, types, consts } = self;
        Some(Arity { regions: count(regions)?, types: count(types)?, consts: count(consts)? })
    }
}

/// A value under a binder. In `value`, the variables of `arity` are free at the innermost depth.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Binder<T> {
    /// Variables of the binder.
    pub arity: Arity,
    /// Body of the binder.
    pub value: T,
}

impl<T> Binder<T> {
    /// Creates a binder of `arity` around `value`.
    #[must_use]
    pub fn new(arity: Arity, value: T) -> Self {
        Self { arity, value }
    }
}

/// A universe: the set of placeholders that a variable may be equal to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Universe(pub u32);

impl Universe {
    /// The universe of the program's own names.
    pub const ROOT: Self = Self(0);

    /// Whether a term of this universe may mention a placeholder of universe `other`.
    #[must_use]
    pub fn can_name(self, other: Self) -> bool {
        other <= self
    }

    /// Returns the next universe, or `None` after the last one.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        self.0.checked_add(1).map(Self)
    }
}
