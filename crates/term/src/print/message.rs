//! Messages about terms: errors and obligations.
//!
//! The `Display` text of an error states only its kind, because names are stored in a separate table. The
//! functions here take that table and name the terms. A placeholder for a bound variable has a generated
//! name, the same in all terms of a message.

use super::names::with_placeholders;
use super::{DEFAULT_LIMIT, Printer};
use crate::arg::GenericArg;
use crate::family::TypeFamily;
use crate::goal::{Goal, GoalData, GoalFamily, TraitRef};
use crate::infer::{Obligation, RegionError, RelationError};
use crate::name::{Name, Symbols};
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
    let pair = |a: GenericArg<F>, b: GenericArg<F>| texts(&[a, b], symbols);
    match error {
        RelationError::Mismatch { a, b } => {
            let [a, b] = pair(a.clone().into(), b.clone().into());
            format!("`{a}` is not `{b}`")
        }
        RelationError::ConstMismatch { a, b } => {
            let [a, b] = pair(a.clone().into(), b.clone().into());
            format!("`{a}` is not `{b}`")
        }
        RelationError::KindMismatch { a, b } => {
            let (kind_a, kind_b) = (kind(a), kind(b));
            let [a, b] = pair(a.clone(), b.clone());
            format!("{kind_a} `{a}` does not match {kind_b} `{b}`")
        }
        RelationError::Occurs { var, term } => {
            let [var, term] = pair(var.clone(), term.clone());
            format!("`{var}` would have to contain itself, as `{term}`")
        }
        RelationError::Universe { var, term } => {
            let [var, term] = pair(var.clone(), term.clone());
            format!("`{var}` would have to be `{term}`, which exists under a binder only")
        }
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
    let [longer, shorter] = texts::<F, 2>(&[(*longer).into(), (*shorter).into()], symbols);
    format!("`{longer}` is not known to outlive `{shorter}`")
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
            let [a, b] = texts(&[a.clone().into(), b.clone().into()], symbols);
            format!("`{a}` {relation} `{b}`")
        }
        Obligation::EquateConsts { a, b } => {
            let [a, b] = texts(&[a.clone().into(), b.clone().into()], symbols);
            format!("`{a}` is `{b}`")
        }
        Obligation::WellFormed(ty) => {
            let [ty] = texts(&[ty.clone().into()], symbols);
            format!("`{ty}` is well formed")
        }
    }
}

/// Formats a goal: `Implemented(T: Trait<u8>)`, `a = b`, `goal, goal`, `not { goal }`.
#[must_use]
pub fn goal<F: GoalFamily<Name = Name>>(goal: &Goal<F>, symbols: &Symbols) -> String {
    match goal.data() {
        GoalData::Implemented(TraitRef { name, args }) => {
            let mut args = args.iter().map(|arg| Printer::new(symbols).arg(arg));
            let this = args.next().unwrap_or_default();
            let args: Vec<String> = args.collect();
            let args = if args.is_empty() { String::new() } else { format!("<{}>", args.join(", ")) };
            let path = name.symbol().map_or("", |symbol| symbols.resolve(symbol));
            format!("Implemented({this}: {path}{args})")
        }
        GoalData::Equal(a, b) => {
            let [a, b] = texts(&[a.clone().into(), b.clone().into()], symbols);
            format!("{a} = {b}")
        }
        GoalData::All(goals) => {
            goals.iter().map(|part| self::goal(part, symbols)).collect::<Vec<_>>().join(", ")
        }
        GoalData::Not(of) => format!("not {{ {} }}", self::goal(of, symbols)),
    }
}

fn kind<F: TypeFamily>(arg: &GenericArg<F>) -> &'static str {
    match arg {
        GenericArg::Ty(_) => "the type",
        GenericArg::Region(_) => "the lifetime",
        GenericArg::Const(_) => "the constant",
    }
}

/// Prints the terms of one message.
fn texts<F: TypeFamily<Name = Name>, const N: usize>(
    args: &[GenericArg<F>; N],
    symbols: &Symbols,
) -> [String; N] {
    let mut printer = Printer::new(symbols);
    (printer.placeholders, printer.names) = with_placeholders(args, symbols);
    args.each_ref().map(|arg| {
        (printer.left, printer.truncated) = (DEFAULT_LIMIT, false);
        match arg {
            GenericArg::Const(constant) => printer.print_expr(constant, 0),
            GenericArg::Ty(_) | GenericArg::Region(_) => printer.print_arg(arg),
        }
        std::mem::take(&mut printer.out)
    })
}
