//! The id of a dim.

use std::num::NonZeroU32;

/// A dim of an arena: one extent, or one integer computed from extents.
///
/// Within one [`Dims`](crate::Dims), equal polynomials have equal ids (once bound variables are resolved, see
/// [`Dims::resolve`](crate::Dims::resolve)). Constants of up to 31 bits have the same id in every arena. The
/// order is that of creation and has no further meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DimId(NonZeroU32);

/// Marks an id that is a constant and not the position of a node.
const INLINE: u32 = 1 << 31;

impl DimId {
    /// The constant 0.
    pub const ZERO: Self = Self::inline(0);
    /// The constant 1.
    pub const ONE: Self = Self::inline(1);

    /// Constants of 31 bits (two's complement) are stored in the id.
    pub(crate) const INLINE_RANGE: std::ops::RangeInclusive<i64> = -(1 << 30)..=(1 << 30) - 1;

    #[inline]
    pub(crate) const fn inline(value: i32) -> Self {
        Self(NonZeroU32::new(value.cast_unsigned() | INLINE).expect("the marker bit is set"))
    }

    #[inline]
    pub(crate) fn inline_value(self) -> Option<i64> {
        let raw = self.0.get();
        // Shifting the marker out and back extends the sign of the 31-bit number.
        (raw & INLINE != 0).then(|| i64::from((raw << 1).cast_signed() >> 1))
    }

    pub(crate) fn node(index: usize) -> Self {
        let raw = u32::try_from(index + 1).ok().filter(|raw| raw & INLINE == 0).and_then(NonZeroU32::new);
        Self(raw.expect("an arena of 2^31 nodes does not fit into memory"))
    }

    #[inline]
    pub(crate) fn index(self) -> Option<usize> {
        let raw = self.0.get();
        (raw & INLINE == 0).then(|| raw as usize - 1)
    }

    /// The number itself, for hashing.
    pub(crate) fn word(self) -> u64 {
        u64::from(self.0.get())
    }
}
