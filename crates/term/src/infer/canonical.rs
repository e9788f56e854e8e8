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
use crate::binder::{Universe, VarKind};
use crate::family::TypeFamily;
use crate::fold::Fold;
use crate::leaf::Leaf;
use crate::meta::{Flags, Meta, TermError};
use crate::region::Region;
use crate::subst::{LeafMap, map_leaves};
use crate::ty::{InferVar, Placeholder};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::collections::BTreeSet;

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
        let mut map = Canonicalize {
            table: self,
            vars: Vec::new(),
            originals: Vec::new(),
            numbers: HashMap::default(),
            seen: BTreeSet::from([Universe::ROOT]),
            order: None,
        };
        // The first pass numbers variables and collects universes; the second pass numbers the universes.
        map_leaves(&self.cx, &value, &mut map)?;
        let universes: Vec<Universe> = map.seen.iter().copied().collect();
        map.order = Some(universes.clone());
        let value = map_leaves(&self.cx, &value, &mut map)?;
        let vars = map
            .vars
            .iter()
            .map(|var| CanonicalVar { kind: var.kind, universe: map.dense(var.universe) })
            .collect();
        let count = u32::try_from(universes.len()).map_err(|_| TermError::TooMany)?;
        let canonical = Canonical { vars, universes: count, value };
        Ok(Canonicalized { canonical, originals: map.originals, universes })
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
        let mut map = Instantiate { fresh: &fresh, universes: &universes };
        let value = map_leaves(&self.cx, &canonical.value, &mut map)?;
        Ok((value, fresh))
    }
}

struct Canonicalize<'t, F: TypeFamily> {
    table: &'t InferenceTable<F>,
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

impl<F: TypeFamily> LeafMap<F> for Canonicalize<'_, F> {
    fn skip(&self, meta: Meta, _depth: u32) -> bool {
        !meta.flags.intersects(CHANGED)
    }

    fn map(
        &mut self,
        cx: &F,
        kind: VarKind,
        leaf: Leaf<F::Name>,
        _depth: u32,
    ) -> Result<Option<GenericArg<F>>, TermError> {
        let canonical = match leaf {
            Leaf::Infer(InferVar::Var(var)) => {
                let universe = match kind {
                    VarKind::Ty => self.table.tys.universe(var),
                    VarKind::Region => self.table.regions.universe(Region::Infer(InferVar::Var(var))),
                    VarKind::Const => self.table.consts.universe(var),
                };
                let number = self.number(kind, var, universe, leaf.build(cx, kind)?)?;
                Leaf::Infer(InferVar::Canonical(number))
            }
            Leaf::Placeholder(placeholder) => Leaf::Placeholder(self.placeholder(placeholder)),
            Leaf::Infer(InferVar::Canonical(_)) | Leaf::Bound(_) | Leaf::Error(_) => return Ok(None),
        };
        canonical.build(cx, kind).map(Some)
    }
}

struct Instantiate<'t, F: TypeFamily> {
    fresh: &'t [GenericArg<F>],
    universes: &'t [Universe],
}

impl<F: TypeFamily> LeafMap<F> for Instantiate<'_, F> {
    fn skip(&self, meta: Meta, _depth: u32) -> bool {
        !meta.flags.intersects(CHANGED)
    }

    fn map(
        &mut self,
        cx: &F,
        kind: VarKind,
        leaf: Leaf<F::Name>,
        _depth: u32,
    ) -> Result<Option<GenericArg<F>>, TermError> {
        match leaf {
            Leaf::Infer(InferVar::Canonical(number)) => Ok(self.fresh.get(number as usize).cloned()),
            Leaf::Placeholder(Placeholder { universe, id }) => {
                let universe = self.universes.get(universe.0 as usize).copied().unwrap_or(universe);
                Leaf::Placeholder(Placeholder { universe, id }).build(cx, kind).map(Some)
            }
            Leaf::Infer(InferVar::Var(_)) | Leaf::Bound(_) | Leaf::Error(_) => Ok(None),
        }
    }
}
