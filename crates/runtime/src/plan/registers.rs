//! Register allocation: values whose lifetimes do not overlap share a register.
//!
//! Steps run in one order, so lifetimes are intervals, and one pass in that order needs as few registers as
//! there are live values at any time (linear scan, Poletto and Sarkar 1999). A value that dies frees its
//! register for the next one.
//!
//! Within a step the order is that of [`Run::step`](crate::execute::Run::step): inputs that die are taken,
//! results are stored, then [dead](crate::plan::PlanStep::dead) slots are cleared. A result can therefore
//! take the register of an input, but not that of a value that a nested graph of the step reads.
//!
//! **Invariant:** a register is empty when a value is stored in it.

use super::{PlanStep, SlotId};

/// A register; it holds one value at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct RegisterId(u32);

impl RegisterId {
    /// The register of slots that no step fills. No run has as many registers.
    const NONE: Self = Self(u32::MAX);
}

/// The register of each slot of a schedule.
#[derive(Debug, Default)]
pub(crate) struct Registers {
    of: Vec<RegisterId>,
    count: u32,
}

impl Registers {
    /// Assigns each slot its own register.
    pub(crate) fn one_per_slot(slots: usize) -> Self {
        let mut registers = Self { of: vec![RegisterId::NONE; slots], count: 0 };
        for slot in (0..slots).map(SlotId::new) {
            registers.assign(slot, &mut Vec::new());
        }
        registers
    }

    /// Assigns registers to the slots that are filled before the first step, and to those that the steps
    /// fill. The slots of `initial` get the first registers in their order, without repetitions.
    pub(crate) fn allocate(slots: usize, initial: impl Iterator<Item = SlotId>, steps: &[PlanStep]) -> Self {
        let mut registers = Self { of: vec![RegisterId::NONE; slots], count: 0 };
        let mut free = Vec::new();
        for slot in initial {
            registers.assign(slot, &mut free);
        }
        for step in steps {
            for used in step.inputs.iter().flatten().filter(|used| used.last) {
                registers.release(used.slot, &mut free);
            }
            for slot in step.outputs.iter().flatten() {
                registers.assign(*slot, &mut free);
            }
            for slot in &step.dead {
                registers.release(*slot, &mut free);
            }
        }
        registers
    }

    fn assign(&mut self, slot: SlotId, free: &mut Vec<RegisterId>) {
        let Some(own) = self.of.get_mut(slot.index()).filter(|own| **own == RegisterId::NONE) else { return };
        // The register that was freed last is the most likely one to be in the cache.
        *own = free.pop().unwrap_or_else(|| {
            self.count += 1;
            RegisterId(self.count - 1)
        });
    }

    fn release(&self, slot: SlotId, free: &mut Vec<RegisterId>) {
        free.extend(self.of.get(slot.index()).copied().filter(|own| *own != RegisterId::NONE));
    }

    /// The number of registers.
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// Index of the register of a slot; out of bounds for a slot without one.
    pub(crate) fn of(&self, slot: SlotId) -> usize {
        self.of.get(slot.index()).map_or(usize::MAX, |register| register.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use typeloom_onnx::text::parse_model;

    use super::*;
    use crate::plan::Plan;
    use crate::prepare::{Preparation, Types};

    fn plan(body: &str) -> Plan {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : 21]> g (float[n] x, bool c) => (y) <float[1] w = {{2}}> {{ {body} }}"
        );
        let model = parse_model(&text).expect("the text is a model");
        let external = |_: &_| Err("there are no other files".to_owned());
        let (program, facts) = typeloom_program::read::read(model).expect("there is a graph");
        let mut preparation = Preparation::new(&program, &facts, Types::Declared, &external);
        preparation.main().expect("it can be prepared")
    }

    fn counts(body: &str) -> [usize; 2] {
        let plan = plan(body);
        [plan.optimized.schedule.registers.count(), plan.written.registers.count()]
    }

    #[test]
    fn a_long_chain_needs_a_constant_number_of_registers() {
        let chain = |link: &str| {
            let mut body = "v0 = Neg(x) ".to_owned();
            for at in 1..1000 {
                body += &format!("v{at} = {link}(v{}, w) ", at - 1);
            }
            body + "y = Neg(v999)"
        };
        // One for the weight, one for the unused condition, and one for `x` and every value after it.
        assert_eq!(counts(&chain("Add")), [3, 3]);
    }

    #[test]
    fn values_that_are_live_together_have_their_own_registers() {
        let mut body = String::new();
        let mut sum = "y = Sum(".to_owned();
        for at in 0..50 {
            body += &format!("v{at} = Neg(x) ");
            sum += &format!("{}v{at}", if at == 0 { "" } else { ", " });
        }
        // The condition and 50 values, the last of which replaces `x`. No step reads the weight.
        assert_eq!(counts(&format!("{body}{sum})"))[0], 51);
    }

    #[test]
    fn results_do_not_overwrite_values_that_a_nested_graph_reads() {
        let plan = plan(
            "v = Neg(x) y = If(c) <then_branch = t () => (a) { a = Abs(v) }, else_branch = e () => (b) { b = Neg(v) }>",
        );
        let registers = &plan.optimized.schedule.registers;
        let of = |name: &str| {
            let slot = plan.slots.iter().position(|slot| slot.name == name).expect("there is such a value");
            registers.of(SlotId::new(slot))
        };
        assert_eq!(of("v"), of("x"));
        assert_ne!(of("y"), of("v"));
        assert_eq!(of("w"), RegisterId::NONE.0 as usize);
    }
}
