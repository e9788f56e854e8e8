//! Tests of endpoints on the in-process transport.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_wire::clock::Clock;
use typeloom_wire::delivery::{Effects, ReceiveError, Wanted};
use typeloom_wire::endpoint::{Capacity, Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::journal::MemoryJournal;
use typeloom_wire::memory::{AddressedTransport, LEARNED, LocalNetwork};
use typeloom_wire::port::PortType;
use typeloom_wire::receipt::Refusal;
use typeloom_wire::send::{Flushed, Outgoing, SendError};
use typeloom_wire::transport::TransportError;

use crate::ports::tensor;

struct Wall(Instant);

impl Clock for Wall {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

const SOON: Duration = Duration::from_millis(50);

/// The wait for an answer that arrives, also on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// The wait for several answers, of which some do not arrive.
const A_WHILE: Duration = Duration::from_secs(2);

/// A clock that only [`Stopped::pass`] advances; a pause takes a millisecond of the real time, so that
/// threads wait for each other.
#[derive(Default)]
struct Stopped(Mutex<Duration>);

impl Stopped {
    fn pass(&self, time: Duration) {
        *self.0.lock().expect("no holder panics") += time;
    }
}

impl Clock for Stopped {
    fn now(&self) -> Duration {
        *self.0.lock().expect("no holder panics")
    }

    fn sleep(&self, _: Duration) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs a call of `a` that sends to several peers, of which one does not answer: the time passes when all
/// others have answered.
fn while_one_is_pending<T>(a: &Endpoint, clock: &Stopped, call: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // The bound ends the call if others do not answer either.
            while a.pending() != 1 && started.elapsed() < LONG {
                std::thread::sleep(Duration::from_millis(1));
            }
            clock.pass(A_WHILE);
        });
        call()
    })
}

fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

fn port(wire: &str) -> PortId {
    PortId { program: "m".to_owned(), peer_class: "workers".to_owned(), wire: wire.to_owned() }
}

fn floats() -> PortType {
    PortType::of_message(&tensor(1, &["n"])).expect("a type of values on the wire")
}

fn value(values: &[f32]) -> Datum {
    Datum::Tensor(AnyTensor::from_slice(&[values.len()], values).expect("a small tensor"))
}

fn open(
    network: &LocalNetwork,
    name: &str,
    ports: Vec<(PortId, PortType)>,
    config: EndpointConfig,
) -> Endpoint {
    open_at(network, name, ports, config, Arc::new(Wall(Instant::now())))
}

/// An endpoint with this clock.
fn open_at(
    network: &LocalNetwork,
    name: &str,
    ports: Vec<(PortId, PortType)>,
    config: EndpointConfig,
    clock: Arc<dyn Clock>,
) -> Endpoint {
    let parts = EndpointParts {
        transport: Arc::new(network.join(peer(name))),
        clock,
        journal: Box::new(MemoryJournal::new()),
        ports,
        peers: vec![peer("a"), peer("b")],
    };
    Endpoint::open(parts, config).expect("there is no journal that could fail")
}

/// Sets a flag when it is dropped.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Pair {
    a: Endpoint,
    b: Endpoint,
}

fn pair() -> Pair {
    let network = LocalNetwork::new();
    let a = open(&network, "a", vec![], EndpointConfig::new(1));
    let b = open(&network, "b", vec![(port("data"), floats())], EndpointConfig::new(1));
    Pair { a, b }
}

impl Pair {
    fn send(&self, to: &str, wire: &str, ty: &PortType, value: &Datum) -> Result<(), SendError> {
        self.send_within(LONG, to, wire, ty, value)
    }

    fn send_within(
        &self,
        wait: Duration,
        to: &str,
        wire: &str,
        ty: &PortType,
        value: &Datum,
    ) -> Result<(), SendError> {
        let (to, port) = (peer(to), port(wire));
        let outgoing = Outgoing { to: &to, port: &port, run: RunId(1), ty, value };
        self.a.send(&outgoing, wait).map(|_| ())
    }
}

fn wanted(wire: &str) -> Wanted {
    Wanted { port: port(wire), run: None }
}

