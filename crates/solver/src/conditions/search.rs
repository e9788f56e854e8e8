//! A bounded search for bindings of symbols that satisfy some conditions and violate another.
//!
//! Candidates for each symbol are small extents and the neighbourhood of the constants that occur; bindings are tried in
//! the order of their sum, so the first one found is a smallest one among the candidates. The search proves nothing when
//! it finds nothing; what it finds is a proof, because every condition is evaluated.
//!
//! Cost: at most [`MAX_BINDINGS`] evaluations for each question.

use crate::core::Core;
use crate::dim::{DimId, DimView, Dims};
use crate::solution::Need;

/// The most bindings that one question tries.
const MAX_BINDINGS: usize = 6000;

/// The most symbols that are bound at once.
const MAX_SYMBOLS: usize = 4;

/// The largest constant whose neighbourhood is tried.
const MAX_CANDIDATE: i64 = 1 << 20;

/// A need of two dims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    pub(super) need: Need,
    pub(super) left: DimId,
    pub(super) right: DimId,
}

/// A binding of symbols to extents.
pub(super) type Binding = Vec<(DimId, i64)>;

impl Condition {
    pub(super) fn symbols(&self, core: &Core<'_>) -> Vec<DimId> {
        let mut symbols = core.dims.symbols_of(self.left).to_vec();
        symbols.extend(core.dims.symbols_of(self.right));
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }

    pub(super) fn is_anonymous(&self, core: &Core<'_>) -> bool {
        core.dims.is_anonymous(self.left) || core.dims.is_anonymous(self.right)
    }

    /// Whether it holds under a binding; `None` where a side has no value.
    fn holds(&self, dims: &Dims, binding: &[(DimId, i64)]) -> Option<bool> {
        let left = evaluate(dims, self.left, binding)?;
        let right = evaluate(dims, self.right, binding)?;
        Some(match self.need {
            Need::Equal => left == right,
            Need::OneOrEqual => left == 1 || left == right,
            Need::AtMost => left <= right,
            Need::Broadcast => left == right || left == 1 || right == 1,
        })
    }
}

/// The conditions that bindings have to satisfy.
pub(super) struct Search {
    conditions: Vec<Condition>,
}

impl Search {
    pub(super) fn new(conditions: &[Condition]) -> Self {
        Self { conditions: conditions.to_vec() }
    }

    /// A smallest binding that violates a condition.
    pub(super) fn violation(&self, core: &Core<'_>, condition: Condition) -> Option<Binding> {
        let sides = [condition.left, condition.right];
        self.find(core, &sides, |dims, binding| condition.holds(dims, binding) == Some(false))
    }

    /// A smallest binding under which two dims differ, with both.
    pub(super) fn differs(&self, core: &Core<'_>, a: DimId, b: DimId) -> Option<(Binding, (i64, i64))> {
        let values = |dims: &Dims, binding: &[(DimId, i64)]| {
            Some((evaluate(dims, a, binding)?, evaluate(dims, b, binding)?))
        };
        let binding = self.find(core, &[a, b], |dims, binding| {
            values(dims, binding).is_some_and(|(a, b)| a != b && a >= 0)
        })?;
        let extents = values(&core.dims, &binding)?;
        Some((binding, extents))
    }

    /// A smallest binding under which the broadcast of `a` and `b` exists and differs from `declared`, with both.
    pub(super) fn broadcast_differs(
        &self,
        core: &Core<'_>,
        a: DimId,
        b: DimId,
        declared: DimId,
    ) -> Option<(Binding, (i64, i64))> {
        let values = |dims: &Dims, binding: &[(DimId, i64)]| {
            let (a, b) = (evaluate(dims, a, binding)?, evaluate(dims, b, binding)?);
            let result = match (a, b) {
                (1, other) | (other, 1) => other,
                (a, b) if a == b => a,
                (_, _) => return None,
            };
            Some((result, evaluate(dims, declared, binding)?))
        };
        let binding = self.find(core, &[a, b, declared], |dims, binding| {
            values(dims, binding).is_some_and(|(a, b)| a != b && a >= 0)
        })?;
        let extents = values(&core.dims, &binding)?;
        Some((binding, extents))
    }

