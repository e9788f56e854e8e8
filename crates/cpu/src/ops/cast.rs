//! Conversions between element types.
//!
//! Conversion of floats to integers truncates and saturates. Conversion of integers to narrower integers
//! drops high bits. Conversion to bool maps every nonzero value to true. Conversion to floats of at most 8
//! bits rounds to nearest even, and saturates if `saturate` is set.

use half::{bf16, f16};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{build, build_over, check_size, dispatch, is_half, narrow, widen};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::minifloat::{self, Overflow, PowerRounding};
use crate::work;

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

pub(super) const OPERATORS: &[Operator] = &[native("Cast", cast), native("CastLike", cast_like)];

/// Treatment of out-of-range values.
#[derive(Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) overflow: Overflow,
    pub(crate) power: PowerRounding,
}

impl Default for Policy {
    fn default() -> Self {
        Self { overflow: Overflow::Saturate, power: PowerRounding::Up }
    }
}

fn policy(call: &Call<'_>) -> Result<Policy, KernelErrorKind> {
    let overflow = if call.flag("saturate", true)? { Overflow::Saturate } else { Overflow::Special };
    let modes =
        [("up", PowerRounding::Up), ("down", PowerRounding::Down), ("nearest", PowerRounding::Nearest)];
    let power = call.choice("round_mode", &modes)?;
    Ok(Policy { overflow, power })
}

fn cast(call: &mut Call<'_>) -> Outcome {
    let to = match call.attributes.get("to") {
        // Up to version 5, `to` is a type name.
        Some(crate::attributes::Attribute::Bytes(name)) => {
            let name = String::from_utf8_lossy(name).to_lowercase();
            Dtype::from_onnx_name(&name)
        }
        Some(_) | None => call.dtype("to")?,
    };
    let Some(to) = to else { return Err(KernelErrorKind::MissingAttribute("to")) };
    let policy = policy(call)?;
    let x = call.take(0)?;
    one(convert_with(&x, to, policy)?)
}

fn cast_like(call: &mut Call<'_>) -> Outcome {
    let to = call.tensor(1)?.dtype();
    let policy = policy(call)?;
    one(convert_with(call.tensor(0)?, to, policy)?)
}

/// Converts to another element type with the default policy.
pub(crate) fn convert(x: &AnyTensor, to: Dtype) -> Result<AnyTensor, KernelErrorKind> {
    convert_with(x, to, Policy::default())
}

/// A number of any element type.
#[derive(Clone, Copy)]
enum Wide {
    Float(f64),
    Int(i128),
}

impl Wide {
    fn equals(self, other: Self) -> bool {
        match (self, other) {
            (Self::Float(a), Self::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Int(a), Self::Int(b)) => a == b,
            // Larger floats saturate, but no element type has integers of that size.
            (Self::Float(float), Self::Int(int)) | (Self::Int(int), Self::Float(float)) => {
                float.is_finite() && float.fract() == 0.0 && float as i128 == int
            }
        }
    }
}

trait Convert: Element {
    fn widen(self) -> Wide;
    fn narrow(wide: Wide) -> Self;
}

macro_rules! convert_ints {
    ($($ty:ty),*) => {$(
        impl Convert for $ty {
            #[inline]
            fn widen(self) -> Wide { Wide::Int(i128::from(self)) }
            #[inline]
            fn narrow(wide: Wide) -> Self {
                match wide {
                    Wide::Float(value) => value as $ty,
                    Wide::Int(value) => value as $ty,
                }
            }
        }
    )*};
}
convert_ints!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! convert_floats {
    ($($ty:ty, $widen:expr, $float:expr, $int:expr;)*) => {$(
        impl Convert for $ty {
            #[inline]
            fn widen(self) -> Wide { Wide::Float($widen(self)) }
            #[inline]
            fn narrow(wide: Wide) -> Self {
                match wide {
                    Wide::Float(value) => $float(value),
                    Wide::Int(value) => $int(value),
                }
            }
        }
    )*};
}
convert_floats! {
    f32, f64::from, |value: f64| value as f32, |value: i128| i64::try_from(value).map_or(value as f32, |it| it as f32);
    f64, |value: f64| value, |value: f64| value, |value: i128| i64::try_from(value).map_or(value as f64, |it| it as f64);
    f16, f16::to_f64, f16::from_f64, |value: i128| f16::from_f64(value as f64);
    bf16, bf16::to_f64, bf16::from_f64, |value: i128| bf16::from_f64(value as f64);
}

impl Convert for bool {
    #[inline]
    fn widen(self) -> Wide {
        Wide::Int(i128::from(self))
    }
    #[inline]
    fn narrow(wide: Wide) -> Self {
        match wide {
            Wide::Float(value) => value != 0.0,
            Wide::Int(value) => value != 0,
        }
    }
}

