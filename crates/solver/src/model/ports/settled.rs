//! The parts of a model that its errors do not affect.
//!
//! Types are derived forwards, from the inputs and constants of the model alone. A step is *settled* if it
//! has no error in this pass and reads settled values only. It computes the same types in every repaired
//! model, so a repair must not change the element type of any of its ports.
//!
//! The inputs of a nested graph depend on the node that contains the graph. If a loop has an error, the nodes
//! that read its state are not settled.

use std::sync::Arc;

use crate::elem::Elem;
use crate::engine::call::Calls;
use crate::engine::{Engine, call, initial};
use crate::model::{Checked, Mode};
use crate::program::{Body, StepId, StepKind, ValueId};
use crate::state::Core;
use crate::state::frame::Frame;

/// The settled steps and values of a body.
pub(super) struct Settled {
    steps: Vec<bool>,
    /// The element type of each settled value.
    values: Vec<Option<Elem>>,
}

impl Settled {
    /// Analyses `body`, which has no declarations of derived values.
    pub(super) fn of<'a>(checked: &mut Checked<'a>, body: Body<'a>) -> Self {
        let (bodies, _) = call::build_bodies(&mut checked.operators);
        let mut core = Core::new(Arc::clone(checked.core.types.universe()));
        let mut frame = Frame::new(0, Arc::new(body));
        initial::start(&mut core, &mut frame);
        let calls = Calls::new(bodies);
        let mut engine = Engine::new(core, &checked.operators, calls, Mode::Permissive);
        let frame = engine.run(frame);
        let body = &frame.body;
        let elems = body.values().map(|value| {
            let ty = frame.slots[value.index()].ty?;
            let inner = engine.core.types.innermost(ty);
            engine.core.types.elems(inner)?.single()
        });
        let elems: Vec<Option<Elem>> = elems.collect();
        let has_error = |step: StepId| {
            [&frame.rare.errors, &frame.rare.second_errors]
                .iter()
                .filter_map(|errors| errors.get(&step))
                .any(|error| error.is_error(Mode::Strict))
        };
        let mut settled = Self { steps: vec![true; body.steps.len()], values: elems };
        // In an unsorted body, a step can read a value before it is known whether the value is settled.
        if body.is_unsorted {
            settled.steps.fill(false);
        }
        // With a loop, the inputs of its graph become unsettled. The nodes of the graph precede the end of
        // the loop, so nested loops need one pass for each level.
        while settled.propagate(body, &has_error) {}
        settled
    }

    /// Whether a step is settled.
    pub(super) fn step(&self, step: StepId) -> bool {
        self.steps[step.index()]
    }

    /// The element type of a settled value.
    pub(super) fn elem(&self, value: ValueId) -> Option<Elem> {
        self.values[value.index()]
    }

    /// Marks steps and values that depend on an error as not settled; returns whether it marked any.
    fn propagate(&mut self, body: &Body<'_>, has_error: &impl Fn(StepId) -> bool) -> bool {
        let mut changed = false;
        for step in (0..body.steps.len()).map(StepId::new) {
            if !self.steps[step.index()] || self.is_settled(body, step, has_error) {
                continue;
            }
            changed = true;
            self.steps[step.index()] = false;
            for value in body.outputs(step).iter().flatten() {
                self.values[value.index()] = None;
            }
            if let StepKind::Enter(other) | StepKind::Exit(other) = body.step(step).kind {
                self.steps[other.index()] = false;
                let first = body.first_step(step);
                for (_, graph) in body.graphs_of(first) {
                    graph.inputs.iter().for_each(|value| self.values[value.index()] = None);
                }
                let outputs = body.outputs(step.max(other));
                outputs.iter().flatten().for_each(|value| self.values[value.index()] = None);
            }
        }
        changed
    }

    fn is_settled(&self, body: &Body<'_>, step: StepId, has_error: &impl Fn(StepId) -> bool) -> bool {
        let is_settled = |value: &ValueId| self.values[value.index()].is_some();
        let first = body.first_step(step);
        let mut inputs = body.inputs(first).iter().flatten();
        let results = match body.step(step).kind {
            StepKind::Exit(_) => body.graphs_of(first).all(|(_, graph)| graph.outputs.iter().all(is_settled)),
            StepKind::Node | StepKind::Enter(_) => true,
        };
        !has_error(first) && inputs.all(is_settled) && results
    }
}
