//! Products of matrices: MatMul and its quantised forms, Gemm, Einsum, Det.

use smallvec::SmallVec;
use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extent, ExtentRelation, Port, Rule, RuleCx, RuleError, RuleResult};

use super::common::unknown_extent;
use super::{Entry, rule};

mod einsum;
#[cfg(test)]
mod tests;

/// The last axis of the first operand and the second to last of the second are contracted; leading axes
/// broadcast; an operand of rank 1 is a row or a column. Source: MatMul, as `numpy.matmul`.
const MATMUL: Rule = Rule { name: "matmul.contract", run: |cx| contract(cx, In(0), In(1)) };

/// Zero points of both operands. Source: MatMulInteger, `a_zero_point`, `b_zero_point`.
const ZERO_POINTS: Rule = Rule {
    name: "matmulinteger.zero_points",
    run: |cx| {
        parameter(cx, In(2), In(0), Side::Rows)?;
        parameter(cx, In(3), In(1), Side::Columns)
    },
};

/// As MatMul, for the quantised tensors among the inputs. Source: QLinearMatMul, `a` and `b`.
const QLINEAR_MATMUL: Rule = Rule { name: "qlinearmatmul.contract", run: |cx| contract(cx, In(0), In(3)) };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Det", &[rule("det.square", det)]),
    Entry::of("Einsum", &[rule("einsum.letters", einsum::einsum)]),
    Entry::of("Gemm", &[rule("gemm.contract", gemm)]),
    Entry::of("MatMul", &[MATMUL]),
    Entry::of("MatMulInteger", &[MATMUL, ZERO_POINTS]),
    Entry::of("QLinearMatMul", &[QLINEAR_MATMUL, rule("qlinearmatmul.scales", qlinear_scales)]),
];

fn contract(cx: &mut RuleCx<'_, '_>, left: Port, right: Port) -> RuleResult {
    let (left, right) = (operand(cx, left)?, operand(cx, right)?);
    contract_axes(cx, left, right)
}

/// The axes of an operand of a product.
pub(super) type Operand = SmallVec<[Extent; 6]>;

/// The axes of an operand with at least one, if its shape is known.
pub(super) fn operand(cx: &mut RuleCx<'_, '_>, port: Port) -> RuleResult<Option<Operand>> {
    let Some(shape) = cx.shape_of_rank(port, 1..)? else { return Ok(None) };
    Ok(Some(shape.iter().enumerate().map(|(axis, dim)| (port, axis, *dim).into()).collect()))
}

/// The product of two operands.
pub(super) fn contract_axes(
    cx: &mut RuleCx<'_, '_>,
    left: Option<Operand>,
    right: Option<Operand>,
) -> RuleResult {
    let (Some(a), Some(b)) = (left, right) else { return Ok(()) };
    let (batch_a, batch_b) = (a.len().saturating_sub(2), b.len().saturating_sub(2));
    cx.require_equal(a[a.len() - 1], b[batch_b], "are contracted")?;
    let rank = batch_a.max(batch_b);
    let mut shape = DimVec::with_capacity(rank + 2);
    for axis in 0..rank {
        let x = (axis + batch_a).checked_sub(rank).map(|at| a[at]);
        let y = (axis + batch_b).checked_sub(rank).map(|at| b[at]);
        match (x, y) {
            (Some(x), Some(y)) => shape.push(cx.broadcast_dim(x, y)?),
            (x, y) => shape.extend(x.or(y).map(|only| only.dim)),
        }
    }
    if a.len() > 1 {
        shape.push(a[a.len() - 2].dim);
    }
    if b.len() > 1 {
        shape.push(b[b.len() - 1].dim);
    }
    cx.set_shape(Out(0), &shape)
}

/// Scales and zero points of operands and of the product. Source: QLinearMatMul, `a_scale` to `y_zero_point`.
fn qlinear_scales(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    for (at, operand, side) in [(1, In(0), Side::Rows), (4, In(3), Side::Columns), (6, Out(0), Side::Rows)] {
        parameter(cx, In(at), operand, side)?;
        parameter(cx, In(at + 1), operand, side)?;
    }
    Ok(())
}

/// The slices of an operand that have quantisation parameters of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Rows,
    Columns,
}

