//! The boxed family: every node is an `Arc`, no setup, terms can be sent to other threads.
//!
//! **Invariant:** lists of up to two arguments are stored inside the node, so a typical application is one
//! allocation.
//!
//! **Invariant:** no weak references exist, so `triomphe::Arc` suffices, which has one counter instead of
//! two.
//!
//! Equality is structural, with a shortcut for shared nodes. A term that is large as a tree may be small as a
//! graph. From weight [`LARGE`] on, pairs of equal nodes are cached, so that the cost is bounded by the size
//! of the graphs.

use super::{Node, TypeFamily};
use crate::arg::GenericArg;
use crate::binder::Arity;
use crate::constant::{ConstData, ConstOp, ConstValue};
use crate::meta::{LARGE, Meta, TermError};
use crate::name::Name;
use crate::region::Region;
use crate::ty::{
    AliasTy, ApplicationTy, DynBound, DynTy, ErrorProof, FnTy, InferVar, Placeholder, TyData, WitnessTy,
};
use hashbrown::HashSet;
use std::cell::RefCell;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::ops::Deref;
use triomphe::Arc;

/// The boxed family over names `N`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Boxed<N = Name>(PhantomData<N>);

impl<N> Default for Boxed<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<N> Boxed<N> {
    /// Creates the family, which has no state.
    #[inline]
    #[must_use]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

/// Requirements on names of the boxed family.
pub trait BoxedName: Copy + Eq + Ord + Hash + Debug + 'static {}
impl<N: Copy + Eq + Ord + Hash + Debug + 'static> BoxedName for N {}

/// List of arguments inside a node; up to two need no allocation of their own.
enum Args<N: BoxedName> {
    None,
    One([GenericArg<Boxed<N>>; 1]),
    Two([GenericArg<Boxed<N>>; 2]),
    Many(Box<[GenericArg<Boxed<N>>]>),
}

impl<N: BoxedName> Args<N> {
    #[inline]
    fn new(list: &[GenericArg<Boxed<N>>]) -> Self {
        match list {
            [] => Self::None,
            [a] => Self::One([a.clone()]),
            [a, b] => Self::Two([a.clone(), b.clone()]),
            many => Self::Many(many.into()),
        }
    }
}

impl<N: BoxedName> Deref for Args<N> {
    type Target = [GenericArg<Boxed<N>>];

    #[inline]
    fn deref(&self) -> &Self::Target {
        match self {
            Self::None => &[],
            Self::One(list) => list,
            Self::Two(list) => list,
            Self::Many(list) => list,
        }
    }
}

/// Handle of a type of the boxed family.
#[derive(Clone)]
pub struct BoxedTy<N: BoxedName>(Arc<TyNode<N>>);

/// Handle of a constant of the boxed family.
#[derive(Clone)]
pub struct BoxedConst<N: BoxedName>(Arc<ConstNode<N>>);

struct TyNode<N: BoxedName> {
    meta: Meta,
    data: Stored<N>,
}

impl<N: BoxedName> TyNode<N> {
    /// Whether both nodes are the same type.
    #[inline(never)]
    fn is_like(&self, other: &Self) -> bool {
        if !self.meta.is(other.meta) {
            return false;
        }
        if self.meta.weight < LARGE {
            return self.has_data_of(other);
        }
        self.is_like_large(other)
    }

    #[cold]
    #[inline(never)]
    fn is_like_large(&self, other: &Self) -> bool {
        let address = |node| std::ptr::from_ref::<Self>(node).addr();
        large_eq((address(self), address(other)), || self.has_data_of(other))
    }

    #[inline(always)]
    fn has_data_of(&self, other: &Self) -> bool {
        match (&self.data, &other.data) {
            // The most frequent case.
            (
                Stored::Apply(name, Args::Two([GenericArg::Ty(a), GenericArg::Ty(b)])),
                Stored::Apply(other, Args::Two([GenericArg::Ty(c), GenericArg::Ty(d)])),
            ) => name == other && a.interned() == c.interned() && b.interned() == d.interned(),
            (Stored::Apply(name, args), Stored::Apply(other, others)) => name == other && **args == **others,
            _ => self.view() == other.view(),
        }
    }

