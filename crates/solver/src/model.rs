//! Checks a whole model: the entry of the crate.

pub(crate) mod assume;
pub(crate) mod case;
pub mod functions;
pub(crate) mod load;
pub mod ports;
pub mod preconditions;
mod seeds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{ModelView, TensorView};

use crate::analysis::false_shapes;
use crate::catalogue::{Catalogue, Function, FunctionId, OpKind, Operators};
use crate::dim::{Condition, Decision, Dims};
use crate::engine::Engine;
use crate::engine::call::{self, Calls, Instance};
use crate::engine::initial;
use crate::map::Set;
use crate::model::case::{Alternatives, Leaf, Tracing};
use crate::program::build::{self, BuildError, Defaults};
use crate::program::{Body, Initializer, Origin, StepId, StepKind, ValueId};
use crate::solution::{Equation, Requirement, Type};
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::assumptions::Assumptions;
use crate::state::cases::Cases;
use crate::state::claim::Trust;
use crate::state::frame::Frame;
use crate::state::trace::Trace;
use crate::state::{Core, Payloads};
use crate::suggest::nearest;
use crate::ty::Types;
use crate::universe::Universe;

/// Whether a value whose type is not settled is an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// It is.
    #[default]
    Strict,
    /// It is not, and neither is an operator that nobody knows.
    Permissive,
}

/// How to check a model.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Strict by default.
    pub mode: Mode,
    /// Types that the caller knows, by the name of a value of the main graph.
    pub seeds: Vec<(String, Seed)>,
    /// What the caller says of symbols of the model: a symbol and the dim that it stands for, a number (`128`), another
    /// symbol, or an expression. Every extent that is computed from the symbol follows.
    pub assume: Vec<(String, String)>,
    /// Whether symbols that the graph forces to be equal become one, the one that was named first.
    pub merge_symbols: bool,
    /// Whether to record why every value has its type, also where nothing is wrong.
    pub trace: bool,
    /// Whether to keep what was found inside functions, see [`Checked::function_types`].
    pub functions: bool,
}

/// How much is known of the types of the values of a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Coverage {
    /// All values, those of nested graphs included.
    pub values: usize,
    /// Values with a concrete element type whose extents are numbers and expressions over the symbols of inputs.
    pub typed: usize,
    /// Values with an extent that is unknown, or a number that only the run knows.
    pub unknown_extents: usize,
    /// Values of unknown rank.
    pub unknown_rank: usize,
    /// Values whose type rests on a declaration that had to be assumed.
    pub assumed: usize,
    /// Conditions between symbols that nothing decides.
    pub open_conditions: usize,
}

/// A type that the caller knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// A serialized `TypeProto`.
    Onnx(Vec<u8>),
    /// A node of the type tree, by id.
    Node(String),
}

impl Seed {
    /// A type as ONNX writes it, where a dim can be any name or expression (`float[batch, 3]`, `seq(int64)`), or the id of a node of the type tree
    /// (`tensor.f32`, `peer_id`). A node is only looked up when the seed is used.
    ///
    /// # Errors
    /// What is wrong with the text as a type.
    pub fn parse(text: &str) -> Result<Self, typeloom_onnx::text::ParseError> {
        use typeloom_onnx::prost::Message as _;
        let text = text.trim();
        let parse = typeloom_onnx::text::parse_type;
        match parse(text).or_else(|error| parse(&with_quoted_dims(text)).map_err(|_| error)) {
            Ok(ty) => Ok(Self::Onnx(ty.encode_to_vec())),
            Err(error) => {
                let is_id = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
                if !text.is_empty() && text.chars().all(is_id) {
                    Ok(Self::Node(text.to_owned()))
                } else {
                    Err(error)
                }
            }
        }
    }
}

/// A type with quotes around each dim that is not a number, a plain name or quoted already: exporters use names such as
/// `input.1`.
fn with_quoted_dims(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((dims, after)) = after.split_once(']') else { break };
        quoted.push_str(before);
        quoted.push('[');
        for (at, dim) in dims.split(',').enumerate() {
            let is_plain = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '?';
            let dim = dim.trim();
            let separator = if at == 0 { "" } else { "," };
            let mark = if dim.chars().all(is_plain) || dim.contains('"') { "" } else { "\"" };
            quoted.extend([separator, mark, dim, mark]);
        }
        quoted.push(']');
        rest = after;
    }
    quoted.push_str(rest);
    quoted
}

