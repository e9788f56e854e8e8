//! Elements of at most 8 bits as codes: the bits of one element in the low bits of a `u8`.
//!
//! A code is the stored bit pattern, not the value: the code of the `int4` -1 is `0x0f`. Codes give access to
//! element types without a Rust type (4-bit integers; 8-, 6- and 4-bit floats).
//!
//! Eight elements of `bits` bits occupy exactly `bits` bytes. Positions are computed in groups of eight,
//! which cannot overflow.

use super::buffer::Buffer;
use super::error::{TensorError, check_count, element_count};
use super::{AnyTensor, packed_len};
use typeloom_types::dtype::Dtype;

impl AnyTensor {
    /// Creates a tensor from codes, one `u8` per element, in row-major order.
    ///
    /// # Errors
    /// [`TensorError::NoCodes`] for elements wider than a byte, [`TensorError::CodeTooLarge`],
    /// [`TensorError::NotBool`], [`TensorError::ElementCount`] and [`TensorError::ShapeOverflow`].
    pub fn from_codes(dtype: Dtype, shape: &[usize], codes: &[u8]) -> Result<Self, TensorError> {
        let bits = code_bits(dtype)?;
        check_count(shape, codes.len())?;
        if bits == 8 {
            return Self::from_le_bytes(dtype, shape, codes);
        }
        let mut buffer = Buffer::zeroed(packed_len(dtype, shape, codes.len())?);
        let bytes = buffer.bytes_mut();
        for (index, code) in codes.iter().enumerate() {
            if code >> bits != 0 {
                return Err(TensorError::CodeTooLarge { dtype, index, code: *code });
            }
            let (byte, shift) = position(index, bits);
            let [low, high] = (u16::from(*code) << shift).to_le_bytes();
            bytes[byte] |= low;
            if high != 0 {
                bytes[byte + 1] |= high;
            }
        }
        Ok(Self { dtype, shape: shape.into(), buffer })
    }

    /// The codes of the elements, one `u8` each, in row-major order.
    ///
    /// # Errors
    /// [`TensorError::NoCodes`] for elements wider than a byte.
    pub fn codes(&self) -> Result<impl ExactSizeIterator<Item = u8> + use<'_>, TensorError> {
        let bits = code_bits(self.dtype)?;
        let bytes = self.bytes();
        let count = element_count(&self.shape)?;
        Ok((0..count).map(move |index| {
            let (byte, shift) = position(index, bits);
            let pair = [bytes[byte], bytes.get(byte + 1).copied().unwrap_or(0)];
            let [code, _] = (u16::from_le_bytes(pair) >> shift).to_le_bytes();
            code & mask(bits)
        }))
    }
}

/// Clears the unused bits of the last byte.
pub(super) fn clear_padding(bytes: &mut [u8], count: usize, bits: u32) {
    let used = (count % 8) as u32 * bits % 8;
    if let Some(last) = bytes.last_mut().filter(|_| used != 0) {
        *last &= mask(used);
    }
}

fn code_bits(dtype: Dtype) -> Result<u32, TensorError> {
    dtype.size_bits().filter(|bits| *bits <= 8).ok_or(TensorError::NoCodes { dtype })
}

/// The byte in which an element starts, and the offset in bits within it.
fn position(index: usize, bits: u32) -> (usize, u32) {
    let in_group = (index % 8) as u32 * bits;
    (index / 8 * bits as usize + (in_group / 8) as usize, in_group % 8)
}

/// A mask of the low `bits` bits, at most eight.
fn mask(bits: u32) -> u8 {
    u8::MAX >> (8 - bits)
}
