//! Quotients of symbols in results: from `h = 7*k`, a result about `k` becomes one about `h`.
//!
//! A [`Domain`] introduces a quotient for each symbol that is known to be divisible by a number. In a sum,
//! `7*k` is `h`; elsewhere `k` is `h//7`. Conditions on a quotient alone are translated to conditions on its
//! symbol, which are equivalent: `2` divides `k` exactly if `14` divides `h`.
//!
//! **Invariant:** under the domain, a translated dim or condition equals the original.

use crate::arena::{Dims, Kind};
use crate::condition::{Condition, Relation};
use crate::domain::{Domain, MAX_DIVISOR, Quotient};
use crate::examine::Verdict;
use crate::id::DimId;
use crate::poly::{Term, Terms, constant_term, gcd, merge, without_constant};

/// Maximum number of quotients of quotients.
const MAX_CHAIN: usize = 16;

impl Dims {
    /// The symbol that a divisibility by a constant determines up to a multiple: `4` divides `6*h + 2`
    /// exactly if `h = 2*k + 1`.
    pub(crate) fn divided_symbol(&self, divisor: i64, dividend: DimId) -> Option<Quotient> {
        let terms = self.terms(dividend);
        let &[Term { coefficient, monomial: symbol }] = without_constant(&terms) else { return None };
        self.as_symbol(symbol)?;
        let common = i64::try_from(gcd(divisor.unsigned_abs(), coefficient.unsigned_abs())).ok()?;
        let constant = constant_term(&terms);
        if !(2..=MAX_DIVISOR).contains(&divisor) || common == divisor || constant % common != 0 {
            return None;
        }
        let (coefficient, constant) = (i128::from(coefficient / common), i128::from(constant / common));
        let divisor = divisor / common;
        let is_root =
            |symbol: &i64| (coefficient * i128::from(*symbol) + constant) % i128::from(divisor) == 0;
        let remainder = (0..divisor).find(is_root)?;
        Some(Quotient { symbol, divisor, remainder })
    }
}

impl Dims {
    /// Whether all symbols of a dim have names.
    pub(crate) fn is_of_names(&self, dim: DimId) -> bool {
        self.symbols_of(dim).iter().all(|symbol| self.is_named(*symbol))
    }

    /// Whether all symbols of a verdict have names.
    pub(crate) fn has_only_names(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Always | Verdict::Never | Verdict::Undecided => true,
            Verdict::Only { symbol, .. } => self.is_named(*symbol),
            Verdict::Equals { symbol, value } => self.is_named(*symbol) && self.is_of_names(*value),
            Verdict::Restricted { conditions } => {
                conditions.iter().all(|it| self.is_of_names(it.left) && self.is_of_names(it.right))
            }
        }
    }
}

impl Domain {
    /// The dim without symbols that the domain introduced.
    pub(crate) fn restore(&self, dims: &mut Dims, dim: DimId) -> DimId {
        let mut dim = dim;
        if !self.has_quotients() {
            return dim;
        }
        for _ in 0..MAX_CHAIN {
            if dims.symbols_of(dim).iter().all(|symbol| self.quotient(*symbol).is_none()) {
                break;
            }
            dim = match self.restored_sum(dims, dim) {
                Some(restored) => restored,
                None => self.by_floors(dims, dim),
            };
        }
        dim
    }

    /// Replaces multiples of quotients by their symbols, in a sum and in the arguments of its minima.
    fn restored_sum(&self, dims: &mut Dims, dim: DimId) -> Option<DimId> {
        let mut sum = Terms::new();
        for Term { mut coefficient, monomial } in dims.terms(dim) {
            let mut product = DimId::ONE;
            for factor in dims.factors(monomial) {
                let restored = match self.quotient(factor) {
                    Some(Quotient { symbol, divisor, remainder }) if coefficient % divisor == 0 => {
                        coefficient /= divisor;
                        let remainder = dims.constant(remainder);
                        dims.try_sub(symbol, remainder)?
                    }
                    Some(_) => self.by_floors(dims, factor),
                    None => match dims.kind(factor) {
                        Some(Kind::Min(span)) => {
                            let arguments = dims.list(span).to_vec();
                            let mut restored = Vec::with_capacity(arguments.len());
                            for argument in arguments {
                                restored.push(self.restored_sum(dims, argument)?);
                            }
                            dims.try_min_all(&restored)?
                        }
                        _ => self.by_floors(dims, factor),
                    },
                };
                product = dims.try_mul(product, restored)?;
            }
            sum = merge(&sum, &dims.terms(product), coefficient)?;
        }
        dims.intern_sum(&sum)
    }

