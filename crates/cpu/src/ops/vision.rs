//! Computer vision operators: grid sampling, region pooling, non-maximum suppression; and determinants.
//!
//! The sampling operators read an image at points between its elements. A point becomes a few elements with
//! weights ([`Samples`]). They are the same for all channels, so they are computed once for a block of points
//! and then applied to each channel:
//!
//! ```text
//! GridSample, bilinear, a point at row 1.25 and column 2.5
//!   elements    (1, 2) 0.375    (1, 3) 0.375    (2, 2) 0.125    (2, 3) 0.125
//! ```
//!
//! `GridSample` has one point per result and interpolates along all axes ([`Sampler`]). `RoiAlign` averages
//! several points of a bin, with bilinear weights. `MaxRoiPool` takes the greatest element of a bin.
//! `AffineGrid` computes the points of a transformed grid.
//!
//! `NonMaxSuppression` is greedy: it visits boxes in descending order of scores, and keeps a box unless it
//! overlaps a kept one by more than the threshold. `Det` is Gaussian elimination with partial pivoting.
//!
//! The time of sampling is the number of points times elements per point, times the channels. The list of
//! elements has at most [`BLOCK`] points, and [`MAX_TAPS`] elements unless one point has more. Suppression
//! compares each box with all kept ones, and requests the work of each box ([`OVERLAP_WORK`]), because the
//! kept ones are not known before. `Det` takes `n^3` operations.
//!
//! **Invariant:** sums accumulate in `f64`. A point without elements gives 0.
//!
//! Limits: the maximum of `RoiAlign` is the one of weighted elements, not of interpolated points. A bin of
//! `RoiAlign` has at most [`MAX_SAMPLES`] samples.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::resize::cubic;
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{build_over, check_size, of_f64s, on_floats, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::shape::{count, each_index, extents, strides};
use crate::work;
use sampling::{BLOCK, MAX_TAPS, Samples};

mod sampling;

pub(super) const OPERATORS: &[Operator] = &[
    widened("GridSample", grid_sample),
    widened("AffineGrid", affine_grid),
    widened("RoiAlign", roi_align),
    widened("MaxRoiPool", max_roi_pool),
    native("NonMaxSuppression", non_max_suppression),
    widened("Det", det),
];

/// Maximum number of samples of a bin of `RoiAlign`, which are in memory at a time.
const MAX_SAMPLES: usize = 1 << 24;

/// The parameter of cubic interpolation that image libraries use.
const CUBIC: f64 = -0.75;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// Maps a coordinate outside the input back into it, according to the padding mode.
fn mapped_back(at: f64, extent: usize, outside: Padding, align: bool) -> f64 {
    let last = extent as f64 - 1.0;
    match outside {
        Padding::Zeros => at,
        Padding::Border => at.clamp(0.0, last),
        Padding::Reflection => {
            let (low, high) = if align { (0.0, last) } else { (-0.5, last + 0.5) };
            let span = high - low;
            if span <= 0.0 {
                return 0.0;
            }
            let offset = (at - low).rem_euclid(2.0 * span);
            let offset = if offset > span { 2.0 * span - offset } else { offset };
            (low + offset).clamp(low, high)
        }
    }
}

fn grid_sample(call: &mut Call<'_>) -> Outcome {
    let align = call.flag("align_corners", false)?;
    let modes = [("zeros", Padding::Zeros), ("border", Padding::Border), ("reflection", Padding::Reflection)];
    let outside = call.choice("padding_mode", &modes)?;
    let modes = [("linear", 1), ("bilinear", 1), ("nearest", 0), ("cubic", 2), ("bicubic", 2)];
    let reach = call.choice("mode", &modes)?;
    let (x, grid) = (call.tensor(0)?, call.tensor(1)?);
    let rank = x.rank().saturating_sub(2);
    if rank == 0
        || grid.rank() != x.rank()
        || grid.shape().last() != Some(&rank)
        || grid.shape()[0] != x.shape()[0]
    {
        return invalid(format!("the grid {:?} does not fit {:?}", grid.shape(), x.shape()));
    }
    let (batches, channels, spatial) = (x.shape()[0], x.shape()[1], &x.shape()[2..]);
    let target = &grid.shape()[1..=rank];
    let shape = [&[batches, channels], target].concat();
    check_size(&shape, size_of::<f64>())?;
    let coordinates = to_f64s(grid)?;
    let own = strides(spatial);
    let (plane, points) = (count(spatial), count(target));
    let sampler = Sampler { align, outside, reach, spatial, own: &own };
    let taps_of_point = vec![(2 * reach).max(1); rank];
    check_size(&taps_of_point, size_of::<(usize, f64)>())?;
    let block = (MAX_TAPS / count(&taps_of_point)).clamp(1, BLOCK);
    work::spend_each(&[&[batches, channels.saturating_add(rank)], target, &taps_of_point].concat())?;
    one(on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(&shape, |out| {
            if out.is_empty() {
                return;
            }
            let mut samples = Samples::default();
            let mut taps = Vec::with_capacity(rank);
            for (batch, out) in out.chunks_exact_mut(channels * points).enumerate() {
                for start in (0..points).step_by(block) {
                    let end = points.min(start + block);
                    samples.clear();
                    for point in start..end {
                        sampler.add(&coordinates[(batch * points + point) * rank..][..rank], &mut taps, &mut samples);
                    }
                    for (channel, out) in out.chunks_exact_mut(points).enumerate() {
                        let lane = batch * channels + channel;
                        samples.sum(&data[lane * plane..][..plane], &mut out[start..end]);
                    }
                }
            }
        })
    })?)
}

