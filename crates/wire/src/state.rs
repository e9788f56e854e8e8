//! State of an endpoint: received messages that are not committed, sent messages that are not acknowledged,
//! and the numbers of accepted messages.
//!
//! The journal contains the state; memory contains an index of it, without the messages themselves.
//!
//! **Invariant (write-ahead logging):** a change is written to the journal before it is applied to the index.
//! [`State::recover`] and the live endpoint apply changes with the same function, [`State::index`].
//!
//! **Invariant:** neither the journal nor the index grows with the number of exchanged messages. They have
//!
//! | per | at most |
//! |---|---|
//! | endpoint | the messages and bytes of its mailbox and of its outbox ([`Capacity`]); the state of the program |
//! | known peer | [`WINDOW`] numbers |
//! | peer | one number of the last message, which identifies the next one |

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use typeloom_tensor::peer::PeerId;

use crate::endpoint::Capacity;
use crate::entry::{Accepted, Key, Version, decode, decode_prefix, encode};
use crate::envelope::{Envelope, MessageId, PortId, RunId};
use crate::journal::{Change, Journal, JournalError};
use crate::limits::MessageLimits;
use crate::port::PortType;
use crate::receipt::{Refusal, Verdict};
use crate::send::{SendError, Ticket};

/// Maximum distance of a message number from the sender's floor. Messages beyond it are refused as
/// [`Refusal::Busy`].
const WINDOW: u64 = 1 << 12;

pub(crate) struct State {
    journal: Box<dyn Journal>,
    broken: Option<JournalError>,
    local: PeerId,
    pub(crate) incarnation: u64,
    /// Whether messages of peers without a link are accepted.
    pub(crate) accepts_all: bool,
    pub(crate) links: BTreeMap<PeerId, Link>,
    pub(crate) ports: BTreeMap<PortId, PortType>,
    /// Accepted messages that are not committed, by order of arrival.
    held: BTreeMap<u64, Held>,
    /// Subset of `held` that is not handed out, by port.
    waiting: BTreeMap<PortId, BTreeSet<u64>>,
    held_bytes: usize,
    pending_bytes: usize,
    /// Program state of the last commit that contains one.
    pub(crate) memory: Bytes,
}

/// State of the connection between this peer and another.
#[derive(Default)]
pub(crate) struct Link {
    /// Whether messages of the peer are accepted.
    pub(crate) is_known: bool,
    /// Number of the last message to the peer.
    last: u64,
    /// Sizes of the messages that need further attempts, by number.
    pub(crate) pending: BTreeMap<u64, usize>,
    /// Subset of `pending` that a thread is sending.
    pub(crate) claimed: BTreeSet<u64>,
    /// Messages whose outcome a run waits for, with the error if they were refused. The sending thread stores
    /// the error.
    pub(crate) awaited: BTreeMap<u64, Option<SendError>>,
    window: Option<Window>,
    /// Numbers from the floor on that were accepted from the incarnation of the window.
    seen: BTreeSet<u64>,
}

/// Incarnation of a peer whose messages are accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Window {
    incarnation: u64,
    /// The sender does not repeat messages with lower numbers.
    floor: u64,
}

struct Held {
    to: Accepted,
    bytes: usize,
}

/// An atomic change: handled messages, the new program state and the messages to send.
#[derive(Default)]
pub(crate) struct Commit {
    /// Arrivals of the handled messages.
    pub(crate) done: Vec<u64>,
    /// New program state, if it changes.
    pub(crate) state: Option<Bytes>,
    /// Receiver, number and encoding of each message.
    pub(crate) posts: Vec<(PeerId, u64, Bytes)>,
}

impl Link {
    /// Number of pending messages that no thread is sending.
    pub(crate) fn unclaimed(&self) -> usize {
        self.pending.keys().filter(|number| !self.claimed.contains(number)).count()
    }

    /// Lowest number that can still be sent again, given the number of the next message.
    fn floor(&self, next: u64) -> u64 {
        self.pending.keys().next().map_or(next, |first| *first)
    }
}

