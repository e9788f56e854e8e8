//! Runs plans: one step after the other, values handed over where they die, results of components held to their stamps.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use typeloom_cpu::call::Call;

use super::declared::value;
use super::error::{ExecuteError, StepFault};
use super::plan::{Action, Body, Step};
use super::{control, structural};
use crate::components::{Args, ComponentFault};
use crate::datum::Datum;
use crate::error::NodeFault;
use crate::plan::SlotId;
use crate::session::{Limits, Verify};
use crate::stamp::Symbols;

/// The newest operators: what is computed on lists of peers has no version of its own.
const STRUCTURAL_VERSION: i64 = 18;

/// What a run of a graph knows.
pub(crate) struct Run {
    pub(crate) verify: Verify,
    pub(crate) symbols: Symbols,
    limits: Limits,
    /// Turns of all loops so far, those of graphs inside included.
    turns: Rc<Cell<u64>>,
}

/// The values of one graph while it runs.
pub(crate) struct Frame {
    values: Vec<Option<Datum>>,
}

impl Frame {
    pub(crate) fn put(&mut self, slot: SlotId, value: Option<Datum>) {
        if let Some(place) = self.values.get_mut(slot.index()) {
            *place = value;
        }
    }

    pub(crate) fn take(&mut self, slot: SlotId) -> Option<Datum> {
        self.values.get_mut(slot.index()).and_then(Option::take)
    }

    pub(crate) fn get(&self, slot: SlotId) -> Option<&Datum> {
        self.values.get(slot.index()).and_then(Option::as_ref)
    }
}

impl Run {
    pub(crate) fn new(verify: Verify, symbols: Symbols, limits: Limits) -> Self {
        Self { verify, symbols, limits, turns: Rc::default() }
    }

    /// A run of a graph inside: symbols that it binds are forgotten afterwards.
    fn nested(&self) -> Self {
        let symbols = self.symbols.clone();
        Self { verify: self.verify, symbols, limits: self.limits, turns: Rc::clone(&self.turns) }
    }

    /// Counts a turn of a loop.
    pub(crate) fn turn(&self) -> Result<(), StepFault> {
        let limit = self.limits.turns;
        if self.turns.get() >= limit {
            return Err(NodeFault::TooManyTurns { limit }.into());
        }
        self.turns.set(self.turns.get() + 1);
        Ok(())
    }

    /// The values that a graph starts with.
    pub(crate) fn frame(body: &Body, inputs: Vec<Option<Datum>>, captured: Vec<Datum>) -> Frame {
        let mut frame = Frame { values: Vec::new() };
        frame.values.resize_with(body.slots.len(), || None);
        for (slot, value) in &body.constants {
            frame.values[slot.index()] = Some(value.clone());
        }
        for ((_, slot), value) in body.captures.iter().zip(captured) {
            frame.values[slot.index()] = Some(value);
        }
        for (slot, value) in body.inputs.iter().zip(inputs) {
            if let Some(value) = value {
                frame.values[slot.index()] = Some(value);
            }
        }
        frame
    }

    /// Runs a graph. `inputs` are its own; `None` leaves one to its initializer.
    pub(crate) fn graph(
        &mut self,
        body: &Body,
        inputs: Vec<Option<Datum>>,
        captured: Vec<Datum>,
    ) -> Result<Vec<Datum>, ExecuteError> {
        let mut frame = Self::frame(body, inputs, captured);
        for step in &body.steps {
            self.step(body, &mut frame, step)?;
        }
        let mut results = Vec::with_capacity(body.outputs.len());
        for (at, slot) in body.outputs.iter().enumerate() {
            // The last time that a value is given out it need not be shared.
            let again = body.outputs[at + 1..].contains(slot);
            let place = &mut frame.values[slot.index()];
            let value = if again { place.clone() } else { place.take() };
            results.push(value.ok_or_else(|| ExecuteError::Node {
                node: "the graph".to_owned(),
                slot: None,
                fault: NodeFault::NoValue(body.slots[slot.index()].name.clone()).into(),
            })?);
        }
        Ok(results)
    }

    /// Runs one step.
    pub(crate) fn step(&mut self, body: &Body, frame: &mut Frame, step: &Step) -> Result<(), ExecuteError> {
        let named = |fault| ExecuteError::Node { node: step.node.clone(), slot: step.on.clone(), fault };
        self.results_of(body, frame, step).map_err(named)
    }

