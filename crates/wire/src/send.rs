//! Sending: posts are written to the journal, then sent until they are acknowledged.
//!
//! [`endpoint`](crate::endpoint) explains the guarantees. This module has the sending half: a post is
//! numbered and written to the journal, attempted until it is acknowledged, and then settled, which removes
//! it.
//!
//! ```text
//! send_all [a1, a2, b1], peer a does not answer
//!   journal     a1, a2 and b1 are pending, in one record
//!   thread 1    a1 unreachable, pause, a1 unreachable, longer pause, ...    a2 waits for a1
//!   thread 2    b1 acknowledged
//!   deadline    a1 and a2 are Unconfirmed, b1 is Ok
//! ```
//!
//! | call | posts it sends | after the timeout |
//! |---|---|---|
//! | [`Endpoint::send`], [`Endpoint::send_all`] | its own | abandons them |
//! | [`Endpoint::flush`] | all that no call is sending | they stay pending |
//! | [`Endpoint::commit_and_send`] | as `flush`, until its own are settled | they stay pending |
//!
//! **Invariant:** a thread claims a message before an attempt, so two calls never send one message at a time.
//! `send` keeps its claims until the messages are settled, other calls until the end of an attempt.
//!
//! **Invariant:** the messages of a call to one peer are attempted in order: one that has to wait stops those
//! behind it. A message that the peer refuses for good is settled and stops nothing.
//!
//! Peers are divided among at most 16 threads, so an unreachable peer delays its own messages and those of
//! its thread. Pauses double up to a limit of the configuration. A batch costs one write to the journal, and
//! each settled message another one.
//!
//! **Limit:** a full outbox ([`Capacity`]) is an error before anything is sent.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use core::time::Duration;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;

use crate::delivery::{Delivery, Effects};
use crate::endpoint::{Capacity, Endpoint, Shared};
use crate::envelope::{Envelope, MessageId, PortId, RunId};
use crate::error::Exceeded;
use crate::journal::JournalError;
use crate::limits::MAX_ADDRESSES;
use crate::port::PortType;
use crate::receipt::{Receipt, Refusal, Verdict};
use crate::state::{Commit, Link, State};
use crate::transport::TransportError;

/// A value to send and its destination.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'o> {
    pub to: &'o PeerId,
    /// Port of the receiver.
    pub port: &'o PortId,
    /// Run that the value belongs to.
    pub run: RunId,
    pub ty: &'o PortType,
    pub value: &'o Datum,
}

/// Handle of a posted message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket {
    pub to: PeerId,
    /// Id of the message.
    pub id: MessageId,
}

/// Error of sending a value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SendError {
    /// The value is not of its declared type.
    #[error("`{port}` is declared as {expected}, but the value is {found}")]
    OtherValue { port: PortId, expected: String, found: String },
    /// The message exceeds the limits.
    #[error("the message is too large: {0}")]
    TooLarge(#[from] Exceeded),
    /// The message cannot be written to the journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The messages exceed the limits of unacknowledged ones.
    #[error(
        "too many messages are not acknowledged: the outbox has at most {messages} messages and {bytes} bytes"
    )]
    OutboxFull { messages: usize, bytes: usize },
    /// The delivery belongs to another endpoint.
    #[error("the value arrived at another endpoint")]
    OtherEndpoint,
    /// The transport cannot send the message to this peer.
    #[error("peer `{peer}` cannot be sent to: {error}")]
    Transport { peer: PeerId, error: TransportError },
    /// The peer refused the message.
    #[error("peer `{peer}` refused: {refusal}")]
    Refused { peer: PeerId, refusal: Refusal },
    /// The peer has not acknowledged the message in time. The peer may or may not have the value; it is not
    /// sent again.
    #[error("peer `{peer}` has not acknowledged in time{}", .last.as_ref().map_or_else(String::new, |last| format!(": {last}")))]
    Unconfirmed { peer: PeerId, last: Option<String> },
}

