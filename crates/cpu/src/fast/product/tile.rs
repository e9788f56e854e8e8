//! Innermost loop: accumulates a tile of the result in registers along the inner axis.

use pulp::Simd;

use super::lane::Lane;

/// Epilogue applied to complete sums.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish<'a, T> {
    /// Scale per result row.
    pub(crate) scale: Option<&'a [T]>,
    /// Offset per result row.
    pub(crate) offset: Option<&'a [T]>,
    /// Addend in the layout of the result.
    pub(crate) addend: Option<&'a [T]>,
    /// Clamp bounds of the results.
    pub(crate) bounds: Option<(T, T)>,
}

impl<T> Finish<'_, T> {
    /// No epilogue.
    pub(crate) const NONE: Self = Self { scale: None, offset: None, addend: None, bounds: None };
}

impl<T: Copy> Finish<'_, T> {
    /// The epilogue for a part of the result that begins at row `row` and at element `start`.
    pub(crate) fn part(&self, row: usize, start: usize) -> Self {
        Self {
            scale: self.scale.map(|list| &list[row..]),
            offset: self.offset.map(|list| &list[row..]),
            addend: self.addend.map(|list| &list[start..]),
            bounds: self.bounds,
        }
    }
}

/// Position of a tile in the result.
#[derive(Clone, Copy)]
pub(super) struct TilePosition {
    /// First row, in the whole result.
    pub(super) row: usize,
    /// First column, relative to the block.
    pub(super) column: usize,
    /// First column of the block, in the whole result.
    pub(super) block: usize,
    /// Number of columns of the whole result.
    pub(super) columns: usize,
}

/// Adds the products of `R` rows and `V` vectors of columns to the result, or overwrites the result if
/// `begins`.
///
/// For each step of the inner axis, `left` has `R` numbers and `right` has `V` vectors.
#[inline(always)]
pub(super) fn tile<T: Lane, S: Simd, const R: usize, const V: usize>(
    simd: S,
    left: &[T],
    right: &[T],
    out: &mut [&mut [T]],
    place: TilePosition,
    begins: bool,
    finish: Option<&Finish<'_, T>>,
) {
    let mut sums = [[T::splat(simd, T::ZERO); V]; R];
    let steps = left.as_chunks::<R>().0.iter().zip(T::vectors::<S>(right).as_chunks::<V>().0);
    for (left, right) in steps {
        for (sums, left) in sums.iter_mut().zip(left) {
            let left = T::splat(simd, *left);
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum = T::fused(simd, left, *right, *sum);
            }
        }
    }
    let lanes = T::lanes::<S>();
    for (at, (row, sums)) in out.iter_mut().zip(sums).enumerate() {
        let Some(row) = row.get_mut(place.column..) else { return };
        for (v, (part, sum)) in row.chunks_mut(lanes).zip(sums).enumerate() {
            let mut value = if begins { sum } else { T::sum(simd, sum, T::load(simd, part)) };
            if let Some(finish) = finish {
                let row = place.row + at;
                let start = row * place.columns + place.block + place.column + v * lanes;
                value = finished(simd, value, finish, row, start, part.len());
            }
            T::store(simd, value, part);
        }
    }
}

/// Applies the epilogue to `len` complete sums of a row, at offset `start` of the whole result.
#[inline(always)]
pub(super) fn finished<T: Lane, S: Simd>(
    simd: S,
    mut value: T::Vector<S>,
    finish: &Finish<'_, T>,
    row: usize,
    start: usize,
    len: usize,
) -> T::Vector<S> {
    let offset = match finish.offset {
        Some(offset) => T::splat(simd, offset[row]),
        None => T::splat(simd, T::ZERO),
    };
    match finish.scale {
        Some(scale) => value = T::fused(simd, value, T::splat(simd, scale[row]), offset),
        None if finish.offset.is_some() => value = T::sum(simd, value, offset),
        None => {}
    }
    if let Some(addend) = finish.addend {
        value = T::sum(simd, value, T::load(simd, &addend[start..start + len]));
    }
    if let Some((low, high)) = finish.bounds {
        value = T::clamped(simd, value, low, high);
    }
    value
}
