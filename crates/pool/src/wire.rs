//! Bytes of a bundle: fixed parts and variable-length integers.

use crate::fault::{Fault, ImportError};

/// The first bytes of every bundle.
pub(crate) const MAGIC: [u8; 4] = *b"TLPB";
/// The version of the byte format.
pub(crate) const FORMAT_VERSION: u8 = 1;
/// The hash suite: BLAKE3 with 256 bits.
pub(crate) const SUITE_BLAKE3: u8 = 1;
/// Magic, version, suite and two zero bytes.
pub(crate) const HEADER: usize = 8;
/// The digest of all other bytes, at the end.
pub(crate) const TRAILER: usize = 32;

#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads forward through bytes and never past their end.
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    pub(crate) at: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, ImportError> {
        match self.bytes.get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => Err(ImportError::at(self.at, Fault::Truncated)),
        }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'b [u8], ImportError> {
        match self.bytes[self.at..].get(..len) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(ImportError::at(self.at, Fault::Truncated)),
        }
    }

    pub(crate) fn digest(&mut self) -> Result<[u8; 32], ImportError> {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.take(32)?);
        Ok(digest)
    }

    /// A little-endian base-128 integer of at most 32 bits, in as few bytes as possible.
    #[inline]
    pub(crate) fn varint(&mut self) -> Result<u32, ImportError> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(u32::from(first));
        }
        self.long_varint(u32::from(first & 0x7f))
    }

    #[inline]
    fn long_varint(&mut self, first: u32) -> Result<u32, ImportError> {
        let start = self.at - 1;
        let mut value = first;
        for shift in [7, 14, 21, 28] {
            let byte = self.byte()?;
            let bits = u32::from(byte & 0x7f);
            if shift == 28 && bits > 0xf {
                return Err(ImportError::at(start, Fault::IntegerTooLarge));
            }
            value |= bits << shift;
            if byte < 0x80 {
                if byte == 0 {
                    return Err(ImportError::at(start, Fault::IntegerNotMinimal));
                }
                return Ok(value);
            }
        }
        Err(ImportError::at(start, Fault::IntegerTooLarge))
    }
}
