//! Operators that write elements or slices by index into a copy of a tensor: Scatter, ScatterElements,
//! ScatterND, TensorScatter.

use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::In;
use typeloom_solver::rule::{RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::common::require_at_most;
use super::elementwise::SAME_SHAPE;
use super::gather::{require_inside, require_tuples};
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Scatter ScatterElements", &[SAME_SHAPE, rule("scatterelements.shapes", elements)]),
    Entry::of("ScatterND", &[SAME_SHAPE, rule("scatternd.shapes", nd)]),
    Entry::of("TensorScatter", &[SAME_SHAPE, rule("tensorscatter.shapes", tensor)]),
];

/// Indices and updates have the same shape, which is within that of the data except for `axis`. Source:
/// ScatterElements, `indices`, `updates` and `axis`.
fn elements(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    require_inside(cx)?;
    cx.require_equal_shapes(In(1), In(2), "are an index and its update")
}

/// The updates have the shape of the indices without the last axis, followed by the axes of the data that the
/// index tuples do not cover. Source: ScatterND, `updates`.
fn nd(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    for port in [In(0), In(1)] {
        cx.require_rank(port, 1..)?;
    }
    let (Some(data), Some(indices)) = (cx.shape(In(0)), cx.shape(In(1))) else { return Ok(()) };
    let last = indices.len() - 1;
    let Some(tuple) = cx.const_dim(indices[last]) else { return Ok(()) };
    let Some(tuple) = usize::try_from(tuple).ok().filter(|tuple| *tuple <= data.len()) else {
        let message = format!(
            "an index has {}, but there are {}",
            counted(tuple, "number"),
            counted(data.len(), "axis")
        );
        return Err(RuleError::shapes(&[In(0), In(1)], message));
    };
    require_tuples(cx, &data, (0, tuple))?;
    let Some(updates) = cx.shape(In(2)) else { return Ok(()) };
    let needed: DimVec = indices[..last].iter().chain(&data[tuple..]).copied().collect();
    if needed.len() != updates.len() {
        return Err(cx.wrong_rank(In(2), needed.len()..=needed.len()));
    }
    for (at, update) in updates.iter().enumerate() {
        let (port, axis, dim) =
            if at < last { (In(1), at, indices[at]) } else { (In(0), at - last + tuple, needed[at]) };
        cx.require_equal((In(2), at, *update), (port, axis, dim), "are an update and its target")?;
    }
    Ok(())
}

/// The update has the cache's shape except for `axis`; there is one write index per batch element. Source:
/// TensorScatter, `update`, `write_indices` and `mode`.
fn tensor(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(cache) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis_attr(In(0), "axis", -2, cache.len())?;
    if axis == 0 {
        return Err(RuleError::attribute("axis", "is the batch axis"));
    }
    if let Some(update) = cx.shape(In(1)) {
        if update.len() != cache.len() {
            return Err(cx.wrong_rank(In(1), cache.len()..=cache.len()));
        }
        let others = (0..cache.len()).filter(|at| *at != axis);
        cx.require_equal_axes((In(0), &cache), (In(1), &update), others, "are written along another axis")?;
        if let (Some(most), Some(written)) = (cx.const_dim(cache[axis]), cx.const_dim(update[axis]))
            && written > most
        {
            let message = format!(
                "the update has {} along axis {axis}, but the cache has {most}",
                counted(written, "element")
            );
            return Err(RuleError::shapes(&[In(0), In(1)], message));
        }
        let relation = "are the update and the cache";
        require_at_most(cx, (In(1), axis, update[axis]), (In(0), axis, cache[axis]), relation)?;
    }
    if let Some(starts) = cx.shape_of_rank(In(2), 1..=1)? {
        let relation = "hold one write index per batch element";
        cx.require_equal((In(2), 0, starts[0]), (In(0), 0, cache[0]), relation)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer_y};

    #[test]
    fn a_scattered_tensor_keeps_its_shape() {
        let graph =
            "g (float[N, 4] x, int64[2, 4] i, float[2, 4] u) => (y) { y = ScatterElements (x, i, u) }";
        assert_eq!(infer_y(18, graph), "float[N, 4]");
        let graph = "g (float[N, 4] x, int64[2, 1] i, float[2, 4] u) => (y) { y = ScatterND (x, i, u) }";
        assert_eq!(infer_y(18, graph), "float[N, 4]");
        let graph = "g (float[N, 4] x, int64[2, 4] i, float[2, 4] u) => (y) { y = Scatter (x, i, u) }";
        assert_eq!(infer_y(9, graph), "float[N, 4]");
    }

    #[test]
    fn updates_fit_the_indices() {
        assert_eq!(
            error(
                18,
                "g (float[9, 4] x, int64[2, 4] i, float[2, 3] u) => (y) { y = ScatterElements (x, i, u) }"
            ),
            "scatterelements.shapes: axis 1 of input 1 and axis 1 of input 2 are an index and its update"
        );
        assert_eq!(
            error(18, "g (float[9, 4] x, int64[2, 1] i, float[2, 5] u) => (y) { y = ScatterND (x, i, u) }"),
            "scatternd.shapes: axis 1 of input 2 and axis 1 of input 0 are an update and its target"
        );
        assert_eq!(
            error(18, "g (float[9, 4] x, int64[2, 2] i, float[2, 4] u) => (y) { y = ScatterND (x, i, u) }"),
            "scatternd.shapes: input 2 has rank 2, not 1"
        );
        assert_eq!(
            error(18, "g (float[9, 4] x, int64[2, 3] i, float[2] u) => (y) { y = ScatterND (x, i, u) }"),
            "scatternd.shapes: an index has 3 numbers, but there are 2 axes"
        );
    }

    #[test]
    fn a_reduction_is_one_of_its_version() {
        let with = |reduction: &str| {
            format!(
                "g (float[9] x, int64[2] i, float[2] u) => (y) {{ y = ScatterElements <reduction = \"{reduction}\"> (x, i, u) }}"
            )
        };
        assert_eq!(infer_y(18, &with("max")), "float[9]");
        assert_eq!(error(16, &with("max")), "attribute reduction is `max`, not one of none, add, mul");
    }

    #[test]
    fn a_cache_is_written_along_one_axis() {
        let with = |cache: &str, update: &str, axis: i64| {
            format!(
                "g (float[{cache}] c, float[{update}] u, int64[B] w) => (y) {{ y = TensorScatter <axis = {axis}> (c, u, w) }}"
            )
        };
        assert_eq!(infer_y(24, &with("B, H, 32, D", "B, H, S, D", -2)), "float[B, H, 32, D]");
        assert_eq!(error(24, &with("B, H, D", "B, H, D", 0)), "tensorscatter.shapes: axis is the batch axis");
        assert_eq!(
            error(24, &with("B, 8, 32", "B, 9, 32", -1)),
            "tensorscatter.shapes: axis 1 of input 0 and axis 1 of input 1 are written along another axis"
        );
        assert_eq!(
            error(24, &with("B, 8, 32", "B, 8, 33", -1)),
            "tensorscatter.shapes: the update has 33 elements along axis 2, but the cache has 32"
        );
    }
}
