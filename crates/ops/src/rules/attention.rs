//! Attention and related operators of transformers.
//!
//! The operands of attention have either an axis for the heads, `[batch, heads, sequence, size]`, or packed
//! heads, `[batch, sequence, heads * size]`. For packed operands, attributes determine the number of heads.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extent, Port, RuleCx, RuleError, RuleResult};

use super::common::{Deferred, Shared, require_at_most, require_multiple, set_extents};
use super::{Entry, rule};

mod flex;
mod linear;
mod rotary;
#[cfg(test)]
mod tests;

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Attention", &[rule("attention.ranges", ranges), rule("attention.heads", attention)]),
    Entry::of("CausalConvWithState", &[rule("causalconvwithstate.state", linear::causal_conv)]),
    Entry::of("FlexAttention", &[flex::RULE]).in_domain("ai.onnx.preview").with_control(&flex::CONTROL),
    Entry::of("LinearAttention", &[rule("linearattention.state", linear::linear_attention)]),
    Entry::of("RotaryEmbedding", &[rule("rotaryembedding.pairs", rotary::rotate)]),
    Entry::of("SwiGLU", &[rule("swiglu.shape", swiglu)]),
];

/// Gate and value have the same shape, without broadcasting. Source: SwiGLU.
fn swiglu(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.same_shape(In(0), In(1))?;
    cx.same_shape(In(0), Out(0))?;
    cx.same_shape(In(1), Out(0))
}

const QUERY: Port = In(0);
const KEY: Port = In(1);
const VALUE: Port = In(2);
const MASK: Port = In(3);
const PAST_KEY: Port = In(4);
const PAST_VALUE: Port = In(5);
const VALID_KEYS: Port = In(6);
const PRESENT_KEY: Port = Out(1);
const PRESENT_VALUE: Port = Out(2);
const SCORES: Port = Out(3);

/// Extents shared by the operands.
struct Extents {
    batch: Shared,
    query_heads: Shared,
    heads: Shared,
    queries: Shared,
    keys: Shared,
    past: Shared,
    size: Shared,
    value_size: Shared,
}

const BATCH: Shared = Shared::new("are the batch");
const QUERY_HEADS: Shared = Shared::new("are the heads of queries");
const HEADS: Shared = Shared::new("are the heads of keys and values");
const QUERIES: Shared = Shared::new("are the queries");
const KEYS: Shared = Shared::new("are the keys, which have a value each");
const PAST: Shared = Shared::new("are the past keys, which have a value each");
const SIZE: Shared = Shared::new("are the size of a head");

impl Extents {
    const UNKNOWN: Self = Self {
        batch: BATCH,
        query_heads: QUERY_HEADS,
        heads: HEADS,
        queries: QUERIES,
        keys: KEYS,
        past: PAST,
        size: SIZE,
        value_size: SIZE,
    };
}

/// Queries and keys have the same size, every key has a value, and a group of query heads shares a key head.
/// Source: Attention, "Inputs" and "Outputs", `q_num_heads`, `kv_num_heads`.
fn attention(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let rank = rank(cx)?;
    let counts = match rank {
        Some(3) => Some(head_counts(cx)?),
        Some(_) | None => None,
    };
    let mut extents = Extents::UNKNOWN;
    let mut errors = Deferred::default();
    match (rank, counts) {
        (Some(3), Some(counts)) => packed(cx, counts, &mut extents, &mut errors)?,
        (Some(_), _) => unpacked(cx, &mut extents, &mut errors),
        (None, _) => {}
    }
    past(cx, &mut extents, &mut errors)?;
    let total = total(cx, &extents);
    outputs(cx, rank, counts, &extents, total)?;
    errors.note(grouped(cx, QUERY, extents.query_heads, extents.heads));
    errors.note(mask(cx, &extents, total));
    errors.note(used_together(cx));
    errors.finish()
}

/// Past keys and past values are both present or both absent, and exclude a separate cache.
fn used_together(cx: &RuleCx<'_, '_>) -> RuleResult {
    let past = [PAST_KEY, PAST_VALUE].map(|port| cx.has(port));
    let present = [PRESENT_KEY, PRESENT_VALUE].map(|port| cx.has(port));
    if past[0] != past[1] {
        let given = if past[0] { PAST_KEY } else { PAST_VALUE };
        return Err(RuleError::shapes(&[given], "past keys and past values must be given together"));
    }
    if cx.since_version() >= 25 && present[0] != present[1] {
        let given = if present[0] { PRESENT_KEY } else { PRESENT_VALUE };
        let message = "present keys and present values must be requested together";
        return Err(RuleError::shapes(&[given], message));
    }
    if cx.has(VALID_KEYS) && (past[0] || cx.since_version() >= 25 && present[0]) {
        let message = "a cache outside of the operator excludes past and present keys";
        return Err(RuleError::shapes(&[VALID_KEYS], message));
    }
    Ok(())
}

