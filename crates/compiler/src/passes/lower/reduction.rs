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
enum Over<'f> {
    Axes(Vec<usize>),
    /// Axes that are known at run time only; an empty list means all axes, as for `ReduceSum`.
    Found(Operand<'f>),
}

/// Reads the axes from the attribute or input, or takes all axes. For an empty list the node's attribute
/// decides.
fn over(x: Operand<'_>) -> OrRefusal<Over<'_>> {
    let f = x.form;
    let nothing_if_empty = f.int("noop_with_empty_axes", 0) != 0;
    let given = match f.ints("axes") {
        Some(axes) => Some(axes),
        None => match (f.optional(1)?, f.constant_ints(1)) {
            (None, _) => None,
            (Some(_), Ok(Some(axes))) => Some(axes),
            (Some(axes), Ok(None) | Err(_)) if !nothing_if_empty && f.version >= 13 => {
                return Ok(Over::Found(axes));
            }
            (Some(_), Ok(None) | Err(_)) => return refuse("its axes are found when it runs"),
        },
    };
    let rank = x.rank()?;
    match given {
        Some(axes) if !axes.is_empty() => f.axes(&axes, rank).map(Over::Axes),
        Some(_) | None if nothing_if_empty => Ok(Over::Axes(Vec::new())),
        Some(_) | None => Ok(Over::Axes((0..rank).collect())),
    }
}

fn keeps(f: Form<'_>) -> bool {
    f.int("keepdims", 1) != 0
}

/// The sum of terms over the axes of the node, whose input is `x`.
fn sum<'f>(x: Operand<'f>, terms: Operand<'f>) -> Lowered<'f> {
    Ok(match over(x)? {
        Over::Axes(axes) => terms.reduce("ReduceSum", &axes, keeps(x.form)),
        Over::Found(axes) => terms.sum_over(axes, keeps(x.form)),
    })
}

/// The maximum is subtracted first, so that no power overflows.
fn log_sum_exp(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let keep = keeps(f);
    let axes = match over(x)? {
        Over::Axes(axes) => axes,
        Over::Found(axes) => return Ok(x.exp().sum_over(axes, keep).log()),
    };
    let most = x.reduce("ReduceMax", &axes, true);
    let most = most.abs().less(f64::INFINITY).select(most, 0.0);
    let whole = (x - most).exp().reduce("ReduceSum", &axes, true).log() + most;
    // The sum of one element removes the axes.
    Ok(if keep { whole } else { whole.reduce("ReduceSum", &axes, false) })
}

/// Refuses extents of more elements than a form computes one after the other.
fn unrolled(extent: i64, loop_name: &str) -> OrRefusal<i64> {
    match (1..=MAX_UNROLLED).contains(&extent) {
        true => Ok(extent),
        false => refuse(format!("a {loop_name} is not written out")),
    }
}

fn product(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let Over::Axes(axes) = over(x)? else { return refuse("its axes are found when it runs") };
    let mut y = x;
    for axis in &axes {
        let extent = x.extent(*axis)?;
        let extent = unrolled(extent, &format!("product of {extent} factors"))?;
        y = (1..extent).fold(y.slice(*axis, 0, 1), |result, at| result * y.slice(*axis, at, at + 1));
    }
    Ok(if keeps(f) { y } else { y.reduce("ReduceSum", &axes, false) })
}

/// The first or last position of the best element.
fn arg<'f>(f: Form<'f>, best: &str, is_worse: fn(Operand<'f>, Operand<'f>) -> Operand<'f>) -> Lowered<'f> {
    let x = f.input(0)?;
    let axis = f.axis(f.int("axis", 0), x.rank()?)?;
    let extent = x.extent(axis)?;
    let carrier = f.truth_dtype();
    if extent > 1 << 11 && matches!(carrier, Dtype::F16) || extent > 1 << 8 && matches!(carrier, Dtype::BF16)
    {
        return refuse(format!("{} does not count to {extent}", carrier.type_node().id));
    }
    let numbers = f.counted(carrier, &along(x.rank()?, axis, extent))?;
    let worse = is_worse(x, x.reduce(best, &[axis], true));
    let (outside, pick) =
        if f.int("select_last_index", 0) != 0 { (-1.0, "ReduceMax") } else { (extent as f64, "ReduceMin") };
    let candidates = worse.select(outside, numbers);
    Ok(candidates.reduce(pick, &[axis], keeps(f)).cast(Dtype::I64))
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
