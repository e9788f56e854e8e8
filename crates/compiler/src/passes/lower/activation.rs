//! Activations: elementwise functions, and functions that normalise along axes.

use typeloom_types::dtype::Dtype;

use super::form::{Form, Lowered, Operand, bounded, refuse, total};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("Relu", relu),
    rule("LeakyRelu", leaky_relu),
    rule("PRelu", prelu),
    rule("ThresholdedRelu", thresholded_relu),
    rule("Elu", elu),
    rule("Celu", celu),
    rule("Selu", selu),
    rule("Sigmoid", |f| each(f, sigmoid)),
    rule("HardSigmoid", hard_sigmoid),
    rule("HardSwish", hard_swish),
    rule("Softplus", |f| each(f, softplus)),
    rule("Softsign", softsign),
    rule("Tanh", |f| each(f, tanh)),
    rule("Mish", mish),
    rule("Swish", swish),
    rule("Gelu", gelu),
    rule("Erf", |f| {
        let x = f.real(0)?;
        erf(f, &x)
    }),
    rule("Shrink", shrink),
    rule("Clip", clip),
    rule("Dropout", dropout),
    rule("Softmax", softmax),
    rule("LogSoftmax", log_softmax),
    rule("Hardmax", hardmax),
];

fn each(f: &mut Form<'_>, function: impl Fn(&mut Form<'_>, &Operand) -> Operand) -> Lowered {
    let x = f.real(0)?;
    Ok(function(f, &x))
}

/// 0 below 0; NaN stays.
fn relu(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let zero = f.number(&x, 0.0);
    let below = f.less(&x, &zero);
    Ok(f.select(&below, &zero, &x))
}

fn scaled_below(f: &mut Form<'_>, x: &Operand, slope: &Operand) -> Operand {
    let zero = f.number(x, 0.0);
    let below = f.less(x, &zero);
    let scaled = f.mul(x, slope);
    f.select(&below, &scaled, x)
}

fn leaky_relu(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let alpha = f.float("alpha", 0.01);
    let alpha = f.number(&x, alpha);
    Ok(scaled_below(f, &x, &alpha))
}

fn prelu(f: &mut Form<'_>) -> Lowered {
    let (x, slope) = (f.input(0)?, f.input(1)?);
    Ok(scaled_below(f, &x, &slope))
}

fn thresholded_relu(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let alpha = f.float("alpha", 1.0);
    let (alpha, zero) = (f.number(&x, alpha), f.number(&x, 0.0));
    let above = f.greater(&x, &alpha);
    Ok(f.select(&above, &x, &zero))
}

/// `exp(x) - 1`. Near 0, where the difference cancels, its series is used.
pub(super) fn expm1(f: &mut Form<'_>, x: &Operand) -> Operand {
    let one = f.number(x, 1.0);
    let mut series = one.clone();
    for divisor in (2..=9).rev() {
        let reciprocal = f.number(x, 1.0 / f64::from(divisor));
        let part = f.mul(x, &reciprocal);
        let term = f.mul(&part, &series);
        series = f.add(&one, &term);
    }
    let near = f.mul(x, &series);
    let power = f.exp(x);
    let far = f.sub(&power, &one);
    near_zero(f, x, 0.25, &near, &far)
}

/// `log(1 + x)` with Kahan's correction for the rounding of `1 + x`.
pub(super) fn log1p(f: &mut Form<'_>, x: &Operand) -> Operand {
    let one = f.number(x, 1.0);
    let sum = f.add(&one, x);
    let rounded = f.sub(&sum, &one);
    let lost = {
        let zero = f.number(x, 0.0);
        let size = f.abs(&rounded);
        let kept = f.greater(&size, &zero);
        f.not(&kept)
    };
    let log = f.log(&sum);
    let safe = f.select(&lost, &one, &rounded);
    let ratio = f.div(x, &safe);
    let corrected = f.mul(&log, &ratio);
    // For an infinite sum the correction would be a quotient of infinities.
    let large = f.number(x, 1e4);
    let is_large = f.greater(x, &large);
    let far = f.select(&is_large, &log, &corrected);
    f.select(&lost, x, &far)
}

