//! Elementary functions of `f32` without branches, so that loops over them vectorise.
//!
//! The functions evaluate polynomials in `f64` and round once. Before it is rounded, a result has a relative
//! error below 2^-31, so at most one result in a hundred differs from the correctly rounded one, by one unit
//! in the last place. The polynomials interpolate at Chebyshev nodes; their errors are those of the fit.
//!
//! **Invariant:** a function gives the same bits on every processor: the fused operations are part of it.
//! A processor without them needs a call for each, which is slow.

/// Evaluates a polynomial, lowest coefficient first (Horner's scheme).
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    for at in (0..N - 1).rev() {
        sum = sum.mul_add(x, coefficients[at]);
    }
    sum
}

/// Adding and subtracting this number rounds to an integer, which the low bits of the sum contain.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The parts of `e^x = 2^n e^r`.
struct Reduced {
    /// `2^n`.
    power: f64,
    /// `e^r - 1`.
    rest: f64,
}

impl Reduced {
    /// Reduces a number with a magnitude of at most 708: `x = n ln 2 + r` and `|r| <= ln 2 / 2` (Cody and
    /// Waite).
    #[inline(always)]
    fn within(x: f64) -> Self {
        Self::multiple(x, 1.0)
    }

    /// Reduces `factor * x`, with a magnitude of at most 708, to `n ln 2 + factor * r`. The coefficients are
    /// multiplied by powers of the factor, which is exact if it is plus or minus a power of two.
    #[inline(always)]
    fn multiple(x: f64, factor: f64) -> Self {
        Self::summed(x, factor, |r, first, higher| (r * r).mul_add(higher, first * r))
    }

    /// Like [`Reduced::multiple`], but the rest of `-0.0` is `-0.0`. This takes a little longer.
    #[inline(always)]
    fn signed_multiple(x: f64, factor: f64) -> Self {
        Self::summed(x, factor, |r, first, higher| r * r.mul_add(higher, first))
    }

    /// `sum` returns `first * r + higher * r^2`.
    #[inline(always)]
    fn summed(x: f64, factor: f64, sum: impl Fn(f64, f64, f64) -> f64) -> Self {
        let shifted = x.mul_add(factor * std::f64::consts::LOG2_E, ROUNDER);
        let n = shifted - ROUNDER;
        // The low bits of `n ln 2` are relevant only beyond the precision of a result.
        let r = n.mul_add(-std::f64::consts::LN_2 / factor, x);
        let squared = factor * factor;
        let (fourth, sixth) = (squared * squared, squared * squared * squared);
        let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
        // Pairs of terms (Estrin's scheme): a chain of seven operations would take most of the time.
        let square = r * r;
        let last =
            (sixth * factor * 0.000_199_075_715_492_435_08).mul_add(r, sixth * 0.001_394_111_092_382_348);
        let third = (fourth * factor * 0.008_333_283_534_678_37).mul_add(r, fourth * 0.041_666_352_859_392);
        let second =
            (squared * factor * 0.166_666_667_863_266_28).mul_add(r, squared * 0.500_000_004_712_898_6);
        let higher = square.mul_add(square.mul_add(last, third), second);
        Self { power, rest: sum(r, factor * 0.999_999_999_995_508_1, higher) }
    }

    /// Reduces any number. Above 709, where `e^x` is infinite as `f32`, it is reduced as 709; the power is 0
    /// where `e^x` is less than the smallest normal number.
    #[inline(always)]
    fn of(given: f64) -> Self {
        let x = if given < -708.0 { -708.0 } else { given };
        let reduced = Self::within(at_most(x, 709.0));
        Self { power: if given < -708.0 { 0.0 } else { reduced.power }, ..reduced }
    }

    #[inline(always)]
    fn exp(&self) -> f64 {
        self.power.mul_add(self.rest, self.power)
    }

    /// `e^x + 1`, of a number below 709.
    #[inline(always)]
    fn exp_p1(&self) -> f64 {
        self.power.mul_add(self.rest, self.power + 1.0)
    }

    /// `e^x - 1`, without cancellation. A zero has the sign of the rest.
    #[inline(always)]
    fn exp_m1(&self) -> f64 {
        self.power.mul_add(self.rest, -(1.0 - self.power))
    }
}

