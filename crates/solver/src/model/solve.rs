//! The passes over a body.
//!
//! A pass solves the body once under a fixed configuration. Most models need one pass. Further passes run if
//!
//! - errors remain and a declared empty shape may be false: one pass without each suspect declaration;
//! - symbols are merged: passes until the equations imply no further equality;
//! - a seed of a computed value may contradict the model: one pass without the seeds of computed values;
//! - branches differ in shape: one pass for each case, see [`super::case`], but none for [`Detail::Types`];
//! - a declared shape can neither be confirmed nor refuted: one pass that assumes it;
//! - errors remain: one pass with a trace, which records the causes of types.
//!
//! Passes share the arena of dims, so that the symbols of an earlier pass keep their ids.

use std::collections::BTreeSet;
use std::sync::Arc;

use typeloom_dim::Dims;
use typeloom_onnx::view::ModelView;

use super::case::{self, Alternatives, Leaf};
use super::{CheckError, Checked, Detail, Findings, Options, SeedConflict, assume, load, seeds};
use crate::analysis::{conditions, false_shapes, limits};
use crate::engine::call::{self, Bodies, Calls};
use crate::engine::{Engine, initial};
use crate::map::Set;
use crate::model::Mode;
use crate::operators::Operators;
use crate::program::{Body, Origin, StepId, ValueId};
use crate::solution::{Requirement, Type};
use crate::solve_error::{ClaimWeight, SolveError, SolveErrorKind};
use crate::state::assumptions::Assumptions;
use crate::state::cases::{AtQuestion, Cases, Literal};
use crate::state::claim::Trust;
use crate::state::declarations::{Declared, is_given};
use crate::state::frame::Frame;
use crate::state::{Core, Payloads, known};
use crate::ty::Types;
use crate::universe::Universe;

/// The number of steps from which a solve looks up earlier applications of rules.
const MEMO_FROM: usize = 16;

/// The configuration of one pass.
#[derive(Default)]
pub(crate) struct Pass {
    /// Whether to record the causes of types.
    pub(super) trace: bool,
    pub(super) trust: Trust,
    /// The dims and assumptions of an earlier pass; without them the assumptions of the options are read.
    pub(super) shared: Option<(Box<Dims>, Assumptions)>,
    /// The conditions that the pass assumes.
    pub(super) literals: Vec<Literal>,
    pub(super) at_question: AtQuestion,
}

/// A finished pass.
pub(crate) struct PassResult<'a> {
    pub(super) core: Box<Core<'a>>,
    pub(super) frame: Box<Frame<'a>>,
    pub(super) calls: Calls<'a>,
    pub(super) errors: Vec<SolveError<'a>>,
    requirements: Vec<Requirement>,
}

impl PassResult<'_> {
    /// Takes the dims and assumptions for another pass that replaces this one.
    fn take_shared(&mut self) -> Option<(Box<Dims>, Assumptions)> {
        Some((std::mem::take(&mut self.core.dims), self.core.assumptions.clone()))
    }

    /// Whether the report of an error shows causes of types, which a pass has to record.
    fn needs_trace(&self) -> bool {
        let mut instances = self.calls.erroneous.iter();
        self.errors.iter().any(shows_causes)
            || instances.any(|instance| instance.frame.all_errors().any(shows_causes))
    }
}

/// The inputs of all passes over a body.
pub(crate) struct Passes<'s, 'a> {
    body: Arc<Body<'a>>,
    functions: Bodies<'a>,
    operators: &'s Operators<'a>,
    universe: &'s Arc<Universe>,
    options: &'s Options,
    conflict: SeedConflict,
    /// Positions of the seeds that the passes leave out.
    rejected_seeds: Vec<usize>,
    /// Values whose declared empty shape is false, each with a node that shows it.
    false_shapes: Vec<(ValueId, StepId)>,
}

