//! Layer normalisation with a residual connection or embeddings.
//!
//! Transformers add a residual to a value and normalise the rows of the sum (Ba, Kiros and Hinton, *Layer
//! normalization*, 2016). ONNX Runtime fuses both into one operator:
//!
//! ```text
//! SkipLayerNormalization (x, skip, scale, offset, bias)
//!   s = x + skip + bias
//!   y = (s - mean(s)) / sqrt(variance(s) + epsilon) * scale + offset
//! ```
//!
//! Simplified forms subtract no mean and have no offset (Zhang and Sennrich, *Root mean square layer
//! normalization*, 2019). `EmbedLayerNormalization` normalises sums of rows of tables, and `GatedRMSNorm`
//! multiplies the result by a function of a gate.
//!
//! All of them use one loop, [`normalized_rows`]: a closure writes a row of the result, and [`normalize_row`]
//! normalises it in place while it is in the cache. The time is linear in the elements. Tasks of [`PART`]
//! rows run on several threads from [`MIN_PARALLEL`] elements on.
//!
//! **Invariant:** the means and deviations of 16-bit floats stay `f32`; the table of operators lists the
//! outputs that are rounded back.
//!
//! **Limit:** unlike in `ops::normalize`, sums accumulate in `f32`, and `f64` is rejected.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::plural::counted;

use super::{floats, owned, required, sum_of};
use crate::call::{Call, Outcome, integers, one};
use crate::element::{build, build_over, check_size, from_slice, widest};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::threads;
use crate::math::sigmoid;
use crate::ops::{CONTRIB_DOMAIN, Operator, widened, widened_to};
use crate::shape::{axis, count};

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

/// Number of rows that one thread normalises at a time.
const PART: usize = 16;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    // In ONNX's default domain, although it is ONNX Runtime's own operator.
    widened_to("SimplifiedLayerNormalization", 1, simplified),
    widened_to("SkipLayerNormalization", 0b1001, |call| skip(call, Centre::Mean)).of(CONTRIB_DOMAIN),
    widened_to("SkipSimplifiedLayerNormalization", 0b1001, |call| skip(call, Centre::Zero))
        .of(CONTRIB_DOMAIN),
    widened("EmbedLayerNormalization", embed).of(CONTRIB_DOMAIN),
    widened("GatedRMSNorm", gated).of(CONTRIB_DOMAIN),
];

/// The number that is subtracted from a row before its deviation is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Centre {
    Mean,
    Zero,
}

/// Scale, offset and smallest variance of a normalisation.
struct Parameters<'a> {
    scale: &'a [f32],
    offset: Option<&'a [f32]>,
    epsilon: f32,
    centre: Centre,
}

/// Normalises a row in place. Returns its centre and the inverse of its deviation.
#[inline(always)]
fn normalize_row(row: &mut [f32], parameters: &Parameters<'_>) -> (f32, f32) {
    let count = row.len() as f32;
    let centre = match parameters.centre {
        Centre::Mean => sum_of(row, |x| x) / count,
        Centre::Zero => 0.0,
    };
    let variance = sum_of(row, |x| (x - centre) * (x - centre)) / count;
    let inverse = 1.0 / (variance + parameters.epsilon).sqrt();
    match parameters.offset {
        Some(offset) => {
            for ((x, scale), offset) in row.iter_mut().zip(parameters.scale).zip(offset) {
                *x = (*x - centre) * inverse * scale + offset;
            }
        }
        None => {
            for (x, scale) in row.iter_mut().zip(parameters.scale) {
                *x = (*x - centre) * inverse * scale;
            }
        }
    }
    (centre, inverse)
}

fn require_len(name: &str, list: &[f32], length: usize) -> Result<(), KernelErrorKind> {
    if list.len() == length {
        return Ok(());
    }
    invalid(format!("{name} has {}, not {length}", counted(list.len(), "element")))
}

/// Writes rows with `write`, which receives the index of the row, and normalises them. Returns the centre and
/// the inverse deviation of each row.
fn normalized_rows(
    out: &mut [f32],
    parameters: &Parameters<'_>,
    write: &(dyn Fn(usize, &mut [f32]) + Sync),
) -> (Vec<f32>, Vec<f32>) {
    let width = parameters.scale.len().max(1);
    let rows = out.len() / width;
    let mut statistics = vec![(0.0, 0.0); rows];
    let is_parallel = threads::should_split(out.len(), MIN_PARALLEL);
    let mut tasks: Vec<_> = out.chunks_exact_mut(width).zip(&mut statistics).collect();
    threads::each_chunk(&mut tasks, PART, is_parallel, 1, &|at, tasks| {
        widest(
            #[inline(always)]
            || {
                for (inner, (row, statistics)) in tasks.iter_mut().enumerate() {
                    write(at * PART + inner, row);
                    **statistics = normalize_row(row, parameters);
                }
            },
        );
    });
    statistics.into_iter().unzip()
}

