//! Binding of variables: occurs check, universe check, generalization.
//!
//! A variable that must be *equal* to a term is bound to the term. A variable that must be a *subtype* or
//! *supertype* is bound to a copy, in which new variables replace every region and variable at positions that
//! may differ; the copy is then related to the term. Binders are copied unchanged: a variable with a
//! higher-ranked lower bound becomes that higher-ranked type, so joins depend on the order of their bounds.
//!
//! The occurs check treats variables related by subtyping as one variable: `?a <: ?b` and `?b == Vec<?a>`
//! have no finite solution.

use super::unify::Relating;
use super::vars::Probe;
use super::{InferenceTable, Obligation, RelationError};
use crate::arg::GenericArg;
use crate::binder::{Universe, VarKind};
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::fold::{Fold, FoldState, Folder, super_fold_const, super_fold_ty};
use crate::leaf::Leaf;
use crate::meta::{Flags, LARGE, Meta, TermError};
use crate::program::{Normalized, Program};
use crate::region::Region;
use crate::relate::{BinderKind, Relation};
use crate::ty::{AliasTy, ApplicationTy, DynBound, DynTy, FnTy, InferVar, Ty, TyData, WitnessTy};
use crate::variance::Variance;
use crate::visit::{Visit, VisitState, Visitor};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Maximum number of aliases that one copy evaluates; further aliases are copied. Bounds the recursion of an
/// alias that evaluates to itself.
const MAX_NESTED_NORMALIZATIONS: usize = 128;

/// Flags of terms with variables or inner universes.
const OPEN_FLAGS: Flags = Flags::INFER.union(Flags::INNER_UNIVERSE);

/// Variables and universes reachable from a term, following bindings.
#[derive(Default)]
struct Reached {
    /// Unbound type variables.
    tys: Vec<u32>,
    /// Unbound constant variables.
    consts: Vec<u32>,
    /// Greatest universe of a type or constant placeholder.
    placeholder: Universe,
    /// Greatest universe of a region.
    region: Universe,
}

/// Collects the variables and universes that are reachable from terms.
struct Reach<'t, F: TypeFamily> {
    table: &'t InferenceTable<F>,
    state: VisitState,
    reached: Reached,
    seen: HashSet<(VarKind, u32), FixedState>,
    /// Terms that are not visited yet: the start and values of variables.
    stack: Vec<GenericArg<F>>,
}

impl<F: TypeFamily> Visitor<F> for Reach<'_, F> {
    type Break = std::convert::Infallible;

    fn state(&mut self) -> &mut VisitState {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(OPEN_FLAGS)
    }

    fn visit_leaf(&mut self, kind: VarKind, leaf: Leaf<F::Name>) -> ControlFlow<Self::Break> {
        let Self { table, reached, seen, stack, .. } = self;
        match (kind, leaf) {
            (_, Leaf::Infer(InferVar::Canonical(_)) | Leaf::Bound(_) | Leaf::Error(_)) => {}
            (VarKind::Region, leaf) => {
                reached.region = reached.region.max(table.regions.universe(leaf.region()));
            }
            (_, Leaf::Placeholder(placeholder)) => {
                reached.placeholder = reached.placeholder.max(placeholder.universe);
            }
            (VarKind::Ty, Leaf::Infer(InferVar::Var(var))) => match table.tys.probe(var) {
                Probe::Root(root) if seen.insert((kind, root)) => reached.tys.push(root),
                Probe::Value(root, value) if seen.insert((kind, root)) => stack.push(value.clone().into()),
                Probe::Root(_) | Probe::Value(..) => {}
            },
            (VarKind::Const, Leaf::Infer(InferVar::Var(var))) => match table.consts.probe(var) {
                Probe::Root(root) if seen.insert((kind, root)) => reached.consts.push(root),
                Probe::Value(root, value) if seen.insert((kind, root)) => stack.push(value.clone().into()),
                Probe::Root(_) | Probe::Value(..) => {}
            },
        }
        ControlFlow::Continue(())
    }
}

impl<F: TypeFamily> InferenceTable<F> {
    /// Returns everything reachable from `start`. Not recursive, because chains of bindings have no length
    /// limit.
    fn reach(&self, start: GenericArg<F>) -> Reached {
        let (state, seen) = (VisitState::default(), HashSet::default());
        let mut reach = Reach { table: self, state, reached: Reached::default(), seen, stack: vec![start] };
        while let Some(term) = reach.stack.pop() {
            reach.state = VisitState::default();
            // The visitor never exits early.
            let ControlFlow::Continue(()) = term.visit_with(&mut reach);
        }
        reach.reached
    }

    fn lower(&mut self, reached: &Reached, to: Universe) {
        for root in &reached.tys {
            self.tys.lower(*root, to);
        }
        for root in &reached.consts {
            self.consts.lower(*root, to);
        }
    }
}

