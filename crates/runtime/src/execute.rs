//! Execution of plans.
//!
//! Steps run one after the other. The last reader of a value takes it and can reuse its memory. Memory of
//! dropped values is kept for later values.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use smallvec::SmallVec;
use typeloom_cpu::call::Call;
use typeloom_cpu::fast::fused::FusedError;
use typeloom_cpu::memory::{self, Store};
use typeloom_tensor::any_tensor::{AnyTensor, Returned, budget};
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_tensor::value_check::{SymbolBindings, to_declared_form};

use crate::error::{NodeError, RunError};
use crate::options::{Interrupt, RunLimits, STEP_BYTES, Verify};
use crate::plan::{Action, ModuleNode, NodeInfo, Plan, PlanStep, Registers, Schedule, SlotId, Use};

mod control_flow;
mod flex_attention;
mod module_nodes;
mod scan;
mod structural;

/// Inputs of a node; `None` for optional inputs that are absent.
pub(crate) type Inputs = Vec<Option<Datum>>;

/// Results of a node; most nodes have one.
pub(crate) type Results = SmallVec<[Datum; 1]>;

/// Receives every value of the main graph, with its name.
pub(crate) type Observer<'r> = &'r mut (dyn FnMut(&str, &Datum) + 'r);

/// State of the run of a graph.
pub(crate) struct Run<'r> {
    pub(crate) verify: Verify,
    pub(crate) symbols: SymbolBindings,
    observer: Option<Observer<'r>>,
    limits: RunLimits,
    interrupt: Option<Interrupt>,
    /// Iterations of all loops so far, including those of nested graphs.
    iterations: Cell<u64>,
    /// Steps so far, including those of nested graphs.
    steps: Cell<u64>,
    /// [`budget::created`] at the last iteration of a loop.
    created: Cell<u64>,
    /// Whether operands count as steps: in nested graphs and functions, which can run any number of times.
    counts_operands: bool,
    scratch: Cell<ScratchBuffers>,
}

/// Buffers for the inputs of the next node, kept from node to node and from run to run.
#[derive(Default)]
pub(crate) struct ScratchBuffers {
    kernel_inputs: Inputs,
    module_node_inputs: Inputs,
}

/// The register file of a graph while it runs.
pub(crate) struct Frame<'p> {
    values: Vec<Option<Datum>>,
    registers: &'p Registers,
}

impl<'p> Frame<'p> {
    pub(crate) fn empty(schedule: &'p Schedule) -> Self {
        Self { values: vec![None; schedule.registers.count()], registers: &schedule.registers }
    }

    pub(crate) fn get(&self, slot: SlotId) -> Option<&Datum> {
        self.values.get(self.registers.of(slot)).and_then(Option::as_ref)
    }

    pub(crate) fn set(&mut self, slot: SlotId, value: Option<Datum>) {
        if let Some(register) = self.values.get_mut(self.registers.of(slot)) {
            *register = value;
        }
    }

    pub(crate) fn take(&mut self, slot: SlotId) -> Option<Datum> {
        self.values.get_mut(self.registers.of(slot)).and_then(Option::take)
    }

    /// Returns a value to a reader; the last reader takes it.
    fn read(&mut self, used: Use) -> Option<Datum> {
        let register = self.values.get_mut(self.registers.of(used.slot))?;
        if used.last { register.take() } else { register.clone() }
    }

    fn read_all(&mut self, step: &PlanStep) -> impl Iterator<Item = Option<Datum>> {
        step.inputs.iter().map(|used| used.and_then(|used| self.read(used)))
    }
}

/// Number of elements of a sequence that count as one step.
const STEP_ELEMENTS: u64 = 16;

/// Number of steps for the operands of a node. An operator takes at least time proportional to their size,
/// even if it writes in place.
fn operand_steps(frame: &Frame<'_>, step: &PlanStep) -> u64 {
    let bytes = |value: &Datum| match value {
        Datum::Tensor(tensor) => tensor.bytes().len() as u64,
        Datum::Map(map) => map.byte_len() as u64,
        _ => 0,
    };
    let of = |value: &Datum| match value.as_sequence() {
        Some(values) => {
            values.len() as u64 / STEP_ELEMENTS + values.iter().map(bytes).sum::<u64>() / STEP_BYTES
        }
        None => bytes(value) / STEP_BYTES,
    };
    step.inputs.iter().flatten().filter_map(|used| frame.get(used.slot)).map(of).sum()
}

