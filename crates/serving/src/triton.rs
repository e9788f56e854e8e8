//! `config.pbtxt`: the model configuration of Triton Inference Server.
//!
//! Source: `model_config.proto` of <https://github.com/triton-inference-server/common>, and the checks of the
//! server in `model_config_utils.cc`.
//!
//! # Shapes
//!
//! An extent without a number is -1. With a maximum batch size above 0, the first axis of all inputs and
//! outputs is the batch, which `dims` leaves out. [`write`] does so only if the types prove that the axis is
//! one symbol on which no other axis depends.
//!
//! The server refuses empty `dims`, and an empty `reshape` unless there are batches. A tensor without axes
//! has the dims `[ 1 ]`: the ONNX Runtime backend passes one element of such dims as a tensor without axes
//! (since its version of September 2023). The server also refuses extents of 0.
//!
//! # Reading
//!
//! The shape of the model is that of `reshape`, if there is one. Fields by which the server adds inputs or
//! outputs to those that are listed are reported in a note.

use typeloom_onnx::text::escape;
use typeloom_types::dtype::Dtype;

use crate::contract::Draft;
use crate::error::{ContractError, ReadError, Reason};
use crate::signature::{Extent, MAX_RANK, Port, Side, Signature};
use crate::textproto::{self, Kind, Message, Value};
use crate::{Format, Options};

/// The element types with their enumerators, without the prefix `TYPE_`, in the order of their numbers from
/// 1.
const TYPES: [(Dtype, &str); 14] = [
    (Dtype::Bool, "BOOL"),
    (Dtype::U8, "UINT8"),
    (Dtype::U16, "UINT16"),
    (Dtype::U32, "UINT32"),
    (Dtype::U64, "UINT64"),
    (Dtype::I8, "INT8"),
    (Dtype::I16, "INT16"),
    (Dtype::I32, "INT32"),
    (Dtype::I64, "INT64"),
    (Dtype::F16, "FP16"),
    (Dtype::F32, "FP32"),
    (Dtype::F64, "FP64"),
    (Dtype::String, "STRING"),
    (Dtype::BF16, "BF16"),
];

/// Fields by which the server adds inputs or outputs.
const ADDING: [&str; 3] = ["batch_input", "batch_output", "sequence_batching"];

/// Whether the server forms batches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Batches {
    /// No: `dims` has all axes.
    None,
    /// Along the first axis of the model, which `dims` leaves out.
    FirstAxis,
}

/// Writes a configuration.
pub(crate) fn write(signature: &Signature, options: &Options) -> Result<String, ContractError> {
    let batches = match options.max_batch {
        Some(size) if size > 0 => {
            prove_batches(signature)?;
            Batches::FirstAxis
        }
        Some(_) | None => Batches::None,
    };
    let mut text =
        "# Model configuration of Triton Inference Server, written by `typeloom describe --as triton`.\n"
            .to_owned();
    for relation in signature.relations() {
        text.push_str(&format!("# Not expressed: {}\n", escape(&relation)));
    }
    if let Some(name) = &options.name {
        text.push_str(&format!("name: {}\n", literal(name)));
    }
    text.push_str("platform: \"onnxruntime_onnx\"\n");
    text.push_str(&format!("max_batch_size: {}\n", options.max_batch.unwrap_or(0)));
    for side in [Side::Input, Side::Output] {
        let tensors = signature.convert(side, |port| tensor(port, side, batches))?;
        text.extend(tensors);
    }
    Ok(text)
}

/// The message of a tensor, whose first axis is left out if it is that of batches.
fn tensor(port: &Port, side: Side, batches: Batches) -> Result<String, Reason> {
    let format = Format::Triton;
    let (name, shape) = port.named_shape(format)?;
    if let Some(axis) = shape.iter().position(|extent| *extent == Extent::Fixed(0)) {
        return Err(Reason::Empty { axis, format });
    }
    let ty = port.element_in(&TYPES, format)?;
    let dims: Vec<i64> = shape.iter().map(Extent::or_minus_one).collect();
    let dims = match (batches, &dims[..]) {
        (Batches::FirstAxis, [] | [_]) => "dims: [ 1 ]\n  reshape: { shape: [ ] }".to_owned(),
        (Batches::FirstAxis, [_, dims @ ..]) => list(dims),
        (Batches::None, []) => list(&[1]),
        (Batches::None, dims) => list(dims),
    };
    let optional = if port.optional { "  optional: true\n" } else { "" };
    let (name, shown) = (literal(name), escape(&port.to_string()).into_owned());
    Ok(format!("{side} {{\n  name: {name}\n  data_type: TYPE_{ty}\n  {dims} # {shown}\n{optional}}}\n"))
}

fn list(dims: &[i64]) -> String {
    let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
    format!("dims: [ {} ]", dims.join(", "))
}

/// Proves that the first axes of all inputs and outputs are one symbol, and that no other axis depends on it.
fn prove_batches(signature: &Signature) -> Result<(), ContractError> {
    let (_, first) = signature.ports().next().ok_or(ContractError::NoBatches)?;
    let symbol = first.extents().first().and_then(Extent::symbol);
    let check = |port: &Port| {
        let own = port.extents().first().and_then(Extent::symbol);
        let Some(symbol) = symbol.filter(|symbol| own == Some(symbol)) else {
            let batch = symbol.map_or("a symbol".to_owned(), |symbol| format!("`{symbol}`"));
            return Err(Reason::Batch { ty: port.to_string(), batch });
        };
        let mut inner = port.extents().iter().enumerate().skip(1);
        match inner.find(|(_, extent)| extent.depends_on(symbol)) {
            Some((axis, _)) => {
                Err(Reason::BatchInside { ty: port.to_string(), axis, batch: symbol.to_owned() })
            }
            None => Ok(()),
        }
    };
    signature.convert(Side::Input, check)?;
    signature.convert(Side::Output, check)?;
    Ok(())
}

