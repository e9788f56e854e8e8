//! Unknown fields: records of a message that its schema does not declare.
//!
//! **Invariant:** records, including groups, are preserved byte for byte (except that an overlong key is
//! shortened) and in their order.

use bytes::{Buf, BufMut};
use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, encode_key, skip_field};

use crate::error::DecodeError as WireError;
use crate::wire::{Field, Fields};

/// The unknown fields of one message, concatenated in wire format.
///
/// One pointer wide, and null in the common case without unknown fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct UnknownFields(Option<Box<Records>>);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Records {
    bytes: Vec<u8>,
}

impl UnknownFields {
    /// No unknown fields.
    pub const fn new() -> Self {
        Self(None)
    }

    /// From records in wire format, after validating them.
    pub fn from_wire(bytes: impl Into<Vec<u8>>) -> Result<Self, WireError> {
        let bytes = bytes.into();
        for field in Fields::new(&bytes, 0) {
            field?;
        }
        Ok(if bytes.is_empty() { Self(None) } else { Self(Some(Box::new(Records { bytes }))) })
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.as_wire().is_empty()
    }

    /// The records in wire format.
    pub fn as_wire(&self) -> &[u8] {
        self.0.as_deref().map_or(&[], |records| &records.bytes)
    }

    /// The records; offsets count from the start of [`as_wire`](Self::as_wire).
    pub fn iter(&self) -> impl Iterator<Item = Field<'_>> {
        Fields::new(self.as_wire(), 0).map_while(Result::ok)
    }

    /// Removes all records.
    pub fn clear(&mut self) {
        self.0 = None;
    }

    pub(super) fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(self.as_wire());
    }

    pub(super) fn encoded_len(&self) -> usize {
        self.as_wire().len()
    }

    /// Reads the payload after a key and stores both.
    pub(super) fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        let kept = self.0.get_or_insert_with(Box::default);
        let start = kept.bytes.len();
        encode_key(tag, wire_type, &mut kept.bytes);
        let read = skip_field(wire_type, tag, &mut Recorder { source: buf, copy: &mut kept.bytes }, ctx);
        if read.is_err() {
            kept.bytes.truncate(start);
            self.0 = self.0.take().filter(|kept| !kept.bytes.is_empty());
        }
        read
    }
}

/// A buffer that copies everything read through it, so that skipping a field records it.
struct Recorder<'a, B> {
    source: &'a mut B,
    copy: &'a mut Vec<u8>,
}

impl<B: Buf> Buf for Recorder<'_, B> {
    fn remaining(&self) -> usize {
        self.source.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.source.chunk()
    }

    fn advance(&mut self, mut count: usize) {
        while count > 0 {
            let chunk = self.source.chunk();
            let step = chunk.len().min(count);
            self.copy.extend_from_slice(&chunk[..step]);
            self.source.advance(step);
            if step == 0 {
                // Past the end: `source` reports the error.
                self.source.advance(count);
                return;
            }
            count -= step;
        }
    }
}
