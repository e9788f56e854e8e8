//! The relation of the inference table: equality and subtyping with variables.
//!
//! The relation is a worklist of pairs with their ambient variances. [`relate_structurally`] splits a pair
//! into its parts and pushes them in order; variables are bound, aliases evaluated, binders instantiated.
//! Universes are absolute, so finishing the pairs of a binder requires no action; the caller runs the leak
//! check once.
//!
//! After many steps, pairs of heavy nodes are cached, so that graphs that are exponentially large as trees
//! are related in time proportional to the graphs.

use super::vars::Probe;
use super::{InferenceTable, Obligation, Outlives, RelationError, RelationResult};
use crate::arg::GenericArg;
use crate::binder::Arity;
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::meta::{Flags, TermError};
use crate::normal::{fold_constant, normal_form};
use crate::program::{ConstEquation, Normalized, Program};
use crate::region::Region;
use crate::relate::{BinderKind, BoundArgs, Relation, relate_args, relate_normal_dyn, relate_structurally};
use crate::subst::{Instantiation, instantiate_args};
use crate::ty::{AliasTy, InferVar, Placeholder, PlaceholderId, Ty, TyData};
use crate::variance::Variance;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Maximum number of aliases that one relation evaluates; the remaining pairs become obligations.
pub const MAX_NORMALIZATIONS: usize = 10_000;

/// Number of steps after which a relation caches its pairs.
const UNCACHED_STEPS: usize = 64;

/// Minimum weight of both sides of a cached pair. A pair with a lighter side that has no variables is related
/// again, which takes at most as many steps as the weight of that side. Most nodes of a tree are light.
const MIN_CACHED_WEIGHT: u16 = 32;

/// Whether relating a type to any other type is cheap.
fn is_light<F: TypeFamily>(ty: &Ty<F>) -> bool {
    let meta = ty.meta();
    meta.weight < MIN_CACHED_WEIGHT && !meta.flags.intersects(Flags::INFER.union(Flags::ALIAS))
}

struct Pair<F: TypeFamily> {
    variance: Variance,
    a: Ty<F>,
    b: Ty<F>,
}

/// Related pairs of nodes by address and variance. The handles keep the addresses valid.
type Seen<F> = HashMap<(usize, usize, Variance), (Ty<F>, Ty<F>), FixedState>;

/// State of one relation.
pub(super) struct Relating<'t, F: TypeFamily, P> {
    pub(super) table: &'t mut InferenceTable<F>,
    pub(super) program: &'t P,
    pub(super) obligations: Vec<Obligation<F>>,
    worklist: SmallVec<[Pair<F>; 8]>,
    /// Length of the worklist when the current parts were started. If the length is unchanged, all earlier
    /// parts are done.
    first: usize,
    steps: usize,
    normalizations: usize,
    entered_binders: bool,
    seen: Seen<F>,
}

impl<'t, F: TypeFamily, P: Program<F>> Relating<'t, F, P> {
    fn new(table: &'t mut InferenceTable<F>, program: &'t P) -> Self {
        Self {
            table,
            program,
            obligations: Vec::new(),
            worklist: SmallVec::new(),
            first: 0,
            steps: 0,
            normalizations: 0,
            entered_binders: false,
            seen: HashMap::default(),
        }
    }
}

/// Result of relating two types.
pub(super) struct Related<F: TypeFamily> {
    pub(super) obligations: Vec<Obligation<F>>,
    /// Whether binders were entered, so that the leak check is required.
    pub(super) entered_binders: bool,
}

/// Relates two types, without the leak check.
pub(super) fn relate<F: TypeFamily, P: Program<F>>(
    table: &mut InferenceTable<F>,
    program: &P,
    variance: Variance,
    a: &Ty<F>,
    b: &Ty<F>,
) -> Result<Related<F>, RelationError<F>> {
    let mut relating = Relating::new(table, program);
    relating.step(variance, a, b)?;
    relating.run()?;
    let Relating { obligations, entered_binders, .. } = relating;
    Ok(Related { obligations, entered_binders })
}

