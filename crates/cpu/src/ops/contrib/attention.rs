//! Multi-head attention: `Attention` and `MultiHeadAttention`.
//!
//! Masks are additive: a masked key has the score `mask_filter_value`. If the attention is unidirectional,
//! keys after the query have the least score.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use super::heads::{Extents, Heads, Part, extended, softmax};
use super::integer::Product;
use super::{floats, required};
use crate::call::{Call, Outcome, integers};
use crate::element::{build_over, check_size, from_slice};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{Matrix, multiply};
use crate::memory;
use crate::ops::{CONTRIB_DOMAIN, Operator, native, widened};
use crate::work;

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    widened("Attention", attention).of(CONTRIB_DOMAIN),
    widened("MultiHeadAttention", multi_head).of(CONTRIB_DOMAIN),
    native("QAttention", quantised).of(CONTRIB_DOMAIN),
];

/// A positive attribute that counts heads.
pub(super) fn heads(call: &Call<'_>, name: &'static str) -> Result<usize, KernelErrorKind> {
    let heads = call.attributes.int(name)?.ok_or(KernelErrorKind::MissingAttribute(name))?;
    match usize::try_from(heads) {
        Ok(heads @ 1..=65_536) => Ok(heads),
        Ok(_) | Err(_) => invalid(format!("`{name}` = {heads}")),
    }
}

/// The scale of the scores: given, or the inverse root of the width of a head.
pub(super) fn scale(call: &Call<'_>, size: usize) -> Result<f32, KernelErrorKind> {
    let given = call.float("scale", 0.0)?;
    Ok(if given == 0.0 { 1.0 / (size as f32).sqrt() } else { given })
}

fn unsupported<T>(what: &str) -> Result<T, KernelErrorKind> {
    Err(KernelErrorKind::Unsupported(what.to_owned()))
}

/// An additive mask: one row for each batch and query.
pub(super) struct Mask<'c> {
    values: Option<Vec<f32>>,
    /// Bias of each score, and whether it has an axis of batches and of heads.
    bias: Option<(&'c [f32], bool, bool)>,
    /// The bias of batch `b` is that at `b / beams`: ONNX Runtime uses only the first ones in a search with
    /// beams.
    pub(super) beams: usize,
}

impl<'c> Mask<'c> {
    /// Combines the mask and the bias in these inputs.
    pub(super) fn of(
        call: &'c Call<'_>,
        mask: usize,
        bias: usize,
        extents: Extents,
        past: usize,
    ) -> Result<Self, KernelErrorKind> {
        let Extents { batches, heads, queries, keys, .. } = extents;
        let filter = call.float("mask_filter_value", -10_000.0)?;
        let is_causal = call.flag("unidirectional", false)? && queries > 1;
        let given = call.optional(mask)?;
        let mut values = None;
        if given.is_some() || is_causal {
            check_size(&[batches, queries, keys], size_of::<f32>())?;
            let mut all = vec![0.0_f32; batches * queries * keys];
            if let Some(mask) = given {
                fill(&mut all, mask, extents, filter)?;
            }
            if is_causal && keys > 0 {
                for (at, row) in all.chunks_exact_mut(keys).enumerate() {
                    let first = past + at % queries + 1;
                    row.iter_mut().skip(first).for_each(|score| *score = f32::MIN);
                }
            }
            values = Some(all);
        }
        let bias = match call.optional(bias)? {
            None => None,
            Some(tensor) => {
                let &[b, n, s, t] = tensor.shape() else { return invalid("the bias is not of rank 4") };
                let fits = (b == 1 || b == batches) && (n == 1 || n == heads) && s == queries && t == keys;
                if !fits {
                    return invalid(format!("the bias {:?} does not fit {extents:?}", tensor.shape()));
                }
                Some((required(call, bias)?, b != 1, n != 1))
            }
        };
        Ok(Self { values, bias, beams: 1 })
    }

