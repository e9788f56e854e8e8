//! Type families: storage of terms.
//!
//! A family is a value that builds nodes. Building a node returns a handle, which gives access to the content
//! without the family. Declarations of names are not part of a family but of
//! [`Program`](crate::program::Program).
//!
//! | | [`boxed::Boxed`] | [`interned::Interned`] |
//! |---|---|---|
//! | handle | `Arc`, `Send + Sync` | `Copy` reference into an arena |
//! | setup | none | an [`interned::Arena`] that outlives every term |
//! | equality | structural, with a shortcut for shared nodes | identity |
//! | folds | cache nodes that have several handles | cache every node |
//! | order | none: it would compare whole terms | none: addresses differ from run to run |
//!
//! A term is `Copy` and `Ord` if the handles of its family are. A family can also be a view of foreign types,
//! and convert a type only when its content is requested. `tests/foreign_family.rs` of the crate `rust-api`
//! does so for the types of rustdoc.
//!
//! Example of [`TypeFamily`]: a family that leaks its nodes. Its handles are `Copy` and can be sent to other
//! threads. Equality compares node by node; [`boxed`] shows how to avoid that for shared nodes.
//!
//! ```
//! use typeloom_term::family::Node;
//! use typeloom_term::ty::WitnessTy;
//! use typeloom_term::{
//!     AliasTy, ApplicationTy, ConstData, DynTy, FnTy, GenericArg, Meta, Name, Symbols, TermError, TyData,
//!     TypeFamily, parse, print,
//! };
//!
//! #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
//! struct Leaked;
//! #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
//! struct LeakedTy(&'static (Meta, TyData<'static, Leaked>));
//! #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
//! struct LeakedConst(&'static (Meta, ConstData<'static, Leaked>));
//!
//! impl Node for LeakedTy {
//!     fn meta(&self) -> Meta {
//!         self.0.0
//!     }
//!     fn address(&self) -> usize {
//!         std::ptr::from_ref(self.0).addr()
//!     }
//! }
//!
//! impl Node for LeakedConst {
//!     fn meta(&self) -> Meta {
//!         self.0.0
//!     }
//!     fn address(&self) -> usize {
//!         std::ptr::from_ref(self.0).addr()
//!     }
//! }
//!
//! fn keep<T: Clone>(list: &[T]) -> &'static [T] {
//!     list.to_vec().leak()
//! }
//!
//! impl TypeFamily for Leaked {
//!     type Name = Name;
//!     type InternedTy = LeakedTy;
//!     type InternedConst = LeakedConst;
//!     type InternedArgs = Vec<GenericArg<Self>>;
//!     const IDENTITY: bool = false;
//!
//!     fn intern_ty(&self, data: TyData<'_, Self>) -> Result<LeakedTy, TermError> {
//!         let meta = data.meta()?;
//!         // The lists of `data` are borrowed from the caller, so the family copies them.
//!         let data = match data {
//!             TyData::Apply(ApplicationTy { name, args }) => {
//!                 TyData::Apply(ApplicationTy { name, args: keep(args) })
//!             }
//!             TyData::Alias(AliasTy { name, args }) => TyData::Alias(AliasTy { name, args: keep(args) }),
//!             TyData::Dyn(DynTy { bounds, region }) => TyData::Dyn(DynTy { bounds: keep(bounds), region }),
//!             TyData::Fn(FnTy { name, arity, signature }) => {
//!                 TyData::Fn(FnTy { name, arity, signature: keep(signature) })
//!             }
//!             TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
//!                 TyData::GeneratorWitness(WitnessTy { name, arity, types: keep(types) })
//!             }
//!             TyData::Placeholder(placeholder) => TyData::Placeholder(placeholder),
//!             TyData::InferenceVar(var) => TyData::InferenceVar(var),
//!             TyData::BoundVariable(var) => TyData::BoundVariable(var),
//!             TyData::Error(proof) => TyData::Error(proof),
//!         };
//!         Ok(LeakedTy(Box::leak(Box::new((meta, data)))))
//!     }
//!
//!     fn intern_const(&self, data: ConstData<'_, Self>) -> Result<LeakedConst, TermError> {
//!         let meta = data.meta()?;
//!         let data = match data {
//!             ConstData::Expr(op, operands) => ConstData::Expr(op, keep(operands)),
//!             ConstData::Alias(name, args) => ConstData::Alias(name, keep(args)),
//!             ConstData::Value(value) => ConstData::Value(value),
//!             ConstData::Placeholder(placeholder) => ConstData::Placeholder(placeholder),
//!             ConstData::Infer(var) => ConstData::Infer(var),
//!             ConstData::Bound(var) => ConstData::Bound(var),
//!             ConstData::Error(proof) => ConstData::Error(proof),
//!         };
//!         Ok(LeakedConst(Box::leak(Box::new((meta, data)))))
//!     }
//!
//!     fn intern_args(&self, args: &[GenericArg<Self>]) -> Self::InternedArgs {
//!         args.to_vec()
//!     }
//!
//!     fn ty_data(ty: &LeakedTy) -> TyData<'_, Self> {
//!         ty.0.1
//!     }
//!
//!     fn const_data(constant: &LeakedConst) -> ConstData<'_, Self> {
//!         constant.0.1
//!     }
//! }
//!
//! let mut symbols = Symbols::new();
//! let ty = parse::parse_ty(&Leaked, &mut symbols, &parse::Scope::new(), "Box<dyn for<'a> Tr<&'a str, Out = [u8; 2]>>")?;
//! assert_eq!(print::rust(&ty, &symbols), "Box<dyn for<'x> Tr<&'x str, Out = [u8; 2]> + 'static>");
//! # Ok::<(), typeloom_term::parse::ParseError>(())
//! ```

