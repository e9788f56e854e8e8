//! Operators that reorder elements: transpose, tile, expand and space/depth blocks.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::plural::counted;

use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble, reshape, strided};
use crate::shape::{around, axes, axis, broadcast, broadcast_strides, count, extents, strides};

pub(super) const OPERATORS: &[Operator] = &[
    native("Transpose", transpose),
    native("Expand", expand),
    native("Tile", tile),
    native("DepthToSpace", depth_to_space),
    native("SpaceToDepth", space_to_depth),
    native("ReverseSequence", reverse_sequence),
];

/// Permutes the axes.
pub(crate) fn permute(x: &AnyTensor, order: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
    if order.len() != x.rank() || order.iter().any(|axis| *axis >= x.rank()) {
        return invalid(format!("the input has rank {}, not {}", x.rank(), order.len()));
    }
    if order.iter().enumerate().all(|(at, axis)| at == *axis) {
        return Ok(x.clone());
    }
    let own = strides(x.shape());
    let shape: Vec<usize> = order.iter().map(|axis| x.shape()[*axis]).collect();
    let view: Vec<usize> = order.iter().map(|axis| own[*axis]).collect();
    strided(x, &shape, &view)
}

fn transpose(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let order = match call.attributes.ints("perm")? {
        Some(perm) => axes(perm, x.rank())?,
        None => (0..x.rank()).rev().collect(),
    };
    if order.len() != x.rank() {
        return invalid(format!("{order:?} is not a permutation of {}", counted(x.rank(), "axis")));
    }
    one(permute(x, &order)?)
}

/// Broadcasts a tensor to a shape.
pub(crate) fn broadcast_to(x: &AnyTensor, shape: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    strided(x, shape, &broadcast_strides(x.shape(), shape))
}

fn expand(call: &mut Call<'_>) -> Outcome {
    let target = call.vector(1)?;
    let x = call.tensor(0)?;
    let shape = broadcast(&[x.shape(), &extents(&target)?])?;
    one(broadcast_to(x, &shape)?)
}

fn tile(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    if call.version < 6 {
        return tile_along_one(call, x, &call.required_integers(1)?);
    }
    let repeats = extents(&call.vector(1)?)?;
    if repeats.len() != x.rank() {
        return invalid(format!("{} repeats for rank {}", repeats.len(), x.rank()));
    }
    // Splits each axis into a repeat axis of stride 0 and the original axis.
    let own = strides(x.shape());
    let (mut shape, mut view, mut result) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, repeat) in repeats.iter().enumerate() {
        shape.extend([*repeat, x.shape()[axis]]);
        view.extend([0, own[axis]]);
        result.push(repeat.saturating_mul(x.shape()[axis]));
    }
    one(reshape(strided(x, &shape, &view)?, &result)?)
}

/// `Tile` 1: the repetition count and the axis are inputs.
fn tile_along_one(call: &Call<'_>, x: &AnyTensor, repeats: &[i64]) -> Outcome {
    let (Some(repeat), Some(given)) = (repeats.first(), call.integer(2)?) else {
        return Err(KernelErrorKind::MissingInput(2));
    };
    let axis = axis(given, x.rank())?;
    let (outer, extent, inner) = around(x.shape(), axis);
    let repeat = extents(&[*repeat])?[0];
    let mut shape = x.shape().to_vec();
    shape[axis] = shape[axis].saturating_mul(repeat);
    let runs = (0..outer)
        .flat_map(move |block| (0..repeat).map(move |_| Run::of(block * extent * inner, extent * inner)));
    one(assemble(&[x], &shape, runs)?)
}

/// Reshapes, transposes and reshapes again.
fn rearrange(x: &AnyTensor, split: &[usize], order: &[usize], shape: &[usize]) -> Outcome {
    if count(split) != x.len() {
        return invalid(format!("the shape {:?} is not a multiple of the block", x.shape()));
    }
    one(reshape(permute(&reshape(x.clone(), split)?, order)?, shape)?)
}

fn block(call: &Call<'_>) -> Result<([usize; 4], usize), KernelErrorKind> {
    let x = call.tensor(0)?;
    let Ok(shape) = <[usize; 4]>::try_from(x.shape()) else {
        return invalid(format!("the input has rank {}, not 4", x.rank()));
    };
    let block = call.attributes.int("blocksize")?.ok_or(KernelErrorKind::MissingAttribute("blocksize"))?;
    match usize::try_from(block) {
        Ok(block) if block > 0 && block < 1 << 16 => Ok((shape, block)),
        Ok(_) | Err(_) => invalid(format!("`blocksize` = {block} is not a valid size")),
    }
}

fn depth_to_space(call: &mut Call<'_>) -> Outcome {
    let ([n, c, h, w], b) = block(call)?;
    if !c.is_multiple_of(b * b) {
        return invalid(format!("{c} channels are not a multiple of {}", b * b));
    }
    let depth = c / (b * b);
    let result = [n, depth, h * b, w * b];
    let by_depth = ([n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]);
    let by_column = ([n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]);
    let (split, order) = call.choice("mode", &[("DCR", by_depth), ("CRD", by_column)])?;
    rearrange(call.tensor(0)?, &split, &order, &result)
}

fn space_to_depth(call: &mut Call<'_>) -> Outcome {
    let ([n, c, h, w], b) = block(call)?;
    if !h.is_multiple_of(b) || !w.is_multiple_of(b) {
        return invalid(format!("the extents {h} and {w} are not multiples of {b}"));
    }
    let result = [n, c * b * b, h / b, w / b];
    let order = call.choice("mode", &[("DCR", [0, 3, 5, 1, 2, 4]), ("CRD", [0, 1, 3, 5, 2, 4])])?;
    rearrange(call.tensor(0)?, &[n, c, h / b, b, w / b, b], &order, &result)
}

fn reverse_sequence(call: &mut Call<'_>) -> Outcome {
    let lengths = extents(&call.required_integers(1)?)?;
    let x = call.tensor(0)?;
    let batch_axis = axis(call.int("batch_axis", 1)?, x.rank())?;
    let time_axis = axis(call.int("time_axis", 0)?, x.rank())?;
    if batch_axis == time_axis || batch_axis > 1 || time_axis > 1 {
        return invalid("batch and time are not the first two axes");
    }
    let (batches, times) = (x.shape()[batch_axis], x.shape()[time_axis]);
    if lengths.len() != batches || lengths.iter().any(|length| *length > times) {
        return invalid("the lengths do not fit the input");
    }
    let inner = count(&x.shape()[2..]);
    let (first, second) = (x.shape()[0], x.shape()[1]);
    let runs = (0..first).flat_map(|a| (0..second).map(move |b| (a, b))).map(|(a, b)| {
        let (batch, time) = if batch_axis == 0 { (a, b) } else { (b, a) };
        let time = if time < lengths[batch] { lengths[batch] - 1 - time } else { time };
        let (a, b) = if batch_axis == 0 { (batch, time) } else { (time, batch) };
        Run::of((a * second + b) * inner, inner)
    });
    one(assemble(&[x], x.shape(), runs)?)
}
