//! Elementwise functions of one tensor.
//!
//! An operator here is a line of a table: its name, a function of `f32` and a function of `f64`.
//! [`functions`] takes a loop over `f32` that vectorises, because its function has no branches ([`math`]).
//! [`floats`] takes functions of the standard library, which are called for each element:
//!
//! ```text
//! Exp    functions(call, &|data| each_of(data, math::exp), f64::exp)
//! Tan    floats(call, f32::tan, f64::tan)
//! ```
//!
//! The time is linear in the elements. A function replaces the elements in place if the tensor has no other
//! owner. Otherwise `functions` copies blocks of [`BLOCK`] elements, and computes them while they are in the
//! cache. Threads share the elements from [`MIN_PARALLEL`] on, or from [`MIN_PARALLEL_FUNCTIONS`] for
//! elementary functions.
//!
//! A loop is a trait object ([`ElementLoop`]), so the code around it is compiled once for each type, not for
//! each function.
//!
//! **Invariant:** signs of zeros and NaN survive: `Neg` multiplies by -1, since `0 - x` has another zero, and
//! `Sign` returns NaN.
//!
//! [`erf`] is exact up to the last bits of an `f64`, by a series near zero and a continued fraction beyond.
//! `Sin` and `Cos` of angles above [`math::MAX_ANGLE`] are computed in `f64`, one by one.
//!
//! **Limit:** only `Neg`, `Abs`, `Sign` and `Erf` compute on integers. The least integer of a type is its own
//! absolute value.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;

use super::{Operator, native, widened};
use crate::call::{Call, Outcome, one};
use crate::element::{Number, build, build_over, on_floats, on_numbers, to_f64s, widest};
use crate::error::KernelErrorKind;
use crate::fast::threads;
use crate::math;

pub(super) const OPERATORS: &[Operator] = &[
    widened("Neg", |call| numbers(call, Numeric::Neg)),
    widened("Abs", |call| numbers(call, Numeric::Abs)),
    widened("Sign", |call| numbers(call, Numeric::Sign)),
    widened("Sqrt", |call| floats(call, f32::sqrt, f64::sqrt)),
    widened("Exp", |call| functions(call, &|data| each_of(data, math::exp), f64::exp)),
    widened("Log", |call| functions(call, &|data| each_of(data, math::ln), f64::ln)),
    widened("Reciprocal", |call| functions(call, &|data| each_of(data, f32::recip), f64::recip)),
    widened("Ceil", |call| functions(call, &|data| each_of(data, f32::ceil), f64::ceil)),
    widened("Floor", |call| functions(call, &|data| each_of(data, f32::floor), f64::floor)),
    widened("Round", |call| {
        functions(call, &|data| each_of(data, f32::round_ties_even), f64::round_ties_even)
    }),
    widened("Sin", |call| functions(call, &|data| each_angle(data, math::sin, f64::sin), f64::sin)),
    widened("Cos", |call| functions(call, &|data| each_angle(data, math::cos, f64::cos), f64::cos)),
    widened("Tan", |call| floats(call, f32::tan, f64::tan)),
    widened("Asin", |call| floats(call, f32::asin, f64::asin)),
    widened("Acos", |call| floats(call, f32::acos, f64::acos)),
    widened("Atan", |call| functions(call, &|data| each_of(data, math::atan), f64::atan)),
    widened("Sinh", |call| floats(call, f32::sinh, f64::sinh)),
    widened("Cosh", |call| floats(call, f32::cosh, f64::cosh)),
    widened("Tanh", |call| functions(call, &|data| each_of(data, math::tanh), f64::tanh)),
    widened("Asinh", |call| floats(call, f32::asinh, f64::asinh)),
    widened("Acosh", |call| floats(call, f32::acosh, f64::acosh)),
    widened("Atanh", |call| floats(call, f32::atanh, f64::atanh)),
    widened("Erf", error_function),
    native("IsNaN", |call| test(call, |_| Ok(f64::is_nan))),
    native("IsInf", |call| {
        let (negative, positive) = (call.flag("detect_negative", true)?, call.flag("detect_positive", true)?);
        test(call, |_| Ok(move |x: f64| x.is_infinite() && if x > 0.0 { positive } else { negative }))
    }),
];

/// Minimum number of elements for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 16;

/// A loop over elements. Functions use it as a trait object, so that they are not compiled for each function
/// of an element.
trait ElementLoop<T>: Sync {
    fn fill(&self, from: &[T], to: &mut [T]);
    fn replace(&self, data: &mut [T]);
}

