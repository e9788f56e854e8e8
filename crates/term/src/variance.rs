//! Variance of type constructors.
//!
//! Four values with composition ([`Variance::compose`]) and meet ([`Variance::meet`]), after Altidor, Huang
//! and Smaragdakis, "Taming the Wildcards" (PLDI 2011), which rustc follows too.

/// Relation between `F<A>` and `F<B>` that a relation between `A` and `B` implies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Variance {
    /// `A <: B` implies `F<A> <: F<B>`.
    Covariant,
    /// `A <: B` implies `F<B> <: F<A>`.
    Contravariant,
    /// Only `A == B` implies `F<A> <: F<B>`.
    Invariant,
    /// `F<A> <: F<B>` holds always.
    Bivariant,
}

impl Variance {
    /// Returns the variance of a position of variance `inner` inside a position of variance `self`.
    ///
    /// Everything inside an invariant position is invariant, including bivariant positions.
    #[must_use]
    pub fn compose(self, inner: Self) -> Self {
        match (self, inner) {
            (Self::Invariant | Self::Bivariant, _) => self,
            (Self::Covariant, inner) => inner,
            (Self::Contravariant, Self::Covariant) => Self::Contravariant,
            (Self::Contravariant, Self::Contravariant) => Self::Covariant,
            (Self::Contravariant, Self::Invariant | Self::Bivariant) => inner,
        }
    }

    /// Returns the variance of a parameter that is used at both variances.
    #[must_use]
    pub fn meet(self, other: Self) -> Self {
        match (self, other) {
            (Self::Bivariant, v) | (v, Self::Bivariant) => v,
            _ if self == other => self,
            (Self::Covariant | Self::Contravariant | Self::Invariant, _) => Self::Invariant,
        }
    }
}

impl std::fmt::Display for Variance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Covariant => "covariant",
            Self::Contravariant => "contravariant",
            Self::Invariant => "invariant",
            Self::Bivariant => "bivariant",
        })
    }
}