    fn results_of(&mut self, body: &Body, frame: &mut Frame, step: &Step) -> Result<(), StepFault> {
        let mut inputs = Vec::with_capacity(step.inputs.len());
        for used in &step.inputs {
            let Some(used) = used else {
                inputs.push(None);
                continue;
            };
            let place = &mut frame.values[used.slot.index()];
            let value = if used.last { place.take() } else { place.clone() };
            if value.is_none() && matches!(step.action, Action::Method(_)) {
                return Err(NodeFault::NoValue(body.slots[used.slot.index()].name.clone()).into());
            }
            inputs.push(value);
        }
        let results = self.results(body, frame, step, inputs)?;
        // A component says what it gives; that it is so is for the runtime to see.
        let check =
            self.verify == Verify::EveryValue || matches!(step.action, Action::Method(_) | Action::Call(_));
        for (result, slot) in results.into_iter().zip(&step.outputs) {
            let Some(slot) = slot else { continue };
            let info = &body.slots[slot.index()];
            let result = match &step.action {
                Action::Kernel { .. } => info.declared.settled(result),
                Action::Method(_)
                | Action::Pass
                | Action::Cast { .. }
                | Action::Bundle { .. }
                | Action::Unbundle { .. }
                | Action::Peers(_)
                | Action::Send(_)
                | Action::Receive(_)
                | Action::Call(_)
                | Action::Function(_)
                | Action::If { .. }
                | Action::Loop(_)
                | Action::SequenceMap(_)
                | Action::Scan { .. } => result,
            };
            if check {
                let wrong = |mismatch| StepFault::Mismatch { value: info.name.clone(), mismatch };
                info.declared.check(&result, &mut self.symbols).map_err(wrong)?;
            }
            frame.values[slot.index()] = Some(result);
        }
        for slot in &step.dead {
            frame.values[slot.index()] = None;
        }
        Ok(())
    }

    fn results(
        &mut self,
        body: &Body,
        frame: &Frame,
        step: &Step,
        inputs: Vec<Option<Datum>>,
    ) -> Result<Vec<Datum>, StepFault> {
        let first = || {
            let first = inputs.first().cloned().flatten();
            first.ok_or(StepFault::Component(ComponentFault::Missing(0)))
        };
        match &step.action {
            Action::Kernel { operator, version, attributes } => {
                let mut values = Vec::with_capacity(inputs.len());
                for (at, input) in inputs.into_iter().enumerate() {
                    values.push(input.map(|input| value(input, at)).transpose()?);
                }
                let outputs = step.outputs.len();
                let call = Call { version: *version, attributes, inputs: values, outputs };
                let results = guarded(|| operator.run(call).map_err(|error| NodeFault::from(error).into()))?;
                Ok(results.into_iter().map(Datum::from).collect())
            }
            Action::Method(method) => {
                let outputs = |output: usize| {
                    let slot = step.outputs.get(output).copied().flatten()?;
                    Some(&body.slots[slot.index()].declared)
                };
                let args = Args { inputs: &inputs, outputs: &outputs, symbols: &self.symbols };
                let results = guarded(|| method(&args).map_err(StepFault::from))?;
                let (expected, found) = (step.outputs.len(), results.len());
                if expected != found {
                    return Err(ComponentFault::Count { expected, found }.into());
                }
                Ok(results)
            }
            Action::Pass => Ok(vec![first()?]),
            Action::Cast { to } => Ok(vec![guarded(|| structural::cast(first()?, to))?]),
            Action::Bundle { keys } => Ok(vec![structural::bundle(keys, inputs)?]),
            Action::Unbundle { keys } => structural::unbundle(keys, inputs),
            Action::Peers(op) => Ok(vec![guarded(|| structural::peers(op, STRUCTURAL_VERSION, inputs))?]),
            Action::Send(_) | Action::Receive(_) => {
                Err(StepFault::Structure("values are sent and received by parts alone".to_owned()))
            }
            Action::Call(program) => program.call(inputs, self.verify).map_err(inside),
            Action::Function(plan) => {
                let mut inputs = inputs;
                inputs.resize(plan.inputs.len(), None);
                self.nested().graph(plan, inputs, Vec::new()).map_err(inside)
            }
            Action::If { then_branch, else_branch } => {
                control::branch(self, frame, &inputs, then_branch, else_branch)
            }
            Action::Loop(body) => control::repeat(self, frame, inputs, body),
            Action::SequenceMap(body) => control::map(self, frame, &inputs, body),
            Action::Scan { body, attributes, version } => {
                control::scan(self, frame, inputs, body, attributes, *version)
            }
        }
    }

    /// Runs a graph inside a node once.
    pub(crate) fn body(
        &self,
        frame: &Frame,
        body: &Body,
        inputs: Vec<Datum>,
    ) -> Result<Vec<Datum>, StepFault> {
        let mut captured = Vec::with_capacity(body.captures.len());
        for (outer, inner) in &body.captures {
            match frame.get(*outer) {
                Some(value) => captured.push(value.clone()),
                None => return Err(NodeFault::NoValue(body.slots[inner.index()].name.clone()).into()),
            }
        }
        let mut run = self.nested();
        if run.verify == Verify::EveryValue {
            for (slot, value) in body.inputs.iter().zip(&inputs) {
                let info = &body.slots[slot.index()];
                let wrong = |mismatch| StepFault::Mismatch { value: info.name.clone(), mismatch };
                info.declared.check(value, &mut run.symbols).map_err(wrong)?;
            }
        }
        run.graph(body, inputs.into_iter().map(Some).collect(), captured).map_err(inside)
    }
}

fn inside(error: ExecuteError) -> StepFault {
    StepFault::Inside(Box::new(error))
}

/// What a component says when it panics, instead of the panic.
fn guarded<T>(run: impl FnOnce() -> Result<T, StepFault>) -> Result<T, StepFault> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(StepFault::Panicked(words(&*panic))))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
