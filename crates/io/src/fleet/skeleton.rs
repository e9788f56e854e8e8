//! The skeleton of a model: the same graph without the payloads of large tensors.
//!
//! The walk reads the records of models, graphs, nodes, attributes and tensors, and copies them. A message
//! that loses a payload is written again with its new length; all other records are copied verbatim. Of a
//! tensor,
//!
//! - payloads up to `SMALL` bytes, and integers that may decide shapes, stay;
//! - a larger payload is replaced by the declaration of external data in the file [`OMITTED`], with its
//!   length, so that the checker still compares the length with type and dims. For `int32_data`, `int64_data`
//!   and `uint64_data` it does not, because their number of elements is not known without reading them;
//! - payloads that are wrong in another way (two of them, the wrong field) are replaced by short ones that
//!   are wrong in the same way.
//!
//! Strings above `SMALL` bytes in attributes and in tensors of strings are cut. Malformed records are copied
//! in part, so that the checker reports them. Byte offsets in its messages are those of the skeleton, and a
//! message about the wrong size of an omitted payload names `external_data`.
//!
//! **Invariant:** a check of the skeleton finds the problems of the file, except: payload sizes in the three
//! fields above, the order of more than `SMALL` bytes of sparse indices, and shapes that more than 1024
//! floats decide.
//!
//! **Invariant:** the walk terminates for any bytes. It descends at most `MAX_DEPTH` messages; deeper ones
//! are copied.

use std::collections::BTreeSet;

use bytes::Bytes;
use typeloom_onnx::messages::StringStringEntryProto;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::splice::Records;
use typeloom_onnx::view::typed_field;
use typeloom_onnx::wire::PackedVarints;
use typeloom_solver::rule::MAX_ELEMENTS;
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::fleet::error::FetchError;
use crate::fleet::reader::{Counts, Limits, Reader, Source};

/// The location of external data that represents an omitted payload. No file has this name.
pub const OMITTED: &str = "\0omitted";

/// Size in bytes up to which records are copied without a look at their fields.
const SMALL: u64 = 4 << 10;
/// Maximum size in bytes of integers that may decide shapes: a varint takes at most 10 bytes.
const MAX_INTEGERS: u64 = 10 * MAX_ELEMENTS as u64;
/// Maximum number of nested messages.
const MAX_DEPTH: usize = 100;
/// Maximum size in bytes of a key and a length.
const MAX_HEADER: u64 = 20;
/// Number of bytes that are copied of a malformed record, and of a string that is cut.
const PREFIX: u64 = 64;

/// Messages that contain tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    Model,
    Graph,
    Node,
    Attribute,
    Function,
    Training,
    Sparse,
    Tensor,
}

/// Treatment of a field in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Treatment {
    Descend(Message),
    Cut,
    Keep,
}

impl Message {
    /// The treatment of a field with more than [`SMALL`] bytes.
    const fn treatment(self, number: u32) -> Treatment {
        let message = match (self, number) {
            (Self::Model, 7) | (Self::Training, 1 | 2) | (Self::Attribute, 6 | 11) => Self::Graph,
            (Self::Model, 20) => Self::Training,
            (Self::Model, 25) => Self::Function,
            (Self::Graph, 1) | (Self::Function, 7) => Self::Node,
            (Self::Graph, 5) | (Self::Attribute, 5 | 10) | (Self::Sparse, 1 | 2) => Self::Tensor,
            (Self::Graph, 15) | (Self::Attribute, 22 | 23) => Self::Sparse,
            (Self::Node, 5) | (Self::Function, 11) => Self::Attribute,
            (Self::Attribute, 4 | 9) | (Self::Tensor, 6) => return Treatment::Cut,
            _ => return Treatment::Keep,
        };
        Treatment::Descend(message)
    }
}

/// The skeleton of a file of `size` bytes whose first bytes are `first`, with the counts of reads including
/// the first.
///
/// # Errors
/// The source fails, or a limit is reached.
pub fn skeleton(
    source: &mut dyn Source,
    limits: Limits,
    size: u64,
    first: Bytes,
) -> Result<(Bytes, Counts), FetchError> {
    let counts = Counts { bytes: first.len() as u64, requests: 1 };
    if first.len() as u64 == size {
        return Ok((first, counts));
    }
    let mut walk = Walk { reader: Reader::new(source, limits, size, first, counts), small: SMALL };
    let out = walk.model(size)?;
    Ok((out.into(), walk.reader.counts()))
}

struct Walk<'a> {
    reader: Reader<'a>,
    /// [`SMALL`]; tests use less.
    small: u64,
}

/// A record: its key, and where its value is.
struct Record {
    number: u32,
    wire_type: u8,
    /// The value of a varint.
    varint: u64,
    /// Offsets of the key, of the value without its length, and of the end.
    at: u64,
    start: u64,
    end: u64,
}

impl Record {
    const fn is_bytes(&self) -> bool {
        self.wire_type == 2
    }

    /// Number of bytes of the value.
    const fn value_len(&self) -> u64 {
        self.end - self.start
    }
}

