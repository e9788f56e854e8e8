//! Transports: request-response exchange of messages between peers.
//!
//! Example of [`Transport`], to the same peer:
//!
//! ```
//! use std::sync::{Mutex, Weak};
//!
//! use core::time::Duration;
//! use typeloom_tensor::peer::PeerId;
//! use typeloom_wire::transport::{Inbound, Transport, TransportError};
//!
//! struct Loopback(PeerId, Mutex<Weak<dyn Inbound>>);
//!
//! impl Transport for Loopback {
//!     fn local_peer(&self) -> PeerId {
//!         self.0.clone()
//!     }
//!
//!     fn serve(&self, inbound: Weak<dyn Inbound>) {
//!         *self.1.lock().unwrap() = inbound;
//!     }
//!
//!     fn exchange(&self, to: &PeerId, request: &[u8], _: Duration) -> Result<Vec<u8>, TransportError> {
//!         if *to != self.0 {
//!             return Err(TransportError::UnknownPeer);
//!         }
//!         let inbound = self.1.lock().unwrap().upgrade().ok_or(TransportError::Closed)?;
//!         Ok(inbound.answer(&self.0, request))
//!     }
//! }
//! ```

use std::sync::Weak;

use core::time::Duration;
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::peer::PeerId;

/// Sends requests to peers and returns their answers.
///
/// # Laws
/// 1. *Integrity.* A request or an answer arrives unaltered or not at all.
/// 2. *Answers are genuine.* If [`exchange`](Transport::exchange) returns bytes, [`Inbound::answer`] of that
///    peer was called with the request at least once and returned these bytes.
/// 3. *Errors are inconclusive.* After an error the peer may have received the request any number of times,
///    and may still receive it later.
/// 4. *Termination.* A call returns soon after its timeout, independently of the peer.
/// 5. *Authentication.* The peer id passed to [`Inbound::answer`] is that of the peer which sent the request.
///
/// An [`Endpoint`](super::endpoint::Endpoint) builds exactly-once delivery without loss of acknowledged
/// messages on these laws.
pub trait Transport: Send + Sync {
    /// Id of the local peer.
    fn local_peer(&self) -> PeerId;

    /// Sets the handler of incoming requests. Requests that arrive earlier fail at their senders.
    fn serve(&self, inbound: Weak<dyn Inbound>);

    /// Addresses at which other peers reach the local peer. They travel in its messages.
    fn addresses(&self) -> Vec<Multiaddress> {
        Vec::new()
    }

    /// Passes on the addresses that a peer reported in a message of its own. They replace no addresses that
    /// the program has set.
    fn learn(&self, _peer: &PeerId, _addresses: &[Multiaddress]) {}

    /// Sends a request to a peer and waits for the answer until the timeout.
    ///
    /// # Errors
    /// [`TransportError`]. By law 3 the peer may have received the request, except after
    /// [`TransportError::UnknownPeer`] and [`TransportError::TooLarge`].
    fn exchange(&self, to: &PeerId, request: &[u8], timeout: Duration) -> Result<Vec<u8>, TransportError>;
}

/// Handler of requests from other peers.
pub trait Inbound: Send + Sync {
    /// Answers a request. Must not wait for another peer.
    fn answer(&self, from: &PeerId, request: &[u8]) -> Vec<u8>;
}

/// Error of an exchange.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransportError {
    /// The transport has no address of the peer. Nothing was sent.
    #[error("no address of the peer is known")]
    UnknownPeer,
    /// The request exceeds the size limit of the transport. Nothing was sent.
    #[error("a request has at most {limit} bytes")]
    TooLarge {
        /// Maximum size of a request in bytes.
        limit: usize,
    },
    /// The peer is unreachable at present, or the connection broke.
    #[error("the peer cannot be reached: {reason}")]
    Unreachable { reason: String },
    /// The answer did not arrive before the timeout.
    #[error("no answer arrived in time")]
    Timeout,
    /// The local transport is closed.
    #[error("the transport is closed")]
    Closed,
}
