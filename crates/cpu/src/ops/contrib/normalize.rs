//! Layer normalisation with a residual connection or embeddings.

use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::sum_of;
use crate::call::{Call, Outcome, integers, one};
use crate::element::{check_size, from_slice};
use crate::error::{KernelErrorKind, invalid};
use crate::ops::{CONTRIB_DOMAIN, Operator, widened, widened_to};
use crate::shape::{axis, count};

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
pub(super) enum Centre {
    Mean,
    Zero,
}

/// Scale, offset and smallest variance of a normalisation.
pub(super) struct Parameters<'a> {
    pub(super) scale: &'a [f32],
    pub(super) offset: Option<&'a [f32]>,
    pub(super) epsilon: f32,
    pub(super) centre: Centre,
}

/// Normalises a row in place. Returns its centre and the inverse of its deviation.
pub(super) fn normalize_row(row: &mut [f32], parameters: &Parameters<'_>) -> (f32, f32) {
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

/// Elements of an input of `f32`; `None` if it is omitted.
pub(super) fn floats(call: &Call<'_>, index: usize) -> Result<Option<Vec<f32>>, KernelErrorKind> {
    let Some(x) = call.optional(index)? else { return Ok(None) };
    if x.dtype() == Dtype::F32 { Ok(Some(x.to_vec()?)) } else { Err(KernelErrorKind::Dtype(x.dtype())) }
}

pub(super) fn required(call: &Call<'_>, index: usize) -> Result<Vec<f32>, KernelErrorKind> {
    floats(call, index)?.ok_or(KernelErrorKind::MissingInput(index))
}

fn require_len(name: &str, list: &[f32], length: usize) -> Result<(), KernelErrorKind> {
    if list.len() == length {
        return Ok(());
    }
    invalid(format!("{name} has {} elements, not {length}", list.len()))
}

/// Division by the root mean square over the axes from `axis` on.
fn simplified(call: &mut Call<'_>) -> Outcome {
    let epsilon = call.float("epsilon", 1e-5)?;
    let x = call.tensor(0)?;
    let from = axis(call.int("axis", -1)?, x.rank())?;
    let width = count(&x.shape()[from..]);
    let scale = required(call, 1)?;
    require_len("the scale", &scale, width)?;
    let mut data = required(call, 0)?;
    let parameters = Parameters { scale: &scale, offset: None, epsilon, centre: Centre::Zero };
    let inverses: Vec<f32> =
        data.chunks_exact_mut(width.max(1)).map(|row| normalize_row(row, &parameters).1).collect();
    let mut shape = x.shape()[..from].to_vec();
    shape.resize(x.rank(), 1);
    if inverses.len() != count(&shape) {
        return invalid("the normalised axes are empty");
    }
    Ok(vec![from_slice(x.shape(), &data)?.into(), from_slice(&shape, &inverses)?.into()])
}

/// Normalises `input + skip + bias`. The skip input is repeated for each batch if it has one row less.
fn skip(call: &mut Call<'_>, centre: Centre) -> Outcome {
    let epsilon = call.float("epsilon", 1e-12)?;
    let x = call.tensor(0)?;
    let Some(width) = x.shape().last().copied() else { return invalid("the input has rank 0") };
    let (mut data, others, scale) = (required(call, 0)?, required(call, 1)?, required(call, 2)?);
    // The simplified form has no offset.
    let at = if centre == Centre::Mean { 3 } else { 2 };
    let offset = if centre == Centre::Mean { floats(call, at)? } else { None };
    let bias = floats(call, at + 1)?;
    require_len("the scale", &scale, width)?;
    for list in [&offset, &bias].into_iter().flatten() {
        require_len("offset or bias", list, width)?;
    }
    if data.is_empty() {
        return one(x.clone());
    }
    if others.is_empty() || !data.len().is_multiple_of(others.len()) || !others.len().is_multiple_of(width) {
        return invalid(format!("{} elements are added to {}", others.len(), data.len()));
    }
    for block in data.chunks_exact_mut(others.len()) {
        block.iter_mut().zip(&others).for_each(|(x, other)| *x += other);
    }
    if let Some(bias) = &bias {
        for row in data.chunks_exact_mut(width) {
            row.iter_mut().zip(bias).for_each(|(x, bias)| *x += bias);
        }
    }
    let sum = if call.outputs > 3 { Some(from_slice(x.shape(), &data)?) } else { None };
    let parameters = Parameters { scale: &scale, offset: offset.as_deref(), epsilon, centre };
    let (mut means, mut inverses) = (Vec::new(), Vec::new());
    for row in data.chunks_exact_mut(width) {
        let (mean, inverse) = normalize_row(row, &parameters);
        means.push(mean);
        inverses.push(inverse);
    }
    let y = from_slice(x.shape(), &data)?;
    let mut shape = x.shape().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = 1;
    }
    let mut results =
        vec![y.into(), from_slice(&shape, &means)?.into(), from_slice(&shape, &inverses)?.into()];
    results.extend(sum.map(Into::into));
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
            Ok(_) | Err(_) => return invalid(format!("row {row} of an embedding with {extent} rows")),
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
    require_len("the scale", &scale, width)?;
    require_len("the offset", &offset, width)?;
    let tables = [Some(call.tensor(3)?), call.optional(4)?];
    if tables.iter().flatten().any(|table| table.shape().last() != Some(&width)) {
        return invalid("the embeddings have different widths");
    }
    let mut sum = vec![0.0_f32; batches * length * width];
    add_rows(&mut sum, words, integers(ids)?.into_iter())?;
    let positions = match call.integers(8)? {
        None => (0..length as i64).cycle().take(batches * length).collect(),
        Some(list) if list.len() == length => list.iter().copied().cycle().take(batches * length).collect(),
        Some(list) if list.len() == batches * length => list,
        Some(list) => return invalid(format!("{} positions for {length} tokens", list.len())),
    };
    add_rows(&mut sum, call.tensor(3)?, positions.into_iter())?;
    if let Some(segments) = call.optional(4)? {
        match call.integers(1)? {
            Some(ids) if ids.len() == batches * length => add_rows(&mut sum, segments, ids.into_iter())?,
            Some(_) => return invalid("there is not one segment for each token"),
            None => add_rows(&mut sum, segments, std::iter::repeat_n(0, batches * length))?,
        }
    }
    let sums = from_slice(&shape, &sum)?;
    let parameters = Parameters { scale: &scale, offset: Some(&offset), epsilon, centre: Centre::Mean };
    for row in sum.chunks_exact_mut(width.max(1)) {
        normalize_row(row, &parameters);
    }
    let mask = mask_index(call, batches, length)?;
    Ok(vec![from_slice(&shape, &sum)?.into(), mask.into(), sums.into()])
}

/// The number of tokens of each batch that the mask keeps; zeros without a mask.
pub(super) fn mask_index(
    call: &Call<'_>,
    batches: usize,
    length: usize,
) -> Result<AnyTensor, KernelErrorKind> {
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
    let (mut data, scale, gate) = (required(call, 0)?, required(call, 1)?, required(call, 2)?);
    let width = x.shape().last().copied().unwrap_or(0);
    if scale.is_empty() || !width.is_multiple_of(scale.len()) || gate.len() != data.len() {
        return invalid("scale or gate do not fit the input");
    }
    let parameters = Parameters { scale: &scale, offset: None, epsilon, centre: Centre::Zero };
    for row in data.chunks_exact_mut(scale.len()) {
        normalize_row(row, &parameters);
    }
    for (x, gate) in data.iter_mut().zip(&gate) {
        let sigmoid = 1.0 / (1.0 + (-gate).exp());
        *x *= if is_silu { gate * sigmoid } else { sigmoid };
    }
    one(from_slice(x.shape(), &data)?)
}