/// Division by the root mean square over the axes from `axis` on.
fn simplified(call: &mut Call<'_>) -> Outcome {
    let epsilon = call.float("epsilon", 1e-5)?;
    let x = call.tensor(0)?;
    let from = axis(call.int("axis", -1)?, x.rank())?;
    let width = count(&x.shape()[from..]);
    let (data, scale) = (required(call, 0)?, required(call, 1)?);
    require_len("the scale", scale, width)?;
    let mut shape = x.shape()[..from].to_vec();
    shape.resize(x.rank(), 1);
    if width == 0 {
        return invalid("the normalised axes are empty");
    }
    let parameters = Parameters { scale, offset: None, epsilon, centre: Centre::Zero };
    let mut inverses = Vec::new();
    let y = build_over::<f32>(x.shape(), |out| {
        let copy = |row: usize, out: &mut [f32]| out.copy_from_slice(&data[row * width..(row + 1) * width]);
        inverses = normalized_rows(out, &parameters, &copy).1;
    })?;
    Ok(vec![y.into(), from_slice(&shape, &inverses)?.into()])
}

/// Normalises `input + skip + bias`. The skip input is repeated for each batch if it has one row less.
fn skip(call: &mut Call<'_>, centre: Centre) -> Outcome {
    let epsilon = call.float("epsilon", 1e-12)?;
    let x = call.tensor(0)?;
    let Some(width) = x.shape().last().copied() else { return invalid("the input has rank 0") };
    let (data, others, scale) = (required(call, 0)?, required(call, 1)?, required(call, 2)?);
    // The simplified form has no offset.
    let at = if centre == Centre::Mean { 3 } else { 2 };
    let offset = if centre == Centre::Mean { floats(call, at)? } else { None };
    let bias = floats(call, at + 1)?;
    require_len("the scale", scale, width)?;
    for list in [offset, bias].into_iter().flatten() {
        require_len("offset or bias", list, width)?;
    }
    if data.is_empty() {
        return one(x.clone());
    }
    if others.is_empty() || !data.len().is_multiple_of(others.len()) || !others.len().is_multiple_of(width) {
        return invalid(format!("{} elements are added to {}", others.len(), data.len()));
    }
    let add = |row: usize, out: &mut [f32]| {
        let start = row * width;
        let other = &others[start % others.len()..][..width];
        for ((out, x), other) in out.iter_mut().zip(&data[start..]).zip(other) {
            *out = x + other;
        }
        if let Some(bias) = bias {
            out.iter_mut().zip(bias).for_each(|(out, bias)| *out += bias);
        }
    };
    let parameters = Parameters { scale, offset, epsilon, centre };
    let mut statistics = (Vec::new(), Vec::new());
    let y = build_over::<f32>(x.shape(), |out| statistics = normalized_rows(out, &parameters, &add))?;
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = 1;
    }
    let (means, inverses) = (from_slice(&shape, &statistics.0)?, from_slice(&shape, &statistics.1)?);
    let mut results = vec![y.into(), means.into(), inverses.into()];
    if call.outputs > 3 {
        let sum = build_over::<f32>(x.shape(), |out| {
            out.chunks_exact_mut(width).enumerate().for_each(|(row, out)| add(row, out));
        })?;
        results.push(sum.into());
    }
    Ok(results)
}

/// Adds rows of a table to the rows of `sum`.
fn add_rows(
    sum: &mut [f32],
    table: &AnyTensor,
    rows: impl Iterator<Item = i64>,
) -> Result<(), KernelErrorKind> {
    let &[extent, width] = table.shape() else { return invalid("an embedding is not a matrix") };
    let data = table.as_slice::<f32>()?;
    for (sum, row) in sum.chunks_exact_mut(width.max(1)).zip(rows) {
        match usize::try_from(row) {
            Ok(row) if row < extent => {
                sum.iter_mut().zip(&data[row * width..]).for_each(|(sum, value)| *sum += value);
            }
            Ok(_) | Err(_) => {
                return invalid(format!("row {row} of an embedding with {}", counted(extent, "row")));
            }
        }
    }
    Ok(())
}

