//! Fault injection: messages are lost, duplicated, delayed and reordered; peers are disconnected, and killed
//! during writes. No acknowledged message is lost, and none is delivered twice.
//!
//! The simulation, including time, runs on one thread and is deterministic for each seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use bytes::Bytes;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_testing::Random;
use typeloom_wire::clock::Clock;
use typeloom_wire::delivery::{Effects, Wanted};
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts, Retry};
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::journal::{Change, Journal, JournalError, MemoryJournal};
use typeloom_wire::port::PortType;
use typeloom_wire::send::{Outgoing, SendError};
use typeloom_wire::transport::{Inbound, Transport, TransportError};

use crate::ports::tensor;

#[derive(Default)]
struct SimulatedTime(Mutex<Duration>);

impl Clock for SimulatedTime {
    fn now(&self) -> Duration {
        *self.0.lock().expect("one thread")
    }

    fn sleep(&self, time: Duration) {
        *self.0.lock().expect("one thread") += time;
    }
}

/// Message that was delayed.
struct DelayedMessage {
    from: PeerId,
    to: PeerId,
    request: Vec<u8>,
}

/// The state of the simulated network and the failures so far.
struct NetworkState {
    random: Random,
    /// Whether messages no longer get lost, delayed or duplicated.
    is_reliable: bool,
    peers: BTreeMap<PeerId, Weak<dyn Inbound>>,
    killed: BTreeSet<PeerId>,
    disconnected: BTreeSet<PeerId>,
    delayed: Vec<DelayedMessage>,
    events: BTreeMap<&'static str, usize>,
}

impl NetworkState {
    fn count_event(&mut self, event: &'static str) {
        *self.events.entry(event).or_default() += 1;
    }
}

/// A simulated network and clock, shared by all peers.
#[derive(Clone)]
struct Simulation {
    network: Arc<Mutex<NetworkState>>,
    time: Arc<SimulatedTime>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let network = NetworkState {
            random: Random(seed),
            is_reliable: false,
            peers: BTreeMap::new(),
            killed: BTreeSet::new(),
            disconnected: BTreeSet::new(),
            delayed: Vec::new(),
            events: BTreeMap::new(),
        };
        Self { network: Arc::new(Mutex::new(network)), time: Arc::default() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut NetworkState) -> T) -> T {
        change(&mut self.network.lock().expect("one thread"))
    }

    /// Delivers a request, unless the receiver is killed before or while it handles the request.
    fn deliver(&self, from: &PeerId, to: &PeerId, request: &[u8]) -> Option<Vec<u8>> {
        let inbound = self.with(|network| network.peers.get(to).cloned())?.upgrade()?;
        let is_killed = |network: &mut NetworkState| network.killed.contains(to);
        if self.with(is_killed) {
            return None;
        }
        let answer = inbound.answer(from, request);
        (!self.with(is_killed)).then_some(answer)
    }
}

/// A transport that loses, delays and duplicates messages at random.
struct UnreliableTransport {
    simulation: Simulation,
    peer: PeerId,
}

impl Transport for UnreliableTransport {
    fn local_peer(&self) -> PeerId {
        self.peer.clone()
    }

    fn serve(&self, inbound: Weak<dyn Inbound>) {
        self.simulation.with(|network| network.peers.insert(self.peer.clone(), inbound));
    }

