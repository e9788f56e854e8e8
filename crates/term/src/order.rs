//! Total order of terms by an order of their names.
//!
//! The bounds of an existential type form a set. Two bounds of one name are sorted by their arguments, so
//! that the set has one normal form.
//!
//! **Invariant:** terms compare as equal exactly if they are equal.
//!
//! **Cost:** only the first parts that differ are compared further, so one path of each term is followed.

use crate::arg::GenericArg;
use crate::binder::VarKind;
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::leaf::Leaf;
use crate::region::Region;
use crate::ty::{
    AliasTy, ApplicationTy, DynBound, DynTy, FnTy, Placeholder, PlaceholderId, Ty, TyData, WitnessTy,
};
use std::cmp::Ordering;

/// Order of the names of a family.
pub(crate) type NameOrder<'o, N> = &'o dyn Fn(&N, &N) -> Ordering;

/// Compares two bounds: by kind, name, binder and arguments.
pub(crate) fn bounds<F: TypeFamily>(
    names: NameOrder<'_, F::Name>,
    a: &DynBound<F>,
    b: &DynBound<F>,
) -> Ordering {
    let heads = a.kind.cmp(&b.kind).then_with(|| names(&a.name, &b.name));
    heads.then_with(|| a.arity.cmp(&b.arity)).then_with(|| lists(names, &a.args, &b.args))
}

fn lists<F: TypeFamily>(names: NameOrder<'_, F::Name>, a: &[GenericArg<F>], b: &[GenericArg<F>]) -> Ordering {
    let difference = a.iter().zip(b).find(|(a, b)| a != b);
    a.len().cmp(&b.len()).then_with(|| difference.map_or(Ordering::Equal, |(a, b)| args(names, a, b)))
}

fn args<F: TypeFamily>(names: NameOrder<'_, F::Name>, a: &GenericArg<F>, b: &GenericArg<F>) -> Ordering {
    match (a, b) {
        (GenericArg::Ty(a), GenericArg::Ty(b)) => types(names, a, b),
        (GenericArg::Region(a), GenericArg::Region(b)) => regions(names, *a, *b),
        (GenericArg::Const(a), GenericArg::Const(b)) => consts(names, a, b),
        _ => kind(a).cmp(&kind(b)),
    }
}

fn kind<F: TypeFamily>(arg: &GenericArg<F>) -> VarKind {
    match arg {
        GenericArg::Ty(_) => VarKind::Ty,
        GenericArg::Region(_) => VarKind::Region,
        GenericArg::Const(_) => VarKind::Const,
    }
}

fn types<F: TypeFamily>(names: NameOrder<'_, F::Name>, a: &Ty<F>, b: &Ty<F>) -> Ordering {
    match (a.data(), b.data()) {
        (TyData::Apply(a), TyData::Apply(b)) => {
            let ApplicationTy { name, args } = a;
            names(&name, &b.name).then_with(|| lists(names, args, b.args))
        }
        (TyData::Alias(a), TyData::Alias(b)) => {
            let AliasTy { name, args } = a;
            names(&name, &b.name).then_with(|| lists(names, args, b.args))
        }
        (TyData::Fn(a), TyData::Fn(b)) => {
            let FnTy { name, arity, signature } = a;
            let heads = names(&name, &b.name).then_with(|| arity.cmp(&b.arity));
            heads.then_with(|| lists(names, signature, b.signature))
        }
        (TyData::GeneratorWitness(a), TyData::GeneratorWitness(b)) => {
            let WitnessTy { name, arity, types } = a;
            let heads = names(&name, &b.name).then_with(|| arity.cmp(&b.arity));
            heads.then_with(|| lists(names, types, b.types))
        }
        (TyData::Dyn(a), TyData::Dyn(b)) => {
            let DynTy { bounds: of_a, region } = a;
            let difference = of_a.iter().zip(b.bounds).find(|(a, b)| a != b);
            let first = difference.map_or(Ordering::Equal, |(a, b)| bounds(names, a, b));
            let region = || regions(names, region, b.region);
            of_a.len().cmp(&b.bounds.len()).then(first).then_with(region)
        }
        (a, b) => match (a.leaf(), b.leaf()) {
            (Some(a), Some(b)) => leaves(names, a, b),
            _ => variant(&a).cmp(&variant(&b)),
        },
    }
}

fn variant<F: TypeFamily>(data: &TyData<'_, F>) -> u8 {
    match data {
        TyData::Apply(_) => 0,
        TyData::Placeholder(_) | TyData::InferenceVar(_) | TyData::BoundVariable(_) | TyData::Error(_) => 1,
        TyData::Dyn(_) => 2,
        TyData::Fn(_) => 3,
        TyData::GeneratorWitness(_) => 4,
        TyData::Alias(_) => 5,
    }
}

fn regions<F: TypeFamily>(names: NameOrder<'_, F::Name>, a: Region<F>, b: Region<F>) -> Ordering {
    match (a.leaf(), b.leaf()) {
        (Some(a), Some(b)) => leaves(names, a, b),
        (None, None) => (a == Region::Erased).cmp(&(b == Region::Erased)),
        (a, b) => a.is_some().cmp(&b.is_some()),
    }
}

fn consts<F: TypeFamily>(names: NameOrder<'_, F::Name>, a: &Const<F>, b: &Const<F>) -> Ordering {
    let variant = |data: &ConstData<'_, F>| match data {
        ConstData::Value(_) => 0,
        ConstData::Placeholder(_) | ConstData::Infer(_) | ConstData::Bound(_) | ConstData::Error(_) => 1,
        ConstData::Expr(..) => 2,
        ConstData::Alias(..) => 3,
    };
    match (a.data(), b.data()) {
        (ConstData::Value(a), ConstData::Value(b)) => a.cmp(&b),
        (ConstData::Expr(op, args), ConstData::Expr(other, others)) => {
            op.cmp(&other).then_with(|| lists(names, args, others))
        }
        (ConstData::Alias(name, args), ConstData::Alias(other, others)) => {
            names(&name, &other).then_with(|| lists(names, args, others))
        }
        (a, b) => match (a.leaf(), b.leaf()) {
            (Some(a), Some(b)) => leaves(names, a, b),
            _ => variant(&a).cmp(&variant(&b)),
        },
    }
}

fn leaves<N: Copy>(names: NameOrder<'_, N>, a: Leaf<N>, b: Leaf<N>) -> Ordering {
    let variant = |leaf: &Leaf<N>| match leaf {
        Leaf::Bound(_) => 0,
        Leaf::Infer(_) => 1,
        Leaf::Placeholder(_) => 2,
        Leaf::Error(_) => 3,
    };
    match (a, b) {
        (Leaf::Bound(a), Leaf::Bound(b)) => a.cmp(&b),
        (Leaf::Infer(a), Leaf::Infer(b)) => a.cmp(&b),
        (Leaf::Placeholder(a), Leaf::Placeholder(b)) => {
            let Placeholder { universe, id } = a;
            universe.cmp(&b.universe).then_with(|| match (id, b.id) {
                (PlaceholderId::Named(a), PlaceholderId::Named(b)) => names(&a, &b),
                (PlaceholderId::Fresh(a), PlaceholderId::Fresh(b)) => a.cmp(&b),
                (PlaceholderId::Named(_), PlaceholderId::Fresh(_)) => Ordering::Less,
                (PlaceholderId::Fresh(_), PlaceholderId::Named(_)) => Ordering::Greater,
            })
        }
        (Leaf::Error(a), Leaf::Error(b)) => a.cmp(&b),
        (a, b) => variant(&a).cmp(&variant(&b)),
    }
}