/// A checked model: the type of every value, and everything that is wrong.
pub struct Checked<'a> {
    pub(crate) model: Option<ModelView<'a>>,
    pub(crate) operators: Operators<'a>,
    pub(crate) core: Core<'a>,
    pub(crate) frame: Frame<'a>,
    pub(crate) instances: Vec<Instance<'a>>,
    /// The functions whose calls led to one of `instances`.
    pub(crate) erroneous_callers: Set<FunctionId>,
    pub(crate) kept: Vec<Instance<'a>>,
    pub(crate) function_errors: Vec<(FunctionId, BuildError)>,
    pub(crate) mode: Mode,
    pub(crate) errors: Vec<SolveError<'a>>,
    /// The types that hold without assuming any declared shape, where one had to be assumed.
    pub(crate) proven: Option<Vec<Type>>,
    pub(crate) requirements: Vec<Requirement>,
    /// The cases in which something is wrong that is not wrong in general, by their position.
    pub(crate) cases: BTreeMap<usize, Leaf<'a>>,
    pub(crate) alternatives: Alternatives,
}

/// A tensor whose data is in another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalTensor<'a> {
    /// The initializer or node that it belongs to.
    pub site: ErrorSite,
    /// The file, as the model writes it: relative to the model's folder. Empty where the model names none.
    pub location: &'a str,
    /// Where the data starts in the file.
    pub offset: u64,
    /// The bytes of its elements; `None` where the dims or the element type have no size.
    pub bytes: Option<u64>,
}

/// Why a model could not be checked at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The bytes are not a model.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// Graphs nest too deep.
    #[error("graphs are nested more than {} deep", crate::program::MAX_NESTING)]
    NestingTooDeep,
    /// There is no graph in the model.
    #[error("the model has no graph")]
    NoGraph,
    /// The bytes are a Git LFS pointer.
    #[error("the file is a Git LFS pointer, not the model itself: download the model with `git lfs pull`")]
    LfsPointer,
    /// A seed that is no type.
    #[error("the type given for `{name}` is not a type of this tree{}", did_you_mean(near))]
    BadSeed {
        /// The value's name.
        name: String,
        /// Types that are written nearly like it.
        near: Vec<String>,
    },
    /// An assumption about a symbol that the model does not declare.
    #[error("the model declares no symbol `{name}` to assume anything of{}", did_you_mean(near))]
    UnknownSymbol {
        /// The symbol.
        name: String,
        /// Symbols that are written nearly like it.
        near: Vec<String>,
    },
    /// An assumption that makes no sense.
    #[error("`{name}` cannot be assumed to be `{dim}`: {reason}")]
    BadAssumption {
        /// The symbol.
        name: String,
        /// What it is assumed to be.
        dim: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A seed for a value that the model does not have.
    #[error("there is no value `{name}` to give a type to")]
    UnknownSeed {
        /// The value's name.
        name: String,
    },
}

fn did_you_mean(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean `{}`?", near.join("`, `")) }
}

impl From<BuildError> for CheckError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Malformed(error) => Self::Malformed(error),
            BuildError::NestingTooDeep => Self::NestingTooDeep,
        }
    }
}

/// Checks a serialized model.
///
/// # Errors
/// [`CheckError`] where there is nothing to check; what is wrong with a model that can be read is in
/// [`Checked::errors`].
pub fn check<'a>(
    bytes: &'a [u8],
    catalogue: &'a dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
) -> Result<Checked<'a>, CheckError> {
    check_believing(bytes, catalogue, universe, options, Believed::Model)
}

/// Who is right where a seed and the node that makes its value contradict each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Believed {
    /// The model: the seed is the error, and the rest is checked without it.
    Model,
    /// Neither: the node is the place where the two meet.
    Neither,
}

