//! Proofs of goals in a closed world, with negation as failure.
//!
//! # Meaning
//!
//! A [`TraitEnvironment`] lists all impls. A trait is implemented exactly if the impls imply it in finitely
//! many steps (the least model: a proof that needs itself is none). For the parameters of a goal:
//!
//! - A placeholder of a goal is universal: the goal holds for every type in its position. A placeholder is
//!   equal to itself only, and the environment can contain facts about it.
//! - Under a negation it is existential: `not { Implemented(T: Trait) }` holds if no type `T` implements the
//!   trait, so placeholders become variables ([`InferenceTable::invert`]) and the goal must have no solution.
//!   `T = u8` and `not { T = u8 }` are therefore both false.
//! - A variable of the table is an unknown type. A goal without a solution fails for each value of its
//!   variables; with a solution it is ambiguous. A negation is decided for goals without variables only.
//!
//! # Method
//!
//! SLD resolution with negation as failure (Clark, "Negation as failure", 1978), depth first, over an explicit
//! stack of choices. Of a conjunction, goals without variables come first, because each is decided alone, and
//! negations come last, when the other goals have bound their variables. A goal without variables that is a goal above itself fails, and is ambiguous if a negation is
//! between both.
//!
//! **Termination:** each step takes one part of a goal or tries one impl, and there are at most
//! [`MAX_GOAL_STEPS`] of them. A relation of a step terminates. Negations inside of conditions recurse; their
//! number is bounded too.
//!
//! **Invariant:** [`Answer::Holds`] and [`Answer::Fails`] are proofs, up to lifetimes: a relation of lifetimes
//! that does not hold for all values of the named ones makes the answer ambiguous, and variables for lifetimes
//! have suitable values. Aliases that the program does not evaluate, undecided relations and limits make it
//! ambiguous too.
//!
//! **Invariant:** the table is unchanged.

use super::negation::{Inverted, VARIABLES};
use super::{InferenceTable, Obligation, RegionConstraints, RegionFacts, RelationError, Snapshot};
use crate::arg::GenericArg;
use crate::binder::Arity;
use crate::goal::{Goal, GoalData, GoalFamily, Impl, TraitEnvironment, TraitRef, args_flags};
use crate::meta::{Flags, TermError};
use crate::program::Program;
use crate::subst::{Instantiation, instantiate};
use crate::ty::Ty;
use crate::variance::Variance;
use std::rc::Rc;

/// Maximum number of steps of a proof.
pub const MAX_GOAL_STEPS: usize = 1 << 15;

/// Maximum number of goals on a path from a condition to the goal that it was needed for.
pub const MAX_GOAL_DEPTH: u16 = 256;

/// Maximum number of negations on such a path.
pub const MAX_NEGATIONS: u16 = 16;

/// Answer to a goal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The goal holds for all values of its placeholders.
    Holds,
    /// The goal does not hold for all values of its placeholders.
    Fails,
    /// The answer depends on variables, aliases or lifetimes, or a goal depends on its own negation.
    Ambiguous,
    /// The proof exceeds [`MAX_GOAL_STEPS`], [`MAX_GOAL_DEPTH`], [`MAX_NEGATIONS`] or a limit of terms.
    TooComplex,
}

