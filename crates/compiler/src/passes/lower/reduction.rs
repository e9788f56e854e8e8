//! Reductions and cumulative operators.

use typeloom_types::dtype::Dtype;

use super::form::{Form, Lowered, Operand, bounded, refuse};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("ReduceL1", |f| reduce(f, size, "ReduceSum", |_, y| y)),
    rule("ReduceL2", |f| reduce(f, square, "ReduceSum", |f, y| f.sqrt(&y))),
    rule("ReduceSumSquare", |f| reduce(f, square, "ReduceSum", |_, y| y)),
    rule("ReduceLogSum", |f| reduce(f, |_, x| x.clone(), "ReduceSum", |f, y| f.log(&y))),
    rule("ReduceLogSumExp", log_sum_exp),
    rule("ReduceProd", product),
    rule("ArgMax", |f| arg(f, true)),
    rule("ArgMin", |f| arg(f, false)),
    rule("CumSum", cum_sum),
];

/// Maximum number of nodes of an unrolled loop over an axis.
const MAX_UNROLLED: i64 = 256;

fn size(f: &mut Form<'_>, x: &Operand) -> Operand {
    f.abs(x)
}

fn square(f: &mut Form<'_>, x: &Operand) -> Operand {
    f.mul(x, x)
}

/// The axes of a reduction.
enum Over {
    Axes(Vec<usize>),
    /// Axes that are known at run time only.
    Found(Operand),
}

/// Reads the axes from the attribute or input, or takes all axes. For an empty list the node's attribute
/// decides.
fn over(f: &Form<'_>, x: &Operand) -> Lowered<Over> {
    let nothing_if_empty = f.int("noop_with_empty_axes", 0) != 0;
    let given = match f.ints("axes") {
        Some(axes) => Some(axes),
        None => match (f.optional(1)?, f.constant_ints(1)) {
            (None, _) => None,
            (Some(_), Ok(Some(axes))) => Some(axes),
            (Some(axes), Ok(None) | Err(_)) => return Ok(Over::Found(axes)),
        },
    };
    let rank = x.rank()?;
    match given {
        Some(axes) if !axes.is_empty() => f.axes(&axes, rank).map(Over::Axes),
        Some(_) | None if nothing_if_empty => Ok(Over::Axes(Vec::new())),
        Some(_) | None => Ok(Over::Axes((0..rank).collect())),
    }
}

