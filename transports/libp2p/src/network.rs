//! Network thread: runs the swarm and processes commands.

use std::collections::HashMap;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use libp2p::connection_limits::{self, ConnectionLimits};
use libp2p::core::transport::ListenerId;
use libp2p::futures::StreamExt as _;
use libp2p::identity::Keypair;
use libp2p::request_response::{
    self, Config, Event, Message, OutboundFailure, OutboundRequestId, ProtocolSupport, ResponseChannel,
};
use libp2p::swarm::{NetworkBehaviour, SwarmEvent};
use libp2p::{Multiaddr, PeerId, Swarm, SwarmBuilder, noise, tcp, yamux};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use typeloom_tensor::address::Multiaddress;
use typeloom_wire::address_book::AddressBook;
use typeloom_wire::transport::TransportError;

use crate::codec::{Codec, PROTOCOL};
use crate::transport::{Answering, Options, StartError};

/// Timeout for opening the listeners.
const LISTENING: Duration = Duration::from_secs(10);

/// Time without messages from a peer after which an exchange that timed out closes its connections.
const SILENCE: Duration = Duration::from_secs(2);

type Answer = Result<Vec<u8>, TransportError>;

/// Command to the network thread.
pub(crate) enum Command {
    /// Sends a request to a peer.
    Exchange { peer: PeerId, request: Vec<u8>, reply: SyncSender<Answer> },
    /// Sets the addresses of a peer.
    Find { peer: typeloom::PeerId, addresses: Vec<Multiaddress> },
    /// Adds addresses that a peer reported, for a time.
    Learn { peer: typeloom::PeerId, addresses: Vec<Multiaddress>, lifetime: Duration },
    /// Reports that an exchange with a peer timed out.
    TimedOut { peer: PeerId },
    /// Stops the network.
    Stop,
}

#[derive(NetworkBehaviour)]
struct Behaviour {
    limits: connection_limits::Behaviour,
    messages: request_response::Behaviour<Codec>,
}

/// An answer to send, with its channel.
type Ready = (ResponseChannel<Vec<u8>>, Vec<u8>);

pub(crate) struct Network {
    swarm: Swarm<Behaviour>,
    answering: Answering,
    book: AddressBook,
    /// The origin of the book's times.
    started: Instant,
    waiting: HashMap<OutboundRequestId, SyncSender<Answer>>,
    /// Time of the last message from each connected peer.
    last_messages: HashMap<PeerId, Instant>,
    ready: UnboundedSender<Ready>,
    answered: Option<UnboundedReceiver<Ready>>,
}

impl Network {
    /// Starts a network and returns it with the addresses of its listeners.
    pub(crate) async fn start(
        keys: Keypair,
        listen: &[Multiaddr],
        options: Options,
        answering: Answering,
    ) -> Result<(Self, Vec<Multiaddr>), StartError> {
        let mut swarm = swarm(keys, options)?;
        let mut open: HashMap<ListenerId, &Multiaddr> = HashMap::new();
        let refused =
            |address: &Multiaddr, reason: String| StartError::Listen { address: address.to_string(), reason };
        for address in listen {
            let listener =
                swarm.listen_on(address.clone()).map_err(|error| refused(address, error.to_string()))?;
            open.insert(listener, address);
        }
        let mut listening = Vec::new();
        let deadline = tokio::time::Instant::now() + LISTENING;
        while let Some(waited_for) = open.values().next().copied() {
            let event = tokio::time::timeout_at(deadline, swarm.select_next_some()).await;
            match event.map_err(|_| refused(waited_for, "it takes too long".to_owned()))? {
                SwarmEvent::NewListenAddr { listener_id, address } => {
                    open.remove(&listener_id);
                    listening.push(address);
                }
                SwarmEvent::ListenerClosed { listener_id, reason, .. } => {
                    if let Some(address) = open.remove(&listener_id) {
                        let reason = reason.err().map_or_else(|| "closed".to_owned(), |it| it.to_string());
                        return Err(refused(address, reason));
                    }
                }
                _ => {}
            }
        }
        let (ready, answered) = unbounded_channel();
        let network = Self {
            swarm,
            answering,
            book: AddressBook::new(options.book),
            started: Instant::now(),
            waiting: HashMap::new(),
            last_messages: HashMap::new(),
            ready,
            answered: Some(answered),
        };
        Ok((network, listening))
    }

