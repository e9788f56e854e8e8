//! Generic arguments: types, regions and constants in one list.

use crate::constant::Const;
use crate::family::TypeFamily;
use crate::meta::{Meta, TermError};
use crate::region::Region;
use crate::ty::Ty;

/// Generic argument of a name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum GenericArg<F: TypeFamily> {
    /// A type.
    Ty(Ty<F>),
    /// A region.
    Region(Region<F>),
    /// A constant.
    Const(Const<F>),
}

impl<F: TypeFamily> Copy for GenericArg<F>
where
    F::InternedTy: Copy,
    F::InternedConst: Copy,
{
}

impl<F: TypeFamily> std::fmt::Debug for GenericArg<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ty(ty) => ty.fmt(f),
            Self::Region(region) => region.fmt(f),
            Self::Const(constant) => constant.fmt(f),
        }
    }
}

impl<F: TypeFamily> GenericArg<F> {
    /// Returns the type, if the argument is one.
    #[inline]
    #[must_use]
    pub fn as_ty(&self) -> Option<&Ty<F>> {
        match self {
            Self::Ty(ty) => Some(ty),
            Self::Region(_) | Self::Const(_) => None,
        }
    }

    /// Returns the region, if the argument is one.
    #[inline]
    #[must_use]
    pub fn as_region(&self) -> Option<Region<F>> {
        match self {
            Self::Region(region) => Some(*region),
            Self::Ty(_) | Self::Const(_) => None,
        }
    }

    /// Returns the constant, if the argument is one.
    #[inline]
    #[must_use]
    pub fn as_const(&self) -> Option<&Const<F>> {
        match self {
            Self::Const(constant) => Some(constant),
            Self::Ty(_) | Self::Region(_) => None,
        }
    }

    /// Returns the metadata of the argument.
    #[inline]
    pub fn meta(&self) -> Result<Meta, TermError> {
        match self {
            Self::Ty(ty) => Ok(ty.meta()),
            Self::Region(region) => region.meta(),
            Self::Const(constant) => Ok(constant.meta()),
        }
    }

    /// Whether both are the same node or the same region.
    #[inline]
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Ty(a), Self::Ty(b)) => a.same(b),
            (Self::Region(a), Self::Region(b)) => a == b,
            (Self::Const(a), Self::Const(b)) => a.same(b),
            (Self::Ty(_), Self::Region(_) | Self::Const(_))
            | (Self::Region(_), Self::Ty(_) | Self::Const(_))
            | (Self::Const(_), Self::Ty(_) | Self::Region(_)) => false,
        }
    }
}

impl<F: TypeFamily> From<Ty<F>> for GenericArg<F> {
    fn from(ty: Ty<F>) -> Self {
        Self::Ty(ty)
    }
}

impl<F: TypeFamily> From<Region<F>> for GenericArg<F> {
    fn from(region: Region<F>) -> Self {
        Self::Region(region)
    }
}

impl<F: TypeFamily> From<Const<F>> for GenericArg<F> {
    fn from(constant: Const<F>) -> Self {
        Self::Const(constant)
    }
}
