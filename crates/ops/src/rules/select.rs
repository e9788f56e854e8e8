//! Operators whose output depends on which elements there are: NonZero, Compress, Unique; and OneHot.

use typeloom_solver::dim::{Decision, DimId};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{DimVec, Failure, Ints, Rule, RuleCx};

use super::Entry;
use super::common::{Source, require_extent, single, unknown_extent};
use super::items::{Items, MOST, strides};

/// One row of positions for each axis of the input, one column for each element that is not zero.
/// Source: NonZero, `Y`.
const NON_ZERO: Rule = Rule { name: "nonzero.positions", run: non_zero };

/// As many slices along `axis`, or elements, as the condition is true. Source: Compress, `condition`.
const COMPRESS: Rule = Rule { name: "compress.condition", run: compress };

/// As many slices along `axis`, or elements, as are different; as many first positions and counts; and for
/// each slice of the input which one it is. Source: Unique, outputs.
const UNIQUE: Rule = Rule { name: "unique.counts", run: unique };

/// An axis of `depth` elements appears at `axis` of the output. Source: OneHot, `depth` and `axis`.
const ONE_HOT: Rule = Rule { name: "onehot.depth", run: one_hot };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Compress", &[COMPRESS]),
    Entry::of("NonZero", &[NON_ZERO]),
    Entry::of("OneHot", &[ONE_HOT]),
    Entry::of("Unique", &[UNIQUE]),
];

/// Which elements are not zero, if that is known of each.
fn nonzero_elements(cx: &mut RuleCx<'_, '_>, items: &Items) -> Option<Vec<usize>> {
    let zero = cx.dims().constant(0);
    let mut found = Vec::new();
    for at in 0..items.len() {
        let nonzero = match items {
            Items::Ints(ints) => match cx.dims().compare(ints.items[at], zero) {
                Decision::Equal => false,
                Decision::Different => true,
                Decision::Undecided => return None,
            },
            Items::Floats(floats) => floats.items[at] != 0.0,
        };
        if nonzero {
            found.push(at);
        }
    }
    Some(found)
}

fn non_zero(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let Some(rank) = cx.rank(In(0)) else { return cx.set_rank(Out(0), 2) };
    if rank == 0 {
        // Whether a single element has one position or none is not settled.
        return cx.set_rank(Out(0), 2);
    }
    let rows = cx.dims().constant(i64::try_from(rank).unwrap_or(i64::MAX));
    let known = Items::at(cx, In(0)).and_then(|items| Some((nonzero_elements(cx, &items)?, items)));
    let Some((found, items)) = known else {
        let columns = unknown_extent(cx, Out(0), 1);
        return cx.set_shape(Out(0), &[rows, columns]);
    };
    let columns = cx.dims().constant(i64::try_from(found.len()).unwrap_or(i64::MAX));
    cx.set_shape(Out(0), &[rows, columns])?;
    let (shape, strides) = (items.shape(), strides(items.shape()));
    if shape.len() == rank && rank * found.len() <= MOST {
        let mut positions = Vec::with_capacity(rank * found.len());
        for axis in 0..rank {
            for at in &found {
                let index = at / strides[axis] % shape[axis];
                positions.push(cx.dims().constant(i64::try_from(index).unwrap_or(i64::MAX)));
            }
        }
        cx.set_ints(Out(0), Ints { shape: Box::new([rank, found.len()]), items: positions.into() });
    }
    Ok(())
}

fn compress(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    cx.require_rank(In(0), 1..)?;
    cx.require_rank(In(1), 1..=1)?;
    let picked = Items::at(cx, In(1)).and_then(|condition| nonzero_elements(cx, &condition));
    let Some(axis) = cx.attr_int("axis")? else {
        let count = picked_count(cx, picked.as_deref(), 0);
        return cx.set_shape(Out(0), &[count]);
    };
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis("axis", axis, shape.len())?;
    if let Some(last) = picked.as_ref().and_then(|picked| picked.last())
        && let Some(extent) = cx.const_dim(shape[axis])
        && usize::try_from(extent).is_ok_and(|extent| *last >= extent)
    {
        let message = format!("picks element {last} of axis {axis}, which has {extent}");
        return Err(Failure::value(In(1), message));
    }
    shape[axis] = picked_count(cx, picked.as_deref(), axis);
    cx.set_shape(Out(0), &shape)
}

