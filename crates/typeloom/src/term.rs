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
//! Terms are generic over a [`TypeFamily`]: [`Boxed`] terms are independent values, [`Interned`] terms are handles into an
//! [`Arena`]. Names of nominal types, parameters and lifetimes are [symbols](Symbols).

/// The declarations of a program: variances of its types, definitions of its aliases, equations of its constants.
///
/// ```
/// use typeloom::term::{
///     AliasTy, Boxed, Const, ConstEquation, InferenceTable, Name, Normalized, Program, Scope, Symbols, Ty, Variance,
///     parse_ty,
/// };
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
/// Types, their contents, and the families that represent them.
///
/// ```
/// use typeloom::term::{ApplicationTy, Arena, Boxed, Interned, Name, Symbols, Ty, TyData, TypeFamily};
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
/// let arena = Arena::new();
/// let cx = Interned::new(&arena);
/// assert!(pair(&cx)?.same(&pair(&cx)?), "interned terms are equal if they are the same handle");
///
/// let vec = Name::Adt(Symbols::new().intern("Vec"));
/// assert!(Ty::apply(&Boxed::new(), vec, &[boxed.into()]).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::{ApplicationTy, Arena, Boxed, Interned, Name, Symbols, Ty, TyData, TypeFamily};
/// Parts of terms: arguments, regions, constants, binders.
///
/// ```
/// use typeloom::term::{
///     Arity, Binder, BoundVar, Boxed, Const, GenericArg, GenericArguments, Name, Region, Scope, Symbols, Ty, TyData,
///     parse_ty, print,
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
/// let _: Binder<Region<Boxed>> = Binder::new(Arity::regions(1), Region::Bound(BoundVar::innermost(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::{Arity, Binder, BoundVar, Const, GenericArg, GenericArguments, Region};
/// Inference: variables that relations between types determine, under the declarations of a program.
///
/// ```
/// use typeloom::term::{
///     Boxed, InferenceTable, Name, NoProgram, Program as _, Reason, Scope, Symbols, Ty, Variance, parse_ty, print,
/// };
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let mut table = InferenceTable::new(cx.clone());
/// let element = table.new_ty_var()?;
/// let vec = Name::Adt(symbols.intern("Vec"));
/// let open = Ty::apply(&cx, vec, &[element.clone().into()])?;
/// let known = parse_ty(&cx, &mut symbols, &Scope::new(), "Vec<u8>")?;
///
/// let undecided = table.relate(&NoProgram, Variance::Invariant, &open, &known)?;
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::{InferenceTable, Variance, program::NoProgram};
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
#[doc(inline)]
pub use typeloom_term::{Reason, is_subtype};
/// Terms written and printed in Rust's syntax, and tensor types as `Tensor<f32, [N, 3]>`. A name in the position of an extent is a
/// constant if the [`Scope`] declares it.
///
/// ```
/// use typeloom::term::{Boxed, Scope, Symbols, parse_ty, print};
///
/// let mut symbols = Symbols::new();
/// let scope = Scope::new().types(["T"]);
/// let ty = parse_ty(&Boxed::new(), &mut symbols, &scope, "for<'x> fn(&'x [T], std::Vec<u8>) -> &'x T")?;
/// assert_eq!(print(&ty, &symbols), "for<'x0> fn(&'x0 [T], std::Vec<u8>) -> &'x0 T");
/// let error = parse_ty(&Boxed::new(), &mut symbols, &scope, "Vec<").unwrap_err();
/// println!("{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::{
    parse::{Scope, parse_ty},
    print::rust as print,
};
