//! Arithmetic and logic on elements.

use typeloom_types::dtype::DtypeClass;

use super::activation::{expm1, log1p};
use super::form::{Form, Lowered, Operand, refuse};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("Sum", |f| fold(f, added)),
    rule("Max", |f| fold(f, greater)),
    rule("Min", |f| fold(f, less)),
    rule("Mean", mean),
    rule("Reciprocal", reciprocal),
    rule("Sign", sign),
    rule("Not", not),
    rule("And", and),
    rule("Or", or),
    rule("Xor", xor),
    rule("LessOrEqual", |f| at_most(f, false)),
    rule("GreaterOrEqual", |f| at_most(f, true)),
    rule("IsNaN", is_nan),
    rule("IsInf", is_inf),
    rule("CastLike", cast_like),
    rule("Mod", modulo),
    rule("Sinh", sinh),
    rule("Cosh", cosh),
    rule("Asinh", asinh),
    rule("Acosh", acosh),
    rule("Atanh", atanh),
];

fn added(f: &mut Form<'_>, a: &Operand, b: &Operand) -> Operand {
    f.add(a, b)
}

fn greater(f: &mut Form<'_>, a: &Operand, b: &Operand) -> Operand {
    f.max(a, b)
}

fn less(f: &mut Form<'_>, a: &Operand, b: &Operand) -> Operand {
    f.min(a, b)
}

fn fold(f: &mut Form<'_>, join: impl Fn(&mut Form<'_>, &Operand, &Operand) -> Operand) -> Lowered {
    let all = f.all()?;
    let Some((first, rest)) = all.split_first() else { return refuse("it has no inputs") };
    Ok(rest.iter().fold(first.clone(), |so_far, next| join(f, &so_far, next)))
}

fn mean(f: &mut Form<'_>) -> Lowered {
    let count = f.node.input.len();
    let all = (0..count).map(|at| f.real(at)).collect::<Lowered<Vec<_>>>()?;
    let Some((first, rest)) = all.split_first() else { return refuse("it has no inputs") };
    let sum = rest.iter().fold(first.clone(), |so_far, next| f.add(&so_far, next));
    let count = f.number(first, count as f64);
    Ok(f.div(&sum, &count))
}

fn reciprocal(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let one = f.number(&x, 1.0);
    Ok(f.div(&one, &x))
}

/// 1 above 0, -1 below 0, and any other value unchanged.
fn sign(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let (zero, one) = (f.number(&x, 0.0), f.number(&x, 1.0));
    let above = f.greater(&x, &zero);
    let upper = f.select(&above, &one, &x);
    let y = if matches!(x.dtype().class(), DtypeClass::UnsignedInt) {
        upper
    } else {
        let minus = f.number(&x, -1.0);
        let below = f.less(&x, &zero);
        f.select(&below, &minus, &upper)
    };
    Ok(y)
}

fn not(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    Ok(f.not(&x))
}

fn truths(f: &mut Form<'_>) -> Lowered<(Operand, Operand)> {
    let (a, b) = (f.input(0)?, f.input(1)?);
    Ok((f.truth(&a), f.truth(&b)))
}

fn and(f: &mut Form<'_>) -> Lowered {
    let (a, b) = truths(f)?;
    let both = f.mul(&a, &b);
    Ok(f.is_positive(&both))
}

fn or(f: &mut Form<'_>) -> Lowered {
    let (a, b) = truths(f)?;
    let either = f.add(&a, &b);
    Ok(f.is_positive(&either))
}

fn xor(f: &mut Form<'_>) -> Lowered {
    let (a, b) = truths(f)?;
    let difference = f.sub(&a, &b);
    let size = f.abs(&difference);
    Ok(f.is_positive(&size))
}

/// Comparison or equality. Comparisons with NaN are false.
fn at_most(f: &mut Form<'_>, turned: bool) -> Lowered {
    let (a, b) = (f.input(0)?, f.input(1)?);
    let strict = if turned { f.greater(&a, &b) } else { f.less(&a, &b) };
    let equal = f.equal(&a, &b);
    let (strict, equal) = (f.truth(&strict), f.truth(&equal));
    let either = f.add(&strict, &equal);
    Ok(f.is_positive(&either))
}

fn is_nan(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let is_number = f.equal(&x, &x);
    Ok(f.not(&is_number))
}

