//! Rotary position embeddings.

use super::{owned, required};
use crate::call::{Call, Outcome, one};
use crate::element::widest;
use crate::error::{KernelErrorKind, invalid};
use crate::ops::{CONTRIB_DOMAIN, Operator, widened};

pub(in crate::ops) const OPERATORS: &[Operator] = &[widened("RotaryEmbedding", rotary).of(CONTRIB_DOMAIN)];

/// Cosines and sines by position, and the pairing of elements.
pub(super) struct Rotation<'a> {
    pub(super) cos: &'a [f32],
    pub(super) sin: &'a [f32],
    /// Number of pairs, which is the width of the tables.
    pub(super) half: usize,
    /// Whether a pair is adjacent; otherwise its elements are `half` apart.
    pub(super) is_interleaved: bool,
}

impl Rotation<'_> {
    /// Rotates the first `2 * half` elements of a head.
    #[inline(always)]
    pub(super) fn apply(&self, head: &mut [f32], position: i64) -> Result<(), KernelErrorKind> {
        let tables = usize::try_from(position).ok().and_then(|position| position.checked_mul(self.half));
        let tables = tables.and_then(|start| {
            let range = start..start.checked_add(self.half)?;
            Some((self.cos.get(range.clone())?, self.sin.get(range)?))
        });
        let Some((cos, sin)) = tables else {
            return invalid(format!("position {position} is outside the tables"));
        };
        if head.len() < 2 * self.half {
            return invalid(format!("{} elements are rotated in a head of {}", 2 * self.half, head.len()));
        }
        if self.is_interleaved {
            for (pair, (cos, sin)) in head.as_chunks_mut::<2>().0.iter_mut().zip(cos.iter().zip(sin)) {
                *pair = [pair[0] * cos - pair[1] * sin, pair[1] * cos + pair[0] * sin];
            }
        } else {
            let (first, second) = head[..2 * self.half].split_at_mut(self.half);
            for ((a, b), (cos, sin)) in first.iter_mut().zip(second).zip(cos.iter().zip(sin)) {
                (*a, *b) = (*a * cos - *b * sin, *b * cos + *a * sin);
            }
        }
        Ok(())
    }
}

/// The positions of all tokens: given, or counted from a given start.
fn positions(list: &[i64], batches: usize, length: usize) -> Result<Vec<i64>, KernelErrorKind> {
    match list {
        [start] => {
            let counted = (0..length as i64).map(|step| start.saturating_add(step));
            Ok(counted.cycle().take(batches * length).collect())
        }
        list if list.len() == batches * length => Ok(list.to_vec()),
        list => invalid(format!("{} positions for {batches} * {length} tokens", list.len())),
    }
}

fn rotary(call: &mut Call<'_>) -> Outcome {
    let is_interleaved = call.flag("interleaved", false)?;
    let rotated = usize::try_from(call.int("rotary_embedding_dim", 0)?).unwrap_or(0);
    let heads = usize::try_from(call.int("num_heads", 0)?).unwrap_or(0);
    let x = call.tensor(0)?;
    let (cos, sin) = (required(call, 2)?, required(call, 3)?);
    let Some(half) = call.tensor(2)?.shape().last().copied().filter(|half| *half > 0) else {
        return invalid("the tables are empty");
    };
    let (batches, length, count, size, is_flat) = match *x.shape() {
        [batches, heads, length, size] => (batches, length, heads, size, false),
        [batches, length, width] => {
            let size = match (heads, rotated) {
                (0, _) => 2 * half,
                (heads, _) => width / heads,
            };
            if size == 0 || !width.is_multiple_of(size) {
                return invalid(format!("heads of {size} do not divide {width}"));
            }
            (batches, length, width / size, size, true)
        }
        _ => return invalid(format!("the input has rank {}, neither 3 nor 4", x.rank())),
    };
    let whole = if rotated == 0 { size } else { rotated };
    if 2 * half != whole {
        return invalid(format!("the tables have width {half}, not half of {whole}"));
    }
    let positions = positions(&call.required_integers(1)?, batches, length)?;
    let rotation = Rotation { cos, sin, half, is_interleaved };
    let mut y = owned(x.clone())?;
    let data = y.as_mut_slice::<f32>()?;
    widest(
        #[inline(always)]
        || {
            for (at, head) in data.chunks_exact_mut(size.max(1)).enumerate() {
                let token = if is_flat { at / count } else { at / (count * length) * length + at % length };
                rotation.apply(head, positions[token])?;
            }
            Ok::<(), KernelErrorKind>(())
        },
    )?;
    one(y)
}
