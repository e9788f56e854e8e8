//! Shapes, strides, axes and broadcasting.

pub(crate) use typeloom_types::shape::{broadcast_strides, strides};

use crate::error::{KernelErrorKind, invalid};

/// Number of elements of the shape of an existing tensor; it cannot overflow.
pub(crate) fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Offset of the element with this index in a tensor with these strides.
pub(crate) fn offset(index: &[usize], strides: &[usize]) -> usize {
    index.iter().zip(strides).map(|(index, stride)| index * stride).sum()
}

/// Normalises a possibly negative axis.
pub(crate) fn axis(axis: i64, rank: usize) -> Result<usize, KernelErrorKind> {
    typeloom_types::shape::position(axis, rank)
        .map_or_else(|| invalid(format!("axis {axis} is outside rank {rank}")), Ok)
}

/// Normalises possibly negative, distinct axes.
pub(crate) fn axes(list: &[i64], rank: usize) -> Result<Vec<usize>, KernelErrorKind> {
    let mut axes = Vec::with_capacity(list.len());
    for entry in list {
        let entry = axis(*entry, rank)?;
        if axes.contains(&entry) {
            return invalid(format!("axis {entry} is named twice"));
        }
        axes.push(entry);
    }
    Ok(axes)
}

/// As [`axes`]; all axes without a list.
pub(crate) fn axes_or_all(list: Option<&[i64]>, rank: usize) -> Result<Vec<usize>, KernelErrorKind> {
    list.map_or_else(|| Ok((0..rank).collect()), |list| axes(list, rank))
}

/// Converts integers to a shape.
pub(crate) fn extents(list: &[i64]) -> Result<Vec<usize>, KernelErrorKind> {
    let extent = |extent: &i64| match usize::try_from(*extent) {
        Ok(extent) => Ok(extent),
        Err(_) => invalid(format!("the extent {extent} is negative")),
    };
    list.iter().map(extent).collect()
}

/// Converts a shape to integers.
pub(crate) fn as_ints(shape: &[usize]) -> Vec<i64> {
    shape.iter().map(|extent| i64::try_from(*extent).unwrap_or(i64::MAX)).collect()
}

/// Broadcast shape of several shapes.
pub(crate) fn broadcast(shapes: &[&[usize]]) -> Result<Vec<usize>, KernelErrorKind> {
    typeloom_types::shape::broadcast(shapes)
        .map_or_else(|| invalid(format!("shapes {shapes:?} do not broadcast")), Ok)
}

/// Iterator over the offsets of strided operands, in row-major order of a shape.
///
/// Yields the offsets of row starts. The caller iterates along the last axis.
pub(crate) struct Rows<'a, const N: usize> {
    shape: &'a [usize],
    strides: [&'a [usize]; N],
    index: Vec<usize>,
    offsets: [usize; N],
    left: usize,
}

impl<'a, const N: usize> Rows<'a, N> {
    /// Iterates over the rows of `shape`, which has at least one axis.
    pub(crate) fn new(shape: &'a [usize], strides: [&'a [usize]; N]) -> Self {
        let outer = &shape[..shape.len().saturating_sub(1)];
        let left = if shape.contains(&0) { 0 } else { count(outer) };
        Self { shape: outer, strides, index: vec![0; outer.len()], offsets: [0; N], left }
    }

    /// Skips the first rows.
    pub(crate) fn starting_at(mut self, row: usize) -> Self {
        let mut rest = row;
        for axis in (0..self.shape.len()).rev() {
            let extent = self.shape[axis].max(1);
            self.index[axis] = rest % extent;
            rest /= extent;
            for (offset, strides) in self.offsets.iter_mut().zip(self.strides) {
                *offset += strides[axis] * self.index[axis];
            }
        }
        self.left = self.left.saturating_sub(row);
        self
    }
}

impl<const N: usize> Iterator for Rows<'_, N> {
    type Item = [usize; N];

    fn next(&mut self) -> Option<[usize; N]> {
        self.left = self.left.checked_sub(1)?;
        let current = self.offsets;
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            for (offset, strides) in self.offsets.iter_mut().zip(self.strides) {
                *offset += strides[axis];
            }
            if self.index[axis] < self.shape[axis] {
                break;
            }
            for (offset, strides) in self.offsets.iter_mut().zip(self.strides) {
                *offset -= strides[axis] * self.shape[axis];
            }
            self.index[axis] = 0;
        }
        Some(current)
    }
}

/// Visits the indices of a shape in row-major order.
pub(crate) fn each_index(shape: &[usize], mut visit: impl FnMut(usize, &[usize])) {
    let mut index = vec![0; shape.len()];
    for flat in 0..if shape.contains(&0) { 0 } else { count(shape) } {
        visit(flat, &index);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// Splits `shape` into (product of the extents before `axis`, extent of `axis`, product of the extents after
/// it).
pub(crate) fn around(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (count(&shape[..axis]), shape[axis], count(&shape[axis + 1..]))
}

/// The elements along the middle of three axes, for fixed indices of the outer and inner axis.
#[derive(Clone, Copy)]
pub(crate) struct Lane {
    start: usize,
    step: usize,
}

impl Lane {
    /// Offset of an element.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> usize {
        self.start + index * self.step
    }
}

/// All lanes along the middle of three axes, in order.
pub(crate) fn lanes(outer: usize, extent: usize, inner: usize) -> impl Iterator<Item = Lane> {
    let lane = move |block, lane| Lane { start: block * extent * inner + lane, step: inner };
    (0..outer).flat_map(move |block| (0..inner).map(move |at| lane(block, at)))
}

/// Zips `to` with every `stride`-th element of `from`. Strides 1 and 2 are specialised, so that the loops
/// vectorise.
#[inline(always)]
pub(crate) fn each_strided<A, T: Copy>(to: &mut [A], from: &[T], stride: usize, each: impl Fn(&mut A, T)) {
    match stride {
        1 => {
            for (to, from) in to.iter_mut().zip(from) {
                each(to, *from);
            }
        }
        2 => {
            let (pairs, last) = from.as_chunks::<2>();
            for (to, [from, _]) in to.iter_mut().zip(pairs) {
                each(to, *from);
            }
            if let (Some(to), Some(from)) = (to.get_mut(pairs.len()), last.first()) {
                each(to, *from);
            }
        }
        _ => {
            for (to, from) in to.iter_mut().zip(from.iter().step_by(stride)) {
                each(to, *from);
            }
        }
    }
}
