//! Cuts a result into the parts that tasks write: blocks of columns by bands of rows.
//!
//! The parts of all rows are one list, which the thread of the caller allocates and frees. A list for each
//! task would be freed by the thread that computes the task, which takes longer.

/// A row-major result, cut.
pub(super) struct Grid<'a, T> {
    /// For each block of columns, its part of every row.
    parts: Vec<&'a mut [T]>,
    rows: usize,
    /// Number of rows of a band.
    band: usize,
}

/// The widths of blocks of `width` columns, of which the last can be narrower.
pub(super) fn even(columns: usize, width: usize) -> Vec<usize> {
    (0..columns).step_by(width.max(1)).map(|first| width.min(columns - first)).collect()
}

/// One block and one band.
pub(super) struct Part<'g, 'a, T> {
    /// Index of the block.
    pub(super) block: usize,
    pub(super) first_row: usize,
    /// The rows of the band, in the columns of the block.
    pub(super) out: &'g mut [&'a mut [T]],
}

impl<'a, T> Grid<'a, T> {
    /// Cuts a result of this many rows into blocks of these widths, which are one row together, and bands of
    /// `band` rows.
    pub(super) fn new(out: &'a mut [T], rows: usize, widths: &[usize], band: usize) -> Self {
        let columns: usize = widths.iter().sum();
        let mut parts: Vec<&mut [T]> = Vec::new();
        parts.resize_with(widths.len() * rows, Default::default);
        for (row, mut rest) in out.chunks_exact_mut(columns.max(1)).enumerate() {
            for (parts, width) in parts.chunks_exact_mut(rows).zip(widths) {
                let (part, others) = rest.split_at_mut(*width);
                parts[row] = part;
                rest = others;
            }
        }
        Self { parts, rows, band: band.max(1) }
    }

    /// The parts, those of a block together.
    pub(super) fn parts(&mut self) -> impl Iterator<Item = Part<'_, 'a, T>> {
        let band = self.band;
        self.parts.chunks_exact_mut(self.rows.max(1)).enumerate().flat_map(move |(block, rows)| {
            let bands = rows.chunks_mut(band).enumerate();
            bands.map(move |(at, out)| Part { block, first_row: at * band, out })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_cover_the_result() {
        let mut out = vec![0; 3 * 7];
        let mut grid = Grid::new(&mut out, 3, &[4, 3], 2);
        for (number, part) in (1..).zip(grid.parts()) {
            assert_eq!(part.out.len(), if part.first_row == 0 { 2 } else { 1 });
            assert!(part.out.iter().all(|row| row.len() == [4, 3][part.block]));
            part.out.iter_mut().flat_map(|row| row.iter_mut()).for_each(|at| *at = number);
        }
        let row = |left, right| [[left; 4].as_slice(), &[right; 3]].concat();
        assert_eq!(out, [row(1, 3), row(1, 3), row(2, 4)].concat());
    }

    #[test]
    fn a_result_without_rows_or_columns_has_no_elements() {
        assert_eq!(Grid::<i32>::new(&mut [], 0, &[4, 3], 2).parts().count(), 0);
        assert_eq!(Grid::<i32>::new(&mut [], 5, &[], 2).parts().count(), 0);
    }
}
