//! Encoding of messages, receipts and journal entries. The formats are specified in `docs/wire-format.md`.
//!
//! A type lists its fields or variants once, with [`fields!`] or [`variants!`]; the writer and the reader
//! follow from the list. Both check the same limits, so that the sender rejects a value that the receiver
//! would refuse.
//!
//! **Invariant:** every value has exactly one encoding, and the reader rejects all others.

use bytes::Bytes;
use typeloom_pool::Digest;
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::datum::WireReqId;
use typeloom_tensor::peer::PeerId;

use crate::error::{Exceeded, Flaw, Limited, Malformed, within};
use crate::limits::{MAX_DEPTH, MessageLimits};

/// A type with an encoding.
pub(crate) trait Encoded: Sized {
    /// Whether each element of a list counts towards the limit on values. Values do not, because they are
    /// counted when they are read or written.
    const COUNTS: bool = true;

    /// Appends the encoding.
    fn put(&self, out: &mut Writer<'_>);

    /// Reads a value.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// The encoding of an enum: a tag, and the contents of the variant.
pub(crate) trait Variants: Sized {
    fn put_variant(&self, out: &mut Writer<'_>);

    fn read_variant(reader: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// Encodes a struct as its fields in the listed order.
macro_rules! fields {
    ($($ty:ty { $($field:tt),* })*) => {
        $(
            impl $crate::codec::Encoded for $ty {
                fn put(&self, out: &mut $crate::codec::Writer<'_>) {
                    $(self.$field.put(out);)*
                }

                fn read(reader: &mut $crate::codec::Reader<'_>) -> Result<Self, $crate::error::Malformed> {
                    Ok(Self { $($field: $crate::codec::Encoded::read(reader)?),* })
                }
            }
        )*
    };
}
pub(crate) use fields;

/// Encodes an enum. A line has the tag, the variant, and its contents in the order of the encoding.
macro_rules! variants {
    ($ty:ty, $what:literal: $($tag:literal => ($($variant:tt)*) [$($content:ident),*],)*) => {
        impl $crate::codec::Variants for $ty {
            fn put_variant(&self, out: &mut $crate::codec::Writer<'_>) {
                match self {
                    $($($variant)* => {
                        out.bytes(&[$tag]);
                        $($content.put(out);)*
                    })*
                }
            }

            fn read_variant(
                reader: &mut $crate::codec::Reader<'_>,
            ) -> Result<Self, $crate::error::Malformed> {
                Ok(match reader.byte()? {
                    $($tag => {
                        $(let $content = $crate::codec::Encoded::read(reader)?;)*
                        $($variant)*
                    })*
                    found => return reader.fail($crate::error::Flaw::Kind { what: $what, found }),
                })
            }
        }
    };
}
pub(crate) use variants;

/// Appends encodings until a limit is exceeded.
pub(crate) struct Writer<'l> {
    out: Vec<u8>,
    limits: &'l MessageLimits,
    /// Whether texts beyond the limit are cut off instead of rejected.
    cuts_texts: bool,
    values: usize,
    depth: usize,
    exceeded: Option<Exceeded>,
}

impl<'l> Writer<'l> {
    pub(crate) fn new(out: Vec<u8>, limits: &'l MessageLimits) -> Self {
        Self { out, limits, cuts_texts: false, values: 0, depth: 0, exceeded: None }
    }

    /// A writer that cuts off texts beyond the limit.
    pub(crate) fn cutting_texts(out: Vec<u8>, limits: &'l MessageLimits) -> Self {
        Self { cuts_texts: true, ..Self::new(out, limits) }
    }

    /// Returns the encoding.
    ///
    /// # Errors
    /// The first limit that was exceeded.
    pub(crate) fn finish(self) -> Result<Vec<u8>, Exceeded> {
        self.exceeded.map_or(Ok(self.out), Err)
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Appends an integer in LEB128: seven bits per byte, least significant group first.
    pub(crate) fn int(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }

    /// Appends the length of a byte string, followed by its bytes.
    pub(crate) fn sized(&mut self, bytes: &[u8]) {
        self.int(bytes.len() as u64);
        self.bytes(bytes);
    }

    /// Appends a byte string with a limit.
    fn limited(&mut self, bytes: &[u8], what: Limited, limit: usize) {
        if self.within(what, bytes.len(), limit) {
            self.sized(bytes);
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        let limit = self.limits.name_bytes;
        let text = if self.cuts_texts { &text[..text.floor_char_boundary(limit)] } else { text };
        self.limited(text.as_bytes(), Limited::Name, limit);
    }

    pub(crate) fn rank(&mut self, rank: usize) -> bool {
        self.within(Limited::Rank, rank, self.limits.rank)
    }

    /// Appends a value one nesting level deeper.
    pub(crate) fn value(&mut self, put: impl FnOnce(&mut Self)) {
        if self.exceeded.is_some() || !self.within(Limited::Depth, self.depth, MAX_DEPTH) || !self.count(1) {
            return;
        }
        self.depth += 1;
        put(self);
        self.depth -= 1;
        self.within(Limited::Envelope, self.out.len(), self.limits.envelope_bytes);
    }

    fn count(&mut self, values: usize) -> bool {
        self.values = self.values.saturating_add(values);
        self.within(Limited::Values, self.values, self.limits.values)
    }

    fn within(&mut self, what: Limited, found: usize, limit: usize) -> bool {
        let checked = within(what, found, limit);
        self.exceeded = self.exceeded.or(checked.err());
        checked.is_ok()
    }
}

/// Cursor over a byte slice with checks of bounds and limits.
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    limits: &'b MessageLimits,
    values: usize,
    depth: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8], limits: &'b MessageLimits) -> Self {
        Self { bytes, at: 0, limits, values: 0, depth: 0 }
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

    pub(crate) fn sized(&mut self) -> Result<&'b [u8], Malformed> {
        let len = self.count()?;
        self.take(len)
    }

    fn limited(&mut self, what: Limited, limit: usize) -> Result<&'b [u8], Malformed> {
        let len = self.count()?;
        self.within(what, len, limit)?;
        self.take(len)
    }

    pub(crate) fn text(&mut self) -> Result<&'b str, Malformed> {
        let bytes = self.limited(Limited::Name, self.limits.name_bytes)?;
        std::str::from_utf8(bytes).or_else(|_| self.fail(Flaw::Text))
    }

    pub(crate) fn rank(&mut self) -> Result<usize, Malformed> {
        let rank = self.count()?;
        self.within(Limited::Rank, rank, self.limits.rank)?;
        Ok(rank)
    }

    /// Reads a value one nesting level deeper.
    pub(crate) fn value<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Malformed>,
    ) -> Result<T, Malformed> {
        self.within(Limited::Depth, self.depth, MAX_DEPTH)?;
        self.count_values(1)?;
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Reads a list with a count. The count is not trusted: no memory is reserved for it, and the list grows
    /// with its elements.
    pub(crate) fn repeat<T>(
        &mut self,
        count: usize,
        mut read: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(read(self)?);
        }
        Ok(list)
    }

