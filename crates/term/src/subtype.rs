//! Subtyping of two types without variables, in one call.
//!
//! [`is_subtype`] relates two types of the [`Boxed`] family under Rust's built-in variances and checks the
//! lifetimes too. [`check_subtype`] does the same in any family, with the declarations of a program and known
//! outlives facts.
//!
//! Example of [`is_subtype`]:
//!
//! ```
//! use typeloom_term::parse::{Scope, parse_ty};
//! use typeloom_term::{Boxed, Symbols, is_subtype};
//!
//! let mut symbols = Symbols::new();
//! let mut parse = |text| parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), text);
//! let (long, short) = (parse("&'static str")?, parse("&'a str")?);
//! let (takes_short, takes_long) = (parse("fn(&'a str)")?, parse("fn(&'static str)")?);
//!
//! assert!(is_subtype(&long, &short).is_ok());
//! assert!(is_subtype(&takes_short, &takes_long).is_ok());
//! let reason = is_subtype(&short, &long).unwrap_err();
//! assert_eq!(reason.describe(&symbols), "`'a` is not known to outlive `'static`");
//! let reason = is_subtype(&long, &takes_long).unwrap_err();
//! assert_eq!(reason.describe(&symbols), "`&'static str` is not `fn(&'static str)`");
//! # Ok::<(), typeloom_term::parse::ParseError>(())
//! ```

use crate::family::TypeFamily;
use crate::family::boxed::Boxed;
use crate::infer::{InferenceTable, Obligation, RegionError, RegionFacts, RelationError};
use crate::name::{Name, Symbols};
use crate::print;
use crate::program::{NoProgram, Program};
use crate::ty::Ty;

/// Reason for which a type is not a subtype of another one.
///
/// Its `Display` text states the kind of reason; [`Reason::describe`] names the types.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Reason<F: TypeFamily = Boxed> {
    /// The types differ. A function for one lifetime that is used as one for all lifetimes is reported here
    /// too.
    #[error(transparent)]
    Types(RelationError<F>),
    /// The types agree except for a lifetime that is too short.
    #[error(transparent)]
    Regions(RegionError<F>),
    /// A part of the relation depends on declarations that are not known.
    #[error("the relation depends on declarations that are not known")]
    Undecided(Obligation<F>),
}

impl<F: TypeFamily<Name = Name>> Reason<F> {
    /// Formats the reason with the names of the types.
    #[must_use]
    pub fn describe(&self, symbols: &Symbols) -> String {
        match self {
            Self::Types(error) => print::type_error(error, symbols),
            Self::Regions(error) => print::region_error(error, symbols),
            Self::Undecided(obligation) => print::obligation(obligation, symbols) + " is not decided",
        }
    }
}

/// Checks that `a` is a subtype of `b`, including lifetimes.
///
/// Rust's built-in type constructors have their variances, parameters of nominal types are invariant, and a
/// lifetime outlives itself and is outlived by `'static`. [`check_subtype`] accepts further declarations.
///
/// # Errors
/// The first reason that was found.
pub fn is_subtype(a: &Ty, b: &Ty) -> Result<(), Reason> {
    check_subtype(&Boxed::new(), &NoProgram, &RegionFacts::new(), a, b)
}

/// Checks that `a` is a subtype of `b` under the declarations of a program and known outlives facts.
///
/// # Errors
/// The first reason that was found.
pub fn check_subtype<F: TypeFamily>(
    cx: &F,
    program: &impl Program<F>,
    facts: &RegionFacts<F>,
    a: &Ty<F>,
    b: &Ty<F>,
) -> Result<(), Reason<F>> {
    let mut table = InferenceTable::new(cx.clone());
    let undecided = table.sub(program, a, b).map_err(Reason::Types)?;
    match undecided.into_iter().next() {
        Some(obligation) => Err(Reason::Undecided(obligation)),
        None => table.regions().check(facts).map_err(Reason::Regions),
    }
}
