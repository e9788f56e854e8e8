//! Slice: a range with a step along some axes.
//!
//! For an axis of extent `d`, a negative start or end counts from `d`. Both are then clamped to `0..=d` for a
//! positive step, and to `-1..=d - 1` for a negative one (a start to `0..=d - 1`). The result has
//! `max(ceil((end - start) / step), 0)` elements. Symbolic bounds are clamped by minima and maxima. A start
//! or end `-n` with a symbol `n` counts from the end for `n >= 1` and from the beginning for `n = 0`, that
//! is, `min(n, 1)*(d - n)`. A bound of unknown sign gives an unknown extent.

use typeloom_dim::{Condition, DimId, Dims, Domain, Relation, Verdict};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::affine::moves::Sliced;
use super::common::{List, list, unknown_extent};
use super::items::{Items, picked};
use super::{Entry, affine};

/// The extents of the sliced axes. Source: Slice, pseudo code of the effective start and end.
const SLICE: Rule = Rule { name: "slice.range", run: slice };

pub(super) const OPERATORS: &[Entry] = &[Entry::of("Slice", &[SLICE])];

/// Bounds of at least this number mean "to the end" in exported models.
const MIN_UNBOUNDED: i64 = 0x7fff_ffff;

/// Bounds that are tried for the position of a negative start or end, which is less than the extent.
const STEEPNESS: [i64; 4] = [1, 2, 4, 8];

/// Maximum length, as text, of an extent between a start and an end of unknown sign. A longer one is unknown:
/// it depends on many cases, of which only the one without negative numbers is meant.
const MAX_TEXT: usize = 160;

/// The known part of the range along one axis.
#[derive(Clone, Copy)]
struct Range {
    start: Option<DimId>,
    end: Option<DimId>,
    step: Option<i64>,
}

fn slice(cx: &mut RuleCx<'_, '_>) -> RuleResult {
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
            Some(known) => axes.source.axes(&known, In(0), shape.len())?,
            None => return cx.set_rank(Out(0), shape.len()),
        },
        None => match count {
            Some(count) if count > 0 && shape.is_empty() => return Err(RuleError::scalar(In(0))),
            Some(count) if count > shape.len() => {
                return Err(starts.source.error(format!(
                    "lists {}, but the input has {}",
                    counted(count, "axis"),
                    shape.len()
                )));
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
        sliced[axis] = match extent_of(cx.dims(), range, shape[axis]) {
            Some(extent) if is_readable(cx.dims(), range, extent) => extent,
            derived => {
                let known = unknown_extent(cx, Out(0), axis);
                if let Some(derived) = derived.filter(|_| !cx.dims().is_anonymous(known)) {
                    cx.require_equal((Out(0), axis, known), derived, "are one axis")?;
                }
                known
            }
        };
    }
    cx.set_shape(Out(0), &sliced)?;
    slice_value(cx, &ranges);
    Ok(())
}

fn is_readable(dims: &mut Dims, range: Range, extent: DimId) -> bool {
    let has_sign = |dims: &mut Dims, at: Option<DimId>| {
        at.is_none_or(|at| matches!(dims.bounds(at), (Some(0..), _) | (_, Some(..=0))))
    };
    has_sign(dims, range.start) && has_sign(dims, range.end)
        || dims.display(extent).to_string().len() <= MAX_TEXT
}

/// Requires the lists to have the same length, and returns it if it is known.
fn lengths(lists: &[Option<&List>]) -> RuleResult<Option<usize>> {
    let mut count = None;
    for list in lists.iter().flatten() {
        match (count, list.len) {
            (Some(count), Some(len)) if count != len => {
                return Err(list
                    .source
                    .error(format!("has {}, but starts has {count}", counted(len, "item"))));
            }
            (None, len) => count = len,
            (Some(_), _) => {}
        }
    }
    Ok(count)
}

fn steps_of(cx: &mut RuleCx<'_, '_>, steps: &List) -> Result<Option<Vec<Option<i64>>>, RuleError> {
    let Some(items) = &steps.items else { return Ok(None) };
    let known: Vec<Option<i64>> = items.iter().map(|item| cx.const_dim(*item)).collect();
    if known.contains(&Some(0)) {
        return Err(steps.source.error("has a step of 0"));
    }
    Ok(Some(known))
}

