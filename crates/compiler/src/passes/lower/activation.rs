//! Activations: elementwise functions, and functions that normalise along axes.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use typeloom_types::dtype::Dtype;

use super::form::{Form, Lowered, Operand, OrRefusal, fixed, refuse};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    // NaN is not less than 0 and is kept.
    rule("Relu", |f| f.input(0).map(|x| x.less(0.0).select(0.0, x))),
    rule("LeakyRelu", |f| f.real(0).map(|x| scale_negative(x, x.attribute("alpha", 0.01)))),
    rule("PRelu", |f| Ok(scale_negative(f.input(0)?, f.input(1)?))),
    rule("ThresholdedRelu", |f| f.real(0).map(|x| x.greater(x.attribute("alpha", 1.0)).select(x, 0.0))),
    rule("Elu", |f| f.real(0).map(|x| x.less(0.0).select(x.attribute("alpha", 1.0) * expm1(x), x))),
    rule("Celu", |f| f.real(0).map(celu)),
    rule("Selu", |f| f.real(0).map(selu)),
    rule("Sigmoid", |f| f.real(0).map(sigmoid)),
    rule("HardSigmoid", |f| f.real(0).map(|x| gate(x, f.float("alpha", 0.2), f.float("beta", 0.5)))),
    rule("HardSwish", |f| f.real(0).map(|x| x * gate(x, 1.0 / 6.0, 0.5))),
    rule("Softplus", |f| f.real(0).map(softplus)),
    rule("Softsign", |f| f.real(0).map(|x| x / (1.0 + x.abs()))),
    rule("Tanh", |f| f.real(0).map(tanh)),
    rule("Mish", |f| f.real(0).map(|x| x * tanh(softplus(x)))),
    rule("Swish", |f| f.real(0).map(|x| x * sigmoid(x.attribute("alpha", 1.0) * x))),
    rule("Gelu", gelu),
    rule("Erf", |f| f.real(0).and_then(erf)),
    rule("Shrink", |f| f.real(0).map(shrink)),
    rule("Clip", clip),
    rule("Dropout", dropout),
    rule("Softmax", softmax),
    rule("LogSoftmax", |f| f.real(0).and_then(|x| Ok(log_softmax_of(x, &normalised_axes(x)?)))),
    rule("Hardmax", hardmax),
];

fn scale_negative<'f>(x: Operand<'f>, slope: Operand<'f>) -> Operand<'f> {
    x.less(0.0).select(x * slope, x)
}

/// `exp(x) - 1`. Near 0, where the difference cancels, its series is used.
pub(super) fn expm1(x: Operand<'_>) -> Operand<'_> {
    let mut series = x.number(1.0);
    for divisor in (2..=9).rev() {
        series = 1.0 + x * (1.0 / f64::from(divisor)) * series;
    }
    near_zero(x, 0.25, x * series, x.exp() - 1.0)
}

/// `log(1 + x)` with Kahan's correction for the rounding of `1 + x`.
pub(super) fn log1p(x: Operand<'_>) -> Operand<'_> {
    let sum = 1.0 + x;
    let rounded = sum - 1.0;
    let lost = !rounded.abs().greater(0.0);
    let log = sum.log();
    let corrected = log * (x / lost.select(1.0, rounded));
    // For an infinite sum the correction would be a quotient of infinities.
    let far = x.greater(1e4).select(log, corrected);
    lost.select(x, far)
}

fn near_zero<'f>(x: Operand<'f>, bound: f64, near: Operand<'f>, far: Operand<'f>) -> Operand<'f> {
    x.abs().less(bound).select(near, far)
}

