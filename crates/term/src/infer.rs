//! Inference: a table of variables and the relations between types that bind them.
//!
//! # The question
//!
//! `f` takes `&'a T` for any `T`, and is called with `&'b Vec<u8>`. Is the call well typed, and which `T` and
//! which relation of `'a` and `'b` does it imply?
//!
//! Textbook unification finds `T = Vec<u8>` and would conclude `'a = 'b`. That rejects programs: a longer
//! borrow may be passed where a shorter one is expected, so the regions are *ordered*, and variance decides
//! in which direction. It also accepts programs that are wrong: a function for all lifetimes and a function
//! for one lifetime unify if the binder is opened with a variable on both sides.
//!
//! # The idea
//!
//! Three separate mechanisms, as in rustc and chalk:
//!
//! - Type variables are solved by unification (union-find). Where only subtyping is known between two
//!   variables, the pair is returned as an obligation instead of a guess.
//! - Regions are never unified. A relation adds constraints `'a: 'b`, and the caller checks them against what
//!   its environment implies.
//! - Binders use universes: opening one on the side that must hold *for all* creates a placeholder, which no
//!   older variable may name.
//!
//! ```
//! use typeloom_term::parse::{Scope, parse_ty};
//! use typeloom_term::program::NoProgram;
//! use typeloom_term::{Boxed, InferenceTable, Symbols};
//!
//! let cx = Boxed::new();
//! let mut symbols = Symbols::new();
//! let mut parse = |text| parse_ty(&cx, &mut symbols, &Scope::new(), text);
//! let (argument, parameter) = (parse("&'b u8")?, parse("&'a u8")?);
//! let mut table = InferenceTable::new(cx);
//! // Nothing is left open, and `'b: 'a` has to hold.
//! assert!(table.sub(&NoProgram, &argument, &parameter)?.is_empty());
//! assert_eq!(table.regions().outlives().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Operations
//!
//! | operation | effect |
//! |---|---|
//! | [`InferenceTable::eq`], [`InferenceTable::sub`] | binds variables, adds region constraints and returns obligations, or fails with a [`RelationError`] and changes nothing |
//! | [`InferenceTable::regions`] | returns the region constraints, which an environment may imply |
//! | [`InferenceTable::never`] | answers a negative goal: whether a relation holds for no substitution of placeholders |
//! | [`InferenceTable::prove`] | answers a goal about implemented traits in a closed world, also a negative one |
//! | [`InferenceTable::resolve`] | replaces every bound variable in a type |
//! | [`InferenceTable::canonicalize`] | returns the form of a term that does not depend on the numbers of variables |
//! | [`InferenceTable::snapshot`] | creates a point to roll back to |
//!
//! The relations are those of Rust. Names have variances. Subtyping of higher-ranked binders instantiates the
//! supertype with placeholders of a new universe and the subtype with variables. Equality of binders checks
//! both directions with equality of the bodies, which is *not* mutual subtyping. The leak check follows.
//!
//! **Invariant:** a relation that fails leaves the table unchanged.
//!
//! **Invariant:** the table makes no guesses. Relations that need more information are returned as
//! [`Obligation`]s.
//!
//! **Invariant:** chains of bindings are followed with explicit stacks; their length is not bounded by
//! [`MAX_DEPTH`](crate::meta::MAX_DEPTH).

mod canonical;
mod generalize;
mod negation;
mod prove;
mod regions;
mod resolve;
mod unify;
mod vars;

pub use canonical::{Canonical, CanonicalVar, Canonicalized};
pub use negation::Negation;
pub use prove::{Answer, MAX_GOAL_DEPTH, MAX_GOAL_STEPS, MAX_NEGATIONS};
pub use regions::{Outlives, RegionConstraints, RegionError, RegionFacts};
pub use unify::MAX_NORMALIZATIONS;

use crate::arg::GenericArg;
use crate::binder::Universe;
use crate::constant::Const;
use crate::family::TypeFamily;
use crate::meta::{Flags, TermError};
use crate::program::Program;
use crate::region::Region;
use crate::ty::{ErrorProof, InferVar, Ty, TyData};
use crate::variance::Variance;
use vars::{Probe, Variables, VariablesSnapshot};