/// Requires a quantisation parameter to be a single number, one per row or column of a matrix, or a tensor
/// that has 1 in place of the other axis of the matrices. Source: MatMulInteger, `a_zero_point`,
/// `b_zero_point`.
pub(super) fn parameter(cx: &mut RuleCx<'_, '_>, port: Port, operand: Port, side: Side) -> RuleResult {
    let relation = ExtentRelation::of_broadcast(match side {
        Side::Rows => "are one number, or one for each row",
        Side::Columns => "are one number, or one for each column",
    });
    let (Some(numbers), Some(operand_shape)) = (cx.shape(port), cx.shape(operand)) else { return Ok(()) };
    let rank = operand_shape.len();
    let (own, other) = match (rank.checked_sub(2), side) {
        (Some(rows), Side::Rows) => (rows, rows + 1),
        (Some(rows), Side::Columns) => (rows + 1, rows),
        // A vector is one row, or one column.
        (None, Side::Rows | Side::Columns) => (rank, rank),
    };
    match numbers[..] {
        [] => Ok(()),
        [only] if rank == 2 => {
            cx.require_one_or_equal((port, 0, only), (operand, own, operand_shape[own]), relation)
        }
        [only] => {
            cx.require_equal((port, 0, only), DimId::ONE, "is the number of parameters of a tensor").map(drop)
        }
        [..] if numbers.len() == rank => {
            for (axis, dim) in numbers.iter().enumerate() {
                let at = (port, axis, *dim);
                if axis == other {
                    cx.require_equal(at, DimId::ONE, "is the number of parameters along this axis")?;
                } else {
                    cx.require_one_or_equal(at, (operand, axis, operand_shape[axis]), relation)?;
                }
            }
            Ok(())
        }
        [..] => {
            let message = "a parameter has no axis, one axis, or as many axes as its operand";
            Err(RuleError::shapes(&[port, operand], message))
        }
    }
}

/// `C` broadcasts to the product of `A'` and `B'`. Source: Gemm, `transA`, `transB`, `C`.
fn gemm(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    cx.require_rank(In(0), 2..=2)?;
    cx.require_rank(In(1), 2..=2)?;
    let (flip_a, flip_b) = (cx.attr_flag("transA")?, cx.attr_flag("transB")?);
    let (a, b) = (cx.shape(In(0)), cx.shape(In(1)));
    if let (Some(a), Some(b)) = (&a, &b) {
        let (inner_a, inner_b) = (usize::from(!flip_a), usize::from(flip_b));
        cx.require_equal((In(0), inner_a, a[inner_a]), (In(1), inner_b, b[inner_b]), "are contracted")?;
    }
    let rows = a.as_ref().map(|a| a[usize::from(flip_a)]);
    let rows = rows.unwrap_or_else(|| unknown_extent(cx, Out(0), 0));
    let columns = b.as_ref().map(|b| b[usize::from(!flip_b)]);
    let columns = columns.unwrap_or_else(|| unknown_extent(cx, Out(0), 1));
    if a.is_some() || b.is_some() {
        cx.set_shape(Out(0), &[rows, columns])?;
    }
    // Before version 7 the bias broadcasts only with an attribute, by other rules.
    if cx.since_version() >= 7
        && let Some(bias) = cx.shape(In(2))
    {
        if bias.len() > 2 {
            return Err(cx.wrong_rank(In(2), ..=2));
        }
        let target = [rows, columns];
        for (axis, dim) in bias.iter().enumerate() {
            let at = 2 - bias.len() + axis;
            let relation = ExtentRelation::of_broadcast("must match, as only `C` is broadcast");
            cx.require_one_or_equal((In(2), axis, *dim), (Out(0), at, target[at]), relation)?;
        }
    }
    Ok(())
}

/// One number per square matrix in the last two axes. Source: Det.
fn det(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    let Some(mut shape) = cx.shape_of_rank(In(0), 2..)? else { return Ok(()) };
    let rank = shape.len();
    let relation = "are the sides of a square matrix";
    cx.require_equal((In(0), rank - 2, shape[rank - 2]), (In(0), rank - 1, shape[rank - 1]), relation)?;
    shape.truncate(rank - 2);
    cx.set_shape(Out(0), &shape)
}