impl<F: TypeFamily, P: Program<F>> Relating<'_, F, P> {
    /// Binds the unbound variable `var`, whose type is `a`, so that `a` relates to `b` at `variance`.
    pub(super) fn bind(
        &mut self,
        var: u32,
        variance: Variance,
        a: &Ty<F>,
        b: &Ty<F>,
    ) -> Result<(), RelationError<F>> {
        if variance == Variance::Bivariant {
            return Ok(());
        }
        let Probe::Root(root) = self.table.tys.probe(var) else {
            self.push(variance, a.clone(), b.clone());
            return Ok(());
        };
        let meta = b.meta();
        let movable = OPEN_FLAGS.union(Flags::FREE_REGION);
        let fixed = match variance {
            Variance::Invariant => !meta.flags.intersects(OPEN_FLAGS),
            Variance::Covariant | Variance::Contravariant | Variance::Bivariant => {
                !meta.flags.intersects(movable)
            }
        };
        if fixed {
            self.table.taint_by(b);
            self.table.tys.bind(root, b.clone());
            return Ok(());
        }
        let universe = self.table.tys.universe(root);
        let reached = self.table.reach(GenericArg::Ty(b.clone()));
        if reached.tys.iter().any(|other| self.table.related.same(*other, root)) {
            return Err(RelationError::Occurs { var: a.clone().into(), term: b.clone().into() });
        }
        if reached.placeholder > universe {
            return Err(RelationError::Universe { var: a.clone().into(), term: b.clone().into() });
        }
        self.table.taint_by(b);
        let escapes = reached.region > universe;
        if variance == Variance::Invariant && !escapes {
            self.table.lower(&reached, universe);
            self.table.tys.bind(root, b.clone());
            return Ok(());
        }
        let mut generalize = Generalize {
            table: self.table,
            program: self.program,
            state: FoldState::uncached(),
            universe,
            ambient: variance,
            escapes,
            top: b.address(),
            well_formed: false,
            normalizations: 0,
            seen: HashMap::default(),
        };
        let general = b.try_fold_with(&mut generalize)?;
        if generalize.well_formed {
            self.obligations.push(Obligation::WellFormed(general.clone()));
        }
        self.table.tys.bind(root, general.clone());
        if general.same(b) {
            return Ok(());
        }
        self.push(variance, general, b.clone());
        Ok(())
    }

    /// Binds the unbound constant variable `var`, which is `a`, to `b`.
    pub(super) fn bind_const(
        &mut self,
        var: u32,
        a: &Const<F>,
        b: &Const<F>,
    ) -> Result<(), RelationError<F>> {
        let Probe::Root(root) = self.table.consts.probe(var) else {
            return self.consts(a, b);
        };
        if b.meta().flags.intersects(OPEN_FLAGS) {
            let universe = self.table.consts.universe(root);
            let reached = self.table.reach(GenericArg::Const(b.clone()));
            if reached.consts.contains(&root) {
                return Err(RelationError::Occurs { var: a.clone().into(), term: b.clone().into() });
            }
            if reached.placeholder.max(reached.region) > universe {
                return Err(RelationError::Universe { var: a.clone().into(), term: b.clone().into() });
            }
            self.table.lower(&reached, universe);
        }
        self.table.consts.bind(root, b.clone());
        Ok(())
    }
}

/// Copies a term for a variable of `universe`, with new variables at all positions that may differ.
struct Generalize<'t, F: TypeFamily, P> {
    table: &'t mut InferenceTable<F>,
    program: &'t P,
    state: FoldState<F>,
    universe: Universe,
    ambient: Variance,
    /// Whether the term contains a region that the variable cannot name.
    escapes: bool,
    /// The copied node. If it is an alias, it is rigid, because relations evaluate aliases first.
    top: usize,
    /// Whether the copy has a new variable that only well-formedness can determine.
    well_formed: bool,
    normalizations: usize,
    seen: HashMap<(usize, Variance), Ty<F>, FixedState>,
}

