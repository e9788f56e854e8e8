//! Fourier transforms of any length, in O(n log n), by `rustfft`.

use std::sync::Arc;

use rustfft::num_complex::Complex64;
use rustfft::{Fft, FftDirection, FftPlannerScalar};

use super::{Operator, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, of_f64s, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::shape::{around, axis, extents};
use crate::work;

pub(super) const OPERATORS: &[Operator] = &[widened("DFT", dft), widened("STFT", stft)];

/// Units of work for each sample of a transform: about four times the logarithm of a long signal.
const WORK_PER_SAMPLE: usize = 64;

/// The transform of signals of one length, without normalisation. [`FftPlannerScalar`] computes the same
/// results on every processor.
struct Transform {
    plan: Arc<dyn Fft<f64>>,
    scratch: Vec<Complex64>,
}

impl Transform {
    /// Plans the transform of `length` samples.
    fn new(length: usize, direction: FftDirection) -> Result<Self, KernelErrorKind> {
        // A prime length takes most: about 12 numbers a sample for the transform of twice the length, which
        // replaces it, its factors and its scratch space.
        check_size(&[12, length], size_of::<Complex64>())?;
        let plan = FftPlannerScalar::new().plan_fft(length, direction);
        let scratch = vec![Complex64::ZERO; plan.get_inplace_scratch_len()];
        Ok(Self { plan, scratch })
    }

    fn apply(&mut self, signal: &mut [Complex64]) {
        self.plan.process_with_scratch(signal, &mut self.scratch);
    }
}

fn dft(call: &mut Call<'_>) -> Outcome {
    let (inverse, onesided) = (call.flag("inverse", false)?, call.flag("onesided", false)?);
    let x = call.tensor(0)?;
    let given = match call.integer(2)? {
        Some(axis) => axis,
        None => call.int("axis", if call.version < 20 { 1 } else { -2 })?,
    };
    let at = axis(given, x.rank())?;
    let parts = x.shape().last().copied().unwrap_or(0);
    if at + 1 == x.rank() || !matches!(parts, 1 | 2) {
        return invalid(format!("the shape {:?} has no axis of real and imaginary parts", x.shape()));
    }
    let (outer, extent, inner) = around(x.shape(), at);
    let lanes = inner / parts;
    // Real inverse: the second half of the spectrum is the conjugate mirror of the first.
    let to_real = inverse && onesided;
    let length = match call.integer(1)? {
        Some(length) => extents(&[length])?[0],
        None if to_real => extent.saturating_sub(1) * 2,
        None => extent,
    };
    if length == 0 {
        return invalid("the length of the signal is zero");
    }
    let kept = if onesided && !inverse { length / 2 + 1 } else { length };
    let out_parts = if to_real { 1 } else { 2 };
    let mut shape = x.shape().to_vec();
    shape[at] = kept;
    shape[x.rank() - 1] = out_parts;
    check_size(&shape, size_of::<Complex64>())?;
    let data = to_f64s(x)?;
    let mut out = vec![0.0; crate::shape::count(&shape)];
    let direction = if inverse { FftDirection::Inverse } else { FftDirection::Forward };
    let scale = if inverse { 1.0 / length as f64 } else { 1.0 };
    work::spend_each(&[outer, lanes, length, WORK_PER_SAMPLE])?;
    let mut transform = Transform::new(length, direction)?;
    for block in 0..outer {
        for lane in 0..lanes {
            let read = |n: usize| {
                if n >= extent {
                    return Complex64::ZERO;
                }
                let base = ((block * extent + n) * lanes + lane) * parts;
                Complex64::new(data[base], if parts == 2 { data[base + 1] } else { 0.0 })
            };
            let mut signal: Vec<Complex64> = (0..length)
                .map(|n| if to_real && n > length / 2 { read(length - n).conj() } else { read(n) })
                .collect();
            transform.apply(&mut signal);
            for (k, value) in signal.iter().take(kept).enumerate() {
                let base = ((block * kept + k) * lanes + lane) * out_parts;
                out[base] = value.re * scale;
                if out_parts == 2 {
                    out[base + 1] = value.im * scale;
                }
            }
        }
    }
    one(of_f64s(x.dtype(), &shape, &out)?)
}

fn stft(call: &mut Call<'_>) -> Outcome {
    let onesided = call.flag("onesided", true)?;
    let x = call.tensor(0)?;
    let Some(step) = call.integer(1)? else { return invalid("the step is missing") };
    let step = extents(&[step])?[0];
    let (batches, length, parts) = match *x.shape() {
        [batches, length, parts @ (1 | 2)] => (batches, length, parts),
        [batches, length] => (batches, length, 1),
        _ => return invalid(format!("the shape {:?} is not a batch of signals", x.shape())),
    };
    let window = call.optional(2)?.map(to_f64s).transpose()?;
    let frame = match (call.integer(3)?, &window) {
        (Some(frame), _) => extents(&[frame])?[0],
        (None, Some(window)) => window.len(),
        (None, None) => length,
    };
    if step == 0 || frame == 0 || frame > length || window.as_ref().is_some_and(|it| it.len() != frame) {
        return invalid(format!("frames of {frame} every {step} do not fit a signal of {length}"));
    }
    let frames = (length - frame) / step + 1;
    let kept = if onesided { frame / 2 + 1 } else { frame };
    let shape = [batches, frames, kept, 2];
    check_size(&shape, size_of::<f64>())?;
    let data = to_f64s(x)?;
    work::spend_each(&[batches, frames, frame, WORK_PER_SAMPLE])?;
    let mut out = Vec::with_capacity(crate::shape::count(&shape));
    let mut transform = Transform::new(frame, FftDirection::Forward)?;
    for batch in 0..batches {
        for at in 0..frames {
            let mut signal: Vec<Complex64> = (0..frame)
                .map(|n| {
                    let base = (batch * length + at * step + n) * parts;
                    let weight = window.as_ref().map_or(1.0, |window| window[n]);
                    let imaginary = if parts == 2 { data[base + 1] * weight } else { 0.0 };
                    Complex64::new(data[base] * weight, imaginary)
                })
                .collect();
            transform.apply(&mut signal);
            out.extend(signal.iter().take(kept).flat_map(|value| [value.re, value.im]));
        }
    }
    one(of_f64s(x.dtype(), &shape, &out)?)
}