/// As [`check`], with seeds that are believed or not.
pub(crate) fn check_believing<'a>(
    bytes: &'a [u8],
    catalogue: &'a dyn Catalogue,
    universe: &Arc<Universe>,
    options: &Options,
    believed: Believed,
) -> Result<Checked<'a>, CheckError> {
    if typeloom_onnx::lfs::is_pointer(bytes) {
        return Err(CheckError::LfsPointer);
    }
    let model = ModelView::new(bytes)?;
    let graph = model.graph().ok_or(CheckError::NoGraph)?;
    let mut operators = Operators::new(catalogue);
    let imports = imports(model.opset_imports())?;
    let own = operators.add_imports(imports.clone());
    for function in model.functions() {
        let view = function?;
        let mut own_imports = self::imports(view.opset_imports())?;
        if own_imports.is_empty() {
            own_imports.clone_from(&imports);
        }
        let imports = operators.add_imports(own_imports);
        let (domain, name, overload) = (view.domain()?, view.name()?, view.overload()?);
        operators.add_function(Function { domain, name, overload, view, imports });
    }
    // Before IR version 4, every initializer had to be listed as an input.
    let defaults = if model.ir_version() < 4 { Defaults::Constant } else { Defaults::Replaceable };
    let body = build::main(graph, defaults, &mut |domain, name, overload| {
        operators.resolve(own, domain, name, overload)
    })?;
    let versions = load::versions(&model, &operators);
    let mut checked = solve(Some(model), Arc::new(body), operators, universe, options, believed)?;
    checked.errors.splice(0..0, versions);
    Ok(checked)
}

fn imports<'a>(
    imports: impl Iterator<Item = Result<typeloom_onnx::view::OpsetId<'a>, DecodeError>>,
) -> Result<Vec<(&'a str, i64)>, DecodeError> {
    imports.map(|import| import.map(|import| (import.domain, import.version))).collect()
}

