//! The state that all parts of a solve share: the tables of types, dims, shapes and constants.
//!
//! A [`Frame`] is the solve of one body, and [`Core`] is the state that its frames and passes have in common.
//! A model that calls a function with two types has three frames and one core, so a symbol of the main graph
//! is the same [`DimId`] in a call:
//!
//! ```text
//! g (float[N, 4] x, int64[N] i) => (y, j) { y = my.twice (x)  j = my.twice (i) }
//!
//! frames    g, twice for float[N, 4], twice for int64[N]
//! core      the symbol N, the shapes [N, 4] and [N], the types, one memo
//! ```
//!
//! Equal objects have one id in their table (hash-consing), so types, shapes and constants are compared by
//! number, and a slot of a frame is a few words. [`Core::meet_dim`] is the central operation: of two extents
//! for one axis, it keeps the more precise one, and binds an anonymous extent to the other.
//!
//! **Invariant:** [`Core::meet_dim`] never makes an extent less precise. If neither of two undecided extents
//! is more precise, the older one stays, which is necessary for termination.
//!
//! **Invariant:** a rule that reads or writes state beyond the key of the memo calls
//! [`Core::mark_uncacheable`].
//!
//! **Invariant:** the broadcast of two extents that may both be 1 is one unknown for the pair, in either
//! order.
//!
//! **Limits:** only constants of at most [`MAX_ELEMENTS`] elements are decoded. A tensor in another file is
//! requested from the caller only if it is that small.

pub(crate) mod affine;
pub(crate) mod assumptions;
pub(crate) mod attributes;
pub(crate) mod cases;
pub(crate) mod claim;
pub(crate) mod constants;
pub(crate) mod declarations;
pub(crate) mod fallback;
pub(crate) mod frame;
pub(crate) mod known;
pub(crate) mod loops;
pub(crate) mod memo;
pub(crate) mod parts;
pub(crate) mod rare;
pub(crate) mod recovery;
pub(crate) mod side_data;
pub(crate) mod trace;

use std::sync::Arc;

use typeloom_dim::shape::{ShapeId, Shapes};
use typeloom_dim::{Bind, Decision, DimId, Dims};
use typeloom_onnx::DecodeError;
use typeloom_onnx::view::TensorHeader;

use crate::elem::Elem;
use crate::map::Map;
use crate::mode::{Detail, FollowedValues};
use crate::program::{StepId, ValueId};
use crate::state::assumptions::Assumptions;
use crate::state::attributes::NodeAttributes;
use crate::state::cases::Cases;
use crate::state::claim::Trust;
use crate::state::constants::{Constants, Data, Extents, Floats, Ints, Items, MAX_ELEMENTS, is_float};
use crate::state::frame::{Frame, Slot};
use crate::state::memo::Memo;
use crate::state::recovery::Recovery;
use crate::state::side_data::{ExternalTensor, SideData};
use crate::state::trace::Trace;
use crate::ty::{Ty, Types};
use crate::universe::Universe;

/// The assumptions about kinds that a solve has made beyond its proofs, see [`crate::engine::relation`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Assumed {
    /// None.
    #[default]
    Nothing,
    /// A value that shares its elements with a tensor is a tensor.
    Tensors,
    /// As `Tensors`; of the remaining values, one that shares its elements with a scalar is a scalar.
    Scalars,
}

/// Whether the data of tensors must be complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Payloads {
    /// In a model: the length of the data is checked.
    #[default]
    Required,
    /// In a fragment of a model, which is built without the data of large tensors.
    Optional,
}

/// The tables of a solve.
pub(crate) struct Core<'a> {
    pub(crate) types: Types,
    pub(crate) dims: Box<Dims>,
    pub(crate) shapes: Shapes,
    pub(crate) constants: Constants,
    /// The memo of rule applications; none for a solve that looks none up.
    pub(crate) memo: Option<Box<Memo<'a>>>,
    pub(crate) trace: Option<Box<Trace>>,
    pub(crate) assumed: Assumed,
    /// Whether readers of a value see its declared shape.
    pub(crate) trust: Trust,
    pub(crate) payloads: Payloads,
    /// The values that decide shapes.
    pub(crate) values: FollowedValues,
    /// The source of tensors in other files.
    pub(crate) side_data: Option<Arc<dyn SideData>>,
    /// The results that the caller uses.
    pub(crate) detail: Detail,
    /// The values that the caller assumes for symbols.
    pub(crate) assumptions: Assumptions,
    /// The conditions that are assumed or open.
    pub(crate) cases: Cases,
    /// Decoded declared types, by their bytes.
    pub(crate) declared: Map<&'a [u8], (Ty, Option<ShapeId>)>,
    /// Whether a declared dim has a placeholder as its name.
    pub(crate) has_placeholders: bool,
    /// Information about nodes in error.
    pub(crate) recovery: Recovery,
    /// The attributes of the node whose rules run.
    pub(crate) attributes: NodeAttributes<'a>,
    broadcasts: Map<(DimId, DimId), DimId>,
    broadcast_of: Map<DimId, (DimId, DimId)>,
}

