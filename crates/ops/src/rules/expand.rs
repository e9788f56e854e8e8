//! Operators that repeat elements: Expand and Tile.

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Rule, RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::affine::moves::repeat;
use super::common::{list, product, require_extent, single, unknown_extent};
use super::items::{Items, MAX_ITEMS, constant_shape, separable, strides};
use super::{Entry, rule};

/// The elements, repeated. Source: Tile.
const TILE_VALUE: Rule = Rule { name: "tile.value", run: repeat_items };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Expand", &[rule("expand.target", expand), rule("expand.value", repeat_items)]),
    Entry::of("Tile", &[rule("tile.axis", tile_axis), TILE_VALUE]).until(6),
    Entry::of("Tile", &[rule("tile.repeats", tile), TILE_VALUE]).since(6),
];

/// The output has the broadcast shape of the input and the target. Source: Expand, `shape`.
fn expand(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(1), 1..=1)?;
    let Some(target) = list(cx, "shape", 1)? else { return Ok(()) };
    if let Some(items) = &target.items {
        for item in items {
            require_extent(cx, target.source, *item)?;
        }
    }
    let (Some(input), Some(len)) = (cx.shape(In(0)), target.len) else { return Ok(()) };
    let rank = input.len().max(len);
    let mut shape = DimVec::new();
    for axis in 0..rank {
        let own = axis.checked_sub(rank - input.len()).map(|at| (at, input[at]));
        let asked = axis.checked_sub(rank - len).map(|at| target.items.as_ref().map(|items| items[at]));
        shape.push(match (own, asked) {
            (Some((at, own)), Some(Some(asked))) => cx.broadcast_dim((In(0), at, own), (In(1), asked))?,
            (Some((_, own)), None) => own,
            (None, Some(Some(asked))) => asked,
            // An extent other than 1 is unchanged by any target.
            (Some((_, own)), Some(None)) if is_never_one(cx, own) => own,
            (_, Some(None)) | (None, None) => unknown_extent(cx, Out(0), axis),
        });
    }
    cx.set_shape(Out(0), &shape)
}

fn is_never_one(cx: &mut RuleCx<'_, '_>, dim: DimId) -> bool {
    cx.dims().compare(dim, DimId::ONE) == Decision::Different
}

/// Repeats the elements along each axis until they fill the output.
fn repeat_items(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (Some(items), Some(shape)) = (Items::at(cx, In(0)), constant_shape(cx, Out(0))) else {
        repeat(cx);
        return Ok(());
    };
    let Some(missing) = shape.len().checked_sub(items.shape().len()) else { return Ok(()) };
    if shape.iter().any(|extent| *extent > MAX_ITEMS) {
        cx.drop_constant(Out(0));
        return Ok(());
    }
    let strides = strides(items.shape());
    let offsets = |(axis, extent): (usize, &usize)| match axis.checked_sub(missing) {
        Some(own) => {
            let count = items.shape()[own].max(1);
            (0..*extent).map(|index| Some(index % count * strides[own])).collect()
        }
        None => vec![Some(0); *extent],
    };
    let axes: Vec<_> = shape.iter().enumerate().map(offsets).collect();
    match separable(&axes) {
        Some((shape, positions)) => items.put(cx, Out(0), &shape, &positions),
        None => cx.drop_constant(Out(0)),
    }
    Ok(())
}

/// Each extent is multiplied by its number of repeats. Source: Tile, `repeats`.
fn tile(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(1), 1..=1)?;
    let Some(repeats) = list(cx, "repeats", 1)? else { return Ok(()) };
    let Some(mut shape) = cx.shape(In(0)) else {
        return repeats.len.map_or(Ok(()), |rank| cx.set_rank(Out(0), rank));
    };
    if let Some(len) = repeats.len
        && len != shape.len()
    {
        if shape.is_empty() {
            return Err(RuleError::scalar(In(0)));
        }
        return Err(repeats.source.error(format!(
            "has {}, but the input has {}",
            counted(len, "item"),
            counted(shape.len(), "axis")
        )));
    }
    let Some(items) = repeats.items else { return cx.set_rank(Out(0), shape.len()) };
    for (extent, count) in shape.iter_mut().zip(items) {
        if cx.const_dim(count).is_some_and(|count| count < 0) {
            return Err(repeats.source.error("has a negative number of repeats"));
        }
        *extent = product(cx, repeats.source, *extent, count)?;
    }
    cx.set_shape(Out(0), &shape)
}

