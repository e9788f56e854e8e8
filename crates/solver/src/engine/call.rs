//! Calls of model-local functions. A body is solved once for each distinct tuple of argument types.
//!
//! # The question
//!
//! What is the type of a call? Copying the body of the function into the caller answers it, and multiplies: a
//! chain of 40 functions that each call the next one twice has 2^40 nodes. Solving each function once, for
//! all calls, is linear, but then every call has the type of the first one:
//!
//! ```text
//! g (float[N, 4] x, int64[K] i) => (y, j) { y = my.twice (x)  j = my.twice (i) }
//! twice (a) => (b) { b = Add (a, a) }
//! ```
//!
//! # The idea
//!
//! A body is solved once for each *distinct* question. The key of a call consists of the function, the types,
//! shapes and constants of the arguments with all unknowns renumbered from zero, and the attributes. A new
//! key creates a frame whose parameters are fresh copies of the arguments, so that its result does not depend
//! on the variables of the caller. The finished frame is stored as a [`Summary`]. Every call with the key
//! copies the summary with fresh variables into the caller: let-polymorphism (Damas and Milner, 1982),
//! extended to shapes.
//!
//! ```
//! use typeloom_onnx::text::model_bytes;
//! use typeloom_ops::catalogue::Standard;
//! use typeloom_solver::model::{Options, check};
//! use typeloom_solver::universe::Universe;
//!
//! let text = r#"<ir_version: 10, opset_import: ["" : 21, "my" : 1]>
//!     g (float[N, 4] x, int64[K] i) => (y, j) { y = my.twice (x)  j = my.twice (i) }
//!     <domain: "my", opset_import: ["" : 21]> twice (a) => (b) { b = Add (a, a) }"#;
//! let bytes = model_bytes(text)?;
//! let mut checked = check(&bytes, &Standard, Universe::try_standard()?, &Options::default())?;
//! let mut shown = |name| checked.find(name).map(|value| checked.display_type(value));
//! assert_eq!(shown("y").as_deref(), Some("float[N, 4]"));
//! assert_eq!(shown("j").as_deref(), Some("int64[K]"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Cost and limits
//!
//! The number of frames is linear in the number of distinct keys, even if the number of calls is exponential
//! in their depth. A function whose shapes differ in every call has at most [`MAX_INSTANCES`] precise
//! instances. Its further calls are typed without shapes, and the first of them is reported, because their
//! shapes are not proved.
//!
//! An omitted argument is omitted in the body too: the body is solved without the input at each node that
//! reads it. If such a node requires the input, the call is in error.

use std::sync::Arc;

use typeloom_dim::DimId;
use typeloom_dim::shape::{DimVec, ShapeId};
use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{Attribute, NodeView};

use crate::engine::initial;
use crate::map::{Map, Set};
use crate::operators::{FunctionId, Operators};
use crate::program::{Body, Initializer, ProgramStep, StepId, ValueId, build};
use crate::signature::{Arity, AttributeKind};
use crate::solution::{Equation, EquationSource};
use crate::solve_error::{Side, SolveErrorKind};
use crate::state::Core;
use crate::state::constants::{Data, Ints, MAX_PASSED_ELEMENTS, is_followed};
use crate::state::frame::{Frame, Slot};
use crate::state::parts::{Part, Parts};
use crate::state::trace::Cause;
use crate::ty::{Copier, Ty};

/// Maximum number of precise instances of one function.
pub(crate) const MAX_INSTANCES: usize = 256;

/// Maximum number of innermost calls kept between the model's graph and a function with errors.
pub(crate) const MAX_CALLS: usize = 8;

/// Maximum number of functions kept from each end of a cycle.
pub(crate) const MAX_PATH: usize = 4;

/// A call whose function has to be solved.
pub(crate) struct Call<'a> {
    key: Key,
    precise: bool,
    attributes: Vec<(&'a str, Attribute<'a>)>,
}

/// Identity of a call.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    function: FunctionId,
    conditional: bool,
    words: Vec<i64>,
    dims: Vec<DimId>,
    attributes: Vec<u8>,
}

