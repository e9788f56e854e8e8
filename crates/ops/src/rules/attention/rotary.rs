//! RotaryEmbedding: rotates pairs of elements of each head by an angle that depends on the position.

use typeloom_dim::DimId;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Port, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::share;
use crate::rules::affine::require_positions;
use crate::rules::common::{Shared, meet_axes, require_at_most, require_indices};

const INPUT: Port = In(0);
const CACHES: [Port; 2] = [In(1), In(2)];
const POSITIONS: Port = In(3);

/// The caches contain an angle per rotated pair, for each position, or with `position_ids` for each possible
/// position. Source: RotaryEmbedding, `X`, `cos_cache`, `position_ids`, `num_heads`.
pub(super) fn rotate(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.same_shape(INPUT, Out(0))?;
    cx.require_rank(INPUT, 3..=4)?;
    let mut batch = Shared::new("are the batch");
    let mut sequence = Shared::new("are the positions");
    let mut pairs = Shared::new("are the rotated pairs");
    if let Some(input) = cx.shape(INPUT) {
        let along = input.len() - 2;
        batch.meet(cx, (INPUT, 0, input[0]))?;
        sequence.meet(cx, (INPUT, along, input[along]))?;
        if let Some(rotated) = rotated(cx, &input)? {
            let half = half(cx, rotated)?;
            pairs.meet(cx, (INPUT, half))?;
        }
    }
    let by_position = cx.has(POSITIONS);
    if by_position {
        meet_axes(cx, POSITIONS, &mut [&mut batch, &mut sequence])?;
    }
    let rank = if by_position { 2 } else { 3 };
    let mut rows = Shared::new("are the possible positions");
    for cache in CACHES {
        let Some(shape) = cx.shape_of_rank(cache, rank..=rank)? else { continue };
        pairs.meet(cx, (cache, rank - 1, shape[rank - 1]))?;
        if by_position {
            rows.meet(cx, (cache, 0, shape[0]))?;
            if let Some(sequence) = sequence.get() {
                let relation = "are the positions of the input and those of the cache";
                require_at_most(cx, (INPUT, sequence), (cache, 0, shape[0]), relation)?;
            }
            if cache == CACHES[0] {
                require_positions(cx, POSITIONS, (cache, 0, shape[0]).into())?;
            }
            if let Some(positions) = cx.const_ints(POSITIONS) {
                require_indices(cx, POSITIONS, positions.into_iter(), (cache, 0, shape[0]).into())?;
            }
        } else {
            batch.meet(cx, (cache, 0, shape[0]))?;
            sequence.meet(cx, (cache, 1, shape[1]))?;
        }
    }
    Ok(())
}

/// Number of rotated elements of a head.
fn rotated(cx: &mut RuleCx<'_, '_>, input: &[DimId]) -> RuleResult<Option<DimId>> {
    let size = match input {
        [_, _, packed] => match cx.attr_int("num_heads")? {
            Some(_) => {
                let count = cx.attr_at_least("num_heads", 1, 1)?;
                share(cx, INPUT, *packed, count)?.map(|share| share.dim)
            }
            None => return Err(RuleError::attribute("num_heads", "must be given for an input with 3 axes")),
        },
        [.., size] => Some(*size),
        [] => None,
    };
    match cx.attr_at_least("rotary_embedding_dim", 0, 0)? {
        0 => Ok(size),
        dim => match size.and_then(|size| cx.const_dim(size)) {
            Some(size) if dim > size => {
                let message = format!("is {dim}, but a head has only {}", counted(size, "element"));
                Err(RuleError::attribute("rotary_embedding_dim", message))
            }
            Some(_) | None => Ok(Some(cx.dims().constant(dim))),
        },
    }
}

fn half(cx: &mut RuleCx<'_, '_>, rotated: DimId) -> RuleResult<DimId> {
    if let Some(rotated) = cx.const_dim(rotated)
        && rotated % 2 != 0
    {
        return Err(RuleError::shapes(
            &[INPUT],
            format!("{} of a head cannot be split into pairs", counted(rotated, "element")),
        ));
    }
    let two = cx.dims().constant(2);
    Ok(cx.dims().floor_div(rotated, two))
}
