//! Attention of one new token with a buffer of keys and values: `DecoderMaskedMultiHeadAttention`.
//!
//! The buffer has a fixed number of positions, of which the first ones are used. In a search with beams, a
//! past token of a batch may be that of another beam.

use typeloom_tensor::any_tensor::AnyTensor;

use super::attention::{Mask, heads, masked, scale};
use super::heads::{Extents, Heads, Part, extended};
use super::{floats, required};
use crate::call::{Call, Outcome};
use crate::element::{build_over, check_size, from_slice};
use crate::error::{KernelErrorKind, invalid};
use crate::ops::{CONTRIB_DOMAIN, Operator, widened};

pub(in crate::ops) const OPERATORS: &[Operator] =
    &[widened("DecoderMaskedMultiHeadAttention", decoder).of(CONTRIB_DOMAIN)];

// Positions of the inputs.
const KEY: usize = 1;
const VALUE: usize = 2;
const MASK: usize = 3;
const ATTENTION_BIAS: usize = 4;
const PAST_KEY: usize = 5;
const PAST_VALUE: usize = 6;
const PAST_LENGTH: usize = 7;
const BEAMS: usize = 8;
const ORIGINS: usize = 9;
const BIAS: usize = 10;

fn decoder(call: &mut Call<'_>) -> Outcome {
    let count = heads(call, "num_heads")?;
    let &[batches, 1, row] = call.tensor(0)?.shape() else {
        return invalid("the query is not of rank 3 with one token");
    };
    let is_packed = !call.has(KEY);
    let width = if is_packed { row / 3 } else { row };
    let bias = floats(call, BIAS)?;
    // The heads in the elements from `start` of an input with `row` elements, with the bias from
    // `bias_start`.
    let project = |index: usize, row: usize, start: usize, width: usize, bias_start: usize| {
        if !width.is_multiple_of(count) {
            return invalid(format!("{count} heads do not divide {width}"));
        }
        let bias = match bias.map(|bias| bias.get(bias_start..).and_then(|rest| rest.get(..width))) {
            Some(None) => return invalid("the bias has too few elements"),
            Some(part) => part,
            None => None,
        };
        let part = Part { row, start, ..Part::whole(width, count) };
        part.split(required(call, index)?, (batches, 1), bias)
    };
    let q = project(0, row, 0, width, 0)?;
    let is_cross = !call.has(PAST_KEY) && !is_packed && call.tensor(KEY)?.rank() == 4;
    let (k, v, past, present) = if is_cross {
        (call.tensor(KEY)?.clone(), call.tensor(VALUE)?.clone(), None, None)
    } else {
        let (k, v) = if is_packed {
            let value_width = row - 2 * width;
            (project(0, row, width, width, width)?, project(0, row, 2 * width, value_width, 2 * width)?)
        } else {
            let value_width = call.tensor(VALUE)?.shape().last().copied().unwrap_or(0);
            (project(KEY, width, 0, width, width)?, project(VALUE, value_width, 0, value_width, 2 * width)?)
        };
        let past = Past::read(call, batches, count)?;
        let (present_k, k) = past.with(call, PAST_KEY, k)?;
        let (present_v, v) = past.with(call, PAST_VALUE, v)?;
        (k, v, Some(past), Some([present_k, present_v]))
    };
    let (&[_, _, space, size], &[_, _, _, value_width]) = (k.shape(), v.shape()) else {
        return invalid("keys or values are not of rank 4");
    };
    let before = past.as_ref().map_or(0, |past| past.length);
    let keys = if is_cross { space } else { before + 1 };
    let extents =
        Extents { batches, heads: count, key_heads: count, queries: 1, keys, size, width: value_width };
    let mut mask = Mask::of(call, MASK, ATTENTION_BIAS, extents, before)?;
    if let Some((beams, _)) = past.and_then(|past| past.beams) {
        mask.beams = beams;
    }
    let scale = scale(call, size)?;
    let all = Heads { q: q.as_slice()?, k: k.as_slice()?, v: v.as_slice()?, extents, space, scale };
    let mut shown = Vec::new();
    if call.outputs > 3 {
        check_size(&[batches, count, keys], size_of::<f32>())?;
    }
    let y = masked(&all, &mask, (call.outputs > 3).then_some(&mut shown))?;
    let mut results = vec![y.into()];
    if call.outputs > 1 {
        results.extend(present.unwrap_or([k, v]).map(Into::into));
    }
    if call.outputs > 3 {
        results.push(from_slice(&[batches, count, 1, keys], &shown)?.into());
    }
    Ok(results)
}

