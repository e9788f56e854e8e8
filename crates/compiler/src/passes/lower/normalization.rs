//! Normalisation by means and variances.

use super::form::{Form, Lowered, Operand, known_total, refuse};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("BatchNormalization", batch),
    rule("InstanceNormalization", instance),
    rule("LayerNormalization", layer),
    rule("GroupNormalization", group),
    rule("RMSNormalization", rms),
    rule("MeanVarianceNormalization", mean_variance),
    rule("LpNormalization", lp),
    rule("LRN", lrn),
];

/// Reshapes a value per channel to `rank` axes, with the channels on axis 1.
pub(super) fn per_channel(f: &mut Form<'_>, x: &Operand, rank: usize) -> Operand {
    let mut shape = vec![-1];
    shape.extend(vec![1; rank.saturating_sub(2)]);
    f.reshape(x, &shape)
}

fn batch(f: &mut Form<'_>) -> Lowered {
    if f.int("training_mode", 0) != 0 || f.wants(1) || f.int("spatial", 1) == 0 {
        return refuse("it computes the statistics of the batch");
    }
    // These attributes concern training only.
    f.pass_over(&["momentum", "is_test"]);
    let x = f.real(0)?;
    let rank = x.rank()?;
    let mut parameters = Vec::new();
    for at in 1..5 {
        let parameter = f.real(at)?;
        let parameter = f.cast(&parameter, x.dtype());
        parameters.push(per_channel(f, &parameter, rank));
    }
    let [scale, bias, mean, variance] = &parameters[..] else { return refuse("it has no parameters") };
    let epsilon = f.float("epsilon", 1e-5);
    let epsilon = f.number(&x, epsilon);
    let sum = f.add(variance, &epsilon);
    let deviation = f.sqrt(&sum);
    let from = f.sub(&x, mean);
    let ratio = f.div(scale, &deviation);
    let scaled = f.mul(&from, &ratio);
    Ok(f.add(&scaled, bias))
}

/// Returns the deviations from the mean, the mean, and the inverse standard deviation.
struct Normal {
    y: Operand,
    mean: Operand,
    inverse: Operand,
}

fn normal(f: &mut Form<'_>, x: &Operand, axes: &[usize], epsilon: f64) -> Normal {
    let mean = f.reduce("ReduceMean", x, axes, true);
    let from = f.sub(x, &mean);
    let square = f.mul(&from, &from);
    let variance = f.reduce("ReduceMean", &square, axes, true);
    let (epsilon, one) = (f.number(x, epsilon), f.number(x, 1.0));
    let sum = f.add(&variance, &epsilon);
    let deviation = f.sqrt(&sum);
    let inverse = f.div(&one, &deviation);
    let y = f.mul(&from, &inverse);
    Normal { y, mean, inverse }
}

fn instance(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let rank = x.rank()?;
    let axes: Vec<usize> = (2..rank).collect();
    if axes.is_empty() {
        return refuse("its input has no spatial axes");
    }
    let epsilon = f.float("epsilon", 1e-5);
    let y = normal(f, &x, &axes, epsilon).y;
    let (scale, bias) = (f.real(1)?, f.real(2)?);
    let (scale, bias) = (per_channel(f, &scale, rank), per_channel(f, &bias, rank));
    let scaled = f.mul(&y, &scale);
    Ok(f.add(&scaled, &bias))
}

/// Statistics are computed in `f32`, unless the node specifies another type.
fn in_single(f: &Form<'_>) -> Lowered<()> {
    match f.int("stash_type", 1) {
        1 => Ok(()),
        other => refuse(format!("it computes in element type {other}")),
    }
}

/// The axes from the attribute `axis` on.
fn last_axes(f: &Form<'_>, x: &Operand) -> Lowered<Vec<usize>> {
    let rank = x.rank()?;
    Ok((f.axis(f.int("axis", -1), rank)?..rank).collect())
}

fn layer(f: &mut Form<'_>) -> Lowered {
    in_single(f)?;
    let x = f.real(0)?;
    let axes = last_axes(f, &x)?;
    let epsilon = f.float("epsilon", 1e-5);
    let Normal { y, mean, inverse } = normal(f, &x, &axes, epsilon);
    let scale = f.real(1)?;
    let mut y = f.mul(&y, &scale);
    if let Some(bias) = f.optional_real(2)? {
        y = f.add(&y, &bias);
    }
    f.result(1, &mean);
    f.result(2, &inverse);
    Ok(y)
}

