//! The fast form of a plan: what is constant is computed beforehand, and convolutions take in what follows them.
//!
//! Only the values that somebody asks for have to be made, which are the outputs. So a value that is read once, by a node that
//! the kernel before it can take over, is never made at all. A run that is watched goes through the plan as it was written.
//!
//! **Invariant:** the fast form has the slots of its plan; a slot that it does not fill is read by none of its steps.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_cpu::call::Call;
use typeloom_cpu::fused::{Absorbed, Fused, Node, Operand};
use typeloom_cpu::value::Value;
use typeloom_types::any_tensor::AnyTensor;

use crate::flow::Flow;
use crate::plan::{Action, Constant, Fast, Form, Kernel, Plan, SlotId, Step, Use};
use typeloom_wire::stamp::{Extent, Stamp};

/// The most bytes of one tensor that is computed beforehand.
const LARGEST: usize = 1 << 29;

/// The most bytes of all tensors that are computed beforehand.
const TOTAL: usize = 1 << 30;

/// Values that are there before the model runs.
struct Known<'p> {
    stored: HashMap<SlotId, &'p Constant>,
    /// Those that somebody still reads: weights that are built into kernels are not held twice.
    computed: HashMap<SlotId, Value>,
    /// How often a slot is read by what is left of the plan.
    reads: HashMap<SlotId, usize>,
    bytes: usize,
}

impl<'p> Known<'p> {
    fn new<F: Flow>(plan: &'p Plan<F>) -> Self {
        let stored = plan.constants.iter().map(|(slot, constant)| (*slot, constant)).collect();
        let mut known = Self { stored, computed: HashMap::new(), reads: HashMap::new(), bytes: 0 };
        known.add(plan.written.steps.iter().flat_map(Step::reads).chain(plan.outputs.iter().copied()));
        known
    }

    /// Takes note that slots are read once more.
    fn add(&mut self, slots: impl Iterator<Item = SlotId>) {
        for slot in slots {
            *self.reads.entry(slot).or_default() += 1;
        }
    }

    /// Takes note that slots are read once less, and lets go what nobody reads any more.
    fn leave(&mut self, slots: impl Iterator<Item = SlotId>) {
        for slot in slots {
            let Some(reads) = self.reads.get_mut(&slot) else { continue };
            *reads -= 1;
            if *reads == 0 {
                self.computed.remove(&slot);
            }
        }
    }

    fn has(&self, slot: SlotId) -> bool {
        self.stored.contains_key(&slot) || self.computed.contains_key(&slot)
    }

    fn value(&self, slot: SlotId) -> Option<Value> {
        match (self.computed.get(&slot), self.stored.get(&slot)) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(constant)) => constant.value().ok(),
            (None, None) => None,
        }
    }
}

/// The fast form of a plan. Constants of the plan that it shares become values in both.
pub(crate) fn fast<F: Flow>(plan: &mut Plan<F>) -> Fast<F> {
    let mut known = Known::new(plan);
    let mut steps: Vec<Option<Step<F>>> = Vec::with_capacity(plan.written.steps.len());
    for step in &plan.written.steps {
        let is_known = compute(plan, &mut known, step).is_some();
        if is_known {
            known.leave(step.reads());
        }
        steps.push((!is_known).then(|| step.clone()));
    }
    fuse(plan, &mut known, &mut steps);
    let steps: Vec<Step<F>> = steps.into_iter().flatten().collect();
    let mut needed: Vec<SlotId> = plan.outputs.clone();
    for step in &steps {
        needed.extend(step.reads());
    }
    needed.sort_unstable();
    needed.dedup();
    let constants: Vec<(SlotId, Value)> =
        needed.into_iter().filter_map(|slot| Some((slot, known.value(slot)?))).collect();
    let settled = |(slot, value): &(SlotId, Value)| {
        let value = F::of(value.clone());
        // An initializer is given as it is stored; what is computed is as a run would give it.
        let is_stored = !known.computed.contains_key(slot);
        (*slot, if is_stored { value } else { F::settled(&plan.slot(*slot).proved, value) })
    };
    let settled = constants.iter().map(settled).collect();
    let shared: HashMap<SlotId, &Value> = constants.iter().map(|(slot, value)| (*slot, value)).collect();
    for (slot, constant) in &mut plan.constants {
        if let Some(value) = shared.get(slot) {
            *constant = Constant::Ready((*value).clone());
        }
    }
    Fast { constants: settled, form: Form { steps, ..Form::default() }, ..Fast::default() }
}

/// Computes a node all of whose inputs are known, if the types say that the results are not too large.
fn compute<F: Flow>(plan: &Plan<F>, known: &mut Known<'_>, step: &Step<F>) -> Option<()> {
    let Kernel { operator, version, attributes } = kernel(step)?;
    if !operator.is_repeatable() || !step.inputs.iter().flatten().all(|used| known.has(used.slot)) {
        return None;
    }
    let outputs: Vec<SlotId> = step.outputs.iter().copied().collect::<Option<_>>()?;
    let mut bytes = known.bytes;
    for slot in &outputs {
        bytes =
            bytes.checked_add(size(F::stamp(&plan.slot(*slot).proved)).filter(|size| *size <= LARGEST)?)?;
    }
    if bytes > TOTAL {
        return None;
    }
    let inputs = step.inputs.iter().map(|used| match used {
        None => Some(None),
        Some(used) => known.value(used.slot).map(Some),
    });
    let inputs = inputs.collect::<Option<Vec<_>>>()?;
    let call = Call { version: *version, attributes, inputs, outputs: outputs.len() };
    // What fails here fails again when the model runs, which is when there is somebody to tell.
    let results = catch_unwind(AssertUnwindSafe(|| operator.run(call))).ok()?.ok()?;
    if results.len() < outputs.len() {
        return None;
    }
    known.bytes = bytes;
    known.computed.extend(outputs.into_iter().zip(results));
    Some(())
}

