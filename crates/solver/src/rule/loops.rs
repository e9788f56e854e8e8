//! Verbs for nested graphs that run many times: their inputs are those of every iteration at once.
//!
//! An input of such a graph first gets the shape of the first iteration. When a later iteration can have another
//! shape, the assumption is *widened* (abstract interpretation's join with widening): an extent that grows by the same
//! amount in each iteration becomes `base + i*step`, where `i` is the number of the iteration; other extents that
//! differ become unknown, then the rank does. An assumption is only ever widened, also when an outer
//! loop runs again, so a body is solved a number of times that is linear in the depth of nesting.
//!
//! After the last iteration a carried value is what it was before the first one, if there was none, or else what the
//! body returned. The closed form `base + count*step` covers both. Extents of one iteration (the number of the iteration,
//! extents that widening made) never leave the body: outside they are unknowns of their own, because what the
//! surrounding graph needs of the last iteration need not hold for the others.

use super::cx::Uncached;
use super::{DimVec, Ints, Port, RuleCx};
use crate::dim::{Decision, DimId};
use crate::program::{GraphId, ValueId};
use crate::state::limit::Limit;
use crate::state::loops::Growth;

/// How often one input may be widened axis by axis before its rank is given up.
const MAX_WIDENINGS: u32 = 4;

/// How often a body runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trips {
    /// The number of iterations: known, or an unknown of this loop.
    pub count: DimId,
    /// What is known of it.
    pub known: Knowledge,
}

/// What is known of a number of iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// Nothing: the condition or data decide.
    Open,
    /// It is an expression over extents, and can be 0 only where an axis is empty.
    Extents,
    /// It is one or more.
    Positive,
    /// It is 0.
    Never,
}

impl RuleCx<'_, '_> {
    /// Assumes that in some iteration the input at `port` has the shape at `from`; true when what was
    /// assumed before does not cover it, in which case the graphs of the node are solved again.
    pub fn assume_shape_of(&mut self, port: Port, from: Port) -> bool {
        let shape = self.shape(from);
        self.assume_shape(port, shape)
    }

    /// As [`RuleCx::assume_shape_of`], with the shape itself; `None` is "any rank".
    pub fn assume_shape(&mut self, port: Port, shape: Option<DimVec>) -> bool {
        self.assume(port, shape, None)
    }

    /// As [`RuleCx::assume_shape`], for what the body `graph` returns: `next` follows the state at `port`, which starts
    /// with the shape `first`.
    pub fn assume_next(
        &mut self,
        graph: GraphId,
        port: Port,
        next: Option<DimVec>,
        first: Option<&DimVec>,
    ) -> bool {
        self.assume(port, next, Some((graph, first)))
    }

    fn assume(
        &mut self,
        port: Port,
        shape: Option<DimVec>,
        returned: Option<(GraphId, Option<&DimVec>)>,
    ) -> bool {
        let Some(value) = self.value(port) else { return false };
        let Some(count) = self.uncached().frame.loops.widened.get(&value).copied() else {
            self.uncached().frame.loops.widened.insert(value, 0);
            if let Some(shape) = shape {
                let id = self.core().shapes.intern(&shape);
                self.write_shape(port, id);
            }
            return false;
        };
        // The shapes of one iteration are no assumption about all.
        if let Port::BodyIn(graph, _) = port
            && self.is_unrolling(graph)
        {
            return false;
        }
        // Whatever is known again after the rank was given up is what the body needs of each iteration that it runs.
        if count > MAX_WIDENINGS {
            return false;
        }
        let Some(assumed) = self.shape(port) else { return false };
        let same_rank = shape.as_ref().is_some_and(|shape| shape.len() == assumed.len());
        let joined = match shape {
            Some(shape) if shape.len() == assumed.len() => {
                let mut joined = assumed.clone();
                for (axis, dim) in shape.iter().enumerate() {
                    joined[axis] = match returned {
                        None => self.joined_first(value, axis, assumed[axis], *dim),
                        Some((graph, first)) => {
                            let first = first.and_then(|first| first.get(axis)).copied();
                            self.joined_next(graph, (value, axis), assumed[axis], *dim, first)
                        }
                    };
                }
                Some(joined)
            }
            Some(_) | None => None,
        };
        if joined.as_ref() == Some(&assumed) {
            return false;
        }
        let joined = joined.filter(|_| count < MAX_WIDENINGS);
        let count = match joined {
            Some(_) => count + 1,
            None => {
                // Without a rank no axis grows.
                self.uncached().frame.loops.growth.retain(|(grown, _), _| *grown != value);
                MAX_WIDENINGS + 1
            }
        };
        if count > MAX_WIDENINGS && same_rank {
            let limit = Limit::Widenings { most: MAX_WIDENINGS as usize };
            let step = self.first_step();
            self.uncached().frame.limited.insert((step, limit));
        }
        self.uncached().frame.loops.widened.insert(value, count);
        self.widen(value, joined);
        true
    }

