//! Elementwise operators, pooling and concatenation of 8-bit integers (`QLinear*`).
//!
//! An operand is `scale * (q - zero)`. A function of one operand is a table of 256 results. Other operators
//! compute in `f32` and round once, half to even, so a result can differ by 1 from ONNX Runtime's integer
//! arithmetic.

use num_traits::{AsPrimitive, Bounded};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use super::part;
use crate::attributes::{Attribute, Attributes};
use crate::call::{Call, Outcome, one};
use crate::element::{build_over, dispatch, to_f64s, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::memory;
use crate::ops::binary::map2;
use crate::ops::layout::permute;
use crate::ops::slice::join;
use crate::ops::{CONTRIB_DOMAIN, Operator, native, run_nested};

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 18;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    native("QLinearAdd", |call| binary(call, Binary::Add)).of(CONTRIB_DOMAIN),
    native("QLinearMul", |call| binary(call, Binary::Mul)).of(CONTRIB_DOMAIN),
    native("QLinearSigmoid", |call| unary(call, |x| 1.0 / (1.0 + (-x).exp()))).of(CONTRIB_DOMAIN),
    native("QLinearLeakyRelu", |call| {
        let alpha = call.float("alpha", 0.01)?;
        unary(call, |x| if x < 0.0 { alpha * x } else { x })
    })
    .of(CONTRIB_DOMAIN),
    native("QLinearSoftmax", softmax).of(CONTRIB_DOMAIN),
    native("QLinearAveragePool", |call| pool(call, "AveragePool")).of(CONTRIB_DOMAIN),
    native("QLinearGlobalAveragePool", global_average).of(CONTRIB_DOMAIN),
    native("QLinearConcat", concat).of(CONTRIB_DOMAIN),
    native("QLinearWhere", select).of(CONTRIB_DOMAIN),
    native("QLinearConv", conv).of(CONTRIB_DOMAIN),
    native("NhwcMaxPool", max_pool).of(CONTRIB_DOMAIN),
    native("QuantizeLinear", |call| nested(call, "QuantizeLinear")).of(CONTRIB_DOMAIN),
    native("DequantizeLinear", |call| nested(call, "DequantizeLinear")).of(CONTRIB_DOMAIN),
];

/// An 8-bit integer type.
trait Byte: Element + Bounded + AsPrimitive<i32> + AsPrimitive<f32> {
    /// The nearest number of this type.
    fn saturated(value: i32) -> Self;

    /// Position in a table of 256 entries, which starts with 0 or with -128.
    fn position(self) -> usize {
        (self.whole() - Self::min_value().whole()) as usize
    }

    /// The nearest number of this type, half to even; NaN is 0.
    fn nearest(value: f32) -> Self {
        Self::saturated(value.round_ties_even() as i32)
    }

    /// All numbers in the order of positions.
    fn all() -> impl Iterator<Item = Self> {
        (Self::min_value().whole()..=Self::max_value().whole()).map(Self::saturated)
    }

    #[inline(always)]
    fn whole(self) -> i32 {
        self.as_()
    }

    #[inline(always)]
    fn number(self) -> f32 {
        self.as_()
    }

    /// As [`Byte::nearest`], in arithmetic that vectorises: after the addition of `1.5 * 2^23`, the lowest
    /// bits of a float are those of the rounded number.
    #[inline(always)]
    fn rounded(value: f32) -> Self {
        const MAGIC: f32 = 12_582_912.0;
        let bits = (value.clamp(-512.0, 512.0) + MAGIC).to_bits();
        Self::saturated(bits.wrapping_sub(MAGIC.to_bits()).cast_signed())
    }
}

impl Byte for u8 {
    #[inline(always)]
    fn saturated(value: i32) -> Self {
        value.clamp(0, 255) as Self
    }
}

impl Byte for i8 {
    #[inline(always)]
    fn saturated(value: i32) -> Self {
        value.clamp(-128, 127) as Self
    }
}

