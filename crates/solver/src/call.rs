//! Calls of model-local functions: each body is solved once for each distinct tuple of argument types.
//!
//! A call is looked up by its key: the function, the types, shapes and constants of its arguments with
//! everything that is still unknown renumbered from zero, and its attributes. A new key gives a new
//! frame whose parameters are a fresh copy of the arguments (so that the answer does not depend on the
//! caller's variables); the finished frame is kept as a [`Summary`], and every call with that key
//! copies the summary, with fresh variables, into the caller: let-polymorphism (Damas and Milner),
//! with shapes.
//!
//! Functions that call functions twice each, to any depth, are solved in a number of frames that is
//! linear in the number of distinct keys. A function whose shapes differ on every call has at most
//! [`MOST_INSTANCES`] precise instances; after that its calls are typed without shapes.

use std::sync::Arc;

use crate::map::Map;
use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{Attribute, NodeView};

use crate::catalogue::{FunctionId, Operators};
use crate::constants::Data;
use crate::core::Core;
use crate::dim::DimId;
use crate::engine::Engine;
use crate::fault::{FaultKind, Side};
use crate::frame::Frame;
use crate::program::{Body, Step, StepId, build};
use crate::rule::{DimVec, Ints};
use crate::shape::ShapeId;
use crate::solution::{Equation, EquationSource};
use crate::trace::Cause;
use crate::ty::{Copier, Ty};

/// How many instances of one function keep shapes.
const MOST_INSTANCES: usize = 256;

/// The most elements of a constant that is passed into a function.
const MOST_CONSTANTS: usize = 64;

/// The most equations that a call takes over from its function.
const MOST_EQUATIONS: usize = 64;

/// A call that needs a frame.
pub(crate) struct Call {
    function: FunctionId,
    key: Key,
    precise: bool,
}

/// What makes two calls alike.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    function: FunctionId,
    conditional: bool,
    words: Vec<i64>,
    dims: Vec<DimId>,
    attributes: Vec<u8>,
}

/// The answer of a solved function: its parameters and results, over variables of its own.
#[derive(Clone, Debug)]
struct Summary {
    parameters: Vec<Option<Portable>>,
    results: Vec<Portable>,
    /// What its nodes need of dims of the model and nothing decides.
    equations: Vec<Equation>,
}

/// What is known of one value, outside its frame.
#[derive(Clone, Debug)]
struct Portable {
    ty: Option<Ty>,
    shape: Option<ShapeId>,
    data: Option<Data>,
}

/// A finished instance of a function, for reports.
pub(crate) struct Instance<'a> {
    pub(crate) function: FunctionId,
    pub(crate) frame: Frame<'a>,
    /// The calls that led to it, the outermost first.
    pub(crate) calls: Vec<Caller<'a>>,
}

/// A node that calls a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    /// The function that the node is in, if it is not in the model's graph.
    pub(crate) function: Option<FunctionId>,
    /// Its position in its graph.
    pub(crate) position: u32,
    pub(crate) node: NodeView<'a>,
}

/// An instance that is being solved.
struct Running<'a> {
    function: FunctionId,
    key: Key,
    caller: Caller<'a>,
}

/// All functions of a model and their instances.
#[derive(Default)]
pub(crate) struct Calls<'a> {
    bodies: Vec<Option<Arc<Body<'a>>>>,
    summaries: Map<Key, Option<Summary>>,
    counts: Map<FunctionId, usize>,
    running: Vec<Running<'a>>,
    frames: u32,
    /// Instances with faults, in the order in which they finished.
    pub(crate) faulty: Vec<Instance<'a>>,
    /// Whether instances without faults are kept as well, and those that are.
    pub(crate) keep: bool,
    /// Whether an instance has a declared shape that nothing confirms or refutes.
    pub(crate) has_open_claims: bool,
    pub(crate) kept: Vec<Instance<'a>>,
}

impl<'a> Calls<'a> {
    pub(crate) fn new(bodies: Vec<Option<Arc<Body<'a>>>>) -> Self {
        Self { bodies, ..Self::default() }
    }

