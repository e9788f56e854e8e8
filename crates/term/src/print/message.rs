//! Messages about terms: errors and obligations.
//!
//! The `Display` text of an error states only its kind, because names are stored in a separate table. The
//! functions here take that table and name the terms.

use super::{Printer, rust};
use crate::arg::GenericArg;
use crate::constant::Const;
use crate::family::TypeFamily;
use crate::infer::{Obligation, RegionError, RelationError};
use crate::name::{Name, Symbols};
use crate::region::Region;
use crate::variance::Variance;

/// Formats the reason for which two terms do not relate.
///
/// ```
/// use typeloom_term::parse::{Scope, parse_ty};
/// use typeloom_term::program::NoProgram;
/// use typeloom_term::{Boxed, InferenceTable, Symbols, print};
///
/// let cx = Boxed::new();
/// let mut symbols = Symbols::new();
/// let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
/// let (ints, texts) = (parse("Vec<u8>")?, parse("Vec<str>")?);
///
/// let error = InferenceTable::new(cx).eq(&NoProgram, &ints, &texts).unwrap_err();
/// assert_eq!(error.to_string(), "two types differ");
/// assert_eq!(print::type_error(&error, &symbols), "`u8` is not `str`");
/// # Ok::<(), typeloom_term::parse::ParseError>(())
/// ```
#[must_use]
pub fn type_error<F: TypeFamily<Name = Name>>(error: &RelationError<F>, symbols: &Symbols) -> String {
    match error {
        RelationError::Mismatch { a, b } => format!("`{}` is not `{}`", rust(a, symbols), rust(b, symbols)),
        RelationError::ConstMismatch { a, b } => {
            format!("`{}` is not `{}`", constant(a, symbols), constant(b, symbols))
        }
        RelationError::KindMismatch { a, b } => {
            format!("{} `{}` does not match {} `{}`", kind(a), arg(a, symbols), kind(b), arg(b, symbols))
        }
        RelationError::Occurs { var, term } => {
            format!("`{}` would have to contain itself, as `{}`", arg(var, symbols), arg(term, symbols))
        }
        RelationError::Universe { var, term } => format!(
            "`{}` would have to be `{}`, which exists under a binder only",
            arg(var, symbols),
            arg(term, symbols)
        ),
        RelationError::Leak(error) => {
            format!("one type is more general than the other: {}", region_error(error, symbols))
        }
        RelationError::Term(error) => error.to_string(),
    }
}

/// Formats a region constraint that is not implied.
#[must_use]
pub fn region_error<F: TypeFamily<Name = Name>>(error: &RegionError<F>, symbols: &Symbols) -> String {
    let RegionError { longer, shorter } = error;
    format!("`{}` is not known to outlive `{}`", region(*longer, symbols), region(*shorter, symbols))
}

/// Formats an undecided relation.
#[must_use]
pub fn obligation<F: TypeFamily<Name = Name>>(obligation: &Obligation<F>, symbols: &Symbols) -> String {
    match obligation {
        Obligation::Relate { variance, a, b } => {
            let relation = match variance {
                Variance::Covariant => "is a subtype of",
                Variance::Contravariant => "is a supertype of",
                Variance::Invariant => "is",
                Variance::Bivariant => "has no relation to",
            };
            format!("`{}` {relation} `{}`", rust(a, symbols), rust(b, symbols))
        }
        Obligation::EquateConsts { a, b } => {
            format!("`{}` is `{}`", constant(a, symbols), constant(b, symbols))
        }
        Obligation::WellFormed(ty) => format!("`{}` is well formed", rust(ty, symbols)),
    }
}

fn kind<F: TypeFamily>(arg: &GenericArg<F>) -> &'static str {
    match arg {
        GenericArg::Ty(_) => "the type",
        GenericArg::Region(_) => "the lifetime",
        GenericArg::Const(_) => "the constant",
    }
}

fn arg<F: TypeFamily<Name = Name>>(arg: &GenericArg<F>, symbols: &Symbols) -> String {
    Printer::new(symbols).arg(arg)
}

fn constant<F: TypeFamily<Name = Name>>(constant: &Const<F>, symbols: &Symbols) -> String {
    Printer::new(symbols).constant(constant)
}

fn region<F: TypeFamily<Name = Name>>(region: Region<F>, symbols: &Symbols) -> String {
    arg(&GenericArg::<F>::Region(region), symbols)
}