fn near_zero(f: &mut Form<'_>, x: &Operand, bound: f64, near: &Operand, far: &Operand) -> Operand {
    let (size, bound) = (f.abs(x), f.number(x, bound));
    let is_near = f.less(&size, &bound);
    f.select(&is_near, near, far)
}

pub(super) fn sigmoid(f: &mut Form<'_>, x: &Operand) -> Operand {
    let one = f.number(x, 1.0);
    let negative = f.neg(x);
    let power = f.exp(&negative);
    let sum = f.add(&one, &power);
    f.div(&one, &sum)
}

/// `1 - 2 / (exp(2 x) + 1)`, which does not overflow to NaN. Near 0, where the difference cancels, its series
/// is used.
pub(super) fn tanh(f: &mut Form<'_>, x: &Operand) -> Operand {
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
    let square = f.mul(x, x);
    let series = f.polynomial(&square, &SERIES);
    let near = f.mul(x, &series);
    let (one, two) = (f.number(x, 1.0), f.number(x, 2.0));
    let doubled = f.mul(x, &two);
    let power = f.exp(&doubled);
    let sum = f.add(&power, &one);
    let quotient = f.div(&two, &sum);
    let far = f.sub(&one, &quotient);
    near_zero(f, x, 0.25, &near, &far)
}

/// `max(x, 0) + log(1 + exp(-|x|))`.
pub(super) fn softplus(f: &mut Form<'_>, x: &Operand) -> Operand {
    let zero = f.number(x, 0.0);
    let size = f.abs(x);
    let negative = f.neg(&size);
    let power = f.exp(&negative);
    let log = log1p(f, &power);
    let below = f.less(x, &zero);
    let part = f.select(&below, &zero, x);
    f.add(&part, &log)
}

/// Accurate to 2e-7: the Maclaurin series up to 1, and formula 7.1.26 of Abramowitz and Stegun above it.
pub(super) fn erf(f: &mut Form<'_>, x: &Operand) -> Lowered<Operand> {
    const FAR: [f64; 5] = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    if x.dtype() == Dtype::F64 {
        return refuse("the error function is right to 2e-7 in primitives, which is too little for 64 bits");
    }
    let square = f.mul(x, x);
    let mut factorial = 1.0;
    let mut coefficients = Vec::new();
    for at in 0..12 {
        if at > 0 {
            factorial *= -f64::from(at);
        }
        coefficients.push(std::f64::consts::FRAC_2_SQRT_PI / (factorial * f64::from(2 * at + 1)));
    }
    coefficients.reverse();
    let series = f.polynomial(&square, &coefficients);
    let near = f.mul(x, &series);
    let (one, size) = (f.number(x, 1.0), f.abs(x));
    let scale = f.number(x, 0.327_591_1);
    let scaled = f.mul(&size, &scale);
    let sum = f.add(&one, &scaled);
    let t = f.div(&one, &sum);
    let tail = f.polynomial(&t, &FAR);
    let tail = f.mul(&tail, &t);
    let negative = f.neg(&square);
    let power = f.exp(&negative);
    let complement = f.mul(&tail, &power);
    let far = f.sub(&one, &complement);
    let zero = f.number(x, 0.0);
    let below = f.less(x, &zero);
    let mirrored = f.neg(&far);
    let far = f.select(&below, &mirrored, &far);
    Ok(near_zero(f, x, 1.0, &near, &far))
}

fn elu(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let alpha = f.float("alpha", 1.0);
    let alpha = f.number(&x, alpha);
    let zero = f.number(&x, 0.0);
    let power = expm1(f, &x);
    let scaled = f.mul(&alpha, &power);
    let below = f.less(&x, &zero);
    Ok(f.select(&below, &scaled, &x))
}

fn celu(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let alpha = f.float("alpha", 1.0);
    let (alpha, zero) = (f.number(&x, alpha), f.number(&x, 0.0));
    let ratio = f.div(&x, &alpha);
    let power = expm1(f, &ratio);
    let scaled = f.mul(&alpha, &power);
    let below = f.less(&x, &zero);
    Ok(f.select(&below, &scaled, &x))
}

