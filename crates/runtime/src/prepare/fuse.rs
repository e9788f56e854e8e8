//! Optimized schedules: constant folding and operator fusion.
//!
//! Folding computes nodes whose operands are constant, as long as the results are small. Fusion merges a
//! convolution, a product, or a node on dequantised integers with the nodes after it, as long as each is the
//! only reader of the preceding result, which is then never stored. Convolutions whose results are
//! concatenated along the channels become one kernel with the concatenation.
//!
//! Dequantised constants are folded last: a fused kernel on integers reads the integers, and four times as
//! large floats are computed only where another step reads them. A kernel that reads the integers of a
//! dequantised input reads the input of that node, which is dropped with its last reader. A kernel that is
//! incomplete after all absorbed nodes is discarded.
//!
//! **Invariant:** the optimized schedule uses the slots of its plan; none of its steps reads a slot that it
//! does not fill.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_cpu::attributes::Attribute;
use typeloom_cpu::call::Call;
use typeloom_cpu::fast::fused::{Absorbed, Dequantised, Fused, Node, Operand};
use typeloom_module::Map;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::to_declared_form;
use typeloom_tensor::value_type::{Dim, ValueType};

use crate::plan::{Action, Constant, Kernel, Plan, PlanStep, SlotId, Use};

/// Largest size in bytes of one folded tensor.
const MAX_FOLDED: usize = 1 << 29;

/// Largest size in bytes of all folded tensors.
const MAX_FOLDED_TOTAL: usize = 1 << 30;

/// Values that are known before the run.
struct Known<'p> {
    stored: Map<SlotId, &'p Constant>,
    /// Folded values that a remaining step reads. Weights that a fused kernel contains are dropped.
    folded: Map<SlotId, Datum>,
    /// Dequantised constants, which are computed when they are read.
    deferred: Map<SlotId, &'p PlanStep>,
    /// Number of reads of each slot by the remaining steps.
    reads: Map<SlotId, usize>,
    bytes: usize,
}

impl<'p> Known<'p> {
    fn new(plan: &'p Plan) -> Self {
        let stored = plan.constants.iter().map(|(slot, constant)| (*slot, constant)).collect();
        let mut known = Self {
            stored,
            folded: Map::default(),
            deferred: Map::default(),
            reads: Map::default(),
            bytes: 0,
        };
        known.count_reads(
            plan.written.steps.iter().flat_map(PlanStep::reads).chain(plan.outputs.iter().copied()),
        );
        known
    }

    fn count_reads(&mut self, slots: impl Iterator<Item = SlotId>) {
        for slot in slots {
            *self.reads.entry(slot).or_default() += 1;
        }
    }

    /// Removes reads, and drops folded values without further reads.
    fn remove_reads(&mut self, slots: impl Iterator<Item = SlotId>) {
        for slot in slots {
            let Some(reads) = self.reads.get_mut(&slot) else { continue };
            *reads -= 1;
            if *reads == 0 {
                self.folded.remove(&slot);
            }
        }
    }

    fn is_deferred(&self, step: &PlanStep) -> bool {
        step.outputs.iter().flatten().any(|slot| self.deferred.contains_key(slot))
    }

    /// Whether no step reads a result of a node.
    fn is_unread(&self, step: &PlanStep) -> bool {
        step.outputs.iter().flatten().all(|slot| self.reads.get(slot).is_none_or(|reads| *reads == 0))
    }

    fn has(&self, slot: SlotId) -> bool {
        self.stored.contains_key(&slot)
            || self.folded.contains_key(&slot)
            || self.deferred.contains_key(&slot)
    }

    fn value(&self, slot: SlotId) -> Option<Datum> {
        if let Some(value) = self.folded.get(&slot) {
            return Some(value.clone());
        }
        match self.stored.get(&slot) {
            Some(constant) => constant.value().ok(),
            None => self.results(self.deferred.get(&slot)?)?.into_iter().next(),
        }
    }

