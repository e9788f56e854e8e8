//! Messages: a value with its identity, destination and type.

use typeloom_pool::Digest;
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;

use crate::codec::{Encoded, Reader, Writer, fields};
use crate::error::{Exceeded, Flaw, Limited, Malformed, within};
use crate::limits::{MAX_ADDRESSES, MessageLimits};
use crate::value::tag_of;

/// Magic bytes at the beginning of every message and receipt.
pub const MAGIC: [u8; 4] = *b"TLWE";
/// Newest version of the format.
///
/// A frame has the lowest version that can express it, so that earlier readers accept it: receipts and
/// messages without addresses have version 1, messages with addresses of the sender version 2.
pub const FORMAT_VERSION: u8 = 2;

/// Version of frames that the first readers accept.
const FIRST_VERSION: u8 = 1;

/// Frame kind of messages.
pub(crate) const MESSAGE: u8 = 1;
/// Frame kind of receipts.
pub(crate) const RECEIPT: u8 = 2;

/// Size of the BLAKE3 digest at the end of a frame, computed over the preceding bytes.
const TRAILER: usize = 32;

/// Identity of a message from one peer to another.
///
/// Consecutive messages of a sender to a receiver have consecutive numbers while the sender keeps its state.
/// A sender that restarts without its state has a new, greater incarnation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId {
    /// Incarnation of the sender.
    pub incarnation: u64,
    /// Number of the message within the incarnation, for this receiver.
    pub number: u64,
}

impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.incarnation, self.number)
    }
}

/// Run of a program that a value belongs to. The number is chosen when the run is started.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RunId(pub u64);

/// Destination of a value: the receiving end of a send in the part of a program for one peer class.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId {
    /// Name of the program's module.
    pub program: String,
    /// Receiving peer class; empty for the module's own peer.
    pub peer_class: String,
    /// Wire name of the value.
    pub wire: String,
}

impl std::fmt::Display for PortId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::", self.program)?;
        if !self.peer_class.is_empty() {
            write!(f, "{}::", self.peer_class)?;
        }
        f.write_str(&self.wire)
    }
}

/// Type of a value in a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeTag {
    /// Digest of the declared type.
    pub digest: Digest,
    /// Wire tag of the value's leaf type; 0 for sequences, optionals and maps, which have none.
    pub node: u64,
}

/// Message with a value.
#[derive(Clone, PartialEq, Debug)]
pub struct Envelope {
    /// Identity of the message.
    pub id: MessageId,
    /// The lowest number that the sender can still send again.
    pub floor: u64,
    /// Run that the value belongs to.
    pub run: RunId,
    pub sender: PeerId,
    /// Addresses at which other peers reach the sender; at most [`MAX_ADDRESSES`].
    pub addresses: Vec<Multiaddress>,
    pub port: PortId,
    /// Type of the value.
    pub ty: TypeTag,
    /// Content of the message.
    pub value: Datum,
}

impl Envelope {
    /// Encodes the message.
    ///
    /// # Errors
    /// [`Exceeded`] if a receiver with these limits would refuse the message.
    pub fn to_bytes(&self, limits: &MessageLimits) -> Result<Vec<u8>, Exceeded> {
        let Self { id, floor, run, sender, addresses, port, ty, value } = self;
        within(Limited::Addresses, addresses.len(), MAX_ADDRESSES)?;
        let version = if addresses.is_empty() { FIRST_VERSION } else { FORMAT_VERSION };
        let mut out = Writer::new(begin_version(MESSAGE, version), limits);
        id.put(&mut out);
        floor.put(&mut out);
        run.put(&mut out);
        sender.put(&mut out);
        if !addresses.is_empty() {
            addresses.put(&mut out);
        }
        port.put(&mut out);
        ty.put(&mut out);
        value.put(&mut out);
        let out = seal(out.finish()?);
        within(Limited::Envelope, out.len(), limits.envelope_bytes)?;
        Ok(out)
    }

