//! Operators that permute the elements of a tensor: Transpose, DepthToSpace, SpaceToDepth, ReverseSequence;
//! and Trilu, which clears some.

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{RuleCx, RuleError, RuleResult};
use typeloom_types::plural::counted;

use super::common::{Source, require_at_most, require_multiple, require_single};
use super::elementwise::SAME_SHAPE;
use super::items::{Items, separable, strides, whole};
use super::{Entry, rule};

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("DepthToSpace", &[rule("depthtospace.blocks", depth_to_space)]),
    Entry::of("ReverseSequence", &[SAME_SHAPE, rule("reversesequence.axes", reverse)]),
    Entry::of("SpaceToDepth", &[rule("spacetodepth.blocks", space_to_depth)]),
    Entry::of("Transpose", &[rule("transpose.perm", transpose)]),
    Entry::of("Trilu", &[SAME_SHAPE, rule("trilu.matrices", trilu)]),
];

/// Axis `i` of the output is axis `perm[i]` of the input; the default is the reverse order. Source:
/// Transpose, `perm`.
fn transpose(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let given = cx.attr_ints("perm")?;
    let positions = match &given {
        Some(perm) => {
            let rank = perm.len();
            // Positions, in contrast to axes, do not count from the end.
            if let Some(axis) = perm.iter().find(|axis| **axis < 0) {
                return Err(RuleError::attribute("perm", format!("names axis {axis}, but axes start at 0")));
            }
            Some(Source::Attribute("perm").axes(perm, In(0), rank)?)
        }
        None => None,
    };
    let Some(shape) = cx.shape(In(0)) else {
        return match (positions, cx.shape(Out(0))) {
            (Some(positions), Some(moved)) if positions.len() == moved.len() => {
                move_back(cx, &positions, &moved)
            }
            (Some(positions), _) => cx.set_rank(Out(0), positions.len()),
            (None, Some(mut moved)) => {
                moved.reverse();
                cx.set_shape(In(0), &moved)
            }
            (None, None) => Ok(()),
        };
    };
    let positions = positions.unwrap_or_else(|| (0..shape.len()).rev().collect());
    if positions.len() != shape.len() {
        if shape.is_empty() {
            return Err(RuleError::scalar(In(0)));
        }
        let message =
            format!("orders {}, but the input has {}", counted(positions.len(), "axis"), shape.len());
        return Err(RuleError::attribute("perm", message));
    }
    let moved: DimVec = positions.iter().map(|axis| shape[*axis]).collect();
    cx.set_shape(Out(0), &moved)?;
    if let Some(known) = cx.shape(Out(0)).filter(|known| *known != moved) {
        move_back(cx, &positions, &known)?;
    }
    if let Some(items) = Items::at(cx, In(0))
        && items.shape().len() == positions.len()
    {
        let strides = strides(items.shape());
        let axes: Vec<_> = positions.iter().map(|axis| whole(items.shape()[*axis], strides[*axis])).collect();
        if let Some((shape, elements)) = separable(&axes) {
            items.put(cx, Out(0), &shape, &elements);
        }
    }
    super::affine::moves::transpose(cx, &positions);
    Ok(())
}

/// Propagates known extents of the output's axes to the input.
fn move_back(cx: &mut RuleCx<'_, '_>, positions: &[usize], moved: &[DimId]) -> RuleResult {
    let mut shape: DimVec = moved.into();
    for (axis, dim) in positions.iter().zip(moved) {
        shape[*axis] = *dim;
    }
    cx.set_shape(In(0), &shape)
}

fn block_size(cx: &RuleCx<'_, '_>) -> RuleResult<i64> {
    match cx.attr_int("blocksize")? {
        // The number of channels is multiplied or divided by the square of the size, which fits into an
        // `i64`.
        Some(size @ 1..=0x7fff_ffff) => Ok(size),
        Some(size) if size < 1 => {
            Err(RuleError::attribute("blocksize", format!("is {size}, but must be at least 1")))
        }
        Some(size) => {
            Err(RuleError::attribute("blocksize", format!("is {size}: the area of a block would overflow")))
        }
        None => Err(RuleError::attribute("blocksize", "must be given")),
    }
}

