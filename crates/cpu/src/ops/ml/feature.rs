//! Preparation of features: scaling, replacement of missing values, selection and concatenation of columns.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::{numbers, table};
use crate::call::{Call, Outcome, integers, one};
use crate::element::{Number, build, build_over, check_size, from_slice, on_floats, on_numbers};
use crate::error::invalid;
use crate::movement::slices;
use crate::ops::unary::map_into;
use crate::ops::{ML_DOMAIN, Operator, native};
use crate::shape::count;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    native("ArrayFeatureExtractor", extract).of(ML_DOMAIN),
    native("Binarizer", binarize).of(ML_DOMAIN),
    native("FeatureVectorizer", vectorize).of(ML_DOMAIN),
    native("Imputer", impute).of(ML_DOMAIN),
    native("Normalizer", normalize).of(ML_DOMAIN),
    native("Scaler", scale).of(ML_DOMAIN),
];

/// Selects elements of the last axis. A vector is one row.
fn extract(call: &mut Call<'_>) -> Outcome {
    let (x, indices) = (call.tensor(0)?, call.tensor(1)?);
    let Some(extent) = x.shape().last().copied() else { return invalid("the input has rank 0") };
    let mut chosen = Vec::with_capacity(indices.len());
    for index in integers(indices)? {
        match usize::try_from(index) {
            Ok(index) if index < extent => chosen.push(index),
            Ok(_) | Err(_) => return invalid(format!("index {index} is outside extent {extent}")),
        }
    }
    let outer = &x.shape()[..x.rank() - 1];
    let mut shape = if outer.is_empty() { vec![1] } else { outer.to_vec() };
    shape.push(chosen.len());
    one(slices(x, (count(outer), extent, 1), &chosen, &shape)?)
}

fn binarize(call: &mut Call<'_>) -> Outcome {
    let threshold = f64::from(call.float("threshold", 0.0)?);
    let x = call.take(0)?;
    one(on_numbers!(x.dtype(), T => map_into(x, |x: T| {
        if Number::to_f64(x) > threshold { T::ONE } else { T::ZERO }
    }))?)
}

/// Concatenates the columns of all inputs. An input with other than the stated number of columns is cut or
/// padded with zeros.
fn vectorize(call: &mut Call<'_>) -> Outcome {
    let inputs = call.tensors()?;
    let widths = call.attributes.ints("inputdimensions")?.unwrap_or_default();
    if inputs.is_empty() || widths.len() != inputs.len() {
        return invalid(format!(
            "there are {} and {}",
            counted(inputs.len(), "input"),
            counted(widths.len(), "width")
        ));
    }
    let parts = |x: &AnyTensor| match x.shape() {
        [] => (1, 1),
        [columns] => (1, *columns),
        [rows, columns @ ..] => (*rows, count(columns)),
    };
    let rows = parts(inputs[0]).0;
    let widths = crate::shape::extents(widths)?;
    let Some(total) = widths.iter().try_fold(0_usize, |sum, width| sum.checked_add(*width)) else {
        return invalid("the sum of the widths is too large");
    };
    check_size(&[rows, total], size_of::<f32>())?;
    let mut out = vec![0.0_f32; rows * total];
    let mut start = 0;
    for (x, width) in inputs.into_iter().zip(widths) {
        let (own_rows, columns) = parts(x);
        if own_rows != rows {
            return invalid(format!("the inputs have {rows} and {}", counted(own_rows, "row")));
        }
        let data = numbers::<f32>(x)?;
        let kept = columns.min(width);
        if kept > 0 {
            for (out, from) in out.chunks_exact_mut(total).zip(data.chunks_exact(columns)) {
                out[start..start + kept].copy_from_slice(&from[..kept]);
            }
        }
        start += width;
    }
    one(from_slice(&[rows, total], &out)?)
}