#[test]
fn sent_values_arrive_once_and_in_order() {
    let pair = pair();
    for number in 0..3_u8 {
        let sent = pair.send("b", "data", &floats(), &value(&[f32::from(number)]));
        assert_eq!(sent, Ok(()));
    }
    for number in 0..3_u8 {
        let delivery = pair.b.receive(&wanted("data"), Duration::ZERO).expect("it is there");
        assert_eq!((delivery.sender(), delivery.run()), (&peer("a"), RunId(1)));
        assert_eq!(delivery.accept(), Ok(value(&[f32::from(number)])));
    }
    let nothing = pair.b.receive(&wanted("data"), Duration::ZERO);
    assert!(matches!(nothing, Err(ReceiveError::Timeout { .. })));
    assert_eq!((pair.a.pending(), pair.b.held()), (0, 0));
}

#[test]
fn another_type_is_refused_with_a_message() {
    let pair = pair();
    let integers = PortType::of_message(&tensor(7, &["2"])).expect("a type of values on the wire");
    let two = Datum::Tensor(AnyTensor::from_slice(&[2], &[1_i64, 2]).expect("a small tensor"));
    let refused = pair.send("b", "data", &integers, &two).expect_err("it is another type");
    let digest = floats().digest();
    assert_eq!(
        refused.to_string(),
        format!(
            "peer `b` refused: `m::workers::data` expects float[n] (type {digest}), but int64[2] was sent, \
             declared as another type"
        )
    );
    let wrong = pair.send("b", "data", &floats(), &two).expect_err("the value is not of its declared type");
    assert_eq!(wrong.to_string(), "`m::workers::data` is declared as float[n], but the value is int64[2]");
    assert_eq!((pair.a.pending(), pair.b.held()), (0, 0));
}

#[test]
fn unknown_ports_and_peers_are_refused() {
    let pair = pair();
    let one = value(&[1.0]);
    let refused = pair.send("b", "other", &floats(), &one);
    let port = "m::workers::other".to_owned();
    let refusal = Refusal::UnknownPort { port };
    assert_eq!(refused, Err(SendError::Refused { peer: peer("b"), refusal }));
    let nowhere = pair.send("c", "data", &floats(), &one);
    assert_eq!(nowhere, Err(SendError::Transport { peer: peer("c"), error: TransportError::UnknownPeer }));

    let network = LocalNetwork::new();
    let stranger = open(&network, "stranger", vec![], EndpointConfig::new(1));
    let b = open(&network, "b", vec![(self::port("data"), floats())], EndpointConfig::new(1));
    let (to, data, ty) = (peer("b"), self::port("data"), floats());
    let outgoing = Outgoing { to: &to, port: &data, run: RunId(1), ty: &ty, value: &one };
    let refused = stranger.send(&outgoing, LONG).expect_err("the sender is unknown");
    assert_eq!(refused.to_string(), "peer `b` refused: it does not know this peer");
    b.add_peer(&peer("stranger"));
    assert!(stranger.send(&outgoing, LONG).is_ok());
}

#[test]
fn uncommitted_values_are_handed_out_again() {
    let pair = pair();
    pair.send("b", "data", &floats(), &value(&[1.0])).expect("it is taken");
    let delivery = pair.b.receive(&wanted("data"), Duration::ZERO).expect("it is there");
    assert!(
        pair.b.receive(&wanted("data"), Duration::ZERO).is_err(),
        "the value is handed out to another delivery"
    );
    drop(delivery);
    let again = pair.b.receive(&wanted("data"), Duration::ZERO).expect("it is there again");
    assert_eq!(again.accept(), Ok(value(&[1.0])));
    assert!(pair.b.receive(&wanted("data"), Duration::ZERO).is_err());
}

