//! The state of an endpoint does not grow with the number of exchanged messages, and limits are errors.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_wire::clock::Clock;
use typeloom_wire::delivery::{Effects, Wanted};
use typeloom_wire::endpoint::{Capacity, Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::{Envelope, MessageId, PortId, RunId};
use typeloom_wire::journal::{Change, Journal, JournalError, MemoryJournal};
use typeloom_wire::limits::MessageLimits;
use typeloom_wire::memory::LocalNetwork;
use typeloom_wire::port::PortType;
use typeloom_wire::receipt::{Receipt, Refusal, Verdict};
use typeloom_wire::send::{Outgoing, SendError, Ticket};
use typeloom_wire::transport::Transport as _;

/// Clones share the same entries.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<MemoryJournal>>);

impl Journal for Shared {
    fn next(&self, after: &[u8]) -> Result<Option<(Vec<u8>, Bytes)>, JournalError> {
        self.0.lock().expect("one thread").next(after)
    }

    fn read(&self, key: &[u8]) -> Result<Option<Bytes>, JournalError> {
        self.0.lock().expect("one thread").read(key)
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        self.0.lock().expect("one thread").write(changes)
    }
}

impl Shared {
    /// Numbers of entries by the first byte of their keys.
    fn counts(&self) -> [usize; 8] {
        let mut counts = [0; 8];
        let mut last = Vec::new();
        while let Some((key, _)) = self.next(&last).expect("it is in memory") {
            counts[usize::from(key[0])] += 1;
            last = key;
        }
        counts
    }
}

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) {}
}

fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

fn port() -> PortId {
    PortId { program: "m".to_owned(), peer_class: String::new(), wire: "data".to_owned() }
}

fn triggers() -> PortType {
    use typeloom_onnx::messages::TypeProto;
    let denotation = "bb.trigger".into();
    PortType::of_message(&TypeProto { denotation, ..TypeProto::default() }).expect("triggers are sent")
}

struct Peer {
    journal: Shared,
    endpoint: Endpoint,
}

impl Peer {
    fn open(network: &LocalNetwork, name: &str, journal: Shared, config: EndpointConfig) -> Self {
        let parts = EndpointParts {
            transport: Arc::new(network.join(peer(name))),
            clock: Arc::new(Stopped),
            journal: Box::new(journal.clone()),
            ports: vec![(port(), triggers())],
            peers: vec![peer("a"), peer("b")],
        };
        let endpoint = Endpoint::open(parts, config).expect("the journal is in memory");
        Self { journal, endpoint }
    }

    fn post(&self, to: &str) -> Result<Vec<Ticket>, SendError> {
        let (to, port, ty) = (peer(to), port(), triggers());
        let post = Outgoing { to: &to, port: &port, run: RunId(1), ty: &ty, value: &Datum::Trigger };
        self.endpoint.record(&Effects { memory: Some(b"state"), posts: &[post] })
    }