/// Solves a body in as many passes as it needs.
pub(crate) fn solve<'a>(
    model: Option<ModelView<'a>>,
    body: Arc<Body<'a>>,
    mut operators: Operators<'a>,
    universe: &Arc<Universe>,
    options: &Options,
    conflict: SeedConflict,
) -> Result<Checked<'a>, CheckError> {
    let (functions, function_errors) = call::build_bodies(&mut operators);
    let mut passes = Passes {
        body,
        functions,
        operators: &operators,
        universe,
        options,
        conflict,
        rejected_seeds: Vec::new(),
        false_shapes: Vec::new(),
    };
    // Without proofs one pass suffices, which assumes open declarations at once.
    let trust = if options.detail == Detail::Types { Trust::Assumed } else { Trust::Derived };
    let mut solved = passes.run(Pass { trace: options.trace, trust, ..Pass::default() })?;
    let mut rare = Findings::default();
    passes.continue_from(&mut solved, &mut rare)?;
    let PassResult { core, frame, calls, errors, requirements } = solved;
    rare.instances = calls.erroneous;
    rare.erroneous_callers = calls.erroneous_callers;
    rare.kept = calls.kept;
    rare.function_errors = function_errors;
    rare.requirements = requirements;
    Ok(Checked { model, operators, core, frame, mode: options.mode, errors, rare })
}

