//! Indexed reads: the gather family.

use typeloom_types::any_tensor::AnyTensor;

use super::{Operator, native};
use crate::call::{Call, Outcome, integers, one};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble, picked, slices};
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
    let offsets = element_offsets(data, indices, axis)?;
    one(picked(data, &offsets, indices.shape())?)
}

/// For each element of `indices`, the offset of the element of `data` at the same position, but with this
/// index along `axis`.
pub(super) fn element_offsets(
    data: &AnyTensor,
    indices: &AnyTensor,
    axis: usize,
) -> Result<Vec<usize>, KernelErrorKind> {
    let fits = data.rank() == indices.rank()
        && (0..data.rank()).all(|at| at == axis || indices.shape()[at] <= data.shape()[at]);
    if !fits {
        return invalid(format!("indices {:?} are not within {:?}", indices.shape(), data.shape()));
    }
    let own = strides(data.shape());
    let at = normalised_indices(indices, data.shape()[axis])?;
    let mut offsets = Vec::with_capacity(at.len());
    let Some(last) = own.len().checked_sub(1) else { return Ok(at) };
    let width = indices.shape()[last];
    let mut rows = at.chunks_exact(width.max(1));
    each_index(&indices.shape()[..last], |_, index| {
        let Some(row) = rows.next() else { return };
        if axis == last {
            let start = offset(index, &own);
            offsets.extend(row.iter().map(|at| start + at));
        } else {
            let start = offset(index, &own) - index[axis] * own[axis];
            offsets.extend(row.iter().enumerate().map(|(column, at)| start + column + at * own[axis]));
        }
    });
    Ok(offsets)
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
    let mut runs = Vec::with_capacity(outer * tuples);
    for which in 0..outer * tuples {
        let tuple = &values[which * depth..(which + 1) * depth];
        let offset = tuple_offset(tuple, middle)?;
        runs.push(Run::of(which / tuples.max(1) * block + offset * inner, inner));
    }
    let shape = [&indices.shape()[..indices.rank() - 1], &data.shape()[batch + depth..]].concat();
    one(assemble(&[data], &shape, runs.into_iter())?)
}
