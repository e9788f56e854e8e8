//! Packing of the two sides of a product into kernel order.

use std::ops::Range;

use super::lane::Lane;
use crate::shape::each_strided;

/// Number of inner-axis steps per block, chosen so that a block stays in the nearest caches.
pub(super) const DEPTH: usize = 256;

/// The left side, packed into panels of a few rows, step by step along the inner axis. The last panel is
/// padded with zero rows.
#[derive(Clone, Debug)]
pub(crate) struct Rows<T> {
    data: Vec<T>,
    pub(super) rows: usize,
    pub(super) depth: usize,
    /// Rows per panel.
    pub(super) height: usize,
}

impl<T: Lane> Rows<T> {
    /// Packs a matrix with these strides.
    pub(super) fn pack(
        from: &[T],
        (rows, depth): (usize, usize),
        (row_stride, stride): (usize, usize),
        height: usize,
        mut data: Vec<T>,
    ) -> Self {
        let panels = rows.div_ceil(height);
        data.clear();
        data.resize(panels * height * depth, T::ZERO);
        let mut rest = &mut data[..];
        for first in (0..depth).step_by(DEPTH) {
            let steps = DEPTH.min(depth - first);
            for panel in 0..panels {
                let (part, tail) = std::mem::take(&mut rest).split_at_mut(steps * height);
                rest = tail;
                for row in 0..height.min(rows - panel * height) {
                    let start = (panel * height + row) * row_stride + first * stride;
                    let source = from[start..].iter().step_by(stride);
                    for (to, from) in part[row..].iter_mut().step_by(height).zip(source) {
                        *to = *from;
                    }
                }
            }
        }
        Self { data, rows, depth, height }
    }

    /// A panel, beginning at the step `first`.
    #[inline(always)]
    pub(super) fn panel(&self, first: usize, panel: usize) -> &[T] {
        let steps = DEPTH.min(self.depth - first);
        let panels = self.rows.div_ceil(self.height);
        let start = first * panels * self.height + panel * steps * self.height;
        &self.data[start..start + steps * self.height]
    }

    /// Returns the buffer for reuse.
    pub(super) fn into_memory(self) -> Vec<T> {
        self.data
    }
}

/// The right side as a view of memory: the offset of an element is the sum of its step offset and its column
/// offset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a, T> {
    pub(crate) data: &'a [T],
    /// Offset of each step of the inner axis.
    pub(crate) steps: Steps<'a>,
    /// Offset of each column.
    pub(crate) columns: Offsets<'a>,
}

/// Offsets of the steps.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Steps<'a> {
    /// Evenly spaced, with this stride.
    Even(usize),
    /// Listed individually.
    Listed(&'a [usize]),
}

impl Steps<'_> {
    pub(super) fn at(self, step: usize) -> usize {
        match self {
            Self::Even(stride) => step * stride,
            Self::Listed(list) => list[step],
        }
    }
}

/// Offsets of the columns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Offsets<'a> {
    /// Evenly spaced, with this stride.
    Even(usize),
    /// In lines; the columns of a line have this stride.
    Lines(Lines<'a>, usize),
}

/// Columns in lines of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a> {
    /// Offset of the first column of each line, in increasing order.
    pub(crate) starts: &'a [usize],
    /// Number of columns of a line.
    pub(crate) len: usize,
}

/// A run of evenly spaced columns.
pub(super) struct Run {
    /// Index of the first column in the panel.
    pub(super) at: usize,
    pub(super) len: usize,
    /// Offset of the first column.
    pub(super) start: usize,
}

impl Offsets<'_> {
    /// The runs of columns of a panel, and the stride in a run.
    #[inline(always)]
    pub(super) fn runs(self, columns: Range<usize>) -> (Vec<Run>, usize) {
        match self {
            Offsets::Even(stride) => {
                (vec![Run { at: 0, len: columns.len(), start: columns.start * stride }], stride)
            }
            Offsets::Lines(lines, stride) => {
                let width = lines.len.max(1);
                let (line, mut before) = (columns.start / width, columns.start % width);
                let (mut runs, mut at) = (Vec::with_capacity(columns.len() / width + 2), 0);
                for start in &lines.starts[line..] {
                    if at == columns.len() {
                        break;
                    }
                    let len = (width - before).min(columns.len() - at);
                    runs.push(Run { at, len, start: start + before * stride });
                    at += len;
                    before = 0;
                }
                (runs, stride)
            }
        }
    }
}

impl<T: Lane> Columns<'_, T> {
    /// Packs a panel of columns step by step. Columns past the end are zeros.
    #[inline(always)]
    pub(super) fn pack(&self, steps: Range<usize>, columns: Range<usize>, width: usize, to: &mut [T]) {
        let missing = columns.len();
        let (runs, stride) = self.columns.runs(columns);
        for (step, to) in steps.zip(to.chunks_exact_mut(width)) {
            let first = self.steps.at(step);
            for run in &runs {
                let to = &mut to[run.at..run.at + run.len];
                let from = &self.data[first + run.start..];
                if stride == 1 {
                    copy(to, &from[..run.len]);
                } else {
                    each_strided(
                        to,
                        from,
                        stride,
                        #[inline(always)]
                        |to, from| *to = from,
                    );
                }
            }
            to[missing..].fill(T::ZERO);
        }
    }
}

/// Copies a few elements, without the call overhead of a general copy.
#[inline(always)]
fn copy<T: Copy>(to: &mut [T], from: &[T]) {
    let (to_chunks, to_rest) = to.as_chunks_mut::<8>();
    let (from_chunks, from_rest) = from.as_chunks::<8>();
    for (to, from) in to_chunks.iter_mut().zip(from_chunks) {
        *to = *from;
    }
    for (to, from) in to_rest.iter_mut().zip(from_rest) {
        *to = *from;
    }
}
