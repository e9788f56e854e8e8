//! Geometry of the sliding windows of convolution and pooling.
//!
//! A window of `kernel` elements, `dilation` apart, moves over an axis in steps of `stride`. It spans
//! `dilation * (kernel - 1) + 1` elements, and has `(extent + pads - span) / stride + 1` positions, rounded
//! down, or up with `ceil_mode` (Dumoulin and Visin, *A guide to convolution arithmetic for deep learning*,
//! 2016):
//!
//! ```text
//! extent 7, kernel 3, stride 2, pads 1 and 1       span 3, 4 windows, which begin at -1, 1, 3, 5
//!   first elements of the windows: padding, 1, 3, 5    one stretch: windows 1..4, elements 1, 3, 5
//! ```
//!
//! [`Windows::of`] reads the attributes of a node. Kernels use one of three forms of the same geometry:
//!
//! | form | contents | size |
//! |---|---|---|
//! | [`Windows::stretches`] | runs of adjacent windows | kernel positions times rows of windows |
//! | [`Windows::elements`] | all elements of each window | kernel positions times windows |
//! | [`Windows::frame`], [`Windows::steps`] | a plane with its padding, equal offsets | the plane |
//!
//! **Invariant:** the products of the outputs, of the kernel and of [`Windows::reach`] are checked when
//! windows are made, so other methods multiply extents without checks.
//!
//! **Invariant:** a pad can be negative and then crops the input; no form reads an element outside of the
//! input.
//!
//! **Limit:** numbers in attributes are at most `2^31`, so that sums and products of two fit in an `i64`.

use typeloom_types::plural::counted;

use crate::call::Call;
use crate::element::{check_extents, check_size};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::memory::{Scratch, scratch_list};
use crate::shape::{count, each_index, extents, strides};
use crate::work;

/// Sliding windows over the spatial axes.
#[derive(Clone, Debug)]
pub(crate) struct Windows {
    pub(crate) input: Vec<usize>,
    pub(crate) kernel: Vec<usize>,
    pub(crate) strides: Vec<usize>,
    pub(crate) dilations: Vec<usize>,
    pub(crate) begin: Vec<i64>,
    pub(crate) end: Vec<i64>,
    pub(crate) output: Vec<usize>,
}

/// A run of adjacent windows, and the input element of each at one kernel position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch {
    pub(crate) window: usize,
    pub(crate) len: usize,
    /// Element of the first window; the elements of the others follow at a fixed stride.
    pub(crate) start: usize,
}

/// An attribute with one number per axis; ones by default.
pub(crate) fn per_axis(call: &Call<'_>, name: &str, rank: usize) -> Result<Vec<usize>, KernelErrorKind> {
    let Some(given) = call.attributes.ints(name)? else { return Ok(vec![1; rank]) };
    let values = extents(given)?;
    if values.len() != rank || values.iter().any(|value| !(1..1 << 31).contains(value)) {
        return invalid(format!(
            "`{name}` = {given:?} is not one number above zero for each of {}",
            counted(rank, "axis")
        ));
    }
    Ok(values)
}

/// The explicit pads: begin and end.
pub(crate) fn pads(call: &Call<'_>, rank: usize) -> Result<(Vec<i64>, Vec<i64>), KernelErrorKind> {
    let Some(pads) = call.attributes.ints("pads")? else { return Ok((vec![0; rank], vec![0; rank])) };
    if pads.len() != 2 * rank || pads.iter().any(|pad| pad.unsigned_abs() > 1 << 31) {
        return invalid(format!(
            "`pads` = {pads:?} does not have two numbers for each of {}",
            counted(rank, "axis")
        ));
    }
    Ok((pads[..rank].to_vec(), pads[rank..].to_vec()))
}