    fn count_values(&mut self, values: usize) -> Result<(), Malformed> {
        self.values = self.values.saturating_add(values);
        self.within(Limited::Values, self.values, self.limits.values)
    }

    fn within(&self, what: Limited, found: usize, limit: usize) -> Result<(), Malformed> {
        within(what, found, limit).or_else(|exceeded| self.fail(exceeded))
    }

    /// Number of bytes that were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn end(&self) -> Result<(), Malformed> {
        if self.at == self.bytes.len() { Ok(()) } else { self.fail(Flaw::Trailing) }
    }
}

/// Types that a pair of expressions encodes.
macro_rules! encoded {
    ($($ty:ty: |$value:ident, $out:ident| $put:expr, |$reader:ident| $read:expr;)*) => {
        $(
            impl Encoded for $ty {
                fn put(&self, $out: &mut Writer<'_>) {
                    let $value = self;
                    $put
                }

                fn read($reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                    Ok($read)
                }
            }
        )*
    };
}

encoded! {
    u8: |byte, out| out.bytes(&[*byte]), |reader| reader.byte()?;
    u64: |int, out| out.int(*int), |reader| reader.int()?;
    Digest: |digest, out| out.bytes(digest.as_bytes()), |reader| Self(reader.array()?);
    Bytes: |bytes, out| out.sized(bytes), |reader| Self::copy_from_slice(reader.sized()?);
    String: |text, out| out.text(text), |reader| reader.text()?.to_owned();
    PeerId: |peer, out| out.limited(&peer.0, Limited::Peer, out.limits.peer_bytes),
        |reader| Self(reader.limited(Limited::Peer, reader.limits.peer_bytes)?.to_vec());
    Multiaddress: |address, out| out.limited(address.as_bytes(), Limited::Peer, out.limits.peer_bytes),
        |reader| {
            let bytes = reader.limited(Limited::Peer, reader.limits.peer_bytes)?;
            Self::from_bytes(bytes).or_else(|error| reader.fail(error))?
        };
}

fields! {
    WireReqId { 0 }
}

impl<T: Encoded> Encoded for Option<T> {
    fn put(&self, out: &mut Writer<'_>) {
        out.bytes(&[u8::from(self.is_some())]);
        self.iter().for_each(|value| value.put(out));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.byte()? {
            0 => Ok(None),
            1 => T::read(reader).map(Some),
            found => reader.fail(Flaw::Kind { what: "option", found }),
        }
    }
}

impl<T: Encoded> Encoded for Vec<T> {
    fn put(&self, out: &mut Writer<'_>) {
        if !T::COUNTS || out.count(self.len()) {
            out.int(self.len() as u64);
            self.iter().for_each(|value| value.put(out));
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let count = reader.count()?;
        reader.count_values(if T::COUNTS { count } else { 0 })?;
        reader.repeat(count, T::read)
    }
}

macro_rules! tuples {
    ($(($($ty:ident $at:tt),*))*) => {
        $(
            impl<$($ty: Encoded),*> Encoded for ($($ty,)*) {
                const COUNTS: bool = true $(&& $ty::COUNTS)*;

                fn put(&self, out: &mut Writer<'_>) {
                    $(self.$at.put(out);)*
                }

                fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
                    Ok(($($ty::read(reader)?,)*))
                }
            }
        )*
    };
}

tuples! { (A 0, B 1) (A 0, B 1, C 2) }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_back_and_have_one_encoding() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let limits = &MessageLimits::NONE;
            let mut writer = Writer::new(Vec::new(), limits);
            writer.int(value);
            let out = writer.finish().expect("there are no limits");
            let mut reader = Reader::new(&out, limits);
            assert_eq!(reader.int(), Ok(value));
            assert_eq!(reader.end(), Ok(()));
        }
        for long in [&[0x80, 0][..], &[0xff, 0x80, 0], &[0xff; 10], &[0xff; 11]] {
            assert!(matches!(
                Reader::new(long, &MessageLimits::NONE).int(),
                Err(Malformed { flaw: Flaw::Integer, .. })
            ));
        }
        assert!(matches!(
            Reader::new(&[0x80], &MessageLimits::NONE).int(),
            Err(Malformed { flaw: Flaw::Truncated, .. })
        ));
    }
}
