//! Reductions and cumulative operators.

use typeloom_types::dtype::Dtype;

use super::form::{Form, Lowered, Operand, OrRefusal, along, refuse};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("ReduceL1", |f| f.widened(0).and_then(|x| sum(x, x.abs()))),
    rule("ReduceL2", |f| f.widened(0).and_then(|x| Ok(sum(x, x * x)?.sqrt()))),
    rule("ReduceSumSquare", |f| f.widened(0).and_then(|x| sum(x, x * x))),
    rule("ReduceLogSum", |f| f.widened(0).and_then(|x| Ok(sum(x, x)?.log()))),
    rule("ReduceLogSumExp", log_sum_exp),
    rule("ReduceProd", product),
    rule("ArgMax", |f| arg(f, "ReduceMax", Operand::less)),
    rule("ArgMin", |f| arg(f, "ReduceMin", Operand::greater)),
    rule("CumSum", cum_sum),
];

/// Maximum number of nodes of an unrolled loop over an axis.
const MAX_UNROLLED: i64 = 256;

/// The axes of a reduction.
enum ReducedAxes<'f> {
    Axes(Vec<usize>),
    /// Axes that are known only at run time; an empty list means all axes, as for `ReduceSum`.
    Dynamic(Operand<'f>),
}

/// The axes in the attribute or input. A missing or empty list means all axes, or none if
/// `noop_with_empty_axes` is set.
fn reduced_axes(x: Operand<'_>) -> OrRefusal<ReducedAxes<'_>> {
    let f = x.form;
    let nothing_if_empty = f.int("noop_with_empty_axes", 0) != 0;
    let given = match f.ints("axes") {
        Some(axes) => Some(axes),
        None => match (f.optional(1)?, f.constant_ints(1)) {
            (None, _) => None,
            (Some(_), Ok(Some(axes))) => Some(axes),
            (Some(axes), Ok(None) | Err(_)) if !nothing_if_empty && f.version >= 13 => {
                return Ok(ReducedAxes::Dynamic(axes));
            }
            (Some(_), Ok(None) | Err(_)) => return refuse("its axes are found when it runs"),
        },
    };
    let rank = x.rank()?;
    match given {
        Some(axes) if !axes.is_empty() => f.axes(&axes, rank).map(ReducedAxes::Axes),
        Some(_) | None if nothing_if_empty => Ok(ReducedAxes::Axes(Vec::new())),
        Some(_) | None => Ok(ReducedAxes::Axes((0..rank).collect())),
    }
}

fn keep_dims(f: Form<'_>) -> bool {
    f.int("keepdims", 1) != 0
}

/// The sum of terms over the axes of the node, whose input is `x`.
fn sum<'f>(x: Operand<'f>, terms: Operand<'f>) -> Lowered<'f> {
    Ok(match reduced_axes(x)? {
        ReducedAxes::Axes(axes) => terms.reduce("ReduceSum", &axes, keep_dims(x.form)),
        ReducedAxes::Dynamic(axes) => terms.sum_over(axes, keep_dims(x.form)),
    })
}

/// The maximum is subtracted first, so that no exponential overflows.
fn log_sum_exp(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let keep = keep_dims(f);
    let axes = match reduced_axes(x)? {
        ReducedAxes::Axes(axes) => axes,
        ReducedAxes::Dynamic(axes) => return Ok(x.exp().sum_over(axes, keep).log()),
    };
    let max = x.reduce("ReduceMax", &axes, true);
    let max = max.abs().less(f64::INFINITY).select(max, 0.0);
    let result = (x - max).exp().reduce("ReduceSum", &axes, true).log() + max;
    // The axes have one element each; a sum removes them.
    Ok(if keep { result } else { result.reduce("ReduceSum", &axes, false) })
}

/// Refuses an extent that is 0 or above [`MAX_UNROLLED`].
fn unrolled(extent: i64, loop_name: &str) -> OrRefusal<i64> {
    match (1..=MAX_UNROLLED).contains(&extent) {
        true => Ok(extent),
        false => refuse(format!("a {loop_name} is not written out")),
    }
}

fn product(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let ReducedAxes::Axes(axes) = reduced_axes(x)? else { return refuse("its axes are found when it runs") };
    let mut y = x;
    for axis in &axes {
        let extent = x.extent(*axis)?;
        let extent = unrolled(extent, &format!("product of {extent} factors"))?;
        y = (1..extent).fold(y.slice(*axis, 0, 1), |result, at| result * y.slice(*axis, at, at + 1));
    }
    Ok(if keep_dims(f) { y } else { y.reduce("ReduceSum", &axes, false) })
}

/// The first or last position of the greatest or least element, computed in a float type.
fn arg<'f>(f: Form<'f>, best: &str, is_worse: fn(Operand<'f>, Operand<'f>) -> Operand<'f>) -> Lowered<'f> {
    let x = f.input(0)?;
    let axis = f.axis(f.int("axis", 0), x.rank()?)?;
    let extent = x.extent(axis)?;
    let dtype = f.truth_dtype();
    if extent > 1 << 11 && matches!(dtype, Dtype::F16) || extent > 1 << 8 && matches!(dtype, Dtype::BF16) {
        return refuse(format!("{} does not count to {extent}", dtype.type_node().id));
    }
    let positions = f.iota(dtype, &along(x.rank()?, axis, extent))?;
    let worse = is_worse(x, x.reduce(best, &[axis], true));
    let (outside, pick) =
        if f.int("select_last_index", 0) != 0 { (-1.0, "ReduceMax") } else { (extent as f64, "ReduceMin") };
    let candidates = worse.select(outside, positions);
    Ok(candidates.reduce(pick, &[axis], keep_dims(f)).cast(Dtype::I64))
}

fn cum_sum(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let rank = x.rank()?;
    let axis = match f.constant_int(1) {
        Some(axis) => f.axis(axis, rank)?,
        None if rank == 1 => 0,
        None => return refuse("its axis is found when it runs"),
    };
    let extent = x.extent(axis)?;
    let extent = unrolled(extent, &format!("sum of {extent} terms"))?;
    let (exclusive, reverse) = (f.int("exclusive", 0) != 0, f.int("reverse", 0) != 0);
    let mut parts: Vec<Operand<'_>> = Vec::new();
    let mut so_far: Option<Operand<'_>> = None;
    for at in 0..extent {
        let at = if reverse { extent - 1 - at } else { at };
        let term = x.slice(axis, at, at + 1);
        let sum = so_far.map_or(term, |sum| sum + term);
        parts.push(match (exclusive, so_far) {
            (false, _) => sum,
            (true, Some(before)) => before,
            (true, None) => f.mask(&[], &[false]).select(term, 0.0),
        });
        so_far = Some(sum);
    }
    if reverse {
        parts.reverse();
    }
    Ok(parts[0].concat(&parts[1..], axis))
}
