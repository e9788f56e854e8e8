//! Transports: what carries messages between peers.

use std::sync::Weak;

use core::time::Duration;
use typeloom_contracts::peer_selector::PeerId;

/// Carries requests to peers and brings back their answers.
///
/// # Laws
/// 1. *Nothing is altered.* What arrives is what was handed over, or it does not arrive.
/// 2. *An answer is an answer.* Where [`exchange`](Transport::exchange) gives bytes, [`Inbound::answer`] of that peer was
///    called with the request at least once, and gave these bytes.
/// 3. *A failure says nothing.* Where it fails, the peer may have been given the request, any number of times, or may
///    still be given it later.
/// 4. *Everything ends.* A call returns soon after its timeout, whatever the peer does.
/// 5. *Peers are who they are.* The peer that a request comes from is the one that [`Inbound::answer`] is told.
///
/// That a message is taken once, and is not lost once it was acknowledged, is what an
/// [`Endpoint`](super::endpoint::Endpoint) makes of these.
///
/// # Example
///
/// A transport to oneself:
///
/// ```
/// use std::sync::{Mutex, Weak};
///
/// use core::time::Duration;
/// use typeloom_contracts::peer_selector::PeerId;
/// use typeloom_wire::transport::{Inbound, Transport, TransportError};
///
/// struct Loopback(PeerId, Mutex<Weak<dyn Inbound>>);
///
/// impl Transport for Loopback {
///     fn local_peer(&self) -> PeerId {
///         self.0.clone()
///     }
///
///     fn serve(&self, inbound: Weak<dyn Inbound>) {
///         *self.1.lock().unwrap() = inbound;
///     }
///
///     fn exchange(&self, to: &PeerId, request: &[u8], _: Duration) -> Result<Vec<u8>, TransportError> {
///         if *to != self.0 {
///             return Err(TransportError::UnknownPeer);
///         }
///         let inbound = self.1.lock().unwrap().upgrade().ok_or(TransportError::Closed)?;
///         Ok(inbound.answer(&self.0, request))
///     }
/// }
/// ```
pub trait Transport: Send + Sync {
    /// The peer at this end.
    fn local_peer(&self) -> PeerId;

    /// From now on, requests that arrive are answered by this; requests that came before are failures at their senders.
    fn serve(&self, inbound: Weak<dyn Inbound>);

    /// Hands a request to a peer and waits for the answer, no longer than a timeout.
    ///
    /// # Errors
    /// [`TransportError`]; by law 3 none of them says that the peer has not been given the request, but for
    /// [`TransportError::UnknownPeer`] and [`TransportError::TooLarge`].
    fn exchange(&self, to: &PeerId, request: &[u8], timeout: Duration) -> Result<Vec<u8>, TransportError>;
}

/// Answers the requests of other peers.
pub trait Inbound: Send + Sync {
    /// The answer to a request. It is given soon: nothing here waits for a peer.
    fn answer(&self, from: &PeerId, request: &[u8]) -> Vec<u8>;
}

/// Why a transport has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TransportError {
    /// The transport knows no way to the peer. Nothing was sent.
    #[error("no way to the peer is known")]
    UnknownPeer,
    /// The request is larger than the transport carries. Nothing was sent.
    #[error("a request has at most {limit} bytes")]
    TooLarge {
        /// The most that it carries.
        limit: usize,
    },
    /// The peer cannot be reached now, or the connection broke.
    #[error("the peer cannot be reached: {reason}")]
    Unreachable {
        /// Why.
        reason: String,
    },
    /// No answer came in time.
    #[error("no answer came in time")]
    Timeout,
    /// This end was closed.
    #[error("the transport is closed")]
    Closed,
}