/// Scale and zero point of a tensor.
#[derive(Clone, Copy)]
struct Scale {
    scale: f32,
    zero: f32,
}

impl Scale {
    /// The scale in this input and the zero point in the next one, which is optional.
    fn of(call: &Call<'_>, index: usize) -> Result<Self, KernelErrorKind> {
        let number = |index: usize| -> Result<Option<f32>, KernelErrorKind> {
            match call.optional(index)? {
                None => Ok(None),
                Some(tensor) => match to_f64s(tensor)?[..] {
                    [value] => Ok(Some(value as f32)),
                    _ => {
                        Err(KernelErrorKind::Unsupported(format!("input {index} with more than one element")))
                    }
                },
            }
        };
        let scale = number(index)?.ok_or(KernelErrorKind::MissingInput(index))?;
        Ok(Self { scale, zero: number(index + 1)?.unwrap_or(0.0) })
    }

    /// The real numbers for all quantised ones.
    fn table<T: Byte>(self) -> Vec<f32> {
        T::all().map(|number| self.scale * (number.number() - self.zero)).collect()
    }

    fn quantised<T: Byte>(self, value: f32) -> T {
        T::nearest((value / self.scale).round_ties_even() + self.zero)
    }

    fn dequantize(self, x: &AnyTensor) -> Result<AnyTensor, KernelErrorKind> {
        dispatch!(x.dtype(), T in [U8 u8, I8 i8] => {
            let (table, data) = (self.table::<T>(), x.as_slice::<T>()?);
            build_over::<f32>(x.shape(), |out| {
                out.iter_mut().zip(data).for_each(|(out, x)| *out = table[x.position()]);
            })
        })
    }

    fn quantize(self, x: &AnyTensor, dtype: Dtype) -> Result<AnyTensor, KernelErrorKind> {
        let data = x.as_slice::<f32>()?;
        let factor = 1.0 / self.scale;
        dispatch!(dtype, T in [U8 u8, I8 i8] => build_over::<T>(x.shape(), |out| {
            widest(#[inline(always)] || {
                for (out, x) in out.iter_mut().zip(data) {
                    *out = T::rounded(x * factor + self.zero);
                }
            });
        }))
    }
}

/// Applies a function to every element, by a table.
fn mapped(
    x: &AnyTensor,
    from: Scale,
    to: Scale,
    each: impl Fn(f32) -> f32,
) -> Result<AnyTensor, KernelErrorKind> {
    dispatch!(x.dtype(), T in [U8 u8, I8 i8] => {
        let table: Vec<T> = from.table::<T>().into_iter().map(|x| to.quantised(each(x))).collect();
        let data = x.as_slice::<T>()?;
        build_over::<T>(x.shape(), |out| {
            out.iter_mut().zip(data).for_each(|(out, x)| *out = table[x.position()]);
        })
    })
}

fn unary(call: &mut Call<'_>, each: impl Fn(f32) -> f32) -> Outcome {
    one(mapped(call.tensor(0)?, Scale::of(call, 1)?, Scale::of(call, 3)?, each)?)
}

#[derive(Clone, Copy)]
enum Binary {
    Add,
    Mul,
}

/// A function of two quantised numbers in units of the result: `x * y * product + x * left + y * right`, plus
/// a constant.
#[derive(Clone, Copy)]
struct Bilinear {
    product: f32,
    left: f32,
    right: f32,
    constant: f32,
}

impl Bilinear {
    fn of(kind: Binary, a: Scale, b: Scale, c: Scale) -> Self {
        let (left, right) = (a.scale / c.scale, b.scale / c.scale);
        match kind {
            Binary::Add => {
                let constant = c.zero - left * a.zero - right * b.zero;
                Self { product: 0.0, left, right, constant }
            }
            Binary::Mul => {
                let product = a.scale * right;
                let constant = c.zero + product * a.zero * b.zero;
                Self { product, left: -product * b.zero, right: -product * a.zero, constant }
            }
        }
    }

