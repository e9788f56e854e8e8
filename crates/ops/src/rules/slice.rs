//! Slice: a range with a step along some axes.
//!
//! With `d` the extent of an axis, a negative start or end counts from `d`, and both are then cut to
//! `0..=d` where the step is positive, to `-1..=d - 1` where it is negative (a start to `0..=d - 1`). What
//! is left has `max(ceil((end - start) / step), 0)` elements. The same is computed with symbols, as minima
//! and maxima; a start or end whose sign is not known gives an extent that is not known.

use typeloom_solver::dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Failure, Rule, RuleCx};

use super::Entry;
use super::common::{List, list, unknown_extent};
use super::items::{Items, separable, strides, whole};

/// The extents of the sliced axes. Source: Slice, pseudo code of the effective start and end.
const SLICE: Rule = Rule { name: "slice.range", run: slice };

pub(super) const OPERATORS: &[Entry] = &[Entry::of("Slice", &[SLICE])];

/// From here on, exporters mean "to the end".
const ENDLESS: i64 = 0x7fff_ffff;

/// The range along one axis, as far as it is known.
#[derive(Clone, Copy)]
struct Range {
    start: Option<DimId>,
    end: Option<DimId>,
    step: Option<i64>,
}

fn slice(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let (Some(starts), Some(ends)) = (list(cx, "starts", 1)?, list(cx, "ends", 2)?) else { return Ok(()) };
    let (axes, steps) = (list(cx, "axes", 3)?, list(cx, "steps", 4)?);
    let count = lengths(&[Some(&starts), Some(&ends), axes.as_ref(), steps.as_ref()])?;
    let steps = match &steps {
        Some(steps) => steps_of(cx, steps)?,
        None => None,
    };
    let has_steps = cx.has(In(4));
    let Some(shape) = cx.shape(In(0)) else { return Ok(()) };
    let positions = match &axes {
        Some(axes) => match axes.constants(cx) {
            Some(known) => axes.source.axes(&known, shape.len())?,
            None => return cx.set_rank(Out(0), shape.len()),
        },
        None => match count {
            Some(count) if count > shape.len() => {
                return Err(starts
                    .source
                    .fault(format!("lists {count} axes, but the input has {}", shape.len())));
            }
            Some(count) => (0..count).collect(),
            None => return cx.set_rank(Out(0), shape.len()),
        },
    };
    let mut sliced = shape.clone();
    let mut ranges: Vec<Option<Range>> = vec![None; shape.len()];
    for (at, axis) in positions.into_iter().enumerate() {
        let item = |list: &List| list.items.as_ref().and_then(|items| items.get(at).copied());
        let step = match &steps {
            Some(steps) => steps.get(at).copied().flatten(),
            None if has_steps => None,
            None => Some(1),
        };
        let range = Range { start: item(&starts), end: item(&ends), step };
        ranges[axis] = Some(range);
        sliced[axis] = match extent_of(cx, range, shape[axis]) {
            Some(extent) => extent,
            None => unknown_extent(cx, Out(0), axis),
        };
    }
    cx.set_shape(Out(0), &sliced)?;
    slice_value(cx, &ranges);
    Ok(())
}

/// The lists have one length, which is given where one of them knows it.
fn lengths(lists: &[Option<&List>]) -> Result<Option<usize>, Failure> {
    let mut count = None;
    for list in lists.iter().flatten() {
        match (count, list.len) {
            (Some(count), Some(len)) if count != len => {
                return Err(list.source.fault(format!("has {len} items, but starts has {count}")));
            }
            (None, len) => count = len,
            (Some(_), _) => {}
        }
    }
    Ok(count)
}

fn steps_of(cx: &mut RuleCx<'_, '_>, steps: &List) -> Result<Option<Vec<Option<i64>>>, Failure> {
    let Some(items) = &steps.items else { return Ok(None) };
    let known: Vec<Option<i64>> = items.iter().map(|item| cx.const_dim(*item)).collect();
    if known.contains(&Some(0)) {
        return Err(steps.source.fault("has a step of 0"));
    }
    Ok(Some(known))
}

/// A start or end, counted from the beginning and cut to what the axis has; `None` if its sign is not known.
fn cut(cx: &mut RuleCx<'_, '_>, at: DimId, extent: DimId, least: i64, most: DimId) -> Option<DimId> {
    let least = cx.dims().constant(least);
    if let Some(at) = cx.const_dim(at)
        && cx.const_dim(extent).is_none()
    {
        if at >= ENDLESS {
            return Some(most);
        }
        if at <= -ENDLESS {
            return Some(cx.dims().min(least, most));
        }
    }
    let at = match cx.dims().bounds(at) {
        (Some(low), _) if low >= 0 => at,
        (_, Some(high)) if high < 0 => cx.dims().add(at, extent),
        _ => return None,
    };
    let at = cx.dims().max(at, least);
    Some(cx.dims().min(at, most))
}

/// The first position and the one behind the last, in the direction of the step.
fn effective(cx: &mut RuleCx<'_, '_>, range: Range, extent: DimId) -> Option<(DimId, DimId, i64)> {
    let (start, end, step) = (range.start?, range.end?, range.step?);
    if step > 0 {
        Some((cut(cx, start, extent, 0, extent)?, cut(cx, end, extent, 0, extent)?, step))
    } else {
        let one = cx.dims().constant(1);
        let last = cx.dims().sub(extent, one);
        Some((cut(cx, start, extent, 0, last)?, cut(cx, end, extent, -1, last)?, step))
    }
}

fn extent_of(cx: &mut RuleCx<'_, '_>, range: Range, extent: DimId) -> Option<DimId> {
    let (start, end, step) = effective(cx, range, extent)?;
    let span = if step > 0 { cx.dims().sub(end, start) } else { cx.dims().sub(start, end) };
    let step = cx.dims().constant(step.checked_abs()?);
    let count = cx.dims().ceil_div(span, step);
    let zero = cx.dims().constant(0);
    Some(cx.dims().max(count, zero))
}

fn slice_value(cx: &mut RuleCx<'_, '_>, ranges: &[Option<Range>]) {
    let Some(items) = Items::at(cx, In(0)) else { return };
    if items.shape().len() != ranges.len() {
        return;
    }
    let strides = strides(items.shape());
    let mut axes = Vec::with_capacity(ranges.len());
    for (axis, range) in ranges.iter().enumerate() {
        let extent = items.shape()[axis];
        let Some(range) = range else {
            axes.push(whole(extent, strides[axis]));
            continue;
        };
        let Some(picked) = indices(cx, *range, extent) else { return };
        axes.push(picked.into_iter().map(|index| Some(index * strides[axis])).collect());
    }
    if let Some((shape, positions)) = separable(&axes) {
        items.put(cx, Out(0), &shape, &positions);
    }
}

/// The indices in the range, for an axis of this extent.
fn indices(cx: &mut RuleCx<'_, '_>, range: Range, extent: usize) -> Option<Vec<usize>> {
    let extent_dim = cx.dims().constant(i64::try_from(extent).ok()?);
    let (start, end, step) = effective(cx, range, extent_dim)?;
    let (mut at, end) = (cx.const_dim(start)?, cx.const_dim(end)?);
    let mut picked = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        picked.push(usize::try_from(at).ok().filter(|at| *at < extent)?);
        at = at.checked_add(step)?;
    }
    Some(picked)
}
