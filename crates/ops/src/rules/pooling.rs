//! Pooling over sliding windows, over whole channels and over regions, and its inverse.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleError, RuleResult};

use super::common::{MAX_AXES, Shared, set_extents, unknown_extent};
use super::sliding::{self, Rounding, Windows};
use super::{Entry, rule};

mod columns;
mod regions;
#[cfg(test)]
mod tests;

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("AveragePool LpPool MaxPool", &[rule("pool.windows", pool)]),
    Entry::of("Col2Im", &[rule("col2im.blocks", columns::col2im)]),
    Entry::of("GlobalAveragePool GlobalLpPool GlobalMaxPool", &[rule("globalpool.shape", global)]),
    Entry::of("MaxRoiPool", &[rule("maxroipool.regions", regions::max_roi_pool)]),
    Entry::of("MaxUnpool", &[rule("maxunpool.windows", unpool)]),
    Entry::of("RoiAlign", &[rule("roialign.regions", regions::roi_align)]),
];

/// Number of spatial axes, from the input or from `kernel_shape`.
fn spatial_axes(cx: &mut RuleCx<'_, '_>) -> RuleResult<Option<usize>> {
    if let Some(rank) = cx.require_rank(In(0), 3..)? {
        return Ok((rank <= MAX_AXES).then(|| rank - 2));
    }
    Ok(cx
        .attr_ints("kernel_shape")?
        .map(|kernel| kernel.len())
        .filter(|spatial| (1..MAX_AXES).contains(spatial)))
}

/// The windows fit, and the number of their positions is the output's extent; indices have the shape of the
/// indexed output. Source: MaxPool, AveragePool, LpPool, the formulas of their descriptions and `ceil_mode`.
fn pool(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(spatial) = spatial_axes(cx)? else { return Ok(()) };
    let kernel = sliding::kernel_dims(cx, spatial)?;
    let windows = Windows::read(cx, spatial)?;
    let rounding = match (cx.attr_flag("ceil_mode")?, cx.since_version()) {
        (false, _) => Rounding::Down,
        (true, ..22) => Rounding::Up,
        (true, 22..) => Rounding::UpInside,
    };
    let input = cx.shape(In(0));
    let leading = |axis: usize| match &input {
        Some(input) => input[axis],
        None => unknown_extent(cx, Out(0), axis),
    };
    let mut shape: DimVec = (0..2).map(leading).collect();
    shape.extend(windows.extents(cx, In(0), kernel.as_deref(), rounding)?);
    cx.set_shape(Out(0), &shape)?;
    cx.same_shape(Out(0), Out(1))
}

/// Every channel is reduced to one number. Source: GlobalAveragePool.
fn global(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(mut shape) = cx.shape_of_rank(In(0), 2..)? else { return Ok(()) };
    shape[2..].fill(DimId::ONE);
    cx.set_shape(Out(0), &shape)
}

/// The extents of the input of the pooling, or those in `output_shape`. Source: MaxUnpool, `I`,
/// `output_shape`, and the inverse of MaxPool's formula.
fn unpool(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    unpooled(cx)?;
    cx.same_shape(In(0), In(1))
}

fn unpooled(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(spatial) = spatial_axes(cx)? else { return Ok(()) };
    let rank = spatial + 2;
    let windows = Windows::read(cx, spatial)?;
    let kernel = sliding::kernel_shape(cx, spatial)?;
    if cx.has(In(2)) {
        cx.require_rank(In(2), 1..=1)?;
        if let Some(length) = cx.vector_len(In(2))
            && length != rank
        {
            let message = format!("has {length} extents for the {rank} axes of the input");
            return Err(RuleError::value(In(2), message));
        }
        return match cx.shape_value(In(2)) {
            Some(shape) => {
                sliding::require_extents(cx, In(2), &shape)?;
                cx.set_shape(Out(0), &shape)
            }
            None => cx.set_rank(Out(0), rank),
        };
    }
    let Some(input) = cx.shape(In(0)) else { return cx.set_rank(Out(0), rank) };
    let mut shape: DimVec = input[..2].into();
    for axis in 0..spatial {
        let elements = kernel.as_ref().map_or(1, |kernel| kernel[axis]);
        let elements = cx.dims().constant(elements);
        let extent = windows.covered(cx, axis, input[axis + 2], elements)?;
        shape.push(extent);
    }
    cx.set_shape(Out(0), &shape)
}

/// Sets the shape `[regions, channels, height, width]`.
fn regions_shape(cx: &mut RuleCx<'_, '_>, regions: Shared, height: i64, width: i64) -> RuleResult {
    let channels = cx.shape(In(0)).map(|input| input[1]);
    let (height, width) = (cx.dims().constant(height), cx.dims().constant(width));
    set_extents(cx, Out(0), [regions.get(), channels, Some(height), Some(width)])
}
