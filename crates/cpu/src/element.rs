//! What kernels know of element types: dispatch by dtype, arithmetic, and making tensors.

use half::{bf16, f16};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use crate::error::Fault;
use crate::memory;

/// The most bytes that one tensor may take: what a shape from a file asks for is bounded by it.
pub(crate) const MAX_BYTES: usize = 1 << 33;

/// Runs `$body` with `$T` as the Rust type of the elements, where it is one of those listed.
macro_rules! dispatch {
    ($dtype:expr, $T:ident in [$($variant:ident $ty:ty),* $(,)?] => $body:expr) => {
        match $dtype {
            $(typeloom_types::dtype::Dtype::$variant => { type $T = $ty; $body })*
            other => Err($crate::error::Fault::Dtype(other)),
        }
    };
}

/// The element types that kernels compute with.
macro_rules! on_numbers {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::dispatch!($dtype, $T in [
            F32 f32, F64 f64, I64 i64, I32 i32, I16 i16, I8 i8, U8 u8, U16 u16, U32 u32, U64 u64,
        ] => $body)
    };
}

/// The floats that kernels compute with.
macro_rules! on_floats {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::dispatch!($dtype, $T in [F32 f32, F64 f64] => $body)
    };
}

/// The whole numbers.
macro_rules! on_integers {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::element::dispatch!($dtype, $T in [
            I64 i64, I32 i32, I16 i16, I8 i8, U8 u8, U16 u16, U32 u32, U64 u64,
        ] => $body)
    };
}

pub(crate) use {dispatch, on_floats, on_integers, on_numbers};

/// Refuses shapes that no tensor should have, and those whose elements exceed the memory of the run.
pub(crate) fn check_size(shape: &[usize], width: usize) -> Result<(), Fault> {
    // Beside an extent of 0 the others count too: kernels go through axes one by one.
    let mut extents = shape.iter().filter(|extent| **extent != 0);
    let bytes = extents.try_fold(width, |bytes, extent| bytes.checked_mul(*extent));
    match bytes {
        // Nothing is allocated for a shape with an extent of 0.
        Some(bytes) if bytes <= MAX_BYTES && shape.contains(&0) => Ok(()),
        Some(bytes) if bytes <= MAX_BYTES => memory::admit(bytes),
        Some(_) | None => Err(Fault::TooLarge { limit: MAX_BYTES }),
    }
}

/// A tensor that `fill` writes; it is given zeros.
pub(crate) fn build<T: Element>(shape: &[usize], fill: impl FnOnce(&mut [T])) -> Result<AnyTensor, Fault> {
    let mut tensor = blank::<T>(shape)?;
    fill(tensor.as_mut_slice::<T>()?);
    Ok(tensor)
}

/// A tensor all of whose elements `fill` writes; what it is given may hold anything.
pub(crate) fn build_over<T: Element>(
    shape: &[usize],
    fill: impl FnOnce(&mut [T]),
) -> Result<AnyTensor, Fault> {
    let mut tensor = room::<T>(shape)?;
    fill(tensor.as_mut_slice::<T>()?);
    Ok(tensor)
}

// There are hundreds of functions that fill a tensor and a few element types: what does not depend on the function stands on its own.

/// A tensor of zeros.
#[inline(never)]
fn blank<T: Element>(shape: &[usize]) -> Result<AnyTensor, Fault> {
    check_size(shape, size_of::<T>())?;
    Ok(match memory::used(AnyTensor::byte_len(T::DTYPE, shape)?) {
        Some(memory) => AnyTensor::from_memory_with(T::DTYPE, shape, memory, |bytes| bytes.fill(0))?,
        None => AnyTensor::zeros(T::DTYPE, shape)?,
    })
}

/// A tensor whose elements may be anything.
#[inline(never)]
fn room<T: Element>(shape: &[usize]) -> Result<AnyTensor, Fault> {
    check_size(shape, size_of::<T>())?;
    Ok(match memory::used(AnyTensor::byte_len(T::DTYPE, shape)?) {
        Some(memory) => AnyTensor::from_elements_with::<T>(shape, memory, |_| {})?,
        None => AnyTensor::zeros(T::DTYPE, shape)?,
    })
}

/// A tensor of these elements.
pub(crate) fn from_slice<T: Element>(shape: &[usize], elements: &[T]) -> Result<AnyTensor, Fault> {
    Ok(AnyTensor::from_slice(shape, elements)?)
}

/// A tensor of 64-bit integers of rank 1.
pub(crate) fn ints(elements: &[i64]) -> AnyTensor {
    AnyTensor::from(elements)
}

/// Numbers that kernels compute with. Whole numbers wrap around, as ONNX's reference does.
pub(crate) trait Number: Element + PartialOrd + Send + Sync {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The least value.
    const LOWEST: Self;
    /// The greatest value.
    const HIGHEST: Self;
    /// Whether this is a type of floats.
    const IS_FLOAT: bool;

    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// The quotient, truncated for whole numbers; nothing where a whole number is divided by zero.
    fn over(self, other: Self) -> Option<Self>;
    /// The remainder: with the divisor's sign, or with the dividend's as C's `fmod` has it.
    fn remainder(self, other: Self, like_c: bool) -> Option<Self>;
    fn to_f64(self) -> f64;
    /// Rounded for floats, truncated and saturated for whole numbers.
    fn from_f64(value: f64) -> Self;
    fn is_nan(self) -> bool;
    /// Whether it is less than 0.
    fn is_below_zero(self) -> bool;
    /// The greater; NaN where either is.
    fn max_of(self, other: Self) -> Self {
        if self.is_nan() || self > other { self } else { other }
    }
    /// The smaller; NaN where either is.
    fn min_of(self, other: Self) -> Self {
        if self.is_nan() || self < other { self } else { other }
    }
}

