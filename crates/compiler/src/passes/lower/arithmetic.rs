//! Arithmetic and logic on elements.

use typeloom_types::dtype::DtypeClass;

use super::activation::{expm1, log1p};
use super::form::{Form, Lowered, Operand, OrRefusal, refuse, refuse_dtype};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("Sum", |f| fold(f.all()?, |a, b| a + b)),
    rule("Max", |f| fold(f.all()?, Operand::max)),
    rule("Min", |f| fold(f.all()?, Operand::min)),
    rule("Mean", mean),
    rule("Reciprocal", |f| f.real(0).map(|x| 1.0 / x)),
    rule("Sign", |f| f.input(0).map(sign)),
    rule("Not", |f| f.input(0).map(|x| !x)),
    rule("And", |f| logical(f, |a, b| a.select(b, a), |a, b| a * b)),
    rule("Or", |f| logical(f, |a, b| a.select(a, b), |a, b| a + b)),
    rule("Xor", |f| logical(f, |a, b| a.select(!b, b), |a, b| (a - b).abs())),
    // Comparisons with NaN are false.
    rule("LessOrEqual", |f| or_equal(f, Operand::less)),
    rule("GreaterOrEqual", |f| or_equal(f, Operand::greater)),
    rule("IsNaN", |f| f.real(0).map(|x| !x.equal(x))),
    rule("IsInf", |f| f.real(0).map(is_inf)),
    rule("CastLike", |f| Ok(f.input(0)?.cast_with_rounding(f.input(1)?.dtype()))),
    rule("Mod", modulo),
    rule("Sinh", |f| f.real(0).map(|x| 0.5 * (expm1(x) - expm1(-x)))),
    rule("Cosh", |f| f.real(0).map(|x| 0.5 * (x.exp() + (-x).exp()))),
    rule("Asinh", |f| f.real(0).map(asinh)),
    rule("Acosh", |f| f.real(0).map(acosh)),
    // Half the logarithm of `1 + 2 x / (1 - x)`.
    rule("Atanh", |f| f.real(0).map(|x| 0.5 * log1p(2.0 * x / (1.0 - x)))),
];

fn fold<'f>(all: Vec<Operand<'f>>, join: fn(Operand<'f>, Operand<'f>) -> Operand<'f>) -> Lowered<'f> {
    all.into_iter().reduce(join).map_or_else(|| refuse("it has no inputs"), Ok)
}

fn mean(f: Form<'_>) -> Lowered<'_> {
    let count = f.node.inputs.len();
    let all = (0..count).map(|at| f.real(at)).collect::<OrRefusal<Vec<_>>>()?;
    Ok(fold(all, |a, b| a + b)? / count as f64)
}

/// 1 above 0, -1 below 0, and any other value unchanged.
fn sign(x: Operand<'_>) -> Operand<'_> {
    let upper = x.greater(0.0).select(1.0, x);
    if matches!(x.dtype().class(), DtypeClass::UnsignedInt) {
        return upper;
    }
    x.less(0.0).select(-1.0, upper)
}

/// Selects by a condition if the backend stores masks. Otherwise converts two conditions to 1 or 0 and tests
/// whether `join` of them is positive.
fn logical<'f>(f: Form<'f>, select: Join<'f>, join: Join<'f>) -> Lowered<'f> {
    let (a, b) = (f.input(0)?, f.input(1)?);
    Ok(if f.stores_masks() { select(a, b) } else { join(a.truth(), b.truth()).greater(0.0) })
}

type Join<'f> = fn(Operand<'f>, Operand<'f>) -> Operand<'f>;

fn or_equal<'f>(f: Form<'f>, compare: fn(Operand<'f>, Operand<'f>) -> Operand<'f>) -> Lowered<'f> {
    let (a, b) = (f.input(0)?, f.input(1)?);
    Ok((compare(a, b).truth() + a.equal(b).truth()).greater(0.0))
}

fn is_inf(x: Operand<'_>) -> Operand<'_> {
    let attribute = |name: &str| x.form.int(name, 1) != 0;
    match (attribute("detect_negative"), attribute("detect_positive")) {
        (true, true) => x.abs().equal(f64::INFINITY),
        (false, true) => x.equal(f64::INFINITY),
        (true, false) => (-x).equal(f64::INFINITY),
        (false, false) => x.less(x),
    }
}

/// The remainder of integers has the sign of the divisor.
fn modulo(f: Form<'_>) -> Lowered<'_> {
    let (a, b) = (f.input(0)?, f.input(1)?);
    let is_unsigned = matches!(a.dtype().class(), DtypeClass::UnsignedInt);
    if !is_unsigned && !matches!(a.dtype().class(), DtypeClass::SignedInt) {
        return refuse_dtype(a.dtype());
    }
    let rest = a - a / b * b;
    if f.int("fmod", 0) != 0 || is_unsigned {
        return Ok(rest);
    }
    let moved = rest + b;
    let for_negative = rest.greater(0.0).select(moved, rest);
    let for_positive = rest.less(0.0).select(moved, rest);
    Ok(b.less(0.0).select(for_negative, for_positive))
}

/// The logarithm of `1 + |x| + x^2 / (1 + sqrt(1 + x^2))`, with the sign of `x`.
fn asinh(x: Operand<'_>) -> Operand<'_> {
    let (size, square) = (x.abs(), x * x);
    let near = log1p(size + square / (1.0 + (1.0 + square).sqrt()));
    let log = log_2x_if_large(size, near);
    x.less(0.0).select(-log, log)
}

/// The logarithm of `1 + t + sqrt(2 t + t^2)` with `t = x - 1`.
fn acosh(x: Operand<'_>) -> Operand<'_> {
    let t = x - 1.0;
    log_2x_if_large(x, log1p(t + t.sqrt() * (t + 2.0).sqrt()))
}

/// The logarithm of `2 x` for large `x`, whose square may overflow; `near` for other `x`.
fn log_2x_if_large<'f>(x: Operand<'f>, near: Operand<'f>) -> Operand<'f> {
    let far = x.log() + std::f64::consts::LN_2;
    x.greater(1e9).select(far, near)
}
