//! Inference: a table of variables, and the relations between types that refine it.
//!
//! | question | answer |
//! |---|---|
//! | [`InferenceTable::eq`], [`InferenceTable::sub`] | variables bound, region constraints added, obligations handed back, or nothing at all and a [`TypeError`] |
//! | [`InferenceTable::regions`] | the collected region constraints; whether an environment implies them |
//! | [`InferenceTable::resolve`] | a type with every bound variable replaced |
//! | [`InferenceTable::canonicalize`] | the form of a term that does not depend on how variables are numbered |
//! | [`InferenceTable::snapshot`] | a point to go back to |
//!
//! The relations are Rust's: variance of names; higher-ranked binders by instantiating the greater side with
//! placeholders of a new universe and the lesser side with variables; equality of binders both ways invariantly, which
//! is *not* mutual subtyping; the leak check.
//!
//! **Invariant:** a relation that fails leaves the table as it was.
//!
//! **Invariant:** nothing is guessed. What needs more knowledge than the program has comes back as an [`Obligation`].
//!
//! **Invariant:** chains of bindings are followed with explicit stacks; their length is not bounded by
//! [`MAX_DEPTH`](crate::meta::MAX_DEPTH).

mod canonical;
mod generalize;
mod regions;
mod resolve;
mod unify;
mod vars;

pub use canonical::{Canonical, CanonicalVar, Canonicalized, VarKind};
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
use vars::{Mark, Probe, Variables};

/// Why two terms do not relate.
///
/// An error holds the terms, whose names are elsewhere: [`print::type_error`](crate::print::type_error) says which terms
/// they are. Those of the interned family live no longer than their arena, so such an error cannot become a
/// `Box<dyn Error>` by `?`; its text can.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TypeError<F: TypeFamily> {
    /// The types differ at the top.
    #[error("two types differ")]
    Mismatch {
        /// The first side.
        a: Ty<F>,
        /// The second side.
        b: Ty<F>,
    },
    /// The constants are not equal.
    #[error("two constants differ")]
    ConstMismatch {
        /// The first side.
        a: Const<F>,
        /// The second side.
        b: Const<F>,
    },
    /// A type stands where the other side has a region or a constant, or the like.
    #[error("two arguments are of different kinds")]
    KindMismatch {
        /// The first side.
        a: GenericArg<F>,
        /// The second side.
        b: GenericArg<F>,
    },
    /// The variable would have to contain itself.
    #[error("a type would have to contain itself")]
    Occurs {
        /// The variable, as a type.
        var: GenericArg<F>,
        /// What it was to be equal to.
        term: GenericArg<F>,
    },
    /// The variable cannot be equal to something that exists only under a binder.
    #[error("a type from under a binder would have to be known outside of it")]
    Universe {
        /// The variable, as a type.
        var: GenericArg<F>,
        /// What it was to be equal to.
        term: GenericArg<F>,
    },
    /// One type is less general than the other over the regions of a binder.
    #[error("one type is more general than the other: {0}")]
    Leak(RegionError<F>),
    /// A term could not be built.
    #[error(transparent)]
    Term(#[from] TermError),
}

/// What a relation could not decide, for people by [`print::obligation`](crate::print::obligation). Hand it to [`InferenceTable::retry`] when more is known, or to a trait solver.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obligation<F: TypeFamily> {
    /// Two types must relate; at least one is a variable, or an alias that cannot be evaluated yet.
    Relate {
        /// How.
        variance: Variance,
        /// The first side.
        a: Ty<F>,
        /// The second side.
        b: Ty<F>,
    },
    /// Two constants must be equal; an expression in them is not known yet.
    EquateConsts {
        /// The first side.
        a: Const<F>,
        /// The second side.
        b: Const<F>,
    },
    /// A type with an argument that does not matter for subtyping must be well formed.
    WellFormed(Ty<F>),
}