/// The result of a solved function: its parameters and results over its own variables.
#[derive(Clone, Debug)]
struct Summary {
    parameters: Vec<Portable>,
    results: Vec<Portable>,
    /// The undecided conditions of its nodes on dims of the model.
    equations: Arc<[Equation]>,
    /// The number of the frame that was solved.
    number: u32,
}

/// Knowledge about a value, independent of a frame.
#[derive(Clone, Debug)]
struct Portable {
    ty: Option<Ty>,
    shape: Option<ShapeId>,
    /// The shapes of the children of a composite.
    parts: Option<Parts>,
    data: Option<Data>,
    /// Whether the value holds more integers than are passed into a function or out of it.
    is_dropped: bool,
}

/// A finished instance of a function, for reports.
pub(crate) struct Instance<'a> {
    pub(crate) function: FunctionId,
    pub(crate) frame: Box<Frame<'a>>,
    /// The node of the model's graph that leads to the instance.
    pub(crate) entry: Option<NodeView<'a>>,
    /// The innermost calls that lead to the instance, at most [`MAX_CALLS`], outermost first.
    pub(crate) calls: Vec<Caller<'a>>,
    /// The number of further calls.
    pub(crate) hidden: usize,
}

/// A node that calls a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    /// The function that contains the node; `None` for the model's graph.
    pub(crate) function: Option<FunctionId>,
    /// The position of the node in its graph.
    pub(crate) position: u32,
    pub(crate) node: NodeView<'a>,
}

/// An instance that is being solved.
struct Running<'a> {
    key: Key,
    caller: Caller<'a>,
    /// Whether the function and its callers are in [`Calls::erroneous_callers`].
    is_noted: bool,
}