impl<F: GoalFamily> InferenceTable<F> {
    /// Answers a goal under the declarations of a program and the impls of an environment.
    ///
    /// ```
    /// use typeloom_term::goal::{Goal, Impl, TraitRef};
    /// use typeloom_term::infer::Answer;
    /// use typeloom_term::program::NoProgram;
    /// use typeloom_term::{Arity, BoundVar, Boxed, InferenceTable, Name, Symbols, Ty, TyData, TypeFamily as _};
    ///
    /// let (cx, mut symbols) = (Boxed::new(), Symbols::new());
    /// let (clone, vec) = (Name::Trait(symbols.intern("Clone")), Name::Adt(symbols.intern("Vec")));
    /// // impl Clone for bool; impl<T: Clone> Clone for Vec<T>
    /// let is_clone = |ty: &Ty| TraitRef::new(clone, [ty.clone().into()]);
    /// let (bool, char) = (Ty::apply(&cx, Name::Bool, &[])?, Ty::apply(&cx, Name::Char, &[])?);
    /// let element = Ty::new(&cx, TyData::BoundVariable(BoundVar::innermost(0)))?;
    /// let list = |ty: &Ty| Ty::apply(&cx, vec, &[ty.clone().into()]);
    /// let of_lists = Impl {
    ///     arity: Arity { types: 1, ..Arity::NONE },
    ///     of: is_clone(&list(&element)?),
    ///     conditions: vec![Goal::implemented(&cx, is_clone(&element))?],
    /// };
    /// let impls = vec![Impl::fact(is_clone(&bool)), of_lists];
    ///
    /// let mut table = InferenceTable::new(cx.clone());
    /// let unknown = table.new_ty_var()?;
    /// let mut answer = |ty: &Ty| -> Result<[Answer; 2], typeloom_term::TermError> {
    ///     let goal = Goal::implemented(&cx, is_clone(ty))?;
    ///     let not = Goal::not(&cx, goal.clone())?;
    ///     Ok([goal, not].map(|goal| table.prove(&NoProgram, &impls, &goal)))
    /// };
    /// assert_eq!(answer(&list(&list(&bool)?)?)?, [Answer::Holds, Answer::Fails]);
    /// assert_eq!(answer(&list(&char)?)?, [Answer::Fails, Answer::Holds]);
    /// assert_eq!(answer(&list(&unknown)?)?, [Answer::Ambiguous, Answer::Ambiguous]);
    /// # Ok::<(), typeloom_term::TermError>(())
    /// ```
    pub fn prove<P: Program<F>, E: TraitEnvironment<F>>(
        &mut self,
        program: &P,
        environment: &E,
        goal: &Goal<F>,
    ) -> Answer {
        let resolved = self.resolve(goal).and_then(|goal| Ok((goal.flags()?, goal)));
        let Ok((flags, goal)) = resolved else { return Answer::TooComplex };
        // An error was reported, and must not cause another one.
        if flags.intersects(Flags::ERROR) {
            return Answer::Holds;
        }
        let program = &Inverted(program);
        let (found, is_limited) = self.probe(|table| {
            let mut search = Search { table, program, environment, steps: 0, is_limited: false };
            (search.solutions(goal, None, 0), search.is_limited)
        });
        match found {
            Found::None => Answer::Fails,
            Found::Some if !flags.intersects(VARIABLES) => Answer::Holds,
            Found::Undecided if is_limited => Answer::TooComplex,
            Found::Some | Found::Undecided => Answer::Ambiguous,
        }
    }
}

/// Solutions of a goal for the variables in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Some,
    None,
    Undecided,
}

/// A goal that a condition was needed for.
struct Above<F: GoalFamily> {
    goal: TraitRef<F>,
    /// Number of goals on the path to this one.
    depth: u16,
    /// Number of negations on the path to this one.
    negations: u16,
    above: Path<F>,
}

type Path<F> = Option<Rc<Above<F>>>;

/// A list of goals that several states share.
struct Pending<F: GoalFamily> {
    goal: Goal<F>,
    above: Path<F>,
    rest: Goals<F>,
}

type Goals<F> = Option<Rc<Pending<F>>>;

/// A list can be long, so its elements are not dropped by recursion.
impl<F: GoalFamily> Drop for Pending<F> {
    fn drop(&mut self) {
        let mut next = self.rest.take();
        while let Some(mut last) = next.and_then(|rest| Rc::try_unwrap(rest).ok()) {
            next = last.rest.take();
        }
    }
}

/// A conjunction of goals that remain.
struct State<F: GoalFamily> {
    goals: Goals<F>,
    /// Goals with variables, which are taken after those without.
    open: Goals<F>,
    /// Negations, which are decided last.
    negations: Goals<F>,
    obligations: Vec<Obligation<F>>,
    /// Whether a part that was taken is undecided.
    is_undecided: bool,
}

