//! Goals: statements about types, with negation, and the impls under which they hold.
//!
//! A [`GoalFamily`] stores goals, as a [`TypeFamily`] stores types, and a [`TraitEnvironment`] supplies impls.
//! [`InferenceTable::prove`](crate::InferenceTable::prove) answers goals; its module defines the meaning.
//!
//! ```
//! use std::borrow::Cow;
//! use std::rc::Rc;
//! use typeloom_term::goal::{Goal, GoalData, GoalFamily, Impl, TraitEnvironment, TraitRef};
//! use typeloom_term::infer::Answer;
//! use typeloom_term::program::NoProgram;
//! use typeloom_term::{Boxed, InferenceTable, Name, Symbols, Ty, print};
//!
//! /// `u8: Small` is the only impl.
//! struct OneImpl([Impl<Boxed>; 1]);
//!
//! impl TraitEnvironment<Boxed> for OneImpl {
//!     fn impls(&self, _: &Boxed, name: Name) -> Cow<'_, [Impl<Boxed>]> {
//!         Cow::Borrowed(if self.0[0].of.name == name { &self.0 } else { &[] })
//!     }
//! }
//!
//! let (cx, mut symbols) = (Boxed::new(), Symbols::new());
//! let small = Name::Trait(symbols.intern("Small"));
//! let byte = Ty::apply(&cx, Name::Uint(typeloom_term::name::IntWidth::W8), &[])?;
//! let program = OneImpl([Impl::fact(TraitRef::new(small, [byte.clone().into()]))]);
//!
//! let mut table = InferenceTable::new(cx.clone());
//! let not_small = |ty| Goal::not(&cx, Goal::implemented(&cx, TraitRef::new(small, [Ty::into(ty)]))?);
//! let goal = not_small(Ty::apply(&cx, Name::Bool, &[])?)?;
//! assert_eq!(print::goal(&goal, &symbols), "not { Implemented(bool: Small) }");
//! assert_eq!(table.prove(&NoProgram, &program, &goal), Answer::Holds);
//! assert_eq!(table.prove(&NoProgram, &program, &not_small(byte)?), Answer::Fails);
//! // Some type is small, so the negation is false for a parameter.
//! let parameter = Ty::param(&cx, Name::Param(symbols.intern("T")))?;
//! assert_eq!(table.prove(&NoProgram, &program, &not_small(parameter)?), Answer::Fails);
//! # Ok::<(), typeloom_term::TermError>(())
//! ```

use crate::arg::GenericArg;
use crate::binder::Arity;
use crate::family::TypeFamily;
use crate::family::boxed::{Boxed, BoxedName};
use crate::family::interned::{Interned, InternedName};
use crate::fold::{Fold, Folder};
use crate::meta::{Flags, MAX_DEPTH, TermError};
use crate::ty::Ty;
use std::borrow::Cow;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// Maximum number of parts of a goal, counted once for each occurrence.
pub const MAX_GOALS: u32 = 1 << 12;

/// Storage of goals.
///
/// # Laws
///
/// - `goal_data(&f.intern_goal(data)) == &data`;
/// - handles are equal exactly if their contents are equal; equal handles have equal hashes.
pub trait GoalFamily: TypeFamily {
    /// A handle of a goal.
    type InternedGoal: Clone + Eq + Hash + Debug;

    /// Stores a goal.
    fn intern_goal(&self, data: GoalData<Self>) -> Self::InternedGoal;
    /// Returns the content of a goal.
    fn goal_data(goal: &Self::InternedGoal) -> &GoalData<Self>;
}

/// Goals of a family of this crate are counted references.
macro_rules! counted_goals {
    ($([$($generics:tt)*] $family:ty;)*) => {$(
        impl<$($generics)*> GoalFamily for $family {
            type InternedGoal = Arc<GoalData<Self>>;

            fn intern_goal(&self, data: GoalData<Self>) -> Arc<GoalData<Self>> {
                Arc::new(data)
            }

            fn goal_data(goal: &Arc<GoalData<Self>>) -> &GoalData<Self> {
                goal
            }
        }
    )*};
}

counted_goals! {
    [N: BoxedName] Boxed<N>;
    ['p, N: InternedName] Interned<'p, N>;
}

/// A goal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Goal<F: GoalFamily> {
    interned: F::InternedGoal,
    /// Greatest number of nested goals.
    depth: u16,
    /// Number of parts.
    size: u32,
}

/// Content of a goal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum GoalData<F: GoalFamily> {
    /// A type implements a trait.
    Implemented(TraitRef<F>),
    /// Two types are equal.
    Equal(Ty<F>, Ty<F>),
    /// All goals hold.
    All(Vec<Goal<F>>),
    /// The goal holds for no values of its placeholders.
    Not(Goal<F>),
}

/// A trait applied to arguments.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TraitRef<F: TypeFamily> {
    /// The trait.
    pub name: F::Name,
    /// The self type, then the arguments of the trait.
    pub args: Vec<GenericArg<F>>,
}

impl<F: TypeFamily> TraitRef<F> {
    /// Creates the statement that `args[0]` implements `name<args[1..]>`.
    pub fn new(name: F::Name, args: impl Into<Vec<GenericArg<F>>>) -> Self {
        Self { name, args: args.into() }
    }
}