/// The functions of a model and their instances.
#[derive(Default)]
pub(crate) struct Calls<'a> {
    bodies: Vec<Option<Arc<Body<'a>>>>,
    summaries: Map<Key, Option<Summary>>,
    counts: Map<FunctionId, usize>,
    running: Vec<Running<'a>>,
    /// The functions in `running`.
    open: Set<FunctionId>,
    frames: u32,
    /// Functions with a reported call because of too many instances.
    reported: Set<FunctionId>,
    /// Instances with errors, in the order in which they finished.
    pub(crate) erroneous: Vec<Instance<'a>>,
    /// Functions whose calls lead to an instance with errors.
    pub(crate) erroneous_callers: Set<FunctionId>,
    /// Whether instances without errors are kept, in `kept`.
    pub(crate) keep: bool,
    /// Whether an instance has a declared shape that is neither confirmed nor refuted.
    pub(crate) has_open_claims: bool,
    pub(crate) kept: Vec<Instance<'a>>,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(bodies: Vec<Option<Arc<Body<'a>>>>) -> Self {
        Self { bodies, ..Self::default() }
    }

    fn body(&self, function: FunctionId) -> Option<Arc<Body<'a>>> {
        self.bodies.get(function.index())?.clone()
    }

    /// Types a call from its summary, or returns the call if its function has to be solved first.
    pub(crate) fn call(
        &mut self,
        core: &mut Core<'a>,
        operators: &Operators<'a>,
        frame: &mut Frame<'a>,
        step: StepId,
        function: FunctionId,
    ) -> Result<Option<Call<'a>>, SolveErrorKind<'a>> {
        let Some(callee) = self.body(function) else { return Ok(None) };
        let root = callee.graph(callee.root());
        let outputs = frame.body.outputs(frame.body.last_step(step)).len();
        let inputs = (Side::Inputs, frame.body.inputs(step).len(), root.inputs.len());
        for (side, given, most) in [inputs, (Side::Outputs, outputs, root.outputs.len())] {
            if given > most {
                return Err(SolveErrorKind::CallArity { side, given, most });
            }
        }
        if self.open.contains(&function) {
            return Err(self.recursion(operators, function));
        }
        if outputs < root.outputs.len() {
            return Err(SolveErrorKind::CallOutputs { given: outputs, has: root.outputs.len() });
        }
        for (input, value) in absent_inputs(&frame.body, step, &callee) {
            if let Some(reader) = needs(operators, &callee, value) {
                return Err(SolveErrorKind::CallInput { input, name: callee.value_name(value), reader });
            }
        }
        let attributes = arguments(frame, step)?;
        let given: Set<&str> = attributes.iter().map(|(name, _)| *name).collect();
        for name in operators.functions()[function.index()].view.attributes() {
            let name = name?;
            if !given.contains(name) {
                return Err(SolveErrorKind::MissingAttribute { name, kind: AttributeKind::Int });
            }
        }
        for value in frame.body.inputs(step).to_vec().into_iter().flatten() {
            read_initializer(core, frame, value);
        }
        let mut precise = true;
        let mut key = key(core, frame, step, function, &attributes, precise);
        let is_full = self.counts.get(&function).is_some_and(|count| *count >= MAX_INSTANCES);
        if is_full && !self.summaries.contains_key(&key) {
            precise = false;
            key = self::key(core, frame, step, function, &attributes, precise);
        }
        match self.summaries.get(&key) {
            Some(Some(summary)) => {
                let summary = summary.clone();
                if self.keep {
                    frame.rare.callees.insert(step, summary.number);
                }
                apply(core, frame, step, &summary, precise);
                if !precise && self.reported.insert(function) {
                    return Err(SolveErrorKind::TooManyInstances { most: MAX_INSTANCES });
                }
                Ok(None)
            }
            Some(None) => Ok(None),
            None => Ok(Some(Call { key, precise, attributes })),
        }
    }

    /// Creates the frame of a call.
    pub(crate) fn enter(
        &mut self,
        core: &mut Core<'a>,
        caller: &Frame<'a>,
        step: StepId,
        call: Call<'a>,
    ) -> Box<Frame<'a>> {
        let Call { key, precise, attributes } = call;
        let function = key.function;
        *self.counts.entry(function).or_default() += 1;
        self.frames += 1;
        let body = self.body(function).unwrap_or_else(|| Arc::clone(&caller.body));
        let absent: Vec<ValueId> = absent_inputs(&caller.body, step, &body).map(|(_, value)| value).collect();
        let body = if absent.is_empty() { body } else { Arc::new(body.without(&absent)) };
        let mut frame = Frame::new(self.frames, body);
        frame.conditional = caller.is_conditional(step);
        for (name, attribute) in attributes {
            frame.arguments.entry(name).or_insert(attribute);
        }
        if let crate::program::BodySource::Function(view) = frame.body.source() {
            for default in view.attribute_protos() {
                let Ok(default) = default.and_then(|default| default.parse()) else { continue };
                frame.arguments.entry(default.name).or_insert(default);
            }
        }
        let root = frame.body.graph(frame.body.root()).inputs.clone();
        let inputs: Vec<_> = caller.body.inputs(step).to_vec();
        let mut copier = Copier::default();
        let mut dims = Map::default();
        for (parameter, argument) in root.iter().zip(inputs) {
            let Some(argument) = argument else { continue };
            let ty = caller.slots[argument.index()].ty;
            frame.slots[parameter.index()].ty = ty.map(|ty| core.types.copy(ty, &mut copier));
            core.trace_given(frame.number, *parameter, Cause::Argument);
            if precise {
                frame.slots[parameter.index()].shape =
                    caller.shape_read(argument).map(|shape| copy_shape(core, shape, &mut dims));
                if let Some(parts) = caller.rare.parts.get(&argument) {
                    frame.rare.parts.insert(*parameter, copy_parts(core, parts, &mut dims));
                }
                if let Some(data) =
                    core.data_of(caller, argument).cloned().and_then(|data| copy_data(core, &data, &mut dims))
                {
                    core.set_data(&mut frame, *parameter, data);
                }
                if caller.is_dropped(argument) || is_too_large(core, caller, argument) {
                    frame.drop_constant(*parameter);
                }
            }
        }
        self.summaries.insert(key.clone(), None);
        let ProgramStep { position, node, .. } = *caller.body.step(step);
        let caller =
            Caller { function: self.running.last().map(|running| running.key.function), position, node };
        self.running.push(Running { key, caller, is_noted: false });
        self.open.insert(function);
        initial::start(core, &mut frame);
        frame
    }

    /// Stores the summary of a finished frame.
    pub(crate) fn leave(&mut self, core: &mut Core<'a>, mut frame: Box<Frame<'a>>) {
        let Some(Running { key, caller, is_noted: _ }) = self.running.pop() else { return };
        let function = key.function;
        self.open.remove(&function);
        crate::analysis::claims::verify(core, &mut frame);
        frame.rare.limit_errors = crate::analysis::limits::errors(core, &frame);
        self.has_open_claims |= !frame.rare.open_claims.is_empty();
        let (core, frame) = (&*core, frame);
        let root = frame.body.graph(frame.body.root());
        let portable = |frame: &Frame<'a>, value: ValueId| {
            let (ty, shape) = (frame.slots[value.index()].ty, frame.shape_read(value));
            let data = core.data_of(frame, value).filter(|data| is_portable(data)).cloned();
            let is_dropped = frame.is_dropped(value) || is_too_large(core, frame, value);
            Portable { ty, shape, parts: frame.rare.parts.get(&value).cloned(), data, is_dropped }
        };
        let parameters = root.inputs.iter().map(|value| portable(&frame, *value)).collect();
        let results = root.outputs.iter().map(|value| portable(&frame, *value)).collect();
        let equations = frame.equations_of_runs().copied().collect();
        let number = frame.number;
        self.summaries.insert(key, Some(Summary { parameters, results, equations, number }));
        if frame.all_errors().next().is_some() {
            let hidden = (self.running.len() + 1).saturating_sub(MAX_CALLS);
            let calls = self.running.iter().map(|running| running.caller).chain([caller]).skip(hidden);
            let entry = Some(self.running.first().map_or(caller, |outermost| outermost.caller).node);
            self.erroneous.push(Instance { function, frame, entry, calls: calls.collect(), hidden });
            for running in self.running.iter_mut().rev() {
                // If a running function was noted, all its callers were noted too.
                if std::mem::replace(&mut running.is_noted, true) {
                    break;
                }
                self.erroneous_callers.insert(running.key.function);
            }
        } else if self.keep {
            self.kept.push(Instance { function, frame, entry: None, calls: Vec::new(), hidden: 0 });
        }
    }

    /// The error of a call of a running function.
    fn recursion(&self, operators: &Operators<'a>, function: FunctionId) -> SolveErrorKind<'a> {
        let name = |function: FunctionId| operators.functions()[function.index()].name.to_owned();
        let start =
            self.running.iter().rposition(|running| running.key.function == function).unwrap_or_default();
        let cycle = &self.running[start..];
        let length = cycle.len() + 1;
        let (head, tail) = if length <= 2 * MAX_PATH { (length, 0) } else { (MAX_PATH, MAX_PATH) };
        let at = |at: usize| name(cycle.get(at).map_or(function, |running| running.key.function));
        let path = (0..head).chain(length - tail..length).map(at).collect();
        SolveErrorKind::RecursiveFunction { path, hidden: length - head - tail }
    }
}

