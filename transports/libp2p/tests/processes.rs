//! Tests with peers in separate processes over loopback, which are killed, restarted and stopped. No
//! acknowledged message is lost, none is delivered twice, and every call returns in time.
//!
//! The state of a dead peer is read from its journal.

#![cfg(unix)]

#[path = "processes/child.rs"]
mod child;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use child::{Child, Folder, LOOPBACK, identity};
use typeloom::PeerId;
use typeloom::run::host::SystemClock;
use typeloom::types::AnyTensor;
use typeloom::types::Dtype;
use typeloom_libp2p::{Libp2p, Options, StartError, address};
use typeloom_onnx::messages::{TypeProto, type_proto};
use typeloom_tensor::datum::Datum;
use typeloom_wire::delivery::{Effects, Wanted};
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts, Retry};
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::journal::MemoryJournal;
use typeloom_wire::port::PortType;
use typeloom_wire::receipt::Refusal;
use typeloom_wire::send::{Outgoing, SendError};
use typeloom_wire::transport::{Transport as _, TransportError};

/// Tolerance beyond a deadline, for a machine under load.
const GRACE: Duration = Duration::from_secs(60);

/// Timeout of a whole test.
const PATIENCE: Duration = Duration::from_secs(100);

fn port() -> PortId {
    PortId { program: "numbers".to_owned(), peer_class: String::new(), wire: "number".to_owned() }
}

fn tensors(dtype: Dtype) -> PortType {
    let tensor = type_proto::Tensor { elem_type: Some(dtype.onnx_number()), ..type_proto::Tensor::default() };
    let value = Some(type_proto::Value::TensorType(tensor));
    PortType::of_message(&TypeProto { value, ..TypeProto::default() }).expect("a type of values on the wire")
}

fn number(number: i64) -> Datum {
    Datum::Tensor(AnyTensor::from_scalar(number))
}

/// Opens the peer of this process and sets the address of another one.
fn open(secret: u8, to: &PeerId, at: Option<&str>, attempt: Duration) -> (Endpoint, Arc<Libp2p>) {
    let listen = [address(LOOPBACK).expect("an address")];
    let transport = Libp2p::start(&identity(secret), &listen, &Options::default()).expect("a network");
    let at: Vec<_> = at.iter().map(|at| address(at).expect("an address")).collect();
    transport.find(to, &at).expect("a peer and its address");
    let transport = Arc::new(transport);
    let endpoint = Endpoint::open(
        EndpointParts {
            transport: Arc::<Libp2p>::clone(&transport),
            clock: Arc::new(SystemClock::new()),
            journal: Box::new(MemoryJournal::new()),
            ports: vec![(port(), tensors(Dtype::I64))],
            peers: vec![to.clone()],
        },
        EndpointConfig { retry: Retry { attempt, ..Retry::default() }, ..EndpointConfig::new(1) },
    );
    (endpoint.expect("there is no journal that could fail"), transport)
}

fn all_of(count: i64) -> Vec<i64> {
    (0..count).collect()
}

#[test]
fn a_receiver_that_is_killed_again_and_again_loses_nothing_and_repeats_nothing() {
    let folder = Arc::new(Folder::new("receiver"));
    let child = Child::keep(&folder, 2, LOOPBACK, 1);
    let (to, at) = (child.peer(), child.address.clone());
    let (endpoint, _) = open(1, &to, Some(&at), Duration::from_secs(1));
    // Kills the child at irregular intervals, while messages are in transit and journals are being written.
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let kills = Arc::new(AtomicU64::new(0));
    let killer = std::thread::spawn({
        let (folder, kills) = (Arc::clone(&folder), Arc::clone(&kills));
        move || {
            let mut child = child;
            let pause = || Duration::from_millis(40 + 37 * (kills.load(Ordering::Relaxed) % 5));
            while stopped.recv_timeout(pause()).is_err() {
                child.kill();
                child = Child::keep(&folder, 2, &at, 1);
                kills.fetch_add(1, Ordering::Relaxed);
            }
            child
        }
    });
    let (data, ty) = (port(), tensors(Dtype::I64));
    // A lower bound on kills ensures that some of them interrupt an operation, even on a fast machine.
    let more = |sent: i64| sent < 400 || kills.load(Ordering::Relaxed) < 6;
    let started = Instant::now();
    let mut sent = 0;
    while more(sent) || endpoint.pending() > 0 {
        for _ in 0..if more(sent) { 8 } else { 0 } {
            let value = number(sent);
            let post = Outgoing { to: &to, port: &data, run: RunId(0), ty: &ty, value: &value };
            endpoint.record(&Effects { memory: None, posts: &[post] }).expect("it is posted");
            sent += 1;
        }
        let flushed = endpoint.flush(Duration::from_millis(200)).expect("there is no journal");
        assert_eq!(flushed.refused, []);
        assert!(started.elapsed() < PATIENCE, "{} of {sent} are not acknowledged", endpoint.pending());
    }
    stop.send(()).expect("the killer runs");
    killer.join().expect("no panic").kill();
    println!("{sent} messages, {} kills, {:?}", kills.load(Ordering::Relaxed), started.elapsed());
    let (mut kept, held) = folder.memory(2, 1);
    kept.extend(held);
    assert_eq!(kept, all_of(sent), "each once, and in order");
}

