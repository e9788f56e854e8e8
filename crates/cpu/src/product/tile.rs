//! The innermost loop: a tile of the result, kept in registers while the inner axis goes by.

use pulp::Simd;

use super::lane::Lane;

/// What becomes of a row of sums once they are complete.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish<'a, T> {
    /// A factor for each row of the result.
    pub(crate) scale: Option<&'a [T]>,
    /// A number for each row of the result that is added.
    pub(crate) offset: Option<&'a [T]>,
    /// Numbers in the layout of the result that are added.
    pub(crate) addend: Option<&'a [T]>,
    /// The bounds that the results are held to.
    pub(crate) bounds: Option<(T, T)>,
}

impl<T> Finish<'_, T> {
    /// The sums as they are.
    pub(crate) const NONE: Self = Self { scale: None, offset: None, addend: None, bounds: None };
}

/// Where a tile lies in the result.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The row of the whole result that its first row is.
    pub(super) row: usize,
    /// The column of the block that its first column is.
    pub(super) column: usize,
    /// The column of the whole result that the block's first column is.
    pub(super) block: usize,
    /// How many columns the whole result has.
    pub(super) columns: usize,
}

/// Adds the products of `R` rows and `V` vectors of columns to the result, or begins with them.
///
/// `left` has `R` numbers for each step of the inner axis, `right` has `V` vectors.
#[inline(always)]
pub(super) fn tile<T: Lane, S: Simd, const R: usize, const V: usize>(
    simd: S,
    left: &[T],
    right: &[T],
    out: &mut [&mut [T]],
    place: Place,
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

/// What becomes of complete sums: `len` of a row, from `start` on in the whole result.
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