    /// Types a call from its summary, or says that the function has to be solved first.
    pub(crate) fn call(
        &mut self,
        core: &mut Core<'a>,
        operators: &Operators<'a>,
        frame: &mut Frame<'a>,
        step: StepId,
        function: FunctionId,
    ) -> Result<Option<Call>, FaultKind<'a>> {
        let Some(callee) = self.bodies.get(function.index()).and_then(Option::as_ref).map(Arc::clone) else {
            return Ok(None);
        };
        let root = callee.graph(callee.root());
        let (inputs, outputs) =
            (frame.body.inputs(step).len(), frame.body.outputs(frame.body.last_step(step)).len());
        for (side, given, most) in
            [(Side::Inputs, inputs, root.inputs.len()), (Side::Outputs, outputs, root.outputs.len())]
        {
            if given > most {
                return Err(FaultKind::CallArity { side, given, most });
            }
        }
        if let Some(at) = self.running.iter().position(|running| running.function == function) {
            let name = |function: FunctionId| operators.functions[function.index()].name.to_owned();
            let path = self.running[at..]
                .iter()
                .map(|running| name(running.function))
                .chain([name(function)])
                .collect();
            return Err(FaultKind::RecursiveFunction { path });
        }
        let attributes = arguments(frame, step).map_err(FaultKind::Malformed)?;
        let given: Vec<&str> = attributes.iter().map(|(name, _)| *name).collect();
        for name in operators.functions[function.index()].view.attributes() {
            let name = name.map_err(FaultKind::Malformed)?;
            if !given.contains(&name) {
                return Err(FaultKind::MissingAttribute { name, kind: crate::signature::AttributeKind::Int });
            }
        }
        let precise = self.counts.get(&function).is_none_or(|count| *count < MOST_INSTANCES);
        let key = key(core, frame, step, function, &attributes, precise);
        match self.summaries.get(&key) {
            Some(Some(summary)) => {
                let summary = summary.clone();
                apply(core, frame, step, &summary, precise)
            }
            Some(None) => Ok(None),
            None => Ok(Some(Call { function, key, precise })),
        }
    }

    /// Makes the frame for a call.
    pub(crate) fn enter(
        &mut self,
        core: &mut Core<'a>,
        caller: &Frame<'a>,
        step: StepId,
        call: Call,
    ) -> Frame<'a> {
        let Call { function, key, precise } = call;
        *self.counts.entry(function).or_default() += 1;
        self.frames += 1;
        let body = match self.bodies.get(function.index()).and_then(Option::as_ref) {
            Some(body) => Arc::clone(body),
            None => Arc::clone(&caller.body),
        };
        let mut frame = Frame::new(self.frames, body);
        frame.conditional = caller.is_conditional(step);
        frame.arguments = arguments(caller, step).unwrap_or_default();
        if let crate::program::BodySource::Function(view) = frame.body.source() {
            for default in view.attribute_protos() {
                let Ok(default) = default.and_then(|default| default.parse()) else { continue };
                if frame.argument(default.name).is_none() {
                    frame.arguments.push((default.name, default));
                }
            }
        }
        let root = frame.body.graph(frame.body.root()).inputs.clone();
        let inputs: Vec<_> = caller.body.inputs(step).to_vec();
        let mut copier = Copier::default();
        let mut dims = Map::default();
        for (parameter, argument) in root.iter().zip(inputs) {
            let Some(argument) = argument else { continue };
            let slot = caller.slots[argument.index()];
            frame.slots[parameter.index()].ty = slot.ty.map(|ty| core.types.copy(ty, &mut copier));
            core.trace_given(frame.number, *parameter, Cause::Argument);
            if precise {
                frame.slots[parameter.index()].shape =
                    caller.shape_read(argument).map(|shape| copy_shape(core, shape, &mut dims));
                if let Some(data) =
                    core.data_of(caller, argument).cloned().and_then(|data| copy_data(core, &data, &mut dims))
                {
                    core.set_data(&mut frame, *parameter, data);
                }
            }
        }
        self.summaries.insert(key.clone(), None);
        let Step { position, node, .. } = *caller.body.step(step);
        let caller = Caller { function: self.running.last().map(|running| running.function), position, node };
        self.running.push(Running { function, key, caller });
        Engine::start(core, &mut frame);
        frame
    }

    /// Takes a finished frame in.
    pub(crate) fn leave(&mut self, core: &mut Core<'a>, mut frame: Frame<'a>) {
        let Some(Running { function, key, caller }) = self.running.pop() else { return };
        crate::claims::verify(core, &mut frame);
        self.has_open_claims |= !frame.open_claims.is_empty();
        let (core, frame) = (&*core, frame);
        let root = frame.body.graph(frame.body.root());
        let portable = |frame: &Frame<'a>, value: crate::program::ValueId| {
            let (ty, shape) = (frame.slots[value.index()].ty, frame.shape_read(value));
            let data = match core.data_of(frame, value) {
                Some(Data::Ints(ints)) if ints.items.len() <= MOST_CONSTANTS => {
                    Some(Data::Ints(Arc::clone(ints)))
                }
                Some(Data::Floats(floats)) if floats.items.len() <= MOST_CONSTANTS => {
                    Some(Data::Floats(Arc::clone(floats)))
                }
                Some(Data::Ints(_) | Data::Floats(_) | Data::Opaque) | None => None,
            };
            Portable { ty, shape, data }
        };
        let parameters = root.inputs.iter().map(|value| Some(portable(&frame, *value))).collect();
        let results = root.outputs.iter().map(|value| portable(&frame, *value)).collect();
        let runs = |equation: &&Equation| !frame.is_nested(equation.step);
        let equations = frame.equations.iter().filter(runs).take(MOST_EQUATIONS).copied().collect();
        self.summaries.insert(key, Some(Summary { parameters, results, equations }));
        if !(frame.faults.is_empty() && frame.value_faults.is_empty() && frame.body.faults().is_empty()) {
            let calls = self.running.iter().map(|running| running.caller).chain([caller]).collect();
            self.faulty.push(Instance { function, frame, calls });
        } else if self.keep {
            self.kept.push(Instance { function, frame, calls: Vec::new() });
        }
    }
}

