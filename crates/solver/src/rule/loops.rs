//! Operations for nested graphs that run many times. A body is solved for all iterations at once.
//!
//! An input of such a graph first gets the shape of the first iteration. If a later iteration can have
//! another shape, the assumption is *widened* (join with widening of abstract interpretation, Cousot and
//! Cousot 1977). An extent that grows by the same amount in each iteration becomes `base + i*step`, where `i`
//! is the index of the iteration. Other extents that differ become unknown; then the rank does. Assumptions
//! are only widened, also when an outer loop runs again, so the number of solves of a body is linear in the
//! depth of nesting.
//!
//! After the last iteration, a loop-carried value is the result of the body, or the initial value if there
//! was no iteration. The closed form `base + count*step` covers both. Extents of one iteration (its index,
//! and extents that widening created) do not leave the body: outside, they become fresh, because a condition
//! on the last iteration need not hold for the others.

use typeloom_dim::shape::DimVec;
use typeloom_dim::{Decision, DimId};

use super::cx::Uncached;
use super::{Ints, Port, RuleCx};
use crate::program::{GraphId, ValueId};
use crate::solve_error::Limit;
use crate::state::loops::Growth;

/// Maximum number of widenings of one input before its rank is dropped.
const MAX_WIDENINGS: u32 = 4;

/// The number of iterations of a body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trips {
    /// The number of iterations: an expression, or an unknown of this loop.
    pub count: DimId,
    /// The knowledge about the number.
    pub known: Knowledge,
}

/// The knowledge about a number of iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// Nothing: the condition or data decide.
    Open,
    /// It is an expression over extents, and 0 only if an axis is empty.
    Extents,
    /// It is at least 1.
    Positive,
    /// It is 0.
    Never,
}

impl RuleCx<'_, '_> {
    /// Assumes that the input at `port` has the shape at `from` in some iteration. Returns true if the
    /// earlier assumption does not cover it; then the graphs of the node have to be solved again.
    pub fn assume_shape_of(&mut self, port: Port, from: Port) -> bool {
        let shape = self.shape(from);
        self.assume_shape(port, shape)
    }

    /// As [`RuleCx::assume_shape_of`], for a shape; `None` is an unknown rank.
    pub fn assume_shape(&mut self, port: Port, shape: Option<DimVec>) -> bool {
        self.assume(port, shape, None)
    }

    /// As [`RuleCx::assume_shape`], for the result of the body `graph`: `next` follows the state at `port`,
    /// whose initial shape is `first`.
    pub fn assume_next(
        &mut self,
        graph: GraphId,
        port: Port,
        next: Option<DimVec>,
        first: Option<&DimVec>,
    ) -> bool {
        let Some(state) = self.value(port) else { return false };
        let frame = self.frame();
        frame.rare.loops.states.insert(state);
        if frame.assumed_shapes.remove(&state).is_some() {
            self.forget_body();
            return true;
        }
        self.assume(port, next, Some((graph, first)))
    }

    /// Keeps the conditions of the body in its first iteration. The inputs `states` have the initial shapes
    /// unless they were widened.
    pub fn keep_first_iteration(&mut self, graph: GraphId, states: impl Iterator<Item = Port>) {
        let states: Vec<ValueId> = states.filter_map(|port| self.value(port)).collect();
        let frame = self.frame();
        let is_initial = |state| {
            frame.rare.loops.widened.get(state) == Some(&0) && !frame.assumed_shapes.contains_key(state)
        };
        if !states.is_empty() && states.iter().all(is_initial) {
            frame.keep_iteration(graph);
        }
    }

    /// The shape of a state at the end of an iteration. A declared shape that the solve assumes may be that
    /// of one iteration only.
    pub fn next_shape(&mut self, port: Port) -> Option<DimVec> {
        self.derived_shape(port).map(|shape| self.core().resolved(shape))
    }