impl State {
    /// Restores the state from a journal. A new journal starts with the given incarnation.
    pub(crate) fn recover(
        journal: Box<dyn Journal>,
        local: PeerId,
        incarnation: u64,
    ) -> Result<Self, JournalError> {
        let mut state = Self {
            journal,
            broken: None,
            local,
            incarnation,
            accepts_all: false,
            links: BTreeMap::new(),
            ports: BTreeMap::new(),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            held_bytes: 0,
            pending_bytes: 0,
            memory: Bytes::new(),
        };
        let mut last = Vec::new();
        while let Some((key, value)) = state.journal.next(&last)? {
            let entry = Key::from_bytes(&key).map_err(JournalError::Entry)?;
            // The identity is the first entry, so that no other entry of another version is decoded.
            if last.is_empty() && entry != Key::Identity {
                return Err(JournalError::Missing);
            }
            state.index(entry, Some(&value))?;
            last = key;
        }
        if last.is_empty() {
            let identity = encode(&(Version, state.local.clone(), incarnation), b"");
            state.change(vec![(Key::Identity, Some(identity))])?;
        }
        Ok(state)
    }

    /// Applies the change of an entry to the index.
    fn index(&mut self, key: Key, value: Option<&[u8]>) -> Result<(), JournalError> {
        let entry = JournalError::Entry;
        match (key, value) {
            (Key::Identity, Some(value)) => {
                let (Version, peer, incarnation) = decode::<(Version, PeerId, u64)>(value).map_err(entry)?;
                if peer != self.local {
                    return Err(JournalError::OtherPeer);
                }
                self.incarnation = incarnation;
            }
            (Key::State, Some(state)) => self.memory = Bytes::copy_from_slice(state),
            (Key::Accepted { arrival }, Some(value)) => {
                let (to, end) = decode_prefix::<Accepted>(value).map_err(entry)?;
                let bytes = value.len() - end;
                self.held_bytes += bytes;
                self.waiting.entry(to.port.clone()).or_default().insert(arrival);
                self.held.insert(arrival, Held { to, bytes });
            }
            (Key::Accepted { arrival }, None) => self.forget(arrival),
            (Key::Window { from }, Some(value)) => {
                let (incarnation, floor) = decode(value).map_err(entry)?;
                self.link(&from).window = Some(Window { incarnation, floor });
            }
            (Key::Number { from, number }, Some(_)) => drop(self.link(&from).seen.insert(number)),
            (Key::Number { from, number }, None) => drop(self.link(&from).seen.remove(&number)),
            (Key::Last { to }, Some(value)) => self.link(&to).last = decode(value).map_err(entry)?,
            (Key::Post { to, number }, Some(message)) => {
                self.pending_bytes += message.len();
                self.link(&to).pending.insert(number, message.len());
            }
            (Key::Post { to, number }, None) => {
                let link = self.link(&to);
                link.claimed.remove(&number);
                let bytes = link.pending.remove(&number);
                self.pending_bytes -= bytes.unwrap_or_default();
            }
            // Entries of these keys are never removed.
            (Key::Identity | Key::State | Key::Window { .. } | Key::Last { .. }, None) => {}
        }
        Ok(())
    }

    fn forget(&mut self, arrival: u64) {
        let Some(held) = self.held.remove(&arrival) else { return };
        self.held_bytes -= held.bytes;
        if let Some(waiting) = self.waiting.get_mut(&held.to.port) {
            waiting.remove(&arrival);
            if waiting.is_empty() {
                self.waiting.remove(&held.to.port);
            }
        }
    }