/// Normalised sum of the embeddings of words, positions and segments.
fn embed(call: &mut Call<'_>) -> Outcome {
    let epsilon = call.float("epsilon", 1e-12)?;
    let ids = call.tensor(0)?;
    let &[batches, length] = ids.shape() else { return invalid("the tokens are not a matrix") };
    let words = call.tensor(2)?;
    let &[_, width] = words.shape() else { return invalid("an embedding is not a matrix") };
    let shape = [batches, length, width];
    check_size(&shape, size_of::<f32>())?;
    let (scale, offset) = (required(call, 5)?, required(call, 6)?);
    require_len("the scale", scale, width)?;
    require_len("the offset", offset, width)?;
    let tables = [Some(call.tensor(3)?), call.optional(4)?];
    if tables.iter().flatten().any(|table| table.shape().last() != Some(&width)) {
        return invalid("the embeddings have different widths");
    }
    let mut sum = build::<f32>(&shape, |_| {})?;
    let rows = sum.as_mut_slice::<f32>()?;
    add_rows(rows, words, integers(ids)?.into_iter())?;
    let positions = match call.integers(8)? {
        None => (0..length as i64).cycle().take(batches * length).collect(),
        Some(list) if list.len() == length => list.iter().copied().cycle().take(batches * length).collect(),
        Some(list) if list.len() == batches * length => list,
        Some(list) => return invalid(format!("{} positions for {length} tokens", list.len())),
    };
    add_rows(rows, call.tensor(3)?, positions.into_iter())?;
    if let Some(segments) = call.optional(4)? {
        match call.integers(1)? {
            Some(ids) if ids.len() == batches * length => add_rows(rows, segments, ids.into_iter())?,
            Some(_) => return invalid("there is not one segment for each token"),
            None => add_rows(rows, segments, std::iter::repeat_n(0, batches * length))?,
        }
    }
    let parameters = Parameters { scale, offset: Some(offset), epsilon, centre: Centre::Mean };
    let all = sum.as_slice::<f32>()?;
    let y = build_over::<f32>(&shape, |out| {
        let copy = |row: usize, out: &mut [f32]| out.copy_from_slice(&all[row * width..(row + 1) * width]);
        normalized_rows(out, &parameters, &copy);
    })?;
    let mask = mask_index(call, batches, length)?;
    Ok(vec![y.into(), mask.into(), sum.into()])
}

/// The number of tokens of each batch that the mask keeps; zeros without a mask.
fn mask_index(call: &Call<'_>, batches: usize, length: usize) -> Result<AnyTensor, KernelErrorKind> {
    let counts: Vec<i32> = match call.integers(7)? {
        Some(mask) if mask.len() == batches * length => {
            let kept = |row: &[i64]| row.iter().filter(|flag| **flag == 1).count() as i32;
            if length == 0 { vec![0; batches] } else { mask.chunks_exact(length).map(kept).collect() }
        }
        Some(_) => return invalid("the mask is not one flag for each token"),
        None => vec![0; batches],
    };
    from_slice(&[batches], &counts)
}

/// Normalises groups of the last axis by their root mean square and multiplies them with `silu(gate)` or
/// `sigmoid(gate)`.
fn gated(call: &mut Call<'_>) -> Outcome {
    let epsilon = call.float("epsilon", 1e-5)?;
    let is_silu = call.choice("activation", &[("silu", true), ("sigmoid", false)])?;
    let x = call.tensor(0)?;
    let (scale, gate) = (required(call, 1)?, required(call, 2)?);
    let width = x.shape().last().copied().unwrap_or(0);
    if scale.is_empty() || !width.is_multiple_of(scale.len()) || gate.len() != x.len() {
        return invalid("scale or gate do not fit the input");
    }
    let parameters = Parameters { scale, offset: None, epsilon, centre: Centre::Zero };
    let mut y = owned(x.clone())?;
    let rows = y.as_mut_slice::<f32>()?;
    normalized_rows(rows, &parameters, &|_, _| {});
    for (y, gate) in rows.iter_mut().zip(gate) {
        let sigmoid = sigmoid(*gate);
        *y *= if is_silu { gate * sigmoid } else { sigmoid };
    }
    one(y)
}