    /// Commits the values that are available; returns their number.
    fn take_all(&self) -> usize {
        let wanted = Wanted { port: port(), run: None };
        let next = || self.endpoint.receive(&wanted, Duration::ZERO).ok();
        std::iter::from_fn(next).fold(0, |count, delivery| {
            delivery.accept().expect("the journal is in memory");
            count + 1
        })
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_journal_does_not_grow_with_its_history() {
    let network = LocalNetwork::new();
    let [a, b] = ["a", "b"].map(|name| Peer::open(&network, name, Shared::default(), EndpointConfig::new(1)));
    for number in 0..5000 {
        a.post("b").expect("the outbox is empty");
        assert_eq!(a.endpoint.flush(SECOND).expect("the journal is in memory").acknowledged, 1);
        assert_eq!(b.take_all(), 1);
        // Identity, state, and the last number; identity, window, and the last accepted number.
        let expected = ([0, 1, 1, 0, 0, 0, 1, 0], [0, 1, 0, 0, 1, 1, 0, 0]);
        assert_eq!((a.journal.counts(), b.journal.counts()), expected, "message {number}");
    }
}

#[test]
fn a_full_outbox_is_an_error_that_changes_nothing() {
    let network = LocalNetwork::new();
    let outbox = Capacity { messages: 2, ..Capacity::OUTBOX };
    let a = Peer::open(&network, "a", Shared::default(), EndpointConfig { outbox, ..EndpointConfig::new(1) });
    a.post("b").expect("the first");
    a.post("b").expect("the second");
    let before = a.journal.counts();
    let full = a.post("b").expect_err("the outbox is full");
    assert_eq!(full, SendError::OutboxFull { messages: 2, bytes: outbox.bytes });
    assert_eq!(a.journal.counts(), before);
    // A commit without posts is possible.
    a.endpoint.record(&Effects { memory: Some(b"other"), posts: &[] }).expect("it posts nothing");
    let b = Peer::open(&network, "b", Shared::default(), EndpointConfig::new(1));
    a.endpoint.flush(SECOND).expect("the journal is in memory");
    assert_eq!(b.take_all(), 2);
    a.post("b").expect("the outbox has capacity again");

    let outbox = Capacity { bytes: 10, ..Capacity::OUTBOX };
    let a = Peer::open(&network, "a", Shared::default(), EndpointConfig { outbox, ..EndpointConfig::new(2) });
    assert!(matches!(a.post("b"), Err(SendError::OutboxFull { bytes: 10, .. })));
}

#[test]
fn the_numbers_of_a_sender_are_bounded_and_survive_a_restart() {
    let network = LocalNetwork::new();
    let transport = network.join(peer("a"));
    let ty = triggers();
    let send = |incarnation, number, floor| {
        let envelope = Envelope {
            id: MessageId { incarnation, number },
            floor,
            run: RunId(0),
            sender: peer("a"),
            addresses: Vec::new(),
            port: port(),
            ty: ty.tag(&Datum::Trigger),
            value: Datum::Trigger,
        };
        let message = envelope.to_bytes(&MessageLimits::default()).expect("a small message");
        let answer = transport.exchange(&peer("b"), &message, SECOND).expect("the peer is open");
        Receipt::from_bytes(&answer).expect("a receipt").verdict
    };
    let mailbox = Capacity { messages: 3, ..Capacity::MAILBOX };
    let config = EndpointConfig { mailbox, ..EndpointConfig::new(1) };
    let open = |journal| Peer::open(&network, "b", journal, config);
    let mut b = open(Shared::default());
    for number in 1..=4096 {
        assert_eq!(send(1, number, 1), Verdict::Taken);
        assert_eq!(b.take_all(), 1);
    }
    // The sender repeats number 1 as long as its floor is 1.
    assert_eq!(send(1, 4097, 1), Verdict::Refused(Refusal::Busy));
    b = open(b.journal);
    assert_eq!(b.journal.counts()[5], 4096);
    assert_eq!(send(1, 1, 1), Verdict::TakenBefore);
    assert_eq!(send(1, 4097, 4000), Verdict::Taken);
    assert_eq!(b.journal.counts()[5], 98);
    assert_eq!(send(1, 3999, 1), Verdict::Refused(Refusal::Stale));
    // A new incarnation replaces the numbers of the earlier one.
    assert_eq!(send(2, 4097, 4097), Verdict::Taken);
    assert_eq!(b.journal.counts()[5], 1);
    assert_eq!(send(1, 4098, 4000), Verdict::Refused(Refusal::Stale));
    assert_eq!(send(2, 4098, 4097), Verdict::Taken);
    assert_eq!(send(2, 4099, 4097), Verdict::Refused(Refusal::Busy), "the mailbox is full");
    b = open(b.journal);
    assert_eq!(b.endpoint.held(), 3);
    assert_eq!(send(2, 4099, 4097), Verdict::Refused(Refusal::Busy), "the mailbox is still full");
    assert_eq!(b.take_all(), 3);
    assert_eq!(send(2, 4099, 4097), Verdict::Taken);
}