    /// Adds the mask and the bias to the scores of one head.
    fn add(&self, batch: usize, head: usize, heads: usize, scores: &mut [f32]) {
        let count = scores.len();
        let mut add = |list: &[f32], lane: usize| {
            let part = &list[lane * count..(lane + 1) * count];
            scores.iter_mut().zip(part).for_each(|(score, part)| *score += part);
        };
        if let Some(values) = &self.values {
            add(values, batch);
        }
        if let Some((bias, by_batch, by_head)) = &self.bias {
            let batch = batch / self.beams;
            let lane = match (by_batch, by_head) {
                (true, true) => batch * heads + head,
                (true, false) => batch,
                (false, true) => head,
                (false, false) => 0,
            };
            add(bias, lane);
        }
    }
}

/// Writes the filter value where a mask of integers has no flag. A mask of rank 1 has the end of the keys of
/// each batch, and then optionally their starts.
fn fill(all: &mut [f32], mask: &AnyTensor, extents: Extents, filter: f32) -> Result<(), KernelErrorKind> {
    let Extents { batches, queries, keys, .. } = extents;
    let flags = integers(mask)?;
    if keys == 0 || queries == 0 {
        return Ok(());
    }
    let shape = mask.shape();
    let is_open = |batch: usize, query: usize, key: usize| match shape.len() {
        1 => {
            let start = flags.get(batches + batch).copied().unwrap_or(0);
            (start..flags[batch]).contains(&(key as i64))
        }
        2 => flags[batch * keys + key] > 0,
        _ => flags[(batch * queries + query) * keys + key] > 0,
    };
    let fits = match *shape {
        [count] => count == batches || count == 2 * batches,
        [b, t] => b == batches && t == keys,
        [b, s, t] => b == batches && s == queries && t == keys,
        _ => false,
    };
    if !fits {
        return invalid(format!("the mask {shape:?} does not fit {extents:?}"));
    }
    for (at, row) in all.chunks_exact_mut(keys).enumerate() {
        for (key, score) in row.iter_mut().enumerate() {
            if !is_open(at / queries, at % queries, key) {
                *score = filter;
            }
        }
    }
    Ok(())
}

/// Attention with a mask; the scores before the softmax are appended to `shown`.
pub(super) fn masked(
    heads: &Heads<'_>,
    mask: &Mask<'_>,
    mut shown: Option<&mut Vec<f32>>,
) -> Result<AnyTensor, KernelErrorKind> {
    let Extents { heads: count, keys, .. } = heads.extents;
    heads.attend(&mut |batch, head, scores| {
        mask.add(batch, head, count, scores);
        if let Some(shown) = shown.as_deref_mut() {
            shown.extend_from_slice(scores);
        }
        scores.chunks_exact_mut(keys.max(1)).for_each(|row| softmax(row, None));
    })
}

/// A projection of the input to queries, keys and values, then attention.
fn attention(call: &mut Call<'_>) -> Outcome {
    let (x, weights) = (call.tensor(0)?, call.tensor(1)?);
    let (&[batches, length, width], &[rows, all]) = (x.shape(), weights.shape()) else {
        return invalid("the input is not of rank 3, or the weights are no matrix");
    };
    if rows != width {
        return invalid(format!("the weights have {} for inputs of {width}", counted(rows, "row")));
    }
    check_size(&[batches, length, all], size_of::<f32>())?;
    work::spend_products(Dtype::F32, &[batches, length, width, all])?;
    let left = Matrix::new(required(call, 0)?, batches * length, width);
    let right = Matrix::new(required(call, 1)?, width, all);
    let mut projected = build_over::<f32>(&[batches, length, all], |_| {})?;
    multiply(left, right, projected.as_mut_slice()?, 1.0, None)?;
    let inputs = Inputs { bias: floats(call, 2)?, mask: 3, past: 4, attention_bias: 5 };
    if call.has(6) || call.flag("do_rotary", false)? {
        return unsupported("a shared buffer or a rotation");
    }
    projection(call, projected, &inputs)
}

/// Inputs of an attention whose queries, keys and values are one projection.
struct Inputs<'c> {
    bias: Option<&'c [f32]>,
    mask: usize,
    past: usize,
    attention_bias: usize,
}

