//! Operations on vectors of elements, independent of the instruction set.

use pulp::{Arch, Scalar, Simd, WithSimd};

use crate::element::Number;

/// An element type of products.
pub(crate) trait Lane: Number {
    /// Vector type of an instruction set.
    type Vector<S: Simd>: Copy;

    /// Maximum tile width in vectors, see [`TileSize`](super::TileSize).
    fn across<S: Simd>() -> usize;

    /// Number of elements in a vector.
    fn lanes<S: Simd>() -> usize;

    /// The whole vectors at the front of a slice.
    fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>];

    /// A vector with all elements equal.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;

    /// `a * b + c`.
    fn fused<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>, c: Self::Vector<S>)
    -> Self::Vector<S>;

    /// `a + b`.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;

    /// The sum of all elements.
    fn total<S: Simd>(simd: S, value: Self::Vector<S>) -> Self;

    /// Raises elements to at least `low`, then lowers them to at most `high`. NaN is preserved.
    fn clamped<S: Simd>(simd: S, value: Self::Vector<S>, low: Self, high: Self) -> Self::Vector<S>;

    /// Loads up to a vector of elements; pads a shorter slice with zeros.
    fn load<S: Simd>(simd: S, from: &[Self]) -> Self::Vector<S>;

    /// Stores as many elements as the slice holds.
    fn store<S: Simd>(simd: S, value: Self::Vector<S>, to: &mut [Self]);
}

macro_rules! float_lanes {
    ($ty:ty, $vector:ident, $lanes:ident, $views:ident, $splat:ident, $fused:ident, $add:ident, $less:ident,
     $select:ident, $total:ident, $load:ident, $store:ident) => {
        impl Lane for $ty {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn across<S: Simd>() -> usize {
                if S::REGISTER_COUNT >= 32 { 3 } else { 2 }
            }
            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                S::$lanes
            }
            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>] {
                S::$views(slice).0
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S> {
                simd.$splat(value)
            }
            #[inline(always)]
            fn fused<S: Simd>(
                simd: S,
                a: Self::Vector<S>,
                b: Self::Vector<S>,
                c: Self::Vector<S>,
            ) -> Self::Vector<S> {
                simd.$fused(a, b, c)
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn total<S: Simd>(simd: S, value: Self::Vector<S>) -> Self {
                simd.$total(value)
            }
            #[inline(always)]
            fn clamped<S: Simd>(simd: S, value: Self::Vector<S>, low: Self, high: Self) -> Self::Vector<S> {
                // Comparisons, because the NaN result of `max` depends on the processor.
                let (low, high) = (simd.$splat(low), simd.$splat(high));
                let raised = simd.$select(simd.$less(value, low), low, value);
                simd.$select(simd.$less(high, raised), high, raised)
            }
            #[inline(always)]
            fn load<S: Simd>(simd: S, from: &[Self]) -> Self::Vector<S> {
                match S::$views(from).0.first() {
                    Some(whole) => *whole,
                    None => simd.$load(from),
                }
            }
            #[inline(always)]
            fn store<S: Simd>(simd: S, value: Self::Vector<S>, to: &mut [Self]) {
                simd.$store(to, value);
            }
        }
    };
}

float_lanes!(
    f32,
    f32s,
    F32_LANES,
    as_simd_f32s,
    splat_f32s,
    mul_add_e_f32s,
    add_f32s,
    less_than_f32s,
    select_f32s,
    reduce_sum_f32s,
    partial_load_f32s,
    partial_store_f32s
);
float_lanes!(
    f64,
    f64s,
    F64_LANES,
    as_simd_f64s,
    splat_f64s,
    mul_add_e_f64s,
    add_f64s,
    less_than_f64s,
    select_f64s,
    reduce_sum_f64s,
    partial_load_f64s,
    partial_store_f64s
);

/// Number of integers per vector; relies on automatic vectorisation.
const WHOLE: usize = 16;

macro_rules! whole_lanes {
    ($($ty:ty),*) => {$(
        impl Lane for $ty {
            type Vector<S: Simd> = [$ty; WHOLE];

            #[inline(always)]
            fn across<S: Simd>() -> usize {
                1
            }
            #[inline(always)]
            fn lanes<S: Simd>() -> usize {
                WHOLE
            }
            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>] {
                slice.as_chunks().0
            }
            #[inline(always)]
            fn splat<S: Simd>(_: S, value: Self) -> Self::Vector<S> {
                [value; WHOLE]
            }
            #[inline(always)]
            fn fused<S: Simd>(
                _: S,
                a: Self::Vector<S>,
                b: Self::Vector<S>,
                mut c: Self::Vector<S>,
            ) -> Self::Vector<S> {
                for (c, (a, b)) in c.iter_mut().zip(a.iter().zip(&b)) {
                    *c = c.wrapping_add(a.wrapping_mul(*b));
                }
                c
            }
            #[inline(always)]
            fn sum<S: Simd>(_: S, mut a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S> {
                a.iter_mut().zip(&b).for_each(|(a, b)| *a = a.wrapping_add(*b));
                a
            }
            #[inline(always)]
            fn total<S: Simd>(_: S, value: Self::Vector<S>) -> Self {
                value.iter().fold(0, |sum, element| sum.wrapping_add(*element))
            }
            #[inline(always)]
            fn clamped<S: Simd>(_: S, mut value: Self::Vector<S>, low: Self, high: Self) -> Self::Vector<S> {
                value.iter_mut().for_each(|value| *value = (*value).max(low).min(high));
                value
            }
            #[inline(always)]
            fn load<S: Simd>(_: S, from: &[Self]) -> Self::Vector<S> {
                let mut vector = [0; WHOLE];
                vector.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                vector
            }
            #[inline(always)]
            fn store<S: Simd>(_: S, value: Self::Vector<S>, to: &mut [Self]) {
                to.iter_mut().zip(&value).for_each(|(to, from)| *to = *from);
            }
        }
    )*};
}

whole_lanes!(i8, i16, i32, i64);

/// Runs work on vectors of `T` with the widest ones of the processor. Debug builds do not vectorise the
/// arrays of integers, so they compile such work once.
#[inline(always)]
pub(super) fn dispatch<T: Lane, W: WithSimd>(work: W) -> W::Output {
    // A constant condition, so that the other branch is not compiled.
    if const { cfg!(debug_assertions) && !T::IS_FLOAT } {
        work.with_simd(Scalar::new())
    } else {
        Arch::new().dispatch(work)
    }
}