/// The attributes of a call. References inside a function are resolved.
fn arguments<'a>(frame: &Frame<'a>, step: StepId) -> Result<Vec<(&'a str, Attribute<'a>)>, DecodeError> {
    let mut arguments = Vec::new();
    for attribute in frame.body.step(step).attribute_part().attributes() {
        let attribute = attribute?.parse()?;
        arguments.extend(frame.referenced(&attribute).map(|value| (attribute.name, *value)));
    }
    Ok(arguments)
}

fn key<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    step: StepId,
    function: FunctionId,
    attributes: &[(&'a str, Attribute<'a>)],
    precise: bool,
) -> Key {
    const ABSENT: i64 = -1;
    const VALUED: i64 = -3;
    /// About the number of words for a tensor of rank 4.
    const WORDS: usize = 12;
    let inputs = frame.body.inputs(step);
    let mut encoder = KeyEncoder { words: Vec::with_capacity(WORDS * inputs.len()), ..KeyEncoder::default() };
    let mut types = crate::ty::Numbering::default();
    for input in inputs {
        let Some(value) = *input else {
            encoder.words.push(ABSENT);
            continue;
        };
        let slot = frame.slots[value.index()];
        match slot.ty {
            Some(ty) => core.types.encode(ty, &mut types, &mut encoder.words),
            None => encoder.words.push(ABSENT),
        }
        if !precise {
            continue;
        }
        if let Some(shape) = frame.shape_read(value) {
            encoder.shape(core, shape);
        }
        if let Some(parts) = frame.rare.parts.get(&value) {
            encoder.parts(core, parts);
        }
        let data = core.data_of(frame, value).filter(|data| is_portable(data));
        if let Some(ints) = data.and_then(Data::as_ints) {
            encoder.words.extend([VALUED, i64::try_from(ints.items.len()).unwrap_or(i64::MAX)]);
            for item in &ints.items {
                encoder.dim(core, *item);
            }
        }
    }
    let parts = || attributes.iter().flat_map(|(name, it)| [name.as_bytes(), it.view.bytes()]);
    let mut bytes = Vec::with_capacity(parts().map(|part| size_of::<usize>() + part.len()).sum());
    for part in parts() {
        bytes.extend_from_slice(&part.len().to_le_bytes());
        bytes.extend_from_slice(part);
    }
    let KeyEncoder { words, rigid, .. } = encoder;
    Key { function, conditional: frame.is_conditional(step), words, dims: rigid, attributes: bytes }
}

