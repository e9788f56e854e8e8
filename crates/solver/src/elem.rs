//! Element types as the solver stores them: dense numbers, and sets of them as bit masks.
//!
//! [`Dtype`] is the table of ONNX's element types; an [`Elem`] of an ONNX type has the type's ONNX number. A
//! [`Universe`](crate::universe::Universe) assigns the numbers from [`Elem::FIRST_CUSTOM`] on to the element
//! types that a lattice adds, in tree order.
//!
//! **Invariant:** an [`ElemSet`] never contains number 0 (`UNDEFINED`). The empty set is a contradiction; an
//! unknown element type is [`ElemSet::ALL`].

use std::num::NonZeroU8;

use typeloom_types::dtype::Dtype;
use typeloom_types::dtypes;

/// The number of one element type in a universe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Elem(NonZeroU8);

macro_rules! onnx_elems {
    ($($(#[$doc:meta])* $dtype:ident / $elem:ident / $tag:ident $facts:tt)*) => {
        impl Elem {
            $(
                #[doc = concat!("[`Dtype::", stringify!($dtype), "`].")]
                pub const $elem: Self = Self::of(Dtype::$dtype);
            )*
        }
    };
}
dtypes!(onnx_elems);

impl Elem {
    /// The largest ONNX element type number.
    pub const LAST_ONNX: u8 = Dtype::ALL.len() as u8;
    /// The number of the first custom element type.
    pub const FIRST_CUSTOM: u8 = 32;
    /// Exclusive upper bound of the numbers.
    pub const LIMIT: u8 = 128;

    /// The element type with this number; `None` for a number that is neither ONNX's nor in the custom range.
    #[must_use]
    pub fn new(number: u8) -> Option<Self> {
        let known = (1..=Self::LAST_ONNX).contains(&number);
        let custom = (Self::FIRST_CUSTOM..Self::LIMIT).contains(&number);
        (known || custom).then(|| NonZeroU8::new(number).map(Self)).flatten()
    }

    /// An ONNX element type.
    #[must_use]
    pub const fn of(dtype: Dtype) -> Self {
        Self(NonZeroU8::new(dtype as u8).expect("ONNX numbers start at 1"))
    }

    /// From a `TensorProto.DataType` number; `None` for 0 (`UNDEFINED`) and for numbers ONNX does not define.
    #[must_use]
    pub fn from_onnx(data_type: i32) -> Option<Self> {
        Dtype::from_onnx_number(data_type).map(Self::of)
    }

    /// From ONNX's name in lower case (`float`, `int64`, `bfloat16`, ...).
    #[must_use]
    pub fn from_onnx_name(name: &str) -> Option<Self> {
        Dtype::from_onnx_name(name).map(Self::of)
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u8 {
        self.0.get()
    }

    /// The number, with its niche.
    #[must_use]
    pub fn non_zero(self) -> NonZeroU8 {
        self.0
    }

    /// The ONNX element type, or `None` for a custom one.
    #[must_use]
    pub fn dtype(self) -> Option<Dtype> {
        Dtype::from_onnx_number(self.number().into())
    }

    /// ONNX's name, or `None` for a custom element type; see
    /// [`Universe::elem_name`](crate::universe::Universe::elem_name).
    #[must_use]
    pub fn onnx_name(self) -> Option<&'static str> {
        self.dtype().map(Dtype::onnx_name)
    }
}

/// A set of element types as a bit mask by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ElemSet(u128);

impl ElemSet {
    /// The empty set: a contradiction.
    pub const EMPTY: Self = Self(0);
    /// Every valid number: an unknown element type.
    pub const ALL: Self = Self(!0 << Elem::FIRST_CUSTOM | ((1 << (Elem::LAST_ONNX + 1)) - 2));

    /// The set with one member.
    #[must_use]
    pub const fn of(elem: Elem) -> Self {
        Self(1 << elem.0.get())
    }

    /// The set of these members.
    #[must_use]
    pub const fn of_all(elems: &[Elem]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < elems.len() {
            bits |= 1 << elems[i].0.get();
            i += 1;
        }
        Self(bits)
    }

    /// From a bit mask; bits of invalid numbers are dropped.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// The bit mask.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Whether `elem` is in the set.
    #[must_use]
    pub const fn contains(self, elem: Elem) -> bool {
        self.0 >> elem.0.get() & 1 == 1
    }

    /// The intersection.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The union.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the set has no members.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Number of members.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// The only member, if there is exactly one.
    #[must_use]
    pub fn single(self) -> Option<Elem> {
        if self.0.is_power_of_two() {
            u8::try_from(self.0.trailing_zeros()).ok().and_then(Elem::new)
        } else {
            None
        }
    }

    /// The members, by number.
    pub fn iter(self) -> impl Iterator<Item = Elem> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let number = u8::try_from(rest.trailing_zeros()).ok()?;
            let elem = Elem::new(number)?;
            rest &= rest - 1;
            Some(elem)
        })
    }
}

impl FromIterator<Elem> for ElemSet {
    fn from_iter<I: IntoIterator<Item = Elem>>(elems: I) -> Self {
        elems.into_iter().fold(Self::EMPTY, |set, elem| set.union(Self::of(elem)))
    }
}

impl std::fmt::Debug for ElemSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn onnx_names_and_numbers_round_trip() {
        for number in 1..=Elem::LAST_ONNX {
            let elem = Elem::new(number).unwrap();
            assert_eq!(Elem::from_onnx_name(elem.onnx_name().unwrap()), Some(elem));
            assert_eq!(Elem::from_onnx(i32::from(number)), Some(elem));
        }
        assert_eq!(Elem::from_onnx(0), None);
        assert_eq!(Elem::from_onnx(29), None);
        assert_eq!(Elem::from_onnx_name("undefined"), None);
    }

    #[test]
    fn a_set_lists_its_members_in_order() {
        let set = ElemSet::of_all(&[Elem::INT64, Elem::FLOAT]);
        assert_eq!(set.iter().collect::<Vec<_>>(), [Elem::FLOAT, Elem::INT64]);
        assert_eq!(set.single(), None);
        assert_eq!(ElemSet::of(Elem::BOOL).single(), Some(Elem::BOOL));
        assert!(ElemSet::ALL.iter().all(|elem| ElemSet::ALL.contains(elem)));
        assert_eq!(ElemSet::ALL.len() as usize, ElemSet::ALL.iter().count());
    }
}
