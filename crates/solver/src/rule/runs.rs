//! Conclusions from the conditions of earlier nodes, which every successful run satisfies.
//!
//! A convolution may need `height >= 2`, and a reshape that 7 divides `width`. From such conditions a rule
//! concludes that an extent is positive, that a case of its operator never happens, or that an extent has a
//! simpler form. Symbols count as at least 1.
//!
//! Conditions are decided when a rule first asks for a conclusion, in the order of nodes, each under those
//! before it. At most [`MAX_DECIDED`] are used.

use std::collections::HashMap;

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Condition, DimId, Dims, Domain, Relation, Verdict, symbols_of};

use super::RuleCx;
use crate::map::Map;
use crate::solution::Equation;
use crate::state::Core;
use crate::state::frame::Frame;

/// Maximum number of conditions that are used.
const MAX_DECIDED: usize = 1024;
/// Maximum number of dims that are simplified.
const MAX_SIMPLIFIED: usize = 1024;
/// Maximum number of inequalities that [`RuleCx::is_positive_by_conditions`] uses.
const MAX_BOUNDS: usize = 32;

/// The conditions of the nodes of a body so far.
#[derive(Debug)]
pub(crate) struct KnownConditions {
    domain: Domain,
    /// The conditions over symbols from 0 on: types hold for empty tensors too.
    extents: Domain,
    /// The number of equations of the body that `domain` includes.
    decided: usize,
    /// The simpler forms of dims.
    simplified: Map<DimId, Simplified>,
    /// The quotients that are exact in every successful run, with dividend and divisor.
    exact: Map<DimId, (DimId, DimId)>,
}

/// The simpler form of a dim under a number of equations.
#[derive(Clone, Copy, Debug)]
struct Simplified {
    dim: DimId,
    decided: usize,
}

impl Default for KnownConditions {
    fn default() -> Self {
        Self {
            domain: Domain::nonempty(),
            extents: Domain::extents(),
            decided: 0,
            simplified: Map::default(),
            exact: Map::default(),
        }
    }
}

impl KnownConditions {
    /// Decides the equations that were added.
    fn update(&mut self, dims: &mut Dims, frame: &Frame<'_>) {
        if self.decided == 0 {
            for dim in dims.non_negative_facts().to_vec() {
                if !dims.is_anonymous(dim) {
                    self.assume(dims, Condition::new(Relation::AtMost, DimId::ZERO, dim));
                }
            }
        }
        let last = frame.equations.len().min(MAX_DECIDED);
        for equation in frame.equations.get(self.decided..last).unwrap_or_default() {
            let condition = equation.condition();
            // That two symbols broadcast restricts neither of them.
            let are_symbols =
                dims.as_symbol(condition.left).is_some() && dims.as_symbol(condition.right).is_some();
            if [condition.left, condition.right].iter().any(|dim| dims.is_anonymous(*dim))
                || (condition.relation == Relation::Broadcast && are_symbols)
                || !frame.runs_with_body(equation.step)
            {
                continue;
            }
            match dims.examine(condition, &self.domain) {
                Verdict::Always | Verdict::Never => {}
                Verdict::Restricted { conditions } => {
                    conditions.into_iter().for_each(|simple| self.assume(dims, simple));
                }
                Verdict::Equals { symbol, value } => {
                    self.assume(dims, Condition::new(Relation::Equal, symbol, value));
                }
                Verdict::Only { .. } => self.assume(dims, condition),
                Verdict::Undecided if condition.relation == Relation::AtMost => {
                    self.assume(dims, condition);
                }
                Verdict::Undecided => {}
            }
        }
        self.decided = self.decided.max(last);
    }

    fn assume(&mut self, dims: &mut Dims, condition: Condition) {
        self.domain.assume(dims, condition);
        // Their values would replace symbols that callers may leave apart.
        if condition.relation != Relation::Equal {
            self.extents.assume(dims, condition);
        }
    }
}

/// Simplifies the extents of a solved body under the conditions of all its nodes, so that they do not depend
/// on the order of independent nodes.
pub(crate) fn simplify_shapes(core: &mut Core<'_>, frame: &mut Frame<'_>) {
    if frame.equations.is_empty() {
        return;
    }
    let mut known: Option<KnownConditions> = None;
    let mut simplified: HashMap<DimId, DimId> = HashMap::new();
    for at in 0..frame.slots.len() {
        let Some(shape) = frame.slots[at].shape else { continue };
        let mut dims = core.resolved(shape);
        let mut is_changed = false;
        for dim in &mut dims {
            if !core.dims.has_minimum(*dim)
                || core.dims.is_anonymous(*dim)
                || core.broadcast_of(*dim).is_some()
                || (simplified.len() >= MAX_SIMPLIFIED && !simplified.contains_key(dim))
            {
                continue;
            }
            let known = known.get_or_insert_with(|| {
                let mut known = std::mem::take(&mut frame.rare.known);
                known.update(&mut core.dims, frame);
                known
            });
            let simple = *simplified.entry(*dim).or_insert_with(|| {
                let simple = core.dims.simplify(*dim, &known.extents);
                if core.dims.is_anonymous(simple) { *dim } else { core.dims.simpler(*dim, simple) }
            });
            is_changed |= simple != *dim;
            *dim = simple;
        }
        if is_changed {
            frame.slots[at].shape = Some(core.shapes.intern(&dims));
        }
    }
    if let Some(known) = known {
        frame.rare.known = known;
    }
}