/// Interpolation along one axis: elements inside the input and their weights.
type Taps = [(Option<usize>, f64); 4];

/// Interpolation at the points of a grid.
struct Sampler<'a> {
    align: bool,
    outside: Padding,
    /// Elements of an axis on either side of a point.
    reach: usize,
    spatial: &'a [usize],
    own: &'a [usize],
}

impl Sampler<'_> {
    /// Adds the elements and weights of a point, whose last coordinate belongs to the first axis.
    fn add(&self, coordinates: &[f64], taps: &mut Vec<Taps>, samples: &mut Samples) {
        taps.clear();
        taps.extend(
            self.spatial.iter().zip(coordinates.iter().rev()).map(|(extent, at)| self.along(*extent, *at)),
        );
        let number = (2 * self.reach).max(1);
        if let [rows, columns] = taps[..] {
            for (row, part) in &rows[..number] {
                let Some(row) = row else { continue };
                for (column, weight) in &columns[..number] {
                    if let Some(column) = column {
                        samples.add(row * self.own[0] + column * self.own[1], part * weight);
                    }
                }
            }
        } else {
            let shape = vec![number; taps.len()];
            each_index(&shape, |_, index| {
                let (mut weight, mut offset) = (1.0, Some(0));
                for (axis, tap) in index.iter().enumerate() {
                    let (element, part) = taps[axis][*tap];
                    weight *= part;
                    offset = offset.zip(element).map(|(offset, element)| offset + element * self.own[axis]);
                }
                if let Some(offset) = offset {
                    samples.add(offset, weight);
                }
            });
        }
        samples.end();
    }

    fn along(&self, extent: usize, given: f64) -> Taps {
        let Self { align, outside, .. } = *self;
        let scaled = if align {
            (given + 1.0) / 2.0 * (extent as f64 - 1.0)
        } else {
            ((given + 1.0) * extent as f64 - 1.0) / 2.0
        };
        let index = |at: f64| {
            let at = mapped_back(at, extent, outside, align).round_ties_even();
            (at >= 0.0 && at < extent as f64).then_some(at as usize)
        };
        let none = (None, 0.0);
        match self.reach {
            0 => {
                let at = mapped_back(scaled, extent, outside, align).round_ties_even();
                [(index(at), 1.0), none, none, none]
            }
            1 => {
                let at = mapped_back(scaled, extent, outside, align);
                let low = at.floor();
                [(index(low), 1.0 - (at - low)), (index(low + 1.0), at - low), none, none]
            }
            _ => {
                // Linear weights do not depend on whether the coordinate or the elements are mapped back;
                // cubic weights do.
                let edge = if align { 0.0 } else { 0.5 };
                let is_beyond = scaled < -edge || scaled > extent as f64 - 1.0 + edge;
                let scaled = if is_beyond { mapped_back(scaled, extent, outside, align) } else { scaled };
                let low = scaled.floor();
                let t = scaled - low;
                let weights = [1.0 + t, t, 1.0 - t, 2.0 - t].map(|x| cubic(x, CUBIC));
                [0, 1, 2, 3].map(|step: usize| (index(low + step as f64 - 1.0), weights[step]))
            }
        }
    }
}

