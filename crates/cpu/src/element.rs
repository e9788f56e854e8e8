//! Element type dispatch, kernel arithmetic, and tensor construction.
//!
//! An element type is a value at run time, and a loop needs it at compile time. The macros choose a type
//! parameter by the element type, so that a kernel is one body for all types that it supports:
//!
//! ```text
//! on_numbers!(x.dtype(), T => map_into(x, |x: T| x.times(x)))     ten types, one copy of the loop for each
//! ```
//!
//! Any other type is the error [`KernelErrorKind::Dtype`]. [`Number`] and [`Real`] define the arithmetic of
//! these bodies: integers wrap, conversions from `f64` saturate, and [`Number::sort_key`] orders all
//! elements, NaN last.
//!
//! A kernel makes its result with [`build`], which passes zeroed memory, or with [`build_over`], which can
//! pass the memory of a dead tensor.
//!
//! **Invariant:** a closure of `build_over` writes every element.
//!
//! **Invariant:** `build`, `build_over` and [`of_f64s`] request memory and work ([`check_size`]) before they
//! allocate. A result has at most [`MAX_BYTES`]. [`from_slice`] and [`ints`] copy elements and request
//! nothing.
//!
//! [`widest`] compiles a loop for several instruction sets, and the processor selects one (`pulp`). Only
//! inlined code is compiled that way, so the closure and the functions that it calls are `#[inline(always)]`.
//! Each instruction set multiplies the code of a kernel, so [`vectorised`] does it for `f32` only.
//!
//! **Limit:** [`to_f64s`] and [`of_f64s`] take 8 bytes per element, and round integers of more than 53 bits.

use std::ops::{Add, Div, Mul, Rem, Sub};

use half::slice::HalfFloatSliceExt as _;
use pulp::{Arch, Simd, WithSimd};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use crate::error::KernelErrorKind;
use crate::math;
use crate::memory;
use crate::work;

/// Maximum size of one tensor in bytes. Bounds the shapes that a file can request.
pub(crate) const MAX_BYTES: usize = 1 << 33;

/// Runs `$body` with `$T` bound to the Rust type of the elements, if that is one of the listed types.
macro_rules! dispatch {
    ($dtype:expr, $T:ident in [$($variant:ident $ty:ty),* $(,)?] => $body:expr) => {
        match $dtype {
            $(typeloom_types::dtype::Dtype::$variant => { type $T = $ty; $body })*
            other => Err($crate::error::KernelErrorKind::Dtype(other)),
        }
    };
}

/// Dispatches on the native numeric types.
macro_rules! on_numbers {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::dispatch!($dtype, $T in [
            F32 f32, F64 f64, I64 i64, I32 i32, I16 i16, I8 i8, U8 u8, U16 u16, U32 u32, U64 u64,
        ] => $body)
    };
}

/// Dispatches on the float types.
macro_rules! on_floats {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::dispatch!($dtype, $T in [F32 f32, F64 f64] => $body)
    };
}

/// Dispatches on the 16-bit float types.
macro_rules! on_halves {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::dispatch!($dtype, $T in [F16 half::f16, BF16 half::bf16] => $body)
    };
}

/// Dispatches on the integer types.
macro_rules! on_integers {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::dispatch!($dtype, $T in [
            I64 i64, I32 i32, I16 i16, I8 i8, U8 u8, U16 u16, U32 u32, U64 u64,
        ] => $body)
    };
}

pub(crate) use {dispatch, on_floats, on_integers, on_numbers};

/// Rejects shapes above [`MAX_BYTES`], and shapes whose elements exceed the memory or the work of the run.
pub(crate) fn check_size(shape: &[usize], width: usize) -> Result<(), KernelErrorKind> {
    let elements = check_extents(shape)?;
    match elements.checked_mul(width) {
        // Nothing is allocated for a shape with an extent of 0.
        Some(bytes) if bytes <= MAX_BYTES && shape.contains(&0) => Ok(()),
        Some(bytes) if bytes <= MAX_BYTES => {
            work::spend(elements as u64)?;
            memory::admit(bytes)
        }
        Some(_) | None => Err(KernelErrorKind::TooLarge { limit: MAX_BYTES }),
    }
}

/// The product of the extents, without those of 0. They count too, because kernels multiply extents, and
/// iterate over axes one by one.
pub(crate) fn check_extents(shape: &[usize]) -> Result<usize, KernelErrorKind> {
    let mut extents = shape.iter().filter(|extent| **extent != 0);
    let elements = extents.try_fold(1_usize, |elements, extent| elements.checked_mul(*extent));
    elements.filter(|elements| *elements <= MAX_BYTES).ok_or(KernelErrorKind::TooLarge { limit: MAX_BYTES })
}

