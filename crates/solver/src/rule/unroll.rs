//! Loops with a small constant number of iterations, solved iteration by iteration.
//!
//! If the state of a loop changes its rank, or an extent by varying amounts, a join over all iterations is
//! imprecise. With a small constant number of iterations, the body is solved once for each with the exact
//! shapes of its state, which gives the shapes after the last iteration. Then the inputs of the body get back
//! the joined shapes, and the body is solved a last time.
//!
//! **Limits:** [`MAX_ITERATIONS`] for one loop, [`MAX_TOTAL`] for all loops of a frame (nested loops
//! multiply). Beyond these the result is joined.

use std::sync::Arc;

use typeloom_dim::shape::DimVec;

use super::cx::Uncached;
use super::{Ints, Port, RuleCx};
use crate::program::{GraphId, ValueId};
use crate::solve_error::Limit;
use crate::state::constants::Data;
use crate::state::frame::Frame;
use crate::state::loops::Progress;

/// Maximum number of iterations of an unrolled loop.
const MAX_ITERATIONS: i64 = 16;
/// Maximum number of unrolled iterations in one frame.
const MAX_TOTAL: u32 = 128;

/// The next action at the end of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unroll {
    /// The body was solved for one iteration and has to be solved for the next one.
    Again,
    /// The body is solved for all iterations at once.
    General,
    /// As `General`, because the loop exceeds the limits.
    TooMany,
}

impl RuleCx<'_, '_> {
    /// Whether the body is being solved for one iteration.
    #[must_use]
    pub fn is_unrolling(&mut self, graph: GraphId) -> bool {
        matches!(self.frame().rare.unrolled.loops.get(&graph), Some(Progress::Running { .. }))
    }

    /// The shape of the loop-carried value `at` after the last iteration of an unrolled loop.
    #[must_use]
    pub fn unrolled(&mut self, graph: GraphId, at: usize) -> Option<DimVec> {
        match self.frame().rare.unrolled.loops.get(&graph) {
            Some(Progress::Done(shapes)) => shapes.get(at).cloned().flatten(),
            Some(Progress::Running { .. }) | None => None,
        }
    }

    /// Starts to unroll a loop, if that is possible and was not done before. `number` is the input that
    /// receives the index of the iteration. `state` lists the inputs of loop-carried values with their
    /// initial shapes.
    pub fn unroll(
        &mut self,
        graph: GraphId,
        count: i64,
        number: Port,
        state: &[(Port, Option<DimVec>)],
    ) -> Unroll {
        let is_wrong = self.is_wrong_inside(graph);
        let unrolled = &self.frame().rare.unrolled;
        if unrolled.loops.contains_key(&graph) || count < 1 || is_wrong {
            return Unroll::General;
        }
        if count > MAX_ITERATIONS || unrolled.total >= MAX_TOTAL {
            return Unroll::TooMany;
        }
        let values: Vec<ValueId> = state.iter().filter_map(|(port, _)| self.value(*port)).collect();
        let number = self.value(number);
        let Frame { slots, rare, .. } = self.frame();
        let saved = values.into_iter().map(|value| (value, slots[value.index()].shape)).collect();
        let number = number.map(|value| (value, slots[value.index()].data));
        rare.unrolled.loops.insert(graph, Progress::Running { iteration: 0, count, number, saved });
        let shapes: Vec<Option<DimVec>> = state.iter().map(|(_, shape)| shape.clone()).collect();
        self.begin(graph, 0, &shapes);
        Unroll::Again
    }

    /// Records that a limit hides the shapes after the last iteration, if the shapes at `next` depend on
    /// those at the start of an iteration.
    pub fn note_iterations(&mut self, next: impl Iterator<Item = Port>) {
        let depends = |port: Port| match self.shape(port) {
            None => self.ty(port).is_some_and(|ty| self.types().elems(ty).is_some()),
            Some(shape) => shape.iter().any(|dim| {
                let variables = self.dims().variables_of(*dim);
                variables.iter().any(|variable| self.is_widened(*variable))
            }),
        };
        if next.map(depends).fold(false, |any, depends| any | depends) {
            let most = usize::try_from(MAX_ITERATIONS).unwrap_or_default();
            let step = self.first_step();
            self.frame().rare.limited.insert((step, Limit::Iterations { most }));
        }
    }

    /// Continues after one iteration with the shapes of loop-carried values at its end.
    pub fn next_iteration(&mut self, graph: GraphId, next: Vec<Option<DimVec>>) {
        self.frame().keep_iteration(graph);
        let Some(Progress::Running { iteration, count, number, saved }) =
            self.frame().rare.unrolled.loops.get_mut(&graph)
        else {
            return;
        };
        *iteration += 1;
        if iteration < count {
            let iteration = *iteration;
            self.begin(graph, iteration, &next);
            return;
        }
        let (number, saved) = (*number, std::mem::take(saved));
        let Frame { slots, rare, .. } = self.frame();
        rare.unrolled.loops.insert(graph, Progress::Done(next));
        for (value, shape) in saved {
            slots[value.index()].shape = shape;
        }
        if let Some((value, data)) = number {
            slots[value.index()].data = data;
        }
        self.forget_body();
    }

    /// Sets the inputs of the body for one iteration.
    fn begin(&mut self, graph: GraphId, iteration: i64, shapes: &[Option<DimVec>]) {
        self.frame().rare.unrolled.total += 1;
        let Some(Progress::Running { number, saved, .. }) = self.frame().rare.unrolled.loops.get(&graph)
        else {
            return;
        };
        let (number, values) = (*number, saved.iter().map(|(value, _)| *value).collect::<Vec<_>>());
        for (value, shape) in values.into_iter().zip(shapes) {
            let shape = shape.as_ref().map(|shape| self.core().shapes.intern(shape));
            self.frame().slots[value.index()].shape = shape;
        }
        // The index has a constant of the right shape; this replaces it.
        if let Some((value, Some(data))) = number
            && let Data::Ints(ints) = self.core().constants.get(data).clone()
        {
            let item = self.dims().constant(iteration);
            let ints = Ints { shape: ints.shape.clone(), items: smallvec::smallvec![item] };
            let data = self.core().constants.intern(Data::Ints(Arc::new(ints)));
            self.frame().slots[value.index()].data = Some(data);
        }
        self.forget_body();
    }

    /// Clears the shapes and constants inside the nested graphs of the node and solves them again.
    pub(super) fn forget_body(&mut self) {
        let Uncached { frame, step, .. } = self.uncached();
        let (first, last) = (frame.body.first_step(step), frame.body.last_step(step));
        frame.forget_between(first, last);
    }
}
