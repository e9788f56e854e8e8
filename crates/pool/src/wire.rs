//! Bytes of a bundle: constants and variable-length integers.

use crate::digest::Digest;
use crate::import_error::{ImportError, ImportErrorKind};

/// First bytes of every bundle.
pub(crate) const MAGIC: [u8; 4] = *b"TLPB";
/// Version of the byte format without names of variables.
pub(crate) const FORMAT_VERSION: u8 = 2;
/// Version of the byte format with names of variables.
pub(crate) const NAMED_VERSION: u8 = 3;
/// Hash suite BLAKE3 with 256 bits.
pub(crate) const SUITE_BLAKE3: u8 = 1;
/// Magic, version, suite and two zero bytes.
pub(crate) const HEADER: usize = 8;
/// Length of the final digest of all preceding bytes.
pub(crate) const TRAILER: usize = 32;

#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u32);
    out.extend(text.as_bytes());
}

/// Assembles a bundle: header, string table, imports, `body` with the encodings of `types` types, roots
/// (label, item, digest), the names of their variables, and the final digest. `names` is empty or has one list
/// for each root.
pub(crate) fn assemble<'s>(
    strings: impl ExactSizeIterator<Item = &'s str>,
    imports: &[Digest],
    types: u32,
    body: &[u8],
    roots: impl ExactSizeIterator<Item = (&'s str, u32, Digest)>,
    names: &[&[String]],
) -> Vec<u8> {
    let is_named = names.iter().any(|names| !names.is_empty());
    let mut bytes = Vec::with_capacity(body.len() + body.len() / 2 + 128);
    bytes.extend(MAGIC);
    bytes.extend([if is_named { NAMED_VERSION } else { FORMAT_VERSION }, SUITE_BLAKE3, 0, 0]);
    put_varint(&mut bytes, strings.len() as u32);
    strings.for_each(|name| put_text(&mut bytes, name));
    put_varint(&mut bytes, imports.len() as u32);
    imports.iter().for_each(|digest| bytes.extend(digest.0));
    put_varint(&mut bytes, types);
    bytes.extend(body);
    put_varint(&mut bytes, roots.len() as u32);
    for (label, item, digest) in roots {
        put_text(&mut bytes, label);
        put_varint(&mut bytes, item);
        bytes.extend(digest.0);
    }
    if is_named {
        for names in names {
            put_varint(&mut bytes, names.len() as u32);
            names.iter().for_each(|name| put_text(&mut bytes, name));
        }
    }
    let checksum = blake3::hash(&bytes);
    bytes.extend(checksum.as_bytes());
    bytes
}

/// Byte buffer for bodies of bundles.
///
/// Integers of one byte are about as frequent as integers of two, so both are written without a branch:
/// always two bytes, of which the next write overwrites the second if it is unused.
#[derive(Default)]
pub(crate) struct Writer {
    /// Written bytes, followed by zeros.
    bytes: Vec<u8>,
    at: usize,
}

impl Writer {
    /// Returns the written bytes.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.at);
        self.bytes
    }

    #[inline(always)]
    pub(crate) fn byte(&mut self, byte: u8) {
        self.put([byte, 0], 1);
    }

    /// Writes an integer like [`put_varint`].
    #[inline(always)]
    pub(crate) fn varint(&mut self, value: u32) {
        // Longer integers are rare: references are mostly small distances.
        if value >= 1 << 14 {
            return self.long_varint(value);
        }
        let more = u32::from(value >= 1 << 7);
        let pair = value & 0x7f | more << 7 | value << 1 & 0x7f00;
        self.put((pair as u16).to_le_bytes(), more as usize + 1);
    }

    #[inline(never)]
    fn long_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    /// Writes the first `len` of two bytes.
    #[inline(always)]
    fn put(&mut self, pair: [u8; 2], len: usize) {
        match self.bytes.get_mut(self.at..).and_then(<[u8]>::first_chunk_mut) {
            Some(next) => *next = pair,
            None => self.grow(pair),
        }
        self.at += len;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, pair: [u8; 2]) {
        self.bytes.truncate(self.at);
        self.bytes.extend(pair);
        self.bytes.resize((2 * self.bytes.len()).max(256), 0);
    }
}

/// Reads bytes sequentially, never past their end.
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
            None => Err(ImportError::at(self.at, ImportErrorKind::Truncated)),
        }
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'b [u8], ImportError> {
        match self.bytes[self.at..].get(..len) {
            Some(taken) => {
                self.at += len;
                Ok(taken)
            }
            None => Err(ImportError::at(self.at, ImportErrorKind::Truncated)),
        }
    }

    pub(crate) fn digest(&mut self) -> Result<[u8; 32], ImportError> {
        let mut digest = [0; 32];
        digest.copy_from_slice(self.take(32)?);
        Ok(digest)
    }

    /// Reads a little-endian base-128 integer of at most 32 bits in its shortest form.
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
                return Err(ImportError::at(start, ImportErrorKind::IntegerTooLarge));
            }
            value |= bits << shift;
            if byte < 0x80 {
                if byte == 0 {
                    return Err(ImportError::at(start, ImportErrorKind::IntegerNotMinimal));
                }
                return Ok(value);
            }
        }
        Err(ImportError::at(start, ImportErrorKind::IntegerTooLarge))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_an_integer_give_the_same_bytes() {
        let mut writer = Writer::default();
        let mut bytes = Vec::new();
        let around = |bit: u32| [(1u32 << bit).wrapping_sub(1), 1 << bit, (1 << bit) + 1, 3 << bit >> 1];
        for value in (0..32).flat_map(around).chain([0, u32::MAX]) {
            writer.varint(value);
            put_varint(&mut bytes, value);
            writer.byte(7);
            bytes.push(7);
        }
        assert_eq!(writer.into_bytes(), bytes);
    }
}
