//! Elementwise arithmetic with broadcasting on two or more tensors.
//!
//! A result is computed row by row, where a row is the last axis of the result. In a row, an operand either
//! advances with each result, or is one element for all of them. Four plain loops cover all cases:
//!
//! ```text
//! [2, 1, 3] + [4, 3] = [2, 4, 3], 8 rows of 3 results
//!   left rows begin at     0 0 0 0 3 3 3 3      its middle axis has stride 0
//!   right rows begin at    0 3 6 9 0 3 6 9
//! ```
//!
//! [`Pairs::fill`] has the loops, [`fill_pairs`] distributes rows over threads from [`MIN_PARALLEL`] elements
//! on, and [`map2`] is the interface for other families. The code around the loops sees a function as a trait
//! object ([`PairLoop`]), so it is compiled once for each type, not for each function.
//!
//! The time is linear in the result. Variadic operators are folds from the left, with one pass for each
//! further input. The result replaces the first operand if both operands have one shape and the first has no
//! other owner.
//!
//! **Invariant:** integers wrap. An integer division by zero is [`KernelErrorKind::DivisionByZero`], found
//! before the loop, unless the left operand is empty.
//!
//! `Pow` has the element type of its base. Integers are raised by squaring, which is exact modulo 2^64. Two
//! `f32` use the power function of `f32`, except for exponents of 2 and 3. All other pairs are computed in
//! `f64`.
//!
//! **Limit:** `Mean` of integers truncates.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, Real, build_over, of_f64s, on_floats, on_numbers, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::shape::{Rows, broadcast, broadcast_strides};

pub(super) const OPERATORS: &[Operator] = &[
    widened("Add", |call| arithmetic(call, Arithmetic::Add)),
    widened("Sub", |call| arithmetic(call, Arithmetic::Sub)),
    widened("Mul", |call| arithmetic(call, Arithmetic::Mul)),
    widened("Div", |call| arithmetic(call, Arithmetic::Div)),
    widened("Mod", modulo),
    native("Pow", power),
    widened("Max", |call| variadic(call, Fold::Max)),
    widened("Min", |call| variadic(call, Fold::Min)),
    widened("Sum", |call| variadic(call, Fold::Sum)),
    widened("Mean", |call| variadic(call, Fold::Mean)),
    widened("PRelu", prelu),
    widened("SwiGLU", swiglu),
];

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 16;

/// The rows of two operands that are combined.
pub(super) struct Pairs<'a, A, B> {
    rows: Rows<'a, 2>,
    width: usize,
    /// An operand with step 0 has one element for all results of a row, otherwise its step is 1.
    steps: [usize; 2],
    left: &'a [A],
    right: &'a [B],
}

impl<A: Copy, B: Copy> Pairs<'_, A, B> {
    /// Computes the results of all rows.
    #[inline(always)]
    pub(super) fn fill<C: Copy>(self, out: &mut [C], each: impl Fn(A, B) -> C) {
        let Self { rows, width, steps, left, right } = self;
        for (out, [at_a, at_b]) in out.chunks_exact_mut(width).zip(rows) {
            // The single elements are copied, so that they are not loaded for each result.
            match steps {
                [0, 0] => out.fill(each(left[at_a], right[at_b])),
                [0, _] => {
                    let left = left[at_a];
                    for (out, right) in out.iter_mut().zip(&right[at_b..]) {
                        *out = each(left, *right);
                    }
                }
                [_, 0] => {
                    let right = right[at_b];
                    for (out, left) in out.iter_mut().zip(&left[at_a..]) {
                        *out = each(*left, right);
                    }
                }
                [_, _] => {
                    let pairs = left[at_a..].iter().zip(&right[at_b..]);
                    for (out, (left, right)) in out.iter_mut().zip(pairs) {
                        *out = each(*left, *right);
                    }
                }
            }
        }
    }
}

/// A loop over the rows of two operands. Functions use it as a trait object, so that they are not compiled
/// for each function of two elements.
pub(super) trait PairLoop<A, B, C>: Sync {
    /// Combines operands of one shape.
    fn fill_equal(&self, left: &[A], right: &[B], out: &mut [C]);

    fn fill_rows(&self, pairs: Pairs<'_, A, B>, out: &mut [C]);
}

/// A [`PairLoop`] whose results can replace the first operand.
trait PairLoopInto<T>: PairLoop<T, T, T> {
    fn replace(&self, left: &mut [T], right: &[T]);
}

/// The loops of a function of two elements.
struct EachPair<F>(F);

impl<A: Element, B: Element, C: Element, F: Fn(A, B) -> C + Sync> PairLoop<A, B, C> for EachPair<F> {
    fn fill_equal(&self, left: &[A], right: &[B], out: &mut [C]) {
        for (out, (left, right)) in out.iter_mut().zip(left.iter().zip(right)) {
            *out = self.0(*left, *right);
        }
    }

