//! Attention with a cache of keys and values, where several query heads share those of one head.
//!
//! The cache has a fixed number of positions; each batch uses its first ones. A query attends to the keys up
//! to its own position: in `GroupQueryAttention` optionally only to the last ones (`local_window_size`), in
//! `SparseAttention` to some blocks of them.

use typeloom_tensor::any_tensor::AnyTensor;

use super::attention::{heads, scale};
use super::heads::{Extents, Heads, Part, softmax};
use super::rotary::Rotation;
use super::{floats, owned, required};
use crate::call::{Call, Outcome};
use crate::element::build_over;
use crate::error::{KernelErrorKind, invalid};
use crate::memory;
use crate::ops::{CONTRIB_DOMAIN, Operator, widened};

pub(in crate::ops) const OPERATORS: &[Operator] = &[
    widened("GroupQueryAttention", grouped).of(CONTRIB_DOMAIN),
    widened("SparseAttention", sparse).of(CONTRIB_DOMAIN),
];

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

/// The positions of a cache after the new tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Zeros,
    /// They keep their elements: the caches before and after the call are one buffer.
    Kept,
}

/// The cache of keys or values: `past[batch]` tokens of the cache in this input, then the new tokens, then
/// the tail.
fn cache(
    call: &Call<'_>,
    index: usize,
    new: &AnyTensor,
    extents: Extents,
    past: &[usize],
    tail: Tail,
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
            let old = &old[lane * before * size..][..before * size];
            let (kept, rest) = out.split_at_mut(past[lane / key_heads] * size);
            let (fresh, rest) = rest.split_at_mut(queries * size);
            kept.copy_from_slice(&old[..kept.len()]);
            fresh.copy_from_slice(&new[lane * queries * size..][..fresh.len()]);
            rest.fill(0.0);
            if let (Tail::Kept, Some(old)) = (tail, old.get(kept.len() + fresh.len()..)) {
                let len = old.len().min(rest.len());
                rest[..len].copy_from_slice(&old[..len]);
            }
        }
    })
}

/// The queries, keys and values of new tokens: `[batch, head, token, element]`.
struct Tokens {
    q: AnyTensor,
    k: AnyTensor,
    v: AnyTensor,
    batches: usize,
    queries: usize,
    heads: usize,
    key_heads: usize,
    /// Width of a head.
    size: usize,
}

impl Tokens {
    /// Splits the first three inputs, or the first one if it has all three.
    fn read(call: &Call<'_>) -> Result<Self, KernelErrorKind> {
        let (heads, key_heads) = (heads(call, "num_heads")?, heads(call, "kv_num_heads")?);
        let &[batches, queries, width] = call.tensor(0)?.shape() else {
            return invalid("the query is not of rank 3");
        };
        let is_packed = !call.has(1);
        let size = width / if is_packed { heads + 2 * key_heads } else { heads };
        let data = required(call, 0)?;
        let tokens = (batches, queries);
        let (q, k, v) = if is_packed {
            let part = |start: usize, heads: usize| {
                Part { row: width, start: start * size, step: size, heads, size }.split(data, tokens, None)
            };
            (part(0, heads)?, part(heads, key_heads)?, part(heads + key_heads, key_heads)?)
        } else {
            let whole =
                |data: &[f32], heads: usize| Part::whole(heads * size, heads).split(data, tokens, None);
            (
                whole(data, heads)?,
                whole(required(call, 1)?, key_heads)?,
                whole(required(call, 2)?, key_heads)?,
            )
        };
        Ok(Self { q, k, v, batches, queries, heads, key_heads, size })
    }

    /// The number of cached tokens of each batch, from its numbers of tokens with the new ones. `total` is
    /// the maximum of these numbers, and `keys` the number of positions of the cache.
    fn past(&self, lengths: &[i64], total: usize, keys: usize) -> Result<Vec<usize>, KernelErrorKind> {
        if lengths.len() != self.batches {
            return invalid(format!("{} lengths for {} batches", lengths.len(), self.batches));
        }
        // The first call has no cached tokens; padding may follow its tokens.
        let is_first = self.queries == total;
        let past = lengths.iter().map(|length| {
            let length = usize::try_from(*length).unwrap_or(usize::MAX);
            let before = if is_first { Some(0) } else { length.checked_sub(self.queries) };
            match before {
                Some(before) if length <= keys => Ok(before),
                _ => invalid(format!("{length} tokens of at most {keys}")),
            }
        });
        past.collect()
    }