/// Beyond this magnitude, powers of `e` and their inverses are 0 or infinite as `f32`.
const MAX_EXPONENT: f32 = 110.0;

/// Limits the magnitude of a number. NaN is preserved.
#[inline(always)]
fn limited(x: f32, limit: f32) -> f64 {
    let x = if x < -limit { -limit } else { x };
    f64::from(if x > limit { limit } else { x })
}

/// The number, or the limit if that is less. NaN is preserved.
#[inline(always)]
fn at_most(x: f64, limit: f64) -> f64 {
    if x > limit { limit } else { x }
}

/// `e^x` to the precision of the functions of `f32`.
#[inline(always)]
pub(crate) fn exp_wide(x: f64) -> f64 {
    Reduced::of(x).exp()
}

/// `e^x`.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    Reduced::within(limited(x, MAX_EXPONENT)).exp() as f32
}

/// `1 / (1 + e^-x)`.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    (1.0 / Reduced::multiple(limited(x, MAX_EXPONENT), -1.0).exp_p1()) as f32
}

/// Beyond this magnitude, the hyperbolic tangent rounds to 1.
const MAX_TANH: f32 = 20.0;

/// The hyperbolic tangent of a number with a magnitude of at most [`MAX_TANH`].
#[inline(always)]
fn tanh_within(x: f64) -> f64 {
    let less = Reduced::signed_multiple(x, 2.0).exp_m1();
    less / (less + 2.0)
}

#[inline(always)]
fn tanh_wide(x: f64) -> f64 {
    let limit = f64::from(MAX_TANH);
    let x = if x < -limit { -limit } else { x };
    tanh_within(at_most(x, limit))
}

/// The hyperbolic tangent.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    tanh_within(limited(x, MAX_TANH)) as f32
}

/// The error function, as a rational function up to 4. Beyond, it rounds to 1.
#[inline(always)]
fn erf_wide(x: f64) -> f64 {
    let square = x * x;
    let numerator = polynomial(
        square,
        [
            1.128_379_167_060_657,
            0.303_374_497_994_313_54,
            0.073_956_288_175_876_77,
            0.009_738_055_622_913_97,
            0.000_814_022_679_741_497_2,
            5.279_975_783_711_821_4e-5,
            9.202_267_399_456_451e-7,
        ],
    );
    let denominator = polynomial(
        square,
        [
            1.0,
            0.602_191_978_751_977_2,
            0.166_272_746_012_746_6,
            0.027_644_582_249_866_5,
            0.003_017_491_636_287_399,
            0.000_216_442_890_167_677_27,
            9.187_069_142_276_569e-6,
            3.925_006_069_762_814e-8,
        ],
    );
    let near = x * numerator / denominator;
    let above = if x > 4.0 { 1.0 } else { near };
    if x < -4.0 { -1.0 } else { above }
}

/// The error function.
#[inline(always)]
pub(crate) fn erf(x: f32) -> f32 {
    erf_wide(f64::from(x)) as f32
}

/// `x / 2 * (1 + erf(x / sqrt 2))`.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    let x = f64::from(x);
    (0.5 * x * (1.0 + erf_wide(x * std::f64::consts::FRAC_1_SQRT_2))) as f32
}

/// The approximation of [`gelu`] by a hyperbolic tangent.
#[inline(always)]
pub(crate) fn gelu_by_tanh(x: f32) -> f32 {
    const FACTOR: f64 = 0.797_884_560_802_865_4;
    let x = f64::from(x);
    (0.5 * x * (1.0 + tanh_wide(FACTOR * (x + 0.044_715 * x * x * x)))) as f32
}

/// `x / (1 + e^(-alpha x))`.
#[inline(always)]
pub(crate) fn swish(x: f32, alpha: f64) -> f32 {
    let x = f64::from(x);
    (x / (1.0 + exp_wide(-alpha * x))) as f32
}

/// `alpha * (e^x - 1)` below zero, and `x` above.
#[inline(always)]
pub(crate) fn elu(x: f32, alpha: f64) -> f32 {
    let below = (alpha * Reduced::of(f64::from(x)).exp_m1()) as f32;
    if x < 0.0 { below } else { x }
}

