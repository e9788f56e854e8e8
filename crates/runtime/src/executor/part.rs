//! Parts of programs that run on several classes of peers: what a part sends and receives, and in which order.
//!
//! A program with sends is compiled into a function for each class of peers. A [`Part`] is one of them, linked with the
//! components that it needs, and runs at an [`Endpoint`]: it is [started](Part::run) on the module's own side, and
//! [answers](Part::serve) what arrives on the others.
//!
//! # What a part means
//!
//! - A send goes to each of its peers once, however often the list names one.
//! - A receive waits for a message of each peer that this run sent to on the class that the value comes from; of one peer
//!   where this run sent nothing there, as for the message that started it. What depends on it runs once for each of them, in
//!   the order in which they were sent to, whatever the order of arrival.
//! - *Triggers join.* What depends on messages by triggers alone runs once, after all of them. So `contribute` runs for each
//!   peer, and `aggregate` after the last contribution.
//! - Nodes on one slot run in the order in which they were recorded.
//! - What depends on messages of several peers of two classes at once has no meaning, and is an error of the run.
//!
//! Everything that needs no message runs, and is sent, before the first message is waited for, and so on from message to message:
//! nodes are ordered by the number of receives before them. No part waits for what another one would only send later.
//!
//! # What is kept when a process is killed
//!
//! A part that serves takes a message from its mailbox together with what it sends in return: after a restart, either both happened or the
//! message is handed out again. What components have in memory is theirs to keep.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use core::time::Duration;
use typeloom_compiler::artifact::Artifact;
use typeloom_compiler::passes::partition::OWN;
use typeloom_contracts::peer_selector::PeerId;
use typeloom_module::names;
use typeloom_onnx::messages::FunctionProto;
use typeloom_types::tree::builtin::TYPE_TRIGGER;

use super::declared::Declared;
use super::error::{ExecuteError, LinkError};
use super::plan::{Data, Own};
use super::prepare::{Linked, string};
use crate::components::Components;
use crate::execute::Spare;
use crate::plan::{Action, Plan, SlotId, Step};
use crate::prepare::Preparation;
use crate::session::{Limits, Verify};
use typeloom_wire::datum::Datum;
use typeloom_wire::endpoint::Endpoint;
use typeloom_wire::envelope::{PortId, RunId};
use typeloom_wire::port::PortType;
use typeloom_wire::stamp::Symbols;

mod activation;

use activation::Activation;

/// A value on the wire, at either end.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// Where it arrives.
    pub(crate) port: PortId,
    pub(crate) ty: PortType,
    /// The class that it comes from.
    pub(crate) from: String,
}

/// The values on the wire of a program, by name.
pub(crate) type Wires = HashMap<String, Wire>;

/// A class of peers that a part hears from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ClassId(u16);

/// A part of a program with its components, ready to run. Clones share everything.
#[derive(Clone)]
pub struct Part {
    program: String,
    name: String,
    plan: Arc<PartPlan>,
    memory: Arc<Spare<Data>>,
    limits: Limits,
}

/// What is known of a part before it runs.
pub(crate) struct PartPlan {
    pub(crate) body: Plan<Data>,
    /// The classes whose messages a step needs, for each step.
    pub(crate) origins: Vec<BTreeSet<ClassId>>,
    /// Triggers that depend on messages.
    pub(crate) joined: BTreeSet<SlotId>,
    /// The classes that values on the wire come from.
    pub(crate) classes: Vec<String>,
    inputs: Vec<(String, Declared)>,
    outputs: Vec<String>,
}

impl PartPlan {
    pub(crate) fn class(&self, name: &str) -> Option<ClassId> {
        self.classes.iter().position(|class| class == name).and_then(|at| u16::try_from(at).ok()).map(ClassId)
    }
}

impl ClassId {
    pub(crate) fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part `{}` of `{}`", self.name, self.program)
    }
}

/// What a run of a part gives.
#[derive(Clone, Debug)]
pub struct PartOutcome {
    /// The run.
    pub run: RunId,
    /// Whose message started it; nothing where it was not started by one.
    pub from: Option<PeerId>,
    /// The outputs that there is one value of, in the order of the program.
    pub outputs: Vec<(String, Datum)>,
    /// The outputs that there is a value of for each peer.
    pub each: Vec<(String, Vec<(PeerId, Datum)>)>,
    /// What the symbols of the program stood for.
    pub symbols: Symbols,
}

impl PartOutcome {
    /// An output that there is one value of, by name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Datum> {
        self.outputs.iter().find(|(output, _)| output == name).map(|(_, value)| value)
    }
}

