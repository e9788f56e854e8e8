//! Grouped-query attention with a cache of keys and values.
//!
//! The cache has a fixed number of positions; each batch uses its first ones. A query attends to the keys up
//! to its own position, optionally only to the last ones (`local_window_size`).

use super::attention::{heads, scale};
use super::heads::{Extents, Heads, Part, softmax};
use super::rotary::Rotation;
use super::{floats, owned, required};
use crate::call::{Call, Outcome};
use crate::element::build_over;
use crate::error::{KernelErrorKind, invalid};
use crate::memory;
use crate::ops::{CONTRIB_DOMAIN, Operator, widened};
use typeloom_types::any_tensor::AnyTensor;

pub(in crate::ops) const OPERATORS: &[Operator] =
    &[widened("GroupQueryAttention", grouped).of(CONTRIB_DOMAIN)];

/// Forms of the operator that are not implemented.
fn reject(call: &Call<'_>) -> Result<(), KernelErrorKind> {
    let is_quantised =
        call.text("k_quant_type", "NONE")? != "NONE" || call.text("v_quant_type", "NONE")? != "NONE";
    if is_quantised || (11..=15).any(|index| index >= 12 && call.has(index)) {
        return Err(KernelErrorKind::Unsupported("a quantised cache or a norm of queries".to_owned()));
    }
    if !call.flag("causal", true)?
        || call.flag("sliding_window_cache", false)?
        || call.int("qk_output", 0)? != 0
    {
        return Err(KernelErrorKind::Unsupported("this form of the mask, cache or results".to_owned()));
    }
    Ok(())
}

/// The cache of keys or values: `past[batch]` tokens of the cache in this input, then the new tokens, then
/// zeros.
fn cache(
    call: &Call<'_>,
    index: usize,
    new: &AnyTensor,
    extents: Extents,
    past: &[usize],
) -> Result<AnyTensor, KernelErrorKind> {
    let Extents { batches, key_heads, queries, keys, size, .. } = extents;
    let (old, before) = match call.optional(index)? {
        None => (&[][..], 0),
        Some(tensor) => match *tensor.shape() {
            [b, n, p, h] if (b, n, h) == (batches, key_heads, size) => (required(call, index)?, p),
            _ => return invalid(format!("the cache has the shape {:?}", tensor.shape())),
        },
    };
    if past.iter().any(|kept| *kept > before || kept + queries > keys) {
        return invalid(format!("{past:?} of {before} cached tokens and {queries} new ones"));
    }
    let new = new.as_slice::<f32>()?;
    build_over::<f32>(&[batches, key_heads, keys, size], |out| {
        for (lane, out) in out.chunks_exact_mut((keys * size).max(1)).enumerate() {
            let (kept, rest) = out.split_at_mut(past[lane / key_heads] * size);
            let (fresh, rest) = rest.split_at_mut(queries * size);
            kept.copy_from_slice(&old[lane * before * size..][..kept.len()]);
            fresh.copy_from_slice(&new[lane * queries * size..][..fresh.len()]);
            rest.fill(0.0);
        }
    })
}

