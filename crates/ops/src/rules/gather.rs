//! Operators that select elements or slices by index: Gather, GatherElements, GatherND.
//!
//! Indices select slices or elements of the data. A rule determines the shape of the result, requires the
//! indices to be inside, and follows the value:
//!
//! ```text
//! Gather (table: float[V, H], ids: int64[B, S])              float[B, S, H]
//! Gather <axis = 1> (x: float[B, S], i = [3, -2])            float[B, 2], if S >= 4
//! Gather (Shape (x: float[A, B, 3]), i = [-1, 0])            int64[2] with the value [3, A]
//! ```
//!
//! An index outside of its axis ends a run, so an index is a condition on an extent. Constants need the
//! greatest index in each direction only. Symbols and positions are compared as affine functions
//! ([`require_positions`], [`require_symbolic`]), and columns of tuples for `GatherND` ([`require_columns`]).
//!
//! A value is the input position of each output element, as in [`picked`]. An index that is known at run time
//! only gives an unknown element. Weights of an embedding are not decoded if the indices are unknown. The
//! rules of scatter operators use [`require_inside`] and [`require_tuples`].
//!
//! **Invariant:** conditions are necessary. An index that is not known requires nothing.
//!
//! The shape takes time linear in the ranks, the conditions linear in the known indices, and the value linear
//! in its elements, at most [`MAX_ITEMS`].
//!
//! **Limit:** the length of a tuple of `GatherND` must be a number, because it determines the rank. The
//! elements of its result are not followed.

use smallvec::SmallVec;
use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extent, Ints, Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;
use typeloom_types::shape::position;

use super::affine::{require_columns, require_positions, require_symbolic};
use super::common::{element_count, require_at_most, require_indices};
use super::items::{Items, MAX_ITEMS, picked, strides};
use super::{Entry, affine, rule};

/// The elements at the indices. Source: GatherElements, pseudo code.
const GATHER_ELEMENTS_VALUE: Rule = Rule { name: "gatherelements.value", run: gather_elements_value };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Gather", &[rule("gather.axis", gather), rule("gather.value", gather_value)]),
    Entry::of("GatherElements", &[rule("gatherelements.shape", gather_elements), GATHER_ELEMENTS_VALUE]),
    Entry::of("GatherND", &[rule("gathernd.tuples", gather_nd)]),
];

/// The axes of the indices replace `axis`. Source: Gather, output rank `q + (r - 1)`.
fn gather(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(data) = cx.shape_of_rank(In(0), 1..)? else { return Ok(()) };
    let axis = cx.axis_attr(In(0), "axis", 0, data.len())?;
    require_all_indices(cx, (In(0), axis, data[axis]).into())?;
    let Some(indices) = cx.shape(In(1)) else { return Ok(()) };
    let shape: DimVec = data[..axis].iter().chain(&indices).chain(&data[axis + 1..]).copied().collect();
    cx.set_shape(Out(0), &shape)
}

/// Requires the indices, as far as they are known, to be within the axis; negative ones count from the end.
fn require_all_indices(cx: &mut RuleCx<'_, '_>, axis: Extent) -> RuleResult {
    require_positions(cx, In(1), axis)?;
    let Some(indices) = cx.ints(In(1)) else { return Ok(()) };
    require_listed(cx, indices.items.iter().copied(), axis)
}

/// Requires listed indices to be within the axis.
fn require_listed(
    cx: &mut RuleCx<'_, '_>,
    indices: impl Iterator<Item = DimId> + Clone,
    axis: Extent,
) -> RuleResult {
    let constants: SmallVec<[i64; 8]> = indices.clone().filter_map(|index| cx.const_dim(index)).collect();
    require_indices(cx, In(1), constants.into_iter(), axis)?;
    require_symbolic(cx, In(1), indices, axis)
}

