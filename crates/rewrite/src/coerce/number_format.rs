//! Number formats of element types, and the conversions between them that keep every value.

use typeloom_solver::elem::Elem;
use typeloom_types::dtype::DtypeClass;

/// The number format of an element type. An integer is a float without exponents below 0 and without special
/// values.
pub(crate) struct NumberFormat {
    /// The bits of the significand.
    pub(crate) significand: i32,
    /// The exponents of the least and of the greatest power of two.
    pub(crate) least: i32,
    greatest: i32,
    pub(crate) is_signed: bool,
    /// The special values; `None` for integers.
    pub(crate) specials: Option<Specials>,
}

impl NumberFormat {
    /// The greatest value of a float.
    pub(crate) fn greatest_value(&self, elem: Elem) -> f64 {
        // The greatest significand of this format is not a number.
        if elem == Elem::FLOAT8E4M3FN {
            return 448.0;
        }
        (2.0 - f64::from(1 - self.significand).exp2()) * f64::from(self.greatest).exp2()
    }

    /// The format as an integer.
    pub(crate) fn integer(&self) -> Integer {
        Integer { bits: self.significand.unsigned_abs(), is_signed: self.is_signed }
    }
}

/// An integer format.
#[derive(Clone, Copy)]
pub(crate) struct Integer {
    /// The bits without the sign.
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Specials {
    InfinitiesAndNan,
    Nan,
    None,
}

pub(crate) fn number_format(elem: Elem) -> Option<NumberFormat> {
    let dtype = elem.dtype()?;
    let is_signed = match dtype.class() {
        DtypeClass::Bool | DtypeClass::UnsignedInt => false,
        DtypeClass::SignedInt => true,
        DtypeClass::Float => return float_format(elem),
        DtypeClass::Complex | DtypeClass::String => return None,
    };
    let bits = if elem == Elem::BOOL { 1 } else { dtype.size_bits()?.cast_signed() };
    let significand = bits - i32::from(is_signed);
    Some(NumberFormat { significand, least: 0, greatest: significand - 1, is_signed, specials: None })
}

fn float_format(elem: Elem) -> Option<NumberFormat> {
    let (significand, least, greatest, specials) = match elem {
        Elem::DOUBLE => (53, -1074, 1023, Specials::InfinitiesAndNan),
        Elem::FLOAT => (24, -149, 127, Specials::InfinitiesAndNan),
        Elem::FLOAT16 => (11, -24, 15, Specials::InfinitiesAndNan),
        Elem::BFLOAT16 => (8, -133, 127, Specials::InfinitiesAndNan),
        Elem::FLOAT8E4M3FN => (4, -9, 8, Specials::Nan),
        Elem::FLOAT8E4M3FNUZ => (4, -10, 7, Specials::Nan),
        Elem::FLOAT8E5M2 => (3, -16, 15, Specials::InfinitiesAndNan),
        Elem::FLOAT8E5M2FNUZ => (3, -17, 15, Specials::Nan),
        Elem::FLOAT6E2M3 => (4, -3, 2, Specials::None),
        Elem::FLOAT6E3M2 => (3, -4, 4, Specials::None),
        Elem::FLOAT4E2M1 => (2, -1, 2, Specials::None),
        Elem::FLOAT8E8M0 => (1, -127, 127, Specials::Nan),
        _ => return None,
    };
    let is_signed = elem != Elem::FLOAT8E8M0;
    Some(NumberFormat { significand, least, greatest, is_signed, specials: Some(specials) })
}

pub(crate) fn is_float(elem: Elem) -> bool {
    number_format(elem).is_some_and(|format| format.specials.is_some())
}

/// Whether a conversion keeps every value.
#[must_use]
pub fn keeps_values(from: Elem, to: Elem) -> bool {
    if from == to {
        return true;
    }
    let (Some(old), Some(new)) = (number_format(from), number_format(to)) else { return false };
    let keeps_specials =
        old.specials.is_none() || [Some(Specials::InfinitiesAndNan), old.specials].contains(&new.specials);
    // Conversion to bool keeps only the difference between zero and nonzero, and this float has no zero.
    to != Elem::BOOL
        && to != Elem::FLOAT8E8M0
        && old.significand <= new.significand
        && old.least >= new.least
        && old.greatest <= new.greatest
        && (new.is_signed || !old.is_signed)
        && keeps_specials
}

/// Whether a conversion keeps the size of numbers except for rounding, so that its input is as good as its
/// result.
pub(crate) fn rounds(from: Elem, to: Elem) -> bool {
    let is_number = from != Elem::BOOL && number_format(from).is_some();
    keeps_values(from, to) || is_number && is_float(to)
}

/// A rank by which a wider number format is greater.
pub(crate) fn width(elem: Elem) -> u8 {
    let Some(NumberFormat { significand, greatest, is_signed, specials, .. }) = number_format(elem) else {
        return 0;
    };
    let sign = i32::from(is_signed);
    match specials {
        None => u8::try_from(2 * (significand + sign) + sign).unwrap_or(129),
        Some(_) => 130 + u8::try_from(significand + i32::from(greatest > 100)).unwrap_or(60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_keep_values_or_lose_some() {
        let keeps = [
            (Elem::FLOAT16, Elem::FLOAT),
            (Elem::BFLOAT16, Elem::FLOAT),
            (Elem::FLOAT, Elem::DOUBLE),
            (Elem::INT32, Elem::DOUBLE),
            (Elem::INT32, Elem::INT64),
            (Elem::UINT8, Elem::BFLOAT16),
            (Elem::INT16, Elem::FLOAT),
            (Elem::BOOL, Elem::INT8),
            (Elem::BOOL, Elem::FLOAT16),
            (Elem::UINT8, Elem::INT16),
            (Elem::FLOAT8E5M2, Elem::FLOAT16),
            (Elem::FLOAT8E8M0, Elem::BFLOAT16),
            (Elem::FLOAT4E2M1, Elem::FLOAT8E5M2),
        ];
        let loses = [
            (Elem::FLOAT, Elem::FLOAT16),
            (Elem::FLOAT16, Elem::BFLOAT16),
            (Elem::BFLOAT16, Elem::FLOAT16),
            (Elem::INT64, Elem::DOUBLE),
            (Elem::INT32, Elem::FLOAT),
            (Elem::FLOAT, Elem::INT64),
            (Elem::INT8, Elem::UINT64),
            (Elem::UINT64, Elem::INT64),
            (Elem::INT8, Elem::BOOL),
            (Elem::STRING, Elem::FLOAT),
            (Elem::INT8, Elem::STRING),
            (Elem::FLOAT8E5M2, Elem::FLOAT8E4M3FN),
            (Elem::INT8, Elem::FLOAT8E8M0),
        ];
        assert!(keeps.iter().all(|(from, to)| keeps_values(*from, *to)));
        assert!(loses.iter().all(|(from, to)| !keeps_values(*from, *to)));
    }

    #[test]
    fn keeping_values_is_a_partial_order() {
        let all: Vec<Elem> = (1..=Elem::LAST_ONNX).filter_map(Elem::new).collect();
        for (a, b) in all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))) {
            assert!(a == b || !(keeps_values(a, b) && keeps_values(b, a)), "{a:?} {b:?}");
            for c in &all {
                assert!(
                    !keeps_values(a, b) || !keeps_values(b, *c) || keeps_values(a, *c),
                    "{a:?} {b:?} {c:?}"
                );
            }
        }
    }
}
