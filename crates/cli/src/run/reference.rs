//! Runs a model in ONNX Runtime for `typeloom run --compare ort`.
//!
//! The command does not link ONNX Runtime. A child process with Python and the package `onnxruntime` runs the
//! embedded script `reference.py`; values are exchanged as files in a temporary folder. `TYPELOOM_PYTHON`
//! names the interpreter.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, anyhow, bail};
use serde_json::{Value, json};
use typeloom_project::parts::tensor::any_tensor::AnyTensor;
use typeloom_project::parts::tensor::datum::Datum;
use typeloom_project::parts::tensor::map::MapDatum;
use typeloom_project::parts::types::dtype::Dtype;

use crate::interrupt::Removal;

const SCRIPT: &str = include_str!("reference.py");

/// The variable that names the Python interpreter.
const PYTHON: &str = "TYPELOOM_PYTHON";

/// The interpreter without the variable.
const DEFAULT_PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// The model to run.
pub(crate) enum Model<'m> {
    /// A file, next to which the files of external tensors are.
    File(&'m Path),
    /// The bytes of a model, and the folder of its external tensors.
    Bytes(&'m [u8], Option<&'m Path>),
}

/// An output, or the reason why it cannot be read.
pub(crate) type Output = Result<Datum, String>;

/// The result of a run in ONNX Runtime.
pub(crate) enum Reference {
    Outputs {
        version: String,
        outputs: Vec<Output>,
    },
    /// ONNX Runtime rejects the model or fails to run it.
    Rejected(String),
}

/// Runs a model on these inputs. An error is one of the installation, not of the model.
pub(crate) fn run(
    model: &Model<'_>,
    inputs: &HashMap<String, Datum>,
    outputs: &[String],
) -> anyhow::Result<Reference> {
    let make = || tempfile::tempdir().map(|folder| (folder.path().to_path_buf(), folder));
    let (_removal, temporary) = Removal::of(make).context("cannot make a temporary folder")?;
    let folder = temporary.path();
    let mut files = 0;
    let inputs: Vec<Value> = inputs
        .iter()
        .map(|(name, value)| Ok(json!({"name": name, "value": write(value, folder, &mut files)?})))
        .collect::<anyhow::Result<_>>()?;
    let absolute = |path: &Path| -> std::io::Result<String> {
        // The folder of a file in the current folder is the empty path.
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(std::path::absolute(path)?.display().to_string())
    };
    let (model, external) = match model {
        Model::File(path) => (absolute(path)?, None),
        Model::Bytes(bytes, external) => {
            let path = folder.join("model.onnx");
            write_file(&path, bytes)?;
            (absolute(&path)?, Some(absolute(external.unwrap_or(folder))?))
        }
    };
    let request = json!({"model": model, "folder": external, "inputs": inputs, "outputs": outputs});
    write_file(&folder.join("request.json"), request.to_string().as_bytes())?;
    let response = start(folder)?;
    match (response["error"].as_str(), response["message"].as_str()) {
        (None, _) => {}
        (Some("import"), message) => bail!(
            "`{}` cannot import ONNX Runtime: {}; install it with `pip install onnxruntime`, or set {PYTHON} to an interpreter that \
             has it",
            python().display(),
            message.unwrap_or_default()
        ),
        (Some(stage), message) => {
            let verb = if stage == "load" { "load" } else { "run" };
            let words = message.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            return Ok(Reference::Rejected(format!("ONNX Runtime does not {verb} the model: {words}")));
        }
    }
    let values = response["outputs"].as_array().filter(|values| values.len() == outputs.len());
    let values = values.context("the answer of ONNX Runtime has no outputs")?;
    let outputs = values.iter().map(|value| read(value, folder)).collect::<anyhow::Result<_>>()?;
    Ok(Reference::Outputs { version: response["version"].as_str().unwrap_or_default().to_owned(), outputs })
}

fn python() -> OsString {
    std::env::var_os(PYTHON).filter(|path| !path.is_empty()).unwrap_or_else(|| DEFAULT_PYTHON.into())
}