/// The extent of one axis is multiplied. Source: Tile version 1, `tiles` and `axis`.
fn tile_axis(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let (count, axis) = (tile_number(cx, 1)?, tile_number(cx, 2)?);
    let Some(mut shape) = cx.shape(In(0)) else { return Ok(()) };
    let Some(axis) = axis.and_then(|axis| cx.const_dim(axis)) else {
        return cx.set_rank(Out(0), shape.len());
    };
    let axis = super::common::Source::Input(In(2)).axis(axis, In(0), shape.len())?;
    shape[axis] = match count {
        Some(count) => cx.dims().mul(shape[axis], count),
        None => unknown_extent(cx, Out(0), axis),
    };
    cx.set_shape(Out(0), &shape)
}

/// A number input of Tile version 1, which has the type of the data.
fn tile_number(cx: &mut RuleCx<'_, '_>, at: usize) -> RuleResult<Option<DimId>> {
    if let Some(item) = single(cx, In(at))? {
        return Ok(Some(item));
    }
    let number = cx.floats(In(at)).and_then(|floats| floats.items.first().copied());
    let whole = number.filter(|number| number.fract() == 0.0 && number.abs() < 2_147_483_648.0);
    // An integer of at most 31 bits because of the check above.
    let whole = whole.map(|number| number as i64);
    Ok(whole.map(|number| cx.dims().constant(number)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{error, infer_y};

    fn expanded(input: &str, target: &str) -> String {
        let count = target.split(',').count();
        format!("g (float[{input}] x) => (y) <int64[{count}] t = {{{target}}}> {{ y = Expand (x, t) }}")
    }

    #[test]
    fn an_expansion_broadcasts_both_ways() {
        assert_eq!(infer_y(13, &expanded("3, 1", "2, 1, 6")), "float[2, 3, 6]");
        assert_eq!(infer_y(13, &expanded("N, 1", "1, 4")), "float[N, 4]");
        assert_eq!(infer_y(13, &expanded("2, N, 3", "3")), "float[2, N, 3]");
        assert_eq!(
            error(13, &expanded("3, 4", "2, 4")),
            "expand.target: axis 0 of input 0 and input 1 are broadcast"
        );
        assert_eq!(
            error(13, &expanded("3, 4", "3, -1")),
            "expand.target: input 1 has the negative extent -1"
        );
    }

    #[test]
    fn an_extent_other_than_1_is_unchanged_by_any_target() {
        let graph = "g (float[3, 1, N + 2] x, int64[3] t) => (y) { y = Expand (x, t) }";
        assert_eq!(infer_y(13, graph), "float[3, ?, N + 2]");
    }

    #[test]
    fn an_expanded_value_is_repeated() {
        let y = infer_y(
            13,
            "g (float[N] x) => (y) <int64[1] three = {3}> {
               shape = Shape (x)
               many = Expand (shape, three)
               y = ConstantOfShape (many)
             }",
        );
        assert_eq!(y, "float[N, N, N]");
    }

    #[test]
    fn tiles_multiply_extents() {
        let tiled = |repeats: &str| {
            let count = repeats.split(',').count();
            format!("g (float[N, 3] x) => (y) <int64[{count}] r = {{{repeats}}}> {{ y = Tile (x, r) }}")
        };
        assert_eq!(infer_y(13, &tiled("2, 1")), "float[2*N, 3]");
        assert_eq!(error(13, &tiled("2")), "tile.repeats: input 1 has 1 item, but the input has 2 axes");
        assert_eq!(error(13, &tiled("2, -1")), "tile.repeats: input 1 has a negative number of repeats");
        assert_eq!(
            error(13, &tiled("1, 9223372036854775807")),
            "tile.repeats: input 1 makes an axis longer than any tensor can be: its extent would overflow"
        );
        let graph =
            "g (float[N, 3] x) => (y) <float tiles = {2}, float axis = {1}> { y = Tile (x, tiles, axis) }";
        assert_eq!(infer_y(1, graph), "float[N, 6]");
    }

    #[test]
    fn a_tiled_value_is_repeated() {
        let y = infer_y(
            13,
            "g (float[N, 3] x) => (y) <int64[1] two = {2}> {
               shape = Shape (x)
               many = Tile (shape, two)
               y = ConstantOfShape (many)
             }",
        );
        assert_eq!(y, "float[N, 3, N, 3]");
    }
}
