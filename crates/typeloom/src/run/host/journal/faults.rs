//! Fault injection into the storage of a journal: at every write, change of the length and synchronisation.
//!
//! Two peers exchange numbers. An operation of the storage of one of them fails, or ends the machine; then
//! the peer is reopened from the bytes that survive. Each number must have the effects of exactly one
//! delivery at each peer.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use redb::StorageBackend;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_testing::number;
use typeloom_wire::clock::Clock;
use typeloom_wire::delivery::{Effects, Wanted};
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::journal::{Change, Journal as _};
use typeloom_wire::memory::LocalNetwork;
use typeloom_wire::port::PortType;
use typeloom_wire::send::Outgoing;

use super::{Durability, FileJournal, OpenJournalError};

/// Deterministic pseudorandom numbers (SplitMix64).
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % sides as u64).expect("less than a `usize`")
    }
}

/// Error of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    /// The operation fails and has no effect; later ones succeed.
    Error,
    /// A part of the bytes is written, and the operation fails; later ones succeed.
    PartAndError,
    /// The machine ends. No operation since the last synchronisation has an effect.
    PowerLoss,
    /// The machine ends. Some operations since the last synchronisation have an effect, some of them on a
    /// part of their bytes.
    PowerLossWithSome(u64),
}

#[derive(Clone, Debug)]
enum Operation {
    Write(usize, Vec<u8>),
    SetLen(usize),
}

impl Operation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(at, data) => {
                let end = at + data.len();
                bytes.resize(end.max(bytes.len()), 0);
                bytes[*at..end].copy_from_slice(data);
            }
            Self::SetLen(len) => bytes.resize(*len, 0),
        }
    }
}

/// Content of a disk.
#[derive(Debug, Default)]
struct Platter {
    /// Bytes that survive a power loss.
    durable: Vec<u8>,
    unsynced: Vec<Operation>,
    /// Bytes that the process reads: the durable ones after the operations.
    present: Vec<u8>,
    operations: usize,
    /// Index of the operation that fails, and its error.
    planned: Option<(usize, Fault)>,
    failed: Option<Fault>,
    is_off: bool,
}

#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<Platter>>);

impl Disk {
    fn of(bytes: Vec<u8>) -> Self {
        let platter = Platter { durable: bytes.clone(), present: bytes, ..Platter::default() };
        Self(Arc::new(Mutex::new(platter)))
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().expect("one thread")
    }

    fn open(&self) -> Result<FileJournal, OpenJournalError> {
        // Without slack, so that compactions are a part of the tests.
        FileJournal::on(self.clone(), Path::new("disk"), Durability::Machine, 0)
    }

    /// Prepares the surviving bytes for the next process.
    fn restart(&self) {
        let mut platter = self.platter();
        platter.is_off = false;
        let unsynced = std::mem::take(&mut platter.unsynced);
        let mut bytes = platter.durable.clone();
        match platter.failed.take() {
            Some(Fault::PowerLoss) => {}
            Some(Fault::PowerLossWithSome(seed)) => survive(&mut bytes, unsynced, &mut Dice(seed)),
            Some(Fault::Error | Fault::PartAndError) | None => bytes = platter.present.clone(),
        }
        platter.durable = bytes.clone();
        platter.present = bytes;
    }
}

/// Applies some of the operations, some of them in part.
fn survive(bytes: &mut Vec<u8>, operations: Vec<Operation>, dice: &mut Dice) {
    for operation in operations {
        match (operation, dice.roll(3)) {
            (_, 0) => {}
            (Operation::Write(at, data), 1) => {
                let end = dice.roll(data.len() + 1);
                Operation::Write(at, data[..end].to_vec()).apply(bytes);
            }
            (operation, _) => operation.apply(bytes),
        }
    }
}

