//! A body during a solve: its slots and its worklist.
//!
//! # The question
//!
//! Which step runs next? A queue of all steps is the usual answer, and wakes a step by adding it to the end.
//! A model of 100,000 nodes then starts with 100,000 entries, and a woken step runs after its readers:
//!
//! ```text
//! steps   0  1  2  3      3 finds out that the result of 0 is a sequence
//! queue   0  1  2  3  0   then 0 runs, which wakes 1, which wakes 2
//! ```
//!
//! # The idea
//!
//! Steps are numbered so that a step comes after those that make its inputs. One number, the *front*,
//! replaces the queue: no step at or after it has run, and none needs an entry. The steps before it have run,
//! except for those of nested graphs that are left out. A step before the front that has to run waits in a
//! heap, and the first step in the heap runs before the step at the front. So a change passes through the
//! steps in order, and a step runs again once for any number of changed inputs.
//!
//! In a graph where types only flow forward, the heap stays empty, and the solve is a loop over a counter.
//! Waking costs `O(log w)` with `w` waiting steps; `waiting` keeps a step from being in the heap twice.
//!
//! **Invariant:** a step is in the heap exactly if `waiting` marks it, and only steps before the front are.
//!

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use typeloom_dim::shape::ShapeId;
use typeloom_dim::{DimId, Relation};
use typeloom_onnx::view::Attribute;

use crate::map::{Map, Set};
use crate::program::{Body, GraphId, Origin, StepId, ValueId};
use crate::solution::{Equation, EquationSource};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::constants::DataId;
use crate::state::known::KnownConditions;
use crate::state::parts::Parts;
use crate::state::rare::Rare;
use crate::ty::{Ty, Waiter};

/// Identity of an equation. The last item is whether one side is a declaration.
type EquationKey = (DimId, DimId, Relation, GraphId, bool);

/// Knowledge about one value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// The type; `None` is an unknown type without a variable so far.
    pub(crate) ty: Option<Ty>,
    /// The shape of its tensors, once the rank is known.
    pub(crate) shape: Option<ShapeId>,
    /// Its constant, once it was read.
    pub(crate) data: Option<DataId>,
}