    fn exchange(&self, to: &PeerId, request: &[u8], timeout: Duration) -> Result<Vec<u8>, TransportError> {
        let simulation = &self.simulation;
        let lose = || {
            simulation.time.sleep(timeout);
            Err(TransportError::Timeout)
        };
        if simulation.with(|network| network.killed.contains(&self.peer)) {
            return lose();
        }
        // A delayed message can arrive before this one.
        let delayed = simulation.with(|network| {
            if network.delayed.is_empty() || !network.random.one_in(3) {
                return None;
            }
            network.count_event("arrived late");
            let at = network.random.below(network.delayed.len());
            Some(network.delayed.swap_remove(at))
        });
        if let Some(DelayedMessage { from, to, request }) = delayed {
            simulation.deliver(&from, &to, &request);
        }
        let copy = DelayedMessage { from: self.peer.clone(), to: to.clone(), request: request.to_vec() };
        let is_disconnected = |network: &mut NetworkState| {
            network.disconnected.contains(to) || network.disconnected.contains(&self.peer)
        };
        if simulation.with(is_disconnected) {
            simulation.with(|network| network.count_event("was disconnected"));
            return lose();
        }
        let outcome =
            simulation.with(|network| if network.is_reliable { 9 } else { network.random.below(10) });
        let answer = match outcome {
            0 => {
                simulation.with(|network| network.count_event("was lost"));
                return lose();
            }
            1 => {
                simulation.with(|network| {
                    network.count_event("was delayed");
                    network.delayed.push(copy);
                });
                return lose();
            }
            2 => {
                simulation.with(|network| network.count_event("was not answered"));
                simulation.deliver(&self.peer, to, request);
                return lose();
            }
            3 => {
                simulation.with(|network| network.count_event("was duplicated"));
                simulation.deliver(&self.peer, to, request);
                simulation.deliver(&self.peer, to, request)
            }
            4 => {
                simulation.with(|network| {
                    network.count_event("was duplicated later");
                    network.delayed.push(copy);
                });
                simulation.deliver(&self.peer, to, request)
            }
            _ => simulation.deliver(&self.peer, to, request),
        };
        answer.map_or_else(lose, Ok)
    }
}

/// Durable content of a journal, and the number of writes before its peer is killed.
#[derive(Default)]
struct Disk {
    entries: MemoryJournal,
    writes_until_killed: Option<usize>,
    /// Whether the last of these writes is still stored.
    is_last_write_stored: bool,
}

/// A journal that kills its peer after some writes.
struct FailingJournal {
    simulation: Simulation,
    peer: PeerId,
    disk: Arc<Mutex<Disk>>,
}

impl Journal for FailingJournal {
    fn next(&self, after: &[u8]) -> Result<Option<(Vec<u8>, Bytes)>, JournalError> {
        self.disk.lock().expect("one thread").entries.next(after)
    }

    fn read(&self, key: &[u8]) -> Result<Option<Bytes>, JournalError> {
        self.disk.lock().expect("one thread").entries.read(key)
    }

    fn write(&mut self, changes: &[Change]) -> Result<(), JournalError> {
        let mut disk = self.disk.lock().expect("one thread");
        let is_killed_now = disk.writes_until_killed == Some(0);
        if !is_killed_now || disk.is_last_write_stored {
            disk.entries.write(changes)?;
        }
        disk.writes_until_killed = disk.writes_until_killed.map(|writes| writes.saturating_sub(1));
        if is_killed_now {
            self.simulation.with(|network| {
                network.count_event("was killed");
                network.killed.insert(self.peer.clone());
            });
            return Err(JournalError::Failed { reason: "the process was killed".to_owned() });
        }
        Ok(())
    }
}

fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

fn port() -> PortId {
    PortId { program: "m".to_owned(), peer_class: String::new(), wire: "data".to_owned() }
}

fn floats() -> PortType {
    PortType::of_message(&tensor(1, &["n"])).expect("a type of values on the wire")
}

const CONFIG: EndpointConfig = EndpointConfig {
    incarnation: 1,
    limits: typeloom_wire::limits::MessageLimits {
        envelope_bytes: 1 << 20,
        name_bytes: 100,
        peer_bytes: 100,
        values: 100,
        rank: 4,
    },
    retry: Retry {
        attempt: Duration::from_millis(100),
        first_pause: Duration::from_millis(10),
        longest_pause: Duration::from_millis(50),
    },
    mailbox: typeloom_wire::endpoint::Capacity { messages: 5, bytes: 1 << 20 },
    outbox: typeloom_wire::endpoint::Capacity { messages: 100, bytes: 1 << 24 },
};

/// Peer that can be killed.
struct KillablePeer {
    simulation: Simulation,
    name: PeerId,
    disk: Arc<Mutex<Disk>>,
    endpoint: Endpoint,
}

impl KillablePeer {
    fn new(simulation: &Simulation, name: &str) -> Self {
        let (disk, name) = (Arc::default(), peer(name));
        let endpoint = Self::open(simulation, &name, &disk);
        Self { simulation: simulation.clone(), name, disk, endpoint }
    }

