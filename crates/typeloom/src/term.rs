//! Types as terms: equality, subtyping and inference as in Rust.
//!
//! Terms are generic over a [`TypeFamily`]: [`Boxed`] terms are independent values, [`Interned`] terms are handles into an
//! [`Arena`].

#[doc(inline)]
pub use typeloom_term::{
    AliasTy, ApplicationTy, Arena, Binder, BoundVar, Boxed, Const, DynTy, FnTy, Fold, Folder, GenericArg,
    GenericArguments, InferenceTable, Interned, Name, Obligation, Placeholder, Program, Region, Symbol,
    Symbols, Ty, TyData, TypeFamily, Universe, Variance, Visit, Visitor,
};
