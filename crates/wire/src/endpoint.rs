//! Endpoints: outbox and mailbox of a peer on top of a transport.
//!
//! # The question
//!
//! Two peers run parts of one program. A value that one sends must be used by the other exactly once,
//! although messages are lost, arrive twice, and either process can end at any moment. Sending until an
//! acknowledgement arrives loses nothing and duplicates: the acknowledgement can be lost. Sending once
//! duplicates nothing and loses.
//!
//! # The idea
//!
//! At least once on the wire, at most once in the program. Numbered calls that the receiver remembers are
//! those of Birrell and Nelson (*Implementing Remote Procedure Calls*, 1984); here both sides keep them on
//! disk:
//!
//! - The *outbox* numbers a message and writes it to the journal before the first attempt. It keeps its
//!   number in all attempts and after a restart.
//! - The *mailbox* accepts a number once, for each sender and incarnation, writes it to its journal, and only
//!   then acknowledges. A number that it has is acknowledged again, and not delivered again.
//! - A program takes a value, computes, and *commits*: one record of the journal contains that the value was
//!   used, the new state of the program, and the messages that result. After a restart either all of them
//!   happened or none.
//!
//! ```text
//! a: post 7 -> journal    send 7  ----x        lost
//!                         send 7  ---->  b: journal has 7, Taken
//!                              x----  ack      lost
//!                         send 7  ---->  b: TakenBefore
//!                         <----  ack           7 leaves the outbox
//! ```
//!
//! The [crate documentation](crate) states the delivery guarantees. `tests/wire/failures.rs` kills peers and
//! loses messages at random.
//!
//! # Cost and limits
//!
//! The sender writes to the journal when a message is posted and when it is settled, the receiver when it is
//! accepted and when it is committed. Memory is bounded by the
//! [`Capacity`] of both boxes: a full mailbox refuses with [`Refusal::Busy`], and the sender tries again
//! after a pause that doubles. A message that is not acknowledged before its deadline is an error for the
//! sender, who cannot know whether it arrived; no protocol can tell.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use core::time::Duration;
use typeloom_tensor::peer::PeerId;

use crate::clock::Clock;
use crate::delivery::{Delivery, ReceiveError, Wanted};
use crate::envelope::{Envelope, FORMAT_VERSION, MessageId, PortId};
use crate::error::Flaw;
use crate::journal::{Journal, JournalError};
use crate::limits::MessageLimits;
use crate::port::PortType;
use crate::receipt::{Receipt, Refusal, Verdict};
use crate::state::State;
use crate::transport::{Inbound, Transport};

/// Configuration of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointConfig {
    /// Incarnation of the peer if the journal contains none. Must be greater than every earlier incarnation
    /// without a journal; nanoseconds since 1970 suffice. Message numbers restart with each incarnation, and
    /// receivers refuse messages of earlier ones.
    pub incarnation: u64,
    /// Size limits of messages.
    pub limits: MessageLimits,
    /// Timing of attempts.
    pub retry: Retry,
    /// Limits of accepted messages that are not committed. Further messages are refused with
    /// [`Refusal::Busy`].
    pub mailbox: Capacity,
    /// Limits of posted messages that are not acknowledged. Further posts are errors, see
    /// [`SendError::OutboxFull`](super::send::SendError::OutboxFull).
    pub outbox: Capacity,
}

impl EndpointConfig {
    /// Default configuration with the given incarnation.
    #[must_use]
    pub fn new(incarnation: u64) -> Self {
        Self {
            incarnation,
            limits: MessageLimits::default(),
            retry: Retry::default(),
            mailbox: Capacity::MAILBOX,
            outbox: Capacity::OUTBOX,
        }
    }
}

/// Timing of attempts to send a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// Timeout of one attempt.
    pub attempt: Duration,
    /// Pause before the second attempt; doubles with each further attempt.
    pub first_pause: Duration,
    /// Maximum pause between attempts.
    pub longest_pause: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempt: Duration::from_secs(5),
            first_pause: Duration::from_millis(10),
            longest_pause: Duration::from_secs(1),
        }
    }
}

/// Limits of the messages that an endpoint stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    pub messages: usize,
    /// Total size of the messages in bytes.
    pub bytes: usize,
}

impl Capacity {
    /// The default of [`EndpointConfig::mailbox`].
    pub const MAILBOX: Self = Self { messages: 1 << 12, bytes: 1 << 28 };
    /// The default of [`EndpointConfig::outbox`].
    pub const OUTBOX: Self = Self { messages: 1 << 16, bytes: 1 << 30 };
}

/// Components of an endpoint.
pub struct EndpointParts {
    /// Transport for messages.
    pub transport: Arc<dyn Transport>,
    /// Clock for deadlines.
    pub clock: Arc<dyn Clock>,
    /// Durable storage of the state.
    pub journal: Box<dyn Journal>,
    /// Ports that accept values. Messages for other ports are refused.
    pub ports: Vec<(PortId, PortType)>,
    /// Peers whose messages are accepted. Messages of other peers are refused.
    pub peers: Vec<PeerId>,
}

/// Outbox and mailbox of a peer. Clones share the same endpoint; it can be used from several threads.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: EndpointConfig,
    pub(crate) local: PeerId,
    state: Mutex<State>,
    arrived: Condvar,
}