    /// Rotates queries and keys by the tables in two inputs, if the operator does. `position` has the
    /// position of a token of a batch.
    fn rotate(
        &mut self,
        call: &Call<'_>,
        tables: [usize; 2],
        position: impl Fn(usize, usize) -> i64,
    ) -> Result<(), KernelErrorKind> {
        if !call.flag("do_rotary", false)? {
            return Ok(());
        }
        let (cos, sin) = (required(call, tables[0])?, required(call, tables[1])?);
        let half = call.tensor(tables[0])?.shape().last().copied().unwrap_or(0);
        let is_interleaved = call.flag("rotary_interleaved", false)?;
        let rotation = Rotation { cos, sin, half, is_interleaved };
        for (tensor, heads) in [(&mut self.q, self.heads), (&mut self.k, self.key_heads)] {
            *tensor = owned(std::mem::replace(tensor, AnyTensor::from_scalar(0.0_f32)))?;
            let list = tensor.as_mut_slice::<f32>()?;
            for (at, head) in list.chunks_exact_mut(self.size.max(1)).enumerate() {
                let (batch, token) = (at / (heads * self.queries), at % self.queries);
                rotation.apply(head, position(batch, token))?;
            }
        }
        Ok(())
    }

    /// The results of all queries, see [`Heads::attend`].
    fn attend(
        &self,
        call: &Call<'_>,
        [k, v]: [&AnyTensor; 2],
        probabilities: &mut dyn FnMut(usize, usize, &mut [f32]),
    ) -> Result<AnyTensor, KernelErrorKind> {
        let (keys, scale) = (k.shape()[2], scale(call, self.size)?);
        let (q, k, v) = (self.q.as_slice()?, k.as_slice()?, v.as_slice()?);
        Heads { q, k, v, extents: self.extents(keys), space: keys, scale }.attend(probabilities)
    }

    fn extents(&self, keys: usize) -> Extents {
        let Self { batches, queries, heads, key_heads, size, .. } = *self;
        Extents { batches, heads, key_heads, queries, keys, size, width: size }
    }
}

/// The number of tokens in an input, at most.
fn total(call: &Call<'_>, index: usize) -> Result<usize, KernelErrorKind> {
    let total = call.integer(index)?.ok_or(KernelErrorKind::MissingInput(index))?;
    usize::try_from(total).or_else(|_| invalid(format!("{total} tokens in total")))
}