    #[inline(always)]
    fn view(&self) -> TyData<'_, Boxed<N>> {
        match &self.data {
            Stored::Apply(name, args) => TyData::Apply(ApplicationTy { name: *name, args }),
            Stored::Placeholder(placeholder) => TyData::Placeholder(*placeholder),
            Stored::InferenceVar(var) => TyData::InferenceVar(*var),
            Stored::Dyn(bounds, region) => TyData::Dyn(DynTy { bounds, region: *region }),
            Stored::Fn(name, arity, args) => TyData::Fn(FnTy { name: *name, arity: *arity, signature: args }),
            Stored::GeneratorWitness(name, arity, args) => {
                TyData::GeneratorWitness(WitnessTy { name: *name, arity: *arity, types: args })
            }
            Stored::Alias(name, args) => TyData::Alias(AliasTy { name: *name, args }),
            Stored::BoundVariable(var) => TyData::BoundVariable(*var),
            Stored::Error(proof) => TyData::Error(*proof),
        }
    }
}

struct ConstNode<N: BoxedName> {
    meta: Meta,
    data: StoredConst<N>,
}

enum Stored<N: BoxedName> {
    Apply(N, Args<N>),
    Placeholder(Placeholder<N>),
    InferenceVar(InferVar),
    Dyn(Box<[DynBound<Boxed<N>>]>, Region<Boxed<N>>),
    Fn(N, Arity, Args<N>),
    GeneratorWitness(N, Arity, Args<N>),
    Alias(N, Args<N>),
    BoundVariable(crate::binder::BoundVar),
    Error(ErrorProof),
}

enum StoredConst<N: BoxedName> {
    Value(ConstValue),
    Placeholder(Placeholder<N>),
    Infer(InferVar),
    Bound(crate::binder::BoundVar),
    Expr(ConstOp, Args<N>),
    Alias(N, Args<N>),
    Error(ErrorProof),
}

impl<N: BoxedName> TypeFamily for Boxed<N> {
    type Name = N;
    type InternedTy = BoxedTy<N>;
    type InternedConst = BoxedConst<N>;
    type InternedArgs = std::sync::Arc<[GenericArg<Self>]>;

    const IDENTITY: bool = false;

    fn intern_ty(&self, data: TyData<'_, Self>) -> Result<BoxedTy<N>, TermError> {
        let meta = data.meta()?;
        let data = match data {
            TyData::Apply(ApplicationTy { name, args: list }) => Stored::Apply(name, Args::new(list)),
            TyData::Placeholder(placeholder) => Stored::Placeholder(placeholder),
            TyData::InferenceVar(var) => Stored::InferenceVar(var),
            TyData::Dyn(DynTy { bounds, region }) => Stored::Dyn(bounds.into(), region),
            TyData::Fn(FnTy { name, arity, signature }) => Stored::Fn(name, arity, Args::new(signature)),
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                Stored::GeneratorWitness(name, arity, Args::new(types))
            }
            TyData::Alias(AliasTy { name, args: list }) => Stored::Alias(name, Args::new(list)),
            TyData::BoundVariable(var) => Stored::BoundVariable(var),
            TyData::Error(proof) => Stored::Error(proof),
        };
        Ok(BoxedTy(Arc::new(TyNode { meta, data })))
    }

    fn intern_const(&self, data: ConstData<'_, Self>) -> Result<BoxedConst<N>, TermError> {
        let meta = data.meta()?;
        let data = match data {
            ConstData::Value(value) => StoredConst::Value(value),
            ConstData::Placeholder(placeholder) => StoredConst::Placeholder(placeholder),
            ConstData::Infer(var) => StoredConst::Infer(var),
            ConstData::Bound(var) => StoredConst::Bound(var),
            ConstData::Expr(op, list) => StoredConst::Expr(op, Args::new(list)),
            ConstData::Alias(name, list) => StoredConst::Alias(name, Args::new(list)),
            ConstData::Error(proof) => StoredConst::Error(proof),
        };
        Ok(BoxedConst(Arc::new(ConstNode { meta, data })))
    }

    fn intern_args(&self, list: &[GenericArg<Self>]) -> std::sync::Arc<[GenericArg<Self>]> {
        list.into()
    }

    // Inlined always: a fold inspects a node twice, and the compiler removes the second inspection only if it
    // sees the first.
    #[inline(always)]
    fn ty_data(ty: &BoxedTy<N>) -> TyData<'_, Self> {
        ty.0.view()
    }

    #[inline]
    fn const_data(constant: &BoxedConst<N>) -> ConstData<'_, Self> {
        match &constant.0.data {
            StoredConst::Value(value) => ConstData::Value(*value),
            StoredConst::Placeholder(placeholder) => ConstData::Placeholder(*placeholder),
            StoredConst::Infer(var) => ConstData::Infer(*var),
            StoredConst::Bound(var) => ConstData::Bound(*var),
            StoredConst::Expr(op, args) => ConstData::Expr(*op, args),
            StoredConst::Alias(name, args) => ConstData::Alias(*name, args),
            StoredConst::Error(proof) => ConstData::Error(*proof),
        }
    }
}