impl<'a> Passes<'_, 'a> {
    /// Runs the passes after the first one.
    fn continue_from(
        &mut self,
        solved: &mut PassResult<'a>,
        rare: &mut Findings<'a>,
    ) -> Result<(), CheckError> {
        self.reject_false_shapes(solved)?;
        self.merge_symbols(solved)?;
        let mut value_errors = self.reject_seeds(solved)?;
        // The reference joins branches too, and each case costs a pass.
        let mut leaves = match self.options.detail {
            Detail::Full => case::split(&mut solved.core, self)?,
            Detail::Types => Vec::new(),
        };
        let proven = self.assume_declared(solved, &mut leaves)?;
        self.trace_errors(solved, proven.is_some() || !leaves.is_empty())?;
        value_errors.extend(false_shapes::errors(&solved.frame));
        if !leaves.is_empty() {
            let (alternatives, shown) = self.join_cases(solved, &mut leaves)?;
            // Later stages need only the cases that are shown.
            rare.cases = leaves.into_iter().enumerate().filter(|(at, _)| shown.contains(at)).collect();
            rare.alternatives = alternatives;
        }
        for (value, error) in value_errors {
            solved.frame.rare.value_errors.entry(value).or_insert_with(|| error.clone());
            solved.errors.push(error);
        }
        if let Some(proven) = &proven {
            // The last pass derives types from assumptions.
            for error in &mut solved.errors {
                if let SolveErrorKind::Assumed { value, derived, .. } = &mut error.kind
                    && let Some(ty) = proven.get(value.index())
                {
                    derived.clone_from(ty);
                }
            }
            let is_proven = |error: &SolveError<'a>| match &error.kind {
                SolveErrorKind::Assumed { declared, derived, .. } => declared == derived,
                _ => false,
            };
            solved.errors.retain(|error| !is_proven(error));
        }
        solved.errors.sort_by_key(|error| error.site);
        rare.proven = proven;
        Ok(())
    }

    pub(super) fn run(&self, pass: Pass) -> Result<PassResult<'a>, CheckError> {
        let Pass { trace, trust, shared, literals, at_question } = pass;
        let Self { body, options, rejected_seeds, .. } = self;
        let mut core = Core::new(Arc::clone(self.universe));
        core.trust = trust;
        core.trace = trace.then(Box::default);
        // With a trace, each step has its own causes. A small model hardly repeats a node: its check would
        // spend more on the memo than on rules.
        let is_small = body.steps.len() < MEMO_FROM && self.functions.is_empty();
        core.memo = (!trace && !is_small).then(Box::default);
        core.payloads = match self.conflict {
            SeedConflict::RejectSeed => Payloads::Required,
            SeedConflict::ReportNode => Payloads::Optional,
        };
        core.cases = Cases::new(literals, at_question);
        core.values = options.values;
        core.side_data.clone_from(&options.side_data);
        core.detail = options.detail;
        match shared {
            Some((dims, assumptions)) => {
                core.dims = dims;
                core.assumptions = assumptions;
            }
            None if options.assume.is_empty() => {}
            None => core.assumptions = assume::read(&mut core, body, &options.assume)?,
        }
        core.dims.limit_work(body.steps.len());
        seeds::bind_symbols(&mut core, body, &options.seeds, rejected_seeds)?;
        let mut frame = Frame::new(0, Arc::clone(body));
        frame.rare.shapeless.clone_from(&self.false_shapes);
        seeds::give(&mut core, &mut frame, &options.seeds, rejected_seeds)?;
        initial::start(&mut core, &mut frame);
        case::seed_conditions(&mut core, &mut frame);
        let mut calls = Calls::new(self.functions.clone());
        calls.keep = options.functions;
        let mut engine = Engine::new(core, self.operators, calls, options.mode);
        let mut frame = engine.run(frame);
        let Engine { mut core, calls, .. } = engine;
        known::simplify_shapes(&mut core, &mut frame);
        let (errors, requirements) = match core.cases.ends_pass() {
            true => (Vec::new(), Vec::new()),
            false => collect(&mut core, &frame, options),
        };
        Ok(PassResult { core, frame, calls, errors, requirements })
    }

    /// Replaces a pass by one under its final dims and assumptions.
    fn run_again(&self, solved: &mut PassResult<'a>, trust: Trust) -> Result<(), CheckError> {
        let shared = solved.take_shared();
        *solved = self.run(Pass { trace: self.options.trace, trust, shared, ..Pass::default() })?;
        Ok(())
    }

    /// Rejects each declared empty shape whose rejection leaves fewer errors.
    fn reject_false_shapes(&mut self, solved: &mut PassResult<'a>) -> Result<(), CheckError> {
        if !solved.errors.iter().any(shows_causes) {
            return Ok(());
        }
        let mut suspects = false_shapes::suspects(&solved.core, &solved.frame);
        if self.options.detail == Detail::Types {
            suspects.retain(|(value, _)| self.decides_other_types(*value));
        }
        if suspects.len() > 1 {
            self.false_shapes.clone_from(&suspects);
            let without = self.run(Pass::default())?;
            self.false_shapes.clear();
            if caused(&without.errors) >= caused(&solved.errors) {
                return Ok(());
            }
        }
        for suspect in suspects {
            self.false_shapes.push(suspect);
            let without = self.run(Pass { trace: self.options.trace, ..Pass::default() })?;
            if caused(&without.errors) < caused(&solved.errors) {
                *solved = without;
            } else {
                self.false_shapes.pop();
            }
        }
        Ok(())
    }

    /// Whether other values may get a type from this one. A model's output that no node reads gives none.
    fn decides_other_types(&self, value: ValueId) -> bool {
        let body = &self.body;
        let is_computed = body.maker(value).is_some() && body.value(value).graph == body.root();
        !is_computed || !body.consumers().of(value).is_empty()
    }

    /// Assumes the equalities of symbols that the equations imply, if the caller wants that.
    fn merge_symbols(&self, solved: &mut PassResult<'a>) -> Result<(), CheckError> {
        if !self.options.merge_symbols {
            return Ok(());
        }
        for _ in 0..assume::MAX_ROUNDS {
            let mut assumptions = solved.core.assumptions.clone();
            let mut has_changed = false;
            for (symbol, value) in conditions::merged(&mut solved.core, &solved.frame) {
                has_changed |= assumptions.add(&mut solved.core.dims, symbol, value).unwrap_or(false);
            }
            if !has_changed {
                break;
            }
            solved.core.assumptions = assumptions;
            self.run_again(solved, Trust::Derived)?;
        }
        Ok(())
    }

    /// Solves the model without the seeds of computed values, and rejects those that contradict the result.
    /// Returns their errors.
    fn reject_seeds(
        &mut self,
        solved: &mut PassResult<'a>,
    ) -> Result<Vec<(ValueId, SolveError<'a>)>, CheckError> {
        let has_errors = !solved.errors.is_empty() || !solved.calls.erroneous.is_empty();
        let computed = seeds::of_computed_values(&self.body, &self.options.seeds);
        if !has_errors || self.conflict == SeedConflict::ReportNode || computed.is_empty() {
            return Ok(Vec::new());
        }
        let shared = Some((solved.core.dims.clone(), solved.core.assumptions.clone()));
        self.rejected_seeds.clone_from(&computed);
        let mut without = self.run(Pass { shared, ..Pass::default() })?;
        self.rejected_seeds.clear();
        let mut errors = Vec::new();
        for at in computed {
            let seed = &self.options.seeds[at];
            if let Some(error) = seeds::contradiction(&mut without.core, &without.frame, seed) {
                errors.push(error);
                self.rejected_seeds.push(at);
            }
        }
        if !errors.is_empty() {
            *solved = without;
            self.run_again(solved, Trust::Derived)?;
        }
        Ok(errors)
    }

    /// Assumes the declared shapes that the model neither confirms nor refutes. Returns the types without
    /// these assumptions, which are proved; `None` if there are no such shapes.
    fn assume_declared(
        &self,
        solved: &mut PassResult<'a>,
        leaves: &mut [Leaf<'a>],
    ) -> Result<Option<Vec<Type>>, CheckError> {
        // A declaration that every case confirms is not open.
        let is_open = match leaves.is_empty() {
            true => solved.calls.has_open_claims || !solved.frame.rare.open_claims.is_empty(),
            false => leaves.iter().any(|leaf| leaf.has_open_claims) || !case::open_claims(leaves).is_empty(),
        };
        if !is_open {
            return Ok(None);
        }
        let core = &solved.core;
        // The pass made the assumptions already, and no proofs are wanted.
        if core.trust.assumes() {
            return Ok(Some(Vec::new()));
        }
        let is_false_label = |error: &SolveError<'a>| match &error.kind {
            SolveErrorKind::RefutedClaim(claim) => claim.weight == ClaimWeight::Label,
            _ => false,
        };
        let trust = match solved.errors.iter().any(is_false_label) {
            true => Trust::AssumedNames,
            false => Trust::Assumed,
        };
        let PassResult { core, frame, .. } = solved;
        if !leaves.is_empty() {
            let _ = case::merge(core, frame, &mut leaves.iter_mut().collect::<Vec<_>>());
        }
        let proven = self.body.values().map(|value| core.snapshot(frame, value)).collect();
        self.run_again(solved, trust)?;
        Ok(Some(proven))
    }

    /// Solves a body with errors again and records causes. `keep_dims`: other results refer to the dims.
    fn trace_errors(&self, solved: &mut PassResult<'a>, keep_dims: bool) -> Result<(), CheckError> {
        if self.options.trace || self.options.detail == Detail::Types || !solved.needs_trace() {
            return Ok(());
        }
        let keep = keep_dims || !solved.core.assumptions.is_empty() || !self.rejected_seeds.is_empty();
        let trust = solved.core.trust;
        let shared = if keep { solved.take_shared() } else { None };
        *solved = self.run(Pass { trace: true, trust, shared, ..Pass::default() })?;
        Ok(())
    }

    /// Joins the results of the cases. Returns the alternative types of values, and the cases that errors
    /// refer to.
    fn join_cases(
        &self,
        solved: &mut PassResult<'a>,
        leaves: &mut [Leaf<'a>],
    ) -> Result<(Alternatives, BTreeSet<usize>), CheckError> {
        let PassResult { core, frame, calls, errors, .. } = solved;
        let base = core.assumptions.clone();
        let mut verdict = case::decide(frame, &calls.erroneous, errors, leaves);
        if !verdict.shown.is_empty() {
            for at in &verdict.shown {
                case::trace(core, &base, &mut leaves[*at], self)?;
            }
            // The ids in the errors of a case are those of its last pass.
            verdict = case::decide(frame, &calls.erroneous, errors, leaves);
        }
        case::prune(frame, leaves);
        let mut at = 0..;
        calls.erroneous.retain(|_| at.next().is_some_and(|at| verdict.instances.contains(&at)));
        if calls.erroneous.is_empty() {
            calls.erroneous_callers.clear();
        }
        let counted = leaves.iter_mut().enumerate().filter(|(at, _)| verdict.counted.contains(at));
        let mut counted: Vec<&mut Leaf<'a>> = counted.map(|(_, leaf)| leaf).collect();
        let alternatives = case::merge(core, frame, &mut counted);
        *errors = verdict.errors;
        frame.rare.limited.extend(leaves.iter().flat_map(|leaf| leaf.frame.rare.limited.iter().copied()));
        errors.extend(limits::errors(core, frame));
        Ok((alternatives, verdict.shown))
    }
}

