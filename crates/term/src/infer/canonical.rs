//! Canonical forms: terms up to the numbers of their variables and universes.
//!
//! A canonical form represents a question that can be cached: variables are numbered by first occurrence,
//! universes densely. Canonical variables are a separate kind of variable, so crossing a binder does not
//! change them.
//!
//! Laws: terms that differ only in the numbers of variables have equal canonical forms; canonicalizing an
//! instantiated canonical form returns it.

use super::InferenceTable;
use crate::arg::GenericArg;
use crate::binder::Universe;
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::fold::{Fold, FoldState, Folder, super_fold_const, super_fold_ty};
use crate::meta::{Flags, Meta, TermError};
use crate::region::Region;
use crate::ty::{InferVar, Placeholder, Ty, TyData};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;

/// Kinds of variables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VarKind {
    /// A type variable.
    Ty,
    /// A region variable.
    Region,
    /// A constant variable.
    Const,
}

/// A variable of a canonical form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CanonicalVar {
    /// Kind of the variable.
    pub kind: VarKind,
    /// Universe of the variable, numbered densely.
    pub universe: Universe,
}

/// A value whose variables are all canonical.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Canonical<T> {
    /// Variables by number.
    pub vars: Vec<CanonicalVar>,
    /// Number of universes in the form, including the root.
    pub universes: u32,
    /// The value.
    pub value: T,
}

/// A canonical form and its origin.
#[derive(Clone, Debug)]
pub struct Canonicalized<F: TypeFamily, T> {
    /// The canonical form.
    pub canonical: Canonical<T>,
    /// The variable of the table for each canonical variable.
    pub originals: Vec<GenericArg<F>>,
    /// The universe of the table for each canonical universe.
    pub universes: Vec<Universe>,
}

impl<F: TypeFamily> InferenceTable<F> {
    /// Resolves a value and returns its canonical form.
    pub fn canonicalize<T: Fold<F>>(&self, value: &T) -> Result<Canonicalized<F, T>, TermError> {
        let value = self.resolve(value)?;
        let mut fold = Canonicalize {
            table: self,
            state: FoldState::default(),
            vars: Vec::new(),
            originals: Vec::new(),
            numbers: HashMap::default(),
            seen: BTreeSet::from([Universe::ROOT]),
            order: None,
        };
        // The first pass numbers variables and collects universes; the second pass numbers the universes.
        value.try_fold_with(&mut fold)?;
        let universes: Vec<Universe> = fold.seen.iter().copied().collect();
        fold.order = Some(universes.clone());
        fold.state = FoldState::default();
        let value = value.try_fold_with(&mut fold)?;
        let vars = fold
            .vars
            .iter()
            .map(|var| CanonicalVar { kind: var.kind, universe: fold.dense(var.universe) })
            .collect();
        let count = u32::try_from(universes.len()).map_err(|_| TermError::TooMany)?;
        let canonical = Canonical { vars, universes: count, value };
        Ok(Canonicalized { canonical, originals: fold.originals, universes })
    }

    /// Replaces the variables of a canonical form with new variables, in new universes above the root.
    pub fn instantiate_canonical<T: Fold<F>>(
        &mut self,
        canonical: &Canonical<T>,
    ) -> Result<(T, Vec<GenericArg<F>>), TermError> {
        let mut universes = vec![Universe::ROOT];
        for _ in 1..canonical.universes {
            universes.push(self.new_universe()?);
        }
        let mut fresh = Vec::with_capacity(canonical.vars.len());
        for CanonicalVar { kind, universe } in &canonical.vars {
            let universe = universes.get(universe.0 as usize).copied().unwrap_or(self.universe);
            fresh.push(match kind {
                VarKind::Ty => GenericArg::Ty(self.new_ty_var_in(universe)?),
                VarKind::Region => GenericArg::Region(self.new_region_var_in(universe)?),
                VarKind::Const => GenericArg::Const(self.new_const_var_in(universe)?),
            });
        }
        let mut fold =
            Instantiate { cx: &self.cx, state: FoldState::default(), fresh: &fresh, universes: &universes };
        let value = canonical.value.try_fold_with(&mut fold)?;
        Ok((value, fresh))
    }
}

struct Canonicalize<'t, F: TypeFamily> {
    table: &'t InferenceTable<F>,
    state: FoldState<F>,
    vars: Vec<CanonicalVar>,
    originals: Vec<GenericArg<F>>,
    numbers: HashMap<(VarKind, u32), u32, FixedState>,
    seen: BTreeSet<Universe>,
    order: Option<Vec<Universe>>,
}

impl<F: TypeFamily> Canonicalize<'_, F> {
    fn dense(&self, universe: Universe) -> Universe {
        let index = self.order.as_ref().and_then(|order| order.binary_search(&universe).ok());
        index.and_then(|i| u32::try_from(i).ok()).map_or(universe, Universe)
    }

    fn number(
        &mut self,
        kind: VarKind,
        var: u32,
        universe: Universe,
        original: GenericArg<F>,
    ) -> Result<u32, TermError> {
        if let Some(number) = self.numbers.get(&(kind, var)) {
            return Ok(*number);
        }
        let number = u32::try_from(self.vars.len()).map_err(|_| TermError::TooMany)?;
        self.numbers.insert((kind, var), number);
        self.vars.push(CanonicalVar { kind, universe });
        self.originals.push(original);
        self.seen.insert(universe);
        Ok(number)
    }

    fn placeholder(&mut self, placeholder: Placeholder<F::Name>) -> Placeholder<F::Name> {
        self.seen.insert(placeholder.universe);
        Placeholder { universe: self.dense(placeholder.universe), id: placeholder.id }
    }
}

