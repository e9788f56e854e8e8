//! Fault injection: messages are lost, duplicated, delayed and reordered; peers are disconnected, and killed
//! during writes. No acknowledged message is lost, and none is delivered twice.
//!
//! The simulation, including time, runs on one thread and is deterministic for each seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use typeloom_contracts::datum::Datum;
use typeloom_contracts::peer_selector::PeerId;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_wire::clock::Clock;
use typeloom_wire::delivery::{Effects, Wanted};
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts, Retry};
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::journal::{Journal, JournalError, NoJournal};
use typeloom_wire::port::PortType;
use typeloom_wire::send::{Outgoing, SendError};
use typeloom_wire::transport::{Inbound, Transport, TransportError};

use crate::ports::tensor;

/// Deterministic pseudorandom numbers.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

#[derive(Default)]
struct Time(Mutex<Duration>);

impl Clock for Time {
    fn now(&self) -> Duration {
        *self.0.lock().expect("one thread")
    }

    fn sleep(&self, time: Duration) {
        *self.0.lock().expect("one thread") += time;
    }
}

/// Message that was delayed.
struct Late {
    from: PeerId,
    to: PeerId,
    request: Vec<u8>,
}

struct Storm {
    dice: Dice,
    is_over: bool,
    peers: BTreeMap<PeerId, Weak<dyn Inbound>>,
    dead: BTreeSet<PeerId>,
    cut: BTreeSet<PeerId>,
    late: Vec<Late>,
    happened: BTreeMap<&'static str, usize>,
}

impl Storm {
    fn happens(&mut self, what: &'static str) {
        *self.happened.entry(what).or_default() += 1;
    }
}

#[derive(Clone)]
struct Weather {
    storm: Arc<Mutex<Storm>>,
    time: Arc<Time>,
}

impl Weather {
    fn new(seed: u64) -> Self {
        let storm = Storm {
            dice: Dice(seed),
            is_over: false,
            peers: BTreeMap::new(),
            dead: BTreeSet::new(),
            cut: BTreeSet::new(),
            late: Vec::new(),
            happened: BTreeMap::new(),
        };
        Self { storm: Arc::new(Mutex::new(storm)), time: Arc::default() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Storm) -> T) -> T {
        change(&mut self.storm.lock().expect("one thread"))
    }

    /// Delivers a request, unless the receiver is dead or dies while handling it.
    fn deliver(&self, from: &PeerId, to: &PeerId, request: &[u8]) -> Option<Vec<u8>> {
        let inbound = self.with(|storm| storm.peers.get(to).cloned())?.upgrade()?;
        let is_dead = |storm: &mut Storm| storm.dead.contains(to);
        if self.with(is_dead) {
            return None;
        }
        let answer = inbound.answer(from, request);
        (!self.with(is_dead)).then_some(answer)
    }
}

struct Wind {
    weather: Weather,
    peer: PeerId,
}

impl Transport for Wind {
    fn local_peer(&self) -> PeerId {
        self.peer.clone()
    }

    fn serve(&self, inbound: Weak<dyn Inbound>) {
        self.weather.with(|storm| storm.peers.insert(self.peer.clone(), inbound));
    }

    fn exchange(&self, to: &PeerId, request: &[u8], timeout: Duration) -> Result<Vec<u8>, TransportError> {
        let weather = &self.weather;
        let lost = || {
            weather.time.sleep(timeout);
            Err(TransportError::Timeout)
        };
        if weather.with(|storm| storm.dead.contains(&self.peer)) {
            return lost();
        }
        // An earlier message arrives first.
        let late = weather.with(|storm| {
            if storm.late.is_empty() || !storm.dice.one_in(3) {
                return None;
            }
            storm.happens("arrived late");
            let at = storm.dice.roll(storm.late.len() as u64);
            Some(storm.late.swap_remove(usize::try_from(at).expect("an index")))
        });
        if let Some(Late { from, to, request }) = late {
            weather.deliver(&from, &to, &request);
        }
        let copy = Late { from: self.peer.clone(), to: to.clone(), request: request.to_vec() };
        let is_cut = |storm: &mut Storm| storm.cut.contains(to) || storm.cut.contains(&self.peer);
        if weather.with(is_cut) {
            weather.with(|storm| storm.happens("was cut off"));
            return lost();
        }
        let fate = weather.with(|storm| if storm.is_over { 9 } else { storm.dice.roll(10) });
        let answer = match fate {
            0 => {
                weather.with(|storm| storm.happens("was lost"));
                return lost();
            }
            1 => {
                weather.with(|storm| {
                    storm.happens("was delayed");
                    storm.late.push(copy);
                });
                return lost();
            }
            2 => {
                weather.with(|storm| storm.happens("was not answered"));
                weather.deliver(&self.peer, to, request);
                return lost();
            }
            3 => {
                weather.with(|storm| storm.happens("came twice"));
                weather.deliver(&self.peer, to, request);
                weather.deliver(&self.peer, to, request)
            }
            4 => {
                weather.with(|storm| {
                    storm.happens("came again later");
                    storm.late.push(copy);
                });
                weather.deliver(&self.peer, to, request)
            }
            _ => weather.deliver(&self.peer, to, request),
        };
        answer.map_or_else(lost, Ok)
    }
}

