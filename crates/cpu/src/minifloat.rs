//! Floats of at most 8 bits and integers of fewer than 8 bits: decoding and encoding.
//!
//! The finite positive codes of a format are ordered by value, so encoding is a search among the decoded
//! codes. Ties go to the even code (round to nearest even). Values beyond the largest one saturate or become
//! infinity or NaN, depending on the format.

use typeloom_types::dtype::Dtype;

/// Special codes of a format.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// No infinities and no NaN.
    Finite,
    /// The last code of either sign is NaN.
    NanAtEnd,
    /// The code of negative zero is the only NaN.
    NanAtNegativeZero,
    /// Infinities and NaNs as in IEEE 754.
    Ieee,
}

/// A float format.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    exponent: u32,
    mantissa: u32,
    bias: i32,
    specials: Specials,
}

/// Treatment of values beyond the largest one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// Saturate to the largest value.
    Saturate,
    /// Become infinity or NaN.
    Special,
}

/// Format of an element type, if it is a signed float of at most 8 bits.
pub(crate) fn format(dtype: Dtype) -> Option<Format> {
    let of = |exponent, mantissa, bias, specials| Some(Format { exponent, mantissa, bias, specials });
    match dtype {
        Dtype::Float8E4M3Fn => of(4, 3, 7, Specials::NanAtEnd),
        Dtype::Float8E4M3Fnuz => of(4, 3, 8, Specials::NanAtNegativeZero),
        Dtype::Float8E5M2 => of(5, 2, 15, Specials::Ieee),
        Dtype::Float8E5M2Fnuz => of(5, 2, 16, Specials::NanAtNegativeZero),
        Dtype::Float4E2M1 => of(2, 1, 1, Specials::Finite),
        Dtype::Float6E2M3 => of(2, 3, 1, Specials::Finite),
        Dtype::Float6E3M2 => of(3, 2, 3, Specials::Finite),
        _ => None,
    }
}

impl Format {
    fn sign_bit(self) -> u8 {
        1 << (self.exponent + self.mantissa)
    }

    /// Largest code of a finite positive number.
    fn last_finite(self) -> u8 {
        let last = self.sign_bit() - 1;
        match self.specials {
            Specials::Finite | Specials::NanAtNegativeZero => last,
            Specials::NanAtEnd => last - 1,
            Specials::Ieee => last - (1 << self.mantissa),
        }
    }

    pub(crate) fn decode(self, code: u8) -> f32 {
        let negative = code & self.sign_bit() != 0;
        let magnitude = code & (self.sign_bit() - 1);
        if self.specials == Specials::NanAtNegativeZero && negative && magnitude == 0 {
            return f32::NAN;
        }
        if magnitude > self.last_finite() {
            let infinite = self.specials == Specials::Ieee && magnitude == self.last_finite() + 1;
            return match (infinite, negative) {
                (false, _) => f32::NAN,
                (true, false) => f32::INFINITY,
                (true, true) => f32::NEG_INFINITY,
            };
        }
        let value = self.finite(magnitude);
        if negative { -value } else { value }
    }

    fn finite(self, magnitude: u8) -> f32 {
        let mantissa = f32::from(magnitude & ((1 << self.mantissa) - 1)) / (1_u32 << self.mantissa) as f32;
        let exponent = i32::from(magnitude >> self.mantissa);
        let (fraction, power) =
            if exponent == 0 { (mantissa, 1 - self.bias) } else { (1.0 + mantissa, exponent - self.bias) };
        fraction * 2_f32.powi(power)
    }

    fn nan(self, negative: bool) -> u8 {
        match self.specials {
            // A format without NaN encodes NaN as negative zero.
            Specials::Finite | Specials::NanAtNegativeZero => self.sign_bit(),
            Specials::NanAtEnd | Specials::Ieee => {
                (self.sign_bit() - 1) | if negative { self.sign_bit() } else { 0 }
            }
        }
    }