/// Error of two terms that do not relate.
///
/// The error holds terms and no names: [`print::type_error`](crate::print::type_error) renders it with a
/// symbol table. Terms of the interned family borrow from their arena, so `?` cannot convert such an error to
/// `Box<dyn Error>`; its text can be converted.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RelationError<F: TypeFamily> {
    /// The types differ at the top.
    #[error("two types differ")]
    Mismatch {
        /// The left side.
        a: Ty<F>,
        /// The right side.
        b: Ty<F>,
    },
    /// The constants are not equal.
    #[error("two constants differ")]
    ConstMismatch {
        /// The left side.
        a: Const<F>,
        /// The right side.
        b: Const<F>,
    },
    /// A type in one term corresponds to a region or a constant in the other, or similar.
    #[error("two arguments are of different kinds")]
    KindMismatch {
        /// The left side.
        a: GenericArg<F>,
        /// The right side.
        b: GenericArg<F>,
    },
    /// The variable would have to contain itself.
    #[error("a type would have to contain itself")]
    Occurs {
        /// The variable.
        var: GenericArg<F>,
        /// The term that contains the variable.
        term: GenericArg<F>,
    },
    /// The variable cannot be equal to a term with placeholders of a binder that the variable is not under.
    #[error("a type with variables of a binder would have to be known outside of the binder")]
    Universe {
        /// The variable.
        var: GenericArg<F>,
        /// The term from under the binder.
        term: GenericArg<F>,
    },
    /// One type is less general than the other over the regions of a binder.
    #[error("one type is more general than the other: {0}")]
    Leak(RegionError<F>),
    /// A term could not be built.
    #[error(transparent)]
    Term(#[from] TermError),
}

/// An undecided part of a relation. [`InferenceTable::retry`] decides it when more is known.
/// [`print::obligation`](crate::print::obligation) renders it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obligation<F: TypeFamily> {
    /// Two types must relate; at least one is a variable, or an alias that cannot be evaluated yet.
    Relate {
        /// Direction of the relation.
        variance: Variance,
        /// The left side.
        a: Ty<F>,
        /// The right side.
        b: Ty<F>,
    },
    /// Two constants must be equal, but one contains an expression whose value is not known yet.
    EquateConsts {
        /// The left side.
        a: Const<F>,
        /// The right side.
        b: Const<F>,
    },
    /// A type must be well formed. It has an argument that subtyping does not constrain.
    WellFormed(Ty<F>),
}

/// Undecided parts of a relation, or its error.
pub type RelationResult<F> = Result<Vec<Obligation<F>>, RelationError<F>>;

/// Variables of types, regions and constants with their bindings and constraints.
#[derive(Clone, Debug)]
pub struct InferenceTable<F: TypeFamily> {
    cx: F,
    tys: Variables<Ty<F>>,
    /// Classes of variables related by subtyping, for the occurs check.
    related: Variables<()>,
    consts: Variables<Const<F>>,
    regions: RegionConstraints<F>,
    universe: Universe,
    tainted: Option<ErrorProof>,
    open: usize,
}

/// A point to roll back to: seven lengths. Snapshots nest; close the last one first.
#[derive(Debug)]
#[must_use = "a snapshot has to be committed or rolled back"]
pub struct Snapshot {
    tys: VariablesSnapshot,
    related: VariablesSnapshot,
    consts: VariablesSnapshot,
    outlives: usize,
    region_vars: usize,
    universe: Universe,
    tainted: Option<ErrorProof>,
}

impl<F: TypeFamily> InferenceTable<F> {
    /// Creates an empty table for terms of this family value.
    #[must_use]
    pub fn new(cx: F) -> Self {
        Self {
            cx,
            tys: Variables::default(),
            related: Variables::default(),
            consts: Variables::default(),
            regions: RegionConstraints::default(),
            universe: Universe::ROOT,
            tainted: None,
            open: 0,
        }
    }

    /// Returns the family.
    #[must_use]
    pub fn cx(&self) -> &F {
        &self.cx
    }

    /// Returns the latest universe.
    #[must_use]
    pub fn universe(&self) -> Universe {
        self.universe
    }

    /// Returns the proof of an error if a relation has met an error term.
    #[must_use]
    pub fn tainted(&self) -> Option<ErrorProof> {
        self.tainted
    }

    /// Returns the region constraints collected so far.
    #[must_use]
    pub fn regions(&self) -> &RegionConstraints<F> {
        &self.regions
    }

