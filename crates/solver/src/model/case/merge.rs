//! Join of the types of a value in all cases.
//!
//! An extent on which all cases agree stays, also if they write it differently: `k` of the plain pass is 1 in
//! the case `k = 1`. Other extents are unknown, and a value whose rank depends on the case has no shape. The
//! lost precision is kept as a short list of alternatives.

use std::collections::BTreeMap;

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId, Dims};

use super::Leaf;
use super::split::compare_in;
use crate::program::{Origin, ValueId};
use crate::solution::Type;
use crate::state::Core;
use crate::state::frame::Frame;
use crate::ty::Types;

/// Maximum number of alternatives of one value; with more, the type is unknown.
const MAX_ALTERNATIVES: usize = 4;

/// The alternative types of values whose shape depends on the case.
pub(crate) type Alternatives = BTreeMap<ValueId, Vec<Type>>;

/// Writes the joined shapes into the frame of the plain pass.
pub(crate) fn merge<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    leaves: &mut [&mut Leaf<'a>],
) -> Alternatives {
    let shapes: Vec<Vec<Known>> = leaves.iter_mut().map(|leaf| shapes(core, leaf)).collect();
    let mut alternatives = Alternatives::new();
    for value in frame.body.values() {
        // Conditions of the graph on an input are not part of its type.
        let record = frame.body.value(value);
        if record.graph == frame.body.root() && !matches!(record.origin, Origin::Step(_)) {
            continue;
        }
        let live = shapes.iter().enumerate().filter_map(|(at, shapes)| match &shapes[value.index()] {
            Known::Shape(shape) => Some((at, Some(shape))),
            Known::Unknown => Some((at, None)),
            Known::Absent => None,
        });
        let live: Vec<(usize, Option<&DimVec>)> = live.collect();
        let plain = plain_shape(core, frame, value);
        if live.is_empty() || live.iter().all(|(_, shape)| *shape == plain.as_ref()) {
            continue;
        }
        let Some(known) =
            live.iter().map(|(at, shape)| shape.map(|shape| (*at, shape))).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let first = known[0].1;
        let merged = if known.iter().all(|(_, shape)| shape.len() == first.len()) {
            let plain = plain.filter(|plain| plain.len() == first.len());
            let axes = (0..first.len()).map(|axis| {
                let plain = plain.as_ref().map(|plain| plain[axis]);
                merged_dim(&mut core.dims, leaves, &known, axis, plain)
            });
            Some(axes.collect::<DimVec>())
        } else {
            None
        };
        let open = |dims: &Dims| {
            merged.as_ref().is_none_or(|shape| {
                shape.iter().enumerate().any(|(axis, dim)| {
                    dims.is_anonymous(*dim) && known.iter().any(|(_, shape)| !dims.is_anonymous(shape[axis]))
                })
            })
        };
        if open(&core.dims)
            && let Some(types) = alternatives_of(core, frame, value, &known)
        {
            alternatives.insert(value, types);
        }
        frame.slots[value.index()].shape = merged.map(|shape| core.shapes.intern(&shape));
    }
    alternatives
}

/// The knowledge of a case about a value.
enum Known {
    Shape(DimVec),
    Unknown,
    /// The value is not computed in the case, or is in error.
    Absent,
}

fn shapes<'a>(core: &mut Core<'a>, leaf: &mut Leaf<'a>) -> Vec<Known> {
    let frame = &leaf.frame;
    let known = |value: ValueId| {
        let slot = frame.slots[value.index()];
        if slot.ty == Some(Types::ERROR) || !frame.runs_in(frame.body.value(value).graph) {
            return Known::Absent;
        }
        match slot.shape {
            Some(shape) => {
                Known::Shape(leaf.core.shapes.get(shape).iter().map(|dim| core.dims.resolve(*dim)).collect())
            }
            None => Known::Unknown,
        }
    };
    (0..frame.slots.len()).map(ValueId::new).map(known).collect()
}

fn plain_shape(core: &mut Core<'_>, frame: &Frame<'_>, value: ValueId) -> Option<DimVec> {
    let shape = frame.slots[value.index()].shape?;
    Some(core.resolved(shape))
}

/// The extent of one axis in all cases: that of the plain pass, or of a case if it holds in every case.
fn merged_dim(
    dims: &mut Dims,
    leaves: &[&mut Leaf<'_>],
    known: &[(usize, &DimVec)],
    axis: usize,
    plain: Option<DimId>,
) -> DimId {
    let named = |dims: &Dims, dim: &DimId| !dims.is_anonymous(*dim);
    let candidates: Vec<DimId> =
        plain.into_iter().chain(known.iter().rev().map(|(_, shape)| shape[axis])).collect();
    for candidate in candidates.into_iter().filter(|dim| named(dims, dim)).collect::<DimVec>() {
        if known
            .iter()
            .all(|(at, shape)| compare_in(dims, leaves[*at], candidate, shape[axis]) == Decision::Equal)
        {
            return candidate;
        }
    }
    match plain {
        Some(plain) if dims.is_anonymous(plain) => plain,
        // The plain pass holds in every case; a proof that a case agrees was not found.
        Some(plain)
            if known.iter().all(|(at, shape)| {
                compare_in(dims, leaves[*at], plain, shape[axis]) != Decision::Different
            }) =>
        {
            plain
        }
        Some(_) | None => dims.fresh(),
    }
}

fn alternatives_of(
    core: &mut Core<'_>,
    frame: &Frame<'_>,
    value: ValueId,
    known: &[(usize, &DimVec)],
) -> Option<Vec<Type>> {
    let mut shapes: Vec<&DimVec> = Vec::new();
    for (_, shape) in known {
        if !shapes.contains(shape) {
            shapes.push(*shape);
        }
    }
    if !(2..=MAX_ALTERNATIVES).contains(&shapes.len()) {
        return None;
    }
    let ty = frame.slots[value.index()].ty;
    let types = shapes.into_iter().map(|shape| {
        let shape = core.shapes.intern(shape);
        core.type_of(ty, Some(shape))
    });
    Some(types.collect())
}