    #[inline(always)]
    fn apply<T: Byte>(self, x: T, y: T) -> T {
        let (x, y) = (x.number(), y.number());
        T::rounded(x * (y * self.product + self.left) + y * self.right + self.constant)
    }
}

fn binary(call: &mut Call<'_>, kind: Binary) -> Outcome {
    let (a, b) = (call.tensor(0)?, call.tensor(3)?);
    let form = Bilinear::of(kind, Scale::of(call, 1)?, Scale::of(call, 4)?, Scale::of(call, 6)?);
    one(dispatch!(a.dtype(), T in [U8 u8, I8 i8] => {
        if a.shape() != b.shape() {
            return one(map2::<T, T, T>(a, b, |x, y| form.apply(x, y))?);
        }
        let (left, right) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
        build_over::<T>(a.shape(), |out| {
            threads::in_parts(out, MIN_PARALLEL, &|at, out| {
                widest(#[inline(always)] || {
                    for (out, (x, y)) in out.iter_mut().zip(left[at..].iter().zip(&right[at..])) {
                        *out = form.apply(*x, *y);
                    }
                });
            });
        })
    })?)
}

/// The same numbers with another scale and zero point.
fn requantized(x: &AnyTensor, from: Scale, to: Scale) -> Result<AnyTensor, KernelErrorKind> {
    if (from.scale, from.zero) == (to.scale, to.zero) {
        return Ok(x.clone());
    }
    let factor = from.scale / to.scale;
    let constant = to.zero - factor * from.zero;
    dispatch!(x.dtype(), T in [U8 u8, I8 i8] => {
        let data = x.as_slice::<T>()?;
        build_over::<T>(x.shape(), |out| {
            widest(#[inline(always)] || {
                for (out, x) in out.iter_mut().zip(data) {
                    *out = T::rounded(factor * x.number() + constant);
                }
            });
        })
    })
}

/// Mean of each plane, from the sum of its integers.
fn global_average(call: &mut Call<'_>) -> Outcome {
    let is_last = call.flag("channels_last", false)?;
    let (from, to) = (Scale::of(call, 1)?, Scale::of(call, 3)?);
    let given = call.tensor(0)?;
    let x = if is_last { moved(given, true)? } else { given.clone() };
    let &[batches, channels, ..] = x.shape() else { return invalid("the input has no channels") };
    let plane = crate::shape::count(&x.shape()[2..]);
    let mut shape = vec![batches, channels];
    shape.resize(x.rank(), 1);
    let y = dispatch!(x.dtype(), T in [U8 u8, I8 i8] => {
        let data = x.as_slice::<T>()?;
        if plane == 0 {
            return invalid("the planes are empty");
        }
        build_over::<T>(&shape, |out| {
            widest(#[inline(always)] || {
                for (out, plane) in out.iter_mut().zip(data.chunks_exact(plane)) {
                    // Sums of 2^16 bytes fit in 32 bits.
                    let parts = plane.chunks(1 << 16).map(|part| part.iter().map(|x| x.whole()).sum::<i32>());
                    let sum: f64 = parts.map(f64::from).sum();
                    let mean = (sum / plane.len() as f64) as f32 - from.zero;
                    *out = to.quantised(from.scale * mean);
                }
            });
        })
    })?;
    one(if is_last { moved(&y, false)? } else { y })
}

fn nested(call: &mut Call<'_>, name: &'static str) -> Outcome {
    let inputs = std::mem::take(&mut call.inputs);
    run_nested(name, call.attributes, inputs)
}