impl Windows {
    /// Reads the window attributes of a convolution or pooling node.
    pub(crate) fn of(call: &Call<'_>, input: &[usize], kernel: &[usize]) -> Result<Self, KernelErrorKind> {
        let rank = input.len();
        if kernel.len() != rank || kernel.iter().any(|extent| !(1..1 << 31).contains(extent)) {
            return invalid(format!("the window {kernel:?} does not fit {}", counted(rank, "axis")));
        }
        let (strides, dilations) = (per_axis(call, "strides", rank)?, per_axis(call, "dilations", rank)?);
        let ceil = call.flag("ceil_mode", false)?;
        let auto = call.text("auto_pad", "NOTSET")?;
        let (mut begin, mut end) = pads(call, rank)?;
        let mut output = Vec::with_capacity(rank);
        for axis in 0..rank {
            let span = dilations[axis].saturating_mul(kernel[axis] - 1).saturating_add(1) as i64;
            let (extent, stride) = (input[axis] as i64, strides[axis] as i64);
            let size = match auto {
                "NOTSET" | "" => {
                    let slack = extent + begin[axis] + end[axis] - span;
                    // `ceil_mode`: there is always one window at the start, even if it ends past the input by
                    // less than a step.
                    if slack < 0 && !(ceil && slack > -stride && extent > 0) {
                        return invalid(format!("the window does not fit axis {axis}"));
                    }
                    let size = if ceil { (slack + stride - 1) / stride + 1 } else { slack / stride + 1 };
                    // Drops a last window that would start past the end of the input.
                    if ceil && (size - 1) * stride >= extent + begin[axis] { size - 1 } else { size }
                }
                "VALID" => {
                    (begin[axis], end[axis]) = (0, 0);
                    if extent < span {
                        return invalid(format!("the window does not fit axis {axis}"));
                    }
                    (extent - span) / stride + 1
                }
                "SAME_UPPER" | "SAME_LOWER" => {
                    let size = (extent + stride - 1) / stride;
                    let total = ((size - 1) * stride + span - extent).max(0);
                    let (less, more) = (total / 2, total - total / 2);
                    (begin[axis], end[axis]) = if auto == "SAME_UPPER" { (less, more) } else { (more, less) };
                    size
                }
                other => return invalid(format!("`auto_pad` = `{other}` is not known")),
            };
            output.push(usize::try_from(size).unwrap_or(0));
        }
        let windows =
            Self { input: input.to_vec(), kernel: kernel.to_vec(), strides, dilations, begin, end, output };
        for extents in [&windows.output, &windows.kernel, &windows.reach()] {
            check_extents(extents)?;
        }
        Ok(windows)
    }

    /// Whether all windows have one element and together cover the input exactly.
    pub(crate) fn is_pointwise(&self) -> bool {
        self.input == self.output && self.kernel.iter().all(|extent| *extent == 1)
    }

    /// Input index of a window and a kernel position along one axis; `None` outside the input.
    fn inside(&self, axis: usize, window: usize, tap: usize) -> Option<usize> {
        let at = (window * self.strides[axis] + tap * self.dilations[axis]) as i64 - self.begin[axis];
        usize::try_from(at).ok().filter(|at| *at < self.input[axis])
    }

    /// Input offset of a window and a kernel position along the first axes; `None` outside the input.
    fn offset(&self, input_strides: &[usize], window: &[usize], within: &[usize]) -> Option<usize> {
        let axes = 0..window.len();
        axes.map(|axis| Some(self.inside(axis, window[axis], within[axis])? * input_strides[axis])).sum()
    }

    /// Visits all pairs of a kernel position and a row of windows. Passes the offset in the column matrix
    /// (kernel positions by windows), the offset of the input row (`None` outside the input), and the kernel
    /// position along the last axis.
    pub(crate) fn each_row(&self, mut visit: impl FnMut(usize, Option<usize>, usize)) {
        let rank = self.input.len();
        let Some(last) = rank.checked_sub(1).filter(|_| !self.output.contains(&0)) else { return };
        let input_strides = strides(&self.input);
        let windows = count(&self.output);
        let width = self.output[last];
        each_index(&self.kernel, |tap, within| {
            each_index(&self.output[..last], |row, window| {
                visit(tap * windows + row * width, self.offset(&input_strides, window, within), within[last]);
            });
        });
    }