/// Solves a body, twice where the first time found errors: the second time records why.
pub(crate) fn solve<'a>(
    model: Option<ModelView<'a>>,
    body: Arc<Body<'a>>,
    mut operators: Operators<'a>,
    universe: &Arc<Universe>,
    options: &Options,
    believed: Believed,
) -> Result<Checked<'a>, CheckError> {
    let (bodies, function_errors) = call::build_bodies(&mut operators);
    let mut against: Vec<usize> = Vec::new();
    let mut trust = Trust::Derived;
    let mut shapeless: Vec<(ValueId, StepId)> = Vec::new();
    let run = |trace: bool,
               trust: Trust,
               merged: Option<(Dims, Assumptions)>,
               left_out: &[usize],
               shapeless: &[(ValueId, StepId)],
               literals|
     -> Result<_, CheckError> {
        let mut core = Core::new(Arc::clone(universe));
        core.trust = trust;
        core.trace = trace.then(Trace::default);
        core.payloads = match believed {
            Believed::Model => Payloads::Required,
            Believed::Neither => Payloads::Optional,
        };
        core.cases = Cases::new(literals);
        match merged {
            Some((dims, assumptions)) => {
                core.dims = dims;
                core.assumptions = assumptions;
            }
            None => core.assumptions = assume::read(&mut core, &body, &options.assume)?,
        }
        seeds::bind_symbols(&mut core, &body, &options.seeds, left_out)?;
        let mut frame = Frame::new(0, Arc::clone(&body));
        frame.shapeless = shapeless.to_vec();
        seeds::give(&mut core, &mut frame, &options.seeds, left_out)?;
        initial::start(&mut core, &mut frame);
        case::seed_conditions(&mut core, &mut frame);
        let mut calls = Calls::new(bodies.clone());
        calls.keep = options.functions;
        let mut engine = Engine::new(core, &operators, calls, options.mode);
        let frame = engine.run(frame);
        let Engine { mut core, calls, .. } = engine;
        let (errors, requirements) = collect(&mut core, &frame, options.mode);
        Ok((core, frame, calls, errors, requirements))
    };
    let (mut core, mut frame, mut calls, mut errors, mut requirements) =
        run(options.trace, trust, None, &[], &[], Vec::new())?;
    if errors.iter().any(has_causes) {
        for suspect in false_shapes::suspects(&core, &frame) {
            shapeless.push(suspect);
            let tried = run(options.trace, trust, None, &[], &shapeless, Vec::new())?;
            if tried.3.len() < errors.len() {
                (core, frame, calls, errors, requirements) = tried;
            } else {
                shapeless.pop();
            }
        }
    }
    if options.merge_symbols {
        for _ in 0..assume::MAX_ROUNDS {
            let mut assumptions = core.assumptions.clone();
            let mut news = false;
            for (symbol, value) in crate::analysis::conditions::merged(&mut core, &frame) {
                news |= assumptions.add(&mut core.dims, symbol, value).unwrap_or(false);
            }
            if !news {
                break;
            }
            // The symbols keep their numbers, so that what is assumed of them still is about them.
            (core, frame, calls, errors, requirements) =
                run(options.trace, trust, Some((core.dims, assumptions)), &[], &shapeless, Vec::new())?;
        }
    }
    let made = match believed {
        Believed::Model => seeds::of_made_values(&body, &options.seeds),
        Believed::Neither => Vec::new(),
    };
    let mut seed_errors = Vec::new();
    let found_any = !errors.is_empty() || !calls.erroneous.is_empty();
    if found_any && !made.is_empty() {
        // What the caller says of a value that a node makes is held against the model as it is without that.
        let assumed = (core.dims.clone(), core.assumptions.clone());
        let (mut bare, bare_frame, ..) = run(false, trust, Some(assumed), &made, &shapeless, Vec::new())?;
        for at in made {
            if let Some(error) = seeds::against(&mut bare, &bare_frame, &options.seeds[at]) {
                seed_errors.push(error);
                against.push(at);
            }
        }
        if !against.is_empty() {
            let assumed = (bare.dims, bare.assumptions);
            (core, frame, calls, errors, requirements) =
                run(options.trace, trust, Some(assumed), &against, &shapeless, Vec::new())?;
        }
    }
    let mut solve_case = |start: case::Start| -> Result<case::Run<'a>, CheckError> {
        let case::Start { tracing, dims, assumptions, literals } = start;
        let (core, frame, calls, errors, _) = run(
            tracing == Tracing::On,
            Trust::Derived,
            Some((dims, assumptions)),
            &against,
            &shapeless,
            literals,
        )?;
        Ok(case::Run { core, frame, calls, errors })
    };
    let mut leaves = case::split(&mut core, &mut solve_case)?;
    // What every case confirms is not open.
    let open = match leaves.is_empty() {
        true => calls.has_open_claims || !frame.open_claims.is_empty(),
        false => leaves.iter().any(|leaf| leaf.has_open_claims) || !case::open_claims(&leaves).is_empty(),
    };
    // Where a declared shape is neither confirmed nor refuted, the first solve is the proof and a second one assumes it.
    let mut proven = None;
    if open {
        if !leaves.is_empty() {
            let _ = case::merge(&mut core, &mut frame, &mut leaves.iter_mut().collect::<Vec<_>>());
        }
        proven = Some(body.values().map(|value| core.snapshot(&frame, value)).collect());
        trust = Trust::Assumed;
        (core, frame, calls, errors, requirements) =
            run(options.trace, trust, Some((core.dims, core.assumptions)), &against, &shapeless, Vec::new())?;
    }
    let in_functions = || calls.erroneous.iter().any(|instance| instance.frame.all_errors().any(has_causes));
    if !options.trace && (errors.iter().any(has_causes) || in_functions()) {
        // Types that were solved before are made of these dims.
        let keep =
            !core.assumptions.is_empty() || !against.is_empty() || proven.is_some() || !leaves.is_empty();
        let assumed = keep.then_some((core.dims, core.assumptions));
        (core, frame, calls, errors, requirements) =
            run(true, trust, assumed, &against, &shapeless, Vec::new())?;
    }
    seed_errors.extend(false_shapes::errors(&frame));
    let (mut alternatives, mut shown) = (Alternatives::new(), BTreeSet::new());
    if !leaves.is_empty() {
        let base = core.assumptions.clone();
        let mut verdict = case::judge(&frame, &calls.erroneous, &errors, &leaves);
        if !verdict.shown.is_empty() {
            for at in &verdict.shown {
                case::trace(&mut core, &base, &mut leaves[*at], &mut solve_case)?;
            }
            // The ids in what is wrong in a case are those of its last run.
            verdict = case::judge(&frame, &calls.erroneous, &errors, &leaves);
        }
        case::prune(&mut frame, &leaves);
        let mut at = 0..;
        calls.erroneous.retain(|_| at.next().is_some_and(|at| verdict.instances.contains(&at)));
        if calls.erroneous.is_empty() {
            calls.erroneous_callers.clear();
        }
        let counted = leaves.iter_mut().enumerate().filter(|(at, _)| verdict.counted.contains(at));
        let mut counted: Vec<&mut Leaf<'a>> = counted.map(|(_, leaf)| leaf).collect();
        alternatives = case::merge(&mut core, &mut frame, &mut counted);
        errors = verdict.errors;
        frame.limited.extend(leaves.iter().flat_map(|leaf| leaf.frame.limited.iter().copied()));
        errors.extend(crate::analysis::limits::errors(&mut core, &frame));
        shown = verdict.shown;
    }
    // Only what is shown of a case is needed from here on.
    let cases = leaves.into_iter().enumerate().filter(|(at, _)| shown.contains(at)).collect();
    for (value, error) in seed_errors {
        frame.value_errors.entry(value).or_insert_with(|| error.clone());
        errors.push(error);
    }
    errors.sort_by_key(|error| error.site);
    let (instances, erroneous_callers, kept) = (calls.erroneous, calls.erroneous_callers, calls.kept);
    Ok(Checked {
        model,
        operators,
        core,
        frame,
        instances,
        erroneous_callers,
        kept,
        function_errors,
        mode: options.mode,
        errors,
        proven,
        requirements,
        cases,
        alternatives,
    })
}

