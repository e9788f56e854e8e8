//! Encoding of integers and byte strings.

use crate::error::{Exceeded, Flaw, Limited, Malformed, within};

/// Appends an integer in LEB128: seven bits per byte, least significant group first.
pub(crate) fn put_int(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the length of a byte string, followed by its bytes.
pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a length-prefixed byte string if it is within a limit.
pub(crate) fn put_limited(
    out: &mut Vec<u8>,
    bytes: &[u8],
    what: Limited,
    limit: usize,
) -> Result<(), Exceeded> {
    within(what, bytes.len(), limit)?;
    put_bytes(out, bytes);
    Ok(())
}

/// Cursor over a byte slice with bounds checks.
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(crate) fn fail<T>(&self, flaw: impl Into<Flaw>) -> Result<T, Malformed> {
        Err(Malformed { at: self.at, flaw: flaw.into() })
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'b [u8], Malformed> {
        match self.bytes[self.at..].get(..len) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => self.fail(Flaw::Truncated),
        }
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn int(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            let last = byte < 0x80;
            if (shift == 63 && byte > 1) || (last && byte == 0 && shift > 0) {
                return self.fail(Flaw::Integer);
            }
            value |= bits << shift;
            if last {
                return Ok(value);
            }
        }
        self.fail(Flaw::Integer)
    }

    /// Reads an integer that fits in `usize`.
    pub(crate) fn count(&mut self) -> Result<usize, Malformed> {
        let value = self.int()?;
        usize::try_from(value).or_else(|_| self.fail(Flaw::Integer))
    }

    pub(crate) fn bytes(&mut self) -> Result<&'b [u8], Malformed> {
        let len = self.count()?;
        self.take(len)
    }

    pub(crate) fn limited(&mut self, what: Limited, limit: usize) -> Result<&'b [u8], Malformed> {
        let len = self.count()?;
        within(what, len, limit).or_else(|exceeded| self.fail(exceeded))?;
        self.take(len)
    }

    pub(crate) fn text(&mut self, what: Limited, limit: usize) -> Result<&'b str, Malformed> {
        let bytes = self.limited(what, limit)?;
        std::str::from_utf8(bytes).or_else(|_| self.fail(Flaw::Text))
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.at == self.bytes.len() { Ok(()) } else { self.fail(Flaw::Trailing) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back_and_have_one_form() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            put_int(&mut out, value);
            let mut reader = Reader::new(&out);
            assert_eq!(reader.int(), Ok(value));
            assert_eq!(reader.end(), Ok(()));
        }
        for long in [&[0x80, 0][..], &[0xff, 0x80, 0], &[0xff; 10], &[0xff; 11]] {
            assert!(matches!(Reader::new(long).int(), Err(Malformed { flaw: Flaw::Integer, .. })));
        }
        assert!(matches!(Reader::new(&[0x80]).int(), Err(Malformed { flaw: Flaw::Truncated, .. })));
    }
}