/// The position of a start or end `-back`. For `back = 0` it is 0, since `-0` does not count from the end.
fn counted_from_end(dims: &mut Dims, back: DimId, extent: DimId) -> DimId {
    let position = dims.sub(extent, back);
    let position = dims.max(position, DimId::ZERO);
    let is_negative = dims.min(back, DimId::ONE);
    dims.mul(position, is_negative)
}

/// A start or end, counted from the beginning and clamped to the axis; `None` if its sign is unknown.
fn clamped(dims: &mut Dims, at: DimId, extent: DimId, low: i64, high: DimId) -> Option<DimId> {
    let low = dims.constant(low);
    if let (Some(at), None) = (dims.as_constant(at), dims.as_constant(extent)) {
        if at >= MIN_UNBOUNDED {
            return Some(high);
        }
        if at <= -MIN_UNBOUNDED {
            return Some(dims.min(low, high));
        }
    }
    let at = match dims.bounds(at) {
        (Some(0..), _) => at,
        (_, Some(..0)) => dims.add(at, extent),
        (_, Some(0)) => {
            let back = dims.neg(at);
            counted_from_end(dims, back, extent)
        }
        _ if low == DimId::ZERO => of_either_sign(dims, at, extent)?,
        _ => return None,
    };
    let at = dims.max(at, low);
    Some(dims.min(at, high))
}

/// The position of a start or end of unknown sign, before it is clamped to the axis.
fn of_either_sign(dims: &mut Dims, at: DimId, extent: DimId) -> Option<DimId> {
    if dims.is_anonymous(at) || dims.is_anonymous(extent) {
        return None;
    }
    // Counted from the end, it may be before the axis whenever it is negative: `2*n - 1` of `2*n`.
    let minus_one = dims.constant(-1);
    let mut negative = Domain::extents();
    negative.assume(dims, Condition::new(Relation::AtMost, at, minus_one));
    let from_end = dims.add(at, extent);
    if dims.examine(Condition::new(Relation::AtMost, from_end, DimId::ZERO), &negative) == Verdict::Always {
        return Some(at);
    }
    // As an expression in one symbol, conditions on it have exact solutions.
    if !matches!(dims.symbols_of(from_end)[..], [_]) {
        return None;
    }
    let steepness = STEEPNESS.into_iter().find_map(|bound| {
        let bound = dims.constant(bound);
        let is_bounded = Condition::new(Relation::AtMost, from_end, bound);
        (dims.examine(is_bounded, &negative) == Verdict::Always).then_some(bound)
    });
    // The minimum is `at + extent` where `at` is negative, and not positive elsewhere.
    let opposite = dims.neg(at);
    let opposite = dims.mul(steepness.unwrap_or(extent), opposite);
    let back = dims.min(from_end, opposite);
    let (at, back) = (dims.max(at, DimId::ZERO), dims.max(back, DimId::ZERO));
    Some(dims.add(at, back))
}

/// The first position and the end, in the direction of the step.
fn effective(dims: &mut Dims, range: Range, extent: DimId) -> Option<(DimId, DimId, i64)> {
    let (start, end, step) = (dims.resolve(range.start?), dims.resolve(range.end?), range.step?);
    if step > 0 {
        return Some((
            clamped(dims, start, extent, 0, extent)?,
            clamped(dims, end, extent, 0, extent)?,
            step,
        ));
    }
    let last = dims.sub(extent, DimId::ONE);
    Some((clamped(dims, start, extent, 0, last)?, clamped(dims, end, extent, -1, last)?, step))
}

/// Number of elements of the range on an axis of this extent.
fn extent_of(dims: &mut Dims, range: Range, extent: DimId) -> Option<DimId> {
    let (start, end, step) = effective(dims, range, extent)?;
    let span = if step > 0 { dims.sub(end, start) } else { dims.sub(start, end) };
    let step = dims.constant(step.checked_abs()?);
    let count = dims.ceil_div(span, step);
    Some(dims.max(count, DimId::ZERO))
}

fn slice_value(cx: &mut RuleCx<'_, '_>, ranges: &[Option<Range>]) {
    let Some(items) = Items::at(cx, In(0)) else { return slice_affine(cx, ranges) };
    if items.shape().len() != ranges.len() {
        return;
    }
    let pick = |(range, extent): (&Option<Range>, &usize)| match range {
        Some(range) => indices(cx.dims(), *range, *extent).map(Some),
        None => Some(None),
    };
    let picks: Option<Vec<_>> = ranges.iter().zip(items.shape()).map(pick).collect();
    let Some(mut picks) = picks else { return slice_affine(cx, ranges) };
    if let Some((shape, positions)) = picked(items.shape(), |axis| picks[axis].take()) {
        items.put(cx, Out(0), &shape, &positions);
    }
}