    fn tensor(&self, slot: SlotId) -> Option<AnyTensor> {
        match self.value(slot)? {
            Datum::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// Runs a node on known values.
    fn results(&self, step: &PlanStep) -> Option<Vec<Datum>> {
        let Kernel { operator, version, attributes } = kernel(step)?;
        let inputs = step.inputs.iter().map(|used| match used {
            None => Some(None),
            Some(used) => self.value(used.slot).map(Some),
        });
        let inputs = inputs.collect::<Option<Vec<_>>>()?;
        let call = Call { version: *version, attributes, inputs, outputs: step.outputs.len() };
        // A node that fails here stays in the schedule and fails in the run, which reports the error.
        catch_unwind(AssertUnwindSafe(|| operator.run(call))).ok()?.ok()
    }

    /// The parameters of a `DequantizeLinear` node, if they are constant and scales have at most one axis.
    fn dequantised(&self, step: &PlanStep) -> Option<Dequantised> {
        let Kernel { operator, attributes, .. } = kernel(step)?;
        let int = |name, default| match attributes.get(name) {
            Some(Attribute::Int(value)) => *value,
            _ => default,
        };
        if operator.name() != "DequantizeLinear" || int("block_size", 0) != 0 || int("output_dtype", 0) != 0 {
            return None;
        }
        let slot = |index: usize| step.inputs.get(index).copied().flatten().map(|used| used.slot);
        let x = slot(0)?;
        let x = if self.has(x) { Some(self.tensor(x)?) } else { None };
        let zero = match slot(2) {
            Some(zero) => Some(self.tensor(zero)?),
            None => None,
        };
        Some(Dequantised { x, scale: self.tensor(slot(1)?)?, zero, axis: int("axis", 1) })
    }
}

/// Returns the constants and the steps of the optimized schedule. Constants that the schedule needs are
/// decoded for both schedules.
pub(super) fn optimize(plan: &mut Plan) -> (Vec<(SlotId, Datum)>, Vec<PlanStep>) {
    let mut known = Known::new(plan);
    let mut steps: Vec<Option<PlanStep>> = Vec::with_capacity(plan.written.steps.len());
    for step in &plan.written.steps {
        let is_folded = !defer(&mut known, step) && fold(plan, &mut known, step).is_some();
        if is_folded {
            known.remove_reads(step.reads());
        }
        steps.push((!is_folded).then(|| step.clone()));
    }
    fuse(plan, &mut known, &mut steps);
    join(plan, &mut known, &mut steps);
    for step in &mut steps {
        let Some(deferred) = step.as_ref().filter(|step| known.is_deferred(step)) else { continue };
        if known.is_unread(deferred) || fold(plan, &mut known, deferred).is_some() {
            known.remove_reads(deferred.reads());
            *step = None;
        }
    }
    known.deferred.clear();
    let steps: Vec<PlanStep> = steps.into_iter().flatten().collect();
    let mut needed: Vec<SlotId> = plan.outputs.clone();
    needed.extend(steps.iter().flat_map(PlanStep::reads));
    needed.sort_unstable();
    needed.dedup();
    let mut constants: Vec<(SlotId, Datum)> =
        needed.into_iter().filter_map(|slot| Some((slot, known.value(slot)?))).collect();
    let folded: Vec<SlotId> = known.folded.into_keys().collect();
    let ready: Map<SlotId, &Datum> = constants.iter().map(|(slot, value)| (*slot, value)).collect();
    for (slot, constant) in &mut plan.constants {
        if let Some(value) = ready.get(slot) {
            *constant = Constant::Ready((*value).clone());
        }
    }
    // An initializer keeps the form in which it is stored; a folded value has the form of a result.
    for (slot, value) in constants.iter_mut().filter(|(slot, _)| folded.contains(slot)) {
        *value = to_declared_form(value.clone(), &plan.slot(*slot).ty);
    }
    (constants, steps)
}

/// Records a dequantised constant.
fn defer<'p>(known: &mut Known<'p>, step: &'p PlanStep) -> bool {
    let is_known = step.inputs.iter().flatten().all(|used| known.has(used.slot));
    let is_dequantised = kernel(step).is_some_and(|kernel| kernel.operator.name() == "DequantizeLinear");
    match step.outputs[..] {
        [Some(slot)] if is_known && is_dequantised => known.deferred.insert(slot, step).is_none(),
        _ => false,
    }
}

/// Computes a node if all of its operands are known and its results are small.
fn fold(plan: &Plan, known: &mut Known<'_>, step: &PlanStep) -> Option<()> {
    let Kernel { operator, .. } = kernel(step)?;
    if !operator.is_repeatable() || !step.inputs.iter().flatten().all(|used| known.has(used.slot)) {
        return None;
    }
    let outputs: Vec<SlotId> = step.outputs.iter().copied().collect::<Option<_>>()?;
    let mut bytes = known.bytes;
    for slot in &outputs {
        bytes = bytes.checked_add(byte_len(&plan.slot(*slot).ty).filter(|len| *len <= MAX_FOLDED)?)?;
    }
    if bytes > MAX_FOLDED_TOTAL {
        return None;
    }
    let results = known.results(step)?;
    if results.len() < outputs.len() {
        return None;
    }
    known.bytes = bytes;
    known.folded.extend(outputs.into_iter().zip(results));
    Some(())
}

/// Size in bytes of a tensor of a type without unknown dims.
fn byte_len(ty: &ValueType) -> Option<usize> {
    let extents = ty.shape.as_deref()?.iter().map(Dim::fixed).collect::<Option<Vec<_>>>()?;
    AnyTensor::byte_len(ty.dtype()?, &extents).ok()
}

/// Merges the first node of each fused kernel with the nodes after it.
fn fuse(plan: &Plan, known: &mut Known<'_>, steps: &mut [Option<PlanStep>]) {
    let readers = readers(plan, steps);
    let producers = dequantisations(steps);
    for at in 0..steps.len() {
        let Some(step) = &steps[at] else { continue };
        let Some(first_of) = kernel(step) else { continue };
        let source = |used: &Option<Use>| steps[*producers.get(&used.as_ref()?.slot)?].as_ref();
        let is_dequantised = step.inputs.first().is_some_and(|used| source(used).is_some());
        if !is_dequantised && !Fused::begins_with(first_of.operator) {
            continue;
        }
        let sources: Vec<Option<&PlanStep>> = step.inputs.iter().map(source).collect();
        let begins = |view| offer(known, step, first_of, None, view, Fused::prepare);
        let integers = if is_dequantised { begins(View::Integers(&sources)) } else { None };
        let (mut fused, reads_integers) = match integers {
            Some(fused) => (fused, true),
            None if Fused::needs_integers(first_of.operator) => continue,
            None => match begins(View::Floats) {
                Some(fused) => (fused, false),
                None => continue,
            },
        };
        // Positions of the dequantisations whose inputs the kernel reads.
        let mut bypassed = Vec::new();
        let mut inputs: SmallVec<_> = fused
            .inputs()
            .iter()
            .map(|at| {
                let used = step.inputs.get(*at).copied().flatten();
                match sources.get(*at).copied().flatten().filter(|_| reads_integers) {
                    Some(source) => {
                        bypassed.extend(used.and_then(|used| producers.get(&used.slot)).copied());
                        source.inputs.first().copied().flatten()
                    }
                    None => used,
                }
            })
            .collect();
        let mut nodes = vec![Arc::clone(&step.info)];
        let (mut last, mut taken) = (at, vec![at]);
        while let Some(next) = steps[last].as_ref().and_then(|step| only_reader(step, &readers)) {
            let Some((reader, kernel)) = steps[next].as_ref().and_then(|it| Some((it, kernel(it)?))) else {
                break;
            };
            let result = steps[last].as_ref().and_then(|step| step.outputs.first().copied().flatten());
            let absorbed =
                offer(known, reader, kernel, result, View::Integers(&[]), |node| fused.absorb(node));
            match absorbed {
                Absorbed::No => break,
                Absorbed::Whole => {}
                Absorbed::WithInput(index) => inputs.push(reader.inputs.get(index).copied().flatten()),
            }
            nodes.push(Arc::clone(&reader.info));
            taken.push(next);
            last = next;
        }
        if !fused.is_complete() {
            continue;
        }
        let Some(end) = steps[last].clone() else { continue };
        let info = nodes.first().map_or_else(|| Arc::clone(&end.info), Arc::clone);
        let action = Action::Fused(Arc::new((fused, nodes)));
        let step = PlanStep { info, action, inputs, ..end };
        known.count_reads(step.reads());
        for step in taken.into_iter().filter_map(|taken| steps[taken].take()) {
            known.remove_reads(step.reads());
        }
        for source in bypassed {
            if steps[source].as_ref().is_some_and(|step| known.is_unread(step))
                && let Some(step) = steps[source].take()
            {
                known.remove_reads(step.reads());
            }
        }
        steps[last] = Some(step);
    }
}

/// Merges fused kernels with the node that concatenates their results, if it is the only reader of each.
fn join(plan: &Plan, known: &mut Known<'_>, steps: &mut [Option<PlanStep>]) {
    let producer = |(at, step): (usize, &Option<PlanStep>)| {
        let step = step.as_ref().filter(|step| fused(step).is_some())?;
        if let [Some(slot)] = step.outputs[..] { Some((slot, at)) } else { None }
    };
    let producers: Map<SlotId, usize> = steps.iter().enumerate().filter_map(producer).collect();
    if producers.is_empty() {
        return;
    }
    let readers = readers(plan, steps);
    for at in 0..steps.len() {
        let Some(step) = &steps[at] else { continue };
        let Some(kernel) = kernel(step) else { continue };
        let part = |used: &Option<Use>| {
            let slot = used.as_ref()?.slot;
            let producer = *producers.get(&slot).filter(|_| readers.get(&slot) == Some(&Reader::One(at)))?;
            Some((producer, fused(steps[producer].as_ref()?)?))
        };
        let Some(parts) = step.inputs.iter().map(part).collect::<Option<Vec<_>>>() else { continue };
        let (taken, parts): (Vec<usize>, Vec<&Fused>) = parts.into_iter().unzip();
        if !offer(known, step, kernel, None, View::Floats, |node| Fused::can_join(&parts, node)) {
            continue;
        }
        let Some(concat) = steps[at].take() else { continue };
        known.remove_reads(concat.reads());
        let (mut kernels, mut nodes, mut inputs) = (Vec::new(), Vec::new(), SmallVec::new());
        for part in taken.into_iter().filter_map(|taken| steps[taken].take()) {
            let Action::Fused(action) = part.action else { continue };
            let (kernel, own) = Arc::unwrap_or_clone(action);
            kernels.push(kernel);
            nodes.extend(own);
            inputs.extend(part.inputs);
        }
        nodes.push(Arc::clone(&concat.info));
        let Some(kernel) = Fused::join(kernels) else { continue };
        steps[at] = Some(PlanStep { action: Action::Fused(Arc::new((kernel, nodes))), inputs, ..concat });
    }
}

fn fused(step: &PlanStep) -> Option<&Fused> {
    if let Action::Fused(fused) = &step.action { Some(&fused.0) } else { None }
}

/// Positions of the `DequantizeLinear` steps, by the slot of their result.
fn dequantisations(steps: &[Option<PlanStep>]) -> Map<SlotId, usize> {
    let all = steps.iter().enumerate().filter_map(|(at, step)| {
        let step = step.as_ref()?;
        let is_one = kernel(step)?.operator.name() == "DequantizeLinear";
        step.outputs.first().copied().flatten().filter(|_| is_one).map(|slot| (slot, at))
    });
    all.collect()
}

fn kernel(step: &PlanStep) -> Option<&Kernel> {
    if let Action::Kernel(kernel) = &step.action { Some(kernel) } else { None }
}

/// Readers of a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// One read by the step at this position.
    One(usize),
    /// Several reads, or a read by a nested graph or an output.
    Many,
}