impl Part {
    /// Links the part of a class of peers with its components; `self` is the module's own side.
    ///
    /// Only the slots that the part uses need a component.
    ///
    /// # Errors
    /// [`LinkError`], as for [`Executor::new`](super::Executor::new).
    pub fn new(artifact: &Artifact, name: &str, components: &Components) -> Result<Self, LinkError> {
        let known = || artifact.parts().map(|part| part.name().to_owned()).collect();
        let part = artifact.parts().find(|part| part.name() == name);
        let part = part.ok_or_else(|| LinkError::NoPart { part: name.to_owned(), known: known() })?;
        super::check(artifact, components)?;
        let program = artifact
            .model
            .graph
            .as_ref()
            .map(typeloom_onnx::messages::GraphProto::name)
            .unwrap_or_default()
            .to_owned();
        let wires = wires(artifact, &program)?;
        let external = &|_: &_| Err("no other files are read".to_owned());
        let body = Preparation::new(&artifact.model, Linked { components, wires: Some(&wires) }, external)
            .part(part)?;
        let plan = plan(body, part, &wires);
        let (plan, memory, limits) = (Arc::new(plan), Arc::default(), Limits::default());
        Ok(Self { program, name: name.to_owned(), plan, memory, limits })
    }

    /// The same part, whose runs may do so much.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The program's name.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The part's name: its class of peers, or `self`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where values arrive at this part, with their types: what its endpoint has to take.
    #[must_use]
    pub fn ports(&self) -> Vec<(PortId, PortType)> {
        let receives = self.plan.body.written.steps.iter().filter_map(received);
        receives.map(|wire| (wire.port.clone(), wire.ty.clone())).collect()
    }

    /// Runs the part on inputs by name. `run` tells this run from others of the same program, and is the same at all of its
    /// peers; `timeout` is for all of it.
    ///
    /// # Errors
    /// [`ExecuteError`]; the part stays usable. What was sent by then was sent.
    pub fn run(
        &self,
        endpoint: &Endpoint,
        run: RunId,
        inputs: HashMap<String, Datum>,
        timeout: Duration,
        verify: Verify,
    ) -> Result<PartOutcome, ExecuteError> {
        let mut activation = Activation::new(&self.plan, endpoint, timeout, verify, self.limits);
        activation.run = run;
        self.finish(activation, inputs, None)
    }

    /// Waits for a message that starts the part, and runs it. Nothing where none arrives in time.
    ///
    /// # Errors
    /// [`ExecuteError`]; the part stays usable. A message on which the part fails is dealt with, and is not handed out again.
    pub fn serve(
        &self,
        endpoint: &Endpoint,
        timeout: Duration,
        verify: Verify,
    ) -> Result<Option<PartOutcome>, ExecuteError> {
        let mut activation = Activation::new(&self.plan, endpoint, timeout, verify, self.limits);
        match activation.first()? {
            None => Ok(None),
            Some(from) => self.finish(activation, HashMap::new(), Some(from)).map(Some),
        }
    }

    fn finish(
        &self,
        mut activation: Activation<'_>,
        mut inputs: HashMap<String, Datum>,
        from: Option<PeerId>,
    ) -> Result<PartOutcome, ExecuteError> {
        let mut given = Vec::with_capacity(self.plan.inputs.len());
        for (name, declared) in &self.plan.inputs {
            let missing = || ExecuteError::MissingInput { name: name.clone() };
            let value = inputs.remove(name).ok_or_else(missing)?;
            let wrong = |mismatch| ExecuteError::Input { name: name.clone(), mismatch };
            declared.check(&value, activation.symbols()).map_err(wrong)?;
            given.push(Some(declared.settled(value)));
        }
        if let Some(name) = inputs.into_keys().min() {
            return Err(ExecuteError::UnknownInput { name });
        }
        let run = self.memory.lend(|rooms| (activation.run(given), rooms))?;
        let (mut outputs, mut each) = (Vec::new(), Vec::new());
        for (name, slot) in self.plan.outputs.iter().zip(&self.plan.body.outputs) {
            match activation.output(*slot) {
                activation::Output::One(value) => outputs.push((name.clone(), value)),
                activation::Output::Each(values) => each.push((name.clone(), values)),
            }
        }
        Ok(PartOutcome { run, from, outputs, each, symbols: activation.symbols().clone() })
    }
}