    fn open(simulation: &Simulation, name: &PeerId, disk: &Arc<Mutex<Disk>>) -> Endpoint {
        loop {
            disk.lock().expect("one thread").writes_until_killed = None;
            let journal =
                FailingJournal { simulation: simulation.clone(), peer: name.clone(), disk: Arc::clone(disk) };
            let parts = EndpointParts {
                transport: Arc::new(UnreliableTransport {
                    simulation: simulation.clone(),
                    peer: name.clone(),
                }),
                clock: Arc::<SimulatedTime>::clone(&simulation.time),
                journal: Box::new(journal),
                ports: vec![(port(), floats())],
                peers: ["a", "b", "c"].map(peer).to_vec(),
            };
            if let Ok(endpoint) = Endpoint::open(parts, CONFIG) {
                simulation.with(|network| network.killed.remove(name));
                return endpoint;
            }
        }
    }

    /// Kills the peer at one of its next writes.
    fn kill_soon(&self, random: &mut Random) {
        let mut disk = self.disk.lock().expect("one thread");
        disk.writes_until_killed = Some(random.below(4));
        disk.is_last_write_stored = random.one_in(2);
    }

    fn restart(&mut self) {
        if self.simulation.with(|network| network.killed.contains(&self.name)) {
            self.endpoint = Self::open(&self.simulation, &self.name, &self.disk);
        }
    }

    /// Program state: numbers of four bytes each.
    fn memory(&self) -> Vec<u32> {
        let memory = self.endpoint.memory();
        memory.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    /// Stores the number `own`, or else a received one, and sends it to the next peer.
    fn forward(&self, own: Option<u32>, to: Option<&PeerId>) -> Option<u32> {
        let wanted = Wanted { port: port(), run: None };
        let delivery = match own {
            Some(_) => None,
            None => Some(self.endpoint.receive(&wanted, Duration::ZERO).ok()?),
        };
        let number = own.or_else(|| match delivery.as_ref()?.value() {
            Datum::Tensor(tensor) => Some(tensor.as_slice::<f32>().ok()?[0] as u32),
            other => panic!("another value: {other:?}"),
        })?;
        let mut memory = self.endpoint.memory();
        memory.extend(number.to_le_bytes());
        let value = value(number);
        let (data, ty) = (port(), floats());
        let posts: Vec<Outgoing<'_>> = to
            .iter()
            .map(|to| Outgoing { to, port: &data, run: RunId(u64::from(number)), ty: &ty, value: &value })
            .collect();
        let effects = Effects { memory: Some(&memory), posts: &posts };
        let done = match delivery {
            Some(delivery) => delivery.commit(&effects).map(|_| ()),
            None => self.endpoint.record(&effects).map(|_| ()),
        };
        done.ok().map(|()| number)
    }
}

fn value(number: u32) -> Datum {
    Datum::Tensor(AnyTensor::from_slice(&[1], &[number as f32]).expect("a small tensor"))
}

/// Sends numbers from `a` through `b` to `c`; each peer stores them, and all three are killed at random.
fn relay(seed: u64, count: u32) -> BTreeMap<&'static str, usize> {
    let simulation = Simulation::new(seed);
    let mut random = Random(seed ^ 0xabcd);
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|name| KillablePeer::new(&simulation, name));
    let short = Duration::from_millis(300);
    for step in 0.. {
        let is_reliable = step > 40 * count;
        if is_reliable {
            simulation.with(|network| {
                network.is_reliable = true;
                network.disconnected.clear();
            });
            for peer in [&a, &b, &c] {
                peer.disk.lock().expect("one thread").writes_until_killed = None;
            }
        }
        match random.below(if is_reliable { 5 } else { 8 }) {
            0 => {
                let next = u32::try_from(a.memory().len()).expect("a small count");
                if next < count {
                    a.forward(Some(next), Some(&b.name));
                }
            }
            1 => drop(a.endpoint.flush(short)),
            2 => drop(b.forward(None, Some(&c.name))),
            3 => drop(b.endpoint.flush(short)),
            4 => drop(c.forward(None, None)),
            5 => [&a, &b, &c][random.below(3)].kill_soon(&mut random),
            6 => simulation.with(|network| {
                let who = ["a", "b", "c"][random.below(3)];
                network.disconnected.insert(peer(who));
            }),
            _ => simulation.with(|network| network.disconnected.clear()),
        }
        [&mut a, &mut b, &mut c].into_iter().for_each(KillablePeer::restart);
        let is_done = |peer: &KillablePeer| peer.endpoint.pending() == 0 && peer.endpoint.held() == 0;
        if is_reliable && c.memory().len() >= count as usize && [&a, &b, &c].into_iter().all(is_done) {
            break;
        }
        assert!(step < 400 * count + 10_000, "seed {seed}: {:?} of {count} arrived", c.memory());
    }
    // Messages still in transit must be dropped on arrival.
    let delayed = simulation.with(|network| std::mem::take(&mut network.delayed));
    for DelayedMessage { from, to, request } in delayed {
        simulation.deliver(&from, &to, &request);
    }
    for peer in [&a, &b, &c] {
        assert_eq!(peer.endpoint.held(), 0, "seed {seed}: a message was delivered twice");
        let mut memory = peer.memory();
        memory.sort_unstable();
        assert_eq!(memory, (0..count).collect::<Vec<_>>(), "seed {seed}: {:?}", peer.name);
    }
    simulation.with(|network| std::mem::take(&mut network.events))
}