/// Whether the report of a error shows causes of types, which a solve has to record.
fn has_causes(error: &SolveError<'_>) -> bool {
    !matches!(error.kind, SolveErrorKind::Assumed { .. } | SolveErrorKind::LimitReached { .. })
}

/// Everything that is wrong with a finished frame, in graph order.
fn collect<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    mode: Mode,
) -> (Vec<SolveError<'a>>, Vec<Requirement>) {
    let mut errors: Vec<SolveError<'a>> = frame.all_errors().cloned().collect();
    load::overflows(core, frame, &mut errors);
    errors.extend(crate::analysis::limits::errors(core, frame));
    let judged = crate::analysis::conditions::judge(core, frame);
    errors.extend(judged.errors);
    errors.extend(false_shapes::placeholders(core, frame));
    if core.trust == Trust::Assumed {
        errors.extend(assumed(core, frame));
    }
    if mode == Mode::Strict {
        unresolved(core, frame, &mut errors);
    }
    errors.sort_by_key(|error| error.site);
    (errors, judged.requirements)
}

/// One error for every declared shape that the solve had to assume. What follows from an error is left out.
fn assumed<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<SolveError<'a>> {
    let in_error = |value: ValueId| match frame.body.value(value).origin {
        Origin::Step(step) => frame.errors.contains_key(&frame.body.first_step(step)),
        Origin::Input | Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => false,
    };
    let open = frame.open_claims.iter().copied().filter(|value| !in_error(*value));
    let open: Vec<ValueId> = open.filter(|value| !frame.value_errors.contains_key(value)).collect();
    let error = |value: ValueId| {
        let slot = frame.slots[value.index()];
        let derived = core.type_of(slot.ty, slot.shape);
        let kind = SolveErrorKind::Assumed { value, declared: core.snapshot(frame, value), derived };
        SolveError { site: frame.site_of(value), kind }
    };
    open.into_iter().map(error).collect()
}