/// A string with the bytes of the text. Octal escapes have three digits, so that no following digit belongs
/// to them.
fn literal(text: &str) -> String {
    let mut written = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            c if typeloom_onnx::text::is_unsafe(c) => {
                written.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("\\{byte:03o}")));
            }
            c => written.push(c),
        }
    }
    written + "\""
}

/// Reads a configuration.
pub(crate) fn read(text: &str) -> Result<Draft, ReadError> {
    let message = textproto::parse(text)?;
    if is_model(&message) {
        return Err(ReadError::Unknown);
    }
    from_message(&message)
}

/// Whether the fields are those of a configuration.
pub(crate) fn is_like(message: &Message) -> bool {
    let known = ["platform", "backend", "max_batch_size", "input", "output"];
    !is_model(message) && known.into_iter().any(|name| message.has(name))
}

/// Whether the fields are those of an ONNX model as text.
fn is_model(message: &Message) -> bool {
    message.has("ir_version") || message.has("graph")
}

fn from_message(message: &Message) -> Result<Draft, ReadError> {
    let name = message.last("name").map(text_of).transpose()?.map(str::to_owned);
    let max_batch = message.last("max_batch_size").map(integer_of).transpose()?.unwrap_or(0);
    let batches = if max_batch > 0 { Batches::FirstAxis } else { Batches::None };
    let list = |field| -> Result<Vec<Port>, ReadError> {
        message.all(field).map(|value| port(value, batches)).collect()
    };
    let (inputs, outputs) = (list("input")?, list("output")?);
    let adding = ADDING.iter().filter(|name| message.last(name).is_some());
    let mut notes: Vec<String> =
        adding.map(|name| format!("the inputs and outputs of `{name}` are not compared")).collect();
    if batches == Batches::FirstAxis {
        notes.push(format!("the server passes batches of at most {max_batch}"));
    }
    Ok(Draft {
        name,
        signature: Signature { inputs, outputs, conditions: Vec::new() },
        unnamed: Vec::new(),
        notes,
    })
}

fn port(value: &Value, batches: Batches) -> Result<Port, ReadError> {
    let message = message_of(value)?;
    let name = message.last("name").ok_or_else(|| value.at.error("the tensor has no `name`"))?;
    let ty = message.last("data_type").ok_or_else(|| value.at.error("the tensor has no `data_type`"))?;
    let dims = match message.last("reshape") {
        Some(reshape) => shape(message_of(reshape)?, "shape")?,
        None => shape(message, "dims")?,
    };
    if dims.is_empty() && message.last("reshape").is_none() {
        return Err(value.at.error("the tensor has no `dims`"));
    }
    let mut shape = dims;
    if batches == Batches::FirstAxis {
        shape.insert(0, Extent::Free);
    }
    let optional = match message.last("optional").map(|value| (&value.kind, value.at)) {
        None => false,
        Some((Kind::Word(word), _)) if matches!(word.as_str(), "true" | "True" | "t") => true,
        Some((Kind::Word(word), _)) if matches!(word.as_str(), "false" | "False" | "f") => false,
        Some((Kind::Integer(value @ (0 | 1)), _)) => *value == 1,
        Some((_, at)) => return Err(at.error("expected `true` or `false`")),
    };
    Ok(Port { name: text_of(name)?.to_owned(), element: element(ty)?, shape: Some(shape), optional })
}

fn shape(message: &Message, field: &str) -> Result<Vec<Extent>, ReadError> {
    let mut shape = Vec::new();
    for value in message.all(field) {
        if shape.len() == MAX_RANK {
            return Err(value.at.error(format!("a tensor has more than {MAX_RANK} axes")));
        }
        shape.push(match integer_of(value)? {
            -1 => Extent::Free,
            extent => match u64::try_from(extent) {
                Ok(extent @ 1..) => Extent::Fixed(extent),
                Ok(_) | Err(_) => return Err(value.at.error("an extent is -1 or at least 1")),
            },
        });
    }
    Ok(shape)
}

/// The element type of an enumerator, by name or number.
fn element(value: &Value) -> Result<Dtype, ReadError> {
    let found = match &value.kind {
        Kind::Word(word) => {
            let name = word.strip_prefix("TYPE_");
            TYPES.iter().find(|(_, known)| name == Some(known))
        }
        // The numbers are those of the order in the table, from 1.
        Kind::Integer(number) => number.checked_sub(1).and_then(|at| TYPES.get(usize::try_from(at).ok()?)),
        Kind::Text(_) | Kind::Message(_) => None,
    };
    found.map(|(dtype, _)| *dtype).ok_or_else(|| value.at.error("unknown data type"))
}

fn text_of(value: &Value) -> Result<&str, ReadError> {
    match &value.kind {
        Kind::Text(text) => Ok(text),
        Kind::Integer(_) | Kind::Word(_) | Kind::Message(_) => Err(value.at.error("expected a string")),
    }
}

fn integer_of(value: &Value) -> Result<i64, ReadError> {
    match &value.kind {
        Kind::Integer(value) => Ok(*value),
        Kind::Text(_) | Kind::Word(_) | Kind::Message(_) => Err(value.at.error("expected an integer")),
    }
}

fn message_of(value: &Value) -> Result<&Message, ReadError> {
    match &value.kind {
        Kind::Message(message) => Ok(message),
        Kind::Text(_) | Kind::Word(_) | Kind::Integer(_) => {
            Err(value.at.error("expected a message in braces"))
        }
    }
}
