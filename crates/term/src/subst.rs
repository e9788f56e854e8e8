//! Shifting, instantiation of binders, and replacement of parameters.
//!
//! Each operation is a `LeafMap`, which maps variables and placeholders; one folder rebuilds the terms around
//! them.
//!
//! **Invariant:** shifting and instantiation return a closed term unchanged, in constant time.
//!
//! Laws, checked by property tests: shifting in and out again is the identity; shifts add up; instantiating a
//! shifted term returns the term; instantiation commutes with shifting.

use crate::arg::GenericArg;
use crate::binder::{BoundVar, VarKind};
use crate::constant::Const;
use crate::family::TypeFamily;
use crate::fold::{Fold, FoldState, Folder, super_fold_const, super_fold_ty};
use crate::leaf::Leaf;
use crate::meta::{Flags, Meta, TermError};
use crate::region::Region;
use crate::ty::{Placeholder, PlaceholderId, Ty};

/// A mapping of variables and placeholders.
pub(crate) trait LeafMap<F: TypeFamily> {
    /// Whether terms with this metadata, under `depth` binders, stay unchanged.
    fn skip(&self, meta: Meta, depth: u32) -> bool;

    /// Returns the replacement of a leaf under `depth` binders, or `None` to keep it. A replacement of
    /// another kind is ignored.
    fn map(
        &mut self,
        cx: &F,
        kind: VarKind,
        leaf: Leaf<F::Name>,
        depth: u32,
    ) -> Result<Option<GenericArg<F>>, TermError>;
}

/// Replaces the leaves of a value.
pub(crate) fn map_leaves<F: TypeFamily, T: Fold<F>>(
    cx: &F,
    value: &T,
    map: &mut impl LeafMap<F>,
) -> Result<T, TermError> {
    value.try_fold_with(&mut MapLeaves { cx, map, state: FoldState::default() })
}

struct MapLeaves<'c, F: TypeFamily, M> {
    cx: &'c F,
    map: &'c mut M,
    state: FoldState<F>,
}

impl<F: TypeFamily, M: LeafMap<F>> MapLeaves<'_, F, M> {
    #[inline]
    fn map(&mut self, kind: VarKind, leaf: Leaf<F::Name>) -> Result<Option<GenericArg<F>>, TermError> {
        self.map.map(self.cx, kind, leaf, self.state.depth)
    }
}

impl<F: TypeFamily, M: LeafMap<F>> Folder<F> for MapLeaves<'_, F, M> {
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
        self.map.skip(meta, self.state.depth)
    }

    #[inline]
    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        let Some(leaf) = ty.data().leaf() else { return super_fold_ty(ty, self) };
        match self.map(VarKind::Ty, leaf)? {
            Some(GenericArg::Ty(ty)) => Ok(ty),
            Some(GenericArg::Region(_) | GenericArg::Const(_)) | None => Ok(ty.clone()),
        }
    }

    fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, TermError> {
        let Some(leaf) = region.leaf() else { return Ok(region) };
        match self.map(VarKind::Region, leaf)? {
            Some(GenericArg::Region(region)) => Ok(region),
            Some(GenericArg::Ty(_) | GenericArg::Const(_)) | None => Ok(region),
        }
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        let Some(leaf) = constant.data().leaf() else { return super_fold_const(constant, self) };
        match self.map(VarKind::Const, leaf)? {
            Some(GenericArg::Const(constant)) => Ok(constant),
            Some(GenericArg::Ty(_) | GenericArg::Region(_)) | None => Ok(constant.clone()),
        }
    }
}

/// Maps the bound variables that are free in a term: those with at least the current depth.
pub(crate) struct FreeVars<M> {
    /// Whether any variable changes.
    pub(crate) enabled: bool,
    pub(crate) map: M,
}

impl<F, M> LeafMap<F> for FreeVars<M>
where
    F: TypeFamily,
    M: FnMut(&F, VarKind, BoundVar, u32) -> Result<Option<GenericArg<F>>, TermError>,
{
    #[inline]
    fn skip(&self, meta: Meta, depth: u32) -> bool {
        !self.enabled || u32::from(meta.outer) <= depth
    }

    #[inline]
    fn map(
        &mut self,
        cx: &F,
        kind: VarKind,
        leaf: Leaf<F::Name>,
        depth: u32,
    ) -> Result<Option<GenericArg<F>>, TermError> {
        match leaf {
            Leaf::Bound(var) if var.depth.0 >= depth => (self.map)(cx, kind, var, depth),
            Leaf::Bound(_) | Leaf::Infer(_) | Leaf::Placeholder(_) | Leaf::Error(_) => Ok(None),
        }
    }
}

