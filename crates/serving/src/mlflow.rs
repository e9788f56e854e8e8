//! The model signature of MLflow.
//!
//! Source: `ModelSignature.to_dict` and `TensorSpec.to_dict` of MLflow. The JSON that [`write`] returns is
//! the value of the key `signature` in the file `MLmodel`, which is YAML and contains the lists of tensors as
//! JSON texts.
//!
//! Element types have NumPy's names; those that NumPy lacks cannot be expressed. A signature has no optional
//! tensors: an input with a default value is listed like the others.
//!
//! # Reading
//!
//! [`read`] accepts that JSON, alone or under `signature`, and an `MLmodel`. Of the YAML, it reads the two
//! texts only, see [`yaml`]. A signature of columns instead of tensors is an error. A single tensor may have
//! no name.

mod yaml;

use serde_json::{Value, json};
use typeloom_types::dtype::Dtype;

use crate::Format;
use crate::contract::{Draft, UNNAMED};
use crate::error::{ContractError, ReadError, Reason};
use crate::json::{self, At};
use crate::signature::{Extent, Port, Side, Signature};

/// The element types with NumPy's names. Later rows are read only.
const TYPES: [(Dtype, &str); 16] = [
    (Dtype::Bool, "bool"),
    (Dtype::U8, "uint8"),
    (Dtype::U16, "uint16"),
    (Dtype::U32, "uint32"),
    (Dtype::U64, "uint64"),
    (Dtype::I8, "int8"),
    (Dtype::I16, "int16"),
    (Dtype::I32, "int32"),
    (Dtype::I64, "int64"),
    (Dtype::F16, "float16"),
    (Dtype::F32, "float32"),
    (Dtype::F64, "float64"),
    (Dtype::Complex64, "complex64"),
    (Dtype::Complex128, "complex128"),
    (Dtype::String, "str"),
    (Dtype::String, "object"),
];

/// Writes a signature.
pub(crate) fn write(signature: &Signature) -> Result<String, ContractError> {
    // A schema of no tensors is invalid.
    let text = |list: Vec<Value>| {
        if list.is_empty() { Value::Null } else { Value::from(ascii(&Value::from(list).to_string())) }
    };
    let signature = json!({
        "inputs": text(signature.convert(Side::Input, tensor)?),
        "outputs": text(signature.convert(Side::Output, tensor)?),
        "params": null,
    });
    Ok(json::pretty(&signature))
}

/// A JSON text with other characters than those of ASCII as escapes, as Python writes it. The text is inside
/// of a string, whose own escapes for pairs of surrogates would not be read by YAML.
fn ascii(json: &str) -> String {
    let mut written = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, ' '..='~') {
            written.push(c);
        } else {
            written.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    written
}

fn tensor(port: &Port) -> Result<Value, Reason> {
    let (name, shape) = port.named_shape(Format::Mlflow)?;
    let dtype = port.element_in(&TYPES, Format::Mlflow)?;
    let shape: Vec<i64> = shape.iter().map(Extent::or_minus_one).collect();
    Ok(json!({"name": name, "type": "tensor", "tensor-spec": {"dtype": dtype, "shape": shape}}))
}

/// Whether a document is a signature, or has one.
pub(crate) fn is_like(document: &Value) -> bool {
    let signature = document.get("signature").unwrap_or(document);
    let is_schema = |key: &str| match signature.get(key) {
        Some(Value::String(_)) => true,
        Some(list) => list.get(0).is_some_and(|tensor| tensor.get("tensor-spec").is_some()),
        None => false,
    };
    is_schema("inputs") || is_schema("outputs")
}

/// Whether a text is an `MLmodel` with a signature.
pub(crate) fn is_model_file(text: &str) -> bool {
    text.lines().any(|line| line.trim_end() == "signature:")
}

/// Reads a signature, or that of an `MLmodel`.
pub(crate) fn read(text: &str) -> Result<Draft, ReadError> {
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        let document = json::parse(text)?;
        let root = At::new(&document, "");
        return draft(&root.get("signature").unwrap_or(root));
    }
    let texts = yaml::signature(text)?;
    let document = json!({"inputs": texts.inputs, "outputs": texts.outputs});
    draft(&At::new(&document, ""))
}

fn draft(signature: &At<'_>) -> Result<Draft, ReadError> {
    let mut unnamed = Vec::new();
    let mut list = |key, side| -> Result<Vec<Port>, ReadError> {
        let Some(list) = signature.get(key) else { return Ok(Vec::new()) };
        let parsed;
        let list = match list.value {
            Value::String(text) => {
                parsed = json::parse(text).map_err(|error| list.error(error.to_string()))?;
                At::new(&parsed, key)
            }
            _ => list,
        };
        let elements = list.elements()?;
        if let [single] = &elements[..]
            && single.get("name").is_none()
        {
            unnamed.push(side);
        }
        elements.iter().map(port).collect()
    };
    let (inputs, outputs) = (list("inputs", Side::Input)?, list("outputs", Side::Output)?);
    let signature = Signature { inputs, outputs, conditions: Vec::new() };
    Ok(Draft { name: None, signature, unnamed, notes: Vec::new() })
}

fn port(tensor: &At<'_>) -> Result<Port, ReadError> {
    let Some(spec) = tensor.get("tensor-spec") else {
        return Err(tensor.error("a signature of columns describes no tensors"));
    };
    let name = tensor.get("name").map(|name| name.text()).transpose()?.unwrap_or(UNNAMED).to_owned();
    let element = spec.need("dtype")?.element(&TYPES)?;
    Ok(Port { name, element, shape: Some(spec.need("shape")?.shape()?), optional: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENSORS: &str =
        r#"[{"name": "x", "type": "tensor", "tensor-spec": {"dtype": "float32", "shape": [-1, 3]}}]"#;

    #[test]
    fn signatures_are_read_alone_and_in_other_documents() {
        let alone = json!({"inputs": TENSORS, "outputs": null, "params": null});
        let expected = read(&alone.to_string()).expect("a signature").signature;
        assert_eq!(expected.inputs[0].to_string(), "float[?, 3]");
        let inside = json!({"signature": alone, "run_id": "1"});
        assert_eq!(read(&inside.to_string()).expect("a signature").signature, expected);
        let file =
            format!("flavors: {{}}\nsignature:\n  inputs: '{TENSORS}'\n  outputs: null\nutc_time: '1'\n");
        assert!(is_model_file(&file));
        assert_eq!(read(&file).expect("a signature").signature, expected);
    }

    #[test]
    fn columns_are_an_error_with_their_path() {
        let columns = json!({"inputs": r#"[{"type": "double", "name": "x", "required": true}]"#});
        let error = read(&columns.to_string()).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("inputs[0]: a signature of columns describes no tensors"));
    }
}