    /// Returns the error that broke the journal, if any.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    /// Writes changes to the journal and applies them to the index.
    fn change(&mut self, entries: Vec<(Key, Option<Bytes>)>) -> Result<(), JournalError> {
        self.check()?;
        let change =
            |(key, value): &(Key, Option<Bytes>)| Change { key: key.to_bytes(), value: value.clone() };
        let changes: Vec<Change> = entries.iter().map(change).collect();
        let changed = self.journal.write(&changes).and_then(|()| {
            entries.into_iter().try_for_each(|(key, value)| self.index(key, value.as_deref()))
        });
        self.broken = changed.clone().err();
        changed
    }

    fn read(&self, key: &Key) -> Result<Bytes, JournalError> {
        self.journal.read(&key.to_bytes())?.ok_or(JournalError::Missing)
    }

    pub(crate) fn link(&mut self, peer: &PeerId) -> &mut Link {
        self.links.entry(peer.clone()).or_default()
    }

    /// Accepts or refuses a message that was received from its sender.
    pub(crate) fn take(&mut self, envelope: &Envelope, message: &[u8], mailbox: &Capacity) -> Verdict {
        if self.accepts_all {
            self.link(&envelope.sender).is_known = true;
        }
        if let Some(verdict) = self.refusal(envelope, message.len(), mailbox) {
            return verdict;
        }
        match self.change(self.accepted(envelope, message)) {
            Ok(()) => Verdict::Taken,
            Err(_) => Verdict::Refused(Refusal::NotKept),
        }
    }

    fn refusal(&self, envelope: &Envelope, bytes: usize, mailbox: &Capacity) -> Option<Verdict> {
        let Some(link) = self.links.get(&envelope.sender).filter(|link| link.is_known) else {
            return Some(Verdict::Refused(Refusal::UnknownPeer));
        };
        let MessageId { incarnation, number } = envelope.id;
        let mut floor = envelope.floor;
        if let Some(window) = &link.window {
            if incarnation < window.incarnation {
                return Some(Verdict::Refused(Refusal::Stale));
            }
            if incarnation == window.incarnation {
                if number < window.floor {
                    return Some(Verdict::Refused(Refusal::Stale));
                }
                if link.seen.contains(&number) {
                    return Some(Verdict::TakenBefore);
                }
                floor = floor.max(window.floor);
            }
        }
        let port = envelope.port.to_string();
        let Some(ty) = self.ports.get(&envelope.port) else {
            return Some(Verdict::Refused(Refusal::UnknownPort { port }));
        };
        // For a composite of another declared type, the children are compared instead.
        if !ty.admits(envelope.ty.digest) && !ty.is_composite() {
            let (expected, found) = (ty.to_string(), envelope.value.describe());
            return Some(Verdict::Refused(Refusal::OtherType { port, expected, digest: ty.digest(), found }));
        }
        if !ty.accepts(&envelope.value, envelope.ty.digest) {
            let (expected, found) = (ty.to_string(), envelope.value.describe());
            return Some(Verdict::Refused(Refusal::OtherValue { port, expected, found }));
        }
        let is_full = self.held.len() >= mailbox.messages
            || self.held_bytes.saturating_add(bytes) > mailbox.bytes
            || number - floor >= WINDOW;
        is_full.then_some(Verdict::Refused(Refusal::Busy))
    }

    /// The changes that accept a message.
    fn accepted(&self, envelope: &Envelope, message: &[u8]) -> Vec<(Key, Option<Bytes>)> {
        let Envelope { id: MessageId { incarnation, number }, floor, run, sender, port, .. } = envelope;
        let link = self.links.get(sender);
        let before = link.and_then(|link| link.window);
        let same = before.filter(|window| window.incarnation == *incarnation);
        let floor = same.map_or(*floor, |window| window.floor.max(*floor));
        let window = Window { incarnation: *incarnation, floor };
        let stale: Vec<u64> = match (link, same) {
            (Some(link), Some(_)) => link.seen.range(..floor).copied().collect(),
            (Some(link), None) => link.seen.iter().copied().collect(),
            (None, _) => Vec::new(),
        };
        let removed = |number| (Key::Number { from: sender.clone(), number }, None);
        let mut changes: Vec<_> = stale.into_iter().map(removed).collect();
        if before != Some(window) {
            let value = encode(&(window.incarnation, window.floor), b"");
            changes.push((Key::Window { from: sender.clone() }, Some(value)));
        }
        changes.push((Key::Number { from: sender.clone(), number: *number }, Some(Bytes::new())));
        let arrival = self.held.keys().next_back().map_or(1, |last| last + 1);
        let value = encode(&Accepted { run: *run, port: port.clone() }, message);
        changes.push((Key::Accepted { arrival }, Some(value)));
        changes
    }

