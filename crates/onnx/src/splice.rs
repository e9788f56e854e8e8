//! The splice writer: changes a few records of a serialised message and copies all other bytes verbatim.
//!
//! An edit identifies its message by the offset of the message's body (the `offset` of a view). It replaces
//! or removes a record, or inserts records before a record or at the end. [`Splice::finish`] descends from
//! the outermost message to the edited ones, adjusts the lengths of the enclosing messages, and returns the
//! new file as a list of pieces: long borrowed runs of the old file between short new ones. Weights and
//! unknown fields are skipped, so the cost of annotating a model is independent of the size of its weights.
//!
//! **Invariant:** the result is well formed if the old message is: edits apply to whole records, new records
//! come from [`Records`], and an edit of a missing message or record is an error.
//!
//! **Invariant:** without edits the result equals the old message byte for byte.
//!
//! ```
//! use prost::Message;
//! use typeloom_onnx::messages::{GraphProto, ModelProto, ValueInfoProto};
//! use typeloom_onnx::splice::{Records, Splice};
//! use typeloom_onnx::view::ModelView;
//!
//! let graph = GraphProto { name: "main".into(), ..Default::default() };
//! let file = ModelProto { graph: Some(graph), ..Default::default() }.encode_to_vec();
//!
//! let graph = ModelView::new(&file)?.graph().ok_or("no graph")?;
//! let value = ValueInfoProto { name: "h".into(), ..Default::default() };
//! let mut splice = Splice::new::<ModelProto>(&file);
//! splice.append(graph.offset(), Records::new().message(13, &value));
//! let changed = splice.finish()?.to_vec();
//!
//! let changed = ModelProto::decode(&changed[..])?.graph.unwrap_or_default();
//! assert_eq!(changed.name(), "main");
//! assert_eq!(changed.value_info, [value]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::ops::Range;

use bytes::BufMut;
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};
use smallvec::SmallVec;

use crate::error::DecodeError;
use crate::messages::OnnxMessage;
use crate::messages::schema::{Kind, MessageSchema};
use crate::wire::{Field, Fields, WireValue};

/// Maximum number of bytes of a key and a length.
const MAX_HEADER: usize = 15;

/// New records in wire format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records(Vec<u8>);

impl Records {
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// No records, with the capacity for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// Adds a message.
    #[must_use]
    pub fn message(mut self, number: u32, message: &impl Message) -> Self {
        encode_key(number, WireType::LengthDelimited, &mut self.0);
        encode_varint(message.encoded_len() as u64, &mut self.0);
        message.encode_raw(&mut self.0);
        self
    }

    /// Adds a string or bytes.
    #[must_use]
    pub fn bytes(mut self, number: u32, bytes: impl AsRef<[u8]>) -> Self {
        encode_key(number, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.as_ref().len() as u64, &mut self.0);
        self.0.put_slice(bytes.as_ref());
        self
    }

    /// Adds an integer, bool or enum.
    #[must_use]
    pub fn int(mut self, number: u32, value: i64) -> Self {
        encode_key(number, WireType::Varint, &mut self.0);
        encode_varint(value.cast_unsigned(), &mut self.0);
        self
    }

    /// Adds a message without a copy between: its first record is a string, and `others` are its other
    /// records in wire format.
    #[inline(always)]
    pub fn push_named(&mut self, number: u32, (name_number, name): (u32, &[u8]), others: &[u8]) {
        const LEN: u8 = WireType::LengthDelimited as u8;
        let total = key_len(name_number) + encoded_len_varint(name.len() as u64) + name.len() + others.len();
        self.0.reserve(total + MAX_HEADER);
        if let (1..16, 1..16, Ok(short @ ..0x80)) = (number, name_number, u8::try_from(total)) {
            let headers =
                [(number as u8) << 3 | LEN, short, (name_number as u8) << 3 | LEN, name.len() as u8];
            self.0.extend_from_slice(&headers);
        } else {
            put_header(number, total, &mut self.0);
            put_header(name_number, name.len(), &mut self.0);
        }
        self.0.extend_from_slice(name);
        self.0.extend_from_slice(others);
    }