/// An extent divided by a number; an error if it does not divide the extent.
fn divided(cx: &mut RuleCx<'_, '_>, axis: usize, extent: DimId, by: i64) -> RuleResult<DimId> {
    let divisor = cx.dims().constant(by);
    let remainder = cx.dims().modulo(extent, divisor);
    if cx.dims().compare(remainder, DimId::ZERO) == Decision::Different {
        let extent = cx.dims().display(extent).to_string();
        let message = format!("axis {axis} has extent {extent}, which is not a multiple of {by}");
        return Err(RuleError::shapes(&[In(0)], message));
    }
    require_multiple(cx, (In(0), axis, extent), divisor, "must be a multiple of the block size")
}

/// `[N, C, H, W]` becomes `[N, C/b^2, H*b, W*b]`. Source: DepthToSpace, formula of mode DCR.
fn depth_to_space(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let size = block_size(cx)?;
    let Some(shape) = cx.shape_of_rank(In(0), 4..=4)? else { return cx.set_rank(Out(0), 4) };
    let channels = divided(cx, 1, shape[1], size * size)?;
    let (height, width) = (cx.scaled(shape[2], size), cx.scaled(shape[3], size));
    cx.set_shape(Out(0), &[shape[0], channels, height, width])
}

/// `[N, C, H, W]` becomes `[N, C*b^2, H/b, W/b]`. Source: SpaceToDepth, output.
fn space_to_depth(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let size = block_size(cx)?;
    let Some(shape) = cx.shape_of_rank(In(0), 4..=4)? else { return cx.set_rank(Out(0), 4) };
    let channels = cx.scaled(shape[1], size * size);
    let (height, width) = (divided(cx, 2, shape[2], size)?, divided(cx, 3, shape[3], size)?);
    cx.set_shape(Out(0), &[shape[0], channels, height, width])
}

/// One of the first two axes is time, the other the batch, with a length per batch element. Source:
/// ReverseSequence, `batch_axis`, `time_axis` and `sequence_lens`.
fn reverse(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let axis =
        |cx: &RuleCx<'_, '_>, name: &'static str, default: i64| match cx.attr_int(name)?.unwrap_or(default) {
            0 => Ok(0),
            1 => Ok(1),
            other => Err(RuleError::attribute(name, format!("is {other}, but must be 0 or 1"))),
        };
    let (batch, time) = (axis(cx, "batch_axis", 1)?, axis(cx, "time_axis", 0)?);
    if batch == time {
        return Err(RuleError::attribute("time_axis", format!("is {time}, the same as batch_axis")));
    }
    cx.require_rank(In(0), 2..)?;
    cx.require_rank(In(1), 1..=1)?;
    if let (Some(shape), Some(lengths)) = (cx.shape(In(0)), cx.shape(In(1))) {
        cx.require_equal(
            (In(1), 0, lengths[0]),
            (In(0), batch, shape[batch]),
            "hold one length per sequence",
        )?;
    }
    if let Some(shape) = cx.shape(In(0))
        && let Some(longest) = cx.const_ints(In(1)).and_then(|lengths| lengths.into_iter().max())
    {
        let longest = cx.dims().constant(longest);
        let relation = "are the longest sequence and the time axis";
        require_at_most(cx, (In(1), longest), (In(0), time, shape[time]), relation)?;
    }
    Ok(())
}

