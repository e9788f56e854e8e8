//! Strided copies.
//!
//! Axes that a copy traverses together are merged, and axes of one element are dropped. If the source is not
//! contiguous along the last axis but along another, square blocks of these two axes are transposed, so that
//! reads and writes touch whole cache lines.

use typeloom_tensor::any_tensor::AnyTensor;

use super::{Run, assemble, write_chunks};
use crate::element::check_size;
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::shape::Rows;

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

/// Edge of a transposed block, in elements.
const EDGE: usize = 16;

/// Copies a strided view in row-major order.
pub(crate) fn strided(x: &AnyTensor, shape: &[usize], view: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
    check_size(shape, x.dtype().size_bytes().unwrap_or(8))?;
    let last = shape.iter().zip(view).map(|(extent, step)| extent.saturating_sub(1).saturating_mul(*step));
    if !shape.contains(&0) && last.fold(0, usize::saturating_add) >= x.len() {
        return invalid("an element outside of its tensor is requested");
    }
    if shape.contains(&0) {
        return Ok(AnyTensor::zeros(x.dtype(), shape)?);
    }
    let axes = merged(shape, view);
    if axes[..] == [(x.len(), 1)] {
        return super::reshape(x.clone(), shape);
    }
    match x.dtype().size_bytes() {
        Some(1) => copy::<1>(x, shape, &axes),
        Some(2) => copy::<2>(x, shape, &axes),
        Some(4) => copy::<4>(x, shape, &axes),
        Some(8) => copy::<8>(x, shape, &axes),
        Some(16) => copy::<16>(x, shape, &axes),
        Some(_) | None => {
            let Some((width, step)) = shape.last().copied().zip(view.last().copied()) else {
                return assemble(&[x], shape, std::iter::once(Run::one(0)));
            };
            let rows = Rows::new(shape, [view]);
            assemble(
                &[x],
                shape,
                rows.flat_map(|[start]| (0..width).map(move |at| Run::one(start + at * step))),
            )
        }
    }
}

/// Extent and source stride of an axis.
type Axis = (usize, usize);

/// The axes of a copy, from the outermost to the innermost; at least one.
fn merged(shape: &[usize], view: &[usize]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::with_capacity(shape.len());
    for (extent, step) in shape.iter().copied().zip(view.iter().copied()).filter(|(extent, _)| *extent != 1) {
        match axes.last_mut() {
            Some((outer, outer_step)) if *outer_step == extent * step => {
                (*outer, *outer_step) = (*outer * extent, step);
            }
            Some(_) | None => axes.push((extent, step)),
        }
    }
    if axes.is_empty() {
        axes.push((1, 1));
    }
    axes
}

fn copy<const N: usize>(x: &AnyTensor, shape: &[usize], axes: &[Axis]) -> Result<AnyTensor, KernelErrorKind> {
    let source = x.bytes().as_chunks::<N>().0;
    write_chunks::<N>(x.dtype(), shape, |out| {
        if out.is_empty() {
            return;
        }
        // Tasks are slices of the outermost axis.
        let (extent, step) = axes[0];
        let size = out.len() / extent;
        if axes.len() > 1 && threads::should_split(out.len(), 2 * MIN_PARALLEL) {
            let share = (MIN_PARALLEL / size).clamp(1, extent.div_ceil(2));
            threads::split_rows(out, share * size, &|at, out| {
                let extent = out.len() / size;
                fill(&source[at * share * step..], &[&[(extent, step)], &axes[1..]].concat(), out);
            });
        } else {
            fill(source, axes, out);
        }
    })
}

fn fill<const N: usize>(source: &[[u8; N]], axes: &[Axis], out: &mut [[u8; N]]) {
    let Some(((width, step), outer)) = axes.split_last().map(|(last, outer)| (*last, outer)) else { return };
    let contiguous = outer.iter().rposition(|(_, step)| *step == 1).filter(|_| step > 1 && width > 1);
    let Some(across) = contiguous else {
        for_rows(outer, |start, row| {
            let to = &mut out[row * width..][..width];
            match step {
                0 => to.fill(source[start]),
                1 => to.copy_from_slice(&source[start..start + width]),
                _ => {
                    to.iter_mut()
                        .zip(source[start..].iter().step_by(step))
                        .for_each(|(to, from)| *to = *from);
                }
            }
        });
        return;
    };
    // Row pitch in the result of the axis that is contiguous in the source.
    let pitch = outer[across + 1..].iter().map(|(extent, _)| extent).product::<usize>() * width;
    let (height, _) = outer[across];
    let mut rest = outer.to_vec();
    rest[across].0 = 1;
    let mut number = Vec::with_capacity(outer.len());
    for (at, _) in outer.iter().enumerate() {
        number.push(outer[at + 1..].iter().map(|(extent, _)| extent).product::<usize>() * width);
    }
    let extents: Vec<usize> = rest.iter().map(|(extent, _)| *extent).collect();
    crate::shape::each_index(&extents, |_, index| {
        let start: usize = index.iter().zip(outer).map(|(at, (_, step))| at * step).sum();
        let to: usize = index.iter().zip(&number).map(|(at, pitch)| at * pitch).sum();
        for first_row in (0..height).step_by(EDGE) {
            let rows = EDGE.min(height - first_row);
            for first in (0..width).step_by(EDGE) {
                let columns = EDGE.min(width - first);
                let from = &source[start + first_row + first * step..];
                let to = &mut out[to + first_row * pitch + first..];
                block(from, step, to, pitch, rows, columns);
            }
        }
    });
}

/// Transposes a block: the source has `columns` rows of `rows` adjacent elements. Not inlined, so that its
/// registers do not depend on the loops around it.
#[inline(never)]
fn block<T: Copy>(from: &[T], step: usize, to: &mut [T], pitch: usize, rows: usize, columns: usize) {
    if rows == EDGE && columns == EDGE {
        let mut tile = [[from[0]; EDGE]; EDGE];
        for (at, line) in tile.iter_mut().enumerate() {
            if let Some(from) = from[at * step..].first_chunk::<EDGE>() {
                *line = *from;
            }
        }
        for row in 0..EDGE {
            if let Some(to) = to[row * pitch..].first_chunk_mut::<EDGE>() {
                for (to, line) in to.iter_mut().zip(&tile) {
                    *to = line[row];
                }
            }
        }
        return;
    }
    for row in 0..rows {
        for (at, to) in to[row * pitch..][..columns].iter_mut().enumerate() {
            *to = from[at * step + row];
        }
    }
}

/// Visits the rows of a shape in order: source offset and number.
fn for_rows(outer: &[Axis], mut visit: impl FnMut(usize, usize)) {
    let extents: Vec<usize> = outer.iter().map(|(extent, _)| *extent).collect();
    let mut row = 0;
    crate::shape::each_index(&extents, |_, index| {
        visit(index.iter().zip(outer).map(|(at, (_, step))| at * step).sum(), row);
        row += 1;
    });
}
