//! Canonical forms: terms up to the numbering of their variables and universes.
//!
//! A canonical form stands for a question that can be asked again: variables are numbered by first occurrence,
//! universes densely. Canonical variables are a kind of variable of their own, so crossing a binder does not move them.
//!
//! Law: two terms that differ in the numbering of variables only have equal canonical forms; instantiating a canonical
//! form and making it canonical again gives it back.

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

/// The kinds of variables.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum VarKind {
    /// Stands for a type.
    Ty,
    /// Stands for a region.
    Region,
    /// Stands for a constant.
    Const,
}

/// A variable of a canonical form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CanonicalVar {
    /// What it stands for.
    pub kind: VarKind,
    /// Its universe, among those of the form.
    pub universe: Universe,
}

/// A value whose variables are all canonical.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Canonical<T> {
    /// The variables, by number.
    pub vars: Vec<CanonicalVar>,
    /// How many universes the form mentions, the root included.
    pub universes: u32,
    /// The value.
    pub value: T,
}

/// A canonical form, and what it was made of.
#[derive(Clone, Debug)]
pub struct Canonicalized<F: TypeFamily, T> {
    /// The form.
    pub canonical: Canonical<T>,
    /// The table's variable behind each canonical one.
    pub originals: Vec<GenericArg<F>>,
    /// The table's universe behind each canonical one.
    pub universes: Vec<Universe>,
}

impl<F: TypeFamily> InferenceTable<F> {
    /// The canonical form of a value, resolved first.
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
        // The first pass numbers variables and finds the universes, the second one numbers the universes.
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

    /// Puts fresh variables, in fresh universes above the root, for the variables of a canonical form.
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

/// What a canonical form changes in a term.
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