    /// Replaces each quotient by the floor that it equals.
    fn by_floors(&self, dims: &mut Dims, dim: DimId) -> DimId {
        let mut values = Vec::new();
        for leaf in dims.symbols_of(dim) {
            if let Some(Quotient { symbol, divisor, .. }) = self.quotient(leaf) {
                let divisor = dims.constant(divisor);
                values.push((leaf, dims.floor_div(symbol, divisor)));
            }
        }
        if values.is_empty() { dim } else { dims.substitute(dim, &values) }
    }

    /// An equivalent condition without symbols that the domain introduced.
    pub(crate) fn restore_condition(&self, dims: &mut Dims, condition: Condition) -> Condition {
        let mut condition = condition;
        for _ in 0..MAX_CHAIN {
            match self.scaled(dims, condition) {
                Some(scaled) => condition = scaled,
                None => break,
            }
        }
        condition.map(|side| self.restore(dims, side))
    }

    /// A condition that bounds or divides one quotient, as one on its symbol.
    fn scaled(&self, dims: &mut Dims, condition: Condition) -> Option<Condition> {
        let Condition { relation, left, right } = condition;
        match relation {
            Relation::Divides => {
                let by = dims.as_constant(left)?;
                let terms = dims.terms(right);
                let &[Term { coefficient: 1, monomial }] = without_constant(&terms) else { return None };
                let Quotient { symbol, divisor, remainder } = self.quotient(monomial)?;
                let by = by.checked_mul(divisor)?;
                let shift =
                    constant_term(&terms).checked_mul(divisor)?.checked_sub(remainder)?.rem_euclid(by);
                let (by, shift) = (dims.constant(by), dims.constant(shift));
                Some(Condition::new(Relation::Divides, by, dims.try_add(symbol, shift)?))
            }
            Relation::AtMost | Relation::Equal => {
                let (leaf, other) = match (self.quotient(left), self.quotient(right)) {
                    (Some(_), None) => (left, right),
                    (None, Some(_)) => (right, left),
                    (None, None) | (Some(_), Some(_)) => return None,
                };
                let Quotient { symbol, divisor, remainder } = self.quotient(leaf)?;
                let (divisor, remainder) = (dims.constant(divisor), dims.constant(remainder));
                let multiple = dims.try_mul(other, divisor)?;
                let other = dims.try_add(multiple, remainder)?;
                let (left, right) = if leaf == left { (symbol, other) } else { (other, symbol) };
                Some(Condition::new(relation, left, right))
            }
            Relation::OneOrEqual | Relation::Broadcast => None,
        }
    }

    /// A verdict without symbols that the domain introduced.
    pub(crate) fn restore_verdict(&self, dims: &mut Dims, verdict: Verdict) -> Verdict {
        if !self.has_quotients() {
            return verdict;
        }
        match verdict {
            Verdict::Only { mut symbol, mut values } => {
                while let Some(Quotient { symbol: source, divisor, remainder }) = self.quotient(symbol) {
                    let of = |value: &i64| value.checked_mul(divisor)?.checked_add(remainder);
                    let Some(scaled) = values.iter().map(of).collect() else { return Verdict::Undecided };
                    (symbol, values) = (source, scaled);
                }
                Verdict::Only { symbol, values }
            }
            Verdict::Equals { symbol, value } => {
                let condition = Condition::new(Relation::Equal, symbol, value);
                let Condition { left, right, .. } = self.restore_condition(dims, condition);
                if dims.is_named(left) && !dims.symbols_of(right).contains(&left) {
                    Verdict::Equals { symbol: left, value: right }
                } else {
                    Verdict::Restricted { conditions: vec![Condition::new(Relation::Equal, left, right)] }
                }
            }
            Verdict::Restricted { conditions } => Verdict::Restricted {
                conditions: conditions.into_iter().map(|one| self.restore_condition(dims, one)).collect(),
            },
            Verdict::Always | Verdict::Never | Verdict::Undecided => verdict,
        }
    }
}
