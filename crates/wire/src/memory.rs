//! In-process transport, the default of embedded programs.
//!
//! A request is answered synchronously on the calling thread. Messages cannot be lost, and runs of a program
//! are deterministic.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use core::time::Duration;
use typeloom_contracts::peer_selector::PeerId;

use crate::transport::{Inbound, Transport, TransportError};

/// Network inside a process. Clones share the same network.
#[derive(Clone, Default)]
pub struct LocalNetwork {
    peers: Arc<Mutex<BTreeMap<PeerId, Weak<dyn Inbound>>>>,
}

impl LocalNetwork {
    /// Creates a network without peers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the transport of a peer. Messages are delivered to the endpoint that was opened last with a
    /// transport of that peer.
    #[must_use]
    pub fn join(&self, peer: PeerId) -> LocalTransport {
        LocalTransport { network: self.clone(), peer }
    }
}

impl std::fmt::Debug for LocalNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(peers.keys()).finish()
    }
}

/// Transport of one peer of a [`LocalNetwork`].
#[derive(Clone, Debug)]
pub struct LocalTransport {
    network: LocalNetwork,
    peer: PeerId,
}

impl Transport for LocalTransport {
    fn local_peer(&self) -> PeerId {
        self.peer.clone()
    }

    fn serve(&self, inbound: Weak<dyn Inbound>) {
        let mut peers = self.network.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.insert(self.peer.clone(), inbound);
    }

    fn exchange(&self, to: &PeerId, request: &[u8], _: Duration) -> Result<Vec<u8>, TransportError> {
        let inbound = {
            let peers = self.network.peers.lock().unwrap_or_else(PoisonError::into_inner);
            peers.get(to).cloned().ok_or(TransportError::UnknownPeer)?
        };
        let inbound = inbound
            .upgrade()
            .ok_or_else(|| TransportError::Unreachable { reason: "its endpoint was closed".to_owned() })?;
        Ok(inbound.answer(&self.peer, request))
    }
}