impl<F: TypeFamily, P: Program<F>> Generalize<'_, F, P> {
    fn args(
        &mut self,
        args: &[GenericArg<F>],
        variance: impl Fn(&P, &F, usize) -> Variance,
    ) -> Result<Vec<GenericArg<F>>, TermError> {
        let ambient = self.ambient;
        let mut list = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            self.ambient = ambient.compose(variance(self.program, &self.table.cx, i));
            let folded = arg.try_fold_with(self);
            self.ambient = ambient;
            list.push(folded?);
        }
        Ok(list)
    }

    fn args_under(
        &mut self,
        kind: BinderKind,
        args: &[GenericArg<F>],
    ) -> Result<Vec<GenericArg<F>>, TermError> {
        self.state.depth += 1;
        let folded = self.args(args, |_, _, i| kind.variance(i, args.len()));
        self.state.depth -= 1;
        folded
    }

    fn var(&mut self, ty: &Ty<F>, var: u32) -> Result<Ty<F>, TermError> {
        let root = match self.table.tys.probe(var) {
            Probe::Root(root) | Probe::Value(root, _) => root,
        };
        match self.ambient {
            Variance::Invariant if !self.escapes => {
                let reached = self.table.reach(GenericArg::Ty(ty.clone()));
                self.table.lower(&reached, self.universe);
                Ok(ty.clone())
            }
            Variance::Bivariant => {
                self.well_formed = true;
                self.table.new_ty_var_in(self.universe)
            }
            Variance::Invariant | Variance::Covariant | Variance::Contravariant => {
                let id = self.table.new_ty_id(self.universe)?;
                self.table.related.union(id, root);
                Ty::new(&self.table.cx, TyData::InferenceVar(InferVar::Var(id)))
            }
        }
    }

    fn apply(&mut self, data: ApplicationTy<'_, F>) -> Result<Ty<F>, TermError> {
        let ApplicationTy { name, args } = data;
        let is_invariant = self.ambient == Variance::Invariant;
        let args =
            self.args(
                args,
                |program, cx, i| {
                    if is_invariant { Variance::Invariant } else { program.variance(cx, name, i) }
                },
            )?;
        Ty::apply(&self.table.cx, name, &args)
    }

    /// Copies an alias. Its value may differ at non-invariant positions, so it is evaluated first, also under
    /// binders.
    fn alias(&mut self, ty: &Ty<F>, data: AliasTy<'_, F>) -> Result<Ty<F>, TermError> {
        let rigid = self.ambient == Variance::Invariant || ty.address() == self.top;
        if !rigid && self.normalizations < MAX_NESTED_NORMALIZATIONS {
            self.normalizations += 1;
            let resolved = self.table.resolve(ty)?;
            let alias = if let TyData::Alias(alias) = resolved.data() { alias } else { data };
            match self.program.normalize(&self.table.cx, alias) {
                Normalized::To(value) => return value.try_fold_with(self),
                // Relating the copy to the alias retries the evaluation.
                Normalized::Ambiguous if ty.meta().is_closed() => {
                    return self.table.new_ty_var_in(self.universe);
                }
                Normalized::Ambiguous | Normalized::Rigid => {}
            }
        }
        let AliasTy { name, args } = data;
        let args = self.args(args, |_, _, _| Variance::Invariant)?;
        Ty::alias(&self.table.cx, name, &args)
    }

    fn function(&mut self, data: FnTy<'_, F>) -> Result<Ty<F>, TermError> {
        let FnTy { name, arity, signature } = data;
        let args = self.args_under(BinderKind::Function, signature)?;
        Ty::function(&self.table.cx, name, arity, &args)
    }

    fn dynamic(&mut self, data: DynTy<'_, F>) -> Result<Ty<F>, TermError> {
        let DynTy { bounds, region } = data;
        let region = self.fold_region(region)?;
        let mut copies = Vec::with_capacity(bounds.len());
        for DynBound { arity, kind, name, args } in bounds {
            let args = self.args_under(BinderKind::Bound, args)?;
            let args = self.table.cx.intern_args(&args);
            copies.push(DynBound { arity: *arity, kind: *kind, name: *name, args });
        }
        Ty::new(&self.table.cx, TyData::Dyn(DynTy { bounds: &copies, region }))
    }

    fn rebuild(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        match ty.data() {
            TyData::Apply(data) => self.apply(data),
            TyData::Alias(data) => self.alias(ty, data),
            TyData::Fn(data) => self.function(data),
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                let types = self.args_under(BinderKind::Witness, types)?;
                Ty::new(&self.table.cx, TyData::GeneratorWitness(WitnessTy { name, arity, types: &types }))
            }
            TyData::Dyn(data) => self.dynamic(data),
            TyData::InferenceVar(InferVar::Var(var)) => self.var(ty, var),
            TyData::InferenceVar(InferVar::Canonical(_))
            | TyData::Placeholder(_)
            | TyData::BoundVariable(_)
            | TyData::Error(_) => super_fold_ty(ty, self),
        }
    }
}

impl<F: TypeFamily, P: Program<F>> Folder<F> for Generalize<'_, F, P> {
    type Error = TermError;

    fn cx(&self) -> &F {
        &self.table.cx
    }

    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(OPEN_FLAGS.union(Flags::FREE_REGION))
    }

    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        if ty.meta().weight < LARGE {
            return self.rebuild(ty);
        }
        // Occurrences of a large node at the same variance share one copy.
        let key = (ty.address(), self.ambient);
        if let Some(done) = self.seen.get(&key) {
            return Ok(done.clone());
        }
        let copy = self.rebuild(ty)?;
        self.seen.insert(key, copy.clone());
        Ok(copy)
    }

    fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, TermError> {
        if matches!(region, Region::Bound(_) | Region::Error(_)) {
            return Ok(region);
        }
        let stays = self.ambient == Variance::Invariant
            && self.universe.can_name(self.table.regions.universe(region));
        if stays { Ok(region) } else { self.table.new_region_var_in(self.universe) }
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        if let ConstData::Infer(InferVar::Var(_)) = constant.data() {
            let reached = self.table.reach(GenericArg::Const(constant.clone()));
            self.table.lower(&reached, self.universe);
            return Ok(constant.clone());
        }
        super_fold_const(constant, self)
    }
}