    fn assume(
        &mut self,
        port: Port,
        shape: Option<DimVec>,
        returned: Option<(GraphId, Option<&DimVec>)>,
    ) -> bool {
        let Some(value) = self.value(port) else { return false };
        let Some(count) = self.frame().rare.loops.widened.get(&value).copied() else {
            self.frame().rare.loops.widened.insert(value, 0);
            if let Some(shape) = shape {
                let id = self.core().shapes.intern(&shape);
                self.write_shape(port, id);
            }
            return false;
        };
        // The shapes of one iteration do not hold for all.
        if let Port::BodyIn(graph, _) = port
            && self.is_unrolling(graph)
        {
            return false;
        }
        // Once the rank was dropped, a rank that is known again comes from conditions of the body on each
        // iteration.
        if count > MAX_WIDENINGS {
            return false;
        }
        let Some(assumed) = self.shape(port) else { return false };
        let same_rank = shape.as_ref().is_some_and(|shape| shape.len() == assumed.len());
        let joined = shape.filter(|_| same_rank).map(|shape| {
            let axes = assumed.iter().zip(shape).enumerate();
            let joined = axes.map(|(axis, (assumed, dim))| match returned {
                None => self.joined_first(value, axis, *assumed, dim),
                Some((graph, first)) => {
                    let first = first.and_then(|first| first.get(axis)).copied();
                    self.joined_next(graph, (value, axis), *assumed, dim, first)
                }
            });
            joined.collect::<DimVec>()
        });
        if joined.as_ref() == Some(&assumed) {
            return false;
        }
        let joined = joined.filter(|_| count < MAX_WIDENINGS);
        let step = self.first_step();
        let frame = self.frame();
        let count = if joined.is_some() { count + 1 } else { MAX_WIDENINGS + 1 };
        if joined.is_none() {
            // Without a rank, no axis grows.
            frame.rare.loops.growth.retain(|(grown, _), _| *grown != value);
            if same_rank {
                frame.rare.limited.insert((step, Limit::Widenings { most: MAX_WIDENINGS as usize }));
            }
        }
        frame.rare.loops.widened.insert(value, count);
        self.widen(value, joined);
        true
    }

    /// Joins an extent of the first iteration with the assumption about all.
    fn joined_first(&mut self, value: ValueId, axis: usize, assumed: DimId, dim: DimId) -> DimId {
        let base = match self.frame().rare.loops.growth.get(&(value, axis)) {
            Some(growth) => growth.base,
            None => assumed,
        };
        if self.dims().compare(base, dim) == Decision::Equal || self.is_widened(assumed) {
            return assumed;
        }
        self.frame().rare.loops.growth.remove(&(value, axis));
        self.widened_dim()
    }

    /// Joins an extent that the body returns with the assumption about all iterations.
    fn joined_next(
        &mut self,
        graph: GraphId,
        at: (ValueId, usize),
        assumed: DimId,
        dim: DimId,
        first: Option<DimId>,
    ) -> DimId {
        if let Some(Growth { step, .. }) = self.frame().rare.loops.growth.get(&at).copied() {
            let next = self.dims().add(assumed, step);
            if self.dims().compare(next, dim) == Decision::Equal {
                return assumed;
            }
            self.frame().rare.loops.growth.remove(&at);
            return self.widened_dim();
        }
        if self.dims().compare(assumed, dim) == Decision::Equal || self.is_widened(assumed) {
            return assumed;
        }
        let step = self.dims().sub(dim, assumed);
        let dims = self.dims();
        let starts = first.is_some_and(|first| dims.compare(first, assumed) == Decision::Equal);
        if starts && !dims.is_anonymous(step) && dims.is_non_negative(step) {
            let (iteration, _) = self.numbers(graph);
            let dims = self.dims();
            let grown = dims.mul(iteration, step);
            let grown = dims.add(assumed, grown);
            self.frame().rare.loops.growth.insert(at, Growth { base: assumed, step });
            return grown;
        }
        self.widened_dim()
    }

    fn widened_dim(&mut self) -> DimId {
        let dim = self.dims().fresh();
        self.frame().rare.loops.unknown.insert(dim);
        dim
    }

    pub(super) fn is_widened(&mut self, dim: DimId) -> bool {
        self.frame().rare.loops.unknown.contains(&dim)
    }

    fn widen(&mut self, value: ValueId, shape: Option<DimVec>) {
        let id = shape.map(|shape| self.core().shapes.intern(&shape));
        self.frame().slots[value.index()].shape = id;
        self.forget_body();
    }

    fn numbers(&mut self, graph: GraphId) -> (DimId, DimId) {
        let Uncached { core, frame, .. } = self.uncached();
        *frame.rare.loops.numbers.entry(graph).or_insert_with(|| (core.dims.fresh(), core.dims.fresh()))
    }

    /// Gives the index of the iteration to an input of a body.
    pub fn count_iterations(&mut self, graph: GraphId, port: Port) {
        let (iteration, _) = self.numbers(graph);
        match self.rank(port).or_else(|| self.declared_rank(port)) {
            Some(0) => self.set_ints(port, Ints::scalar(iteration)),
            Some(1) => self.set_ints(port, Ints::vector([iteration])),
            Some(_) | None => {}
        }
    }