pub(super) fn sigmoid(x: Operand<'_>) -> Operand<'_> {
    1.0 / (1.0 + (-x).exp())
}

/// `1 - 2 / (exp(2 x) + 1)`, which does not overflow to NaN. Near 0, where the difference cancels, its series
/// is used.
fn tanh(x: Operand<'_>) -> Operand<'_> {
    const SERIES: [f64; 8] = [
        -929_569.0 / 638_512_875.0,
        21_844.0 / 6_081_075.0,
        -1_382.0 / 155_925.0,
        62.0 / 2_835.0,
        -17.0 / 315.0,
        2.0 / 15.0,
        -1.0 / 3.0,
        1.0,
    ];
    let near = x * (x * x).polynomial(&SERIES);
    let far = 1.0 - 2.0 / ((x * 2.0).exp() + 1.0);
    near_zero(x, 0.25, near, far)
}

/// `max(x, 0) + log(1 + exp(-|x|))`.
fn softplus(x: Operand<'_>) -> Operand<'_> {
    let log = log1p((-x.abs()).exp());
    x.less(0.0).select(0.0, x) + log
}

/// Accurate to 2e-7: the Maclaurin series up to 1, and formula 7.1.26 of Abramowitz and Stegun above it.
fn erf(x: Operand<'_>) -> Lowered<'_> {
    const FAR: [f64; 5] = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    if x.dtype() == Dtype::F64 {
        return refuse(
            "primitives compute the error function to 2e-7, which is not accurate enough for 64 bits",
        );
    }
    let square = x * x;
    let mut factorial = 1.0;
    let mut coefficients = vec![FRAC_2_SQRT_PI];
    for at in 1..12 {
        factorial *= -f64::from(at);
        coefficients.push(FRAC_2_SQRT_PI / (factorial * f64::from(2 * at + 1)));
    }
    coefficients.reverse();
    let near = x * square.polynomial(&coefficients);
    let t = 1.0 / (1.0 + x.abs() * 0.327_591_1);
    let far = 1.0 - t.polynomial(&FAR) * t * (-square).exp();
    let far = x.less(0.0).select(-far, far);
    Ok(near_zero(x, 1.0, near, far))
}

fn celu(x: Operand<'_>) -> Operand<'_> {
    let alpha = x.attribute("alpha", 1.0);
    x.less(0.0).select(alpha * expm1(x / alpha), x)
}

fn selu(x: Operand<'_>) -> Operand<'_> {
    let (alpha, gamma) = (x.form.float("alpha", 1.673_263_2), x.form.float("gamma", 1.050_701));
    x.greater(0.0).select(gamma * x, alpha * gamma * expm1(x))
}

/// `alpha x + beta`, limited to the numbers from 0 to 1.
fn gate(x: Operand<'_>, alpha: f64, beta: f64) -> Operand<'_> {
    let sum = alpha * x + beta;
    let raised = sum.less(0.0).select(0.0, sum);
    raised.greater(1.0).select(1.0, raised)
}

fn gelu(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let inner = match f.text("approximate", "none").as_str() {
        "none" => erf(x * FRAC_1_SQRT_2)?,
        "tanh" => tanh(FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * (x + 0.044_715 * (x * x * x))),
        other => return refuse(format!("`approximate` = `{other}` is not known")),
    };
    Ok(0.5 * x * (1.0 + inner))
}

fn shrink(x: Operand<'_>) -> Operand<'_> {
    let (bias, lambda) = (x.form.float("bias", 0.0), x.form.float("lambd", 0.5));
    let upper = x.greater(lambda).select(x - bias, 0.0);
    x.less(-lambda).select(x + bias, upper)
}

fn clip(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let bound = |at: usize, name: &str| match f.version >= 11 {
        true => f.optional(at),
        false => Ok(f.has(name).then(|| x.attribute(name, 0.0))),
    };
    let raised = bound(1, "min")?.map_or(x, |low| x.less(low).select(low, x));
    Ok(bound(2, "max")?.map_or(raised, |high| raised.greater(high).select(high, raised)))
}

/// The input, as outside of training.
fn dropout(f: Form<'_>) -> Lowered<'_> {
    if f.version < 7 && f.int("is_test", 0) == 0 {
        return refuse("it drops elements at random");
    }
    let keeps_all = f.constant(1).ok().flatten().is_some_and(|ratio| ratio == [0.0]);
    if !keeps_all && f.constant(2)?.is_some_and(|training| training != [0.0]) {
        return refuse("it drops elements at random");
    }
    // No element is dropped.
    f.ignore_attributes(&["ratio", "seed"]);
    let x = f.input(0)?;
    if f.is_output_used(1) {
        let shape: Vec<_> = x.extents()?.into_iter().map(fixed).collect();
        let one = f.literal(f.output_dtype(1).unwrap_or(Dtype::Bool), 1.0);
        f.result(1, one.expand(&shape)?);
    }
    Ok(x)
}

/// The axes that are normalised together: one axis, or before version 13 all axes from the given one on.
fn normalised_axes(x: Operand<'_>) -> OrRefusal<Vec<usize>> {
    let (f, rank) = (x.form, x.rank()?);
    let axis = f.int("axis", if f.version >= 13 { -1 } else { 1 });
    if rank == 0 {
        return Ok(Vec::new());
    }
    if f.version >= 13 {
        return Ok(vec![f.axis(axis, rank)?]);
    }
    Ok((f.axis(axis.min(rank as i64 - 1), rank)?..rank).collect())
}

fn minus_max<'f>(x: Operand<'f>, axes: &[usize]) -> Operand<'f> {
    x - x.reduce("ReduceMax", axes, true)
}

fn softmax(f: Form<'_>) -> Lowered<'_> {
    let x = f.floats(0)?;
    let axes = normalised_axes(x)?;
    let power = minus_max(x, &axes).exp();
    Ok(power / power.reduce("ReduceSum", &axes, true))
}

/// The logarithm of [`softmax`], along axes.
pub(super) fn log_softmax_of<'f>(x: Operand<'f>, axes: &[usize]) -> Operand<'f> {
    let from = minus_max(x, axes);
    from - from.exp().reduce("ReduceSum", axes, true).log()
}

/// 1 at the first maximum of a row, and 0 elsewhere.
fn hardmax(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    let axes = normalised_axes(x)?;
    let mut dims = vec![1; x.rank()?];
    for axis in &axes {
        dims[*axis] = x.extent(*axis)?;
    }
    let positions = f.iota(x.dtype(), &dims)?;
    let past_end = dims.iter().product::<i64>() as f64;
    // `x >= max` by `Less`, since old versions have no `Equal` of floats.
    let candidates = x.less(x.reduce("ReduceMax", &axes, true)).select(past_end, positions);
    let first = candidates.reduce("ReduceMin", &axes, true);
    Ok(candidates.greater(first).select(x.number(0.0), 1.0))
}
