//! Slicing, splitting and concatenation.
//!
//! These operators copy ranges of elements. A kernel lists runs of adjacent elements, and [`assemble`] copies
//! their bytes, so every element type is supported:
//!
//! ```text
//! Slice rows 1..3 and columns 2..5 of a matrix [4, 6]     two runs of 3 elements, from 8 and from 14 on
//! Trilu (upper) of [3, 3]                                 runs of 0 1 2 zeros, and 3 2 1 elements
//! ```
//!
//! A slice with another step than 1 selects a list of indices for each axis ([`select`]). `Concat` alternates
//! between its inputs ([`interleave`]), and `Split` copies a part of each outer block ([`parts`]).
//!
//! A bound of a slice counts from the end if it is negative, and is then clamped: to `0..=extent` for a
//! positive step, to `-1..extent` for an end and `0..extent` for a start with a negative step ([`cut`]).
//!
//! The time is linear in the bytes of the result and the number of runs. The list of runs of a slice is
//! checked against the memory limit before it is built.
//!
//! **Invariant:** the runs of a result have exactly as many elements as its shape.
//!
//! **Limit:** an even split has at most `2^20` parts. From version 18 on, its last part may be smaller but
//! not empty, as in ONNX Runtime.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, Selection, assemble, interleave, select, slices};
use crate::shape::{around, axes, axes_or_all, axis, count, each_index, extents, strides};

pub(super) const OPERATORS: &[Operator] = &[
    native("Slice", slice),
    native("Split", split),
    native("Concat", concat),
    native("CenterCropPad", center_crop_pad),
    native("Trilu", trilu),
    native("Compress", compress),
];

fn slice(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let Some(starts) = call.integers_or(1, "starts")? else { return Err(KernelErrorKind::MissingInput(1)) };
    let Some(ends) = call.integers_or(2, "ends")? else { return Err(KernelErrorKind::MissingInput(2)) };
    let given = call.integers_or(3, "axes")?;
    let steps = call.integers(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    let axes = match given {
        Some(given) => axes(&given, x.rank())?,
        None => (0..starts.len()).collect(),
    };
    if starts.len() != ends.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return invalid("starts, ends, axes and steps differ in number");
    }
    if axes.len() > x.rank() {
        return invalid(format!("{} axes are cut of rank {}", axes.len(), x.rank()));
    }
    let mut cuts: Vec<(i64, i64)> = vec![(0, 1); x.rank()];
    let mut shape = x.shape().to_vec();
    for (at, axis) in axes.iter().enumerate() {
        let (start, step, length) = cut(shape[*axis], starts[at], ends[at], steps[at])?;
        cuts[*axis] = (start, step);
        shape[*axis] = length;
    }
    one(take_strided(x, &shape, &cuts)?)
}

/// Start, step and length of a slice along one axis.
fn cut(extent: usize, start: i64, end: i64, step: i64) -> Result<(i64, i64, usize), KernelErrorKind> {
    let extent = extent as i64;
    if step == 0 {
        return invalid("a step is zero");
    }
    let absolute = |at: i64| if at < 0 { at.saturating_add(extent) } else { at };
    let (start, end) = if step > 0 {
        (absolute(start).clamp(0, extent), absolute(end).clamp(0, extent))
    } else {
        // A start before the first element clamps to index 0, because it is inclusive, unlike an end.
        (absolute(start).clamp(0, (extent - 1).max(0)), absolute(end).clamp(-1, extent - 1))
    };
    let distance = match step > 0 {
        true => end - start,
        false if extent == 0 => 0,
        false => start - end,
    };
    let length = if distance <= 0 { 0 } else { (distance - 1) / step.saturating_abs() + 1 };
    Ok((start, step, usize::try_from(length).unwrap_or(0)))
}

