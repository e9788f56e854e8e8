//! Indexed writes: the scatter family.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::gather::{element_offsets, tuple_offset};
use super::{Operator, native};
use crate::call::{Call, Outcome, integers, one};
use crate::element::{Number, check_size, is_half, narrow, on_numbers, widen};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble, write_chunks};
use crate::shape::{axis, count};

pub(super) const OPERATORS: &[Operator] = &[
    native("Scatter", scatter_elements),
    native("ScatterElements", scatter_elements),
    native("ScatterND", scatter_nd),
    native("TensorScatter", tensor_scatter),
];

/// The operation that combines an update with the existing element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    Replace,
    Add,
    Mul,
    Max,
    Min,
}

const REDUCTIONS: [(&str, Combine); 5] = [
    ("none", Combine::Replace),
    ("add", Combine::Add),
    ("mul", Combine::Mul),
    ("max", Combine::Max),
    ("min", Combine::Min),
];

/// Writes runs of `inner` consecutive elements of `updates` at the given offsets of `data`.
fn write(
    data: &AnyTensor,
    updates: &AnyTensor,
    offsets: &[usize],
    inner: usize,
    combine: Combine,
) -> Result<AnyTensor, KernelErrorKind> {
    if data.dtype() != updates.dtype() {
        return Err(KernelErrorKind::DtypeMismatch(data.dtype(), updates.dtype()));
    }
    if combine == Combine::Replace {
        return match data.dtype().size_bytes() {
            Some(1) => replaced::<1>(data, updates, offsets, inner),
            Some(2) => replaced::<2>(data, updates, offsets, inner),
            Some(4) => replaced::<4>(data, updates, offsets, inner),
            Some(8) => replaced::<8>(data, updates, offsets, inner),
            Some(16) => replaced::<16>(data, updates, offsets, inner),
            Some(_) | None => {
                check_size(&[data.len()], size_of::<Run>())?;
                let mut sources: Vec<Run> = (0..data.len()).map(Run::one).collect();
                for (which, offset) in offsets.iter().enumerate() {
                    for at in 0..inner {
                        sources[offset + at] = Run { input: 1, start: which * inner + at, len: 1 };
                    }
                }
                assemble(&[data, updates], data.shape(), sources.into_iter())
            }
        };
    }
    let dtype = data.dtype();
    if is_half(dtype) {
        let wide = write(&widen(data.clone())?, &widen(updates.clone())?, offsets, inner, combine)?;
        return narrow(wide, dtype);
    }
    if dtype == Dtype::Bool {
        let bytes = |tensor: &AnyTensor| super::cast::convert(tensor, Dtype::U8);
        let written = write(&bytes(data)?, &bytes(updates)?, offsets, inner, combine)?;
        return super::cast::convert(&written, Dtype::Bool);
    }
    let mut result = data.clone();
    on_numbers!(data.dtype(), T => {
        let from = updates.as_slice::<T>()?;
        let to = result.as_mut_slice::<T>()?;
        for (which, offset) in offsets.iter().enumerate() {
            for at in 0..inner {
                let slot = &mut to[offset + at];
                let new = from[which * inner + at];
                *slot = match combine {
                    Combine::Replace => new,
                    Combine::Add => slot.plus(new),
                    Combine::Mul => slot.times(new),
                    Combine::Max => slot.max_of(new),
                    Combine::Min => slot.min_of(new),
                };
            }
        }
        Ok(())
    })?;
    Ok(result)
}

/// A copy of `data` in which runs of `inner` consecutive elements of `updates` replace the elements at the
/// given offsets. An element has `N` bytes.
fn replaced<const N: usize>(
    data: &AnyTensor,
    updates: &AnyTensor,
    offsets: &[usize],
    inner: usize,
) -> Result<AnyTensor, KernelErrorKind> {
    let (from, new) = (data.bytes().as_chunks::<N>().0, updates.bytes().as_chunks::<N>().0);
    write_chunks::<N>(data.dtype(), data.shape(), |out| {
        out.copy_from_slice(from);
        if inner == 1 {
            offsets.iter().zip(new).for_each(|(offset, new)| out[*offset] = *new);
        } else {
            for (offset, new) in offsets.iter().zip(new.chunks_exact(inner.max(1))) {
                out[*offset..offset + inner].copy_from_slice(new);
            }
        }
    })
}

