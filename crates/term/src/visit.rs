//! Visiting: inspecting every part of a term, with early exit.
//!
//! The calls are those of [`crate::fold`]. A large node that was visited completely is not visited again at
//! the same binder depth, so visitors must not depend on the number of occurrences of a shared node.

use crate::arg::GenericArg;
use crate::binder::VarKind;
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::leaf::Leaf;
use crate::meta::{LARGE, Meta};
use crate::region::Region;
use crate::ty::{AliasTy, ApplicationTy, DynBound, DynTy, FnTy, Ty, TyData, WitnessTy};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::ops::ControlFlow;

/// Minimum weight of nodes that are visited once only.
const MIN_CACHED_WEIGHT: u16 = 16;

/// State of a visit: current depth and visited nodes.
#[derive(Debug, Default)]
pub struct VisitState {
    /// Number of binders entered.
    pub depth: u32,
    seen: HashSet<(usize, u32), FixedState>,
}

/// Inspects terms.
pub trait Visitor<F: TypeFamily>: Sized {
    /// Value of an early exit.
    type Break;

    /// Returns the state of this visit. Terms visited with one state must live as long as the state.
    fn state(&mut self) -> &mut VisitState;

    /// Whether terms with this metadata are not visited.
    fn skip(&self, meta: Meta) -> bool;

    /// Visits a type that is not skipped.
    fn visit_ty(&mut self, ty: &Ty<F>) -> ControlFlow<Self::Break> {
        super_visit_ty(ty, self)
    }

    /// Visits a region. Regions are never skipped.
    fn visit_region(&mut self, region: Region<F>) -> ControlFlow<Self::Break> {
        region.leaf().map_or(ControlFlow::Continue(()), |leaf| self.visit_leaf(VarKind::Region, leaf))
    }

    /// Visits a variable, placeholder or error, which is a type, region or constant as `kind` states.
    fn visit_leaf(&mut self, kind: VarKind, leaf: Leaf<F::Name>) -> ControlFlow<Self::Break> {
        let _ = (kind, leaf);
        ControlFlow::Continue(())
    }

    /// Visits a constant that is not skipped.
    fn visit_const(&mut self, constant: &Const<F>) -> ControlFlow<Self::Break> {
        super_visit_const(constant, self)
    }
}

/// Values that contain terms.
pub trait Visit<F: TypeFamily> {
    /// Visits every part.
    fn visit_with<V: Visitor<F>>(&self, visitor: &mut V) -> ControlFlow<V::Break>;
}

impl<F: TypeFamily> Visit<F> for Ty<F> {
    fn visit_with<V: Visitor<F>>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let meta = self.meta();
        if visitor.skip(meta) {
            return ControlFlow::Continue(());
        }
        let from = if F::IDENTITY { MIN_CACHED_WEIGHT } else { LARGE };
        if meta.weight < from {
            return visitor.visit_ty(self);
        }
        let state = visitor.state();
        let key = (self.address(), state.depth);
        if state.seen.contains(&key) {
            return ControlFlow::Continue(());
        }
        visitor.visit_ty(self)?;
        visitor.state().seen.insert(key);
        ControlFlow::Continue(())
    }
}

impl<F: TypeFamily> Visit<F> for Const<F> {
    fn visit_with<V: Visitor<F>>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let meta = self.meta();
        if visitor.skip(meta) {
            return ControlFlow::Continue(());
        }
        if meta.weight < LARGE {
            return visitor.visit_const(self);
        }
        let state = visitor.state();
        let key = (self.address(), state.depth);
        if state.seen.contains(&key) {
            return ControlFlow::Continue(());
        }
        visitor.visit_const(self)?;
        visitor.state().seen.insert(key);
        ControlFlow::Continue(())
    }
}

impl<F: TypeFamily> Visit<F> for Region<F> {
    fn visit_with<V: Visitor<F>>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        visitor.visit_region(*self)
    }
}

impl<F: TypeFamily> Visit<F> for GenericArg<F> {
    fn visit_with<V: Visitor<F>>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        match self {
            Self::Ty(ty) => ty.visit_with(visitor),
            Self::Region(region) => visitor.visit_region(*region),
            Self::Const(constant) => constant.visit_with(visitor),
        }
    }
}

impl<F: TypeFamily, T: Visit<F>> Visit<F> for [T] {
    fn visit_with<V: Visitor<F>>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        self.iter().try_for_each(|item| item.visit_with(visitor))
    }
}

impl<F: TypeFamily, T: Visit<F>> Visit<F> for Vec<T> {
    fn visit_with<V: Visitor<F>>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        self.as_slice().visit_with(visitor)
    }
}

fn visit_under<F: TypeFamily, V: Visitor<F>>(
    args: &[GenericArg<F>],
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    visitor.state().depth += 1;
    args.visit_with(visitor)?;
    visitor.state().depth -= 1;
    ControlFlow::Continue(())
}

/// Visits the children of a type.
pub fn super_visit_ty<F: TypeFamily, V: Visitor<F>>(ty: &Ty<F>, visitor: &mut V) -> ControlFlow<V::Break> {
    match ty.data() {
        TyData::Apply(ApplicationTy { name: _, args }) | TyData::Alias(AliasTy { name: _, args }) => {
            args.visit_with(visitor)
        }
        TyData::Fn(FnTy { name: _, arity: _, signature: args })
        | TyData::GeneratorWitness(WitnessTy { name: _, arity: _, types: args }) => {
            visit_under(args, visitor)
        }
        TyData::Dyn(DynTy { bounds, region }) => {
            visitor.visit_region(region)?;
            for DynBound { arity: _, kind: _, name: _, args } in bounds {
                visit_under(args, visitor)?;
            }
            ControlFlow::Continue(())
        }
        leaf @ (TyData::Placeholder(_)
        | TyData::InferenceVar(_)
        | TyData::BoundVariable(_)
        | TyData::Error(_)) => {
            leaf.leaf().map_or(ControlFlow::Continue(()), |leaf| visitor.visit_leaf(VarKind::Ty, leaf))
        }
    }
}

/// Visits the children of a constant.
pub fn super_visit_const<F: TypeFamily, V: Visitor<F>>(
    constant: &Const<F>,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    match constant.data() {
        ConstData::Expr(_, args) | ConstData::Alias(_, args) => args.visit_with(visitor),
        leaf => {
            leaf.leaf().map_or(ControlFlow::Continue(()), |leaf| visitor.visit_leaf(VarKind::Const, leaf))
        }
    }
}
