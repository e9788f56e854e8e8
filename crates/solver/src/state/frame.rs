//! One body being solved: its slots, and which of its steps still have to run.
//!
//! The order of work is the order of steps. A step that has not run yet needs no entry anywhere: it
//! lies past [`Frame::front`]. A step that must run again lies before it and waits in a heap, and the
//! earliest step runs first. In a graph where all knowledge flows forward, the heap stays empty and
//! the whole solve is one pass.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;

use typeloom_onnx::view::Attribute;

use crate::dim::shape::ShapeId;
use crate::dim::{DimId, Relation};
use crate::map::{Map, Set};
use crate::program::{Body, GraphId, Origin, StepId, ValueId};
use crate::solution::{Equation, EquationSource};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::claim::Claim;
use crate::state::constants::DataId;
use crate::state::limit::Limit;
use crate::state::loops::{Loops, Unrolled};
use crate::ty::{Ty, Waiter};

/// What makes two equations alike; the last says whether a declaration is one side.
type EquationKey = (DimId, DimId, Relation, GraphId, bool);

/// What is known of one value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    /// Its type; `None` until something is known, which is a fresh variable that was not made yet.
    pub(crate) ty: Option<Ty>,
    /// The shape of the tensors in it, once their rank is known.
    pub(crate) shape: Option<ShapeId>,
    /// The constant it holds, once somebody has looked.
    pub(crate) data: Option<DataId>,
}

/// A body being solved.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Its number, for waiters and traces.
    pub(crate) number: u32,
    pub(crate) body: Arc<Body<'a>>,
    pub(crate) slots: Vec<Slot>,
    /// Steps before this one have run at least once.
    front: usize,
    again: BinaryHeap<Reverse<StepId>>,
    waiting: Vec<bool>,
    /// The call that waits for its function to be solved.
    pub(crate) calling: Option<StepId>,
    /// The steps of nested graphs that a constant condition keeps from ever running: from, to. No two overlap.
    dead: BTreeMap<usize, usize>,
    /// The same, as graphs.
    pub(crate) dead_graphs: Vec<GraphId>,
    /// The nested graphs that run any number of times.
    pub(crate) repeated: Vec<GraphId>,
    /// The nested graphs that run any number of times, and at least once in each run of the graph around them.
    pub(crate) entered: BTreeSet<GraphId>,
    /// The first steps of nodes whose outputs depend on an open condition.
    pub(crate) asking: BTreeSet<StepId>,
    /// The attributes that a function was called with.
    pub(crate) arguments: Map<&'a str, Attribute<'a>>,
    /// Whether the whole body may never run (a function called from a branch).
    pub(crate) conditional: bool,
    /// At most one error a step, by first step.
    pub(crate) errors: BTreeMap<StepId, SolveError<'a>>,
    /// Of nodes whose element types are at error, what is wrong with their shapes.
    pub(crate) second_errors: BTreeMap<StepId, SolveError<'a>>,
    /// Of nodes whose element types are at error, the value that the rest of the model speaks against.
    pub(crate) culprits: BTreeMap<StepId, ValueId>,
    /// At most one error a value, about its declared types.
    pub(crate) value_errors: BTreeMap<ValueId, SolveError<'a>>,
    pub(crate) equations: Vec<Equation>,
    /// The number of times that an equation was stated, including repeated ones.
    pub(crate) stated_equations: usize,
    /// Values that hold integer constants too large to be followed.
    pub(crate) dropped: Set<ValueId>,
    /// Steps that met a limit.
    pub(crate) limited: Set<(StepId, Limit)>,
    /// What limits hide, once the body is solved.
    pub(crate) limit_errors: Vec<SolveError<'a>>,
    /// The summaries of functions whose equations were taken over, once for each graph.
    pub(crate) applied: Set<(u32, GraphId)>,
    /// What is in `equations`: once for each graph whose nodes need it.
    known_equations: Set<EquationKey>,
    /// The declared extents that differ from the derived ones as expressions, once the body is solved.
    pub(crate) claims: Vec<Claim>,
    /// The values with a declared shape that nothing confirms or refutes, once the body is solved.
    pub(crate) open_claims: Vec<ValueId>,
    /// What readers see in place of the derived shape of a value, see [`crate::state::claim::Trust::Assumed`].
    pub(crate) assumed_shapes: Map<ValueId, ShapeId>,
    /// The shapes of graph inputs as they are declared, with unknown extents of their own that nothing narrows.
    pub(crate) open_inputs: Map<ValueId, Option<ShapeId>>,
    /// The values whose types the caller gave.
    pub(crate) seeded: Vec<ValueId>,
    /// The values whose declared empty shape is false, each with a node that shows it.
    pub(crate) shapeless: Vec<(ValueId, StepId)>,
    /// Steps with a relation on elements that met a port of unknown kind.
    pub(crate) undecided: Vec<StepId>,
    /// The values whose kind was unknown when everything that can be proved was.
    pub(crate) assumed: Vec<ValueId>,
    /// How often each step ran.
    #[cfg(test)]
    pub(crate) runs: Vec<u32>,
    /// What is known of its loops.
    pub(crate) loops: Loops,
    /// The loops that are solved iteration by iteration.
    pub(crate) unrolled: Unrolled,
}