    /// Number of variables of types, regions and constants.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tys.len() + self.regions.universes.len() + self.consts.len()
    }

    /// Whether the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Creates a universe that no existing variable can name.
    pub fn new_universe(&mut self) -> Result<Universe, TermError> {
        self.universe = self.universe.next().ok_or(TermError::TooMany)?;
        Ok(self.universe)
    }

    fn new_ty_id(&mut self, universe: Universe) -> Result<u32, TermError> {
        let id = self.tys.push(universe).ok_or(TermError::TooMany)?;
        let same = self.related.push(universe);
        debug_assert_eq!(same, Some(id), "type variables and their classes are made together");
        Ok(id)
    }

    /// Creates a type variable of a universe.
    pub fn new_ty_var_in(&mut self, universe: Universe) -> Result<Ty<F>, TermError> {
        let id = self.new_ty_id(universe)?;
        Ty::new(&self.cx, TyData::InferenceVar(InferVar::Var(id)))
    }

    /// Creates a type variable that can name all existing placeholders.
    pub fn new_ty_var(&mut self) -> Result<Ty<F>, TermError> {
        self.new_ty_var_in(self.universe)
    }

    /// Creates a region variable of a universe.
    pub fn new_region_var_in(&mut self, universe: Universe) -> Result<Region<F>, TermError> {
        let id = u32::try_from(self.regions.universes.len()).map_err(|_| TermError::TooMany)?;
        self.regions.universes.push(universe);
        Ok(Region::Infer(InferVar::Var(id)))
    }

    /// Creates a region variable that can name all existing placeholders.
    pub fn new_region_var(&mut self) -> Result<Region<F>, TermError> {
        self.new_region_var_in(self.universe)
    }

    /// Creates a constant variable of a universe.
    pub fn new_const_var_in(&mut self, universe: Universe) -> Result<Const<F>, TermError> {
        let id = self.consts.push(universe).ok_or(TermError::TooMany)?;
        Const::new(&self.cx, crate::constant::ConstData::Infer(InferVar::Var(id)))
    }

    /// Creates a constant variable that can name all existing placeholders.
    pub fn new_const_var(&mut self) -> Result<Const<F>, TermError> {
        self.new_const_var_in(self.universe)
    }

    /// Requires `a == b`.
    pub fn eq<P: Program<F>>(&mut self, program: &P, a: &Ty<F>, b: &Ty<F>) -> RelationResult<F> {
        self.relate(program, Variance::Invariant, a, b)
    }

    /// Requires `a <: b`.
    pub fn sub<P: Program<F>>(&mut self, program: &P, a: &Ty<F>, b: &Ty<F>) -> RelationResult<F> {
        self.relate(program, Variance::Covariant, a, b)
    }

    /// Requires a relation: `Covariant` for `a <: b`, `Contravariant` for `b <: a`, `Invariant` for `a == b`.
    pub fn relate<P: Program<F>>(
        &mut self,
        program: &P,
        variance: Variance,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> RelationResult<F> {
        let from = self.regions.outlives.len();
        self.attempt(|this| {
            let related = unify::relate(this, program, variance, a, b)?;
            if related.entered_binders {
                this.regions.leak_check(from).map_err(RelationError::Leak)?;
            }
            Ok(related.obligations)
        })
    }

    /// Like [`relate`](Self::relate) without the leak check: all region constraints are left to
    /// [`RegionConstraints::check`]. A compiler that infers all types before it checks regions relates types
    /// in this manner, since a type that stays ambiguous never reaches the region check.
    pub fn relate_types<P: Program<F>>(
        &mut self,
        program: &P,
        variance: Variance,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> RelationResult<F> {
        self.attempt(|this| Ok(unify::relate(this, program, variance, a, b)?.obligations))
    }

    /// Commits the snapshot on success and rolls back on an error.
    fn attempt(&mut self, step: impl FnOnce(&mut Self) -> RelationResult<F>) -> RelationResult<F> {
        let snapshot = self.snapshot();
        let result = step(self);
        match &result {
            Ok(_) => self.commit(snapshot),
            Err(_) => self.rollback_to(snapshot),
        }
        result
    }

    /// Requires two constants to be equal.
    pub fn eq_consts<P: Program<F>>(&mut self, program: &P, a: &Const<F>, b: &Const<F>) -> RelationResult<F> {
        self.attempt(|this| unify::equate(this, program, a, b))
    }

    /// Requires `longer: shorter`.
    pub fn outlives(&mut self, longer: Region<F>, shorter: Region<F>) {
        self.regions.outlives.push(Outlives { longer, shorter });
    }

    /// Retries obligations until none makes progress; returns those that are still undecided. On an error,
    /// the table is unchanged.
    pub fn retry<P: Program<F>>(
        &mut self,
        program: &P,
        obligations: Vec<Obligation<F>>,
    ) -> RelationResult<F> {
        self.attempt(|this| this.retry_all(program, obligations))
    }

    fn retry_all<P: Program<F>>(
        &mut self,
        program: &P,
        mut obligations: Vec<Obligation<F>>,
    ) -> RelationResult<F> {
        loop {
            let mut open = Vec::new();
            let mut progress = false;
            for obligation in obligations {
                let left = match &obligation {
                    Obligation::Relate { variance, a, b } => self.relate(program, *variance, a, b)?,
                    Obligation::EquateConsts { a, b } => self.eq_consts(program, a, b)?,
                    Obligation::WellFormed(_) => vec![obligation.clone()],
                };
                progress |= left.as_slice() != [obligation];
                open.extend(left);
            }
            if !progress || open.is_empty() {
                return Ok(open);
            }
            obligations = open;
        }
    }

    /// Creates a point to roll back to. Stores a few lengths and copies nothing.
    pub fn snapshot(&mut self) -> Snapshot {
        self.open += 1;
        Snapshot {
            tys: self.tys.snapshot(),
            related: self.related.snapshot(),
            consts: self.consts.snapshot(),
            outlives: self.regions.outlives.len(),
            region_vars: self.regions.universes.len(),
            universe: self.universe,
            tainted: self.tainted,
        }
    }

    fn close(&mut self) {
        self.open = self.open.saturating_sub(1);
        if self.open == 0 {
            self.tys.stop_recording();
            self.related.stop_recording();
            self.consts.stop_recording();
        }
    }

    /// Keeps all changes since the snapshot.
    pub fn commit(&mut self, snapshot: Snapshot) {
        drop(snapshot);
        self.close();
    }

    /// Undoes all changes since the snapshot.
    pub fn rollback_to(&mut self, snapshot: Snapshot) {
        let Snapshot { tys, related, consts, outlives, region_vars, universe, tainted } = snapshot;
        self.tys.rollback(tys);
        self.related.rollback(related);
        self.consts.rollback(consts);
        self.regions.outlives.truncate(outlives);
        self.regions.universes.truncate(region_vars);
        self.universe = universe;
        self.tainted = tainted;
        self.close();
    }

    /// Runs `f` and undoes its changes.
    pub fn probe<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let snapshot = self.snapshot();
        let result = f(self);
        self.rollback_to(snapshot);
        result
    }

    /// Returns the value of a bound variable or the representative of an unbound one, and other types
    /// unchanged.
    #[must_use]
    pub fn shallow(&self, ty: &Ty<F>) -> Ty<F> {
        self.known(ty).unwrap_or_else(|| ty.clone())
    }

    /// [`shallow`](Self::shallow), or `None` if the type is unchanged.
    #[inline]
    fn known(&self, ty: &Ty<F>) -> Option<Ty<F>> {
        let TyData::InferenceVar(InferVar::Var(var)) = ty.data() else { return None };
        match self.tys.probe(var) {
            Probe::Value(_, value) => Some(value.clone()),
            Probe::Root(root) if root == var => None,
            Probe::Root(root) => {
                let root = TyData::InferenceVar(InferVar::Var(root));
                Some(Ty::new(&self.cx, root).expect("a variable is a term of depth one"))
            }
        }
    }

    /// Returns the value of a bound constant variable or the representative of an unbound one.
    #[must_use]
    pub fn shallow_const(&self, constant: &Const<F>) -> Const<F> {
        use crate::constant::ConstData;
        let ConstData::Infer(InferVar::Var(var)) = constant.data() else { return constant.clone() };
        match self.consts.probe(var) {
            Probe::Value(_, value) => value.clone(),
            Probe::Root(root) if root == var => constant.clone(),
            Probe::Root(root) => Const::new(&self.cx, ConstData::Infer(InferVar::Var(root)))
                .expect("a variable is a term of depth one"),
        }
    }

    fn taint(&mut self, proof: ErrorProof) {
        self.tainted.get_or_insert(proof);
    }

    /// Records an error inside a term.
    fn taint_by(&mut self, ty: &Ty<F>) {
        if self.tainted.is_none() && ty.meta().flags.intersects(Flags::ERROR) {
            self.tainted = crate::ty::find_error(ty);
        }
    }
}