fn selu(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let (alpha, gamma) = (f.float("alpha", 1.673_263_2), f.float("gamma", 1.050_701));
    let (both, gamma, zero) = (f.number(&x, alpha * gamma), f.number(&x, gamma), f.number(&x, 0.0));
    let power = expm1(f, &x);
    let scaled = f.mul(&both, &power);
    let straight = f.mul(&gamma, &x);
    let above = f.greater(&x, &zero);
    Ok(f.select(&above, &straight, &scaled))
}

fn between(f: &mut Form<'_>, x: &Operand, low: &Operand, high: &Operand) -> Operand {
    let below = f.less(x, low);
    let raised = f.select(&below, low, x);
    let above = f.greater(&raised, high);
    f.select(&above, high, &raised)
}

fn gate(f: &mut Form<'_>, x: &Operand, alpha: f64, beta: f64) -> Operand {
    let (alpha, beta) = (f.number(x, alpha), f.number(x, beta));
    let (zero, one) = (f.number(x, 0.0), f.number(x, 1.0));
    let scaled = f.mul(&alpha, x);
    let sum = f.add(&scaled, &beta);
    between(f, &sum, &zero, &one)
}

fn hard_sigmoid(f: &mut Form<'_>) -> Lowered {
    let (alpha, beta) = (f.float("alpha", 0.2), f.float("beta", 0.5));
    each(f, |f, x| gate(f, x, alpha, beta))
}

fn hard_swish(f: &mut Form<'_>) -> Lowered {
    each(f, |f, x| {
        let gate = gate(f, x, 1.0 / 6.0, 0.5);
        f.mul(x, &gate)
    })
}

fn softsign(f: &mut Form<'_>) -> Lowered {
    each(f, |f, x| {
        let (one, size) = (f.number(x, 1.0), f.abs(x));
        let sum = f.add(&one, &size);
        f.div(x, &sum)
    })
}

fn mish(f: &mut Form<'_>) -> Lowered {
    each(f, |f, x| {
        let plus = softplus(f, x);
        let gate = tanh(f, &plus);
        f.mul(x, &gate)
    })
}

fn swish(f: &mut Form<'_>) -> Lowered {
    let alpha = f.float("alpha", 1.0);
    each(f, |f, x| {
        let alpha = f.number(x, alpha);
        let scaled = f.mul(&alpha, x);
        let gate = sigmoid(f, &scaled);
        f.mul(x, &gate)
    })
}

fn gelu(f: &mut Form<'_>) -> Lowered {
    let approximate = f.text("approximate", "none");
    let x = f.real(0)?;
    let (half, one) = (f.number(&x, 0.5), f.number(&x, 1.0));
    let inner = match approximate.as_str() {
        "none" => {
            let scale = f.number(&x, std::f64::consts::FRAC_1_SQRT_2);
            let scaled = f.mul(&x, &scale);
            erf(f, &scaled)?
        }
        "tanh" => {
            let scale = f.number(&x, std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2);
            let weight = f.number(&x, 0.044_715);
            let square = f.mul(&x, &x);
            let cube = f.mul(&square, &x);
            let part = f.mul(&weight, &cube);
            let sum = f.add(&x, &part);
            let scaled = f.mul(&scale, &sum);
            tanh(f, &scaled)
        }
        other => return refuse(format!("`approximate` = `{other}` is not known")),
    };
    let sum = f.add(&one, &inner);
    let halved = f.mul(&half, &x);
    Ok(f.mul(&halved, &sum))
}

fn shrink(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let (bias, lambda) = (f.float("bias", 0.0), f.float("lambd", 0.5));
    let (bias, zero) = (f.number(&x, bias), f.number(&x, 0.0));
    let (low, high) = (f.number(&x, -lambda), f.number(&x, lambda));
    let (raised, lowered) = (f.add(&x, &bias), f.sub(&x, &bias));
    let above = f.greater(&x, &high);
    let upper = f.select(&above, &lowered, &zero);
    let below = f.less(&x, &low);
    Ok(f.select(&below, &raised, &upper))
}