/// Builds a tensor with `fill`, which receives zeroed memory.
pub(crate) fn build<T: Element>(
    shape: &[usize],
    mut fill: impl FnMut(&mut [T]),
) -> Result<AnyTensor, KernelErrorKind> {
    built(shape, &mut fill)
}

/// Builds a tensor with `fill`, which must write all elements: the memory it receives has arbitrary contents.
pub(crate) fn build_over<T: Element>(
    shape: &[usize],
    mut fill: impl FnMut(&mut [T]),
) -> Result<AnyTensor, KernelErrorKind> {
    built_over(shape, &mut fill)
}

// These functions are not generic over `fill`, so that they are not compiled once for each closure.

#[inline(never)]
fn built<T: Element>(shape: &[usize], fill: &mut dyn FnMut(&mut [T])) -> Result<AnyTensor, KernelErrorKind> {
    let mut tensor = zeroed::<T>(shape)?;
    fill_any(&mut tensor, fill)?;
    Ok(tensor)
}

#[inline(never)]
fn built_over<T: Element>(
    shape: &[usize],
    fill: &mut dyn FnMut(&mut [T]),
) -> Result<AnyTensor, KernelErrorKind> {
    let mut tensor = unfilled::<T>(shape)?;
    fill_any(&mut tensor, fill)?;
    Ok(tensor)
}

/// Fills a tensor if it has elements: `fill` can iterate over the other axes of a shape with an extent of 0.
fn fill_any<T: Element>(
    tensor: &mut AnyTensor,
    fill: &mut dyn FnMut(&mut [T]),
) -> Result<(), KernelErrorKind> {
    match tensor.as_mut_slice::<T>()? {
        [] => {}
        elements => fill(elements),
    }
    Ok(())
}

#[inline(never)]
fn zeroed<T: Element>(shape: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
    check_size(shape, size_of::<T>())?;
    Ok(match memory::used(AnyTensor::byte_len(T::DTYPE, shape)?) {
        Some(memory) => AnyTensor::from_memory_with(T::DTYPE, shape, memory, |bytes| bytes.fill(0))?,
        None => AnyTensor::zeros(T::DTYPE, shape)?,
    })
}

/// A tensor with arbitrary contents.
#[inline(never)]
fn unfilled<T: Element>(shape: &[usize]) -> Result<AnyTensor, KernelErrorKind> {
    check_size(shape, size_of::<T>())?;
    Ok(match memory::used(AnyTensor::byte_len(T::DTYPE, shape)?) {
        Some(memory) => AnyTensor::from_elements_with::<T>(shape, memory, |_| {})?,
        None => AnyTensor::zeros(T::DTYPE, shape)?,
    })
}

pub(crate) fn from_slice<T: Element>(shape: &[usize], elements: &[T]) -> Result<AnyTensor, KernelErrorKind> {
    Ok(AnyTensor::from_slice(shape, elements)?)
}

/// A rank 1 tensor of 64-bit integers.
pub(crate) fn ints(elements: &[i64]) -> AnyTensor {
    AnyTensor::from(elements)
}

/// Arithmetic on the native numeric types. Integers wrap on overflow, as in the ONNX reference
/// implementation. All functions are inlined, because a loop that contains a call is not vectorised.
pub(crate) trait Number: Element + PartialOrd + Send + Sync {
    const ZERO: Self;
    const ONE: Self;
    const LOWEST: Self;
    const HIGHEST: Self;
    const IS_FLOAT: bool;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Quotient, truncated for integers, for which the divisor is not zero.
    fn divided(self, other: Self) -> Self;
    /// Remainder with the sign of the dividend; the divisor of an integer is not zero.
    fn rest(self, other: Self) -> Self;
    fn to_f64(self) -> f64;
    /// Value of an integer; a float is truncated.
    fn to_i128(self) -> i128;
    /// Converts from `f64`: rounds for floats, truncates and saturates for integers.
    fn from_f64(value: f64) -> Self;
    /// A number whose order is that of the elements. Both zeros are equal, and NaN is the greatest.
    fn sort_key(self) -> u64;

