//! Identities of peers.

use std::fmt;

/// Identity of a peer in the byte format of the transport.
///
/// ```
/// use typeloom_tensor::peer::PeerId;
///
/// let home = PeerId::from("home");
/// assert_eq!((home.0.as_slice(), home.to_string()), (&b"home"[..], "home".to_owned()));
/// assert_eq!(PeerId(vec![0xff, 0x0a]).to_string(), "ff0a");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub Vec<u8>);

impl From<&str> for PeerId {
    fn from(name: &str) -> Self {
        Self(name.as_bytes().to_vec())
    }
}

impl From<String> for PeerId {
    fn from(name: String) -> Self {
        Self(name.into_bytes())
    }
}

/// Text without control characters as it is, other bytes as hexadecimal numbers.
impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match std::str::from_utf8(&self.0) {
            Ok(text) if !text.is_empty() && !text.contains(char::is_control) => f.write_str(text),
            Ok(_) | Err(_) => self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
        }
    }
}