macro_rules! on_elements {
    ($dtype:expr, $T:ident => $body:expr) => {
        dispatch!($dtype, $T in [
            F32 f32, F64 f64, F16 f16, BF16 bf16, I64 i64, I32 i32, I16 i16, I8 i8,
            U8 u8, U16 u16, U32 u32, U64 u64, Bool bool,
        ] => $body)
    };
}

/// Converts to another element type that represents every element exactly. `-0.0` becomes the integer 0, and
/// NaN another NaN.
///
/// # Errors
/// An element has no exact form, or one of the types is not the type of an [`Element`].
pub fn convert_exactly(x: &AnyTensor, to: Dtype) -> Result<AnyTensor, KernelErrorKind> {
    let converted = convert(x, to)?;
    on_elements!(x.dtype(), S => {
        let from = x.as_slice::<S>()?;
        on_elements!(to, T => match first_difference(&from, &converted.as_slice::<T>()?) {
            Some(lost) => invalid(format!("{} has no exact form as {to}", text(lost, x.dtype()))),
            None => Ok(converted),
        })
    })
}

/// Elements as wide numbers. A trait object, so that no loop is compiled for each pair of types.
trait Widened {
    fn wide(&self, at: usize) -> Option<Wide>;
}

impl<T: Convert> Widened for &[T] {
    fn wide(&self, at: usize) -> Option<Wide> {
        self.get(at).map(|element| element.widen())
    }
}

/// The first number that differs from the number at the same position.
fn first_difference(from: &dyn Widened, into: &dyn Widened) -> Option<Wide> {
    let pairs = (0..).map_while(|at| from.wide(at).zip(into.wide(at)));
    pairs.into_iter().find(|(from, into)| !from.equals(*into)).map(|(from, _)| from)
}

/// Decoded elements of a tensor of small floats; `None` for other types.
pub(crate) fn small_float_values(x: &AnyTensor) -> Result<Option<Vec<f64>>, KernelErrorKind> {
    if let Some(format) = minifloat::format(x.dtype()) {
        return Ok(Some(x.codes()?.map(|code| f64::from(format.decode(code))).collect()));
    }
    if x.dtype() == Dtype::Float8E8M0 {
        return Ok(Some(x.codes()?.map(|code| f64::from(minifloat::decode_power(code))).collect()));
    }
    Ok(None)
}

/// Whether the element type is an integer of fewer than 8 bits.
pub(crate) fn is_small_int(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::Int4 | Dtype::Uint4 | Dtype::Int2 | Dtype::Uint2)
}

/// Units of work for the text of a number.
const TEXT_WORK: usize = 64;

fn wide_values(x: &AnyTensor) -> Result<Vec<Wide>, KernelErrorKind> {
    if let Some(values) = small_float_values(x)? {
        return Ok(values.into_iter().map(Wide::Float).collect());
    }
    let dtype = x.dtype();
    if is_small_int(dtype) {
        let codes = x.codes()?;
        return Ok(codes.map(|code| Wide::Int(i128::from(minifloat::decode_int(dtype, code)))).collect());
    }
    if dtype == Dtype::String {
        return x.strings()?.map(parse).collect();
    }
    on_elements!(dtype, T => Ok(x.as_slice::<T>()?.iter().map(|value| value.widen()).collect()))
}

fn parse(text: &str) -> Result<Wide, KernelErrorKind> {
    let text = text.trim();
    if let Ok(value) = text.parse::<i128>() {
        return Ok(Wide::Int(value));
    }
    match text.parse::<f64>() {
        Ok(value) => Ok(Wide::Float(value)),
        Err(_) => invalid(format!("`{text}` is not a number")),
    }
}

/// Converts to another element type.
pub(crate) fn convert_with(x: &AnyTensor, to: Dtype, policy: Policy) -> Result<AnyTensor, KernelErrorKind> {
    if x.dtype() == to {
        return Ok(x.clone());
    }
    if is_half(x.dtype()) && to == Dtype::F32 {
        return widen(x.clone());
    }
    if x.dtype() == Dtype::F32 && is_half(to) {
        return narrow(x.clone(), to);
    }
    if is_plain(x.dtype()) && is_plain(to) {
        return plain(x, to);
    }
    // Texts are made one by one.
    let size = if to == Dtype::String { 2 * size_of::<String>() } else { size_of::<u8>() };
    check_size(x.shape(), size_of::<Wide>() + size)?;
    work::spend_each(&[x.len(), if to == Dtype::String { TEXT_WORK } else { 1 }])?;
    let values = wide_values(x)?;
    let as_f64 = |value: &Wide| match value {
        Wide::Float(value) => *value,
        Wide::Int(value) => *value as f64,
    };
    if let Some(format) = minifloat::format(to) {
        let codes: Vec<u8> =
            values.iter().map(|value| format.encode(as_f64(value), policy.overflow)).collect();
        return Ok(AnyTensor::from_codes(to, x.shape(), &codes)?);
    }
    if to == Dtype::Float8E8M0 {
        let encode = |value| minifloat::encode_power(as_f64(value), policy.power, policy.overflow);
        let codes: Vec<u8> = values.iter().map(encode).collect();
        return Ok(AnyTensor::from_codes(to, x.shape(), &codes)?);
    }
    if is_small_int(to) {
        let codes: Vec<u8> =
            values.iter().map(|value| minifloat::encode_int(to, i64::narrow(*value))).collect();
        return Ok(AnyTensor::from_codes(to, x.shape(), &codes)?);
    }
    if to == Dtype::String {
        let texts: Vec<String> = values.iter().map(|value| text(*value, x.dtype())).collect();
        return Ok(AnyTensor::from_strings(x.shape(), &texts)?);
    }
    on_elements!(to, T => build::<T>(x.shape(), |out| {
        for (out, value) in out.iter_mut().zip(&values) { *out = T::narrow(*value); }
    }))
}