/// Result of [`flush`](Endpoint::flush).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flushed {
    /// Number of acknowledged messages.
    pub acknowledged: usize,
    /// Messages that their receivers refused. They are not sent again.
    pub refused: Vec<(Ticket, SendError)>,
    /// Number of messages that are not acknowledged yet.
    pub pending: usize,
}

/// Responsibility for sending posted messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SentBy {
    /// The call that posts them.
    Caller,
    /// The next flush.
    Flush,
    /// The next flush, which stores the outcome for the run that waits, see [`Endpoint::commit_and_send`].
    AwaitedFlush,
}

/// Result of [`Endpoint::commit_and_send`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PostsSent {
    /// Index and error of the first post that its receiver refused.
    pub refused: Option<(usize, SendError)>,
    /// Number of posts that are not acknowledged yet. A later [`flush`](Endpoint::flush) sends them.
    pub pending: usize,
}

/// Maximum number of threads, which send to different peers concurrently.
const THREADS: usize = 16;

/// Index of a message in its batch, and its outcome.
type Outcome = (usize, Result<MessageId, SendError>);

/// Result of one attempt.
enum Attempt {
    Acknowledged,
    Refused(SendError),
    /// Refused; the error is stored for the run that waits for the message.
    ErrorStored,
    Later(String),
}

impl Endpoint {
    /// Sends a value and waits for the acknowledgement. An acknowledged value survives a crash of the peer if
    /// the journal of the peer does.
    ///
    /// # Errors
    /// [`SendError`]. The peer may have the value after [`SendError::Unconfirmed`], and does not have it
    /// after the other errors.
    pub fn send(&self, outgoing: &Outgoing<'_>, timeout: Duration) -> Result<MessageId, SendError> {
        let sent = self.send_all(std::slice::from_ref(outgoing), timeout)?;
        sent.into_iter().next().unwrap_or_else(|| {
            Err(JournalError::Failed { reason: "the message was not numbered".to_owned() }.into())
        })
    }

    /// Sends several values, waits for the acknowledgements and returns the outcomes in the same order.
    /// Values to one peer are sent in order, different peers concurrently, so that an unreachable peer does
    /// not delay the others.
    ///
    /// # Errors
    /// [`SendError`] if nothing was sent: a value is not of its declared type, or cannot be written to the
    /// journal.
    pub fn send_all(
        &self,
        outgoing: &[Outgoing<'_>],
        timeout: Duration,
    ) -> Result<Vec<Result<MessageId, SendError>>, SendError> {
        let shared = &*self.shared;
        let deadline = shared.clock.now().saturating_add(timeout);
        let effects = Effects { memory: None, posts: outgoing };
        let tickets = shared.apply(Vec::new(), &effects, SentBy::Caller)?;
        let mut of_peer: BTreeMap<&PeerId, VecDeque<usize>> = BTreeMap::new();
        for (at, ticket) in tickets.iter().enumerate() {
            of_peer.entry(&ticket.to).or_default().push_back(at);
        }
        let deliver = |group: Vec<_>| shared.deliver(group, &tickets, deadline);
        let mut sent = in_parallel(of_peer.into_iter(), deliver)?.concat();
        sent.sort_by_key(|(at, _)| *at);
        Ok(sent.into_iter().map(|(_, sent)| sent).collect())
    }

    /// Sends the posts that are not acknowledged, in order for each peer, until all are acknowledged or
    /// refused or the timeout expires. Different peers are sent to concurrently, so that an unreachable peer
    /// does not delay the others.
    ///
    /// Messages that a concurrent [`send`](Endpoint::send) or `flush` is sending are skipped.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn flush(&self, timeout: Duration) -> Result<Flushed, JournalError> {
        let shared = &*self.shared;
        let deadline = shared.clock.now().saturating_add(timeout);
        let peers: Vec<PeerId> = shared.lock().unclaimed().cloned().collect();
        let mut flushed = Flushed::default();
        let all = |group: Vec<_>| shared.flush(&group, deadline, None);
        for part in in_parallel(peers.into_iter(), all)? {
            flushed.acknowledged += part.acknowledged;
            flushed.refused.extend(part.refused);
        }
        flushed.pending = shared.lock().links.values().map(Link::unclaimed).sum();
        Ok(flushed)
    }

