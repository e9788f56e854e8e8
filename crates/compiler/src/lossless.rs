//! Which casts keep every value.
//!
//! A number of one type is kept by another if that has the same numbers and more: integers by their range, floats by
//! the bits of significand and the range of exponents, integers in floats by the bits of significand.

use typeloom_types::dtype::Dtype;

/// What an element type can hold.
#[derive(Clone, Copy)]
enum Holds {
    Truth,
    Integer {
        bits: u32,
        signed: bool,
    },
    /// Bits of significand, the hidden one included, and bits of exponent.
    Float {
        significand: u32,
        exponent: u32,
    },
}

fn holds(node: &str) -> Option<Holds> {
    let (_, name) = node.rsplit_once('.')?;
    Some(match Dtype::from_name(name)? {
        Dtype::Bool => Holds::Truth,
        Dtype::U8 => Holds::Integer { bits: 8, signed: false },
        Dtype::U16 => Holds::Integer { bits: 16, signed: false },
        Dtype::U32 => Holds::Integer { bits: 32, signed: false },
        Dtype::U64 => Holds::Integer { bits: 64, signed: false },
        Dtype::I8 => Holds::Integer { bits: 8, signed: true },
        Dtype::I16 => Holds::Integer { bits: 16, signed: true },
        Dtype::I32 => Holds::Integer { bits: 32, signed: true },
        Dtype::I64 => Holds::Integer { bits: 64, signed: true },
        Dtype::F16 => Holds::Float { significand: 11, exponent: 5 },
        Dtype::BF16 => Holds::Float { significand: 8, exponent: 8 },
        Dtype::F32 => Holds::Float { significand: 24, exponent: 8 },
        Dtype::F64 => Holds::Float { significand: 53, exponent: 11 },
        _ => return None,
    })
}

/// Whether there is a cast from one node of the tree to another: both are tensors, or both scalars, of numbers.
#[must_use]
pub fn is_convertible(from: &str, to: &str) -> bool {
    let kind = |node: &str| node.split('.').next().map(str::to_owned);
    kind(from) == kind(to) && holds(from).is_some() && holds(to).is_some()
}

/// Whether a cast keeps every value.
#[must_use]
pub fn is_lossless(from: &str, to: &str) -> bool {
    let (Some(from), Some(to)) = (holds(from), holds(to)) else { return false };
    match (from, to) {
        (Holds::Truth, _) => true,
        (_, Holds::Truth) => false,
        (Holds::Integer { bits: a, signed: s }, Holds::Integer { bits: b, signed: t }) => match (s, t) {
            (true, true) | (false, false) => a <= b,
            (false, true) => a < b,
            (true, false) => false,
        },
        (Holds::Integer { bits, signed }, Holds::Float { significand, exponent }) => {
            let digits = bits - u32::from(signed);
            digits <= significand && digits < 1 << (exponent - 1)
        }
        (Holds::Float { .. }, Holds::Integer { .. }) => false,
        (Holds::Float { significand: a, exponent: e }, Holds::Float { significand: b, exponent: f }) => {
            a <= b && e <= f
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_type_keeps_every_value() {
        for (from, to) in [
            ("tensor.f32", "tensor.f64"),
            ("tensor.f16", "tensor.f32"),
            ("tensor.u8", "tensor.i16"),
            ("tensor.i32", "tensor.f64"),
            ("tensor.i16", "tensor.f32"),
            ("tensor.bool", "tensor.u8"),
        ] {
            assert!(is_lossless(from, to) && !is_lossless(to, from), "{from} to {to}");
        }
        for (from, to) in [
            ("tensor.i64", "tensor.f64"),
            ("tensor.bf16", "tensor.f16"),
            ("tensor.f16", "tensor.bf16"),
            ("tensor.i8", "tensor.u64"),
        ] {
            assert!(!is_lossless(from, to), "{from} to {to}");
        }
    }

    #[test]
    fn only_numbers_of_one_kind_are_cast() {
        assert!(is_convertible("tensor.f32", "tensor.i64"));
        assert!(!is_convertible("tensor.f32", "scalar.f32"));
        assert!(!is_convertible("peer_id", "tensor.f32"));
    }
}