impl<'a> Core<'a> {
    pub(crate) fn new(universe: Arc<Universe>) -> Box<Self> {
        Box::new(Self {
            types: Types::new(universe),
            dims: Box::default(),
            shapes: Shapes::default(),
            constants: Constants::default(),
            memo: None,
            trace: None,
            assumed: Assumed::Nothing,
            trust: Trust::Derived,
            payloads: Payloads::Required,
            values: FollowedValues::default(),
            side_data: None,
            detail: Detail::Full,
            assumptions: Assumptions::default(),
            cases: Cases::default(),
            declared: Map::default(),
            has_placeholders: false,
            recovery: Recovery::default(),
            attributes: NodeAttributes::default(),
            broadcasts: Map::default(),
            broadcast_of: Map::default(),
        })
    }

    /// Records that the running application read or wrote something that the key of the memo does not cover.
    #[inline]
    pub(crate) fn mark_uncacheable(&mut self) {
        if let Some(memo) = &mut self.memo {
            memo.mark_uncacheable();
        }
    }

    /// The type in a slot; an empty slot gets a variable.
    pub(crate) fn ty_of(&mut self, slot: &mut Slot) -> Ty {
        *slot.ty.get_or_insert_with(|| self.types.fresh())
    }

    /// The constant that a value holds, if it was decoded.
    pub(crate) fn data_of(&self, frame: &Frame<'a>, value: ValueId) -> Option<&Data> {
        frame.slots[value.index()].data.map(|id| self.constants.get(id))
    }

    /// Sets the constant that a value holds.
    pub(crate) fn set_data(&mut self, frame: &mut Frame<'a>, value: ValueId, data: Data) {
        frame.slots[value.index()].data = Some(self.constants.intern(data));
    }

    /// The broadcast of two extents that may both be 1: an unknown extent, the same one for each call.
    pub(crate) fn broadcast_unknown(&mut self, a: DimId, b: DimId) -> DimId {
        let pair = (a.min(b), a.max(b));
        let dims = &mut self.dims;
        let broadcast_of = &mut self.broadcast_of;
        *self.broadcasts.entry(pair).or_insert_with(|| {
            let dim = dims.fresh();
            broadcast_of.insert(dim, pair);
            dim
        })
    }

    /// Records the broadcast of two extents, for later calls and for reports.
    pub(crate) fn note_broadcast(&mut self, dim: DimId, a: DimId, b: DimId) {
        let pair = (a.min(b), a.max(b));
        self.broadcasts.insert(pair, dim);
        if dim != a && dim != b {
            self.broadcast_of.entry(dim).or_insert(pair);
        }
    }

    /// The broadcast of two extents, if it was derived before.
    pub(crate) fn known_broadcast(&mut self, a: DimId, b: DimId) -> Option<DimId> {
        let pair = (a.min(b), a.max(b));
        self.broadcasts.get(&pair).copied()
    }

    /// The two extents that a dim is the broadcast of.
    pub(crate) fn broadcast_of(&self, dim: DimId) -> Option<(DimId, DimId)> {
        self.broadcast_of.get(&dim).copied()
    }

    /// Meet of two dims for one axis: the more precise one, or `None` on conflict.
    ///
    /// If neither is more precise, the result is `old`, so that two sources of an undecided extent do not
    /// overwrite each other forever. A variable is bound to the other dim, unless `conditional`: then the
    /// code that equates them may never run.
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

/// A list of integers as dims.
struct ConstantDims<'d> {
    dims: &'d mut Dims,
    items: Items<DimId>,
}

impl Extend<i64> for ConstantDims<'_> {
    fn extend<I: IntoIterator<Item = i64>>(&mut self, numbers: I) {
        self.items.extend(numbers.into_iter().map(|number| self.dims.constant(number)));
    }
}

impl Core<'_> {
    /// The bytes of a tensor in another file.
    fn side_bytes(&self, header: &TensorHeader<'_>) -> Option<Vec<u8>> {
        let source = self.side_data.as_ref().filter(|_| header.is_external())?;
        source.bytes(&ExternalTensor::of(header.view)?)
    }

    /// Decodes the constant in a tensor, if it is small enough to follow.
    pub(crate) fn read_tensor(&mut self, header: &TensorHeader<'_>) -> Result<Option<Data>, DecodeError> {
        let mut shape = Extents::new();
        let mut count = Some(1_usize);
        for dim in &header.dims {
            let Ok(extent) = usize::try_from(*dim) else { return Ok(None) };
            count = count.and_then(|count| count.checked_mul(extent));
            shape.push(extent);
        }
        if count.is_none_or(|count| count > MAX_ELEMENTS) {
            return Ok(None);
        }
        let side_bytes = self.side_bytes(header);
        let side_header = side_bytes.as_deref().map(|bytes| header.with_raw_data(bytes));
        let header = side_header.as_ref().unwrap_or(header);
        if Elem::from_onnx(header.data_type).is_some_and(is_float) {
            let items = header.collect_floats(MAX_ELEMENTS)?;
            return Ok(items.map(|items| Data::Floats(Arc::new(Floats { shape, items }))));
        }
        let mut list = ConstantDims { dims: &mut self.dims, items: Items::new() };
        if !header.extend_ints(MAX_ELEMENTS, &mut list)? {
            return Ok(None);
        }
        Ok(Some(Data::Ints(Arc::new(Ints { shape, items: list.items }))))
    }
}