/// Consecutive records of one payload field.
struct Payload {
    number: u32,
    /// Number of bytes of the values; `None` if that does not imply a number of elements.
    len: Option<u64>,
    data: Data,
}

/// Records that are read, and one that is not.
enum Data {
    Read(Vec<u8>),
    Skipped { at: u64, end: u64 },
}

impl Walk<'_> {
    fn model(&mut self, size: u64) -> Result<Vec<u8>, FetchError> {
        let mut out = Vec::new();
        self.message(Message::Model, 0, size, 0, &mut out)?;
        Ok(out)
    }

    /// Copies the message between two offsets.
    fn message(
        &mut self,
        message: Message,
        start: u64,
        end: u64,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), FetchError> {
        if message == Message::Tensor {
            return self.tensor(start, end, out);
        }
        let mut at = start;
        while at < end {
            let Some(record) = self.record(at, end)? else { return self.malformed(at, end, out) };
            at = record.end;
            let is_large = record.is_bytes() && record.value_len() > self.small;
            let treatment = if is_large { message.treatment(record.number) } else { Treatment::Keep };
            match treatment {
                Treatment::Descend(inner) if depth < MAX_DEPTH => {
                    let mut body = Vec::new();
                    self.message(inner, record.start, record.end, depth + 1, &mut body)?;
                    put(record.number, &body, out);
                }
                Treatment::Descend(_) | Treatment::Keep => self.copy(record.at, record.end, out)?,
                Treatment::Cut => self.cut(&record, out)?,
            }
        }
        Ok(())
    }

    /// Reads the header of the next record; `None` if it is malformed.
    fn record(&mut self, at: u64, end: u64) -> Result<Option<Record>, FetchError> {
        let head = self.reader.bytes(at, end.min(at + MAX_HEADER))?;
        let mut numbers = PackedVarints::new(&head, 0);
        let mut used = 0;
        let mut varint = || -> Option<u64> {
            let number = numbers.next()?.ok()?;
            // Ten bytes are the maximum, and the last one ends the number.
            used += head[used..].iter().position(|byte| *byte < 0x80)? + 1;
            Some(number)
        };
        let Some(key) = varint().filter(|key| *key >= 8 && *key <= u64::from(u32::MAX)) else {
            return Ok(None);
        };
        let (number, wire_type) = ((key >> 3) as u32, (key & 7) as u8);
        let value = if matches!(wire_type, 0 | 2) { varint() } else { Some(0) };
        let Some(varint) = value else { return Ok(None) };
        let start = at + used as u64;
        let len = match wire_type {
            0 => 0,
            1 => 8,
            2 => varint,
            5 => 4,
            _ => return Ok(None),
        };
        if len > end - start {
            return Ok(None);
        }
        Ok(Some(Record { number, wire_type, varint, at, start, end: start + len }))
    }

    /// Copies the beginning of the rest of a message, so that the checker finds the malformed record in it.
    fn malformed(&mut self, at: u64, end: u64, out: &mut Vec<u8>) -> Result<(), FetchError> {
        let is_group = self.reader.bytes(at, at + 1)?.first().is_some_and(|key| key & 7 == 3);
        // Groups are well formed. No program writes them into models, so they are copied with all that
        // follows.
        let stop = if is_group { end } else { end.min(at + PREFIX) };
        self.copy(at, stop, out)
    }

    fn copy(&mut self, at: u64, end: u64, out: &mut Vec<u8>) -> Result<(), FetchError> {
        let bytes = self.reader.bytes(at, end)?;
        out.extend_from_slice(&bytes);
        Ok(())
    }

    /// Copies the beginning of a string, up to the end of a character.
    fn cut(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), FetchError> {
        let bytes = self.reader.bytes(record.start, record.end.min(record.start + PREFIX))?;
        let kept = bytes.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
        put(record.number, &bytes[..kept], out);
        Ok(())
    }

    fn tensor(&mut self, start: u64, end: u64, out: &mut Vec<u8>) -> Result<(), FetchError> {
        let mut header = Header::default();
        let mut payloads: Vec<Payload> = Vec::new();
        let mut location = Vec::new();
        let mut tail = Vec::new();
        let mut at = start;
        while at < end {
            let Some(record) = self.record(at, end)? else {
                self.malformed(at, end, &mut tail)?;
                break;
            };
            at = record.end;
            match record.number {
                4 | 5 | 7 | 9 | 10 | 11 => self.payload(&header, &record, &mut payloads)?,
                6 => {
                    header.has_strings = true;
                    if record.is_bytes() && record.value_len() > self.small {
                        self.cut(&record, out)?;
                    } else {
                        self.copy(record.at, record.end, out)?;
                    }
                }
                13 | 14 => {
                    header.is_external = match record.number {
                        14 => record.varint as i32 == DataLocation::External as i32,
                        _ => header.is_external,
                    };
                    self.copy(record.at, record.end, &mut location)?;
                }
                _ => {
                    header.read(&record, &self.reader.bytes(record.start, record.end)?);
                    self.copy(record.at, record.end, out)?;
                }
            }
        }
        for payload in &mut payloads {
            if let Data::Skipped { at, end } = payload.data
                && header.needs(end - at)
            {
                let mut read = Vec::new();
                self.copy(at, end, &mut read)?;
                payload.data = Data::Read(read);
            }
        }
        header.finish(&payloads, &location, out);
        // The malformed record stays last, so that nothing completes it.
        out.extend_from_slice(&tail);
        Ok(())
    }

    /// Adds one record of a payload field.
    fn payload(
        &mut self,
        header: &Header,
        record: &Record,
        payloads: &mut Vec<Payload>,
    ) -> Result<(), FetchError> {
        let len = match record.wire_type {
            // The last of several `raw_data` counts; lists are concatenated.
            2 if matches!(record.number, 4 | 9 | 10) => Some(record.value_len()),
            1 | 5 => Some(record.value_len()),
            _ => None,
        };
        if record.is_bytes() && record.value_len() > self.small && !header.needs(record.value_len()) {
            let data = Data::Skipped { at: record.at, end: record.end };
            payloads.push(Payload { number: record.number, len, data });
            return Ok(());
        }
        if let Some(Payload { number, len: total, data: Data::Read(read) }) = payloads.last_mut()
            && *number == record.number
        {
            self.copy(record.at, record.end, read)?;
            *total = if record.number == 9 { len } else { total.zip(len).map(|(total, len)| total + len) };
            return Ok(());
        }
        let mut read = Vec::new();
        self.copy(record.at, record.end, &mut read)?;
        // An empty list has no element, and an empty `raw_data` counts only if there is nothing else.
        payloads.push(Payload { number: record.number, len, data: Data::Read(read) });
        Ok(())
    }
}

