//! Operators of ONNX Runtime for any tensors: early forms of ONNX's operators, and some that ONNX lacks.
//!
//! Exports contain operators of `com.microsoft` that later became a part of ONNX with small differences.
//! These convert their arguments if necessary, and run the operator of the default domain as a part
//! ([`part`], [`run_nested`]):
//!
//! ```text
//! com.microsoft.Range ([2], [5])            vectors of one element, no step
//!   Range (2, 5, 1)                         scalars
//! ```
//!
//! | operators | computed by |
//! |---|---|
//! | `Range`, `Pad`, `Trilu`, `GatherND`, `GridSample` | the operator of ONNX |
//! | `ConvTransposeWithDynamicPads` | `ConvTranspose` |
//! | `GatedAdd` | `Mul` and `Add` |
//! | `ExpandDims` | a reshape |
//! | `CDist`, `CropAndResize`, `Inverse`, `NGramRepeatBlock`, `UnfoldTensor`, `Unique` | this file |
//!
//! `CDist` computes squares of distances from one matrix product, `|a|^2 + |b|^2 - 2ab`. Rounding can make
//! them negative, so they are clamped at 0. `Inverse` is Gauss-Jordan elimination with partial pivoting in
//! `f64`, and requests the work of `2 * n^3` operations for each matrix. `Unique` looks elements up in a hash
//! table.
//!
//! **Invariant:** parts run as a fixed version of the default domain, independent of the version that the
//! model imports.
//!
//! Limits: `Unique`, `CropAndResize` and `NGramRepeatBlock` compute in `f32` only. The inverse of a singular
//! matrix has elements that are not finite; it is not an error.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::part;
use crate::attributes::{Attribute, Attributes};
use crate::call::{Call, Outcome, one};
use crate::element::{build, check_size, from_slice, ints, on_floats, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{Matrix, multiply};
use crate::movement::{Run, assemble, reshape};
use crate::ops::{CONTRIB_DOMAIN, Operator, native, run_nested, widened};
use crate::shape::{around, axis, count};
use crate::work;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    widened("CDist", distances).of(CONTRIB_DOMAIN),
    widened("ConvTransposeWithDynamicPads", transposed_conv).of(CONTRIB_DOMAIN),
    widened("CropAndResize", crop).of(CONTRIB_DOMAIN),
    native("ExpandDims", expand).of(CONTRIB_DOMAIN),
    widened("GatedAdd", gated_add).of(CONTRIB_DOMAIN),
    native("GatherND", |call| nested(call, "GatherND")).of(CONTRIB_DOMAIN),
    native("GridSample", |call| nested(call, "GridSample")).of(CONTRIB_DOMAIN),
    widened("Inverse", inverse).of(CONTRIB_DOMAIN),
    native("NGramRepeatBlock", block_ngrams).of(CONTRIB_DOMAIN),
    native("Pad", pad).of(CONTRIB_DOMAIN),
    native("Range", range).of(CONTRIB_DOMAIN),
    native("Trilu", |call| nested(call, "Trilu")).of(CONTRIB_DOMAIN),
    native("UnfoldTensor", unfold).of(CONTRIB_DOMAIN),
    native("Unique", unique).of(CONTRIB_DOMAIN),
];

fn nested(call: &mut Call<'_>, name: &'static str) -> Outcome {
    let inputs = std::mem::take(&mut call.inputs);
    run_nested(name, call.attributes, inputs)
}