/// Equates two constants.
pub(super) fn equate<F: TypeFamily, P: Program<F>>(
    table: &mut InferenceTable<F>,
    program: &P,
    a: &Const<F>,
    b: &Const<F>,
) -> RelationResult<F> {
    let mut relating = Relating::new(table, program);
    relating.consts(a, b)?;
    relating.run()?;
    Ok(relating.obligations)
}

impl<F: TypeFamily, P: Program<F>> Relating<'_, F, P> {
    fn run(&mut self) -> Result<(), RelationError<F>> {
        while let Some(Pair { variance, a, b }) = self.worklist.pop() {
            self.step(variance, &a, &b)?;
        }
        Ok(())
    }

    pub(super) fn push(&mut self, variance: Variance, a: Ty<F>, b: Ty<F>) {
        self.worklist.push(Pair { variance, a, b });
    }

    fn step(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> Result<(), RelationError<F>> {
        let (known_a, known_b) = (self.table.known(a), self.table.known(b));
        let (a, b) = (known_a.as_ref().unwrap_or(a), known_b.as_ref().unwrap_or(b));
        if a.same(b) {
            self.table.taint_by(a);
            return Ok(());
        }
        self.steps += 1;
        if self.steps > UNCACHED_STEPS && !is_light(a) && !is_light(b) && self.already_related(variance, a, b)
        {
            return Ok(());
        }
        match (a.data(), b.data()) {
            (TyData::Error(proof), _) => {
                self.table.taint(proof);
                self.absorb(b)
            }
            (_, TyData::Error(proof)) => {
                self.table.taint(proof);
                self.absorb(a)
            }
            (TyData::Alias(alias), _) => self.relate_alias(Side::A, alias, variance, a, b),
            (_, TyData::Alias(alias)) => self.relate_alias(Side::B, alias, variance, a, b),
            (TyData::InferenceVar(InferVar::Var(x)), TyData::InferenceVar(InferVar::Var(y))) => {
                self.relate_vars(variance, x, y, a, b);
                Ok(())
            }
            (TyData::InferenceVar(InferVar::Var(x)), _) => self.bind(x, variance, a, b),
            (_, TyData::InferenceVar(InferVar::Var(y))) => {
                self.bind(y, Variance::Contravariant.compose(variance), b, a)
            }
            (
                TyData::Apply(_)
                | TyData::Placeholder(_)
                | TyData::InferenceVar(InferVar::Canonical(_))
                | TyData::Dyn(_)
                | TyData::Fn(_)
                | TyData::GeneratorWitness(_)
                | TyData::BoundVariable(_),
                _,
            ) => self.relate_parts(variance, a, b),
        }
    }

    fn relate_parts(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> Result<(), RelationError<F>> {
        let first = self.worklist.len();
        self.first = first;
        relate_structurally(self, variance, a, b)?;
        // The worklist is a stack, so the first part must be on top.
        if let Some(parts) = self.worklist.get_mut(first..) {
            parts.reverse();
        }
        Ok(())
    }

    /// Relates an unbound variable and a type without parts at once, if all earlier parts are done. Most
    /// pairs of a large term are leaves, and pushing a pair increments two reference counts.
    #[inline]
    fn bind_leaf(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> Result<bool, RelationError<F>> {
        if self.worklist.len() != self.first || a.meta().depth.max(b.meta().depth) > 1 {
            return Ok(false);
        }
        let unbound = |var| matches!(self.table.tys.probe(var), Probe::Root(root) if root == var);
        if let (TyData::InferenceVar(InferVar::Var(x)), TyData::Apply(_)) = (a.data(), b.data())
            && unbound(x)
        {
            self.steps += 1;
            self.bind(x, variance, a, b)?;
            return Ok(true);
        }
        if let (TyData::Apply(_), TyData::InferenceVar(InferVar::Var(y))) = (a.data(), b.data())
            && unbound(y)
        {
            self.steps += 1;
            self.bind(y, Variance::Contravariant.compose(variance), b, a)?;
            return Ok(true);
        }
        Ok(false)
    }

    fn already_related(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> bool {
        // An alias may evaluate to itself, so a repeated pair of aliases is not evidence of equality.
        if [a, b].iter().any(|ty| matches!(ty.data(), TyData::Alias(_))) {
            return false;
        }
        let key = (a.address(), b.address(), variance);
        self.seen.insert(key, (a.clone(), b.clone())).is_some()
    }

    /// An error equals any type; an unbound variable on the other side becomes the error.
    fn absorb(&mut self, other: &Ty<F>) -> Result<(), RelationError<F>> {
        if let TyData::InferenceVar(InferVar::Var(var)) = other.data()
            && let Probe::Root(root) = self.table.tys.probe(var)
            && let Some(proof) = self.table.tainted
        {
            let error = Ty::error(&self.table.cx, proof);
            self.table.tys.bind(root, error);
        }
        Ok(())
    }

    fn relate_vars(&mut self, variance: Variance, x: u32, y: u32, a: &Ty<F>, b: &Ty<F>) {
        match variance {
            Variance::Bivariant => {}
            Variance::Invariant => {
                self.table.tys.union(x, y);
                self.table.related.union(x, y);
            }
            Variance::Covariant | Variance::Contravariant => {
                self.table.related.union(x, y);
                self.obligations.push(Obligation::Relate { variance, a: a.clone(), b: b.clone() });
            }
        }
    }

    fn relate_alias(
        &mut self,
        side: Side,
        alias: AliasTy<'_, F>,
        variance: Variance,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> Result<(), RelationError<F>> {
        self.normalizations += 1;
        let ambiguous = Obligation::Relate { variance, a: a.clone(), b: b.clone() };
        if self.normalizations > MAX_NORMALIZATIONS {
            self.obligations.push(ambiguous);
            return Ok(());
        }
        let this = match side {
            Side::A => a,
            Side::B => b,
        };
        let resolved = self.table.resolve(this)?;
        let alias = if let TyData::Alias(alias) = resolved.data() { alias } else { alias };
        match self.program.normalize(&self.table.cx, alias) {
            Normalized::To(ty) => {
                let (a, b) = match side {
                    Side::A => (ty, b.clone()),
                    Side::B => (a.clone(), ty),
                };
                self.push(variance, a, b);
                Ok(())
            }
            Normalized::Ambiguous => {
                self.obligations.push(ambiguous);
                Ok(())
            }
            Normalized::Rigid => match (side, a.data(), b.data()) {
                // The other side may still evaluate.
                (Side::A, _, TyData::Alias(other)) => self.relate_alias(Side::B, other, variance, a, b),
                (_, TyData::InferenceVar(InferVar::Var(var)), _) => self.bind(var, variance, a, b),
                (_, _, TyData::InferenceVar(InferVar::Var(var))) => {
                    self.bind(var, Variance::Contravariant.compose(variance), b, a)
                }
                (Side::A | Side::B, ..) => self.relate_parts(variance, a, b),
            },
        }
    }

    /// Creates a placeholder of a new universe for every variable of a binder.
    fn placeholders(&mut self, arity: Arity) -> Result<Instantiation<F>, TermError> {
        let universe = self.table.new_universe()?;
        self.entered_binders = true;
        let fresh = |index: u16| Placeholder { universe, id: PlaceholderId::Fresh(u32::from(index)) };
        let cx = &self.table.cx;
        Ok(Instantiation {
            regions: (0..arity.regions).map(|i| Region::Placeholder(fresh(i))).collect(),
            types: (0..arity.types)
                .map(|i| Ty::new(cx, TyData::Placeholder(fresh(i))))
                .collect::<Result<_, _>>()?,
            consts: (0..arity.consts)
                .map(|i| Const::new(cx, ConstData::Placeholder(fresh(i))))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Creates an inference variable for every variable of a binder.
    fn variables(&mut self, arity: Arity) -> Result<Instantiation<F>, TermError> {
        let mut with = Instantiation::default();
        for _ in 0..arity.regions {
            with.regions.push(self.table.new_region_var()?);
        }
        for _ in 0..arity.types {
            with.types.push(self.table.new_ty_var()?);
        }
        for _ in 0..arity.consts {
            with.consts.push(self.table.new_const_var()?);
        }
        Ok(with)
    }

    /// Relates `a` to `b` for all values of `b`'s variables, where `a`'s variables may depend on them.
    fn exists_for_all(
        &mut self,
        variance: Variance,
        kind: BinderKind,
        a: BoundArgs<'_, F>,
        b: BoundArgs<'_, F>,
    ) -> Result<(), RelationError<F>> {
        // The placeholders are created first, so that the variables can name them.
        let (mut given, mut chosen) = (Cow::Borrowed(b.value), Cow::Borrowed(a.value));
        if !is_closed(b.value) {
            let with = self.placeholders(b.arity)?;
            given = instantiate_args(&self.table.cx, b.value, &with)?.into();
        }
        if !is_closed(a.value) {
            let with = self.variables(a.arity)?;
            chosen = instantiate_args(&self.table.cx, a.value, &with)?.into();
        }
        relate_args(self, variance, kind, &chosen, &given)
    }
}

/// Whether a list under a binder mentions no bound variable.
fn is_closed<F: TypeFamily>(args: &[GenericArg<F>]) -> bool {
    args.iter().all(|arg| match arg {
        GenericArg::Ty(ty) => ty.meta().is_closed(),
        GenericArg::Region(region) => !matches!(region, Region::Bound(_)),
        GenericArg::Const(constant) => constant.meta().is_closed(),
    })
}

/// One of the two sides of a pair.
#[derive(Clone, Copy)]
enum Side {
    A,
    B,
}

impl<F: TypeFamily, P: Program<F>> Relation<F> for Relating<'_, F, P> {
    type Error = RelationError<F>;

    fn variance(&self, name: F::Name, index: usize) -> Variance {
        self.program.variance(&self.table.cx, name, index)
    }

    fn tys(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> Result<(), RelationError<F>> {
        if a.same(b) && !a.meta().flags.intersects(Flags::ERROR) {
            return Ok(());
        }
        if !self.bind_leaf(variance, a, b)? {
            self.push(variance, a.clone(), b.clone());
        }
        Ok(())
    }

    fn regions(&mut self, variance: Variance, a: Region<F>, b: Region<F>) -> Result<(), RelationError<F>> {
        for region in [a, b] {
            if let Region::Error(proof) = region {
                self.table.taint(proof);
                return Ok(());
            }
        }
        if a == b || a == Region::Erased || b == Region::Erased {
            return Ok(());
        }
        let outlives = &mut self.table.regions.outlives;
        let pairs: &[_] = match variance {
            Variance::Covariant => &[(a, b)],
            Variance::Contravariant => &[(b, a)],
            Variance::Invariant => &[(a, b), (b, a)],
            Variance::Bivariant => &[],
        };
        let required = pairs.iter().filter(|(longer, _)| *longer != Region::Static);
        outlives.extend(required.map(|&(longer, shorter)| Outlives { longer, shorter }));
        Ok(())
    }

    fn consts(&mut self, a: &Const<F>, b: &Const<F>) -> Result<(), RelationError<F>> {
        let a = self.table.shallow_const(a);
        let b = self.table.shallow_const(b);
        if a.same(&b) {
            return Ok(());
        }
        match (a.data(), b.data()) {
            (ConstData::Error(proof), _) | (_, ConstData::Error(proof)) => {
                self.table.taint(proof);
                for side in [&a, &b] {
                    if let ConstData::Infer(InferVar::Var(var)) = side.data()
                        && let Probe::Root(root) = self.table.consts.probe(var)
                    {
                        let error = Const::new(&self.table.cx, ConstData::Error(proof))?;
                        self.table.consts.bind(root, error);
                    }
                }
                Ok(())
            }
            (ConstData::Infer(InferVar::Var(x)), ConstData::Infer(InferVar::Var(y))) => {
                self.table.consts.union(x, y);
                Ok(())
            }
            (ConstData::Infer(InferVar::Var(x)), _) => self.bind_const(x, &a, &b),
            (_, ConstData::Infer(InferVar::Var(y))) => self.bind_const(y, &b, &a),
            (
                ConstData::Value(_)
                | ConstData::Placeholder(_)
                | ConstData::Infer(InferVar::Canonical(_))
                | ConstData::Bound(_)
                | ConstData::Expr(..)
                | ConstData::Alias(..),
                _,
            ) => self.equate_known(&a, &b),
        }
    }

    fn binders(
        &mut self,
        variance: Variance,
        kind: BinderKind,
        a: BoundArgs<'_, F>,
        b: BoundArgs<'_, F>,
    ) -> Result<(), RelationError<F>> {
        if is_closed(a.value) && is_closed(b.value) {
            return relate_args(self, variance, kind, a.value, b.value);
        }
        let flipped = Variance::Contravariant.compose(variance);
        // A function is a type for all lifetimes, so those of the supertype are placeholders. A witness is a
        // type for some lifetimes: those of the subtype are placeholders, and the supertype may choose its
        // lifetimes by them.
        let is_existential = kind == BinderKind::Witness;
        match variance {
            Variance::Covariant if is_existential => self.exists_for_all(flipped, kind, b, a),
            Variance::Contravariant if is_existential => self.exists_for_all(variance, kind, a, b),
            Variance::Covariant => self.exists_for_all(variance, kind, a, b),
            // `b` is the subtype.
            Variance::Contravariant => self.exists_for_all(flipped, kind, b, a),
            // Not mutual subtyping: both directions, each with equality inside.
            Variance::Invariant => {
                self.exists_for_all(variance, kind, a, b)?;
                self.exists_for_all(variance, kind, b, a)
            }
            Variance::Bivariant => Ok(()),
        }
    }

    fn repeated_bounds(&mut self, variance: Variance, a: &Ty<F>, b: &Ty<F>) -> Result<(), RelationError<F>> {
        let (a, b) = (self.table.resolve(a)?, self.table.resolve(b)?);
        let open = Flags::TY_INFER.union(Flags::CONST_INFER).union(Flags::ALIAS);
        if a.meta().flags.union(b.meta().flags).intersects(open) {
            self.obligations.push(Obligation::Relate { variance, a, b });
            return Ok(());
        }
        let cx = self.table.cx.clone();
        relate_normal_dyn(self, variance, &normal_form(&cx, &a)?, &normal_form(&cx, &b)?)
    }

    fn mismatch(&self, a: &Ty<F>, b: &Ty<F>) -> RelationError<F> {
        RelationError::Mismatch { a: a.clone(), b: b.clone() }
    }

    fn kind_mismatch(&self, a: &GenericArg<F>, b: &GenericArg<F>) -> RelationError<F> {
        RelationError::KindMismatch { a: a.clone(), b: b.clone() }
    }
}

impl<F: TypeFamily, P: Program<F>> Relating<'_, F, P> {
    /// Equates two constants that are not variables.
    fn equate_known(&mut self, a: &Const<F>, b: &Const<F>) -> Result<(), RelationError<F>> {
        let a = fold_constant(&self.table.cx, &self.table.resolve(a)?)?;
        let b = fold_constant(&self.table.cx, &self.table.resolve(b)?)?;
        if a == b {
            return Ok(());
        }
        let open = Flags::CONST_INFER.union(Flags::TY_INFER);
        if a.meta().flags.union(b.meta().flags).intersects(open) {
            self.obligations.push(Obligation::EquateConsts { a, b });
            return Ok(());
        }
        let values = matches!((a.data(), b.data()), (ConstData::Value(_), ConstData::Value(_)));
        let equation =
            if values { ConstEquation::Distinct } else { self.program.equate(&self.table.cx, &a, &b) };
        match equation {
            ConstEquation::Equal => Ok(()),
            ConstEquation::Distinct => Err(RelationError::ConstMismatch { a, b }),
            ConstEquation::Unknown => {
                self.obligations.push(Obligation::EquateConsts { a, b });
                Ok(())
            }
        }
    }
}
