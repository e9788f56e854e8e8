//! One run of a part: steps in order, each for the peers that it depends on.
//!
//! A value that depends on messages is kept with its *context*: the peer of each class that it depends on. A step runs
//! once for each context of its own, and reads what agrees with it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use core::time::Duration;
use typeloom_contracts::peer_selector::PeerId;

use super::{ClassId, PartPlan, Wire, received, sent};
use crate::execute::{Frame, Run};
use crate::executor::error::{ExecuteError, StepFault, WireFault};
use crate::executor::plan::Data;
use crate::flow::Flow;
use crate::plan::{self, SlotId};
use crate::session::{Limits, Verify};
use typeloom_wire::datum::{Datum, WireReqId};
use typeloom_wire::delivery::{Delivery, Effects, ReceiveError, Wanted};
use typeloom_wire::endpoint::Endpoint;
use typeloom_wire::envelope::RunId;
use typeloom_wire::send::{Outgoing, PostsSent};
use typeloom_wire::stamp::Symbols;

type Step = plan::Step<Data>;

/// The peer of each class that a value depends on.
type Context = BTreeMap<ClassId, PeerId>;

/// A value that is to be sent together with what it answers.
struct Post<'a> {
    step: &'a Step,
    wire: &'a Wire,
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
    exec: Run<'static, Data>,
    base: Frame<'a, Data>,
    /// Values that depend on messages, in the order of the peers.
    values: HashMap<SlotId, Vec<(Context, Datum)>>,
    symbols: HashMap<Context, Symbols>,
    /// The peers of each class, by name, that this run sent to or heard from.
    reached: BTreeMap<String, Vec<PeerId>>,
    /// The message that started the run, until its receive takes it.
    started: Option<Delivery>,
    serves: bool,
    /// Messages that are not dealt with before what follows from them is written down.
    held: Vec<Delivery>,
    posts: Vec<Post<'a>>,
    sent: u64,
}

fn at(step: &Step, fault: impl Into<StepFault>) -> ExecuteError {
    Data::failed(&step.about, fault.into())
}

impl<'a> Activation<'a> {
    pub(super) fn new(
        plan: &'a PartPlan,
        endpoint: &'a Endpoint,
        timeout: Duration,
        verify: Verify,
        limits: Limits,
    ) -> Self {
        Self {
            plan,
            endpoint,
            timeout,
            deadline: endpoint.now().saturating_add(timeout),
            run: RunId::default(),
            exec: Run::new(verify, Symbols::default(), limits, None),
            base: Frame::empty(&plan.body.written),
            values: HashMap::new(),
            symbols: HashMap::new(),
            reached: BTreeMap::new(),
            started: None,
            serves: false,
            held: Vec::new(),
            posts: Vec::new(),
            sent: 0,
        }
    }

    pub(super) fn symbols(&mut self) -> &mut Symbols {
        &mut self.exec.symbols
    }

    fn left(&self) -> Duration {
        self.deadline.saturating_sub(self.endpoint.now())
    }

