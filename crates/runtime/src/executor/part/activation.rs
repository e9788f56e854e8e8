//! One run of a part.
//!
//! A value that depends on messages is stored with its *context*: the peer of each class that it depends on.
//! A step runs once per context and reads the values with compatible contexts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use core::time::Duration;
use typeloom_tensor::datum::{Datum, WireReqId};
use typeloom_tensor::peer::PeerId;
use typeloom_tensor::value_check::SymbolBindings;
use typeloom_wire::delivery::{Delivery, Effects, ReceiveError, Wanted};
use typeloom_wire::endpoint::Endpoint;
use typeloom_wire::envelope::RunId;
use typeloom_wire::send::{Outgoing, PostsSent};

use super::answers::Request;
use super::schedule::{received, sent};
use super::{ClassId, PartPlan};
use crate::error::{ComponentError, NodeError, RunError, WireError};
use crate::execute::{Frame, Run, node_failed};
use crate::options::{RunLimits, Verify};
use crate::plan::{PlanStep, SlotId, WireValue};

/// The peer of each class that a value depends on.
type Context = BTreeMap<ClassId, PeerId>;

/// An answer, sent when the messages that it depends on are committed.
struct Post<'a> {
    step: &'a PlanStep,
    wire: &'a WireValue,
    to: PeerId,
    value: Datum,
}

/// An output of a part.
pub(super) enum Output {
    One(Datum),
    Each(Vec<(PeerId, Datum)>),
}

/// A run of a part.
pub(super) struct Activation<'a> {
    plan: &'a PartPlan,
    endpoint: &'a Endpoint,
    timeout: Duration,
    deadline: Duration,
    pub(super) run: RunId,
    exec: Run<'static>,
    /// Values that depend on no message, and the operands of the current step.
    frame: Frame<'a>,
    /// Values that depend on messages, in the order of the peers.
    values: HashMap<SlotId, Vec<(Context, Datum)>>,
    symbols: HashMap<Context, SymbolBindings>,
    /// The peers of each class, by name, that this run sent to or received from.
    pub(super) reached: BTreeMap<String, Vec<PeerId>>,
    /// The message that started the run, until a receive takes it.
    started: Option<Delivery>,
    /// Whether a message started the run. Then answers are committed together with the messages.
    serves: bool,
    /// Messages to commit together with `posts`.
    uncommitted: Vec<Delivery>,
    posts: Vec<Post<'a>>,
    sent: u64,
    /// The network outputs that were sent.
    pub(super) requests: Vec<Request>,
}

impl<'a> Activation<'a> {
    pub(super) fn new(
        plan: &'a PartPlan,
        endpoint: &'a Endpoint,
        timeout: Duration,
        verify: Verify,
        limits: RunLimits,
    ) -> Self {
        Self {
            plan,
            endpoint,
            timeout,
            deadline: endpoint.now().saturating_add(timeout),
            run: RunId::default(),
            exec: Run::new(verify, SymbolBindings::default(), limits, None),
            frame: Frame::empty(&plan.body.written),
            values: HashMap::new(),
            symbols: HashMap::new(),
            reached: BTreeMap::new(),
            started: None,
            serves: false,
            uncommitted: Vec::new(),
            posts: Vec::new(),
            sent: 0,
            requests: Vec::new(),
        }
    }

    pub(super) fn symbols(&mut self) -> &mut SymbolBindings {
        &mut self.exec.symbols
    }

    fn time_left(&self) -> Duration {
        self.deadline.saturating_sub(self.endpoint.now())
    }

