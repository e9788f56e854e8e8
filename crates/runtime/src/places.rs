//! Where the values of a plan lie while it runs: values whose lives do not overlap share a place.
//!
//! A graph has as many slots as values, and a run of it needs as many places as there are values at one time. Steps run in one
//! order, so that lives are intervals, and going through them once gives the fewest places (the linear scan of register
//! allocators): a value that dies leaves its place to the next that is made.
//!
//! Within a step the order is that of [`Run::step`](crate::execute::Run::step): inputs that die are taken, results are put in their
//! places, and then what is [dead](crate::plan::Step::dead) is let go. So a result can lie where an input lay, and not where a value lies that
//! a graph inside of the step reads.
//!
//! **Invariant:** a place is empty when its next value is made. A value that is missing is missing to its readers, whoever had its
//! place before.

use crate::flow::Flow;
use crate::plan::{SlotId, Step};

/// A place for one value at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct PlaceId(u32);

impl PlaceId {
    /// The place of what no step makes.
    const NOWHERE: Self = Self(u32::MAX);

    fn at(index: usize) -> Self {
        u32::try_from(index).map_or(Self::NOWHERE, Self)
    }
}

/// The places of the values of one form of a plan.
#[derive(Debug, Default)]
pub(crate) struct Places {
    of: Vec<PlaceId>,
    count: usize,
}

impl Places {
    /// A place of its own for each slot.
    pub(crate) fn apart(slots: usize) -> Self {
        Self { of: (0..slots).map(PlaceId::at).collect(), count: slots }
    }

    /// Places for the values that are there from the start, and for those that the steps make. The first places are those
    /// of `given`, in its order, but for slots that are in it twice.
    pub(crate) fn shared<F: Flow>(
        slots: usize,
        given: impl Iterator<Item = SlotId>,
        steps: &[Step<F>],
    ) -> Self {
        let mut places = Self { of: vec![PlaceId::NOWHERE; slots], count: 0 };
        let mut free = Vec::new();
        for slot in given {
            places.take(slot, &mut free);
        }
        for step in steps {
            for used in step.inputs.iter().flatten().filter(|used| used.last) {
                places.leave(used.slot, &mut free);
            }
            for slot in step.outputs.iter().flatten() {
                places.take(*slot, &mut free);
            }
            for slot in &step.dead {
                places.leave(*slot, &mut free);
            }
        }
        places
    }

    fn take(&mut self, slot: SlotId, free: &mut Vec<PlaceId>) {
        let Some(own) = self.of.get_mut(slot.index()).filter(|own| **own == PlaceId::NOWHERE) else { return };
        // The place that was left last is the one that is most likely at hand.
        *own = free.pop().unwrap_or_else(|| {
            self.count += 1;
            PlaceId::at(self.count - 1)
        });
    }

    fn leave(&self, slot: SlotId, free: &mut Vec<PlaceId>) {
        free.extend(self.of.get(slot.index()).copied().filter(|own| *own != PlaceId::NOWHERE));
    }

    /// How many places there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The place of a slot; one that there is not for a slot that nothing fills.
    pub(crate) fn of(&self, slot: SlotId) -> usize {
        self.of.get(slot.index()).map_or(usize::MAX, |place| place.0 as usize)
    }
}

#[cfg(test)]
mod tests {
    use typeloom_onnx::text::parse_model;

    use super::*;
    use crate::flow::Tensors;
    use crate::plan::Plan;
    use crate::prepare::Preparation;

    fn plan(body: &str) -> Plan<Tensors> {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : 21]> g (float[n] x, bool c) => (y) <float[1] w = {{2}}> {{ {body} }}"
        );
        let model = parse_model(&text).expect("the text is a model");
        let external = |_: &_| Err("there are no other files".to_owned());
        let mut preparation = Preparation::new(&model, (), &external);
        preparation.main(model.graph.as_ref().expect("there is a graph")).expect("it can be prepared")
    }

    fn counts(body: &str) -> [usize; 2] {
        let plan = plan(body);
        [plan.fast.form.places.count(), plan.written.places.count()]
    }

    #[test]
    fn a_chain_needs_a_handful_of_places_however_long_it_is() {
        let chain = |link: &str| {
            let mut body = "v0 = Neg(x) ".to_owned();
            for at in 1..1000 {
                body += &format!("v{at} = {link}(v{}, w) ", at - 1);
            }
            body + "y = Neg(v999)"
        };
        // The weight, the condition that nobody reads, and `x`, where every value lies after it.
        assert_eq!(counts(&chain("Add")), [3, 3]);
    }

    #[test]
    fn what_lives_at_one_time_has_places_of_its_own() {
        let mut body = String::new();
        let mut sum = "y = Sum(".to_owned();
        for at in 0..50 {
            body += &format!("v{at} = Neg(x) ");
            sum += &format!("{}v{at}", if at == 0 { "" } else { ", " });
        }
        // The condition, and 50 values, the last of which is made of `x` where that lay. The weight is read by none.
        assert_eq!(counts(&format!("{body}{sum})"))[0], 51);
    }

    #[test]
    fn what_a_graph_inside_reads_is_not_where_its_results_are_put() {
        let plan = plan(
            "v = Neg(x) y = If(c) <then_branch = t () => (a) { a = Abs(v) }, else_branch = e () => (b) { b = Neg(v) }>",
        );
        let places = &plan.fast.form.places;
        let of = |name: &str| {
            let slot = plan.slots.iter().position(|slot| slot.name == name).expect("there is such a value");
            places.of(SlotId(u32::try_from(slot).expect("there are few")))
        };
        assert_eq!(of("v"), of("x"));
        assert_ne!(of("y"), of("v"));
        assert_eq!(of("w"), PlaceId::NOWHERE.0 as usize);
    }
}