/// Moves `value` under `by` additional binders: increases the depth of its free bound variables.
pub fn shift_in<F: TypeFamily, T: Fold<F>>(cx: &F, value: &T, by: u32) -> Result<T, TermError> {
    let map = |cx: &F, kind: VarKind, var: BoundVar, _depth: u32| {
        let depth = var.depth.0.checked_add(by).ok_or(TermError::BinderTooFar)?;
        Leaf::Bound(BoundVar::new(depth, var.index)).build(cx, kind).map(Some)
    };
    map_leaves(cx, value, &mut FreeVars { enabled: by != 0, map })
}

/// Moves `value` out of `by` binders; fails if it mentions a variable of those binders.
pub fn shift_out<F: TypeFamily, T: Fold<F>>(cx: &F, value: &T, by: u32) -> Result<T, TermError> {
    let map = |cx: &F, kind: VarKind, var: BoundVar, depth: u32| {
        if var.depth.0 - depth < by {
            return Err(TermError::Unbound(var));
        }
        Leaf::Bound(BoundVar::new(var.depth.0 - by, var.index)).build(cx, kind).map(Some)
    };
    map_leaves(cx, value, &mut FreeVars { enabled: by != 0, map })
}

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

    fn get(&self, kind: VarKind, var: BoundVar) -> Result<GenericArg<F>, TermError> {
        let index = var.index as usize;
        let found = match kind {
            VarKind::Ty => self.types.get(index).cloned().map(GenericArg::Ty),
            VarKind::Region => self.regions.get(index).copied().map(GenericArg::Region),
            VarKind::Const => self.consts.get(index).cloned().map(GenericArg::Const),
        };
        found.ok_or(TermError::Unbound(var))
    }

    /// Replaces the variables of the innermost binder and decreases the depth of those of outer binders.
    fn map(
        &self,
        cx: &F,
        kind: VarKind,
        var: BoundVar,
        depth: u32,
    ) -> Result<Option<GenericArg<F>>, TermError> {
        let arg = if var.depth.0 == depth {
            shift_in(cx, &self.get(kind, var)?, depth)
        } else {
            Leaf::Bound(BoundVar::new(var.depth.0 - 1, var.index)).build(cx, kind)
        };
        arg.map(Some)
    }
}

/// Replaces the variables of the innermost binder around `value` and removes that binder.
pub fn instantiate<F: TypeFamily, T: Fold<F>>(
    cx: &F,
    value: &T,
    with: &Instantiation<F>,
) -> Result<T, TermError> {
    let map = |cx: &F, kind: VarKind, var: BoundVar, depth: u32| with.map(cx, kind, var, depth);
    map_leaves(cx, value, &mut FreeVars { enabled: true, map })
}

/// Replaces the variables of the innermost binder around a list of arguments.
pub fn instantiate_args<F: TypeFamily>(
    cx: &F,
    args: &[GenericArg<F>],
    with: &Instantiation<F>,
) -> Result<Vec<GenericArg<F>>, TermError> {
    instantiate(cx, &args.to_vec(), with)
}

/// Replaces named parameters of the root universe. `lookup` returns a parameter's replacement, or `None` to
/// keep the parameter; a replacement of another kind is ignored.
pub fn replace_params<F: TypeFamily, T: Fold<F>>(
    cx: &F,
    value: &T,
    lookup: impl Fn(F::Name) -> Option<GenericArg<F>>,
) -> Result<T, TermError> {
    map_leaves(cx, value, &mut Params(lookup))
}

struct Params<L>(L);

impl<F: TypeFamily, L: Fn(F::Name) -> Option<GenericArg<F>>> LeafMap<F> for Params<L> {
    fn skip(&self, meta: Meta, _depth: u32) -> bool {
        !meta.flags.intersects(Flags::PLACEHOLDER)
    }

    fn map(
        &mut self,
        cx: &F,
        _kind: VarKind,
        leaf: Leaf<F::Name>,
        depth: u32,
    ) -> Result<Option<GenericArg<F>>, TermError> {
        let Leaf::Placeholder(Placeholder { id: PlaceholderId::Named(name), .. }) = leaf else {
            return Ok(None);
        };
        (self.0)(name).map(|arg| shift_in(cx, &arg, depth)).transpose()
    }
}
