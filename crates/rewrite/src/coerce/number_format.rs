//! Number formats of element types, and the conversions between them that keep every value.

use typeloom_solver::elem::Elem;
use typeloom_types::dtype::DtypeClass;

/// The number format of an element type.
#[derive(Clone, Copy)]
enum Numbers {
    /// Integers; `bits` includes the sign.
    Int { bits: i32, signed: bool },
    /// Floats: the bits of the significand, and the exponents of the least and of the greatest power of two.
    Float { significand: i32, least: i32, greatest: i32, signed: bool },
}

fn numbers(elem: Elem) -> Option<Numbers> {
    let dtype = elem.dtype()?;
    let bits = dtype.size_bits()?.cast_signed();
    match dtype.class() {
        DtypeClass::Bool => Some(Numbers::Int { bits: 1, signed: false }),
        DtypeClass::UnsignedInt => Some(Numbers::Int { bits, signed: false }),
        DtypeClass::SignedInt => Some(Numbers::Int { bits, signed: true }),
        DtypeClass::Float => float_numbers(elem),
        DtypeClass::Complex | DtypeClass::String => None,
    }
}

fn float_numbers(elem: Elem) -> Option<Numbers> {
    let float =
        |significand, least, greatest| Some(Numbers::Float { significand, least, greatest, signed: true });
    match elem {
        Elem::DOUBLE => float(53, -1074, 1023),
        Elem::FLOAT => float(24, -149, 127),
        Elem::FLOAT16 => float(11, -24, 15),
        Elem::BFLOAT16 => float(8, -133, 127),
        Elem::FLOAT8E4M3FN => float(4, -9, 8),
        Elem::FLOAT8E4M3FNUZ => float(4, -10, 7),
        Elem::FLOAT8E5M2 => float(3, -16, 15),
        Elem::FLOAT8E5M2FNUZ => float(3, -17, 15),
        Elem::FLOAT6E2M3 => float(4, -3, 2),
        Elem::FLOAT6E3M2 => float(3, -4, 4),
        Elem::FLOAT4E2M1 => float(2, -1, 2),
        Elem::FLOAT8E8M0 => {
            Some(Numbers::Float { significand: 1, least: -127, greatest: 127, signed: false })
        }
        _ => None,
    }
}

pub(super) fn is_float(elem: Elem) -> bool {
    matches!(numbers(elem), Some(Numbers::Float { .. }))
}

/// Whether a conversion keeps every value.
#[must_use]
pub fn keeps_values(from: Elem, to: Elem) -> bool {
    if from == to {
        return true;
    }
    let (Some(from_numbers), Some(to_numbers)) = (numbers(from), numbers(to)) else { return false };
    match (from_numbers, to_numbers) {
        // Conversion to bool keeps only the difference between zero and nonzero.
        (_, Numbers::Int { bits: 1, signed: false }) => false,
        (Numbers::Int { bits, signed }, Numbers::Int { bits: more, signed: to_signed }) => {
            match (signed, to_signed) {
                (true, false) => false,
                (false, true) => bits < more,
                (true, true) | (false, false) => bits <= more,
            }
        }
        (Numbers::Int { bits, signed }, Numbers::Float { significand, greatest, signed: to_signed, .. }) => {
            let magnitude = bits - i32::from(signed);
            (to_signed || !signed) && magnitude <= significand && magnitude <= greatest + 1
        }
        (Numbers::Float { .. }, Numbers::Int { .. }) => false,
        (
            Numbers::Float { significand, least, greatest, signed },
            Numbers::Float { significand: more, least: less, greatest: above, signed: to_signed },
        ) => {
            // Some narrow formats have no infinities or no NaN.
            let specials =
                !is_finite_only(to) || is_finite_only(from) && special_kind(from) == special_kind(to);
            significand <= more && least >= less && greatest <= above && (to_signed || !signed) && specials
        }
    }
}

/// Whether a format has no infinities.
fn is_finite_only(elem: Elem) -> bool {
    special_kind(elem) != 0
}

/// The special values of a float format: 0 for infinities and NaN, 1 for NaN alone, 2 for none.
fn special_kind(elem: Elem) -> u8 {
    match elem {
        Elem::FLOAT8E4M3FN | Elem::FLOAT8E4M3FNUZ | Elem::FLOAT8E5M2FNUZ | Elem::FLOAT8E8M0 => 1,
        Elem::FLOAT6E2M3 | Elem::FLOAT6E3M2 | Elem::FLOAT4E2M1 => 2,
        _ => 0,
    }
}

/// A rank of number formats that prefers the wider of two.
pub(super) fn width(elem: Elem) -> u8 {
    match numbers(elem) {
        None => 0,
        Some(Numbers::Int { bits, signed }) => u8::try_from(2 * bits + i32::from(signed)).unwrap_or(129),
        Some(Numbers::Float { significand, greatest, .. }) => {
            130 + u8::try_from(significand + i32::from(greatest > 100)).unwrap_or(60)
        }
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
