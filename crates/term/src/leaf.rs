//! Leaves of terms: variables, placeholders and errors, which exist as types, regions and constants.

use crate::arg::GenericArg;
use crate::binder::{BoundVar, VarKind};
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::meta::{Flags, Meta, MetaBuilder, TermError};
use crate::region::Region;
use crate::ty::{ErrorProof, InferVar, Placeholder, PlaceholderId, Ty, TyData};

/// A type, region or constant without parts, for names `N`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leaf<N> {
    /// A variable of an enclosing binder.
    Bound(BoundVar),
    /// A variable of an inference table or of a canonical form.
    Infer(InferVar),
    /// A term known only by its identity.
    Placeholder(Placeholder<N>),
    /// An error.
    Error(ErrorProof),
}

impl<N: Copy> Leaf<N> {
    /// Builds the term that consists of this leaf.
    pub fn build<F: TypeFamily<Name = N>>(self, cx: &F, kind: VarKind) -> Result<GenericArg<F>, TermError> {
        Ok(match kind {
            VarKind::Ty => Ty::new(cx, self.ty_data())?.into(),
            VarKind::Region => self.region().into(),
            VarKind::Const => Const::new(cx, self.const_data())?.into(),
        })
    }

    /// Returns the leaf as the content of a type.
    #[inline]
    pub(crate) fn ty_data<'a, F: TypeFamily<Name = N>>(self) -> TyData<'a, F> {
        match self {
            Self::Bound(var) => TyData::BoundVariable(var),
            Self::Infer(var) => TyData::InferenceVar(var),
            Self::Placeholder(placeholder) => TyData::Placeholder(placeholder),
            Self::Error(proof) => TyData::Error(proof),
        }
    }

    /// Returns the leaf as a region.
    #[inline]
    pub(crate) fn region<F: TypeFamily<Name = N>>(self) -> Region<F> {
        match self {
            Self::Bound(var) => Region::Bound(var),
            Self::Infer(var) => Region::Infer(var),
            Self::Placeholder(placeholder) => Region::Placeholder(placeholder),
            Self::Error(proof) => Region::Error(proof),
        }
    }

    /// Returns the leaf as the content of a constant.
    #[inline]
    pub(crate) fn const_data<'a, F: TypeFamily<Name = N>>(self) -> ConstData<'a, F> {
        match self {
            Self::Bound(var) => ConstData::Bound(var),
            Self::Infer(var) => ConstData::Infer(var),
            Self::Placeholder(placeholder) => ConstData::Placeholder(placeholder),
            Self::Error(proof) => ConstData::Error(proof),
        }
    }

    /// Computes the metadata of the leaf.
    #[inline]
    pub(crate) fn meta(self, kind: VarKind) -> Result<Meta, TermError> {
        let (own, infer, placeholder) = match kind {
            VarKind::Ty => (Flags::NONE, Flags::TY_INFER, Flags::TY_PLACEHOLDER),
            VarKind::Region => (Flags::FREE_REGION, Flags::REGION_INFER, Flags::REGION_PLACEHOLDER),
            VarKind::Const => (Flags::NONE, Flags::CONST_INFER, Flags::CONST_PLACEHOLDER),
        };
        Ok(Meta::leaf(match self {
            Self::Bound(var) => {
                let mut meta = MetaBuilder::new(Flags::NONE);
                meta.bound(var);
                return meta.finish();
            }
            Self::Infer(InferVar::Var(_)) => own.union(infer),
            Self::Infer(InferVar::Canonical(_)) => own.union(Flags::CANONICAL),
            Self::Placeholder(of) => own.union(placeholder).union(of.universe_flags()),
            Self::Error(_) => Flags::ERROR,
        }))
    }

    /// Converts the name of a placeholder.
    pub(crate) fn rename<M>(self, name: impl FnOnce(N) -> M) -> Leaf<M> {
        match self {
            Self::Bound(var) => Leaf::Bound(var),
            Self::Infer(var) => Leaf::Infer(var),
            Self::Placeholder(Placeholder { universe, id }) => {
                let id = match id {
                    PlaceholderId::Named(own) => PlaceholderId::Named(name(own)),
                    PlaceholderId::Fresh(index) => PlaceholderId::Fresh(index),
                };
                Leaf::Placeholder(Placeholder { universe, id })
            }
            Self::Error(proof) => Leaf::Error(proof),
        }
    }
}

impl<F: TypeFamily> TyData<'_, F> {
    /// Returns the leaf, if the type is one.
    #[inline(always)]
    #[must_use]
    pub fn leaf(&self) -> Option<Leaf<F::Name>> {
        match *self {
            Self::BoundVariable(var) => Some(Leaf::Bound(var)),
            Self::InferenceVar(var) => Some(Leaf::Infer(var)),
            Self::Placeholder(placeholder) => Some(Leaf::Placeholder(placeholder)),
            Self::Error(proof) => Some(Leaf::Error(proof)),
            Self::Apply(_) | Self::Dyn(_) | Self::Fn(_) | Self::GeneratorWitness(_) | Self::Alias(_) => None,
        }
    }
}

impl<F: TypeFamily> Region<F> {
    /// Returns the leaf; `None` for `'static` and erased regions.
    #[inline]
    #[must_use]
    pub fn leaf(self) -> Option<Leaf<F::Name>> {
        match self {
            Self::Bound(var) => Some(Leaf::Bound(var)),
            Self::Infer(var) => Some(Leaf::Infer(var)),
            Self::Placeholder(placeholder) => Some(Leaf::Placeholder(placeholder)),
            Self::Error(proof) => Some(Leaf::Error(proof)),
            Self::Static | Self::Erased => None,
        }
    }
}

impl<F: TypeFamily> ConstData<'_, F> {
    /// Returns the leaf, if the constant is one.
    #[inline]
    #[must_use]
    pub fn leaf(&self) -> Option<Leaf<F::Name>> {
        match *self {
            Self::Bound(var) => Some(Leaf::Bound(var)),
            Self::Infer(var) => Some(Leaf::Infer(var)),
            Self::Placeholder(placeholder) => Some(Leaf::Placeholder(placeholder)),
            Self::Error(proof) => Some(Leaf::Error(proof)),
            Self::Value(_) | Self::Expr(..) | Self::Alias(..) => None,
        }
    }
}

impl<F: TypeFamily> GenericArg<F> {
    /// Returns the leaf, if the argument is one.
    #[must_use]
    pub fn leaf(&self) -> Option<Leaf<F::Name>> {
        match self {
            Self::Ty(ty) => ty.data().leaf(),
            Self::Region(region) => region.leaf(),
            Self::Const(constant) => constant.data().leaf(),
        }
    }

    /// Returns the name of the generic parameter, if the argument is one.
    #[must_use]
    pub fn as_param(&self) -> Option<F::Name> {
        match self.leaf()? {
            Leaf::Placeholder(Placeholder { id: PlaceholderId::Named(name), .. }) => Some(name),
            Leaf::Placeholder(_) | Leaf::Bound(_) | Leaf::Infer(_) | Leaf::Error(_) => None,
        }
    }
}