    /// The first available message at a port, of one run or of any.
    pub(crate) fn first(&self, port: &PortId, run: Option<RunId>) -> Option<u64> {
        let of_run = |arrival: &&u64| {
            run.is_none_or(|run| self.held.get(*arrival).is_some_and(|held| held.to.run == run))
        };
        self.waiting.get(port)?.iter().find(of_run).copied()
    }

    /// Hands out a message exclusively until it is given back.
    pub(crate) fn hand_out(&mut self, arrival: u64) -> Result<Envelope, JournalError> {
        let value = self.read(&Key::Accepted { arrival })?;
        let (to, end) = decode_prefix::<Accepted>(&value).map_err(JournalError::Entry)?;
        let envelope = Envelope::from_bytes(&value[end..], &MessageLimits::NONE);
        let envelope = envelope.map_err(JournalError::Entry)?;
        if let Some(waiting) = self.waiting.get_mut(&to.port) {
            waiting.remove(&arrival);
        }
        Ok(envelope)
    }

    /// Makes an uncommitted message available again.
    pub(crate) fn give_back(&mut self, arrival: u64) {
        if let Some(held) = self.held.get(&arrival) {
            self.waiting.entry(held.to.port.clone()).or_default().insert(arrival);
        }
    }

    /// Number and floor of the next message to a peer, after `ahead` messages that are about to be sent.
    pub(crate) fn next_number(&self, to: &PeerId, ahead: u64) -> (u64, u64) {
        let (last, floor) = self.links.get(to).map_or((0, 1), |link| (link.last, link.floor(link.last + 1)));
        (last + 1 + ahead, floor)
    }

    /// Whether the outbox has the capacity for more messages.
    pub(crate) fn has_capacity(&self, posts: &[(PeerId, u64, Bytes)], outbox: &Capacity) -> bool {
        let messages: usize = self.links.values().map(|link| link.pending.len()).sum();
        let bytes: usize = posts.iter().map(|(_, _, message)| message.len()).sum();
        posts.is_empty()
            || (messages + posts.len() <= outbox.messages
                && self.pending_bytes.saturating_add(bytes) <= outbox.bytes)
    }

    /// Writes a commit to the journal and applies it.
    pub(crate) fn commit(&mut self, Commit { done, state, posts }: Commit) -> Result<(), JournalError> {
        let done = done.into_iter().map(|arrival| (Key::Accepted { arrival }, None));
        let state = state.into_iter().map(|state| (Key::State, Some(state)));
        // The numbers of a peer ascend, so the last of several changes of one key is the greatest.
        let posts = posts.into_iter().flat_map(|(to, number, message)| {
            let last = encode(&number, b"");
            [(Key::Post { to: to.clone(), number }, Some(message)), (Key::Last { to }, Some(last))]
        });
        self.change(done.chain(state).chain(posts).collect())
    }

    /// The encoding of a pending message.
    pub(crate) fn post(&self, to: &PeerId, number: u64) -> Result<Bytes, JournalError> {
        self.check()?;
        self.read(&Key::Post { to: to.clone(), number })
    }

    /// Records that a message needs no more attempts.
    pub(crate) fn settle(&mut self, to: &PeerId, number: u64) -> Result<(), JournalError> {
        if !self.link(to).pending.contains_key(&number) {
            return Ok(());
        }
        self.change(vec![(Key::Post { to: to.clone(), number }, None)])
    }