#[test]
fn senders_to_a_full_mailbox_wait_until_their_deadline() {
    let network = LocalNetwork::new();
    let a = open(&network, "a", vec![], EndpointConfig::new(1));
    let mailbox = Capacity { messages: 1, ..Capacity::MAILBOX };
    let b = open(
        &network,
        "b",
        vec![(port("data"), floats())],
        EndpointConfig { mailbox, ..EndpointConfig::new(1) },
    );
    let pair = Pair { a, b };
    pair.send("b", "data", &floats(), &value(&[1.0])).expect("the mailbox has capacity");
    let started = Instant::now();
    let full = pair.send_within(SOON, "b", "data", &floats(), &value(&[2.0]));
    let full = full.expect_err("the mailbox is full");
    assert!(started.elapsed() >= SOON);
    assert_eq!(full.to_string(), "peer `b` has not acknowledged in time: its mailbox is full");
    pair.b.receive(&wanted("data"), Duration::ZERO).expect("it is there").accept().expect("it is taken");
    pair.send("b", "data", &floats(), &value(&[3.0])).expect("the mailbox has capacity again");
    let last = pair.b.receive(&wanted("data"), Duration::ZERO).expect("it is there");
    assert_eq!(last.value(), &value(&[3.0]), "abandoned messages do not arrive later");
}

#[test]
fn a_receiver_waits_until_a_value_arrives() {
    let Pair { a, b } = pair();
    let waiting = std::thread::spawn(move || {
        b.receive(&wanted("data"), Duration::from_secs(60)).map(|delivery| delivery.value().clone())
    });
    let (to, data, ty, value) = (peer("b"), port("data"), floats(), value(&[4.0]));
    let outgoing = Outgoing { to: &to, port: &data, run: RunId(1), ty: &ty, value: &value };
    a.send(&outgoing, Duration::from_secs(60)).expect("it is taken");
    assert_eq!(waiting.join().expect("no panic"), Ok(value));
}

#[test]
fn values_of_another_run_stay_in_the_mailbox() {
    let Pair { a, b } = pair();
    let (to, data, ty) = (peer("b"), port("data"), floats());
    for run in [1, 2] {
        let value = value(&[run as f32]);
        let outgoing = Outgoing { to: &to, port: &data, run: RunId(run), ty: &ty, value: &value };
        a.send(&outgoing, LONG).expect("it is taken");
    }
    let second = Wanted { port: port("data"), run: Some(RunId(2)) };
    assert_eq!(b.receive(&second, Duration::ZERO).expect("it is there").accept(), Ok(value(&[2.0])));
    assert!(b.receive(&second, Duration::ZERO).is_err());
    assert_eq!(b.receive(&wanted("data"), Duration::ZERO).expect("it is there").accept(), Ok(value(&[1.0])));
}

#[test]
fn a_closed_endpoint_is_unreachable_until_it_is_reopened() {
    let network = LocalNetwork::new();
    let a = open(&network, "a", vec![], EndpointConfig::new(1));
    drop(open(&network, "b", vec![(port("data"), floats())], EndpointConfig::new(1)));
    let (to, data, ty, value) = (peer("b"), port("data"), floats(), value(&[4.0]));
    let outgoing = Outgoing { to: &to, port: &data, run: RunId(1), ty: &ty, value: &value };
    let gone = a.send(&outgoing, SOON).expect_err("the peer is absent");
    assert!(matches!(gone, SendError::Unconfirmed { .. }), "{gone}");
    let b = open(&network, "b", vec![(port("data"), floats())], EndpointConfig::new(2));
    assert!(a.send(&outgoing, LONG).is_ok());
    assert_eq!(b.held(), 1);
}

#[test]
fn a_refusal_reaches_the_sending_thread_while_others_flush() {
    let Pair { a, b: _b } = pair();
    let integers = PortType::of_message(&tensor(7, &["2"])).expect("a type of values on the wire");
    let two = Datum::Tensor(AnyTensor::from_slice(&[2], &[1_i64, 2]).expect("a small tensor"));
    let (to, data) = (peer("b"), port("data"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let flushed = a.flush(SOON).expect("there is no journal that could fail");
                assert_eq!(flushed, Flushed::default(), "a message that another call is sending is skipped");
            }
        });
        // Also a failed assertion ends the other thread.
        let _end = SetOnDrop(&is_over);
        for _ in 0..300 {
            let outgoing = Outgoing { to: &to, port: &data, run: RunId(1), ty: &integers, value: &two };
            let refused = a.send(&outgoing, LONG).expect_err("it is another type");
            assert!(matches!(refused, SendError::Refused { .. }), "{refused}");
        }
    });
}

