//! Runs plans: one step after the other, values handed over where they die.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use typeloom_cpu::call::Call;
use typeloom_cpu::fused::FusedError;
use typeloom_cpu::memory;
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::error::TensorError;

use crate::error::{NodeFault, RunError};
use crate::plan::{Action, Plan, Step};
use crate::session::{Limits, Observer, Verify};
use crate::stamp::Symbols;
use crate::{control, flex, scan};

/// What a run of a graph knows.
pub(crate) struct Run<'r> {
    pub(crate) verify: Verify,
    pub(crate) symbols: Symbols,
    /// Told of every value of the main graph as it is made.
    pub(crate) observer: Option<&'r mut Observer<'r>>,
    pub(crate) limits: Limits,
    /// How many turns all loops have taken so far.
    pub(crate) turns: Rc<Cell<u64>>,
}

/// The values of one graph while it runs.
pub(crate) struct Frame {
    values: Vec<Option<Value>>,
}

impl Frame {
    pub(crate) fn get(&self, slot: crate::plan::SlotId) -> Option<&Value> {
        self.values.get(slot.index()).and_then(Option::as_ref)
    }
}

impl Run<'_> {
    /// A run of a graph inside: symbols that it binds are forgotten afterwards.
    pub(crate) fn nested(&self) -> Run<'static> {
        Run {
            verify: self.verify,
            symbols: self.symbols.clone(),
            observer: None,
            limits: self.limits,
            turns: Rc::clone(&self.turns),
        }
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

    /// Runs a plan. `inputs` are those of the graph; `None` leaves one to its initializer.
    pub(crate) fn plan(
        &mut self,
        plan: &Plan,
        inputs: Vec<Option<Value>>,
        captured: Vec<Value>,
    ) -> Result<Vec<Value>, RunError> {
        let mut frame = Frame { values: vec![None; plan.slots.len()] };
        // A default that is replaced may be built into the fast form.
        let replaced = |at: &usize| inputs.get(*at).is_some_and(Option::is_some);
        let is_watched = self.verify == Verify::EveryValue || self.observer.is_some();
        let is_fast = !is_watched && !plan.defaults.iter().any(replaced);
        let steps = if is_fast { &plan.fast.steps } else { &plan.steps };
        if is_fast {
            for (slot, value) in &plan.fast.constants {
                frame.values[slot.index()] = Some(value.clone());
            }
        } else {
            for (slot, constant) in &plan.constants {
                let malformed = |error: TensorError| RunError::Node {
                    node: "the graph".to_owned(),
                    fault: NodeFault::ControlFlow(error.to_string()),
                };
                frame.values[slot.index()] = Some(constant.value().map_err(malformed)?);
            }
        }
        for ((_, slot), value) in plan.captures.iter().zip(captured) {
            frame.values[slot.index()] = Some(value);
        }
        for (slot, value) in plan.inputs.iter().zip(inputs) {
            if let Some(value) = value {
                frame.values[slot.index()] = Some(value);
            }
        }
        for step in steps {
            self.step(plan, &mut frame, step)?;
        }
        let mut results = Vec::with_capacity(plan.outputs.len());
        for (at, slot) in plan.outputs.iter().enumerate() {
            // The last time that a value is given out it need not be shared.
            let again = plan.outputs[at + 1..].contains(slot);
            let place = &mut frame.values[slot.index()];
            let value = if again { place.clone() } else { place.take() };
            let name = || plan.slots[slot.index()].name.clone();
            results.push(value.ok_or_else(|| RunError::Node {
                node: "the graph".to_owned(),
                fault: NodeFault::NoValue(name()),
            })?);
        }
        Ok(results)
    }

    fn step(&mut self, plan: &Plan, frame: &mut Frame, step: &Step) -> Result<(), RunError> {
        let mut inputs = Vec::with_capacity(step.inputs.len());
        for used in &step.inputs {
            let Some(used) = used else {
                inputs.push(None);
                continue;
            };
            let place = &mut frame.values[used.slot.index()];
            let value = if used.last { place.take() } else { place.clone() };
            inputs.push(value);
        }
        let failed = |fault| RunError::Node { node: step.node.clone(), fault };
        let results = match &step.action {
            Action::Fused(fused) => {
                let (kernel, nodes) = &**fused;
                // A fused kernel knows which of its nodes failed.
                match guarded(|| Ok(kernel.run(inputs))).map_err(failed)? {
                    Ok(results) => results,
                    Err(FusedError { node, error }) => {
                        let node = nodes.get(node).unwrap_or(&step.node).clone();
                        return Err(RunError::Node { node, fault: NodeFault::Kernel(error) });
                    }
                }
            }
            Action::Kernel(_)
            | Action::Function(_)
            | Action::If { .. }
            | Action::Loop(_)
            | Action::Scan(_)
            | Action::SequenceMap(_)
            | Action::Flex { .. }
            | Action::Unknown => self.results(frame, step, inputs).map_err(failed)?,
        };
        let mut results = results.into_iter();
        for output in &step.outputs {
            let (result, Some(slot)) = (results.next(), output) else { continue };
            let info = &plan.slots[slot.index()];
            let Some(result) = result else {
                // Optional outputs may be missing; whoever reads them says so.
                continue;
            };
            if self.verify == Verify::EveryValue {
                self.symbols
                    .check(&result, &info.stamp)
                    .map_err(|mismatch| failed(NodeFault::Mismatch { value: info.name.clone(), mismatch }))?;
            }
            if let Some(observer) = &mut self.observer {
                observer(&info.name, &result);
            }
            frame.values[slot.index()] = Some(result);
        }
        for slot in &step.dead {
            if let Some(value) = frame.values[slot.index()].take() {
                memory::recycle(value);
            }
        }
        Ok(())
    }

    fn results(
        &mut self,
        frame: &Frame,
        step: &Step,
        inputs: Vec<Option<Value>>,
    ) -> Result<Vec<Value>, NodeFault> {
        match &step.action {
            Action::Kernel(operator) => {
                let call = Call {
                    version: step.version,
                    attributes: &step.attributes,
                    inputs,
                    outputs: step.outputs.len(),
                };
                guarded(|| operator.run(call).map_err(NodeFault::from))
            }
            Action::Function(plan) => {
                let mut inputs = inputs;
                inputs.resize(plan.inputs.len(), None);
                self.nested().plan(plan, inputs, Vec::new()).map_err(inside)
            }
            Action::If { then_branch, else_branch } => {
                control::branch(self, frame, &inputs, then_branch, else_branch)
            }
            Action::Loop(body) => control::repeat(self, frame, inputs, body),
            Action::SequenceMap(body) => control::map(self, frame, &inputs, body),
            Action::Scan(body) => guarded(|| scan::scan(self, frame, step, inputs, body)),
            Action::Flex { scores, probabilities } => guarded(|| {
                flex::attention(self, frame, step, &inputs, scores.as_ref(), probabilities.as_ref())
            }),
            Action::Fused(_) | Action::Unknown => {
                Err(NodeFault::UnknownOperator { domain: step.domain.clone(), op: step.op.clone() })
            }
        }
    }

    /// Runs a graph inside a node once.
    pub(crate) fn body(
        &self,
        frame: &Frame,
        body: &Plan,
        inputs: Vec<Value>,
    ) -> Result<Vec<Value>, NodeFault> {
        let mut captured = Vec::with_capacity(body.captures.len());
        for (outer, inner) in &body.captures {
            match frame.get(*outer) {
                Some(value) => captured.push(value.clone()),
                None => return Err(NodeFault::NoValue(body.slots[inner.index()].name.clone())),
            }
        }
        let mut run = self.nested();
        if run.verify == Verify::EveryValue {
            for (slot, value) in body.inputs.iter().zip(&inputs) {
                let info = &body.slots[slot.index()];
                run.symbols
                    .check(value, &info.stamp)
                    .map_err(|mismatch| NodeFault::Mismatch { value: info.name.clone(), mismatch })?;
            }
        }
        run.plan(body, inputs.into_iter().map(Some).collect(), captured).map_err(inside)
    }
}

fn inside(error: RunError) -> NodeFault {
    NodeFault::Inside(Box::new(error))
}

/// What a component says when it panics, instead of the panic.
fn guarded<T>(run: impl FnOnce() -> Result<T, NodeFault>) -> Result<T, NodeFault> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(NodeFault::Panicked(words(&*panic))))
}

pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
