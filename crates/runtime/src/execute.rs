//! Runs plans: one step after the other, values handed over where they die, and their memory to those that come.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;
use typeloom_cpu::call::Call;
use typeloom_cpu::fused::FusedError;
use typeloom_cpu::memory::{self, Store};
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::error::TensorError;

use crate::error::NodeFault;
use crate::flow::Flow;
use crate::plan::{About, Action, Plan, SlotId, Step, Use};
use crate::session::{Limits, Verify};
use crate::stamp::Symbols;
use crate::{control, flex, scan};

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
    turns: Rc<Cell<u64>>,
    /// Room for the inputs of the next kernel.
    room: Vec<Option<Value>>,
    /// Room for the inputs of the next node of the flow's own.
    given: Given<F>,
}

/// The values of one graph while it runs.
pub(crate) struct Frame<F: Flow> {
    values: Vec<Option<F::Value>>,
}

impl<F: Flow> Default for Frame<F> {
    fn default() -> Self {
        Self { values: Vec::new() }
    }
}

impl<F: Flow> Frame<F> {
    pub(crate) fn get(&self, slot: SlotId) -> Option<&F::Value> {
        self.values.get(slot.index()).and_then(Option::as_ref)
    }

    pub(crate) fn put(&mut self, slot: SlotId, value: Option<F::Value>) {
        if let Some(place) = self.values.get_mut(slot.index()) {
            *place = value;
        }
    }

    pub(crate) fn take(&mut self, slot: SlotId) -> Option<F::Value> {
        self.values.get_mut(slot.index()).and_then(Option::take)
    }

