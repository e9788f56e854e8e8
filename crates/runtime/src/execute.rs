//! Runs plans: one step after the other, values handed over where they die, and their memory to those that come.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use typeloom_cpu::call::Call;
use typeloom_cpu::fused::FusedError;
use typeloom_cpu::memory::{self, Store};
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::budget;
use typeloom_types::any_tensor::error::TensorError;

use crate::error::NodeFault;
use crate::flow::Flow;
use crate::places::Places;
use crate::plan::{About, Action, Form, Plan, SlotId, Step, Use};
use crate::session::{Limits, STEP_BYTES, Verify};
use crate::{control, flex, scan};
use typeloom_wire::stamp::Symbols;

/// What a node is given; nothing for an input that is left out.
pub(crate) type Given<F> = Vec<Option<<F as Flow>::Value>>;

/// What a node gives: most give one value.
pub(crate) type Results<F> = SmallVec<[<F as Flow>::Value; 1]>;

/// Told of every value of the main graph as it is made.
pub(crate) type Watcher<'r, F> = &'r mut (dyn FnMut(&str, &<F as Flow>::Value) + 'r);

/// What a run of a graph knows.
pub(crate) struct Run<'r, F: Flow> {
    pub(crate) verify: Verify,
    pub(crate) symbols: Symbols,
    pub(crate) observer: Option<Watcher<'r, F>>,
    limits: Limits,
    /// How many turns all loops have taken so far, those of graphs inside included.
    turns: Cell<u64>,
    /// How many steps were taken so far, those of graphs inside included.
    steps: Cell<u64>,
    /// [`budget::created`] at the last turn of a loop.
    made: Cell<u64>,
    /// Whether the operands of nodes are counted: those of graphs inside and functions, which can run any number of times.
    weighs: bool,
    rooms: Cell<Rooms<F>>,
}

/// Room for the inputs of the next node, kept from node to node and from run to run.
pub(crate) struct Rooms<F: Flow> {
    /// Of a kernel.
    values: Vec<Option<Value>>,
    /// Of a node of the flow's own.
    given: Given<F>,
}

impl<F: Flow> Default for Rooms<F> {
    fn default() -> Self {
        Self { values: Vec::new(), given: Vec::new() }
    }
}

/// The values of one graph while it runs, each in its place.
pub(crate) struct Frame<'p, F: Flow> {
    values: Vec<Option<F::Value>>,
    places: &'p Places,
}

impl<'p, F: Flow> Frame<'p, F> {
    /// A frame without values.
    pub(crate) fn empty(form: &'p Form<F>) -> Self {
        let places = &form.places;
        let mut values = Vec::with_capacity(places.count());
        values.resize_with(places.count(), || None);
        Self { values, places }
    }

    pub(crate) fn get(&self, slot: SlotId) -> Option<&F::Value> {
        self.values.get(self.places.of(slot)).and_then(Option::as_ref)
    }

    pub(crate) fn put(&mut self, slot: SlotId, value: Option<F::Value>) {
        if let Some(place) = self.values.get_mut(self.places.of(slot)) {
            *place = value;
        }
    }

    pub(crate) fn take(&mut self, slot: SlotId) -> Option<F::Value> {
        self.values.get_mut(self.places.of(slot)).and_then(Option::take)
    }

    /// A value for a reader, who may have it where nobody reads it later.
    fn read(&mut self, used: Use) -> Option<F::Value> {
        let place = self.values.get_mut(self.places.of(used.slot))?;
        if used.last { place.take() } else { place.clone() }
    }
}

/// How many elements of a sequence count as one step.
const STEP_ELEMENTS: u64 = 16;

/// The operands of a step as steps: what an operator reads bounds its time from below, also where it writes in place.
fn weight<F: Flow>(frame: &Frame<'_, F>, step: &Step<F>) -> u64 {
    let bytes = |value: &F::Value| F::as_tensor(value).map_or(0, |tensor| tensor.bytes().len() as u64);
    let of = |value: &F::Value| match F::as_sequence(value) {
        Some(values) => {
            values.len() as u64 / STEP_ELEMENTS + values.iter().map(bytes).sum::<u64>() / STEP_BYTES
        }
        None => bytes(value) / STEP_BYTES,
    };
    step.inputs.iter().flatten().filter_map(|used| frame.get(used.slot)).map(of).sum()
}

/// A fault that no node is to blame for.
fn of_graph<F: Flow>(fault: NodeFault) -> F::Error {
    let node = "the graph".to_owned();
    F::failed(&About { node, on: None, domain: String::new(), op: String::new() }, fault.into())
}

