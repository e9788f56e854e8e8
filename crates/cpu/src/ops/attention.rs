//! Attention, rotary embeddings and linear attention.
//!
//! The file computes scaled dot-product attention (Vaswani et al., *Attention is all you need*, 2017), for
//! each batch and head:
//!
//! ```text
//! scores = scale * Q * transpose(K)           [queries, keys]
//! scores = cap * tanh(scores / cap)           with a positive `softcap`
//! scores = scores + bias                      a masked key has minus infinity
//! result = softmax(scores) * V                [queries, width]
//! ```
//!
//! Several heads of queries can share a head of keys and values (grouped-query attention, Ainslie et al.,
//! 2023). `qk_matmul_output_mode` selects the scores of the fourth output: 0, 1 and 2 are those after the
//! first three lines, 3 is the softmax. An input of rank 3 is `[batch, sequence, heads * size]`. Past keys
//! and values are prepended. The mask, causality, windows and the numbers of valid keys become one bias
//! ([`bias`]).
//!
//! `RotaryEmbedding` rotates pairs of elements by angles whose sines and cosines are inputs (Su et al.,
//! *RoFormer*, 2021). [`linear`] has linear attention.
//!
//! **Invariant:** a query whose keys are all masked gives zeros, not NaN.
//!
//! The time is `batches * heads * queries * keys * (size + width)` products. Heads are independent tasks,
//! which run on several threads from [`MIN_PARALLEL`] products on. A task has a matrix of scores; a bias is
//! one tensor of `f64` for all heads.
//!
//! **Limit:** scores are not tiled as in FlashAttention, so memory is quadratic in the length of a sequence.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::activation::softmax_row;
use super::layout::{broadcast_to, permute};
use super::slice::join;
use super::{CONTRIB_DOMAIN, Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, Real, check_size, from_slice, of_f64s, on_floats, to_f64s};
use crate::error::{KernelErrorKind, invalid};
use crate::fast::product::{self, Matrix};
use crate::fast::threads;
use crate::movement::reshape;
use crate::shape::{broadcast, count};
use crate::work;

mod linear;

/// Minimum number of multiplications for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 21;

pub(super) const OPERATORS: &[Operator] = &[
    widened("Attention", attention),
    widened("RotaryEmbedding", rotary_embedding),
    native("LinearAttention", linear::linear_attention),
    native("LinearAttention", linear::linear_attention).of(CONTRIB_DOMAIN),
];

/// Validates that the number of heads divides a width.
fn heads(call: &Call<'_>, name: &'static str, width: usize) -> Result<usize, KernelErrorKind> {
    let heads = call.attributes.int(name)?.ok_or(KernelErrorKind::MissingAttribute(name))?;
    match usize::try_from(heads) {
        Ok(heads) if heads > 0 && width.is_multiple_of(heads) => Ok(heads),
        Ok(_) | Err(_) => invalid(format!("`{name}` = {heads} does not divide {width}")),
    }
}

/// A tensor with an axis of heads: `[batch, heads, sequence, size]`.
fn with_heads(call: &Call<'_>, index: usize, name: &'static str) -> Result<AnyTensor, KernelErrorKind> {
    let x = call.tensor(index)?;
    match *x.shape() {
        [_, _, _, _] => Ok(x.clone()),
        [batch, sequence, width] => {
            let heads = heads(call, name, width)?;
            let split = reshape(x.clone(), &[batch, sequence, heads, width / heads])?;
            permute(&split, &[0, 2, 1, 3])
        }
        _ => invalid(format!("input {index} has rank {}, neither 3 nor 4", x.rank())),
    }
}