/// Copies the elements that start at `start` and follow at `step` along each axis.
fn take_strided(x: &AnyTensor, shape: &[usize], cuts: &[(i64, i64)]) -> Result<AnyTensor, KernelErrorKind> {
    if cuts.iter().zip(shape).any(|((_, step), extent)| *step != 1 && *extent > 1) {
        let list = |(axis, (start, step)): (usize, &(i64, i64))| {
            if (*start, *step) == (0, 1) && shape[axis] == x.shape()[axis] {
                return Selection::All;
            }
            let index = |at: usize| usize::try_from(start + at as i64 * step).unwrap_or(usize::MAX);
            Selection::Listed((0..shape[axis]).map(index).collect())
        };
        return select(x, &cuts.iter().enumerate().map(list).collect::<Vec<_>>());
    }
    let own = strides(x.shape());
    // Trailing axes that are kept whole are copied as one run.
    let whole = (0..shape.len())
        .rev()
        .take_while(|axis| shape[*axis] == x.shape()[*axis] && cuts[*axis] == (0, 1))
        .count();
    let outer = shape.len() - whole;
    let block = count(&shape[outer..]);
    let mut runs = Vec::new();
    crate::element::check_size(&shape[..outer], size_of::<Run>())?;
    let unit = outer.checked_sub(1).filter(|axis| cuts[*axis].1 == 1);
    let loops = unit.unwrap_or(outer);
    let length = unit.map_or(block, |axis| shape[axis] * block);
    let fixed = unit.map_or(0, |axis| cuts[axis].0 * own[axis] as i64);
    each_index(&shape[..loops], |_, index| {
        let offset: i64 = index
            .iter()
            .enumerate()
            .map(|(axis, at)| (cuts[axis].0 + *at as i64 * cuts[axis].1) * own[axis] as i64)
            .sum();
        runs.push(Run::of(usize::try_from(offset + fixed).unwrap_or(usize::MAX), length));
    });
    if shape.contains(&0) {
        runs.clear();
    }
    assemble(&[x], shape, runs.into_iter())
}

/// Copies `length` elements along an axis, beginning at `start`.
fn part(x: &AnyTensor, axis: usize, start: usize, length: usize) -> Result<AnyTensor, KernelErrorKind> {
    let (outer, extent, inner) = around(x.shape(), axis);
    let mut shape = x.shape().to_vec();
    shape[axis] = length;
    assemble(&[x], &shape, (0..outer).map(|block| Run::of((block * extent + start) * inner, length * inner)))
}

fn split(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let axis = axis(call.int("axis", 0)?, x.rank())?;
    let sizes = match call.integers_or(1, "split")? {
        Some(sizes) => extents(&sizes)?,
        None => {
            let parts = match call.attributes.int("num_outputs")? {
                Some(parts) => usize::try_from(parts).unwrap_or(0),
                None => call.outputs,
            };
            even_sizes(x.shape()[axis], parts, if call.version < 18 { Last::Equal } else { Last::Smaller })?
        }
    };
    Ok(parts(x, axis, &sizes)?.into_iter().map(Datum::from).collect())
}

/// Splits a tensor along an axis into parts of these extents.
pub(super) fn parts(x: &AnyTensor, axis: usize, sizes: &[usize]) -> Result<Vec<AnyTensor>, KernelErrorKind> {
    let extent = x.shape()[axis];
    if sizes.iter().sum::<usize>() != extent {
        return invalid(format!("the parts {sizes:?} do not make up {extent}"));
    }
    let mut end = 0;
    let part_of = |size: &usize| {
        end += size;
        part(x, axis, end - size, *size)
    };
    sizes.iter().map(part_of).collect()
}

/// Rule for the extent of the last chunk of an even split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Equal to the other chunks.
    Equal,
    /// The remainder, which must not be empty.
    Smaller,
}

/// Extents of the chunks of an even split.
fn even_sizes(extent: usize, parts: usize, last: Last) -> Result<Vec<usize>, KernelErrorKind> {
    if parts == 0 || parts > 1 << 20 {
        return invalid(format!("{parts} parts cannot be made"));
    }
    let size = extent.div_ceil(parts);
    let rest = extent.checked_sub(size * (parts - 1));
    // ONNX Runtime also rejects an empty last chunk.
    let Some(rest) = rest.filter(|rest| *rest > 0 || last == Last::Equal) else {
        return invalid(format!("parts of size {size} exceed the extent {extent} before part {}", parts - 1));
    };
    if last == Last::Equal && rest != size {
        return invalid(format!("{extent} is not a multiple of {parts}"));
    }
    let mut sizes = vec![size; parts - 1];
    sizes.push(rest);
    Ok(sizes)
}

fn concat(call: &mut Call<'_>) -> Outcome {
    let axis_given = match call.attributes.int("axis")? {
        Some(axis) => axis,
        None if call.version < 4 => 1,
        None => return Err(KernelErrorKind::MissingAttribute("axis")),
    };
    one(join(&call.tensors()?, axis_given)?)
}