/// The values on the wire of a program: which class sends each, which receives it, and its type.
fn wires(artifact: &Artifact, program: &str) -> Result<Wires, LinkError> {
    let mut wires = Wires::new();
    for part in artifact.parts() {
        let from = if part.name() == OWN { "" } else { part.name() };
        let sends =
            part.node.iter().filter(|node| node.domain() == names::WIRE_DOMAIN && node.op_type() == "Send");
        for send in sends {
            let Some(name) = string(send, "wire") else { continue };
            let ty = part.value_info.iter().find(|info| info.name() == name);
            let ty = ty.and_then(|info| info.r#type.clone()).unwrap_or_default();
            let ty = PortType::of(&ty).map_err(|error| LinkError::Wire { wire: name.to_owned(), error })?;
            let class = send.metadata_props.iter().find(|entry| entry.key() == names::PEER_CLASS);
            let peer_class = class.map(|entry| entry.value().to_owned()).unwrap_or_default();
            let port = PortId { program: program.to_owned(), peer_class, wire: name.to_owned() };
            wires.insert(name.to_owned(), Wire { port, ty, from: from.to_owned() });
        }
    }
    Ok(wires)
}

/// The value on the wire that a step takes.
fn received(step: &Step<Data>) -> Option<&Wire> {
    match &step.action {
        Action::Own(own) => match &**own {
            Own::Receive(wire) => Some(wire),
            _ => None,
        },
        _ => None,
    }
}

/// The value on the wire that a step gives.
fn sent(step: &Step<Data>) -> Option<&Wire> {
    match &step.action {
        Action::Own(own) => match &**own {
            Own::Send(wire) => Some(wire),
            _ => None,
        },
        _ => None,
    }
}

/// The slots that a step runs on, those of graphs and functions in it included.
fn slots_of(step: &Step<Data>) -> BTreeSet<&str> {
    let mut slots = BTreeSet::new();
    let mut open = vec![step];
    while let Some(step) = open.pop() {
        slots.extend(step.about.on.as_deref());
        open.extend(step.action.bodies().flat_map(|body| &body.written.steps));
        if let Action::Function(body) = &step.action {
            open.extend(&body.written.steps);
        }
    }
    slots
}

/// Orders the steps of a part, and says which messages each needs.
fn plan(mut body: Plan<Data>, part: &FunctionProto, wires: &Wires) -> PartPlan {
    let mut classes: Vec<String> = wires.values().map(|wire| wire.from.clone()).collect();
    classes.sort();
    classes.dedup();
    let mut plan = PartPlan {
        body: Plan::default(),
        origins: Vec::new(),
        joined: BTreeSet::new(),
        classes,
        inputs: Vec::new(),
        outputs: part.output.clone(),
    };
    let is_trigger =
        |slot: SlotId| body.slot(slot).proved.node.is_some_and(|node| node.id == TYPE_TRIGGER.id);
    let mut origin_of: HashMap<SlotId, BTreeSet<ClassId>> = HashMap::new();
    let mut depth_of: HashMap<SlotId, usize> = HashMap::new();
    let mut depth_on: HashMap<String, usize> = HashMap::new();
    let mut depth_sent: HashMap<String, usize> = HashMap::new();
    let mut order: Vec<(usize, BTreeSet<ClassId>)> = Vec::with_capacity(body.written.steps.len());
    for step in &body.written.steps {
        let mut depth = step.reads().filter_map(|slot| depth_of.get(&slot)).max().copied().unwrap_or(0);
        let mut origin: BTreeSet<ClassId> = step
            .reads()
            .filter(|slot| !is_trigger(*slot))
            .filter_map(|slot| origin_of.get(&slot))
            .flatten()
            .copied()
            .collect();
        if let Some(wire) = received(step) {
            depth = depth_sent.get(&wire.from).map_or(0, |sent| sent + 1);
            origin.extend(plan.class(&wire.from));
        }
        let slots = slots_of(step);
        depth = slots.iter().filter_map(|slot| depth_on.get(*slot)).copied().fold(depth, usize::max);
        for slot in slots {
            depth_on.insert(slot.to_owned(), depth);
        }
        if let Some(wire) = sent(step) {
            let sent = depth_sent.entry(wire.port.peer_class.clone()).or_default();
            *sent = (*sent).max(depth);
        }
        for slot in step.outputs.iter().flatten() {
            if is_trigger(*slot) && !origin.is_empty() {
                plan.joined.insert(*slot);
            }
            origin_of.insert(*slot, origin.clone());
            depth_of.insert(*slot, depth);
        }
        order.push((depth, origin));
    }
    let mut steps: Vec<(usize, BTreeSet<ClassId>, Step<Data>)> = std::mem::take(&mut body.written.steps)
        .into_iter()
        .zip(order)
        .map(|(step, (depth, origin))| (depth, origin, step))
        .collect();
    steps.sort_by_key(|(depth, ..)| *depth);
    for (_, origin, step) in steps {
        plan.origins.push(origin);
        body.written.steps.push(step);
    }
    let port = |slot: &SlotId| {
        let slot = body.slot(*slot);
        (slot.name.clone(), Declared::clone(&slot.proved))
    };
    plan.inputs = body.inputs.iter().map(port).collect();
    plan.body = body;
    plan
}
