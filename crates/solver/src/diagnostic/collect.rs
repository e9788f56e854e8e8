//! Collects the diagnostics of a checked model, in order.
//!
//! The solver keeps errors in several lists: those of the main graph, of called functions, of cases, and of
//! functions that cannot be read. A user reads a model from the top, and repairs one cause at a time. So
//! [`diagnose`] sorts the errors by their sites and leaves out consequences:
//!
//! ```text
//! g (float[N] x) => (y) { a = Missing (x)  b = Relu (a)  y = Abs (b) }
//! unknown-operator at `Missing`; the unknown types of `a`, `b` and `y` follow from it
//! ```
//!
//! 1. Sites are ordered: values without a node, nodes, outputs of the graph. Errors of a function are
//!    inserted at the call in the main graph that leads to it, each once per site and code, for all calls.
//! 2. [`Consequences`] removes unresolved types that are computed from nodes in error, and warnings about
//!    assumed types in a model with errors.
//! 3. [`ErrorGroup`] combines errors of one cause.
//! 4. [`Scope::describe`] makes a diagnostic of each remaining error.
//!
//! **Invariant:** the same model gives the same list. No step depends on the order of a hash table.
//!
//! **Cost:** linear in the nodes and errors, in addition to sorting. Explanations search the graph, so only
//! the first [`MAX_EXPLAINED`] diagnostics have them, and all searches together visit at most [`MAX_VISITED`]
//! values.
//!
//! **Limits:** at most [`MAX_LISTED`] diagnostics; the last one has a note with the number of the others. An
//! error takes the capacity of the last warning of a full list, so a model with an error has a listed one.

use std::cell::RefCell;
use std::collections::BTreeSet;

use typeloom_dim::Dims;

use super::cases::in_case;
use super::codes::malformed_file::malformed;
use super::codes::nesting_too_deep::too_deep;
use super::group::ErrorGroup;
use super::scope::Content;
use super::{Code, Diagnostic, Location, Scope, Severity, count};
use crate::engine::call::Instance;
use crate::map::{Map, Set};
use crate::model::{Checked, Findings, Mode};
use crate::operators::{FunctionId, OpKind, Operators};
use crate::program::build::BuildError;
use crate::program::{Body, GraphId, StepId, StepKind, ValueId};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::frame::Frame;
use crate::ty::Types;

/// Maximum number of diagnostics for which causes and suggestions are searched.
pub const MAX_EXPLAINED: usize = 64;

/// The maximum number of listed diagnostics; a note at the last one counts the others. Warnings are omitted
/// before errors.
pub const MAX_LISTED: usize = 1000;

/// Maximum number of values visited in search of causes, for all diagnostics together.
const MAX_VISITED: usize = 1 << 18;

/// Decides whether an error of a body has a diagnostic.
pub type Selection<'s> = &'s dyn Fn(&Body<'_>, &Dims, &SolveError<'_>) -> bool;

/// Returns the diagnostics of a checked model, in the order of its graph.
#[must_use]
pub fn diagnose(checked: &mut Checked<'_>) -> Vec<Diagnostic> {
    collect(checked, Content::Causes, &|_, _, _| true)
}

/// As [`diagnose`], for selected errors, and with their codes, locations and messages only. Functions that
/// cannot be read are always reported.
#[must_use]
pub fn messages_where(checked: &mut Checked<'_>, selection: Selection<'_>) -> Vec<Diagnostic> {
    collect(checked, Content::Message, selection)
}

