//! Programs: loaded models and artifacts, their ports, and runs.
//!
//! A C program loads a file without a knowledge of its form. A compiled module has a recorded interface and
//! becomes an [`Executor`] with the embedded backend on each slot; any other file is checked as a model and
//! becomes a [`Session`]. Both have ports with a type, and run on values, so a caller sees one kind of
//! program.
//!
//! All texts that the interface returns are made when the program is loaded: a pointer to one is valid as
//! long as its program is. A zero byte in a name, which C
//! cannot hold, is written as `\0`.
//!
//! **Invariant:** no function here panics or aborts for any file or value; `abi.rs` converts each [`Error`]
//! to a status and a message. A model with errors is refused, and the message has all of its diagnostics.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;

use typeloom::check::{Dim, ValueType};
use typeloom::interface::{Interface, Recorded};
use typeloom::module::{Artifact, LoadError};
use typeloom::pool::Pool;
use typeloom::run::{
    Components, Cpu, Datum, Executor, PrepareError, RunError, RunLimits, RunOutcome, Session, Verify,
};
use typeloom::types::{Dtype, TypeNode};

use typeloom_project::check::SideFiles;
use typeloom_project::file::File;
use typeloom_project::plan::Plan;

use crate::layout::{self, Limits};
use crate::status::{Error, Result, Status};
use crate::value::bad_index;

/// A program that is ready to run.
pub(crate) struct Program {
    form: Form,
    /// The digest of the interface of the main function, in hexadecimal.
    pub(crate) digest: CString,
    pub(crate) inputs: Vec<Description>,
    pub(crate) outputs: Vec<Description>,
    /// The public functions other than the main function, with the components to link them.
    functions: BTreeMap<String, Artifact>,
    components: Components,
}

enum Form {
    Model(Session),
    Module(Executor),
}

/// A port in the form that the interface returns.
pub(crate) struct Description {
    pub(crate) name: CString,
    pub(crate) type_text: CString,
    pub(crate) wire_hash: u64,
    pub(crate) dtype: i32,
    /// The extents, -1 for unknown ones; `None` if the rank is unknown or does not apply.
    pub(crate) dims: Option<Vec<i64>>,
    pub(crate) has_default: bool,
}

impl Program {
    /// Loads an artifact or a model.
    pub(crate) fn load(file: &File) -> Result<Self> {
        if let Some(problem) = file.problem() {
            return Err(Error::new(Status::Malformed, &problem.message));
        }
        let recorded = Recorded::read(file.model()).map_err(|error| Error::new(Status::Malformed, error))?;
        // Every slot for a backend is bound to the embedded one.
        let Some(recorded) = recorded else { return Self::model(file) };
        let mut components = Components::new();
        for slot in &recorded.slots {
            if slot.contract.as_deref() != Some("Backend") {
                let reason = "the C interface binds backends only";
                let text = format!("slot `{}` needs {}, and {reason}", slot.name, slot.needs);
                return Err(Error::new(Status::Component, text));
            }
            components = components.backend(&slot.name, Cpu);
        }
        let artifact = Artifact::load(file.model(), components.bindings()).map_err(load_error)?;
        let executor = Executor::new(&artifact, &components).map_err(prepare_error)?;
        let program = Self::new(Form::Module(executor), &recorded.main.digest.to_string());
        Ok(Self { functions: artifact.functions, components, ..program })
    }

    /// Links a public function.
    pub(crate) fn function(&self, name: &str) -> Result<Self> {
        let found = self.functions.iter().find(|(known, _)| without_zeros(known) == name);
        let Some((name, function)) = found else {
            let known: Vec<&str> = self.functions.keys().map(String::as_str).collect();
            let text = match &known[..] {
                [] => format!("there is no function `{name}`: the program has only its main function"),
                known => format!("there is no function `{name}`; the program exports {}", known.join(", ")),
            };
            return Err(Error::new(Status::BadArgument, text));
        };
        let digest = function.interface.exports.get(name).map(ToString::to_string).unwrap_or_default();
        let executor = Executor::new(function, &self.components).map_err(prepare_error)?;
        Ok(Self::new(Form::Module(executor), &digest))
    }

    fn model(file: &File) -> Result<Self> {
        let plan = Plan::standard();
        let solved = plan.solve(file, SideFiles::Unchecked);
        let solved = solved.map_err(|error| Error::new(Status::Malformed, error))?;
        let mut checked = solved.map_err(|problem| Error::new(Status::Malformed, problem.message))?;
        if !checked.is_ok() {
            let diagnostics = checked.diagnostics();
            let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            return Err(Error::new(Status::IllTyped, lines.join("\n")));
        }
        let digest = digest(&checked.interface()).map_err(|error| Error::new(Status::IllTyped, error))?;
        let no_files = "the C interface reads no other files: store the tensor in the model";
        // Tensors are views of the bytes of the file.
        let (bytes, limits) = (file.model().shared(), RunLimits::default());
        let session =
            Session::of_checked_file(checked.solved(), bytes, &|_| Err(no_files.to_owned()), limits);
        let session = session.map_err(prepare_error)?;
        Ok(Self::new(Form::Model(session), &digest))
    }

    /// An executor that a Rust program has linked.
    pub(crate) fn executor(executor: Executor) -> Self {
        Self::new(Form::Module(executor), "")
    }