fn picked_count(cx: &mut RuleCx<'_, '_>, picked: Option<&[usize]>, axis: usize) -> DimId {
    match picked {
        Some(picked) => cx.dims().constant(i64::try_from(picked.len()).unwrap_or(i64::MAX)),
        None => unknown_extent(cx, Out(0), axis),
    }
}

fn unique(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    if let Some(sorted) = cx.attr_int("sorted")?
        && !(0..=1).contains(&sorted)
    {
        return Err(Failure::attribute("sorted", format!("is {sorted}, and must be 0 or 1")));
    }
    let input = cx.shape(In(0));
    let Some(axis) = cx.attr_int("axis")? else {
        let count = match different_elements(cx) {
            Some(count) => count,
            None => unique_count(cx, 0),
        };
        cx.set_shape(Out(0), &[count])?;
        let all = match &input {
            Some(shape) => cx.dims().product(shape),
            None => unknown_extent(cx, Out(2), 0),
        };
        return unique_indices(cx, count, all);
    };
    let Some(mut shape) = input else {
        let (count, all) = (unique_count(cx, usize::MAX), unknown_extent(cx, Out(2), 0));
        return unique_indices(cx, count, all);
    };
    let axis = cx.axis("axis", axis, shape.len())?;
    let (count, all) = (unique_count(cx, axis), shape[axis]);
    shape[axis] = count;
    cx.set_shape(Out(0), &shape)?;
    unique_indices(cx, count, all)
}

/// How many different elements a constant has.
fn different_elements(cx: &mut RuleCx<'_, '_>) -> Option<DimId> {
    let mut items = cx.const_ints(In(0))?;
    items.sort_unstable();
    items.dedup();
    Some(cx.dims().constant(i64::try_from(items.len()).ok()?))
}

/// How many different slices there are: one unknown number in all outputs that have it.
fn unique_count(cx: &mut RuleCx<'_, '_>, axis: usize) -> DimId {
    for (port, axis) in [(Out(0), axis), (Out(1), 0), (Out(3), 0)] {
        if let Some(known) = cx.shape(port).and_then(|shape| shape.get(axis).copied()) {
            return known;
        }
    }
    cx.fresh()
}

fn unique_indices(cx: &mut RuleCx<'_, '_>, count: DimId, all: DimId) -> Result<(), Failure> {
    cx.set_shape(Out(1), &[count])?;
    cx.set_shape(Out(2), &[all])?;
    cx.set_shape(Out(3), &[count])
}

fn one_hot(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let depth = depth(cx)?;
    cx.require_rank(In(2), 1..=1)?;
    if let Some(values) = cx.shape(In(2)) {
        let two = cx.dims().constant(2);
        cx.require_equal((In(2), 0, values[0]), two, "are the off value and the on value")?;
    }
    let Some(indices) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.attr_int("axis")?.unwrap_or(-1);
    let axis = cx.axis("axis", axis, indices.len() + 1)?;
    let depth = match depth {
        Some(depth) => depth,
        None => unknown_extent(cx, Out(0), axis),
    };
    let shape: DimVec = indices[..axis].iter().chain([&depth]).chain(&indices[axis..]).copied().collect();
    cx.set_shape(Out(0), &shape)
}

/// The depth, which may be a float.
fn depth(cx: &mut RuleCx<'_, '_>) -> Result<Option<DimId>, Failure> {
    let depth = match single(cx, In(1))? {
        Some(depth) => Some(depth),
        None => {
            let number = cx.floats(In(1)).and_then(|floats| floats.items.first().copied());
            let whole = number.map(f64::trunc).filter(|number| number.abs() < 2_147_483_648.0);
            #[expect(clippy::cast_possible_truncation, reason = "a whole number of 31 bits, see above")]
            let whole = whole.map(|number| number as i64);
            whole.map(|number| cx.dims().constant(number))
        }
    };
    match depth {
        Some(depth) => require_extent(cx, Source::Input(In(1)), depth).map(Some),
        None => Ok(None),
    }
}
