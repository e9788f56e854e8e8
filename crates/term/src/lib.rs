//! Types as terms, generic over a *type family*.
//!
//! A [`Ty`] is a term: a name applied to arguments, a function, an existential type, a placeholder or a
//! variable. A [`TypeFamily`] stores terms, this crate defines their relations, and a [`Program`] supplies
//! the declarations around them: variances, aliases, equations between constants.
//!
//! [`is_subtype`] answers the most frequent question in one call. The [`InferenceTable`] relates terms with
//! variables.
//!
//! # Code map
//!
//! | module | content |
//! |---|---|
//! | [`ty`], [`region`], [`constant`], [`arg`] | terms and their arguments |
//! | [`leaf`] | variables, placeholders and errors of any kind |
//! | [`binder`], [`meta`] | de Bruijn indices and universes; metadata cached on every node |
//! | [`family`] | the storage trait and its two implementations, boxed and interned |
//! | [`fold`], [`visit`], [`subst`] | traversals: rebuild, inspect, shift and instantiate |
//! | [`variance`], [`relate`], [`program`] | variances, structural relation of two terms, declarations |
//! | [`subtype`] | subtyping of two types in one call |
//! | [`infer`] | the inference table: equality, subtyping, regions, snapshots, canonical forms |
//! | [`goal`] | goals with negation, their storage, and impls |
//! | [`normal`] | the normal form, on which digests are computed |
//! | [`name`], [`mod@print`], [`parse`] | names and syntax of Rust and of tensor types |
//! | [`convert`] | conversion between families |
//!
//! **Invariant:** every term is at most [`meta::MAX_DEPTH`] levels deep; constructors return
//! [`TermError::TooDeep`] for deeper ones. Recursion over one term is therefore bounded. Algorithms that
//! follow bindings of variables have no such bound and use explicit stacks.
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
//! // A variable is bound to the term that it equals.
//! let var = table.new_ty_var()?;
//! table.eq(&NoProgram, &var, &one_lifetime)?;
//! assert_eq!(print::rust(&table.resolve(&var)?, &symbols), "fn(&'a u8) -> &'a u8");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`program`] has an example of a language with custom variances and projections, [`family`] one of a
//! custom family. [`print::type_error`] renders an error. Terms of [`Boxed`] can be sent to other threads and
//! need no setup; those of [`Interned`] are `Copy` and compare in constant time.
//!
//! **Invariant:** no I/O, no global state, no dependence on the order of hash tables.

#![deny(missing_docs, missing_debug_implementations)]

pub mod arg;
pub mod binder;
pub mod constant;
pub mod convert;
pub mod family;
pub mod fold;
pub mod goal;
pub mod infer;
pub mod leaf;
pub mod meta;
pub mod name;
pub mod normal;
mod order;
pub mod parse;
pub mod print;
pub mod program;
pub mod region;
pub mod relate;
pub mod subst;
pub mod subtype;
pub mod ty;
pub mod variance;
pub mod visit;

pub use arg::GenericArg;
pub use binder::{Arity, Binder, BoundVar, DebruijnIndex, Universe, VarKind};
pub use constant::{Const, ConstData, ConstOp, ConstValue};
pub use family::TypeFamily;
pub use family::boxed::Boxed;
pub use family::interned::{Arena, Interned};
pub use fold::{Fold, Folder};
pub use infer::{InferenceTable, Obligation, RelationError};
pub use meta::{Flags, Meta, TermError};
pub use name::{Name, Symbol, Symbols};
pub use program::Program;
pub use region::Region;
pub use subtype::{Reason, is_subtype};
pub use ty::{
    AliasTy, ApplicationTy, DynBound, DynTy, ErrorProof, FnTy, GenericArguments, InferVar, Placeholder, Ty,
    TyData, TypeName,
};
pub use variance::Variance;
pub use visit::{Visit, Visitor};