    fn new(form: Form, digest: &str) -> Self {
        let (inputs, outputs) = match &form {
            Form::Model(session) => (session.inputs(), session.outputs()),
            Form::Module(executor) => (executor.inputs(), executor.outputs()),
        };
        let inputs =
            inputs.iter().map(|port| Description::new(&port.name, &port.ty, port.has_default)).collect();
        let outputs =
            outputs.iter().map(|port| Description::new(&port.name, &port.ty, port.has_default)).collect();
        let (functions, components) = (BTreeMap::new(), Components::new());
        Self { form, digest: text(digest), inputs, outputs, functions, components }
    }

    fn input_names(&self) -> impl Iterator<Item = &str> {
        let ports = match &self.form {
            Form::Model(session) => session.inputs(),
            Form::Module(executor) => executor.inputs(),
        };
        ports.iter().map(|port| port.name.as_str())
    }

    /// Runs the program on inputs in the order of its ports; `None` is a default.
    pub(crate) fn run(&self, inputs: Vec<Option<Datum>>, limits: Option<Limits>) -> Result<RunOutcome> {
        let named: HashMap<String, Datum> = self
            .input_names()
            .zip(inputs)
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        // Clones share the plan and its memory.
        let limits = limits.map(run_limits).unwrap_or_default();
        match &self.form {
            Form::Model(session) => session.clone().with_limits(limits).run(named, Verify::Inputs),
            Form::Module(executor) => executor.clone().with_limits(limits).run(named, Verify::Inputs),
        }
        .map_err(run_error)
    }
}

/// A regular file. Other kinds are refused, because opening a named pipe waits for a writer.
pub(crate) fn file(path: &str) -> Result<File> {
    let cannot = |reason: String| Error::new(Status::File, format!("cannot read `{path}`: {reason}"));
    let meta = std::fs::metadata(path).map_err(|error| cannot(error.to_string()))?;
    if !meta.is_file() {
        return Err(cannot("it is not a regular file".to_owned()));
    }
    // The file is read, not mapped: the program of the caller can outlive it.
    let contents = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    Ok(File::at(path.into(), contents))
}

/// The description of a port for C code; it points into `ports`.
pub(crate) fn port(ports: &[Description], index: usize, what: &str) -> Result<layout::Port> {
    let port = ports.get(index).ok_or_else(|| bad_index(what, index, ports.len()))?;
    let dims = port.dims.as_deref();
    let rank = dims.and_then(|dims| i32::try_from(dims.len()).ok());
    Ok(layout::Port {
        name: port.name.as_ptr(),
        type_text: port.type_text.as_ptr(),
        wire_hash: port.wire_hash,
        dims: dims.filter(|dims| !dims.is_empty()).map_or(std::ptr::null(), <[i64]>::as_ptr),
        rank: rank.unwrap_or(-1),
        dtype: port.dtype,
        has_default: i32::from(port.has_default),
    })
}

fn run_limits(Limits { iterations, steps, memory }: Limits) -> RunLimits {
    let or = |given: u64, default: u64| if given == 0 { default } else { given };
    let default = RunLimits::default();
    RunLimits {
        iterations: or(iterations, default.iterations),
        steps: or(steps, default.steps),
        memory: if memory == 0 { default.memory } else { memory },
        ..default
    }
}

/// The digest of an interface in hexadecimal.
fn digest(interface: &Interface) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let mut pool = Pool::new();
    let ty = interface.to_pool(&mut pool)?;
    Ok(pool.digest(ty)?.to_string())
}

fn load_error(error: LoadError) -> Error {
    let status = match &error {
        LoadError::NotAnArtifact(_) => Status::Malformed,
        LoadError::IllTyped(_) | LoadError::InterfaceDiffers { .. } | LoadError::Stamp { .. } => {
            Status::IllTyped
        }
        LoadError::Component { .. } => Status::Component,
    };
    Error::new(status, error)
}

fn prepare_error(error: PrepareError) -> Error {
    let status = if matches!(error, PrepareError::Link(_)) {
        Status::Component
    } else if matches!(error, PrepareError::ExternalData { .. }) {
        Status::File
    } else {
        Status::Malformed
    };
    Error::new(status, error)
}

fn run_error(error: RunError) -> Error {
    let of_input = matches!(error, RunError::Input { .. } | RunError::MissingInput { .. });
    Error::new(if of_input { Status::WrongType } else { Status::Run }, error)
}

/// Text for C; a zero byte in it is replaced.
fn text(text: &str) -> CString {
    CString::new(without_zeros(text)).unwrap_or_default()
}

fn without_zeros(text: &str) -> String {
    text.replace('\0', "\\0")
}

impl Description {
    fn new(name: &str, ty: &ValueType, has_default: bool) -> Self {
        Self {
            name: text(name),
            type_text: text(&ty.to_string()),
            wire_hash: ty.leaf().map_or(0, TypeNode::wire_tag),
            dtype: ty.dtype().map_or(0, Dtype::onnx_number),
            dims: dims(ty),
            has_default,
        }
    }
}

fn dims(ty: &ValueType) -> Option<Vec<i64>> {
    let extent = |dim: &Dim| dim.fixed().and_then(|extent| i64::try_from(extent).ok()).unwrap_or(-1);
    Some(ty.shape.as_deref().filter(|_| ty.is_tensor())?.iter().map(extent).collect())
}
