//! Model metadata of the Open Inference Protocol, version 2.
//!
//! Source: <https://github.com/kserve/open-inference-protocol>, `required_api.md`, and the table of data
//! types in it. The JSON is that of `GET v2/models/NAME`, and the JSON form of the message
//! `ModelMetadataResponse`.
//!
//! The protocol has no optional inputs: an input with a default value is listed like the others.

use serde_json::{Value, json};
use typeloom_types::dtype::Dtype;

use crate::contract::Draft;
use crate::error::{ContractError, ReadError, Reason};
use crate::json::{self, At};
use crate::signature::{Extent, Port, Side, Signature};
use crate::{Format, Options};

/// The element types with their names.
pub(crate) const TYPES: [(Dtype, &str); 14] = [
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
    (Dtype::BF16, "BF16"),
    (Dtype::F32, "FP32"),
    (Dtype::F64, "FP64"),
    (Dtype::String, "BYTES"),
];

/// Writes the metadata.
pub(crate) fn write(signature: &Signature, options: &Options) -> Result<String, ContractError> {
    let metadata = json!({
        "name": options.name_or_default(),
        "versions": ["1"],
        "platform": "onnxruntime_onnx",
        "inputs": signature.convert(Side::Input, tensor)?,
        "outputs": signature.convert(Side::Output, tensor)?,
    });
    Ok(json::pretty(&metadata))
}

fn tensor(port: &Port) -> Result<Value, Reason> {
    let (name, shape) = port.named_shape(Format::Oip)?;
    let shape: Vec<i64> = shape.iter().map(Extent::or_minus_one).collect();
    Ok(json!({"name": name, "datatype": port.element_in(&TYPES, Format::Oip)?, "shape": shape}))
}

/// Whether a document has lists of tensors with the keys of the protocol.
pub(crate) fn is_like(document: &Value) -> bool {
    let has = |key: &str| {
        let first = document.get(key).and_then(|list| list.get(0));
        first.is_some_and(|tensor| tensor.get("datatype").is_some())
    };
    has("inputs") || has("outputs")
}

/// Reads the metadata.
pub(crate) fn read(text: &str) -> Result<Draft, ReadError> {
    let document = json::parse(text)?;
    let root = At::new(&document, "");
    let list = |key| -> Result<Vec<Port>, ReadError> {
        let Some(list) = root.get(key) else { return Ok(Vec::new()) };
        list.elements()?.iter().map(port).collect()
    };
    let (inputs, outputs) = (list("inputs")?, list("outputs")?);
    let name = root.get("name").map(|name| name.text()).transpose()?.map(str::to_owned);
    Ok(Draft {
        name,
        signature: Signature { inputs, outputs, conditions: Vec::new() },
        notes: Vec::new(),
        unnamed: Vec::new(),
    })
}

fn port(tensor: &At<'_>) -> Result<Port, ReadError> {
    let name = tensor.need("name")?.text()?.to_owned();
    let element = tensor.need("datatype")?.element(&TYPES)?;
    // The JSON form of protocol buffers leaves out empty lists.
    let shape = tensor.get("shape").map(|shape| shape.shape()).transpose()?.unwrap_or_default();
    Ok(Port { name, element, shape: Some(shape), optional: false })
}