impl Endpoint {
    /// Opens the endpoint of a peer and restores its state from the journal: uncommitted messages are
    /// available again, and unacknowledged posts are sent by the next [`flush`](Endpoint::flush).
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(parts: EndpointParts, config: EndpointConfig) -> Result<Self, JournalError> {
        let EndpointParts { transport, clock, journal, ports, peers } = parts;
        let local = transport.local_peer();
        let mut state = State::recover(journal, local.clone(), config.incarnation)?;
        state.ports = ports.into_iter().collect();
        for peer in peers {
            state.link(&peer).is_known = true;
        }
        let shared = Arc::new(Shared {
            transport,
            clock,
            config,
            local,
            state: Mutex::new(state),
            arrived: Condvar::new(),
        });
        let inbound: Arc<dyn Inbound> = Arc::<Shared>::clone(&shared);
        let inbound: Weak<dyn Inbound> = Arc::downgrade(&inbound);
        shared.transport.serve(inbound);
        Ok(Self { shared })
    }

    /// Id of the local peer.
    #[must_use]
    pub fn peer(&self) -> &PeerId {
        &self.shared.local
    }

    /// Current time of the endpoint's clock.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    /// Adds a port.
    pub fn add_port(&self, port: PortId, ty: PortType) {
        self.shared.lock().ports.insert(port, ty);
    }

    /// Adds a peer whose messages are accepted.
    pub fn add_peer(&self, peer: &PeerId) {
        self.shared.lock().link(peer).is_known = true;
    }

    /// Accepts the messages of every peer that the transport authenticates. Each takes some memory, so this is
    /// for networks whose peers are known, such as those of one process.
    pub fn accept_all(&self) {
        self.shared.lock().accepts_all = true;
    }

    /// Returns the first available value, or waits for one until the timeout. The caller has exclusive access
    /// to it until the delivery is dropped.
    ///
    /// Values are returned in the order in which they were accepted. If a sender waits for each
    /// acknowledgement, this is the order in which it sent them.
    ///
    /// # Errors
    /// [`ReceiveError`].
    pub fn receive(&self, wanted: &Wanted, timeout: Duration) -> Result<Delivery, ReceiveError> {
        let mut state = self.shared.lock();
        if !state.ports.contains_key(&wanted.port) {
            return Err(ReceiveError::UnknownPort { port: wanted.port.clone() });
        }
        let first = |state: &State| state.first(&wanted.port, wanted.run);
        if first(&state).is_none() && !timeout.is_zero() {
            let nothing = |state: &mut State| first(state).is_none();
            let waited = self.shared.arrived.wait_timeout_while(state, timeout, nothing);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let Some(arrival) = first(&state) else {
            return Err(ReceiveError::Timeout { port: wanted.port.clone() });
        };
        let envelope = state.hand_out(arrival)?;
        Ok(Delivery::new(Arc::clone(&self.shared), arrival, envelope))
    }

    /// Number of accepted values that are not committed.
    #[must_use]
    pub fn held(&self) -> usize {
        self.shared.lock().held()
    }

    /// Program state of the last commit that contains one, see [`Effects`](super::delivery::Effects).
    #[must_use]
    pub fn memory(&self) -> Vec<u8> {
        self.shared.lock().memory.to_vec()
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("peer", &self.shared.local).finish_non_exhaustive()
    }
}

impl Shared {
    /// Ignores poisoning: a panic cannot leave a partial change, because all values are computed before the
    /// state is changed.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn notify(&self) {
        self.arrived.notify_all();
    }

    /// Waits until `holds` returns `false` or the timeout expires. Another thread must be about to change the
    /// state.
    pub(crate) fn wait_while(&self, timeout: Duration, holds: impl Fn(&State) -> bool) {
        drop(self.arrived.wait_timeout_while(self.lock(), timeout, |state| holds(state)));
    }

    fn verdict(&self, from: &PeerId, request: &[u8]) -> Receipt {
        let nobody = MessageId { incarnation: 0, number: 0 };
        let refused = |id, refusal| Receipt { id, verdict: Verdict::Refused(refusal) };
        let envelope = match Envelope::from_bytes(request, &self.config.limits) {
            Ok(envelope) => envelope,
            Err(malformed) => {
                let refusal = if matches!(malformed.flaw, Flaw::Version { .. }) {
                    Refusal::Version { supported: FORMAT_VERSION }
                } else {
                    Refusal::Malformed { reason: malformed.to_string() }
                };
                return refused(nobody, refusal);
            }
        };
        let id = envelope.id;
        if envelope.sender != *from {
            return refused(id, Refusal::WrongSender);
        }
        let verdict = self.lock().take(&envelope, request, &self.config.mailbox);
        let addresses = envelope.addresses;
        // Only a message that is accepted reports addresses: its sender is known and authenticated.
        if matches!(verdict, Verdict::Taken | Verdict::TakenBefore) && !addresses.is_empty() {
            self.transport.learn(from, &addresses);
        }
        if verdict == Verdict::Taken {
            self.notify();
        }
        Receipt { id, verdict }
    }
}

impl Inbound for Shared {
    fn answer(&self, from: &PeerId, request: &[u8]) -> Vec<u8> {
        self.verdict(from, request).to_bytes()
    }
}
