//! Variance: how the order of arguments reflects in the order of what they are applied to.
//!
//! Four values with composition ([`Variance::compose`]) and meet ([`Variance::meet`]), after Altidor, Huang and
//! Smaragdakis, "Taming the Wildcards" (PLDI 2011), which the compiler follows too.

/// How `F<A>` and `F<B>` relate, given how `A` and `B` do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variance {
    /// `A <: B` gives `F<A> <: F<B>`.
    Covariant,
    /// `A <: B` gives `F<B> <: F<A>`.
    Contravariant,
    /// Only `A == B` gives `F<A> <: F<B>`.
    Invariant,
    /// `F<A> <: F<B>` always.
    Bivariant,
}

impl Variance {
    /// The variance of a position of variance `inner` within a position of variance `self`.
    ///
    /// Equality stays equality: an invariant position makes everything inside invariant, a bivariant one included.
    #[must_use]
    pub fn compose(self, inner: Self) -> Self {
        match (self, inner) {
            (Self::Invariant, _) => Self::Invariant,
            (Self::Bivariant, _) => Self::Bivariant,
            (Self::Covariant, inner) => inner,
            (Self::Contravariant, Self::Covariant) => Self::Contravariant,
            (Self::Contravariant, Self::Contravariant) => Self::Covariant,
            (Self::Contravariant, Self::Invariant) => Self::Invariant,
            (Self::Contravariant, Self::Bivariant) => Self::Bivariant,
        }
    }

    /// The greatest variance that is allowed where both are: what a parameter used twice has.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bivariant, v) | (v, Self::Bivariant) => v,
            (Self::Covariant, Self::Covariant) => Self::Covariant,
            (Self::Contravariant, Self::Contravariant) => Self::Contravariant,
            (Self::Invariant, _)
            | (_, Self::Invariant)
            | (Self::Covariant, Self::Contravariant)
            | (Self::Contravariant, Self::Covariant) => Self::Invariant,
        }
    }
}