fn rms(f: &mut Form<'_>) -> Lowered {
    in_single(f)?;
    let x = f.real(0)?;
    let axes = last_axes(f, &x)?;
    let epsilon = f.float("epsilon", 1e-5);
    let square = f.mul(&x, &x);
    let mean = f.reduce("ReduceMean", &square, &axes, true);
    let epsilon = f.number(&x, epsilon);
    let sum = f.add(&mean, &epsilon);
    let root = f.sqrt(&sum);
    let scale = f.real(1)?;
    let y = f.div(&x, &root);
    Ok(f.mul(&y, &scale))
}

fn group(f: &mut Form<'_>) -> Lowered {
    in_single(f)?;
    let x = f.real(0)?;
    let rank = x.rank()?;
    let groups = f.int("num_groups", 1);
    let channels = x.extent(1)?;
    if groups < 1 || channels % groups != 0 {
        return refuse(format!("{groups} groups do not divide {channels} channels"));
    }
    let shape = x.shape().unwrap_or_default();
    let grouped = f.reshape_to(
        &x,
        &[
            shape[0],
            Some(groups),
            known_total(&shape[2..]).and_then(|rest| rest.checked_mul(channels / groups)),
        ],
    )?;
    let epsilon = f.float("epsilon", 1e-5);
    let y = normal(f, &grouped, &[2], epsilon).y;
    let (scale, bias) = (f.real(1)?, f.real(2)?);
    let apply = |f: &mut Form<'_>, y: &Operand, rank: usize| {
        let (scale, bias) = (per_channel(f, &scale, rank), per_channel(f, &bias, rank));
        let scaled = f.mul(y, &scale);
        f.add(&scaled, &bias)
    };
    // Up to version 20 the scale is per group, later per channel.
    let y = if f.version < 21 {
        let y = apply(f, &y, 3);
        f.reshape_to(&y, &shape)?
    } else {
        let y = f.reshape_to(&y, &shape)?;
        apply(f, &y, rank)
    };
    Ok(y)
}

fn mean_variance(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let axes = f.axes(&f.ints("axes").unwrap_or_else(|| vec![0, 2, 3]), x.rank()?)?;
    let mean = f.reduce("ReduceMean", &x, &axes, true);
    let from = f.sub(&x, &mean);
    let square = f.mul(&from, &from);
    let variance = f.reduce("ReduceMean", &square, &axes, true);
    let deviation = f.sqrt(&variance);
    let epsilon = f.number(&x, 1e-9);
    let below = f.add(&deviation, &epsilon);
    Ok(f.div(&from, &below))
}

/// A row of zeros is unchanged.
fn lp(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let axis = f.axis(f.int("axis", -1), x.rank()?)?;
    let norm = match f.int("p", 2) {
        1 => {
            let size = f.abs(&x);
            f.reduce("ReduceSum", &size, &[axis], true)
        }
        2 => {
            let square = f.mul(&x, &x);
            let sum = f.reduce("ReduceSum", &square, &[axis], true);
            f.sqrt(&sum)
        }
        p => return refuse(format!("`p` = {p} is neither 1 nor 2")),
    };
    let one = f.number(&x, 1.0);
    let positive = f.is_positive(&norm);
    let norm = f.select(&positive, &norm, &one);
    Ok(f.div(&x, &norm))
}

/// The sum of squares of the channels around each channel.
fn lrn(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let (rank, channels, size) = (x.rank()?, x.extent(1)?, f.int("size", 1));
    if size < 1 || channels < 1 {
        return refuse("it has no channels");
    }
    super::form::bounded(channels * size)?;
    let positions: Vec<i64> =
        (0..channels).flat_map(|at| (0..size).map(move |k| at + k - (size - 1) / 2)).collect();
    let indices: Vec<i64> = positions.iter().map(|position| (*position).clamp(0, channels - 1)).collect();
    let inside: Vec<bool> = positions.iter().map(|position| (0..channels).contains(position)).collect();
    let square = f.mul(&x, &x);
    let windows = f.gather(&square, 1, &[channels, size], &indices);
    let mut dims = vec![channels, size];
    dims.extend(vec![1; rank - 2]);
    let (inside, zero) = (f.mask(&dims, &inside), f.number(&x, 0.0));
    let windows = f.select(&inside, &windows, &zero);
    let sum = f.reduce("ReduceSum", &windows, &[2], false);
    let (alpha, beta, bias) = (f.float("alpha", 1e-4), f.float("beta", 0.75), f.float("bias", 1.0));
    let (scale, beta, bias) = (f.number(&x, alpha / size as f64), f.number(&x, beta), f.number(&x, bias));
    let scaled = f.mul(&scale, &sum);
    let base = f.add(&bias, &scaled);
    let power = f.binary("Pow", &base, &beta);
    Ok(f.div(&x, &power))
}