/// A body during a solve.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Identifies the frame in waiters and traces.
    pub(crate) number: u32,
    pub(crate) body: Arc<Body<'a>>,
    pub(crate) slots: Vec<Slot>,
    /// Number of steps that have run at least once.
    front: usize,
    again: BinaryHeap<Reverse<StepId>>,
    waiting: Vec<bool>,
    /// The call whose function is being solved.
    pub(crate) calling: Option<StepId>,
    /// The attributes of the call, for a function.
    pub(crate) arguments: Map<&'a str, Attribute<'a>>,
    /// Whether the whole body may never run (a function called from a branch).
    pub(crate) conditional: bool,
    pub(crate) equations: Vec<Equation>,
    /// The number of times that an equation was stated, including repeated ones.
    pub(crate) stated_equations: usize,
    /// Values with integer constants that are too large to follow.
    dropped: Set<ValueId>,
    /// Identities of `equations`.
    known_equations: Set<EquationKey>,
    /// Shapes that readers see instead of the derived ones, see
    /// [`Trust::Assumed`](crate::state::claim::Trust::Assumed).
    pub(crate) assumed_shapes: Map<ValueId, ShapeId>,
    /// Declared shapes of graph inputs with unknown extents, which nothing narrows.
    pub(crate) open_inputs: Map<ValueId, Option<ShapeId>>,
    /// The unknown extents in these shapes. Of several equal ones, the oldest represents all.
    pub(crate) unnamed: Set<DimId>,
    /// The data that most bodies do not need.
    pub(crate) rare: Rare<'a>,
    /// Number of runs of each step.
    #[cfg(test)]
    pub(crate) runs: Vec<u32>,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(number: u32, body: Arc<Body<'a>>) -> Box<Self> {
        Box::new(Self {
            number,
            slots: vec![Slot::default(); body.values.len()],
            front: 0,
            again: BinaryHeap::new(),
            waiting: Vec::new(),
            calling: None,
            arguments: Map::default(),
            conditional: false,
            equations: Vec::new(),
            stated_equations: 0,
            dropped: Set::default(),
            known_equations: Set::default(),
            assumed_shapes: Map::default(),
            unnamed: Set::default(),
            open_inputs: Map::default(),
            rare: Rare::default(),
            #[cfg(test)]
            runs: vec![0; body.steps.len()],
            body,
        })
    }

    /// Takes the next step to run.
    pub(crate) fn next(&mut self) -> Option<StepId> {
        let step = self.take_next();
        #[cfg(test)]
        if let Some(step) = step {
            self.runs[step.index()] += 1;
        }
        step
    }

    fn take_next(&mut self) -> Option<StepId> {
        if let Some(Reverse(step)) = self.again.pop() {
            self.waiting[step.index()] = false;
            return Some(step);
        }
        let step = self.front;
        (step < self.body.steps.len()).then(|| {
            self.front += 1;
            StepId::new(step)
        })
    }

    /// Leaves out the steps before `step` that have not run. They run if a later result wakes them.
    pub(crate) fn skip_to(&mut self, step: StepId) {
        self.front = self.front.max(step.index());
    }

    /// Records that the integer constant of a value is too large to follow.
    pub(crate) fn drop_constant(&mut self, value: ValueId) {
        self.dropped.insert(value);
    }

    /// Whether the integer constant of a value is too large to follow.
    #[inline]
    pub(crate) fn is_dropped(&self, value: ValueId) -> bool {
        self.dropped.contains(&value)
    }

    /// Schedules a step to run again, unless it has not run yet.
    pub(crate) fn wake(&mut self, step: StepId) {
        if step.index() >= self.front {
            return;
        }
        if self.waiting.is_empty() {
            self.waiting = vec![false; self.body.steps.len()];
        }
        if !std::mem::replace(&mut self.waiting[step.index()], true) {
            self.again.push(Reverse(step));
        }
    }

    pub(crate) fn waiter(&self, step: StepId) -> Waiter {
        let step = u32::try_from(step.index()).expect("step ids are 32 bits wide");
        Waiter { frame: self.number, step }
    }

    /// The shape of a value as its readers see it.
    #[inline]
    pub(crate) fn shape_read(&self, value: ValueId) -> Option<ShapeId> {
        if !self.assumed_shapes.is_empty()
            && let Some(assumed) = self.assumed_shapes.get(&value)
        {
            return Some(*assumed);
        }
        self.slots[value.index()].shape
    }

    /// Adds an error about a value that has none.
    pub(crate) fn report_value(&mut self, value: ValueId, kind: SolveErrorKind<'a>) {
        let error = SolveError { site: self.site_of(value), kind: kind.specific(value) };
        self.rare.value_errors.entry(value).or_insert(error);
    }

    /// The site of an error about a value: the node that defines it, or the value itself.
    pub(crate) fn site_of(&self, value: ValueId) -> ErrorSite {
        self.body.maker(value).map_or(ErrorSite::Value(value), ErrorSite::Step)
    }

    /// Whether the declared empty shape of a value is false.
    pub(crate) fn is_shapeless(&self, value: ValueId) -> bool {
        self.rare.shapeless.iter().any(|(it, _)| *it == value)
    }

    pub(crate) fn set_shape(&mut self, value: ValueId, shape: ShapeId, by: StepId) {
        self.slots[value.index()].shape = Some(shape);
        self.touch(value, by);
    }

    pub(crate) fn set_parts(&mut self, value: ValueId, parts: Parts, by: StepId) {
        if self.rare.parts.get(&value) != Some(&parts) {
            self.rare.parts.insert(value, parts);
            self.touch(value, by);
        }
    }

    /// Whether a step is at the front of the first pass, so that only later steps can use its results.
    #[inline]
    pub(crate) fn is_front(&self, step: StepId) -> bool {
        step.index() + 1 >= self.front && !self.body.is_unsorted
    }

    /// Schedules the steps other than `by` that can use new knowledge about `value`.
    pub(crate) fn touch(&mut self, value: ValueId, by: StepId) {
        // In a sorted body every reader comes after the maker, so at the front it has not run yet.
        if let Origin::Step(maker) = self.body.value(value).origin {
            if self.is_front(maker) {
                return;
            }
            if maker != by {
                self.wake(maker);
            }
        }
        let body = Arc::clone(&self.body);
        for step in body.consumers().of(value) {
            if *step != by {
                self.wake(*step);
            }
        }
    }

    /// Schedules the readers of a value whose declared shape is assumed. Its node uses derived shapes of its
    /// outputs only.
    pub(crate) fn wake_readers(&mut self, value: ValueId) {
        let body = Arc::clone(&self.body);
        let is_new = body.value(value).origin.step().is_some_and(|maker| self.is_front(maker));
        if is_new || self.front == 0 {
            return;
        }
        for step in body.consumers().of(value) {
            self.wake(*step);
        }
    }

    /// Whether the steps of a graph may never run.
    pub(crate) fn is_conditional_in(&self, graph: GraphId) -> bool {
        self.conditional || graph != self.body.root()
    }

    /// Whether a step may never run, so that its needs must not narrow other values.
    pub(crate) fn is_conditional(&self, step: StepId) -> bool {
        self.is_conditional_in(self.body.step(step).graph)
    }

    /// Whether a step of a solved body runs in every run of the body: its graph is the outermost one, a
    /// branch whose alternatives never run, or the body of a loop with at least one iteration.
    pub(crate) fn runs_with_body(&self, step: StepId) -> bool {
        self.runs_with(step, self.body.root())
    }

    /// Whether a step runs in every run of a graph around it.
    fn runs_with(&self, step: StepId, outer: GraphId) -> bool {
        if !self.runs(step) {
            return false;
        }
        let mut graph = self.body.step(step).graph;
        while graph != outer {
            let Some(owner) = self.body.graph(graph).owner else { return false };
            let mut others = self.body.graphs_of(owner.step).filter(|(other, _)| *other != graph).peekable();
            let runs = match others.peek() {
                None => self.rare.entered.contains(&graph),
                Some(_) => others.all(|(other, _)| self.rare.dead_graphs.contains(&other)),
            };
            if !runs {
                return false;
            }
            graph = self.body.step(owner.step).graph;
        }
        true
    }

    /// Keeps the conditions of the body of a loop that is solved for one iteration. The solve of the next
    /// iteration forgets them.
    pub(crate) fn keep_iteration(&mut self, graph: GraphId) {
        let own = self.equations.iter().filter(|equation| self.runs_with(equation.step, graph));
        let inner = self
            .rare
            .loops
            .of_iterations
            .iter()
            .filter(|((inner, ..), _)| *inner != graph && self.iterates_with(*inner, graph));
        let kept: Vec<Equation> = own.chain(inner.map(|(_, equation)| equation)).copied().collect();
        for equation in kept {
            let key = (graph, equation.left, equation.right, equation.need);
            self.rare.loops.of_iterations.entry(key).or_insert(equation);
        }
    }

    /// Whether the body of a loop has an iteration in every run of a graph around it.
    fn iterates_with(&self, body: GraphId, outer: GraphId) -> bool {
        let owner = self.body.graph(body).owner;
        self.rare.entered.contains(&body) && owner.is_some_and(|owner| self.runs_with(owner.step, outer))
    }

    /// The conditions of the nodes that run in every run of the model.
    pub(crate) fn certain_equations(&self) -> impl Iterator<Item = &Equation> {
        self.equations_of_runs().filter(|_| !self.conditional)
    }

    /// The conditions of the nodes that run in every run of the body.
    pub(crate) fn equations_of_runs(&self) -> impl Iterator<Item = &Equation> {
        let lasting = self.equations.iter().filter(|equation| self.runs_with_body(equation.step));
        let of_iterations = self.rare.loops.of_iterations.iter();
        let of_iterations =
            of_iterations.filter(|((graph, ..), _)| self.iterates_with(*graph, self.body.root()));
        lasting.chain(of_iterations.map(|(_, equation)| equation))
    }

    /// Whether no constant condition prevents a step from running.
    pub(crate) fn runs(&self, step: StepId) -> bool {
        self.rare.dead.range(..=step.index()).next_back().is_none_or(|(_, to)| step.index() >= *to)
    }

    /// Marks a range of steps as never run. Ranges are nested or disjoint.
    pub(crate) fn never_runs(&mut self, (from, to): (usize, usize)) {
        if from == to || !self.runs(StepId::new(from)) {
            return;
        }
        while let Some((inner, _)) = self.rare.dead.range(from..to).next() {
            let inner = *inner;
            self.rare.dead.remove(&inner);
        }
        self.rare.dead.insert(from, to);
    }

    /// Whether no constant condition prevents a graph from running.
    pub(crate) fn runs_in(&self, graph: GraphId) -> bool {
        !self.body.enclosing(graph).any(|graph| self.rare.dead_graphs.contains(&graph))
    }

    /// Whether a graph runs at most once in each run of the body.
    pub(crate) fn runs_once(&self, graph: GraphId) -> bool {
        !self.body.enclosing(graph).any(|graph| self.rare.repeated.contains(&graph))
    }

    /// Whether the node with this first step is in error.
    #[inline]
    pub(crate) fn has_error(&self, first: StepId) -> bool {
        self.rare.errors.contains_key(&first)
    }

    /// The errors of the body and of this instance, outside graphs that never run.
    pub(crate) fn all_errors(&self) -> impl Iterator<Item = &SolveError<'a>> {
        let solved = self
            .rare
            .errors
            .iter()
            .chain(&self.rare.second_errors)
            .filter(|(step, _)| self.runs(**step))
            .map(|(_, error)| error);
        self.body
            .errors()
            .iter()
            .chain(solved)
            .chain(self.rare.value_errors.values())
            .chain(&self.rare.limit_errors)
    }

    /// The attribute itself, or for a reference inside a function the argument of the call.
    #[inline]
    pub(crate) fn referenced<'s>(&'s self, attribute: &'s Attribute<'a>) -> Option<&'s Attribute<'a>> {
        match attribute.ref_attr_name {
            None => Some(attribute),
            Some(outer) => self.arguments.get(outer),
        }
    }

    pub(crate) fn add_equation(&mut self, equation: Equation) {
        self.stated_equations += 1;
        if self.known_equations.insert(self.equation_key(&equation)) {
            self.equations.push(equation);
        }
    }

    fn equation_key(&self, equation: &Equation) -> EquationKey {
        let Equation { left, right, need, step, .. } = *equation;
        let (left, right) = match need {
            Relation::Equal | Relation::Broadcast => (left.min(right), left.max(right)),
            Relation::OneOrEqual | Relation::AtMost | Relation::Divides => (left, right),
        };
        let declared = matches!(equation.source, EquationSource::Declared(_));
        (left, right, need, self.body.step(step).graph, declared)
    }

    /// Clears the shapes and constants inside the nested graphs between two steps and schedules the steps
    /// again. Types stay, because they are the same in each iteration.
    pub(crate) fn forget_between(&mut self, enter: StepId, exit: StepId) {
        let (from, to) = (enter.index() + 1, exit.index());
        let body = Arc::clone(&self.body);
        for step in (from..to).map(StepId::new) {
            for value in body.outputs(step).iter().flatten() {
                self.slots[value.index()].shape = None;
                self.slots[value.index()].data = None;
                self.assumed_shapes.remove(value);
                self.rare.parts.remove(value);
            }
            self.rare.errors.remove(&body.first_step(step));
            self.rare.second_errors.remove(&body.first_step(step));
            self.wake(step);
        }
        let inside = |graph: GraphId| {
            body.graph(graph).owner.is_some_and(|owner| (from..to).contains(&owner.step.index()))
        };
        self.rare.unrolled.forget(inside);
        self.rare.loops.of_iterations.retain(|(graph, ..), _| !inside(*graph));
        let is_inside = |equation: &mut Equation| (from..to).contains(&equation.step.index());
        let removed: Vec<Equation> = self.equations.extract_if(.., is_inside).collect();
        if !removed.is_empty() {
            self.rare.applied.clear();
            self.rare.known = KnownConditions::default();
        }
        // The key names the graph, and all steps of a nested graph are in the range.
        for equation in &removed {
            self.known_equations.remove(&self.equation_key(equation));
        }
    }
}
