//! Comparisons and `Where`.

use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::binary::{aligned, map2};
use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, dispatch, on_numbers};
use crate::error::{KernelErrorKind, invalid};
use crate::movement::{Run, assemble};
use crate::shape::{broadcast, broadcast_strides, each_index, offset};

/// A comparison of numbers.
macro_rules! comparison {
    ($operator:tt) => {
        |call| {
            let b = aligned(call)?;
            let a = call.take(0)?;
            one(on_numbers!(a.dtype(), T => map2::<T, T, bool>(&a, &b, |a, b| a $operator b))?)
        }
    };
}

pub(super) const OPERATORS: &[Operator] = &[
    widened("Equal", equal),
    widened("Greater", comparison!(>)),
    widened("Less", comparison!(<)),
    widened("GreaterOrEqual", comparison!(>=)),
    widened("LessOrEqual", comparison!(<=)),
    native("And", |call| logic(call, |a, b| a & b)),
    native("Or", |call| logic(call, |a, b| a | b)),
    native("Xor", |call| logic(call, |a, b| a ^ b)),
    native("Not", |call| {
        let x = call.take(0)?;
        one(super::unary::map_into(x, |x: bool| !x)?)
    }),
    native("Where", choose),
];

fn equal(call: &mut Call<'_>) -> Outcome {
    let b = aligned(call)?;
    let a = call.take(0)?;
    if a.dtype() == Dtype::String {
        let shape = broadcast(&[a.shape(), b.shape()])?;
        check_size(&shape, 1)?;
        let (left, right): (Vec<_>, Vec<_>) = (a.strings()?.collect(), b.strings()?.collect());
        let (sa, sb) = (broadcast_strides(a.shape(), &shape), broadcast_strides(b.shape(), &shape));
        let mut out = Vec::with_capacity(crate::shape::count(&shape));
        each_index(&shape, |_, index| out.push(left[offset(index, &sa)] == right[offset(index, &sb)]));
        return one(AnyTensor::from_slice(&shape, &out)?);
    }
    one(dispatch!(a.dtype(), T in [
        F32 f32, F64 f64, I64 i64, I32 i32, I16 i16, I8 i8, U8 u8, U16 u16, U32 u32, U64 u64, Bool bool,
    ] => map2::<T, T, bool>(&a, &b, |a, b| a == b))?)
}

fn logic(call: &mut Call<'_>, each: impl Fn(bool, bool) -> bool + Sync) -> Outcome {
    let b = aligned(call)?;
    let a = call.take(0)?;
    one(map2::<bool, bool, bool>(&a, &b, each)?)
}

fn choose(call: &mut Call<'_>) -> Outcome {
    let (condition, a, b) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let shape = broadcast(&[condition.shape(), a.shape(), b.shape()])?;
    let flags = condition.as_slice::<bool>()?;
    let strides = [condition, a, b].map(|tensor| broadcast_strides(tensor.shape(), &shape));
    check_size(&shape, size_of::<Run>())?;
    if a.dtype() != b.dtype() {
        return Err(KernelErrorKind::DtypeMismatch(a.dtype(), b.dtype()));
    }
    let mut runs: Vec<Run> = Vec::with_capacity(crate::shape::count(&shape));
    let mut inside = true;
    each_index(&shape, |_, index| {
        let [at_flag, at_a, at_b] = [0, 1, 2].map(|which: usize| offset(index, &strides[which]));
        match flags.get(at_flag) {
            Some(true) => runs.push(Run { input: 0, start: at_a, len: 1 }),
            Some(false) => runs.push(Run { input: 1, start: at_b, len: 1 }),
            None => inside = false,
        }
    });
    if !inside {
        return invalid("the condition has fewer elements than its shape needs");
    }
    one(assemble(&[a, b], &shape, runs.into_iter())?)
}
