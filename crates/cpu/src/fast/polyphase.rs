//! Sliding windows over one plane, as sums of shifted planes.
//!
//! Windows of any stride become windows of stride 1 over sub-planes: the sub-plane of a phase holds every
//! `stride`-th element of each axis (polyphase decomposition). A plane with its padding is copied to a frame
//! of sub-planes of equal shape. At any kernel position, adjacent windows then read adjacent elements of the
//! frame, and the elements of all windows are one range of it, which a loop with a constant number of
//! accumulators visits. The range includes the elements between the last window of a row and the first of the
//! next; their results are dropped.
//!
//! Plain form: the loops over the elements of windows in `ops::pool` and `planes`, which take all other
//! windows.

use crate::ops::sliding::Windows;
use crate::shape::{count, each_index, strides};
use crate::work;

/// Number of windows that are computed together.
const LANES: usize = 32;

/// Maximum number of elements of a window.
const MAX_TAPS: u64 = 1 << 16;

/// A range of a source row, and its first index in the row of a phase.
struct Part {
    source: usize,
    target: usize,
    len: usize,
}

/// The layout of the frame of a plane.
pub(crate) struct Polyphase {
    /// Offset of each source row, and of its elements of the first phase in the frame.
    rows: Vec<(usize, usize)>,
    /// The elements of a source row for each phase of the last axis.
    parts: Vec<Part>,
    stride: usize,
    /// Number of elements of the frame, including those behind the last window that are read.
    size: usize,
    /// Offset of each kernel position.
    taps: Vec<usize>,
    /// Offset of the first window of each row of windows.
    lines: Vec<usize>,
    /// Number of windows in a row.
    width: usize,
    /// Number of windows, including dropped ones, rounded up to whole groups.
    columns: usize,
    /// Number of elements of a plane.
    plane: usize,
}

impl Polyphase {
    /// The layout for these windows; `None` if most of the work would be for dropped windows.
    pub(crate) fn of(windows: &Windows) -> Option<Self> {
        let last = windows.input.len().checked_sub(1)?;
        let reach = windows.reach();
        if windows.output.contains(&0) || windows.input.contains(&0) {
            return None;
        }
        let sub: Vec<usize> =
            reach.iter().zip(&windows.strides).map(|(reach, step)| reach.div_ceil(*step)).collect();
        let (along, size) = (strides(&sub), count(&sub));
        // Large strides, of which most phases have no windows, and windows with many elements, whose list is
        // not small.
        let is_sparse = work::times(&windows.strides).saturating_mul(size as u64) > 4 * work::times(&reach);
        if is_sparse || work::times(&windows.kernel) > MAX_TAPS {
            return None;
        }
        let phases = strides(&windows.strides);
        // Offset of an element of the padded plane along one axis.
        let of = |axis: usize, at: usize| {
            let stride = windows.strides[axis];
            at % stride * phases[axis] * size + at / stride * along[axis]
        };
        let mut taps = Vec::with_capacity(count(&windows.kernel));
        each_index(&windows.kernel, |_, index| {
            taps.push(
                index.iter().enumerate().map(|(axis, at)| of(axis, at * windows.dilations[axis])).sum(),
            );
        });
        let mut lines: Vec<usize> = Vec::with_capacity(count(&windows.output[..last]));
        each_index(&windows.output[..last], |_, index| {
            lines.push(index.iter().zip(&along).map(|(at, along)| at * along).sum());
        });
        let width = windows.output[last];
        let columns = (lines.last()? + width).next_multiple_of(LANES);
        if columns > 4 * count(&windows.output) {
            return None;
        }
        let own = strides(&windows.input);
        let mut rows = Vec::new();
        each_index(&windows.input[..last], |_, index| {
            let mut target = Some(0);
            for (axis, at) in index.iter().enumerate() {
                let at =
                    usize::try_from(*at as i64 + windows.begin[axis]).ok().filter(|at| *at < reach[axis]);
                target = target.zip(at).map(|(target, at)| target + of(axis, at));
            }
            let source = index.iter().zip(&own).map(|(at, own)| at * own).sum();
            rows.extend(target.map(|target| (source, target)));
        });
        let parts = (0..windows.strides[last]).map(|phase| {
            // Elements at `phase + stride * n` of the padded row, as far as they are in the source row.
            let stride = windows.strides[last] as i64;
            let begin = windows.begin[last];
            let first = (begin - phase as i64).max(0);
            let first = (first + stride - 1) / stride;
            let end = (windows.input[last] as i64 + begin).min(reach[last] as i64) - phase as i64;
            let len = ((end + stride - 1).div_euclid(stride) - first).max(0);
            Part {
                source: usize::try_from(phase as i64 + first * stride - begin).unwrap_or(0),
                target: phase * size + usize::try_from(first).unwrap_or(0),
                len: usize::try_from(len).unwrap_or(0),
            }
        });
        let parts = parts.filter(|part| part.len > 0).collect();
        let end = columns + taps.iter().copied().max().unwrap_or(0);
        let size = (size * count(&windows.strides)).max(end);
        let stride = windows.strides[last];
        Some(Self { rows, parts, stride, size, taps, lines, width, columns, plane: count(&windows.input) })
    }

    /// Number of elements of a plane.
    pub(crate) fn plane(&self) -> usize {
        self.plane
    }

    /// Number of windows of a plane.
    pub(crate) fn windows(&self) -> usize {
        self.lines.len() * self.width
    }

    /// Number of operations for a plane.
    pub(crate) fn work(&self) -> usize {
        self.columns * self.taps.len()
    }

    /// Number of elements of a frame.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Number of results of [`Polyphase::fold`].
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Copies a function of the elements of a plane to a frame. The padding of the frame is not written.
    #[inline(always)]
    pub(crate) fn fill<T: Copy, A>(&self, plane: &[T], frame: &mut [A], each: impl Fn(T) -> A) {
        for (source, target) in &self.rows {
            for part in &self.parts {
                let from = &plane[source + part.source..];
                let to = &mut frame[target + part.target..][..part.len];
                crate::shape::each_strided(
                    to,
                    from,
                    self.stride,
                    #[inline(always)]
                    |to, from| *to = each(from),
                );
            }
        }
    }

    /// For every window, folds its elements in the order of the kernel positions, whose numbers `each`
    /// receives.
    #[inline(always)]
    pub(crate) fn fold<T: Copy, A: Copy>(
        &self,
        frame: &[T],
        first: A,
        results: &mut [A],
        each: impl Fn(A, usize, T) -> A,
    ) {
        for (group, results) in results.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            let mut sums = [first; LANES];
            for (tap, offset) in self.taps.iter().enumerate() {
                let Some(from) = frame[group * LANES + offset..].first_chunk::<LANES>() else { return };
                for (sum, value) in sums.iter_mut().zip(from) {
                    *sum = each(*sum, tap, *value);
                }
            }
            *results = sums;
        }
    }

    /// Calls a function with the results of each row of windows and the row of the output plane.
    #[inline(always)]
    pub(crate) fn each_line<T, A>(
        &self,
        results: &[A],
        out: &mut [T],
        mut each: impl FnMut(usize, &[A], &mut [T]),
    ) {
        for (row, (start, out)) in self.lines.iter().zip(out.chunks_exact_mut(self.width)).enumerate() {
            each(row * self.width, &results[*start..][..self.width], out);
        }
    }
}
