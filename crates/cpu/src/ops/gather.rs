//! Indexed reads: the gather family.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::{Operator, native};
use crate::call::{Call, Outcome, integers, one};
use crate::element::check_size;
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble, picked, slices, write_chunks};
use crate::shape::{around, axis, count, each_index, offset, strides};

pub(super) const OPERATORS: &[Operator] =
    &[native("Gather", gather), native("GatherElements", gather_elements), native("GatherND", gather_nd)];

/// Normalises a possibly negative index.
pub(super) fn normalised_index(index: i64, extent: usize) -> Result<usize, KernelErrorKind> {
    typeloom_types::shape::position(index, extent)
        .map_or_else(|| invalid(format!("index {index} is outside extent {extent}")), Ok)
}

/// Normalises a tensor of indices.
fn normalised_indices(indices: &AnyTensor, extent: usize) -> Result<Vec<usize>, KernelErrorKind> {
    integers(indices)?.iter().map(|index| normalised_index(*index, extent)).collect()
}

/// Row-major offset of the element at a tuple of possibly negative indices.
pub(super) fn tuple_offset(tuple: &[i64], shape: &[usize]) -> Result<usize, KernelErrorKind> {
    tuple
        .iter()
        .zip(shape)
        .try_fold(0, |offset, (index, extent)| Ok(offset * extent + normalised_index(*index, *extent)?))
}

fn gather(call: &mut Call<'_>) -> Outcome {
    let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
    let axis = axis(call.int("axis", 0)?, data.rank())?;
    let (outer, extent, inner) = around(data.shape(), axis);
    let shape = [&data.shape()[..axis], indices.shape(), &data.shape()[axis + 1..]].concat();
    one(slices(data, (outer, extent, inner), &normalised_indices(indices, extent)?, &shape)?)
}

fn gather_elements(call: &mut Call<'_>) -> Outcome {
    let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
    let axis = axis(call.int("axis", 0)?, data.rank())?;
    let shape = indices.shape();
    one(match data.dtype().size_bytes() {
        Some(1) => picked_by_rows::<1>(data, indices, axis)?,
        Some(2) => picked_by_rows::<2>(data, indices, axis)?,
        Some(4) => picked_by_rows::<4>(data, indices, axis)?,
        Some(8) => picked_by_rows::<8>(data, indices, axis)?,
        Some(_) | None => picked(data, &element_offsets(data, indices, axis)?, shape)?,
    })
}

/// `GatherElements` of elements of `N` bytes, without a list of all offsets.
fn picked_by_rows<const N: usize>(
    data: &AnyTensor,
    indices: &AnyTensor,
    axis: usize,
) -> Result<AnyTensor, KernelErrorKind> {
    check_size(indices.shape(), N)?;
    let source = data.bytes().as_chunks::<N>().0;
    let mut complete = Ok(());
    let result = write_chunks::<N>(data.dtype(), indices.shape(), |mut out| {
        complete = each_row_of_offsets(data, indices, axis, &mut |offsets| {
            let (row, rest) = std::mem::take(&mut out).split_at_mut(offsets.len());
            row.iter_mut().zip(offsets).for_each(|(out, offset)| *out = source[*offset]);
            out = rest;
        });
    })?;
    complete.map(|()| result)
}

/// For each element of `indices`, the offset of the element of `data` at the same position, but with this
/// index along `axis`.
pub(super) fn element_offsets(
    data: &AnyTensor,
    indices: &AnyTensor,
    axis: usize,
) -> Result<Vec<usize>, KernelErrorKind> {
    check_size(&[indices.len()], size_of::<usize>())?;
    let mut offsets = Vec::with_capacity(indices.len());
    each_row_of_offsets(data, indices, axis, &mut |row| offsets.extend_from_slice(row))?;
    Ok(offsets)
}

