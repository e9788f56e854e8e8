//! Minima and maxima.
//!
//! The minimum is the only kind of atom; `max(a, b, ..) = -min(-a, -b, ..)`. So `min(a, b) + max(a, b)` is
//! `a + b` by the normal form of sums. A minimum is brought to its lowest form in these steps:
//!
//! 1. Common terms of all arguments are extracted: `min(a + p, b + p) = min(a, b) + p`, where `p` has the
//!    least coefficient of every monomial. Two shifts of the same arguments thus give the same atom.
//! 2. A positive common factor of all coefficients is extracted: `min(2*a, 2*b) = 2*min(a, b)`.
//! 3. A nested minimum is flattened: `k*min(a, b) + p` for `k > 0` becomes the arguments `k*a + p`,
//!    `k*b + p`.
//! 4. An argument that is provably never less than another one is removed.

use crate::arena::{Dims, Kind, MAX_ARGUMENTS};
use crate::id::DimId;
use crate::poly::{Term, Terms, content, gcd, merge};

/// Maximum number of rounds; each round except the last removes an argument or a nested minimum.
const ROUNDS: usize = 32;

impl Dims {
    pub(crate) fn try_min(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        if a == b {
            return Some(a);
        }
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return Some(if x <= y { a } else { b });
        }
        self.try_min_all(&[a, b])
    }

    pub(crate) fn try_max(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        if a == b {
            return Some(a);
        }
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return Some(if x >= y { a } else { b });
        }
        self.try_max_all(&[a, b])
    }

    /// The least of at least one dim.
    pub(crate) fn try_min_all(&mut self, arguments: &[DimId]) -> Option<DimId> {
        let arguments = arguments.iter().map(|&argument| self.terms(argument)).collect();
        self.least(arguments)
    }

    /// The greatest of at least one dim.
    pub(crate) fn try_max_all(&mut self, arguments: &[DimId]) -> Option<DimId> {
        let negated: Option<_> =
            arguments.iter().map(|&argument| merge(&[], &self.terms(argument), -1)).collect();
        let least = self.least(negated?)?;
        self.try_sub(DimId::ZERO, least)
    }

    fn least(&mut self, mut arguments: Vec<Terms>) -> Option<DimId> {
        if arguments.len() > 2 * MAX_ARGUMENTS || self.is_exhausted() {
            return None;
        }
        // The result is `shift + scale * min(arguments)` throughout.
        let (mut shift, mut scale) = (Terms::new(), 1i64);
        for _ in 0..ROUNDS {
            self.count_work(arguments.iter().map(Terms::len).sum());
            shift = merge(&shift, &take_shared(&mut arguments)?, scale)?;
            scale = scale.checked_mul(take_content(&mut arguments)?)?;
            // Sorted, so that the result does not depend on the order of arguments.
            arguments.sort_unstable_by(|a, b| {
                let keys = |term: &Term| (term.monomial, term.coefficient);
                a.iter().map(keys).cmp(b.iter().map(keys))
            });
            arguments.dedup();
            if !self.flatten_one(&mut arguments)? && !self.drop_dominated(&mut arguments)? {
                break;
            }
        }
        let mut parts = Vec::with_capacity(arguments.len());
        for argument in arguments {
            parts.push(self.intern_sum(&argument)?);
        }
        parts.sort_unstable();
        parts.dedup();
        let least = if let [only] = parts[..] { only } else { self.intern_min(&parts)? };
        let sum = merge(&shift, &self.terms(least), scale)?;
        self.intern_sum(&sum)
    }

    /// Replaces one argument that is a positive multiple of a minimum plus a rest; returns whether there was
    /// one.
    fn flatten_one(&mut self, arguments: &mut Vec<Terms>) -> Option<bool> {
        for at in 0..arguments.len() {
            let found = arguments[at].iter().copied().find_map(|term| match self.kind(term.monomial) {
                Some(Kind::Min(span)) if term.coefficient > 0 => Some((term, span)),
                _ => None,
            });
            let Some((term, span)) = found else { continue };
            let inner = self.list(span).to_vec();
            if arguments.len() + inner.len() > MAX_ARGUMENTS + 1 {
                continue;
            }
            let rest = merge(&arguments.swap_remove(at), &[term], -1)?;
            for argument in inner {
                arguments.push(merge(&rest, &self.terms(argument), term.coefficient)?);
            }
            return Some(true);
        }
        Some(false)
    }

    /// Removes arguments that are never less than another one; returns whether there was one.
    fn drop_dominated(&mut self, arguments: &mut Vec<Terms>) -> Option<bool> {
        let (before, mut is_exact) = (arguments.len(), true);
        drop_redundant(arguments, |greater, least| match merge(greater, least, -1) {
            Some(gap) => self.low_of_terms(&gap) >= 0,
            None => {
                is_exact = false;
                false
            }
        });
        is_exact.then_some(arguments.len() < before)
    }
}

/// Removes each item that another remaining one makes redundant.
pub fn drop_redundant<T>(items: &mut Vec<T>, mut is_redundant: impl FnMut(&T, &T) -> bool) {
    let mut at = 0;
    while at < items.len() {
        let (before, after) = (&items[..at], &items[at + 1..]);
        if before.iter().chain(after).any(|other| is_redundant(&items[at], other)) {
            items.remove(at);
        } else {
            at += 1;
        }
    }
}

/// Subtracts the least coefficient of every monomial from all arguments, and returns the subtracted terms.
fn take_shared(arguments: &mut [Terms]) -> Option<Terms> {
    let mut monomials: Vec<DimId> = arguments.iter().flatten().map(|term| term.monomial).collect();
    monomials.sort_unstable();
    monomials.dedup();
    let coefficient_in = |argument: &Terms, monomial: DimId| {
        argument
            .binary_search_by_key(&monomial, |term| term.monomial)
            .map_or(0, |at| argument[at].coefficient)
    };
    let mut shared = Terms::new();
    for monomial in monomials {
        let least = arguments.iter().map(|argument| coefficient_in(argument, monomial)).min()?;
        if least != 0 {
            shared.push(Term { coefficient: least, monomial });
        }
    }
    for argument in arguments {
        *argument = merge(argument, &shared, -1)?;
    }
    Some(shared)
}

/// Divides all arguments by the greatest common divisor of their coefficients, and returns it.
fn take_content(arguments: &mut [Terms]) -> Option<i64> {
    let common = arguments.iter().fold(0, |common, argument| gcd(common, content(argument)));
    let common = i64::try_from(common).ok()?.max(1);
    arguments.iter_mut().flatten().for_each(|term| term.coefficient /= common);
    Some(common)
}
