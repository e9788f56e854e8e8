//! Peers that run parts of programs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use typeloom_compiler::artifact::Artifact;
use typeloom_runtime::components::Components;
use typeloom_runtime::error::{PrepareError, RunError};
use typeloom_runtime::executor::part::answers::{AnswerError, Request};
use typeloom_runtime::executor::part::{Part, PartOutcome};
use typeloom_runtime::named::Inputs;
use typeloom_runtime::options::Verify;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_wire::clock::Clock;
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::RunId;
use typeloom_wire::journal::{Journal, JournalError, MemoryJournal};
use typeloom_wire::memory::LocalNetwork;
use typeloom_wire::port::PortType;
use typeloom_wire::transport::Transport;

use super::host::{SystemClock, incarnation};

/// The time that a run of a part may take unless the program states another.
const DEADLINE: Duration = Duration::from_secs(60);

/// A peer of a network, which runs parts of programs.
///
/// ```
/// use typeloom::module::{Compiler, Graph, Module};
/// use typeloom::run::wire::LocalNetwork;
/// use typeloom::run::{Components, Peer, inputs};
///
/// struct Remote;
///
/// impl Module for Remote {
///     fn name(&self) -> &str {
///         "remote"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let (x, workers) = (g.input("x").of("float[N]"), g.input("workers"));
///         let (received, _) = g.send(&x, &workers);
///         g.output("y", received.neg());
///     }
/// }
///
/// let (artifact, components) = (Compiler::new().compile(Remote)?, Components::new());
/// let network = LocalNetwork::new();
/// let home = Peer::open(&network, "home")?.part(&artifact, "self", &components)?;
/// let worker = Peer::open(&network, "worker")?.part(&artifact, "workers", &components)?;
///
/// home.run(inputs! { "x" => [1.0, 2.0], "workers" => ["worker"] })?;
/// let outcome = worker.serve()?.ok_or("nothing arrived")?;
/// assert_eq!(outcome.get("y"), Some(&[-1.0_f32, -2.0].into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Peer {
    endpoint: Endpoint,
}

impl Peer {
    /// Opens a peer of a network inside of this process: its clock is that of the machine, its journal is in
    /// memory, and it accepts the messages of all peers of the network. [`Peer::over`] has options. If two peers
    /// of a network have one name, the messages for it arrive at the peer that was opened last.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(network: &LocalNetwork, name: impl Into<PeerId>) -> Result<Self, JournalError> {
        let peer = Self::over(Arc::new(network.join(name))).open()?;
        peer.endpoint.accept_all();
        Ok(peer)
    }

    /// Options of a peer whose messages a transport delivers. It accepts messages of the peers that
    /// [`PeerOptions::accept`] names.
    #[must_use]
    pub fn over(transport: Arc<dyn Transport>) -> PeerOptions {
        PeerOptions {
            parts: EndpointParts {
                transport,
                clock: Arc::new(SystemClock::new()),
                journal: Box::new(MemoryJournal::new()),
                ports: Vec::new(),
                peers: Vec::new(),
            },
            config: EndpointConfig::new(incarnation()),
        }
    }

    /// The id of the peer.
    #[must_use]
    pub fn id(&self) -> &PeerId {
        self.endpoint.peer()
    }

    /// The outbox and mailbox of the peer.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Links the part of a class of peers, or `self`, with the components of its slots. A peer can run
    /// several parts.
    ///
    /// # Errors
    /// [`PrepareError`].
    pub fn part(
        &self,
        artifact: &Artifact,
        class: &str,
        components: &Components,
    ) -> Result<PeerPart, PrepareError> {
        let part = Part::new(artifact, class, components)?;
        let (endpoint, first) = (self.endpoint.clone(), AtomicU64::new(incarnation()));
        let part =
            PeerPart { part, endpoint, deadline: DEADLINE, verify: Verify::Inputs, next: first.into() };
        part.open_ports();
        Ok(part)
    }
}

/// Options of a [`Peer`].
///
/// ```
/// use std::sync::Arc;
/// use typeloom::run::Peer;
/// use typeloom::run::host::{Durability, FileJournal};
/// use typeloom::run::wire::{EndpointConfig, LocalNetwork};
///
/// let path = std::env::temp_dir().join(format!("typeloom-peer-{}", std::process::id()));
/// let network = LocalNetwork::new();
/// let peer = Peer::over(Arc::new(network.join("home")))
///     .accept(["worker"])
///     .with_journal(FileJournal::open(&path, Durability::Process)?)
///     .with_config(EndpointConfig::new(1))
///     .open()?;
/// assert_eq!(peer.id().to_string(), "home");
/// # drop(peer);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PeerOptions {
    parts: EndpointParts,
    config: EndpointConfig,
}

