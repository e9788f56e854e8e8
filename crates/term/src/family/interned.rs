//! The interned family: one node per distinct term, stored in an arena; handles are `Copy` references.
//!
//! Hash-consing: a term is hashed by its name and the addresses of its children and compared structurally
//! with the candidates, so that equal hashes never decide identity.
//!
//! **Invariant:** two handles of one [`Interned`] are equal exactly if they are the same reference. Handles
//! of different families are never equal.

use super::{Node, TypeFamily};
use crate::arg::GenericArg;
use crate::binder::BoundVar;
use crate::constant::ConstData;
use crate::meta::{Flags, Meta, TermError};
use crate::name::Name;
use crate::ty::{
    AliasTy, ApplicationTy, DynTy, ErrorProof, FnTy, InferVar, Placeholder, TyData, WitnessTy, args_meta,
};
use bumpalo::Bump;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;
use std::cell::RefCell;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Arena of the nodes of an interned family. Must outlive every term.
#[derive(Default)]
pub struct Arena(Bump);

impl Arena {
    /// Creates an empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of the chunks that the arena has allocated.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.0.allocated_bytes()
    }

    /// Bytes of those chunks that nodes occupy.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.0.allocated_bytes() - self.0.chunk_capacity()
    }
}

impl Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arena").field("bytes", &self.allocated_bytes()).finish()
    }
}

/// Requirements on names of the interned family.
pub trait InternedName: Copy + Eq + Ord + Hash + Debug + 'static {}
impl<N: Copy + Eq + Ord + Hash + Debug + 'static> InternedName for N {}

/// The interned family over names `N`, with nodes in an arena that lives for `'p`.
///
/// A clone shares the nodes of the original.
#[derive(Clone)]
pub struct Interned<'p, N: InternedName = Name>(Rc<Pool<'p, N>>);

struct Pool<'p, N: InternedName> {
    arena: &'p Bump,
    tys: RefCell<HashTable<&'p TyNode<'p, N>>>,
    consts: RefCell<HashTable<&'p ConstNode<'p, N>>>,
}

struct TyNode<'p, N: InternedName> {
    meta: Meta,
    data: Stored<'p, N>,
}

impl<N: InternedName> TyNode<'_, N> {
    /// Hash of the node in the table.
    fn hash(&self) -> u64 {
        match self.data.view() {
            TyData::Apply(ApplicationTy { name, args }) => hash_application(name, args),
            data => hash(&data),
        }
    }
}

