//! Fourier transforms.
//!
//! Uses the radix-2 Cooley-Tukey algorithm for powers of two, and the defining sum for other lengths.

use std::f64::consts::TAU;

use super::{Operator, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{check_size, of_f64s, to_f64s};
use crate::error::invalid;
use crate::shape::{around, axis, extents};

pub(super) const OPERATORS: &[Operator] = &[widened("DFT", dft), widened("STFT", stft)];

type Complex = (f64, f64);

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// Unnormalised transform of a signal. `sign` is the sign of the exponent.
fn transform(signal: &[Complex], sign: f64) -> Vec<Complex> {
    let length = signal.len();
    if !length.is_power_of_two() {
        let root = |k: usize| {
            let angle = sign * TAU * k as f64 / length as f64;
            (angle.cos(), angle.sin())
        };
        let roots: Vec<Complex> = (0..length).map(root).collect();
        let at = |k: usize| {
            signal.iter().enumerate().fold((0.0, 0.0), |sum: Complex, (n, value)| {
                let term = times(*value, roots[k * n % length]);
                (sum.0 + term.0, sum.1 + term.1)
            })
        };
        return (0..length).map(at).collect();
    }
    let mut data = signal.to_vec();
    let bits = length.trailing_zeros();
    for index in 0..length {
        let mirrored = index.reverse_bits().checked_shr(usize::BITS - bits).unwrap_or(0);
        if mirrored > index {
            data.swap(index, mirrored);
        }
    }
    let mut half = 1;
    while half < length {
        for start in (0..length).step_by(2 * half) {
            for k in 0..half {
                let angle = sign * TAU * k as f64 / (2 * half) as f64;
                let (a, b) = (data[start + k], times(data[start + k + half], (angle.cos(), angle.sin())));
                data[start + k] = (a.0 + b.0, a.1 + b.1);
                data[start + k + half] = (a.0 - b.0, a.1 - b.1);
            }
        }
        half *= 2;
    }
    data
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
    check_size(&shape, size_of::<Complex>())?;
    check_size(&[length], size_of::<Complex>())?;
    let data = to_f64s(x)?;
    let mut out = vec![0.0; crate::shape::count(&shape)];
    for block in 0..outer {
        for lane in 0..lanes {
            let read = |n: usize| {
                if n >= extent {
                    return (0.0, 0.0);
                }
                let base = ((block * extent + n) * lanes + lane) * parts;
                (data[base], if parts == 2 { data[base + 1] } else { 0.0 })
            };
            let signal: Vec<Complex> = (0..length)
                .map(|n| {
                    if to_real && n > length / 2 {
                        let (real, imaginary) = read(length - n);
                        (real, -imaginary)
                    } else {
                        read(n)
                    }
                })
                .collect();
            let scale = if inverse { 1.0 / length as f64 } else { 1.0 };
            let spectrum = transform(&signal, if inverse { 1.0 } else { -1.0 });
            for (k, value) in spectrum.iter().take(kept).enumerate() {
                let base = ((block * kept + k) * lanes + lane) * out_parts;
                out[base] = value.0 * scale;
                if out_parts == 2 {
                    out[base + 1] = value.1 * scale;
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
    let mut out = Vec::with_capacity(crate::shape::count(&shape));
    for batch in 0..batches {
        for at in 0..frames {
            let signal: Vec<Complex> = (0..frame)
                .map(|n| {
                    let base = (batch * length + at * step + n) * parts;
                    let weight = window.as_ref().map_or(1.0, |window| window[n]);
                    (data[base] * weight, if parts == 2 { data[base + 1] * weight } else { 0.0 })
                })
                .collect();
            out.extend(
                transform(&signal, -1.0).iter().take(kept).flat_map(|(real, imaginary)| [*real, *imaginary]),
            );
        }
    }
    one(of_f64s(x.dtype(), &shape, &out)?)
}