macro_rules! float_numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = <$ty>::NEG_INFINITY;
            const HIGHEST: Self = <$ty>::INFINITY;
            const IS_FLOAT: bool = true;

            fn plus(self, other: Self) -> Self { self + other }
            fn minus(self, other: Self) -> Self { self - other }
            fn times(self, other: Self) -> Self { self * other }
            fn over(self, other: Self) -> Option<Self> { Some(self / other) }
            fn remainder(self, other: Self, like_c: bool) -> Option<Self> {
                let rest = self % other;
                let wrong_sign = rest != 0.0 && (rest < 0.0) != (other < 0.0);
                Some(if !like_c && wrong_sign { rest + other } else { rest })
            }
            #[allow(clippy::unnecessary_cast, reason = "one body for both floats")]
            fn to_f64(self) -> f64 { self as f64 }
            #[allow(clippy::unnecessary_cast, reason = "one body for both floats")]
            fn from_f64(value: f64) -> Self { value as $ty }
            fn is_nan(self) -> bool { <$ty>::is_nan(self) }
            fn is_below_zero(self) -> bool {
                self < 0.0
            }
        }
    )*};
}

macro_rules! whole_numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LOWEST: Self = <$ty>::MIN;
            const HIGHEST: Self = <$ty>::MAX;
            const IS_FLOAT: bool = false;

            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            fn minus(self, other: Self) -> Self { self.wrapping_sub(other) }
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn over(self, other: Self) -> Option<Self> {
                if other == 0 { None } else { Some(self.wrapping_div(other)) }
            }
            #[allow(unused_comparisons, reason = "one body for signed and unsigned numbers")]
            fn remainder(self, other: Self, like_c: bool) -> Option<Self> {
                if other == 0 {
                    return None;
                }
                let rest = self.wrapping_rem(other);
                let wrong_sign = rest != 0 && (rest < 0) != (other < 0);
                Some(if !like_c && wrong_sign { rest.wrapping_add(other) } else { rest })
            }
            fn to_f64(self) -> f64 { self as f64 }
            fn from_f64(value: f64) -> Self { value as $ty }
            fn is_nan(self) -> bool { false }
            #[allow(unused_comparisons, reason = "one body for signed and unsigned numbers")]
            fn is_below_zero(self) -> bool {
                self < 0
            }
        }
    )*};
}

float_numbers!(f32, f64);
whole_numbers!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Floats that kernels compute with.
pub(crate) trait Real:
    Number + num_traits::Float + std::ops::AddAssign + std::iter::Sum + Default
{
    /// A constant, rounded to this type.
    fn of(value: f64) -> Self {
        Self::from_f64(value)
    }
}

impl Real for f32 {}
impl Real for f64 {}

/// The elements as `f64`, for kernels whose cost does not lie in the arithmetic.
pub(crate) fn to_f64s(tensor: &AnyTensor) -> Result<Vec<f64>, Fault> {
    match tensor.dtype() {
        Dtype::F16 => Ok(tensor.as_slice::<f16>()?.iter().map(|it| it.to_f64()).collect()),
        Dtype::BF16 => Ok(tensor.as_slice::<bf16>()?.iter().map(|it| it.to_f64()).collect()),
        Dtype::Bool => Ok(tensor.as_slice::<bool>()?.iter().map(|it| f64::from(u8::from(*it))).collect()),
        other => on_numbers!(other, T => {
            Ok(tensor.as_slice::<T>()?.iter().map(|it| Number::to_f64(*it)).collect())
        }),
    }
}

/// A tensor of this element type out of `f64`s; whole numbers are truncated and saturated.
pub(crate) fn of_f64s(dtype: Dtype, shape: &[usize], values: &[f64]) -> Result<AnyTensor, Fault> {
    match dtype {
        Dtype::F16 => of_each(shape, values, f16::from_f64),
        Dtype::BF16 => of_each(shape, values, bf16::from_f64),
        Dtype::Bool => of_each(shape, values, |it| it != 0.0),
        other => on_numbers!(other, T => of_each(shape, values, T::from_f64)),
    }
}

fn of_each<T: Element>(shape: &[usize], values: &[f64], each: impl Fn(f64) -> T) -> Result<AnyTensor, Fault> {
    let elements: Vec<T> = values.iter().map(|value| each(*value)).collect();
    from_slice(shape, &elements)
}

/// A tensor of 16-bit floats as `f32`; others as they are.
pub(crate) fn widen(tensor: AnyTensor) -> Result<AnyTensor, Fault> {
    match tensor.dtype() {
        Dtype::F16 => {
            let from = tensor.as_slice::<f16>()?;
            build::<f32>(tensor.shape(), |to| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f32());
            })
        }
        Dtype::BF16 => {
            let from = tensor.as_slice::<bf16>()?;
            build::<f32>(tensor.shape(), |to| {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from.to_f32());
            })
        }
        _ => Ok(tensor),
    }
}

/// A tensor of `f32` as 16-bit floats; others as they are.
pub(crate) fn narrow(tensor: AnyTensor, dtype: Dtype) -> Result<AnyTensor, Fault> {
    if tensor.dtype() != Dtype::F32 {
        return Ok(tensor);
    }
    let from = tensor.as_slice::<f32>()?;
    match dtype {
        Dtype::F16 => build::<f16>(tensor.shape(), |to| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = f16::from_f32(*from));
        }),
        Dtype::BF16 => build::<bf16>(tensor.shape(), |to| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = bf16::from_f32(*from));
        }),
        _ => Ok(tensor),
    }
}