/// `alpha * (e^(x / alpha) - 1)` below zero, and `x` above.
#[inline(always)]
pub(crate) fn celu(x: f32, alpha: f64) -> f32 {
    let below = (alpha * Reduced::of(f64::from(x) / alpha).exp_m1()) as f32;
    if x < 0.0 { below } else { x }
}

/// `gamma` times [`elu`].
#[inline(always)]
pub(crate) fn selu(x: f32, alpha: f64, gamma: f64) -> f32 {
    let wide = f64::from(x);
    let below = gamma * alpha * Reduced::of(wide).exp_m1();
    (if x > 0.0 { gamma * wide } else { below }) as f32
}

/// `x tanh(ln(1 + e^x))`.
#[inline(always)]
pub(crate) fn mish(x: f32) -> f32 {
    let wide = f64::from(x);
    // The quotient is 1 beyond.
    let power = exp_wide(if wide > 40.0 { 40.0 } else { wide });
    let n = power * (power + 2.0);
    (wide * n / (n + 2.0)) as f32
}

/// The natural logarithm: `2 artanh((m - 1) / (m + 1)) + e ln 2`, where `x = 2^e m` and `m` is near 1.
#[inline(always)]
pub(crate) fn ln(x: f32) -> f32 {
    const HALF_ROOT: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    let wide = f64::from(x);
    let bits = wide.to_bits().wrapping_sub(HALF_ROOT);
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) + HALF_ROOT);
    let exponent = (bits as i64 >> 52) as f64;
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let log = 2.0
        * s
        * polynomial(
            s * s,
            [
                0.999_999_999_999_973_9,
                0.333_333_333_398_401_77,
                0.199_999_974_313_879_67,
                0.142_860_845_422_181_66,
                0.110_870_643_568_259_5,
                0.098_049_203_079_976_29,
            ],
        );
    let finite = (log + exponent * std::f64::consts::LN_2) as f32;
    let at_edges = if x == 0.0 {
        f32::NEG_INFINITY
    } else if x > 0.0 {
        x
    } else {
        f32::NAN
    };
    if x > 0.0 && x < f32::INFINITY { finite } else { at_edges }
}

/// The inverse tangent. `atan x = c + atan t` with `|t| <= tan(pi / 8)`, where `t` is `x`,
/// `(x - 1) / (x + 1)` or `-1 / x` for positive `x`, and `c` is 0, `pi / 4` or `pi / 2` (Cody and Waite's
/// reduction).
#[inline(always)]
pub(crate) fn atan(x: f32) -> f32 {
    const TAN_PI_8: f64 = 0.414_213_562_373_095_03;
    const TAN_3_PI_8: f64 = 2.414_213_562_373_095;
    let wide = f64::from(x).abs();
    let (is_middle, is_large) = (wide > TAN_PI_8, wide > TAN_3_PI_8);
    let numerator = if is_middle { wide - 1.0 } else { wide };
    let denominator = if is_middle { wide + 1.0 } else { 1.0 };
    let numerator = if is_large { -1.0 } else { numerator };
    let denominator = if is_large { wide } else { denominator };
    let base = if is_middle { std::f64::consts::FRAC_PI_4 } else { 0.0 };
    let base = if is_large { std::f64::consts::FRAC_PI_2 } else { base };
    let t = numerator / denominator;
    let angle = t * polynomial(
        t * t,
        [
            0.999_999_999_978_398_7,
            -0.333_333_320_976_093_86,
            0.199_998_838_565_513_04,
            -0.142_815_887_726_541_25,
            0.110_404_892_272_182_4,
            -0.084_561_928_869_404_96,
            0.047_073_481_419_680_194,
        ],
    );
    ((base + angle) as f32).copysign(x)
}

/// Greatest magnitude of the argument of [`sin`] and [`cos`].
pub(crate) const MAX_ANGLE: f32 = (1 << 30) as f32;

