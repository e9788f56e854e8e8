//! Declarations that types refer to: variances, aliases, equations between constants.
//!
//! Example of [`Program`], a language with a producer type `Source`, a consumer type `Sink`, and one
//! projection that is known for sources:
//!
//! ```
//! use typeloom_term::infer::RegionFacts;
//! use typeloom_term::parse::{Scope, parse_ty};
//! use typeloom_term::program::{ConstEquation, Normalized};
//! use typeloom_term::{
//!     AliasTy, Boxed, Const, InferenceTable, Name, Program, Symbols, Ty, TyData, TypeFamily, Variance, print,
//! };
//!
//! struct Streams {
//!     source: Name,
//!     sink: Name,
//!     item: Name,
//! }
//!
//! impl<F: TypeFamily<Name = Name>> Program<F> for Streams {
//!     fn variance(&self, _: &F, name: Name, index: usize) -> Variance {
//!         if name == self.source {
//!             Variance::Covariant
//!         } else if name == self.sink {
//!             Variance::Contravariant
//!         } else {
//!             // References, tuples, arrays and the like vary as the language says.
//!             name.builtin_variance(index).unwrap_or(Variance::Invariant)
//!         }
//!     }
//!
//!     fn normalize(&self, _: &F, alias: AliasTy<'_, F>) -> Normalized<Ty<F>> {
//!         let Some(this) = alias.args.first().and_then(|arg| arg.as_ty()) else { return Normalized::Rigid };
//!         match this.data() {
//!             TyData::Apply(of) if alias.name == self.item && of.name == self.source => {
//!                 of.args[0].as_ty().cloned().map_or(Normalized::Rigid, Normalized::To)
//!             }
//!             TyData::InferenceVar(_) => Normalized::Ambiguous,
//!             _ => Normalized::Rigid,
//!         }
//!     }
//!
//!     fn equate(&self, _: &F, _: &Const<F>, _: &Const<F>) -> ConstEquation {
//!         ConstEquation::Unknown
//!     }
//! }
//!
//! let cx = Boxed::new();
//! let mut symbols = Symbols::new();
//! let streams = Streams {
//!     source: Name::Adt(symbols.intern("Source")),
//!     sink: Name::Adt(symbols.intern("Sink")),
//!     item: Name::Projection(symbols.intern("Stream::Item")),
//! };
//! let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
//! let (longer, shorter) = (parse("Sink<&'static u8>")?, parse("Sink<&'a u8>")?);
//! let (byte, bytes) = (parse("u8")?, parse("Source<u8>")?);
//!
//! // A sink for short borrows is a sink for long ones. The reverse would require that `'a` outlives `'static`.
//! let mut table = InferenceTable::new(cx.clone());
//! assert!(table.sub(&streams, &shorter, &longer)?.is_empty());
//! assert!(table.regions().check(&RegionFacts::new()).is_ok());
//! table.probe(|table| {
//!     table.sub(&streams, &longer, &shorter)?;
//!     let error = table.regions().check(&RegionFacts::new()).unwrap_err();
//!     assert_eq!(print::region_error(&error, &symbols), "`'a` is not known to outlive `'static`");
//!     Ok::<(), typeloom_term::RelationError<Boxed>>(())
//! })?;
//!
//! // An equation about the items of an unknown type is returned as an obligation, and retried when the type is known.
//! let unknown = table.new_ty_var()?;
//! let items = Ty::alias(&cx, streams.item, &[unknown.clone().into()])?;
//! let undecided = table.eq(&streams, &items, &byte)?;
//! assert_eq!(print::obligation(&undecided[0], &symbols), "`<?0 as Stream>::Item` is `u8`");
//! table.eq(&streams, &unknown, &bytes)?;
//! assert!(table.retry(&streams, undecided)?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::constant::Const;
use crate::family::TypeFamily;
use crate::name::Name;
use crate::ty::{AliasTy, Ty};
use crate::variance::Variance;

/// Result of evaluating an alias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Normalized<T> {
    /// Evaluates to this type.
    To(T),
    /// Never evaluates: the alias equals only itself.
    Rigid,
    /// Depends on unknown arguments; the table retries later.
    Ambiguous,
}

/// Relation of two constants that are not the same term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstEquation {
    /// The constants are equal.
    Equal,
    /// The constants differ for some values of their parameters.
    Distinct,
    /// Not decidable yet: the table returns the equation as an obligation.
    Unknown,
}

/// Queries about names that the inference table makes. Results must not change while a table is in use.
///
/// # Laws
///
/// - `variance` is sound: it returns `Covariant` only for covariant parameters, and so on.
/// - `normalize` is a function of its argument, and repeated evaluation terminates (the table stops after
///   [`crate::infer::MAX_NORMALIZATIONS`] steps and returns an obligation).
/// - `equate` is symmetric, and transitive as far as it returns `Equal`.
pub trait Program<F: TypeFamily> {
    /// Returns the variance of argument `index` of `name`, for applications and rigid aliases.
    fn variance(&self, cx: &F, name: F::Name, index: usize) -> Variance;

    /// Evaluates an alias. Its arguments are resolved.
    fn normalize(&self, cx: &F, alias: AliasTy<'_, F>) -> Normalized<Ty<F>>;

    /// Compares two constants that are closed, evaluated, of different form, and not both values.
    fn equate(&self, cx: &F, a: &Const<F>, b: &Const<F>) -> ConstEquation;
}

/// A program without declarations: Rust's built-in variances, no aliases, no equations between symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NoProgram;

impl<F: TypeFamily<Name = Name>> Program<F> for NoProgram {
    fn variance(&self, _cx: &F, name: Name, index: usize) -> Variance {
        name.builtin_variance(index).unwrap_or(Variance::Invariant)
    }

    fn normalize(&self, _cx: &F, _alias: AliasTy<'_, F>) -> Normalized<Ty<F>> {
        Normalized::Rigid
    }

    fn equate(&self, _cx: &F, _a: &Const<F>, _b: &Const<F>) -> ConstEquation {
        ConstEquation::Distinct
    }
}
