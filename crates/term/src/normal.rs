//! The normal form of a type.
//!
//! Two closed types without aliases are equal exactly if their normal forms are the same term. Digests are
//! computed on the normal form. It differs from the type as written in four respects:
//!
//! - the variables of every binder are renumbered, per kind, by first use in the body, left to right;
//! - unused variables are removed;
//! - the bounds of an existential type are sorted, without duplicates;
//! - constant expressions over known values are evaluated.
//!
//! Bodies are normalized first, so one bottom-up pass suffices, and normalization is idempotent.

use crate::arg::GenericArg;
use crate::binder::{Arity, BoundVar, PerKind, VarKind};
use crate::constant::{Const, ConstData, ConstValue};
use crate::family::TypeFamily;
use crate::fold::{Fold, FoldState, Folder, fold_args, super_fold_const, super_fold_ty};
use crate::leaf::Leaf;
use crate::meta::{Flags, Meta, TermError};
use crate::relate::sort_bounds;
use crate::subst::{FreeVars, map_leaves};
use crate::ty::{DynBound, DynTy, FnTy, Ty, TyData, WitnessTy};
use crate::visit::{Visit, VisitState, Visitor};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::ControlFlow;

/// Returns the normal form, with bounds in the order of their names and arguments.
pub fn normal_form<F: TypeFamily, T: Fold<F>>(cx: &F, value: &T) -> Result<T, TermError> {
    normal_form_by(cx, value, &F::Name::cmp)
}

/// Returns the normal form, with bounds in the given order of names. An order that compares strings makes
/// the form independent of the order in which names were interned.
pub fn normal_form_by<F: TypeFamily, T: Fold<F>>(
    cx: &F,
    value: &T,
    order: &dyn Fn(&F::Name, &F::Name) -> Ordering,
) -> Result<T, TermError> {
    value.try_fold_with(&mut Normalize { cx, order, state: FoldState::default() })
}

/// Evaluates the known parts of a constant expression.
pub fn fold_constant<F: TypeFamily>(cx: &F, constant: &Const<F>) -> Result<Const<F>, TermError> {
    normal_form(cx, constant)
}

struct Normalize<'c, F: TypeFamily> {
    cx: &'c F,
    order: &'c dyn Fn(&F::Name, &F::Name) -> Ordering,
    state: FoldState<F>,
}

impl<F: TypeFamily> Normalize<'_, F> {
    /// Folds the body of a binder and renumbers its variables.
    fn under(
        &mut self,
        arity: Arity,
        args: &[GenericArg<F>],
    ) -> Result<(Arity, Vec<GenericArg<F>>), TermError> {
        self.state.depth += 1;
        let folded = fold_args(args, self);
        self.state.depth -= 1;
        renumber(self.cx, arity, folded?.map_or_else(|| args.to_vec(), |folded| folded.to_vec()))
    }

    fn fold_dyn(&mut self, data: DynTy<'_, F>) -> Result<Ty<F>, TermError> {
        let DynTy { bounds, region } = data;
        let mut normal = Vec::with_capacity(bounds.len());
        for DynBound { arity, kind, name, args } in bounds {
            let (arity, args) = self.under(*arity, args)?;
            let args = self.cx.intern_args(&args);
            normal.push(DynBound { arity, kind: *kind, name: *name, args });
        }
        sort_bounds(&mut normal, self.order);
        Ty::new(self.cx, TyData::Dyn(DynTy { bounds: &normal, region }))
    }
}

/// Renumbers the variables of a binder by first use and removes unused ones.
fn renumber<F: TypeFamily>(
    cx: &F,
    arity: Arity,
    body: Vec<GenericArg<F>>,
) -> Result<(Arity, Vec<GenericArg<F>>), TermError> {
    if arity.is_empty() {
        return Ok((arity, body));
    }
    let mut uses = Uses::default();
    // The visitor never exits early.
    let ControlFlow::Continue(()) = body.visit_with(&mut uses);
    let numbers = &uses.numbers;
    let renumbered = numbers.arity(Numbers::len).ok_or(TermError::TooMany)?;
    let stays = |numbers: &Numbers| numbers.iter().all(|(old, new)| old == new);
    if stays(&numbers.regions) && stays(&numbers.types) && stays(&numbers.consts) {
        return Ok((renumbered, body));
    }
    let map = |cx: &F, kind: VarKind, var: BoundVar, depth: u32| {
        if var.depth.0 != depth {
            return Ok(None);
        }
        let index = numbers.of(kind).get(&var.index).copied().unwrap_or(var.index);
        Leaf::Bound(BoundVar { depth: var.depth, index }).build(cx, kind).map(Some)
    };
    let body = map_leaves(cx, &body, &mut FreeVars { enabled: true, map })?;
    Ok((renumbered, body))
}

/// New numbers of variables by their old numbers.
type Numbers = HashMap<u32, u32, FixedState>;

/// Variables of one binder, numbered by first use.
#[derive(Default)]
struct Uses {
    state: VisitState,
    numbers: PerKind<Numbers>,
}

impl<F: TypeFamily> Visitor<F> for Uses {
    type Break = std::convert::Infallible;

    fn state(&mut self) -> &mut VisitState {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        u32::from(meta.outer) <= self.state.depth
    }

    fn visit_leaf(&mut self, kind: VarKind, leaf: Leaf<F::Name>) -> ControlFlow<Self::Break> {
        if let Leaf::Bound(var) = leaf
            && var.depth.0 == self.state.depth
        {
            let numbers = self.numbers.of_mut(kind);
            let next = u32::try_from(numbers.len()).expect("indices of variables have 32 bits");
            numbers.entry(var.index).or_insert(next);
        }
        ControlFlow::Continue(())
    }
}

impl<F: TypeFamily> Folder<F> for Normalize<'_, F> {
    type Error = TermError;

    fn cx(&self) -> &F {
        self.cx
    }

    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(Flags::BINDER.union(Flags::CONST_EXPR))
    }

    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        match ty.data() {
            TyData::Fn(FnTy { name, arity, signature }) => {
                let (arity, signature) = self.under(arity, signature)?;
                Ty::function(self.cx, name, arity, &signature)
            }
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                let (arity, types) = self.under(arity, types)?;
                Ty::new(self.cx, TyData::GeneratorWitness(WitnessTy { name, arity, types: &types }))
            }
            TyData::Dyn(data) => self.fold_dyn(data),
            TyData::Apply(_)
            | TyData::Placeholder(_)
            | TyData::InferenceVar(_)
            | TyData::Alias(_)
            | TyData::BoundVariable(_)
            | TyData::Error(_) => super_fold_ty(ty, self),
        }
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        let folded = super_fold_const(constant, self)?;
        let ConstData::Expr(op, args) = folded.data() else { return Ok(folded) };
        let values: Option<SmallVec<[ConstValue; 2]>> = args
            .iter()
            .map(|arg| match arg.as_const().map(Const::data) {
                Some(ConstData::Value(value)) => Some(value),
                _ => None,
            })
            .collect();
        match values.and_then(|values| op.evaluate(&values)) {
            Some(value) => Const::new(self.cx, ConstData::Value(value)),
            None => Ok(folded),
        }
    }
}
