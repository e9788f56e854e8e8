//! Goals: whether types implement traits, also negated, in a closed world of impls.
//!
//! A parameter of a goal is any type. Under a negation it is some type: `not { Implemented(T: Trait) }` holds if
//! no type implements the trait. A variable of a table makes a negation [ambiguous](Answer::Ambiguous).
//!
//! ```
//! use typeloom::term::goals::{Answer, Goal, Impl, TraitRef, print};
//! use typeloom::term::infer::{InferenceTable, NoProgram};
//! use typeloom::term::{Boxed, Name, Scope, Symbols, parse_ty};
//!
//! let (cx, mut symbols) = (Boxed::new(), Symbols::new());
//! let trait_name = Name::Trait(symbols.intern("Trait"));
//! let mut of = |text: &str| -> Result<_, Box<dyn std::error::Error>> {
//!     let ty = parse_ty(&cx, &mut symbols, &Scope::new().types(["T"]), text)?;
//!     Ok(TraitRef::new(trait_name, [ty.into()]))
//! };
//! // impl Trait for u8
//! let impls = vec![Impl::fact(of("u8")?)];
//! let mut table = InferenceTable::new(cx.clone());
//! let expected = [("u8", Answer::Fails), ("u16", Answer::Holds), ("T", Answer::Fails), ("[T]", Answer::Holds)];
//! for (ty, answer) in expected {
//!     let goal = Goal::not(&cx, Goal::implemented(&cx, of(ty)?)?)?;
//!     assert_eq!(table.prove(&NoProgram, &impls, &goal), answer, "{ty}");
//! }
//! let goal = Goal::not(&cx, Goal::implemented(&cx, of("T")?)?)?;
//! assert_eq!(print(&goal, &symbols), "not { Implemented(T: Trait) }");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

/// Goals and impls. [`InferenceTable::prove`](super::infer::InferenceTable::prove) answers a goal; the limits
/// are those of a proof.
///
/// ```
/// use typeloom::term::goals::{Goal, GoalData, MAX_GOALS, TraitRef};
/// use typeloom::term::{Boxed, Name, Symbols, Ty};
///
/// let cx = Boxed::new();
/// let (unit, bool) = (Ty::apply(&cx, Name::Tuple, &[])?, Ty::apply(&cx, Name::Bool, &[])?);
/// let equal = Goal::equal(&cx, unit.clone(), bool)?;
/// let copy = TraitRef::new(Name::Trait(Symbols::new().intern("Copy")), [unit.into()]);
/// let both = Goal::all(&cx, [equal.clone(), Goal::implemented(&cx, copy)?])?;
/// let GoalData::All(parts) = both.data() else { panic!("a conjunction") };
/// assert_eq!(parts[0], equal);
/// assert!(Goal::all(&cx, vec![both; MAX_GOALS as usize]).is_err());
/// # Ok::<(), typeloom::term::build::TermError>(())
/// ```
#[doc(inline)]
pub use typeloom_term::goal::Goal;
/// [`Goal`] has an example.
#[doc(inline)]
pub use typeloom_term::goal::{GoalData, Impl, MAX_GOALS, TraitRef};
/// The module [`family`](super::family) has an example.
#[doc(inline)]
pub use typeloom_term::goal::{GoalFamily, TraitEnvironment};
/// The module has an example.
#[doc(inline)]
pub use typeloom_term::infer::{Answer, MAX_GOAL_DEPTH, MAX_GOAL_STEPS, MAX_NEGATIONS};
/// The module has an example.
#[doc(inline)]
pub use typeloom_term::print::goal as print;