/// An error of a node as the error of the run.
pub(crate) fn node_failed(info: &NodeInfo, error: impl Into<NodeError>) -> RunError {
    RunError::Node { node: info.label.clone(), slot: info.on_slot.clone(), error: error.into() }
}

/// An error that concerns no particular node.
pub(crate) fn graph_failed(error: NodeError) -> RunError {
    RunError::Node { node: "the graph".to_owned(), slot: None, error }
}

fn nested(error: RunError) -> NodeError {
    NodeError::Nested(Box::new(error))
}

/// A value as an operand of an ONNX operator, to which a scalar is a tensor of rank 0.
#[inline(never)]
pub(crate) fn operand(value: Datum, index: usize) -> Result<Datum, NodeError> {
    match value {
        Datum::Tensor(_) | Datum::Sequence(_) | Datum::Optional(_) | Datum::Map(_) => Ok(value),
        Datum::Scalar(scalar) => Ok(Datum::Tensor(match scalar {
            Scalar::F32(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::F64(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::F16(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::U8(scalar) => AnyTensor::from_scalar(scalar),
            Scalar::I32(scalar) => AnyTensor::from_scalar(scalar),
        })),
        other => Err(NodeError::NotTensors { index, found: other.describe() }),
    }
}

fn operands(inputs: Inputs) -> Result<Inputs, NodeError> {
    let operand = |(at, input): (usize, Option<Datum>)| input.map(|input| operand(input, at)).transpose();
    inputs.into_iter().enumerate().map(operand).collect()
}

/// Keeps the memory of a value for later values.
fn recycle(register: &mut Option<Datum>) {
    let is_reusable = |value: &mut Datum| value.as_tensor().is_none_or(memory::is_reusable);
    match register.take_if(is_reusable) {
        Some(value) => memory::recycle(value),
        None => *register = None,
    }
}

impl<'r> Run<'r> {
    pub(crate) fn new(
        verify: Verify,
        symbols: SymbolBindings,
        limits: RunLimits,
        observer: Option<Observer<'r>>,
    ) -> Self {
        let (iterations, steps) = (Cell::default(), Cell::default());
        let (created, scratch) = (Cell::new(budget::created()), Cell::default());
        Self {
            verify,
            symbols,
            observer,
            limits,
            interrupt: None,
            iterations,
            steps,
            created,
            counts_operands: false,
            scratch,
        }
    }

    /// The same run, ended by an interrupt.
    pub(crate) fn with_interrupt(self, interrupt: Option<Interrupt>) -> Self {
        Self { interrupt, ..self }
    }

    /// Runs `runs` with the scratch buffers of an earlier run, and returns the buffers for a later one.
    pub(crate) fn with_scratch<T>(
        &mut self,
        scratch: ScratchBuffers,
        runs: impl FnOnce(&mut Self) -> T,
    ) -> (T, ScratchBuffers) {
        self.scratch.set(scratch);
        let result = runs(self);
        (result, self.scratch.take())
    }

    /// Runs a nested graph with a copy of the symbols.
    fn nested<T>(&self, inside: impl FnOnce(&mut Run<'static>) -> T) -> T {
        let run = Run::new(self.verify, self.symbols.clone(), self.limits, None);
        let mut run = run.with_interrupt(self.interrupt.clone());
        run.iterations.set(self.iterations.get());
        run.steps.set(self.steps.get());
        run.created.set(self.created.get());
        run.counts_operands = self.limits.steps != u64::MAX;
        run.scratch.set(self.scratch.take());
        let result = inside(&mut run);
        self.iterations.set(run.iterations.get());
        self.steps.set(run.steps.get());
        self.created.set(run.created.get());
        self.scratch.set(run.scratch.take());
        result
    }

    /// Counts an iteration of a loop.
    fn loop_iteration(&self) -> Result<(), NodeError> {
        let limit = self.limits.iterations;
        if self.iterations.get() >= limit {
            return Err(NodeError::TooManyIterations { limit });
        }
        self.iterations.set(self.iterations.get() + 1);
        self.iteration()
    }

    /// Counts the steps of an iteration: of a loop, or over the elements of an input.
    fn iteration(&self) -> Result<(), NodeError> {
        let created = budget::created();
        let bytes = created.wrapping_sub(self.created.replace(created));
        self.spend(1 + bytes / STEP_BYTES)
    }

    /// Begins a loop: tensors that exist before it do not count for its first iteration.
    fn begin_loop(&self) {
        self.created.set(budget::created());
    }

    /// Counts steps.
    fn spend(&self, steps: u64) -> Result<(), NodeError> {
        let limit = self.limits.steps;
        let taken = self.steps.get().saturating_add(steps);
        self.steps.set(taken);
        if taken > limit { Err(NodeError::TooManySteps { limit }) } else { Ok(()) }
    }

    /// Creates the frame for the schedule in written order, with constants and inputs.
    pub(crate) fn frame<'p>(
        plan: &'p Plan,
        inputs: Inputs,
        captured: Vec<Datum>,
    ) -> Result<Frame<'p>, RunError> {
        let mut frame = Frame::empty(&plan.written);
        for (slot, constant) in &plan.constants {
            let value =
                constant.value().map_err(|error| graph_failed(NodeError::ControlFlow(error.to_string())))?;
            frame.set(*slot, Some(value));
        }
        Self::fill(&mut frame, plan, inputs, captured);
        Ok(frame)
    }

    fn fill(frame: &mut Frame<'_>, plan: &Plan, inputs: Inputs, captured: Vec<Datum>) {
        for ((_, slot), value) in plan.captures.iter().zip(captured) {
            frame.set(*slot, Some(value));
        }
        for (slot, value) in plan.inputs.iter().zip(inputs) {
            if value.is_some() {
                frame.set(*slot, value);
            }
        }
    }

    /// Runs a plan and returns its outputs. An absent input has its initializer as value.
    pub(crate) fn plan(
        &mut self,
        plan: &Plan,
        inputs: Inputs,
        captured: Vec<Datum>,
    ) -> Result<Vec<Datum>, RunError> {
        // The optimized schedule contains results computed from defaults, so it is wrong if an input replaces
        // a default.
        let is_replaced = |at: &usize| inputs.get(*at).is_some_and(Option::is_some);
        let is_observed = self.verify == Verify::EveryValue || self.observer.is_some();
        if is_observed || plan.defaults.iter().any(is_replaced) {
            let mut frame = Self::frame(plan, inputs, captured)?;
            return self.schedule(plan, &plan.written, &mut frame);
        }
        let optimized = &plan.optimized;
        let registers = &optimized.schedule.registers;
        let mut frame = Frame { values: optimized.initial_values(), registers };
        Self::fill(&mut frame, plan, inputs, captured);
        let results = self.schedule(plan, &optimized.schedule, &mut frame)?;
        optimized.keep(frame.values);
        Ok(results)
    }

    fn schedule(
        &mut self,
        plan: &Plan,
        schedule: &Schedule,
        frame: &mut Frame<'_>,
    ) -> Result<Vec<Datum>, RunError> {
        self.spend(schedule.steps.len() as u64).map_err(graph_failed)?;
        for step in &schedule.steps {
            if self.interrupt.as_ref().is_some_and(Interrupt::is_triggered) {
                return Err(graph_failed(NodeError::Interrupted));
            }
            if self.counts_operands {
                self.spend(operand_steps(frame, step)).map_err(|error| node_failed(&step.info, error))?;
            }
            self.step(plan, frame, step)?;
        }
        let mut results = Vec::with_capacity(schedule.results.len());
        for used in &schedule.results {
            let missing = || graph_failed(NodeError::NoValue(plan.slot(used.slot).name.clone()));
            results.push(frame.read(*used).ok_or_else(missing)?);
        }
        Ok(results)
    }

    /// Runs one step.
    pub(crate) fn step(
        &mut self,
        plan: &Plan,
        frame: &mut Frame<'_>,
        step: &PlanStep,
    ) -> Result<(), RunError> {
        let failed = |error: NodeError| node_failed(&step.info, error);
        let stored = match &step.action {
            Action::Kernel(kernel) => {
                let inputs = self.kernel_inputs(frame, step).map_err(failed)?;
                let (version, attributes) = (kernel.version, &kernel.attributes);
                let mut call = Call { version, attributes, inputs, outputs: step.outputs.len() };
                let results = catch_panic(NodeError::OperatorPanicked, || {
                    kernel.operator.run_in(&mut call).map_err(NodeError::from)
                });
                self.scratch.get_mut().kernel_inputs = call.inputs;
                self.store_operator_results(plan, frame, step, results.map_err(failed)?)
            }
            Action::Fused(fused) => {
                let inputs = self.kernel_inputs(frame, step).map_err(failed)?;
                let (kernel, nodes) = &**fused;
                let results = catch_panic(NodeError::OperatorPanicked, || Ok(kernel.run(inputs)));
                match results.map_err(failed)? {
                    Ok(results) => self.store_operator_results(plan, frame, step, results),
                    Err(FusedError { node, error }) => {
                        return Err(node_failed(nodes.get(node).unwrap_or(&step.info), error));
                    }
                }
            }
            Action::Module(node) => {
                let mut inputs = std::mem::take(&mut self.scratch.get_mut().module_node_inputs);
                inputs.extend(frame.read_all(step));
                let results = module_nodes::run(self, plan, step, node, &mut inputs);
                inputs.iter_mut().for_each(recycle);
                inputs.clear();
                self.scratch.get_mut().module_node_inputs = inputs;
                // Components, other programs and peers can return values of another type than they declare.
                let is_foreign = matches!(
                    **node,
                    ModuleNode::Method(_) | ModuleNode::Call(_) | ModuleNode::Unbundle { .. }
                );
                self.store(plan, frame, step, results.map_err(failed)?.into_iter(), is_foreign)
            }
            Action::Function(_)
            | Action::If { .. }
            | Action::Loop(_)
            | Action::Scan { .. }
            | Action::SequenceMap(_)
            | Action::FlexAttention { .. }
            | Action::Unknown => {
                let inputs = frame.read_all(step).collect();
                let results = self.control_flow(frame, step, inputs).map_err(failed)?;
                self.store(plan, frame, step, results.into_iter(), false)
            }
        };
        stored.map_err(failed)
    }

    fn kernel_inputs(&mut self, frame: &mut Frame<'_>, step: &PlanStep) -> Result<Inputs, NodeError> {
        let mut inputs = std::mem::take(&mut self.scratch.get_mut().kernel_inputs);
        inputs.clear();
        for (index, used) in step.inputs.iter().enumerate() {
            let value = used.and_then(|used| frame.read(used));
            inputs.push(match value {
                // Most values are not moved through a result.
                None | Some(Datum::Tensor(_) | Datum::Sequence(_) | Datum::Optional(_) | Datum::Map(_)) => {
                    value
                }
                Some(other) => Some(operand(other, index)?),
            });
        }
        Ok(inputs)
    }

    /// Stores results of an ONNX operator, which returns tensors of rank 0 for scalars.
    fn store_operator_results(
        &mut self,
        plan: &Plan,
        frame: &mut Frame<'_>,
        step: &PlanStep,
        results: Vec<Datum>,
    ) -> Result<(), NodeError> {
        let results = results.into_iter().zip(&step.outputs).map(|(result, slot)| match slot {
            Some(slot) => to_declared_form(result, &plan.slot(*slot).ty),
            None => result,
        });
        self.store(plan, frame, step, results, false)
    }

    /// Stores results, and releases the values that no later step reads. Optional results can be missing:
    /// reading one is an error of the reader.
    fn store(
        &mut self,
        plan: &Plan,
        frame: &mut Frame<'_>,
        step: &PlanStep,
        results: impl Iterator<Item = Datum>,
        is_foreign: bool,
    ) -> Result<(), NodeError> {
        let is_checked = is_foreign || self.verify == Verify::EveryValue;
        for (slot, result) in step.outputs.iter().zip(results) {
            let Some(slot) = slot else { continue };
            if is_checked {
                self.check(plan, *slot, &result)?;
            }
            if let Some(observer) = &mut self.observer {
                observer(&plan.slot(*slot).name, &result);
            }
            debug_assert!(frame.get(*slot).is_none(), "a register is empty when a value is stored in it");
            frame.set(*slot, Some(result));
        }
        for slot in &step.dead {
            if let Some(register) = frame.values.get_mut(frame.registers.of(*slot)) {
                recycle(register);
            }
        }
        Ok(())
    }

    /// Checks the value of a slot against the slot's type.
    fn check(&mut self, plan: &Plan, slot: SlotId, value: &Datum) -> Result<(), NodeError> {
        let slot = plan.slot(slot);
        let wrong = |mismatch| NodeError::Mismatch { value: slot.name.clone(), mismatch };
        self.symbols.check(value, &slot.ty).map_err(wrong)
    }

    /// Runs a node that contains graphs, or calls a function.
    fn control_flow(
        &self,
        frame: &Frame<'_>,
        step: &PlanStep,
        inputs: Inputs,
    ) -> Result<Vec<Datum>, NodeError> {
        match &step.action {
            Action::Function(plan) => {
                let mut inputs = inputs;
                inputs.resize(plan.inputs.len(), None);
                self.nested(|run| run.plan(plan, inputs, Vec::new())).map_err(nested)
            }
            Action::If { then_branch, else_branch } => {
                control_flow::run_if(self, frame, &inputs, then_branch, else_branch)
            }
            Action::Loop(body) => control_flow::run_loop(self, frame, inputs, body),
            Action::SequenceMap(body) => control_flow::sequence_map(self, frame, &inputs, body),
            Action::Scan { body, attributes, version } => {
                scan::run(self, frame, body, attributes, *version, inputs)
            }
            Action::FlexAttention { scores, probabilities, attributes } => {
                let bodies = [scores.as_deref(), probabilities.as_deref()];
                flex_attention::run(self, frame, attributes, inputs, bodies)
            }
            Action::Kernel(_) | Action::Fused(_) | Action::Module(_) | Action::Unknown => {
                let (domain, op) = (step.info.domain.clone(), step.info.op.clone());
                Err(NodeError::UnknownOperator { domain, op })
            }
        }
    }

    /// Runs a nested graph once.
    fn body(&self, frame: &Frame<'_>, body: &Plan, inputs: Vec<Datum>) -> Result<Vec<Datum>, NodeError> {
        let mut captured = Vec::with_capacity(body.captures.len());
        for (outer, inner) in &body.captures {
            match frame.get(*outer) {
                Some(value) => captured.push(value.clone()),
                None => return Err(NodeError::NoValue(body.slot(*inner).name.clone())),
            }
        }
        self.nested(|run| {
            if run.verify == Verify::EveryValue {
                for (slot, value) in body.inputs.iter().zip(&inputs) {
                    run.check(body, *slot, value)?;
                }
            }
            run.plan(body, inputs.into_iter().map(Some).collect(), captured).map_err(nested)
        })
    }
}

/// Memory of earlier runs.
#[derive(Default)]
pub(crate) struct MemoryPool {
    /// As many as there were concurrent runs at most.
    shares: Mutex<Vec<(Store, ScratchBuffers)>>,
    /// The memory of results that the callers dropped.
    returned: Arc<Returned>,
}

impl fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPool").finish_non_exhaustive()
    }
}

impl MemoryPool {
    /// Calls `runs` with one share, which is not available to other threads meanwhile.
    pub(crate) fn lend<T>(&self, runs: impl FnOnce(ScratchBuffers) -> (T, ScratchBuffers)) -> T {
        // A poisoned lock is harmless: it guards spare memory only.
        let shares = || self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut store, scratch) = shares().pop().unwrap_or_default();
        store.begin(self.returned.take());
        let ((result, scratch), store) = memory::with(store, || runs(scratch));
        shares().push((store, scratch));
        result
    }

    /// Uses the memory of results for later runs when the caller has dropped them.
    pub(crate) fn expect_back(&self, results: &mut [Datum]) {
        for result in results {
            if let Datum::Tensor(tensor) = result
                && memory::is_reusable(tensor)
            {
                tensor.return_to(&self.returned);
            }
        }
    }
}

/// Turns a panic of an operator or a component into an error.
fn catch_panic<T, E>(panicked: impl FnOnce(String) -> E, run: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(panicked(panic_message(&*panic))))
}

/// The message of a panic.
pub(crate) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