impl<'a> Frame<'a> {
    pub(crate) fn new(number: u32, body: Arc<Body<'a>>) -> Self {
        Self {
            number,
            slots: vec![Slot::default(); body.values.len()],
            front: 0,
            again: BinaryHeap::new(),
            waiting: Vec::new(),
            calling: None,
            dead: BTreeMap::new(),
            dead_graphs: Vec::new(),
            repeated: Vec::new(),
            entered: BTreeSet::new(),
            asking: BTreeSet::new(),
            arguments: Map::default(),
            conditional: false,
            errors: BTreeMap::new(),
            second_errors: BTreeMap::new(),
            culprits: BTreeMap::new(),
            value_errors: BTreeMap::new(),
            equations: Vec::new(),
            stated_equations: 0,
            dropped: Set::default(),
            limited: Set::default(),
            limit_errors: Vec::new(),
            applied: Set::default(),
            known_equations: Set::default(),
            claims: Vec::new(),
            open_claims: Vec::new(),
            assumed_shapes: Map::default(),
            open_inputs: Map::default(),
            seeded: Vec::new(),
            shapeless: Vec::new(),
            undecided: Vec::new(),
            assumed: Vec::new(),
            #[cfg(test)]
            runs: vec![0; body.steps.len()],
            loops: Loops::default(),
            unrolled: Unrolled::default(),
            body,
        }
    }

    /// The next step to run.
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

    /// Makes a step run again, unless it is still to run anyway.
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

    /// Keeps the first error about a value.
    pub(crate) fn report_value(&mut self, value: ValueId, kind: SolveErrorKind<'a>) {
        let error = SolveError { site: self.site_of(value), kind: kind.specific(value) };
        self.value_errors.entry(value).or_insert(error);
    }

    /// The site of an error about a value: the node that makes it, or the value itself.
    pub(crate) fn site_of(&self, value: ValueId) -> ErrorSite {
        match self.body.value(value).origin {
            Origin::Step(step) => ErrorSite::Step(self.body.first_step(step)),
            Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => {
                ErrorSite::Value(value)
            }
        }
    }

    /// Whether the declared empty shape of a value is false.
    pub(crate) fn is_shapeless(&self, value: ValueId) -> bool {
        self.shapeless.iter().any(|(it, _)| *it == value)
    }

    pub(crate) fn set_shape(&mut self, value: ValueId, shape: ShapeId, by: StepId) {
        self.slots[value.index()].shape = Some(shape);
        self.touch(value, by);
    }

    /// Whether a step is the one that the first pass has come to: what it says reaches only steps to come.
    #[inline]
    pub(crate) fn is_front(&self, step: StepId) -> bool {
        step.index() + 1 >= self.front && !self.body.is_unsorted
    }