/// Durable content of a journal, and the number of writes before its peer is killed.
#[derive(Default)]
struct Disk {
    records: Vec<Vec<u8>>,
    writes_to_live: Option<u64>,
    /// Whether the last of these writes is still stored.
    last_is_kept: bool,
}

struct Paper {
    weather: Weather,
    peer: PeerId,
    disk: Arc<Mutex<Disk>>,
}

impl Paper {
    fn write(&self, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Result<(), JournalError> {
        let mut disk = self.disk.lock().expect("one thread");
        let dies = disk.writes_to_live == Some(0);
        if !dies || disk.last_is_kept {
            change(&mut disk.records);
        }
        disk.writes_to_live = disk.writes_to_live.map(|writes| writes.saturating_sub(1));
        if dies {
            self.weather.with(|storm| {
                storm.happens("was killed");
                storm.dead.insert(self.peer.clone());
            });
            return Err(JournalError::Failed { reason: "the process was killed".to_owned() });
        }
        Ok(())
    }
}

impl Journal for Paper {
    fn records(&mut self) -> Result<Vec<Vec<u8>>, JournalError> {
        Ok(self.disk.lock().expect("one thread").records.clone())
    }

    fn append(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.write(|records| records.push(record.to_vec()))
    }

    fn replace(&mut self, new: &[Vec<u8>]) -> Result<(), JournalError> {
        self.write(|records| {
            records.clear();
            records.extend_from_slice(new);
        })
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
    mailbox: typeloom_wire::endpoint::Mailbox { messages: 5, bytes: 1 << 20 },
};

/// Peer that can be killed.
struct Mortal {
    weather: Weather,
    name: PeerId,
    disk: Arc<Mutex<Disk>>,
    endpoint: Endpoint,
}

impl Mortal {
    fn born(weather: &Weather, name: &str) -> Self {
        let (disk, name) = (Arc::default(), peer(name));
        let endpoint = Self::open(weather, &name, &disk);
        Self { weather: weather.clone(), name, disk, endpoint }
    }

    fn open(weather: &Weather, name: &PeerId, disk: &Arc<Mutex<Disk>>) -> Endpoint {
        loop {
            disk.lock().expect("one thread").writes_to_live = None;
            let journal = Paper { weather: weather.clone(), peer: name.clone(), disk: Arc::clone(disk) };
            let parts = EndpointParts {
                transport: Arc::new(Wind { weather: weather.clone(), peer: name.clone() }),
                clock: Arc::<Time>::clone(&weather.time),
                journal: Box::new(journal),
                ports: vec![(port(), floats())],
                peers: ["a", "b", "c"].map(peer).to_vec(),
            };
            if let Ok(endpoint) = Endpoint::open(parts, CONFIG) {
                weather.with(|storm| storm.dead.remove(name));
                return endpoint;
            }
        }
    }

    /// Kills the peer at one of its next writes.
    fn curse(&self, dice: &mut Dice) {
        let mut disk = self.disk.lock().expect("one thread");
        disk.writes_to_live = Some(dice.roll(4));
        disk.last_is_kept = dice.one_in(2);
    }

    fn revive(&mut self) {
        if self.weather.with(|storm| storm.dead.contains(&self.name)) {
            self.endpoint = Self::open(&self.weather, &self.name, &self.disk);
        }
    }