    /// Quotient, truncated for integers; `None` for an integer division by zero.
    #[inline(always)]
    fn over(self, other: Self) -> Option<Self> {
        (Self::IS_FLOAT || other != Self::ZERO).then(|| self.divided(other))
    }
    /// Remainder, with the sign of the divisor, or of the dividend as in C's `fmod`; `None` for an integer
    /// division by zero.
    #[inline(always)]
    fn remainder(self, other: Self, like_c: bool) -> Option<Self> {
        let rest = (Self::IS_FLOAT || other != Self::ZERO).then(|| self.rest(other))?;
        let wrong_sign = rest != Self::ZERO && rest.is_below_zero() != other.is_below_zero();
        Some(if !like_c && wrong_sign { rest.plus(other) } else { rest })
    }
    #[expect(clippy::eq_op, reason = "only NaN differs from itself")]
    #[inline(always)]
    fn is_nan(self) -> bool {
        self != self
    }
    #[inline(always)]
    fn is_below_zero(self) -> bool {
        self < Self::ZERO
    }
    /// Maximum; NaN if either operand is NaN.
    #[inline(always)]
    fn max_of(self, other: Self) -> Self {
        if self.is_nan() | (self > other) { self } else { other }
    }
    /// Minimum; NaN if either operand is NaN.
    #[inline(always)]
    fn min_of(self, other: Self) -> Self {
        if self.is_nan() | (self < other) { self } else { other }
    }
}

/// [`Number::sort_key`] of a float: negative numbers are ordered against their bits.
#[inline(always)]
fn real_key(value: f64, _least: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    // The addition removes the sign of zero.
    let bits = (value + 0.0).to_bits();
    let ordered = if bits & SIGN == 0 { bits | SIGN } else { !bits };
    if value.is_nan() { u64::MAX } else { ordered }
}

/// [`Number::sort_key`] of an integer, in 64 bits with its sign: the distance from the least one.
#[inline(always)]
fn whole_key(value: i64, least: i64) -> u64 {
    value.wrapping_sub(least).cast_unsigned()
}

/// Implements [`Number`] for types, with their constants and the names of their methods for arithmetic.
macro_rules! numbers {
    ($is_float:literal, $sort_key:ident, $zero:literal, $one:literal, $lowest:ident, $highest:ident,
     $plus:ident, $minus:ident, $times:ident, $divided:ident, $rest:ident: $($ty:ty),*) => {$(
        impl Number for $ty {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const LOWEST: Self = <$ty>::$lowest;
            const HIGHEST: Self = <$ty>::$highest;
            const IS_FLOAT: bool = $is_float;

            #[inline(always)]
            fn plus(self, other: Self) -> Self { self.$plus(other) }
            #[inline(always)]
            fn minus(self, other: Self) -> Self { self.$minus(other) }
            #[inline(always)]
            fn times(self, other: Self) -> Self { self.$times(other) }
            #[inline(always)]
            fn divided(self, other: Self) -> Self { self.$divided(other) }
            #[inline(always)]
            fn rest(self, other: Self) -> Self { self.$rest(other) }
            #[allow(clippy::unnecessary_cast, reason = "one body for all numbers")]
            #[inline(always)]
            fn to_f64(self) -> f64 { self as f64 }
            #[allow(clippy::unnecessary_cast, reason = "one body for all numbers")]
            #[inline(always)]
            fn to_i128(self) -> i128 { self as i128 }
            #[allow(clippy::unnecessary_cast, reason = "one body for all numbers")]
            #[inline(always)]
            fn from_f64(value: f64) -> Self { value as $ty }
            #[allow(clippy::unnecessary_cast, reason = "one body for all numbers")]
            #[inline(always)]
            fn sort_key(self) -> u64 { $sort_key(self as _, <$ty>::MIN as _) }
        }
    )*};
}

numbers!(true, real_key, 0.0, 1.0, NEG_INFINITY, INFINITY, add, sub, mul, div, rem: f32, f64);
numbers!(
    false, whole_key, 0, 1, MIN, MAX, wrapping_add, wrapping_sub, wrapping_mul, wrapping_div, wrapping_rem:
    i8, i16, i32, i64, u8, u16, u32, u64
);

/// Loops that are compiled for several instruction sets.
struct Loops<F>(F);

impl<R, F: FnMut() -> R> WithSimd for Loops<F> {
    type Output = R;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> R {
        // A call by `FnOnce` of a closure that can be called again is a function of its own, which is
        // compiled without the instructions of the processor.
        let Self(mut work) = self;
        work()
    }
}

/// Runs loops with the widest vectors of the processor. The closure is marked `#[inline(always)]`. Debug
/// builds do not vectorise loops, so they compile each of them once.
#[inline(always)]
pub(crate) fn widest<R>(mut work: impl FnMut() -> R) -> R {
    if cfg!(debug_assertions) { work() } else { Arch::new().dispatch(Loops(work)) }
}

/// As [`widest`] for loops over `f32`. Loops over other types are compiled once, because each instruction set
/// multiplies the code.
#[inline(always)]
pub(crate) fn vectorised<T: Element, R>(mut work: impl FnMut() -> R) -> R {
    // A constant condition, so that the other branch is not compiled.
    if const { matches!(T::DTYPE, Dtype::F32) } { widest(work) } else { work() }
}