    fn fill_rows(&self, pairs: Pairs<'_, A, B>, out: &mut [C]) {
        pairs.fill(out, &self.0);
    }
}

impl<T: Element, F: Fn(T, T) -> T + Sync> PairLoopInto<T> for EachPair<F> {
    fn replace(&self, left: &mut [T], right: &[T]) {
        for (left, right) in left.iter_mut().zip(right) {
            *left = self.0(*left, *right);
        }
    }
}

/// Fills the results of two tensors, whose shapes broadcast to `shape`.
pub(super) fn fill_pairs<A: Sync, B: Sync, C: Send>(
    (a, left): (&[usize], &[A]),
    (b, right): (&[usize], &[B]),
    shape: &[usize],
    out: &mut [C],
    work: &dyn PairLoop<A, B, C>,
) {
    if out.is_empty() {
        return;
    }
    if a == b {
        threads::in_parts(out, MIN_PARALLEL, &|at, out| work.fill_equal(&left[at..], &right[at..], out));
        return;
    }
    let (sa, sb) = (broadcast_strides(a, shape), broadcast_strides(b, shape));
    let width = shape.last().copied().unwrap_or(1);
    let steps = [&sa, &sb].map(|strides| strides.last().copied().unwrap_or(0));
    let part = (MIN_PARALLEL / width).max(1) * width;
    threads::in_parts(out, part, &|at, out| {
        let rows = Rows::new(shape, [&sa, &sb]).starting_at(at / width);
        work.fill_rows(Pairs { rows, width, steps, left, right }, out);
    });
}

/// Applies a function to the elements of two broadcast tensors.
pub(crate) fn map2<A: Element, B: Element, C: Element>(
    a: &AnyTensor,
    b: &AnyTensor,
    each: impl Fn(A, B) -> C + Sync,
) -> Result<AnyTensor, KernelErrorKind> {
    map_pairs(a, b, &EachPair(each))
}

fn map_pairs<A: Element, B: Element, C: Element>(
    a: &AnyTensor,
    b: &AnyTensor,
    pairs: &dyn PairLoop<A, B, C>,
) -> Result<AnyTensor, KernelErrorKind> {
    let (left, right) = (a.as_slice::<A>()?, b.as_slice::<B>()?);
    let broadcast = if a.shape() == b.shape() { None } else { Some(broadcast(&[a.shape(), b.shape()])?) };
    let shape = broadcast.as_deref().unwrap_or(a.shape());
    build_over::<C>(shape, |out| fill_pairs((a.shape(), left), (b.shape(), right), shape, out, pairs))
}

/// Combines two tensors of one element type. The result reuses the memory of the first operand if that has
/// the result's shape and is not shared.
fn map2_into<T: Element>(
    a: AnyTensor,
    b: &AnyTensor,
    each: impl Fn(T, T) -> T + Sync,
) -> Result<AnyTensor, KernelErrorKind> {
    map_pairs_into(a, b, &EachPair(each))
}

fn map_pairs_into<T: Element>(
    mut a: AnyTensor,
    b: &AnyTensor,
    pairs: &dyn PairLoopInto<T>,
) -> Result<AnyTensor, KernelErrorKind> {
    if a.shape() != b.shape() || a.is_shared() {
        return map_pairs::<T, T, T>(&a, b, pairs);
    }
    let right = b.as_slice::<T>()?;
    let left = a.as_mut_slice::<T>()?;
    threads::in_parts(left, MIN_PARALLEL, &|at, left| pairs.replace(left, &right[at..]));
    Ok(a)
}

#[derive(Clone, Copy)]
enum Arithmetic {
    Add,
    Sub,
    Mul,
    Div,
}

/// Reshapes the second operand according to the `broadcast` and `axis` attributes of versions before 7.
pub(super) fn aligned(call: &mut Call<'_>) -> Result<AnyTensor, KernelErrorKind> {
    let b = call.take(1)?;
    if call.version >= 7 || !call.flag("broadcast", false)? {
        return Ok(b);
    }
    let Some(axis) = call.attributes.int("axis")? else { return Ok(b) };
    let rank = call.tensor(0)?.rank();
    let axis = if axis < 0 { axis + i64::try_from(rank).unwrap_or(0) } else { axis };
    let Ok(axis) = usize::try_from(axis) else {
        return invalid(format!("axis {axis} is outside rank {rank}"));
    };
    let mut shape = b.shape().to_vec();
    while axis + shape.len() < rank {
        shape.push(1);
    }
    Ok(b.reshape(&shape)?)
}

fn arithmetic(call: &mut Call<'_>, kind: Arithmetic) -> Outcome {
    let b = aligned(call)?;
    let a = call.take(0)?;
    one(on_numbers!(a.dtype(), T => match kind {
        Arithmetic::Add => map2_into::<T>(a, &b, Number::plus),
        Arithmetic::Sub => map2_into::<T>(a, &b, Number::minus),
        Arithmetic::Mul => map2_into::<T>(a, &b, Number::times),
        Arithmetic::Div => {
            if !T::IS_FLOAT && !a.is_empty() && b.as_slice::<T>()?.contains(&T::ZERO) {
                return Err(KernelErrorKind::DivisionByZero);
            }
            map2_into::<T>(a, &b, |a: T, b: T| a.over(b).unwrap_or(T::ZERO))
        }
    })?)
}

fn modulo(call: &mut Call<'_>) -> Outcome {
    let like_c = call.flag("fmod", false)?;
    let (a, b) = (call.take(0)?, call.take(1)?);
    one(on_numbers!(a.dtype(), T => {
        if !T::IS_FLOAT && !a.is_empty() && b.as_slice::<T>()?.contains(&T::ZERO) {
            return Err(KernelErrorKind::DivisionByZero);
        }
        map2_into::<T>(a, &b, |a: T, b: T| a.remainder(b, like_c).unwrap_or(T::ZERO))
    })?)
}

/// `a` to the power of `b`. The result has the element type of `a`. Integers stay exact if `b` is an integer.
fn power(call: &mut Call<'_>) -> Outcome {
    let b = aligned(call)?;
    let a = call.take(0)?;
    if is_whole(a.dtype()) && is_whole(b.dtype()) {
        let wide = super::cast::convert(&a, Dtype::I64)?;
        let raised = if b.dtype() == Dtype::U64 {
            map2::<i64, u64, i64>(&wide, &b, raise)?
        } else {
            map2::<i64, i64, i64>(&wide, &super::cast::convert(&b, Dtype::I64)?, |base, exponent| {
                match u64::try_from(exponent) {
                    Ok(exponent) => raise(base, exponent),
                    // A negative power of an integer is a fraction, except for the bases 1 and -1.
                    Err(_) if matches!(base, 1 | -1) => raise(base, exponent.unsigned_abs()),
                    Err(_) => 0,
                }
            })?
        };
        return one(super::cast::convert(&raised, a.dtype())?);
    }
    if a.dtype() == Dtype::F32 && b.dtype() == Dtype::F32 {
        return one(map2_into::<f32>(a, &b, |base: f32, exponent: f32| {
            if exponent == 2.0 {
                base * base
            } else if exponent == 3.0 {
                // Exact up to the last bits of an `f64`, so rounded once.
                let wide = f64::from(base);
                (wide * wide * wide) as f32
            } else {
                base.powf(exponent)
            }
        })?);
    }
    let dtype = a.dtype();
    let wide = |tensor: &AnyTensor| of_f64s(Dtype::F64, tensor.shape(), &to_f64s(tensor)?);
    let raised = map2::<f64, f64, f64>(&wide(&a)?, &wide(&b)?, f64::powf)?;
    one(of_f64s(dtype, raised.shape(), raised.as_slice()?)?)
}

fn is_whole(dtype: Dtype) -> bool {
    use Dtype::{I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(dtype, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// Exponentiation by squaring, wrapping at 64 bits.
fn raise(mut base: i64, mut exponent: u64) -> i64 {
    let mut power = 1_i64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

#[derive(Clone, Copy)]
enum Fold {
    Max,
    Min,
    Sum,
    Mean,
}

fn variadic(call: &mut Call<'_>, fold: Fold) -> Outcome {
    let mut result = call.take(0)?;
    let count = call.inputs.len();
    on_numbers!(result.dtype(), T => {
        for index in 1..count {
            let next = call.take(index)?;
            result = match fold {
                Fold::Max => map2_into::<T>(result, &next, Number::max_of)?,
                Fold::Min => map2_into::<T>(result, &next, Number::min_of)?,
                Fold::Sum | Fold::Mean => map2_into::<T>(result, &next, Number::plus)?,
            };
        }
        if matches!(fold, Fold::Mean) {
            let count = T::from_f64(count as f64);
            for element in result.as_mut_slice::<T>()? {
                *element = element.over(count).unwrap_or(T::ZERO);
            }
        }
        Ok(())
    })?;
    one(result)
}

/// The slope broadcasts to the input. Before version 7, a slope of rank 1 is per channel.
fn prelu(call: &mut Call<'_>) -> Outcome {
    let (x, mut slope) = (call.take(0)?, call.take(1)?);
    if call.version < 9 && slope.rank() == 1 && slope.len() > 1 && x.rank() > 2 {
        let mut shape = vec![slope.len()];
        shape.resize(x.rank() - 1, 1);
        slope = slope.reshape(&shape)?;
    }
    one(on_numbers!(x.dtype(), T => {
        map2_into::<T>(x, &slope, |x: T, slope: T| if x.is_below_zero() { x.times(slope) } else { x })
    })?)
}

fn swiglu(call: &mut Call<'_>) -> Outcome {
    let alpha = f64::from(call.float("alpha", 1.0)?);
    let (gate, linear) = (call.take(0)?, call.take(1)?);
    if gate.shape() != linear.shape() {
        return invalid(format!("the shapes {:?} and {:?} differ", gate.shape(), linear.shape()));
    }
    one(on_floats!(gate.dtype(), T => map2_into::<T>(gate, &linear, |gate: T, linear: T| {
        gate / (T::ONE + (-T::of(alpha) * gate).exp()) * linear
    }))?)
}