    /// Program state: numbers of four bytes each.
    fn memory(&self) -> Vec<u32> {
        let memory = self.endpoint.memory();
        memory.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    /// Stores one more number, received or given, and sends it on.
    fn does(&self, own: Option<u32>, to: Option<&PeerId>, size: usize) -> Option<u32> {
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
        let value = value(number, size);
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

fn value(number: u32, size: usize) -> Datum {
    let mut values = vec![0.0_f32; size];
    values[0] = number as f32;
    Datum::Tensor(AnyTensor::from_slice(&[size], &values).expect("a small tensor"))
}

/// Sends numbers from `a` through `b` to `c`; each peer stores them, and all three are killed at random.
fn relay(seed: u64, count: u32, size: usize) -> BTreeMap<&'static str, usize> {
    let weather = Weather::new(seed);
    let mut dice = Dice(seed ^ 0xabcd);
    let [mut a, mut b, mut c] = ["a", "b", "c"].map(|name| Mortal::born(&weather, name));
    let short = Duration::from_millis(300);
    for step in 0.. {
        let is_over = step > 40 * count;
        if is_over {
            weather.with(|storm| {
                storm.is_over = true;
                storm.cut.clear();
            });
            for peer in [&a, &b, &c] {
                peer.disk.lock().expect("one thread").writes_to_live = None;
            }
        }
        match dice.roll(if is_over { 5 } else { 8 }) {
            0 => {
                let next = u32::try_from(a.memory().len()).expect("a small count");
                if next < count {
                    a.does(Some(next), Some(&b.name), size);
                }
            }
            1 => drop(a.endpoint.flush(short)),
            2 => drop(b.does(None, Some(&c.name), size)),
            3 => drop(b.endpoint.flush(short)),
            4 => drop(c.does(None, None, size)),
            5 => [&a, &b, &c][usize::try_from(dice.roll(3)).expect("an index")].curse(&mut dice),
            6 => weather.with(|storm| {
                let who = ["a", "b", "c"][usize::try_from(dice.roll(3)).expect("an index")];
                storm.cut.insert(peer(who));
            }),
            _ => weather.with(|storm| storm.cut.clear()),
        }
        [&mut a, &mut b, &mut c].into_iter().for_each(Mortal::revive);
        let is_done = |peer: &Mortal| peer.endpoint.pending() == 0 && peer.endpoint.held() == 0;
        if is_over && c.memory().len() >= count as usize && [&a, &b, &c].into_iter().all(is_done) {
            break;
        }
        assert!(step < 400 * count + 10_000, "seed {seed}: {:?} of {count} arrived", c.memory());
    }
    // Messages still in transit must be dropped on arrival.
    let late = weather.with(|storm| std::mem::take(&mut storm.late));
    for Late { from, to, request } in late {
        weather.deliver(&from, &to, &request);
    }
    for peer in [&a, &b, &c] {
        assert_eq!(peer.endpoint.held(), 0, "seed {seed}: a message was delivered twice");
        let mut memory = peer.memory();
        memory.sort_unstable();
        assert_eq!(memory, (0..count).collect::<Vec<_>>(), "seed {seed}: {:?}", peer.name);
    }
    weather.with(|storm| std::mem::take(&mut storm.happened))
}

#[test]
fn killed_peers_in_a_storm_lose_nothing_and_repeat_nothing() {
    let mut happened: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in 0..60 {
        for (what, often) in relay(seed, 12, 1) {
            *happened.entry(what).or_default() += often;
        }
    }
    println!("{happened:?}");
    let all = [
        "arrived late",
        "came again later",
        "came twice",
        "was cut off",
        "was delayed",
        "was killed",
        "was lost",
        "was not answered",
    ];
    assert_eq!(happened.keys().copied().collect::<Vec<_>>(), all);
    assert!(happened.values().all(|often| *often > 100), "the simulation had too few failures");
}

#[test]
fn compacted_journals_lose_nothing_and_repeat_nothing() {
    for seed in 0..2 {
        // Writes more than a megabyte to each journal, so that it is compacted during the test.
        relay(1000 + seed, 40, 8_000);
    }
}

#[test]
fn senders_without_state_repeat_nothing_and_get_correct_outcomes() {
    for seed in 0..40 {
        let weather = Weather::new(seed);
        let c = Mortal::born(&weather, "c");
        let (to, data, ty) = (peer("c"), port(), floats());
        let mut acknowledged = BTreeSet::new();
        let mut arrived = Vec::new();
        let take_all = |arrived: &mut Vec<u32>| {
            while let Some(number) = c.does(None, None, 1) {
                arrived.push(number);
            }
        };
        for life in 0..5_u32 {
            let parts = EndpointParts {
                transport: Arc::new(Wind { weather: weather.clone(), peer: peer("a") }),
                clock: Arc::<Time>::clone(&weather.time),
                journal: Box::new(NoJournal),
                ports: Vec::new(),
                peers: Vec::new(),
            };
            let a = Endpoint::open(parts, EndpointConfig { incarnation: u64::from(life), ..CONFIG })
                .expect("there is no journal that could fail");
            for message in 0..8 {
                let number = 100 * life + message;
                let value = value(number, 1);
                let outgoing = Outgoing { to: &to, port: &data, run: RunId(0), ty: &ty, value: &value };
                let before = weather.time.now();
                let timeout = Duration::from_millis(250);
                match a.send(&outgoing, timeout) {
                    Ok(_) => drop(acknowledged.insert(number)),
                    Err(SendError::Unconfirmed { .. }) => {}
                    Err(other) => panic!("seed {seed}: {other}"),
                }
                let took = weather.time.now() - before;
                assert!(took <= timeout, "seed {seed}: {took:?} is beyond the deadline");
                take_all(&mut arrived);
            }
        }
        for Late { from, to, request } in weather.with(|storm| std::mem::take(&mut storm.late)) {
            weather.deliver(&from, &to, &request);
            take_all(&mut arrived);
        }
        let distinct: BTreeSet<u32> = arrived.iter().copied().collect();
        assert_eq!(distinct.len(), arrived.len(), "seed {seed}: a message was delivered twice");
        assert!(acknowledged.is_subset(&distinct), "seed {seed}: an acknowledged message was lost");
        assert!(!acknowledged.is_empty());
    }
}