    /// The number of iterations of a body; `count` is the number, if it is known.
    pub fn trips(&mut self, graph: GraphId, count: Option<DimId>) -> Trips {
        let Some(count) = count else {
            let (_, count) = self.numbers(graph);
            return Trips { count, known: Knowledge::Open };
        };
        let known = match self.dims().bounds(count) {
            (_, Some(..=0)) => Knowledge::Never,
            (Some(1..), _) => Knowledge::Positive,
            (Some(_) | None, _) if self.dims().is_anonymous(count) => Knowledge::Open,
            (Some(_) | None, _) => Knowledge::Extents,
        };
        Trips { count, known }
    }

    /// The shape of a loop-carried value after the last iteration. It is `first` before the first iteration,
    /// and `assumed` at the start and `next` at the end of each. `None` if the rank is unknown.
    pub fn after_iterations(
        &mut self,
        trips: Trips,
        first: Option<DimVec>,
        assumed: Port,
        next: Option<DimVec>,
    ) -> Option<DimVec> {
        match (trips.known, first, next) {
            (Knowledge::Never, first, _) => first,
            (Knowledge::Positive, first, Some(next))
                if first.as_ref().is_none_or(|first| first.len() != next.len()) =>
            {
                Some(next.into_iter().map(|dim| self.left(dim)).collect())
            }
            (_, Some(first), Some(next)) if first.len() == next.len() => {
                let value = self.value(assumed)?;
                let axes = first.iter().zip(&next).enumerate();
                Some(
                    axes.map(|(axis, (first, next))| self.after(trips, (value, axis), *first, *next))
                        .collect(),
                )
            }
            (Knowledge::Open | Knowledge::Extents | Knowledge::Positive, _, _) => None,
        }
    }

    fn after(&mut self, trips: Trips, at: (ValueId, usize), first: DimId, next: DimId) -> DimId {
        if let Some(Growth { base, step }) = self.frame().rare.loops.growth.get(&at).copied() {
            let dims = self.dims();
            let grown = dims.mul(trips.count, step);
            return dims.add(base, grown);
        }
        match (self.dims().compare(first, next), trips.known) {
            (Decision::Equal, _) => first,
            (Decision::Different | Decision::Undecided, Knowledge::Positive) => self.left(next),
            (Decision::Different | Decision::Undecided, _) => self.fresh(),
        }
    }

    /// An extent of the last iteration, as seen from outside.
    fn left(&mut self, dim: DimId) -> DimId {
        if self.dims().is_anonymous(dim) { self.fresh() } else { dim }
    }

    /// The shape of collected elements without the axis of iterations; every iteration returns `element`.
    ///
    /// Without an iteration, a runtime does not know the extents of an element and uses 0 for those that are
    /// not constants.
    pub fn collected(&mut self, trips: Trips, element: DimVec) -> DimVec {
        let loose = matches!(trips.known, Knowledge::Open | Knowledge::Never);
        let elements = element
            .into_iter()
            .map(|dim| if loose && self.const_dim(dim).is_none() { self.fresh() } else { self.left(dim) });
        elements.collect()
    }

    /// Marks a nested graph as never run; errors of its rules are not reported.
    pub fn never_runs(&mut self, graph: GraphId) {
        let steps = self.frame().body.graph(graph).steps;
        self.frame().never_runs(steps);
        if !self.frame().rare.dead_graphs.contains(&graph) {
            self.frame().rare.dead_graphs.push(graph);
        }
    }

    /// Records whether a body has at least one iteration, given the number of iterations that start if no
    /// condition ends the loop. As in all conditions on symbols, extents count as at least 1.
    pub fn enters(&mut self, graph: GraphId, count: Option<DimId>) {
        if count.is_some_and(|count| self.is_positive_in_runs(count)) {
            self.frame().rare.entered.insert(graph);
        } else {
            self.frame().rare.entered.remove(&graph);
        }
    }

    /// The first shape that the model declares for the value at `port`.
    pub fn declared_shape(&mut self, port: Port) -> Option<DimVec> {
        let value = self.value(port)?;
        let Uncached { core, frame, .. } = self.uncached();
        let shape = *core.declared_shapes(&frame.body, value).first()?;
        Some(core.shapes.get(shape).into())
    }

    /// The number of axes that the model declares for the value at `port`.
    pub fn declared_rank(&mut self, port: Port) -> Option<usize> {
        self.declared_shape(port).map(|shape| shape.len())
    }
}