/// The attributes of a call, as the function's own: references inside a function are followed.
fn arguments<'a>(frame: &Frame<'a>, step: StepId) -> Result<Vec<(&'a str, Attribute<'a>)>, DecodeError> {
    let mut arguments = Vec::new();
    for attribute in frame.body.step(step).attribute_part().attributes() {
        let attribute = attribute?.parse()?;
        match attribute.ref_attr_name {
            None => arguments.push((attribute.name, attribute)),
            Some(outer) => {
                if let Some(value) = frame.argument(outer) {
                    arguments.push((attribute.name, value));
                }
            }
        }
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
    const SHAPED: i64 = -2;
    const VALUED: i64 = -3;
    let mut words = Words::default();
    let mut types = crate::ty::Numbering::default();
    for input in frame.body.inputs(step) {
        let Some(value) = *input else {
            words.words.push(ABSENT);
            continue;
        };
        let slot = frame.slots[value.index()];
        match slot.ty {
            Some(ty) => core.types.encode(ty, &mut types, &mut words.words),
            None => words.words.push(ABSENT),
        }
        if !precise {
            continue;
        }
        if let Some(shape) = frame.shape_read(value) {
            let dims: DimVec = core.shapes.get(shape).into();
            words.words.extend([SHAPED, i64::try_from(dims.len()).unwrap_or(i64::MAX)]);
            for dim in dims {
                words.dim(core, dim);
            }
        }
        match core.data_of(frame, value).cloned() {
            Some(Data::Ints(ints)) if ints.items.len() <= MOST_CONSTANTS => {
                words.words.extend([VALUED, i64::try_from(ints.items.len()).unwrap_or(i64::MAX)]);
                for item in &ints.items {
                    words.dim(core, *item);
                }
            }
            Some(Data::Ints(_) | Data::Floats(_) | Data::Opaque) | None => {}
        }
    }
    let mut bytes = Vec::new();
    for (name, attribute) in attributes {
        for part in [name.as_bytes(), attribute.view.bytes()] {
            bytes.extend(part.len().to_le_bytes());
            bytes.extend(part);
        }
    }
    let Words { words, rigid, .. } = words;
    Key { function, conditional: frame.is_conditional(step), words, dims: rigid, attributes: bytes }
}

/// The types, shapes and constants of the arguments of a call, in the order in which they were met.
#[derive(Default)]
struct Words {
    words: Vec<i64>,
    /// Dims made of the model's own symbols: hash-consed, so equal ones are one id.
    rigid: Vec<DimId>,
    unknown: Map<DimId, i64>,
}

impl Words {
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

fn copy_data(core: &mut Core<'_>, data: &Data, dims: &mut Map<DimId, DimId>) -> Option<Data> {
    match data {
        Data::Ints(ints) if ints.items.len() <= MOST_CONSTANTS => {
            let items = ints.items.iter().map(|item| copy_dim(core, *item, dims)).collect();
            Some(Data::Ints(Arc::new(Ints { shape: ints.shape.clone(), items })))
        }
        Data::Ints(_) | Data::Floats(_) | Data::Opaque => None,
    }
}

/// Copies a summary into the caller.
fn apply<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    step: StepId,
    summary: &Summary,
    precise: bool,
) -> Result<Option<Call>, FaultKind<'a>> {
    let body = Arc::clone(&frame.body);
    let mut copier = Copier::default();
    let mut dims = Map::default();
    for (argument, parameter) in body.inputs(step).iter().zip(&summary.parameters) {
        let (Some(argument), Some(parameter)) = (*argument, parameter) else { continue };
        let ty = core.ty_of(&mut frame.slots[argument.index()]);
        if let Some(parameter) = parameter.ty {
            let copy = core.types.copy(parameter, &mut copier);
            // What a body demands of a parameter it was solved with cannot contradict the argument.
            let _ = core.types.unify(ty, copy);
        }
        // Unknown extents of the parameter are the argument's own.
        if let (true, Some(known), Some(shape)) = (precise, frame.shape_read(argument), parameter.shape) {
            let (known, shape): (DimVec, DimVec) =
                (core.shapes.get(known).into(), core.shapes.get(shape).into());
            for (dim, from) in known.iter().zip(&shape) {
                let from = core.dims.resolve(*from);
                if core.dims.is_variable(from) {
                    let dim = core.dims.resolve(*dim);
                    dims.entry(from).or_insert(dim);
                }
            }
        }
    }
    for (output, result) in body.outputs(step).iter().zip(&summary.results) {
        let Some(output) = *output else { continue };
        if let Some(ty) = result.ty {
            let copy = core.types.copy(ty, &mut copier);
            match frame.slots[output.index()].ty {
                None => frame.slots[output.index()].ty = Some(copy),
                Some(known) => {
                    let _ = core.types.unify(known, copy);
                }
            }
            core.trace_fixed(frame.number, output, step, "");
        }
        if frame.slots[output.index()].shape.is_none()
            && let Some(shape) = result.shape
        {
            let shape = copy_shape(core, shape, &mut dims);
            frame.set_shape(output, shape, step);
        }
        if frame.slots[output.index()].data.is_none()
            && let Some(data) = result.data.as_ref().and_then(|data| copy_data(core, data, &mut dims))
        {
            core.set_data(frame, output, data);
        }
    }
    for equation in &summary.equations {
        frame.add_equation(Equation { step, source: EquationSource::Call, ..*equation });
    }
    Ok(None)
}

/// The bodies of a model's functions, by position; `None` where one is malformed.
pub(crate) type Bodies<'a> = Vec<Option<Arc<Body<'a>>>>;

/// Builds the bodies of all functions; those whose structure is malformed are left out, with the error.
pub(crate) fn build_bodies<'a>(
    operators: &mut Operators<'a>,
) -> (Bodies<'a>, Vec<(FunctionId, build::BuildError)>) {
    let mut errors = Vec::new();
    let functions = operators.functions.clone();
    let bodies = functions.iter().enumerate().map(|(at, function)| {
        let built = build::function(function.view, &mut |domain, name, overload| {
            operators.resolve(function.imports, domain, name, overload)
        });
        match built {
            Ok(body) => Some(Arc::new(body)),
            Err(error) => {
                errors.push((FunctionId(u32::try_from(at).unwrap_or(u32::MAX)), error));
                None
            }
        }
    });
    (bodies.collect(), errors)
}