    /// Runs until a stop command arrives or all command senders are dropped.
    pub(crate) async fn run(mut self, mut commands: UnboundedReceiver<Command>) {
        let Some(mut answered) = self.answered.take() else { return };
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(Command::Stop) | None => return,
                    Some(command) => self.execute(command),
                },
                Some((channel, answer)) = answered.recv() => {
                    // An error is ignored: a sender that no longer waits will try again.
                    let _ = self.swarm.behaviour_mut().messages.send_response(channel, answer);
                }
                event = self.swarm.select_next_some() => match event {
                    SwarmEvent::Behaviour(BehaviourEvent::Messages(event)) => self.event(event),
                    SwarmEvent::ConnectionEstablished { peer_id, .. } => self.note_message(peer_id),
                    SwarmEvent::ConnectionClosed { peer_id, num_established: 0, .. } => {
                        self.last_messages.remove(&peer_id);
                    }
                    _ => {}
                }
            }
        }
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::Exchange { peer, request, reply } => {
                let known = self.book.look_up(&typeloom::PeerId(peer.to_bytes()), self.started.elapsed());
                let addresses: Vec<Multiaddr> = known.into_iter().map(Multiaddr::from).collect();
                if peer == *self.swarm.local_peer_id()
                    || (addresses.is_empty() && !self.swarm.is_connected(&peer))
                {
                    let _ = reply.send(Err(TransportError::UnknownPeer));
                    return;
                }
                let messages = &mut self.swarm.behaviour_mut().messages;
                let request = messages.send_request_with_addresses(&peer, request, addresses);
                self.waiting.insert(request, reply);
            }
            Command::Find { peer, addresses } => {
                self.book.remove(&peer);
                self.book.install(&peer, addresses, None, self.started.elapsed());
            }
            Command::Learn { peer, addresses, lifetime } => {
                self.book.install(&peer, addresses, Some(lifetime), self.started.elapsed());
            }
            Command::TimedOut { peer } => {
                // The timeout of a call can be shorter than a regular response time, so only a silent peer is
                // disconnected.
                if self.last_messages.get(&peer).is_some_and(|time| time.elapsed() > SILENCE) {
                    let _ = self.swarm.disconnect_peer_id(peer);
                }
            }
            Command::Stop => {}
        }
    }

    fn note_message(&mut self, peer: PeerId) {
        self.last_messages.insert(peer, Instant::now());
    }

    fn event(&mut self, event: Event<Vec<u8>, Vec<u8>>) {
        match event {
            Event::Message { peer, message: Message::Request { request, channel, .. }, .. } => {
                self.note_message(peer);
                self.answer(peer, request, channel);
            }
            Event::Message { peer, message: Message::Response { request_id, response }, .. } => {
                self.note_message(peer);
                self.reply(request_id, Ok(response));
            }
            Event::OutboundFailure { request_id, error, .. } => {
                let error = match error {
                    OutboundFailure::Timeout => TransportError::Timeout,
                    OutboundFailure::UnsupportedProtocols => {
                        TransportError::Unreachable { reason: format!("it does not speak {PROTOCOL}") }
                    }
                    OutboundFailure::DialFailure
                    | OutboundFailure::ConnectionClosed
                    | OutboundFailure::Io(_) => TransportError::Unreachable { reason: error.to_string() },
                };
                self.reply(request_id, Err(error));
            }
            Event::InboundFailure { .. } | Event::ResponseSent { .. } => {}
        }
    }

    fn reply(&mut self, request: OutboundRequestId, answer: Answer) {
        if let Some(waiting) = self.waiting.remove(&request) {
            // The caller may have timed out.
            let _ = waiting.try_send(answer);
        }
    }

    /// Answers a request on another thread, because an endpoint writes to its journal before it answers.
    fn answer(&self, peer: PeerId, request: Vec<u8>, channel: ResponseChannel<Vec<u8>>) {
        let inbound = self.answering.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Without an endpoint the channel is dropped, which the sender sees as an error.
        let Some(inbound) = inbound.and_then(|inbound| inbound.upgrade()) else { return };
        let ready = self.ready.clone();
        let from = typeloom::PeerId(peer.to_bytes());
        tokio::task::spawn_blocking(move || {
            let answer = Arc::clone(&inbound).answer(&from, &request);
            let _ = ready.send((channel, answer));
        });
    }
}

fn swarm(keys: Keypair, options: Options) -> Result<Swarm<Behaviour>, StartError> {
    let failed = |reason: String| StartError::Start { reason };
    let limits = ConnectionLimits::default()
        .with_max_established_incoming(Some(options.connections))
        .with_max_pending_incoming(Some(options.connections))
        .with_max_established_per_peer(Some(options.connections_of_peer));
    let config =
        Config::default().with_request_timeout(options.patience).with_max_concurrent_streams(options.streams);
    let codec = Codec { most: options.message_bytes };
    let messages =
        request_response::Behaviour::with_codec(codec, [(PROTOCOL, ProtocolSupport::Full)], config);
    let behaviour = Behaviour { limits: connection_limits::Behaviour::new(limits), messages };
    let swarm = SwarmBuilder::with_existing_identity(keys)
        .with_tokio()
        .with_tcp(tcp::Config::default().nodelay(true), noise::Config::new, yamux::Config::default)
        .map_err(|error| failed(error.to_string()))?
        .with_behaviour(|_| behaviour)
        .map_err(|error| failed(error.to_string()))?
        .with_swarm_config(|config| config.with_idle_connection_timeout(options.patience))
        .build();
    Ok(swarm)
}
