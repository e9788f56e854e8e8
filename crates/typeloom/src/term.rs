//! Types as terms: equality, subtyping and inference as in Rust.
//!
//! ```
//! use typeloom::term::{Boxed, Scope, Symbols, is_subtype, parse_ty, print};
//!
//! let mut symbols = Symbols::new();
//! let mut parse = |text| parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), text);
//! let (long, short) = (parse("&'static str")?, parse("&'a str")?);
//!
//! assert!(is_subtype(&long, &short).is_ok());
//! let reason = is_subtype(&short, &long).unwrap_err();
//! assert_eq!(reason.describe(&symbols), "`'a` is not known to outlive `'static`");
//! assert_eq!(print(&long, &symbols), "&'static str");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Terms are generic over a [`TypeFamily`]: [`Boxed`] terms are independent values, and those of [`build`]
//! are handles into an arena. Names of nominal types, parameters and lifetimes are [symbols](Symbols).
//! [`infer`] determines types with variables, and [`goals`] whether types implement traits. [`family`] shows how
//! a compiler stores terms of its own.

pub mod build;
pub mod family;
pub mod goals;
pub mod infer;
pub mod traverse;

/// [`FnTy`] has an example.
#[doc(inline)]
pub use typeloom_term::DynTy;
/// Functions and trait objects, as contents of types.
///
/// ```
/// use typeloom::term::{Boxed, DynTy, FnTy, Region, Scope, Symbols, TyData, parse_ty};
///
/// let mut symbols = Symbols::new();
/// let mut parse = |text| parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), text);
/// let (function, object) = (parse("for<'x> fn(&'x u8) -> u16")?, parse("dyn A + B + 'static")?);
/// let TyData::Fn(signature) = function.data() else { panic!("a function") };
/// let FnTy { arity, .. } = signature;
/// assert_eq!((signature.inputs().len(), arity.regions), (1, 1));
/// let TyData::Dyn(DynTy { bounds, region }) = object.data() else { panic!("a trait object") };
/// assert_eq!((bounds.len(), region), (2, Region::Static));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::FnTy;
/// Parts of terms: arguments, lifetimes, constants.
///
/// ```
/// use typeloom::term::{
///     Boxed, Const, GenericArg, GenericArguments, Name, Region, Scope, Symbols, Ty, TyData, parse_ty, print,
/// };
///
/// fn kind(ty: &Ty) -> &'static str {
///     match ty.data() {
///         TyData::Placeholder(_) => "parameter",
///         TyData::Alias(_) => "projection",
///         TyData::Dyn(_) => "trait object",
///         TyData::Fn(_) => "signature",
///         _ => "other",
///     }
/// }
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let scope = Scope::new().types(["T"]);
/// let ty = parse_ty(&cx, &mut symbols, &scope, "T")?;
/// assert_eq!(kind(&ty), "parameter");
/// assert_eq!(kind(&parse_ty(&cx, &mut symbols, &scope, "<T as Iterator>::Item")?), "projection");
/// assert_eq!(kind(&parse_ty(&cx, &mut symbols, &scope, "dyn Send")?), "trait object");
///
/// let args: GenericArguments<'_, Boxed> = &[GenericArg::Ty(ty), GenericArg::Const(Const::int(&cx, 4))];
/// assert_eq!(print(&Ty::apply(&cx, Name::Array, args)?, &symbols), "[T; 4]");
/// assert!(args[0].as_region().is_none());
/// assert_eq!(GenericArg::<Boxed>::from(Region::Static).as_region(), Some(Region::Static));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::GenericArg;
/// Types and their contents, and the family of terms that are independent values.
///
/// ```
/// use typeloom::term::{ApplicationTy, Boxed, Name, Symbol, Symbols, Ty, TyData, TypeFamily};
///
/// fn pair<F: TypeFamily<Name = Name>>(cx: &F) -> Result<Ty<F>, Box<dyn std::error::Error>> {
///     let (a, b) = (Ty::apply(cx, Name::Bool, &[])?, Ty::apply(cx, Name::Char, &[])?);
///     Ok(Ty::pair(cx, Name::Tuple, a, b)?)
/// }
///
/// let boxed = pair(&Boxed::new())?;
/// let TyData::Apply(ApplicationTy { name, args }) = boxed.data() else { panic!("a tuple is an application") };
/// assert_eq!((name, args.len()), (Name::Tuple, 2));
///
/// let vec: Symbol = Symbols::new().intern("Vec");
/// assert!(Ty::apply(&Boxed::new(), Name::Adt(vec), &[boxed.into()]).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::Ty;
/// Subtyping of two types without variables, including lifetimes.
///
/// ```
/// use typeloom::term::{Boxed, Reason, Scope, Symbols, is_subtype, parse_ty};
///
/// let mut symbols = Symbols::new();
/// let mut parse = |text| parse_ty(&Boxed::new(), &mut symbols, &Scope::new(), text);
/// let (function, pointer) = (parse("fn(&'a u8)")?, parse("fn(&'static u8)")?);
/// assert!(is_subtype(&function, &pointer).is_ok());
/// assert!(matches!(is_subtype(&pointer, &function), Err(Reason::Regions(_))));
/// assert!(matches!(is_subtype(&parse("u8")?, &parse("u16")?), Err(Reason::Types(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Known relations of lifetimes are facts. Declarations of a program are those of a
/// [`Program`](infer::Program).
///
/// ```
/// use typeloom::term::infer::NoProgram;
/// use typeloom::term::{Boxed, Name, Reason, Region, RegionFacts, Scope, Symbols, check_subtype, is_subtype, parse_ty};
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
/// let (long, short) = (parse("&'a str")?, parse("&'b str")?);
/// let reason: Reason = is_subtype(&long, &short).unwrap_err();
/// assert_eq!(reason.describe(&symbols), "`'a` is not known to outlive `'b`");
///
/// let [a, b] = ["'a", "'b"].map(|name| Region::param(Name::Param(symbols.intern(name))));
/// let mut facts = RegionFacts::new();
/// facts.assume(a, b);
/// assert!(check_subtype(&cx, &NoProgram, &facts, &long, &short).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::is_subtype;
/// Receivers of errors. An error type needs a proof that an error was reported, and a relation with it
/// holds, so that one error is reported once.
///
/// ```
/// use typeloom::term::infer::{InferenceTable, NoProgram};
/// use typeloom::term::{Boxed, Name, Reporter, Ty};
///
/// let mut errors = Vec::new();
/// let proof = errors.report("`Missing` is not declared");
/// let (missing, bool) = (Ty::error(&Boxed::new(), proof), Ty::apply(&Boxed::new(), Name::Bool, &[])?);
/// let mut table = InferenceTable::new(Boxed::new());
/// assert!(table.eq(&NoProgram, &missing, &bool).is_ok());
/// assert_eq!((table.tainted(), errors.len()), (Some(proof), 1));
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::ty::Reporter;
/// [`Ty`] has an example.
#[doc(inline)]
pub use typeloom_term::{ApplicationTy, Boxed, Name, Symbol, Symbols, TyData, TypeFamily};
/// [`GenericArg`] has an example.
#[doc(inline)]
pub use typeloom_term::{Const, GenericArguments, Region};
/// [`is_subtype`] has an example.
#[doc(inline)]
pub use typeloom_term::{Reason, infer::RegionFacts, subtype::check_subtype};
/// Terms written and printed in Rust's syntax, and tensor types as `Tensor<f32, [N, 3]>`. A name in the
/// position of an extent is a constant if the [`Scope`] declares it.
///
/// ```
/// use typeloom::term::{Boxed, ParseError, Scope, Symbols, parse_ty, print};
///
/// let mut symbols = Symbols::new();
/// let scope = Scope::new().types(["T"]);
/// let ty = parse_ty(&Boxed::new(), &mut symbols, &scope, "for<'x> fn(&'x [T], std::Vec<u8>) -> &'x T")?;
/// assert_eq!(print(&ty, &symbols), "for<'x> fn(&'x [T], std::Vec<u8>) -> &'x T");
/// let error: ParseError = parse_ty(&Boxed::new(), &mut symbols, &scope, "Vec<").unwrap_err();
/// assert_eq!(error.offset, 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::{
    parse::{ParseError, Scope, parse_ty},
    print::rust as print,
};