/// Variables of types, regions and constants, and what is known about them.
#[derive(Clone, Debug)]
pub struct InferenceTable<F: TypeFamily> {
    cx: F,
    tys: Variables<Ty<F>>,
    /// Classes of variables that are related by subtyping; the occurs check works on these.
    related: Variables<()>,
    consts: Variables<Const<F>>,
    regions: RegionConstraints<F>,
    universe: Universe,
    tainted: Option<ErrorProof>,
    open: usize,
}

/// A point to go back to: seven lengths. Snapshots nest; close the last one first.
#[derive(Debug)]
#[must_use = "a snapshot has to be committed or rolled back"]
pub struct Snapshot {
    tys: Mark,
    related: Mark,
    consts: Mark,
    outlives: usize,
    region_vars: usize,
    universe: Universe,
    tainted: Option<ErrorProof>,
}

impl<F: TypeFamily> InferenceTable<F> {
    /// An empty table for terms of this family value.
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

    /// The family.
    #[must_use]
    pub fn cx(&self) -> &F {
        &self.cx
    }

    /// The latest universe.
    #[must_use]
    pub fn universe(&self) -> Universe {
        self.universe
    }

    /// Proof of an error, if a relation ever met one.
    #[must_use]
    pub fn tainted(&self) -> Option<ErrorProof> {
        self.tainted
    }

    /// The region constraints so far.
    #[must_use]
    pub fn regions(&self) -> &RegionConstraints<F> {
        &self.regions
    }

