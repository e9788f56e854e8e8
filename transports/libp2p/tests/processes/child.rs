//! Child processes that tests kill, and their journals.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use typeloom::PeerId;
use typeloom::run::host::{Durability, FileJournal, SystemClock};
use typeloom_libp2p::Identity;
use typeloom_tensor::datum::Datum;
use typeloom_wire::delivery::Wanted;
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::memory::LocalNetwork;

use super::{PATIENCE, port, tensors};

/// Any port on the loopback interface.
pub(crate) const LOOPBACK: &str = "/ip4/127.0.0.1/tcp/0";

/// Identity derived from a small number.
pub(crate) fn identity(secret: u8) -> Identity {
    Identity::from_secret([secret; 32]).expect("any 32 bytes are a secret")
}

/// Directory of a journal, removed after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("typeloom-libp2p-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    /// Stored numbers of a dead peer, and the values that it accepted and did not commit.
    pub(crate) fn memory(&self, secret: u8, partner: u8) -> (Vec<i64>, Vec<i64>) {
        let journal = FileJournal::open(&self.0.join("journal"), Durability::Process).expect("a journal");
        let endpoint = Endpoint::open(
            EndpointParts {
                transport: Arc::new(LocalNetwork::new().join(identity(secret).peer())),
                clock: Arc::new(SystemClock::new()),
                journal: Box::new(journal),
                ports: vec![(port(), tensors(typeloom::Dtype::I64))],
                peers: vec![identity(partner).peer()],
            },
            EndpointConfig::new(1),
        )
        .expect("the journal of this peer");
        let memory = endpoint.memory();
        let kept = memory.as_chunks::<8>().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        let mut held = Vec::new();
        let wanted = Wanted { port: port(), run: None };
        while let Ok(delivery) = endpoint.receive(&wanted, Duration::ZERO) {
            let Datum::Tensor(tensor) = delivery.accept().expect("the journal can be written") else {
                panic!("another value")
            };
            held.push(tensor.as_slice::<i64>().expect("a number")[0]);
        }
        (kept, held)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Peer in a separate process, killed when it is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    lines: Receiver<String>,
    secret: u8,
    /// Listening address.
    pub(crate) address: String,
}

impl Child {
    /// Starts a peer that stores the numbers from its partner.
    pub(crate) fn keep(folder: &Folder, secret: u8, listen: &str, partner: u8) -> Self {
        Self::start(folder, secret, listen, &[&partner.to_string(), "-", "to", "keep"])
    }

    /// Starts a peer that sends numbers to its partner.
    pub(crate) fn send(folder: &Folder, secret: u8, partner: u8, at: &str, count: u64) -> Self {
        let (partner, count) = (partner.to_string(), count.to_string());
        Self::start(folder, secret, LOOPBACK, &[&partner, at, "to", "send", &count])
    }

    fn start(folder: &Folder, secret: u8, listen: &str, rest: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_mortal-peer"))
            .arg(&folder.0)
            .args([&secret.to_string(), listen])
            .args(rest)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process can be started");
        let out = process.stdout.take().expect("its output is piped");
        let (said, lines) = channel();
        std::thread::spawn(move || {
            BufReader::new(out).lines().map_while(Result::ok).try_for_each(|line| said.send(line))
        });
        let mut child = Self { process, lines, secret, address: String::new() };
        let line = child.wait_for("listens ");
        child.address = line.trim_start_matches("listens ").to_owned();
        child
    }

    /// Waits for a line of output with a prefix.
    pub(crate) fn wait_for(&self, beginning: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|error| panic!("no `{beginning}`: {error}"));
            if line.starts_with(beginning) {
                return line;
            }
        }
    }

    pub(crate) fn peer(&self) -> PeerId {
        identity(self.secret).peer()
    }

    /// Kills the process immediately.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "{name} cannot be sent");
    }

    fn end(&mut self) {
        // SIGKILL: the process cannot run cleanup code.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}
