//! Folding: rebuilding a term bottom-up.
//!
//! Calls for a folder `d` and a type `t`:
//!
//! ```text
//! t.try_fold_with(d)            checks `d.skip`, the cache and the depth limit
//!   d.fold_ty(t)                the folder's own case; the default calls
//!     super_fold_ty(t, d)       folds every child; builds a node only if a child changed
//!       child.try_fold_with(d)  under a binder with `d.state().depth` incremented
//! ```
//!
//! **Invariant:** a fold that changes nothing returns the node it was given.
//!
//! Results are cached per node and binder depth if the node has a minimum weight and may have other handles,
//! since a node with one handle is rarely visited twice. It can be visited twice if it is part of a shared
//! list of arguments, so large nodes are always cached. Of constants, only large ones are. A graph that is
//! exponentially large as a tree is therefore folded in time proportional to the graph. Folders whose result
//! depends on the position of an occurrence, such as generalization, use [`FoldState::uncached`].

use crate::arg::GenericArg;
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::meta::{LARGE, MAX_DEPTH, Meta, TermError};
use crate::region::Region;
use crate::ty::{AliasTy, ApplicationTy, DynBound, DynTy, FnTy, Ty, TyData, WitnessTy};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;

/// Minimum weight of cached nodes. Folding a lighter node again is cheaper.
const MIN_CACHED_WEIGHT: u16 = 4;

/// [`MIN_CACHED_WEIGHT`] for families whose handles know whether they are unique.
const MIN_CACHED_WEIGHT_BOXED: u16 = 16;

/// Folded nodes with their results, by address and binder depth. The handles keep the addresses valid.
type Seen<T> = HashMap<(usize, u32), (T, T), FixedState>;

/// State of a fold: current depth and cached results.
#[derive(Debug)]
pub struct FoldState<F: TypeFamily> {
    /// Number of binders entered.
    pub depth: u32,
    level: u16,
    cache_from: u16,
    seen: Seen<Ty<F>>,
    /// Folded constants, as `seen`. Only large ones are stored.
    seen_consts: Seen<Const<F>>,
}

impl<F: TypeFamily> Default for FoldState<F> {
    fn default() -> Self {
        let cache_from = if F::IDENTITY { MIN_CACHED_WEIGHT } else { MIN_CACHED_WEIGHT_BOXED };
        Self { depth: 0, level: 0, cache_from, seen: HashMap::default(), seen_consts: HashMap::default() }
    }
}

impl<F: TypeFamily> FoldState<F> {
    /// Creates a state without cache, for folders whose result depends on the position of an occurrence.
    #[must_use]
    pub fn uncached() -> Self {
        Self { cache_from: 0, ..Self::default() }
    }

    #[inline]
    fn caches(&self, ty: &Ty<F>, meta: Meta) -> bool {
        self.cache_from != 0 && meta.weight >= self.cache_from && (meta.weight >= LARGE || ty.is_shared())
    }

    /// Clears the cache, for a folder whose results have changed.
    pub fn clear_cache(&mut self) {
        self.seen.clear();
        self.seen_consts.clear();
    }
}

/// Rebuilds terms.
pub trait Folder<F: TypeFamily>: Sized {
    /// Error that stops a fold.
    type Error: From<TermError>;

    /// Returns the family that stores the results.
    fn cx(&self) -> &F;

    /// Returns the state of this fold.
    fn state(&mut self) -> &mut FoldState<F>;

    /// Whether terms with this metadata stay unchanged. `self.state().depth` binders have been entered.
    fn skip(&self, meta: Meta) -> bool;

    /// Folds a type that is not skipped.
    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, Self::Error> {
        super_fold_ty(ty, self)
    }

    /// Folds a region. Regions are never skipped.
    fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, Self::Error> {
        Ok(region)
    }

    /// Folds a constant that is not skipped.
    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, Self::Error> {
        super_fold_const(constant, self)
    }
}

/// Values that contain terms.
pub trait Fold<F: TypeFamily>: Sized {
    /// Rebuilds the value.
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error>;
}

impl<F: TypeFamily> Fold<F> for Ty<F> {
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error> {
        let meta = self.meta();
        if folder.skip(meta) {
            return Ok(self.clone());
        }
        let state = folder.state();
        let key = state.caches(self, meta).then(|| (self.address(), state.depth));
        if let Some((_, folded)) = key.and_then(|key| state.seen.get(&key)) {
            return Ok(folded.clone());
        }
        if state.level >= MAX_DEPTH {
            return Err(TermError::TooDeep.into());
        }
        state.level += 1;
        let folded = folder.fold_ty(self);
        let state = folder.state();
        state.level -= 1;
        let folded = folded?;
        if let Some(key) = key {
            state.seen.insert(key, (self.clone(), folded.clone()));
        }
        Ok(folded)
    }
}

impl<F: TypeFamily> Fold<F> for Const<F> {
    #[inline]
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error> {
        let meta = self.meta();
        if folder.skip(meta) {
            return Ok(self.clone());
        }
        let state = folder.state();
        let is_cached = state.cache_from != 0 && meta.weight >= LARGE;
        let key = is_cached.then(|| (self.address(), state.depth));
        if let Some((_, folded)) = key.and_then(|key| state.seen_consts.get(&key)) {
            return Ok(folded.clone());
        }
        if state.level >= MAX_DEPTH {
            return Err(TermError::TooDeep.into());
        }
        state.level += 1;
        let folded = folder.fold_const(self);
        let state = folder.state();
        state.level -= 1;
        let folded = folded?;
        if let Some(key) = key {
            state.seen_consts.insert(key, (self.clone(), folded.clone()));
        }
        Ok(folded)
    }
}