    /// Decodes a message.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn from_bytes(bytes: &[u8], limits: &MessageLimits) -> Result<Self, Malformed> {
        within(Limited::Envelope, bytes.len(), limits.envelope_bytes)
            .map_err(|exceeded| Malformed { at: 0, flaw: exceeded.into() })?;
        let (version, mut reader) = open_version(bytes, MESSAGE, FORMAT_VERSION, limits)?;
        let (id, floor, run) = <(MessageId, u64, RunId)>::read(&mut reader)?;
        if floor > id.number {
            return reader.fail(Flaw::Integer);
        }
        let sender = Encoded::read(&mut reader)?;
        let addresses = if version == FIRST_VERSION { Vec::new() } else { addresses(&mut reader)? };
        let port = Encoded::read(&mut reader)?;
        let (ty, value) = <(TypeTag, Datum)>::read(&mut reader)?;
        reader.end()?;
        if ty.node != tag_of(&value) {
            return reader.fail(Flaw::Tag);
        }
        Ok(Self { id, floor, run, sender, addresses, port, ty, value })
    }
}

/// Reads the addresses of a sender.
fn addresses(reader: &mut Reader<'_>) -> Result<Vec<Multiaddress>, Malformed> {
    let addresses: Vec<Multiaddress> = Encoded::read(reader)?;
    if addresses.is_empty() {
        return reader.fail(Flaw::NoAddresses);
    }
    within(Limited::Addresses, addresses.len(), MAX_ADDRESSES).or_else(|exceeded| reader.fail(exceeded))?;
    Ok(addresses)
}

fields! {
    MessageId { incarnation, number }
    RunId { 0 }
    PortId { program, peer_class, wire }
}

impl Encoded for TypeTag {
    fn put(&self, out: &mut Writer<'_>) {
        self.digest.put(out);
        out.bytes(&self.node.to_le_bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { digest: Encoded::read(reader)?, node: u64::from_le_bytes(reader.array()?) })
    }
}

/// Size of the frame header: magic bytes, version and kind.
const HEADER: usize = MAGIC.len() + 2;

/// Returns a frame of the first version that consists of the header.
pub(crate) fn begin(kind: u8) -> Vec<u8> {
    begin_version(kind, FIRST_VERSION)
}

fn begin_version(kind: u8, version: u8) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([version, kind]);
    out
}

/// Appends the digest to a frame.
pub(crate) fn seal(mut out: Vec<u8>) -> Vec<u8> {
    let digest = blake3::hash(&out);
    out.extend_from_slice(digest.as_bytes());
    out
}

/// Validates header and digest of a frame of the first version and returns a reader of its content.
pub(crate) fn open<'b>(
    bytes: &'b [u8],
    kind: u8,
    limits: &'b MessageLimits,
) -> Result<Reader<'b>, Malformed> {
    open_version(bytes, kind, FIRST_VERSION, limits).map(|(_, reader)| reader)
}

/// Validates header and digest of a frame and returns its version and a reader of its content. The version is
/// checked first, since the rest of the layout depends on it.
fn open_version<'b>(
    bytes: &'b [u8],
    kind: u8,
    newest: u8,
    limits: &'b MessageLimits,
) -> Result<(u8, Reader<'b>), Malformed> {
    let mut reader = Reader::new(bytes, limits);
    let wrong = |at, flaw| Err(Malformed { at, flaw });
    if reader.array()? != MAGIC {
        return wrong(0, Flaw::Magic);
    }
    let version = reader.byte()?;
    if !(FIRST_VERSION..=newest).contains(&version) {
        return wrong(MAGIC.len(), Flaw::Version { found: version, supported: newest });
    }
    let found = reader.byte()?;
    if found != kind {
        return wrong(MAGIC.len() + 1, Flaw::Kind { what: "frame", found });
    }
    let Some(end) = bytes.len().checked_sub(TRAILER).filter(|end| *end >= HEADER) else {
        return wrong(bytes.len(), Flaw::Truncated);
    };
    let (body, digest) = bytes.split_at(end);
    if blake3::hash(body).as_bytes() != digest {
        return wrong(end, Flaw::Checksum);
    }
    let mut reader = Reader::new(body, limits);
    reader.take(HEADER)?;
    Ok((version, reader))
}
