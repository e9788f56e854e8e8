//! The transport: forwards calls from any thread to the network thread.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use libp2p::Multiaddr;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use typeloom::PeerId;
use typeloom_tensor::address::Multiaddress;
use typeloom_wire::address_book::BookLimits;
use typeloom_wire::transport::{Inbound, Transport, TransportError};

use crate::identity::Identity;
use crate::network::{Command, Network};

/// Handler of requests; `None` before an endpoint is opened, dangling after it was closed.
pub(crate) type Answering = Arc<Mutex<Option<Weak<dyn Inbound>>>>;

/// Resource limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Maximum size of a message in bytes.
    pub message_bytes: usize,
    /// Maximum number of concurrent streams per connection.
    pub streams: usize,
    /// Maximum number of incoming connections.
    pub connections: u32,
    /// Maximum number of connections per peer.
    pub connections_of_peer: u32,
    /// Timeout of requests in the network thread, and of idle connections.
    pub patience: Duration,
    /// Limits of the address book.
    pub book: BookLimits,
    /// Time for which an address that a peer reported in a message is kept. Addresses of [`Libp2p::find`] are
    /// kept without an end.
    pub learned: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            message_bytes: 1 << 28,
            streams: 16,
            connections: 128,
            connections_of_peer: 4,
            patience: Duration::from_secs(30),
            book: BookLimits::default(),
            learned: Duration::from_secs(60 * 60),
        }
    }
}

/// A peer on a libp2p network. Dropping it stops the network.
pub struct Libp2p {
    peer: PeerId,
    listening: Vec<Multiaddress>,
    options: Options,
    answering: Answering,
    commands: UnboundedSender<Command>,
    thread: Option<JoinHandle<()>>,
}

/// Error of starting the network, or of setting addresses.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A peer id or an address is not valid in libp2p.
    #[error("this is not a multiaddress: {reason}")]
    Address {
        /// Error of the parser.
        reason: String,
    },
    /// A listener cannot be opened.
    #[error("cannot listen on {address}: {reason}")]
    Listen {
        /// Address of the listener.
        address: String,
        /// Reason for the failure.
        reason: String,
    },
    /// The network thread cannot be started.
    #[error("the network cannot be started: {reason}")]
    Start {
        /// Reason for the failure.
        reason: String,
    },
}

impl Libp2p {
    /// Starts a peer that listens on the given addresses. Without addresses it can send, but other peers
    /// cannot connect to it.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn start(
        identity: &Identity,
        listen: &[Multiaddress],
        options: &Options,
    ) -> Result<Self, StartError> {
        let listen: Vec<Multiaddr> = listen.iter().cloned().map(Multiaddr::from).collect();
        let answering = Answering::default();
        let (commands, receiver) = unbounded_channel();
        let (started, start) = sync_channel(1);
        let (keys, options, answers) = (identity.keys(), *options, Arc::clone(&answering));
        let thread = std::thread::Builder::new()
            .name("typeloom-libp2p".to_owned())
            .spawn(move || {
                let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                    Ok(runtime) => runtime,
                    Err(error) => {
                        let _ = started.send(Err(StartError::Start { reason: error.to_string() }));
                        return;
                    }
                };
                runtime.block_on(async move {
                    match Network::start(keys, &listen, options, answers).await {
                        Ok((network, listening)) => {
                            let _ = started.send(Ok(listening));
                            network.run(receiver).await;
                        }
                        Err(error) => drop(started.send(Err(error))),
                    }
                });
            })
            .map_err(|error| StartError::Start { reason: error.to_string() })?;
        let listening = start
            .recv()
            .map_err(|_| StartError::Start { reason: "the network's thread panicked".to_owned() })??;
        let listening = listening.into_iter().map(Multiaddress::try_from);
        let listening = listening.collect::<Result<_, _>>();
        let listening = listening.map_err(|error| StartError::Address { reason: error.to_string() })?;
        let thread = Some(thread);
        Ok(Self { peer: identity.peer(), listening, options, answering, commands, thread })
    }

    /// Addresses of the listeners. Port 0 is replaced with the port that was assigned.
    #[must_use]
    pub fn addresses(&self) -> &[Multiaddress] {
        &self.listening
    }

    /// Sets the addresses of a peer and replaces earlier ones.
    ///
    /// # Errors
    /// [`StartError::Address`] if the peer id is not valid in libp2p.
    pub fn find(&self, peer: &PeerId, addresses: &[Multiaddress]) -> Result<(), StartError> {
        let bad = |reason: String| StartError::Address { reason };
        libp2p::PeerId::from_bytes(&peer.0).map_err(|error| bad(error.to_string()))?;
        let (peer, addresses) = (peer.clone(), addresses.to_vec());
        // If the network has stopped, the next exchange returns the error.
        let _ = self.commands.send(Command::Find { peer, addresses });
        Ok(())
    }
}

impl Transport for Libp2p {
    fn local_peer(&self) -> PeerId {
        self.peer.clone()
    }

    fn serve(&self, inbound: Weak<dyn Inbound>) {
        *self.answering.lock().unwrap_or_else(PoisonError::into_inner) = Some(inbound);
    }

    fn addresses(&self) -> Vec<Multiaddress> {
        self.listening.clone()
    }

    fn learn(&self, peer: &PeerId, addresses: &[Multiaddress]) {
        let (peer, addresses, lifetime) = (peer.clone(), addresses.to_vec(), self.options.learned);
        // If the network has stopped, the next exchange returns the error.
        let _ = self.commands.send(Command::Learn { peer, addresses, lifetime });
    }

    fn exchange(&self, to: &PeerId, request: &[u8], timeout: Duration) -> Result<Vec<u8>, TransportError> {
        let limit = self.options.message_bytes;
        if request.len() > limit {
            return Err(TransportError::TooLarge { limit });
        }
        let Ok(peer) = libp2p::PeerId::from_bytes(&to.0) else { return Err(TransportError::UnknownPeer) };
        let (reply, answer) = sync_channel(1);
        let exchange = Command::Exchange { peer, request: request.to_vec(), reply };
        if self.commands.send(exchange).is_err() {
            return Err(TransportError::Closed);
        }
        match answer.recv_timeout(timeout) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.commands.send(Command::TimedOut { peer });
                Err(TransportError::Timeout)
            }
            Err(RecvTimeoutError::Disconnected) => Err(TransportError::Closed),
        }
    }
}

impl Drop for Libp2p {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Libp2p {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Libp2p")
            .field("peer", &crate::identity::show_peer(&self.peer))
            .finish_non_exhaustive()
    }
}
