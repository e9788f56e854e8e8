//! State of an endpoint: received messages that are not committed, sent messages that are not acknowledged,
//! and the numbers of accepted messages.
//!
//! **Invariant (write-ahead logging):** a change is written to the journal before it is applied, and its
//! record suffices to apply it again. [`State::recover`] and the live endpoint apply changes with the same
//! functions.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use typeloom_contracts::peer_selector::PeerId;

use crate::endpoint::Mailbox;
use crate::envelope::{Envelope, MessageId, PortId, RunId};
use crate::journal::{Journal, JournalError};
use crate::limits::MessageLimits;
use crate::port::PortType;
use crate::receipt::{Refusal, Verdict};
use crate::record::{Commit, Record, Version};
use crate::send::{SendError, Ticket};

/// Maximum distance of a message number from the sender's floor. Messages beyond it are refused as
/// [`Refusal::Busy`].
const WINDOW: u64 = 1 << 12;

/// Size in bytes at which a journal is first compacted. Later compactions happen at twice the size after the
/// previous one.
const COMPACT: usize = 1 << 20;

pub(crate) struct State {
    journal: Box<dyn Journal>,
    broken: Option<JournalError>,
    written: usize,
    compact_at: usize,
    local: PeerId,
    pub(crate) incarnation: u64,
    pub(crate) links: BTreeMap<PeerId, Link>,
    pub(crate) ports: BTreeMap<PortId, PortType>,
    /// Accepted messages that are not committed, by order of arrival.
    held: BTreeMap<u64, Held>,
    /// Subset of `held` that is not handed out, by port.
    waiting: BTreeMap<PortId, BTreeSet<u64>>,
    arrivals: u64,
    held_bytes: usize,
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
    /// Messages that need further attempts, by number.
    pub(crate) pending: BTreeMap<u64, Bytes>,
    /// Subset of `pending` that a thread is sending.
    pub(crate) claimed: BTreeSet<u64>,
    /// Messages whose outcome a run waits for, with the error if they were refused. The sending thread stores
    /// the error.
    pub(crate) awaited: BTreeMap<u64, Option<SendError>>,
    window: Option<Window>,
}

/// Message numbers that were accepted from one incarnation of a peer.
struct Window {
    incarnation: u64,
    /// The sender does not repeat messages with lower numbers.
    floor: u64,
    /// Accepted numbers from the floor on.
    seen: BTreeSet<u64>,
}

struct Held {
    envelope: Envelope,
    bytes: usize,
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

impl Window {
    fn take(&mut self, number: u64, floor: u64) {
        self.floor = self.floor.max(floor);
        self.seen = self.seen.split_off(&self.floor);
        self.seen.insert(number);
    }
}

impl State {
    /// Restores the state from a journal. A new journal starts with the given incarnation.
    pub(crate) fn recover(
        mut journal: Box<dyn Journal>,
        local: PeerId,
        incarnation: u64,
    ) -> Result<Self, JournalError> {
        let records = journal.records()?;
        let mut state = Self {
            journal,
            broken: None,
            written: 0,
            compact_at: COMPACT,
            local,
            incarnation,
            links: BTreeMap::new(),
            ports: BTreeMap::new(),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            arrivals: 0,
            held_bytes: 0,
            memory: Bytes::new(),
        };
        for (index, bytes) in records.iter().enumerate() {
            let at = |malformed| JournalError::Record { index, malformed };
            match Record::from_bytes(bytes).map_err(at)? {
                Record::Identity { peer, .. } if peer != state.local => return Err(JournalError::OtherPeer),
                Record::Identity { incarnation, .. } => state.incarnation = incarnation,
                Record::Taken { message } => {
                    let envelope = Envelope::from_bytes(&message, &MessageLimits::NONE).map_err(at)?;
                    state.hold(envelope, message.len());
                }
                Record::Commit(commit) => state.apply(commit),
                Record::Settled { to, number } => {
                    state.link(&to).pending.remove(&number);
                }
                Record::Window { from, incarnation, floor, seen } => {
                    let seen = seen.into_iter().collect();
                    state.link(&from).window = Some(Window { incarnation, floor, seen });
                }
                Record::Next { to, number } => state.link(&to).last = number.saturating_sub(1),
            }
        }
        // All complete records were read, so compaction also drops a partially written one.
        state.compact()?;
        Ok(state)
    }