/// Distances of all rows of two matrices, from `|a|^2 + |b|^2 - 2ab` as in ONNX Runtime.
fn distances(call: &mut Call<'_>) -> Outcome {
    let is_root = call.choice("metric", &[("sqeuclidean", false), ("euclidean", true)])?;
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (&[m, k], &[n, inner]) = (a.shape(), b.shape()) else { return invalid("the inputs are no matrices") };
    if k != inner {
        return invalid(format!("rows of {k} and of {}", counted(inner, "element")));
    }
    one(on_floats!(a.dtype(), T => {
        let (x, y) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
        let squares = |list: &[T], rows: usize| -> Vec<T> {
            (0..rows).map(|row| list[row * k..(row + 1) * k].iter().map(|x| x * x).sum()).collect()
        };
        let (of_a, of_b) = (squares(x, m), squares(y, n));
        let mut outcome = Ok(());
        let result = build::<T>(&[m, n], |out| {
            outcome = multiply(Matrix::new(x, m, k), Matrix::transposed(y, k, n), out, -2.0, None);
            for (row, a) in out.chunks_exact_mut(n.max(1)).zip(&of_a) {
                for (out, b) in row.iter_mut().zip(&of_b) {
                    let square = (*out + a + b).max(0.0);
                    *out = if is_root { square.sqrt() } else { square };
                }
            }
        })?;
        outcome.map(|()| result)
    })?)
}

/// `ConvTranspose` with the pads as an input.
fn transposed_conv(call: &mut Call<'_>) -> Outcome {
    let mut attributes = call.attributes.clone();
    if call.has(2) {
        attributes = attributes.with("pads", Attribute::Ints(call.vector(2)?));
    }
    let inputs = [Some(call.tensor(0)?.clone()), Some(call.tensor(1)?.clone()), call.optional(3)?.cloned()];
    one(part("ConvTranspose", &attributes, inputs)?)
}

/// Samples a grid of points in each region of an image. Regions are `y1, x1, y2, x2` relative to the image.
fn crop(call: &mut Call<'_>) -> Outcome {
    let is_linear = call.choice("mode", &[("bilinear", true), ("nearest", false)])?;
    let outside = call.float("extrapolation_value", 0.0)?;
    let x = call.tensor(0)?;
    let &[batches, channels, height, width] = x.shape() else { return invalid("the input is not of rank 4") };
    let regions = call.tensor(1)?;
    let batch_of = call.required_integers(2)?;
    let &[out_height, out_width] = &crate::shape::extents(&call.vector(3)?)?[..] else {
        return invalid("the size has not two elements");
    };
    if regions.shape() != [batch_of.len(), 4] {
        return invalid(format!("regions {:?} of {}", regions.shape(), counted(batch_of.len(), "image")));
    }
    let shape = [batch_of.len(), channels, out_height, out_width];
    check_size(&shape, size_of::<f32>())?;
    let (data, regions) = (x.as_slice::<f32>()?, regions.as_slice::<f32>()?);
    if height == 0 || width == 0 {
        return invalid("the image is empty");
    }
    let mut out = vec![outside; count(&shape)];
    let plane = (out_height * out_width).max(1);
    for (at, out) in out.chunks_exact_mut(plane).enumerate() {
        let (region, channel) = (at / channels, at % channels);
        let batch = crate::ops::gather::normalised_index(batch_of[region], batches)?;
        let image = &data[(batch * channels + channel) * height * width..][..height * width];
        let [y1, x1, y2, x2] = [0, 1, 2, 3].map(|at| regions[region * 4 + at]);
        // The corners of the region are the first and last points.
        let coordinate = |first: f32, last: f32, extent: usize, points: usize, index: usize| {
            let end = extent as f32 - 1.0;
            if points > 1 {
                first * end + index as f32 * (last - first) * end / (points as f32 - 1.0)
            } else {
                0.5 * (first + last) * end
            }
        };
        for row in 0..out_height {
            let y = coordinate(y1, y2, height, out_height, row);
            for column in 0..out_width {
                let x = coordinate(x1, x2, width, out_width, column);
                let is_inside =
                    (0.0..=height as f32 - 1.0).contains(&y) && (0.0..=width as f32 - 1.0).contains(&x);
                if !is_inside {
                    continue;
                }
                out[row * out_width + column] = if is_linear {
                    let (top, left) = (y.floor() as usize, x.floor() as usize);
                    let (bottom, right) = (y.ceil() as usize, x.ceil() as usize);
                    let (down, along) = (y - y.floor(), x - x.floor());
                    let at = |row: usize, column: usize| image[row * width + column];
                    let upper = at(top, left) + (at(top, right) - at(top, left)) * along;
                    let lower = at(bottom, left) + (at(bottom, right) - at(bottom, left)) * along;
                    upper + (lower - upper) * down
                } else {
                    image[y.round() as usize * width + x.round() as usize]
                };
            }
        }
    }
    one(from_slice(&shape, &out)?)
}

