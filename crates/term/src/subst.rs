//! Shifting, instantiation of binders, and replacement of parameters.
//!
//! **Invariant:** all three return a closed term unchanged, in constant time.
//!
//! Laws, checked by property tests: shifting in and out again is the identity; shifts add up; instantiating a
//! shifted term returns the term; instantiation commutes with shifting.

use crate::arg::GenericArg;
use crate::binder::{BoundVar, DebruijnIndex};
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::fold::{Fold, FoldState, Folder, super_fold_const, super_fold_ty};
use crate::meta::{Flags, Meta, TermError};
use crate::region::Region;
use crate::ty::{PlaceholderId, Ty, TyData};

/// Moves `value` under `by` additional binders: increases the depth of its free bound variables.
pub fn shift_in<F: TypeFamily, T: Fold<F>>(cx: &F, value: &T, by: u32) -> Result<T, TermError> {
    value.try_fold_with(&mut Shift { cx, by, state: FoldState::default() })
}

/// Moves `value` out of `by` binders; fails if it mentions a variable of those binders.
pub fn shift_out<F: TypeFamily, T: Fold<F>>(cx: &F, value: &T, by: u32) -> Result<T, TermError> {
    value.try_fold_with(&mut Unshift { cx, by, state: FoldState::default() })
}

struct Shift<'c, F: TypeFamily> {
    cx: &'c F,
    by: u32,
    state: FoldState<F>,
}

impl<F: TypeFamily> Shift<'_, F> {
    fn shift(&self, var: BoundVar) -> Result<BoundVar, TermError> {
        if var.depth.0 < self.state.depth {
            return Ok(var);
        }
        let depth = var.depth.0.checked_add(self.by).ok_or(TermError::BinderTooFar)?;
        Ok(BoundVar { depth: DebruijnIndex(depth), index: var.index })
    }
}

struct Unshift<'c, F: TypeFamily> {
    cx: &'c F,
    by: u32,
    state: FoldState<F>,
}

impl<F: TypeFamily> Unshift<'_, F> {
    fn shift(&self, var: BoundVar) -> Result<BoundVar, TermError> {
        match var.depth.0.checked_sub(self.state.depth) {
            None => Ok(var),
            Some(free) if free < self.by => Err(TermError::Unbound(var)),
            Some(_) => Ok(BoundVar { depth: DebruijnIndex(var.depth.0 - self.by), index: var.index }),
        }
    }
}

macro_rules! shifting_folder {
    ($($name:ident),*) => {$(
        impl<F: TypeFamily> Folder<F> for $name<'_, F> {
            type Error = TermError;

            fn cx(&self) -> &F {
                self.cx
            }

            fn state(&mut self) -> &mut FoldState<F> {
                &mut self.state
            }

            fn skip(&self, meta: Meta) -> bool {
                self.by == 0 || u32::from(meta.outer) <= self.state.depth
            }

            fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
                match ty.data() {
                    TyData::BoundVariable(var) => Ty::new(self.cx, TyData::BoundVariable(self.shift(var)?)),
                    TyData::Apply(_)
                    | TyData::Placeholder(_)
                    | TyData::InferenceVar(_)
                    | TyData::Dyn(_)
                    | TyData::Fn(_)
                    | TyData::GeneratorWitness(_)
                    | TyData::Alias(_)
                    | TyData::Error(_) => super_fold_ty(ty, self),
                }
            }

            fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, TermError> {
                match region {
                    Region::Bound(var) => Ok(Region::Bound(self.shift(var)?)),
                    Region::Static
                    | Region::Erased
                    | Region::Placeholder(_)
                    | Region::Infer(_)
                    | Region::Error(_) => Ok(region),
                }
            }

            fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
                match constant.data() {
                    ConstData::Bound(var) => Const::new(self.cx, ConstData::Bound(self.shift(var)?)),
                    ConstData::Value(_)
                    | ConstData::Placeholder(_)
                    | ConstData::Infer(_)
                    | ConstData::Expr(..)
                    | ConstData::Alias(..)
                    | ConstData::Error(_) => super_fold_const(constant, self),
                }
            }
        }
    )*};
}
shifting_folder!(Shift, Unshift);

/// Replacements for the variables of one binder.
#[derive(Clone, Debug)]
pub struct Instantiation<F: TypeFamily> {
    /// Replacements of the region variables, by index.
    pub regions: Vec<Region<F>>,
    /// Replacements of the type variables, by index.
    pub types: Vec<Ty<F>>,
    /// Replacements of the constant variables, by index.
    pub consts: Vec<Const<F>>,
}

impl<F: TypeFamily> Default for Instantiation<F> {
    fn default() -> Self {
        Self { regions: Vec::new(), types: Vec::new(), consts: Vec::new() }
    }
}

impl<F: TypeFamily> Instantiation<F> {
    /// Sorts a list of arguments by kind.
    #[must_use]
    pub fn from_args(args: &[GenericArg<F>]) -> Self {
        let mut this = Self::default();
        for arg in args {
            match arg {
                GenericArg::Ty(ty) => this.types.push(ty.clone()),
                GenericArg::Region(region) => this.regions.push(*region),
                GenericArg::Const(constant) => this.consts.push(constant.clone()),
            }
        }
        this
    }
}

/// Replaces the variables of the innermost binder around `value` and removes that binder.
pub fn instantiate<F: TypeFamily, T: Fold<F>>(
    cx: &F,
    value: &T,
    with: &Instantiation<F>,
) -> Result<T, TermError> {
    value.try_fold_with(&mut Instantiate { cx, with, state: FoldState::default() })
}