    pub(crate) fn encode(self, value: f64, overflow: Overflow) -> u8 {
        let negative = value.is_sign_negative();
        if value.is_nan() {
            return self.nan(negative);
        }
        let sign = if negative { self.sign_bit() } else { 0 };
        let last = self.last_finite();
        let magnitude = value.abs();
        let greatest = f64::from(self.finite(last));
        // Values of at least half a step beyond the largest one overflow.
        let step = greatest - f64::from(self.finite(last - 1));
        // A tie goes to the even code. It overflows if the largest finite code is odd.
        let tie_leaves = last % 2 == 1;
        let limit = greatest + step / 2.0;
        if magnitude > limit || (magnitude == limit && tie_leaves) || magnitude.is_infinite() {
            let saturates = overflow == Overflow::Saturate || self.specials == Specials::Finite;
            return match self.specials {
                Specials::NanAtEnd | Specials::NanAtNegativeZero if !saturates => self.nan(negative),
                Specials::Ieee if !saturates => (last + 1) | sign,
                Specials::Finite | Specials::NanAtEnd | Specials::NanAtNegativeZero | Specials::Ieee => {
                    last | sign
                }
            };
        }
        let code = self.nearest(magnitude, last);
        if code == 0 && self.specials == Specials::NanAtNegativeZero { 0 } else { code | sign }
    }

    /// Code of the nearest value among the codes up to `last`.
    fn nearest(self, magnitude: f64, last: u8) -> u8 {
        let (mut low, mut high) = (0, last);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if f64::from(self.finite(middle)) <= magnitude { low = middle } else { high = middle - 1 }
        }
        if low == last {
            return last;
        }
        let below = magnitude - f64::from(self.finite(low));
        let above = f64::from(self.finite(low + 1)) - magnitude;
        match below.total_cmp(&above) {
            std::cmp::Ordering::Less => low,
            std::cmp::Ordering::Greater => low + 1,
            std::cmp::Ordering::Equal => low + low % 2,
        }
    }
}

/// Rounding mode for powers of two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PowerRounding {
    /// Towards the larger one.
    Up,
    /// Towards the smaller one.
    Down,
    /// To the nearest one.
    Nearest,
}

/// Decodes `float8e8m0`.
pub(crate) fn decode_power(code: u8) -> f32 {
    if code == u8::MAX { f32::NAN } else { 2_f64.powi(i32::from(code) - 127) as f32 }
}

/// Encodes a value as `float8e8m0`. The sign is dropped.
pub(crate) fn encode_power(value: f64, rounding: PowerRounding, overflow: Overflow) -> u8 {
    // The code is the exponent of the value as an `f32`; its mantissa determines the rounding.
    let value = value as f32;
    if value.is_nan() {
        return u8::MAX;
    }
    let saturate = overflow == Overflow::Saturate;
    if value.is_infinite() {
        return if saturate { 254 } else { u8::MAX };
    }
    let bits = value.abs().to_bits();
    let exponent = (bits >> 23) & 0xff;
    let mantissa = bits & 0x7f_ffff;
    let up = match rounding {
        PowerRounding::Up => mantissa > 0,
        PowerRounding::Down => false,
        PowerRounding::Nearest => {
            let half = 0x40_0000;
            mantissa > half || (mantissa == half && (exponent != 0))
        }
    };
    let code = exponent + u32::from(up);
    match u8::try_from(code) {
        Ok(u8::MAX) | Err(_) => {
            if saturate {
                254
            } else {
                u8::MAX
            }
        }
        Ok(code) => code,
    }
}

/// Decodes an integer of fewer than 8 bits.
pub(crate) fn decode_int(dtype: Dtype, code: u8) -> i64 {
    let bits = dtype.size_bits().unwrap_or(8);
    let value = i64::from(code);
    let signed = matches!(dtype, Dtype::Int4 | Dtype::Int2);
    if signed && code >> (bits - 1) == 1 { value - (1 << bits) } else { value }
}

/// Encodes the low bits of an integer.
pub(crate) fn encode_int(dtype: Dtype, value: i64) -> u8 {
    let bits = dtype.size_bits().unwrap_or(8);
    (value & ((1 << bits) - 1)).to_le_bytes()[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_code_is_the_code_of_its_value() {
        for dtype in Dtype::ALL {
            let Some(format) = format(dtype) else { continue };
            for code in 0..=u8::MAX >> (8 - dtype.size_bits().unwrap_or(8)) {
                let value = format.decode(code);
                if value.is_finite() {
                    assert_eq!(format.encode(f64::from(value), Overflow::Special), code, "{dtype} {value}");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_even_codes_and_excess_saturates_or_not() {
        let format = format(Dtype::Float8E4M3Fn).unwrap();
        assert_eq!(format.decode(0x7e), 448.0);
        assert_eq!(format.encode(464.0, Overflow::Saturate), 0x7e);
        assert_eq!(format.encode(464.1, Overflow::Special), 0x7f);
        assert_eq!(format.encode(-1e9, Overflow::Saturate), 0xfe);
        // Between 1.0 (0x38) and 1.125 (0x39).
        assert_eq!(format.encode(1.0625, Overflow::Saturate), 0x38);
    }
}