/// Attention from `[batch, token, element]`, where the elements are those of the queries, keys and values.
fn projection(call: &Call<'_>, projected: AnyTensor, inputs: &Inputs<'_>) -> Outcome {
    let &[batches, length, all] = projected.shape() else { return invalid("the input is not of rank 3") };
    let count = heads(call, "num_heads")?;
    let sizes = match call.attributes.ints("qkv_hidden_sizes")? {
        Some(sizes) => crate::shape::extents(sizes)?,
        None => vec![all / 3; 3],
    };
    let &[q_width, k_width, v_width] = &sizes[..] else {
        return invalid("`qkv_hidden_sizes` has not 3 elements");
    };
    let total = q_width.checked_add(k_width).and_then(|sum| sum.checked_add(v_width));
    if total != Some(all) || q_width != k_width || q_width % count != 0 || v_width % count != 0 {
        return invalid(format!("{count} heads do not fit widths {sizes:?} of {all}"));
    }
    let bias = inputs.bias;
    let data = projected.as_slice::<f32>()?;
    if bias.is_some_and(|bias| bias.len() != all) {
        return invalid(format!("the bias has not {}", counted(all, "element")));
    }
    let part = |start: usize, width: usize| {
        let part = Part { start, row: all, ..Part::whole(width, count) };
        part.split(data, (batches, length), bias.map(|bias| &bias[start..start + width]))
    };
    let (q, k, v) = (part(0, q_width)?, part(q_width, k_width)?, part(q_width + k_width, v_width)?);
    let (size, value_size) = (q_width / count, v_width / count);
    memory::recycle_tensor(projected);
    let (mut before, mut past) = (0, None);
    if let Some(tensor) = call.optional(inputs.past)? {
        let &[2, b, n, p, h] = tensor.shape() else { return invalid("the past state is not of rank 5") };
        if (b, n, h) != (batches, count, size) || size != value_size {
            return invalid(format!("the past state {:?} does not fit", tensor.shape()));
        }
        before = p;
        past = Some(required(call, inputs.past)?);
    }
    let (past_k, past_v) = past.map(|past| past.split_at(past.len() / 2)).unzip();
    let (k, v) = (extended(past_k, k)?, extended(past_v, v)?);
    let extents = Extents {
        batches,
        heads: count,
        key_heads: count,
        queries: length,
        keys: before + length,
        size,
        width: value_size,
    };
    let mask = Mask::of(call, inputs.mask, inputs.attention_bias, extents, before)?;
    let scale = scale(call, size)?;
    let all =
        Heads { q: q.as_slice()?, k: k.as_slice()?, v: v.as_slice()?, extents, space: extents.keys, scale };
    let mut results = vec![masked(&all, &mask, None)?.into()];
    if call.outputs > 1 && size == value_size {
        let shape = [2, batches, count, before + length, size];
        let (k, v) = (k.as_slice::<f32>()?, v.as_slice::<f32>()?);
        let present = build_over::<f32>(&shape, |out| {
            let (keys, values) = out.split_at_mut(k.len());
            keys.copy_from_slice(k);
            values.copy_from_slice(v);
        })?;
        results.push(present.into());
    }
    [q, k, v].into_iter().for_each(memory::recycle_tensor);
    Ok(results)
}

/// `Attention` on 8-bit integers.
fn quantised(call: &mut Call<'_>) -> Outcome {
    let product = Product {
        a: call.tensor(0)?,
        a_zero: call.optional(6)?,
        b: call.tensor(1)?,
        b_zero: call.optional(7)?,
    };
    if call.flag("do_rotary", false)? || call.flag("past_present_share_buffer", false)? {
        return unsupported("a shared buffer or a rotation");
    }
    let projected = product.scaled(call.tensor(3)?, call.tensor(4)?, None)?;
    let inputs = Inputs { bias: floats(call, 2)?, mask: 5, past: 8, attention_bias: usize::MAX };
    projection(call, projected, &inputs)
}

