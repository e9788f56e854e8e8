//! Protobuf's wire format over a borrowed slice, with absolute byte offsets.
//!
//! [`Fields`] iterates over the records of one message. The payload of a record is returned as a slice, so
//! skipping a weight of two gigabytes costs as much as skipping a short string.
//!
//! **Invariant:** this module does not panic or recurse for any input. It allocates only a list of at most
//! [`MAX_GROUP_DEPTH`] open groups while a group is skipped.
//!
//! **Invariant:** an iterator ends after its first error.

use crate::error::{DecodeError, ErrorKind, FieldName, displayed};

/// Maximum depth of nested groups.
pub const MAX_GROUP_DEPTH: usize = 100;

displayed! {
    /// The encoding of a value.
    pub enum WireKind {
        /// A variable-length integer of one to ten bytes.
        Varint "a varint",
        /// Eight bytes.
        Fixed64 "eight bytes",
        /// A length followed by that number of bytes.
        Len "a length and bytes",
        /// Records up to an end tag.
        Group "a group",
        /// Four bytes.
        Fixed32 "four bytes",
    }
}

/// The uninterpreted value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireValue<'a> {
    /// A variable-length integer of one to ten bytes.
    Varint(u64),
    /// Eight bytes, little-endian.
    Fixed64(u64),
    /// Bytes and their absolute offset.
    Len(&'a [u8], usize),
    /// The records of a group without its end tag, and their absolute offset.
    Group(&'a [u8], usize),
    /// Four bytes, little-endian.
    Fixed32(u32),
}

impl WireValue<'_> {
    /// The encoding of the value.
    pub const fn kind(&self) -> WireKind {
        match self {
            Self::Varint(_) => WireKind::Varint,
            Self::Fixed64(_) => WireKind::Fixed64,
            Self::Len(_, _) => WireKind::Len,
            Self::Group(_, _) => WireKind::Group,
            Self::Fixed32(_) => WireKind::Fixed32,
        }
    }
}

/// One record of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The field number, never zero.
    pub number: u32,
    /// The absolute offset of the record's key.
    pub offset: usize,
    /// The absolute offset of the end of the record.
    pub end: usize,
    pub value: WireValue<'a>,
}

impl<'a> Field<'a> {
    /// The value as an unsigned integer.
    #[inline]
    pub fn varint(&self, name: &'static FieldName) -> Result<u64, DecodeError> {
        match self.value {
            WireValue::Varint(value) => Ok(value),
            _ => Err(self.wrong(name, WireKind::Varint)),
        }
    }

    /// The value as an `int64`.
    #[inline]
    pub fn int64(&self, name: &'static FieldName) -> Result<i64, DecodeError> {
        self.varint(name).map(u64::cast_signed)
    }

    /// The value as an `int32`, truncated as protobuf does.
    #[inline]
    pub fn int32(&self, name: &'static FieldName) -> Result<i32, DecodeError> {
        self.varint(name).map(|value| value as i32)
    }

    #[inline]
    pub fn float(&self, name: &'static FieldName) -> Result<f32, DecodeError> {
        match self.value {
            WireValue::Fixed32(bits) => Ok(f32::from_bits(bits)),
            _ => Err(self.wrong(name, WireKind::Fixed32)),
        }
    }

    #[inline]
    pub fn double(&self, name: &'static FieldName) -> Result<f64, DecodeError> {
        match self.value {
            WireValue::Fixed64(bits) => Ok(f64::from_bits(bits)),
            _ => Err(self.wrong(name, WireKind::Fixed64)),
        }
    }

    /// The value as bytes (of a byte string or a message) with their absolute offset.
    #[inline]
    pub fn bytes(&self, name: &'static FieldName) -> Result<(&'a [u8], usize), DecodeError> {
        match self.value {
            WireValue::Len(bytes, offset) => Ok((bytes, offset)),
            _ => Err(self.wrong(name, WireKind::Len)),
        }
    }

    #[inline]
    pub fn string(&self, name: &'static FieldName) -> Result<&'a str, DecodeError> {
        let (bytes, offset) = self.bytes(name)?;
        utf8(bytes, offset, name)
    }

    #[cold]
    pub(crate) fn wrong(&self, field: &'static FieldName, expected: WireKind) -> DecodeError {
        let kind = ErrorKind::WrongWireType { field, expected, found: self.value.kind() };
        DecodeError { offset: self.offset, kind }
    }
}

/// A record that [`Fields::next_small`] reads: its number and value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmallField<'a> {
    /// An integer.
    Varint(u32, u64),
    /// A byte string or message.
    Bytes(u32, &'a [u8]),
}

impl<'a> SmallField<'a> {
    /// The record from `offset` to `end` as [`Fields`] returns it.
    pub fn field(self, offset: usize, end: usize) -> Field<'a> {
        match self {
            Self::Varint(number, value) => Field { number, offset, end, value: WireValue::Varint(value) },
            Self::Bytes(number, bytes) => {
                Field { number, offset, end, value: WireValue::Len(bytes, end - bytes.len()) }
            }
        }
    }
}