    /// Minimal list of records that restores the state.
    fn snapshot(&self) -> Result<Vec<Vec<u8>>, JournalError> {
        let mut records = vec![Record::Identity {
            version: Version,
            peer: self.local.clone(),
            incarnation: self.incarnation,
        }];
        if !self.memory.is_empty() {
            let state = Some(self.memory.clone());
            records.push(Record::Commit(Commit { state, ..Commit::default() }));
        }
        for held in self.held.values() {
            let message = held.envelope.to_bytes(&MessageLimits::NONE);
            let message =
                message.map_err(|exceeded| JournalError::Failed { reason: exceeded.to_string() })?;
            records.push(Record::Taken { message: message.into() });
        }
        // The windows follow the messages, because the records of messages also create windows, which these
        // overwrite.
        for (peer, link) in &self.links {
            if let Some(Window { incarnation, floor, seen }) = &link.window {
                let seen = seen.iter().copied().collect();
                let from = peer.clone();
                records.push(Record::Window { from, incarnation: *incarnation, floor: *floor, seen });
            }
            let pending = link.pending.iter();
            let posts: Vec<_> =
                pending.map(|(number, message)| (peer.clone(), *number, message.clone())).collect();
            if !posts.is_empty() {
                records.push(Record::Commit(Commit { posts, ..Commit::default() }));
            }
            if link.last > 0 {
                records.push(Record::Next { to: peer.clone(), number: link.last + 1 });
            }
        }
        Ok(records.iter().map(Record::to_bytes).collect())
    }

    fn compact(&mut self) -> Result<(), JournalError> {
        let records = self.snapshot()?;
        let bytes: usize = records.iter().map(Vec::len).sum();
        self.journal.replace(&records)?;
        self.written = bytes;
        self.compact_at = COMPACT.max(2 * bytes);
        Ok(())
    }

    /// Returns the error that broke the journal, if any.
    pub(crate) fn check(&self) -> Result<(), JournalError> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn write(&mut self, record: &Record) -> Result<(), JournalError> {
        self.check()?;
        let bytes = record.to_bytes();
        let written = self.journal.append(&bytes);
        self.written += bytes.len();
        self.note_failure(written)
    }

    /// Compacts the journal if it has grown. Must be called after the written changes were applied.
    fn tidy(&mut self) {
        if self.broken.is_none() && self.written > self.compact_at {
            let compacted = self.compact();
            // The change is already applied and durable. The next call reports the error of the journal.
            let _ = self.note_failure(compacted);
        }
    }

    /// Records the error of a write, after which the journal is not used.
    fn note_failure(&mut self, result: Result<(), JournalError>) -> Result<(), JournalError> {
        if let Err(error) = &result {
            self.broken = Some(error.clone());
        }
        result
    }

    pub(crate) fn link(&mut self, peer: &PeerId) -> &mut Link {
        self.links.entry(peer.clone()).or_default()
    }

    /// Accepts or refuses a message that was received from its sender.
    pub(crate) fn take(&mut self, envelope: Envelope, message: &[u8], mailbox: &Mailbox) -> Verdict {
        if let Some(verdict) = self.refusal(&envelope, message.len(), mailbox) {
            return verdict;
        }
        if self.write(&Record::Taken { message: Bytes::copy_from_slice(message) }).is_err() {
            return Verdict::Refused(Refusal::NotKept);
        }
        self.hold(envelope, message.len());
        self.tidy();
        Verdict::Taken
    }

