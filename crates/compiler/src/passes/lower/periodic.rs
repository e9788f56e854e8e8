//! Rounding, and periodic functions, which round to find the quadrant of their argument.
//!
//! A number below `2^p`, for floats with `p` fraction bits, is rounded by adding and subtracting `2^p`: the
//! sum has no fraction and rounds to the nearest integer, ties to even. No other element type is needed.
//!
//! The argument of a sine is reduced by a multiple of a quarter turn in three exact products (Cody and
//! Waite). The result is accurate to 1e-6 for 32 bits and arguments up to 1e4. The error grows with the
//! argument; from `2^p` on, the result is NaN.

use std::f64::consts::FRAC_PI_2;

use typeloom_types::dtype::Dtype;

use super::form::{Form, Lowered, Operand, refuse_dtype};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("Floor", |f| rounded(f, floor)),
    rule("Ceil", |f| rounded(f, |x| -floor(-x))),
    rule("Round", |f| rounded(f, nearest)),
    rule("Sin", |f| periodic(f, Reduced::sine)),
    rule("Cos", |f| periodic(f, Reduced::cosine)),
    rule("Tan", |f| periodic(f, |turn| turn.sine() / turn.cosine())),
];

/// `2^p`: all floats from here on are integers.
fn integers_from(x: Operand<'_>) -> f64 {
    match x.dtype() {
        Dtype::F64 => 4_503_599_627_370_496.0,
        Dtype::F16 => 1024.0,
        Dtype::BF16 => 128.0,
        _ => 8_388_608.0,
    }
}

/// The input, which has to be of 32 or 64 bits.
fn float_input(f: Form<'_>) -> Lowered<'_> {
    let x = f.real(0)?;
    if matches!(x.dtype(), Dtype::F32 | Dtype::F64) { Ok(x) } else { refuse_dtype(x.dtype()) }
}

/// Rounds numbers that can have a fraction. Larger numbers, infinities and NaN are unchanged.
fn rounded<'f>(f: Form<'f>, round: fn(Operand<'f>) -> Operand<'f>) -> Lowered<'f> {
    let x = f.real(0)?;
    let small = x.abs().less(integers_from(x));
    Ok(small.select(round(x), x))
}

/// The nearest integer, ties to even.
fn nearest(x: Operand<'_>) -> Operand<'_> {
    let shift = integers_from(x);
    let rounded = x.abs() + shift - shift;
    x.less(0.0).select(-rounded, rounded)
}

fn floor(x: Operand<'_>) -> Operand<'_> {
    let near = nearest(x);
    near.greater(x).select(near - 1.0, near)
}

/// A reduced argument: its quadrant, and the sine and cosine of the rest.
struct Reduced<'f> {
    quadrant: Operand<'f>,
    sine: Operand<'f>,
    cosine: Operand<'f>,
}

impl<'f> Reduced<'f> {
    fn of(x: Operand<'f>) -> Self {
        let turns = nearest(x * (1.0 / FRAC_PI_2));
        let rest = parts(x.dtype()).into_iter().fold(x, |rest, part| rest - turns * part);
        let quadrant = turns - floor(turns * 0.25) * 4.0;
        let square = rest * rest;
        let terms = if x.dtype() == Dtype::F64 { 9 } else { 6 };
        Self { quadrant, sine: rest * series(square, 1, terms), cosine: series(square, 0, terms) }
    }

    /// One of four values by the quadrant.
    fn pick(&self, [first, second, third, fourth]: [Operand<'f>; 4]) -> Operand<'f> {
        let until = |bound: f64, value: Operand<'f>, other| self.quadrant.less(bound).select(value, other);
        until(0.5, first, until(1.5, second, until(2.5, third, fourth)))
    }

    fn sine(&self) -> Operand<'f> {
        self.pick([self.sine, self.cosine, -self.sine, -self.cosine])
    }

    fn cosine(&self) -> Operand<'f> {
        self.pick([self.cosine, -self.sine, -self.cosine, self.sine])
    }
}

/// A quarter turn as a sum of three parts. The first two have so few bits that their multiples are exact.
fn parts(dtype: Dtype) -> [f64; 3] {
    /// Difference between a quarter turn and the nearest double.
    const REST: f64 = 6.123_233_995_736_766e-17;
    let short = |value: f64, scale: f64| (value * scale).trunc() / scale;
    if dtype == Dtype::F64 {
        let first = short(FRAC_PI_2, f64::from(1_u32 << 30));
        return [first, FRAC_PI_2 - first, REST];
    }
    let first = short(FRAC_PI_2, f64::from(1_u32 << 10));
    let second = short(FRAC_PI_2 - first, f64::from(1_u32 << 22));
    [first, second, FRAC_PI_2 - first - second]
}

/// The Taylor series of `sin(x) / x` (`from` 1) or `cos(x)` (`from` 0) as a polynomial in `x * x`.
fn series(square: Operand<'_>, from: u32, terms: u32) -> Operand<'_> {
    let mut coefficient = 1.0;
    let mut coefficients = vec![1.0];
    for at in 1..=terms {
        let last = f64::from(2 * at + from);
        coefficient /= -(last * (last - 1.0));
        coefficients.push(coefficient);
    }
    coefficients.reverse();
    square.polynomial(&coefficients)
}

fn periodic<'f>(f: Form<'f>, result: fn(&Reduced<'f>) -> Operand<'f>) -> Lowered<'f> {
    let x = float_input(f)?;
    let value = result(&Reduced::of(x));
    // From here on, floats differ by 1 or more, and three parts do not suffice for the reduction. NaN shows
    // that.
    Ok(x.abs().less(integers_from(x)).select(value, f64::NAN))
}