/// The loops of a function of an element.
struct Each<F>(F);

impl<T: Element, F: Fn(T) -> T + Sync> ElementLoop<T> for Each<F> {
    fn fill(&self, from: &[T], to: &mut [T]) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = self.0(*from);
        }
    }

    fn replace(&self, data: &mut [T]) {
        for element in data {
            *element = self.0(*element);
        }
    }
}

/// Applies a function to every element, in place if the tensor is not shared.
pub(crate) fn map_into<T: Element>(
    tensor: AnyTensor,
    each: impl Fn(T) -> T + Sync,
) -> Result<AnyTensor, KernelErrorKind> {
    map_elements_into(tensor, &Each(each))
}

fn map_elements_into<T: Element>(
    mut tensor: AnyTensor,
    elements: &dyn ElementLoop<T>,
) -> Result<AnyTensor, KernelErrorKind> {
    if tensor.is_shared() {
        let from = tensor.as_slice::<T>()?;
        return build_over::<T>(tensor.shape(), |to| {
            threads::in_parts(to, MIN_PARALLEL, &|at, to| elements.fill(&from[at..], to));
        });
    }
    let data = tensor.as_mut_slice::<T>()?;
    threads::in_parts(data, MIN_PARALLEL, &|_, data| elements.replace(data));
    Ok(tensor)
}

/// Applies a float function that is given separately for `f32` and `f64`.
pub(super) fn floats(
    call: &mut Call<'_>,
    single: impl Fn(f32) -> f32 + Sync,
    double: impl Fn(f64) -> f64 + Sync,
) -> Outcome {
    let x = call.take(0)?;
    match x.dtype() {
        Dtype::F32 => one(map_into(x, single)?),
        Dtype::F64 => one(map_into(x, double)?),
        other => Err(KernelErrorKind::Dtype(other)),
    }
}

/// `Erf` also accepts integers: the result is rounded to `f32` and truncated.
fn error_function(call: &mut Call<'_>) -> Outcome {
    let dtype = call.tensor(0)?.dtype();
    if matches!(dtype, Dtype::F32 | Dtype::F64) {
        return functions(call, &|data| each_of(data, math::erf), erf);
    }
    let wide = super::cast::convert(call.tensor(0)?, Dtype::F64)?;
    one(super::cast::convert(&map_into(wide, |x: f64| f64::from(erf(x) as f32))?, dtype)?)
}

/// Number of elements that are copied and then computed, so that they are in the nearest cache.
const BLOCK: usize = 1 << 12;

/// Minimum number of results of an elementary function for which splitting across threads pays.
const MIN_PARALLEL_FUNCTIONS: usize = 1 << 14;

/// Applies an elementary function, which for `f32` is a loop that vectorises.
pub(super) fn functions(
    call: &mut Call<'_>,
    single: &(dyn Fn(&mut [f32]) + Sync),
    double: impl Fn(f64) -> f64 + Sync,
) -> Outcome {
    functions_of(call, single, &Each(double))
}

fn functions_of(
    call: &mut Call<'_>,
    single: &(dyn Fn(&mut [f32]) + Sync),
    double: &dyn ElementLoop<f64>,
) -> Outcome {
    let mut x = call.take(0)?;
    match x.dtype() {
        Dtype::F32 => {}
        Dtype::F64 => return one(map_elements_into(x, double)?),
        other => return Err(KernelErrorKind::Dtype(other)),
    }
    if x.is_shared() {
        let from = x.as_slice::<f32>()?;
        return one(build_over::<f32>(x.shape(), |to| {
            threads::in_parts(to, MIN_PARALLEL_FUNCTIONS, &|at, to| {
                for (to, from) in to.chunks_mut(BLOCK).zip(from[at..].chunks(BLOCK)) {
                    to.copy_from_slice(&from[..to.len()]);
                    single(to);
                }
            });
        })?);
    }
    threads::in_parts(x.as_mut_slice::<f32>()?, MIN_PARALLEL_FUNCTIONS, &|_, data| single(data));
    one(x)
}

/// Replaces every element by the value of a function, with the widest vectors of the processor.
pub(super) fn each_of(data: &mut [f32], function: impl Fn(f32) -> f32) {
    widest(
        #[inline(always)]
        || {
            for x in data.iter_mut() {
                *x = function(*x);
            }
        },
    );
}