/// Replaces the variables of the innermost binder around a list of arguments.
pub fn instantiate_args<F: TypeFamily>(
    cx: &F,
    args: &[GenericArg<F>],
    with: &Instantiation<F>,
) -> Result<Vec<GenericArg<F>>, TermError> {
    let mut folder = Instantiate { cx, with, state: FoldState::default() };
    args.iter().map(|arg| arg.try_fold_with(&mut folder)).collect()
}

struct Instantiate<'c, F: TypeFamily> {
    cx: &'c F,
    with: &'c Instantiation<F>,
    state: FoldState<F>,
}

enum Occurrence {
    /// Bound inside the value: unchanged.
    Inner,
    /// Bound by the instantiated binder.
    Here(usize),
    /// Bound outside: the depth decreases by one.
    Outer(BoundVar),
}

impl<F: TypeFamily> Instantiate<'_, F> {
    #[inline]
    fn classify(&self, var: BoundVar) -> Occurrence {
        match var.depth.0.checked_sub(self.state.depth) {
            None => Occurrence::Inner,
            Some(0) => Occurrence::Here(var.index as usize),
            Some(_) => {
                Occurrence::Outer(BoundVar { depth: DebruijnIndex(var.depth.0 - 1), index: var.index })
            }
        }
    }
}

impl<F: TypeFamily> Folder<F> for Instantiate<'_, F> {
    type Error = TermError;

    #[inline]
    fn cx(&self) -> &F {
        self.cx
    }

    #[inline]
    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.state
    }

    #[inline]
    fn skip(&self, meta: Meta) -> bool {
        u32::from(meta.outer) <= self.state.depth
    }

    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        let TyData::BoundVariable(var) = ty.data() else { return super_fold_ty(ty, self) };
        match self.classify(var) {
            Occurrence::Inner => Ok(ty.clone()),
            Occurrence::Here(index) => {
                let ty = self.with.types.get(index).ok_or(TermError::Unbound(var))?;
                if ty.meta().is_closed() { Ok(ty.clone()) } else { shift_in(self.cx, ty, self.state.depth) }
            }
            Occurrence::Outer(var) => Ty::new(self.cx, TyData::BoundVariable(var)),
        }
    }

    fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, TermError> {
        let Region::Bound(var) = region else { return Ok(region) };
        match self.classify(var) {
            Occurrence::Inner => Ok(region),
            Occurrence::Here(index) => {
                let region = self.with.regions.get(index).ok_or(TermError::Unbound(var))?;
                shift_in(self.cx, region, self.state.depth)
            }
            Occurrence::Outer(var) => Ok(Region::Bound(var)),
        }
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        let ConstData::Bound(var) = constant.data() else { return super_fold_const(constant, self) };
        match self.classify(var) {
            Occurrence::Inner => Ok(constant.clone()),
            Occurrence::Here(index) => {
                let constant = self.with.consts.get(index).ok_or(TermError::Unbound(var))?;
                shift_in(self.cx, constant, self.state.depth)
            }
            Occurrence::Outer(var) => Const::new(self.cx, ConstData::Bound(var)),
        }
    }
}

/// Replaces named parameters of the root universe. `lookup` returns a parameter's replacement, or `None` to
/// keep the parameter; a replacement of another kind is ignored.
pub fn replace_params<F: TypeFamily, T: Fold<F>>(
    cx: &F,
    value: &T,
    lookup: impl Fn(F::Name) -> Option<GenericArg<F>>,
) -> Result<T, TermError> {
    value.try_fold_with(&mut ReplaceParams { cx, lookup, state: FoldState::default() })
}

struct ReplaceParams<'c, F: TypeFamily, L> {
    cx: &'c F,
    lookup: L,
    state: FoldState<F>,
}

impl<F: TypeFamily, L: Fn(F::Name) -> Option<GenericArg<F>>> ReplaceParams<'_, F, L> {
    fn get(&self, id: PlaceholderId<F::Name>) -> Result<Option<GenericArg<F>>, TermError> {
        let PlaceholderId::Named(name) = id else { return Ok(None) };
        (self.lookup)(name).map(|arg| shift_in(self.cx, &arg, self.state.depth)).transpose()
    }
}

impl<F: TypeFamily, L: Fn(F::Name) -> Option<GenericArg<F>>> Folder<F> for ReplaceParams<'_, F, L> {
    type Error = TermError;

    #[inline]
    fn cx(&self) -> &F {
        self.cx
    }

    #[inline]
    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.state
    }

    #[inline]
    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(Flags::PLACEHOLDER)
    }

    #[inline]
    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        let TyData::Placeholder(placeholder) = ty.data() else { return super_fold_ty(ty, self) };
        match self.get(placeholder.id)? {
            Some(GenericArg::Ty(ty)) => Ok(ty),
            Some(GenericArg::Region(_) | GenericArg::Const(_)) | None => Ok(ty.clone()),
        }
    }

    fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, TermError> {
        let Region::Placeholder(placeholder) = region else { return Ok(region) };
        match self.get(placeholder.id)? {
            Some(GenericArg::Region(region)) => Ok(region),
            Some(GenericArg::Ty(_) | GenericArg::Const(_)) | None => Ok(region),
        }
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        let ConstData::Placeholder(placeholder) = constant.data() else {
            return super_fold_const(constant, self);
        };
        match self.get(placeholder.id)? {
            Some(GenericArg::Const(constant)) => Ok(constant),
            Some(GenericArg::Ty(_) | GenericArg::Region(_)) | None => Ok(constant.clone()),
        }
    }
}