#[test]
fn a_sender_that_is_killed_again_and_again_loses_nothing_and_repeats_nothing() {
    let folder = Folder::new("sender");
    let (endpoint, transport) = open(1, &identity(2).peer(), None, Duration::from_secs(1));
    let at = typeloom_libp2p::show_address(&transport.addresses()[0]);
    let count = 100;
    let mut child = Child::send(&folder, 2, 1, &at, count);
    let started = Instant::now();
    let mut arrived: Vec<i64> = Vec::new();
    let mut kills = 0;
    while arrived.len() < 100 {
        let wanted = Wanted { port: port(), run: None };
        if let Ok(delivery) = endpoint.receive(&wanted, Duration::from_secs(1)) {
            let Datum::Tensor(tensor) = delivery.accept().expect("no journal") else {
                panic!("another value")
            };
            arrived.push(tensor.as_slice::<i64>().expect("a number")[0]);
        }
        if arrived.len() % 12 == 5 && kills < 8 {
            child.kill();
            child = Child::send(&folder, 2, 1, &at, count);
            kills += 1;
        }
        assert!(started.elapsed() < PATIENCE, "{arrived:?}");
    }
    assert!(kills > 3, "it was killed {kills} times");
    child.wait_for("done");
    child.kill();
    assert_eq!(endpoint.held(), 0, "nothing came twice");
    arrived.sort_unstable();
    assert_eq!(arrived, all_of(100));
    assert_eq!(folder.memory(2, 1).0, all_of(100));
}

#[test]
fn messages_to_a_disconnected_peer_time_out_and_later_ones_arrive() {
    let folder = Folder::new("stopped");
    let child = Child::keep(&folder, 2, LOOPBACK, 1);
    let (endpoint, _) = open(1, &child.peer(), Some(&child.address), Duration::from_millis(400));
    let (to, data, ty) = (child.peer(), port(), tensors(Dtype::I64));
    let send = |value: i64, timeout: Duration| {
        let value = number(value);
        let outgoing = Outgoing { to: &to, port: &data, run: RunId(0), ty: &ty, value: &value };
        let started = Instant::now();
        let sent = endpoint.send(&outgoing, timeout);
        assert!(started.elapsed() < timeout + GRACE, "{:?} for {timeout:?}", started.elapsed());
        sent.map(|_| ())
    };
    assert_eq!(send(0, PATIENCE), Ok(()));
    child.signal("STOP");
    let given_up = send(1, Duration::from_secs(1)).expect_err("it does not run");
    assert!(matches!(given_up, SendError::Unconfirmed { .. }), "{given_up}");
    // A post remains pending after a flush that timed out, and is accepted when the peer runs again.
    let value = number(2);
    let post = Outgoing { to: &to, port: &data, run: RunId(0), ty: &ty, value: &value };
    endpoint.record(&Effects { memory: None, posts: &[post] }).expect("it is posted");
    let flushed = endpoint.flush(Duration::from_secs(1)).expect("no journal");
    assert_eq!((flushed.acknowledged, flushed.pending), (0, 1));
    child.signal("CONT");
    let flushed = endpoint.flush(PATIENCE).expect("no journal");
    assert_eq!((flushed.acknowledged, flushed.pending), (1, 0));
    child.kill();
    let gone = send(3, Duration::from_secs(1)).expect_err("it is dead");
    assert!(matches!(gone, SendError::Unconfirmed { .. }), "{gone}");

    let (mut kept, held) = folder.memory(2, 1);
    kept.extend(held);
    // The abandoned message may or may not have arrived. Acknowledged messages are stored exactly once.
    kept.retain(|number| *number != 1);
    assert_eq!(kept, [0, 2]);
}