    /// An extent of the first iteration, joined with what is assumed of all.
    fn joined_first(&mut self, value: ValueId, axis: usize, assumed: DimId, dim: DimId) -> DimId {
        let base = match self.uncached().frame.loops.growth.get(&(value, axis)) {
            Some(growth) => growth.base,
            None => assumed,
        };
        if self.dims().compare(base, dim) == Decision::Equal || self.is_widened(assumed) {
            return assumed;
        }
        self.uncached().frame.loops.growth.remove(&(value, axis));
        self.widened_dim()
    }

    /// An extent that the body returns, joined with what is assumed of all iterations.
    fn joined_next(
        &mut self,
        graph: GraphId,
        at: (ValueId, usize),
        assumed: DimId,
        dim: DimId,
        first: Option<DimId>,
    ) -> DimId {
        if let Some(Growth { step, .. }) = self.uncached().frame.loops.growth.get(&at).copied() {
            let next = self.dims().add(assumed, step);
            if self.dims().compare(next, dim) == Decision::Equal {
                return assumed;
            }
            self.uncached().frame.loops.growth.remove(&at);
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
            self.uncached().frame.loops.growth.insert(at, Growth { base: assumed, step });
            return grown;
        }
        self.widened_dim()
    }

    fn widened_dim(&mut self) -> DimId {
        let dim = self.dims().fresh();
        self.uncached().frame.loops.unknown.insert(dim);
        dim
    }

    pub(super) fn is_widened(&mut self, dim: DimId) -> bool {
        self.uncached().frame.loops.unknown.contains(&dim)
    }

    fn widen(&mut self, value: ValueId, shape: Option<DimVec>) {
        let id = shape.map(|shape| self.core().shapes.intern(&shape));
        self.uncached().frame.slots[value.index()].shape = id;
        self.forget_body();
    }

    fn numbers(&mut self, graph: GraphId) -> (DimId, DimId) {
        let Uncached { core, frame, .. } = self.uncached();
        *frame.loops.numbers.entry(graph).or_insert_with(|| (core.dims.fresh(), core.dims.fresh()))
    }

    /// Gives the number of the iteration to the input of a body that receives it.
    pub fn count_iterations(&mut self, graph: GraphId, port: Port) {
        let (iteration, _) = self.numbers(graph);
        match self.rank(port).or_else(|| self.declared_rank(port)) {
            Some(0) => self.set_ints(port, Ints::scalar(iteration)),
            Some(1) => self.set_ints(port, Ints::vector([iteration])),
            Some(_) | None => {}
        }
    }

    /// How often a body runs, given the number where it is known.
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

    /// The shape of a carried value after the last iteration: `first` before the first one, `assumed` at the start of
    /// each, `next` at its end. `None` where not even the rank is known.
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
        if let Some(Growth { base, step }) = self.uncached().frame.loops.growth.get(&at).copied() {
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

    /// An extent of the last iteration, seen from outside.
    fn left(&mut self, dim: DimId) -> DimId {
        if self.dims().is_anonymous(dim) { self.fresh() } else { dim }
    }

    /// The shape of what is collected, without the axis of iterations: every iteration returns `element`.
    ///
    /// Runtimes do not know the extents of what they never computed: without an iteration, extents that are no numbers are 0.
    pub fn collected(&mut self, trips: Trips, element: DimVec) -> DimVec {
        let loose = matches!(trips.known, Knowledge::Open | Knowledge::Never);
        let elements = element
            .into_iter()
            .map(|dim| if loose && self.const_dim(dim).is_none() { self.fresh() } else { self.left(dim) });
        elements.collect()
    }

    /// Says that a nested graph never runs: what its rules find wrong is wrong in no run.
    pub fn never_runs(&mut self, graph: GraphId) {
        let steps = self.uncached().frame.body.graph(graph).steps;
        self.uncached().frame.never_runs(steps);
        if !self.uncached().frame.dead_graphs.contains(&graph) {
            self.uncached().frame.dead_graphs.push(graph);
        }
    }

    /// Notes whether a body surely has an iteration, given the number of iterations that begin if no condition ends the
    /// loop. As everywhere in conditions on symbols, extents count as 1 or more.
    pub fn enters(&mut self, graph: GraphId, count: Option<DimId>) {
        if count.is_some_and(|count| self.is_positive_in_runs(count)) {
            self.uncached().frame.entered.insert(graph);
        } else {
            self.uncached().frame.entered.remove(&graph);
        }
    }

    /// Whether the model declares a shape for the value at `port`.
    pub fn declares_shape(&mut self, port: Port) -> bool {
        self.declared_shape(port).is_some()
    }

    /// The first shape that the model declares for the value at `port`.
    pub fn declared_shape(&mut self, port: Port) -> Option<DimVec> {
        let value = self.value(port)?;
        let Uncached { core, frame, .. } = self.uncached();
        frame.body.declarations(value).find_map(|declaration| {
            let shape = core.read_type(declaration.ty).ok()?.shape?;
            Some(core.shapes.get(shape).into())
        })
    }

    /// The number of axes that the model declares for the value at `port`.
    pub fn declared_rank(&mut self, port: Port) -> Option<usize> {
        self.declared_shape(port).map(|shape| shape.len())
    }
}