pub mod boxed;
pub mod interned;

use crate::arg::GenericArg;
use crate::constant::ConstData;
use crate::meta::{Meta, TermError};
use crate::ty::TyData;
use std::fmt::Debug;
use std::hash::Hash;
use std::ops::Deref;

/// Handle of a stored term.
pub trait Node: Clone + Eq + Hash {
    /// Returns the metadata computed when the node was built.
    fn meta(&self) -> Meta;

    /// Identity of the node, valid as long as a handle exists.
    fn address(&self) -> usize;

    /// Whether the node may have other handles. If so, a traversal can visit the node again.
    fn is_shared(&self) -> bool {
        true
    }
}

/// Storage of terms.
///
/// # Laws
///
/// - `f.intern_ty(data)` fails exactly if `data.meta()` fails; the same holds for constants;
/// - for every `ty` returned by `f.intern_ty(data)`, `ty_data(&ty) == data` and `ty.meta() == data.meta()`;
/// - handles are equal exactly if their contents are equal; equal handles have equal hashes;
/// - two live handles with the same address are equal; if [`IDENTITY`](Self::IDENTITY) holds, equal handles
///   of one family value have the same address.
pub trait TypeFamily: Clone + Eq + Hash + Debug + Sized {
    /// Names of type constructors, parameters, traits and aliases. Opaque to this crate.
    type Name: Copy + Eq + Ord + Hash + Debug;
    /// A handle of a type.
    type InternedTy: Node;
    /// A handle of a constant.
    type InternedConst: Node;
    /// List of arguments stored separately, for bounds of existential types.
    type InternedArgs: Clone + Eq + Hash + Debug + Deref<Target = [GenericArg<Self>]>;

    /// Whether equal terms are always the same node.
    const IDENTITY: bool;

    /// Stores a type. For a node that is stored already, `data.meta()` need not be computed.
    fn intern_ty(&self, data: TyData<'_, Self>) -> Result<Self::InternedTy, TermError>;
    /// Stores a constant.
    fn intern_const(&self, data: ConstData<'_, Self>) -> Result<Self::InternedConst, TermError>;
    /// Stores a list of arguments.
    fn intern_args(&self, args: &[GenericArg<Self>]) -> Self::InternedArgs;

    /// Returns the content of a type.
    fn ty_data(ty: &Self::InternedTy) -> TyData<'_, Self>;
    /// Returns the content of a constant.
    fn const_data(constant: &Self::InternedConst) -> ConstData<'_, Self>;
}