/// Encodes the types, shapes and constants of arguments in the order of their appearance.
#[derive(Default)]
struct KeyEncoder {
    words: Vec<i64>,
    /// Dims over symbols of the model. They are hash-consed, so equal ones have one id.
    rigid: Vec<DimId>,
    unknown: Map<DimId, i64>,
}

impl KeyEncoder {
    fn shape(&mut self, core: &mut Core<'_>, shape: ShapeId) {
        const SHAPED: i64 = -2;
        let dims: DimVec = core.shapes.get(shape).into();
        self.words.extend([SHAPED, i64::try_from(dims.len()).unwrap_or(i64::MAX)]);
        for dim in dims {
            self.dim(core, dim);
        }
    }

    /// Encodes the shapes in a composite. Its depth is bounded.
    fn parts(&mut self, core: &mut Core<'_>, parts: &Parts) {
        const PARTS: i64 = -4;
        const END: i64 = -5;
        for (name, Part { shape, parts }) in parts.iter() {
            self.words.extend([PARTS, i64::try_from(name.len()).unwrap_or(i64::MAX)]);
            self.words.extend(name.bytes().map(i64::from));
            if let Some(shape) = shape {
                self.shape(core, *shape);
            }
            if let Some(parts) = parts {
                self.parts(core, parts);
            }
        }
        self.words.push(END);
    }

    fn dim(&mut self, core: &mut Core<'_>, dim: DimId) {
        let dim = core.dims.resolve(dim);
        if let Some(constant) = core.dims.as_constant(dim) {
            self.words.extend([0, constant]);
        } else if core.dims.is_anonymous(dim) && !core.cases.is_about_questions(&core.dims, dim) {
            let next = i64::try_from(self.unknown.len()).unwrap_or(i64::MAX);
            self.words.extend([1, *self.unknown.entry(dim).or_insert(next)]);
        } else {
            self.words.push(2);
            self.rigid.push(dim);
        }
    }
}

fn copy_dim(core: &mut Core<'_>, dim: DimId, dims: &mut Map<DimId, DimId>) -> DimId {
    let dim = core.dims.resolve(dim);
    if !core.dims.is_anonymous(dim) || core.cases.is_about_questions(&core.dims, dim) {
        return dim;
    }
    if let Some(known) = dims.get(&dim) {
        return *known;
    }
    let copy = if core.dims.is_variable(dim) {
        match core.dims.bounds(dim) {
            (Some(least), _) if least >= 0 => core.dims.fresh(),
            (Some(_) | None, _) => core.dims.fresh_integer(),
        }
    } else {
        let variables: Vec<DimId> = core.dims.variables_of(dim).to_vec();
        let values: Vec<(DimId, DimId)> =
            variables.into_iter().map(|variable| (variable, copy_dim(core, variable, dims))).collect();
        core.dims.substitute(dim, &values)
    };
    dims.insert(dim, copy);
    copy
}

