//! Selection of elements by one list of indices per axis.
//!
//! The result at `(i, j, ...)` is the element at `(lists[0][i], lists[1][j], ...)`. Axes that keep all of
//! their elements at the end of the shape are copied as one block; a row that selects the same source row as
//! the row before it is copied from there.

use typeloom_tensor::any_tensor::AnyTensor;

use super::{Run, assemble, write_chunks};
use crate::element::check_size;
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::memory::scratch_list;
use crate::shape::{count, each_index, strides};

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

/// Elements of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Selection {
    /// All elements in order.
    All,
    /// The elements with these indices.
    Listed(Vec<usize>),
}

/// Selects elements; there is one selection for each axis.
pub(crate) fn select(x: &AnyTensor, selections: &[Selection]) -> Result<AnyTensor, KernelErrorKind> {
    let extents = x.shape().iter().zip(selections);
    let shape: Vec<usize> = extents
        .clone()
        .map(|(extent, selection)| match selection {
            Selection::All => *extent,
            Selection::Listed(list) => list.len(),
        })
        .collect();
    for (extent, selection) in extents {
        if let Selection::Listed(list) = selection
            && list.iter().any(|index| index >= extent)
        {
            return invalid("an index is outside of its axis");
        }
    }
    check_size(&shape, x.dtype().size_bytes().unwrap_or(8))?;
    if shape.contains(&0) {
        return Ok(AnyTensor::zeros(x.dtype(), &shape)?);
    }
    let Some(last) = selections.iter().rposition(|selection| matches!(selection, Selection::Listed(_)))
    else {
        return Ok(x.clone());
    };
    let own = strides(x.shape());
    let lists: Vec<Vec<usize>> = selections[..=last]
        .iter()
        .enumerate()
        .map(|(axis, selection)| match selection {
            Selection::All => (0..shape[axis]).map(|index| index * own[axis]).collect(),
            Selection::Listed(list) => list.iter().map(|index| index * own[axis]).collect(),
        })
        .collect();
    let Some((columns, outer)) = lists.split_last() else { return Ok(x.clone()) };
    let block = own[last];
    let mut rows = scratch_list(count(&shape[..last]))?;
    each_index(&shape[..last], |_, index| {
        rows.push(index.iter().zip(outer).map(|(at, list)| list[*at]).sum::<usize>());
    });
    let selected = Selected { rows: &rows, columns, block };
    match x.dtype().size_bytes() {
        Some(1) => selected.copy::<1>(x, &shape),
        Some(2) => selected.copy::<2>(x, &shape),
        Some(4) => selected.copy::<4>(x, &shape),
        Some(8) => selected.copy::<8>(x, &shape),
        Some(16) => selected.copy::<16>(x, &shape),
        Some(_) | None => {
            let runs = rows.iter().flat_map(|row| columns.iter().map(move |at| Run::of(row + at, block)));
            assemble(&[x], &shape, runs)
        }
    }
}

/// Offsets of the selected blocks: every sum of a row offset and a column offset.
struct Selected<'a> {
    rows: &'a [usize],
    columns: &'a [usize],
    /// Number of elements of a block.
    block: usize,
}

impl Selected<'_> {
    fn copy<const N: usize>(&self, x: &AnyTensor, shape: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
        let (rows, columns, block) = (self.rows, self.columns, self.block);
        let source = x.bytes().as_chunks::<N>().0;
        let runs = runs(columns, block);
        // Short runs cost more than single elements.
        let by_element = block == 1 && runs.len() * 4 > columns.len();
        let is_doubled = by_element && columns.iter().enumerate().all(|(at, column)| *column == at / 2);
        let width = columns.len() * block;
        write_chunks::<N>(x.dtype(), shape, |out| {
            if out.is_empty() {
                return;
            }
            let work = |at: usize, out: &mut [[u8; N]]| {
                let mut before: Option<usize> = None;
                for (row, offset) in rows[at..].iter().take(out.len() / width).enumerate() {
                    let (done, to) = out.split_at_mut(row * width);
                    let to = &mut to[..width];
                    if before == Some(*offset) {
                        to.copy_from_slice(&done[(row - 1) * width..]);
                    } else if is_doubled {
                        let source = &source[*offset..];
                        let (pairs, last) = to.as_chunks_mut::<2>();
                        for (pair, from) in pairs.iter_mut().zip(source) {
                            *pair = [*from; 2];
                        }
                        last.iter_mut().zip(&source[columns.len() / 2..]).for_each(|(to, from)| *to = *from);
                    } else if by_element {
                        let source = &source[*offset..];
                        for (to, from) in to.iter_mut().zip(columns) {
                            *to = source[*from];
                        }
                    } else {
                        let source = &source[*offset..];
                        let mut rest = to;
                        for (start, len) in &runs {
                            let (to, tail) = rest.split_at_mut(*len);
                            to.copy_from_slice(&source[*start..start + len]);
                            rest = tail;
                        }
                    }
                    before = Some(*offset);
                }
            };
            if threads::should_split(out.len(), 2 * MIN_PARALLEL) {
                let rows = (MIN_PARALLEL / width).max(1);
                threads::split_rows(out, rows * width, &|at, out| work(at * rows, out));
            } else {
                work(0, out);
            }
        })
    }
}

/// Joins blocks that are adjacent in the source: offset and length of each run.
fn runs(columns: &[usize], block: usize) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for start in columns {
        match runs.last_mut() {
            Some((first, len)) if *first + *len == *start => *len += block,
            Some(_) | None => runs.push((*start, block)),
        }
    }
    runs
}