fn collect(checked: &mut Checked<'_>, content: Content, selection: Selection<'_>) -> Vec<Diagnostic> {
    let reported = BTreeSet::new();
    let mut list = List {
        found: Vec::new(),
        hidden: 0,
        has_warnings: true,
        budget: MAX_VISITED,
        reported,
        content,
        selection,
    };
    let Checked { operators, core, frame, mode, errors, rare, .. } = checked;
    let Findings { instances, erroneous_callers, function_errors, cases, alternatives, .. } = rare;
    let mode = *mode;
    let varying: BTreeSet<ValueId> = alternatives.keys().copied().collect();

    // The errors of a function are listed at its first call in the model's graph.
    let body = std::sync::Arc::clone(&frame.body);
    let mut nested = in_functions(&body, instances).into_iter().peekable();
    let consequence = Consequences::of(core, operators, frame, instances, erroneous_callers);
    let names = crate::model::load::node_names(&body);
    let unknown = unknown_operators(operators, frame, mode);
    let mut ordered: Vec<&SolveError<'_>> = unknown
        .iter()
        .chain(errors.iter())
        .chain(&names)
        .filter(|error| !consequence.is(error) && selection(&body, &core.dims, error))
        .collect();
    ordered.sort_by_key(|error| order(&body, error.site));
    let mut used = BTreeSet::new();

    for group in ErrorGroup::of(operators, frame, ordered) {
        let error = group.first;
        let at = order(&body, error.site);
        while let Some((_, instance)) = nested.next_if(|(order, _)| *order <= at) {
            list.add_instance(core, operators, instance, mode);
        }
        if let SolveErrorKind::InCase { case, .. } = &error.kind {
            if let Some(leaf) = cases.get_mut(case)
                && list.admits(error.kind.severity(mode))
            {
                let scope = list.scope(core, frame, operators, None);
                let diagnostic = in_case(scope, leaf, error, &varying, mode);
                list.found.extend(diagnostic);
            }
            continue;
        }
        if list.admits(error.kind.severity(mode)) {
            let value = value_of(frame, error, &mut used);
            let mut scope = list.scope(core, frame, operators, None);
            let diagnostic = scope.describe(error, value, mode);
            let diagnostic = group.complete(diagnostic, value, &scope);
            list.found.push(diagnostic);
        }
    }
    for (_, instance) in nested {
        list.add_instance(core, operators, instance, mode);
    }
    for (function, error) in function_errors.iter() {
        if !list.admits(Severity::Error) {
            continue;
        }
        let name = list.scope(core, frame, operators, None).function_name(*function);
        let location = Location { function: Some(name), ..Location::default() };
        list.found.push(match error {
            BuildError::Malformed(error) => malformed(error, location),
            BuildError::NestingTooDeep => too_deep(location),
        });
    }
    list.finish()
}

impl Checked<'_> {
    /// The diagnostics of the model, see [`diagnose`].
    #[must_use]
    pub fn diagnostics(&mut self) -> Vec<Diagnostic> {
        diagnose(self)
    }
}

/// The diagnostics collected so far.
struct List<'s> {
    found: Vec<Diagnostic>,
    hidden: usize,
    /// Whether a full list can contain warnings.
    has_warnings: bool,
    budget: usize,
    /// The reported errors of functions: a node can have the same error for all types of its function's
    /// arguments.
    reported: BTreeSet<(FunctionId, ErrorSite, Code)>,
    /// The parts of the first [`MAX_EXPLAINED`] diagnostics.
    content: Content,
    selection: Selection<'s>,
}

impl List<'_> {
    fn scope<'d, 'a>(
        &'d mut self,
        core: &'d mut Core<'a>,
        frame: &'d Frame<'a>,
        operators: &'d Operators<'a>,
        function: Option<FunctionId>,
    ) -> Scope<'d, 'a> {
        let most = if self.found.len() < MAX_EXPLAINED { Content::Causes } else { Content::Snippets };
        let content = self.content.min(most);
        Scope {
            core,
            frame,
            operators,
            function,
            content,
            budget: &mut self.budget,
            named: RefCell::default(),
        }
    }

    /// Whether the list has capacity for one more diagnostic of a severity. An error replaces the last
    /// warning of a full list. Counts the diagnostic that is not listed.
    fn admits(&mut self, severity: Severity) -> bool {
        if self.found.len() < MAX_LISTED {
            return true;
        }
        self.hidden += 1;
        if severity != Severity::Error || !self.has_warnings {
            return false;
        }
        let warning = self.found.iter().rposition(|listed| listed.severity != Severity::Error);
        self.has_warnings = warning.is_some();
        warning.map(|at| self.found.remove(at)).is_some()
    }

    fn add_instance<'a>(
        &mut self,
        core: &mut Core<'a>,
        operators: &Operators<'a>,
        instance: &Instance<'a>,
        mode: Mode,
    ) {
        let Instance { function, frame, entry: _, calls: _, hidden: _ } = instance;
        let body = &frame.body;
        let is_selected = |error: &&SolveError<'a>| (self.selection)(body, &core.dims, error);
        let mut errors: Vec<&SolveError<'a>> = frame.all_errors().filter(is_selected).collect();
        errors.sort_by_key(|error| order(body, error.site));
        let mut used = BTreeSet::new();
        for group in ErrorGroup::of(operators, frame, errors) {
            let error = group.first;
            if !self.reported.insert((*function, error.site, error.kind.code()))
                || !self.admits(error.kind.severity(mode))
            {
                continue;
            }
            let value = value_of(frame, error, &mut used);
            let mut scope = self.scope(core, frame, operators, Some(*function));
            let diagnostic = scope.describe(error, value, mode);
            let diagnostic = group.complete(diagnostic, value, &scope).with_notes(scope.call_notes(instance));
            self.found.push(diagnostic);
        }
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        if self.hidden > 0
            && let Some(last) = self.found.last_mut()
        {
            last.notes.push(format!("{} not listed", count(self.hidden, "more problem")));
        }
        self.found
    }
}

