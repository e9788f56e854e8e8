//! Type families: how terms are stored.
//!
//! *Intern with context, look up without*: a family is a value that builds nodes; a handle gives its content alone.
//! What the program knows about names is not part of a family: see [`crate::program::Program`].
//!
//! | | [`boxed::Boxed`] | [`interned::Interned`] |
//! |---|---|---|
//! | handle | `Arc`, `Send + Sync` | `Copy` reference into an arena |
//! | set-up | none | an [`interned::Arena`] that outlives every term |
//! | equality | structural, same node first | identity |
//! | traversals | remember nodes of large terms | remember every shared node |

pub mod boxed;
pub mod interned;

use crate::arg::GenericArg;
use crate::constant::ConstData;
use crate::meta::Meta;
use crate::ty::TyData;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Deref;

/// Representation of terms, and nothing else.
///
/// # Laws
///
/// For every `data` and its metadata `meta`:
/// - `ty_data(&f.intern_ty(data, meta)) == data` and `ty_meta(&f.intern_ty(data, meta)) == meta`; likewise constants;
/// - handles are equal exactly when what they hold is equal; equal handles have equal hashes;
/// - two live handles with one address are equal; where [`IDENTITY`](Self::IDENTITY) holds, equal handles of one
///   family value have one address.
pub trait TypeFamily: Clone + Eq + Hash + Debug + Sized {
    /// Names of type constructors, parameters, traits and aliases. Opaque to this crate.
    type Name: Copy + Eq + Ord + Hash + Debug;
    /// A handle of a type.
    type InternedTy: Clone + Eq + Hash;
    /// A handle of a constant.
    type InternedConst: Clone + Eq + Hash;
    /// A list of arguments that is kept on its own, in a bound of an existential type.
    type InternedArgs: Clone + Eq + Hash + Debug + Deref<Target = [GenericArg<Self>]>;

    /// Whether equal terms are one node.
    const IDENTITY: bool;

    /// Stores a type.
    fn intern_ty(&self, data: TyData<'_, Self>, meta: Meta) -> Self::InternedTy;
    /// Stores a constant.
    fn intern_const(&self, data: ConstData<'_, Self>, meta: Meta) -> Self::InternedConst;
    /// Stores a list of arguments.
    fn intern_args(&self, args: &[GenericArg<Self>]) -> Self::InternedArgs;

    /// What a type looks like, and its metadata.
    fn ty_data(ty: &Self::InternedTy) -> TyData<'_, Self>;
    /// The metadata of a type.
    fn ty_meta(ty: &Self::InternedTy) -> Meta;
    /// An identity of the node, valid while a handle exists.
    fn ty_address(ty: &Self::InternedTy) -> usize;
    /// What a constant looks like.
    fn const_data(constant: &Self::InternedConst) -> ConstData<'_, Self>;
    /// The metadata of a constant.
    fn const_meta(constant: &Self::InternedConst) -> Meta;
    /// An identity of the node, valid while a handle exists.
    fn const_address(constant: &Self::InternedConst) -> usize;
}