impl fmt::Debug for PeerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { parts, config } = self;
        f.debug_struct("PeerOptions")
            .field("accepts", &parts.peers)
            .field("config", config)
            .finish_non_exhaustive()
    }
}

impl PeerOptions {
    /// Accepts messages of these peers, in addition to those that were named before.
    #[must_use]
    pub fn accept<P: Into<PeerId>>(mut self, peers: impl IntoIterator<Item = P>) -> Self {
        self.parts.peers.extend(peers.into_iter().map(Into::into));
        self
    }

    /// Uses another clock than that of the machine.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Clock + 'static) -> Self {
        self.parts.clock = Arc::new(clock);
        self
    }

    /// Keeps messages in a journal, for example a [`FileJournal`](super::host::FileJournal). Without one,
    /// messages are lost when the process ends.
    #[must_use]
    pub fn with_journal(mut self, journal: impl Journal + 'static) -> Self {
        self.parts.journal = Box::new(journal);
        self
    }

    /// Replaces the limits, the timing of attempts, and the incarnation, which is the time in nanoseconds
    /// otherwise.
    #[must_use]
    pub fn with_config(mut self, config: EndpointConfig) -> Self {
        self.config = config;
        self
    }

    /// Opens the peer, with the messages in its journal.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn open(self) -> Result<Peer, JournalError> {
        Ok(Peer { endpoint: Endpoint::open(self.parts, self.config)? })
    }
}

/// A part of a program at a [`Peer`]. Clones share everything.
#[derive(Clone, Debug)]
pub struct PeerPart {
    part: Part,
    endpoint: Endpoint,
    deadline: Duration,
    verify: Verify,
    /// The number of the next run.
    next: Arc<AtomicU64>,
}

impl PeerPart {
    /// Limits the duration of each run, and of each wait for a message: a minute otherwise.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self { deadline, ..self }
    }

    /// Checks other values than the inputs.
    #[must_use]
    pub fn with_verify(self, verify: Verify) -> Self {
        Self { verify, ..self }
    }

    /// Declares the type of answers to a network output, as [`Part::with_answer`].
    ///
    /// # Errors
    /// [`AnswerError::NoOutput`].
    pub fn with_answer(self, output: &str, ty: PortType) -> Result<Self, AnswerError> {
        let part = Self { part: self.part.with_answer(output, ty)?, ..self };
        part.open_ports();
        Ok(part)
    }

    /// Runs the part on inputs by name, as a new run.
    ///
    /// # Errors
    /// [`RunError`]; the part stays usable.
    pub fn run(&self, inputs: impl Into<Inputs>) -> Result<PartOutcome, RunError> {
        let run = RunId(self.next.fetch_add(1, Ordering::Relaxed));
        self.part.run(&self.endpoint, run, inputs, self.deadline, self.verify)
    }

    /// Waits for a message that starts the part, and runs it; `None` if none arrives before the deadline.
    ///
    /// # Errors
    /// [`RunError`]; the part stays usable. A message on which the part fails is not delivered again.
    pub fn serve(&self) -> Result<Option<PartOutcome>, RunError> {
        self.part.serve(&self.endpoint, self.deadline, self.verify)
    }

    /// Answers a network output that a run of this part received.
    ///
    /// # Errors
    /// [`AnswerError`].
    pub fn answer(
        &self,
        outcome: &PartOutcome,
        output: &str,
        value: impl Into<Datum>,
    ) -> Result<(), AnswerError> {
        self.part.answer(&self.endpoint, outcome, output, &value.into(), self.deadline)
    }

    /// Waits until every peer of a request has answered: the answers by peer.
    ///
    /// # Errors
    /// [`AnswerError`].
    pub fn await_answers(&self, request: &Request) -> Result<BTreeMap<PeerId, Datum>, AnswerError> {
        let answers = self.part.await_answers(&self.endpoint, request, self.deadline)?;
        Ok(answers.into_iter().collect())
    }

    /// The part without its peer.
    #[must_use]
    pub fn part(&self) -> &Part {
        &self.part
    }

    fn open_ports(&self) {
        for (port, ty) in self.part.ports() {
            self.endpoint.add_port(port, ty);
        }
    }
}
