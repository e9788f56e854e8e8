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
use crate::order::{self, NameOrder};
use crate::region::Region;
use crate::ty::{AliasTy, ApplicationTy, DynBound, DynBoundKind, DynTy, FnTy, Ty, TyData, WitnessTy};
use crate::variance::Variance;
use std::borrow::Borrow;

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

    /// Relates two existential types with several bounds of one name, by their normal forms
    /// (`relate_normal_dyn`). If a variable or an alias determines which bounds correspond, the pair is
    /// undecided.
    fn repeated_bounds(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> Result<(), Self::Error>;

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
        (TyData::Dyn(x), TyData::Dyn(y)) => relate_dyn(relation, variance, [(a, x), (b, y)]),
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

/// Puts a set of bounds into canonical order, without duplicates.
pub(crate) fn sort_bounds<F: TypeFamily, B: Borrow<DynBound<F>>>(
    list: &mut Vec<B>,
    names: NameOrder<'_, F::Name>,
) {
    if list.len() > 1 {
        list.sort_by(|x, y| order::bounds(names, x.borrow(), y.borrow()));
        list.dedup_by(|x, y| {
            let (x, y): (&DynBound<F>, &DynBound<F>) = ((*x).borrow(), (*y).borrow());
            x == y
        });
    }
}

/// Two types with their contents, which are existential.
type DynPair<'t, F> = [(&'t Ty<F>, DynTy<'t, F>); 2];

/// Relates two existential types; the bounds of each are a set.
fn relate_dyn<F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    pair: DynPair<'_, F>,
) -> Result<(), R::Error> {
    let [(a, x), (b, y)] = pair;
    let [mut of_a, mut of_b] = [in_order(x.bounds), in_order(y.bounds)];
    let repeats = |list: &[&DynBound<F>]| list.windows(2).any(|pair| head(pair[0]) == head(pair[1]));
    // Bounds of one name can have different arguments. Those of both sets correspond to themselves; of several
    // others, the normal form shows which correspond.
    if repeats(&of_a) || repeats(&of_b) {
        let contains = |list: &[&DynBound<F>], bound: &DynBound<F>| {
            list.binary_search_by(|other| order::bounds(&F::Name::cmp, other, bound)).is_ok()
        };
        let all_of_a = of_a.clone();
        of_a.retain(|bound| !contains(&of_b, bound));
        of_b.retain(|bound| !contains(&all_of_a, bound));
        if of_a.len() != of_b.len() || repeats(&of_a) || repeats(&of_b) {
            return relation.repeated_bounds(variance, a, b);
        }
    }
    relate_bounds(relation, variance, pair, &of_a, &of_b)
}

/// Relates two existential types in normal form.
pub(crate) fn relate_normal_dyn<F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    a: &Ty<F>,
    b: &Ty<F>,
) -> Result<(), R::Error> {
    let (TyData::Dyn(x), TyData::Dyn(y)) = (a.data(), b.data()) else { return Err(relation.mismatch(a, b)) };
    relate_bounds(relation, variance, [(a, x), (b, y)], &in_order(x.bounds), &in_order(y.bounds))
}

fn in_order<F: TypeFamily>(bounds: &[DynBound<F>]) -> Vec<&DynBound<F>> {
    let mut list: Vec<&DynBound<F>> = bounds.iter().collect();
    sort_bounds(&mut list, &F::Name::cmp);
    list
}

/// Kind and name of a bound.
fn head<F: TypeFamily>(bound: &DynBound<F>) -> (DynBoundKind, F::Name) {
    (bound.kind, bound.name)
}

/// Relates bounds one by one, and the regions.
fn relate_bounds<F: TypeFamily, R: Relation<F>>(
    relation: &mut R,
    variance: Variance,
    [(a, x), (b, y)]: DynPair<'_, F>,
    of_a: &[&DynBound<F>],
    of_b: &[&DynBound<F>],
) -> Result<(), R::Error> {
    let same_head =
        |(x, y): (&&DynBound<F>, &&DynBound<F>)| head(x) == head(y) && x.args.len() == y.args.len();
    if of_a.len() != of_b.len() || !of_a.iter().zip(of_b).all(same_head) {
        return Err(relation.mismatch(a, b));
    }
    for (x, y) in of_a.iter().zip(of_b) {
        let (x, y) = (Binder::new(x.arity, &*x.args), Binder::new(y.arity, &*y.args));
        relation.binders(variance, BinderKind::Bound, x, y)?;
    }
    let (DynTy { bounds: _, region }, DynTy { bounds: _, region: other }) = (x, y);
    relation.regions(variance, region, other)
}