/// Runs the script in the folder and returns its answer.
fn start(folder: &Path) -> anyhow::Result<Value> {
    let script = folder.join("reference.py");
    write_file(&script, SCRIPT.as_bytes())?;
    let python = python();
    // The folder of the script is the first one that is searched for modules, and not the current folder.
    let output =
        Command::new(&python).arg(&script).arg(folder).stdin(Stdio::null()).output().with_context(|| {
            format!(
                "cannot start `{}`, which runs ONNX Runtime; set {PYTHON} to a Python interpreter with the package `onnxruntime`",
                python.display()
            )
        })?;
    let response = std::fs::read(folder.join("response.json")).ok();
    response.and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or_else(|| {
        let error = String::from_utf8_lossy(&output.stderr);
        let last = error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        anyhow!("`{}` ended without an answer ({}): {last}", python.display(), output.status)
    })
}

fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))
}

/// Writes the elements of a value into files and describes it.
fn write(value: &Datum, folder: &Path, files: &mut usize) -> anyhow::Result<Value> {
    Ok(match value {
        Datum::Tensor(tensor) => {
            let (number, shape) = (tensor.dtype().onnx_number(), tensor.shape());
            if let Ok(strings) = tensor.strings() {
                return Ok(json!({"type": number, "shape": shape, "strings": strings.collect::<Vec<_>>()}));
            }
            let file = format!("input-{files}.bin");
            *files += 1;
            write_file(&folder.join(&file), tensor.bytes())?;
            json!({"type": number, "shape": shape, "file": file})
        }
        Datum::Sequence(values) => {
            let values: anyhow::Result<Vec<Value>> =
                values.iter().map(|value| write(value, folder, files)).collect();
            json!({"sequence": values?})
        }
        Datum::Optional(held) => {
            let held = held.as_deref().map(|held| write(held, folder, files)).transpose()?;
            json!({"optional": held})
        }
        Datum::Map(map) => {
            let [keys, values] =
                [map.keys(), map.values()].map(|tensor| write(&Datum::Tensor(tensor.clone()), folder, files));
            json!({"map": {"keys": keys?, "values": values?}})
        }
        other => bail!("{} cannot be given to ONNX Runtime", other.describe()),
    })
}

/// Reads a value that the script described.
fn read(value: &Value, folder: &Path) -> anyhow::Result<Output> {
    if let Some(message) = value["unsupported"].as_str() {
        return Ok(Err(message.to_owned()));
    }
    if let Some(values) = value["sequence"].as_array() {
        // Values of ONNX are nested by few levels, and `serde_json` limits those of its input.
        let values: Result<Vec<Datum>, String> = values
            .iter()
            .map(|value| read(value, folder))
            .collect::<anyhow::Result<Vec<_>>>()?
            .into_iter()
            .collect();
        return Ok(values.map(Datum::Sequence));
    }
    if let Some(map) = value.get("map") {
        return Ok(match (read(&map["keys"], folder)?, read(&map["values"], folder)?) {
            (Ok(Datum::Tensor(keys)), Ok(Datum::Tensor(values))) => {
                let map = MapDatum::new(keys, values);
                map.map(|map| Datum::Map(Box::new(map))).map_err(|error| error.to_string())
            }
            _ => Err("a map of other values than tensors".to_owned()),
        });
    }
    if value.get("optional").is_some_and(Value::is_null) {
        return Ok(Ok(Datum::Optional(None)));
    }
    let unreadable = || anyhow!("the answer of ONNX Runtime has an output that cannot be read");
    let number = value["type"].as_i64().and_then(|number| i32::try_from(number).ok());
    let dtype = number.and_then(Dtype::from_onnx_number).ok_or_else(unreadable)?;
    let shape: Vec<usize> = serde_json::from_value(value["shape"].clone())?;
    if dtype == Dtype::String {
        let strings: Vec<String> = serde_json::from_value(value["strings"].clone())?;
        return Ok(Ok(Datum::Tensor(AnyTensor::from_strings(&shape, &strings)?)));
    }
    let file = value["file"].as_str().ok_or_else(unreadable)?;
    let bytes = std::fs::read(folder.join(file)).context("cannot read an output of ONNX Runtime")?;
    Ok(Ok(Datum::Tensor(AnyTensor::from_le_bytes(dtype, &shape, &bytes)?)))
}