fn scatter_elements(call: &mut Call<'_>) -> Outcome {
    let (data, indices, updates) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let axis = axis(call.int("axis", 0)?, data.rank())?;
    if indices.shape() != updates.shape() {
        return invalid(format!("updates {:?} do not fit indices {:?}", updates.shape(), indices.shape()));
    }
    let offsets = element_offsets(data, indices, axis)?;
    one(write(data, updates, &offsets, 1, call.choice("reduction", &REDUCTIONS)?)?)
}

fn scatter_nd(call: &mut Call<'_>) -> Outcome {
    let (data, indices, updates) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let Some(depth) = indices.shape().last().copied() else {
        return invalid("the indices have rank 0");
    };
    if depth > data.rank() {
        return invalid(format!("indices {:?} do not fit {:?}", indices.shape(), data.shape()));
    }
    let inner = count(&data.shape()[depth..]);
    let values = integers(indices)?;
    let outer = &indices.shape()[..indices.rank() - 1];
    let tuples = count(outer);
    if updates.shape() != [outer, &data.shape()[depth..]].concat() {
        return invalid(format!("updates {:?} do not fit indices {:?}", updates.shape(), indices.shape()));
    }
    check_size(&[tuples], size_of::<usize>())?;
    let mut offsets = Vec::with_capacity(tuples);
    for which in 0..tuples {
        let tuple = &values[which * depth..(which + 1) * depth];
        offsets.push(tuple_offset(tuple, data.shape())? * inner);
    }
    one(write(data, updates, &offsets, inner, call.choice("reduction", &REDUCTIONS)?)?)
}

/// Writes an update into a cache along one axis. Each batch has its own start index.
fn tensor_scatter(call: &mut Call<'_>) -> Outcome {
    let (cache, update) = (call.tensor(0)?, call.tensor(1)?);
    let axis = axis(call.int("axis", -2)?, cache.rank())?;
    if axis == 0 || cache.rank() != update.rank() {
        return invalid("the sequence axis is not after the batch axis");
    }
    let circular = call.choice("mode", &[("linear", false), ("circular", true)])?;
    let fits = (0..cache.rank()).all(|at| {
        let (have, new) = (cache.shape()[at], update.shape()[at]);
        if at == axis { new <= have } else { new == have }
    });
    if !fits {
        return invalid(format!("the update {:?} does not fit {:?}", update.shape(), cache.shape()));
    }
    let batches = cache.shape()[0];
    let starts = match call.integers(2)? {
        Some(starts) if starts.len() == batches => starts,
        Some(starts) => {
            return invalid(format!("{} indices for {}", starts.len(), counted(batches, "batch")));
        }
        None => vec![0; batches],
    };
    let prefix = count(&cache.shape()[1..axis]);
    let (capacity, length) = (cache.shape()[axis], update.shape()[axis]);
    let inner = count(&cache.shape()[axis + 1..]);
    check_size(&[batches, prefix, length], size_of::<usize>())?;
    let mut offsets = Vec::new();
    for (batch, start) in starts.iter().enumerate() {
        for lane in 0..prefix {
            for step in 0..length {
                let at = start.saturating_add(step as i64);
                let at = if circular { at.rem_euclid(capacity.max(1) as i64) } else { at };
                let at = match usize::try_from(at) {
                    Ok(at) if at < capacity => at,
                    Ok(_) | Err(_) => return invalid(format!("index {at} is outside extent {capacity}")),
                };
                offsets.push((((batch * prefix) + lane) * capacity + at) * inner);
            }
        }
    }
    one(write(cache, update, &offsets, inner, Combine::Replace)?)
}
