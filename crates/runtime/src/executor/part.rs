//! Parts of programs that run on several classes of peers.
//!
//! A program with sends is compiled into a function per class of peers. A [`Part`] is one of them, linked
//! with its components. It runs at an [`Endpoint`]: the module's own peer is [started](Part::run), the others
//! [answer](Part::serve) messages.
//!
//! # Semantics
//!
//! - A send goes to each of its peers once, even if the list repeats a peer.
//! - A receive waits for one message of each peer of the value's class that this run sent to. If the run sent
//!   nothing to that class, it waits for one peer, as for the message that started it. Steps that depend on
//!   the message run once per peer, in the order in which the run sent to the peers, regardless of the order
//!   of arrival.
//! - *Triggers join.* A step that depends on messages only through triggers runs once, after all of them:
//!   `contribute` runs per peer, and `aggregate` after the last contribution.
//! - A received bundle whose declared type has the digest of the port is not checked on receipt. Its children
//!   are checked where they are read: when they are unbundled, sent, passed to a component, or leave as an
//!   output.
//! - Nodes on one slot run in the order in which they were recorded.
//! - A step that depends on messages of several peers of two classes is an error of the run.
//!
//! Steps are ordered by the number of receives before them (`schedule`): all steps that need no message run
//! before the first receive, including sends; the steps that need one receive run before the second, and so
//! on. No part therefore waits for a value that another part sends only later.
//!
//! # Restarts
//!
//! A part that serves commits a message together with its answers: after a restart, either both are committed
//! or the message is delivered again. The state of components is not journaled.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use core::time::Duration;
use typeloom_compiler::artifact::Artifact;
use typeloom_program::declared::DeclaredType;
use typeloom_program::domain::Domain;
use typeloom_program::facts::Facts;
use typeloom_program::program::Program;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::peer::PeerId;
use typeloom_tensor::value_check::SymbolBindings;
use typeloom_tensor::value_type::{Element, ValueType};
use typeloom_wire::endpoint::Endpoint;
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::port::PortType;

use crate::components::Components;
use crate::error::{LinkError, NodeError, PrepareError, RunError};
use crate::execute::{MemoryPool, graph_failed};
use crate::named::Inputs;
use crate::options::{NO_EXTERNAL_DATA, RunLimits, Verify};
use crate::plan::{Plan, SlotId, WireValue};
use crate::prepare::{Linked, Preparation, Types, WireValues};
use crate::session::{Port, ports, take_inputs};

pub mod answers;

mod activation;
mod schedule;

use activation::{Activation, Output};
use answers::Request;
use schedule::received;

/// A class of peers that sends values to a part.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct ClassId(u16);

impl ClassId {
    fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A part of a program, linked with its components. Clones share everything.
#[derive(Clone)]
pub struct Part {
    program: String,
    name: String,
    plan: Arc<PartPlan>,
    memory: Arc<MemoryPool>,
    limits: RunLimits,
    /// Types of answers, by network output.
    answers: BTreeMap<String, PortType>,
}

struct PartPlan {
    body: Plan,
    /// For each step, the classes whose messages it depends on.
    origins: Vec<BTreeSet<ClassId>>,
    /// Triggers that depend on messages.
    joined: BTreeSet<SlotId>,
    /// The classes that send values of the program.
    classes: Vec<String>,
    inputs: Arc<[Port]>,
    outputs: Vec<String>,
}

impl PartPlan {
    fn class(&self, name: &str) -> Option<ClassId> {
        self.classes.iter().position(|class| class == name).and_then(|at| u16::try_from(at).ok()).map(ClassId)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part `{}` of `{}`", self.name, self.program)
    }
}

/// Result of a run of a part.
#[derive(Clone, Debug)]
pub struct PartOutcome {
    pub run: RunId,
    /// Sender of the message that started the run, if one did.
    pub from: Option<PeerId>,
    /// The outputs with a single value, in the order of the program.
    pub outputs: Vec<(String, Datum)>,
    /// The outputs with a value per peer.
    pub each: Vec<(String, Vec<(PeerId, Datum)>)>,
    /// The network outputs that the run sent, in order.
    pub requests: Vec<Request>,
    /// Values of the program's symbols.
    pub symbols: SymbolBindings,
    /// The peers of each class that the run sent to or received from.
    reached: BTreeMap<String, Vec<PeerId>>,
}

impl PartOutcome {
    /// An output with a single value, by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Datum> {
        self.outputs.iter().find(|(output, _)| output == name).map(|(_, value)| value)
    }
}