    /// Waits for the message that starts the part, and says who sent it; nothing where none comes in time.
    pub(super) fn first(&mut self) -> Result<Option<PeerId>, ExecuteError> {
        let mut receives =
            self.plan.body.written.steps.iter().filter_map(|step| Some((step, received(step)?)));
        let Some((step, wire)) = receives.next() else { return Err(ExecuteError::NeverStarts) };
        let wanted = Wanted { port: wire.port.clone(), run: None };
        match self.endpoint.receive(&wanted, self.timeout) {
            Err(ReceiveError::Timeout { .. }) => Ok(None),
            Err(error @ ReceiveError::UnknownPort { .. }) => Err(at(step, WireFault::Receive(error))),
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
    pub(super) fn run(&mut self, inputs: Vec<Option<Datum>>) -> Result<RunId, ExecuteError> {
        self.base = Run::frame(&self.plan.body, inputs, Vec::new())?;
        let result = self.steps().and_then(|()| self.settle());
        if result.is_err() {
            // A message on which the part fails would fail again.
            for delivery in self.started.take().into_iter().chain(self.held.drain(..)) {
                drop(delivery.accept());
            }
        }
        result.map(|()| self.run)
    }

    fn steps(&mut self) -> Result<(), ExecuteError> {
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

    /// The contexts that a step runs in: one where it depends on no message.
    fn contexts(&self, step: &Step, origin: &BTreeSet<ClassId>) -> Result<Vec<Context>, ExecuteError> {
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
                Err(at(step, WireFault::Crossed { left: name(left), right: name(right) }))
            }
        }
    }

    /// Puts what a step reads in its place, as it is in a context.
    fn load(&mut self, step: &Step, context: &Context) {
        for slot in step.reads() {
            let Some(values) = self.values.get(&slot) else {
                // Of no messages, all have come.
                if self.plan.joined.contains(&slot) {
                    self.base.put(slot, Some(Datum::Trigger));
                }
                continue;
            };
            let agrees = |own: &Context| own.iter().all(|(class, peer)| context.get(class) == Some(peer));
            let found = values.iter().find(|(own, _)| agrees(own)).map(|(_, value)| value.clone());
            // Triggers join: one that comes of several messages has come once all of them have.
            let is_trigger = || values.iter().all(|(_, value)| *value == Datum::Trigger);
            let value = found.or_else(|| is_trigger().then_some(Datum::Trigger));
            self.base.put(slot, value);
        }
    }

    fn unload(&mut self, step: &Step) {
        for slot in step.reads() {
            if self.values.contains_key(&slot) || self.plan.joined.contains(&slot) {
                self.base.put(slot, None);
            }
        }
    }

    fn keep(&mut self, slot: SlotId, context: &Context, value: Datum) {
        self.values.entry(slot).or_default().push((context.clone(), value));
    }

    fn step(&mut self, step: &Step, context: &Context) -> Result<(), ExecuteError> {
        let plan = self.plan;
        if context.is_empty() {
            return self.exec.step(&plan.body, &mut self.base, step);
        }
        let own = self.symbols.remove(context).unwrap_or_else(|| self.exec.symbols.clone());
        let outer = std::mem::replace(&mut self.exec.symbols, own);
        let result = self.exec.step(&plan.body, &mut self.base, step);
        let own = std::mem::replace(&mut self.exec.symbols, outer);
        self.symbols.insert(context.clone(), own);
        result?;
        for slot in step.outputs.iter().flatten() {
            if let Some(value) = self.base.take(*slot) {
                self.keep(*slot, context, value);
            }
        }
        Ok(())
    }

    fn send(&mut self, step: &'a Step, wire: &'a Wire, context: &Context) -> Result<(), ExecuteError> {
        let input = |frame: &Frame<'_, Data>, index: usize| {
            let used = step.inputs.get(index).copied().flatten();
            used.and_then(|used| frame.get(used.slot).cloned())
        };
        let missing = |index| at(step, crate::components::ComponentFault::Missing(index));
        let value = input(&self.base, 0).ok_or_else(|| missing(0))?;
        let to = input(&self.base, 1).ok_or_else(|| missing(1))?;
        let found =
            || at(step, StepFault::Structure(format!("a value is sent to peers, not to {}", to.describe())));
        let listed = to.as_peers().ok_or_else(found)?;
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
            let failed = |error| at(step, WireFault::Send(error));
            for sent in self.endpoint.send_all(&outgoing, self.left()).map_err(failed)? {
                sent.map_err(failed)?;
            }
        }
        let reached = self.reached.entry(wire.port.peer_class.clone()).or_default();
        for peer in peers {
            if !reached.contains(&peer) {
                reached.push(peer);
            }
        }
        self.sent += 1;
        // What is on the wire is nobody's here; the handle is.
        if let Some(Some(handle)) = step.outputs.get(1) {
            let value = Datum::Request(WireReqId(self.sent));
            if context.is_empty() {
                self.base.put(*handle, Some(value));
            } else {
                self.keep(*handle, context, value);
            }
        }
        Ok(())
    }

    fn receive(&mut self, step: &'a Step, wire: &'a Wire) -> Result<(), ExecuteError> {
        self.settle()?;
        let Some(class) = self.plan.class(&wire.from) else { return Ok(()) };
        let known = self.reached.get(&wire.from).cloned();
        let mut waited: Vec<PeerId> = known.clone().unwrap_or_default();
        let mut anybody = known.is_none();
        // Messages of others are given back once this receive is done.
        let mut aside = Vec::new();
        let mut arrived: Vec<(PeerId, Datum)> = Vec::new();
        while anybody || !waited.is_empty() {
            let delivery = match self.started.take() {
                Some(delivery) if *delivery.port() == wire.port => delivery,
                started => {
                    self.started = started;
                    let wanted = Wanted { port: wire.port.clone(), run: Some(self.run) };
                    let failed = |error| at(step, WireFault::Unheard { error, peers: waited.clone() });
                    self.endpoint.receive(&wanted, self.left()).map_err(failed)?
                }
            };
            let from = delivery.sender().clone();
            if !anybody && !waited.contains(&from) {
                aside.push(delivery);
                continue;
            }
            waited.retain(|peer| *peer != from);
            if anybody {
                self.reached.insert(wire.from.clone(), vec![from.clone()]);
                anybody = false;
            }
            let value = if self.serves {
                let value = delivery.value().clone();
                self.held.push(delivery);
                value
            } else {
                delivery.accept().map_err(|error| at(step, WireFault::Send(error)))?
            };
            arrived.push((from, value));
        }
        drop(aside);
        // Values are kept in the order of the peers, whoever was first.
        arrived.sort_by_key(|(from, _)| self.peers(class).iter().position(|peer| peer == from));
        for (from, value) in arrived {
            let context = Context::from([(class, from.clone())]);
            let results = [value, Datum::Peer(from)];
            for (value, slot) in results.into_iter().zip(&step.outputs) {
                let Some(slot) = slot else { continue };
                let info = self.plan.body.slot(*slot);
                let base = &self.exec.symbols;
                let symbols = self.symbols.entry(context.clone()).or_insert_with(|| base.clone());
                let wrong = |mismatch| StepFault::Mismatch { value: info.name.clone(), mismatch };
                info.proved.check(&value, symbols).map_err(|mismatch| at(step, wrong(mismatch)))?;
                self.keep(*slot, &context, value);
            }
        }
        Ok(())
    }

    /// Deals with the messages that were taken and posts what follows from them, as one; then sends it.
    fn settle(&mut self) -> Result<(), ExecuteError> {
        if self.posts.is_empty() && self.held.is_empty() {
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
        let whose = |post: Option<&Post<'a>>, fault: WireFault| match post {
            Some(post) => at(post.step, fault),
            None => ExecuteError::Mailbox(fault),
        };
        let effects = Effects { memory: None, posts: &outgoing };
        let held = std::mem::take(&mut self.held);
        let sent = self.endpoint.commit_and_send(held, &effects, self.left());
        let PostsSent { refused, pending } =
            sent.map_err(|error| whose(posts.first(), WireFault::Send(error)))?;
        match refused {
            Some((which, error)) => Err(whose(posts.get(which), WireFault::Send(error))),
            None if pending > 0 => Err(whose(posts.first(), WireFault::Unsent { pending })),
            None => Ok(()),
        }
    }

    /// What the run gave as an output.
    pub(super) fn output(&mut self, slot: SlotId) -> Output {
        match self.values.remove(&slot) {
            // Of no messages there is no value.
            None => self.base.get(slot).cloned().map_or_else(|| Output::Each(Vec::new()), Output::One),
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