fn grouped(call: &mut Call<'_>) -> Outcome {
    reject(call)?;
    let (count, key_heads) = (heads(call, "num_heads")?, heads(call, "kv_num_heads")?);
    let &[batches, queries, width] = call.tensor(0)?.shape() else {
        return invalid("the query is not of rank 3");
    };
    let is_packed = !call.has(1);
    let size = width / if is_packed { count + 2 * key_heads } else { count };
    let data = required(call, 0)?;
    let tokens = (batches, queries);
    let (mut q, mut k, v) = if is_packed {
        let part = |start: usize, heads: usize| {
            Part { row: width, start: start * size, step: size, heads, size }.split(data, tokens, None)
        };
        (part(0, count)?, part(count, key_heads)?, part(count + key_heads, key_heads)?)
    } else {
        let whole = |data: &[f32], heads: usize| Part::whole(heads * size, heads).split(data, tokens, None);
        (whole(data, count)?, whole(required(call, 1)?, key_heads)?, whole(required(call, 2)?, key_heads)?)
    };
    let lengths = call.required_integers(5)?;
    let total = call.integer(6)?.ok_or(KernelErrorKind::MissingInput(6))?;
    let Ok(total) = usize::try_from(total) else { return invalid(format!("{total} tokens in total")) };
    let cached = call.optional(3)?.and_then(|cache| cache.shape().get(2).copied()).unwrap_or(0);
    let keys = cached.max(total);
    // The first call has no cached tokens; padding may follow its tokens.
    let is_first = queries == total;
    let (mut past, mut filled) = (Vec::new(), Vec::new());
    for length in &lengths {
        let length = usize::try_from(length.saturating_add(1)).unwrap_or(usize::MAX);
        let before = if is_first { Some(0) } else { length.checked_sub(queries) };
        match before {
            Some(before) if length <= keys => past.push(before),
            _ => return invalid(format!("{length} tokens of at most {keys}")),
        }
        filled.push(length);
    }
    if lengths.len() != batches {
        return invalid(format!("{} lengths for {batches} batches", lengths.len()));
    }
    if call.flag("do_rotary", false)? {
        let (cos, sin) = (required(call, 7)?, required(call, 8)?);
        let half = call.tensor(7)?.shape().last().copied().unwrap_or(0);
        let is_interleaved = call.flag("rotary_interleaved", false)?;
        let rotation = Rotation { cos, sin, half, is_interleaved };
        let given = call.integers(9)?;
        if given.as_ref().is_some_and(|list| list.len() != batches * queries) {
            return invalid("there is not one position for each token");
        }
        for (tensor, heads) in [(&mut q, count), (&mut k, key_heads)] {
            *tensor = owned(std::mem::replace(tensor, AnyTensor::from_scalar(0.0_f32)))?;
            let list = tensor.as_mut_slice::<f32>()?;
            for (at, head) in list.chunks_exact_mut(size.max(1)).enumerate() {
                let (batch, token) = (at / (heads * queries), at % queries);
                let position = match &given {
                    Some(list) => list[batch * queries + token],
                    None => (past[batch] + token) as i64,
                };
                rotation.apply(head, position)?;
            }
        }
    }
    let extents = Extents { batches, heads: count, key_heads, queries, keys, size, width: size };
    let (k, v) = (cache(call, 3, &k, extents, &past)?, cache(call, 4, &v, extents, &past)?);
    let window = usize::try_from(call.int("local_window_size", -1)?).ok().filter(|window| *window > 0);
    let cap = call.float("softcap", 0.0)?;
    let sinks = floats(call, 11)?;
    if sinks.is_some_and(|sinks| sinks.len() != count) {
        return invalid(format!("there is not one sink for each of {count} heads"));
    }
    let smooth = (call.int("smooth_softmax", 0)? == 1).then_some(0.0);
    let bias = match call.optional(10)? {
        None => None,
        Some(tensor) => match *tensor.shape() {
            [b, n, s, t]
                if matches!(b, 1) | (b == batches) && matches!(n, 1) | (n == count) && s == queries =>
            {
                Some((required(call, 10)?, b, n, t))
            }
            _ => return invalid(format!("the bias has the shape {:?}", tensor.shape())),
        },
    };
    let scale = scale(call, size)?;
    let all = Heads { q: q.as_slice()?, k: k.as_slice()?, v: v.as_slice()?, extents, scale };
    let y = all.attend(&mut |batch, head, scores| {
        let sink = sinks.map(|sinks| sinks[head]).or(smooth);
        for (query, row) in scores.chunks_exact_mut(keys.max(1)).enumerate() {
            let end = (past[batch] + query + 1).min(keys);
            let start = window.map_or(0, |window| end.saturating_sub(window));
            row[..start].fill(0.0);
            row[end..].fill(0.0);
            if cap > 0.0 {
                row[start..end].iter_mut().for_each(|score| *score = cap * (*score / cap).tanh());
            }
            if let Some((bias, b, n, t)) = &bias {
                let lane = if *b == 1 { 0 } else { batch } * n + if *n == 1 { 0 } else { head };
                let bias = bias[(lane * queries + query) * t..].iter().take(*t).skip(start);
                row[start..end].iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
            }
            softmax(&mut row[start..end], sink);
        }
    })?;
    memory::recycle_tensor(q);
    Ok(vec![y.into(), k.into(), v.into()])
}