/// Requires the known indices in the last axis to be within the axes of the data from `batch` on.
pub(super) fn require_tuples(
    cx: &mut RuleCx<'_, '_>,
    data: &[DimId],
    (batch, tuple): (usize, usize),
) -> RuleResult {
    let axes: SmallVec<[Extent; 8]> =
        (batch..batch + tuple).map(|axis| (In(0), axis, data[axis]).into()).collect();
    require_columns(cx, In(1), &axes)?;
    let Some(indices) = cx.ints(In(1)) else { return Ok(()) };
    for (at, axis) in axes.into_iter().enumerate() {
        require_listed(cx, indices.items.iter().skip(at).step_by(tuple).copied(), axis)?;
    }
    Ok(())
}

/// The indices with unknown elements as `None`; all unknown if only their shape is known.
fn indices(cx: &mut RuleCx<'_, '_>) -> Option<(Vec<usize>, Vec<Option<i64>>)> {
    if let Some(ints) = cx.ints(In(1)) {
        let known = ints.items.iter().map(|item| cx.const_dim(*item)).collect();
        return Some((ints.shape.to_vec(), known));
    }
    let shape = super::items::constant_shape(cx, In(1))?;
    // One element selected by an index that is known only at run time.
    (element_count(&shape)? == 1).then(|| (shape, vec![None]))
}

/// The slices at the indices. Source: Gather, pseudo code.
fn gather_value(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    if let Some(data) = cx.rank(In(0)).filter(|data| *data > 0)
        && affine::moves::gather(cx, cx.axis_attr(In(0), "axis", 0, data)?)
    {
        return Ok(());
    }
    // Most tables of an embedding have indices that are known at run time only.
    if cx.has_unread_floats(In(0)) && indices(cx).is_none() {
        return Ok(());
    }
    let Some(items) = Items::at(cx, In(0)) else { return Ok(()) };
    let Some((index_shape, indices)) = indices(cx) else { return Ok(()) };
    let data = items.shape().to_vec();
    if data.is_empty() {
        return Ok(());
    }
    let axis = cx.axis_attr(In(0), "axis", 0, data.len())?;
    let pick = |at| (at == axis).then(|| indices.iter().map(|it| position((*it)?, data[at])).collect());
    if let Some((_, positions)) = picked(&data, pick) {
        let shape: Vec<usize> =
            data[..axis].iter().chain(&index_shape).chain(&data[axis + 1..]).copied().collect();
        items.put(cx, Out(0), &shape, &positions);
    }
    Ok(())
}

/// The output has the shape of the indices, which have the rank of the data and, except for `axis`, no larger
/// extents. Source: GatherElements, `indices`.
fn gather_elements(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.same_shape(In(1), Out(0))?;
    require_inside(cx)
}

/// Requires indices of the rank of the data and, except for the indexed axis, with no larger extents. Source:
/// GatherElements and ScatterElements, `indices`.
pub(super) fn require_inside(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..)?;
    let (Some(data), Some(indices)) = (cx.shape(In(0)), cx.shape(In(1))) else { return Ok(()) };
    let axis = cx.axis_attr(In(0), "axis", 0, data.len())?;
    if data.len() != indices.len() {
        return Err(cx.wrong_rank(In(1), data.len()..=data.len()));
    }
    for (at, (extent, picked)) in data.iter().zip(&indices).enumerate() {
        if at == axis {
            continue;
        }
        if let (Some(extent), Some(picked)) = (cx.const_dim(*extent), cx.const_dim(*picked))
            && picked > extent
        {
            let message = format!(
                "the indices have {} along axis {at}, but the data has {extent}",
                counted(picked, "element")
            );
            return Err(RuleError::shapes(&[In(0), In(1)], message));
        }
        let relation = "are extents of the indices and the data";
        require_at_most(cx, (In(1), at, *picked), (In(0), at, *extent), relation)?;
    }
    require_all_indices(cx, (In(0), axis, data[axis]).into())
}

