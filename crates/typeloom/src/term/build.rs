//! Construction of terms beyond applications: binders, leaves, trait objects, and terms in an arena.
//!
//! A bound variable is numbered from the innermost binder. Terms in an arena are `Copy`, and equal terms are
//! the same handle.
//!
//! ```
//! use typeloom::term::build::{Arena, Arity, Binder, BoundVar, Interned};
//! use typeloom::term::{Boxed, Name, Region, Ty};
//!
//! let _: Binder<Region<Boxed>> = Binder::new(Arity::regions(1), Region::Bound(BoundVar::innermost(0)));
//!
//! let arena = Arena::new();
//! let cx = Interned::new(&arena);
//! let (a, b) = (Ty::apply(&cx, Name::Bool, &[])?, Ty::apply(&cx, Name::Bool, &[])?);
//! assert!(a.same(&b));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Trait objects, and the witnesses of coroutines. The bounds of a trait object are a set.
///
/// ```
/// use typeloom::term::build::{Arity, DynBound, DynBoundKind, WitnessTy};
/// use typeloom::term::infer::{InferenceTable, NoProgram};
/// use typeloom::term::{Boxed, DynTy, Name, Region, Symbols, Ty, TyData};
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let mut bound = |name| DynBound::<Boxed> {
///     arity: Arity::NONE,
///     kind: DynBoundKind::Trait,
///     name: Name::Trait(symbols.intern(name)),
///     args: [].into(),
/// };
/// let (a, b) = (bound("A"), bound("B"));
/// let object = |bounds: &[_]| Ty::new(&cx, TyData::Dyn(DynTy { bounds, region: Region::Static }));
/// let (one, other) = (object(&[a.clone(), b.clone()])?, object(&[b, a.clone(), a])?);
/// assert!(InferenceTable::new(cx.clone()).eq(&NoProgram, &one, &other).is_ok());
///
/// let types = &[one.into()];
/// let witness = WitnessTy { name: Name::Tuple, arity: Arity::NONE, types };
/// assert!(TyData::GeneratorWitness(witness).intern(&cx).is_ok());
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::DynBound;
/// Proof that an error type was reported. [`Reporter`](super::Reporter) creates it.
#[doc(inline)]
pub use typeloom_term::ErrorProof;
/// Leaves of terms: variables, placeholders, constants. [`Placeholder`] has the parameters of a program and the
/// replacements of bound variables, by universe.
///
/// ```
/// use typeloom::term::build::{ConstData, ConstOp, ConstValue, DebruijnIndex, InferVar, IntWidth, Universe};
/// use typeloom::term::build::{BoundVar, Placeholder, PlaceholderId};
/// use typeloom::term::{Boxed, Const, Name, Symbols, Ty, TyData};
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let t = Name::Param(symbols.intern("T"));
/// let named = Placeholder { universe: Universe::ROOT, id: PlaceholderId::Named(t) };
/// assert_eq!(Ty::new(&cx, TyData::Placeholder(named))?, Ty::param(&cx, t)?);
/// assert_eq!(BoundVar::new(1, 0).depth, DebruijnIndex(1));
/// let variable: Ty = Ty::new(&cx, TyData::InferenceVar(InferVar::Canonical(0)))?;
/// assert_ne!(variable, Ty::apply(&cx, Name::Uint(IntWidth::W8), &[])?);
///
/// let three: Const<Boxed> = Const::new(&cx, ConstData::Value(ConstValue::Int(3)))?;
/// let sum = Const::expr(&cx, ConstOp::Add, &[three.clone().into(), three.into()])?;
/// assert!(matches!(sum.data(), ConstData::Expr(ConstOp::Add, [_, _])));
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::Placeholder;
/// Parts of the names of Rust's types.
///
/// ```
/// use typeloom::term::build::{Abi, FloatWidth, IntWidth, Mutability, Safety, Variadic};
/// use typeloom::term::{Boxed, Name, Scope, Symbols, Ty, parse_ty};
///
/// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
/// let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
/// let float = Ty::apply(&cx, Name::Float(FloatWidth::W32), &[])?;
/// assert_eq!(float, parse("f32")?);
/// assert_eq!(Ty::apply(&cx, Name::Int(IntWidth::Size), &[])?, parse("isize")?);
/// let pointer = Ty::apply(&cx, Name::RawPtr(Mutability::Mutable), &[float.into()])?;
/// assert_eq!(pointer, parse("*mut f32")?);
/// assert_eq!(Name::FN, Name::FnPtr(Safety::Safe, Variadic::Fixed, Abi::Rust));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_term::name::IntWidth;
/// [`IntWidth`] has an example.
#[doc(inline)]
pub use typeloom_term::name::{Abi, FloatWidth, Mutability, Safety, Variadic};
/// [`DynBound`] has an example.
#[doc(inline)]
pub use typeloom_term::ty::{DynBoundKind, WitnessTy};
/// The module has an example.
#[doc(inline)]
pub use typeloom_term::{Arena, Arity, Binder, BoundVar, Interned};
/// [`Placeholder`] has an example.
#[doc(inline)]
pub use typeloom_term::{
    ConstData, ConstOp, ConstValue, DebruijnIndex, InferVar, TermError, Universe, VarKind, ty::PlaceholderId,
};