    /// Commits deliveries as [`Endpoint::commit`], then sends until the posts of `effects` are acknowledged
    /// or refused, or the timeout expires. Concurrent calls can also send the posts; each call reports only
    /// the outcomes of the posts it committed.
    ///
    /// # Errors
    /// As [`Endpoint::commit`], and if the journal fails while sending.
    pub fn commit_and_send(
        &self,
        deliveries: Vec<Delivery>,
        effects: &Effects<'_>,
        timeout: Duration,
    ) -> Result<PostsSent, SendError> {
        let tickets = self.commit_as(SentBy::AwaitedFlush, deliveries, effects)?;
        if tickets.is_empty() {
            return Ok(PostsSent::default());
        }
        Ok(self.send_posts(&tickets, timeout)?)
    }

    fn send_posts(&self, tickets: &[Ticket], timeout: Duration) -> Result<PostsSent, JournalError> {
        let shared = &*self.shared;
        let sent = shared.settle_own(tickets, shared.clock.now().saturating_add(timeout));
        let mut state = shared.lock();
        let mut outcome = PostsSent::default();
        for (at, ticket) in tickets.iter().enumerate() {
            outcome.pending += usize::from(!state.is_settled(ticket));
            let refused = state.link(&ticket.to).awaited.remove(&ticket.id.number).flatten();
            outcome.refused = outcome.refused.or_else(|| refused.map(|error| (at, error)));
        }
        sent.map(|()| outcome)
    }

    /// Number of messages that are not acknowledged.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.shared.lock().links.values().map(|link| link.pending.len()).sum()
    }
}