/// Replaces every angle by the value of a function, which is `near` up to [`math::MAX_ANGLE`], and `any`
/// beyond.
fn each_angle(data: &mut [f32], near: impl Fn(f32) -> f32, any: impl Fn(f64) -> f64) {
    for data in data.chunks_mut(BLOCK) {
        if data.iter().fold(true, |all, x| all & (x.abs() <= math::MAX_ANGLE)) {
            each_of(data, &near);
        } else {
            for x in data {
                *x = if x.abs() <= math::MAX_ANGLE { near(*x) } else { any(f64::from(*x)) as f32 };
            }
        }
    }
}

/// Applies a float function that is computed in `f64`.
pub(super) fn reals(call: &mut Call<'_>, each: impl Fn(f64) -> f64 + Sync) -> Outcome {
    functions(call, &|data| each_of(data, |x| each(f64::from(x)) as f32), &each)
}

#[derive(Clone, Copy)]
enum Numeric {
    Neg,
    Abs,
    Sign,
}

fn numbers(call: &mut Call<'_>, kind: Numeric) -> Outcome {
    let x = call.take(0)?;
    one(on_numbers!(x.dtype(), T => match kind {
        // `0 - x` would lose the sign of zero.
        Numeric::Neg if T::IS_FLOAT => map_into(x, |x: T| x.times(T::from_f64(-1.0))),
        Numeric::Neg => map_into(x, |x: T| T::ZERO.minus(x)),
        Numeric::Abs if T::IS_FLOAT => map_into(x, |x: T| T::from_f64(x.to_f64().abs())),
        Numeric::Abs => map_into(x, |x: T| if x.is_below_zero() { T::ZERO.minus(x) } else { x }),
        Numeric::Sign => map_into(x, |x: T| {
            if x > T::ZERO { T::ONE } else if x.is_below_zero() { T::ZERO.minus(T::ONE) } else { x }
        }),
    })?)
}

fn test<F: Fn(f64) -> bool>(
    call: &mut Call<'_>,
    make: impl Fn(&Call<'_>) -> Result<F, KernelErrorKind>,
) -> Outcome {
    let holds = make(call)?;
    let x = call.tensor(0)?;
    if let Ok(values) = x.as_slice::<f32>() {
        return one(build_over::<bool>(x.shape(), |out| {
            for (out, value) in out.iter_mut().zip(values) {
                *out = holds(f64::from(*value));
            }
        })?);
    }
    let values = match super::cast::small_float_values(x)? {
        Some(values) => values,
        None => to_f64s(x)?,
    };
    one(build::<bool>(x.shape(), |out| {
        for (out, value) in out.iter_mut().zip(&values) {
            *out = holds(*value);
        }
    })?)
}

/// Error function: Maclaurin series near zero, continued fraction of the complement beyond (Abramowitz and
/// Stegun 7.1.5 and 7.1.14). Both are accurate to the last bits of an `f64`.
pub(crate) fn erf(x: f64) -> f64 {
    let magnitude = x.abs();
    if x.is_nan() {
        return x;
    }
    if magnitude > 6.0 {
        return x.signum();
    }
    if magnitude < 2.5 {
        let square = x * x;
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term.abs() > sum.abs() * 1e-17 && n < 100.0 {
            n += 1.0;
            term *= -square / n;
            sum += term / (2.0 * n + 1.0);
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let mut fraction = magnitude;
    for n in (1..=60).rev() {
        fraction = magnitude + f64::from(n) / 2.0 / fraction;
    }
    let complement = (-magnitude * magnitude).exp() / (fraction * std::f64::consts::PI.sqrt());
    x.signum() * (1.0 - complement)
}

/// Applies a float function to every element; for other operator families.
pub(crate) fn map_floats(
    tensor: AnyTensor,
    each: impl Fn(f64) -> f64 + Sync,
) -> Result<AnyTensor, KernelErrorKind> {
    on_floats!(tensor.dtype(), T => map_into(tensor, |x: T| T::from_f64(each(Number::to_f64(x)))))
}

#[cfg(test)]
mod tests {
    use super::erf;

    #[test]
    fn erf_is_exact_to_many_digits() {
        for (x, expected) in [
            (0.5, 0.520_499_877_813_046_5),
            (1.0, 0.842_700_792_949_714_9),
            (2.4, 0.999_311_486_103_354_9),
            (2.6, 0.999_763_965_583_470_7),
            (-3.0, -0.999_977_909_503_001_4),
        ] {
            assert!((erf(x) - expected).abs() < 1e-14, "erf({x}) = {}", erf(x));
        }
    }
}