/// The number of errors apart from assumptions, which not every pass makes.
fn caused(errors: &[SolveError<'_>]) -> usize {
    errors.iter().filter(|error| shows_causes(error)).count()
}

/// Whether the report of an error shows causes of types.
fn shows_causes(error: &SolveError<'_>) -> bool {
    !matches!(error.kind, SolveErrorKind::Assumed { .. } | SolveErrorKind::LimitReached { .. })
}

/// The errors of a finished frame in graph order, and the conditions on its symbols.
fn collect<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    options: &Options,
) -> (Vec<SolveError<'a>>, Vec<Requirement>) {
    let mut errors: Vec<SolveError<'a>> = frame.all_errors().cloned().collect();
    let mut requirements = Vec::new();
    if options.detail == Detail::Full {
        let decided = conditions::decide(core, frame);
        errors.extend(decided.errors);
        requirements = decided.requirements;
        load::overflows(core, frame, &mut errors);
        errors.extend(limits::errors(core, frame));
        errors.extend(false_shapes::placeholders(core, frame));
        if core.trust.assumes() {
            errors.extend(assumed(core, frame));
        }
    }
    if options.mode == Mode::Strict {
        unresolved(core, frame, &mut errors);
    }
    errors.sort_by_key(|error| error.site);
    (errors, requirements)
}

