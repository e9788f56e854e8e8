//! Entries of an endpoint's journal. The format is specified in `docs/wire-format.md`.
//!
//! An entry is identified by a [`Key`]. The value of a key is the encoding of a tuple, or a message.

use bytes::Bytes;
use typeloom_tensor::peer::PeerId;

use crate::codec::{Encoded, Reader, Variants as _, Writer, fields, variants};
use crate::envelope::{PortId, RunId};
use crate::error::{Flaw, Malformed};
use crate::limits::MessageLimits;

/// Version of the format, stored in the identity.
const VERSION: u8 = 2;

/// The version of the format, which a reader compares with its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Version;

/// Key of an entry. A list of values in its documentation is the content of the entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    /// Version, owner and incarnation of the journal; the entry of the lowest key, in every journal.
    Identity,
    /// State of the program.
    State,
    /// An accepted message that is not committed, by its number in the order of arrival: an [`Accepted`] and
    /// the message.
    Accepted { arrival: u64 },
    /// Incarnation and floor of a sender.
    Window { from: PeerId },
    /// A number from the floor on that was accepted from the sender; empty.
    Number { from: PeerId, number: u64 },
    /// Number of the last message to a peer.
    Last { to: PeerId },
    /// A message that needs further attempts.
    Post { to: PeerId, number: u64 },
}

variants! { Key, "entry":
    1 => (Self::Identity) [],
    2 => (Self::State) [],
    3 => (Self::Accepted { arrival }) [arrival],
    4 => (Self::Window { from }) [from],
    5 => (Self::Number { from, number }) [from, number],
    6 => (Self::Last { to }) [to],
    7 => (Self::Post { to, number }) [to, number],
}

/// Destination of an accepted message, stored in front of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Accepted {
    pub(crate) run: RunId,
    pub(crate) port: PortId,
}

fields! {
    Accepted { run, port }
}

impl Encoded for Version {
    fn put(&self, out: &mut Writer<'_>) {
        out.bytes(&[VERSION]);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        match reader.byte()? {
            VERSION => Ok(Self),
            found => reader.fail(Flaw::Version { found, supported: VERSION }),
        }
    }
}

impl Key {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::new(Vec::new(), &MessageLimits::NONE);
        self.put_variant(&mut out);
        out.finish().unwrap_or_default()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, &MessageLimits::NONE);
        let key = Self::read_variant(&mut reader)?;
        reader.end()?;
        Ok(key)
    }
}

/// Encodes a value, followed by a message.
pub(crate) fn encode(value: &impl Encoded, message: &[u8]) -> Bytes {
    let mut out = Writer::new(Vec::with_capacity(message.len()), &MessageLimits::NONE);
    value.put(&mut out);
    out.bytes(message);
    out.finish().unwrap_or_default().into()
}

/// Decodes a value and returns it with the number of its bytes.
pub(crate) fn decode_prefix<T: Encoded>(bytes: &[u8]) -> Result<(T, usize), Malformed> {
    let mut reader = Reader::new(bytes, &MessageLimits::NONE);
    let value = T::read(&mut reader)?;
    Ok((value, reader.at()))
}

/// Decodes a value.
pub(crate) fn decode<T: Encoded>(bytes: &[u8]) -> Result<T, Malformed> {
    let (value, end) = decode_prefix(bytes)?;
    if end == bytes.len() { Ok(value) } else { Err(Malformed { at: end, flaw: Flaw::Trailing }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_read_back_and_truncated_ones_are_refused() {
        let peer = PeerId(b"p".to_vec());
        let keys = [
            Key::Identity,
            Key::State,
            Key::Accepted { arrival: 300 },
            Key::Window { from: peer.clone() },
            Key::Number { from: peer.clone(), number: u64::MAX },
            Key::Last { to: peer.clone() },
            Key::Post { to: peer.clone(), number: 7 },
        ];
        let mut encoded = keys.clone().map(|key| key.to_bytes());
        for (key, bytes) in keys.into_iter().zip(&encoded) {
            assert_eq!(Key::from_bytes(bytes), Ok(key));
            for end in 0..bytes.len() {
                assert!(Key::from_bytes(&bytes[..end]).is_err());
            }
        }
        encoded.sort();
        assert_eq!(Key::from_bytes(&encoded[0]), Ok(Key::Identity), "it is read first");

        let port = PortId { program: "m".to_owned(), peer_class: String::new(), wire: "w".to_owned() };
        let accepted = Accepted { run: RunId(9), port };
        let bytes = encode(&accepted, b"message");
        let (read, end) = decode_prefix::<Accepted>(&bytes).expect("it was just written");
        assert_eq!((read, &bytes[end..]), (accepted, &b"message"[..]));
        let identity = encode(&(Version, peer, 3_u64), b"");
        assert!(decode::<(Version, PeerId, u64)>(&identity).is_ok());
        assert!(decode::<(Version, PeerId)>(&identity).is_err());
    }

    #[test]
    fn entries_of_another_version_are_refused() {
        let version = Malformed { at: 1, flaw: Flaw::Version { found: 1, supported: VERSION } };
        assert_eq!(decode::<(Version, PeerId, u64)>(&[1, 0, 0]), Err(version));
    }
}
