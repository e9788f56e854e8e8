//! Resampling. Each axis is resampled separately, as weighted sums of its elements.
//!
//! Interpolation is separable: the weight of an element is the product of its weights along all axes. So each
//! axis has a list of elements and weights (taps) for each of its indices, and axes are resampled one after
//! the other ([`passes`]):
//!
//! ```text
//! Resize <mode = "linear", coordinate_transformation_mode = "half_pixel">, [10, 20] to 4 elements
//!   index              0          1          2          3
//!   coordinate     -0.25       0.25       0.75       1.25       (index + 0.5) / 2 - 0.5
//!   weight of 10       1       0.75       0.25          0       elements outside are clamped to the axis
//!   weight of 20       0       0.25       0.75          1
//!   result            10       12.5       17.5         20
//! ```
//!
//! [`Sampling::original`] has the coordinate of an index for each mode, and [`Sampling::taps`] the elements
//! around it. Cubic weights are those of Keys (*Cubic convolution interpolation for digital image
//! processing*, 1981). `antialias` widens the kernel of an axis that shrinks. Nearest neighbours outside of
//! crops are a selection of entries, which works on elements of any type.
//!
//! Taps take memory for the sum of the extents, not for their product. The passes take time linear in their
//! results times the number of taps.
//!
//! **Invariant:** integers are resampled in `f64` and rounded to nearest, ties to even. 16-bit floats are
//! resampled in `f32` and rounded once.
//!
//! Limits: [`TAPS_SIZE`] estimates the memory of taps, which a strong reduction with `antialias` exceeds. An
//! empty input cannot be enlarged.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::{Operator, native};
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, dispatch, is_half, narrow, of_f64s, on_floats, to_f64s, widen};
use crate::error::{KernelErrorKind, invalid};
use crate::memory;
use crate::movement::{Selection, select};
use crate::shape::{axes_or_all, each_index, extents};
use passes::Taps;

mod passes;

pub(super) const OPERATORS: &[Operator] = &[native("Resize", resize), native("Upsample", upsample)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// Rounding rule of nearest-neighbour mode.
#[derive(Clone, Copy)]
enum Nearest {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
    /// Behaviour before `nearest_mode` existed: floor, or ceiling when the axis is downsampled.
    Unnamed,
}

const NEAREST_MODES: [(&str, Nearest); 4] = [
    ("round_prefer_floor", Nearest::PreferFloor),
    ("round_prefer_ceil", Nearest::PreferCeil),
    ("floor", Nearest::Floor),
    ("ceil", Nearest::Ceil),
];

/// Resampling of one axis.
struct Axis {
    input: usize,
    output: usize,
    scale: f64,
    roi: (f64, f64),
}

struct Sampling<'a> {
    mode: Mode,
    coordinates: &'a str,
    nearest: Nearest,
    cubic: f64,
    antialias: bool,
    exclude_outside: bool,
    extrapolation: f64,
}

impl<'a> Sampling<'a> {
    /// Reads the other parameters. Versions without the attributes use the defaults.
    fn read(call: &Call<'_>, coordinates: &'a str, nearest: Nearest) -> Result<Self, KernelErrorKind> {
        Ok(Self {
            mode: call.choice("mode", &MODES)?,
            coordinates,
            nearest,
            cubic: f64::from(call.float("cubic_coeff_a", -0.75)?),
            antialias: call.flag("antialias", false)?,
            exclude_outside: call.flag("exclude_outside", false)?,
            extrapolation: f64::from(call.float("extrapolation_value", 0.0)?),
        })
    }

    /// Input coordinate of an output index.
    fn original(&self, axis: &Axis, index: usize) -> Result<f64, KernelErrorKind> {
        let (x, input) = (index as f64, axis.input as f64);
        // Extent implied by the scale, before truncation to an integer.
        let exact = axis.scale * input;
        Ok(match self.coordinates {
            "half_pixel" => (x + 0.5) / axis.scale - 0.5,
            "half_pixel_symmetric" => {
                let adjustment = axis.output as f64 / exact;
                input / 2.0 * (1.0 - adjustment) + (x + 0.5) / axis.scale - 0.5
            }
            "pytorch_half_pixel" if axis.output > 1 => (x + 0.5) / axis.scale - 0.5,
            "pytorch_half_pixel" => 0.0,
            "align_corners" if exact == 1.0 => 0.0,
            "align_corners" => x * (input - 1.0) / (exact - 1.0),
            "asymmetric" => x / axis.scale,
            "tf_half_pixel_for_nn" => (x + 0.5) / axis.scale,
            "tf_crop_and_resize" => {
                let (start, end) = axis.roi;
                if exact == 1.0 {
                    0.5 * (start + end) * (input - 1.0)
                } else {
                    start * (input - 1.0) + x * (end - start) * (input - 1.0) / (exact - 1.0)
                }
            }
            other => return invalid(format!("`coordinate_transformation_mode` = `{other}` is not known")),
        })
    }