fn reduce(
    f: &mut Form<'_>,
    before: impl Fn(&mut Form<'_>, &Operand) -> Operand,
    op: &str,
    after: impl Fn(&mut Form<'_>, Operand) -> Operand,
) -> Lowered {
    let x = f.input(0)?;
    let floats = matches!(x.dtype(), Dtype::F16 | Dtype::BF16);
    let x = if floats { f.real(0)? } else { x };
    let keep = f.int("keepdims", 1) != 0;
    let over = over(f, &x)?;
    let terms = before(f, &x);
    let sum = match &over {
        Over::Axes(axes) => f.reduce(op, &terms, axes, keep),
        // An empty list at run time means all axes, as for the sum.
        Over::Found(axes) if f.int("noop_with_empty_axes", 0) == 0 && f.version >= 13 => {
            f.sum_over(&terms, axes, keep)
        }
        Over::Found(_) => return refuse("its axes are found when it runs"),
    };
    Ok(after(f, sum))
}

/// The maximum is subtracted first, so that no power overflows.
fn log_sum_exp(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let keep = f.int("keepdims", 1) != 0;
    let axes = match over(f, &x)? {
        Over::Axes(axes) => axes,
        Over::Found(axes) if f.int("noop_with_empty_axes", 0) == 0 && f.version >= 13 => {
            let power = f.exp(&x);
            let sum = f.sum_over(&power, &axes, keep);
            return Ok(f.log(&sum));
        }
        Over::Found(_) => return refuse("its axes are found when it runs"),
    };
    let most = f.reduce("ReduceMax", &x, &axes, true);
    let bounds = (f.number(&x, f64::INFINITY), f.number(&x, 0.0));
    let size = f.abs(&most);
    let finite = f.less(&size, &bounds.0);
    let most = f.select(&finite, &most, &bounds.1);
    let from = f.sub(&x, &most);
    let power = f.exp(&from);
    let sum = f.reduce("ReduceSum", &power, &axes, true);
    let log = f.log(&sum);
    let whole = f.add(&log, &most);
    // The sum of one element removes the axes.
    Ok(if keep { whole } else { f.reduce("ReduceSum", &whole, &axes, false) })
}

fn product(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let Over::Axes(axes) = over(f, &x)? else { return refuse("its axes are found when it runs") };
    let keep = f.int("keepdims", 1) != 0;
    let mut y = x.clone();
    for axis in &axes {
        let extent = x.extent(*axis)?;
        if !(1..=MAX_UNROLLED).contains(&extent) {
            return refuse(format!("a product of {extent} factors is not written out"));
        }
        let mut result = f.slice(&y, *axis, 0, 1);
        for at in 1..extent {
            let next = f.slice(&y, *axis, at, at + 1);
            result = f.mul(&result, &next);
        }
        y = result;
    }
    if !keep && !axes.is_empty() {
        y = f.reduce("ReduceSum", &y, &axes, false);
    }
    Ok(y)
}

/// The first or last position of the maximum.
fn arg(f: &mut Form<'_>, greatest: bool) -> Lowered {
    let x = f.input(0)?;
    let axis = f.axis(f.int("axis", 0), x.rank()?)?;
    let extent = x.extent(axis)?;
    let (keep, last) = (f.int("keepdims", 1) != 0, f.int("select_last_index", 0) != 0);
    let carrier = f.truth_dtype();
    let mut dims = vec![1; x.rank()?];
    dims[axis] = extent;
    let numbers: Vec<f64> = (0..bounded(extent)?).map(|at| at as f64).collect();
    if extent > 1 << 11 && matches!(carrier, Dtype::F16) || extent > 1 << 8 && matches!(carrier, Dtype::BF16)
    {
        return refuse(format!("{} does not count to {extent}", carrier.type_node().id));
    }
    let numbers = f.tensor(carrier, &dims, &numbers);
    let best = f.reduce(if greatest { "ReduceMax" } else { "ReduceMin" }, &x, &[axis], true);
    let worse = if greatest { f.less(&x, &best) } else { f.greater(&x, &best) };
    let outside = f.literal(carrier, if last { -1.0 } else { extent as f64 });
    let candidates = f.select(&worse, &outside, &numbers);
    let found = f.reduce(if last { "ReduceMax" } else { "ReduceMin" }, &candidates, &[axis], keep);
    Ok(f.cast(&found, Dtype::I64))
}

fn cum_sum(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let rank = x.rank()?;
    let axis = match f.constant_ints(1) {
        Ok(Some(axis)) if axis.len() == 1 => f.axis(axis[0], rank)?,
        Ok(_) | Err(_) if rank == 1 => 0,
        Ok(_) | Err(_) => return refuse("its axis is found when it runs"),
    };
    let extent = x.extent(axis)?;
    if !(1..=MAX_UNROLLED).contains(&extent) {
        return refuse(format!("a sum of {extent} terms is not written out"));
    }
    let (exclusive, reverse) = (f.int("exclusive", 0) != 0, f.int("reverse", 0) != 0);
    let mut order: Vec<i64> = (0..extent).collect();
    if reverse {
        order.reverse();
    }
    let mut parts: Vec<Operand> = Vec::new();
    let mut so_far: Option<Operand> = None;
    for at in order {
        let term = f.slice(&x, axis, at, at + 1);
        let sum = match &so_far {
            Some(sum) => f.add(sum, &term),
            None => term.clone(),
        };
        parts.push(match (exclusive, so_far) {
            (false, _) => sum.clone(),
            (true, Some(before)) => before,
            (true, None) => {
                let (zero, never) = (f.number(&x, 0.0), f.mask(&[], &[false]));
                f.select(&never, &term, &zero)
            }
        });
        so_far = Some(sum);
    }
    if reverse {
        parts.reverse();
    }
    Ok(f.concat(&parts, axis))
}