impl Part {
    /// Links the part of a class of peers with its components; `self` is the module's own peer.
    ///
    /// Only the slots that the part uses need a component.
    ///
    /// # Errors
    /// [`PrepareError`], as for [`Executor::new`](super::Executor::new).
    pub fn new(artifact: &Artifact, name: &str, components: &Components) -> Result<Self, PrepareError> {
        let Artifact { program, facts, .. } = artifact;
        let known = || program.parts.iter().map(|part| part.name().to_owned()).collect();
        let part = program.parts.iter().find(|part| part.name() == name);
        let part = part.ok_or_else(|| LinkError::NoPart { part: name.to_owned(), known: known() })?;
        super::check(artifact, components)?;
        let wires = wire_values(program, facts)?;
        let linked = Linked { components, wires: Some(&wires) };
        let preparation = Preparation::new(program, facts, Types::Stated, NO_EXTERNAL_DATA);
        let body = preparation.link(linked).part(part)?;
        let (inputs, _) = ports(&body, std::iter::empty());
        let outputs = part.outputs.iter().map(|output| program[*output].name.to_string()).collect();
        let plan = Arc::new(schedule::schedule(body, &wires, inputs, outputs));
        let (name, memory, limits) = (name.to_owned(), Arc::default(), RunLimits::default());
        let program = program.name().to_owned();
        Ok(Self { program, name, plan, memory, limits, answers: BTreeMap::new() })
    }

    /// The same part with other limits.
    #[must_use]
    pub fn with_limits(self, limits: RunLimits) -> Self {
        Self { limits, ..self }
    }

    /// The name of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The name of the part: its class of peers, or `self`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The ports at which the part receives values. Its endpoint has to accept them.
    #[must_use]
    pub fn ports(&self) -> Vec<(PortId, PortType)> {
        let receives = self.plan.body.written.steps.iter().filter_map(received);
        let values = receives.map(|wire| (wire.port.clone(), wire.ty.clone()));
        values.chain(self.answer_ports()).collect()
    }

    /// Runs the part on inputs by name. `run` identifies the run among those of the program, and is the same
    /// at all of its peers; `timeout` applies to the whole run.
    ///
    /// # Errors
    /// [`RunError`]; the part stays usable. Messages that were sent before the error remain sent.
    pub fn run(
        &self,
        endpoint: &Endpoint,
        run: RunId,
        inputs: impl Into<Inputs>,
        timeout: Duration,
        verify: Verify,
    ) -> Result<PartOutcome, RunError> {
        let mut activation = Activation::new(&self.plan, endpoint, timeout, verify, self.limits);
        activation.run = run;
        self.finish(activation, inputs.into(), None)
    }

    /// Waits for a message that starts the part, and runs it; `None` if no message arrives in time.
    ///
    /// # Errors
    /// [`RunError`]; the part stays usable. A message on which the part fails is not delivered again.
    pub fn serve(
        &self,
        endpoint: &Endpoint,
        timeout: Duration,
        verify: Verify,
    ) -> Result<Option<PartOutcome>, RunError> {
        let mut activation = Activation::new(&self.plan, endpoint, timeout, verify, self.limits);
        match activation.receive_first()? {
            None => Ok(None),
            Some(from) => self.finish(activation, Inputs::default(), Some(from)).map(Some),
        }
    }

    fn finish(
        &self,
        mut activation: Activation<'_>,
        inputs: Inputs,
        from: Option<PeerId>,
    ) -> Result<PartOutcome, RunError> {
        let values = take_inputs("program", &self.plan.inputs, inputs, activation.symbols())?;
        let run = self.memory.lend(|scratch| (activation.execute(values), scratch))?;
        let (mut outputs, mut each) = (Vec::new(), Vec::new());
        for (name, slot) in self.plan.outputs.iter().zip(&self.plan.body.outputs) {
            let ty = &self.plan.body.slot(*slot).ty;
            match activation.output(*slot) {
                Output::One(value) => {
                    check_bundle(name, &value, ty)?;
                    outputs.push((name.clone(), value));
                }
                Output::Each(values) => {
                    values.iter().try_for_each(|(_, value)| check_bundle(name, value, ty))?;
                    each.push((name.clone(), values));
                }
            }
        }
        let symbols = activation.symbols().clone();
        let Activation { requests, reached, .. } = activation;
        Ok(PartOutcome { run, from, outputs, each, requests, symbols, reached })
    }
}

/// Checks a bundle that leaves the program. A received one is not checked on receipt.
fn check_bundle(name: &str, value: &Datum, ty: &ValueType) -> Result<(), RunError> {
    if !matches!(ty.element, Element::Composite(_)) {
        return Ok(());
    }
    let wrong = |mismatch| graph_failed(NodeError::Mismatch { value: name.to_owned(), mismatch });
    SymbolBindings::default().check(value, ty).map_err(wrong)
}

/// The values on the wire of a program with their senders, receivers and types.
fn wire_values(program: &Program, facts: &Facts) -> Result<WireValues, LinkError> {
    let mut wires = WireValues::new();
    for part in &program.parts {
        for id in &part.nodes {
            let send = &program[*id];
            let wire = send.first_output().filter(|_| send.is(&Domain::Wire, "Send"));
            let Some(wire) = wire else { continue };
            let name = program[wire].name.to_string();
            let ty = facts.types.get(wire).cloned().unwrap_or_default();
            let ty = PortType::of_message(DeclaredType::from(&ty).message())
                .map_err(|error| LinkError::Wire { wire: name.clone(), error })?;
            let peer_class = facts.node_classes.get(*id).map(ToString::to_string).unwrap_or_default();
            let port = PortId { program: program.name().to_owned(), peer_class, wire: name };
            let net_out = facts.net_outs.get(*id).map(ToString::to_string);
            wires.insert(wire, WireValue { port, ty, from: part.class.to_string(), net_out });
        }
    }
    Ok(wires)
}