/// The number of axes of query, key and value, 3 or 4.
fn rank(cx: &mut RuleCx<'_, '_>) -> RuleResult<Option<usize>> {
    let mut rank = None;
    for port in [QUERY, KEY, VALUE] {
        let found = cx.require_rank(port, 3..=4)?;
        if let (Some((first, known)), Some(found)) = (rank, found)
            && known != found
        {
            let message =
                format!("one operand has packed heads and the other has not: {known} axes and {found}");
            return Err(RuleError::shapes(&[first, port], message));
        }
        rank = rank.or(found.map(|found| (port, found)));
    }
    let rank = rank.map(|(_, rank)| rank);
    if rank == Some(4) && cx.since_version() >= 25 {
        for name in ["q_num_heads", "kv_num_heads"] {
            if cx.has_attr(name)? {
                return Err(RuleError::attribute(name, "is for operands with 3 axes, but these have 4"));
            }
        }
    }
    Ok(rank)
}

/// The heads of the queries and those of keys and values of packed operands.
fn head_counts(cx: &RuleCx<'_, '_>) -> RuleResult<[i64; 2]> {
    Ok([positive(cx, "q_num_heads")?, positive(cx, "kv_num_heads")?])
}

/// A required positive attribute.
fn positive(cx: &RuleCx<'_, '_>, name: &'static str) -> RuleResult<i64> {
    match cx.attr_int(name)? {
        None => Err(RuleError::attribute(name, "must be given for operands with 3 axes")),
        Some(_) => cx.attr_at_least(name, 1, 1),
    }
}

/// `[batch, heads, sequence, size]`.
fn unpacked(cx: &mut RuleCx<'_, '_>, extents: &mut Extents, errors: &mut Deferred) {
    let Extents { batch, query_heads, heads, queries, keys, size, value_size, past: _ } = extents;
    errors.meet_axes(cx, QUERY, &mut [batch, query_heads, queries, size]);
    errors.meet_axes(cx, KEY, &mut [batch, heads, keys, size]);
    errors.meet_axes(cx, VALUE, &mut [batch, heads, keys, value_size]);
}

/// `[batch, sequence, heads * size]`.
fn packed(
    cx: &mut RuleCx<'_, '_>,
    counts: [i64; 2],
    extents: &mut Extents,
    errors: &mut Deferred,
) -> RuleResult {
    let Extents { batch, query_heads, heads, queries, keys, size, value_size, past: _ } = extents;
    let [query_count, count] = counts;
    for (shared, count) in [(query_heads, query_count), (heads, count)] {
        let count = cx.dims().constant(count);
        errors.note(shared.meet(cx, (QUERY, count)));
    }
    meet_packed(cx, QUERY, [batch, queries, size], query_count, errors)?;
    meet_packed(cx, KEY, [batch, keys, size], count, errors)?;
    meet_packed(cx, VALUE, [batch, keys, value_size], count, errors)
}

/// Adds the axes of a packed operand.
fn meet_packed(
    cx: &mut RuleCx<'_, '_>,
    port: Port,
    [batch, sequence, size]: [&mut Shared; 3],
    count: i64,
    errors: &mut Deferred,
) -> RuleResult {
    let Some(shape) = cx.shape(port) else { return Ok(()) };
    errors.meet_axes(cx, port, &mut [batch, sequence]);
    if let Some(one) = share(cx, port, shape[2], count)? {
        errors.note(size.meet(cx, one));
    }
    Ok(())
}

/// The part of the last axis of a port that belongs to one of `count` heads; `None` if it is unknown.
fn share(cx: &mut RuleCx<'_, '_>, port: Port, packed: DimId, count: i64) -> RuleResult<Option<Extent>> {
    if let Some(packed) = cx.const_dim(packed)
        && packed.checked_rem(count) != Some(0)
    {
        let message = format!("the last axis has {packed} elements, which {count} heads cannot share");
        return Err(RuleError::shapes(&[port], message));
    }
    if count != 1 && cx.dims().is_variable(packed) {
        return Ok(None);
    }
    let count = cx.dims().constant(count);
    let last = cx.rank(port).and_then(|rank| rank.checked_sub(1));
    let packed = Extent { port, axis: last, dim: packed };
    let share = require_multiple(cx, packed, count, "must be a multiple of the number of heads")?;
    Ok(Some((port, share).into()))
}

/// Past keys and values, which are never packed.
fn past(cx: &mut RuleCx<'_, '_>, extents: &mut Extents, errors: &mut Deferred) -> RuleResult {
    let Extents { batch, heads, past, size, value_size, .. } = extents;
    for (port, size) in [(PAST_KEY, size), (PAST_VALUE, value_size)] {
        cx.require_rank(port, 4..=4)?;
        errors.meet_axes(cx, port, &mut [batch, heads, past, size]);
    }
    cx.require_rank(VALID_KEYS, 1..=1)?;
    errors.meet_axes(cx, VALID_KEYS, &mut [batch]);
    Ok(())
}