/// The bytes of a tensor of a type without open extents.
fn size(stamp: &Stamp) -> Option<usize> {
    let Stamp::Tensor { dtype: Some(dtype), shape: Some(shape) } = stamp else { return None };
    let extents = shape.iter().map(|extent| match extent {
        Extent::Known(extent) => Some(*extent),
        Extent::Open | Extent::Symbol(_) | Extent::Expression(_) => None,
    });
    AnyTensor::byte_len(*dtype, &extents.collect::<Option<Vec<_>>>()?).ok()
}

/// Puts convolutions and their readers together.
fn fuse<F: Flow>(plan: &Plan<F>, known: &mut Known<'_>, steps: &mut [Option<Step<F>>]) {
    let readers = readers(plan, steps);
    for at in 0..steps.len() {
        let Some(step) = &steps[at] else { continue };
        let Some(first_of) = kernel(step).filter(|kernel| Fused::begins_with(kernel.operator)) else {
            continue;
        };
        let Some(Some(first)) = step.inputs.first().copied() else { continue };
        let Some(mut kernel_of) = offer(known, step, first_of, None, Fused::prepare) else { continue };
        let mut inputs = SmallVec::from_iter([Some(first)]);
        let mut words = vec![Arc::clone(&step.about)];
        let (mut last, mut taken) = (at, vec![at]);
        while let Some(next) = steps[last].as_ref().and_then(|step| only_reader(step, &readers)) {
            let Some((reader, kernel)) = steps[next].as_ref().and_then(|it| Some((it, kernel(it)?))) else {
                break;
            };
            let result = steps[last].as_ref().and_then(|step| step.outputs.first().copied().flatten());
            let absorbed = offer(known, reader, kernel, result, |node| kernel_of.absorb(node));
            match absorbed {
                Absorbed::No => break,
                Absorbed::Whole => {}
                Absorbed::WithInput(index) => inputs.push(reader.inputs.get(index).copied().flatten()),
            }
            words.push(Arc::clone(&reader.about));
            taken.push(next);
            last = next;
        }
        let Some(end) = steps[last].clone() else { continue };
        let about = words.first().map_or_else(|| Arc::clone(&end.about), Arc::clone);
        let action = Action::Fused(Arc::new((kernel_of, words)));
        let fused = Step { about, action, inputs, ..end };
        known.add(fused.reads());
        for step in taken.into_iter().filter_map(|taken| steps[taken].take()) {
            known.leave(step.reads());
        }
        steps[last] = Some(fused);
    }
}

fn kernel<F: Flow>(step: &Step<F>) -> Option<&Kernel> {
    if let Action::Kernel(kernel) = &step.action { Some(kernel) } else { None }
}

/// Who reads a slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reader {
    /// One step, once.
    One(usize),
    /// Several, or somebody who is no step.
    Many,
}

fn readers<F: Flow>(plan: &Plan<F>, steps: &[Option<Step<F>>]) -> HashMap<SlotId, Reader> {
    let mut readers = HashMap::new();
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

/// The step that is the only reader of the only result of another.
fn only_reader<F: Flow>(step: &Step<F>, readers: &HashMap<SlotId, Reader>) -> Option<usize> {
    let [Some(result)] = step.outputs[..] else { return None };
    match readers.get(&result) {
        Some(Reader::One(reader)) => Some(*reader),
        Some(Reader::Many) | None => None,
    }
}

/// Shows a step to a kernel as it is before the model runs. Only what a kernel may build in is decoded.
fn offer<F: Flow, R>(
    known: &Known<'_>,
    step: &Step<F>,
    kernel: &Kernel,
    result: Option<SlotId>,
    to: impl FnOnce(&Node<'_>) -> R,
) -> R {
    let value = |used: &Option<Use>| used.and_then(|used| known.value(used.slot));
    // A convolution whose input is constant was computed already, so its own input is never decoded here.
    let values: Vec<Option<Value>> = step.inputs.iter().map(value).collect();
    let operands = step.inputs.iter().zip(&values).map(|(used, value)| match (used, value) {
        (None, _) => Operand::Absent,
        (Some(used), _) if Some(used.slot) == result => Operand::Result,
        (Some(_), Some(Value::Tensor(tensor))) => Operand::Constant(tensor),
        (Some(_), Some(Value::Sequence(_) | Value::Optional(_)) | None) => Operand::Unknown,
    });
    let inputs: Vec<Operand<'_>> = operands.collect();
    let Kernel { operator, version, attributes } = kernel;
    to(&Node { operator, version: *version, attributes, inputs: &inputs, outputs: step.outputs.len() })
}