fn copy_shape(core: &mut Core<'_>, shape: ShapeId, dims: &mut Map<DimId, DimId>) -> ShapeId {
    let from: DimVec = core.shapes.get(shape).into();
    let to: DimVec = from.iter().map(|dim| copy_dim(core, *dim, dims)).collect();
    core.shapes.intern(&to)
}

/// Copies the shapes in a composite. Its depth is bounded.
fn copy_parts(core: &mut Core<'_>, parts: &Parts, dims: &mut Map<DimId, DimId>) -> Parts {
    parts.map_shapes(&mut |shape| copy_shape(core, shape, dims))
}

/// The unknown extents of a parameter are those of the argument.
fn bind_extents(core: &mut Core<'_>, known: ShapeId, from: ShapeId, dims: &mut Map<DimId, DimId>) {
    for (dim, from) in core.resolved(known).into_iter().zip(core.resolved(from)) {
        if core.dims.is_variable(from) {
            dims.entry(from).or_insert(dim);
        }
    }
}

/// The unknown extents in a composite parameter are those of the argument. The depth is bounded.
fn bind_parts(core: &mut Core<'_>, known: &Parts, from: &Parts, dims: &mut Map<DimId, DimId>) {
    for (name, part) in from.iter() {
        let Some(own) = known.get(name) else { continue };
        if let (Some(known), Some(from)) = (own.shape, part.shape) {
            bind_extents(core, known, from, dims);
        }
        if let (Some(known), Some(from)) = (&own.parts, &part.parts) {
            bind_parts(core, known, from, dims);
        }
    }
}

fn copy_data(core: &mut Core<'_>, data: &Data, dims: &mut Map<DimId, DimId>) -> Option<Data> {
    let ints = Some(data).filter(|data| is_portable(data))?.as_ints()?;
    let items = ints.items.iter().map(|item| copy_dim(core, *item, dims)).collect();
    Some(Data::Ints(Arc::new(Ints { shape: ints.shape.clone(), items })))
}

/// Whether a constant is small enough to pass into a function or out of it.
fn is_portable(data: &Data) -> bool {
    data.int_count().or_else(|| data.float_count()).is_some_and(|count| count <= MAX_PASSED_ELEMENTS)
}

/// Copies a summary into the caller.
fn apply<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>, step: StepId, summary: &Summary, precise: bool) {
    let body = Arc::clone(&frame.body);
    let mut copier = Copier::default();
    let mut dims = Map::default();
    for (argument, parameter) in body.inputs(step).iter().zip(&summary.parameters) {
        let Some(argument) = *argument else { continue };
        let ty = core.ty_of(&mut frame.slots[argument.index()]);
        if let Some(parameter) = parameter.ty {
            let copy = core.types.copy(parameter, &mut copier);
            // The body was solved with the argument, so its conditions on the parameter cannot contradict the
            // argument.
            let _ = core.types.unify(ty, copy);
        }
        if !precise {
            continue;
        }
        if let (Some(known), Some(shape)) = (frame.shape_read(argument), parameter.shape) {
            bind_extents(core, known, shape, &mut dims);
        }
        if let (Some(known), Some(parts)) = (frame.rare.parts.get(&argument), &parameter.parts) {
            bind_parts(core, known, parts, &mut dims);
        }
    }
    for (output, result) in body.outputs(step).iter().zip(&summary.results) {
        let Some(output) = *output else { continue };
        if let Some(ty) = result.ty {
            let copy = core.types.copy(ty, &mut copier);
            let known = *frame.slots[output.index()].ty.get_or_insert(copy);
            let _ = core.types.unify(known, copy);
            core.trace_fixed(frame.number, output, step, "");
        }
        if frame.slots[output.index()].shape.is_none()
            && let Some(shape) = result.shape
        {
            let shape = copy_shape(core, shape, &mut dims);
            frame.set_shape(output, shape, step);
        }
        if let (None, Some(parts)) = (frame.rare.parts.get(&output), &result.parts) {
            let parts = copy_parts(core, parts, &mut dims);
            frame.set_parts(output, parts, step);
        }
        if frame.slots[output.index()].data.is_none()
            && let Some(data) = result.data.as_ref().and_then(|data| copy_data(core, data, &mut dims))
        {
            core.set_data(frame, output, data);
        }
        if result.is_dropped {
            frame.drop_constant(output);
        }
    }
    // Equations are about dims of the model alone, so a second call in the same graph adds none.
    if !summary.equations.is_empty() && frame.rare.applied.insert((summary.number, body.step(step).graph)) {
        for equation in &*summary.equations {
            frame.add_equation(Equation { step, source: EquationSource::Call, ..*equation });
        }
    }
}

