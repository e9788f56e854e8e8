//! Anonymous variables: binding, resolving, substituting.
//!
//! A bound variable stands for its value everywhere at once (union-find without ranks: a variable that is
//! met again points to the resolved value afterwards, which is path compression). Nodes are never changed;
//! [`Dims::resolve`] rebuilds what mentions a bound variable and remembers the answer until the next
//! binding. Walks use an explicit stack, because a chain of bindings may be as long as there are variables.

use std::collections::{HashMap, HashSet};

use smallvec::SmallVec;

use super::arena::{Dims, Kind, Operation, Range};
use super::id::DimId;
use super::poly::{Terms, merge};

/// What came of binding a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bind {
    /// The variable now stands for the value.
    Bound,
    /// Both were the same dim already.
    Same,
    /// The variable occurs in the value, and the two are different: nothing was bound.
    Occurs,
    /// Neither dim resolves to an unbound anonymous variable: nothing was bound.
    Rigid,
    /// The variable is an extent and the value is always negative: nothing was bound.
    Negative,
}

impl Dims {
    /// States that an anonymous variable is the same number as `value`. Named symbols are never bound.
    ///
    /// If `variable` already stands for something else and `value` is a variable, that one is bound instead.
    /// Of two variables the younger one is bound, so that the oldest represents its class.
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
    /// Immediate for constants, symbols, and everything that mentions no variable.
    pub fn resolve(&mut self, dim: DimId) -> DimId {
        if let Some(resolved) = self.memo(dim) {
            return resolved;
        }
        let mut stack = vec![dim];
        while let Some(&top) = stack.last() {
            if self.memo(top).is_some() {
                stack.pop();
                continue;
            }
            let parts = self.parts(top);
            let pending = stack.len();
            stack.extend(parts.iter().copied().filter(|&part| self.memo(part).is_none()));
            if stack.len() > pending {
                continue;
            }
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
            stack.pop();
        }
        self.memo(dim).unwrap_or(dim)
    }

    /// The dim with `values` in the place of symbols or anonymous variables, all at once.
    ///
    /// If the result is beyond the limits, or divides by zero, it is a fresh unknown.
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

    /// The resolved dim with the values of `known` in the place of its keys, which may be any nodes.
    pub(super) fn replace_nodes(&mut self, dim: DimId, mut known: HashMap<DimId, DimId>) -> DimId {
        let mut stack = vec![dim];
        while let Some(&top) = stack.last() {
            if known.contains_key(&top) {
                stack.pop();
                continue;
            }
            let parts = self.parts(top);
            let pending = stack.len();
            stack.extend(parts.iter().copied().filter(|part| !known.contains_key(part)));
            if stack.len() > pending {
                continue;
            }
            let replaced: SmallVec<[DimId; 8]> =
                parts.iter().map(|part| known.get(part).copied().unwrap_or(*part)).collect();
            let value = if replaced == parts {
                top
            } else {
                let rebuilt = self.rebuild(top, &replaced);
                rebuilt.unwrap_or_else(|| self.fresh_integer())
            };
            known.insert(top, value);
            stack.pop();
        }
        known.get(&dim).copied().unwrap_or(dim)
    }

    /// The dims that a node is built of; for a bound variable, its value.
    pub(super) fn parts(&self, dim: DimId) -> SmallVec<[DimId; 8]> {
        match self.kind(dim) {
            None | Some(Kind::Constant(_) | Kind::Symbol(_)) => SmallVec::new(),
            Some(Kind::Variable(_)) => self.binding(dim).into_iter().collect(),
            Some(Kind::Floor { numerator, denominator }) => SmallVec::from_slice(&[numerator, denominator]),
            Some(Kind::Min(span) | Kind::Product(span)) => SmallVec::from_slice(self.list(span)),
            Some(Kind::Sum(span)) => self.sum_terms(span).iter().map(|term| term.monomial).collect(),
        }
    }

    /// The node with other dims in the place of its parts; `None` beyond the limits.
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

    /// The named symbols that are mentioned, in order of first appearance in the arena.
    #[must_use]
    pub fn symbols_of(&self, dim: DimId) -> SmallVec<[DimId; 4]> {
        self.leaves(dim, |kind| matches!(kind, Kind::Symbol(_)))
    }

    /// The unbound anonymous variables that are mentioned, in order of creation.
    #[must_use]
    pub fn variables_of(&self, dim: DimId) -> SmallVec<[DimId; 4]> {
        if !self.summary(dim).variable {
            return SmallVec::new();
        }
        self.leaves(dim, |kind| matches!(kind, Kind::Variable(_)))
    }

    fn leaves(&self, dim: DimId, wanted: impl Fn(Kind) -> bool) -> SmallVec<[DimId; 4]> {
        let mut leaves = SmallVec::new();
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