#[test]
fn an_unreachable_peer_does_not_delay_others() {
    let network = LocalNetwork::new();
    let clock = Arc::<Stopped>::default();
    let a = open_at(&network, "a", vec![], EndpointConfig::new(1), clock.clone());
    drop(open(&network, "b", vec![], EndpointConfig::new(1)));
    let others: Vec<PeerId> = ["b", "c", "d"].into_iter().map(peer).collect();
    let ports = || vec![(port("data"), floats())];
    let (c, d) = (
        open(&network, "c", ports(), EndpointConfig::new(1)),
        open(&network, "d", ports(), EndpointConfig::new(1)),
    );
    let (data, ty, value) = (port("data"), floats(), value(&[1.0]));
    let posts: Vec<Outgoing<'_>> =
        others.iter().map(|to| Outgoing { to, port: &data, run: RunId(1), ty: &ty, value: &value }).collect();
    a.record(&Effects { memory: None, posts: &posts }).expect("they are posted");
    let flushed =
        while_one_is_pending(&a, &clock, || a.flush(A_WHILE)).expect("there is no journal that could fail");
    assert_eq!(flushed, Flushed { acknowledged: 2, refused: vec![], pending: 1 });
    assert_eq!((c.held(), d.held()), (1, 1));
}

#[test]
fn a_send_to_several_peers_reports_each_outcome() {
    let network = LocalNetwork::new();
    let clock = Arc::<Stopped>::default();
    let a = open_at(&network, "a", vec![], EndpointConfig::new(1), clock.clone());
    drop(open(&network, "b", vec![], EndpointConfig::new(1)));
    let c = open(&network, "c", vec![(port("data"), floats())], EndpointConfig::new(1));
    let d = open(&network, "d", vec![], EndpointConfig::new(1));
    let others: Vec<PeerId> = ["b", "c", "d", "c"].into_iter().map(peer).collect();
    let (data, ty, values) = (port("data"), floats(), [1.0, 2.0, 3.0, 4.0].map(|it| value(&[it])));
    let outgoing: Vec<Outgoing<'_>> = others
        .iter()
        .zip(&values)
        .map(|(to, value)| Outgoing { to, port: &data, run: RunId(1), ty: &ty, value })
        .collect();
    let sent = while_one_is_pending(&a, &clock, || a.send_all(&outgoing, A_WHILE)).expect("they are posted");
    assert!(
        matches!(
            &sent[..],
            [Err(SendError::Unconfirmed { .. }), Ok(_), Err(SendError::Refused { .. }), Ok(_)]
        ),
        "{sent:?}"
    );
    assert_eq!((a.pending(), c.held(), d.held()), (0, 2, 0));
    let first = c.receive(&wanted("data"), Duration::ZERO).expect("it is there");
    assert_eq!(first.value(), &values[1], "to one peer, values are sent in order");
}

#[test]
fn values_are_committed_together_at_their_own_endpoint_only() {
    let pair = pair();
    for number in 0..2_u8 {
        pair.send("b", "data", &floats(), &value(&[f32::from(number)])).expect("it is taken");
    }
    let both = || {
        let one = || pair.b.receive(&wanted("data"), Duration::ZERO).expect("it is there");
        vec![one(), one()]
    };
    assert_eq!(pair.a.commit(both(), &Effects::default()), Err(SendError::OtherEndpoint));
    assert_eq!(pair.b.held(), 2, "they are handed out again");
    assert_eq!(pair.b.commit(both(), &Effects::default()), Ok(vec![]));
    assert_eq!(pair.b.held(), 0);
}

