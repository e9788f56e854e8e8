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
//! | [`name`], [`mod@print`], [`parse`] | Rust's vocabulary and syntax, and tensor types |
//! | [`convert`] | from one family into another |
//!
//! **Invariant:** every term that exists is at most [`meta::MAX_DEPTH`] levels deep. Deeper terms cannot be built:
//! the constructors return [`TermError::TooDeep`]. Recursion over one term is therefore bounded; algorithms that
//! follow bindings of variables, where no such bound exists, use explicit stacks.
//!
//! ```
//! use typeloom_term::infer::RegionFacts;
//! use typeloom_term::parse::{Scope, parse_ty};
//! use typeloom_term::program::NoProgram;
//! use typeloom_term::{Boxed, InferenceTable, Symbols, print};
//!
//! let cx = Boxed::new();
//! let mut symbols = Symbols::new();
//! let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
//! let any_lifetime = parse("for<'x> fn(&'x u8) -> &'x u8")?;
//! let one_lifetime = parse("fn(&'a u8) -> &'a u8")?;
//!
//! // A function for any lifetime is a function for one lifetime, not the other way round.
//! let mut table = InferenceTable::new(cx);
//! assert!(table.sub(&NoProgram, &any_lifetime, &one_lifetime)?.is_empty());
//! assert!(table.regions().check(&RegionFacts::new()).is_ok());
//! assert!(table.sub(&NoProgram, &one_lifetime, &any_lifetime).is_err());
//!
//! // A variable takes what it is equal to.
//! let var = table.new_ty_var()?;
//! table.eq(&NoProgram, &var, &one_lifetime)?;
//! assert_eq!(print::rust(&table.resolve(&var)?, &symbols), "fn(&'a u8) -> &'a u8");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Program`] has an example of a language with variances and projections of its own, [`TypeFamily`] one of a family of one's
//! own, [`print::type_error`] says which types do not relate. The terms of [`Boxed`] cross threads and need no set-up;
//! those of [`Interned`] are `Copy`, and equal ones are found in one step.
//!
//! **Invariant:** nothing here does I/O, keeps global state, or depends on the order of hash tables.

#![deny(missing_docs)]

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
pub use family::TypeFamily;
pub use family::boxed::Boxed;
pub use family::interned::{Arena, Interned};
pub use fold::{Fold, Folder};
pub use infer::{InferenceTable, Obligation, TypeError};
pub use meta::{Flags, Meta, TermError};
pub use name::{Name, Symbol, Symbols};
pub use program::Program;
pub use region::Region;
pub use ty::{
    AliasTy, ApplicationTy, DynBound, DynTy, ErrorProof, FnTy, GenericArguments, InferVar, Placeholder, Ty,
    TyData, TypeName,
};
pub use variance::Variance;
pub use visit::{Visit, Visitor};