/// Flags of terms that canonical forms change.
const CHANGED: Flags = Flags::INFER.union(Flags::CANONICAL).union(Flags::INNER_UNIVERSE);

impl<F: TypeFamily> Folder<F> for Canonicalize<'_, F> {
    type Error = TermError;

    fn cx(&self) -> &F {
        &self.table.cx
    }

    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(CHANGED)
    }

    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        let data = match ty.data() {
            TyData::InferenceVar(InferVar::Var(var)) => {
                let universe = self.table.tys.universe(var);
                let number = self.number(VarKind::Ty, var, universe, ty.clone().into())?;
                TyData::InferenceVar(InferVar::Canonical(number))
            }
            TyData::Placeholder(placeholder) => TyData::Placeholder(self.placeholder(placeholder)),
            TyData::InferenceVar(InferVar::Canonical(_))
            | TyData::Apply(_)
            | TyData::Dyn(_)
            | TyData::Fn(_)
            | TyData::GeneratorWitness(_)
            | TyData::Alias(_)
            | TyData::BoundVariable(_)
            | TyData::Error(_) => return super_fold_ty(ty, self),
        };
        Ty::new(&self.table.cx, data)
    }

    fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, TermError> {
        Ok(match region {
            Region::Infer(InferVar::Var(var)) => {
                let universe = self.table.regions.universe(region);
                Region::Infer(InferVar::Canonical(self.number(
                    VarKind::Region,
                    var,
                    universe,
                    region.into(),
                )?))
            }
            Region::Placeholder(placeholder) => Region::Placeholder(self.placeholder(placeholder)),
            Region::Infer(InferVar::Canonical(_))
            | Region::Static
            | Region::Erased
            | Region::Bound(_)
            | Region::Error(_) => region,
        })
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        let data = match constant.data() {
            ConstData::Infer(InferVar::Var(var)) => {
                let universe = self.table.consts.universe(var);
                let number = self.number(VarKind::Const, var, universe, constant.clone().into())?;
                ConstData::Infer(InferVar::Canonical(number))
            }
            ConstData::Placeholder(placeholder) => ConstData::Placeholder(self.placeholder(placeholder)),
            ConstData::Infer(InferVar::Canonical(_))
            | ConstData::Value(_)
            | ConstData::Bound(_)
            | ConstData::Expr(..)
            | ConstData::Alias(..)
            | ConstData::Error(_) => return super_fold_const(constant, self),
        };
        Const::new(&self.table.cx, data)
    }
}

struct Instantiate<'t, F: TypeFamily> {
    cx: &'t F,
    state: FoldState<F>,
    fresh: &'t [GenericArg<F>],
    universes: &'t [Universe],
}

impl<F: TypeFamily> Instantiate<'_, F> {
    fn placeholder(&self, placeholder: Placeholder<F::Name>) -> Placeholder<F::Name> {
        let universe = self.universes.get(placeholder.universe.0 as usize);
        Placeholder { universe: universe.copied().unwrap_or(placeholder.universe), id: placeholder.id }
    }
}

impl<F: TypeFamily> Folder<F> for Instantiate<'_, F> {
    type Error = TermError;

    fn cx(&self) -> &F {
        self.cx
    }

    fn state(&mut self) -> &mut FoldState<F> {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(CHANGED)
    }

    fn fold_ty(&mut self, ty: &Ty<F>) -> Result<Ty<F>, TermError> {
        match ty.data() {
            TyData::InferenceVar(InferVar::Canonical(number)) => {
                let fresh = self.fresh.get(number as usize).and_then(GenericArg::as_ty);
                Ok(fresh.unwrap_or(ty).clone())
            }
            TyData::Placeholder(placeholder) => {
                Ty::new(self.cx, TyData::Placeholder(self.placeholder(placeholder)))
            }
            TyData::InferenceVar(InferVar::Var(_))
            | TyData::Apply(_)
            | TyData::Dyn(_)
            | TyData::Fn(_)
            | TyData::GeneratorWitness(_)
            | TyData::Alias(_)
            | TyData::BoundVariable(_)
            | TyData::Error(_) => super_fold_ty(ty, self),
        }
    }

    fn fold_region(&mut self, region: Region<F>) -> Result<Region<F>, TermError> {
        Ok(match region {
            Region::Infer(InferVar::Canonical(number)) => {
                self.fresh.get(number as usize).and_then(GenericArg::as_region).unwrap_or(region)
            }
            Region::Placeholder(placeholder) => Region::Placeholder(self.placeholder(placeholder)),
            Region::Infer(InferVar::Var(_))
            | Region::Static
            | Region::Erased
            | Region::Bound(_)
            | Region::Error(_) => region,
        })
    }

    fn fold_const(&mut self, constant: &Const<F>) -> Result<Const<F>, TermError> {
        match constant.data() {
            ConstData::Infer(InferVar::Canonical(number)) => {
                let fresh = self.fresh.get(number as usize).and_then(GenericArg::as_const);
                Ok(fresh.unwrap_or(constant).clone())
            }
            ConstData::Placeholder(placeholder) => {
                Const::new(self.cx, ConstData::Placeholder(self.placeholder(placeholder)))
            }
            ConstData::Infer(InferVar::Var(_))
            | ConstData::Value(_)
            | ConstData::Bound(_)
            | ConstData::Expr(..)
            | ConstData::Alias(..)
            | ConstData::Error(_) => super_fold_const(constant, self),
        }
    }
}
