//! Types as terms, generic over a *type family*.
//!
//! A [`Ty`] is a term: a name applied to arguments, a function, an existential, a placeholder, a variable.
//! How terms are stored is the business of a [`TypeFamily`]; what they mean is the business of this crate; what the
//! *program* around them knows (variances, aliases, equations between constants) is asked of a [`Program`].
//!
//! # Code map
//!
//! | module | what it holds |
//! |---|---|
//! | [`ty`], [`region`], [`constant`], [`arg`] | the nouns: terms and their arguments |
//! | [`binder`], [`meta`] | de Bruijn indices, universes; what is cached on every node |
//! | [`family`] | the storage contract and its two implementations: boxed and interned |
//! | [`fold`], [`visit`], [`subst`] | traversals: rebuild, inspect, shift and instantiate |
//! | [`variance`], [`relate`], [`program`] | the relation vocabulary, and what a program must answer |
//! | [`infer`] | the inference table: equality, subtyping, regions, snapshots, canonical forms |
//! | [`normal`] | the normal form: syntactic equality of closed types, and the bytes that digests hash |
//! | [`name`], [`print`], [`parse`] | Rust's vocabulary and syntax, and tensor types |
//! | [`convert`] | from one family into another |
//!
//! **Invariant:** every term that exists is at most [`meta::MAX_DEPTH`] levels deep. Deeper terms cannot be built:
//! the constructors return [`TermError::TooDeep`]. Recursion over one term is therefore bounded; algorithms that
//! follow bindings of variables, where no such bound exists, use explicit stacks.
//!
//! **Invariant:** nothing here does I/O, keeps global state, or depends on the order of hash tables.

pub mod arg;
pub mod binder;
pub mod constant;
pub mod convert;
pub mod family;
pub mod fold;
pub mod infer;
pub mod meta;
pub mod name;
pub mod normal;
pub mod parse;
pub mod print;
pub mod program;
pub mod region;
pub mod relate;
pub mod subst;
pub mod ty;
pub mod variance;
pub mod visit;

pub use arg::GenericArg;
pub use binder::{Arity, Binder, BoundVar, DebruijnIndex, Universe};
pub use constant::{Const, ConstData, ConstOp, ConstValue};
pub use family::boxed::Boxed;
pub use family::interned::{Arena, Interned};
pub use family::TypeFamily;
pub use fold::{Fold, Folder};
pub use infer::{InferenceTable, Obligation, TypeError};
pub use meta::{Flags, Meta, TermError};
pub use name::{Name, Symbol, Symbols};
pub use program::Program;
pub use region::Region;
pub use ty::{AliasTy, ApplicationTy, DynBound, DynTy, ErrorProof, FnTy, InferVar, Placeholder, Ty, TyData};
pub use variance::Variance;
pub use visit::{Visit, Visitor};