/// Decodes UTF-8; the offset of the error is that of the first invalid byte.
#[inline]
pub fn utf8<'a>(bytes: &'a [u8], offset: usize, field: &'static FieldName) -> Result<&'a str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|error| DecodeError {
        offset: offset.saturating_add(error.valid_up_to()),
        kind: ErrorKind::InvalidUtf8 { field },
    })
}

/// The records of a message in order.
///
/// ```
/// use typeloom_onnx::wire::{Fields, WireValue};
///
/// let message = [0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i'];
/// let fields: Vec<_> = Fields::new(&message, 0).collect::<Result<_, _>>()?;
/// assert_eq!((fields[0].number, fields[0].value), (1, WireValue::Varint(150)));
/// assert_eq!((fields[1].number, fields[1].value), (2, WireValue::Len(b"hi", 5)));
/// # Ok::<(), typeloom_onnx::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Fields<'a> {
    /// Iterates over `bytes`, which have the absolute offset `offset`.
    #[inline]
    pub const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { cursor: Cursor::new(bytes, offset) }
    }

    /// The absolute offset of the next record.
    #[inline]
    pub const fn offset(&self) -> usize {
        self.cursor.offset()
    }

    /// The number and bytes of the next record, if it is length-delimited, with a field number below 16 and a
    /// length below 16,384. For any other record it returns `None` and reads nothing;
    /// [`next`](Iterator::next) reads the record.
    ///
    /// Almost all records of a graph have this form, and reading those of nodes is a fifth of the time of a
    /// check. The result must be that of [`next`](Iterator::next); a test compares the two.
    ///
    /// ```
    /// use typeloom_onnx::wire::Fields;
    ///
    /// let mut fields = Fields::new(&[0x12, 0x02, b'h', b'i', 0x08, 0x01], 0);
    /// assert_eq!(fields.next_bytes(), Some((2, &b"hi"[..])));
    /// assert_eq!((fields.next_bytes(), fields.offset()), (None, 4));
    /// ```
    #[inline(always)]
    pub fn next_bytes(&mut self) -> Option<(u32, &'a [u8])> {
        let (key, length, rest) = match *self.cursor.rest {
            [key, length, ref rest @ ..] if length < 0x80 => (key, usize::from(length), rest),
            [key, low, high, ref rest @ ..] if high < 0x80 => {
                (key, usize::from(low & 0x7f) | usize::from(high) << 7, rest)
            }
            _ => return None,
        };
        // The key is `number << 3 | 2` with a number from 1 to 15. The rotation makes other keys large.
        let number = key.wrapping_sub(1 << 3 | 2).rotate_right(3);
        if number >= 15 {
            return None;
        }
        let (bytes, rest) = rest.split_at_checked(length)?;
        self.cursor.rest = rest;
        Some((u32::from(number) + 1, bytes))
    }

    /// As [`next_bytes`](Self::next_bytes), also for an integer below 16,384, or one below 128 in a field
    /// with a number below 2,048: almost all records of attributes and headers of tensors. Reading those with
    /// [`next`](Iterator::next) takes a fifth of the time of a check of a convolutional network. The results
    /// must be equal; a test compares the two.
    ///
    /// ```
    /// use typeloom_onnx::wire::{Fields, SmallField};
    ///
    /// let mut fields = Fields::new(&[0x08, 0x96, 0x01, 0x12, 0x02, b'h', b'i', 0xa0, 0x01, 0x04, 0x0d], 0);
    /// assert_eq!(fields.next_small(), Some(SmallField::Varint(1, 150)));
    /// assert_eq!(fields.next_small(), Some(SmallField::Bytes(2, b"hi")));
    /// assert_eq!(fields.next_small(), Some(SmallField::Varint(20, 4)));
    /// assert_eq!((fields.next_small(), fields.offset()), (None, 10));
    /// ```
    #[inline(always)]
    pub fn next_small(&mut self) -> Option<SmallField<'a>> {
        let [key, first, ref rest @ ..] = *self.cursor.rest else { return None };
        // The key is `number << 3` of an integer or `number << 3 | 2` of bytes, with a number from 1 to 15.
        if key & 0x85 != 0 || key < 1 << 3 {
            if key < 0x80 {
                return None;
            }
            let [value, ref rest @ ..] = *rest else { return None };
            let key = u32::from(key & 0x7f) | u32::from(first) << 7;
            if first >= 0x80 || key & 7 != 0 || key < 8 || value >= 0x80 {
                return None;
            }
            self.cursor.rest = rest;
            return Some(SmallField::Varint(key >> 3, value.into()));
        }
        let (value, rest) = match *rest {
            _ if first < 0x80 => (usize::from(first), rest),
            [high, ref rest @ ..] if high < 0x80 => {
                (usize::from(first & 0x7f) | usize::from(high) << 7, rest)
            }
            _ => return None,
        };
        let number = u32::from(key >> 3);
        if key & 2 == 0 {
            self.cursor.rest = rest;
            return Some(SmallField::Varint(number, value as u64));
        }
        let (bytes, rest) = rest.split_at_checked(value)?;
        self.cursor.rest = rest;
        Some(SmallField::Bytes(number, bytes))
    }

    /// Ends the iteration after an error in a field.
    #[inline]
    pub(crate) const fn stop(&mut self) {
        self.cursor.rest = &[];
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.rest.is_empty() {
            return None;
        }
        Some(self.cursor.field().inspect_err(|_| self.stop()))
    }
}