/// Content of a node. Applications, the most frequent case, are stored inside the node and larger contents
/// behind a reference, so that a node with two arguments takes 64 bytes.
#[derive(Clone, Copy)]
enum Stored<'p, N: InternedName> {
    Apply(ApplicationTy<'p, Interned<'p, N>>),
    Placeholder(Placeholder<N>),
    InferenceVar(InferVar),
    Dyn(&'p DynTy<'p, Interned<'p, N>>),
    Fn(&'p FnTy<'p, Interned<'p, N>>),
    GeneratorWitness(&'p WitnessTy<'p, Interned<'p, N>>),
    Alias(&'p AliasTy<'p, Interned<'p, N>>),
    BoundVariable(BoundVar),
    Error(ErrorProof),
}

impl<'p, N: InternedName> Stored<'p, N> {
    #[inline]
    fn view(&self) -> TyData<'p, Interned<'p, N>> {
        match *self {
            Self::Apply(data) => TyData::Apply(data),
            Self::Placeholder(placeholder) => TyData::Placeholder(placeholder),
            Self::InferenceVar(var) => TyData::InferenceVar(var),
            Self::Dyn(data) => TyData::Dyn(*data),
            Self::Fn(data) => TyData::Fn(*data),
            Self::GeneratorWitness(data) => TyData::GeneratorWitness(*data),
            Self::Alias(data) => TyData::Alias(*data),
            Self::BoundVariable(var) => TyData::BoundVariable(var),
            Self::Error(proof) => TyData::Error(proof),
        }
    }
}

struct ConstNode<'p, N: InternedName> {
    meta: Meta,
    data: ConstData<'p, Interned<'p, N>>,
}

impl<'p, N: InternedName> Interned<'p, N> {
    /// Creates an empty family over `arena`.
    #[must_use]
    pub fn new(arena: &'p Arena) -> Self {
        Self(Rc::new(Pool { arena: &arena.0, tys: RefCell::default(), consts: RefCell::default() }))
    }

    /// Number of distinct types and constants.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.tys.borrow().len() + self.0.consts.borrow().len()
    }

    /// Bytes of the hash tables, without the nodes.
    #[must_use]
    pub fn table_bytes(&self) -> usize {
        self.0.tys.borrow().allocation_size() + self.0.consts.borrow().allocation_size()
    }

    /// Whether the family holds no terms.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline]
    fn list(&self, args: &[GenericArg<Self>]) -> &'p [GenericArg<Self>] {
        match *args {
            [] => &[],
            [a, b] => self.0.arena.alloc([a, b]),
            _ => self.0.arena.alloc_slice_copy(args),
        }
    }

    /// Finds or adds the node of an application with one table lookup.
    #[inline]
    fn application(&self, name: N, args: &[GenericArg<Self>]) -> Result<InternedTy<'p, N>, TermError> {
        let key = hash_application(name, args);
        let mut tys = self.0.tys.borrow_mut();
        let same = |node: &&TyNode<'p, N>| matches!(node.data, Stored::Apply(other) if other.name == name && same_args(other.args, args));
        match tys.entry(key, same, |node| node.hash()) {
            Entry::Occupied(entry) => Ok(InternedTy(entry.get())),
            Entry::Vacant(entry) => {
                let meta = args_meta(args, 0, Flags::NONE)?;
                let data = Stored::Apply(ApplicationTy { name, args: self.list(args) });
                let node: &'p TyNode<'p, N> = self.0.arena.alloc(TyNode { meta, data });
                entry.insert(node);
                Ok(InternedTy(node))
            }
        }
    }
}

impl<N: InternedName> PartialEq for Interned<'_, N> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}
impl<N: InternedName> Eq for Interned<'_, N> {}
impl<N: InternedName> Hash for Interned<'_, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Rc::as_ptr(&self.0).addr().hash(state);
    }
}
impl<N: InternedName> Debug for Interned<'_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interned")
    }
}

/// Handle of a type of the interned family.
pub struct InternedTy<'p, N: InternedName>(&'p TyNode<'p, N>);

/// Handle of a constant of the interned family.
pub struct InternedConst<'p, N: InternedName>(&'p ConstNode<'p, N>);

macro_rules! handle {
    ($($name:ident),*) => {$(
        impl<N: InternedName> Clone for $name<'_, N> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<N: InternedName> Copy for $name<'_, N> {}
        impl<N: InternedName> PartialEq for $name<'_, N> {
            fn eq(&self, other: &Self) -> bool {
                std::ptr::eq(self.0, other.0)
            }
        }
        impl<N: InternedName> Eq for $name<'_, N> {}
        impl<N: InternedName> Debug for $name<'_, N> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.0.meta).finish()
            }
        }
        impl<N: InternedName> Node for $name<'_, N> {
            #[inline]
            fn meta(&self) -> Meta {
                self.0.meta
            }

            #[inline]
            fn address(&self) -> usize {
                std::ptr::from_ref(self.0).addr()
            }
        }
        impl<N: InternedName> Hash for $name<'_, N> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                std::ptr::from_ref(self.0).addr().hash(state);
            }
        }
    )*};
}
handle!(InternedTy, InternedConst);

