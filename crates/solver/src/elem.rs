//! Element types as the solver sees them: a small dense number, and sets of them as bits.
//!
//! The numbers `1..=28` are ONNX's own `TensorProto.DataType` numbers, so reading a tensor's element
//! type is a range check and nothing else. Numbers from [`Elem::FIRST_CUSTOM`] on are handed out, in
//! registration order, to leaves that a lattice adds under `tensor`.
//!
//! **Invariant:** an [`ElemSet`] never contains number 0 (`UNDEFINED`), and a set that is empty is a
//! contradiction, never "unknown": unknown is [`ElemSet::ALL`].

use std::num::NonZeroU8;

/// One element type, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Elem(NonZeroU8);

/// ONNX's names for element types, at the position of their `DataType` number.
const ONNX_NAMES: [&str; 29] = [
    "undefined",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
    "bfloat16",
    "float8e4m3fn",
    "float8e4m3fnuz",
    "float8e5m2",
    "float8e5m2fnuz",
    "uint4",
    "int4",
    "float4e2m1",
    "float8e8m0",
    "uint2",
    "int2",
    "float6e2m3",
    "float6e3m2",
];

macro_rules! onnx_elems {
    ($($name:ident = $number:literal),* $(,)?) => {
        impl Elem {
            $(
                #[doc = concat!("ONNX element type number ", stringify!($number), ".")]
                pub const $name: Self = Self(NonZeroU8::new($number).expect("ONNX numbers start at 1"));
            )*
        }
    };
}

onnx_elems! {
    FLOAT = 1, UINT8 = 2, INT8 = 3, UINT16 = 4, INT16 = 5, INT32 = 6, INT64 = 7, STRING = 8, BOOL = 9,
    FLOAT16 = 10, DOUBLE = 11, UINT32 = 12, UINT64 = 13, COMPLEX64 = 14, COMPLEX128 = 15, BFLOAT16 = 16,
    FLOAT8E4M3FN = 17, FLOAT8E4M3FNUZ = 18, FLOAT8E5M2 = 19, FLOAT8E5M2FNUZ = 20, UINT4 = 21, INT4 = 22,
    FLOAT4E2M1 = 23, FLOAT8E8M0 = 24, UINT2 = 25, INT2 = 26, FLOAT6E2M3 = 27, FLOAT6E3M2 = 28,
}

impl Elem {
    /// The largest ONNX element type number.
    pub const LAST_ONNX: u8 = 28;
    /// The number of the first custom element type.
    pub const FIRST_CUSTOM: u8 = 32;
    /// How many different numbers there can be (exclusive upper bound).
    pub const LIMIT: u8 = 128;

    /// The element type with this number, if the number is one that can be used at all.
    #[must_use]
    pub fn new(number: u8) -> Option<Self> {
        let known = (1..=Self::LAST_ONNX).contains(&number);
        let custom = (Self::FIRST_CUSTOM..Self::LIMIT).contains(&number);
        (known || custom).then(|| NonZeroU8::new(number).map(Self)).flatten()
    }

    /// From a `TensorProto.DataType` number; `None` for 0 (`UNDEFINED`) and for numbers ONNX does not define.
    #[must_use]
    pub fn from_onnx(data_type: i32) -> Option<Self> {
        u8::try_from(data_type).ok().filter(|n| *n <= Self::LAST_ONNX).and_then(Self::new)
    }

    /// From ONNX's name in lower case (`float`, `int64`, `bfloat16`, ...).
    #[must_use]
    pub fn from_onnx_name(name: &str) -> Option<Self> {
        let position = ONNX_NAMES.iter().skip(1).position(|known| *known == name)?;
        u8::try_from(position + 1).ok().and_then(Self::new)
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

    /// ONNX's name, or `None` for a custom element type (its name is in the lattice).
    #[must_use]
    pub fn onnx_name(self) -> Option<&'static str> {
        ONNX_NAMES.get(usize::from(self.number())).copied()
    }
}

/// A set of element types: bit `n` says whether number `n` is possible.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ElemSet(u128);

impl ElemSet {
    /// Nothing is possible: a contradiction.
    pub const EMPTY: Self = Self(0);
    /// Nothing is known yet: every number that can be used.
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

    /// From raw bits; bits that no element type can have are dropped.
    #[must_use]
    pub const fn from_bits(bits: u128) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// The bits.
    #[must_use]
    pub const fn bits(self) -> u128 {
        self.0
    }

    /// Whether `elem` is in the set.
    #[must_use]
    pub const fn contains(self, elem: Elem) -> bool {
        self.0 >> elem.0.get() & 1 == 1
    }

    /// What is in both.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether nothing is possible.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many members there are.
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