    /// Waits for the message that starts the part, and returns its sender; `None` if no message arrives in
    /// time.
    pub(super) fn receive_first(&mut self) -> Result<Option<PeerId>, RunError> {
        let mut receives =
            self.plan.body.written.steps.iter().filter_map(|step| Some((step, received(step)?)));
        let Some((step, wire)) = receives.next() else { return Err(RunError::NeverStarts) };
        let wanted = Wanted { port: wire.port.clone(), run: None };
        match self.endpoint.receive(&wanted, self.timeout) {
            Err(ReceiveError::Timeout { .. }) => Ok(None),
            Err(error @ (ReceiveError::UnknownPort { .. } | ReceiveError::Journal(_))) => {
                Err(node_failed(&step.info, WireError::Receive(error)))
            }
            Ok(delivery) => {
                let from = delivery.sender().clone();
                self.run = delivery.run();
                self.reached.insert(wire.from.clone(), vec![from.clone()]);
                self.started = Some(delivery);
                self.serves = true;
                self.deadline = self.endpoint.now().saturating_add(self.timeout);
                Ok(Some(from))
            }
        }
    }

    /// Runs the part.
    pub(super) fn execute(&mut self, inputs: Vec<Option<Datum>>) -> Result<RunId, RunError> {
        self.frame = Run::frame(&self.plan.body, inputs, Vec::new())?;
        let result = self.steps().and_then(|()| self.commit());
        if result.is_err() {
            // The part would fail again on the same messages.
            for delivery in self.started.take().into_iter().chain(self.uncommitted.drain(..)) {
                drop(delivery.accept());
            }
        }
        result.map(|()| self.run)
    }

    fn steps(&mut self) -> Result<(), RunError> {
        let plan = self.plan;
        for (step, origin) in plan.body.written.steps.iter().zip(&plan.origins) {
            if let Some(wire) = received(step) {
                self.receive(step, wire)?;
                continue;
            }
            for context in self.contexts(step, origin)? {
                self.load(step, &context);
                match sent(step) {
                    Some(wire) => self.send(step, wire, &context)?,
                    None => self.step(step, &context)?,
                }
                self.unload(step);
            }
        }
        Ok(())
    }

    fn peers(&self, class: ClassId) -> &[PeerId] {
        let name = self.plan.classes.get(class.index());
        name.and_then(|name| self.reached.get(name)).map_or(&[], Vec::as_slice)
    }

    /// The contexts that a step runs in: a single one if it depends on no message.
    fn contexts(&self, step: &PlanStep, origin: &BTreeSet<ClassId>) -> Result<Vec<Context>, RunError> {
        let (ones, several): (Vec<ClassId>, Vec<ClassId>) =
            origin.iter().partition(|class| self.peers(**class).len() == 1);
        let mut context = Context::new();
        for class in ones {
            context.extend(self.peers(class).first().map(|peer| (class, peer.clone())));
        }
        match several[..] {
            [] => Ok(vec![context]),
            [class] => {
                let of = |peer: &PeerId| {
                    let mut context = context.clone();
                    context.insert(class, peer.clone());
                    context
                };
                Ok(self.peers(class).iter().map(of).collect())
            }
            [left, right, ..] => {
                let name = |class: ClassId| self.plan.classes.get(class.index()).cloned().unwrap_or_default();
                let error = WireError::TwoClasses { left: name(left), right: name(right) };
                Err(node_failed(&step.info, NodeError::from(error)))
            }
        }
    }

    /// Stores the values that a step reads in a context in the frame.
    fn load(&mut self, step: &PlanStep, context: &Context) {
        for slot in step.reads() {
            let Some(values) = self.values.get(&slot) else {
                // The part received no message, so the join is complete.
                if self.plan.joined.contains(&slot) {
                    self.frame.set(slot, Some(Datum::Trigger));
                }
                continue;
            };
            let agrees = |own: &Context| own.iter().all(|(class, peer)| context.get(class) == Some(peer));
            let found = values.iter().find(|(own, _)| agrees(own)).map(|(_, value)| value.clone());
            // Triggers join: all messages have arrived when the step runs.
            let is_trigger = || values.iter().all(|(_, value)| *value == Datum::Trigger);
            let value = found.or_else(|| is_trigger().then_some(Datum::Trigger));
            self.frame.set(slot, value);
        }
    }

    fn unload(&mut self, step: &PlanStep) {
        for slot in step.reads() {
            if self.values.contains_key(&slot) || self.plan.joined.contains(&slot) {
                self.frame.set(slot, None);
            }
        }
    }

