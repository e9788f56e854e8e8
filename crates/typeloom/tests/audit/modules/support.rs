//! Helpers: modules from functions, errors, and programs on two peers.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use typeloom as bb;
use typeloom::module::{Artifact, Graph, Module, PeerId};
use typeloom::run::host::SystemClock;
use typeloom::run::wire::PartOutcome;
use typeloom::run::wire::{Endpoint, EndpointConfig, EndpointParts, LocalNetwork, MemoryJournal, RunId};
use typeloom::run::{Components, Datum, Executor, Part, Verify};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The wait for a message that arrives, also on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A module whose body is a function.
pub(crate) struct Body(pub(crate) &'static str, pub(crate) fn(&mut Graph));

impl Module for Body {
    fn name(&self) -> &str {
        self.0
    }

    fn body(&self, g: &mut Graph) {
        (self.1)(g);
    }
}

/// An error of a component.
#[derive(Debug)]
pub(crate) struct Failed(pub(crate) String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

pub(crate) fn peer(name: &str) -> PeerId {
    PeerId(name.as_bytes().to_vec())
}

pub(crate) fn named<const N: usize>(inputs: [(&str, Datum); N]) -> HashMap<String, Datum> {
    inputs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Compiles, links and runs a program without components.
pub(crate) fn run<const N: usize>(
    artifact: &Artifact,
    inputs: [(&str, Datum); N],
) -> Result<bb::run::RunOutcome, Box<dyn std::error::Error>> {
    Ok(Executor::new(artifact, &Components::new())?.run(named(inputs), Verify::EveryValue)?)
}

/// The parts of a program at two peers, `home` and `there`.
pub(crate) struct Pair {
    pub(crate) own: Part,
    pub(crate) other: Part,
    pub(crate) home: Endpoint,
    pub(crate) there: Endpoint,
}

impl Pair {
    pub(crate) fn new(
        artifact: &Artifact,
        class: &str,
        own: &Components,
        other: &Components,
    ) -> Result<Self, Box<dyn std::error::Error>> {
        Self::of(Part::new(artifact, "self", own)?, Part::new(artifact, class, other)?)
    }

    pub(crate) fn of(own: Part, other: Part) -> Result<Self, Box<dyn std::error::Error>> {
        let network = LocalNetwork::new();
        let (home, there) = (endpoint(&network, "home", &own)?, endpoint(&network, "there", &other)?);
        Ok(Self { own, other, home, there })
    }

    /// Runs the program once; the outcomes of both peers.
    pub(crate) fn run<const N: usize>(
        &self,
        inputs: [(&str, Datum); N],
    ) -> Result<(PartOutcome, PartOutcome), Box<dyn std::error::Error>> {
        std::thread::scope(|scope| {
            let served = scope.spawn(|| self.other.serve(&self.there, LONG, Verify::EveryValue));
            let outcome = self.own.run(&self.home, RunId(1), named(inputs), LONG, Verify::EveryValue)?;
            let served = served.join().map_err(|_| "the peer panicked")??;
            Ok((outcome, served.ok_or("nothing arrived")?))
        })
    }
}

pub(crate) fn endpoint(
    network: &LocalNetwork,
    name: &str,
    part: &Part,
) -> Result<Endpoint, Box<dyn std::error::Error>> {
    let parts = EndpointParts {
        transport: Arc::new(network.join(peer(name))),
        clock: Arc::new(SystemClock::new()),
        journal: Box::new(MemoryJournal::new()),
        ports: part.ports(),
        peers: ["home", "there", "second"].map(peer).to_vec(),
    };
    Ok(Endpoint::open(parts, EndpointConfig::new(1))?)
}
