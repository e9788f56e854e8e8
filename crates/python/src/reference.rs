//! Functions behind `typeloom.onnx`: the reference's inference and checks.
//!
//! The functions take and return bytes. The modules in `typeloom/onnx` convert between them and the messages
//! of the package `onnx`, and raise the exceptions of that package.
//!
//! Three things keep a call on a model of a few nodes as short as that of the reference, whose calls take
//! microseconds: a small model is inferred with the interpreter held ([`HELD`]), a call runs on the thread of
//! its caller up to [`INLINE_FACTOR`] times the usual size, and a model that inference leaves unchanged is
//! returned as the object that came in. `bench/python/infer_shapes.py` measures them.
//!
//! The result is the old file with spliced records, so fields that this version does not know are kept.
//!
//! **Invariant:** a result that differs from that of the reference is a known difference:
//! `tests/test_onnx_differences.py` and the reference's own tests compare them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use typeloom::check::{CheckError, Operators, Options};
use typeloom::onnx::Message as _;
use typeloom_project::parts::onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OnnxMessage, OperatorSetIdProto,
    SparseTensorProto, TensorProto, TypeProto, ValueInfoProto, opset_import, read,
};
use typeloom_project::parts::onnx::splice::{Parts, Splice};
use typeloom_project::parts::rewrite::reference::{self, InferenceOptions, Inferred, UnknownExtents};
use typeloom_project::parts::solver::model::{self, Detail, FollowedValues};
use typeloom_project::parts::solver::universe::Universe;
use typeloom_project::parts::solver::validate::{Context, OpsetCompatibility, Scope};

use crate::error::core_error;
use crate::interrupt::{interruptible, run};
use crate::model::Model;
use crate::report::problem;
use crate::settings::Settings;

/// A new model in parts of the old one, the texts of errors, and the operators that the catalogue lacks.
struct Inference {
    parts: Parts,
    errors: Vec<String>,
    unknown: Operations,
}

impl Inference {
    fn of<'a>(inferred: Inferred<'a>, model: &'a [u8]) -> Self {
        let Inferred { file, errors, unknown } = inferred;
        Self { parts: file.into_parts(model), errors, unknown }
    }

    /// The results for Python, see [`infer_shapes`].
    fn write<'py>(&self, py: Python<'py>, old: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let parts = self.parts.iter().map(|part| part.bytes(old));
        with_errors(concatenated(py, parts)?, &self.errors, &self.unknown)
    }
}

/// As [`Inference::write`], without owned parts. An unchanged model is the object itself.
fn write_shared<'py>(
    py: Python<'py>,
    inferred: &Inferred<'_>,
    old: &PyBackedBytes,
) -> PyResult<Bound<'py, PyAny>> {
    let file = match inferred.file.pieces() {
        [Cow::Borrowed(run)] if run.len() == old.len() => old.into_pyobject(py)?,
        pieces => concatenated(py, pieces.iter().map(|piece| &**piece))?,
    };
    with_errors(file, &inferred.errors, &inferred.unknown)
}

fn concatenated<'py, 'p>(
    py: Python<'py>,
    parts: impl Iterator<Item = &'p [u8]> + Clone,
) -> PyResult<Bound<'py, PyBytes>> {
    let length = parts.clone().map(<[u8]>::len).sum();
    PyBytes::new_with(py, length, |mut buffer| {
        for part in parts {
            let (to, rest) = buffer.split_at_mut(part.len());
            to.copy_from_slice(part);
            buffer = rest;
        }
        Ok(())
    })
}

fn with_errors<'py>(
    file: Bound<'py, PyBytes>,
    errors: &[String],
    unknown: &[(String, String)],
) -> PyResult<Bound<'py, PyAny>> {
    let py = file.py();
    if errors.is_empty() && unknown.is_empty() {
        return Ok(file.into_any());
    }
    Ok((file, errors, unknown).into_pyobject(py)?.into_any())
}

/// Models below this size, in bytes, are inferred without releasing the interpreter: most take a few
/// microseconds, of which the release would be a noticeable part. The reference never releases it.
const HELD: usize = 4 << 10;