fn readers(plan: &Plan, steps: &[Option<PlanStep>]) -> Map<SlotId, Reader> {
    let mut readers = Map::default();
    let mut read = |slot: SlotId, by: Reader| {
        readers.entry(slot).and_modify(|known| *known = Reader::Many).or_insert(by);
    };
    for slot in &plan.outputs {
        read(*slot, Reader::Many);
    }
    for (at, step) in steps.iter().enumerate() {
        let Some(step) = step else { continue };
        for used in step.inputs.iter().flatten() {
            read(used.slot, Reader::One(at));
        }
        for (outer, _) in step.action.bodies().flat_map(|body| &body.captures) {
            read(*outer, Reader::Many);
        }
    }
    readers
}

/// The position of the step that contains the only read of the only result of `step`.
fn only_reader(step: &PlanStep, readers: &Map<SlotId, Reader>) -> Option<usize> {
    let [Some(result)] = step.outputs[..] else { return None };
    match readers.get(&result) {
        Some(Reader::One(reader)) => Some(*reader),
        Some(Reader::Many) | None => None,
    }
}

/// Form in which dequantised operands are passed.
#[derive(Clone, Copy)]
enum View<'s> {
    /// Constants as floats; others are unknown.
    Floats,
    /// Constants as integers, and inputs as the integers of these `DequantizeLinear` steps.
    Integers(&'s [Option<&'s PlanStep>]),
}