/// The elements of a tensor that is not listed, or of a slice whose extent is not a constant.
fn slice_affine(cx: &mut RuleCx<'_, '_>, ranges: &[Option<Range>]) {
    let Some(shape) = cx.shape(In(0)).filter(|shape| shape.len() == ranges.len()) else { return };
    let axis = |(range, extent): (&Option<Range>, &DimId)| match range {
        Some(range) => match effective(cx.dims(), *range, *extent) {
            Some((start, _, step)) => Sliced::From { start, step },
            None => Sliced::Unknown,
        },
        None => Sliced::Whole,
    };
    let axes: Vec<Sliced> = ranges.iter().zip(&shape).map(axis).collect();
    affine::moves::slice(cx, &axes, Out(0));
}

/// The indices in the range on an axis of this extent.
fn indices(dims: &mut Dims, range: Range, extent: usize) -> Option<Vec<Option<usize>>> {
    let whole = dims.constant(i64::try_from(extent).ok()?);
    let (start, end, step) = effective(dims, range, whole)?;
    let (mut at, end) = (dims.as_constant(start)?, dims.as_constant(end)?);
    let mut picked = Vec::new();
    while if step > 0 { at < end } else { at > end } {
        picked.push(Some(usize::try_from(at).ok().filter(|at| *at < extent)?));
        at = at.checked_add(step)?;
    }
    Some(picked)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer, infer_y};
    use super::*;

    /// The specification's pseudo code, on numbers.
    fn slow_count(extent: i64, start: i64, end: i64, step: i64) -> i64 {
        let from_start = |at: i64| if at < 0 { at + extent } else { at };
        let (start, end) = (from_start(start), from_start(end));
        if extent == 0 {
            return 0;
        }
        let (start, end) = if step > 0 {
            (start.clamp(0, extent), end.clamp(0, extent))
        } else {
            (start.clamp(0, extent - 1), end.clamp(-1, extent - 1))
        };
        let (mut at, mut count) = (start, 0);
        while if step > 0 { at < end } else { at > end } {
            at += step;
            count += 1;
        }
        count
    }

    #[test]
    fn the_extent_with_numbers_and_with_symbols_is_that_of_counting() {
        let far = [i64::MIN, -7, -3, -1, 0, 1, 2, 5, 9, i64::MAX];
        for step in [-3, -2, -1, 1, 2, 4] {
            for (start, end) in far.iter().flat_map(|start| far.iter().map(move |end| (*start, *end))) {
                let mut dims = Dims::new();
                let symbol = dims.symbol("d");
                let range = Range {
                    start: Some(dims.constant(start)),
                    end: Some(dims.constant(end)),
                    step: Some(step),
                };
                let symbolic = extent_of(&mut dims, range, symbol).unwrap();
                for extent in 0..8 {
                    let number = dims.constant(extent);
                    let near = |at: i64| at.clamp(-100, 100);
                    let counted = slow_count(extent, near(start), near(end), step);
                    let words = format!("[{start}:{end}:{step}] of {extent}");
                    let direct = extent_of(&mut dims, range, number).unwrap();
                    assert_eq!(dims.as_constant(direct), Some(counted), "{words}");
                    let substituted = dims.substitute(symbolic, &[(symbol, number)]);
                    assert_eq!(dims.as_constant(substituted), Some(counted), "{words}, with symbols");
                    let picked = indices(&mut dims, range, usize::try_from(extent).unwrap()).unwrap();
                    assert_eq!(i64::try_from(picked.len()).unwrap(), counted, "{words}, the indices");
                }
            }
        }
    }

    fn sliced(starts: &str, ends: &str, axes: &str, steps: &str) -> String {
        let count = starts.split(',').count();
        infer_y(
            13,
            &format!(
                "g (float[N, 10] x) => (y)
                   <int64[{count}] s = {{{starts}}}, int64[{count}] e = {{{ends}}},
                    int64[{count}] a = {{{axes}}}, int64[{count}] t = {{{steps}}}>
                 {{ y = Slice (x, s, e, a, t) }}"
            ),
        )
    }

    #[test]
    fn a_slice_of_the_whole_axis_or_its_end_keeps_the_symbol() {
        assert_eq!(sliced("0", "9223372036854775807", "0", "1"), "float[N, 10]");
        assert_eq!(sliced("-1", "-9223372036854775807", "0", "-1"), "float[N, 10]");
        assert_eq!(sliced("0,1", "2147483647,-1", "0,1", "1,3"), "float[N, 3]");
        assert_eq!(sliced("-1", "9223372036854775807", "0", "1"), "float[min(N, 1), 10]");
        assert_eq!(sliced("0", "-1", "0", "1"), "float[max(0, N - 1), 10]");
    }

    #[test]
    fn a_range_that_ends_at_a_symbol_is_as_long_as_the_symbol() {
        let y = infer_y(
            15,
            "g (float[S, 8] x, float[P + S, 4] m) => (y) <int64[1] zero = {0}> {
               shape = Shape <start = 0, end = 1> (x)
               y = Slice (m, zero, shape)
             }",
        );
        assert_eq!(y, "float[S, 4]");
    }

    #[test]
    fn the_last_elements_up_to_a_symbol_are_counted_for_every_size() {
        let types = infer(
            15,
            "g (float[S, 8] x, float[P + S, 4] m) => () <int64[1] end = {9223372036854775807}> {
               shape = Shape <start = 0, end = 1> (x)
               back = Neg (shape)
               all = Slice (x, back, end)
               last = Slice (m, back, end)
             }",
        );
        assert_eq!(types["all"], "float[S, 8]");
        assert_eq!(types["last"], "float[P*max(0, 1 - S) + S, 4]");
    }

    #[test]
    fn an_end_that_is_a_remainder_is_never_negative() {
        let y = infer_y(
            15,
            "g (float[H, 8] x) => (y) <int64[1] zero = {0}, int64[1] three = {3}> {
               shape = Shape <start = 0, end = 1> (x)
               shift = Mod (three, shape)
               y = Slice (x, zero, shift)
             }",
        );
        assert_eq!(y, "float[min(H*(3//H + 1), 3) - H*(3//H), 8]");
    }

    #[test]
    fn the_attributes_of_version_1_slice_as_well() {
        let graph = "g (float[20, 10, 5] x) => (y) { y = Slice <starts = [0, -3], ends = [3, 10], axes = [0, 1]> (x) }";
        assert_eq!(infer_y(1, graph), "float[3, 3, 5]");
    }

    #[test]
    fn an_unknown_range_affects_only_its_axis() {
        let types = infer(
            13,
            "g (float[20, 10, 5] x, int64[1] s, int64[2] t, int64[2] a) => (y)
               <int64[1] e = {3}, int64[1] axis = {1}, int64[2] ends = {3, 4}>
             { y = Slice (x, s, e, axis)
               z = Slice (x, t, ends, a) }",
        );
        assert_eq!(types["y"], "float[20, ?, 5]");
        assert_eq!(types["z"], "float[?, ?, ?]");
    }

    #[test]
    fn the_value_is_sliced_too() {
        let y = infer_y(
            13,
            "g (float[A, B, C, D] x) => (y)
               <int64[1] s = {-1}, int64[1] e = {-9223372036854775807}, int64[1] a = {0}, int64[1] t = {-2}>
             { shape = Shape (x)
               back = Slice (shape, s, e, a, t)
               y = ConstantOfShape (back) }",
        );
        assert_eq!(y, "float[D, B]");
    }

    #[test]
    fn a_step_of_zero_and_invalid_or_duplicate_axes_are_errors() {
        let with = |axes: &str, steps: &str| {
            error(
                13,
                &format!(
                    "g (float[4, 4] x) => (y)
                       <int64[2] s = {{0, 0}}, int64[2] e = {{2, 2}}, int64[2] a = {{{axes}}}, int64[2] t = {{{steps}}}>
                     {{ y = Slice (x, s, e, a, t) }}"
                ),
            )
        };
        assert_eq!(with("0, 1", "1, 0"), "slice.range: input 4 has a step of 0");
        assert_eq!(with("0, 2", "1, 1"), "slice.range: input 3 names axis 2, outside [-2, 2) for 2 axes");
        assert_eq!(with("1, -1", "1, 1"), "slice.range: input 3 names axis 1 twice");
    }

    #[test]
    fn lists_of_different_lengths_are_an_error() {
        let graph =
            "g (float[4, 4] x) => (y) <int64[2] s = {0, 0}, int64[1] e = {2}> { y = Slice (x, s, e) }";
        assert_eq!(error(13, graph), "slice.range: input 2 has 1 item, but starts has 2");
    }
}