impl Platter {
    /// Counts an operation. The error is that of this operation, or `None` after the end of the machine.
    fn begin(&mut self) -> Result<(), Option<Fault>> {
        if self.is_off {
            return Err(None);
        }
        let at = self.operations;
        self.operations += 1;
        match self.planned {
            Some((planned, fault)) if planned == at => {
                self.failed = Some(fault);
                self.is_off = !matches!(fault, Fault::Error | Fault::PartAndError);
                // The operation that the machine ends in can have an effect too.
                Err(Some(fault))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn change(&mut self, operation: Operation) -> io::Result<()> {
        let failed = Err(io::Error::other("injected"));
        match (self.begin(), operation) {
            (Ok(()), operation) => {
                operation.apply(&mut self.present);
                self.unsynced.push(operation);
                Ok(())
            }
            (Err(Some(Fault::PartAndError)), Operation::Write(at, mut data)) => {
                data.truncate(data.len() / 2);
                let part = Operation::Write(at, data);
                part.apply(&mut self.present);
                self.unsynced.push(part);
                failed
            }
            (Err(Some(Fault::PowerLossWithSome(_))), operation) => {
                self.unsynced.push(operation);
                failed
            }
            (Err(_), _) => failed,
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter().present.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.platter();
        let bytes = usize::try_from(offset).ok().and_then(|at| platter.present.get(at..at + out.len()));
        let bytes = bytes.ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.platter().change(Operation::SetLen(usize::try_from(len).expect("a small file")))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.platter();
        platter.begin().map_err(|_| io::Error::other("injected"))?;
        let Platter { durable, unsynced, .. } = &mut *platter;
        unsynced.drain(..).for_each(|operation| operation.apply(durable));
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let at = usize::try_from(offset).expect("a small file");
        self.platter().change(Operation::Write(at, data.to_vec()))
    }
}

/// Simulated time that advances in `sleep`.
#[derive(Default)]
struct Passing(Mutex<Duration>);

impl Clock for Passing {
    fn now(&self) -> Duration {
        *self.0.lock().expect("one thread")
    }

    fn sleep(&self, time: Duration) {
        *self.0.lock().expect("one thread") += time;
    }
}

fn port() -> PortId {
    PortId { program: "m".to_owned(), peer_class: String::new(), wire: "number".to_owned() }
}

fn numbers() -> PortType {
    use typeloom_onnx::messages::{TypeProto, type_proto};
    let tensor = type_proto::Tensor { elem_type: Some(2), ..type_proto::Tensor::default() };
    let value = Some(type_proto::Value::TensorType(tensor));
    PortType::of_message(&TypeProto { value, ..TypeProto::default() }).expect("a type of values on the wire")
}

/// Numbers that `a` sends.
const COUNT: u8 = 1;

/// A peer with its disk. Its state: the number of posted numbers, and the received numbers.
struct Peer {
    network: LocalNetwork,
    name: &'static str,
    disk: Disk,
    endpoint: Option<Endpoint>,
}

impl Peer {
    fn id(name: &str) -> PeerId {
        PeerId(name.as_bytes().to_vec())
    }

    /// The endpoint, reopened if the disk has failed since the last call.
    fn endpoint(&mut self) -> &Endpoint {
        if self.disk.platter().failed.is_some() {
            self.endpoint = None;
            self.disk.restart();
        }
        let opened = self.endpoint.take().or_else(|| self.open()).or_else(|| {
            self.disk.restart();
            self.open()
        });
        self.endpoint.insert(opened.expect("the disk fails once"))
    }

    fn open(&self) -> Option<Endpoint> {
        let parts = EndpointParts {
            transport: Arc::new(self.network.join(Self::id(self.name))),
            clock: Arc::new(Passing::default()),
            journal: Box::new(match self.disk.open() {
                Ok(journal) => journal,
                Err(error) => {
                    assert!(self.disk.platter().failed.is_some(), "without an error of the disk: {error}");
                    return None;
                }
            }),
            ports: vec![(port(), numbers())],
            peers: vec![Self::id("a"), Self::id("b")],
        };
        Endpoint::open(parts, EndpointConfig::new(1)).ok()
    }

    fn state(&mut self) -> Vec<u8> {
        let state = self.endpoint().memory();
        if state.is_empty() { vec![0] } else { state }
    }

    fn flush(&mut self) {
        let _ = self.endpoint().flush(Duration::from_millis(50));
    }

    fn post(&mut self, to: &str) {
        let mut state = self.state();
        let (to, port, ty) = (Self::id(to), port(), numbers());
        let value = Datum::Tensor(AnyTensor::from_scalar(state[0]));
        state[0] += 1;
        let post = Outgoing { to: &to, port: &port, run: RunId(0), ty: &ty, value: &value };
        let _ = self.endpoint().record(&Effects { memory: Some(&state), posts: &[post] });
    }

    /// Receives a number and sends it on.
    fn receive(&mut self, on: Option<&str>) {
        let mut state = self.state();
        let wanted = Wanted { port: port(), run: None };
        let Ok(delivery) = self.endpoint().receive(&wanted, Duration::ZERO) else { return };
        let value = delivery.value().clone();
        let Datum::Tensor(tensor) = &value else { panic!("another value: {value:?}") };
        state.push(tensor.as_slice::<u8>().expect("a number")[0]);
        let (port, ty, to) = (port(), numbers(), on.map(Self::id));
        let post = |to| Outgoing { to, port: &port, run: RunId(0), ty: &ty, value: &value };
        let posts: Vec<Outgoing<'_>> = to.iter().map(post).collect();
        let _ = delivery.commit(&Effects { memory: Some(&state), posts: &posts });
    }

    fn is_idle(&mut self) -> bool {
        let endpoint = self.endpoint();
        endpoint.pending() == 0 && endpoint.held() == 0
    }
}

/// Sends numbers from `a` to `b` and back. Returns the number of operations of each disk.
fn exchange(disks: [Disk; 2], context: &dyn std::fmt::Debug) -> [usize; 2] {
    let network = LocalNetwork::new();
    let [mut a, mut b] = [("a", &disks[0]), ("b", &disks[1])].map(|(name, disk)| Peer {
        network: network.clone(),
        name,
        disk: disk.clone(),
        endpoint: None,
    });
    b.endpoint();
    for round in 0.. {
        if a.state()[0] < COUNT {
            a.post("b");
        }
        a.flush();
        b.receive(Some("a"));
        b.flush();
        a.receive(None);
        if round == 0 {
            // A process that ends without an error.
            for peer in [&mut a, &mut b] {
                peer.endpoint = None;
            }
        }
        if a.state().len() > usize::from(COUNT) && a.is_idle() && b.is_idle() {
            break;
        }
        assert!(round < 20, "{context:?}: {:?} and {:?}", a.state(), b.state());
    }
    let received: Vec<u8> = (0..COUNT).collect();
    assert_eq!(a.state(), [&[COUNT], received.as_slice()].concat(), "{context:?}: state of `a`");
    assert_eq!(b.state(), [&[0], received.as_slice()].concat(), "{context:?}: state of `b`");
    drop((a, b));
    disks.map(|disk| disk.platter().operations)
}

fn exchange_with(fault: impl Fn(usize) -> Fault) {
    let operations = exchange([Disk::default(), Disk::default()], &"without errors");
    println!("{operations:?} operations");
    for (which, count) in operations.into_iter().enumerate() {
        assert!(count > 50, "the test has too few operations");
        for at in (0..count).step_by(number(29, 1)) {
            let disks = [Disk::default(), Disk::default()];
            disks[which].platter().planned = Some((at, fault(at)));
            exchange(disks, &(which, at, fault(at)));
        }
    }
}

#[test]
fn an_error_of_any_operation_loses_nothing_and_repeats_nothing() {
    exchange_with(|_| Fault::Error);
}

#[test]
fn a_part_of_any_write_loses_nothing_and_repeats_nothing() {
    exchange_with(|_| Fault::PartAndError);
}

#[test]
fn a_power_loss_at_any_operation_loses_nothing_and_repeats_nothing() {
    exchange_with(|_| Fault::PowerLoss);
}

#[test]
fn a_power_loss_with_torn_and_reordered_writes_loses_nothing_and_repeats_nothing() {
    for seed in 0..number(1, 2) {
        exchange_with(|at| Fault::PowerLossWithSome(seed * 1000 + at as u64));
    }
}

/// Keys and values.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A journal with some entries, and its bytes while it is open and after it was closed.
fn written() -> (Entries, [Vec<u8>; 2]) {
    let disk = Disk::default();
    let mut journal = disk.open().expect("a new journal");
    let mut entries = Vec::new();
    for number in 0..40_u8 {
        let (key, value) = (vec![number, 1], vec![number; 30 * usize::from(number)]);
        let changes = [
            Change { key: key.clone(), value: Some(value.clone().into()) },
            Change { key: vec![number.wrapping_sub(20), 1], value: None },
        ];
        journal.write(&changes).expect("the disk has no error");
        if number >= 20 {
            entries.push((key, value));
        }
    }
    let open = disk.platter().present.clone();
    drop(journal);
    let closed = disk.platter().present.clone();
    (entries, [open, closed])
}

fn entries(journal: &FileJournal) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let last = entries.last().map_or(&[][..], |(key, _)| key.as_slice());
        let Some((key, value)) = journal.next(last).expect("the disk has no error") else { return entries };
        entries.push((key, value.to_vec()));
    }
}

/// Opens damaged bytes: the entries are complete, or there is an error and the bytes are not changed.
fn damaged(bytes: Vec<u8>, expected: &[(Vec<u8>, Vec<u8>)], context: &dyn std::fmt::Debug) -> bool {
    let disk = Disk::of(bytes.clone());
    match disk.open() {
        Ok(journal) => {
            assert_eq!(entries(&journal), expected, "{context:?}");
            false
        }
        Err(error) => {
            assert!(!matches!(error, OpenJournalError::Io { .. }), "{context:?}: {error}");
            assert!(disk.platter().present == bytes, "{context:?}: the file was changed");
            true
        }
    }
}

#[test]
fn damage_is_an_error_that_changes_no_byte() {
    let (expected, images) = written();
    let mut refused = 0;
    for (kind, bytes) in images.into_iter().enumerate() {
        let mut dice = Dice(7);
        let header = (0..320).step_by(number(7, 1)).map(|at| (at, 1 << (at % 8)));
        let god = (0..8).map(|bit| (9, 1 << bit));
        let others: Vec<(usize, u8)> =
            (0..number(40, 600)).map(|_| (dice.roll(bytes.len()), 1 << dice.roll(8))).collect();
        for (at, bit) in header.chain(god).chain(others) {
            let mut flipped = bytes.clone();
            flipped[at] ^= bit;
            refused += usize::from(damaged(flipped, &expected, &(kind, at, bit)));
        }
        for _ in 0..number(20, 200) {
            let end = dice.roll(bytes.len());
            refused += usize::from(damaged(bytes[..end].to_vec(), &expected, &(kind, "cut", end)));
        }
        for page in 0..bytes.len() / 4096 {
            let mut zeroed = bytes.clone();
            zeroed[page * 4096..][..4096].fill(0);
            refused += usize::from(damaged(zeroed, &expected, &(kind, "zeroed", page)));
        }
    }
    assert!(refused > number(60, 300), "{refused}");
}