fn affine_grid(call: &mut Call<'_>) -> Outcome {
    let align = call.flag("align_corners", false)?;
    let theta = call.tensor(0)?;
    let size = extents(&call.required_integers(1)?)?;
    let rank = size.len().saturating_sub(2);
    if rank == 0 || theta.shape() != [size[0], rank, rank + 1] {
        return invalid(format!("the matrices {:?} do not fit the size {size:?}", theta.shape()));
    }
    let spatial = &size[2..];
    let shape = [&size[..1], spatial, &[rank]].concat();
    check_size(&shape, size_of::<f64>())?;
    let matrices = to_f64s(theta)?;
    let mut out = Vec::with_capacity(count(&shape));
    for matrix in matrices.chunks_exact(rank * (rank + 1)) {
        each_index(spatial, |_, index| {
            // Grid coordinates are stored from the last axis to the first.
            let coordinate = |axis: usize| {
                let (at, extent) = (index[rank - 1 - axis] as f64, spatial[rank - 1 - axis] as f64);
                if align {
                    if extent > 1.0 { 2.0 * at / (extent - 1.0) - 1.0 } else { 0.0 }
                } else {
                    (2.0 * at + 1.0) / extent - 1.0
                }
            };
            for row in matrix.chunks_exact(rank + 1) {
                out.push((0..rank).map(|axis| row[axis] * coordinate(axis)).sum::<f64>() + row[rank]);
            }
        });
    }
    one(of_f64s(theta.dtype(), &shape, &out)?)
}

fn roi_align(call: &mut Call<'_>) -> Outcome {
    let modes = [("half_pixel", call.version >= 16), ("output_half_pixel", false)];
    let half_pixel = call.choice("coordinate_transformation_mode", &modes)?;
    let by_max = call.choice("mode", &[("avg", false), ("max", true)])?;
    let size = extents(&[call.int("output_height", 1)?, call.int("output_width", 1)?])?;
    let (rows, columns) = (size[0], size[1]);
    let ratio = usize::try_from(call.int("sampling_ratio", 0)?).unwrap_or(0);
    let scale = f64::from(call.float("spatial_scale", 1.0)?);
    let (x, rois) = (call.tensor(0)?, call.tensor(1)?);
    let owners = call.required_integers(2)?;
    let (&[batches, channels, height, width], &[regions, 4]) = (x.shape(), rois.shape()) else {
        return invalid(format!("the shapes {:?} and {:?} do not fit", x.shape(), rois.shape()));
    };
    if owners.len() != regions {
        return invalid("there is not one batch index for each region");
    }
    check_size(&[regions, channels, rows, columns], size_of::<f64>())?;
    let boxes = to_f64s(rois)?;
    let shift = if half_pixel { 0.5 } else { 0.0 };
    let mut batches_of = Vec::with_capacity(regions);
    for owner in &owners {
        batches_of.push(super::gather::normalised_index(*owner, batches)?);
    }
    let geometry = |region: usize| {
        let [x1, y1, x2, y2] = [0, 1, 2, 3].map(|at| boxes[region * 4 + at] * scale - shift);
        let (mut wide, mut high) = (x2 - x1, y2 - y1);
        if !half_pixel {
            (wide, high) = (wide.max(1.0), high.max(1.0));
        }
        let (bin_high, bin_wide) = (high / rows as f64, wide / columns as f64);
        let number = |bin: f64| if ratio > 0 { ratio } else { bin.ceil().max(0.0) as usize };
        Region { x1, y1, bin_high, bin_wide, down: number(bin_high), across: number(bin_wide) }
    };
    for region in 0..regions {
        let Region { down, across, .. } = geometry(region);
        if down.saturating_mul(across) > MAX_SAMPLES {
            return invalid(format!(
                "a bin of region {region} has {down} x {across} samples, more than the maximum of {MAX_SAMPLES}"
            ));
        }
        check_size(&[down * across, 4], size_of::<(usize, f64)>())?;
        work::spend_each(&[rows, columns, down, across, channels.saturating_add(1), 4])?;
    }
    let (plane, bins) = (height * width, rows * columns);
    one(on_floats!(x.dtype(), T => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(&[regions, channels, rows, columns], |out| {
            if out.is_empty() {
                return;
            }
            let mut samples = Samples::default();
            for (region, out) in out.chunks_exact_mut(channels * bins).enumerate() {
                let Region { x1, y1, bin_high, bin_wide, down, across } = geometry(region);
                let share = if by_max { 1.0 } else { 1.0 / (down * across).max(1) as f64 };
                let block = (MAX_TAPS / (4 * down * across).max(1)).clamp(1, BLOCK);
                for first in (0..bins).step_by(block) {
                    let end = bins.min(first + block);
                    samples.clear();
                    for bin in first..end {
                        let (row, column) = ((bin / columns) as f64, (bin % columns) as f64);
                        for i in 0..down {
                            let y = y1 + (row + (i as f64 + 0.5) / down as f64) * bin_high;
                            for j in 0..across {
                                let x = x1 + (column + (j as f64 + 0.5) / across as f64) * bin_wide;
                                bilinear(height, width, y, x, share, &mut samples);
                            }
                        }
                        samples.end();
                    }
                    for (channel, out) in out.chunks_exact_mut(bins).enumerate() {
                        let data = &data[(batches_of[region] * channels + channel) * plane..][..plane];
                        let out = &mut out[first..end];
                        if by_max { samples.greatest(data, out) } else { samples.sum(data, out) }
                    }
                }
            }
        })
    })?)
}

