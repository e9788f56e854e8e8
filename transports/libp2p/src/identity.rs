//! Key pairs of peers, and the text form of peer ids and addresses.

use libp2p::identity::Keypair;
use typeloom::PeerId;
use typeloom_tensor::address::{AddressError, Multiaddress};

/// Key pair of a peer. The secret must be stored as securely as the journal: any process that has it can act
/// as the peer.
#[derive(Clone)]
pub struct Identity {
    keys: Keypair,
}

/// The bytes are not a valid secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this is not a secret of an Ed25519 key")]
pub struct IdentityError;

impl Identity {
    /// Generates a new key pair.
    #[must_use]
    pub fn generate() -> Self {
        Self { keys: Keypair::generate_ed25519() }
    }

    /// Restores a key pair from its secret.
    ///
    /// # Errors
    /// [`IdentityError`].
    pub fn from_secret(mut secret: [u8; 32]) -> Result<Self, IdentityError> {
        Keypair::ed25519_from_bytes(&mut secret).map(|keys| Self { keys }).map_err(|_| IdentityError)
    }

    /// Returns the secret.
    ///
    /// # Errors
    /// [`IdentityError`] if the key is not an Ed25519 key; never for keys created by this crate.
    pub fn secret(&self) -> Result<[u8; 32], IdentityError> {
        let keys = self.keys.clone().try_into_ed25519().map_err(|_| IdentityError)?;
        keys.secret().as_ref().try_into().map_err(|_| IdentityError)
    }

    /// Id of the peer, derived from the public key.
    #[must_use]
    pub fn peer(&self) -> PeerId {
        PeerId(self.keys.public().to_peer_id().to_bytes())
    }

    pub(crate) fn keys(&self) -> Keypair {
        self.keys.clone()
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Identity({})", self.keys.public().to_peer_id())
    }
}

/// Parses an address in libp2p's notation, such as `/ip4/127.0.0.1/tcp/4001`.
///
/// # Errors
/// [`AddressError`].
pub fn address(text: &str) -> Result<Multiaddress, AddressError> {
    text.parse()
}

/// Formats an address in libp2p's notation.
#[must_use]
pub fn show_address(address: &Multiaddress) -> String {
    address.to_string()
}

/// Formats a peer id in libp2p's notation, or in hexadecimal if it is invalid.
#[must_use]
pub fn show_peer(peer: &PeerId) -> String {
    libp2p::PeerId::from_bytes(&peer.0).map_or_else(|_| hex(&peer.0), libp2p::PeerId::to_base58)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