impl std::iter::FusedIterator for Fields<'_> {}

/// Iterator over a packed list of variable-length integers.
#[derive(Clone, Copy, Debug)]
pub struct PackedVarints<'a> {
    cursor: Cursor<'a>,
}

impl<'a> PackedVarints<'a> {
    /// Iterates over `bytes`, which have the absolute offset `offset`.
    #[inline]
    pub const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { cursor: Cursor::new(bytes, offset) }
    }
}

impl Iterator for PackedVarints<'_> {
    type Item = Result<u64, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.cursor.rest.is_empty() {
            return None;
        }
        Some(self.cursor.varint().inspect_err(|_| self.cursor.rest = &[]))
    }
}

impl std::iter::FusedIterator for PackedVarints<'_> {}

/// Validates a packed list of numbers.
pub(crate) fn check_packed(
    bytes: &[u8],
    offset: usize,
    kind: WireKind,
    field: &'static FieldName,
) -> Result<(), DecodeError> {
    let size = match kind {
        WireKind::Varint => {
            return PackedVarints::new(bytes, offset).try_for_each(|number| number.map(|_| ()));
        }
        WireKind::Fixed64 => 8,
        WireKind::Fixed32 => 4,
        WireKind::Len | WireKind::Group => return Ok(()),
    };
    if bytes.len().is_multiple_of(usize::from(size)) {
        Ok(())
    } else {
        Err(DecodeError { offset, kind: ErrorKind::UnevenPacked { field, length: bytes.len(), size } })
    }
}

