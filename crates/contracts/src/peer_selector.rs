//! Peer selectors: they choose peers.

use std::error::Error;

/// The identity of a peer, as the transport writes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub Vec<u8>);

/// Knows peers and chooses among them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a peer selector",
    label = "`{Self}` does not implement the `PeerSelector` contract"
)]
pub trait PeerSelector: Send + Sync + 'static {
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// The `count` peers that suit best.
    ///
    /// # Errors
    /// Where there are too few.
    fn select(&mut self, count: usize) -> Result<Vec<PeerId>, Self::Error>;

    /// `count` peers at random.
    ///
    /// # Errors
    /// Where there are too few.
    fn sample(&mut self, count: usize) -> Result<Vec<PeerId>, Self::Error>;

    /// Every peer that is known now.
    ///
    /// # Errors
    /// Where the view cannot be read.
    fn current_view(&self) -> Result<Vec<PeerId>, Self::Error>;
}