    /// Extent of each axis, padding included, that the windows cover.
    pub(crate) fn reach(&self) -> Vec<usize> {
        let axes = 0..self.input.len();
        axes.map(|axis| match self.output[axis] {
            0 => 0,
            windows => {
                (windows - 1) * self.strides[axis] + (self.kernel[axis] - 1) * self.dilations[axis] + 1
            }
        })
        .collect()
    }

    /// Offset of each channel and kernel position, in planes of these extents.
    pub(crate) fn steps(&self, channels: usize, extents: &[usize]) -> Vec<usize> {
        let shape = [&[channels], &self.kernel[..]].concat();
        let within = strides(extents).into_iter().zip(&self.dilations).map(|(along, step)| along * step);
        offsets(&shape, [count(extents)].into_iter().chain(within))
    }

    /// Offset of the first element of each row of windows, in a plane of these extents.
    pub(crate) fn lines(&self, extents: &[usize]) -> Vec<usize> {
        let along = strides(extents).into_iter().zip(&self.strides);
        let axes = self.output.len().saturating_sub(1);
        offsets(&self.output[..axes], along.map(|(along, step)| along * step))
    }

    /// Number of windows in a row.
    pub(crate) fn width(&self) -> usize {
        self.output.last().copied().unwrap_or(1)
    }

    /// The way to copy a plane with its padding into extents of `reach`.
    pub(crate) fn frame(&self, reach: &[usize]) -> Frame {
        let mut frame = Frame { width: 0, front: 0, len: 0, rows: Vec::new(), plane: count(&self.input) };
        let Some(last) = reach.len().checked_sub(1) else { return frame };
        let input_strides = strides(&self.input);
        let extent = self.input[last];
        frame.width = reach[last];
        frame.front = usize::try_from(self.begin[last]).unwrap_or(0).min(frame.width);
        // A negative pad crops the input.
        let skipped = usize::try_from(-self.begin[last]).unwrap_or(0).min(extent);
        frame.len = (extent - skipped).min(frame.width - frame.front);
        each_index(&reach[..last], |_, index| {
            let mut offset = Some(skipped);
            for (axis, at) in index.iter().enumerate() {
                let at = usize::try_from(*at as i64 - self.begin[axis]).ok();
                let at = at.filter(|at| *at < self.input[axis]);
                offset = offset.zip(at).map(|(offset, at)| offset + at * input_strides[axis]);
            }
            frame.rows.push(offset);
        });
        frame
    }

    /// Pairs plane elements with windows: for each kernel position and each row of windows, a run of windows
    /// and their evenly spaced elements.
    pub(crate) fn stretches(&self) -> Result<Scratch<Stretch>, KernelErrorKind> {
        let Some(last) = self.input.len().checked_sub(1) else { return scratch_list(0) };
        let rows = work::times(&self.kernel).saturating_mul(work::times(&self.output[..last]));
        let mut all = scratch_list(usize::try_from(rows).unwrap_or(usize::MAX))?;
        let width = self.output[last];
        let windows = count(&self.output).max(1);
        self.each_row(|at, offset, tap| {
            let Some(offset) = offset else { return };
            let (from, to, start) = self.inside_of_row(tap, width);
            if to > from {
                all.push(Stretch { window: at % windows + from, len: to - from, start: offset + start });
            }
        });
        Ok(all)
    }