/// An operand that is known before the run.
enum Given {
    Constant(AnyTensor),
    Dequantised(Dequantised),
    Unknown,
}

/// Passes a step to `to` as a node for fusion, with the operands that are known before the run.
fn offer<R>(
    known: &Known<'_>,
    step: &PlanStep,
    kernel: &Kernel,
    result: Option<SlotId>,
    view: View<'_>,
    to: impl FnOnce(&Node<'_>) -> R,
) -> R {
    let given = |(index, used): (usize, &Option<Use>)| {
        let slot = used.map(|used| used.slot)?;
        let of_step = match view {
            View::Floats => None,
            View::Integers(sources) => {
                sources.get(index).copied().flatten().or_else(|| known.deferred.get(&slot).copied())
            }
        };
        if let Some(step) = of_step {
            return Some(known.dequantised(step).map_or(Given::Unknown, Given::Dequantised));
        }
        // A node with only constant inputs has been folded, so that large inputs are never decoded here.
        Some(known.tensor(slot).map_or(Given::Unknown, Given::Constant))
    };
    let values: Vec<Option<Given>> = step.inputs.iter().enumerate().map(given).collect();
    let operands = step.inputs.iter().zip(&values).map(|(used, value)| match (used, value) {
        (None, _) | (_, None) => Operand::Absent,
        (Some(used), _) if Some(used.slot) == result => Operand::Result,
        (Some(_), Some(Given::Constant(tensor))) => Operand::Constant(tensor),
        (Some(_), Some(Given::Dequantised(given))) => Operand::Dequantised(given),
        (Some(_), Some(Given::Unknown)) => Operand::Unknown,
    });
    let inputs: Vec<Operand<'_>> = operands.collect();
    let Kernel { operator, version, attributes } = kernel;
    to(&Node { operator, version: *version, attributes, inputs: &inputs, outputs: step.outputs.len() })
}
