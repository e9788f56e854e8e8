//! The normal form for the round-trip law: fields with default values are absent, and raw data is moved to
//! the typed field.
//!
//! A slow and simple reference for the decoding in the printer.

use std::ops::Deref;

use bytes::Bytes;
use typeloom_onnx::messages::type_proto::Value;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SparseTensorProto,
    StringStringEntryProto, TensorProto, Text, TypeProto, ValueInfoProto,
};
use typeloom_types::dtype::Dtype;

/// The treatment of raw data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Raw {
    Decoded,
    Kept,
}

fn text<T: Deref<Target = str> + Default>(field: &mut Text<T>) {
    if field.is_empty() {
        *field = Text::default();
    }
}

fn number<T: Default + PartialEq>(field: &mut Option<T>) {
    if field.as_ref() == Some(&T::default()) {
        *field = None;
    }
}

fn pairs(pairs: &mut [StringStringEntryProto]) {
    for pair in pairs {
        text(&mut pair.key);
        text(&mut pair.value);
    }
}

fn opsets(imports: &mut [OperatorSetIdProto]) {
    for import in imports {
        text(&mut import.domain);
        number(&mut import.version);
    }
}

pub(crate) fn model(model: &mut ModelProto, raw: Raw) {
    number(&mut model.ir_version);
    number(&mut model.model_version);
    text(&mut model.producer_name);
    text(&mut model.producer_version);
    text(&mut model.domain);
    text(&mut model.doc_string);
    opsets(&mut model.opset_import);
    pairs(&mut model.metadata_props);
    graph(model.graph.get_or_insert_default(), raw);
    for function in &mut model.functions {
        self::function(function, raw);
    }
}

pub(crate) fn function(function: &mut FunctionProto, raw: Raw) {
    text(&mut function.name);
    text(&mut function.domain);
    text(&mut function.overload);
    text(&mut function.doc_string);
    opsets(&mut function.opset_import);
    pairs(&mut function.metadata_props);
    function.attribute_proto.iter_mut().for_each(|default| attribute(default, raw));
    function.value_info.iter_mut().for_each(value_info);
    function.node.iter_mut().for_each(|node| self::node(node, raw));
}

pub(crate) fn graph(graph: &mut GraphProto, raw: Raw) {
    text(&mut graph.name);
    text(&mut graph.doc_string);
    pairs(&mut graph.metadata_props);
    graph.input.iter_mut().for_each(value_info);
    graph.output.iter_mut().for_each(value_info);
    graph.value_info.iter_mut().for_each(value_info);
    graph.node.iter_mut().for_each(|node| self::node(node, raw));
    graph.initializer.iter_mut().for_each(|constant| tensor(constant, raw));
    graph.sparse_initializer.iter_mut().for_each(|constant| sparse(constant, raw));
    for annotation in &mut graph.quantization_annotation {
        text(&mut annotation.tensor_name);
        pairs(&mut annotation.quant_parameter_tensor_names);
    }
}

pub(crate) fn node(node: &mut NodeProto, raw: Raw) {
    text(&mut node.name);
    text(&mut node.op_type);
    text(&mut node.domain);
    text(&mut node.overload);
    text(&mut node.doc_string);
    pairs(&mut node.metadata_props);
    node.attribute.iter_mut().for_each(|attribute| self::attribute(attribute, raw));
}