/// Distributes peers over a few threads and collects the results of `work`.
fn in_parallel<P: Send, R: Send>(
    peers: impl ExactSizeIterator<Item = P>,
    work: impl Fn(Vec<P>) -> Result<R, JournalError> + Sync,
) -> Result<Vec<R>, JournalError> {
    let mut groups: Vec<Vec<P>> = (0..peers.len().min(THREADS)).map(|_| Vec::new()).collect();
    for (at, peer) in peers.enumerate() {
        groups[at % THREADS].push(peer);
    }
    if groups.len() <= 1 {
        return groups.into_iter().map(work).collect();
    }
    std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = groups.into_iter().map(|group| scope.spawn(move || work(group))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<R, JournalError>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

impl Shared {
    /// Sends claimed messages to some peers in round-robin order, and abandons those not acknowledged in
    /// time.
    fn deliver(
        &self,
        mut peers: Vec<(&PeerId, VecDeque<usize>)>,
        tickets: &[Ticket],
        deadline: Duration,
    ) -> Result<Vec<Outcome>, JournalError> {
        let mut sent = Vec::new();
        let mut pause = self.config.retry.first_pause;
        let mut last: BTreeMap<usize, String> = BTreeMap::new();
        loop {
            for (to, waiting) in &mut peers {
                while let Some(at) = waiting.front().copied() {
                    let id = tickets[at].id;
                    let left = deadline.saturating_sub(self.clock.now());
                    let outcome = if left.is_zero() {
                        self.lock().settle(to, id.number)?;
                        Err(SendError::Unconfirmed { peer: (*to).clone(), last: last.remove(&at) })
                    } else {
                        match self.attempt(to, id.number, left)? {
                            Attempt::Acknowledged => Ok(id),
                            Attempt::Refused(error) => Err(error),
                            // Unreachable: claimed messages have no waiting run.
                            Attempt::ErrorStored => Ok(id),
                            Attempt::Later(reason) => {
                                last.insert(at, reason);
                                break;
                            }
                        }
                    };
                    waiting.pop_front();
                    sent.push((at, outcome));
                }
            }
            peers.retain(|(_, waiting)| !waiting.is_empty());
            if peers.is_empty() {
                return Ok(sent);
            }
            self.pause(&mut pause, deadline);
        }
    }

    /// Sends until the given messages are settled, by this or by another call.
    fn settle_own(&self, tickets: &[Ticket], deadline: Duration) -> Result<(), JournalError> {
        loop {
            let peers: Vec<PeerId> = self.lock().unclaimed().cloned().collect();
            in_parallel(peers.into_iter(), |group: Vec<_>| self.flush(&group, deadline, Some(tickets)))?;
            let left = deadline.saturating_sub(self.clock.now());
            let is_open = |state: &State| tickets.iter().any(|ticket| !state.is_settled(ticket));
            if left.is_zero() || !is_open(&self.lock()) {
                return Ok(());
            }
            // Another call is sending them or has just released them.
            self.wait_while(left, |state| {
                let mut open = tickets.iter().filter(|ticket| !state.is_settled(ticket)).peekable();
                open.peek().is_some() && open.all(|ticket| state.is_claimed(ticket))
            });
        }
    }

    /// Sends unclaimed messages to some peers in round-robin order, until the deadline or until the given
    /// tickets are settled.
    fn flush(
        &self,
        peers: &[PeerId],
        deadline: Duration,
        own: Option<&[Ticket]>,
    ) -> Result<Flushed, JournalError> {
        let mut flushed = Flushed::default();
        let mut pause = self.config.retry.first_pause;
        loop {
            let mut is_done = true;
            for to in peers {
                while let Some(number) = self.claim(to) {
                    let left = deadline.saturating_sub(self.clock.now());
                    let attempt = if left.is_zero() {
                        Ok(Attempt::Later(String::new()))
                    } else {
                        self.attempt(to, number, left)
                    };
                    let incarnation = {
                        let mut state = self.lock();
                        state.link(to).claimed.remove(&number);
                        state.incarnation
                    };
                    // Wakes waiting calls, which read the outcome or claim the next attempt.
                    self.notify();
                    match attempt? {
                        Attempt::Acknowledged => flushed.acknowledged += 1,
                        Attempt::Refused(error) => {
                            let id = MessageId { incarnation, number };
                            flushed.refused.push((Ticket { to: to.clone(), id }, error));
                        }
                        Attempt::ErrorStored => {}
                        // Later messages wait too, to preserve the order for this peer.
                        Attempt::Later(_) => {
                            is_done = false;
                            break;
                        }
                    }
                }
            }
            let is_settled = |own: &[Ticket]| {
                let state = self.lock();
                own.iter().all(|ticket| state.is_settled(ticket))
            };
            if is_done || deadline <= self.clock.now() || own.is_some_and(is_settled) {
                return Ok(flushed);
            }
            self.pause(&mut pause, deadline);
        }
    }

    /// Claims the first unclaimed message to a peer.
    fn claim(&self, to: &PeerId) -> Option<u64> {
        let mut state = self.lock();
        let link = state.link(to);
        let number = link.pending.keys().find(|number| !link.claimed.contains(number)).copied()?;
        link.claimed.insert(number);
        Some(number)
    }

    /// Writes a commit to the journal and applies it.
    pub(crate) fn apply(
        &self,
        done: Vec<u64>,
        effects: &Effects<'_>,
        sent_by: SentBy,
    ) -> Result<Vec<Ticket>, SendError> {
        for post in effects.posts {
            if !post.ty.fits(post.value) {
                let (expected, found) = (post.ty.to_string(), post.value.describe());
                return Err(SendError::OtherValue { port: post.port.clone(), expected, found });
            }
        }
        let mut addresses = self.transport.addresses();
        addresses.truncate(MAX_ADDRESSES);
        let mut state = self.lock();
        state.check()?;
        let mut ahead: BTreeMap<&PeerId, u64> = BTreeMap::new();
        let mut commit =
            Commit { done, state: effects.memory.map(Bytes::copy_from_slice), posts: Vec::new() };
        let mut tickets = Vec::new();
        for post in effects.posts {
            let before = ahead.entry(post.to).or_default();
            let (number, floor) = state.next_number(post.to, *before);
            *before += 1;
            let id = MessageId { incarnation: state.incarnation, number };
            let envelope = Envelope {
                id,
                floor,
                run: post.run,
                sender: self.local.clone(),
                addresses: addresses.clone(),
                port: post.port.clone(),
                ty: post.ty.tag(post.value),
                value: post.value.clone(),
            };
            commit.posts.push((post.to.clone(), number, envelope.to_bytes(&self.config.limits)?.into()));
            tickets.push(Ticket { to: post.to.clone(), id });
        }
        let Capacity { messages, bytes } = self.config.outbox;
        if !state.has_capacity(&commit.posts, &self.config.outbox) {
            return Err(SendError::OutboxFull { messages, bytes });
        }
        state.commit(commit)?;
        for Ticket { to, id } in &tickets {
            let link = state.link(to);
            match sent_by {
                SentBy::Caller => drop(link.claimed.insert(id.number)),
                SentBy::AwaitedFlush => drop(link.awaited.insert(id.number, None)),
                SentBy::Flush => {}
            }
        }
        Ok(tickets)
    }

    /// Makes one attempt to send a message.
    fn attempt(&self, to: &PeerId, number: u64, left: Duration) -> Result<Attempt, JournalError> {
        let (message, incarnation) = {
            let state = self.lock();
            if !state.links.get(to).is_some_and(|link| link.pending.contains_key(&number)) {
                return Ok(Attempt::Later("another call has abandoned it".to_owned()));
            }
            (state.post(to, number)?, state.incarnation)
        };
        let answer = self.transport.exchange(to, &message, left.min(self.config.retry.attempt));
        let attempt = match answer {
            Ok(receipt) => match Receipt::from_bytes(&receipt) {
                Ok(Receipt { id, verdict }) => {
                    let is_ours = id == MessageId { incarnation, number };
                    self.classify(to, is_ours, verdict)
                }
                Err(malformed) => Attempt::Later(format!("its receipt cannot be read: {malformed}")),
            },
            Err(error @ (TransportError::UnknownPeer | TransportError::TooLarge { .. })) => {
                Attempt::Refused(SendError::Transport { peer: to.clone(), error })
            }
            Err(
                error @ (TransportError::Unreachable { .. }
                | TransportError::Timeout
                | TransportError::Closed),
            ) => Attempt::Later(error.to_string()),
        };
        match attempt {
            Attempt::Refused(error) => {
                // One lock covers both changes, so that no thread finds the message settled without its
                // error.
                let mut state = self.lock();
                let is_stored = state.store_refusal(to, number, &error);
                state.settle(to, number)?;
                Ok(if is_stored { Attempt::ErrorStored } else { Attempt::Refused(error) })
            }
            Attempt::Acknowledged => {
                self.lock().settle(to, number)?;
                Ok(Attempt::Acknowledged)
            }
            later @ (Attempt::ErrorStored | Attempt::Later(_)) => Ok(later),
        }
    }

    /// The result of an attempt, by the verdict of the receiver.
    fn classify(&self, peer: &PeerId, is_ours: bool, verdict: Verdict) -> Attempt {
        match verdict {
            Verdict::Taken | Verdict::TakenBefore if is_ours => Attempt::Acknowledged,
            Verdict::Taken | Verdict::TakenBefore => {
                Attempt::Later("its receipt is for another message".to_owned())
            }
            Verdict::Refused(refusal) if refusal.is_temporary() => Attempt::Later(refusal.to_string()),
            Verdict::Refused(refusal) => Attempt::Refused(SendError::Refused { peer: peer.clone(), refusal }),
        }
    }

    fn pause(&self, pause: &mut Duration, deadline: Duration) {
        let left = deadline.saturating_sub(self.clock.now());
        self.clock.sleep((*pause).min(left));
        *pause = pause.saturating_mul(2).min(self.config.retry.longest_pause);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use super::*;
    use crate::clock::Clock;
    use crate::endpoint::{EndpointConfig, EndpointParts};
    use crate::journal::MemoryJournal;
    use crate::memory::LocalNetwork;

    /// Simulated time that advances in `sleep`.
    #[derive(Default)]
    struct SimulatedClock(Mutex<Duration>);

    impl Clock for SimulatedClock {
        fn now(&self) -> Duration {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner)
        }

        fn sleep(&self, time: Duration) {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) += time;
        }
    }

    fn endpoint(network: &LocalNetwork, name: &str) -> Endpoint {
        let peer = |name: &str| PeerId(name.as_bytes().to_vec());
        let port = PortId { program: "m".to_owned(), peer_class: "b".to_owned(), wire: "done".to_owned() };
        let parts = EndpointParts {
            transport: Arc::new(network.join(peer(name))),
            clock: Arc::new(SimulatedClock::default()),
            journal: Box::new(MemoryJournal::new()),
            ports: vec![(port, trigger())],
            peers: vec![peer("a")],
        };
        Endpoint::open(parts, EndpointConfig::new(1)).expect("there is no journal that could fail")
    }

    fn trigger() -> PortType {
        let denotation = "bb.trigger".into();
        let ty = typeloom_onnx::messages::TypeProto { denotation, ..Default::default() };
        PortType::of_message(&ty).expect("triggers are sent")
    }

    fn post(from: &Endpoint, to: &str, run: u64) -> Vec<Ticket> {
        let port = PortId { program: "m".to_owned(), peer_class: "b".to_owned(), wire: "done".to_owned() };
        let to = PeerId(to.as_bytes().to_vec());
        let (run, ty, value) = (RunId(run), &trigger(), &Datum::Trigger);
        let posts = &[Outgoing { to: &to, port: &port, run, ty, value }];
        let tickets = from.commit_as(SentBy::AwaitedFlush, Vec::new(), &Effects { memory: None, posts });
        tickets.expect("there is no journal that could fail")
    }

    #[test]
    fn each_call_reports_its_own_posts_only() {
        let network = LocalNetwork::new();
        let (a, _b) = (endpoint(&network, "a"), endpoint(&network, "b"));
        let (lost, taken) = (post(&a, "nobody", 1), post(&a, "b", 2));
        // The second call sends all unclaimed messages, including that of the first run.
        assert_eq!(a.send_posts(&taken, Duration::from_secs(1)), Ok(PostsSent::default()));
        let PostsSent { refused, pending } =
            a.send_posts(&lost, Duration::from_secs(1)).expect("no journal fails");
        assert!(matches!(refused, Some((0, SendError::Transport { .. }))), "{refused:?}");
        assert_eq!((pending, a.pending()), (0, 0));
        // Reported outcomes are not kept.
        assert!(a.shared.lock().links.values().all(|link| link.awaited.is_empty()));
    }

    #[test]
    fn a_run_waits_while_another_sends_its_message() {
        let network = LocalNetwork::new();
        let (a, _b) = (endpoint(&network, "a"), endpoint(&network, "b"));
        let tickets = post(&a, "b", 1);
        let number = a.shared.claim(&tickets[0].to).expect("no call sends it");
        std::thread::scope(|scope| {
            let sent = scope.spawn(|| a.send_posts(&tickets, Duration::from_secs(1)));
            a.shared.attempt(&tickets[0].to, number, Duration::from_secs(1)).expect("no journal fails");
            a.shared.notify();
            let sent = sent.join().expect("it does not panic");
            assert_eq!(sent, Ok(PostsSent::default()));
        });
    }
}