impl<F: GoalFamily> Clone for State<F> {
    fn clone(&self) -> Self {
        let Self { goals, open, negations, obligations, is_undecided } = self;
        let (goals, open, negations) = (goals.clone(), open.clone(), negations.clone());
        Self { goals, open, negations, obligations: obligations.clone(), is_undecided: *is_undecided }
    }
}

/// Adds a goal in front of a list.
fn push<F: GoalFamily>(list: &mut Goals<F>, goal: &Goal<F>, above: &Path<F>) {
    let rest = list.take();
    *list = Some(Rc::new(Pending { goal: goal.clone(), above: above.clone(), rest }));
}

/// The impls that remain for a goal.
struct Choice<F: GoalFamily> {
    /// The state without the goal.
    state: State<F>,
    /// The path to the conditions of an impl.
    path: Rc<Above<F>>,
    impls: std::vec::IntoIter<Impl<F>>,
    /// The table before the impl that was tried last.
    before: Option<Snapshot>,
}

/// Result of taking one goal.
enum Step<F: GoalFamily> {
    /// Goals remain.
    Continue,
    /// The goal has no solution in this state.
    Fail,
    /// The goal depends on impls.
    Choose(Choice<F>),
    /// No goal remains.
    Done,
}

struct Search<'t, F: GoalFamily, P, E> {
    table: &'t mut InferenceTable<F>,
    program: &'t P,
    environment: &'t E,
    steps: usize,
    is_limited: bool,
}