/// Replaces one value (or NaN) by the value for its column. As in ONNX Runtime, the first value is used for
/// all columns unless there is one per column.
fn impute(call: &mut Call<'_>) -> Outcome {
    let columns = match call.tensor(0)?.shape() {
        [] => return invalid("the input has rank 0"),
        [columns] | [_, columns, ..] => *columns,
    };
    let floats = call.attributes.floats("imputed_value_floats")?.unwrap_or_default();
    let ints = call.attributes.ints("imputed_value_int64s")?.unwrap_or_default();
    let x = call.tensor(0)?;
    let (replaced, values): (f64, Vec<f64>) = if matches!(x.dtype(), Dtype::F32 | Dtype::F64) {
        let replaced = call.float("replaced_value_float", 0.0)?;
        (f64::from(replaced), floats.iter().map(|value| f64::from(*value)).collect())
    } else {
        // Integers of 64 bits are not exact in `f64`, so they are looked up by index below.
        (0.0, (0..ints.len()).map(|at| at as f64).collect())
    };
    if values.is_empty() {
        return invalid("there are no imputed values of the input's type");
    }
    let period = if values.len() == columns { columns } else { 1 };
    let replaced_int = call.int("replaced_value_int64", 0)?;
    match x.dtype() {
        Dtype::I64 => {
            let value = |(at, x): (usize, &i64)| if *x == replaced_int { ints[at % period] } else { *x };
            one(from_slice(
                x.shape(),
                &x.as_slice::<i64>()?.iter().enumerate().map(value).collect::<Vec<_>>(),
            )?)
        }
        Dtype::I32 => {
            let value = |(at, x): (usize, &i32)| {
                if i64::from(*x) == replaced_int { ints[at % period] as i32 } else { *x }
            };
            one(from_slice(
                x.shape(),
                &x.as_slice::<i32>()?.iter().enumerate().map(value).collect::<Vec<_>>(),
            )?)
        }
        dtype => one(on_floats!(dtype, T => {
            let replaced = T::from_f64(replaced);
            let values: Vec<T> = values.iter().take(period).map(|value| T::from_f64(*value)).collect();
            let data = x.as_slice::<T>()?;
            let size = if period == 1 { x.len() } else { period }.max(1);
            build_over::<T>(x.shape(), |out| {
                for (out, data) in out.chunks_mut(size).zip(data.chunks(size)) {
                    for ((out, x), value) in out.iter_mut().zip(data).zip(values.iter().cycle()) {
                        let is_replaced = *x == replaced || (x.is_nan() && replaced.is_nan());
                        *out = if is_replaced { *value } else { *x };
                    }
                }
            })
        })?),
    }
}

fn greatest(row: &[f32]) -> f32 {
    row.iter().copied().fold(f32::MIN, f32::max)
}

/// Divides each row by its norm. As in ONNX Runtime, the norm `MAX` is the greatest element, not the greatest
/// magnitude, and rows of norm 0 are unchanged.
fn normalize(call: &mut Call<'_>) -> Outcome {
    let norm = call.choice(
        "norm",
        &[
            ("MAX", greatest as fn(&[f32]) -> f32),
            ("L1", |row| row.iter().map(|x| x.abs()).sum()),
            ("L2", |row| row.iter().map(|x| x * x).sum::<f32>().sqrt()),
        ],
    )?;
    let x = call.tensor(0)?;
    let (_, columns) = table(x)?;
    let data = numbers::<f32>(x)?;
    one(build::<f32>(x.shape(), |out| {
        out.copy_from_slice(&data);
        for row in out.chunks_exact_mut(columns.max(1)) {
            let norm = norm(row);
            if norm != 0.0 {
                row.iter_mut().for_each(|x| *x /= norm);
            }
        }
    })?)
}

/// `(x - offset) * scale`, with one offset and scale for each column, or one for all.
fn scale(call: &mut Call<'_>) -> Outcome {
    let scales = call.attributes.floats("scale")?.unwrap_or_default();
    let offsets = call.attributes.floats("offset")?.unwrap_or_default();
    let x = call.tensor(0)?;
    let columns = match x.shape() {
        [] => return invalid("the input has rank 0"),
        [columns] | [_, columns, ..] => *columns,
    };
    if scales.len() != offsets.len() || (scales.len() != columns && scales.len() != 1) {
        return invalid(format!(
            "{} and {} for {}",
            counted(scales.len(), "scale"),
            counted(offsets.len(), "offset"),
            counted(columns, "column")
        ));
    }
    let period = scales.len().max(1);
    if x.dtype() == Dtype::F64 {
        let data = x.as_slice::<f64>()?;
        let scaled = data
            .iter()
            .enumerate()
            .map(|(at, x)| ((x - f64::from(offsets[at % period])) * f64::from(scales[at % period])) as f32);
        return one(from_slice(x.shape(), &scaled.collect::<Vec<_>>())?);
    }
    let mut data = numbers::<f32>(x)?;
    for row in data.chunks_mut(period) {
        for (x, (offset, scale)) in row.iter_mut().zip(offsets.iter().zip(scales)) {
            *x = (*x - offset) * scale;
        }
    }
    one(from_slice(x.shape(), &data)?)
}