fn is_plain(dtype: Dtype) -> bool {
    on_elements!(dtype, T => Ok(T::DTYPE)).is_ok()
}

/// Elements that are converted to `T`. A trait object, so that only the loop is compiled for each pair of
/// types.
trait ConvertTo<T>: Sync {
    /// Converts the elements from `start` on.
    fn convert(&self, start: usize, out: &mut [T]);
}

impl<S: Convert, T: Convert> ConvertTo<T> for &[S] {
    fn convert(&self, start: usize, out: &mut [T]) {
        for (out, from) in out.iter_mut().zip(&self[start..]) {
            *out = T::narrow(from.widen());
        }
    }
}

/// Direct conversion between native Rust types, without an intermediate list of wide numbers.
fn plain(x: &AnyTensor, to: Dtype) -> Result<AnyTensor, KernelErrorKind> {
    on_elements!(x.dtype(), S => {
        let from = x.as_slice::<S>()?;
        on_elements!(to, T => converted::<T>(x.shape(), &from))
    })
}

fn converted<T: Element>(shape: &[usize], from: &dyn ConvertTo<T>) -> Result<AnyTensor, KernelErrorKind> {
    build_over::<T>(shape, |out| {
        threads::in_parts(out, MIN_PARALLEL, &|start, out| from.convert(start, out));
    })
}

/// Formats a number with the fewest digits that round-trip in its type.
fn text(value: Wide, from: Dtype) -> String {
    match value {
        Wide::Int(value) if from == Dtype::Bool => (if value == 0 { "False" } else { "True" }).to_owned(),
        Wide::Int(value) => value.to_string(),
        Wide::Float(value) if value.is_nan() => "NaN".to_owned(),
        Wide::Float(value) if value.is_infinite() => (if value > 0.0 { "INF" } else { "-INF" }).to_owned(),
        Wide::Float(value) => match from {
            Dtype::F64 => format!("{value}"),
            Dtype::F16 => format!("{}", f16::from_f64(value)),
            _ => format!("{}", value as f32),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_is_exact_or_names_the_element() {
        let integers = AnyTensor::from([0_i64, -3, 1 << 24, 1 << 40]);
        let floats = AnyTensor::from([0.0_f32, -3.0, 16_777_216.0, 1_099_511_627_776.0]);
        assert_eq!(convert_exactly(&integers, Dtype::F32), Ok(floats.clone()));
        assert_eq!(convert_exactly(&floats, Dtype::I64), Ok(integers));
        let mask = AnyTensor::from([true, false]);
        for dtype in Dtype::ALL.into_iter().filter(|dtype| is_plain(*dtype)) {
            let stored =
                convert_exactly(&mask, dtype).and_then(|stored| convert_exactly(&stored, Dtype::Bool));
            assert_eq!(stored.as_ref(), Ok(&mask), "{dtype}");
        }
        for (lost, to, text) in [
            (AnyTensor::from([1_i64, (1 << 24) + 1]), Dtype::F32, "16777217"),
            (AnyTensor::from([i64::MAX]), Dtype::F32, "9223372036854775807"),
            (AnyTensor::from([2049_i32]), Dtype::F16, "2049"),
            (AnyTensor::from([100_000_i32]), Dtype::F16, "100000"),
            (AnyTensor::from([-1_i64]), Dtype::U8, "-1"),
            (AnyTensor::from([0.5_f32]), Dtype::Bool, "0.5"),
            (AnyTensor::from([f32::NAN]), Dtype::I64, "NaN"),
            (AnyTensor::from([f32::INFINITY]), Dtype::I64, "INF"),
            (AnyTensor::from([0.1_f64]), Dtype::F32, "0.1"),
        ] {
            let error = convert_exactly(&lost, to).unwrap_err().to_string();
            assert_eq!(error, format!("{text} has no exact form as {to}"));
        }
    }
}