/// Hash of the content of a node: a few integers, for which the hash of rustc's interners needs one
/// multiplication each and no buffer. Collisions only cost time.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hash of an application: its name and the identities of its arguments.
#[inline]
fn hash_application<N: InternedName>(name: N, args: &[GenericArg<Interned<'_, N>>]) -> u64 {
    let mut hasher = FxHasher::default();
    name.hash(&mut hasher);
    for arg in args {
        match arg {
            GenericArg::Ty(ty) => hasher.write_usize(ty.address()),
            GenericArg::Const(constant) => hasher.write_usize(constant.address()),
            GenericArg::Region(region) => region.hash(&mut hasher),
        }
    }
    hasher.finish()
}

/// Whether two lists are equal; equal terms are the same node.
#[inline]
fn same_args<'p, N: InternedName>(
    a: &[GenericArg<Interned<'p, N>>],
    b: &[GenericArg<Interned<'p, N>>],
) -> bool {
    match (a, b) {
        // Comparing empty slices calls `memcmp` with dangling pointers, which is slow on processors with
        // masked loads.
        ([], []) => true,
        ([a], [b]) => a.same(b),
        ([a, c], [b, d]) => a.same(b) && c.same(d),
        (a, b) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
    }
}

impl<'p, N: InternedName> TypeFamily for Interned<'p, N> {
    type Name = N;
    type InternedTy = InternedTy<'p, N>;
    type InternedConst = InternedConst<'p, N>;
    type InternedArgs = &'p [GenericArg<Self>];

    const IDENTITY: bool = true;

    fn intern_ty(&self, data: TyData<'_, Self>) -> Result<InternedTy<'p, N>, TermError> {
        if let TyData::Apply(ApplicationTy { name, args }) = data {
            return self.application(name, args);
        }
        let key = hash(&data);
        let mut tys = self.0.tys.borrow_mut();
        if let Some(node) = tys.find(key, |node| node.data.view() == data) {
            return Ok(InternedTy(node));
        }
        let meta = data.meta()?;
        let arena = self.0.arena;
        let data = match data {
            TyData::Apply(ApplicationTy { name, args }) => {
                Stored::Apply(ApplicationTy { name, args: self.list(args) })
            }
            TyData::Placeholder(placeholder) => Stored::Placeholder(placeholder),
            TyData::InferenceVar(var) => Stored::InferenceVar(var),
            TyData::Dyn(DynTy { bounds, region }) => {
                Stored::Dyn(arena.alloc(DynTy { bounds: arena.alloc_slice_clone(bounds), region }))
            }
            TyData::Fn(FnTy { name, arity, signature }) => {
                Stored::Fn(arena.alloc(FnTy { name, arity, signature: self.list(signature) }))
            }
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                Stored::GeneratorWitness(arena.alloc(WitnessTy { name, arity, types: self.list(types) }))
            }
            TyData::Alias(AliasTy { name, args }) => {
                Stored::Alias(arena.alloc(AliasTy { name, args: self.list(args) }))
            }
            TyData::BoundVariable(var) => Stored::BoundVariable(var),
            TyData::Error(proof) => Stored::Error(proof),
        };
        let node: &'p TyNode<'p, N> = arena.alloc(TyNode { meta, data });
        tys.insert_unique(key, node, |node| node.hash());
        Ok(InternedTy(node))
    }

    fn intern_const(&self, data: ConstData<'_, Self>) -> Result<InternedConst<'p, N>, TermError> {
        let key = hash(&data);
        let mut consts = self.0.consts.borrow_mut();
        if let Some(node) = consts.find(key, |node| node.data == data) {
            return Ok(InternedConst(node));
        }
        let meta = data.meta()?;
        let data = match data {
            ConstData::Value(value) => ConstData::Value(value),
            ConstData::Placeholder(placeholder) => ConstData::Placeholder(placeholder),
            ConstData::Infer(var) => ConstData::Infer(var),
            ConstData::Bound(var) => ConstData::Bound(var),
            ConstData::Expr(op, args) => ConstData::Expr(op, self.list(args)),
            ConstData::Alias(name, args) => ConstData::Alias(name, self.list(args)),
            ConstData::Error(proof) => ConstData::Error(proof),
        };
        let node: &'p ConstNode<'p, N> = self.0.arena.alloc(ConstNode { meta, data });
        consts.insert_unique(key, node, |node| hash(&node.data));
        Ok(InternedConst(node))
    }

    fn intern_args(&self, args: &[GenericArg<Self>]) -> &'p [GenericArg<Self>] {
        self.list(args)
    }

    #[inline]
    fn ty_data(ty: &InternedTy<'p, N>) -> TyData<'p, Self> {
        ty.0.data.view()
    }

    #[inline]
    fn const_data(constant: &InternedConst<'p, N>) -> ConstData<'p, Self> {
        constant.0.data
    }
}