impl<F: TypeFamily> Fold<F> for Region<F> {
    #[inline]
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error> {
        folder.fold_region(*self)
    }
}

impl<F: TypeFamily> Fold<F> for GenericArg<F> {
    #[inline]
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error> {
        Ok(match self {
            Self::Ty(ty) => Self::Ty(ty.try_fold_with(folder)?),
            Self::Region(region) => Self::Region(folder.fold_region(*region)?),
            Self::Const(constant) => Self::Const(constant.try_fold_with(folder)?),
        })
    }
}

impl<F: TypeFamily, T: Fold<F>> Fold<F> for Vec<T> {
    #[inline]
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error> {
        self.iter().map(|item| item.try_fold_with(folder)).collect()
    }
}

/// A folded list of arguments, or `None` if it did not change.
pub type FoldedArgs<F> = Option<SmallVec<[GenericArg<F>; 2]>>;

/// Folds a list of arguments. Copies it from the first change on.
#[inline]
pub fn fold_args<F: TypeFamily, D: Folder<F>>(
    args: &[GenericArg<F>],
    folder: &mut D,
) -> Result<FoldedArgs<F>, D::Error> {
    for (at, arg) in args.iter().enumerate() {
        let folded = arg.try_fold_with(folder)?;
        if !folded.same(arg) {
            let mut changed = SmallVec::with_capacity(args.len());
            for unchanged in &args[..at] {
                changed.push(unchanged.clone());
            }
            changed.push(folded);
            for rest in &args[at + 1..] {
                changed.push(rest.try_fold_with(folder)?);
            }
            return Ok(Some(changed));
        }
    }
    Ok(None)
}

/// Folds the children of a type.
pub fn super_fold_ty<F: TypeFamily, D: Folder<F>>(ty: &Ty<F>, folder: &mut D) -> Result<Ty<F>, D::Error> {
    match ty.data() {
        TyData::Apply(ApplicationTy { name, args }) => {
            fold_list(ty, folder, args, 0, |args| TyData::Apply(ApplicationTy { name, args }))
        }
        TyData::Alias(AliasTy { name, args }) => {
            fold_list(ty, folder, args, 0, |args| TyData::Alias(AliasTy { name, args }))
        }
        TyData::Fn(FnTy { name, arity, signature }) => {
            fold_list(ty, folder, signature, 1, |signature| TyData::Fn(FnTy { name, arity, signature }))
        }
        TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
            fold_list(ty, folder, types, 1, |types| {
                TyData::GeneratorWitness(WitnessTy { name, arity, types })
            })
        }
        TyData::Dyn(data) => fold_dyn(ty, folder, data),
        TyData::Placeholder(_) | TyData::InferenceVar(_) | TyData::BoundVariable(_) | TyData::Error(_) => {
            Ok(ty.clone())
        }
    }
}

/// Folds a type whose only children are one list, under `binders` binders.
fn fold_list<F: TypeFamily, D: Folder<F>>(
    ty: &Ty<F>,
    folder: &mut D,
    args: &[GenericArg<F>],
    binders: u32,
    data: impl FnOnce(&[GenericArg<F>]) -> TyData<'_, F>,
) -> Result<Ty<F>, D::Error> {
    folder.state().depth += binders;
    let folded = fold_args(args, folder);
    folder.state().depth -= binders;
    match folded? {
        None => Ok(ty.clone()),
        Some(args) => Ok(Ty::new(folder.cx(), data(&args))?),
    }
}

fn fold_dyn<F: TypeFamily, D: Folder<F>>(
    ty: &Ty<F>,
    folder: &mut D,
    data: DynTy<'_, F>,
) -> Result<Ty<F>, D::Error> {
    let DynTy { bounds, region } = data;
    let folded_region = folder.fold_region(region)?;
    let mut changed = folded_region != region;
    let mut folded = Vec::with_capacity(bounds.len());
    for bound in bounds {
        let copy = fold_bound(bound, folder)?;
        changed |= copy.is_some();
        folded.push(copy.unwrap_or_else(|| bound.clone()));
    }
    if !changed {
        return Ok(ty.clone());
    }
    Ok(Ty::new(folder.cx(), TyData::Dyn(DynTy { bounds: &folded, region: folded_region }))?)
}

fn fold_bound<F: TypeFamily, D: Folder<F>>(
    bound: &DynBound<F>,
    folder: &mut D,
) -> Result<Option<DynBound<F>>, D::Error> {
    let DynBound { arity, kind, name, args } = bound;
    folder.state().depth += 1;
    let folded = fold_args(args, folder);
    folder.state().depth -= 1;
    Ok(folded?.map(|args| DynBound {
        arity: *arity,
        kind: *kind,
        name: *name,
        args: folder.cx().intern_args(&args),
    }))
}

/// Folds the children of a constant.
pub fn super_fold_const<F: TypeFamily, D: Folder<F>>(
    constant: &Const<F>,
    folder: &mut D,
) -> Result<Const<F>, D::Error> {
    let rebuilt = match constant.data() {
        ConstData::Expr(op, args) => match fold_args(args, folder)? {
            None => return Ok(constant.clone()),
            Some(args) => Const::new(folder.cx(), ConstData::Expr(op, &args)),
        },
        ConstData::Alias(name, args) => match fold_args(args, folder)? {
            None => return Ok(constant.clone()),
            Some(args) => Const::new(folder.cx(), ConstData::Alias(name, &args)),
        },
        ConstData::Value(_)
        | ConstData::Placeholder(_)
        | ConstData::Infer(_)
        | ConstData::Bound(_)
        | ConstData::Error(_) => return Ok(constant.clone()),
    };
    Ok(rebuilt?)
}
