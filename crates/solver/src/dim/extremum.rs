//! The smaller and the larger of dims.
//!
//! There is one kind of atom, the minimum; `max(a, b, ..) = -min(-a, -b, ..)`. So `min(a, b) + max(a, b)` is
//! `a + b` by the normal form of sums. The lowest form of a minimum:
//!
//! 1. what all arguments share leaves: `min(a + p, b + p) = min(a, b) + p`, where `p` takes the least
//!    coefficient of every monomial. Two ways to shift the same arguments thus give the same atom;
//! 2. a minimum inside is flattened: `k*min(a, b) + p` for `k > 0` becomes the arguments `k*a + p`, `k*b + p`;
//! 3. an argument that is never less than another one is dropped, where bounds prove it;
//! 4. a positive common factor of all coefficients leaves: `min(2*a, 2*b) = 2*min(a, b)`.

use super::arena::{DimId, Dims, Kind, MAX_ARGUMENTS};
use super::poly::{Term, Terms, content, merge};

/// How often the rules are applied; each round drops an argument or a nested minimum.
const ROUNDS: usize = 32;

impl Dims {
    pub(super) fn try_min(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        if a == b {
            return Some(a);
        }
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return Some(if x <= y { a } else { b });
        }
        let arguments = vec![self.terms(a), self.terms(b)];
        self.try_min_of(arguments)
    }

    pub(super) fn try_max(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        if a == b {
            return Some(a);
        }
        if let (Some(x), Some(y)) = (self.as_constant(a), self.as_constant(b)) {
            return Some(if x >= y { a } else { b });
        }
        let arguments = vec![merge(&[], &self.terms(a), -1)?, merge(&[], &self.terms(b), -1)?];
        let least = self.try_min_of(arguments)?;
        self.try_sub(DimId::ZERO, least)
    }

    /// The minimum of at least one polynomial.
    pub(super) fn try_min_of(&mut self, mut arguments: Vec<Terms>) -> Option<DimId> {
        let mut shift = Terms::new();
        for _ in 0..ROUNDS {
            shift = merge(&shift, &take_shared(&mut arguments)?, 1)?;
            if !self.flatten_one(&mut arguments)? && !self.drop_dominated(&mut arguments)? {
                break;
            }
        }
        let shift = self.intern_sum(&shift)?;
        if let [only] = &arguments[..] {
            let only = self.intern_sum(only)?;
            return self.try_add(shift, only);
        }
        let common = arguments.iter().fold(0, |common, argument| super::poly::gcd(common, content(argument)));
        let common = i64::try_from(common).ok()?.max(1);
        let mut parts = Vec::with_capacity(arguments.len());
        for mut argument in arguments {
            argument.iter_mut().for_each(|term| term.coefficient /= common);
            parts.push(self.intern_sum(&argument)?);
        }
        parts.sort_unstable();
        parts.dedup();
        let least = if let [only] = parts[..] { only } else { self.intern_min(&parts)? };
        let common = self.constant(common);
        let scaled = self.try_mul(common, least)?;
        self.try_add(shift, scaled)
    }

    /// Replaces one argument that is a positive multiple of a minimum plus a rest; whether there was one.
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

    /// Drops one argument that is never less than another one; whether there was one.
    fn drop_dominated(&mut self, arguments: &mut Vec<Terms>) -> Option<bool> {
        for greater in 0..arguments.len() {
            for least in 0..arguments.len() {
                if greater != least {
                    let gap = merge(&arguments[greater], &arguments[least], -1)?;
                    if self.bounds_of_terms(&gap).low >= 0 {
                        arguments.remove(greater);
                        return Some(true);
                    }
                }
            }
        }
        Some(false)
    }
}

/// Subtracts, for every monomial, the least coefficient it has in any argument, and returns what was taken.
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