#[test]
fn a_receiver_learns_the_addresses_of_known_senders_only() {
    let network = LocalNetwork::new();
    let clock: Arc<dyn Clock> = Arc::new(Wall(Instant::now()));
    let opened = |name: &str, own: &str| {
        let own = own.parse().expect("an address");
        let transport = Arc::new(network.join_at(peer(name), own, Arc::clone(&clock)));
        let address_of_b = ["/ip4/10.0.0.2/tcp/2".parse().expect("an address")];
        assert!(transport.install(&peer("b"), address_of_b, None));
        let parts = EndpointParts {
            transport: Arc::<AddressedTransport>::clone(&transport),
            clock: Arc::clone(&clock),
            journal: Box::new(MemoryJournal::new()),
            ports: vec![(port("data"), floats())],
            peers: vec![peer("a"), peer("b")],
        };
        let endpoint = Endpoint::open(parts, EndpointConfig::new(1)).expect("no journal fails");
        (endpoint, transport)
    };
    let (a, _) = opened("a", "/ip4/10.0.0.1/tcp/1");
    let (_b, learned) = opened("b", "/ip4/10.0.0.2/tcp/2");
    let (stranger, _) = opened("stranger", "/ip4/10.0.0.3/tcp/3");
    let (to, port, ty, value) = (peer("b"), port("data"), floats(), value(&[1.0]));
    let outgoing = Outgoing { to: &to, port: &port, run: RunId(1), ty: &ty, value: &value };
    a.send(&outgoing, LONG).expect("the peers know each other");
    stranger.send(&outgoing, LONG).expect_err("the sender is unknown");
    let texts = |name| {
        let found = learned.look_up(&peer(name));
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(texts("a"), ["/ip4/10.0.0.1/tcp/1"]);
    assert!(texts("stranger").is_empty());
}

/// A clock that only pauses advance.
#[derive(Default)]
struct Simulated(Mutex<Duration>);

impl Clock for Simulated {
    fn now(&self) -> Duration {
        *self.0.lock().expect("no holder panics")
    }

    fn sleep(&self, time: Duration) {
        *self.0.lock().expect("no holder panics") += time;
    }
}

#[test]
fn peers_with_address_books_reach_each_other_until_addresses_expire_or_change() {
    let network = LocalNetwork::new();
    let clock = Arc::new(Simulated::default());
    let memory = |number: u64| format!("/memory/{number}").parse::<Multiaddress>().expect("an address");
    let opened = |name: &str, at: u64| {
        let transport = Arc::new(network.join_at(peer(name), memory(at), Arc::<Simulated>::clone(&clock)));
        let parts = EndpointParts {
            transport: Arc::<AddressedTransport>::clone(&transport),
            clock: Arc::<Simulated>::clone(&clock),
            journal: Box::new(MemoryJournal::new()),
            ports: vec![(port("data"), floats())],
            peers: vec![peer("a"), peer("b")],
        };
        (Endpoint::open(parts, EndpointConfig::new(1)).expect("no journal fails"), transport)
    };
    let ((a, of_a), (b, of_b)) = (opened("a", 1), opened("b", 2));
    let send = |from: &Endpoint, to: &str| {
        let (to, port, ty, value) = (peer(to), port("data"), floats(), value(&[1.0]));
        let outgoing = Outgoing { to: &to, port: &port, run: RunId(1), ty: &ty, value: &value };
        from.send(&outgoing, Duration::from_secs(2)).map(|_| ())
    };
    let unknown = |to: &str| Err(SendError::Transport { peer: peer(to), error: TransportError::UnknownPeer });

    assert_eq!(send(&a, "b"), unknown("b"), "nothing is installed");
    assert!(of_a.install(&peer("b"), [memory(2)], Some(Duration::from_secs(60))));
    assert_eq!(send(&b, "a"), unknown("a"), "`a` has sent nothing");
    assert_eq!(send(&a, "b"), Ok(()));
    // The message contains the address of its sender, who is answered at it.
    assert_eq!(of_b.look_up(&peer("a")), [memory(1)]);
    assert_eq!(send(&b, "a"), Ok(()));
    // The answer reports the address of `b`, for longer than the installed one.
    clock.sleep(Duration::from_secs(60));
    assert_eq!(send(&a, "b"), Ok(()));

    clock.sleep(LEARNED);
    assert_eq!(send(&a, "b"), unknown("b"), "the addresses have expired");
    assert_eq!((of_a.expire(), of_a.expire(), of_a.look_up(&peer("b")).len()), (1, 0, 0));

    // The peer moves; its old address belongs to another peer now.
    drop((b, of_b));
    let ((_b, _of_b), (_c, _of_c)) = (opened("b", 3), opened("c", 2));
    assert!(of_a.install(&peer("b"), [memory(2)], None));
    let moved = send(&a, "b").expect_err("another peer is at the address").to_string();
    assert!(moved.contains("it is not at /memory/2"), "{moved}");
    assert!(of_a.install(&peer("b"), [memory(3)], None));
    assert_eq!(send(&a, "b"), Ok(()));
}