/// Inference runs on the caller's thread for models up to this many times the usual size: it takes a few
/// milliseconds for a megabyte of nodes, and a new thread starts with empty memory.
const INLINE_FACTOR: usize = 64;

/// Operators as `(domain, name)`.
type Operations = Vec<(String, String)>;

/// A message in wire format.
type Encoded<'py> = Bound<'py, PyBytes>;

/// The types of the outputs of a node that are known, by name.
type NodeTypes<'py> = Vec<(String, Encoded<'py>)>;

/// The type of each output of a function, as far as it is known.
type OutputTypes<'py> = Vec<Option<Encoded<'py>>>;

fn malformed(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("the bytes are not the message: {error}"))
}

/// Infers the types of a model and passes the result to `write`.
fn infer<'a, T>(
    model: &'a [u8],
    options: &Options,
    operators: &'a Operators,
    inference: InferenceOptions,
    write: impl FnOnce(Inferred<'a>) -> T,
) -> PyResult<T> {
    let values = if inference.data_prop { FollowedValues::Computed } else { FollowedValues::Stored };
    // Only these options report errors.
    let reports = inference.check_type || inference.strict_mode;
    let detail = if reports { Detail::Full } else { Detail::Types };
    let options = &Options { values, detail, ..options.clone() };
    let mut checked = match model::check(model, operators, Universe::standard(), options) {
        Ok(checked) => checked,
        Err(CheckError::Malformed(error)) => return Err(malformed(error)),
        Err(CheckError::NoGraph) => {
            let file = Splice::new::<ModelProto>(model).finish().map_err(core_error)?;
            return Ok(write(Inferred { file, errors: Vec::new(), unknown: Vec::new() }));
        }
        Err(error) => return Err(core_error(problem(&error)?)),
    };
    Ok(write(reference::infer(&mut checked, inference).map_err(core_error)?))
}

/// Infers the types of a model as the reference does.
///
/// Returns the new bytes; with errors or unknown operators a tuple of the new bytes, the texts of errors, and
/// the operators that the catalogue lacks as `(domain, name)`.
#[pyfunction]
pub(crate) fn infer_shapes<'py>(
    py: Python<'py>,
    model: Model,
    settings: &Settings,
    check_type: bool,
    strict_mode: bool,
    data_prop: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let inference = InferenceOptions { check_type, strict_mode, data_prop, unknown: UnknownExtents::Named };
    if let Model::Bytes(bytes) = &model
        && bytes.len() < HELD
    {
        let write = |inferred: Inferred<'_>| write_shared(py, &inferred, bytes);
        return run(|| infer(bytes, &settings.plan.options, &settings.plan.operators, inference, write))??;
    }
    let bytes = model.open()?;
    let (options, operators) = (settings.plan.options.clone(), settings.plan.operators.clone());
    let (size, model) = (bytes.len() / INLINE_FACTOR, bytes.shared().clone());
    let work = move || infer(&model, &options, &operators, inference, |it| Inference::of(it, &model));
    let inferred = interruptible(py, size, work)??;
    inferred.write(py, &bytes)
}

/// A named message.
type Named = (String, Vec<u8>);