impl RuleCx<'_, '_> {
    /// Evaluates a function of the conditions so far.
    fn in_runs<T>(&mut self, evaluate: impl FnOnce(&mut Dims, &mut KnownConditions) -> T) -> T {
        let uncached = self.uncached();
        let mut known = std::mem::take(&mut uncached.frame.rare.known);
        known.update(&mut uncached.core.dims, uncached.frame);
        let result = evaluate(&mut uncached.core.dims, &mut known);
        uncached.frame.rare.known = known;
        result
    }

    /// Whether a dim is at least 1 in every successful run.
    pub fn is_positive_in_runs(&mut self, dim: DimId) -> bool {
        let positive = Condition::new(Relation::AtMost, DimId::ONE, dim);
        self.dims().examine(positive, &Domain::nonempty()) == Verdict::Always
            || !self.frame().equations.is_empty()
                && self.in_runs(|dims, known| dims.examine(positive, &known.domain) == Verdict::Always)
    }

    /// As [`Self::is_positive_in_runs`], with symbols from 0 on.
    pub fn is_positive_by_conditions(&mut self, dim: DimId) -> bool {
        let positive = Condition::new(Relation::AtMost, DimId::ONE, dim);
        let mut domain = Domain::extents();
        if self.dims().examine(positive, &domain) == Verdict::Always {
            return true;
        }
        let frame = self.frame();
        let bounds = frame.equations.iter().filter(|equation| equation.need == Relation::AtMost);
        let bounds: Vec<Condition> = bounds
            .filter(|equation| frame.runs_with_body(equation.step))
            .map(Equation::condition)
            .take(MAX_BOUNDS)
            .collect();
        if bounds.is_empty() {
            return false;
        }
        let dims = self.dims();
        for condition in bounds {
            if !dims.is_anonymous(condition.left) && !dims.is_anonymous(condition.right) {
                domain.assume(dims, condition);
            }
        }
        dims.examine(positive, &domain) == Verdict::Always
    }

    /// Whether a condition holds in no successful run in which an extent is 0.
    pub fn is_never_if_zero(&mut self, extent: DimId, condition: Condition) -> bool {
        if [extent, condition.left, condition.right].iter().any(|dim| self.dims().is_anonymous(*dim)) {
            return false;
        }
        self.in_runs(|dims, known| {
            let mut symbols = symbols_of(dims, condition);
            symbols.extend(dims.symbols_of(extent));
            let mut domain = known.domain.connected_part(dims, &symbols);
            domain.assume(dims, Condition::new(Relation::AtMost, extent, DimId::ZERO));
            dims.never(condition, &domain)
        })
    }

    /// The extents without minima that the conditions so far decide. The form of a dim does not change once
    /// it is simpler.
    pub(super) fn simplify_in_runs(&mut self, extents: &[DimId]) -> DimVec {
        let mut simple = DimVec::from_slice(extents);
        for dim in &mut simple {
            let dims = self.dims();
            // Messages and claims name the operands of a broadcast.
            if !dims.has_minimum(*dim)
                || dims.is_anonymous(*dim)
                || self.tables().broadcast_of(*dim).is_some()
                || self.frame().equations.is_empty()
                || self.frame().rare.known.simplified.len() >= MAX_SIMPLIFIED
            {
                continue;
            }
            *dim = self.in_runs(|dims, known| {
                let decided = known.decided;
                if !dims.symbols_of(*dim).iter().any(|symbol| known.extents.restricts(*symbol)) {
                    return *dim;
                }
                match known.simplified.get(dim) {
                    Some(found) if found.dim != *dim || found.decided == decided => found.dim,
                    Some(_) | None => {
                        let shorter = dims.simplify(*dim, &known.extents);
                        let shorter =
                            if dims.is_anonymous(shorter) { *dim } else { dims.simpler(*dim, shorter) };
                        known.simplified.insert(*dim, Simplified { dim: shorter, decided });
                        shorter
                    }
                }
            });
        }
        simple
    }

    /// Records that the division of one extent by another one is exact in every successful run.
    pub fn note_exact(&mut self, quotient: DimId, dividend: DimId, divisor: DimId) {
        if !self.is_conditional() {
            self.frame().rare.known.exact.insert(quotient, (dividend, divisor));
        }
    }

    /// The number of elements of a shape. With an extent that is an exact quotient of a number of elements,
    /// it is that number: `[b*h//(4*m), 4, m]` has `b*h` elements.
    pub fn element_count(&mut self, shape: &[DimId]) -> DimId {
        let is_quotient = |cx: &mut Self, dim: DimId| {
            cx.dims().has_floor(dim) && cx.frame().rare.known.exact.contains_key(&dim)
        };
        if let Some(at) = shape.iter().position(|dim| is_quotient(self, *dim))
            && let Some((dividend, divisor)) = self.frame().rare.known.exact.get(&shape[at]).copied()
        {
            let others: DimVec = [&shape[..at], &shape[at + 1..]].concat().into();
            let others = self.dims().product(&others);
            if let Some(times) = self.dims().div_exact(others, divisor) {
                return self.dims().mul(dividend, times);
            }
        }
        self.dims().product(shape)
    }
}
