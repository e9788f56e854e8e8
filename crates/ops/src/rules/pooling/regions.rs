//! Pooling over regions of interest: MaxRoiPool, RoiAlign.

use typeloom_solver::rule::Port::In;
use typeloom_solver::rule::{RuleCx, RuleResult};

use super::regions_shape;
use crate::rules::common::{Shared, meet_axes};
use crate::rules::sliding;

/// A region is an image number and two corners. Source: MaxRoiPool, `rois`, `pooled_shape`.
pub(super) fn max_roi_pool(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 4..=4)?;
    let regions = rows(cx, 5)?;
    let Some(pooled) = sliding::numbers(cx, "pooled_shape", 2, 1)? else { return Ok(()) };
    regions_shape(cx, regions, pooled[0], pooled[1])
}

/// A region is two corners; the image numbers are a separate input. Source: RoiAlign, `rois`,
/// `batch_indices`, `output_height`.
pub(super) fn roi_align(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 4..=4)?;
    let mut regions = rows(cx, 4)?;
    meet_axes(cx, In(2), &mut [&mut regions])?;
    let height = cx.attr_at_least("output_height", 1, 1)?;
    let width = cx.attr_at_least("output_width", 1, 1)?;
    regions_shape(cx, regions, height, width)
}

/// Number of regions, each a row of `width` numbers.
fn rows(cx: &mut RuleCx<'_, '_>, width: i64) -> RuleResult<Shared> {
    cx.require_rank(In(1), 2..=2)?;
    let mut regions = Shared::new("are the regions");
    if let Some(rois) = cx.shape(In(1)) {
        let width = cx.dims().constant(width);
        cx.require_equal((In(1), 1, rois[1]), width, "is the number of entries of a region")?;
        regions.meet(cx, (In(1), 0, rois[0]))?;
    }
    Ok(regions)
}