/// Requires the query heads to be a multiple of the heads of keys and values.
fn grouped(cx: &mut RuleCx<'_, '_>, port: Port, queries: Shared, keys: Shared) -> RuleResult {
    let (Some(queries), Some(keys)) = (queries.get(), keys.get()) else { return Ok(()) };
    match (cx.const_dim(queries), cx.const_dim(keys)) {
        (Some(queries), Some(keys)) if queries != keys && queries.checked_rem(keys) != Some(0) => {
            let message = format!("{queries} heads of queries cannot share {keys} heads of keys evenly");
            Err(RuleError::shapes(&[port], message))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// Number of keys including past ones.
fn total(cx: &mut RuleCx<'_, '_>, extents: &Extents) -> Option<DimId> {
    let keys = extents.keys.get()?;
    if !cx.has(PAST_KEY) {
        return Some(keys);
    }
    let past = extents.past.get()?;
    Some(cx.dims().add(past, keys))
}

/// The mask broadcasts to `[batch, query heads, queries, keys]`; from version 24 on it may have fewer keys.
fn mask(cx: &mut RuleCx<'_, '_>, extents: &Extents, total: Option<DimId>) -> RuleResult {
    let Some(mask) = cx.shape_of_rank(MASK, ..=4)? else { return Ok(()) };
    let full = [extents.batch.get(), extents.query_heads.get(), extents.queries.get(), total];
    let missing = full.len() - mask.len();
    for (axis, dim) in mask.iter().enumerate() {
        let Some(wide) = full[missing + axis] else { continue };
        let is_keys = missing + axis == 3;
        let shorter = is_keys && cx.since_version() >= 24;
        let relation = "are of the mask and of the masked scores";
        if shorter {
            require_at_most(cx, (MASK, axis, *dim), (SCORES, wide), relation)?;
        } else {
            cx.require_one_or_equal((MASK, axis, *dim), (SCORES, wide), relation)?;
        }
    }
    Ok(())
}

fn outputs(
    cx: &mut RuleCx<'_, '_>,
    rank: Option<usize>,
    counts: Option<[i64; 2]>,
    extents: &Extents,
    total: Option<DimId>,
) -> RuleResult {
    match (rank, counts) {
        (Some(3), Some([query_heads, _])) => {
            let hidden = extents.value_size.get().map(|size| cx.scaled(size, query_heads));
            set_extents(cx, Out(0), [extents.batch.get(), extents.queries.get(), hidden])?;
        }
        (Some(_), _) => {
            set(cx, Out(0), &[extents.batch, extents.query_heads, extents.queries, extents.value_size])?;
        }
        (None, _) => {}
    }
    let mut keys = KEYS;
    if let Some(total) = total {
        keys.meet(cx, (SCORES, total))?;
    }
    set(cx, PRESENT_KEY, &[extents.batch, extents.heads, keys, extents.size])?;
    set(cx, PRESENT_VALUE, &[extents.batch, extents.heads, keys, extents.value_size])?;
    set(cx, SCORES, &[extents.batch, extents.query_heads, extents.queries, keys])
}

/// Sets the shape of an optional output with possibly unknown extents.
fn set(cx: &mut RuleCx<'_, '_>, port: Port, extents: &[Shared]) -> RuleResult {
    if !cx.has(port) {
        return Ok(());
    }
    set_extents(cx, port, extents.iter().map(|extent| extent.get()))
}

/// Attributes with a range. Source: Attention, `qk_matmul_output_mode`, `softmax_precision`,
/// `left_window_size`.
fn ranges(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let mode = cx.attr_int("qk_matmul_output_mode")?.unwrap_or(0);
    if !(0..=3).contains(&mode) {
        let message = format!("is {mode}, but must be 0, 1, 2 or 3");
        return Err(RuleError::attribute("qk_matmul_output_mode", message));
    }
    softmax_precision(cx)?;
    for name in ["left_window_size", "right_window_size"] {
        if let Some(size) = cx.attr_int(name)?
            && size < -1
        {
            return Err(RuleError::attribute(name, format!("is {size}, but must be -1 or at least 0")));
        }
    }
    Ok(())
}

/// The element type of the softmax, if the attribute is set.
fn softmax_precision(cx: &RuleCx<'_, '_>) -> RuleResult<Option<typeloom_solver::elem::Elem>> {
    const FLOATS: [i64; 4] = [1, 10, 11, 16];
    match cx.attr_int("softmax_precision")? {
        Some(number) if !FLOATS.contains(&number) => {
            let message =
                format!("is {number}, but must be 1 (float), 10 (float16), 11 (double) or 16 (bfloat16)");
            Err(RuleError::attribute("softmax_precision", message))
        }
        Some(_) | None => super::common::dtype_attr(cx, "softmax_precision"),
    }
}
