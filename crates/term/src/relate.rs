//! Structural relation of two terms.
//!
//! A [`Relation`] handles pairs of types, regions, constants and binders; [`relate_structurally`] determines
//! the corresponding parts of two types and their variances. A relation that calls it from
//! [`tys`](Relation::tys) is recursive; the relation of the inference table uses a worklist instead.
//!
//! The ambient variance selects the relation: `Covariant` means `a <: b`, `Contravariant` means `b <: a`,
//! `Invariant` means `a == b`.

use crate::arg::GenericArg;
use crate::binder::Binder;
use crate::constant::Const;
use crate::family::TypeFamily;
use crate::region::Region;
use crate::ty::{AliasTy, ApplicationTy, DynBound, DynBoundKind, DynTy, FnTy, Ty, TyData, WitnessTy};
use crate::variance::Variance;
use std::borrow::Borrow;
use std::cmp::Ordering;

/// Kind of the lists under a pair of binders; determines the variance of each position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinderKind {
    /// Parameters and a result: all positions but the last are contravariant.
    Function,
    /// Arguments of a bound: invariant.
    Bound,
    /// The types of a witness: covariant.
    Witness,
}

impl BinderKind {
    pub(crate) fn variance(self, index: usize, len: usize) -> Variance {
        match self {
            Self::Function if index + 1 < len => Variance::Contravariant,
            Self::Function | Self::Witness => Variance::Covariant,
            Self::Bound => Variance::Invariant,
        }
    }
}

/// A list of arguments under a binder.
pub type BoundArgs<'a, F> = Binder<&'a [GenericArg<F>]>;

/// Handles pairs of terms.
pub trait Relation<F: TypeFamily>: Sized {
    /// Error of two terms that do not relate.
    type Error;

    /// Returns the variance of argument `index` of `name`.
    fn variance(&self, name: F::Name, index: usize) -> Variance;

    /// Relates two types.
    fn tys(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> Result<(), Self::Error>;

    /// Relates two regions.
    fn regions(&mut self, variance: Variance, a: Region<F>, b: Region<F>) -> Result<(), Self::Error>;

    /// Equates two constants.
    fn consts(&mut self, a: &Const<F>, b: &Const<F>) -> Result<(), Self::Error>;

    /// Relates two lists under binders. Calls [`relate_args`] on the lists without bound variables.
    fn binders(
        &mut self,
        variance: Variance,
        kind: BinderKind,
        a: BoundArgs<'_, F>,
        b: BoundArgs<'_, F>,
    ) -> Result<(), Self::Error>;

    /// Creates the error of two types that differ at the top.
    fn mismatch(&self, a: &Ty<F>, b: &Ty<F>) -> Self::Error;

    /// Creates the error of two arguments of different kinds.
    fn kind_mismatch(&self, a: &GenericArg<F>, b: &GenericArg<F>) -> Self::Error;
}

/// Relates two arguments.
pub fn relate_arg<F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    a: &GenericArg<F>,
    b: &GenericArg<F>,
) -> Result<(), R::Error> {
    if variance == Variance::Bivariant {
        return Ok(());
    }
    match (a, b) {
        (GenericArg::Ty(a), GenericArg::Ty(b)) => relation.tys(variance, a, b),
        (GenericArg::Region(a), GenericArg::Region(b)) => relation.regions(variance, *a, *b),
        (GenericArg::Const(a), GenericArg::Const(b)) => relation.consts(a, b),
        (GenericArg::Ty(_), GenericArg::Region(_) | GenericArg::Const(_))
        | (GenericArg::Region(_), GenericArg::Ty(_) | GenericArg::Const(_))
        | (GenericArg::Const(_), GenericArg::Ty(_) | GenericArg::Region(_)) => {
            Err(relation.kind_mismatch(a, b))
        }
    }
}

/// Relates two lists of equal length, with the variances of `kind`.
pub fn relate_args<F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    kind: BinderKind,
    a: &[GenericArg<F>],
    b: &[GenericArg<F>],
) -> Result<(), R::Error> {
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        relate_arg(relation, variance.compose(kind.variance(i, a.len())), x, y)?;
    }
    Ok(())
}

/// Relates the arguments of one name.
fn relate_named<F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    name: F::Name,
    a: &[GenericArg<F>],
    b: &[GenericArg<F>],
) -> Result<(), R::Error> {
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        // Equality needs no variances, and computing them could depend on this very relation.
        let is_invariant = variance == Variance::Invariant;
        let inner = if is_invariant { variance } else { variance.compose(relation.variance(name, i)) };
        relate_arg(relation, inner, x, y)?;
    }
    Ok(())
}