fn gather_elements_value(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (Some(items), Some(indices)) = (Items::at(cx, In(0)), cx.ints(In(1))) else { return Ok(()) };
    let data = items.shape().to_vec();
    if data.is_empty() || data.len() != indices.shape.len() || indices.items.len() > MAX_ITEMS {
        return Ok(());
    }
    let axis = cx.axis_attr(In(0), "axis", 0, data.len())?;
    let Ints { shape, items: picks } = &*indices;
    let (strides, own) = (strides(&data), strides(shape));
    let mut positions = Vec::with_capacity(picks.len());
    for (at, pick) in picks.iter().enumerate() {
        let index = cx.const_dim(*pick).and_then(|index| position(index, data[axis]));
        let along = (0..data.len()).filter(|other| *other != axis);
        let rest: usize = along.map(|other| at / own[other] % shape[other] * strides[other]).sum();
        positions.push(index.map(|index| rest + index * strides[axis]));
    }
    let shape = shape.to_vec();
    items.put(cx, Out(0), &shape, &positions);
    Ok(())
}

/// The last axis of the indices lists positions along the axes of the data after the batch axes. Source:
/// GatherND, `batch_dims` and the output's rank.
fn gather_nd(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..)?;
    cx.require_rank(In(1), 1..)?;
    let batch = cx.attr_int("batch_dims")?.unwrap_or(0);
    let (Some(data), Some(indices)) = (cx.shape(In(0)), cx.shape(In(1))) else { return Ok(()) };
    let most = data.len().min(indices.len());
    let Some(batch) = usize::try_from(batch).ok().filter(|batch| *batch < most) else {
        return Err(RuleError::attribute("batch_dims", format!("is {batch}, but must be in [0, {most})")));
    };
    for axis in 0..batch {
        cx.require_equal((In(0), axis, data[axis]), (In(1), axis, indices[axis]), "are a batch axis")?;
    }
    let last = indices.len() - 1;
    let Some(tuple) = cx.const_dim(indices[last]) else { return Ok(()) };
    let Some(tuple) = usize::try_from(tuple).ok().filter(|tuple| (1..=data.len() - batch).contains(tuple))
    else {
        let message = format!(
            "an index has {}, but there are {}",
            counted(tuple, "number"),
            counted(data.len() - batch, "axis")
        );
        return Err(RuleError::shapes(&[In(0), In(1)], message));
    };
    require_tuples(cx, &data, (batch, tuple))?;
    let shape: DimVec = indices[..last].iter().chain(&data[batch + tuple..]).copied().collect();
    cx.set_shape(Out(0), &shape)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{conditions, error, infer_y};

    #[test]
    fn the_axes_of_the_indices_replace_the_axis() {
        let graph = "g (float[V, H] table, int64[B, S] ids) => (y) { y = Gather (table, ids) }";
        assert_eq!(infer_y(13, graph), "float[B, S, H]");
        let graph = "g (float[A, 5, C] x, int64 i) => (y) { y = Gather <axis = -2> (x, i) }";
        assert_eq!(infer_y(13, graph), "float[A, C]");
    }

    #[test]
    fn an_index_outside_the_axis_is_an_error() {
        let graph = "g (float[3, 2] x) => (y) <int64[2] i = {0, 3}> { y = Gather (x, i) }";
        assert_eq!(error(13, graph), "gather.axis: input 1 has the index 3, outside [-3, 3) for axis 0");
        let graph = "g (float[3, 2] x) => (y) <int64[2] i = {0, -3}> { y = Gather <axis = 2> (x, i) }";
        assert_eq!(error(13, graph), "gather.axis: axis is 2, outside [-2, 2) for 2 axes");
        assert_eq!(
            error(13, "g (int64 i) => (y) <float x = {1}> { y = Gather (x, i) }"),
            "gather.axis: input 0 has rank 0, not 1 or more"
        );
    }

    #[test]
    fn extents_are_gathered_as_symbols() {
        let y = infer_y(
            13,
            "g (float[A, B, 3] x, int64[1] runtime) => (y) <int64[2] i = {-1, 0}> {
               shape = Shape (x)
               known = Gather (shape, i)
               unknown = Gather (shape, runtime)
               target = Concat <axis = 0> (known, unknown)
               y = ConstantOfShape (target)
             }",
        );
        assert_eq!(y, "float[3, A, ?]");
    }

    #[test]
    fn the_elements_of_a_range_are_known_from_either_end() {
        let y = infer_y(
            13,
            "g (float[A, B] x) => (y) <int64 zero = {0}, int64 one = {1}, int64 back = {-1}, int64[4] i = {0, 2, -1, -3}> {
               shape = Shape (x)
               a = Gather (shape, zero)
               b = Gather (shape, one)
               sum = Add (a, b)
               rising = Range (a, sum, one)
               falling = Range (b, back, back)
               first = Gather (rising, i)
               second = Gather (falling, i)
               target = Concat <axis = 0> (first, second)
               y = ConstantOfShape (target)
             }",
        );
        assert_eq!(y, "float[A, A + 2, A + B - 1, A + B - 3, B, B - 2, 0, 2]");
    }

    #[test]
    fn the_output_has_the_shape_of_the_indices() {
        let graph = "g (float[3, N] x, int64[2, N] i) => (y) { y = GatherElements (x, i) }";
        assert_eq!(infer_y(13, graph), "float[2, N]");
        let y = infer_y(
            13,
            "g () => (y) <int64[2, 2] table = {1, 2, 3, 4}, int64[2, 2] i = {0, 0, 1, 0}, int64[1] flat = {-1}> {
               picked = GatherElements <axis = 1> (table, i)
               shape = Reshape (picked, flat)
               y = ConstantOfShape (shape)
             }",
        );
        assert_eq!(y, "float[1, 1, 4, 3]");
        assert_eq!(
            error(13, "g (float[3, 2] x, int64[2, 3] i) => (y) { y = GatherElements (x, i) }"),
            "gatherelements.shape: the indices have 3 elements along axis 1, but the data has 2"
        );
        assert_eq!(
            error(13, "g (float[3, 2] x, int64[2] i) => (y) { y = GatherElements (x, i) }"),
            "gatherelements.shape: input 1 has rank 1, not 2"
        );
    }

    #[test]
    fn tuples_of_indices_replace_the_axes_that_they_name() {
        let with = |batch: i64, data: &str, indices: &str| {
            format!(
                "g (float[{data}] x, int64[{indices}] i) => (y) {{ y = GatherND <batch_dims = {batch}> (x, i) }}"
            )
        };
        assert_eq!(infer_y(13, &with(0, "A, B, C", "N, 2")), "float[N, C]");
        assert_eq!(infer_y(13, &with(1, "A, B, C", "A, N, 1")), "float[A, N, C]");
        assert_eq!(
            infer_y(13, &with(0, "A, B", "K")),
            "float[...]",
            "the length of the tuple determines the rank"
        );
        assert_eq!(
            error(13, &with(0, "A, B", "N, 3")),
            "gathernd.tuples: an index has 3 numbers, but there are 2 axes"
        );
        assert_eq!(
            error(13, &with(2, "A, B", "A, B, 1")),
            "gathernd.tuples: batch_dims is 2, but must be in [0, 2)"
        );
        assert_eq!(
            error(13, &with(1, "3, B", "4, N, 1")),
            "gathernd.tuples: axis 0 of input 0 and axis 0 of input 1 are a batch axis"
        );
    }

    #[test]
    fn a_constant_index_needs_an_axis_that_is_long_enough() {
        let picked = |indices: &str| {
            format!(
                "g (float[B, S] x) => (y) <int64[2] i = {{{indices}}}> {{ y = Gather <axis = 1> (x, i) }}"
            )
        };
        assert_eq!(conditions(13, &picked("3, -2")), ["S >= 4"]);
        assert_eq!(conditions(13, &picked("3, -5")), ["S >= 5"]);
        assert_eq!(conditions(13, &picked("0, -1")), [""; 0], "holds wherever there is an element");
        let tuples = "g (float[A, B, C] x) => (y) <int64[1, 2] i = {2, -3}> { y = GatherND (x, i) }";
        assert_eq!(conditions(13, tuples), ["A >= 3", "B >= 3"]);
    }
}