/// Arithmetic on the native float types.
pub(crate) trait Real:
    Number + num_traits::Float + std::ops::AddAssign + std::iter::Sum + Default
{
    /// Rounds a constant to this type.
    fn of(value: f64) -> Self {
        Self::from_f64(value)
    }

    /// `e^x`.
    fn exponential(self) -> Self;

    /// `e^x`, to at least the precision of this type.
    fn wide_exponential(x: f64) -> f64;

    /// `1 / (1 + e^-x)`.
    fn logistic(self) -> Self;

    /// The hyperbolic tangent.
    fn hyperbolic_tangent(self) -> Self;

    /// The greatest number less than this one.
    fn below(self) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn exponential(self) -> Self {
        math::exp(self)
    }
    #[inline(always)]
    fn wide_exponential(x: f64) -> f64 {
        math::exp_wide(x)
    }
    #[inline(always)]
    fn logistic(self) -> Self {
        math::sigmoid(self)
    }
    #[inline(always)]
    fn hyperbolic_tangent(self) -> Self {
        math::tanh(self)
    }
    #[inline(always)]
    fn below(self) -> Self {
        self.next_down()
    }
}

impl Real for f64 {
    #[inline(always)]
    fn exponential(self) -> Self {
        self.exp()
    }
    #[inline(always)]
    fn wide_exponential(x: f64) -> f64 {
        x.exp()
    }
    #[inline(always)]
    fn logistic(self) -> Self {
        1.0 / (1.0 + (-self).exp())
    }
    #[inline(always)]
    fn hyperbolic_tangent(self) -> Self {
        self.tanh()
    }
    #[inline(always)]
    fn below(self) -> Self {
        self.next_down()
    }
}

/// Whether the elements are 16-bit floats.
pub(crate) fn is_half(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F16 | Dtype::BF16)
}

/// Widens the elements to `f64`, for kernels that are not dominated by arithmetic.
pub(crate) fn to_f64s(tensor: &AnyTensor) -> Result<Vec<f64>, KernelErrorKind> {
    memory::admit(tensor.len().saturating_mul(size_of::<f64>()))?;
    match tensor.dtype() {
        half if is_half(half) => on_halves!(half, T => {
            Ok(tensor.as_slice::<T>()?.iter().map(|it| it.to_f64()).collect())
        }),
        Dtype::Bool => Ok(tensor.as_slice::<bool>()?.iter().map(|it| f64::from(u8::from(*it))).collect()),
        other => on_numbers!(other, T => {
            Ok(tensor.as_slice::<T>()?.iter().map(|it| Number::to_f64(*it)).collect())
        }),
    }
}

/// Converts `f64`s to a tensor of this element type. Integers are truncated and saturated.
pub(crate) fn of_f64s(dtype: Dtype, shape: &[usize], values: &[f64]) -> Result<AnyTensor, KernelErrorKind> {
    match dtype {
        half if is_half(half) => on_halves!(half, T => of_each(shape, values, T::from_f64)),
        Dtype::Bool => of_each(shape, values, |it| it != 0.0),
        other => on_numbers!(other, T => of_each(shape, values, T::from_f64)),
    }
}

fn of_each<T: Element>(
    shape: &[usize],
    values: &[f64],
    each: impl Fn(f64) -> T,
) -> Result<AnyTensor, KernelErrorKind> {
    check_size(shape, size_of::<T>())?;
    let expected = if shape.contains(&0) { 0 } else { shape.iter().product() };
    if expected != values.len() {
        return Err(TensorError::ElementCount { shape: shape.into(), expected, found: values.len() }.into());
    }
    build_over::<T>(shape, |out| out.iter_mut().zip(values).for_each(|(out, value)| *out = each(*value)))
}

/// Widens 16-bit floats to `f32`; returns other tensors unchanged.
pub(crate) fn widen(tensor: AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
    if !is_half(tensor.dtype()) {
        return Ok(tensor);
    }
    on_halves!(tensor.dtype(), T => {
        let from = tensor.as_slice::<T>()?;
        build_over::<f32>(tensor.shape(), |to| from.convert_to_f32_slice(to))
    })
}

/// Rounds `f32` to 16-bit floats; returns other tensors unchanged.
pub(crate) fn narrow(tensor: AnyTensor, dtype: Dtype) -> Result<AnyTensor, KernelErrorKind> {
    if tensor.dtype() != Dtype::F32 || !is_half(dtype) {
        return Ok(tensor);
    }
    let from = tensor.as_slice::<f32>()?;
    on_halves!(dtype, T => build_over::<T>(tensor.shape(), |to| to.convert_from_f32_slice(from)))
}