fn clip(f: &mut Form<'_>) -> Lowered {
    let mut y = f.input(0)?;
    let bound = |f: &mut Form<'_>, at: usize, name: &str| -> Lowered<Option<Operand>> {
        if f.version >= 11 {
            return f.optional(at);
        }
        let given = if f.has(name) { Some(f.float(name, 0.0)) } else { None };
        let x = f.input(0)?;
        Ok(given.map(|value| f.number(&x, value)))
    };
    if let Some(low) = bound(f, 1, "min")? {
        let below = f.less(&y, &low);
        y = f.select(&below, &low, &y);
    }
    if let Some(high) = bound(f, 2, "max")? {
        let above = f.greater(&y, &high);
        y = f.select(&above, &high, &y);
    }
    Ok(y)
}

/// Outside of training, the input.
fn dropout(f: &mut Form<'_>) -> Lowered {
    if f.version < 7 && f.int("is_test", 0) == 0 {
        return refuse("it drops elements at random");
    }
    let ratio = f.constant(1).ok().flatten().is_some_and(|ratio| ratio == [0.0]);
    if !ratio && f.constant(2)?.is_some_and(|training| training != [0.0]) {
        return refuse("it drops elements at random");
    }
    // The ratio and the seed of the dropped elements.
    f.pass_over(&["ratio", "seed"]);
    let x = f.input(0)?;
    if f.wants(1) {
        let shape: Vec<Option<i64>> = x.extents()?.into_iter().map(Some).collect();
        let mask_type = f.outputs.get(1).and_then(Option::as_ref).map_or(Dtype::Bool, Operand::dtype);
        let one = f.literal(mask_type, 1.0);
        let mask = f.expand(&one, &shape)?;
        f.result(1, &mask);
    }
    Ok(x)
}

/// The axes of one row: one axis, or before version 13 all axes from the given one on.
fn row(f: &Form<'_>, x: &Operand) -> Lowered<Vec<usize>> {
    let rank = x.rank()?;
    let last = rank as i64 - 1;
    let axis = f.int("axis", if f.version >= 13 { -1 } else { 1 });
    if rank == 0 {
        return Ok(Vec::new());
    }
    if f.version >= 13 {
        return Ok(vec![f.axis(axis, rank)?]);
    }
    Ok((f.axis(axis.min(last), rank)?..rank).collect())
}

fn from_greatest(f: &mut Form<'_>, x: &Operand, axes: &[usize]) -> Operand {
    let most = f.reduce("ReduceMax", x, axes, true);
    f.sub(x, &most)
}

fn softmax(f: &mut Form<'_>) -> Lowered {
    let x = f.floats(0)?;
    let axes = row(f, &x)?;
    let from = from_greatest(f, &x, &axes);
    let power = f.exp(&from);
    let sum = f.reduce("ReduceSum", &power, &axes, true);
    Ok(f.div(&power, &sum))
}

/// The logarithm of [`softmax`], along axes.
pub(super) fn log_softmax_of(f: &mut Form<'_>, x: &Operand, axes: &[usize]) -> Operand {
    let from = from_greatest(f, x, axes);
    let power = f.exp(&from);
    let sum = f.reduce("ReduceSum", &power, axes, true);
    let log = f.log(&sum);
    f.sub(&from, &log)
}

fn log_softmax(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let axes = row(f, &x)?;
    Ok(log_softmax_of(f, &x, &axes))
}

/// 1 at the first maximum of a row, and 0 elsewhere.
fn hardmax(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let axes = row(f, &x)?;
    let (zero, one) = (f.number(&x, 0.0), f.number(&x, 1.0));
    let mut dims = vec![1; x.rank()?];
    for axis in &axes {
        dims[*axis] = x.extent(*axis)?;
    }
    let count = bounded(total(dims.iter().copied())?)?;
    let numbers: Vec<f64> = (0..count).map(|at| at as f64).collect();
    let numbers = f.tensor(x.dtype(), &dims, &numbers);
    let behind = f.number(&x, count as f64);
    let most = f.reduce("ReduceMax", &x, &axes, true);
    // `x >= most` without equality of floats, which old versions lack.
    let less = f.less(&x, &most);
    let candidates = f.select(&less, &behind, &numbers);
    let first = f.reduce("ReduceMin", &candidates, &axes, true);
    let after = f.greater(&candidates, &first);
    Ok(f.select(&after, &zero, &one))
}