impl<F: GoalFamily, P: Program<F>, E: TraitEnvironment<F>> Search<'_, F, P, E> {
    /// Looks for a solution of a goal; leaves bindings in the table. `negations` is the number of negations
    /// around the goal.
    fn solutions(&mut self, goal: Goal<F>, above: Path<F>, negations: u16) -> Found {
        let from = self.table.regions.outlives.len();
        let mut state =
            State { goals: None, open: None, negations: None, obligations: Vec::new(), is_undecided: false };
        push(&mut state.goals, &goal, &above);
        let mut choices: Vec<Choice<F>> = Vec::new();
        let mut undecided = false;
        loop {
            let step = if self.count() { self.step(&mut state, negations, from) } else { Step::Fail };
            match step {
                Step::Continue => continue,
                Step::Choose(choice) => choices.push(choice),
                Step::Done if state.is_undecided => undecided = true,
                Step::Done => {
                    self.close(choices);
                    return Found::Some;
                }
                Step::Fail => {}
            }
            match self.next(&mut choices) {
                Some(next) => state = next,
                None if undecided || self.steps > MAX_GOAL_STEPS => return Found::Undecided,
                None => return Found::None,
            }
        }
    }

    /// Counts a step; `false` after the last one.
    fn count(&mut self) -> bool {
        self.steps += 1;
        self.is_limited |= self.steps > MAX_GOAL_STEPS;
        self.steps <= MAX_GOAL_STEPS
    }

    /// Closes all snapshots.
    fn close(&mut self, choices: Vec<Choice<F>>) {
        for before in choices.into_iter().rev().filter_map(|choice| choice.before) {
            self.table.rollback_to(before);
        }
    }

    /// Returns the state after the next impl of the last choice that applies.
    fn next(&mut self, choices: &mut Vec<Choice<F>>) -> Option<State<F>> {
        while let Some(choice) = choices.last_mut() {
            if let Some(before) = choice.before.take() {
                self.table.rollback_to(before);
            }
            let Some(of) = choice.impls.next() else {
                choices.pop();
                continue;
            };
            let before = self.table.snapshot();
            let mut state = choice.state.clone();
            let applies = self.count() && self.apply(&of, choice.path.clone(), &mut state);
            choice.before = Some(before);
            if applies {
                return Some(state);
            }
        }
        None
    }

    /// Takes one goal of a state.
    fn step(&mut self, state: &mut State<F>, negations: u16, from: usize) -> Step<F> {
        let Some(pending) = state.goals.take() else {
            return match state.open.take() {
                Some(open) => self.choose_open(&open, state, negations),
                None => self.finish(state, negations, from),
            };
        };
        let Pending { goal, above, rest } = &*pending;
        state.goals.clone_from(rest);
        match goal.data() {
            GoalData::All(goals) => {
                for goal in goals.iter().rev() {
                    push(&mut state.goals, goal, above);
                }
                Step::Continue
            }
            GoalData::Not(_) => {
                push(&mut state.negations, goal, above);
                Step::Continue
            }
            GoalData::Equal(a, b) => {
                if self.equate(a, b, state) {
                    Step::Continue
                } else {
                    Step::Fail
                }
            }
            GoalData::Implemented(of) => {
                let resolved = self.table.resolve(of).and_then(|of| Ok((args_flags(&of.args)?, of)));
                let Ok((flags, of)) = resolved else {
                    self.exceed(state);
                    return Step::Continue;
                };
                if flags.intersects(VARIABLES) {
                    push(&mut state.open, goal, above);
                    return Step::Continue;
                }
                self.choose(of, flags, above, state, negations)
            }
        }
    }

    /// Takes one goal with variables; the others may lose their variables by it.
    fn choose_open(&mut self, open: &Pending<F>, state: &mut State<F>, negations: u16) -> Step<F> {
        let mut next = &open.rest;
        while let Some(pending) = next {
            push(&mut state.goals, &pending.goal, &pending.above);
            next = &pending.rest;
        }
        let GoalData::Implemented(of) = open.goal.data() else { return Step::Continue };
        match self.table.resolve(of) {
            Ok(of) => self.choose(of, VARIABLES, &open.above, state, negations),
            Err(_) => {
                self.exceed(state);
                Step::Continue
            }
        }
    }

    /// Adds an equation to the table; `false` if it has no solution.
    fn equate(&mut self, a: &Ty<F>, b: &Ty<F>, state: &mut State<F>) -> bool {
        match self.table.relate(self.program, Variance::Invariant, a, b) {
            Ok(obligations) => state.obligations.extend(obligations),
            Err(RelationError::Term(_)) => self.exceed(state),
            Err(_) => return false,
        }
        true
    }

    /// Records that a limit is exceeded, so a goal of the state is undecided.
    fn exceed(&mut self, state: &mut State<F>) {
        self.is_limited = true;
        state.is_undecided = true;
    }

    /// Finds the impls for a resolved goal.
    fn choose(
        &mut self,
        of: TraitRef<F>,
        flags: Flags,
        above: &Path<F>,
        state: &mut State<F>,
        negations: u16,
    ) -> Step<F> {
        let depth = above.as_ref().map_or(0, |above| above.depth);
        if depth >= MAX_GOAL_DEPTH {
            self.exceed(state);
            return Step::Continue;
        }
        if !flags.intersects(Flags::INFER) {
            let mut next = above;
            while let Some(above) = next {
                if above.goal == of && above.negations == negations {
                    return Step::Fail;
                }
                if above.goal == of {
                    state.is_undecided = true;
                    return Step::Continue;
                }
                next = &above.above;
            }
        }
        let impls = self.environment.impls(&self.table.cx, of.name);
        let fits = |one: &&Impl<F>| one.of.name == of.name && one.of.args.len() == of.args.len();
        let impls: Vec<Impl<F>> = impls.iter().filter(fits).cloned().collect();
        let path = Rc::new(Above { goal: of, depth: depth + 1, negations, above: above.clone() });
        Step::Choose(Choice { state: state.clone(), path, impls: impls.into_iter(), before: None })
    }

    /// Applies an impl to the goal at the end of a path; `false` if it is for other types.
    fn apply(&mut self, of: &Impl<F>, path: Rc<Above<F>>, state: &mut State<F>) -> bool {
        let instance = self.variables(of.arity).and_then(|with| {
            let cx = &self.table.cx;
            Ok((instantiate(cx, &of.of.args, &with)?, instantiate(cx, &of.conditions, &with)?))
        });
        let Ok((args, conditions)) = instance else {
            self.exceed(state);
            return true;
        };
        for (found, expected) in args.iter().zip(&path.goal.args) {
            let equal = match (found, expected) {
                (GenericArg::Ty(a), GenericArg::Ty(b)) => self.equate(a, b, state),
                (GenericArg::Const(a), GenericArg::Const(b)) => {
                    match self.table.eq_consts(self.program, a, b) {
                        Ok(obligations) => state.obligations.extend(obligations),
                        Err(RelationError::Term(_)) => self.exceed(state),
                        Err(_) => return false,
                    }
                    true
                }
                (GenericArg::Region(a), GenericArg::Region(b)) => {
                    self.table.outlives(*a, *b);
                    self.table.outlives(*b, *a);
                    true
                }
                (GenericArg::Ty(_) | GenericArg::Const(_) | GenericArg::Region(_), _) => false,
            };
            if !equal {
                return false;
            }
        }
        let path = Some(path);
        for condition in conditions.iter().rev() {
            push(&mut state.goals, condition, &path);
        }
        true
    }

    fn variables(&mut self, arity: Arity) -> Result<Instantiation<F>, TermError> {
        let Arity { regions, types, consts } = arity;
        Ok(Instantiation {
            regions: (0..regions).map(|_| self.table.new_region_var()).collect::<Result<_, _>>()?,
            types: (0..types).map(|_| self.table.new_ty_var()).collect::<Result<_, _>>()?,
            consts: (0..consts).map(|_| self.table.new_const_var()).collect::<Result<_, _>>()?,
        })
    }

    /// Decides the parts of a state that were postponed.
    fn finish(&mut self, state: &mut State<F>, negations: u16, from: usize) -> Step<F> {
        match self.table.retry(self.program, std::mem::take(&mut state.obligations)) {
            Ok(open) => state.is_undecided |= !open.is_empty(),
            Err(RelationError::Term(_)) => self.exceed(state),
            Err(_) => return Step::Fail,
        }
        let regions = RegionConstraints {
            outlives: self.table.regions.outlives.get(from..).unwrap_or_default().to_vec(),
            universes: self.table.regions.universes.clone(),
        };
        state.is_undecided |= regions.check(&RegionFacts::new()).is_err();
        let mut next = state.negations.take();
        while let Some(pending) = next {
            if let GoalData::Not(goal) = pending.goal.data() {
                match self.refute(goal, &pending.above, negations) {
                    Found::Some => {}
                    Found::None => return Step::Fail,
                    Found::Undecided => state.is_undecided = true,
                }
            }
            next = pending.rest.clone();
        }
        Step::Done
    }

    /// Decides the negation of a goal.
    fn refute(&mut self, goal: &Goal<F>, above: &Path<F>, negations: u16) -> Found {
        let resolved = self.table.resolve(goal).and_then(|goal| Ok((goal.flags()?, goal)));
        let (flags, goal) = match resolved {
            Ok(resolved) if negations < MAX_NEGATIONS => resolved,
            _ => {
                self.is_limited = true;
                return Found::Undecided;
            }
        };
        if flags.intersects(VARIABLES) {
            return Found::Undecided;
        }
        let before = self.table.snapshot();
        let found = match self.table.invert(&goal) {
            Ok(inverted) => self.solutions(inverted, above.clone(), negations + 1),
            Err(_) => {
                self.is_limited = true;
                Found::Undecided
            }
        };
        self.table.rollback_to(before);
        match found {
            Found::None => Found::Some,
            // The solution can depend on lifetimes that are not known.
            Found::Some if flags.intersects(Flags::REGION_INFER) => Found::Undecided,
            Found::Some => Found::None,
            Found::Undecided => Found::Undecided,
        }
    }
}