/// Additive attention bias: the mask of the keys each query may attend to; `None` if it is zero everywhere.
fn bias(call: &Call<'_>, shape: [usize; 4], past: usize) -> Result<Option<AnyTensor>, KernelErrorKind> {
    let [batches, heads, queries, keys] = shape;
    let mut bias = None;
    if let Some(mask) = call.optional(3)? {
        let mut mask = if mask.dtype() == Dtype::Bool {
            let open =
                mask.as_slice::<bool>()?.iter().map(|open| if *open { 0.0 } else { f64::NEG_INFINITY });
            of_f64s(Dtype::F64, mask.shape(), &open.collect::<Vec<_>>())?
        } else {
            of_f64s(Dtype::F64, mask.shape(), &to_f64s(mask)?)?
        };
        let own = mask.shape().last().copied().unwrap_or(1);
        if own < keys && own != 1 {
            // Keys past the end of a short mask are masked out.
            let mut rest = mask.shape().to_vec();
            if let Some(last) = rest.last_mut() {
                *last = keys - own;
            }
            check_size(&rest, size_of::<f64>())?;
            let closed = of_f64s(Dtype::F64, &rest, &vec![f64::NEG_INFINITY; count(&rest)])?;
            mask = join(&[&mask, &closed], -1)?;
        }
        if broadcast(&[mask.shape(), &shape])? != shape {
            return invalid(format!("the mask {:?} does not fit scores {shape:?}", mask.shape()));
        }
        bias = Some(broadcast_to(&mask, &shape)?);
    }
    let nonpad = call.integers(6)?;
    if nonpad.as_ref().is_some_and(|nonpad| nonpad.len() != batches) {
        return invalid("the numbers of keys are not one for each batch");
    }
    let causal = call.flag("is_causal", false)?;
    let (left, right) = (call.int("left_window_size", -1)?, call.int("right_window_size", -1)?);
    if nonpad.is_none() && !causal && left < 0 && right < 0 {
        return Ok(bias);
    }
    let mut bias = match bias {
        Some(bias) => bias,
        None => AnyTensor::zeros(Dtype::F64, &shape)?,
    };
    for (row, slots) in bias.as_mut_slice::<f64>()?.chunks_exact_mut(keys.max(1)).enumerate() {
        let (batch, query) = (row / queries / heads, (row % queries) as i64);
        let nonpad = nonpad.as_ref().map(|nonpad| nonpad[batch]);
        let offset = match nonpad {
            Some(nonpad) if past == 0 => nonpad.saturating_sub(queries as i64),
            Some(_) | None => past as i64,
        };
        let position = offset.saturating_add(query);
        for (key, slot) in slots.iter_mut().enumerate() {
            let key = key as i64;
            let closed = nonpad.is_some_and(|nonpad| key >= nonpad)
                || (causal && key > position)
                || (left >= 0 && key < position.saturating_sub(left))
                || (right >= 0 && key > position.saturating_add(right));
            if closed {
                *slot = f64::NEG_INFINITY;
            }
        }
    }
    Ok(Some(bias))
}

fn attention(call: &mut Call<'_>) -> Outcome {
    let is_flat = call.tensor(0)?.rank() == 3;
    let q = with_heads(call, 0, "q_num_heads")?;
    let mut k = with_heads(call, 1, "kv_num_heads")?;
    let mut v = with_heads(call, 2, "kv_num_heads")?;
    let mut past = 0;
    if let (Some(keys), Some(values)) = (call.optional(4)?, call.optional(5)?) {
        past = keys.shape().get(2).copied().unwrap_or(0);
        k = join(&[keys, &k], 2)?;
        v = join(&[values, &v], 2)?;
    }
    let (&[batches, query_heads, queries, size], &[_, key_heads, keys, _], &[.., width]) =
        (q.shape(), k.shape(), v.shape())
    else {
        return invalid("query, key and value are not of rank 4");
    };
    let fits = k.shape() == [batches, key_heads, keys, size]
        && v.shape() == [batches, key_heads, keys, width]
        && key_heads > 0
        && query_heads.is_multiple_of(key_heads);
    if !fits {
        let (q, k, v) = (q.shape(), k.shape(), v.shape());
        return invalid(format!("query {q:?}, key {k:?} and value {v:?} do not fit"));
    }
    let shape = [batches, query_heads, queries, keys];
    check_size(&shape, size_of::<f64>())?;
    check_size(&[batches, query_heads, queries, width], size_of::<f64>())?;
    work::spend_products(q.dtype(), &[&shape[..], &[size.saturating_add(width)]].concat())?;
    work::spend_each(&[&shape[..], &[8]].concat())?;
    let scale = match call.attributes.float("scale")? {
        Some(scale) => f64::from(scale),
        None => 1.0 / (size as f64).sqrt(),
    };
    let cap = f64::from(call.float("softcap", 0.0)?);
    let mode = call.int("qk_matmul_output_mode", 0)?;
    let bias = bias(call, shape, past)?;
    let (scores, y) = on_floats!(q.dtype(), T => {
        let (query, key, value) = (q.as_slice::<T>()?, k.as_slice::<T>()?, v.as_slice::<T>()?);
        let is_shown = call.outputs > 3;
        let mut shown = vec![T::ZERO; if is_shown { count(&shape) } else { 0 }];
        let mut result = vec![T::ZERO; batches * query_heads * queries * width];
        let shared = query_heads / key_heads;
        let bias = bias.as_ref().map(AnyTensor::as_slice::<f64>).transpose()?;
        let compute = |(lane, out, mut shown): (usize, &mut [T], Option<&mut [T]>)| {
            let mut scores = vec![T::ZERO; queries * keys];
            let (batch, head) = (lane / query_heads, lane % query_heads);
            let source = batch * key_heads + head / shared;
            let query = Matrix::new(&query[lane * queries * size..][..queries * size], queries, size);
            let key = Matrix::transposed(&key[source * keys * size..][..keys * size], size, keys);
            product::multiply(query, key, &mut scores, T::from_f64(scale), None)?;
            let mut show = |wanted: i64, scores: &[T]| {
                if let Some(shown) = shown.as_mut().filter(|_| mode == wanted) {
                    shown.copy_from_slice(scores);
                }
            };
            show(0, &scores);
            if cap > 0.0 {
                let cap = T::from_f64(cap);
                scores.iter_mut().for_each(|score| *score = cap * (*score / cap).hyperbolic_tangent());
            }
            show(1, &scores);
            if let Some(bias) = bias {
                let bias = &bias[lane * queries * keys..][..queries * keys];
                scores.iter_mut().zip(bias).for_each(|(score, bias)| *score = score.plus(T::from_f64(*bias)));
            }
            show(2, &scores);
            for row in scores.chunks_exact_mut(keys.max(1)) {
                // A fully masked query yields zeros.
                if row.iter().all(|score| *score == T::LOWEST) {
                    row.fill(T::ZERO);
                } else {
                    softmax_row(row);
                }
            }
            show(3, &scores);
            let value = Matrix::new(&value[source * keys * width..][..keys * width], keys, width);
            product::multiply(Matrix::new(&scores, queries, keys), value, out, T::ONE, None)
        };
        let mut parts = shown.chunks_exact_mut((queries * keys).max(1));
        let lanes = result.chunks_exact_mut((queries * width).max(1)).enumerate();
        let tasks: Vec<_> = lanes.map(|(lane, out)| (lane, out, parts.next())).collect();
        let work = batches * query_heads * queries * keys * (size + width);
        if threads::should_split(work, MIN_PARALLEL) {
            threads::try_run_all(tasks, &compute)?;
        } else {
            tasks.into_iter().try_for_each(compute)?;
        }
        let shown = if is_shown { Some(from_slice(&shape, &shown)?) } else { None };
        Ok((shown, from_slice(&[batches, query_heads, queries, width], &result)?))
    })?;
    let y = if is_flat {
        reshape(permute(&y, &[0, 2, 1, 3])?, &[batches, queries, query_heads * width])?
    } else {
        y
    };
    let results = [Some(y), Some(k), Some(v), scores];
    Ok(results.into_iter().flatten().map(AnyTensor::into).collect())
}

