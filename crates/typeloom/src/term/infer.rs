//! Inference: types with variables, related under the declarations of a program.
//!
//! ```
//! use typeloom::term::infer::{InferenceTable, NoProgram};
//! use typeloom::term::{Boxed, Scope, Symbols, parse_ty, print};
//!
//! let (cx, mut symbols) = (Boxed::new(), Symbols::new());
//! let known = parse_ty(&cx, &mut symbols, &Scope::new(), "Vec<u8>")?;
//! let mut table = InferenceTable::new(cx);
//! let variable = table.new_ty_var()?;
//! assert!(table.eq(&NoProgram, &variable, &known)?.is_empty());
//! assert_eq!(print(&table.resolve(&variable)?, &symbols), "Vec<u8>");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Variables that relations between types determine.
///
/// ```
/// use typeloom::term::infer::{InferenceTable, Negation, NoProgram, Obligation, Program as _, Variance};
/// use typeloom::term::{Boxed, Name, Reason, Scope, Symbols, Ty, parse_ty, print};
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let mut table = InferenceTable::new(cx.clone());
/// let element = table.new_ty_var()?;
/// let vec = Name::Adt(symbols.intern("Vec"));
/// let open = Ty::apply(&cx, vec, &[element.clone().into()])?;
/// let known = parse_ty(&cx, &mut symbols, &Scope::new(), "Vec<u8>")?;
///
/// let undecided: Vec<Obligation<_>> = table.relate(&NoProgram, Variance::Invariant, &open, &known)?;
/// assert!(undecided.is_empty());
/// assert_eq!(print(&table.shallow(&element), &symbols), "u8");
/// assert_eq!(NoProgram.variance(&cx, vec, 0), Variance::Invariant);
///
/// // Lifetimes are checked separately; a `Reason` describes errors of both checks.
/// let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
/// let (short, long, number) = (parse("&'a u8")?, parse("&'static u8")?, parse("u8")?);
/// assert!(table.relate(&NoProgram, Variance::Covariant, &short, &long)?.is_empty());
/// let error = table.regions().check(&Default::default()).unwrap_err();
/// assert_eq!(Reason::Regions(error).describe(&symbols), "`'a` is not known to outlive `'static`");
/// let error = table.relate(&NoProgram, Variance::Covariant, &short, &number).unwrap_err();
/// assert_eq!(Reason::Types(error).describe(&symbols), "`&'a u8` is not `u8`");
///
/// // A negation holds if no substitution of the placeholders satisfies the relation.
/// let scope = Scope::new().types(["T", "U"]);
/// let mut parse = |text| parse_ty(&cx, &mut symbols, &scope, text);
/// let (pair, lists, texts) = (parse("(T, u8)")?, parse("(Vec<U>, U)")?, parse("(str, u8)")?);
/// assert_eq!(table.never(&NoProgram, Variance::Invariant, &pair, &lists)?, Negation::Fails);
/// assert_eq!(table.never(&NoProgram, Variance::Invariant, &lists, &texts)?, Negation::Holds);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::InferenceTable;
/// Forms of terms that do not depend on the numbers of variables, as keys of a cache.
///
/// ```
/// use typeloom::term::infer::{Canonical, CanonicalVar, Canonicalized, InferenceTable};
/// use typeloom::term::{Boxed, Name, Ty};
///
/// let mut table = InferenceTable::new(Boxed::new());
/// let mut pair = || {
///     let (a, b) = (table.new_ty_var()?, table.new_ty_var()?);
///     let pair = Ty::pair(&Boxed::new(), Name::Tuple, a, b)?;
///     table.canonicalize(&pair)
/// };
/// let (one, other): (Canonicalized<Boxed, Ty>, _) = (pair()?, pair()?);
/// let form: &Canonical<Ty> = &one.canonical;
/// assert_eq!(*form, other.canonical);
/// let vars: &[CanonicalVar] = &form.vars;
/// assert_eq!((vars.len(), one.originals.len()), (2, 2));
/// let (instance, variables) = table.instantiate_canonical(form)?;
/// assert_eq!(table.canonicalize(&instance)?.canonical, *form);
/// # let _ = variables;
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::infer::Canonical;
/// Results of relations and points to roll back to.
///
/// ```
/// use typeloom::term::infer::{InferenceTable, NoProgram, Outlives, RegionConstraints, RegionError, RelationError};
/// use typeloom::term::infer::{RelationResult, Snapshot};
/// use typeloom::term::{Boxed, Scope, Symbols, Ty, parse_ty};
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
/// let (short, long, number): (Ty, Ty, Ty) = (parse("&'a u8")?, parse("&'static u8")?, parse("u16")?);
/// let mut table = InferenceTable::new(cx);
/// let start: Snapshot = table.snapshot();
/// let result: RelationResult<Boxed> = table.sub(&NoProgram, &short, &long);
/// assert!(result.is_ok());
/// let constraints: &RegionConstraints<Boxed> = table.regions();
/// let [Outlives { longer, .. }] = constraints.outlives() else { panic!("one constraint") };
/// let error: RegionError<Boxed> = constraints.check(&Default::default()).unwrap_err();
/// assert_eq!(error.longer, *longer);
/// table.rollback_to(start);
/// assert!(table.regions().outlives().is_empty());
/// let error: RelationError<Boxed> = table.eq(&NoProgram, &short, &number).unwrap_err();
/// assert!(matches!(error, RelationError::Mismatch { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::infer::RelationError;
/// [`Canonical`] has an example.
#[doc(inline)]
pub use typeloom_term::infer::{CanonicalVar, Canonicalized};
/// [`RelationError`] has an example.
#[doc(inline)]
pub use typeloom_term::infer::{Outlives, RegionConstraints, RegionError, RelationResult, Snapshot};
/// The declarations of a program: variances of its types, definitions of its aliases, equations of its
/// constants.
///
/// ```
/// use typeloom::term::infer::{AliasTy, ConstEquation, InferenceTable, Normalized, Program, Variance};
/// use typeloom::term::{Boxed, Const, Name, Scope, Symbols, Ty, parse_ty};
///
/// /// `<T as Iterator>::Item` is `u8` for every `T`.
/// struct Bytes(Ty);
///
/// impl Program<Boxed> for Bytes {
///     fn variance(&self, _: &Boxed, _: Name, _: usize) -> Variance {
///         Variance::Invariant
///     }
///
///     fn normalize(&self, _: &Boxed, _: AliasTy<'_, Boxed>) -> Normalized<Ty> {
///         Normalized::To(self.0.clone())
///     }
///
///     fn equate(&self, _: &Boxed, _: &Const<Boxed>, _: &Const<Boxed>) -> ConstEquation {
///         ConstEquation::Unknown
///     }
/// }
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new().types(["T"]), text);
/// let (item, byte) = (parse("<T as Iterator>::Item")?, parse("u8")?);
/// let mut table = InferenceTable::new(cx.clone());
/// assert!(table.relate(&Bytes(byte.clone()), Variance::Invariant, &item, &byte).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::{
    AliasTy, Program,
    program::{ConstEquation, Normalized},
};
/// [`InferenceTable`] has an example.
#[doc(inline)]
pub use typeloom_term::{Obligation, Variance, infer::Negation, program::NoProgram};