    /// More is known about `value`, said by the step `by`: whoever else can use it runs again.
    pub(crate) fn touch(&mut self, value: ValueId, by: StepId) {
        // In a sorted body all that can use it comes after its maker; while the front is there, it is still to run.
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

    /// More is known about `value` from outside its node: its maker and readers run again.
    pub(crate) fn refined(&mut self, value: ValueId) {
        if self.front == 0 {
            return;
        }
        let body = Arc::clone(&self.body);
        if let Origin::Step(maker) = body.value(value).origin {
            self.wake(maker);
            if self.is_front(maker) {
                return;
            }
        }
        for step in body.consumers().of(value) {
            self.wake(*step);
        }
    }

    /// Whether the step that makes a value may never run.
    pub(crate) fn is_conditional_value(&self, value: ValueId) -> bool {
        self.is_conditional_in(self.body.value(value).graph)
    }

    /// Whether the steps of a graph may never run.
    pub(crate) fn is_conditional_in(&self, graph: GraphId) -> bool {
        self.conditional || graph != self.body.root()
    }

    /// Whether a step may never run, so that what it needs must not narrow what others know.
    pub(crate) fn is_conditional(&self, step: StepId) -> bool {
        self.conditional || self.is_nested(step)
    }

    /// Whether a step of a solved body runs in every run of the model.
    pub(crate) fn runs_always(&self, step: StepId) -> bool {
        !self.conditional && self.runs_with_body(step)
    }

    /// Whether a step of a solved body runs in every run of the body: it is in the outermost graph, in a branch whose
    /// alternatives never run, or in the body of a loop that has an iteration.
    pub(crate) fn runs_with_body(&self, step: StepId) -> bool {
        if !self.runs(step) {
            return false;
        }
        let mut graph = self.body.step(step).graph;
        while let Some(owner) = self.body.graph(graph).owner {
            let mut others = self.body.graphs_of(owner.step).filter(|(other, _)| *other != graph).peekable();
            let runs = match others.peek() {
                None => self.entered.contains(&graph),
                Some(_) => others.all(|(other, _)| self.dead_graphs.contains(&other)),
            };
            if !runs {
                return false;
            }
            graph = self.body.step(owner.step).graph;
        }
        true
    }

    /// Whether a step is of a graph nested in a node.
    pub(crate) fn is_nested(&self, step: StepId) -> bool {
        self.body.step(step).graph != self.body.root()
    }

    /// Whether a step is of no graph that a constant condition keeps from ever running.
    pub(crate) fn runs(&self, step: StepId) -> bool {
        self.dead.range(..=step.index()).next_back().is_none_or(|(_, to)| step.index() >= *to)
    }

    /// Notes the steps of a graph that never runs. Graphs are nested in each other or disjoint.
    pub(crate) fn never_runs(&mut self, (from, to): (usize, usize)) {
        if from == to || !self.runs(StepId::new(from)) {
            return;
        }
        while let Some((inner, _)) = self.dead.range(from..to).next() {
            let inner = *inner;
            self.dead.remove(&inner);
        }
        self.dead.insert(from, to);
    }

    /// Whether no constant condition keeps a graph, or one around it, from ever running.
    pub(crate) fn runs_in(&self, graph: GraphId) -> bool {
        let mut at = graph;
        loop {
            if self.dead_graphs.contains(&at) {
                return false;
            }
            match self.body.graph(at).owner {
                Some(owner) => at = self.body.step(owner.step).graph,
                None => return true,
            }
        }
    }

    /// Whether a graph runs once at most each time that the body runs.
    pub(crate) fn runs_once(&self, graph: GraphId) -> bool {
        let body = &self.body;
        let mut at = graph;
        loop {
            if self.repeated.contains(&at) {
                return false;
            }
            match body.graph(at).owner {
                Some(owner) => at = body.step(owner.step).graph,
                None => return true,
            }
        }
    }

    /// Everything wrong with the body and with this instance of it, outside graphs that never run.
    pub(crate) fn all_errors(&self) -> impl Iterator<Item = &SolveError<'a>> {
        let solved = self
            .errors
            .iter()
            .chain(&self.second_errors)
            .filter(|(step, _)| self.runs(**step))
            .map(|(_, error)| error);
        self.body.errors().iter().chain(solved).chain(self.value_errors.values()).chain(&self.limit_errors)
    }

    pub(crate) fn argument(&self, name: &str) -> Option<Attribute<'a>> {
        self.arguments.get(name).copied()
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

    /// Forgets the shapes and constants of everything inside the nested graphs between two steps, so
    /// that they are solved again from other inputs. Types stay: they do not change from turn to turn.
    pub(crate) fn forget_between(&mut self, enter: StepId, exit: StepId) {
        let (from, to) = (enter.index() + 1, exit.index());
        let body = Arc::clone(&self.body);
        for step in (from..to).map(StepId::new) {
            for value in body.outputs(step).iter().flatten() {
                self.slots[value.index()].shape = None;
                self.slots[value.index()].data = None;
            }
            self.errors.remove(&body.first_step(step));
            self.second_errors.remove(&body.first_step(step));
            self.wake(step);
        }
        let inside = |graph: GraphId| {
            body.graph(graph).owner.is_some_and(|owner| (from..to).contains(&owner.step.index()))
        };
        self.unrolled.forget(inside);
        let (gone, left) = std::mem::take(&mut self.equations)
            .into_iter()
            .partition(|equation| (from..to).contains(&equation.step.index()));
        self.equations = left;
        let gone: Vec<Equation> = gone;
        if !gone.is_empty() {
            self.applied.clear();
        }
        // A key names the graph, and all steps of a graph inside lie between the two.
        for equation in &gone {
            self.known_equations.remove(&self.equation_key(equation));
        }
    }
}
