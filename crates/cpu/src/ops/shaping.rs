//! Operators that read or change only the shape.

use typeloom_tensor::any_tensor::AnyTensor;

use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::ints;
use crate::error::{KernelErrorKind, invalid};
use crate::movement::reshape as with_shape;
use crate::shape::{as_ints, axes, axis, count};

pub(super) const OPERATORS: &[Operator] = &[
    native("Identity", |call| Ok(vec![call.take_value(0)?])),
    native("Shape", shape),
    native("Size", |call| {
        one(AnyTensor::from_scalar(i64::try_from(call.tensor(0)?.len()).unwrap_or(i64::MAX)))
    }),
    native("Reshape", reshape),
    native("Flatten", flatten),
    native("Squeeze", squeeze),
    native("Unsqueeze", unsqueeze),
];

fn shape(call: &mut Call<'_>) -> Outcome {
    let extents = as_ints(call.tensor(0)?.shape());
    let rank = extents.len() as i64;
    let clamp = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let start = clamp(call.int("start", 0)?);
    let end = clamp(call.int("end", rank)?);
    one(ints(extents.get(start..end).unwrap_or_default()))
}

fn reshape(call: &mut Call<'_>) -> Outcome {
    let Some(target) = call.integers_or(1, "shape")? else { return Err(KernelErrorKind::MissingInput(1)) };
    let allow_zero = call.flag("allowzero", false)?;
    let x = call.take(0)?;
    let shape = target_shape(x.shape(), &target, allow_zero)?;
    one(with_shape(x, &shape)?)
}

/// Resolves the target of a reshape: 0 copies an extent, -1 is inferred.
fn target_shape(from: &[usize], target: &[i64], allow_zero: bool) -> Result<Vec<usize>, KernelErrorKind> {
    let mut shape = Vec::with_capacity(target.len());
    let mut open = None;
    for (at, extent) in target.iter().enumerate() {
        match extent {
            0 if !allow_zero => match from.get(at) {
                Some(extent) => shape.push(*extent),
                None => {
                    return invalid(format!(
                        "extent {at} of the shape is 0, but the input has no extent {at}"
                    ));
                }
            },
            -1 if open.is_none() => {
                open = Some(at);
                shape.push(1);
            }
            other => match usize::try_from(*other) {
                Ok(extent) => shape.push(extent),
                Err(_) => return invalid(format!("the shape {target:?} is invalid")),
            },
        }
    }
    if let Some(open) = open {
        let Some(rest) = shape.iter().try_fold(1_usize, |product, extent| product.checked_mul(*extent))
        else {
            return invalid(format!("the shape {target:?} is too large"));
        };
        let total = count(from);
        if rest == 0 || !total.is_multiple_of(rest) {
            return invalid(format!("{from:?} does not fill the shape {target:?}"));
        }
        shape[open] = total / rest;
    }
    Ok(shape)
}

fn flatten(call: &mut Call<'_>) -> Outcome {
    let given = call.int("axis", 1)?;
    let x = call.take(0)?;
    let at = if given == x.rank() as i64 { x.rank() } else { axis(given, x.rank())? };
    let shape = [count(&x.shape()[..at]), count(&x.shape()[at..])];
    one(with_shape(x, &shape)?)
}

fn squeeze(call: &mut Call<'_>) -> Outcome {
    let given = call.integers_or(1, "axes")?;
    let x = call.take(0)?;
    let dropped = match given {
        Some(given) => axes(&given, x.rank())?,
        None => (0..x.rank()).filter(|axis| x.shape()[*axis] == 1).collect(),
    };
    if let Some(axis) = dropped.iter().find(|axis| x.shape()[**axis] != 1) {
        return invalid(format!("axis {axis} has extent {}, not 1", x.shape()[*axis]));
    }
    let shape: Vec<usize> =
        x.shape().iter().enumerate().filter(|(axis, _)| !dropped.contains(axis)).map(|(_, it)| *it).collect();
    one(with_shape(x, &shape)?)
}

fn unsqueeze(call: &mut Call<'_>) -> Outcome {
    let given = match call.integers(1)? {
        Some(given) => Some(given),
        None => call.attributes.ints("axes")?.map(<[i64]>::to_vec),
    };
    let Some(given) = given else { return Err(KernelErrorKind::MissingInput(1)) };
    let x = call.take(0)?;
    let rank = x.rank() + given.len();
    let added = axes(&given, rank)?;
    let mut own = x.shape().iter().copied();
    let shape: Vec<usize> =
        (0..rank).map(|axis| if added.contains(&axis) { 1 } else { own.next().unwrap_or(1) }).collect();
    one(with_shape(x, &shape)?)
}