/// Relates two types by their parts. Neither may be a variable or an alias that evaluates.
///
/// The caller has handled errors and variables; here a variable equals only itself, and aliases are rigid.
pub fn relate_structurally<F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    a: &Ty<F>,
    b: &Ty<F>,
) -> Result<(), R::Error> {
    match (a.data(), b.data()) {
        (TyData::Apply(x), TyData::Apply(y)) if x.name == y.name && x.args.len() == y.args.len() => {
            let ApplicationTy { name, args } = x;
            relate_named(relation, variance, name, args, y.args)
        }
        (TyData::Alias(x), TyData::Alias(y)) if x.name == y.name && x.args.len() == y.args.len() => {
            let AliasTy { name, args } = x;
            relate_named(relation, variance, name, args, y.args)
        }
        (TyData::Fn(x), TyData::Fn(y)) if x.name == y.name && x.signature.len() == y.signature.len() => {
            let FnTy { name: _, arity, signature } = x;
            let (x, y) = (Binder::new(arity, signature), Binder::new(y.arity, y.signature));
            relation.binders(variance, BinderKind::Function, x, y)
        }
        (TyData::GeneratorWitness(x), TyData::GeneratorWitness(y))
            if x.name == y.name && x.types.len() == y.types.len() =>
        {
            let WitnessTy { name: _, arity, types } = x;
            let (x, y) = (Binder::new(arity, types), Binder::new(y.arity, y.types));
            relation.binders(variance, BinderKind::Witness, x, y)
        }
        (TyData::Dyn(x), TyData::Dyn(y)) => {
            if !relate_bounds(relation, variance, x.bounds, y.bounds)? {
                return Err(relation.mismatch(a, b));
            }
            let DynTy { bounds: _, region } = x;
            relation.regions(variance, region, y.region)
        }
        (TyData::Placeholder(x), TyData::Placeholder(y)) if x == y => Ok(()),
        (TyData::InferenceVar(x), TyData::InferenceVar(y)) if x == y => Ok(()),
        (TyData::BoundVariable(x), TyData::BoundVariable(y)) if x == y => Ok(()),
        (TyData::Error(_), TyData::Error(_)) => Ok(()),
        (
            TyData::Apply(_)
            | TyData::Alias(_)
            | TyData::Fn(_)
            | TyData::GeneratorWitness(_)
            | TyData::Dyn(_)
            | TyData::Placeholder(_)
            | TyData::InferenceVar(_)
            | TyData::BoundVariable(_)
            | TyData::Error(_),
            _,
        ) => Err(relation.mismatch(a, b)),
    }
}

/// Puts bounds into canonical order: traits as written, projections by name, auto traits as a set.
pub(crate) fn sort_bounds<F: TypeFamily, B: Borrow<DynBound<F>>>(
    bounds: &mut Vec<B>,
    order: impl Fn(&F::Name, &F::Name) -> Ordering,
) {
    bounds.sort_by(|x, y| {
        let (x, y) = (x.borrow(), y.borrow());
        let by_name = match x.kind {
            DynBoundKind::Trait => Ordering::Equal,
            DynBoundKind::Projection | DynBoundKind::AutoTrait => order(&x.name, &y.name),
        };
        x.kind.cmp(&y.kind).then(by_name)
    });
    bounds.dedup_by(|x, y| {
        let (x, y): (&DynBound<F>, &DynBound<F>) = ((*x).borrow(), (*y).borrow());
        x.kind == DynBoundKind::AutoTrait && y.kind == x.kind && x.name == y.name
    });
}

/// Relates two sets of bounds; returns `false` if they do not have the same names.
fn relate_bounds<'b, F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    a: &'b [DynBound<F>],
    b: &'b [DynBound<F>],
) -> Result<bool, R::Error> {
    let in_order = |bounds: &'b [DynBound<F>]| {
        let mut list: Vec<&DynBound<F>> = bounds.iter().collect();
        sort_bounds(&mut list, F::Name::cmp);
        list
    };
    let (a, b) = (in_order(a), in_order(b));
    let same_head = |x: &DynBound<F>, y: &DynBound<F>| {
        x.kind == y.kind && x.name == y.name && x.args.len() == y.args.len()
    };
    if a.len() != b.len() || !a.iter().zip(&b).all(|(x, y)| same_head(x, y)) {
        return Ok(false);
    }
    for (x, y) in a.iter().zip(&b) {
        let (x, y) = (Binder::new(x.arity, &*x.args), Binder::new(y.arity, &*y.args));
        relation.binders(variance, BinderKind::Bound, x, y)?;
    }
    Ok(true)
}
