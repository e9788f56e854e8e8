//! Rounding, and periodic functions, which round to find the quadrant of their argument.
//!
//! A number below `2^p`, for floats with `p` fraction bits, is rounded by adding and subtracting `2^p`: the
//! sum has no fraction and rounds to the nearest integer, ties to even. No other element type is needed.
//!
//! The argument of a sine is reduced by a multiple of a quarter turn in three exact products (Cody and
//! Waite). The result is accurate to 1e-6 for 32 bits and arguments up to 1e4. The error grows with the
//! argument; for arguments without a fraction the result is NaN.

use typeloom_types::dtype::Dtype;

use super::form::{Form, Lowered, Operand, refuse};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("Floor", |f| rounded(f, floor)),
    rule("Ceil", |f| rounded(f, ceil)),
    rule("Round", |f| rounded(f, nearest)),
    rule("Sin", |f| periodic(f, |f, turn| turn.sine(f))),
    rule("Cos", |f| periodic(f, |f, turn| turn.cosine(f))),
    rule("Tan", |f| {
        periodic(f, |f, turn| {
            let (sine, cosine) = (turn.sine(f), turn.cosine(f));
            f.div(&sine, &cosine)
        })
    }),
];

/// The smallest number from which on all floats are integers.
fn whole_from(x: &Operand) -> f64 {
    if x.dtype() == Dtype::F64 { 4_503_599_627_370_496.0 } else { 8_388_608.0 }
}

fn exact(f: &mut Form<'_>) -> Lowered<Operand> {
    let x = f.real(0)?;
    if matches!(x.dtype(), Dtype::F32 | Dtype::F64) {
        return Ok(x);
    }
    refuse(format!("there is no form for {}", x.dtype().type_node().id))
}

/// Rounds numbers that are small enough to have a fraction; others, infinities and NaN are unchanged.
fn rounded(f: &mut Form<'_>, round: impl Fn(&mut Form<'_>, &Operand) -> Operand) -> Lowered {
    let x = exact(f)?;
    let whole = f.number(&x, whole_from(&x));
    let size = f.abs(&x);
    let small = f.less(&size, &whole);
    let value = round(f, &x);
    Ok(f.select(&small, &value, &x))
}

/// The nearest integer, ties to even.
fn nearest(f: &mut Form<'_>, x: &Operand) -> Operand {
    let (zero, whole) = (f.number(x, 0.0), f.number(x, whole_from(x)));
    let size = f.abs(x);
    let sum = f.add(&size, &whole);
    let rounded = f.sub(&sum, &whole);
    let negative = f.neg(&rounded);
    let below = f.less(x, &zero);
    f.select(&below, &negative, &rounded)
}

fn floor(f: &mut Form<'_>, x: &Operand) -> Operand {
    let (one, near) = (f.number(x, 1.0), nearest(f, x));
    let less = f.sub(&near, &one);
    let above = f.greater(&near, x);
    f.select(&above, &less, &near)
}

fn ceil(f: &mut Form<'_>, x: &Operand) -> Operand {
    let negative = f.neg(x);
    let floor = floor(f, &negative);
    f.neg(&floor)
}

/// A reduced argument: its quadrant, and sine and cosine within it.
struct Turn {
    quadrant: Operand,
    sine: Operand,
    cosine: Operand,
}

impl Turn {
    fn of(f: &mut Form<'_>, x: &Operand) -> Self {
        let quarter = std::f64::consts::FRAC_PI_2;
        let scale = f.number(x, 1.0 / quarter);
        let turns = f.mul(x, &scale);
        let turns = nearest(f, &turns);
        let mut rest = x.clone();
        for part in parts(x.dtype()) {
            let part = f.number(x, part);
            let taken = f.mul(&turns, &part);
            rest = f.sub(&rest, &taken);
        }
        let (fourth, four) = (f.number(x, 0.25), f.number(x, 4.0));
        let rounds = f.mul(&turns, &fourth);
        let rounds = floor(f, &rounds);
        let whole = f.mul(&rounds, &four);
        let quadrant = f.sub(&turns, &whole);
        let square = f.mul(&rest, &rest);
        let terms = if x.dtype() == Dtype::F64 { 9 } else { 6 };
        let odd = series(f, &square, 1, terms);
        let sine = f.mul(&rest, &odd);
        let cosine = series(f, &square, 0, terms);
        Self { quadrant, sine, cosine }
    }

    /// One of four values by the quadrant.
    fn pick(&self, f: &mut Form<'_>, values: [&Operand; 4]) -> Operand {
        let mut result = values[3].clone();
        for (at, value) in values.iter().take(3).enumerate().rev() {
            let bound = f.number(&self.quadrant, at as f64 + 0.5);
            let here = f.less(&self.quadrant, &bound);
            result = f.select(&here, value, &result);
        }
        result
    }

    fn sine(&self, f: &mut Form<'_>) -> Operand {
        let (back, down) = (f.neg(&self.sine), f.neg(&self.cosine));
        self.pick(f, [&self.sine, &self.cosine, &back, &down])
    }

    fn cosine(&self, f: &mut Form<'_>) -> Operand {
        let (back, down) = (f.neg(&self.sine), f.neg(&self.cosine));
        self.pick(f, [&self.cosine, &back, &down, &self.sine])
    }
}

/// A quarter turn in three parts: the first two are so short that a multiple of them is exact.
fn parts(dtype: Dtype) -> [f64; 3] {
    /// The rest of a quarter turn beyond a double.
    const REST: f64 = 6.123_233_995_736_766e-17;
    let quarter = std::f64::consts::FRAC_PI_2;
    let short = |value: f64, scale: f64| (value * scale).trunc() / scale;
    if dtype == Dtype::F64 {
        let first = short(quarter, f64::from(1_u32 << 30));
        return [first, quarter - first, REST];
    }
    let first = short(quarter, f64::from(1_u32 << 10));
    let second = short(quarter - first, f64::from(1_u32 << 22));
    [first, second, quarter - first - second]
}

/// The series of the sine over its argument (from 1) or of the cosine (from 0), by the square of the
/// argument.
fn series(f: &mut Form<'_>, square: &Operand, from: u32, terms: u32) -> Operand {
    let mut coefficient = 1.0;
    let mut coefficients = vec![1.0];
    for at in 1..=terms {
        let last = f64::from(2 * at + from);
        coefficient /= -(last * (last - 1.0));
        coefficients.push(coefficient);
    }
    coefficients.reverse();
    f.polynomial(square, &coefficients)
}

fn periodic(f: &mut Form<'_>, result: impl Fn(&mut Form<'_>, &Turn) -> Operand) -> Lowered {
    let x = exact(f)?;
    let turn = Turn::of(f, &x);
    let value = result(f, &turn);
    // Beyond this, neighbouring floats differ by whole periods, and three parts do not suffice for the
    // reduction. NaN is an explicit result.
    let (limit, unknown) = (f.number(&x, whole_from(&x)), f.number(&x, f64::NAN));
    let size = f.abs(&x);
    let near = f.less(&size, &limit);
    Ok(f.select(&near, &value, &unknown))
}