#[test]
fn other_types_and_unknown_peers_are_refused_across_processes() {
    let folder = Folder::new("refusing");
    let child = Child::keep(&folder, 2, LOOPBACK, 1);
    let to = child.peer();
    let refusal = |secret: u8, port: &PortId, ty: &PortType, value: &Datum| {
        let (endpoint, _) = open(secret, &to, Some(&child.address), Duration::from_secs(5));
        let outgoing = Outgoing { to: &to, port, run: RunId(0), ty, value };
        match endpoint.send(&outgoing, PATIENCE) {
            Err(SendError::Refused { refusal, .. }) => refusal,
            other => panic!("it was not refused: {other:?}"),
        }
    };
    let integers = tensors(Dtype::I64);
    let float = Datum::Tensor(AnyTensor::from_scalar(1.0_f32));
    let other = refusal(1, &port(), &tensors(Dtype::F32), &float);
    assert_eq!(
        other.to_string(),
        format!(
            "`numbers::number` expects int64[...] (type {}), but float was sent, declared as another type",
            integers.digest()
        )
    );
    assert_eq!(refusal(3, &port(), &integers, &number(1)), Refusal::UnknownPeer);
    let nowhere = PortId { wire: "nowhere".to_owned(), ..port() };
    assert!(matches!(refusal(1, &nowhere, &integers, &number(1)), Refusal::UnknownPort { .. }));
    child.kill();
    assert_eq!(folder.memory(2, 1), (vec![], vec![]));
}

#[test]
fn unsupported_addresses_and_large_messages_are_errors_without_delay() {
    let stranger = identity(9).peer();
    let (endpoint, transport) = open(1, &stranger, None, Duration::from_secs(5));
    let (data, ty, value) = (port(), tensors(Dtype::I64), number(1));
    for to in [stranger, PeerId(b"no peer of libp2p".to_vec())] {
        let outgoing = Outgoing { to: &to, port: &data, run: RunId(0), ty: &ty, value: &value };
        let failed = endpoint.send(&outgoing, PATIENCE);
        assert_eq!(
            failed,
            Err(SendError::Transport { peer: to.clone(), error: TransportError::UnknownPeer })
        );
    }
    assert_eq!(transport.addresses().len(), 1);
    // Address reserved for documentation; no machine has it.
    let elsewhere = [address("/ip4/203.0.113.1/tcp/0").expect("an address")];
    let started = Libp2p::start(&identity(4), &elsewhere, &Options::default());
    assert!(matches!(started, Err(StartError::Listen { .. })), "{started:?}");
}

#[test]
fn large_values_cross_and_values_that_are_too_large_do_not() {
    let folder = Folder::new("large");
    let child = Child::keep(&folder, 2, LOOPBACK, 1);
    let (endpoint, _) = open(1, &child.peer(), Some(&child.address), PATIENCE);
    let (to, data, ty) = (child.peer(), port(), tensors(Dtype::I64));
    let mut elements = vec![7_i64; 1 << 20];
    elements[0] = 5;
    let value = Datum::Tensor(AnyTensor::from_vec(&[1 << 20], elements).expect("a tensor of 8 MB"));
    let outgoing = Outgoing { to: &to, port: &data, run: RunId(0), ty: &ty, value: &value };
    endpoint.send(&outgoing, PATIENCE).expect("it is taken");
    let small = Options { message_bytes: 1 << 20, ..Options::default() };
    let transport = Libp2p::start(&identity(1), &[], &small).expect("a network");
    let refused = transport.exchange(&to, &[0; (1 << 20) + 1], PATIENCE);
    assert_eq!(refused, Err(TransportError::TooLarge { limit: 1 << 20 }));
    child.kill();
    let (mut kept, held) = folder.memory(2, 1);
    kept.extend(held);
    assert_eq!(kept, [5]);
}