/// The unread part of a message.
#[derive(Clone, Copy, Debug)]
struct Cursor<'a> {
    rest: &'a [u8],
    /// The absolute offset of the end of `rest`.
    end: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { rest: bytes, end: offset.wrapping_add(bytes.len()) }
    }

    #[inline]
    const fn offset(&self) -> usize {
        // `end` was computed from the length of the same slice, which only shrinks.
        self.end.wrapping_sub(self.rest.len())
    }

    #[inline(always)]
    fn varint(&mut self) -> Result<u64, DecodeError> {
        match *self.rest {
            [first, ref rest @ ..] if first < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first))
            }
            [first, second, ref rest @ ..] if second < 0x80 => {
                self.rest = rest;
                Ok(u64::from(first & 0x7f) | u64::from(second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for (index, &byte) in self.rest.iter().enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if index == 9 && byte > 1 {
                return Err(self.error(ErrorKind::VarintOverflow));
            }
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(self.error(ErrorKind::TruncatedVarint))
    }

    /// Reads a key: field number and wire type.
    #[inline(always)]
    fn key(&mut self) -> Result<(u32, u8), DecodeError> {
        let before = *self;
        let key = self.varint()?;
        if key < 8 || key > u64::from(u32::MAX) {
            return Err(before.bad_key(key));
        }
        Ok(((key >> 3) as u32, (key & 7) as u8))
    }

    #[inline(always)]
    fn field(&mut self) -> Result<Field<'a>, DecodeError> {
        let before = *self;
        let offset = self.offset();
        let (number, wire_type) = self.key()?;
        let value = match wire_type {
            3 => {
                let start = self.offset();
                WireValue::Group(self.group(number, &before)?, start)
            }
            4 => return Err(before.error(ErrorKind::UnmatchedEndGroup { number })),
            _ => self.value(wire_type, &before)?,
        };
        Ok(Field { number, offset, end: self.offset(), value })
    }

    /// Reads a value that is not a group; its record starts at `record`.
    #[inline(always)]
    fn value(&mut self, wire_type: u8, record: &Self) -> Result<WireValue<'a>, DecodeError> {
        Ok(match wire_type {
            0 => WireValue::Varint(self.varint()?),
            1 => WireValue::Fixed64(u64::from_le_bytes(self.take()?)),
            2 => {
                let length = self.varint()?;
                let start = self.offset();
                let Some((bytes, rest)) =
                    usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length))
                else {
                    let left = self.rest.len();
                    return Err(record.error(ErrorKind::LengthPastEnd { length, left }));
                };
                self.rest = rest;
                WireValue::Len(bytes, start)
            }
            5 => WireValue::Fixed32(u32::from_le_bytes(self.take()?)),
            _ => return Err(record.error(ErrorKind::InvalidWireType { wire_type })),
        })
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.error(ErrorKind::TruncatedFixed { size: N as u8, left: self.rest.len() as u8 }));
        };
        self.rest = rest;
        Ok(*bytes)
    }

    /// Skips the records of an open group and its end tag.
    #[cold]
    fn group(&mut self, number: u32, start: &Self) -> Result<&'a [u8], DecodeError> {
        let body = self.rest;
        let mut open = vec![number];
        loop {
            if self.rest.is_empty() {
                return Err(start.error(ErrorKind::UnterminatedGroup { number }));
            }
            let before = *self;
            let (number, wire_type) = self.key()?;
            match wire_type {
                3 if open.len() == MAX_GROUP_DEPTH => {
                    return Err(before.error(ErrorKind::NestingTooDeep { limit: MAX_GROUP_DEPTH }));
                }
                3 => open.push(number),
                4 => {
                    if open.pop() != Some(number) {
                        return Err(before.error(ErrorKind::UnmatchedEndGroup { number }));
                    }
                    if open.is_empty() {
                        return Ok(&body[..body.len() - before.rest.len()]);
                    }
                }
                _ => drop(self.value(wire_type, &before)?),
            }
        }
    }

    #[cold]
    fn bad_key(&self, key: u64) -> DecodeError {
        self.error(if key < 8 { ErrorKind::FieldNumberZero } else { ErrorKind::KeyTooLarge { key } })
    }

    #[cold]
    fn error(&self, kind: ErrorKind) -> DecodeError {
        DecodeError { offset: self.offset(), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, Fields, SmallField, WireValue};

    #[test]
    fn short_records_are_read_as_by_the_decoder_for_every_key() {
        let mut accepted = [0; 2];
        for (key, first, second) in (0..=255).flat_map(|key| {
            [0, 1, 4, 0x7f, 0x80, 0x84, 0xff]
                .into_iter()
                .flat_map(move |first| [0, 2, 0x7f, 0x80].map(|second| (key, first, second)))
        }) {
            let message = [[key, first, second], [7; 3], [9; 3]].concat();
            for message in [&message[..], &message[..2], &message[..3]] {
                let mut fields = Fields::new(message, 0);
                if let Some((number, bytes)) = fields.next_bytes() {
                    accepted[0] += 1;
                    let value = WireValue::Len(bytes, fields.offset() - bytes.len());
                    let field = Field { number, offset: 0, end: fields.offset(), value };
                    assert_eq!(Fields::new(message, 0).next(), Some(Ok(field)), "{message:x?}");
                }
                let mut fields = Fields::new(message, 5);
                if let Some(small) = fields.next_small() {
                    accepted[1] += 1;
                    let field = small.field(5, fields.offset());
                    assert_eq!(Fields::new(message, 5).next(), Some(Ok(field)), "{message:x?}");
                }
            }
        }
        // The documented fields: 15 numbers, with lengths that the message has.
        assert!(accepted[0] >= 15 * 3 && accepted[1] > 2 * accepted[0], "{accepted:?}");
        for number in 1..16_u8 {
            let message = [number << 3 | 2, 1, 5];
            assert_eq!(Fields::new(&message, 0).next_bytes(), Some((number.into(), &[5][..])));
            let integer = [number << 3, 5];
            assert_eq!(Fields::new(&integer, 0).next_small(), Some(SmallField::Varint(number.into(), 5)));
        }
    }
}