/// One error for every class of values whose types are tied together and not settled.
fn unresolved<'a>(core: &mut Core<'a>, frame: &Frame<'a>, errors: &mut Vec<SolveError<'a>>) {
    let mut seen = Set::default();
    for value in (0..frame.body.values.len()).map(ValueId::new) {
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

impl<'a> Checked<'a> {
    /// The model, where one was checked.
    #[must_use]
    pub fn model(&self) -> Option<&ModelView<'a>> {
        self.model.as_ref()
    }

    /// Everything that is wrong with the main graph, in graph order.
    #[must_use]
    pub fn errors(&self) -> &[SolveError<'a>] {
        &self.errors
    }

    /// Everything that is wrong with the main graph and the functions that it calls.
    pub fn all_errors(&self) -> impl Iterator<Item = &SolveError<'a>> {
        let in_functions = self.instances.iter().flat_map(|instance| instance.frame.all_errors());
        self.errors.iter().chain(in_functions)
    }

    /// Whether nothing is wrong at all, functions included.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        let fine = |error: &SolveError<'_>| !error.is_error(self.mode);
        self.errors.iter().all(fine)
            && self.function_errors.is_empty()
            && self.instances.iter().all(|instance| instance.frame.all_errors().all(fine))
    }

    /// The tensors of the main graph and the graphs in it whose data is in other files: initializers, their sparse parts, and
    /// attributes of nodes whose operators take tensors.
    #[must_use]
    pub fn external_data(&self) -> Vec<ExternalTensor<'a>> {
        let body = &self.frame.body;
        let mut found = Vec::new();
        let mut add = |site: ErrorSite, view: TensorView<'a>| {
            found.extend(load::external(view).map(|external| ExternalTensor { site, ..external }));
        };
        for value in (0..body.values.len()).map(ValueId::new) {
            let (Origin::Initializer(at) | Origin::InputWithDefault(at)) = body.value(value).origin else {
                continue;
            };
            match body.initializers[at.index()] {
                Initializer::Dense(tensor) => add(ErrorSite::Value(value), tensor),
                Initializer::Sparse(sparse) => {
                    let Ok(sparse) = sparse.parse() else { continue };
                    let parts = [sparse.values, sparse.indices].into_iter().flatten();
                    parts.for_each(|tensor| add(ErrorSite::Value(value), tensor));
                }
            }
        }
        for step in (0..body.steps.len()).map(StepId::new) {
            let record = body.step(step);
            let takes_tensors = match &self.operators.op(record.op).kind {
                OpKind::Schema(operator) => operator.schema.takes_tensors,
                OpKind::Declared(_) | OpKind::Function(_) | OpKind::Missing(_) => true,
            };
            if !takes_tensors || matches!(record.kind, StepKind::Exit(_)) {
                continue;
            }
            let attributes = record.attribute_part().attributes().flatten();
            for attribute in attributes.filter_map(|attribute| attribute.parse().ok()) {
                let tensors = attribute.t().into_iter().chain(attribute.tensors().flatten());
                tensors.for_each(|tensor| add(ErrorSite::Step(step), tensor));
            }
        }
        found
    }

    /// Reports that the data of a tensor in another file cannot be read.
    pub fn report_missing_data(&mut self, site: ErrorSite, reason: String) {
        self.errors.push(SolveError { site, kind: SolveErrorKind::MissingExternalData { reason } });
        self.errors.sort_by_key(|error| error.site);
    }

    /// The main graph with everything nested in it.
    #[must_use]
    pub fn body(&self) -> &Body<'a> {
        &self.frame.body
    }

    /// How many values there are, those of nested graphs included.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.body().values.len()
    }

    /// Names of values that are close to `name`, the nearest first.
    #[must_use]
    pub fn names_like(&self, name: &str) -> Vec<String> {
        nearest(name, self.body().names())
    }

    /// The value with this name: of the main graph, or else of the first nested graph that has one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ValueId> {
        let body = self.body();
        let named = |value: &ValueId| body.value_name(*value) == name;
        let mut values = (0..body.values.len()).map(ValueId::new).filter(named);
        let first = values.next()?;
        let main = std::iter::once(first).chain(values).find(|value| body.value(*value).graph == body.root());
        Some(main.unwrap_or(first))
    }

    /// The type of a value, as ONNX writes it; `float[2|4, 3]` or `float[3] | float[2, 3]` where the shape depends on which
    /// branches run.
    pub fn display_type(&mut self, value: ValueId) -> String {
        let ty = self.type_of(value);
        let (universe, dims) = (self.universe(), self.dims());
        match self.alternatives(value) {
            [] => ty.display(universe, dims).to_string(),
            types => case::display_union(universe, dims, &ty, types),
        }
    }

    /// The type of a value.
    pub fn type_of(&mut self, value: ValueId) -> Type {
        self.core.snapshot(&self.frame, value)
    }

    /// The conditions on the symbols of inputs under which the model runs, and those that nothing decides.
    #[must_use]
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// The conditions that callers have to satisfy, each once: those of [`Checked::requirements`] that operators need.
    #[must_use]
    pub fn preconditions(&self) -> Vec<Condition> {
        let mut conditions: Vec<Condition> = Vec::new();
        for Requirement { condition, equation, .. } in &self.requirements {
            let is_declared = matches!(equation.source, crate::solution::EquationSource::Declared(_));
            if !is_declared && !conditions.contains(condition) {
                conditions.push(*condition);
            }
        }
        conditions
    }

    /// How much is known of the types of all values.
    pub fn coverage(&mut self) -> Coverage {
        let inputs = crate::analysis::conditions::input_symbols(&mut self.core, &self.frame);
        let mut coverage = Coverage::default();
        for value in (0..self.frame.body.values.len()).map(ValueId::new) {
            if self.frame.body.value(value).origin == Origin::Undefined {
                continue;
            }
            coverage.values += 1;
            coverage.assumed += usize::from(self.is_assumed(value));
            let ty = self.type_of(value);
            let Some(tensor) = ty.tensor() else {
                match ty.is_concrete() {
                    true => coverage.typed += 1,
                    false => coverage.unknown_rank += 1,
                }
                continue;
            };
            let dims = &self.core.dims;
            let is_known = |dim: &crate::dim::DimId| {
                !dims.is_anonymous(*dim) && dims.symbols_of(*dim).iter().all(|symbol| inputs.contains(symbol))
            };
            match &tensor.shape {
                None => coverage.unknown_rank += 1,
                Some(shape) if shape.iter().all(is_known) && ty.is_concrete() => coverage.typed += 1,
                Some(_) => coverage.unknown_extents += 1,
            }
        }
        coverage.open_conditions =
            self.requirements.iter().filter(|requirement| !requirement.is_decided).count();
        coverage
    }

    /// The type of a value without any declared shape that had to be assumed: what a file may be annotated with.
    pub fn proven_type_of(&mut self, value: ValueId) -> Type {
        match &self.proven {
            Some(types) => types[value.index()].clone(),
            None => self.type_of(value),
        }
    }

    /// Whether a part of the type of a value rests on a declared shape that had to be assumed.
    pub fn is_assumed(&mut self, value: ValueId) -> bool {
        if self.proven.is_none() {
            return false;
        }
        let (shown, proven) = (self.type_of(value), self.proven_type_of(value));
        let extents = |ty: &Type| ty.tensor().and_then(|tensor| tensor.shape.clone());
        let dims = &mut self.core.dims;
        match (extents(&shown), extents(&proven)) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(shown), Some(proven)) => {
                let narrowed = |(a, b): (&_, &_)| {
                    !dims.is_anonymous(*a)
                        && (dims.is_anonymous(*b) || dims.compare(*a, *b) != Decision::Equal)
                };
                shown.len() != proven.len() || shown.iter().zip(&proven).any(narrowed)
            }
        }
    }

    /// The types that a value can have, where its shape depends on which branches run and there are only a few.
    #[must_use]
    pub fn alternatives(&self, value: ValueId) -> &[Type] {
        self.alternatives.get(&value).map_or(&[], Vec::as_slice)
    }

    /// What could not be decided about dims.
    #[must_use]
    pub fn equations(&self) -> &[Equation] {
        &self.frame.equations
    }

    /// The dims that types are made of.
    #[must_use]
    pub fn dims(&self) -> &Dims {
        &self.core.dims
    }

    /// The element types and the type tree.
    #[must_use]
    pub fn universe(&self) -> &Arc<Universe> {
        self.core.types.universe()
    }
}
