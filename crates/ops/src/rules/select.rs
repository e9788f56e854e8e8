//! Operators whose output shape depends on elements: NonZero, Compress, Unique; and OneHot.
//!
//! The shape of these results depends on elements, so it is known at run time only, or if the elements are:
//!
//! ```text
//! NonZero (x: float[N, 3])                              int64[2, ?]
//! NonZero (ConstantOfShape <value = 1> ([N, 3]))        int64[2, 3*N]     all elements are equal and not 0
//! Compress <axis = 1> (x: float[N, 3], [1, 0, 1])       float[N, 2]
//! Unique (x: float[N])                                  float[?], int64[?], int64[N], int64[?]
//! ```
//!
//! The unknown extent is one dim in all outputs that share it: the three unknown ones of `Unique` are equal,
//! so an addition of two of them is accepted ([`unique_count`]). `NonZero` of a constant also has a value,
//! since exporters compute indices with it.
//!
//! **Invariant:** a count of elements is a number only if each element is known to be zero or not
//! ([`nonzero_elements`]).
//!
//! The time is linear in the elements of constants; `Unique` of a constant sorts them.
//!
//! Limits:
//!
//! - The positions of `NonZero` are listed up to [`MAX_ITEMS`] elements.
//! - `Unique` counts elements of constants without an axis, and only if they are integers.
//! - `OneHot` follows no value. A depth that is a float is truncated.

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Ints, RuleCx, RuleError, RuleResult};

use super::affine::equal_elements;
use super::affine::moves::all_positions;
use super::common::{Source, require_extent, require_single, set_extents, unknown_extent};
use super::items::{Items, MAX_ITEMS, strides};
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Compress", &[rule("compress.condition", compress)]),
    Entry::of("NonZero", &[rule("nonzero.positions", non_zero)]),
    Entry::of("OneHot", &[rule("onehot.depth", one_hot)]),
    Entry::of("Unique", &[rule("unique.counts", unique)]),
];

