//! Portable identities: 256 bits of BLAKE3.

use std::fmt;

/// Digest of a type, equal in every pool, process and language.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

/// Error of parsing a string that is not 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is written as 64 lower-case hexadecimal digits")]
pub struct DigestParseError;

impl Digest {
    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl std::str::FromStr for Digest {
    type Err = DigestParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        let is_lower = !text.bytes().any(|byte| byte.is_ascii_uppercase());
        let decoded = hex::decode_to_slice(text, &mut bytes);
        if is_lower && decoded.is_ok() { Ok(Digest(bytes)) } else { Err(DigestParseError) }
    }
}
