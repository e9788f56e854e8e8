//! Network addresses: sequences of protocol segments.
//!
//! An address such as `/ip4/127.0.0.1/tcp/4001/p2p/12D3..` lists the protocols to reach a peer, from the
//! outermost to the innermost, each with its parameter. The crate `multiaddr` defines the protocols, the
//! binary form and the text.
//!
//! **Invariant:** an address has at least one segment, and its binary form and its text determine each other.
//!
//! ```
//! use typeloom_tensor::address::{Multiaddress, Segment};
//!
//! let address: Multiaddress = "/ip4/127.0.0.1/tcp/4001".parse()?;
//! assert_eq!(address.segments().nth(1), Some(Segment::Tcp(4001)));
//! assert_eq!(Multiaddress::from_bytes(address.as_bytes())?, address);
//! assert_eq!(address.to_string(), "/ip4/127.0.0.1/tcp/4001");
//! assert!("/ip4/localhost".parse::<Multiaddress>().is_err());
//! # Ok::<(), typeloom_tensor::address::AddressError>(())
//! ```

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use multiaddr::Multiaddr;

use crate::peer::PeerId;

/// A protocol of an address, with its parameter.
pub type Segment<'a> = multiaddr::Protocol<'a>;

/// A network address.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Multiaddress(Multiaddr);

/// Error of a text or of bytes that are not an address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AddressError {
    /// A protocol is unknown, or its parameter is missing or malformed.
    #[error("this is no address: {reason}")]
    Malformed { reason: String },
    /// There are no segments.
    #[error("an address has at least one segment")]
    Empty,
    /// The text of the address is also the text of another one, for example because a name contains a slash.
    #[error("`{text}` is the text of another address")]
    Ambiguous { text: String },
}

impl Multiaddress {
    /// Creates an address from segments, the outermost first.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn of<'a>(segments: impl IntoIterator<Item = Segment<'a>>) -> Result<Self, AddressError> {
        Self::checked(segments.into_iter().collect())
    }

    /// Decodes the binary form.
    ///
    /// # Errors
    /// [`AddressError`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, AddressError> {
        Multiaddr::try_from(bytes.to_vec()).map_err(|error| malformed(&error)).and_then(Self::checked)
    }

    fn checked(address: Multiaddr) -> Result<Self, AddressError> {
        if address.is_empty() {
            return Err(AddressError::Empty);
        }
        let text = address.to_string();
        match text.parse::<Multiaddr>() {
            Ok(read) if read == address => Ok(Self(address)),
            Ok(_) | Err(_) => Err(AddressError::Ambiguous { text }),
        }
    }

    /// The binary form.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_ref()
    }

    /// The segments, from the outermost to the innermost.
    pub fn segments(&self) -> impl Iterator<Item = Segment<'_>> {
        self.0.iter()
    }

    /// The destination peer: the last segment, if it is `/p2p/..`.
    #[must_use]
    pub fn peer(&self) -> Option<PeerId> {
        let peers = self.segments().filter_map(|segment| match segment {
            Segment::P2p(peer) => Some(PeerId(peer.to_bytes())),
            _ => None,
        });
        peers.last()
    }
}

fn malformed(error: &multiaddr::Error) -> AddressError {
    AddressError::Malformed { reason: error.to_string() }
}

impl FromStr for Multiaddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        text.parse().map_err(|error| malformed(&error)).and_then(Self::checked)
    }
}

impl TryFrom<Multiaddr> for Multiaddress {
    type Error = AddressError;

    fn try_from(address: Multiaddr) -> Result<Self, AddressError> {
        Self::checked(address)
    }
}

impl From<Multiaddress> for Multiaddr {
    fn from(address: Multiaddress) -> Self {
        address.0
    }
}

/// Addresses are ordered by their binary forms.
impl Ord for Multiaddress {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl PartialOrd for Multiaddress {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Multiaddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Multiaddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Multiaddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: &str = "QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC";

    #[test]
    fn an_address_is_read_printed_and_taken_apart() {
        let texts = [
            "/ip4/127.0.0.1/tcp/4001",
            "/ip6/::1/udp/1/quic-v1",
            "/dns4/example.org/tcp/443/wss",
            "/ip4/1.2.3.4/tcp/5/p2p/QmcgpsyWgH8Y8ajJz1Cu72KnS5uo2Aa2LpzU7kinSupNKC",
        ];
        for text in texts {
            let address: Multiaddress = text.parse().expect("it is an address");
            assert_eq!(address.to_string(), text);
            assert_eq!(Multiaddress::from_bytes(address.as_bytes()), Ok(address.clone()));
            assert_eq!(Multiaddress::of(address.segments()), Ok(address));
        }
    }

    #[test]
    fn the_last_peer_is_the_destination() {
        let address: Multiaddress = format!("/ip4/1.2.3.4/tcp/5/p2p/{PEER}").parse().expect("an address");
        let Some(Segment::P2p(peer)) = address.segments().last() else { panic!("{address}") };
        assert_eq!(address.peer(), Some(PeerId(peer.to_bytes())));
        let address: Multiaddress = "/ip4/1.2.3.4/tcp/5".parse().expect("an address");
        assert_eq!(address.peer(), None);
    }

    #[test]
    fn texts_and_bytes_that_are_no_address_are_errors() {
        for text in ["", "/", "ip4/1.2.3.4", "/ip4", "/ip4/1.2.3", "/tcp/65536", "/unknown/1", "/p2p/x"] {
            assert!(text.parse::<Multiaddress>().is_err(), "{text}");
        }
        for bytes in [&[][..], &[4], &[4, 127, 0, 0], &[6, 1], &[0xff; 12]] {
            assert!(Multiaddress::from_bytes(bytes).is_err(), "{bytes:?}");
        }
        let name = Segment::Dns("a/tcp/1".into());
        assert!(matches!(Multiaddress::of([name]), Err(AddressError::Ambiguous { .. })));
    }
}
