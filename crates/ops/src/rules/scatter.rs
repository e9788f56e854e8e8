//! Operators that write elements or slices by index into a copy: Scatter, ScatterElements, ScatterND,
//! TensorScatter.

use typeloom_solver::rule::Port::In;
use typeloom_solver::rule::{DimVec, Failure, Rule, RuleCx};

use super::Entry;
use super::common::one_of;
use super::elementwise::SAME_SHAPE;
use super::gather::require_inside;

/// Indices and updates have one shape, which lies inside the data's but for `axis`.
/// Source: ScatterElements, `indices`, `updates` and `axis`.
const ELEMENTS: Rule = Rule { name: "scatterelements.shapes", run: elements };

/// The updates have the shape of the indices without the last axis, then the axes of the data that the
/// index tuples leave. Source: ScatterND, `updates`.
const ND: Rule = Rule { name: "scatternd.shapes", run: nd };

/// The update has the cache's shape but for `axis`; there is one write index for each element of the batch.
/// Source: TensorScatter, `update`, `write_indices` and `mode`.
const TENSOR: Rule = Rule { name: "tensorscatter.shapes", run: tensor };

/// How updates are combined, up to version 17. Source: ScatterElements version 16, `reduction`.
const REDUCTION: Rule =
    Rule { name: "scatter.reduction", run: |cx| one_of(cx, "reduction", &["none", "add", "mul"]).map(drop) };

/// How updates are combined. Source: ScatterElements version 18, `reduction`.
const WIDE_REDUCTION: Rule = Rule {
    name: "scatter.reduction",
    run: |cx| one_of(cx, "reduction", &["none", "add", "mul", "max", "min"]).map(drop),
};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Scatter", &[SAME_SHAPE, ELEMENTS]),
    Entry::of("ScatterElements", &[SAME_SHAPE, ELEMENTS, REDUCTION]).until(18),
    Entry::of("ScatterElements", &[SAME_SHAPE, ELEMENTS, WIDE_REDUCTION]).since(18),
    Entry::of("ScatterND", &[SAME_SHAPE, ND, REDUCTION]).until(18),
    Entry::of("ScatterND", &[SAME_SHAPE, ND, WIDE_REDUCTION]).since(18),
    Entry::of("TensorScatter", &[SAME_SHAPE, TENSOR]),
];

fn elements(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    let axis = cx.attr_int("axis")?.unwrap_or(0);
    require_inside(cx, axis)?;
    let (Some(indices), Some(updates)) = (cx.shape(In(1)), cx.shape(In(2))) else { return Ok(()) };
    if indices.len() != updates.len() {
        return Err(cx.wrong_rank(In(2), indices.len()..=indices.len()));
    }
    for (at, (index, update)) in indices.iter().zip(&updates).enumerate() {
        cx.require_equal((In(1), at, *index), (In(2), at, *update), "are an index and its update")?;
    }
    Ok(())
}

fn nd(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    for port in [In(0), In(1)] {
        cx.require_rank(port, 1..)?;
    }
    let (Some(data), Some(indices)) = (cx.shape(In(0)), cx.shape(In(1))) else { return Ok(()) };
    let last = indices.len() - 1;
    let Some(tuple) = cx.const_dim(indices[last]) else { return Ok(()) };
    let Some(tuple) = usize::try_from(tuple).ok().filter(|tuple| *tuple <= data.len()) else {
        let message = format!("the indices are {tuple} numbers each, for {} axes", data.len());
        return Err(Failure::shapes(&[In(0), In(1)], message));
    };
    let Some(updates) = cx.shape(In(2)) else { return Ok(()) };
    let needed: DimVec = indices[..last].iter().chain(&data[tuple..]).copied().collect();
    if needed.len() != updates.len() {
        return Err(cx.wrong_rank(In(2), needed.len()..=needed.len()));
    }
    for (at, update) in updates.iter().enumerate() {
        let (port, axis, dim) =
            if at < last { (In(1), at, indices[at]) } else { (In(0), at - last + tuple, needed[at]) };
        cx.require_equal((In(2), at, *update), (port, axis, dim), "are an update and its place")?;
    }
    Ok(())
}

fn tensor(cx: &mut RuleCx<'_, '_>) -> Result<(), Failure> {
    one_of(cx, "mode", &["linear", "circular"])?;
    let axis = cx.attr_int("axis")?.unwrap_or(-2);
    let Some(cache) = cx.shape(In(0)) else { return Ok(()) };
    let axis = cx.axis("axis", axis, cache.len())?;
    if axis == 0 {
        return Err(Failure::attribute("axis", "is the batch axis"));
    }
    if let Some(update) = cx.shape(In(1)) {
        if update.len() != cache.len() {
            return Err(cx.wrong_rank(In(1), cache.len()..=cache.len()));
        }
        for at in (0..cache.len()).filter(|at| *at != axis) {
            cx.require_equal(
                (In(0), at, cache[at]),
                (In(1), at, update[at]),
                "are written along another axis",
            )?;
        }
        if let (Some(most), Some(written)) = (cx.const_dim(cache[axis]), cx.const_dim(update[axis]))
            && written > most
        {
            let message =
                format!("the update has {written} elements along axis {axis}, but the cache has {most}");
            return Err(Failure::shapes(&[In(0), In(1)], message));
        }
    }
    cx.require_rank(In(2), 1..=1)?;
    if let Some(starts) = cx.shape(In(2)) {
        cx.require_equal(
            (In(2), 0, starts[0]),
            (In(0), 0, cache[0]),
            "hold one write index a batch element",
        )?;
    }
    Ok(())
}