/// The input has at least two axes, and `k` is a single number. Source: Trilu, `input` and `k`.
fn trilu(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..)?;
    require_single(cx, In(1))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{conditions, error, infer_y};

    #[test]
    fn a_transposition_moves_extents_and_values() {
        assert_eq!(infer_y(13, "g (float[A, B, 3] x) => (y) { y = Transpose (x) }"), "float[3, B, A]");
        let graph = "g (float[A, B, 3] x) => (y) { y = Transpose <perm = [1, 2, 0]> (x) }";
        assert_eq!(infer_y(13, graph), "float[B, 3, A]");
        let y = infer_y(
            13,
            "g () => (y) <int64[2, 2] table = {1, 2, 3, 4}, int64[1] flat = {-1}> {
               turned = Transpose (table)
               shape = Reshape (turned, flat)
               y = ConstantOfShape (shape)
             }",
        );
        assert_eq!(y, "float[1, 3, 2, 4]");
    }

    #[test]
    fn a_permutation_names_every_axis_once() {
        let with = |perm: &str| format!("g (float[2, 3] x) => (y) {{ y = Transpose <perm = [{perm}]> (x) }}");
        assert_eq!(error(13, &with("0, 0")), "transpose.perm: perm names axis 0 twice");
        assert_eq!(error(13, &with("0, 1, 2")), "transpose.perm: perm orders 3 axes, but the input has 2");
        assert_eq!(error(13, &with("0, -1")), "transpose.perm: perm names axis -1, but axes start at 0");
    }

    #[test]
    fn blocks_move_between_channels_and_space() {
        let graph = "g (float[N, 4*C, H, 5] x) => (y) { y = DepthToSpace <blocksize = 2> (x) }";
        assert_eq!(infer_y(13, graph), "float[N, C, 2*H, 10]");
        let graph = "g (float[N, C, 2*H, 10] x) => (y) { y = SpaceToDepth <blocksize = 2> (x) }";
        assert_eq!(infer_y(13, graph), "float[N, 4*C, H, 5]");
        let graph = "g (float[N, 6, H, 5] x) => (y) { y = DepthToSpace <blocksize = 2> (x) }";
        let message = "depthtospace.blocks: axis 1 has extent 6, which is not a multiple of 4";
        assert_eq!(error(13, graph), message);
        let graph = "g (float[N, 8, H, 5] x) => (y) { y = DepthToSpace <blocksize = 0> (x) }";
        assert_eq!(error(13, graph), "depthtospace.blocks: blocksize is 0, but must be at least 1");
    }

    #[test]
    fn sequences_are_reversed_along_one_axis_and_batched_along_the_other() {
        let with = |axes: &str, lengths: &str| {
            format!("g (float[T, 4, 2] x, int64[{lengths}] l) => (y) {{ y = ReverseSequence {axes} (x, l) }}")
        };
        assert_eq!(infer_y(10, &with("", "4")), "float[T, 4, 2]");
        assert_eq!(
            error(10, &with("", "3")),
            "reversesequence.axes: axis 0 of input 1 and axis 1 of input 0 hold one length per sequence"
        );
        assert_eq!(
            error(10, &with("<batch_axis = 0>", "4")),
            "reversesequence.axes: time_axis is 0, the same as batch_axis"
        );
    }

    #[test]
    fn triangles_are_of_matrices() {
        assert_eq!(infer_y(14, "g (float[B, N, M] x) => (y) { y = Trilu (x) }"), "float[B, N, M]");
        assert_eq!(
            error(14, "g (float[N] x) => (y) { y = Trilu (x) }"),
            "trilu.matrices: input 0 has rank 1, not 2 or more"
        );
    }

    #[test]
    fn blocks_divide_the_axis_and_sequences_fit_into_it() {
        let blocks = "g (float[N, C, 2, 3] x) => (y) { y = DepthToSpace <blocksize = 2> (x) }";
        assert_eq!(conditions(13, blocks), ["C = 4*(C//4)"]);
        let sequences = "g (float[T, 2] x) => (y) <int64[2] n = {3, 6}> { y = ReverseSequence (x, n) }";
        assert_eq!(conditions(10, sequences), ["T >= 6"]);
    }
}