impl<'r, F: Flow> Run<'r, F> {
    pub(crate) fn new(
        verify: Verify,
        symbols: Symbols,
        limits: Limits,
        observer: Option<Watcher<'r, F>>,
    ) -> Self {
        let (turns, steps) = (Cell::default(), Cell::default());
        let made = Cell::new(budget::created());
        Self { verify, symbols, observer, limits, turns, steps, made, weighs: false, rooms: Cell::default() }
    }

    /// The same run with rooms of a run before it, and its rooms for one after it.
    pub(crate) fn in_rooms<T>(
        &mut self,
        rooms: Rooms<F>,
        runs: impl FnOnce(&mut Self) -> T,
    ) -> (T, Rooms<F>) {
        self.rooms.set(rooms);
        let result = runs(self);
        (result, self.rooms.take())
    }

    /// Runs a graph inside: symbols that it binds are forgotten afterwards.
    fn nested<T>(&self, inside: impl FnOnce(&mut Run<'static, F>) -> T) -> T {
        let mut run = Run::new(self.verify, self.symbols.clone(), self.limits, None);
        run.turns.set(self.turns.get());
        run.steps.set(self.steps.get());
        run.made.set(self.made.get());
        run.weighs = self.limits.steps != u64::MAX;
        run.rooms.set(self.rooms.take());
        let result = inside(&mut run);
        self.turns.set(run.turns.get());
        self.steps.set(run.steps.get());
        self.made.set(run.made.get());
        self.rooms.set(run.rooms.take());
        result
    }

    /// Counts a turn of a loop.
    pub(crate) fn turn(&self) -> Result<(), NodeFault> {
        let limit = self.limits.turns;
        if self.turns.get() >= limit {
            return Err(NodeFault::TooManyTurns { limit });
        }
        self.turns.set(self.turns.get() + 1);
        self.iteration()
    }

    /// Counts the steps of one iteration over data: a turn of a loop, or a slice of a scan.
    pub(crate) fn iteration(&self) -> Result<(), NodeFault> {
        let made = budget::created();
        let bytes = made.wrapping_sub(self.made.replace(made));
        self.spend(1 + bytes / STEP_BYTES)
    }

    /// Begins a loop: what was made before it is not part of a turn.
    pub(crate) fn begin_loop(&self) {
        self.made.set(budget::created());
    }

    /// Counts steps.
    fn spend(&self, steps: u64) -> Result<(), NodeFault> {
        let limit = self.limits.steps;
        let taken = self.steps.get().saturating_add(steps);
        self.steps.set(taken);
        if taken > limit { Err(NodeFault::TooManySteps { limit }) } else { Ok(()) }
    }

    /// The values that the plan as it was written starts with.
    pub(crate) fn frame<'p>(
        plan: &'p Plan<F>,
        inputs: Given<F>,
        captured: Vec<F::Value>,
    ) -> Result<Frame<'p, F>, F::Error> {
        let mut frame = Frame::empty(&plan.written);
        for (slot, constant) in &plan.constants {
            let malformed = |error: TensorError| of_graph::<F>(NodeFault::ControlFlow(error.to_string()));
            frame.put(*slot, Some(F::of(constant.value().map_err(malformed)?)));
        }
        Self::fill(&mut frame, plan, inputs, captured);
        Ok(frame)
    }

    fn fill(frame: &mut Frame<'_, F>, plan: &Plan<F>, inputs: Given<F>, captured: Vec<F::Value>) {
        for ((_, slot), value) in plan.captures.iter().zip(captured) {
            frame.put(*slot, Some(value));
        }
        for (slot, value) in plan.inputs.iter().zip(inputs) {
            if value.is_some() {
                frame.put(*slot, value);
            }
        }
    }

    /// Runs a plan. `inputs` are those of the graph; `None` leaves one to its initializer.
    pub(crate) fn plan(
        &mut self,
        plan: &Plan<F>,
        inputs: Given<F>,
        captured: Vec<F::Value>,
    ) -> Result<Vec<F::Value>, F::Error> {
        // A default that is replaced may be built into the fast form.
        let replaced = |at: &usize| inputs.get(*at).is_some_and(Option::is_some);
        let is_watched = self.verify == Verify::EveryValue || self.observer.is_some();
        if is_watched || plan.defaults.iter().any(replaced) {
            let mut frame = Self::frame(plan, inputs, captured)?;
            return self.form(plan, &plan.written, &mut frame);
        }
        let fast = &plan.fast;
        let mut frame = Frame { values: fast.values(), places: &fast.form.places };
        Self::fill(&mut frame, plan, inputs, captured);
        let results = self.form(plan, &fast.form, &mut frame)?;
        fast.keep(frame.values);
        Ok(results)
    }

    /// Runs the steps of a form of a plan.
    fn form(
        &mut self,
        plan: &Plan<F>,
        form: &Form<F>,
        frame: &mut Frame<'_, F>,
    ) -> Result<Vec<F::Value>, F::Error> {
        self.spend(form.steps.len() as u64).map_err(of_graph::<F>)?;
        for step in &form.steps {
            if self.weighs {
                let failed = |fault: NodeFault| F::failed(&step.about, fault.into());
                self.spend(weight(frame, step)).map_err(failed)?;
            }
            self.step(plan, frame, step)?;
        }
        let mut results = Vec::with_capacity(form.results.len());
        for used in &form.results {
            let none = || of_graph::<F>(NodeFault::NoValue(plan.slot(used.slot).name.clone()));
            results.push(frame.read(*used).ok_or_else(none)?);
        }
        Ok(results)
    }

    /// Runs one step.
    pub(crate) fn step(
        &mut self,
        plan: &Plan<F>,
        frame: &mut Frame<'_, F>,
        step: &Step<F>,
    ) -> Result<(), F::Error> {
        let failed = |fault| F::failed(&step.about, fault);
        let kept = match &step.action {
            Action::Kernel(kernel) => {
                let inputs = self.operands(frame, step).map_err(failed)?;
                let (version, attributes) = (kernel.version, &kernel.attributes);
                let mut call = Call { version, attributes, inputs, outputs: step.outputs.len() };
                let results = guarded(NodeFault::Panicked, || {
                    kernel.operator.run_in(&mut call).map_err(NodeFault::from)
                });
                self.rooms.get_mut().values = call.inputs;
                let results = results.map_err(|fault| failed(fault.into()))?;
                self.settle(plan, frame, step, results)
            }
            Action::Fused(fused) => {
                let inputs = self.operands(frame, step).map_err(failed)?;
                let (kernel, nodes) = &**fused;
                let results = guarded(NodeFault::Panicked, || Ok(kernel.run(inputs)));
                match results.map_err(|fault| failed(fault.into()))? {
                    Ok(results) => self.settle(plan, frame, step, results),
                    // A fused kernel knows which of its nodes failed.
                    Err(FusedError { node, error }) => {
                        let about = nodes.get(node).unwrap_or(&step.about);
                        return Err(F::failed(about, NodeFault::Kernel(error).into()));
                    }
                }
            }
            Action::Own(own) => {
                let mut inputs = std::mem::take(&mut self.rooms.get_mut().given);
                inputs.extend(step.inputs.iter().map(|used| used.and_then(|used| frame.read(used))));
                let results = F::run_own(self, plan, step, own, &mut inputs);
                inputs.iter_mut().for_each(F::recycle);
                inputs.clear();
                self.rooms.get_mut().given = inputs;
                self.keep(plan, frame, step, results.map_err(failed)?.into_iter(), F::is_held(own))
            }
            Action::Function(_)
            | Action::If { .. }
            | Action::Loop(_)
            | Action::Scan { .. }
            | Action::SequenceMap(_)
            | Action::Flex { .. }
            | Action::Unknown => {
                let inputs = step.inputs.iter().map(|used| used.and_then(|used| frame.read(used))).collect();
                let results = self.results(frame, step, inputs).map_err(failed)?;
                self.keep(plan, frame, step, results.into_iter(), false)
            }
        };
        kept.map_err(failed)
    }

    /// The inputs of a step as operators take them.
    fn operands(&mut self, frame: &mut Frame<'_, F>, step: &Step<F>) -> Result<Vec<Option<Value>>, F::Fault> {
        let mut inputs = std::mem::take(&mut self.rooms.get_mut().values);
        inputs.clear();
        for (index, used) in step.inputs.iter().enumerate() {
            let value = used.and_then(|used| frame.read(used));
            inputs.push(match value {
                Some(value) => Some(F::into_value(value, index)?),
                None => None,
            });
        }
        Ok(inputs)
    }

    /// Keeps results of an operator in the form that their types ask for.
    fn settle(
        &mut self,
        plan: &Plan<F>,
        frame: &mut Frame<'_, F>,
        step: &Step<F>,
        results: Vec<Value>,
    ) -> Result<(), F::Fault> {
        let settled = results.into_iter().zip(&step.outputs).map(|(result, slot)| match slot {
            Some(slot) => F::settled(&plan.slot(*slot).proved, F::of(result)),
            None => F::of(result),
        });
        self.keep(plan, frame, step, settled, false)
    }

    /// Puts results in their places, and lets go of what nobody reads any more.
    fn keep(
        &mut self,
        plan: &Plan<F>,
        frame: &mut Frame<'_, F>,
        step: &Step<F>,
        results: impl Iterator<Item = F::Value>,
        is_held: bool,
    ) -> Result<(), F::Fault> {
        let is_held = is_held || self.verify == Verify::EveryValue;
        // Optional outputs may be missing; whoever reads them says so.
        for (slot, result) in step.outputs.iter().zip(results) {
            let Some(slot) = slot else { continue };
            if is_held {
                let info = plan.slot(*slot);
                let wrong = |mismatch| F::mismatch(&info.name, mismatch);
                F::check(&info.proved, &result, &mut self.symbols).map_err(wrong)?;
            }
            if let Some(observer) = &mut self.observer {
                observer(&plan.slot(*slot).name, &result);
            }
            debug_assert!(frame.get(*slot).is_none(), "a place is empty when its next value is made");
            frame.put(*slot, Some(result));
        }
        for slot in &step.dead {
            if let Some(place) = frame.values.get_mut(frame.places.of(*slot)) {
                F::recycle(place);
            }
        }
        Ok(())
    }

    /// What a node gives that is no kernel and no flow's own.
    fn results(
        &self,
        frame: &Frame<'_, F>,
        step: &Step<F>,
        inputs: Given<F>,
    ) -> Result<Vec<F::Value>, F::Fault> {
        match &step.action {
            Action::Function(plan) => {
                let mut inputs = inputs;
                inputs.resize(plan.inputs.len(), None);
                self.nested(|run| run.plan(plan, inputs, Vec::new())).map_err(F::inside)
            }
            Action::If { then_branch, else_branch } => {
                control::branch(self, frame, &inputs, then_branch, else_branch)
            }
            Action::Loop(body) => control::repeat(self, frame, inputs, body),
            Action::SequenceMap(body) => control::map(self, frame, &inputs, body),
            Action::Scan { body, attributes, version } => {
                scan::scan(self, frame, body, attributes, *version, inputs)
            }
            Action::Flex { scores, probabilities, attributes } => {
                let bodies = [scores.as_deref(), probabilities.as_deref()];
                flex::attention(self, frame, attributes, inputs, bodies)
            }
            Action::Kernel(_) | Action::Fused(_) | Action::Own(_) | Action::Unknown => {
                let (domain, op) = (step.about.domain.clone(), step.about.op.clone());
                Err(NodeFault::UnknownOperator { domain, op }.into())
            }
        }
    }

    /// Runs a graph inside a node once.
    pub(crate) fn body(
        &self,
        frame: &Frame<'_, F>,
        body: &Plan<F>,
        inputs: Vec<F::Value>,
    ) -> Result<Vec<F::Value>, F::Fault> {
        let mut captured = Vec::with_capacity(body.captures.len());
        for (outer, inner) in &body.captures {
            match frame.get(*outer) {
                Some(value) => captured.push(value.clone()),
                None => return Err(NodeFault::NoValue(body.slot(*inner).name.clone()).into()),
            }
        }
        self.nested(|run| {
            if run.verify == Verify::EveryValue {
                for (slot, value) in body.inputs.iter().zip(&inputs) {
                    let info = body.slot(*slot);
                    let wrong = |mismatch| F::mismatch(&info.name, mismatch);
                    F::check(&info.proved, value, &mut run.symbols).map_err(wrong)?;
                }
            }
            run.plan(body, inputs.into_iter().map(Some).collect(), captured).map_err(F::inside)
        })
    }
}

/// Memory of runs that are over, for the runs that come: one share for each that ran at the same time.
pub(crate) struct Spare<F: Flow>(Mutex<Vec<(Store, Rooms<F>)>>);

impl<F: Flow> Default for Spare<F> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<F: Flow> fmt::Debug for Spare<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spare").finish_non_exhaustive()
    }
}

impl<F: Flow> Spare<F> {
    /// Lets what runs on this thread use a share.
    pub(crate) fn lend<T>(&self, runs: impl FnOnce(Rooms<F>) -> (T, Rooms<F>)) -> T {
        // A lock that is poisoned guards nothing but spare memory.
        let shares = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (store, rooms) = shares().pop().unwrap_or_default();
        let ((result, rooms), store) = memory::with(store, || runs(rooms));
        shares().push((store, rooms));
        result
    }
}

/// What an operator or a component says when it panics, instead of the panic.
pub(crate) fn guarded<T, E>(
    panicked: impl FnOnce(String) -> E,
    run: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(words(&*panic))))
}

pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