/// An impl, or a fact of another kind such as a bound of a parameter: for all values of the variables, the
/// trait is implemented if the conditions hold.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Impl<F: GoalFamily> {
    /// Variables of the impl, bound in the trait and the conditions.
    pub arity: Arity,
    /// The implemented trait.
    pub of: TraitRef<F>,
    /// Conditions of the impl.
    pub conditions: Vec<Goal<F>>,
}

impl<F: GoalFamily> Impl<F> {
    /// Creates an impl without variables and conditions.
    #[must_use]
    pub fn fact(of: TraitRef<F>) -> Self {
        Self { arity: Arity::NONE, of, conditions: Vec::new() }
    }
}

/// The impls of a closed world: a trait is implemented exactly if the environment implies it. A list of impls
/// is an environment, and so can be a family.
///
/// # Laws
///
/// The impls of a name do not change while a table is in use.
pub trait TraitEnvironment<F: GoalFamily> {
    /// Returns the impls of a trait, and possibly other ones.
    fn impls(&self, cx: &F, name: F::Name) -> Cow<'_, [Impl<F>]>;
}

impl<F: GoalFamily> TraitEnvironment<F> for Vec<Impl<F>> {
    fn impls(&self, _cx: &F, _name: F::Name) -> Cow<'_, [Impl<F>]> {
        Cow::Borrowed(self)
    }
}

impl<F: GoalFamily> Goal<F> {
    /// Stores a goal with this content.
    ///
    /// # Errors
    /// If the goal has more than [`MAX_GOALS`] parts or is nested more than [`MAX_DEPTH`] levels deep.
    pub fn new(cx: &F, data: GoalData<F>) -> Result<Self, TermError> {
        let parts = match &data {
            GoalData::Implemented(_) | GoalData::Equal(..) => &[],
            GoalData::All(goals) => goals.as_slice(),
            GoalData::Not(goal) => std::slice::from_ref(goal),
        };
        let depth = parts.iter().map(|goal| goal.depth).max().unwrap_or(0) + 1;
        let size = parts.iter().fold(1, |size: u32, goal| size.saturating_add(goal.size));
        if depth > MAX_DEPTH {
            return Err(TermError::TooDeep);
        }
        if size > MAX_GOALS {
            return Err(TermError::LargeGoal);
        }
        Ok(Self { interned: cx.intern_goal(data), depth, size })
    }

    /// Builds the goal that a trait is implemented.
    pub fn implemented(cx: &F, of: TraitRef<F>) -> Result<Self, TermError> {
        Self::new(cx, GoalData::Implemented(of))
    }

    /// Builds the goal that two types are equal.
    pub fn equal(cx: &F, a: Ty<F>, b: Ty<F>) -> Result<Self, TermError> {
        Self::new(cx, GoalData::Equal(a, b))
    }

    /// Builds the goal that all of these goals hold.
    pub fn all(cx: &F, goals: impl Into<Vec<Self>>) -> Result<Self, TermError> {
        Self::new(cx, GoalData::All(goals.into()))
    }

    /// Builds the negation of a goal.
    pub fn not(cx: &F, goal: Self) -> Result<Self, TermError> {
        Self::new(cx, GoalData::Not(goal))
    }

    /// Returns the content.
    #[must_use]
    pub fn data(&self) -> &GoalData<F> {
        F::goal_data(&self.interned)
    }

    /// Returns the handle of the family.
    #[must_use]
    pub fn interned(&self) -> &F::InternedGoal {
        &self.interned
    }

    /// Returns the union of the properties of all terms in the goal.
    pub fn flags(&self) -> Result<Flags, TermError> {
        match self.data() {
            GoalData::Implemented(of) => args_flags(&of.args),
            GoalData::Equal(a, b) => Ok(a.meta().flags.union(b.meta().flags)),
            GoalData::All(goals) => {
                goals.iter().try_fold(Flags::NONE, |flags, goal| Ok(flags.union(goal.flags()?)))
            }
            GoalData::Not(goal) => goal.flags(),
        }
    }
}

/// Returns the union of the properties of a list of terms.
pub(crate) fn args_flags<F: TypeFamily>(args: &[GenericArg<F>]) -> Result<Flags, TermError> {
    args.iter().try_fold(Flags::NONE, |flags, arg| Ok(flags.union(arg.meta()?.flags)))
}

impl<F: TypeFamily> Fold<F> for TraitRef<F> {
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error> {
        Ok(Self { name: self.name, args: self.args.try_fold_with(folder)? })
    }
}

impl<F: GoalFamily> Fold<F> for Goal<F> {
    fn try_fold_with<D: Folder<F>>(&self, folder: &mut D) -> Result<Self, D::Error> {
        let data = match self.data() {
            GoalData::Implemented(of) => GoalData::Implemented(of.try_fold_with(folder)?),
            GoalData::Equal(a, b) => GoalData::Equal(a.try_fold_with(folder)?, b.try_fold_with(folder)?),
            GoalData::All(goals) => GoalData::All(goals.try_fold_with(folder)?),
            GoalData::Not(goal) => GoalData::Not(goal.try_fold_with(folder)?),
        };
        Ok(Self::new(folder.cx(), data)?)
    }
}