/// `sin(x + offset pi)`, where the offset is 0 or a half: `(-1)^n sin r` with `x = (n - offset) pi + r` and
/// `|r| <= pi / 2` (Cody and Waite's reduction, with `pi` as a sum of two numbers).
#[inline(always)]
fn sine(x: f32, offset: f64) -> f32 {
    const PI_LOW: f64 = 1.224_646_799_147_353_2e-16;
    let x = f64::from(x);
    let shifted = x.mul_add(std::f64::consts::FRAC_1_PI, offset) + ROUNDER;
    let turns = shifted - ROUNDER - offset;
    let r = turns.mul_add(-PI_LOW, turns.mul_add(-std::f64::consts::PI, x));
    let value = r * polynomial(
        r * r,
        [
            0.999_999_999_982_918_9,
            -0.166_666_666_168_150_7,
            0.008_333_330_974_188_872,
            -0.000_198_408_611_768_941_35,
            2.752_526_968_596_708_8e-06,
            -2.388_921_549_863_12e-08,
        ],
    );
    // The lowest bit of the sum is that of `n`.
    f64::from_bits(value.to_bits() ^ (shifted.to_bits() << 63)) as f32
}

/// The sine of a number with a magnitude of at most [`MAX_ANGLE`].
#[inline(always)]
pub(crate) fn sin(x: f32) -> f32 {
    sine(x, 0.0)
}

/// The cosine of a number with a magnitude of at most [`MAX_ANGLE`].
#[inline(always)]
pub(crate) fn cos(x: f32) -> f32 {
    sine(x, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all magnitudes and both signs, every `2^16`th bit pattern.
    fn samples() -> impl Iterator<Item = f32> {
        (0..=u32::MAX >> 16).map(|at| f32::from_bits(at << 16 | 0x25a5)).filter(|x| x.is_finite())
    }

    /// Number of representable numbers between two results.
    fn distance(a: f32, b: f32) -> u32 {
        let ordered = |x: f32| {
            let bits = x.to_bits() as i32;
            if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits }
        };
        ordered(a).abs_diff(ordered(b))
    }

    fn check(name: &str, own: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) {
        let (mut all, mut off) = (0, 0);
        for x in samples() {
            let (own, exact) = (own(x), exact(f64::from(x)) as f32);
            if own.is_nan() && exact.is_nan() {
                continue;
            }
            all += 1;
            off += usize::from(own != exact);
            assert!(distance(own, exact) <= 1, "{name}({x}) = {own}, not {exact}");
        }
        assert!(off * 100 <= all, "{off} of {all} results of {name} are not rounded correctly");
    }

    #[test]
    fn results_are_those_of_the_double_precision_functions() {
        check("exp", exp, f64::exp);
        check("ln", ln, f64::ln);
        check("tanh", tanh, f64::tanh);
        check("sigmoid", sigmoid, |x| 1.0 / (1.0 + (-x).exp()));
        check("erf", erf, crate::ops::exact_erf);
        check("atan", atan, f64::atan);
        let near = |x: f32| x.abs() <= MAX_ANGLE;
        check("sin", |x| if near(x) { sin(x) } else { f64::from(x).sin() as f32 }, f64::sin);
        check("cos", |x| if near(x) { cos(x) } else { f64::from(x).cos() as f32 }, f64::cos);
    }

    #[test]
    fn special_values_have_the_results_of_the_standard_functions() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert!(
            [exp(nan), ln(nan), ln(-1.0), ln(-inf), tanh(nan), sigmoid(nan), erf(nan), gelu(nan), atan(nan)]
                .iter()
                .all(|x| x.is_nan())
        );
        assert_eq!(
            [exp(inf), exp(-inf), exp(0.0), ln(inf), ln(0.0), ln(1.0)],
            [inf, 0.0, 1.0, inf, -inf, 0.0]
        );
        assert_eq!([tanh(inf), tanh(-inf), erf(inf), erf(-inf)], [1.0, -1.0, 1.0, -1.0]);
        assert_eq!([sigmoid(inf), sigmoid(-inf), gelu(inf), swish(inf, 1.0)], [1.0, 0.0, inf, inf]);
        let half = std::f32::consts::FRAC_PI_2;
        assert_eq!([atan(inf), atan(-inf), atan(0.0)], [half, -half, 0.0]);
        let negative = [tanh(-0.0), erf(-0.0), atan(-0.0), sin(-0.0)];
        assert!(negative.iter().all(|x| x.is_sign_negative()));
    }
}