/// Inserts an axis of extent 1.
fn expand(call: &mut Call<'_>) -> Outcome {
    let given = call.integer(1)?.ok_or(KernelErrorKind::MissingInput(1))?;
    let x = call.take(0)?;
    let at = axis(given, x.rank() + 1)?;
    let mut shape = x.shape().to_vec();
    shape.insert(at, 1);
    one(reshape(x, &shape)?)
}

/// `x + gate * y`.
fn gated_add(call: &mut Call<'_>) -> Outcome {
    let none = Attributes::default();
    let (y, gate) = (call.take(1)?, call.take(2)?);
    let product = part("Mul", &none, [Some(y), Some(gate)])?;
    one(part("Add", &none, [Some(call.take(0)?), Some(product)])?)
}

/// Inverse matrices, by elimination with row pivots in `f64`.
fn inverse(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let [outer @ .., n, columns] = x.shape() else { return invalid("the input is no matrix") };
    if n != columns {
        return invalid(format!("a matrix of {} and {}", counted(*n, "row"), counted(*columns, "column")));
    }
    let n = *n;
    work::spend_each(&[outer, &[n, n, n, 2]].concat())?;
    let mut out = Vec::with_capacity(x.len());
    let data = to_f64s(x)?;
    for at in 0..count(outer) {
        let mut left = data[at * n * n..(at + 1) * n * n].to_vec();
        let mut right = vec![0.0; n * n];
        (0..n).for_each(|row| right[row * n + row] = 1.0);
        for step in 0..n {
            let below =
                (step..n).max_by(|a, b| left[a * n + step].abs().total_cmp(&left[b * n + step].abs()));
            let pivot = below.unwrap_or(step);
            for column in 0..n {
                left.swap(step * n + column, pivot * n + column);
                right.swap(step * n + column, pivot * n + column);
            }
            let factor = 1.0 / left[step * n + step];
            for column in 0..n {
                left[step * n + column] *= factor;
                right[step * n + column] *= factor;
            }
            for row in (0..n).filter(|row| *row != step) {
                let factor = left[row * n + step];
                for column in 0..n {
                    left[row * n + column] -= factor * left[step * n + column];
                    right[row * n + column] -= factor * right[step * n + column];
                }
            }
        }
        out.extend(right);
    }
    one(crate::element::of_f64s(x.dtype(), x.shape(), &out)?)
}

/// Sets the scores of tokens to minus infinity that would repeat a sequence of `ngram_size` tokens.
fn block_ngrams(call: &mut Call<'_>) -> Outcome {
    let size = call.attributes.int("ngram_size")?.ok_or(KernelErrorKind::MissingAttribute("ngram_size"))?;
    let Ok(size @ 1..) = usize::try_from(size) else { return invalid(format!("`ngram_size` = {size}")) };
    let ids = call.tensor(0)?.clone();
    let mut scores = call.take(1)?;
    let (&[batches, length], &[rows, words]) = (ids.shape(), scores.shape()) else {
        return invalid("tokens or scores are no matrix");
    };
    if batches != rows {
        return invalid(format!("{} and {} of scores", counted(batches, "sequence"), counted(rows, "row")));
    }
    work::spend_each(&[batches, length, size.min(length)])?;
    let ids = ids.as_slice::<i64>()?;
    let out = scores.as_mut_slice::<f32>()?;
    for batch in 0..batches {
        let tokens = &ids[batch * length..(batch + 1) * length];
        let Some(start) = (length + 1).checked_sub(size) else { continue };
        let suffix = &tokens[start.min(length)..];
        for window in tokens.windows(size) {
            if window[..size - 1] == *suffix {
                let word = usize::try_from(window[size - 1]).ok().filter(|word| *word < words);
                let Some(word) = word else {
                    return invalid(format!("token {} of {words}", window[size - 1]));
                };
                out[batch * words + word] = f32::NEG_INFINITY;
            }
        }
    }
    one(scores)
}