    fn refusal(&self, envelope: &Envelope, bytes: usize, mailbox: &Mailbox) -> Option<Verdict> {
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
                if window.seen.contains(&number) {
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

    fn hold(&mut self, envelope: Envelope, bytes: usize) {
        let MessageId { incarnation, number } = envelope.id;
        let floor = envelope.floor;
        let window = &mut self.link(&envelope.sender).window;
        match window {
            Some(window) if window.incarnation == incarnation => window.take(number, floor),
            // A message of an earlier incarnation does not affect the window.
            Some(window) if window.incarnation > incarnation => {}
            Some(_) | None => {
                *window = Some(Window { incarnation, floor, seen: BTreeSet::from([number]) });
            }
        }
        self.arrivals += 1;
        self.held_bytes += bytes;
        self.waiting.entry(envelope.port.clone()).or_default().insert(self.arrivals);
        self.held.insert(self.arrivals, Held { envelope, bytes });
    }

    /// The first available message at a port, of one run or of any.
    pub(crate) fn first(&self, port: &PortId, run: Option<RunId>) -> Option<u64> {
        let of_run = |arrival: &&u64| {
            run.is_none_or(|run| self.held.get(*arrival).is_some_and(|held| held.envelope.run == run))
        };
        self.waiting.get(port)?.iter().find(of_run).copied()
    }

    /// Hands out a message exclusively until it is given back.
    pub(crate) fn hand_out(&mut self, arrival: u64) -> Option<Envelope> {
        let envelope = self.held.get(&arrival)?.envelope.clone();
        if let Some(waiting) = self.waiting.get_mut(&envelope.port) {
            waiting.remove(&arrival);
        }
        Some(envelope)
    }

    /// Makes an uncommitted message available again.
    pub(crate) fn give_back(&mut self, arrival: u64) {
        if let Some(held) = self.held.get(&arrival) {
            self.waiting.entry(held.envelope.port.clone()).or_default().insert(arrival);
        }
    }

    /// Number and floor of the next message to a peer, after `ahead` messages that are about to be sent.
    pub(crate) fn next_number(&mut self, to: &PeerId, ahead: u64) -> (u64, u64) {
        let link = self.link(to);
        let number = link.last + 1 + ahead;
        (number, link.floor(link.last + 1))
    }

    /// Writes a commit to the journal and applies it.
    pub(crate) fn commit(&mut self, commit: Commit) -> Result<(), JournalError> {
        let record = Record::Commit(commit);
        self.write(&record)?;
        if let Record::Commit(commit) = record {
            self.apply(commit);
        }
        self.tidy();
        Ok(())
    }

    /// Removes a committed message.
    fn finish(&mut self, from: &PeerId, id: MessageId) {
        let is_it = |held: &Held| held.envelope.sender == *from && held.envelope.id == id;
        let arrival = self.held.iter().find(|(_, held)| is_it(held)).map(|(arrival, _)| *arrival);
        let Some((arrival, held)) =
            arrival.and_then(|arrival| self.held.remove(&arrival).map(|held| (arrival, held)))
        else {
            return;
        };
        self.held_bytes -= held.bytes;
        if let Some(waiting) = self.waiting.get_mut(&held.envelope.port) {
            waiting.remove(&arrival);
            if waiting.is_empty() {
                self.waiting.remove(&held.envelope.port);
            }
        }
    }

    fn apply(&mut self, Commit { done, state, posts }: Commit) {
        for (from, id) in &done {
            self.finish(from, *id);
        }
        if let Some(state) = state {
            self.memory = state;
        }
        for (to, number, message) in posts {
            let link = self.link(&to);
            link.last = link.last.max(number);
            link.pending.insert(number, message);
        }
    }

    /// Records that a message needs no more attempts.
    pub(crate) fn settle(&mut self, to: &PeerId, number: u64) -> Result<(), JournalError> {
        if !self.link(to).pending.contains_key(&number) {
            return Ok(());
        }
        self.write(&Record::Settled { to: to.clone(), number })?;
        let link = self.link(to);
        link.pending.remove(&number);
        link.claimed.remove(&number);
        self.tidy();
        Ok(())
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
    use typeloom_contracts::datum::{Datum, Scalar};
    use typeloom_onnx::text::parse_type;
    use typeloom_pool::Digest;

    use super::*;
    use crate::check::CHECKS;
    use crate::envelope::TypeTag;
    use crate::journal::NoJournal;

    const CHILDREN: usize = 100;

    fn port_type(children: usize) -> PortType {
        let children: Vec<String> = (0..children).map(|at| format!("c{at}: scalar.i32")).collect();
        let text = format!("composite{{{}}}", children.join(", "));
        PortType::of_message(&parse_type(&text).expect("a type")).expect("a port type")
    }

    /// Takes a composite whose first child is a number or a trigger; returns the verdict and the number of checks.
    fn taken(digest: Digest, is_right: bool, at: &PortType) -> (Verdict, usize) {
        let (sender, port) =
            (PeerId(vec![1]), PortId { program: "p".into(), peer_class: "c".into(), wire: "w".into() });
        let mut state = State::recover(Box::new(NoJournal), PeerId(vec![2]), 1).expect("there is no journal");
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
        let verdict = state.take(envelope, &[], &Mailbox::default());
        (verdict, CHECKS.with(std::cell::Cell::get))
    }

    #[test]
    fn a_composite_that_is_declared_with_the_digest_of_the_port_is_not_checked() {
        let (own, other) = (port_type(CHILDREN), port_type(CHILDREN + 1));
        assert_eq!(taken(own.digest(), true, &own), (Verdict::Taken, 0));
        // A reader checks the children that it uses.
        assert_eq!(taken(own.digest(), false, &own), (Verdict::Taken, 0));
        assert_eq!(taken(other.digest(), true, &own), (Verdict::Taken, CHILDREN + 1));
        let (verdict, _) = taken(other.digest(), false, &own);
        assert!(matches!(verdict, Verdict::Refused(Refusal::OtherValue { .. })), "{verdict:?}");
        let (verdict, checks) = taken(own.digest(), true, &other);
        assert!(matches!(verdict, Verdict::Refused(Refusal::OtherValue { .. })), "{verdict:?}");
        assert!(checks > 0);
    }
}