/// Passes the offsets of [`element_offsets`] to `visit`, for the rows along the last axis in order.
fn each_row_of_offsets(
    data: &AnyTensor,
    indices: &AnyTensor,
    axis: usize,
    visit: &mut dyn FnMut(&[usize]),
) -> Result<(), KernelErrorKind> {
    let fits = data.rank() == indices.rank()
        && (0..data.rank()).all(|at| at == axis || indices.shape()[at] <= data.shape()[at]);
    if !fits {
        return invalid(format!("indices {:?} are not within {:?}", indices.shape(), data.shape()));
    }
    // There can be many rows without elements.
    if indices.is_empty() {
        return Ok(());
    }
    match indices.dtype() {
        Dtype::I64 => rows_of_offsets(data, indices, indices.as_slice::<i64>()?, axis, visit),
        Dtype::I32 => rows_of_offsets(data, indices, indices.as_slice::<i32>()?, axis, visit),
        other => Err(KernelErrorKind::Dtype(other)),
    }
}

fn rows_of_offsets<I: Copy + Into<i64>>(
    data: &AnyTensor,
    indices: &AnyTensor,
    list: &[I],
    axis: usize,
    visit: &mut dyn FnMut(&[usize]),
) -> Result<(), KernelErrorKind> {
    let own = strides(data.shape());
    let (Some(extent), Some(step)) = (data.shape().get(axis).copied(), own.get(axis).copied()) else {
        return invalid("the data have rank 0");
    };
    let last = own.len() - 1;
    // Elements along a row are adjacent, unless the row is along the axis.
    let along = usize::from(axis != last);
    let mut row = vec![0; indices.shape()[last]];
    let mut lists = list.chunks_exact(row.len().max(1));
    let mut outcome = Ok(());
    each_index(&indices.shape()[..last], |_, index| {
        let Some(list) = lists.next().filter(|_| outcome.is_ok()) else { return };
        let start = offset(index, &own) - if axis == last { 0 } else { index[axis] * step };
        let mut all_fit = true;
        for (column, (to, given)) in row.iter_mut().zip(list).enumerate() {
            let given: i64 = (*given).into();
            let at = if given < 0 { given.wrapping_add(extent as i64) } else { given } as usize;
            all_fit &= at < extent;
            *to = start.wrapping_add(column * along).wrapping_add(at.wrapping_mul(step));
        }
        if all_fit {
            visit(&row);
        } else {
            let outside = list.iter().map(|given| normalised_index((*given).into(), extent));
            outcome = outside.collect::<Result<Vec<_>, _>>().map(|_| ());
        }
    });
    outcome
}

fn gather_nd(call: &mut Call<'_>) -> Outcome {
    let (data, indices) = (call.tensor(0)?, call.tensor(1)?);
    let batch = usize::try_from(call.int("batch_dims", 0)?).unwrap_or(usize::MAX);
    let Some(depth) = indices.shape().last().copied() else {
        return invalid("the indices have rank 0");
    };
    if batch >= indices.rank() || batch.saturating_add(depth) > data.rank() {
        return invalid(format!("indices {:?} do not fit {:?}", indices.shape(), data.shape()));
    }
    if data.shape()[..batch] != indices.shape()[..batch] {
        return invalid("the batch axes differ");
    }
    let outer = count(&data.shape()[..batch]);
    let middle = &data.shape()[batch..batch + depth];
    let inner = count(&data.shape()[batch + depth..]);
    let block = count(middle) * inner;
    let tuples = count(&indices.shape()[batch..indices.rank() - 1]);
    let values = integers(indices)?;
    check_size(&[outer, tuples], size_of::<Run>())?;
    let mut runs = Vec::with_capacity(outer * tuples);
    for which in 0..outer * tuples {
        let tuple = &values[which * depth..(which + 1) * depth];
        let offset = tuple_offset(tuple, middle)?;
        runs.push(Run::of(which / tuples.max(1) * block + offset * inner, inner));
    }
    let shape = [&indices.shape()[..indices.rank() - 1], &data.shape()[batch + depth..]].concat();
    one(assemble(&[data], &shape, runs.into_iter())?)
}
