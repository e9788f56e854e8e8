//! The geometry of windows that slide over the spatial axes of an input, for convolution and pooling.

use crate::call::Call;
use crate::error::{Fault, invalid};
use crate::shape::{count, each_index, extents, strides};

/// Windows over spatial axes.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub(super) input: Vec<usize>,
    pub(super) kernel: Vec<usize>,
    pub(super) strides: Vec<usize>,
    pub(super) dilations: Vec<usize>,
    pub(super) begin: Vec<i64>,
    pub(super) end: Vec<i64>,
    pub(super) output: Vec<usize>,
}

/// A list of one number for each axis, or ones.
pub(super) fn per_axis(call: &Call<'_>, name: &str, rank: usize) -> Result<Vec<usize>, Fault> {
    let Some(given) = call.attributes.ints(name)? else { return Ok(vec![1; rank]) };
    let values = extents(given)?;
    if values.len() != rank || values.iter().any(|value| !(1..1 << 31).contains(value)) {
        return invalid(format!("`{name}` = {given:?} is not one number above zero for each of {rank} axes"));
    }
    Ok(values)
}

/// The explicit pads, in front and behind.
pub(super) fn pads(call: &Call<'_>, rank: usize) -> Result<(Vec<i64>, Vec<i64>), Fault> {
    let Some(pads) = call.attributes.ints("pads")? else { return Ok((vec![0; rank], vec![0; rank])) };
    if pads.len() != 2 * rank || pads.iter().any(|pad| pad.unsigned_abs() > 1 << 31) {
        return invalid(format!("`pads` = {pads:?} are not two for each of {rank} axes"));
    }
    Ok((pads[..rank].to_vec(), pads[rank..].to_vec()))
}

impl Windows {
    /// The windows that the attributes of a convolution or pooling say.
    pub(super) fn of(call: &Call<'_>, input: &[usize], kernel: &[usize]) -> Result<Self, Fault> {
        let rank = input.len();
        if kernel.len() != rank || kernel.iter().any(|extent| !(1..1 << 31).contains(extent)) {
            return invalid(format!("the window {kernel:?} does not fit {rank} axes"));
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
                    let room = extent + begin[axis] + end[axis] - span;
                    if room < 0 {
                        return invalid(format!("the window does not fit axis {axis}"));
                    }
                    let size = if ceil { (room + stride - 1) / stride + 1 } else { room / stride + 1 };
                    // A window that would start behind the input is none.
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
        Ok(Self { input: input.to_vec(), kernel: kernel.to_vec(), strides, dilations, begin, end, output })
    }

    /// Whether every window is one element and they are all elements.
    pub(super) fn is_pointwise(&self) -> bool {
        self.input == self.output && self.kernel.iter().all(|extent| *extent == 1)
    }

    /// The index on an axis that a window and a place in it mean; nothing where that is outside the input.
    fn inside(&self, axis: usize, window: usize, place: usize) -> Option<usize> {
        let at = (window * self.strides[axis] + place * self.dilations[axis]) as i64 - self.begin[axis];
        usize::try_from(at).ok().filter(|at| *at < self.input[axis])
    }

    /// Goes through all pairs of a place in the window and a row of windows: their position in the matrix of columns
    /// (place times windows), the offset of the row in the input, and for each window of the row whether and where
    /// along the last axis it lies.
    fn each_row(&self, mut visit: impl FnMut(usize, Option<usize>, usize)) {
        let rank = self.input.len();
        let Some(last) = rank.checked_sub(1) else { return };
        let own = strides(&self.input);
        let windows = count(&self.output);
        let width = self.output[last];
        each_index(&self.kernel, |place, within| {
            each_index(&self.output[..last], |row, window| {
                let mut offset = Some(0);
                for axis in 0..last {
                    let at = self.inside(axis, window[axis], within[axis]);
                    offset = offset.zip(at).map(|(offset, at)| offset + at * own[axis]);
                }
                visit(place * windows + row * width, offset, within[last]);
            });
        });
    }

    /// One plane as columns: for each place in the window, the elements that all windows have there.
    pub(super) fn columns<T: Copy>(&self, plane: &[T], zero: T, columns: &mut [T]) {
        let Some(last) = self.input.len().checked_sub(1) else { return };
        let width = self.output[last];
        let (stride, extent) = (self.strides[last], self.input[last]);
        self.each_row(|at, offset, place| {
            let row = &mut columns[at..at + width];
            let Some(offset) = offset else {
                row.fill(zero);
                return;
            };
            let first = (place * self.dilations[last]) as i64 - self.begin[last];
            // The windows whose element on the last axis lies inside.
            let from = usize::try_from((-first).max(0)).unwrap_or(0).div_ceil(stride).min(width);
            let room = extent as i64 - first;
            let to = usize::try_from(room.max(0)).unwrap_or(0).div_ceil(stride).clamp(from, width);
            row[..from].fill(zero);
            row[to..].fill(zero);
            let start = usize::try_from(offset as i64 + first + (from * stride) as i64).unwrap_or(0);
            if to == from {
            } else if stride == 1 {
                row[from..to].copy_from_slice(&plane[start..start + (to - from)]);
            } else {
                for (slot, value) in row[from..to].iter_mut().zip(plane[start..].iter().step_by(stride)) {
                    *slot = *value;
                }
            }
        });
    }

    /// Adds columns to a plane: the reverse of [`Windows::columns`].
    pub(super) fn add_columns<T: Copy + std::ops::AddAssign>(&self, columns: &[T], plane: &mut [T]) {
        let Some(last) = self.input.len().checked_sub(1) else { return };
        let width = self.output[last];
        self.each_row(|at, offset, place| {
            let Some(offset) = offset else { return };
            for (window, value) in columns[at..at + width].iter().enumerate() {
                if let Some(index) = self.inside(last, window, place) {
                    plane[offset + index] += *value;
                }
            }
        });
    }

    /// For every window the offsets of its elements that lie inside the input, and how many of its places lie
    /// inside the padded input.
    pub(super) fn places(&self) -> Vec<(Vec<usize>, usize)> {
        let own = strides(&self.input);
        let mut all = Vec::with_capacity(count(&self.output));
        each_index(&self.output, |_, window| {
            let mut offsets = Vec::new();
            let mut padded = 0;
            each_index(&self.kernel, |_, within| {
                let mut offset = Some(0);
                let mut is_padded = true;
                for axis in 0..window.len() {
                    let at = self.inside(axis, window[axis], within[axis]);
                    offset = offset.zip(at).map(|(offset, at)| offset + at * own[axis]);
                    let place = window[axis] * self.strides[axis] + within[axis] * self.dilations[axis];
                    is_padded &= (place as i64) < self.input[axis] as i64 + self.begin[axis] + self.end[axis];
                }
                offsets.extend(offset);
                padded += usize::from(is_padded);
            });
            all.push((offsets, padded));
        });
        all
    }
}