    fn store(&mut self, slot: SlotId, context: &Context, value: Datum) {
        self.values.entry(slot).or_default().push((context.clone(), value));
    }

    fn step(&mut self, step: &PlanStep, context: &Context) -> Result<(), RunError> {
        let plan = self.plan;
        if context.is_empty() {
            return self.exec.step(&plan.body, &mut self.frame, step);
        }
        let own = self.symbols.remove(context).unwrap_or_else(|| self.exec.symbols.clone());
        let outer = std::mem::replace(&mut self.exec.symbols, own);
        let result = self.exec.step(&plan.body, &mut self.frame, step);
        let own = std::mem::replace(&mut self.exec.symbols, outer);
        self.symbols.insert(context.clone(), own);
        result?;
        for slot in step.outputs.iter().flatten() {
            if let Some(value) = self.frame.take(*slot) {
                self.store(*slot, context, value);
            }
        }
        Ok(())
    }

    fn send(&mut self, step: &'a PlanStep, wire: &'a WireValue, context: &Context) -> Result<(), RunError> {
        let input = |frame: &Frame<'_>, index: usize| {
            let used = step.inputs.get(index).copied().flatten();
            used.and_then(|used| frame.get(used.slot).cloned())
        };
        let missing = |index| node_failed(&step.info, ComponentError::Missing(index));
        let value = input(&self.frame, 0).ok_or_else(|| missing(0))?;
        let to = input(&self.frame, 1).ok_or_else(|| missing(1))?;
        let not_peers = || {
            let message = format!("a value is sent to peers, not to {}", to.describe());
            node_failed(&step.info, NodeError::Structure(message))
        };
        let listed = to.as_peers().ok_or_else(not_peers)?;
        let mut peers: Vec<PeerId> = Vec::with_capacity(listed.len());
        for peer in listed {
            if !peers.contains(peer) {
                peers.push(peer.clone());
            }
        }
        if self.serves {
            let post = |to: &PeerId| Post { step, wire, to: to.clone(), value: value.clone() };
            self.posts.extend(peers.iter().map(post));
        } else {
            let run = self.run;
            let outgoing = |to| Outgoing { to, port: &wire.port, run, ty: &wire.ty, value: &value };
            let outgoing: Vec<_> = peers.iter().map(outgoing).collect();
            let failed = |error| node_failed(&step.info, WireError::Send(error));
            for sent in self.endpoint.send_all(&outgoing, self.time_left()).map_err(failed)? {
                sent.map_err(failed)?;
            }
        }
        let reached = self.reached.entry(wire.port.peer_class.clone()).or_default();
        for peer in &peers {
            if !reached.contains(peer) {
                reached.push(peer.clone());
            }
        }
        self.sent += 1;
        if let Some(output) = &wire.net_out {
            let (id, output) = (WireReqId(self.sent), output.clone());
            self.requests.push(Request { id, output, peers, run: self.run });
        }
        // The first output is the value at the receiver, the second the handle of the request.
        if let Some(Some(handle)) = step.outputs.get(1) {
            let value = Datum::Request(WireReqId(self.sent));
            if context.is_empty() {
                self.frame.set(*handle, Some(value));
            } else {
                self.store(*handle, context, value);
            }
        }
        Ok(())
    }

    fn receive(&mut self, step: &'a PlanStep, wire: &'a WireValue) -> Result<(), RunError> {
        self.commit()?;
        let plan = self.plan;
        let Some(class) = plan.class(&wire.from) else { return Ok(()) };
        let known = self.reached.get(&wire.from).cloned();
        let mut waited: Vec<PeerId> = known.clone().unwrap_or_default();
        let mut accepts_any = known.is_none();
        // Messages of other peers are returned to the mailbox after this receive.
        let mut set_aside = Vec::new();
        let mut arrived: Vec<(PeerId, Datum)> = Vec::new();
        while accepts_any || !waited.is_empty() {
            let delivery = match self.started.take() {
                Some(delivery) if *delivery.port() == wire.port => delivery,
                started => {
                    self.started = started;
                    let wanted = Wanted { port: wire.port.clone(), run: Some(self.run) };
                    let failed =
                        |error| node_failed(&step.info, WireError::NoAnswer { error, peers: waited.clone() });
                    self.endpoint.receive(&wanted, self.time_left()).map_err(failed)?
                }
            };
            let from = delivery.sender().clone();
            if !accepts_any && !waited.contains(&from) {
                set_aside.push(delivery);
                continue;
            }
            waited.retain(|peer| *peer != from);
            if accepts_any {
                self.reached.insert(wire.from.clone(), vec![from.clone()]);
                accepts_any = false;
            }
            let value = if self.serves {
                let value = delivery.value().clone();
                self.uncommitted.push(delivery);
                value
            } else {
                delivery.accept().map_err(|error| node_failed(&step.info, WireError::Send(error)))?
            };
            arrived.push((from, value));
        }
        drop(set_aside);
        // Values are stored in the order of the peers, not of their arrival.
        arrived.sort_by_key(|(from, _)| self.peers(class).iter().position(|peer| peer == from));
        for (from, value) in arrived {
            let context = Context::from([(class, from.clone())]);
            let base = &self.exec.symbols;
            let symbols = self.symbols.entry(context.clone()).or_insert_with(|| base.clone());
            let slot = step.outputs.first().copied().flatten();
            let name = slot.map_or(&wire.port.wire, |slot| &plan.body.slot(slot).name);
            let wrong = |mismatch| NodeError::Mismatch { value: name.clone(), mismatch };
            let bound = wire.ty.bind(&value, symbols).map_err(wrong);
            bound.map_err(|error| node_failed(&step.info, error))?;
            for (value, slot) in [value, Datum::Peer(from)].into_iter().zip(&step.outputs) {
                if let Some(slot) = slot {
                    self.store(*slot, &context, value);
                }
            }
        }
        Ok(())
    }

    /// Commits the received messages and the answers at once, then sends the answers.
    fn commit(&mut self) -> Result<(), RunError> {
        if self.posts.is_empty() && self.uncommitted.is_empty() {
            return Ok(());
        }
        let posts = std::mem::take(&mut self.posts);
        let run = self.run;
        let outgoing: Vec<Outgoing<'_>> = posts
            .iter()
            .map(|post| {
                let Post { step: _, wire, to, value } = post;
                Outgoing { to, port: &wire.port, run, ty: &wire.ty, value }
            })
            .collect();
        let failed = |post: Option<&Post<'a>>, error: WireError| match post {
            Some(post) => node_failed(&post.step.info, error),
            None => RunError::Mailbox(error),
        };
        let effects = Effects { memory: None, posts: &outgoing };
        let uncommitted = std::mem::take(&mut self.uncommitted);
        let sent = self.endpoint.commit_and_send(uncommitted, &effects, self.time_left());
        let PostsSent { refused, pending } =
            sent.map_err(|error| failed(posts.first(), WireError::Send(error)))?;
        match refused {
            Some((which, error)) => Err(failed(posts.get(which), WireError::Send(error))),
            None if pending > 0 => Err(failed(posts.first(), WireError::Unsent { pending })),
            None => Ok(()),
        }
    }

    /// The value or the values of an output.
    pub(super) fn output(&mut self, slot: SlotId) -> Output {
        match self.values.remove(&slot) {
            // Without messages the value does not exist.
            None => self.frame.get(slot).cloned().map_or_else(|| Output::Each(Vec::new()), Output::One),
            Some(values) => {
                let several = |own: Context| {
                    own.iter().find(|(class, _)| self.peers(**class).len() != 1).map(|(_, peer)| peer.clone())
                };
                let each: Vec<(Option<PeerId>, Datum)> =
                    values.into_iter().map(|(own, value)| (several(own), value)).collect();
                match &each[..] {
                    [(None, value)] => Output::One(value.clone()),
                    _ => Output::Each(
                        each.into_iter().filter_map(|(peer, value)| Some((peer?, value))).collect(),
                    ),
                }
            }
        }
    }
}