    /// A smallest binding of the symbols of `sides` that satisfies the conditions and `wanted`.
    fn find(
        &self,
        core: &Core<'_>,
        sides: &[DimId],
        wanted: impl Fn(&Dims, &[(DimId, i64)]) -> bool,
    ) -> Option<Binding> {
        let mut symbols: Vec<DimId> =
            sides.iter().flat_map(|dim| core.dims.symbols_of(*dim).to_vec()).collect();
        symbols.sort_unstable();
        symbols.dedup();
        if sides.iter().any(|dim| core.dims.is_anonymous(*dim)) {
            return None;
        }
        // The conditions that share a symbol, directly or through other conditions.
        let mut linked: Vec<Condition> = Vec::new();
        let mut rest = self.conditions.clone();
        loop {
            let (near, far): (Vec<Condition>, Vec<Condition>) = rest
                .into_iter()
                .partition(|condition| condition.symbols(core).iter().any(|symbol| symbols.contains(symbol)));
            rest = far;
            if near.is_empty() {
                break;
            }
            for condition in near {
                symbols.extend(condition.symbols(core));
                linked.push(condition);
            }
            symbols.sort_unstable();
            symbols.dedup();
        }
        if symbols.is_empty() || symbols.len() > MAX_SYMBOLS {
            return None;
        }
        let candidates = candidates(&core.dims, sides, &linked, symbols.len());
        let mut best: Option<(i64, Binding)> = None;
        let mut at = vec![0_usize; symbols.len()];
        loop {
            let binding: Binding =
                symbols.iter().copied().zip(at.iter().map(|index| candidates[*index])).collect();
            let sum: i64 = binding.iter().map(|(_, value)| *value).sum();
            if best.as_ref().is_none_or(|(known, _)| sum < *known)
                && wanted(&core.dims, &binding)
                && linked.iter().all(|condition| condition.holds(&core.dims, &binding) == Some(true))
            {
                best = Some((sum, binding));
            }
            let Some(next) = at.iter_mut().position(|index| {
                *index += 1;
                if *index == candidates.len() {
                    *index = 0;
                    return false;
                }
                true
            }) else {
                return best.map(|(_, binding)| binding);
            };
            let _ = next;
        }
    }
}

/// The extents to try, in ascending order: as many as the number of symbols permits.
fn candidates(dims: &Dims, sides: &[DimId], linked: &[Condition], symbols: usize) -> Vec<i64> {
    let most = match symbols {
        1 => 4 * MAX_BINDINGS / 100,
        2 => 76,
        3 => 18,
        _ => 8,
    };
    let mut constants = Vec::new();
    let all =
        sides.iter().copied().chain(linked.iter().flat_map(|condition| [condition.left, condition.right]));
    for dim in all {
        collect_constants(dims, dim, &mut constants);
    }
    let mut found: Vec<i64> = vec![1, 2, 3];
    for constant in constants {
        let near = [constant, constant + 1, constant - 1];
        found.extend(near.into_iter().filter(|value| (1..=MAX_CANDIDATE).contains(value)));
    }
    let mut unique: Vec<i64> = Vec::new();
    for value in found.into_iter().chain(4..=i64::try_from(most).unwrap_or(0)) {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique.truncate(most);
    unique.sort_unstable();
    unique
}

/// The constants and coefficients in a dim.
fn collect_constants(dims: &Dims, dim: DimId, into: &mut Vec<i64>) {
    let mut open = vec![dim];
    while let Some(dim) = open.pop() {
        if into.len() > 64 {
            return;
        }
        match dims.view(dim) {
            DimView::Constant(value) => into.push(value.saturating_abs()),
            DimView::Symbol | DimView::Variable => {}
            DimView::Sum(constant, terms) => {
                into.push(constant.saturating_abs());
                for (coefficient, part) in terms {
                    into.push(coefficient.saturating_abs());
                    if coefficient != 0 {
                        into.push((constant / coefficient).saturating_abs());
                    }
                    open.push(part);
                }
            }
            DimView::Product(parts) | DimView::Min(parts) => open.extend(parts),
            DimView::FloorDiv(a, b) => open.extend([a, b]),
        }
    }
}

/// The value of a dim under a binding of its symbols.
pub(super) fn evaluate(dims: &Dims, dim: DimId, binding: &[(DimId, i64)]) -> Option<i64> {
    match dims.view(dim) {
        DimView::Constant(value) => Some(value),
        DimView::Symbol => binding.iter().find(|(symbol, _)| *symbol == dim).map(|(_, value)| *value),
        DimView::Variable => None,
        DimView::Sum(constant, terms) => terms.iter().try_fold(constant, |sum, (coefficient, part)| {
            sum.checked_add(coefficient.checked_mul(evaluate(dims, *part, binding)?)?)
        }),
        DimView::Product(parts) => {
            parts.iter().try_fold(1_i64, |product, part| product.checked_mul(evaluate(dims, *part, binding)?))
        }
        DimView::FloorDiv(a, b) => {
            let (a, b) = (evaluate(dims, a, binding)?, evaluate(dims, b, binding)?);
            let quotient = a.checked_div(b)?;
            Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        DimView::Min(parts) => parts
            .iter()
            .map(|part| evaluate(dims, *part, binding))
            .try_fold(i64::MAX, |least, value| Some(least.min(value?))),
    }
}

/// Bounds of a dim where every symbol is 1 or more.
pub(super) fn positive_bounds(dims: &mut Dims, dim: DimId) -> (Option<i64>, Option<i64>) {
    let symbols = dims.symbols_of(dim);
    let shifted: Vec<(DimId, DimId)> =
        symbols.iter().map(|symbol| (*symbol, dims.add(*symbol, DimId::ONE))).collect();
    let dim = dims.substitute(dim, &shifted);
    dims.bounds(dim)
}