/// Decodes the integers of an initializer that no rule has read.
fn read_initializer<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>, value: ValueId) {
    let Slot { ty, data, .. } = frame.slots[value.index()];
    let is_followed = ty.and_then(Ty::constant_elem).is_some_and(is_followed);
    let Some(at) = frame.body.value(value).origin.initializer() else { return };
    let Initializer::Dense(tensor) = frame.body.initializers[at.index()] else { return };
    // Malformed data is reported with the initializer.
    if data.is_none()
        && is_followed
        && let Ok(header) = tensor.header()
        && let Ok(read) = core.read_tensor(&header)
    {
        core.set_data(frame, value, read.unwrap_or(Data::Opaque));
    }
}

/// Whether a value holds more integers than are passed into a function or out of it.
fn is_too_large(core: &Core<'_>, frame: &Frame<'_>, value: ValueId) -> bool {
    let count = core.data_of(frame, value).and_then(Data::int_count);
    count.is_some_and(|count| count > MAX_PASSED_ELEMENTS)
}

/// The inputs of a function that a call omits, with their positions.
fn absent_inputs(
    caller: &Body<'_>,
    step: StepId,
    callee: &Body<'_>,
) -> impl Iterator<Item = (usize, ValueId)> {
    let given = caller.inputs(step);
    let inputs = callee.graph(callee.root()).inputs.iter().copied().enumerate();
    inputs.filter(|(input, _)| given.get(*input).is_none_or(Option::is_none))
}

/// The operator that requires an input of a function; `Some(None)` if the function returns the input.
/// Operators that declare the input as optional do not require it, and called functions decide for
/// themselves.
fn needs<'a>(operators: &Operators<'a>, callee: &Body<'a>, value: ValueId) -> Option<Option<&'a str>> {
    for step in callee.consumers().of(value) {
        let Some(schema) = operators.op(callee.step(*step).op).kind.schema() else { continue };
        for (at, input) in callee.inputs(*step).iter().enumerate() {
            let is_optional = schema.input(at).is_some_and(|formal| formal.arity == Arity::Optional);
            if *input == Some(value) && !is_optional {
                return Some(Some(callee.op_name(*step)));
            }
        }
    }
    let returned = callee.graphs.iter().any(|graph| graph.outputs.contains(&value));
    returned.then_some(None)
}

/// The bodies of a model's functions, by position; `None` for a malformed one.
pub(crate) type Bodies<'a> = Vec<Option<Arc<Body<'a>>>>;

/// Builds the bodies of all functions. Malformed ones are returned as errors.
pub(crate) fn build_bodies<'a>(
    operators: &mut Operators<'a>,
) -> (Bodies<'a>, Vec<(FunctionId, build::BuildError)>) {
    let mut errors = Vec::new();
    if operators.functions().is_empty() {
        return (Bodies::new(), errors);
    }
    let functions = operators.functions().to_vec();
    let bodies = functions.iter().enumerate().map(|(at, function)| {
        let built = build::function(function.view, &mut |domain, name, overload| {
            operators.resolve(function.imports, domain, name, overload)
        });
        match built {
            Ok(body) => Some(body),
            Err(error) => {
                errors.push((FunctionId::new(at), error));
                None
            }
        }
    });
    (bodies.collect(), errors)
}
