//! Solutions of equations between dims.
//!
//! The difference of the two sides, divided by its content, is handled by the first rule that applies:
//!
//! 1. It is always or never zero.
//! 2. All terms are non-negative and there is no constant: each term is zero, so a term that is a symbol
//!    makes it zero.
//! 3. An anonymous variable, or else a symbol, is alone in a term with coefficient 1 or -1 and occurs nowhere
//!    else: it equals the rest.
//! 4. It is a polynomial in one symbol that grows with it: bisection finds its only possible root.
//!
//! Every result is a consequence of the equation for all values of the symbols.

use crate::arena::{Dims, Kind};
use crate::decide::Decision;
use crate::id::DimId;
use crate::poly::{Term, Terms, constant_term, content, merge, without_constant};

/// The consequence of an equation between two dims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Solved {
    /// It always holds.
    Always,
    /// It never holds.
    Contradiction,
    /// It holds only if the named symbol has this value, which does not contain the symbol.
    Symbol {
        /// The symbol.
        symbol: DimId,
        /// Its only possible value: a constant, another symbol, or a polynomial.
        value: DimId,
    },
    /// It holds only if the anonymous variable has this value, which does not contain the variable.
    Variable {
        /// The variable.
        variable: DimId,
        /// Its only possible value.
        value: DimId,
    },
    /// No consequence was found.
    Undecided,
}

impl Dims {
    /// Solves `lhs = rhs` for one symbol or anonymous variable. Binds nothing.
    ///
    /// A variable is preferred to a symbol, and a younger one to an older one: `N = M` gives the value `N`
    /// for `M`, which was named later.
    pub fn solve_for(&mut self, lhs: DimId, rhs: DimId) -> Solved {
        let (lhs, rhs) = (self.resolve(lhs), self.resolve(rhs));
        let Some(mut terms) = self.difference(lhs, rhs) else { return Solved::Undecided };
        match self.compare_to_zero(&terms) {
            Decision::Equal => return Solved::Always,
            Decision::Different => return Solved::Contradiction,
            Decision::Undecided => {}
        }
        if let Ok(common) = i64::try_from(content(&terms))
            && common > 1
        {
            terms.iter_mut().for_each(|term| term.coefficient /= common);
        }
        self.all_terms_zero(&terms)
            .or_else(|| self.isolated(&terms))
            .or_else(|| self.only_root(&terms))
            .unwrap_or(Solved::Undecided)
    }

    fn solution(&self, leaf: DimId, value: DimId) -> Option<Solved> {
        match self.kind(leaf)? {
            Kind::Symbol(_) => Some(Solved::Symbol { symbol: leaf, value }),
            Kind::Variable(_) => Some(Solved::Variable { variable: leaf, value }),
            Kind::Constant(_) | Kind::Floor { .. } | Kind::Min(_) | Kind::Product(_) | Kind::Sum(_) => None,
        }
    }

    /// Rule 2.
    fn all_terms_zero(&self, terms: &[Term]) -> Option<Solved> {
        let sign = terms.first()?.coefficient.signum();
        let one_sided = constant_term(terms) == 0
            && terms
                .iter()
                .all(|term| term.coefficient.signum() == sign && self.summary(term.monomial).bounds.low >= 0);
        if !one_sided {
            return None;
        }
        terms.iter().find_map(|term| self.solution(term.monomial, DimId::ZERO))
    }

    /// Rule 3.
    fn isolated(&mut self, terms: &[Term]) -> Option<Solved> {
        let mut candidates: Vec<Term> = terms
            .iter()
            .copied()
            .filter(|term| {
                term.coefficient.unsigned_abs() == 1 && self.solution(term.monomial, DimId::ZERO).is_some()
            })
            .collect();
        candidates.sort_by_key(|term| {
            let variable = matches!(self.kind(term.monomial), Some(Kind::Variable(_)));
            std::cmp::Reverse((variable, term.monomial))
        });
        for candidate in candidates {
            let mut rest = Terms::from_slice(terms);
            rest.retain(|term| term.monomial != candidate.monomial);
            let mentioned = rest.iter().any(|term| self.mentions(term.monomial, candidate.monomial));
            if mentioned {
                continue;
            }
            let value = merge(&[], &rest, -candidate.coefficient).and_then(|value| self.intern_sum(&value));
            if let Some(value) = value {
                return self.solution(candidate.monomial, value);
            }
        }
        None
    }

    fn mentions(&self, dim: DimId, leaf: DimId) -> bool {
        match self.kind(leaf) {
            Some(Kind::Symbol(_)) => self.symbols_of(dim).contains(&leaf),
            _ => self.variables_of(dim).contains(&leaf),
        }
    }

    /// Rule 4.
    fn only_root(&mut self, terms: &[Term]) -> Option<Solved> {
        let (atom, powers) = self.in_one_atom(terms)?;
        if self.summary(atom).bounds.low < 0 {
            return None;
        }
        self.solution(atom, DimId::ZERO)?;
        let sign = without_constant(terms).first()?.coefficient.signum();
        let growing = without_constant(terms).iter().all(|term| term.coefficient.signum() == sign);
        if !growing {
            return None;
        }
        let value_at = |root: i64| {
            powers.iter().fold(0i128, |sum, &(exponent, coefficient)| {
                let power = (0..exponent).fold(1i128, |power, _| power.saturating_mul(i128::from(root)));
                sum.saturating_add(power.saturating_mul(i128::from(coefficient) * i128::from(sign)))
            })
        };
        // It grows by at least one per step, so the root is at most the constant.
        let (mut low, mut high) = (0i64, i64::try_from(constant_term(terms).unsigned_abs()).ok()?);
        while low < high {
            let middle = low + (high - low) / 2;
            if value_at(middle) < 0 {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if value_at(low) != 0 {
            return Some(Solved::Contradiction);
        }
        let value = self.constant(low);
        self.solution(atom, value)
    }
}
