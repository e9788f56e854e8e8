//! JSON Schema (2020-12) of requests and responses as objects with one nested array for each tensor.
//!
//! The document is the schema of a request, and contains that of a response as `$defs/response`. An extent
//! that is a number limits the number of items; symbols are named in descriptions, because no schema can
//! require that two arrays have the same length. Infinities and NaN are no JSON numbers, so the schemas
//! reject them.

use serde_json::{Map, Value, json};
use typeloom_types::dtype::{Dtype, DtypeClass};

use crate::error::{ContractError, Reason};
use crate::signature::{Extent, Port, Side, Signature};
use crate::{Format, Options, json};

/// The key of an object with the axes of each symbol and expression. Validators ignore it.
pub(crate) const EXTENTS: &str = "x-typeloom-extents";

/// Writes the schemas.
pub(crate) fn write(signature: &Signature, options: &Options) -> Result<String, ContractError> {
    let mut shared = Map::new();
    let request = object(signature, Side::Input, &mut shared)?;
    let response = object(signature, Side::Output, &mut shared)?;
    let mut definitions = json!({"request": request, "response": response});
    if let Some(definitions) = definitions.as_object_mut() {
        definitions.append(&mut shared);
    }
    let mut document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": options.name_or_default(),
        "$ref": "#/$defs/request",
        "$defs": definitions,
    });
    if let Some(extents) = signature.extents_object() {
        document[EXTENTS] = extents;
    }
    Ok(json::pretty(&document))
}

/// The schema of an object with all tensors of a side.
fn object(
    signature: &Signature,
    side: Side,
    shared: &mut Map<String, Value>,
) -> Result<Value, ContractError> {
    let properties = signature.convert(side, |port| {
        let mut schema = nested(port, Format::JsonSchema, shared)?;
        schema["description"] = Value::from(port.to_string());
        Ok((port.name.clone(), schema))
    })?;
    let properties: Map<String, Value> = properties.into_iter().collect();
    let ports = signature.ports().filter(|(of, port)| *of == side && !port.optional);
    let required: Vec<&str> = ports.map(|(_, port)| port.name.as_str()).collect();
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let relations = signature.relations();
    if !relations.is_empty() {
        object["description"] = Value::from(format!("Not expressed: {}", relations.join("; ")));
    }
    Ok(object)
}

/// The schema of a tensor as nested arrays. That of unknown rank is a recursive schema, which is added to
/// `shared`.
fn nested(port: &Port, format: Format, shared: &mut Map<String, Value>) -> Result<Value, Reason> {
    let element = element(port.element, format)?;
    let Some(shape) = &port.shape else {
        let name = format!("any_rank_{}", port.element.onnx_name());
        let recursive = json!({"$ref": format!("#/$defs/{name}")});
        let schema = json!({"anyOf": [element, {"type": "array", "items": recursive}]});
        shared.insert(name, schema);
        return Ok(recursive);
    };
    Ok(arrays(element, shape))
}

/// Arrays of these extents around a schema.
pub(crate) fn arrays(element: Value, shape: &[Extent]) -> Value {
    shape.iter().rev().fold(element, |items, extent| {
        let mut schema = json!({"type": "array", "items": items});
        if let Some(length) = extent.fixed() {
            schema["minItems"] = Value::from(length);
            schema["maxItems"] = Value::from(length);
        }
        schema
    })
}

/// The schema of one element.
pub(crate) fn element(dtype: Dtype, format: Format) -> Result<Value, Reason> {
    let bits = dtype.size_bits().unwrap_or(0);
    Ok(match dtype.class() {
        DtypeClass::Bool => json!({"type": "boolean"}),
        DtypeClass::String => json!({"type": "string"}),
        DtypeClass::Float => json!({"type": "number"}),
        DtypeClass::SignedInt => {
            json!({"type": "integer", "minimum": i64::MIN >> (64 - bits), "maximum": i64::MAX >> (64 - bits)})
        }
        DtypeClass::UnsignedInt => {
            json!({"type": "integer", "minimum": 0, "maximum": u64::MAX >> (64 - bits)})
        }
        DtypeClass::Complex => return Err(Reason::Unsupported { element: dtype.onnx_name(), format }),
    })
}
