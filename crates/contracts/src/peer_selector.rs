//! Contract of peer selectors: selection among known peers.

use std::error::Error;

use typeloom_tensor::peer::PeerId;

/// Maintains a set of known peers and selects from it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a peer selector",
    label = "`{Self}` does not implement the `PeerSelector` contract"
)]
pub trait PeerSelector: Send + Sync + 'static {
    type Error: Error + Send + Sync + 'static;

    /// Returns the `count` highest-ranked peers.
    ///
    /// # Errors
    /// Fewer than `count` peers are known.
    fn select(&mut self, count: usize) -> Result<Vec<PeerId>, Self::Error>;

    /// Returns `count` peers drawn at random.
    ///
    /// # Errors
    /// Fewer than `count` peers are known.
    fn sample(&mut self, count: usize) -> Result<Vec<PeerId>, Self::Error>;

    /// Returns all peers that are currently known.
    ///
    /// # Errors
    /// The set of peers cannot be read.
    fn current_view(&self) -> Result<Vec<PeerId>, Self::Error>;
}
