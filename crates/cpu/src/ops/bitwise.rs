//! Bitwise operations on integers.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::binary::map2;
use super::unary::map_into;
use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, on_integers};
use crate::error::{KernelErrorKind, invalid};

/// An operation on the bits of integers.
macro_rules! bits {
    ($operator:tt) => {
        |call| {
            let (a, b) = (call.tensor(0)?, call.tensor(1)?);
            one(on_integers!(a.dtype(), T => map2::<T, T, T>(a, b, |a, b| a $operator b))?)
        }
    };
}

pub(super) const OPERATORS: &[Operator] = &[
    native("BitwiseAnd", bits!(&)),
    native("BitwiseOr", bits!(|)),
    native("BitwiseXor", bits!(^)),
    native("BitwiseNot", |call| {
        let x = call.take(0)?;
        one(on_integers!(x.dtype(), T => map_into(x, |x: T| !x))?)
    }),
    native("BitShift", shift),
    native("BitCast", bit_cast),
];

/// A shift by a negative amount, or by at least the width, leaves only sign bits.
fn shift(call: &mut Call<'_>) -> Outcome {
    let left = match call.text("direction", "")? {
        "LEFT" => true,
        "RIGHT" => false,
        other => return invalid(format!("`direction` = `{other}` is neither LEFT nor RIGHT")),
    };
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    one(on_integers!(a.dtype(), T => {
        map2::<T, T, T>(a, b, |a, b| {
            let by = Number::to_f64(b);
            let by = if (0.0..f64::from(T::BITS)).contains(&by) { by as u32 } else { T::BITS };
            let fill = if a.is_below_zero() { !0 } else { 0 };
            if left { a.checked_shl(by).unwrap_or(0) } else { a.checked_shr(by).unwrap_or(fill) }
        })
    })?)
}

fn bit_cast(call: &mut Call<'_>) -> Outcome {
    let Some(to) = call.dtype("to")? else { return Err(KernelErrorKind::MissingAttribute("to")) };
    let x = call.tensor(0)?;
    if x.dtype() == Dtype::String || x.dtype().size_bits() != to.size_bits() {
        return invalid(format!("{} and {to} differ in width", x.dtype()));
    }
    one(AnyTensor::from_le_bytes(to, x.shape(), x.bytes())?)
}
