//! Products of matrices: MatMul and its quantised forms, Gemm, Einsum, Det.

use smallvec::SmallVec;
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{DimVec, Extent, ExtentRelation, Port, Rule, RuleCx, RuleError, RuleResult};

use super::common::unknown_extent;
use super::{Entry, rule};

mod einsum;

/// As MatMul, for the quantised tensors among the inputs. Source: QLinearMatMul, `a` and `b`.
const QLINEAR_MATMUL: Rule = Rule { name: "qlinearmatmul.contract", run: |cx| contract(cx, In(0), In(3)) };

pub(super) const OPERATORS: &[Entry] = &[
    Entry::of("Det", &[rule("det.square", det)]),
    Entry::of("Einsum", &[rule("einsum.letters", einsum::einsum)]),
    Entry::of("Gemm", &[rule("gemm.contract", gemm)]),
    // The last axis of the first operand and the second to last of the second are contracted; leading axes
    // broadcast; an operand of rank 1 is a row or a column. Source: MatMul, as `numpy.matmul`.
    Entry::of("MatMul MatMulInteger", &[rule("matmul.contract", |cx| contract(cx, In(0), In(1)))]),
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

/// Scales and zero points are single numbers, or one per row or column. Source: QLinearMatMul, `a_scale` to
/// `y_zero_point`; MatMulInteger, `a_zero_point`.
fn qlinear_scales(cx: &mut RuleCx<'_, '_>) -> RuleResult {
    for (scale, zero_point) in [(1, 2), (4, 5), (6, 7)] {
        let (Some(a), Some(b)) = (cx.shape(In(scale)), cx.shape(In(zero_point))) else { continue };
        if a.len() != b.len() {
            let message = "a scale and its zero point must have one shape";
            return Err(RuleError::shapes(&[In(scale), In(zero_point)], message));
        }
        cx.require_equal_axes((In(scale), &a), (In(zero_point), &b), 0..a.len(), "belong together")?;
    }
    Ok(())
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
            if cx.const_dim(*dim) == Some(1) {
                continue;
            }
            let wide = cx.broadcast_dim((Out(0), at, target[at]), (In(2), axis, *dim))?;
            if cx.const_dim(target[at]) == Some(1) && cx.const_dim(wide).is_some_and(|extent| extent != 1) {
                let relation = ExtentRelation::of_broadcast("must match, as only `C` is broadcast");
                cx.require_equal((Out(0), at, target[at]), (In(2), axis, *dim), relation)?;
            }
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