/// `Pad` whose pads may be one row of a matrix.
fn pad(call: &mut Call<'_>) -> Outcome {
    let pads = ints(&call.required_integers(1)?);
    let value = call.optional(2)?.map(|value| reshape(value.clone(), &[])).transpose()?;
    let inputs = [Some(call.tensor(0)?.clone()), Some(pads), value];
    one(part("Pad", call.attributes, inputs)?)
}

/// `Range` whose bounds may be vectors of one element, with a default step of 1.
fn range(call: &mut Call<'_>) -> Outcome {
    let number = |index: usize| -> Result<Option<AnyTensor>, KernelErrorKind> {
        call.optional(index)?.map(|x| reshape(x.clone(), &[])).transpose()
    };
    let start = number(0)?;
    let step = match (number(2)?, &start) {
        (None, Some(start)) => Some(crate::element::of_f64s(start.dtype(), &[], &[1.0])?),
        (step, _) => step,
    };
    one(part("Range", &Attributes::default(), [start, number(1)?, step])?)
}

/// Windows of `size` elements along an axis, as a new last axis.
fn unfold(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    let given = call.int("dim", -1)?;
    let at = axis(given, x.rank())?;
    let size = call.attributes.int("size")?.ok_or(KernelErrorKind::MissingAttribute("size"))?;
    let step = call.int("step", 1)?;
    let (outer, extent, inner) = around(x.shape(), at);
    let (Ok(size), Ok(step @ 1..)) = (usize::try_from(size), usize::try_from(step)) else {
        return invalid(format!("windows of {size} with a step of {step}"));
    };
    let Some(room) = extent.checked_sub(size) else {
        return invalid(format!("windows of {size} in {extent}"));
    };
    let windows = room / step + 1;
    let mut shape = x.shape().to_vec();
    shape[at] = windows;
    shape.push(size);
    let firsts = (0..outer).flat_map(move |block| (0..windows).map(move |at| block * extent + at * step));
    let lanes = firsts.flat_map(move |first| (0..inner).map(move |lane| first * inner + lane));
    let runs = lanes.flat_map(move |first| (0..size).map(move |element| Run::one(first + element * inner)));
    one(assemble(&[x], &shape, runs)?)
}

/// The different elements in the order of their first occurrence, the index of each element among them, and
/// their numbers.
fn unique(call: &mut Call<'_>) -> Outcome {
    let x = call.tensor(0)?;
    if x.dtype() != Dtype::F32 {
        return Err(KernelErrorKind::Dtype(x.dtype()));
    }
    let (mut found, mut counts) = (Vec::<f32>::new(), Vec::<i64>::new());
    let mut positions = std::collections::HashMap::new();
    // An entry of the table, and the results.
    check_size(&[x.len()], 64)?;
    let mut indices = Vec::with_capacity(x.len());
    for value in x.as_slice::<f32>()? {
        let next = found.len();
        // Both zeros are equal; a NaN equals nothing.
        let key = if value.is_nan() { (0, next) } else { ((value + 0.0).to_bits(), usize::MAX) };
        let at = *positions.entry(key).or_insert(next);
        if at == next {
            found.push(*value);
            counts.push(0);
        }
        counts[at] += 1;
        indices.push(at as i64);
    }
    let shape = [found.len()];
    Ok(vec![from_slice(&shape, &found)?.into(), ints(&indices).into(), ints(&counts).into()])
}