/// A region, and the samples of its bins.
struct Region {
    x1: f64,
    y1: f64,
    bin_high: f64,
    bin_wide: f64,
    /// Numbers of samples of a bin.
    down: usize,
    across: usize,
}

/// Adds the four elements of a bilinear interpolation; none outside.
fn bilinear(height: usize, width: usize, y: f64, x: f64, share: f64, samples: &mut Samples) {
    if y < -1.0 || y > height as f64 || x < -1.0 || x > width as f64 || height == 0 || width == 0 {
        return;
    }
    let corner = |at: f64, extent: usize| {
        let at = at.max(0.0);
        let low = at as usize;
        if low + 1 >= extent { (extent - 1, extent - 1, 0.0) } else { (low, low + 1, at - low as f64) }
    };
    let (top, bottom, dy) = corner(y, height);
    let (left, right, dx) = corner(x, width);
    samples.add(top * width + left, share * ((1.0 - dy) * (1.0 - dx)));
    samples.add(top * width + right, share * ((1.0 - dy) * dx));
    samples.add(bottom * width + left, share * (dy * (1.0 - dx)));
    samples.add(bottom * width + right, share * (dy * dx));
}

fn max_roi_pool(call: &mut Call<'_>) -> Outcome {
    let pooled =
        call.attributes.ints("pooled_shape")?.ok_or(KernelErrorKind::MissingAttribute("pooled_shape"))?;
    let scale = f64::from(call.float("spatial_scale", 1.0)?);
    let (x, rois) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batches, channels, height, width], &[regions, 5]) = (x.shape(), rois.shape()) else {
        return invalid(format!("the shapes {:?} and {:?} do not fit", x.shape(), rois.shape()));
    };
    let &[rows, columns] = &extents(pooled)?[..] else { return invalid("`pooled_shape` is not two extents") };
    check_size(&[regions, channels, rows, columns], size_of::<f64>())?;
    work::spend_each(&[regions, channels, height, width])?;
    let (data, boxes) = (to_f64s(x)?, to_f64s(rois)?);
    let mut out = Vec::with_capacity(regions * channels * rows * columns);
    for region in boxes.chunks_exact(5) {
        let batch = super::gather::normalised_index(region[0] as i64, batches)?;
        let [x1, y1, x2, y2] = [1, 2, 3, 4].map(|at| (region[at] * scale).round());
        let (wide, high) = ((x2 - x1 + 1.0).max(1.0), (y2 - y1 + 1.0).max(1.0));
        let range = |at: usize, bins: usize, start: f64, size: f64, extent: usize| {
            let bin = size / bins as f64;
            let from = (at as f64 * bin).floor() + start;
            let to = ((at + 1) as f64 * bin).ceil() + start;
            (from.clamp(0.0, extent as f64) as usize)..(to.clamp(0.0, extent as f64) as usize)
        };
        for channel in 0..channels {
            let plane = &data[(batch * channels + channel) * height * width..][..height * width];
            each_index(&[rows, columns], |_, bin| {
                let across = range(bin[1], columns, x1, wide, width);
                let seen = range(bin[0], rows, y1, high, height)
                    .flat_map(|y| across.clone().map(move |x| plane[y * width + x]));
                out.push(seen.reduce(f64::max).unwrap_or(0.0));
            });
        }
    }
    one(of_f64s(x.dtype(), &[regions, channels, rows, columns], &out)?)
}

/// Units of work for the overlap of two boxes.
const OVERLAP_WORK: usize = 8;