    /// The records in wire format.
    pub fn as_wire(&self) -> &[u8] {
        &self.0
    }
}

/// Writes the key and the length of a record that is a string, bytes or a message.
#[inline]
pub fn put_header(number: u32, length: usize, to: &mut Vec<u8>) {
    if let (Ok(number @ 1..16), Ok(length @ ..0x80)) = (u8::try_from(number), u8::try_from(length)) {
        to.extend_from_slice(&[number << 3 | WireType::LengthDelimited as u8, length]);
    } else {
        encode_key(number, WireType::LengthDelimited, to);
        encode_varint(length as u64, to);
    }
}

/// Error of applying edits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// The old message is malformed before an edit.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The message of an edit does not exist, or is inside a record that another edit replaces.
    #[error("no message starts at byte {message}")]
    NoSuchMessage {
        /// Offset of the body of the message.
        message: usize,
    },
    /// The record of an edit does not exist.
    #[error("the message at byte {message} has no record at byte {record}")]
    NoSuchRecord {
        /// Offset of the body of the message.
        message: usize,
        /// Offset of the key of the record.
        record: usize,
    },
}

/// Edits to a serialised message.
#[derive(Clone, Debug)]
pub struct Splice<'a> {
    bytes: &'a [u8],
    schema: &'static MessageSchema,
    /// The edits in the order of the calls; [`Self::finish`] sorts them by their position in the file.
    edits: SmallVec<[Edit; 1]>,
}

/// An edit to one message.
#[derive(Clone, Debug)]
struct Edit {
    /// Offset of the body of the message.
    message: usize,
    action: Action,
    records: Vec<u8>,
}

/// The position of new records in a message. Sorted as the records are written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Action {
    /// At the record with this offset.
    At(usize, Side),
    /// At the end.
    Append,
}

/// How new records relate to the record at their offset.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Side {
    /// They precede it.
    Before,
    /// They replace it.
    Instead,
}

impl<'a> Splice<'a> {
    /// Creates a splice without edits; `bytes` is a serialised `M`.
    pub fn new<M: OnnxMessage>(bytes: &'a [u8]) -> Self {
        Self { bytes, schema: M::SCHEMA, edits: SmallVec::new() }
    }

    /// Replaces one record of the message with body offset `message` by `records` (possibly none). A second
    /// replacement of the same record overrides the first.
    pub fn replace(&mut self, message: usize, record: &Field<'_>, records: Records) {
        let action = Action::At(record.offset, Side::Instead);
        self.edits.push(Edit { message, action, records: records.0 });
    }

    /// Removes one record of the message with body offset `message`.
    pub fn remove(&mut self, message: usize, record: &Field<'_>) {
        self.replace(message, record, Records::new());
    }

    /// Inserts `records` before one record of the message with body offset `message`, after records inserted
    /// there earlier. The record itself may be edited too.
    pub fn insert_before(&mut self, message: usize, record: &Field<'_>, records: Records) {
        let action = Action::At(record.offset, Side::Before);
        self.edits.push(Edit { message, action, records: records.0 });
    }

    /// Appends `records` to the message with body offset `message`, after records appended earlier.
    pub fn append(&mut self, message: usize, records: Records) {
        match self.edits.last_mut() {
            Some(last) if (last.message, last.action) == (message, Action::Append) => {
                last.records.extend_from_slice(&records.0);
            }
            Some(_) | None => self.edits.push(Edit { message, action: Action::Append, records: records.0 }),
        }
    }

    /// Applies the edits, and returns the new message; `None` if there are no edits.
    pub fn changed(self) -> Result<Option<Vec<u8>>, SpliceError> {
        if self.edits.is_empty() { Ok(None) } else { self.finish().map(|spliced| Some(spliced.to_vec())) }
    }

