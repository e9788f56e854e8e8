//! Anonymous variables: binding, resolution, substitution.
//!
//! A bound variable equals its value everywhere (union-find without ranks; resolution compresses paths).
//! Nodes are immutable: [`Dims::resolve`] rebuilds the nodes that contain a bound variable and caches the
//! result until the next binding. Traversals use an explicit stack, because a chain of bindings may be as
//! long as the number of variables.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use crate::arena::{Dims, Kind, Operation, Range};
use crate::id::DimId;
use crate::poly::{Terms, merge};
use crate::shape::DimVec;

/// The result of binding a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bind {
    /// The variable now has the value.
    Bound,
    /// The dims were equal before.
    Same,
    /// The variable occurs in the different value; it was not bound.
    Occurs,
    /// Neither dim resolves to an unbound variable; nothing was bound.
    Rigid,
    /// The variable is an extent and the value is always negative; it was not bound.
    Negative,
}

/// The nodes of a dim in an order in which parts precede their users; the stack of a traversal.
pub(crate) struct PostOrder(pub(super) Vec<DimId>);

impl PostOrder {
    /// The next node whose parts are all done, and its parts. The caller processes it before the next call.
    pub(crate) fn next(
        &mut self,
        dims: &Dims,
        is_done: impl Fn(DimId) -> bool,
    ) -> Option<(DimId, SmallVec<[DimId; 8]>)> {
        loop {
            let top = *self.0.last()?;
            if is_done(top) {
                self.0.pop();
                continue;
            }
            let parts = dims.parts(top);
            let pending = self.0.len();
            self.0.extend(parts.iter().copied().filter(|part| !is_done(*part)));
            if self.0.len() == pending {
                return Some((top, parts));
            }
        }
    }
}

impl Dims {
    /// Binds an anonymous variable to `value`. Named symbols are never bound.
    ///
    /// If `variable` is bound already and `value` is a variable, that one is bound instead. Of two variables
    /// the younger one is bound, so that the oldest represents its class.
    pub fn bind(&mut self, variable: DimId, value: DimId) -> Bind {
        let (variable, value) = (self.resolve(variable), self.resolve(value));
        if variable == value {
            return Bind::Same;
        }
        let (variable, value) = match (self.range_of(variable), self.range_of(value)) {
            (None, None) => return Bind::Rigid,
            (Some(_), None) => (variable, value),
            (None, Some(_)) => (value, variable),
            (Some(Range::Extent), Some(Range::Integer)) => (value, variable),
            (Some(Range::Integer), Some(Range::Extent)) => (variable, value),
            (Some(_), Some(_)) => (variable.max(value), variable.min(value)),
        };
        let summary = self.summary(value);
        if summary.variable && self.variables_of(value).contains(&variable) {
            return Bind::Occurs;
        }
        if self.range_of(variable) == Some(Range::Extent) && summary.bounds.high < 0 {
            return Bind::Negative;
        }
        self.set_binding(variable, value);
        Bind::Bound
    }

    /// The dim with all bound variables replaced, in normal form.
    ///
    /// A constant, symbol or other dim without variables is returned at once.
    pub fn resolve(&mut self, dim: DimId) -> DimId {
        if let Some(resolved) = self.memo(dim) {
            return resolved;
        }
        let mut order = PostOrder(vec![dim]);
        while let Some((top, parts)) = order.next(self, |node| self.memo(node).is_some()) {
            let known: SmallVec<[DimId; 8]> =
                parts.iter().map(|&part| self.memo(part).unwrap_or(part)).collect();
            let resolved = match (self.binding(top), &known[..]) {
                (Some(_), &[value]) => {
                    self.compress(top, value);
                    value
                }
                _ if known == parts => top,
                _ => {
                    let rebuilt = self.rebuild(top, &known);
                    rebuilt.unwrap_or_else(|| self.unknown(Operation::Rebuild, top, DimId::ZERO))
                }
            };
            self.set_memo(top, resolved);
        }
        self.memo(dim).unwrap_or(dim)
    }

    /// Dims, each as [`Dims::resolve`] returns it.
    pub fn resolve_all(&mut self, dims: &[DimId]) -> DimVec {
        let mut resolved = DimVec::from_slice(dims);
        // Without bindings, every dim is resolved.
        if self.binding_count() > 0 {
            resolved.iter_mut().for_each(|dim| *dim = self.resolve(*dim));
        }
        resolved
    }

    /// Substitutes `values` for symbols or anonymous variables, simultaneously.
    ///
    /// The result is a fresh unknown if it is beyond the limits or divides by zero.
    pub fn substitute(&mut self, dim: DimId, values: &[(DimId, DimId)]) -> DimId {
        let dim = self.resolve(dim);
        let mut known: HashMap<DimId, DimId> = HashMap::with_capacity(values.len());
        for &(leaf, value) in values {
            let (leaf, value) = (self.resolve(leaf), self.resolve(value));
            if matches!(self.kind(leaf), Some(Kind::Symbol(_) | Kind::Variable(_))) {
                known.entry(leaf).or_insert(value);
            }
        }
        if known.is_empty() {
            return dim;
        }
        self.replace_nodes(dim, known)
    }