    /// The first `width` windows of a row whose element at a kernel position of the last axis is inside the
    /// input, as a range, and the index of the element of the first one.
    pub(crate) fn inside_of_row(&self, tap: usize, width: usize) -> (usize, usize, usize) {
        let Some(last) = self.input.len().checked_sub(1) else { return (0, 0, 0) };
        let (stride, extent) = (self.strides[last], self.input[last]);
        let first = (tap * self.dilations[last]) as i64 - self.begin[last];
        let from = usize::try_from((-first).max(0)).unwrap_or(0).div_ceil(stride).min(width);
        let available = usize::try_from((extent as i64 - first).max(0)).unwrap_or(0);
        let to = available.div_ceil(stride).clamp(from, width);
        (from, to, usize::try_from(first + (from * stride) as i64).unwrap_or(0))
    }

    /// Number of kernel positions inside the padded input, for every window.
    pub(crate) fn padded_counts(&self) -> Result<Scratch<usize>, KernelErrorKind> {
        let inside = |axis: usize, window: usize| {
            let end = self.input[axis] as i64 + self.begin[axis] + self.end[axis];
            let inside = usize::try_from(end).unwrap_or(0).saturating_sub(window * self.strides[axis]);
            inside.div_ceil(self.dilations[axis]).min(self.kernel[axis])
        };
        let mut counts = scratch_list(count(&self.output))?;
        each_index(&self.output, |_, window| {
            counts.push(window.iter().enumerate().map(|(axis, at)| inside(axis, *at)).product());
        });
        Ok(counts)
    }

    /// For every window, the offsets of its elements inside the input.
    pub(crate) fn elements(&self) -> Result<Scratch<Vec<usize>>, KernelErrorKind> {
        let input_strides = strides(&self.input);
        check_size(&self.output, size_of::<usize>().saturating_mul(count(&self.kernel)))?;
        let mut all = scratch_list(count(&self.output))?;
        each_index(&self.output, |_, window| {
            let mut offsets = Vec::new();
            each_index(&self.kernel, |_, within| offsets.extend(self.offset(&input_strides, window, within)));
            all.push(offsets);
        });
        Ok(all)
    }
}

/// Offsets of all indices of a strided shape, in row-major order.
fn offsets(shape: &[usize], strides: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut offsets = vec![0];
    for (extent, stride) in shape.iter().zip(strides) {
        let mut all = Vec::with_capacity(offsets.len() * extent);
        for first in offsets {
            all.extend((0..*extent).map(|at| first + at * stride));
        }
        offsets = all;
    }
    offsets
}

/// The way to copy planes of equal extents with their padding.
pub(crate) struct Frame {
    /// Extent of the last axis with padding.
    width: usize,
    /// Padding at the start of a row.
    front: usize,
    /// Number of elements of a row that are copied.
    len: usize,
    /// For each row of a result plane, the offset of its first element; `None` in the padding.
    rows: Vec<Option<usize>>,
    /// Number of elements of a source plane.
    plane: usize,
}

/// Minimum number of elements of a frame for each thread.
const MIN_FRAME: usize = 1 << 13;

impl Frame {
    /// Copies planes, in parallel if there is enough work. The padding becomes `zero`. No extent is 0.
    pub(crate) fn copy<T: Copy + Send + Sync>(&self, planes: &[T], zero: T, out: &mut [T]) {
        let part = MIN_FRAME.div_ceil(self.width) * self.width;
        threads::in_parts(out, part, &|at, out| self.copy_rows(planes, at / self.width, zero, out));
    }

    /// Copies the rows from `first` on, counted over all planes.
    fn copy_rows<T: Copy>(&self, planes: &[T], first: usize, zero: T, out: &mut [T]) {
        let (mut plane, mut row) = (first / self.rows.len(), first % self.rows.len());
        for out in out.chunks_exact_mut(self.width) {
            if let Some(offset) = self.rows[row] {
                let (front, rest) = out.split_at_mut(self.front);
                let (inside, end) = rest.split_at_mut(self.len);
                front.fill(zero);
                inside.copy_from_slice(&planes[plane * self.plane + offset..][..self.len]);
                end.fill(zero);
            } else {
                out.fill(zero);
            }
            row += 1;
            if row == self.rows.len() {
                (plane, row) = (plane + 1, 0);
            }
        }
    }
}
