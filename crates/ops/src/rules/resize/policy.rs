//! `keep_aspect_ratio_policy`: sizes as bounds for one scale of all axes.
//!
//! The scale is the least (or the greatest) `size / input` over the resized axes, and each axis gets
//! `round(input * scale)` elements, rounding halves up. The axis that determines the scale gets exactly its
//! size.

use smallvec::SmallVec;
use typeloom_dim::DimId;
use typeloom_solver::rule::Port::In;
use typeloom_solver::rule::{RuleCx, RuleResult};

use super::Extents;
use crate::rules::common::choice;

/// The value of `keep_aspect_ratio_policy`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Each axis gets its size.
    Stretch,
    /// The largest image within the sizes.
    NotLarger,
    /// The smallest image that covers the sizes.
    NotSmaller,
}

/// The policy of the node; before version 18 always `Stretch`.
pub(super) fn read(cx: &RuleCx<'_, '_>) -> RuleResult<Policy> {
    let policies = [
        ("stretch", Policy::Stretch),
        ("not_larger", Policy::NotLarger),
        ("not_smaller", Policy::NotSmaller),
    ];
    Ok(choice(cx, "keep_aspect_ratio_policy", &policies)?.unwrap_or(Policy::Stretch))
}

impl Policy {
    /// The extents of the resized axes for these sizes.
    pub(super) fn apply(self, cx: &mut RuleCx<'_, '_>, axes: &[usize], sizes: &[DimId]) -> Extents {
        if self == Self::Stretch || axes.len() == 1 {
            return sizes.iter().copied().map(Some).collect();
        }
        let unknown = || SmallVec::from_elem(None, axes.len());
        let Some(input) = cx.shape(In(0)) else { return unknown() };
        let mut pairs: SmallVec<[(i64, i64); 6]> = SmallVec::new();
        for (axis, size) in axes.iter().zip(sizes) {
            match (cx.const_dim(input[*axis]), cx.const_dim(*size)) {
                (Some(from), Some(to)) if from > 0 && from < MAX_EXTENT && to < MAX_EXTENT => {
                    pairs.push((from, to));
                }
                (Some(_) | None, _) => return unknown(),
            }
        }
        // Cross multiplication compares the quotients exactly.
        let decides = pairs.iter().copied().reduce(|best, next| {
            let closer = match self {
                Self::NotSmaller => next.1 * best.0 > best.1 * next.0,
                Self::NotLarger | Self::Stretch => next.1 * best.0 < best.1 * next.0,
            };
            if closer { next } else { best }
        });
        let Some(scale) = decides else { return unknown() };
        pairs.iter().map(|(from, _)| rounded(*from, scale).map(|extent| cx.dims().constant(extent))).collect()
    }
}

/// Extents from here on are not followed: products of two of them could overflow.
const MAX_EXTENT: i64 = 1 << 31;

/// From here on, single precision does not represent every integer.
const SINGLE: i64 = 1 << 24;

/// `round(extent * to / from)`; `None` if it is so close to a half that the result depends on the precision
/// of an implementation. A scale of one keeps every extent.
fn rounded(extent: i64, (from, to): (i64, i64)) -> Option<i64> {
    if from == to {
        return Some(extent);
    }
    if extent.max(from).max(to) >= SINGLE {
        return None;
    }
    let product = extent * to;
    let (whole, rest) = (product / from, product % from);
    let off_half = (2 * rest - from).abs();
    // Single precision is off by less than 2^-21 of the quotient, and exact for short binary fractions.
    let close = i128::from(off_half) << 21 <= i128::from(2 * product);
    let exact = (to << 24) % from == 0 && product < 1 << 24;
    (rest == 0 || exact || !close).then(|| whole + i64::from(2 * rest >= from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deciding_axis_gets_its_size_and_the_others_are_rounded() {
        assert_eq!(rounded(7, (7, 3)), Some(3));
        assert_eq!(rounded(10, (7, 3)), Some(4));
        assert_eq!(rounded(5, (3, 2)), Some(3));
    }

    #[test]
    fn a_scale_of_one_keeps_extents_that_single_precision_does_not_represent() {
        let large = SINGLE + 1;
        assert_eq!(rounded(large, (large, large)), Some(large));
        assert_eq!(rounded(large, (7, 7)), Some(large));
        assert_eq!(rounded(large, (3, 4)), None);
        assert_eq!(rounded(3, (large, large - 1)), None);
    }

    #[test]
    fn a_half_is_rounded_up_if_it_is_exact_in_every_precision() {
        assert_eq!(rounded(3, (2, 1)), Some(2));
        assert_eq!(rounded(9, (6, 1)), None);
    }
}