/// Before opset 13, a row spans all axes from `axis` on.
fn softmax(call: &mut Call<'_>) -> Outcome {
    let opset = call.attributes.int("opset")?.ok_or(KernelErrorKind::MissingAttribute("opset"))?;
    let x = call.tensor(0)?;
    let axis = crate::shape::axis(call.int("axis", -1)?, x.rank())?;
    let wide = Scale::of(call, 1)?.dequantize(x)?;
    let row = Attributes::default().with("axis", Attribute::Int(-1));
    let y = if opset < 13 {
        let flat = [crate::shape::count(&x.shape()[..axis]), crate::shape::count(&x.shape()[axis..])];
        part("Softmax", &row, [Some(crate::movement::reshape(wide, &flat)?)])?
    } else {
        part("Softmax", &row.with("axis", Attribute::Int(axis as i64)), [Some(wide)])?
    };
    let y = crate::movement::reshape(y, x.shape())?;
    one(Scale::of(call, 3)?.quantize(&y, x.dtype())?)
}

/// Moves the channels from the last axis to the second one, or back.
fn moved(x: &AnyTensor, to_second: bool) -> Result<AnyTensor, KernelErrorKind> {
    if x.rank() < 3 {
        return invalid(format!("the input has rank {}, not above 2", x.rank()));
    }
    let last = x.rank() - 1;
    let order: Vec<usize> = if to_second {
        [0, last].into_iter().chain(1..last).collect()
    } else {
        std::iter::once(0).chain(2..=last).chain([1]).collect()
    };
    permute(x, &order)
}

fn pool(call: &mut Call<'_>, name: &'static str) -> Outcome {
    let is_last = call.flag("channels_last", false)?;
    let x = call.tensor(0)?;
    let mut wide = Scale::of(call, 1)?.dequantize(x)?;
    if is_last {
        wide = moved(&wide, true)?;
    }
    let mut y = part(name, call.attributes, [Some(wide)])?;
    if is_last {
        y = moved(&y, false)?;
    }
    one(Scale::of(call, 3)?.quantize(&y, x.dtype())?)
}

fn max_pool(call: &mut Call<'_>) -> Outcome {
    let x = moved(call.tensor(0)?, true)?;
    one(moved(&part("MaxPool", call.attributes, [Some(x)])?, false)?)
}

/// Requantises all inputs, which are triples of a tensor, its scale and its zero point.
fn concat(call: &mut Call<'_>) -> Outcome {
    let axis = call.attributes.int("axis")?.ok_or(KernelErrorKind::MissingAttribute("axis"))?;
    let to = Scale::of(call, 0)?;
    let mut parts = Vec::new();
    for index in (2..call.inputs.len()).step_by(3) {
        parts.push(requantized(call.tensor(index)?, Scale::of(call, index + 1)?, to)?);
    }
    if parts.is_empty() {
        return Err(KernelErrorKind::MissingInput(2));
    }
    let joined = join(&parts.iter().collect::<Vec<_>>(), axis)?;
    parts.into_iter().for_each(|part| memory::recycle(part.into()));
    one(joined)
}

fn select(call: &mut Call<'_>) -> Outcome {
    let to = Scale::of(call, 7)?;
    let x = requantized(call.tensor(1)?, Scale::of(call, 2)?, to)?;
    let y = requantized(call.tensor(4)?, Scale::of(call, 5)?, to)?;
    one(part("Where", &Attributes::default(), [Some(call.tensor(0)?.clone()), Some(x), Some(y)])?)
}

/// `QLinearConv` of the default domain, optionally with the channels in the last axis.
fn conv(call: &mut Call<'_>) -> Outcome {
    let is_last = call.flag("channels_last", false)?;
    let mut inputs: Vec<Option<AnyTensor>> = (0..call.inputs.len())
        .map(|index| call.optional(index).map(Option::<&AnyTensor>::cloned))
        .collect::<Result<_, _>>()?;
    if let (true, Some(Some(x))) = (is_last, inputs.first_mut()) {
        *x = moved(x, true)?;
    }
    let y = part("QLinearConv", call.attributes, inputs)?;
    one(if is_last { moved(&y, false)? } else { y })
}