    /// Resolves a dim and replaces the keys of `known`, which may be any nodes, by their values.
    pub(crate) fn replace_nodes(&mut self, dim: DimId, mut known: HashMap<DimId, DimId>) -> DimId {
        let mut order = PostOrder(vec![dim]);
        while let Some((top, parts)) = order.next(self, |node| known.contains_key(&node)) {
            let replaced: SmallVec<[DimId; 8]> =
                parts.iter().map(|part| known.get(part).copied().unwrap_or(*part)).collect();
            let value = if replaced == parts {
                top
            } else {
                let rebuilt = self.rebuild(top, &replaced);
                rebuilt.unwrap_or_else(|| self.fresh_integer())
            };
            known.insert(top, value);
        }
        known.get(&dim).copied().unwrap_or(dim)
    }

    /// The direct parts of a node; for a bound variable, its value.
    pub(crate) fn parts(&self, dim: DimId) -> SmallVec<[DimId; 8]> {
        match self.kind(dim) {
            None | Some(Kind::Constant(_) | Kind::Symbol(_)) => SmallVec::new(),
            Some(Kind::Variable(_)) => self.binding(dim).into_iter().collect(),
            Some(Kind::Floor { numerator, denominator }) => SmallVec::from_slice(&[numerator, denominator]),
            Some(Kind::Min(span) | Kind::Product(span)) => SmallVec::from_slice(self.list(span)),
            Some(Kind::Sum(span)) => self.sum_terms(span).iter().map(|term| term.monomial).collect(),
        }
    }

    /// The nodes of a dim, each once, outer nodes first.
    pub(crate) fn nodes(&self, dim: DimId) -> impl Iterator<Item = DimId> {
        let (mut stack, mut seen) = (vec![dim], HashSet::new());
        std::iter::from_fn(move || {
            loop {
                let dim = stack.pop()?;
                if seen.insert(dim) {
                    stack.extend(self.parts(dim));
                    return Some(dim);
                }
            }
        })
    }

    /// The node with other parts; `None` beyond the limits.
    fn rebuild(&mut self, dim: DimId, parts: &[DimId]) -> Option<DimId> {
        match self.kind(dim) {
            None | Some(Kind::Constant(_) | Kind::Symbol(_) | Kind::Variable(_)) => Some(dim),
            Some(Kind::Floor { .. }) => match parts {
                &[numerator, denominator] => self.try_floor_div(numerator, denominator),
                _ => None,
            },
            Some(Kind::Min(_)) => self.try_min_all(parts),
            Some(Kind::Product(_)) => {
                if parts.contains(&DimId::ZERO) {
                    return Some(DimId::ZERO);
                }
                parts.iter().try_fold(DimId::ONE, |product, &part| self.try_mul(product, part))
            }
            Some(Kind::Sum(span)) => {
                let coefficients: SmallVec<[i64; 8]> =
                    self.sum_terms(span).iter().map(|term| term.coefficient).collect();
                let mut sum = Terms::new();
                for (&part, coefficient) in parts.iter().zip(coefficients) {
                    sum = merge(&sum, &self.terms(part), coefficient)?;
                }
                self.intern_sum(&sum)
            }
        }
    }

    /// The named symbols in a dim, in the order of the arena.
    #[must_use]
    pub fn symbols_of(&self, dim: DimId) -> SmallVec<[DimId; 4]> {
        self.leaves(dim, |kind| matches!(kind, Kind::Symbol(_)))
    }

    /// The unbound anonymous variables in a dim, in order of creation.
    #[must_use]
    pub fn variables_of(&self, dim: DimId) -> SmallVec<[DimId; 4]> {
        if !self.summary(dim).variable {
            return SmallVec::new();
        }
        self.leaves(dim, |kind| matches!(kind, Kind::Variable(_)))
    }

    fn leaves(&self, dim: DimId, wanted: impl Fn(Kind) -> bool) -> SmallVec<[DimId; 4]> {
        let mut leaves = SmallVec::new();
        if self.parts(dim).is_empty() {
            leaves.extend(Some(dim).filter(|dim| self.kind(*dim).is_some_and(&wanted)));
            return leaves;
        }
        let mut seen = HashSet::new();
        let mut stack = SmallVec::<[DimId; 16]>::from_slice(&[dim]);
        while let Some(dim) = stack.pop() {
            let parts = self.parts(dim);
            if parts.is_empty() {
                if self.kind(dim).is_some_and(&wanted) && !leaves.contains(&dim) {
                    leaves.push(dim);
                }
            } else if seen.insert(dim) {
                stack.extend(parts);
            }
        }
        leaves.sort_unstable();
        leaves
    }
}
