//! An OpenAPI 3.1 document with the inference path of the Open Inference Protocol for one model.
//!
//! The request and the response are those of the protocol with the tensors of the model: each has its name
//! and data type as constants, and the extents that are numbers. `data` is flat or nested, in row-major
//! order.
//!
//! Sources: the OpenAPI Specification 3.1, and `required_api.md` of the protocol, see [`crate::oip`]. Element
//! types are those of the protocol.

use serde_json::{Value, json};

use crate::error::{ContractError, Reason};
use crate::signature::{Extent, Port, Side, Signature};
use crate::{Format, Options, json, json_schema, oip};

/// Writes the document.
pub(crate) fn write(signature: &Signature, options: &Options) -> Result<String, ContractError> {
    let request = tensors(signature, Side::Input)?;
    let response = tensors(signature, Side::Output)?;
    let names: Vec<&str> = signature.outputs.iter().map(|port| port.name.as_str()).collect();
    let description = signature.relations().join("; ");
    let parameters = json!({"type": "object"});
    let mut wanted = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"},
        "parameters": parameters,
    }});
    if !names.is_empty() {
        wanted["properties"]["name"] = json!({"enum": names});
    }
    let path = format!("/v2/models/{}/infer", percent_encoded(options.name_or_default()));
    let mut operation = json!({
        "operationId": "infer",
        "summary": "Run the model",
        "description": if description.is_empty() { String::new() } else { format!("Not expressed: {description}") },
        "requestBody": {"required": true, "content": content("InferenceRequest")},
        "responses": {
            "200": {"description": "The outputs of the model", "content": content("InferenceResponse")},
            "400": {"description": "The request was refused", "content": content("InferenceError")},
        },
    });
    if let Some(extents) = signature.extents_object() {
        operation[json_schema::EXTENTS] = extents;
    }
    Ok(json::pretty(&json!({
        "openapi": "3.1.0",
        "info": {"title": options.name_or_default(), "version": "1"},
        "paths": {path: {"post": operation}},
        "components": {"schemas": {
            "InferenceRequest": {"type": "object", "required": ["inputs"], "properties": {
                "id": {"type": "string"},
                "parameters": parameters,
                "inputs": request,
                "outputs": {"type": "array", "items": wanted},
            }},
            "InferenceResponse": {"type": "object", "required": ["model_name", "outputs"], "properties": {
                "model_name": {"const": options.name_or_default()},
                "model_version": {"type": "string"},
                "id": {"type": "string"},
                "parameters": parameters,
                "outputs": response,
            }},
            "InferenceError": {"type": "object", "required": ["error"], "properties": {"error": {"type": "string"}}},
        }},
    })))
}

fn content(schema: &str) -> Value {
    json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}})
}

/// The schema of a list of tensors in any order. A response may leave out outputs that were not requested.
fn tensors(signature: &Signature, side: Side) -> Result<Value, ContractError> {
    let kinds = signature.convert(side, tensor)?;
    let needed = signature.convert(side, |port| {
        let is_it = json!({"properties": {"name": {"const": port.name}}, "required": ["name"]});
        let at_least = u32::from(side == Side::Input && !port.optional);
        Ok(json!({"contains": is_it, "minContains": at_least, "maxContains": 1}))
    })?;
    if kinds.is_empty() {
        return Ok(json!({"type": "array", "maxItems": 0}));
    }
    Ok(json!({"type": "array", "items": {"oneOf": kinds}, "allOf": needed}))
}

fn tensor(port: &Port) -> Result<Value, Reason> {
    let datatype = port.element_in(&oip::TYPES, Format::OpenApi)?;
    let element = json_schema::element(port.element, Format::OpenApi)?;
    let mut shape = json!({"type": "array"});
    let mut flat = json!({"type": "array", "items": element});
    let mut data = Vec::new();
    if let Some(extents) = &port.shape {
        let axes: Vec<Value> = extents.iter().map(axis).collect();
        if !axes.is_empty() {
            shape["prefixItems"] = Value::from(axes);
        }
        shape["minItems"] = Value::from(extents.len());
        shape["maxItems"] = Value::from(extents.len());
        if let Some(count) = port.count() {
            flat["minItems"] = Value::from(count);
            flat["maxItems"] = Value::from(count);
        }
        if extents.len() > 1 {
            data.push(json_schema::arrays(element, extents));
        }
    } else {
        shape["items"] = axis(&Extent::Free);
        data.push(json!({"type": "array", "items": {"type": "array"}}));
    }
    data.insert(0, flat);
    Ok(json!({
        "type": "object",
        "description": port.to_string(),
        "required": ["name", "datatype", "shape", "data"],
        "properties": {
            "name": {"const": port.name},
            "datatype": {"const": datatype},
            "shape": shape,
            "parameters": {"type": "object"},
            "data": if data.len() == 1 { data.remove(0) } else { json!({"anyOf": data}) },
        },
    }))
}

fn axis(extent: &Extent) -> Value {
    match extent {
        Extent::Fixed(value) => json!({"const": value}),
        Extent::Symbol(text) | Extent::Expression { text, .. } => {
            json!({"type": "integer", "minimum": 0, "description": text})
        }
        Extent::Free => json!({"type": "integer", "minimum": 0}),
    }
}

/// A name as one segment of a path: RFC 3986, unreserved characters.
fn percent_encoded(name: &str) -> String {
    let mut written = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                written.push(char::from(byte));
            }
            other => written.push_str(&format!("%{other:02X}")),
        }
    }
    written
}