fn multi_head(call: &mut Call<'_>) -> Outcome {
    let count = heads(call, "num_heads")?;
    if call.has(8) || call.has(9) {
        return unsupported("a shared buffer of past keys");
    }
    let x = call.tensor(0)?;
    let bias = floats(call, 3)?;
    let data = required(call, 0)?;
    let (batches, queries, q_width) = match *x.shape() {
        [batches, queries, width] => (batches, queries, width),
        [batches, queries, heads, 3, size] if heads == count => (batches, queries, heads * size),
        _ => return invalid(format!("the query has the shape {:?}", x.shape())),
    };
    if !q_width.is_multiple_of(count) {
        return invalid(format!("{count} heads do not divide {q_width}"));
    }
    let size = q_width / count;
    let own_bias = |start: usize, width: usize| -> Result<Option<&[f32]>, KernelErrorKind> {
        let Some(bias) = bias else { return Ok(None) };
        match bias.get(start..).and_then(|rest| rest.get(..width)) {
            Some(part) => Ok(Some(part)),
            None => invalid(format!("the bias has {}", counted(bias.len(), "element"))),
        }
    };
    let tokens = (batches, queries);
    let (q, k, v) = if x.rank() == 5 {
        let part = |which: usize| {
            let part = Part { row: 3 * q_width, start: which * size, step: 3 * size, heads: count, size };
            part.split(data, tokens, own_bias(which * q_width, q_width)?)
        };
        (part(0)?, part(1)?, part(2)?)
    } else {
        let q = Part::whole(q_width, count).split(data, tokens, own_bias(0, q_width)?)?;
        let key = call.tensor(1)?;
        if let [b, tokens, heads, 2, s] = *key.shape() {
            if (b, heads, s) != (batches, count, size) {
                return invalid(format!("the key has the shape {:?}", key.shape()));
            }
            let data = required(call, 1)?;
            let part = |which: usize| {
                let part = Part { row: 2 * q_width, start: which * size, step: 2 * size, heads, size };
                part.split(data, (batches, tokens), None)
            };
            (q, part(0)?, part(1)?)
        } else {
            let side = |index: usize, start: usize| -> Result<AnyTensor, KernelErrorKind> {
                let tensor = call.tensor(index)?;
                match *tensor.shape() {
                    [b, heads, _, _] if (b, heads) == (batches, count) => Ok(tensor.clone()),
                    [b, tokens, width] if b == batches && width.is_multiple_of(count) => {
                        let bias = own_bias(start, width)?;
                        Part::whole(width, count).split(required(call, index)?, (batches, tokens), bias)
                    }
                    _ => invalid(format!("input {index} has the shape {:?}", tensor.shape())),
                }
            };
            (q, side(1, q_width)?, side(2, 2 * q_width)?)
        }
    };
    let (&[_, _, k_tokens, k_size], &[_, _, v_tokens, v_size]) = (k.shape(), v.shape()) else {
        return invalid("keys or values are not of rank 4");
    };
    let past = |index: usize, size: usize| -> Result<(Option<&[f32]>, usize), KernelErrorKind> {
        let Some(tensor) = call.optional(index)? else { return Ok((None, 0)) };
        match *tensor.shape() {
            [b, n, p, h] if (b, n, h) == (batches, count, size) => Ok((Some(required(call, index)?), p)),
            _ => invalid(format!("input {index} has the shape {:?}", tensor.shape())),
        }
    };
    let ((past_k, before), (past_v, before_v)) = (past(6, k_size)?, past(7, v_size)?);
    if before != before_v || k_tokens != v_tokens || k_size != size {
        return invalid("keys and values differ in their numbers of tokens");
    }
    let keys = before + k_tokens;
    let (k, v) = (extended(past_k, k)?, extended(past_v, v)?);
    let extents = Extents { batches, heads: count, key_heads: count, queries, keys, size, width: v_size };
    let mask = Mask::of(call, 4, 5, extents, before)?;
    let scale = scale(call, size)?;
    let all =
        Heads { q: q.as_slice()?, k: k.as_slice()?, v: v.as_slice()?, extents, space: extents.keys, scale };
    let mut shown = Vec::new();
    if call.outputs > 3 {
        check_size(&[batches, count, queries, keys], size_of::<f32>())?;
    }
    let y = masked(&all, &mask, if call.outputs > 3 { Some(&mut shown) } else { None })?;
    memory::recycle_tensor(q);
    let mut results = vec![y.into()];
    if call.outputs > 1 {
        results.extend([k.into(), v.into()]);
    } else {
        [k, v].into_iter().for_each(memory::recycle_tensor);
    }
    if call.outputs > 3 {
        results.push(from_slice(&[batches, count, queries, keys], &shown)?.into());
    }
    Ok(results)
}