    /// Input elements and weights of an output index.
    fn taps(&self, axis: &Axis, at: f64) -> Vec<(usize, f64)> {
        let last = axis.input as i64 - 1;
        if self.mode == Mode::Nearest {
            let index = match self.nearest {
                Nearest::PreferFloor => (at - 0.5).ceil(),
                Nearest::PreferCeil => (at + 0.5).floor(),
                Nearest::Ceil => at.ceil(),
                Nearest::Unnamed if axis.scale < 1.0 => at.ceil(),
                Nearest::Floor | Nearest::Unnamed => at.floor(),
            };
            return vec![(usize::try_from((index as i64).min(last)).unwrap_or(0), 1.0)];
        }
        let base = at.floor();
        let ratio = at - base;
        let stretch = if self.antialias { axis.scale.min(1.0) } else { 1.0 };
        let reach = if self.mode == Mode::Linear { 1.0 } else { 2.0 };
        let first = (-reach / stretch).floor() as i64 + 1;
        let mut taps = Vec::new();
        for step in first..=(1 - first) {
            let distance = ((step as f64 - ratio) * stretch).abs();
            let weight = match self.mode {
                Mode::Linear | Mode::Nearest => (1.0 - distance).max(0.0),
                Mode::Cubic => cubic(distance, self.cubic),
            };
            // A region can be beyond all integers.
            let index = (base as i64).saturating_add(step);
            let counts = !self.exclude_outside || (0..=last).contains(&index);
            if weight != 0.0 && counts {
                taps.push((usize::try_from(index.min(last)).unwrap_or(0), weight));
            }
        }
        if self.antialias || self.exclude_outside {
            let sum: f64 = taps.iter().map(|(_, weight)| weight).sum();
            taps.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
        taps
    }
}

/// Keys' cubic convolution kernel.
pub(super) fn cubic(x: f64, a: f64) -> f64 {
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

const MODES: [(&str, Mode); 4] = [
    ("nearest", Mode::Nearest),
    ("linear", Mode::Linear),
    ("bilinear", Mode::Linear),
    ("cubic", Mode::Cubic),
];

fn upsample(call: &mut Call<'_>) -> Outcome {
    let scales = match (call.optional(1)?, call.attributes.floats("scales")?) {
        (Some(scales), _) => to_f64s(scales)?,
        (None, Some(scales)) => scales.iter().map(|scale| f64::from(*scale)).collect(),
        (None, None) => return Err(KernelErrorKind::MissingInput(1)),
    };
    one(by_scales(call, &scales)?)
}

/// Versions without coordinate transformation modes: `Upsample`, and `Resize` 10.
fn by_scales(call: &Call<'_>, scales: &[f64]) -> Result<AnyTensor, KernelErrorKind> {
    let x = call.tensor(0)?;
    let sampling = Sampling::read(call, "asymmetric", Nearest::Unnamed)?;
    if scales.len() != x.rank() {
        return invalid(format!("{} scales for rank {}", scales.len(), x.rank()));
    }
    let axis = |(input, scale): (&usize, &f64)| Axis {
        input: *input,
        output: (*input as f64 * scale).floor() as usize,
        scale: *scale,
        roi: (0.0, 1.0),
    };
    resample(x, &x.shape().iter().zip(scales).map(axis).collect::<Vec<_>>(), &sampling)
}

fn resize(call: &mut Call<'_>) -> Outcome {
    if call.version < 11 {
        return one(by_scales(call, &to_f64s(call.tensor(1)?)?)?);
    }
    let x = call.tensor(0)?;
    let coordinates = call.text("coordinate_transformation_mode", "half_pixel")?;
    let nearest = call.choice("nearest_mode", &NEAREST_MODES)?;
    let sampling = Sampling::read(call, coordinates, nearest)?;
    let chosen = axes_or_all(call.attributes.ints("axes")?, x.rank())?;
    let scales = call.optional(2)?.filter(|scales| !scales.is_empty()).map(to_f64s).transpose()?;
    let sizes = call.integers(3)?.filter(|sizes| !sizes.is_empty());
    let mut plan: Vec<Axis> = x
        .shape()
        .iter()
        .map(|extent| Axis { input: *extent, output: *extent, scale: 1.0, roi: (0.0, 1.0) })
        .collect();
    if coordinates == "tf_crop_and_resize" {
        let roi = to_f64s(call.tensor(1)?)?;
        if roi.len() != 2 * chosen.len() {
            return invalid(format!("the region {roi:?} does not fit {}", counted(chosen.len(), "axis")));
        }
        chosen.iter().enumerate().for_each(|(at, axis)| plan[*axis].roi = (roi[at], roi[at + chosen.len()]));
    }
    match (scales, sizes) {
        (Some(scales), None) => {
            if scales.len() != chosen.len() || scales.iter().any(|scale| *scale <= 0.0 || scale.is_nan()) {
                return invalid(format!(
                    "the scales {scales:?} do not fit {}",
                    counted(chosen.len(), "axis")
                ));
            }
            for (axis, scale) in chosen.iter().zip(scales) {
                let axis = &mut plan[*axis];
                // The specification also multiplies by the extent of the crop. No implementation does,
                // including the reference.
                axis.output = (axis.input as f64 * scale).floor() as usize;
                axis.scale = scale;
            }
        }
        (None, Some(sizes)) => {
            let sizes = extents(&sizes)?;
            if sizes.len() != chosen.len() {
                return invalid(format!("the sizes {sizes:?} do not fit {}", counted(chosen.len(), "axis")));
            }
            let ratios: Vec<f64> = chosen
                .iter()
                .zip(&sizes)
                .map(|(axis, size)| *size as f64 / plan[*axis].input as f64)
                .collect();
            let smallest = ratios.iter().copied().reduce(f64::min);
            let largest = ratios.iter().copied().reduce(f64::max);
            let policies = [("stretch", None), ("not_larger", smallest), ("not_smaller", largest)];
            let common = call.choice("keep_aspect_ratio_policy", &policies)?;
            for ((axis, size), ratio) in chosen.iter().zip(&sizes).zip(ratios) {
                let axis = &mut plan[*axis];
                axis.scale = common.unwrap_or(ratio);
                axis.output =
                    common.map_or(*size, |scale| (scale * axis.input as f64 + 0.5).floor() as usize);
            }
        }
        (Some(_), Some(_)) | (None, None) => {
            return invalid("exactly one of `scales` and `sizes` must be given");
        }
    }
    one(resample(x, &plan, &sampling)?)
}

/// Approximate size of the weighted elements of an index of an axis, in units of 8 bytes.
const TAPS_SIZE: usize = 12;

fn resample(x: &AnyTensor, plan: &[Axis], sampling: &Sampling<'_>) -> Result<AnyTensor, KernelErrorKind> {
    let shape: Vec<usize> = plan.iter().map(|axis| axis.output).collect();
    check_size(&shape, size_of::<f64>())?;
    if shape.contains(&0) {
        return Ok(AnyTensor::zeros(x.dtype(), &shape)?);
    }
    if x.is_empty() {
        return invalid("an empty input cannot be enlarged");
    }
    let _taps = memory::reserve::<[usize; TAPS_SIZE]>(shape.iter().sum())?;
    // Weighted elements for each axis and output index; `None` outside the crop.
    let mut taps = Vec::with_capacity(plan.len());
    let mut outside: Vec<Vec<bool>> = Vec::with_capacity(plan.len());
    let crops = sampling.coordinates == "tf_crop_and_resize";
    for axis in plan {
        let (mut list, mut out) = (Vec::with_capacity(axis.output), Vec::with_capacity(axis.output));
        for index in 0..axis.output {
            let at = if axis.input == axis.output && axis.scale == 1.0 && !crops {
                index as f64
            } else {
                sampling.original(axis, index)?
            };
            out.push(crops && (at < 0.0 || at > axis.input as f64 - 1.0));
            list.push(sampling.taps(axis, at));
        }
        taps.push(list);
        outside.push(out);
    }
    if sampling.mode == Mode::Nearest && !crops {
        let axes = taps.iter().zip(x.shape());
        let selections: Vec<Selection> = axes
            .map(|(taps, extent)| {
                let list: Vec<usize> = taps.iter().map(|taps| taps.first().map_or(0, |tap| tap.0)).collect();
                if list.iter().copied().eq(0..*extent) { Selection::All } else { Selection::Listed(list) }
            })
            .collect();
        return select(x, &selections);
    }
    let taps = taps.into_iter().enumerate().map(|(axis, lists)| Taps { axis, lists });
    let changes = |taps: &Taps| {
        let kept = taps.lists.len() == x.shape()[taps.axis]
            && taps.lists.iter().enumerate().all(|(at, list)| list[..] == [(at, 1.0)]);
        !kept
    };
    let taps: Vec<Taps> = taps.filter(changes).collect();
    let dtype = x.dtype();
    let mut result = match dtype {
        Dtype::F32 => passes::resample::<f32>(x, taps, &shape)?,
        half if is_half(half) => passes::resample::<f32>(&widen(x.clone())?, taps, &shape)?,
        Dtype::F64 => passes::resample::<f64>(x, taps, &shape)?,
        Dtype::U8 | Dtype::I8 | Dtype::U16 | Dtype::I16 | Dtype::I32 if !crops => {
            return dispatch!(dtype, T in [U8 u8, I8 i8, U16 u16, I16 i16, I32 i32] => {
                passes::resample_whole::<T>(x, taps, &shape)
            });
        }
        _ => passes::resample::<f64>(&of_f64s(Dtype::F64, x.shape(), &to_f64s(x)?)?, taps, &shape)?,
    };
    if crops {
        let value = sampling.extrapolation;
        on_floats!(result.dtype(), T => {
            let data = result.as_mut_slice::<T>()?;
            each_index(&shape, |flat, index| {
                if index.iter().enumerate().any(|(axis, at)| outside[axis][*at]) {
                    data[flat] = value as T;
                }
            });
            Ok(())
        })?;
    }
    match dtype {
        Dtype::F32 | Dtype::F64 => Ok(result),
        half if is_half(half) => narrow(result, half),
        other => {
            let values: Vec<f64> =
                result.as_slice::<f64>()?.iter().map(|value| value.round_ties_even()).collect();
            of_f64s(other, &shape, &values)
        }
    }
}