/// The non-zero elements, if each is known to be zero or not.
fn nonzero_elements(cx: &mut RuleCx<'_, '_>, items: &Items) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for at in 0..items.len() {
        let nonzero = match items {
            Items::Ints(ints) => match cx.dims().compare(ints.items[at], DimId::ZERO) {
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

/// One row of positions per axis of the input (none for a scalar), one column per non-zero element. Source:
/// NonZero, text on scalars.
fn non_zero(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(rank) = cx.rank(In(0)) else { return cx.set_rank(Out(0), 2) };
    let rows = cx.count(rank);
    let known = Items::at(cx, In(0)).and_then(|items| Some((nonzero_elements(cx, &items)?, items)));
    let Some((found, items)) = known else {
        let columns = filled_columns(cx);
        set_extents(cx, Out(0), [Some(rows), columns])?;
        if columns.is_some_and(|columns| columns != DimId::ZERO) {
            all_positions(cx);
        }
        return Ok(());
    };
    let columns = cx.count(found.len());
    cx.set_shape(Out(0), &[rows, columns])?;
    let (shape, strides) = (items.shape(), strides(items.shape()));
    if shape.len() == rank && rank * found.len() <= MAX_ITEMS {
        let mut positions = Vec::with_capacity(rank * found.len());
        for axis in 0..rank {
            for at in &found {
                let index = at / strides[axis] % shape[axis];
                positions.push(cx.count(index));
            }
        }
        cx.set_ints(Out(0), Ints { shape: smallvec::smallvec![rank, found.len()], items: positions.into() });
    }
    Ok(())
}

/// Number of non-zero elements of a tensor of one known value: all or none.
fn filled_columns(cx: &mut RuleCx<'_, '_>) -> Option<DimId> {
    let item = equal_elements(cx, In(0))?;
    let item = cx.const_dim(item)?;
    let shape = cx.shape(In(0))?;
    Some(match item {
        0 => DimId::ZERO,
        _ => shape.iter().fold(DimId::ONE, |count, extent| cx.dims().mul(count, *extent)),
    })
}

/// As many slices along `axis`, or elements, as the condition has true elements. Source: Compress,
/// `condition`.
fn compress(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..)?;
    cx.require_rank(In(1), 1..=1)?;
    let picked = Items::at(cx, In(1)).and_then(|condition| nonzero_elements(cx, &condition));
    let Some(axis) = cx.attr_int("axis")? else {
        let count = picked_count(cx, picked.as_deref(), 0);
        return cx.set_shape(Out(0), &[count]);
    };
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis_of(In(0), "axis", axis, shape.len())?;
    if let Some(last) = picked.as_ref().and_then(|picked| picked.last())
        && let Some(extent) = cx.const_dim(shape[axis])
        && usize::try_from(extent).is_ok_and(|extent| *last >= extent)
    {
        let message = format!("picks element {last} of axis {axis}, which has {extent}");
        return Err(RuleError::value(In(1), message));
    }
    // If the axis may be shorter than the condition, ONNX Runtime ignores the rest of the condition.
    let needed = picked.as_ref().and_then(|picked| picked.last()).map_or(0, |last| last + 1);
    let least = cx.dims().bounds(shape[axis]).0.and_then(|least| usize::try_from(least).ok()).unwrap_or(0);
    let picked = picked.filter(|_| needed <= least);
    shape[axis] = picked_count(cx, picked.as_deref(), axis);
    cx.set_shape(Out(0), &shape)
}

fn picked_count(cx: &mut RuleCx<'_, '_>, picked: Option<&[usize]>, axis: usize) -> DimId {
    match picked {
        Some(picked) => cx.count(picked.len()),
        None => unknown_extent(cx, Out(0), axis),
    }
}

/// The distinct slices along `axis`, or elements, with their first positions and counts, and for each input
/// slice the index of the equal distinct slice. Source: Unique, outputs.
fn unique(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if let Some(sorted) = cx.attr_int("sorted")?
        && !(0..=1).contains(&sorted)
    {
        return Err(RuleError::attribute("sorted", format!("is {sorted}, but must be 0 or 1")));
    }
    let input = cx.shape(In(0));
    let Some(axis) = cx.attr_int("axis")? else {
        let all = match &input {
            Some(shape) => cx.dims().product(shape),
            None => unknown_extent(cx, Out(2), 0),
        };
        let count = match different_elements(cx) {
            Some(count) => count,
            None => unique_count(cx, 0, all),
        };
        cx.set_shape(Out(0), &[count])?;
        return unique_indices(cx, count, all);
    };
    let Some(mut shape) = input else {
        let all = unknown_extent(cx, Out(2), 0);
        let count = unique_count(cx, usize::MAX, all);
        return unique_indices(cx, count, all);
    };
    let axis = cx.axis_of(In(0), "axis", axis, shape.len())?;
    let all = shape[axis];
    let count = unique_count(cx, axis, all);
    shape[axis] = count;
    cx.set_shape(Out(0), &shape)?;
    unique_indices(cx, count, all)
}

/// Number of distinct elements of a constant.
fn different_elements(cx: &mut RuleCx<'_, '_>) -> Option<DimId> {
    let mut items = cx.const_ints(In(0))?;
    items.sort_unstable();
    items.dedup();
    Some(cx.dims().constant(i64::try_from(items.len()).ok()?))
}

/// Number of distinct slices among `all`: the same unknown extent in all outputs. If there is at most one
/// slice, it is distinct.
fn unique_count(cx: &mut RuleCx<'_, '_>, axis: usize, all: DimId) -> DimId {
    if let Some(0 | 1) = cx.const_dim(all) {
        return all;
    }
    for (port, axis) in [(Out(0), axis), (Out(1), 0), (Out(3), 0)] {
        if let Some(known) = cx.shape(port).and_then(|shape| shape.get(axis).copied()) {
            return known;
        }
    }
    cx.fresh()
}

fn unique_indices(cx: &mut RuleCx<'_, '_>, count: DimId, all: DimId) -> RuleResult {
    cx.set_shape(Out(1), &[count])?;
    cx.set_shape(Out(2), &[all])?;
    cx.set_shape(Out(3), &[count])
}

/// An axis of `depth` elements is inserted at `axis` of the output. Source: OneHot, `depth` and `axis`.
fn one_hot(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    // ONNX's own inference rejects a scalar index.
    if let Some(indices) = cx.shape_of_rank(In(0), 1..)? {
        let axis = cx.axis_attr(In(0), "axis", -1, indices.len() + 1)?;
        let depth = match depth(cx) {
            Some(depth) => require_extent(cx, Source::Input(In(1)), depth)?,
            None => unknown_extent(cx, Out(0), axis),
        };
        let shape: DimVec = indices[..axis].iter().chain([&depth]).chain(&indices[axis..]).copied().collect();
        cx.set_shape(Out(0), &shape)?;
    }
    require_single(cx, In(1))?;
    if let Some(values) = cx.shape_of_rank(In(2), 1..=1)? {
        let two = cx.dims().constant(2);
        cx.require_equal((In(2), 0, values[0]), two, "holds the off value and the on value")?;
    }
    let negative = cx.const_ints(In(0)).and_then(|items| items.into_iter().find(|index| *index < 0));
    match negative {
        Some(index) if cx.since_version() < 11 => {
            let message =
                format!("has the index {index}, but before version 11 indices must not be negative");
            Err(RuleError::value(In(0), message))
        }
        Some(_) | None => Ok(()),
    }
}

/// The depth, which may be a float.
fn depth(cx: &mut RuleCx<'_, '_>) -> Option<DimId> {
    if let Some(ints) = cx.ints(In(1)) {
        return ints.items.first().copied();
    }
    let number = cx.floats(In(1))?.items.first()?.trunc();
    let whole = (number.abs() < 2_147_483_648.0).then_some(number)?;
    // An integer of at most 31 bits because of the check above.
    let whole = whole as i64;
    Some(cx.dims().constant(whole))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer, infer_y};

    #[test]
    fn positions_have_a_row_for_each_axis() {
        assert_eq!(infer_y(13, "g (float[N, 3] x) => (y) { y = NonZero (x) }"), "int64[2, ?]");
        assert_eq!(infer_y(13, "g (float x) => (y) { y = NonZero (x) }"), "int64[0, ?]");
        assert_eq!(
            infer_y(13, "g () => (y) <float[2, 2] x = {1, 0, 0, 2}> { y = NonZero (x) }"),
            "int64[2, 2]"
        );
    }

    #[test]
    fn the_positions_in_a_constant_are_known() {
        let y = infer_y(
            13,
            "g () => (y) <int64[2, 3] x = {0, 4, 0, 5, 0, 6}, int64[1] flat = {-1}> {
               found = NonZero (x)
               shape = Reshape (found, flat)
               y = ConstantOfShape (shape)
             }",
        );
        assert_eq!(y, "float[0, 1, 1, 1, 0, 2]");
    }

    #[test]
    fn compress_selects_one_slice_per_true_element() {
        let with = |axis: &str| {
            format!("g (float[N, 3] x) => (y) <bool[3] c = {{1, 0, 1}}> {{ y = Compress {axis} (x, c) }}")
        };
        assert_eq!(infer_y(11, &with("<axis = 1>")), "float[N, 2]");
        assert_eq!(infer_y(11, &with("")), "float[2]");
        assert_eq!(
            infer_y(11, "g (float[N, 3] x, bool[3] c) => (y) { y = Compress <axis = 1> (x, c) }"),
            "float[N, ?]"
        );
        let graph = "g (float[2, 3] x) => (y) <bool[3] c = {1, 0, 1}> { y = Compress <axis = 0> (x, c) }";
        assert_eq!(error(11, graph), "compress.condition: input 1 picks element 2 of axis 0, which has 2");
    }

    #[test]
    fn unique_elements_and_their_counts_are_equally_many() {
        let types = infer(11, "g (float[N, 3] x) => () { y, first, which, count = Unique (x) }");
        let names = ["y", "first", "which", "count"];
        assert_eq!(
            names.map(|name| types[name].as_str()),
            ["float[?]", "int64[?]", "int64[3*N]", "int64[?]"]
        );
        let types = infer(11, "g (float[N, 3] x) => () { y, first, which, count = Unique <axis = 0> (x) }");
        assert_eq!(
            names.map(|name| types[name].as_str()),
            ["float[?, 3]", "int64[?]", "int64[N]", "int64[?]"]
        );
        let types =
            infer(11, "g () => () <int64[4] x = {3, 1, 3, 3}> { y, first, which, count = Unique (x) }");
        assert_eq!(names.map(|name| types[name].as_str()), ["int64[2]", "int64[2]", "int64[4]", "int64[2]"]);
    }

    #[test]
    fn the_counts_of_unique_elements_broadcast_with_them() {
        let graph = "g (float[N] x) => (z) { y, first, which, count = Unique (x)  z = Concat <axis = 0> (first, count) }";
        assert_eq!(infer(11, graph)["z"], "int64[2*?]");
    }

    #[test]
    fn an_axis_of_the_depth_appears() {
        let with = |axis: i64, depth: &str| {
            format!(
                "g (int64[N, 2] i, float[2] v) => (y) <float d = {{{depth}}}> {{ y = OneHot <axis = {axis}> (i, d, v) }}"
            )
        };
        assert_eq!(infer_y(11, &with(-1, "5")), "float[N, 2, 5]");
        assert_eq!(infer_y(11, &with(0, "5")), "float[5, N, 2]");
        assert_eq!(infer_y(11, &with(-3, "5")), "float[5, N, 2]");
        assert_eq!(error(11, &with(3, "5")), "onehot.depth: axis is 3, outside [-3, 3) for 3 axes");
        assert_eq!(error(11, &with(0, "-5")), "onehot.depth: input 1 has the negative extent -5");
        assert_eq!(
            error(11, "g (int64 d, float[2] v) => (y) <int64 i = {1}> { y = OneHot (i, d, v) }"),
            "onehot.depth: input 0 has rank 0, not 1 or more"
        );
        assert_eq!(
            error(11, "g (int64[N] i, int64 d, float[3] v) => (y) { y = OneHot (i, d, v) }"),
            "onehot.depth: axis 0 of input 2 holds the off value and the on value"
        );
    }

    #[test]
    fn a_tensor_filled_with_one_number_has_all_positions_or_none() {
        let types = infer(
            15,
            "g (float[N, 3] x) => () {
               shape = Shape (x)
               ones = ConstantOfShape <value = int64[1] {1}> (shape)
               a = NonZero (ones)
               truths = Cast <to = 9> (ones)
               b = NonZero (truths)
               zeros = ConstantOfShape (shape)
               c = NonZero (zeros)
             }",
        );
        assert_eq!(
            ["a", "b", "c"].map(|name| types[name].as_str()),
            ["int64[2, 3*N]", "int64[2, 3*N]", "int64[2, 0]"]
        );
    }
}