    /// A value for a reader, who may have it where nobody reads it later.
    fn read(&mut self, used: Use) -> Option<F::Value> {
        let place = &mut self.values[used.slot.index()];
        if used.last { place.take() } else { place.clone() }
    }
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
        Self { verify, symbols, observer, limits, turns: Rc::default(), room: Vec::new(), given: Vec::new() }
    }

    /// A run of a graph inside: symbols that it binds are forgotten afterwards.
    fn nested(&self) -> Run<'static, F> {
        let turns = Rc::clone(&self.turns);
        Run { turns, ..Run::new(self.verify, self.symbols.clone(), self.limits, None) }
    }

    /// Counts a turn of a loop.
    pub(crate) fn turn(&self) -> Result<(), NodeFault> {
        let limit = self.limits.turns;
        if self.turns.get() >= limit {
            return Err(NodeFault::TooManyTurns { limit });
        }
        self.turns.set(self.turns.get() + 1);
        Ok(())
    }

    /// The values that the plan as it was written starts with.
    pub(crate) fn frame(
        plan: &Plan<F>,
        inputs: Given<F>,
        captured: Vec<F::Value>,
    ) -> Result<Frame<F>, F::Error> {
        let mut frame = Frame::default();
        frame.values.resize_with(plan.slots.len(), || None);
        for (slot, constant) in &plan.constants {
            let malformed = |error: TensorError| of_graph::<F>(NodeFault::ControlFlow(error.to_string()));
            frame.values[slot.index()] = Some(F::of(constant.value().map_err(malformed)?));
        }
        Self::fill(&mut frame, plan, inputs, captured);
        Ok(frame)
    }

    fn fill(frame: &mut Frame<F>, plan: &Plan<F>, inputs: Given<F>, captured: Vec<F::Value>) {
        for ((_, slot), value) in plan.captures.iter().zip(captured) {
            frame.values[slot.index()] = Some(value);
        }
        for (slot, value) in plan.inputs.iter().zip(inputs) {
            if value.is_some() {
                frame.values[slot.index()] = value;
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
        let is_fast = !is_watched && !plan.defaults.iter().any(replaced);
        let (mut frame, steps) = if is_fast {
            let mut frame = Frame::default();
            frame.values.resize_with(plan.slots.len(), || None);
            for (slot, value) in &plan.fast.constants {
                frame.values[slot.index()] = Some(value.clone());
            }
            Self::fill(&mut frame, plan, inputs, captured);
            (frame, &plan.fast.steps)
        } else {
            (Self::frame(plan, inputs, captured)?, &plan.steps)
        };
        for step in steps {
            self.step(plan, &mut frame, step)?;
        }
        let mut results = Vec::with_capacity(plan.outputs.len());
        for (at, slot) in plan.outputs.iter().enumerate() {
            // The last time that a value is given out it need not be shared.
            let last = !plan.repeats || !plan.outputs[at + 1..].contains(slot);
            let none = || of_graph::<F>(NodeFault::NoValue(plan.slot(*slot).name.clone()));
            results.push(frame.read(Use { slot: *slot, last }).ok_or_else(none)?);
        }
        Ok(results)
    }

    /// Runs one step.
    pub(crate) fn step(
        &mut self,
        plan: &Plan<F>,
        frame: &mut Frame<F>,
        step: &Step<F>,
    ) -> Result<(), F::Error> {
        let failed = |fault| F::failed(&step.about, fault);
        let kept = match &step.action {
            Action::Kernel(kernel) => {
                let inputs = self.operands(frame, step).map_err(failed)?;
                let (version, attributes) = (kernel.version, &*kernel.attributes);
                let mut call = Call { version, attributes, inputs, outputs: step.outputs.len() };
                let results = guarded(NodeFault::Panicked, || {
                    kernel.operator.run_in(&mut call).map_err(NodeFault::from)
                });
                self.room = call.inputs;
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
                let mut inputs = std::mem::take(&mut self.given);
                inputs.extend(step.inputs.iter().map(|used| used.and_then(|used| frame.read(used))));
                let results = F::run_own(self, plan, step, own, &mut inputs);
                inputs.drain(..).flatten().for_each(F::recycle);
                self.given = inputs;
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
    fn operands(&mut self, frame: &mut Frame<F>, step: &Step<F>) -> Result<Vec<Option<Value>>, F::Fault> {
        let mut inputs = std::mem::take(&mut self.room);
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
        frame: &mut Frame<F>,
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
        frame: &mut Frame<F>,
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
            frame.values[slot.index()] = Some(result);
        }
        for slot in &step.dead {
            if let Some(value) = frame.take(*slot) {
                F::recycle(value);
            }
        }
        Ok(())
    }

    /// What a node gives that is no kernel and no flow's own.
    fn results(&self, frame: &Frame<F>, step: &Step<F>, inputs: Given<F>) -> Result<Vec<F::Value>, F::Fault> {
        match &step.action {
            Action::Function(plan) => {
                let mut inputs = inputs;
                inputs.resize(plan.inputs.len(), None);
                self.nested().plan(plan, inputs, Vec::new()).map_err(F::inside)
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
        frame: &Frame<F>,
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
        let mut run = self.nested();
        if run.verify == Verify::EveryValue {
            for (slot, value) in body.inputs.iter().zip(&inputs) {
                let info = body.slot(*slot);
                let wrong = |mismatch| F::mismatch(&info.name, mismatch);
                F::check(&info.proved, value, &mut run.symbols).map_err(wrong)?;
            }
        }
        run.plan(body, inputs.into_iter().map(Some).collect(), captured).map_err(F::inside)
    }
}

/// Memory of runs that are over, for the runs that come: one store for each that ran at the same time.
#[derive(Debug, Default)]
pub(crate) struct Spare(Mutex<Vec<Store>>);

impl Spare {
    /// Lets a run on this thread use a store.
    pub(crate) fn lend<T>(&self, run: impl FnOnce() -> T) -> T {
        // A lock that is poisoned guards nothing but spare memory.
        let stores = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let store = stores().pop().unwrap_or_default();
        let (result, store) = memory::with(store, run);
        stores().push(store);
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