fn non_max_suppression(call: &mut Call<'_>) -> Outcome {
    let centred = call.flag("center_point_box", false)?;
    let (boxes, scores) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batches, spots, 4], &[_, classes, _]) = (boxes.shape(), scores.shape()) else {
        return invalid(format!("boxes {:?} and scores {:?} do not fit", boxes.shape(), scores.shape()));
    };
    if scores.shape() != [batches, classes, spots] {
        return invalid(format!("boxes {:?} and scores {:?} do not fit", boxes.shape(), scores.shape()));
    }
    let most = usize::try_from(call.integer(2)?.unwrap_or(0)).unwrap_or(0);
    let number = |index: usize| -> Result<Option<f64>, KernelErrorKind> {
        Ok(call.optional(index)?.map(to_f64s).transpose()?.and_then(|values| values.first().copied()))
    };
    let (overlap, threshold) = (number(3)?.unwrap_or(0.0), number(4)?);
    let (boxes, scores) = (to_f64s(boxes)?, to_f64s(scores)?);
    // Normalised to (min y, min x, max y, max x).
    let corners = |batch: usize, spot: usize| {
        let of = &boxes[(batch * spots + spot) * 4..][..4];
        if centred {
            let (x, y, w, h) = (of[0], of[1], of[2] / 2.0, of[3] / 2.0);
            (y - h, x - w, y + h, x + w)
        } else {
            (of[0].min(of[2]), of[1].min(of[3]), of[0].max(of[2]), of[1].max(of[3]))
        }
    };
    let intersection_over_union = |a: (f64, f64, f64, f64), b: (f64, f64, f64, f64)| {
        let high = (a.2.min(b.2) - a.0.max(b.0)).max(0.0);
        let wide = (a.3.min(b.3) - a.1.max(b.1)).max(0.0);
        let area = |it: (f64, f64, f64, f64)| (it.2 - it.0) * (it.3 - it.1);
        let union = area(a) + area(b) - high * wide;
        if union > 0.0 { high * wide / union } else { 0.0 }
    };
    let mut chosen: Vec<i64> = Vec::new();
    for batch in 0..batches {
        for class in 0..classes {
            let scores = &scores[(batch * classes + class) * spots..][..spots];
            let mut order: Vec<usize> = (0..spots)
                .filter(|spot| threshold.is_none_or(|threshold| scores[*spot] > threshold))
                .collect();
            order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
            let mut kept = Vec::new();
            for spot in order {
                if kept.len() >= most {
                    break;
                }
                work::spend_each(&[kept.len() + 1, OVERLAP_WORK])?;
                let own = corners(batch, spot);
                if kept.iter().all(|other| intersection_over_union(own, *other) <= overlap) {
                    kept.push(own);
                    chosen.extend([batch as i64, class as i64, spot as i64]);
                }
            }
        }
    }
    one(AnyTensor::from_slice(&[chosen.len() / 3, 3], &chosen)?)
}

/// Determinants by Gaussian elimination with partial pivoting.
fn det(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let Some((&[rows, columns], outer)) =
        x.shape().split_last_chunk::<2>().map(|(outer, last)| (last, outer))
    else {
        return invalid("the input is not a matrix");
    };
    if rows != columns {
        return invalid(format!("a matrix of {rows} by {columns} has no determinant"));
    }
    work::spend_each(&[outer, &[rows, rows, rows]].concat())?;
    check_size(outer, size_of::<f64>())?;
    let mut data = to_f64s(x)?;
    let mut results = Vec::with_capacity(count(outer));
    if rows == 0 {
        results.resize(count(outer), 1.0);
    }
    for matrix in data.chunks_exact_mut((rows * rows).max(1)) {
        let mut product = 1.0;
        for step in 0..rows {
            let pivot = (step..rows)
                .max_by(|a, b| matrix[a * rows + step].abs().total_cmp(&matrix[b * rows + step].abs()))
                .unwrap_or(step);
            if matrix[pivot * rows + step] == 0.0 {
                product = 0.0;
                break;
            }
            if pivot != step {
                product = -product;
                (0..rows).for_each(|column| matrix.swap(pivot * rows + column, step * rows + column));
            }
            product *= matrix[step * rows + step];
            for row in step + 1..rows {
                let factor = matrix[row * rows + step] / matrix[step * rows + step];
                for column in step..rows {
                    matrix[row * rows + column] -= factor * matrix[step * rows + column];
                }
            }
        }
        results.push(product);
    }
    debug_assert!(x.dtype() != Dtype::String);
    one(of_f64s(x.dtype(), outer, &results)?)
}