/// The tokens before the new one.
struct Past {
    length: usize,
    /// Whether they are the first ones of a buffer that has space for the new one.
    is_buffer: bool,
    /// Number of beams, and the beam of each past token: `[batch, beam, position]`.
    beams: Option<(usize, Vec<i64>)>,
}

impl Past {
    fn read(call: &Call<'_>, batches: usize, heads: usize) -> Result<Self, KernelErrorKind> {
        let positions = |index: usize| match call.optional(index)?.map(AnyTensor::shape) {
            None => Ok(0),
            Some(&[b, n, positions, _]) if (b, n) == (batches, heads) => Ok(positions),
            Some(shape) => invalid(format!("input {index} has the shape {shape:?}")),
        };
        let (cached, values) = (positions(PAST_KEY)?, positions(PAST_VALUE)?);
        if cached != values {
            return invalid(format!("{cached} past keys and {values} past values"));
        }
        let is_buffer = call.flag("past_present_share_buffer", false)?;
        let length = if is_buffer {
            let length = call.integer(PAST_LENGTH)?.ok_or(KernelErrorKind::MissingInput(PAST_LENGTH))?;
            match usize::try_from(length) {
                Ok(length) if length < cached => length,
                Ok(_) | Err(_) => return invalid(format!("{length} tokens in a buffer of {cached}")),
            }
        } else {
            cached
        };
        let beams = match call.integer(BEAMS)?.unwrap_or(1) {
            1 => None,
            beams => {
                let origins = call.required_integers(ORIGINS)?;
                let count = usize::try_from(beams).ok().filter(|beams| *beams > 0);
                match (count, call.tensor(ORIGINS)?.shape()) {
                    (Some(count), &[groups, list, positions])
                        if list == count && groups * count == batches && positions >= length =>
                    {
                        let is_beam = |origin: &i64| (0..beams).contains(origin);
                        let used = origins.chunks_exact(positions.max(1)).flat_map(|list| &list[..length]);
                        let used: Vec<i64> = used.copied().collect();
                        if !used.iter().all(is_beam) {
                            return invalid(format!("a past token is that of a beam not below {beams}"));
                        }
                        Some((count, used))
                    }
                    (_, shape) => {
                        return invalid(format!("origins {shape:?} for {beams} beams of {batches} batches"));
                    }
                }
            }
        };
        Ok(Self { length, is_buffer, beams })
    }

    /// The buffer with the new token, and the keys or values of all tokens up to it, which are the first
    /// ones.
    fn with(
        &self,
        call: &Call<'_>,
        index: usize,
        new: AnyTensor,
    ) -> Result<(AnyTensor, AnyTensor), KernelErrorKind> {
        let &[batches, heads, _, size] = new.shape() else { return invalid("the keys are not of rank 4") };
        let old = floats(call, index)?;
        let cached = match call.optional(index)?.map(AnyTensor::shape) {
            None => 0,
            Some(&[.., cached, width]) if width == size => cached,
            Some(shape) => return invalid(format!("input {index} has the shape {shape:?}")),
        };
        let present = match old {
            Some(old) if self.is_buffer => {
                let new = new.as_slice::<f32>()?;
                build_over::<f32>(&[batches, heads, cached, size], |out| {
                    out.copy_from_slice(old);
                    let lanes =
                        out.chunks_exact_mut((cached * size).max(1)).zip(new.chunks_exact(size.max(1)));
                    for (out, new) in lanes {
                        out[self.length * size..][..size].copy_from_slice(new);
                    }
                })?
            }
            old => extended(old, new)?,
        };
        let positions = if self.is_buffer { cached } else { cached + 1 };
        if self.beams.is_none() {
            return Ok((present.clone(), present));
        }
        let from = present.as_slice::<f32>()?;
        let all = build_over::<f32>(&[batches, heads, self.length + 1, size], |out| {
            for (lane, out) in out.chunks_exact_mut(((self.length + 1) * size).max(1)).enumerate() {
                let (batch, head) = (lane / heads, lane % heads);
                for (token, out) in out.chunks_exact_mut(size.max(1)).enumerate() {
                    let source = match &self.beams {
                        Some((beams, origins)) if token < self.length => {
                            batch / beams * beams + origins[batch * self.length + token] as usize
                        }
                        Some(_) | None => batch,
                    };
                    let lane = source * heads + head;
                    out.copy_from_slice(&from[(lane * positions + token) * size..][..size]);
                }
            }
        })?;
        Ok((present, all))
    }
}