/// The shape of the concatenation of tensors of these shapes along an axis of the first.
pub(crate) fn joined_shape(shapes: &[&[usize]], axis: usize) -> Result<Vec<usize>, KernelErrorKind> {
    let Some(first) = shapes.first() else { return Err(KernelErrorKind::MissingInput(0)) };
    let mut shape = first.to_vec();
    shape[axis] = 0;
    for part in shapes {
        let fits = part.len() == first.len()
            && part.iter().zip(*first).enumerate().all(|(at, (a, b))| at == axis || a == b);
        if !fits {
            return invalid(format!("{first:?} and {part:?} do not join along axis {axis}"));
        }
        shape[axis] += part[axis];
    }
    Ok(shape)
}

/// Concatenates tensors along an axis.
pub(crate) fn join(parts: &[&AnyTensor], axis_given: i64) -> Result<AnyTensor, KernelErrorKind> {
    let Some(first) = parts.first() else { return Err(KernelErrorKind::MissingInput(0)) };
    let axis = axis(axis_given, first.rank())?;
    let shapes: Vec<&[usize]> = parts.iter().map(|part| part.shape()).collect();
    let shape = joined_shape(&shapes, axis)?;
    let lengths: Vec<usize> = parts.iter().map(|part| count(&part.shape()[axis..])).collect();
    interleave(parts, &shape, &lengths)
}

fn center_crop_pad(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let target = extents(&call.required_integers(1)?)?;
    let axes = axes_or_all(call.attributes.ints("axes")?, x.rank())?;
    if axes.len() != target.len() {
        return invalid("the target has not one extent for each axis");
    }
    let mut shape = x.shape().to_vec();
    // Input index minus result index, per axis.
    let mut shift = vec![0_i64; x.rank()];
    for (axis, target) in axes.iter().zip(target) {
        let (have, want) = (x.shape()[*axis] as i64, target as i64);
        // Crop and pad both round the leading half down.
        shift[*axis] = if have >= want { (have - want) / 2 } else { -((want - have) / 2) };
        shape[*axis] = target;
    }
    one(super::pad::shifted(x, &shape, &shift, None)?)
}

fn trilu(call: &mut Call<'_>) -> Outcome {
    let upper = call.flag("upper", true)?;
    let k = call.integer(1)?.unwrap_or(0);
    let x = call.tensor(0)?;
    let rank = x.rank();
    if rank < 2 {
        return invalid("the input is not a matrix");
    }
    let (rows, columns) = (x.shape()[rank - 2], x.shape()[rank - 1]);
    let zero = AnyTensor::zeros(x.dtype(), &[columns])?;
    let outer = count(&x.shape()[..rank - 2]);
    // The columns from `k` below the diagonal on are kept, or those before.
    let first = if upper { k } else { k.saturating_add(1) };
    let cut = |row: usize| {
        let cut = ((row % rows) as i64).saturating_add(first).clamp(0, columns as i64);
        usize::try_from(cut).unwrap_or(0)
    };
    let zeros = |len: usize| Run { input: 1, start: 0, len };
    let runs = (0..outer * rows).flat_map(|row| {
        let cut = cut(row);
        if upper {
            [zeros(cut), Run::of(row * columns + cut, columns - cut)]
        } else {
            [Run::of(row * columns, cut), zeros(columns - cut)]
        }
    });
    one(assemble(&[x, &zero], x.shape(), runs)?)
}

/// The shape of a tensor and one of its axes. Without an axis, the tensor is flattened.
pub(super) fn axis_or_flat(
    x: &AnyTensor,
    given: Option<i64>,
) -> Result<(Vec<usize>, usize), KernelErrorKind> {
    Ok(match given {
        Some(given) => (x.shape().to_vec(), axis(given, x.rank())?),
        None => (vec![x.len()], 0),
    })
}

fn compress(call: &mut Call<'_>) -> Outcome {
    let condition = call.tensor(1)?.as_slice::<bool>()?;
    let x = call.tensor(0)?;
    let (mut shape, axis) = axis_or_flat(x, call.attributes.int("axis")?)?;
    let split = around(&shape, axis);
    let kept: Vec<usize> =
        condition.iter().enumerate().filter(|(_, kept)| **kept).map(|(index, _)| index).collect();
    if kept.last().is_some_and(|last| *last >= shape[axis]) {
        return invalid("the condition is longer than the axis");
    }
    shape[axis] = kept.len();
    one(slices(x, split, &kept, &shape)?)
}