fn grouped(call: &mut Call<'_>) -> Outcome {
    reject(call)?;
    let mut tokens = Tokens::read(call)?;
    let Tokens { batches, queries, heads: count, .. } = tokens;
    let total = total(call, 6)?;
    let cached = call.optional(3)?.and_then(|cache| cache.shape().get(2).copied()).unwrap_or(0);
    let keys = cached.max(total);
    let lengths: Vec<i64> = call.required_integers(5)?.iter().map(|last| last.saturating_add(1)).collect();
    let past = tokens.past(&lengths, total, keys)?;
    let given = call.integers(9)?;
    if given.as_ref().is_some_and(|list| list.len() != batches * queries) {
        return invalid("there is not one position for each token");
    }
    tokens.rotate(call, [7, 8], |batch, token| match &given {
        Some(list) => list[batch * queries + token],
        None => (past[batch] + token) as i64,
    })?;
    let extents = tokens.extents(keys);
    let side = |index: usize, new: &AnyTensor| cache(call, index, new, extents, &past, Tail::Zeros);
    let (k, v) = (side(3, &tokens.k)?, side(4, &tokens.v)?);
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
    let y = tokens.attend(call, [&k, &v], &mut |batch, head, scores| {
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
    memory::recycle_tensor(tokens.q);
    Ok(vec![y.into(), k.into(), v.into()])
}

/// The blocks of keys that each block of queries attends to, in layouts that the heads use in turn. The
/// sparse rows of a layout are compressed: those of block `b` are `columns[rows[b]..rows[b + 1]]`.
struct Blocks {
    rows: Vec<i64>,
    columns: Vec<i64>,
    layouts: usize,
    /// Number of tokens of a block.
    size: usize,
}

impl Blocks {
    fn read(call: &Call<'_>, heads: usize) -> Result<Self, KernelErrorKind> {
        let size = call.attributes.int("sparse_block_size")?;
        let size = size.ok_or(KernelErrorKind::MissingAttribute("sparse_block_size"))?;
        let Some(size) = usize::try_from(size).ok().filter(|size| *size > 0) else {
            return invalid(format!("`sparse_block_size` = {size}"));
        };
        let (rows, columns) = (call.required_integers(5)?, call.required_integers(6)?);
        let blocks = match (call.tensor(5)?.shape(), call.tensor(6)?.shape()) {
            (&[layouts, starts], &[others, _])
                if layouts == others && starts > 1 && layouts > 0 && heads.is_multiple_of(layouts) =>
            {
                Self { rows, columns, layouts, size }
            }
            (rows, columns) => {
                return invalid(format!("block indices of {rows:?} and {columns:?} for {heads} heads"));
            }
        };
        for layout in 0..blocks.layouts {
            let (rows, columns) = blocks.layout(layout);
            let is_range =
                |ends: &[i64]| 0 <= ends[0] && ends[0] <= ends[1] && ends[1] <= columns.len() as i64;
            if !rows.windows(2).all(is_range) {
                return invalid(format!("the row indices {rows:?} do not ascend to {}", columns.len()));
            }
        }
        Ok(blocks)
    }

    /// The row and column indices of a layout.
    fn layout(&self, layout: usize) -> (&[i64], &[i64]) {
        let part = |list| {
            let len = <[i64]>::len(list) / self.layouts;
            &list[layout * len..][..len]
        };
        (part(&self.rows), part(&self.columns))
    }

    /// The maximum number of tokens.
    fn tokens(&self) -> usize {
        (self.rows.len() / self.layouts - 1).saturating_mul(self.size)
    }

    /// The blocks of keys that a query of a head attends to, at a position below [`Blocks::tokens`].
    fn of(&self, head: usize, position: usize) -> &[i64] {
        let (rows, columns) = self.layout(head % self.layouts);
        let block = position / self.size;
        // Validated by `read`.
        &columns[rows[block] as usize..rows[block + 1] as usize]
    }
}

/// Attention to blocks of keys. A query whose blocks have no key before it attends to all keys before it, as
/// in ONNX Runtime.
fn sparse(call: &mut Call<'_>) -> Outcome {
    let mut tokens = Tokens::read(call)?;
    let blocks = Blocks::read(call, tokens.heads)?;
    let &[_, _, keys, _] = call.tensor(3)?.shape() else { return invalid("the cache is not of rank 4") };
    let past = tokens.past(&call.required_integers(8)?, total(call, 7)?, keys)?;
    let most = past.iter().max().map_or(0, |past| past + tokens.queries);
    if most > blocks.tokens() {
        return invalid(format!("{most} tokens for layouts of {}", blocks.tokens()));
    }
    tokens.rotate(call, [9, 10], |batch, token| (past[batch] + token) as i64)?;
    let extents = tokens.extents(keys);
    let side = |index: usize, new: &AnyTensor| cache(call, index, new, extents, &past, Tail::Kept);
    let (k, v) = (side(3, &tokens.k)?, side(4, &tokens.v)?);
    let mut is_open = vec![false; keys.div_ceil(blocks.size)];
    let y = tokens.attend(call, [&k, &v], &mut |batch, head, scores| {
        for (query, row) in scores.chunks_exact_mut(keys.max(1)).enumerate() {
            let position = past[batch] + query;
            let (row, rest) = row.split_at_mut(position + 1);
            rest.fill(0.0);
            is_open.fill(false);
            for block in blocks.of(head, position) {
                if let Some(open) = usize::try_from(*block).ok().and_then(|block| is_open.get_mut(block)) {
                    *open = true;
                }
            }
            for (scores, is_open) in row.chunks_mut(blocks.size).zip(&is_open) {
                if !is_open {
                    scores.fill(f32::MIN);
                }
            }
            softmax(row, None);
        }
    })?;
    memory::recycle_tensor(tokens.q);
    Ok(vec![y.into(), k.into(), v.into()])
}
