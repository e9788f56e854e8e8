//! What every part of one solve shares: the tables of types, dims, shapes and constants.

pub(crate) mod assumptions;
pub(crate) mod cases;
pub(crate) mod claim;
pub(crate) mod constants;
pub(crate) mod declarations;
pub(crate) mod frame;
pub(crate) mod limit;
pub(crate) mod loops;
pub(crate) mod memo;
pub(crate) mod recovery;
pub(crate) mod trace;

use std::sync::Arc;

use crate::dim::shape::{ShapeId, Shapes};
use crate::dim::{Bind, Decision, DimId, Dims};
use crate::map::Map;
use crate::program::{StepId, ValueId};
use crate::state::assumptions::Assumptions;
use crate::state::cases::Cases;
use crate::state::claim::Trust;
use crate::state::constants::{Constants, Data};
use crate::state::frame::{Frame, Slot};
use crate::state::memo::Memo;
use crate::state::recovery::Recovery;
use crate::state::trace::Trace;
use crate::ty::{Ty, Types};
use crate::universe::Universe;

/// How far a solve has gone beyond what it can prove, see [`crate::engine::relation`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Assumed {
    /// Not at all.
    #[default]
    Nothing,
    /// What shares its elements with a tensor is taken for a tensor.
    Tensors,
    /// What is left and shares its elements with a scalar is taken for a scalar.
    Scalars,
}

/// Whether tensors have to come with their data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Payloads {
    /// In a model: their length is checked.
    #[default]
    Required,
    /// In a fragment, which is made without the data of large tensors.
    Optional,
}

/// The tables.
pub(crate) struct Core<'a> {
    pub(crate) types: Types,
    pub(crate) dims: Dims,
    pub(crate) shapes: Shapes,
    pub(crate) constants: Constants,
    pub(crate) memo: Memo<'a>,
    pub(crate) trace: Option<Trace>,
    pub(crate) assumed: Assumed,
    /// Whether readers of a value see what is declared of it.
    pub(crate) trust: Trust,
    pub(crate) payloads: Payloads,
    /// What the caller says of symbols.
    pub(crate) assumptions: Assumptions,
    /// The conditions that are assumed or open.
    pub(crate) cases: Cases,
    /// The declared types that were read before, by their bytes.
    pub(crate) declared: Map<&'a [u8], (Ty, Option<ShapeId>)>,
    /// Whether a declared dim was named by a mark for an unknown extent.
    pub(crate) has_placeholders: bool,
    /// What is kept of nodes in error.
    pub(crate) recovery: Recovery,
    broadcasts: Map<(DimId, DimId), DimId>,
    broadcast_of: Map<DimId, (DimId, DimId)>,
}

impl<'a> Core<'a> {
    pub(crate) fn new(universe: Arc<Universe>) -> Self {
        Self {
            types: Types::new(universe),
            dims: Dims::default(),
            shapes: Shapes::default(),
            constants: Constants::default(),
            memo: Memo::default(),
            trace: None,
            assumed: Assumed::Nothing,
            trust: Trust::Derived,
            payloads: Payloads::Required,
            assumptions: Assumptions::default(),
            cases: Cases::default(),
            declared: Map::default(),
            has_placeholders: false,
            recovery: Recovery::default(),
            broadcasts: Map::default(),
            broadcast_of: Map::default(),
        }
    }

    /// The type in a slot; an empty slot gets a variable.
    pub(crate) fn ty_of(&mut self, slot: &mut Slot) -> Ty {
        *slot.ty.get_or_insert_with(|| self.types.fresh())
    }

    /// The constant that a value holds, as far as somebody has looked.
    pub(crate) fn data_of(&self, frame: &Frame<'a>, value: ValueId) -> Option<&Data> {
        frame.slots[value.index()].data.map(|id| self.constants.get(id))
    }

    /// Records the constant that a value holds.
    pub(crate) fn set_data(&mut self, frame: &mut Frame<'a>, value: ValueId, data: Data) {
        frame.slots[value.index()].data = Some(self.constants.intern(data));
    }

    /// What two extents broadcast to when either may be 1: unknown, but the same each time it is asked.
    pub(crate) fn broadcast_unknown(&mut self, a: DimId, b: DimId) -> DimId {
        let pair = if a < b { (a, b) } else { (b, a) };
        let dims = &mut self.dims;
        let broadcast_of = &mut self.broadcast_of;
        *self.broadcasts.entry(pair).or_insert_with(|| {
            let dim = dims.fresh();
            broadcast_of.insert(dim, pair);
            dim
        })
    }

    /// Notes the broadcast of two extents: it is derived once, and reports show the two.
    pub(crate) fn note_broadcast(&mut self, dim: DimId, a: DimId, b: DimId) {
        let pair = if a < b { (a, b) } else { (b, a) };
        self.broadcasts.insert(pair, dim);
        if dim != a && dim != b {
            self.broadcast_of.entry(dim).or_insert(pair);
        }
    }

    /// The broadcast of two extents, if it was derived before.
    pub(crate) fn known_broadcast(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        let pair = if a < b { (a, b) } else { (b, a) };
        self.broadcasts.get(&pair).copied()
    }

    /// The two extents that a dim is the broadcast of.
    pub(crate) fn broadcast_of(&self, dim: DimId) -> Option<(DimId, DimId)> {
        self.broadcast_of.get(&dim).copied()
    }

    /// One extent said twice: the better known of the two, or `None` when they contradict.
    ///
    /// Where neither says more, the first stays, so that two sources of an extent that cannot be decided
    /// do not overwrite one another for ever. Extents that nobody named are set to the other one,
    /// unless the code that says so may never run.
    pub(crate) fn meet_dim(&mut self, old: DimId, new: DimId, conditional: bool) -> Option<DimId> {
        let (old, new) = (self.dims.resolve(old), self.dims.resolve(new));
        match self.dims.compare(old, new) {
            Decision::Equal => Some(old),
            Decision::Different => None,
            Decision::Undecided => {
                let unknown = |dim| match self.dims.as_constant(dim) {
                    Some(_) => 0,
                    None if !self.dims.is_anonymous(dim) => 1,
                    None if !self.dims.is_variable(dim) => 2,
                    None => 3,
                };
                let (keep, drop) = if unknown(new) < unknown(old) { (new, old) } else { (old, new) };
                if !conditional && self.dims.is_variable(drop) {
                    return match self.dims.bind(drop, keep) {
                        Bind::Bound | Bind::Same => Some(self.dims.resolve(keep)),
                        Bind::Negative => None,
                        Bind::Occurs | Bind::Rigid => Some(keep),
                    };
                }
                Some(keep)
            }
        }
    }

    pub(crate) fn trace_equal(
        &mut self,
        frame: u32,
        a: ValueId,
        b: ValueId,
        step: StepId,
        rule: &'static str,
    ) {
        if let Some(trace) = &mut self.trace {
            trace.equal(frame, a, b, step, rule);
        }
    }

    pub(crate) fn trace_given(&mut self, frame: u32, value: ValueId, cause: trace::Cause) {
        if let Some(trace) = &mut self.trace {
            trace.given(frame, value, cause);
        }
    }

    pub(crate) fn trace_fixed(&mut self, frame: u32, value: ValueId, step: StepId, rule: &'static str) {
        if let Some(trace) = &mut self.trace {
            trace.fixed(frame, value, step, rule);
        }
    }
}
