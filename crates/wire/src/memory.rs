//! In-process transport, the default of embedded programs.
//!
//! A request is answered synchronously on the calling thread. Messages cannot be lost, and runs of a program
//! are deterministic.
//!
//! A peer that [joins](LocalNetwork::join) by its id reaches every peer of the network. A peer that [joins at
//! an address](LocalNetwork::join_at) reaches the peers in its address book only, as on a network between
//! machines: the peers whose addresses the program has installed, and those that have sent it a message,
//! until their addresses expire.
//!
//! ```
//! use std::sync::Arc;
//! use core::time::Duration;
//! use typeloom_tensor::peer::PeerId;
//! use typeloom_wire::clock::Clock;
//! use typeloom_wire::memory::LocalNetwork;
//! use typeloom_wire::transport::{Transport as _, TransportError};
//!
//! struct Stopped;
//! impl Clock for Stopped {
//!     fn now(&self) -> Duration {
//!         Duration::ZERO
//!     }
//!
//!     fn sleep(&self, _: Duration) {}
//! }
//!
//! let network = LocalNetwork::new();
//! let other = PeerId(vec![2]);
//! let transport = network.join_at(PeerId(vec![1]), "/memory/1".parse()?, Arc::new(Stopped));
//! let exchange = || transport.exchange(&other, b"request", Duration::ZERO);
//! assert_eq!(exchange(), Err(TransportError::UnknownPeer));
//! transport.install(&other, ["/memory/2".parse()?], None);
//! assert!(matches!(exchange(), Err(TransportError::Unreachable { .. })));
//! # Ok::<(), typeloom_tensor::address::AddressError>(())
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use core::time::Duration;
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::peer::PeerId;

use crate::address_book::{AddressBook, BookLimits};
use crate::clock::Clock;
use crate::transport::{Inbound, Transport, TransportError};

/// Network inside a process. Clones share the same network.
#[derive(Clone, Default)]
pub struct LocalNetwork {
    state: Arc<Mutex<Joined>>,
}

#[derive(Default)]
struct Joined {
    peers: BTreeMap<PeerId, Weak<dyn Inbound>>,
    /// The peer that joined last at an address.
    addresses: BTreeMap<Multiaddress, PeerId>,
}

/// The lifetime of addresses that peers report in their messages.
pub const LEARNED: Duration = Duration::from_secs(60 * 60);

impl LocalNetwork {
    /// Creates a network without peers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the transport of a peer. Messages are delivered to the endpoint that was opened last with a
    /// transport of that peer.
    #[must_use]
    pub fn join(&self, peer: impl Into<PeerId>) -> LocalTransport {
        LocalTransport { network: self.clone(), peer: peer.into() }
    }

    /// Returns the transport of a peer that other peers reach at an address, and which looks up the addresses
    /// of others in an address book. If several peers join at one address, it is that of the last one.
    #[must_use]
    pub fn join_at(
        &self,
        peer: impl Into<PeerId>,
        address: Multiaddress,
        clock: Arc<dyn Clock>,
    ) -> AddressedTransport {
        let peer = peer.into();
        self.joined().addresses.insert(address.clone(), peer.clone());
        let book = Mutex::new(AddressBook::new(BookLimits::default()));
        AddressedTransport { transport: self.join(peer), address, book, clock }
    }

    fn joined(&self) -> MutexGuard<'_, Joined> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for LocalNetwork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.joined().peers.keys()).finish()
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
        self.network.joined().peers.insert(self.peer.clone(), inbound);
    }

    fn exchange(&self, to: &PeerId, request: &[u8], _: Duration) -> Result<Vec<u8>, TransportError> {
        let inbound = self.network.joined().peers.get(to).cloned().ok_or(TransportError::UnknownPeer)?;
        let inbound = inbound
            .upgrade()
            .ok_or_else(|| TransportError::Unreachable { reason: "its endpoint was closed".to_owned() })?;
        Ok(inbound.answer(&self.peer, request))
    }
}

/// Transport of one peer of a [`LocalNetwork`], with an address book.
pub struct AddressedTransport {
    transport: LocalTransport,
    address: Multiaddress,
    book: Mutex<AddressBook>,
    clock: Arc<dyn Clock>,
}

impl AddressedTransport {
    /// Adds addresses of a peer to the book, which expire after `lifetime`, or never. Returns whether the
    /// book had the capacity for all of them.
    pub fn install(
        &self,
        peer: &PeerId,
        addresses: impl IntoIterator<Item = Multiaddress>,
        lifetime: Option<Duration>,
    ) -> bool {
        self.book().install(peer, addresses, lifetime, self.clock.now())
    }

    /// The addresses of a peer that have not expired.
    #[must_use]
    pub fn look_up(&self, peer: &PeerId) -> Vec<Multiaddress> {
        self.book().look_up(peer, self.clock.now())
    }

    /// Removes the addresses of a peer from the book.
    pub fn remove(&self, peer: &PeerId) {
        self.book().remove(peer);
    }

    /// Removes expired addresses from the book. Returns the number of removed addresses.
    pub fn expire(&self) -> usize {
        self.book().expire(self.clock.now())
    }

    fn book(&self) -> MutexGuard<'_, AddressBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for AddressedTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddressedTransport")
            .field("peer", &self.transport.peer)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Transport for AddressedTransport {
    fn local_peer(&self) -> PeerId {
        self.transport.local_peer()
    }

    fn serve(&self, inbound: Weak<dyn Inbound>) {
        self.transport.serve(inbound);
    }

    fn addresses(&self) -> Vec<Multiaddress> {
        vec![self.address.clone()]
    }

    fn learn(&self, peer: &PeerId, addresses: &[Multiaddress]) {
        self.install(peer, addresses.iter().cloned(), Some(LEARNED));
    }

    fn exchange(&self, to: &PeerId, request: &[u8], timeout: Duration) -> Result<Vec<u8>, TransportError> {
        let known = self.look_up(to);
        if known.is_empty() {
            return Err(TransportError::UnknownPeer);
        }
        let at_address =
            |address: &Multiaddress| self.transport.network.joined().addresses.get(address) == Some(to);
        if known.iter().any(at_address) {
            return self.transport.exchange(to, request, timeout);
        }
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        Err(TransportError::Unreachable { reason: format!("it is not at {}", known.join(", ")) })
    }
}
