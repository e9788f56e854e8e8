//! Endpoints: a peer's outbox and mailbox above a transport.
//!
//! See the [module above](super) for what holds and why.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};

use core::time::Duration;
use typeloom_contracts::peer_selector::PeerId;

use crate::clock::Clock;
use crate::delivery::{Delivery, ReceiveError, Wanted};
use crate::envelope::{Envelope, FORMAT_VERSION, MessageId, PortId};
use crate::error::Flaw;
use crate::journal::{Journal, JournalError};
use crate::limits::Limits;
use crate::port::PortType;
use crate::receipt::{Receipt, Refusal, Verdict};
use crate::state::State;
use crate::transport::{Inbound, Transport};

/// How an endpoint behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which life of the peer this is, unless the journal says so. It has to be greater than that of every earlier life
    /// without a journal (nanoseconds since 1970 will do): receivers tell messages of one life by their numbers, which
    /// begin anew, and take nothing of an earlier life any more.
    pub incarnation: u64,
    /// What messages may ask for.
    pub limits: Limits,
    /// How often a message is tried.
    pub retry: Retry,
    /// How much waits to be dealt with.
    pub mailbox: Mailbox,
}

impl Config {
    /// The defaults, for one life of a peer.
    #[must_use]
    pub fn new(incarnation: u64) -> Self {
        Self { incarnation, limits: Limits::default(), retry: Retry::default(), mailbox: Mailbox::default() }
    }
}

/// How often a message is tried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Retry {
    /// How long one attempt may take.
    pub attempt: Duration,
    /// The time before the second attempt; from then on it doubles.
    pub first_pause: Duration,
    /// The longest time between attempts.
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

/// How many messages may wait to be dealt with; senders of more have to try later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mailbox {
    /// Messages.
    pub messages: usize,
    /// Bytes of messages.
    pub bytes: usize,
}

impl Default for Mailbox {
    fn default() -> Self {
        Self { messages: 1 << 12, bytes: 1 << 28 }
    }
}

/// What an endpoint is made of.
pub struct Parts {
    /// What carries its messages.
    pub transport: Arc<dyn Transport>,
    /// What deadlines are reckoned by.
    pub clock: Arc<dyn Clock>,
    /// What it still knows after it was killed.
    pub journal: Box<dyn Journal>,
    /// Where values arrive. Messages for other ports are refused.
    pub ports: Vec<(PortId, PortType)>,
    /// Whom it takes messages from. Messages of other peers are refused.
    pub peers: Vec<PeerId>,
}

/// A peer's outbox and mailbox. Clones are the same endpoint; it can be used from several threads.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: Config,
    pub(crate) local: PeerId,
    state: Mutex<State>,
    arrived: Condvar,
}

impl Endpoint {
    /// Opens a peer's endpoint. What its journal knows is known again: messages that were taken and not dealt with wait, and
    /// messages that were posted and not acknowledged are sent by the next [`flush`](Endpoint::flush).
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(parts: Parts, config: Config) -> Result<Self, JournalError> {
        let Parts { transport, clock, journal, ports, peers } = parts;
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

    /// The peer at this end.
    #[must_use]
    pub fn peer(&self) -> &PeerId {
        &self.shared.local
    }

    /// Current time of the endpoint's clock.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.shared.clock.now()
    }

    /// Takes values at a further port from now on.
    pub fn expect(&self, port: PortId, ty: PortType) {
        self.shared.lock().ports.insert(port, ty);
    }

    /// Takes messages of a further peer from now on.
    pub fn know(&self, peer: &PeerId) {
        self.shared.lock().link(peer).is_known = true;
    }

    /// The first value that waits, or arrives within a timeout. It is the caller's alone until the delivery is dropped.
    ///
    /// Values are given in the order in which they were taken. A sender that waits for each acknowledgement is heard in order.
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
        let found = first(&state).and_then(|arrival| Some((arrival, state.hand_out(arrival)?)));
        match found {
            Some((arrival, envelope)) => Ok(Delivery::new(Arc::clone(&self.shared), arrival, envelope)),
            None => Err(ReceiveError::Timeout { port: wanted.port.clone() }),
        }
    }

    /// How many values were taken and not dealt with.
    #[must_use]
    pub fn held(&self) -> usize {
        self.shared.lock().held()
    }

    /// What the program wrote down last, see [`Effects`](super::delivery::Effects).
    #[must_use]
    pub fn memory(&self) -> Vec<u8> {
        self.shared.lock().memory.clone()
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint").field("peer", &self.shared.local).finish_non_exhaustive()
    }
}

impl Shared {
    /// A thread that panicked elsewhere has not left the state half changed: changes are made of values that are ready.
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn notify(&self) {
        self.arrived.notify_all();
    }

    /// Waits as long as something holds, and somebody else is about to change it.
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
        let verdict = self.lock().take(envelope, request, &self.config.mailbox);
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