    /// Stores the refusal of a message for the run that waits for it. Returns whether one waits.
    pub(crate) fn store_refusal(&mut self, to: &PeerId, number: u64, error: &SendError) -> bool {
        let awaited = self.link(to).awaited.get_mut(&number);
        awaited.is_some_and(|place| {
            *place = Some(error.clone());
            true
        })
    }

    /// Whether the outcome of a message is final.
    pub(crate) fn is_settled(&self, Ticket { to, id }: &Ticket) -> bool {
        self.links.get(to).is_none_or(|link| !link.pending.contains_key(&id.number))
    }

    /// Whether a thread is sending the message.
    pub(crate) fn is_claimed(&self, Ticket { to, id }: &Ticket) -> bool {
        self.links.get(to).is_some_and(|link| link.claimed.contains(&id.number))
    }

    /// Peers with pending messages that no thread is sending.
    pub(crate) fn unclaimed(&self) -> impl Iterator<Item = &PeerId> {
        self.links.iter().filter(|(_, link)| link.unclaimed() > 0).map(|(peer, _)| peer)
    }

    /// Number of accepted messages that are not committed.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use typeloom_onnx::text::parse_type;
    use typeloom_pool::Digest;
    use typeloom_tensor::datum::{Datum, Scalar};

    use super::*;
    use crate::envelope::TypeTag;
    use crate::journal::MemoryJournal;
    use crate::port::CHECKS;

    const CHILDREN: usize = 100;

    fn port_type(children: usize) -> PortType {
        let children: Vec<String> = (0..children).map(|at| format!("c{at}: scalar.i32")).collect();
        let text = format!("composite{{{}}}", children.join(", "));
        PortType::of_message(&parse_type(&text).expect("a type")).expect("a port type")
    }

    /// Takes a composite whose first child is a number or a trigger; returns the verdict and the number of
    /// checks.
    fn taken(digest: Digest, is_right: bool, at: &PortType) -> (Verdict, usize) {
        let (sender, port) =
            (PeerId(vec![1]), PortId { program: "p".into(), peer_class: "c".into(), wire: "w".into() });
        let mut state = State::recover(Box::new(MemoryJournal::new()), PeerId(vec![2]), 1)
            .expect("the journal is in memory");
        state.link(&sender).is_known = true;
        state.ports.insert(port.clone(), at.clone());
        let child = |at: usize| match at == 0 && !is_right {
            true => Datum::Trigger,
            false => Datum::Scalar(Scalar::I32(7)),
        };
        let value = Datum::Composite((0..CHILDREN).map(|at| (format!("c{at}"), child(at))).collect());
        let ty = TypeTag { digest, ..at.tag(&value) };
        let id = MessageId { incarnation: 1, number: 1 };
        let envelope =
            Envelope { id, floor: 1, run: RunId(1), sender, addresses: Vec::new(), port, ty, value };
        CHECKS.with(|checks| checks.set(0));
        let verdict = state.take(&envelope, &[], &Capacity::MAILBOX);
        (verdict, CHECKS.with(std::cell::Cell::get))
    }

    #[test]
    fn a_composite_that_is_declared_with_the_digest_of_the_port_is_not_checked() {
        let (own, other) = (port_type(CHILDREN), port_type(CHILDREN + 1));
        assert_eq!(taken(own.digest(), true, &own), (Verdict::Taken, 0));
        // A reader checks the children that it uses.
        assert_eq!(taken(own.digest(), false, &own), (Verdict::Taken, 0));
        assert_eq!(taken(other.digest(), true, &own), (Verdict::Taken, 1));
        let (verdict, _) = taken(other.digest(), false, &own);
        assert!(matches!(verdict, Verdict::Refused(Refusal::OtherValue { .. })), "{verdict:?}");
        let (verdict, checks) = taken(own.digest(), true, &other);
        assert!(matches!(verdict, Verdict::Refused(Refusal::OtherValue { .. })), "{verdict:?}");
        assert!(checks > 0);
    }
}
