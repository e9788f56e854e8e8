//! Operators on images and boxes: GridSample, AffineGrid, NonMaxSuppression, ImageDecoder.

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleError, RuleResult};

use super::common::{Deferred, MAX_AXES, Shared, choice, require_single, set_extents, unknown_extent};
use super::sliding::require_extents;
use super::{Entry, rule};

#[cfg(test)]
mod tests;

/// The batch that images and positions share.
const BATCH: Shared = Shared::new("are the batch");

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("AffineGrid", &[rule("affinegrid.size", affine_grid)]),
    Entry::of("GridSample", &[rule("gridsample.grid", grid_sample)]),
    Entry::of("ImageDecoder", &[rule("imagedecoder.pixels", decode)]),
    Entry::of("NonMaxSuppression", &[rule("nonmaxsuppression.boxes", suppress)]),
];

/// The grid has a position in the image for each output element. Source: GridSample, `X`, `grid` and the
/// output `Y`.
fn grid_sample(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    // Version 16 supports images only.
    let most = if cx.since_version() < 20 { 4 } else { usize::MAX };
    let least = if cx.since_version() < 20 { 4 } else { 3 };
    cx.require_rank(In(0), least..=most)?;
    cx.require_rank(In(1), least..=most)?;
    let (image, grid) = (cx.shape(In(0)), cx.shape(In(1)));
    if let (Some(image), Some(grid)) = (&image, &grid)
        && image.len() != grid.len()
    {
        let message =
            format!("the grid must have as many axes as the image, {}, but has {}", image.len(), grid.len());
        return Err(RuleError::shapes(&[In(0), In(1)], message));
    }
    let Some(rank) = image.as_ref().or(grid.as_ref()).map(DimVec::len).filter(|rank| *rank <= MAX_AXES)
    else {
        return Ok(());
    };
    let (mut batch, mut channels) = (BATCH, Shared::new("are the channels"));
    if let Some(image) = &image {
        batch.meet(cx, (In(0), 0, image[0]))?;
        channels.meet(cx, (In(0), 1, image[1]))?;
    }
    if let Some(grid) = &grid {
        batch.meet(cx, (In(1), 0, grid[0]))?;
        let spatial = cx.count(rank - 2);
        cx.require_equal(
            (In(1), rank - 1, grid[rank - 1]),
            spatial,
            "is the number of coordinates of a position",
        )?;
    }
    let positions = (1..rank - 1).map(|axis| grid.as_ref().map(|grid| grid[axis]));
    set_extents(cx, Out(0), [batch.get(), channels.get()].into_iter().chain(positions))
}

/// A position per element of an image of this size. Source: AffineGrid, `theta`, `size`.
fn affine_grid(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 3..=3)?;
    cx.require_rank(In(1), 1..=1)?;
    let by_size = match cx.vector_len(In(1)) {
        Some(length @ (4 | 5)) => Some(length - 2),
        Some(length) => {
            return Err(RuleError::value(In(1), format!("has {length} extents, but must have 4 or 5")));
        }
        None => None,
    };
    let theta = cx.shape(In(0));
    let mut errors = Deferred::default();
    let by_theta = match &theta {
        Some(theta) => errors.note(transformed_axes(cx, theta)).flatten(),
        None => None,
    };
    let Some(spatial) = by_size.or(by_theta) else { return errors.finish() };
    let size = cx.shape_value(In(1));
    let mut batch = BATCH;
    if let Some(size) = &size {
        require_extents(cx, In(1), size)?;
        batch.meet(cx, (In(1), size[0]))?;
    }
    if let Some(theta) = &theta {
        errors.note(batch.meet(cx, (In(0), 0, theta[0])));
    }
    let extents = (0..spatial).map(|axis| size.as_ref().map(|size| size[axis + 2]));
    let coordinates = cx.dims().constant(if spatial == 2 { 2 } else { 3 });
    set_extents(cx, Out(0), [batch.get()].into_iter().chain(extents).chain([Some(coordinates)]))?;
    errors.finish()?;
    match by_theta {
        Some(found) if found != spatial => {
            let message = format!("transformations of {found} axes do not fit a size of {spatial}");
            Err(RuleError::shapes(&[In(0), In(1)], message))
        }
        Some(_) | None => Ok(()),
    }
}

/// Number of spatial axes of the transformation `[N, 2, 3]` or `[N, 3, 4]`.
fn transformed_axes(cx: &mut RuleCx<'_, '_>, theta: &[DimId]) -> RuleResult<Option<usize>> {
    match (cx.const_dim(theta[1]), cx.const_dim(theta[2])) {
        (Some(2), Some(3) | None) | (None, Some(3)) => Ok(Some(2)),
        (Some(3), Some(4) | None) | (None, Some(4)) => Ok(Some(3)),
        (None, None) => Ok(None),
        (Some(_), _) | (_, Some(_)) => {
            Err(RuleError::shapes(&[In(0)], "a transformation must be 2 by 3 or 3 by 4"))
        }
    }
}

/// Three indices per selected box. Source: NonMaxSuppression, `boxes`, `scores`.
fn suppress(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let three = cx.dims().constant(3);
    let selected = unknown_extent(cx, Out(0), 0);
    cx.set_shape(Out(0), &[selected, three])?;
    cx.require_rank(In(0), 3..=3)?;
    cx.require_rank(In(1), 3..=3)?;
    if let Some(boxes) = cx.shape(In(0)) {
        let four = cx.dims().constant(4);
        cx.require_equal((In(0), 2, boxes[2]), four, "is the number of coordinates of a box")?;
        if let Some(scores) = cx.shape(In(1)) {
            cx.require_equal((In(0), 0, boxes[0]), (In(1), 0, scores[0]), "are the batch")?;
            cx.require_equal((In(0), 1, boxes[1]), (In(1), 2, scores[2]), "are the boxes")?;
        }
    }
    [In(2), In(3), In(4)].into_iter().try_for_each(|port| require_single(cx, port))?;
    // The default number of selected boxes is 0.
    if !cx.has(In(2)) || cx.const_int(In(2)).is_some_and(|most| most <= 0) {
        cx.set_shape(Out(0), &[DimId::ZERO, three])?;
    }
    Ok(())
}

/// Height, width, and the channels of the pixel format. Source: ImageDecoder, `pixel_format`.
fn decode(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 1..=1)?;
    let channels = choice(cx, "pixel_format", &[("RGB", 3), ("BGR", 3), ("Grayscale", 1)])?.unwrap_or(3);
    let (height, width) = (unknown_extent(cx, Out(0), 0), unknown_extent(cx, Out(0), 1));
    let channels = cx.dims().constant(channels);
    cx.set_shape(Out(0), &[height, width, channels])
}