    /// How many variables of types, regions and constants exist.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tys.len() + self.regions.universes.len() + self.consts.len()
    }

    /// Whether there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Opens a new universe, which everything that exists cannot name.
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

    /// A type variable of a universe.
    pub fn new_ty_var_in(&mut self, universe: Universe) -> Result<Ty<F>, TermError> {
        let id = self.new_ty_id(universe)?;
        Ty::new(&self.cx, TyData::InferenceVar(InferVar::Var(id)))
    }

    /// A type variable that can name everything that exists.
    pub fn new_ty_var(&mut self) -> Result<Ty<F>, TermError> {
        self.new_ty_var_in(self.universe)
    }

    /// A region variable of a universe.
    pub fn new_region_var_in(&mut self, universe: Universe) -> Result<Region<F>, TermError> {
        let id = u32::try_from(self.regions.universes.len()).map_err(|_| TermError::TooMany)?;
        self.regions.universes.push(universe);
        Ok(Region::Infer(InferVar::Var(id)))
    }

    /// A region variable that can name everything that exists.
    pub fn new_region_var(&mut self) -> Result<Region<F>, TermError> {
        self.new_region_var_in(self.universe)
    }

    /// A constant variable of a universe.
    pub fn new_const_var_in(&mut self, universe: Universe) -> Result<Const<F>, TermError> {
        let id = self.consts.push(universe).ok_or(TermError::TooMany)?;
        Const::new(&self.cx, crate::constant::ConstData::Infer(InferVar::Var(id)))
    }

    /// A constant variable that can name everything that exists.
    pub fn new_const_var(&mut self) -> Result<Const<F>, TermError> {
        self.new_const_var_in(self.universe)
    }

    /// Makes `a` and `b` equal.
    pub fn eq<P: Program<F>>(
        &mut self,
        program: &P,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> Result<Vec<Obligation<F>>, TypeError<F>> {
        self.relate(program, Variance::Invariant, a, b)
    }

    /// Makes `a` a subtype of `b`.
    pub fn sub<P: Program<F>>(
        &mut self,
        program: &P,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> Result<Vec<Obligation<F>>, TypeError<F>> {
        self.relate(program, Variance::Covariant, a, b)
    }

    /// Relates `a` and `b`: `Covariant` for `a <: b`, `Contravariant` for `b <: a`, `Invariant` for `a == b`.
    pub fn relate<P: Program<F>>(
        &mut self,
        program: &P,
        variance: Variance,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> Result<Vec<Obligation<F>>, TypeError<F>> {
        let snapshot = self.snapshot();
        let from = snapshot.outlives;
        let related = unify::relate(self, program, variance, a, b).and_then(|related| {
            if related.entered_binders {
                self.regions.leak_check(from).map_err(TypeError::Leak)?;
            }
            Ok(related.obligations)
        });
        self.settle(snapshot, related)
    }

    /// Relates `a` and `b` as [`relate`](Self::relate) does, but leaves all that concerns regions to
    /// [`RegionConstraints::check`], a bound region that would have to be another one too. That is how a compiler asks that
    /// infers types first and looks at regions when it knows them all: where a type stays ambiguous, it never comes to
    /// the regions.
    pub fn relate_types<P: Program<F>>(
        &mut self,
        program: &P,
        variance: Variance,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> Result<Vec<Obligation<F>>, TypeError<F>> {
        let snapshot = self.snapshot();
        let related = unify::relate(self, program, variance, a, b).map(|related| related.obligations);
        self.settle(snapshot, related)
    }

    /// Keeps what succeeded, and undoes what did not.
    fn settle<T>(&mut self, snapshot: Snapshot, result: Result<T, TypeError<F>>) -> Result<T, TypeError<F>> {
        match &result {
            Ok(_) => self.commit(snapshot),
            Err(_) => self.rollback_to(snapshot),
        }
        result
    }

    /// Makes two constants equal.
    pub fn eq_consts<P: Program<F>>(
        &mut self,
        program: &P,
        a: &Const<F>,
        b: &Const<F>,
    ) -> Result<Vec<Obligation<F>>, TypeError<F>> {
        let snapshot = self.snapshot();
        let equated = unify::equate(self, program, a, b);
        self.settle(snapshot, equated)
    }

    /// Requires `longer: shorter`.
    pub fn outlives(&mut self, longer: Region<F>, shorter: Region<F>) {
        self.regions.outlives.push(Outlives { longer, shorter });
    }

    /// Tries obligations again until none gets any further; gives back what is still undecided. If one fails, the
    /// table is left as it was.
    pub fn retry<P: Program<F>>(
        &mut self,
        program: &P,
        obligations: Vec<Obligation<F>>,
    ) -> Result<Vec<Obligation<F>>, TypeError<F>> {
        let snapshot = self.snapshot();
        let retried = self.retry_all(program, obligations);
        self.settle(snapshot, retried)
    }

    fn retry_all<P: Program<F>>(
        &mut self,
        program: &P,
        mut obligations: Vec<Obligation<F>>,
    ) -> Result<Vec<Obligation<F>>, TypeError<F>> {
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

    /// A point to go back to. Costs a few lengths, never a copy.
    pub fn snapshot(&mut self) -> Snapshot {
        self.open += 1;
        Snapshot {
            tys: self.tys.mark(),
            related: self.related.mark(),
            consts: self.consts.mark(),
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

    /// Keeps everything that happened since.
    pub fn commit(&mut self, snapshot: Snapshot) {
        drop(snapshot);
        self.close();
    }

    /// Undoes everything that happened since.
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

    /// Runs `f` and undoes whatever it did.
    pub fn probe<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let snapshot = self.snapshot();
        let result = f(self);
        self.rollback_to(snapshot);
        result
    }

    /// The value of a bound variable, or the representative of an unbound one; other types as they are.
    #[must_use]
    pub fn shallow(&self, ty: &Ty<F>) -> Ty<F> {
        self.known(ty).unwrap_or_else(|| ty.clone())
    }

    /// [`shallow`](Self::shallow), or nothing where that is the type itself.
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

    /// The value of a bound constant variable, or the representative of an unbound one.
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

    /// Notes an error inside a term that is taken as it is.
    fn taint_by(&mut self, ty: &Ty<F>) {
        if self.tainted.is_none() && ty.meta().flags.intersects(Flags::ERROR) {
            self.tainted = crate::ty::find_error(ty);
        }
    }
}
