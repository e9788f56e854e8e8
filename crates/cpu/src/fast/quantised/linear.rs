//! Direct loops for quantisation between `f32` and 8-bit integers.
//!
//! Results equal those of the general path in every bit: `f32` division and multiplication round as the
//! general path's `f64` operations do after rounding to `f32`, because the operands have 24 bits.
//!
//! Plain form: `quantize_any` and `dequantize_any` in `ops::quantize`.

use pulp::bytemuck::cast_slice_mut;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::element::{build_over, dispatch, widest};
use crate::error::KernelErrorKind;
use crate::fast::product::integer::{Bytes, Signs};
use crate::fast::threads;
use crate::shape::around;

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 16;

/// Assignment of scales to elements.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// One scale.
    Whole,
    /// One scale per index of an axis.
    PerAxis(usize),
    /// Scales of blocks along an axis: the axis, and the size of a block.
    Blocked(usize, usize),
}

/// The scales of part of a tensor.
#[derive(Clone, Copy)]
enum Scales<'a> {
    Equal(f32, f32),
    /// A scale and a zero point for each element.
    Each(&'a [f32], &'a [f32]),
}

/// Calls a function with all parts of a tensor in order: the elements and their scales.
fn each_part(
    shape: &[usize],
    layout: Layout,
    (scales, zeros): (&[f32], &[f32]),
    mut visit: impl FnMut(usize, usize, Scales<'_>),
) {
    let equal = |at: usize| Scales::Equal(scales[at], zeros[at]);
    let each = |at: usize, len: usize| Scales::Each(&scales[at..at + len], &zeros[at..at + len]);
    match layout {
        Layout::Whole => visit(0, shape.iter().product(), equal(0)),
        Layout::PerAxis(axis) => {
            let (outer, extent, inner) = around(shape, axis);
            for row in 0..outer {
                if inner == 1 {
                    visit(row * extent, extent, each(0, extent));
                    continue;
                }
                for index in 0..extent {
                    visit((row * extent + index) * inner, inner, equal(index));
                }
            }
        }
        Layout::Blocked(axis, block) => {
            let (outer, extent, inner) = around(shape, axis);
            let blocks = extent.div_ceil(block);
            for row in 0..outer {
                for at in 0..blocks {
                    let (first, size) = (at * block, block.min(extent - at * block));
                    if inner == 1 {
                        visit(row * extent + first, size, equal(row * blocks + at));
                        continue;
                    }
                    for index in first..first + size {
                        let scale = (row * blocks + at) * inner;
                        visit((row * extent + index) * inner, inner, each(scale, inner));
                    }
                }
            }
        }
    }
}

/// Writes the results of a tensor part by part. One large part is split over threads.
fn fill<T: Send>(
    out: &mut [T],
    shape: &[usize],
    layout: Layout,
    parameters: (&[f32], &[f32]),
    part: &(dyn Fn(usize, Scales<'_>, &mut [T]) + Sync),
) {
    if let (Layout::Whole, [scale], [zero]) = (layout, parameters.0, parameters.1) {
        let work = |at: usize, out: &mut [T]| part(at, Scales::Equal(*scale, *zero), out);
        return threads::in_parts(out, MIN_PARALLEL, &work);
    }
    each_part(shape, layout, parameters, |at, len, scales| part(at, scales, &mut out[at..at + len]));
}

/// Quantises to 8 bits: divides by the scale, rounds half to even, adds the zero point, and saturates.
pub(crate) fn quantize(
    x: &AnyTensor,
    layout: Layout,
    parameters: (&[f32], &[f32]),
    to: Dtype,
) -> Result<AnyTensor, KernelErrorKind> {
    let data = x.as_slice::<f32>()?;
    dispatch!(to, T in [U8 u8, I8 i8] => {
        let bounds = (f32::from(T::MIN), f32::from(T::MAX));
        build_over::<T>(x.shape(), |out| {
            fill(cast_slice_mut(out), x.shape(), layout, parameters, &|at, scales, out: &mut [u8]| {
                quantize_part(&data[at..at + out.len()], scales, bounds, out);
            });
        })
    })
}

fn quantize_part(from: &[f32], scales: Scales<'_>, bounds: (f32, f32), out: &mut [u8]) {
    widest(
        #[inline(always)]
        move || match scales {
            Scales::Equal(scale, zero) => {
                let target = Target::new(zero, bounds);
                for (to, from) in out.iter_mut().zip(from) {
                    *to = target.byte(*from / scale);
                }
            }
            Scales::Each(scales, zeros) => {
                for (to, ((from, scale), zero)) in out.iter_mut().zip(from.iter().zip(scales).zip(zeros)) {
                    *to = Target::new(*zero, bounds).byte(*from / *scale);
                }
            }
        },
    );
}

/// Added to a number of at most 2^22, rounds it half to even; the low bits are then the integer.
pub(crate) const ROUNDS: f32 = 12_582_912.0;

/// Zero point and bounds of 8-bit integers.
///
/// Saturating conversions to integers are not vectorised, hence the arithmetic on bits.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    zero: i32,
    /// Bounds of the integers without the zero point.
    low: f32,
    high: f32,
}

impl Target {
    #[inline(always)]
    pub(crate) fn new(zero: f32, (low, high): (f32, f32)) -> Self {
        // In range: zero points have 8 bits.
        Self { zero: (zero + ROUNDS).to_bits().cast_signed(), low: low - zero, high: high - zero }
    }

    /// The quotient within the bounds. NaN is preserved.
    #[inline(always)]
    pub(crate) fn clamped(self, quotient: f32) -> f32 {
        let raised = if quotient < self.low { self.low } else { quotient };
        if raised > self.high { self.high } else { raised }
    }

    /// The byte of a quotient: rounded half to even, moved by the zero point, saturated. NaN becomes 0.
    #[inline(always)]
    pub(crate) fn byte(self, quotient: f32) -> u8 {
        let rounded = (self.clamped(quotient) + ROUNDS).to_bits().cast_signed();
        let integer = rounded.wrapping_add(self.zero);
        (if quotient.is_nan() { 0 } else { integer }) as u8
    }
}

/// Dequantises integers: subtracts the zero point, and multiplies by the scale.
pub(crate) fn dequantize(
    x: &AnyTensor,
    layout: Layout,
    parameters: (&[f32], &[f32]),
) -> Result<AnyTensor, KernelErrorKind> {
    if x.dtype() == Dtype::I32 {
        let data = x.as_slice::<i32>()?;
        return build_over::<f32>(x.shape(), |out| {
            fill(out, x.shape(), layout, parameters, &|at, scales, out| {
                dequantize_wide(&data[at..at + out.len()], scales, out);
            });
        });
    }
    let bytes = Bytes::of(x)?;
    build_over::<f32>(x.shape(), |out| {
        fill(out, x.shape(), layout, parameters, &|at, scales, out| {
            let data = &bytes.data[at..at + out.len()];
            match bytes.signs {
                Signs::Signed => dequantize_part(data, |byte| f32::from(byte.cast_signed()), scales, out),
                Signs::Unsigned => dequantize_part(data, f32::from, scales, out),
            }
        });
    })
}

#[inline(always)]
fn dequantize_part(from: &[u8], value: impl Fn(u8) -> f32, scales: Scales<'_>, out: &mut [f32]) {
    scaled(from, scales, out, |from, scale, zero| (value(from) - zero) * scale);
}

/// 32-bit integers have too many bits for `f32`.
fn dequantize_wide(from: &[i32], scales: Scales<'_>, out: &mut [f32]) {
    scaled(from, scales, out, |from, scale, zero| {
        ((f64::from(from) - f64::from(zero)) * f64::from(scale)) as f32
    });
}

/// Applies a function of an element, its scale and its zero point.
#[inline(always)]
fn scaled<X: Copy>(from: &[X], scales: Scales<'_>, out: &mut [f32], value: impl Fn(X, f32, f32) -> f32) {
    widest(
        #[inline(always)]
        move || match scales {
            Scales::Equal(scale, zero) => {
                for (to, from) in out.iter_mut().zip(from) {
                    *to = value(*from, scale, zero);
                }
            }
            Scales::Each(scales, zeros) => {
                for (to, ((from, scale), zero)) in out.iter_mut().zip(from.iter().zip(scales).zip(zeros)) {
                    *to = value(*from, *scale, *zero);
                }
            }
        },
    );
}

/// Smallest and largest element, and 0. NaNs are ignored.
fn extremes(x: &[f32]) -> (f32, f32) {
    // The partial results fit in 16 vectors of 256 bits, with the elements.
    const LANES: usize = 32;
    widest(
        #[inline(always)]
        || {
            let (mut low, mut high) = ([0.0_f32; LANES], [0.0_f32; LANES]);
            let (chunks, rest) = x.as_chunks::<LANES>();
            let mut take = |chunk: &[f32]| {
                for ((low, high), x) in low.iter_mut().zip(&mut high).zip(chunk) {
                    *low = if *x < *low { *x } else { *low };
                    *high = if *x > *high { *x } else { *high };
                }
            };
            chunks.iter().for_each(|chunk| take(chunk));
            take(rest);
            let smaller = |a: f32, b: &f32| if *b < a { *b } else { a };
            let larger = |a: f32, b: &f32| if *b > a { *b } else { a };
            (low.iter().fold(0.0, smaller), high.iter().fold(0.0, larger))
        },
    )
}

/// Scale and zero point that map the range of the elements, which includes 0, to `0..=255`.
fn dynamic_parameters(least: f64, most: f64) -> (f32, u8) {
    let scale = ((most - least) / 255.0) as f32;
    if scale == 0.0 {
        return (scale, 0);
    }
    let zero = (-least / f64::from(scale)).round_ties_even().clamp(0.0, 255.0);
    (scale, zero as u8)
}

/// `DynamicQuantizeLinear` of `f32`.
pub(crate) fn dynamic(x: &AnyTensor) -> Result<Vec<Datum>, KernelErrorKind> {
    let data = x.as_slice::<f32>()?;
    let (least, most) = extremes(data);
    let (scale, zero) = dynamic_parameters(f64::from(least), f64::from(most));
    // All elements are 0 or NaN if the scale is 0.
    let y = if scale == 0.0 {
        build_over::<u8>(x.shape(), |out| out.fill(0))?
    } else {
        quantize(x, Layout::Whole, (&[scale], &[f32::from(zero)]), Dtype::U8)?
    };
    Ok(vec![y.into(), AnyTensor::from_scalar(scale).into(), AnyTensor::from_scalar(zero).into()])
}