macro_rules! handle {
    ($($name:ident),*) => {$(
        impl<N: BoxedName> Debug for $name<N> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.0.meta).finish()
            }
        }
        impl<N: BoxedName> Node for $name<N> {
            #[inline]
            fn meta(&self) -> Meta {
                self.0.meta
            }

            #[inline]
            fn address(&self) -> usize {
                self.0.as_ptr().addr()
            }

            #[inline]
            fn is_shared(&self) -> bool {
                !self.0.is_unique()
            }
        }
    )*};
}
handle!(BoxedTy, BoxedConst);

thread_local! {
    /// Pairs of nodes found equal during a comparison of large terms; `None` outside of one.
    static EQUAL: RefCell<Option<HashSet<(usize, usize), foldhash::fast::FixedState>>> = const { RefCell::new(None) };
}

/// Compares two large nodes, with a cache of equal pairs that lives until the outermost comparison ends.
fn large_eq(key: (usize, usize), compare: impl FnOnce() -> bool) -> bool {
    let outermost = EQUAL.with_borrow_mut(|seen| {
        let outermost = seen.is_none();
        let seen = seen.get_or_insert_default();
        if seen.contains(&key) { None } else { Some(outermost) }
    });
    let Some(outermost) = outermost else { return true };
    let equal = compare();
    EQUAL.with_borrow_mut(|seen| {
        if outermost {
            *seen = None;
        } else if let (true, Some(seen)) = (equal, seen) {
            seen.insert(key);
        }
    });
    equal
}

impl<N: BoxedName> PartialEq for BoxedTy<N> {
    /// Inlined fast path: most pairs of subterms are the same node.
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.is_like(&other.0)
    }
}
impl<N: BoxedName> Eq for BoxedTy<N> {}

/// Hashes only the upper levels of a large node, because hashing its tree could take exponential time. Large
/// terms that differ only at greater depth may collide.
fn hash_surface<N: BoxedName, H: Hasher>(name: N, args: &[GenericArg<Boxed<N>>], state: &mut H) {
    name.hash(state);
    for arg in args {
        if let Ok(meta) = arg.meta() {
            meta.hash(state);
        }
    }
}

impl<N: BoxedName> Hash for BoxedTy<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let data = Boxed::<N>::ty_data(self);
        if self.0.meta.weight < LARGE {
            data.hash(state);
        } else {
            self.0.meta.hash(state);
            std::mem::discriminant(&data).hash(state);
            if let TyData::Apply(ApplicationTy { name, args }) | TyData::Alias(AliasTy { name, args }) = data
            {
                hash_surface(name, args, state);
            }
        }
    }
}

impl<N: BoxedName> PartialEq for BoxedConst<N> {
    fn eq(&self, other: &Self) -> bool {
        if Arc::ptr_eq(&self.0, &other.0) {
            return true;
        }
        if self.0.meta != other.0.meta {
            return false;
        }
        let compare = || Boxed::<N>::const_data(self) == Boxed::<N>::const_data(other);
        if self.0.meta.weight < LARGE {
            return compare();
        }
        large_eq((self.0.as_ptr().addr(), other.0.as_ptr().addr()), compare)
    }
}
impl<N: BoxedName> Eq for BoxedConst<N> {}

impl<N: BoxedName> Hash for BoxedConst<N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.0.meta.weight < LARGE {
            Boxed::<N>::const_data(self).hash(state);
        } else {
            self.0.meta.hash(state);
        }
    }
}