/// Infers the types of the outputs of one node, by name.
///
/// `types` are the types of values, `data` the values of inputs that are known, and `function` the function
/// that the node calls.
#[pyfunction]
#[pyo3(signature = (node, types, data, sparse, imports, ir_version, settings, function=None))]
#[expect(clippy::too_many_arguments, reason = "the caller is one Python function with keyword arguments")]
pub(crate) fn infer_node<'py>(
    py: Python<'py>,
    node: &[u8],
    types: Vec<Named>,
    data: Vec<Named>,
    sparse: Vec<Named>,
    imports: Vec<(String, i64)>,
    ir_version: i64,
    settings: &Settings,
    function: Option<&[u8]>,
) -> PyResult<(NodeTypes<'py>, Vec<String>)> {
    let node: NodeProto = message(node)?;
    let mut graph = GraphProto { name: "node".into(), ..GraphProto::default() };
    for (name, ty) in types {
        let ty: TypeProto = message(&ty)?;
        graph.input.push(ValueInfoProto { name: name.into(), r#type: Some(ty), ..ValueInfoProto::default() });
    }
    for (name, tensor) in data {
        let tensor: TensorProto = message(&tensor)?;
        graph.initializer.push(TensorProto { name: name.into(), ..tensor });
    }
    for (name, tensor) in sparse {
        let mut tensor: SparseTensorProto = message(&tensor)?;
        tensor.values.get_or_insert_default().name = name.into();
        graph.sparse_initializer.push(tensor);
    }
    for name in node.output.iter().filter(|name| !name.is_empty()) {
        graph.output.push(ValueInfoProto { name: name.clone().into(), ..ValueInfoProto::default() });
    }
    let outputs: Vec<String> = node.output.clone();
    graph.node.push(node);
    let functions: Vec<FunctionProto> = function.map(message).transpose()?.into_iter().collect();
    let imports = imports.iter().map(|(domain, version)| opset_import(domain.as_str(), *version)).collect();
    let model = ModelProto {
        ir_version: Some(ir_version),
        graph: Some(graph),
        opset_import: imports,
        functions,
        ..ModelProto::default()
    };
    let bytes = model.encode_to_vec();
    let (options, operators) = (settings.plan.options.clone(), settings.plan.operators.clone());
    let inference = InferenceOptions {
        check_type: true,
        strict_mode: true,
        data_prop: true,
        unknown: UnknownExtents::Unset,
    };
    let bytes = Bytes::from(bytes);
    let model = bytes.clone();
    let inferred = interruptible(py, bytes.len(), move || {
        infer(&model, &options, &operators, inference, |it| Inference::of(it, &model))
    })??;
    let errors = inferred.errors.clone();
    let file: Vec<&[u8]> = inferred.parts.iter().map(|part| part.bytes(&bytes)).collect();
    let model: ModelProto = message(&file.concat())?;
    let declared = model.graph.unwrap_or_default().output;
    let mut found = Vec::new();
    for name in outputs {
        let info = declared.iter().find(|info| info.name.as_str() == name);
        if let Some(ty) = info.and_then(|info| info.r#type.as_ref()) {
            found.push((name, PyBytes::new(py, &ty.encode_to_vec())));
        }
    }
    Ok((found, errors))
}

/// Infers the types of the outputs of a function for given types of inputs and attributes.
#[pyfunction]
pub(crate) fn infer_function<'py>(
    py: Python<'py>,
    function: &[u8],
    types: Vec<Vec<u8>>,
    attributes: Vec<Vec<u8>>,
    settings: &Settings,
) -> PyResult<(OutputTypes<'py>, Vec<String>)> {
    let mut body: FunctionProto = message(function)?;
    let attribute: Vec<AttributeProto> =
        attributes.iter().map(|bytes| message(bytes)).collect::<PyResult<_>>()?;
    leave_out(&mut body, &attribute);
    let outputs = body.output.clone();
    drop_undefined_outputs(&mut body);
    let name = |prefix: &str, at: usize| format!("{prefix}{at}");
    let node = NodeProto {
        op_type: body.name.clone(),
        domain: body.domain.clone(),
        overload: body.overload.clone(),
        input: types
            .iter()
            .enumerate()
            // A type without content represents an omitted input.
            .map(|(at, ty)| if ty.is_empty() { String::new() } else { name("in", at) })
            .collect(),
        output: (0..body.output.len()).map(|at| name("out", at)).collect(),
        attribute,
        ..NodeProto::default()
    };
    let known = types.into_iter().enumerate().filter(|(_, ty)| !ty.is_empty());
    let types = known.map(|(at, ty)| (name("in", at), ty)).collect();
    let mut imports: Vec<(String, i64)> = body.opset_import.iter().map(import).collect();
    if imports.iter().all(|(domain, _)| *domain != *body.domain) {
        imports.push((body.domain.to_string(), 1));
    }
    let ir_version = typeloom_project::parts::solver::validate::NEWEST_IR;
    let (found, errors) = infer_node(
        py,
        &node.encode_to_vec(),
        types,
        Vec::new(),
        Vec::new(),
        imports,
        ir_version,
        settings,
        Some(&body.encode_to_vec()),
    )?;
    let mut found: BTreeMap<String, Bound<'py, PyBytes>> = found.into_iter().collect();
    let position = |output: &String| body.output.iter().position(|own| own == output);
    let types = outputs.iter().map(|output| found.remove(&name("out", position(output)?)));
    Ok((types.collect(), errors))
}

/// Removes the attributes of a function that are not given and have no default: the nodes that refer to them
/// have the defaults of their operators.
fn leave_out(function: &mut FunctionProto, given: &[AttributeProto]) {
    let mut known: Vec<String> = given.iter().map(|attribute| attribute.name.to_string()).collect();
    function.attribute.retain(|name| known.contains(name));
    known.extend(function.attribute_proto.iter().map(|attribute| attribute.name.to_string()));
    let mut open: Vec<&mut NodeProto> = function.node.iter_mut().collect();
    while let Some(node) = open.pop() {
        node.attribute.retain(|attribute| {
            attribute.ref_attr_name.is_empty() || known.iter().any(|name| *name == *attribute.ref_attr_name)
        });
        for attribute in &mut node.attribute {
            open.extend(attribute.g.iter_mut().flat_map(|graph| &mut graph.node));
            open.extend(attribute.graphs.iter_mut().flat_map(|graph| &mut graph.node));
        }
    }
}

/// Removes the outputs that no node defines; the reference leaves them untyped.
fn drop_undefined_outputs(function: &mut FunctionProto) {
    let FunctionProto { input, node, output, .. } = function;
    let by_node = |name: &String| node.iter().any(|node| node.output.contains(name));
    output.retain(|name| by_node(name) || input.contains(name));
}

fn import(import: &OperatorSetIdProto) -> (String, i64) {
    (import.domain.to_string(), import.version.unwrap_or_default())
}

fn message<M: OnnxMessage>(bytes: &[u8]) -> PyResult<M> {
    read(Bytes::copy_from_slice(bytes)).map_err(malformed)
}

/// Validates the structure of a message. Returns the first violation.
///
/// `kind` is the name of the message in ONNX. `base` is the folder of external data, and `all_domains`
/// requires that every operator is known.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the caller is one Python function with keyword arguments")]
pub(crate) fn validate(
    py: Python<'_>,
    kind: String,
    model: Model,
    settings: &Settings,
    base: PathBuf,
    ir_version: i64,
    opset_imports: BTreeMap<String, i64>,
    all_domains: bool,
    skip_compatibility: bool,
) -> PyResult<Option<String>> {
    let bytes = model.open()?;
    let operators = settings.plan.operators.clone();
    let compatibility =
        if skip_compatibility { OpsetCompatibility::Ignored } else { OpsetCompatibility::Required };
    interruptible(py, bytes.len(), move || {
        let external = |location: &str| external(&base, location);
        let cx =
            Context { catalogue: &*operators, ir_version, opset_imports, all_domains, external: &external };
        let bytes = bytes.shared().clone();
        let result = match kind.as_str() {
            "ModelProto" => cx.model(&read(bytes).map_err(malformed)?, compatibility),
            "GraphProto" => cx.graph(&read(bytes).map_err(malformed)?, &mut Scope::default()),
            "FunctionProto" => cx.function(&read(bytes).map_err(malformed)?, &Scope::default()),
            "NodeProto" => cx.node(&read(bytes).map_err(malformed)?, &Scope::default()),
            "AttributeProto" => cx.attribute(&read(bytes).map_err(malformed)?, &Scope::default()),
            "TensorProto" => cx.tensor(&read(bytes).map_err(malformed)?),
            "SparseTensorProto" => cx.sparse_tensor(&read(bytes).map_err(malformed)?),
            "ValueInfoProto" => cx.value_info(&read(bytes).map_err(malformed)?),
            other => return Err(core_error(format!("there is no validation of `{other}`"))),
        };
        Ok(result.err().map(|error| error.to_string()))
    })?
}

fn external(base: &Path, location: &str) -> Result<(), String> {
    typeloom_project::parts::io::files::usable(base, location)
}
