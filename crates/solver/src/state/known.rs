//! The conditions of earlier nodes, which every successful run satisfies.
//!
//! A convolution may need `height >= 2`, and a reshape that 7 divides `width`. Later nodes run only if these
//! hold. [`crate::rule::runs`] has the conclusions that rules draw from them. Symbols count as at least 1.
//!
//! Conditions are decided when a rule first asks for a conclusion, in the order of nodes, each under those
//! before it. At most [`MAX_DECIDED`] are used.

use std::collections::HashMap;

use typeloom_dim::{Condition, DimId, Dims, Domain, Relation, Verdict};

use crate::map::Map;
use crate::state::Core;
use crate::state::frame::Frame;

/// Maximum number of conditions that are used.
const MAX_DECIDED: usize = 1024;
/// Maximum number of dims that are simplified.
const MAX_SIMPLIFIED: usize = 1024;

/// The conditions of the nodes of a body so far.
#[derive(Debug)]
pub(crate) struct KnownConditions {
    pub(crate) domain: Domain,
    /// The conditions over symbols from 0 on: types hold for empty tensors too.
    extents: Domain,
    /// The number of equations of the body that `domain` includes.
    decided: usize,
    /// The simpler forms of dims.
    simplified: Map<DimId, Simplified>,
    /// The quotients that are exact in every successful run, with dividend and divisor.
    pub(crate) exact: Map<DimId, (DimId, DimId)>,
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
    pub(crate) fn update(&mut self, dims: &mut Dims, frame: &Frame<'_>) {
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

    /// Whether no further dim is simplified.
    pub(crate) fn is_full(&self) -> bool {
        self.simplified.len() >= MAX_SIMPLIFIED
    }

    /// The simpler form of a dim that the conditions so far decide, or the dim. The form of a dim does not
    /// change once it is simpler.
    pub(crate) fn simplify(&mut self, dims: &mut Dims, dim: DimId) -> DimId {
        let decided = self.decided;
        if !dims.symbols_of(dim).iter().any(|symbol| self.extents.restricts(*symbol)) {
            return dim;
        }
        match self.simplified.get(&dim) {
            Some(found) if found.dim != dim || found.decided == decided => found.dim,
            Some(_) | None => {
                let shorter = dims.simplify(dim, &self.extents);
                let shorter = if dims.is_anonymous(shorter) { dim } else { dims.simpler(dim, shorter) };
                self.simplified.insert(dim, Simplified { dim: shorter, decided });
                shorter
            }
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
