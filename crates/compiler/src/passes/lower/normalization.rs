//! Normalisation by means and variances.

use super::form::{Form, Lowered, Operand, OrRefusal, bounded, fixed, known_total, refuse};
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
pub(super) fn per_channel(x: Operand<'_>, rank: usize) -> Operand<'_> {
    let mut shape = vec![-1];
    shape.extend(vec![1; rank.saturating_sub(2)]);
    x.reshape(&shape)
}

fn mean<'f>(x: Operand<'f>, axes: &[usize]) -> Operand<'f> {
    x.reduce("ReduceMean", axes, true)
}

fn batch(f: Form<'_>) -> Lowered<'_> {
    if f.int("training_mode", 0) != 0 || f.is_output_used(1) || f.int("spatial", 1) == 0 {
        return refuse("it computes the statistics of the batch");
    }
    // These attributes concern training only.
    f.ignore_attributes(&["momentum", "is_test"]);
    let x = f.real(0)?;
    let rank = x.rank()?;
    let parameter = |at: usize| Ok(per_channel(f.real(at)?.cast(x.dtype()), rank));
    let (scale, bias, mean, variance) = (parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
    let deviation = (variance + x.attribute("epsilon", 1e-5)).sqrt();
    Ok((x - mean) * (scale / deviation) + bias)
}

/// Normalised values, the mean and the inverse standard deviation.
struct Normal<'f> {
    y: Operand<'f>,
    mean: Operand<'f>,
    inverse: Operand<'f>,
}

fn normal<'f>(x: Operand<'f>, axes: &[usize]) -> Normal<'f> {
    let center = mean(x, axes);
    let from = x - center;
    let variance = mean(from * from, axes);
    let inverse = 1.0 / (variance + x.attribute("epsilon", 1e-5)).sqrt();
    Normal { y: from * inverse, mean: center, inverse }
}

/// Applies the inputs for the scale and the bias of each channel.
fn scaled(y: Operand<'_>) -> Lowered<'_> {
    let (f, rank) = (y.form, y.rank()?);
    Ok(y * per_channel(f.real(1)?, rank) + per_channel(f.real(2)?, rank))
}

fn instance(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let axes: Vec<usize> = (2..x.rank()?).collect();
    if axes.is_empty() {
        return refuse("its input has no spatial axes");
    }
    scaled(normal(x, &axes).y)
}

/// Statistics are computed in `f32`, unless the node specifies another type.
fn in_single(f: Form<'_>) -> OrRefusal<()> {
    match f.int("stash_type", 1) {
        1 => Ok(()),
        other => refuse(format!("it computes in element type {other}")),
    }
}

/// The axes from the attribute `axis` on.
fn last_axes(x: Operand<'_>) -> OrRefusal<Vec<usize>> {
    let rank = x.rank()?;
    Ok((x.form.axis(x.form.int("axis", -1), rank)?..rank).collect())
}

fn layer(f: Form<'_>) -> Lowered<'_> {
    in_single(f)?;
    let x = f.real(0)?;
    let Normal { y, mean, inverse } = normal(x, &last_axes(x)?);
    let mut y = y * f.real(1)?;
    if let Some(bias) = f.optional_real(2)? {
        y = y + bias;
    }
    f.result(1, mean);
    f.result(2, inverse);
    Ok(y)
}

fn rms(f: Form<'_>) -> Lowered<'_> {
    in_single(f)?;
    let x = f.real(0)?;
    let root = (mean(x * x, &last_axes(x)?) + x.attribute("epsilon", 1e-5)).sqrt();
    Ok(x / root * f.real(1)?)
}

fn group(f: Form<'_>) -> Lowered<'_> {
    in_single(f)?;
    let x = f.real(0)?;
    let groups = f.int("num_groups", 1);
    let channels = x.extent(1)?;
    if groups < 1 || channels % groups != 0 {
        return refuse(format!("{groups} groups do not divide {channels} channels"));
    }
    let shape = x.shape().unwrap_or_default();
    let rest = known_total(&shape[2..]).and_then(|rest| rest.checked_mul(channels / groups));
    let grouped = x.reshape_to(&[shape[0].clone(), fixed(groups), fixed(rest.unwrap_or(-1))])?;
    let y = normal(grouped, &[2]).y;
    // Up to version 20 the scale is per group, later per channel.
    if f.version < 21 { scaled(y)?.reshape_to(&shape) } else { scaled(y.reshape_to(&shape)?) }
}

fn mean_variance(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let axes = f.axes(&f.ints("axes").unwrap_or_else(|| vec![0, 2, 3]), x.rank()?)?;
    let from = x - mean(x, &axes);
    Ok(from / (mean(from * from, &axes).sqrt() + 1e-9))
}

/// A row of zeros is unchanged.
fn lp<'f>(f: Form<'f>) -> Lowered<'f> {
    let x = f.real(0)?;
    let axis = f.axis(f.int("axis", -1), x.rank()?)?;
    let sum = |terms: Operand<'f>| terms.reduce("ReduceSum", &[axis], true);
    let norm = match f.int("p", 2) {
        1 => sum(x.abs()),
        2 => sum(x * x).sqrt(),
        p => return refuse(format!("`p` = {p} is neither 1 nor 2")),
    };
    Ok(x / norm.greater(0.0).select(norm, 1.0))
}

/// The sum of squares of the channels around each channel.
fn lrn(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let (rank, channels, size) = (x.rank()?, x.extent(1)?, f.int("size", 1));
    if size < 1 || channels < 1 {
        return refuse("it has no channels");
    }
    bounded(channels * size)?;
    let positions: Vec<i64> =
        (0..channels).flat_map(|at| (0..size).map(move |k| at + k - (size - 1) / 2)).collect();
    let indices: Vec<i64> = positions.iter().map(|position| (*position).clamp(0, channels - 1)).collect();
    let inside: Vec<bool> = positions.iter().map(|position| (0..channels).contains(position)).collect();
    let windows = (x * x).gather(1, &[channels, size], &indices);
    let dims = [vec![channels, size], vec![1; rank - 2]].concat();
    let sum = f.mask(&dims, &inside).select(windows, 0.0).reduce("ReduceSum", &[2], false);
    let scale = f.float("alpha", 1e-4) / size as f64;
    let base = x.attribute("bias", 1.0) + scale * sum;
    Ok(x / base.pow(x.attribute("beta", 0.75)))
}