#[test]
fn killed_peers_on_an_unreliable_network_lose_nothing_and_repeat_nothing() {
    let mut events: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..60 {
        for (event, count) in relay(seed, 12) {
            *events.entry(event).or_default() += count;
        }
    }
    println!("{events:?}");
    let all = [
        "arrived late",
        "was delayed",
        "was disconnected",
        "was duplicated",
        "was duplicated later",
        "was killed",
        "was lost",
        "was not answered",
    ];
    assert_eq!(events.keys().copied().collect::<Vec<_>>(), all);
    assert!(events.values().all(|count| *count > 100), "the simulation had too few failures");
}

#[test]
fn senders_without_state_repeat_nothing_and_get_correct_outcomes() {
    for seed in 0..40 {
        let simulation = Simulation::new(seed);
        let c = KillablePeer::new(&simulation, "c");
        let (to, data, ty) = (peer("c"), port(), floats());
        let mut acknowledged = BTreeSet::new();
        let mut arrived = Vec::new();
        let take_all = |arrived: &mut Vec<u32>| {
            while let Some(number) = c.forward(None, None) {
                arrived.push(number);
            }
        };
        for incarnation in 0..5_u32 {
            let parts = EndpointParts {
                transport: Arc::new(UnreliableTransport { simulation: simulation.clone(), peer: peer("a") }),
                clock: Arc::<SimulatedTime>::clone(&simulation.time),
                journal: Box::new(MemoryJournal::new()),
                ports: Vec::new(),
                peers: Vec::new(),
            };
            let a = Endpoint::open(parts, EndpointConfig { incarnation: u64::from(incarnation), ..CONFIG })
                .expect("there is no journal that could fail");
            for message in 0..8 {
                let number = 100 * incarnation + message;
                let value = value(number);
                let outgoing = Outgoing { to: &to, port: &data, run: RunId(0), ty: &ty, value: &value };
                let before = simulation.time.now();
                let timeout = Duration::from_millis(250);
                match a.send(&outgoing, timeout) {
                    Ok(_) => drop(acknowledged.insert(number)),
                    Err(SendError::Unconfirmed { .. }) => {}
                    Err(other) => panic!("seed {seed}: {other}"),
                }
                let took = simulation.time.now() - before;
                assert!(took <= timeout, "seed {seed}: {took:?} is beyond the deadline");
                take_all(&mut arrived);
            }
        }
        for DelayedMessage { from, to, request } in
            simulation.with(|network| std::mem::take(&mut network.delayed))
        {
            simulation.deliver(&from, &to, &request);
            take_all(&mut arrived);
        }
        let distinct: BTreeSet<u32> = arrived.iter().copied().collect();
        assert_eq!(distinct.len(), arrived.len(), "seed {seed}: a message was delivered twice");
        assert!(acknowledged.is_subset(&distinct), "seed {seed}: an acknowledged message was lost");
        assert!(!acknowledged.is_empty());
    }
}