fn rotary_embedding(call: &mut Call<'_>) -> Outcome {
    let interleaved = call.flag("interleaved", false)?;
    let rotated = usize::try_from(call.int("rotary_embedding_dim", 0)?).unwrap_or(0);
    let x = call.tensor(0)?;
    let is_flat = x.rank() == 3;
    // Transposed to `[batch, sequence, heads, size]`, which is the layout of a flat input.
    let (batches, sequence, heads, size) = match *x.shape() {
        [batches, heads, sequence, size] => (batches, sequence, heads, size),
        [batches, sequence, width] => {
            let heads = heads(call, "num_heads", width)?;
            (batches, sequence, heads, width / heads)
        }
        _ => return invalid(format!("the input has rank {}, neither 3 nor 4", x.rank())),
    };
    let rotated_size = if rotated == 0 { size } else { rotated };
    let half = rotated_size / 2;
    let (cos, sin) = (to_f64s(call.tensor(1)?)?, to_f64s(call.tensor(2)?)?);
    let positions = call.integers(3)?;
    if rotated_size > size || call.tensor(1)?.shape().last() != Some(&half) || cos.len() != sin.len() {
        return invalid("the last axis of the caches is not half of the rotated width");
    }
    let mut out = to_f64s(x)?;
    for batch in 0..batches {
        for step in 0..sequence {
            let row = match &positions {
                Some(positions) => {
                    let Some(position) = positions.get(batch * sequence + step) else {
                        return invalid("there are fewer positions than tokens");
                    };
                    usize::try_from(*position).unwrap_or(usize::MAX)
                }
                None => batch * sequence + step,
            };
            let caches = row.checked_mul(half).and_then(|start| {
                Some((cos.get(start..start.checked_add(half)?)?, sin.get(start..start + half)?))
            });
            let Some((cos, sin)) = caches else {
                return invalid(format!("position {row} is outside the caches"));
            };
            for head in 0..heads {
                let start = if is_flat {
                    ((batch * sequence + step) * heads + head) * size
                } else {
                    ((batch * heads + head) * sequence + step) * size
                };
                let part = &mut out[start..start + rotated_size];
                for at in 0..half {
                    let (first, second) = if interleaved { (2 * at, 2 * at + 1) } else { (at, at + half) };
                    let (a, b) = (part[first], part[second]);
                    part[first] = cos[at] * a - sin[at] * b;
                    part[second] = sin[at] * a + cos[at] * b;
                }
            }
        }
    }
    one(of_f64s(x.dtype(), x.shape(), &out)?)
}