/// One error for each declared shape that the pass assumed, without the outputs of nodes in error.
fn assumed<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<SolveError<'a>> {
    let in_error =
        |value: ValueId| frame.body.maker(value).is_some_and(|step| frame.rare.errors.contains_key(&step));
    let open = frame.rare.open_claims.iter().copied().filter(|value| !in_error(*value));
    let open: Vec<ValueId> = open.filter(|value| !frame.rare.value_errors.contains_key(value)).collect();
    let error = |value: ValueId| {
        let slot = frame.slots[value.index()];
        let derived = core.type_of(slot.ty, slot.shape);
        let declared = declared_type(core, frame, value);
        SolveError { site: frame.site_of(value), kind: SolveErrorKind::Assumed { value, declared, derived } }
    };
    open.into_iter().map(error).collect()
}

/// The type of the first declaration with a shape that is a claim. The types that readers see are no
/// replacement: they have the derived extents where these are known.
fn declared_type<'a>(core: &mut Core<'a>, frame: &Frame<'a>, value: ValueId) -> Type {
    let body = Arc::clone(&frame.body);
    let claims = body.declarations(value).filter(|it| !is_given(frame, value, it.kind));
    for declaration in claims {
        let declared = core.read_declared(declaration.ty, declaration.kind);
        if let Ok(Declared { ty, shape: Some(shape), parts, .. }) = declared {
            return core.type_with(ty, Some(shape), parts.as_ref());
        }
    }
    core.snapshot(frame, value)
}

/// One error for each class of values that share an unresolved type.
fn unresolved<'a>(core: &mut Core<'a>, frame: &Frame<'a>, errors: &mut Vec<SolveError<'a>>) {
    let mut seen = Set::default();
    for value in frame.body.values() {
        let slot = frame.slots[value.index()];
        let Some(ty) = slot.ty else {
            if frame.body.value(value).origin != Origin::Undefined {
                let kind = SolveErrorKind::Unresolved { value, known: Type::Unknown(None), possible: None };
                errors.push(SolveError { site: frame.site_of(value), kind });
            }
            continue;
        };
        if ty.constant_elem().is_some() {
            continue;
        }
        let inner = core.types.innermost(ty);
        if inner == Types::ERROR || core.types.is_concrete(inner) || !seen.insert(core.types.class(inner)) {
            continue;
        }
        let known = core.snapshot(frame, value);
        let possible = core.types.elems(inner);
        errors.push(SolveError {
            site: frame.site_of(value),
            kind: SolveErrorKind::Unresolved { value, known, possible },
        });
    }
}
