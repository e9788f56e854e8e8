//! Messages: a value, what it is for, and what it is.

use typeloom_contracts::peer_selector::PeerId;
use typeloom_pool::Digest;

use crate::bytes::{Reader, put_int, put_limited};
use crate::error::{Exceeded, Flaw, Limited, Malformed, within};
use crate::limits::Limits;
use crate::value::{put_value, tag_of, value};
use typeloom_contracts::datum::Datum;

/// The first bytes of every message and every receipt.
pub const MAGIC: [u8; 4] = *b"TLWE";
/// The version of the format.
pub const FORMAT_VERSION: u8 = 1;

/// The kind of a frame that carries a value.
pub(crate) const MESSAGE: u8 = 1;
/// The kind of a frame that answers one.
pub(crate) const RECEIPT: u8 = 2;

/// The digest of all other bytes, at the end.
const TRAILER: usize = 32;

/// The identity of a message between two peers.
///
/// Numbers grow by one from message to message of a sender to a receiver, as long as the sender remembers; a sender that
/// starts without its memory has a new, greater incarnation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId {
    /// Which life of the sender.
    pub incarnation: u64,
    /// Which message of that life, to that receiver.
    pub number: u64,
}

impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.incarnation, self.number)
    }
}

/// Which run of a program a value belongs to; whoever starts a run chooses its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RunId(pub u64);

/// Where a value arrives: the end of a send in the part of a program that runs on a class of peers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId {
    /// The program, by the name of its module.
    pub program: String,
    /// The class of peers that receives; empty for the module's own side.
    pub peer_class: String,
    /// The value, by its name on the wire.
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

/// The identity of a type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeTag {
    /// The digest of the type that was declared for the value.
    pub digest: Digest,
    /// The tag of the value's leaf; 0 for sequences and optionals, which have none.
    pub node: u64,
}

/// A value on its way.
#[derive(Clone, PartialEq, Debug)]
pub struct Envelope {
    /// Which message this is.
    pub id: MessageId,
    /// The lowest number that the sender may send again: it waits for no message before it.
    pub floor: u64,
    /// The run that the value belongs to.
    pub run: RunId,
    /// Who sends it.
    pub sender: PeerId,
    /// Where it goes.
    pub port: PortId,
    /// What it is.
    pub ty: TypeTag,
    /// The value.
    pub value: Datum,
}

impl Envelope {
    /// The message in bytes.
    ///
    /// # Errors
    /// [`Exceeded`] where a receiver with these limits would not take it.
    pub fn to_bytes(&self, limits: &Limits) -> Result<Vec<u8>, Exceeded> {
        let mut out = begin(MESSAGE);
        for int in [self.id.incarnation, self.id.number, self.floor, self.run.0] {
            put_int(&mut out, int);
        }
        put_limited(&mut out, &self.sender.0, Limited::Peer, limits.peer_bytes)?;
        for name in [&self.port.program, &self.port.peer_class, &self.port.wire] {
            put_limited(&mut out, name.as_bytes(), Limited::Name, limits.name_bytes)?;
        }
        out.extend_from_slice(self.ty.digest.as_bytes());
        out.extend_from_slice(&self.ty.node.to_le_bytes());
        put_value(&mut out, &self.value, limits)?;
        let out = seal(out);
        within(Limited::Envelope, out.len(), limits.envelope_bytes)?;
        Ok(out)
    }

    /// Reads a message.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn from_bytes(bytes: &[u8], limits: &Limits) -> Result<Self, Malformed> {
        within(Limited::Envelope, bytes.len(), limits.envelope_bytes)
            .map_err(|exceeded| Malformed { at: 0, flaw: exceeded.into() })?;
        let body = open(bytes, MESSAGE)?;
        let mut reader = Reader::new(body);
        reader.take(HEADER)?;
        let id = MessageId { incarnation: reader.int()?, number: reader.int()? };
        let (floor, run) = (reader.int()?, RunId(reader.int()?));
        if floor > id.number {
            return reader.fail(Flaw::Integer);
        }
        let sender = PeerId(reader.limited(Limited::Peer, limits.peer_bytes)?.to_vec());
        let mut name = || reader.text(Limited::Name, limits.name_bytes).map(str::to_owned);
        let port = PortId { program: name()?, peer_class: name()?, wire: name()? };
        let ty = TypeTag { digest: Digest(reader.array()?), node: u64::from_le_bytes(reader.array()?) };
        let value = value(&mut reader, limits)?;
        reader.end()?;
        if ty.node != tag_of(&value) {
            return reader.fail(Flaw::Tag);
        }
        Ok(Self { id, floor, run, sender, port, ty, value })
    }
}

/// Magic, version and kind.
pub(crate) const HEADER: usize = MAGIC.len() + 2;

/// The beginning of a frame.
pub(crate) fn begin(kind: u8) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([FORMAT_VERSION, kind]);
    out
}

/// A frame with its digest behind it.
pub(crate) fn seal(mut out: Vec<u8>) -> Vec<u8> {
    let digest = blake3::hash(&out);
    out.extend_from_slice(digest.as_bytes());
    out
}

/// A frame of a kind without the digest, which is checked. The version is looked at first: what stands behind it is
/// the version's own.
pub(crate) fn open(bytes: &[u8], kind: u8) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(bytes);
    let magic: [u8; MAGIC.len()] = reader.array()?;
    if magic != MAGIC {
        return Err(Malformed { at: 0, flaw: Flaw::Magic });
    }
    let version = reader.byte()?;
    if version != FORMAT_VERSION {
        return Err(Malformed {
            at: MAGIC.len(),
            flaw: Flaw::Version { found: version, supported: FORMAT_VERSION },
        });
    }
    let found = reader.byte()?;
    if found != kind {
        return Err(Malformed { at: MAGIC.len() + 1, flaw: Flaw::Kind { what: "frame", found } });
    }
    let Some(end) = bytes.len().checked_sub(TRAILER).filter(|end| *end >= HEADER) else {
        return Err(Malformed { at: bytes.len(), flaw: Flaw::Truncated });
    };
    let (body, digest) = bytes.split_at(end);
    if blake3::hash(body).as_bytes() != digest {
        return Err(Malformed { at: end, flaw: Flaw::Checksum });
    }
    Ok(body)
}