/// The fields of a tensor that decide what happens to its payload.
#[derive(Default)]
struct Header {
    data_type: i32,
    /// The product of the extents; `None` if it has no meaning.
    count: Option<Option<u64>>,
    is_external: bool,
    has_strings: bool,
}

impl Header {
    /// Reads dims and element type.
    fn read(&mut self, record: &Record, value: &[u8]) {
        let mut dim = |dim: u64| {
            let extent = u64::try_from(dim.cast_signed()).ok();
            let count = self.count.unwrap_or(Some(1));
            self.count = Some(count.zip(extent).and_then(|(count, extent)| count.checked_mul(extent)));
        };
        match (record.number, record.wire_type) {
            (1, 0) => dim(record.varint),
            (1, 2) => PackedVarints::new(value, 0).map_while(Result::ok).for_each(dim),
            (2, 0) => self.data_type = record.varint as i32,
            _ => {}
        }
    }

    /// Whether a payload of `len` bytes may decide shapes.
    fn needs(&self, len: u64) -> bool {
        let is_integer = Dtype::from_onnx_number(self.data_type).is_some_and(|dtype| {
            matches!(dtype.class(), DtypeClass::Bool | DtypeClass::SignedInt | DtypeClass::UnsignedInt)
        });
        let is_short = self.count.unwrap_or(Some(1)).is_some_and(|count| count <= MAX_ELEMENTS as u64);
        is_integer && is_short && len <= MAX_INTEGERS
    }

    /// Writes the payloads, or what replaces them.
    fn finish(&self, payloads: &[Payload], location: &[u8], out: &mut Vec<u8>) {
        if payloads.iter().all(|payload| matches!(payload.data, Data::Read(_))) {
            out.extend_from_slice(location);
            for payload in payloads {
                if let Data::Read(read) = &payload.data {
                    out.extend_from_slice(read);
                }
            }
            return;
        }
        let is_filled = |payload: &&Payload| payload.len != Some(0);
        let filled: BTreeSet<u32> = payloads.iter().filter(is_filled).map(|payload| payload.number).collect();
        if let (1, Some(&number)) = (filled.len(), filled.first())
            && self.accepts(number)
        {
            let len = match number {
                9 => payloads.iter().rfind(is_filled).and_then(|payload| payload.len),
                _ => payloads.iter().map(|payload| payload.len).sum(),
            };
            out.extend_from_slice(omitted(len).as_wire());
            return;
        }
        out.extend_from_slice(location);
        for number in filled {
            // A whole number of elements in each of the fields.
            put(number, &[0; 8], out);
        }
    }

    /// Whether a payload in this field is the right and only one.
    fn accepts(&self, number: u32) -> bool {
        let is_string = self.data_type == Dtype::String.onnx_number();
        let fits = match number {
            9 => !is_string,
            _ => typed_field(self.data_type).is_none_or(|field| field == number),
        };
        fits && !self.is_external && !self.has_strings
    }
}

/// The records that declare a payload of `len` bytes in the file [`OMITTED`].
fn omitted(len: Option<u64>) -> Records {
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: key.into(),
        value: value.into(),
        ..StringStringEntryProto::default()
    };
    let mut records = Records::new().message(13, &entry("location", OMITTED));
    if let Some(len) = len {
        records = records.message(13, &entry("length", &len.to_string()));
    }
    records.int(14, DataLocation::External as i64)
}

/// Appends a record of bytes.
fn put(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(Records::new().bytes(number, bytes).as_wire());
}

#[cfg(test)]
mod tests;