    /// Applies the edits.
    pub fn finish(mut self) -> Result<Spliced<'a>, SpliceError> {
        let mut writer = Writer { old: self.bytes, pieces: Pieces::new() };
        if self.edits.is_empty() {
            writer.keep(0, self.bytes.len());
            return Ok(Spliced { pieces: writer.pieces });
        }
        writer.pieces.reserve(2 * self.edits.len() + 4);
        // The sort is stable: edits with one position keep their order.
        self.edits.sort_by_key(|edit| (edit.message, edit.action));
        let mut edits = &mut self.edits[..];
        let mut open: SmallVec<[Open<'_, '_>; 2]> = SmallVec::new();
        open.push(Open::new(self.bytes, 0, self.schema, None, &mut edits));
        while let Some(top) = open.last_mut() {
            let inner = top.advance(&mut writer, &mut edits)?;
            if let Some(inner) = inner {
                open.push(inner);
            } else {
                let length = top.close(&mut writer)?;
                open.pop();
                if let Some(parent) = open.last_mut() {
                    parent.length += length;
                }
            }
        }
        match edits.first() {
            Some(edit) => Err(SpliceError::NoSuchMessage { message: edit.message }),
            None => Ok(Spliced { pieces: writer.pieces }),
        }
    }
}

/// The number of pieces of a model with one edit of its graph: two new headers and records, and the old
/// records around them.
const PIECES: usize = 6;

type Pieces<'a> = SmallVec<[Cow<'a, [u8]>; PIECES]>;

/// The output.
struct Writer<'a> {
    old: &'a [u8],
    pieces: Pieces<'a>,
}

impl Writer<'_> {
    /// Copies a run of the old message and returns its length.
    fn keep(&mut self, start: usize, end: usize) -> usize {
        let run = &self.old[start..end];
        if !run.is_empty() {
            self.pieces.push(Cow::Borrowed(run));
        }
        run.len()
    }

    /// Writes new bytes and returns their length.
    fn write(&mut self, bytes: Vec<u8>) -> usize {
        let length = bytes.len();
        if length > 0 {
            self.pieces.push(Cow::Owned(bytes));
        }
        length
    }
}

/// A message on the path to an edit.
struct Open<'e, 'a> {
    start: usize,
    end: usize,
    fields: Fields<'a>,
    schema: &'static MessageSchema,
    /// The edits to the message that are not applied yet.
    own: &'e mut [Edit],
    /// The field number of the message and the piece reserved for its key and length; none for the outermost
    /// message.
    header: Option<(u32, usize)>,
    /// The old message is copied up to this offset.
    written: usize,
    /// The new length of the body.
    length: usize,
}

impl<'e, 'a> Open<'e, 'a> {
    /// Takes the edits to the message from the sorted `edits` to messages that are not open yet. Messages are
    /// opened in the order of their offsets, so these edits are the first ones.
    fn new(
        body: &'a [u8],
        start: usize,
        schema: &'static MessageSchema,
        header: Option<(u32, usize)>,
        edits: &mut &'e mut [Edit],
    ) -> Self {
        let own = edits.iter().take_while(|edit| edit.message == start).count();
        let (own, others) = std::mem::take(edits).split_at_mut(own);
        *edits = others;
        let (fields, end) = (Fields::new(body, start), start + body.len());
        Self { start, end, fields, schema, own, header, written: start, length: 0 }
    }

    /// Advances to the next nested message with edits; `None` at the end.
    fn advance(
        &mut self,
        writer: &mut Writer<'a>,
        edits: &mut &'e mut [Edit],
    ) -> Result<Option<Self>, DecodeError> {
        while let Some(edit) = self.next_edit(edits) {
            self.skip_before(edit);
            let Some(field) = self.fields.next() else { break };
            let field = field?;
            while let Some(records) = self.take(Action::At(field.offset, Side::Before)) {
                self.length += writer.keep(self.written, field.offset) + writer.write(records);
                self.written = field.offset;
            }
            let mut replacement = None;
            while let Some(records) = self.take(Action::At(field.offset, Side::Instead)) {
                replacement = Some(records);
            }
            if let Some(records) = replacement {
                self.length += writer.keep(self.written, field.offset) + writer.write(records);
                self.written = field.end;
            } else if let WireValue::Len(body, start) = field.value
                // A body may be empty, so its end is included; the body of the next record starts later.
                && edits.first().is_some_and(|edit| (start..=field.end).contains(&edit.message))
                && let Some(Kind::Message(inner)) = self.schema.field(field.number).map(|known| known.kind)
            {
                self.length += writer.keep(self.written, field.offset);
                self.written = field.end;
                let header = (field.number, writer.pieces.len());
                writer.pieces.push(Cow::Borrowed(&[]));
                return Ok(Some(Self::new(body, start, inner(), Some(header), edits)));
            }
        }
        Ok(None)
    }