/// Nodes and values whose missing types follow from another error.
struct Consequences {
    /// Whether the model has errors. Then warnings about assumed types are not reported, because a correct
    /// model may prove the types.
    has_errors: bool,
    nodes: BTreeSet<StepId>,
    values: BTreeSet<ValueId>,
}

impl Consequences {
    fn of(
        core: &mut Core<'_>,
        operators: &Operators<'_>,
        frame: &Frame<'_>,
        instances: &[Instance<'_>],
        callers: &Set<FunctionId>,
    ) -> Self {
        let body = &frame.body;
        let structural = body.errors().iter().flat_map(|error| {
            let cycle = if let SolveErrorKind::Cycle { steps } = &error.kind { &steps[..] } else { &[] };
            error.site.step().into_iter().chain(cycle.iter().map(|(step, _)| *step))
        });
        let functions: BTreeSet<FunctionId> =
            instances.iter().map(|instance| instance.function).chain(callers.iter().copied()).collect();
        let calls = (0..body.steps.len()).map(StepId::new).filter(|step| {
            let kind = &operators.op(body.step(*step).op).kind;
            matches!(kind, OpKind::Function(function) if functions.contains(function))
        });
        let calls: Vec<StepId> = if functions.is_empty() { Vec::new() } else { calls.collect() };
        let nodes = frame.rare.errors.keys().copied().chain(structural).chain(calls);
        let twice = body.errors().iter().filter_map(|error| match &error.kind {
            SolveErrorKind::DuplicateValue { first, .. } => Some(*first),
            _ => None,
        });
        let has_errors = !(frame.rare.errors.is_empty()
            && body.errors().is_empty()
            && instances.is_empty()
            && frame.rare.shapeless.is_empty());
        let nodes: BTreeSet<StepId> = nodes.map(|step| body.first_step(step)).collect();
        let mut values: BTreeSet<ValueId> = twice.collect();
        if !nodes.is_empty() {
            values.extend(untyped_by(core, frame, &nodes));
        }
        Self { has_errors, nodes, values }
    }

    fn is(&self, error: &SolveError<'_>) -> bool {
        match (error.site, &error.kind) {
            (site, SolveErrorKind::Unresolved { value, .. }) => {
                site.step().is_some_and(|step| self.nodes.contains(&step)) || self.values.contains(value)
            }
            (_, SolveErrorKind::Assumed { .. }) => self.has_errors,
            (_, _) => false,
        }
    }
}

/// The values without a type that are computed from results of nodes in error, or inside their graphs.
fn untyped_by(core: &mut Core<'_>, frame: &Frame<'_>, nodes: &BTreeSet<StepId>) -> BTreeSet<ValueId> {
    let body = &frame.body;
    let mut untyped = BTreeSet::new();
    for step in (0..body.steps.len()).map(StepId::new) {
        let first = body.first_step(step);
        let graphs = || body.graphs_of(first).map(|(_, graph)| graph);
        let inside = graphs().flat_map(|graph| graph.outputs.iter().copied()).filter(|_| step != first);
        let mut operands = body.inputs(step).iter().flatten().copied().chain(inside);
        if !nodes.contains(&first) && !operands.any(|value| untyped.contains(&value)) {
            continue;
        }
        let results = body.outputs(step).iter().flatten().copied();
        let inside = graphs().flat_map(|graph| graph.inputs.iter().copied()).filter(|_| step == first);
        for value in results.chain(inside) {
            let inner = frame.slots[value.index()].ty.map(|ty| core.types.innermost(ty));
            if inner.is_none_or(|inner| inner == Types::ERROR || !core.types.is_concrete(inner)) {
                untyped.insert(value);
            }
        }
    }
    untyped
}

/// Functions with errors, each with the position of the call that leads to it, in order.
fn in_functions<'i, 'a>(body: &Body<'a>, instances: &'i [Instance<'a>]) -> Vec<(Order, &'i Instance<'a>)> {
    let steps = if instances.is_empty() { Map::default() } else { body.steps_by_offset() };
    let mut instances: Vec<(Order, &Instance<'a>)> = instances
        .iter()
        .map(|instance| {
            let step = instance.entry.and_then(|node| steps.get(&node.offset()));
            (step.map_or((usize::MAX, 0), |step| order(body, ErrorSite::Step(*step))), instance)
        })
        .collect();
    instances.sort_by_key(|(order, _)| *order);
    instances
}

/// Position in the order of diagnostics.
type Order = (usize, usize);

/// Position of a site: values without a node, then the nodes, then the outputs of the graph. The parts of a
/// nested graph have its position.
fn order(body: &Body<'_>, site: ErrorSite) -> Order {
    const BEFORE: usize = 0;
    const NODES: usize = 1;
    const AFTER: usize = 2;
    let nested = |graph: GraphId| graph != body.root();
    match site {
        ErrorSite::Body => (BEFORE, 0),
        ErrorSite::Value(value) => match body.value(value).graph {
            graph if nested(graph) => (NODES, body.graph(graph).steps.0),
            _ => (BEFORE, 1 + value.index()),
        },
        ErrorSite::Step(step) => (NODES, step.index()),
        ErrorSite::Graph(graph) if nested(graph) => (NODES, body.graph(graph).steps.1),
        ErrorSite::Graph(_) => (AFTER, 0),
    }
}

/// The value that an error of a declaration concerns.
fn value_of(frame: &Frame<'_>, error: &SolveError<'_>, used: &mut BTreeSet<ValueId>) -> Option<ValueId> {
    match error.site {
        ErrorSite::Value(value) => Some(value),
        ErrorSite::Step(step) if is_contradiction(&error.kind) => {
            let body = &frame.body;
            let outputs = body.outputs(body.last_step(step)).iter().flatten().copied();
            let found = outputs.into_iter().find(|value| {
                let own = frame.rare.value_errors.get(value);
                !used.contains(value) && own.is_some_and(|own| own.kind == error.kind)
            })?;
            used.insert(found);
            Some(found)
        }
        ErrorSite::Step(_) | ErrorSite::Body | ErrorSite::Graph(_) => None,
    }
}

/// Whether an error is a contradiction of a declared or given type.
fn is_contradiction(kind: &SolveErrorKind<'_>) -> bool {
    matches!(
        kind,
        SolveErrorKind::Contradiction { .. }
            | SolveErrorKind::NegativeDim { .. }
            | SolveErrorKind::SeedContradicts { .. }
            | SolveErrorKind::DefaultContradicts { .. }
    )
}

/// The nodes with an unknown operator, which the solver accepts in permissive mode without an error.
fn unknown_operators<'a>(operators: &Operators<'a>, frame: &Frame<'a>, mode: Mode) -> Vec<SolveError<'a>> {
    if mode == Mode::Strict {
        return Vec::new();
    }
    let body = &frame.body;
    let unknown = |step: StepId| {
        let record = body.step(step);
        let OpKind::Missing(kind) = &operators.op(record.op).kind else { return None };
        let is_unknown = matches!(**kind, SolveErrorKind::UnknownOperator { .. });
        let is_reported = matches!(record.kind, StepKind::Exit(_)) || frame.rare.errors.contains_key(&step);
        (is_unknown && !is_reported)
            .then(|| SolveError { site: ErrorSite::Step(step), kind: (**kind).clone() })
    };
    (0..body.steps.len()).map(StepId::new).filter_map(unknown).collect()
}