fn is_inf(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let (negative, positive) = (f.int("detect_negative", 1) != 0, f.int("detect_positive", 1) != 0);
    let bound = f.number(&x, f64::INFINITY);
    let y = match (negative, positive) {
        (true, true) => {
            let size = f.abs(&x);
            f.equal(&size, &bound)
        }
        (false, true) => f.equal(&x, &bound),
        (true, false) => {
            let turned = f.neg(&x);
            f.equal(&turned, &bound)
        }
        (false, false) => f.less(&x, &x),
    };
    Ok(y)
}

fn cast_like(f: &mut Form<'_>) -> Lowered {
    let (x, like) = (f.input(0)?, f.input(1)?);
    Ok(f.cast_with_rounding(&x, like.dtype()))
}

/// The remainder of integers has the sign of the divisor.
fn modulo(f: &mut Form<'_>) -> Lowered {
    let (a, b) = (f.input(0)?, f.input(1)?);
    if !matches!(a.dtype().class(), DtypeClass::SignedInt | DtypeClass::UnsignedInt) {
        return refuse(format!("there is no form for {}", a.dtype().type_node().id));
    }
    let quotient = f.div(&a, &b);
    let product = f.mul(&quotient, &b);
    let rest = f.sub(&a, &product);
    let y = if f.int("fmod", 0) != 0 || matches!(a.dtype().class(), DtypeClass::UnsignedInt) {
        rest
    } else {
        let zero = f.number(&a, 0.0);
        let moved = f.add(&rest, &b);
        let (divisor, below, above) = (f.less(&b, &zero), f.less(&rest, &zero), f.greater(&rest, &zero));
        let for_negative = f.select(&above, &moved, &rest);
        let for_positive = f.select(&below, &moved, &rest);
        f.select(&divisor, &for_negative, &for_positive)
    };
    Ok(y)
}

fn sinh(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let negative = f.neg(&x);
    let (up, down) = (expm1(f, &x), expm1(f, &negative));
    let difference = f.sub(&up, &down);
    let half = f.number(&x, 0.5);
    Ok(f.mul(&half, &difference))
}

fn cosh(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let negative = f.neg(&x);
    let (up, down) = (f.exp(&x), f.exp(&negative));
    let sum = f.add(&up, &down);
    let half = f.number(&x, 0.5);
    Ok(f.mul(&half, &sum))
}

/// The logarithm of `1 + |x| + x^2 / (1 + sqrt(1 + x^2))`, with the sign of `x`.
fn asinh(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let (zero, one) = (f.number(&x, 0.0), f.number(&x, 1.0));
    let size = f.abs(&x);
    let square = f.mul(&x, &x);
    let more = f.add(&one, &square);
    let root = f.sqrt(&more);
    let below = f.add(&one, &root);
    let part = f.div(&square, &below);
    let sum = f.add(&size, &part);
    let near = log1p(f, &sum);
    let log = of_large(f, &size, &near);
    let turned = f.neg(&log);
    let negative = f.less(&x, &zero);
    Ok(f.select(&negative, &turned, &log))
}

/// The logarithm of `1 + t + sqrt(2 t + t^2)` with `t = x - 1`.
fn acosh(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let (one, two) = (f.number(&x, 1.0), f.number(&x, 2.0));
    let t = f.sub(&x, &one);
    let more = f.add(&t, &two);
    let roots = (f.sqrt(&t), f.sqrt(&more));
    let root = f.mul(&roots.0, &roots.1);
    let sum = f.add(&t, &root);
    let near = log1p(f, &sum);
    Ok(of_large(f, &x, &near))
}

/// The logarithm of `2 x` where the square of `x` may overflow, and `near` elsewhere.
fn of_large(f: &mut Form<'_>, x: &Operand, near: &Operand) -> Operand {
    let (bound, two) = (f.number(x, 1e9), f.number(x, std::f64::consts::LN_2));
    let log = f.log(x);
    let far = f.add(&log, &two);
    let is_large = f.greater(x, &bound);
    f.select(&is_large, &far, near)
}

/// Half the logarithm of `1 + 2 x / (1 - x)`.
fn atanh(f: &mut Form<'_>) -> Lowered {
    let x = f.real(0)?;
    let (half, one, two) = (f.number(&x, 0.5), f.number(&x, 1.0), f.number(&x, 2.0));
    let twice = f.mul(&two, &x);
    let rest = f.sub(&one, &x);
    let ratio = f.div(&twice, &rest);
    let log = log1p(f, &ratio);
    Ok(f.mul(&half, &log))
}