    /// Takes the records of the next edit if it is this one.
    fn take(&mut self, action: Action) -> Option<Vec<u8>> {
        if self.own.first()?.action != action {
            return None;
        }
        let (next, rest) = std::mem::take(&mut self.own).split_first_mut()?;
        self.own = rest;
        Some(std::mem::take(&mut next.records))
    }

    /// The offset of the next edited record or message inside this one; without one the rest is copied
    /// unread.
    fn next_edit(&self, edits: &[Edit]) -> Option<usize> {
        let own = match self.own.first().map(|edit| edit.action) {
            Some(Action::At(record, _)) => Some(record),
            Some(Action::Append) | None => None,
        };
        let inner = edits.first().map(|edit| edit.message).filter(|message| *message <= self.end);
        own.into_iter().chain(inner).min()
    }

    /// Skips the records that end before an edit.
    fn skip_before(&mut self, edit: usize) {
        let mut next = self.fields;
        while next.next_bytes().is_some() && next.offset() < edit {
            self.fields = next;
        }
    }

    /// Copies the rest and returns the length of the message including its key.
    fn close(&mut self, writer: &mut Writer<'a>) -> Result<usize, SpliceError> {
        self.length += writer.keep(self.written, self.end);
        while let Some(records) = self.take(Action::Append) {
            self.length += writer.write(records);
        }
        if let Some(Edit { action: Action::At(record, _), .. }) = self.own.first() {
            return Err(SpliceError::NoSuchRecord { message: self.start, record: *record });
        }
        let Some((number, piece)) = self.header else { return Ok(self.length) };
        let mut header = Vec::with_capacity(MAX_HEADER);
        put_header(number, self.length, &mut header);
        let length = header.len() + self.length;
        writer.pieces[piece] = Cow::Owned(header);
        Ok(length)
    }
}

/// A piece of a changed message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A range of the old message.
    Old(Range<usize>),
    /// New bytes.
    New(Vec<u8>),
}

impl Part {
    /// The bytes of the piece, given the old message.
    ///
    /// # Panics
    /// If `old` is shorter than the old message.
    pub fn bytes<'p>(&'p self, old: &'p [u8]) -> &'p [u8] {
        match self {
            Self::Old(range) => &old[range.clone()],
            Self::New(bytes) => bytes,
        }
    }
}

/// The pieces of a message in order.
pub type Parts = SmallVec<[Part; PIECES]>;

/// A changed message as borrowed pieces of the old one and new pieces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spliced<'a> {
    pieces: Pieces<'a>,
}

impl<'a> Spliced<'a> {
    /// The pieces in order; borrowed ones are runs of the old message.
    pub fn pieces(&self) -> &[Cow<'a, [u8]>] {
        &self.pieces
    }

    /// The length in bytes.
    pub fn byte_len(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len()).sum()
    }

    /// The pieces without a borrow, for a caller that keeps the old message `old`.
    pub fn into_parts(self, old: &'a [u8]) -> Parts {
        let part = |piece: Cow<'a, [u8]>| match piece {
            Cow::Borrowed(run) => {
                let start = run.as_ptr().addr().wrapping_sub(old.as_ptr().addr());
                let is_within = old.get(start..).is_some_and(|rest| rest.len() >= run.len());
                if is_within { Part::Old(start..start + run.len()) } else { Part::New(run.to_vec()) }
            }
            Cow::Owned(bytes) => Part::New(bytes),
        };
        self.pieces.into_iter().map(part).collect()
    }

    /// The concatenated pieces.
    pub fn to_vec(&self) -> Vec<u8> {
        self.pieces.concat()
    }
}

#[cfg(test)]
mod tests;