fn attribute(attribute: &mut AttributeProto, raw: Raw) {
    text(&mut attribute.name);
    text(&mut attribute.ref_attr_name);
    text(&mut attribute.doc_string);
    number(&mut attribute.r#type);
    number(&mut attribute.i);
    number(&mut attribute.s);
    if attribute.f.is_some_and(|f| f.to_bits() == 0) {
        attribute.f = None;
    }
    attribute.t.iter_mut().for_each(|constant| tensor(constant, raw));
    attribute.tensors.iter_mut().for_each(|constant| tensor(constant, raw));
    attribute.g.iter_mut().for_each(|graph| self::graph(graph, raw));
    attribute.graphs.iter_mut().for_each(|graph| self::graph(graph, raw));
    attribute.tp.iter_mut().for_each(|tp| ty(tp));
    attribute.type_protos.iter_mut().for_each(ty);
    attribute.sparse_tensor.iter_mut().for_each(|constant| sparse(constant, raw));
    attribute.sparse_tensors.iter_mut().for_each(|constant| sparse(constant, raw));
}

fn sparse(constant: &mut SparseTensorProto, raw: Raw) {
    constant.values.iter_mut().for_each(|values| tensor(values, raw));
    constant.indices.iter_mut().for_each(|indices| tensor(indices, raw));
}

pub(crate) fn value_info(value: &mut ValueInfoProto) {
    text(&mut value.name);
    text(&mut value.doc_string);
    pairs(&mut value.metadata_props);
    value.r#type.iter_mut().for_each(ty);
}

pub(crate) fn ty(ty: &mut TypeProto) {
    text(&mut ty.denotation);
    let shape = match &mut ty.value {
        None => None,
        Some(Value::TensorType(tensor)) => {
            number(&mut tensor.elem_type);
            tensor.shape.as_mut()
        }
        Some(Value::SparseTensorType(tensor)) => {
            number(&mut tensor.elem_type);
            tensor.shape.as_mut()
        }
        Some(Value::SequenceType(inner)) => {
            inner.elem_type.iter_mut().for_each(|inner| self::ty(inner));
            None
        }
        Some(Value::OptionalType(inner)) => {
            inner.elem_type.iter_mut().for_each(|inner| self::ty(inner));
            None
        }
        Some(Value::MapType(map)) => {
            number(&mut map.key_type);
            map.value_type.iter_mut().for_each(|inner| self::ty(inner));
            None
        }
        Some(Value::OpaqueType(opaque)) => {
            text(&mut opaque.domain);
            text(&mut opaque.name);
            None
        }
    };
    for dim in shape.into_iter().flat_map(|shape| &mut shape.dim) {
        text(&mut dim.denotation);
    }
}

fn tensor(tensor: &mut TensorProto, raw: Raw) {
    text(&mut tensor.name);
    text(&mut tensor.doc_string);
    number(&mut tensor.data_type);
    number(&mut tensor.data_location);
    number(&mut tensor.raw_data);
    pairs(&mut tensor.external_data);
    pairs(&mut tensor.metadata_props);
    if let (Raw::Decoded, Some(bytes)) = (raw, tensor.raw_data.clone())
        && decode(tensor, &bytes)
    {
        tensor.raw_data = None;
    }
}

/// The elements of `N` bytes each; `None` if the length is not a multiple of `N`.
fn chunks<const N: usize, T>(bytes: &[u8], decode: fn([u8; N]) -> T) -> Option<Vec<T>> {
    let (chunks, rest) = bytes.as_chunks::<N>();
    rest.is_empty().then(|| chunks.iter().copied().map(decode).collect())
}

fn decode(tensor: &mut TensorProto, bytes: &Bytes) -> bool {
    let small = |values: Option<Vec<i32>>, into: &mut Vec<i32>| values.map(|values| *into = values).is_some();
    match Dtype::from_onnx_number(tensor.data_type.unwrap_or_default()) {
        Some(Dtype::F32 | Dtype::Complex64) => {
            chunks(bytes, f32::from_le_bytes).map(|values| tensor.float_data = values).is_some()
        }
        Some(Dtype::F64 | Dtype::Complex128) => {
            chunks(bytes, f64::from_le_bytes).map(|values| tensor.double_data = values).is_some()
        }
        Some(Dtype::I64) => {
            chunks(bytes, i64::from_le_bytes).map(|values| tensor.int64_data = values).is_some()
        }
        Some(Dtype::U64) => {
            chunks(bytes, u64::from_le_bytes).map(|values| tensor.uint64_data = values).is_some()
        }
        Some(Dtype::U32) => chunks(bytes, |b| u32::from_le_bytes(b).into())
            .map(|values| tensor.uint64_data = values)
            .is_some(),
        Some(Dtype::I32) => small(chunks(bytes, i32::from_le_bytes), &mut tensor.int32_data),
        Some(Dtype::I16) => small(chunks(bytes, |b| i16::from_le_bytes(b).into()), &mut tensor.int32_data),
        Some(Dtype::U16 | Dtype::F16 | Dtype::BF16) => {
            small(chunks(bytes, |b| u16::from_le_bytes(b).into()), &mut tensor.int32_data)
        }
        Some(Dtype::I8) => small(chunks(bytes, |b| i8::from_le_bytes(b).into()), &mut tensor.int32_data),
        Some(Dtype::String) | None => false,
        Some(_) => small(chunks(bytes, |[b]| b.into()), &mut tensor.int32_data),
    }
}
