//! Sizes that are computed in floats with dyadic fractions: `h * 0.5`, `h * 1.5`, `h * 0.25 + 0.5`.
//!
//! A tensor of such sizes is a tensor of integers with a common divisor. Products, sums and quotients of
//! numbers whose divisor is a power of two are exact in floats, so rounding the result equals a division of
//! integers. With another divisor, as in `h / 7`, only the quotient itself is rounded in floats; it is close
//! enough to be rounded to the same integer, but further arithmetic on it is not followed.
//!
//! Floats represent integers up to 2^24 (`float`) or 2^53 (`double`) exactly. Larger extents do not occur in
//! practice, and factors have small numerators ([`MAX_NUMERATOR`]): 0.3 is the dyadic fraction 5033165/2^24
//! as a `float`, whose products are rounded.

use std::sync::Arc;

use typeloom_dim::{DimId, Dims};
use typeloom_solver::rule::Port::{In, Out};
use typeloom_solver::rule::{Extents, Ints, Port, RuleCx};

use super::fold::positions_of;
use crate::rules::items::{follows_whole, put_whole, whole_items};

/// Maximum divisor.
const MAX_DIVISOR: i64 = 1 << 16;
/// Maximum numerator of a constant that is not whole.
const MAX_NUMERATOR: i64 = 1 << 8;

/// Integers with a common divisor of at least 1.
pub(super) struct Fractions {
    numerators: Arc<Ints>,
    divisor: i64,
}

impl Fractions {
    /// The numbers at a port.
    fn at(cx: &mut RuleCx<'_, '_>, port: Port) -> Option<Self> {
        if !cx.elem(port).is_some_and(follows_whole) {
            return None;
        }
        if let Some((numerators, divisor)) = cx.ratios(port) {
            return Some(Self { numerators, divisor });
        }
        if let Some(numerators) = whole_items(cx, port) {
            return Some(Self { numerators, divisor: 1 });
        }
        let floats = cx.floats(port)?;
        let mut divisor = 1;
        while !floats.items.iter().all(|item| (item * divisor as f64).fract() == 0.0) {
            divisor *= 2;
            if divisor > MAX_DIVISOR {
                return None;
            }
        }
        let numerator = |item: &f64| {
            let numerator = item * divisor as f64;
            (numerator.abs() <= MAX_NUMERATOR as f64).then(|| cx.dims().constant(numerator as i64))
        };
        let items = floats.items.iter().map(numerator).collect::<Option<_>>()?;
        Some(Self { numerators: Arc::new(Ints { shape: floats.shape.clone(), items }), divisor })
    }

    /// Whether arithmetic on the numbers is exact.
    fn is_dyadic(&self) -> bool {
        self.divisor.count_ones() == 1
    }

    /// The numerator and the divisor of the only number, if it is a constant.
    fn constant(&self, cx: &mut RuleCx<'_, '_>) -> Option<(i64, i64)> {
        let [numerator] = self.numerators.items[..] else { return None };
        Some((cx.const_dim(numerator)?, self.divisor))
    }
}

/// The operands, if arithmetic on them is exact.
fn both(cx: &mut RuleCx<'_, '_>) -> Option<(Fractions, Fractions)> {
    let a = Fractions::at(cx, In(0)).filter(Fractions::is_dyadic)?;
    let b = Fractions::at(cx, In(1)).filter(Fractions::is_dyadic)?;
    Some((a, b))
}

/// Records the products of the operands.
pub(super) fn multiply(cx: &mut RuleCx<'_, '_>) -> Option<()> {
    let (a, b) = both(cx)?;
    let divisor = a.divisor.checked_mul(b.divisor)?;
    let scales = (1, 1);
    combine(cx, (&a, &b), scales, divisor, Dims::mul)
}

/// Records the sums or the differences of the operands.
pub(super) fn combine_sums(
    cx: &mut RuleCx<'_, '_>,
    compute: fn(&mut Dims, DimId, DimId) -> DimId,
) -> Option<()> {
    let (a, b) = both(cx)?;
    let divisor = a.divisor.max(b.divisor);
    let scales = (divisor / a.divisor, divisor / b.divisor);
    combine(cx, (&a, &b), scales, divisor, compute)
}

/// Records the quotients by one constant.
pub(super) fn divide(cx: &mut RuleCx<'_, '_>) -> Option<()> {
    let (a, b) = both(cx)?;
    let (numerator, scale) = b.constant(cx).filter(|(numerator, _)| *numerator > 0)?;
    let divisor = a.divisor.checked_mul(numerator)?;
    let one = Fractions {
        numerators: Arc::new(Ints {
            shape: b.numerators.shape.clone(),
            items: smallvec::smallvec![DimId::ONE],
        }),
        divisor: 1,
    };
    combine(cx, (&a, &one), (scale, 1), divisor, Dims::mul)
}

/// Records `compute(scale_a * a, scale_b * b) / divisor`, element by element.
fn combine(
    cx: &mut RuleCx<'_, '_>,
    (a, b): (&Fractions, &Fractions),
    (scale_a, scale_b): (i64, i64),
    divisor: i64,
    compute: fn(&mut Dims, DimId, DimId) -> DimId,
) -> Option<()> {
    let (a, b) = (&a.numerators, &b.numerators);
    let (shape, positions) = positions_of(cx, &[&a.shape, &b.shape])?;
    let dims = cx.dims();
    let (scale_a, scale_b) = (dims.constant(scale_a), dims.constant(scale_b));
    let item = |at: &[usize; 3]| {
        let (a, b) = (dims.mul(a.items[at[0]], scale_a), dims.mul(b.items[at[1]], scale_b));
        compute(dims, a, b)
    };
    let items: Vec<DimId> = positions.iter().map(item).collect();
    put(cx, shape, &items, divisor)
}

/// Records numbers with a common divisor at the output: as integers if all are whole.
fn put(cx: &mut RuleCx<'_, '_>, shape: Extents, items: &[DimId], divisor: i64) -> Option<()> {
    let by = cx.dims().constant(divisor);
    let exact = items.iter().map(|item| cx.dims().div_exact(*item, by)).collect();
    if let Some(items) = exact {
        put_whole(cx, Out(0), Ints { shape, items });
    } else if divisor <= MAX_DIVISOR {
        cx.set_ratios(Out(0), Ints { shape, items: items.into() }, divisor);
    }
    Some(())
}
