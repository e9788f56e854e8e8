//! Comparison of a view with an owned message of the same bytes.

use prost::Message;

use super::super::*;
use super::{all, slow};
use crate::messages::{self as owned, type_proto};

/// Compares a list of views with a list of messages.
fn each<V, M>(views: impl Iterator<Item = Result<V, DecodeError>>, messages: &[M], agree: impl Fn(V, &M)) {
    let views = all(views);
    assert_eq!(views.len(), messages.len());
    views.into_iter().zip(messages).for_each(|(view, message)| agree(view, message));
}

fn maybe<V, M>(view: Option<V>, message: Option<&M>, agree: impl Fn(V, &M)) {
    assert_eq!(view.is_some(), message.is_some());
    if let (Some(view), Some(message)) = (view, message) {
        agree(view, message);
    }
}

fn entry(view: EntryView<'_>, entry: &owned::StringStringEntryProto) {
    assert_eq!((view.key(), view.value()), (Ok(entry.key()), Ok(entry.value())));
}

fn opset(id: OpsetId<'_>, message: &owned::OperatorSetIdProto) {
    assert_eq!((id.domain, id.version), (message.domain(), message.version()));
}

pub(super) fn model(view: ModelView<'_>, model: &owned::ModelProto) {
    assert_eq!(view.ir_version(), model.ir_version());
    assert_eq!(view.model_version(), model.model_version());
    assert_eq!(view.producer_name(), model.producer_name());
    assert_eq!(view.producer_version(), model.producer_version());
    assert_eq!(view.domain(), model.domain());
    each(view.opset_imports(), &model.opset_import, opset);
    each(view.metadata_props(), &model.metadata_props, entry);
    each(view.functions(), &model.functions, function);
    maybe(view.graph(), model.graph.as_ref(), graph);
    each(view.training_info(), &model.training_info, |view, info| {
        let parsed = view.parse().expect("well formed");
        maybe(parsed.initialization, info.initialization.as_ref(), graph);
        maybe(parsed.algorithm, info.algorithm.as_ref(), graph);
        each(view.initialization_binding(), &info.initialization_binding, entry);
        each(view.update_binding(), &info.update_binding, entry);
    });
}

fn function(view: FunctionView<'_>, function: &owned::FunctionProto) {
    assert_eq!(view.name(), Ok(function.name()));
    assert_eq!(view.domain(), Ok(function.domain()));
    assert_eq!(view.overload(), Ok(function.overload()));
    assert_eq!(all(view.inputs()), function.input);
    assert_eq!(all(view.outputs()), function.output);
    assert_eq!(all(view.attributes()), function.attribute);
    each(view.attribute_protos(), &function.attribute_proto, attribute);
    each(view.nodes(), &function.node, node);
    each(view.opset_imports(), &function.opset_import, opset);
    each(view.value_info(), &function.value_info, value_info);
    each(view.metadata_props(), &function.metadata_props, entry);

    let fields = all(view.fields());
    let count = |wanted: fn(&FunctionField<'_>) -> bool| fields.iter().filter(|field| wanted(field)).count();
    assert_eq!(count(|field| matches!(field, FunctionField::Node(_))), function.node.len());
    assert_eq!(count(|field| matches!(field, FunctionField::Input(_))), function.input.len());
    assert_eq!(count(|field| matches!(field, FunctionField::Output(_))), function.output.len());
    assert_eq!(count(|field| matches!(field, FunctionField::Attribute(_))), function.attribute.len());
    assert_eq!(
        count(|field| matches!(field, FunctionField::AttributeProto(_))),
        function.attribute_proto.len()
    );
    assert_eq!(count(|field| matches!(field, FunctionField::OpsetImport(_))), function.opset_import.len());
    assert_eq!(count(|field| matches!(field, FunctionField::ValueInfo(_))), function.value_info.len());
    assert_eq!(count(|field| matches!(field, FunctionField::Metadata(_))), function.metadata_props.len());
}

fn graph(view: GraphView<'_>, graph: &owned::GraphProto) {
    assert_eq!(view.name(), Ok(graph.name()));
    each(view.nodes(), &graph.node, node);
    each(view.initializers(), &graph.initializer, tensor);
    each(view.sparse_initializers(), &graph.sparse_initializer, sparse_tensor);
    each(view.inputs(), &graph.input, value_info);
    each(view.outputs(), &graph.output, value_info);
    each(view.value_info(), &graph.value_info, value_info);
    each(view.metadata_props(), &graph.metadata_props, entry);
    each(view.quantization_annotations(), &graph.quantization_annotation, |view, annotation| {
        assert_eq!(view.tensor_name(), Ok(annotation.tensor_name()));
        each(view.quant_parameter_tensor_names(), &annotation.quant_parameter_tensor_names, entry);
    });

    let mut again = owned::GraphProto::default();
    for field in all(view.fields()) {
        match field {
            GraphField::Node(view) => again.node.push(decoded(view.bytes())),
            GraphField::Name(name) => again.name = name.into(),
            GraphField::Initializer(view) => again.initializer.push(decoded(view.bytes())),
            GraphField::SparseInitializer(view) => again.sparse_initializer.push(decoded(view.bytes())),
            GraphField::Input(view) => again.input.push(decoded(view.bytes())),
            GraphField::Output(view) => again.output.push(decoded(view.bytes())),
            GraphField::ValueInfo(view) => again.value_info.push(decoded(view.bytes())),
            GraphField::QuantizationAnnotation(view) => {
                again.quantization_annotation.push(decoded(view.bytes()));
            }
            GraphField::Metadata(view) => again.metadata_props.push(decoded(view.bytes())),
            GraphField::Other(field) if field.number == 10 => again.doc_string.clone_from(&graph.doc_string),
            GraphField::Other(_) => again.unknown_fields.clone_from(&graph.unknown_fields),
        }
    }
    assert_eq!(again.encode_to_vec(), graph.encode_to_vec());
}

pub(super) fn decoded<M: Message + Default>(bytes: &[u8]) -> M {
    M::decode(bytes).expect("well formed")
}

fn node(view: NodeView<'_>, node: &owned::NodeProto) {
    assert_eq!(view.name(), Ok(node.name()));
    assert_eq!(view.op_type(), Ok(node.op_type()));
    assert_eq!(view.domain(), Ok(node.domain()));
    assert_eq!(view.overload(), Ok(node.overload()));
    assert_eq!(all(view.inputs()), node.input);
    assert_eq!(all(view.outputs()), node.output);
    each(view.attributes(), &node.attribute, attribute);
    each(view.metadata_props(), &node.metadata_props, entry);

    let mut again = owned::NodeProto::default();
    for field in all(view.fields()) {
        match field {
            NodeField::Input(name) => again.input.push(name.into()),
            NodeField::Output(name) => again.output.push(name.into()),
            NodeField::Name(name) => again.name = name.into(),
            NodeField::OpType(name) => again.op_type = name.into(),
            NodeField::Attribute(view) => again.attribute.push(decoded(view.bytes())),
            NodeField::Domain(name) => again.domain = name.into(),
            NodeField::Overload(name) => again.overload = name.into(),
            NodeField::Metadata(view) => again.metadata_props.push(decoded(view.bytes())),
            NodeField::Other(field) if field.number == 6 => again.doc_string.clone_from(&node.doc_string),
            NodeField::Other(field) if field.number == 10 => {
                again.device_configurations.clone_from(&node.device_configurations);
            }
            NodeField::Other(_) => again.unknown_fields.clone_from(&node.unknown_fields),
        }
    }
    assert_eq!(again.encode_to_vec(), node.encode_to_vec());
}

fn attribute(view: AttributeView<'_>, attribute: &owned::AttributeProto) {
    let parsed = view.parse().expect("well formed");
    assert_eq!(parsed.name, attribute.name());
    assert_eq!(view.name(), Ok(attribute.name()));
    assert_eq!(parsed.ref_attr_name, attribute.ref_attr_name.as_deref());
    if let Some(kind) = attribute.r#type.filter(|&kind| kind != 0) {
        assert_eq!(parsed.kind, kind);
    }
    assert_eq!(parsed.f.map(f32::to_bits), attribute.f.map(f32::to_bits));
    assert_eq!(parsed.i, attribute.i);
    assert_eq!(parsed.s, attribute.s.as_deref());
    maybe(parsed.t, attribute.t.as_deref(), tensor);
    maybe(parsed.g, attribute.g.as_deref(), graph);
    maybe(parsed.tp, attribute.tp.as_deref(), ty);
    maybe(parsed.sparse_tensor, attribute.sparse_tensor.as_deref(), sparse_tensor);
    let bits = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&all(parsed.floats())), bits(&attribute.floats));
    assert_eq!(all(parsed.ints()), attribute.ints);
    assert_eq!(all(parsed.strings()), attribute.strings);
    each(parsed.tensors(), &attribute.tensors, tensor);
    each(parsed.graphs(), &attribute.graphs, graph);
    each(parsed.type_protos(), &attribute.type_protos, ty);
    each(parsed.sparse_tensors(), &attribute.sparse_tensors, sparse_tensor);
}

fn value_info(view: ValueInfoView<'_>, value: &owned::ValueInfoProto) {
    let parsed = view.parse().expect("well formed");
    assert_eq!(parsed.name, value.name());
    maybe(parsed.ty, value.r#type.as_ref(), ty);
    each(view.metadata_props(), &value.metadata_props, entry);
}

fn ty(view: TypeView<'_>, message: &owned::TypeProto) {
    use type_proto::Value;
    let parsed = view.parse().expect("well formed");
    assert_eq!(parsed.denotation, message.denotation());
    match (parsed.kind, &message.value) {
        (TypeKindView::None, None) => {}
        (TypeKindView::Tensor { elem, shape: view }, Some(Value::TensorType(tensor))) => {
            assert_eq!(elem, tensor.elem_type());
            maybe(view, tensor.shape.as_ref(), shape);
        }
        (TypeKindView::Sparse { elem, shape: view }, Some(Value::SparseTensorType(tensor))) => {
            assert_eq!(elem, tensor.elem_type());
            maybe(view, tensor.shape.as_ref(), shape);
        }
        (TypeKindView::Sequence(view), Some(Value::SequenceType(sequence))) => {
            maybe(view, sequence.elem_type.as_deref(), ty);
        }
        (TypeKindView::Optional(view), Some(Value::OptionalType(optional))) => {
            maybe(view, optional.elem_type.as_deref(), ty);
        }
        (TypeKindView::Map { key, value }, Some(Value::MapType(map))) => {
            assert_eq!(key, map.key_type());
            maybe(value, map.value_type.as_deref(), ty);
        }
        (TypeKindView::Opaque { domain, name }, Some(Value::OpaqueType(opaque))) => {
            assert_eq!((domain, name), (opaque.domain(), opaque.name()));
        }
        (view, message) => panic!("{view:?} is not {message:?}"),
    }
}

fn shape(view: ShapeView<'_>, shape: &owned::TensorShapeProto) {
    use owned::tensor_shape_proto::dimension::Value;
    each(view.dims(), &shape.dim, |view, dim| {
        assert_eq!(view.denotation, dim.denotation());
        let value = match &dim.value {
            None => DimValue::Unknown,
            Some(Value::DimValue(value)) => DimValue::Value(*value),
            Some(Value::DimParam(name)) => DimValue::Param(name),
        };
        assert_eq!(view.value, value);
    });
}

fn sparse_tensor(view: SparseTensorView<'_>, sparse: &owned::SparseTensorProto) {
    let parsed = view.parse().expect("well formed");
    maybe(parsed.values, sparse.values.as_ref(), tensor);
    maybe(parsed.indices, sparse.indices.as_ref(), tensor);
    assert_eq!(parsed.dims[..], sparse.dims);
}

pub(super) fn tensor(view: TensorView<'_>, tensor: &owned::TensorProto) {
    let header = view.header().expect("well formed");
    assert_eq!(header.name(), tensor.name());
    assert_eq!(header.data_type, tensor.data_type());
    assert_eq!(header.dims[..], tensor.dims);
    assert_eq!(header.data_location, tensor.data_location.unwrap_or_default());
    assert_eq!(header.raw_data, tensor.raw_data.as_deref());
    let typed = tensor.float_data.len()
        + tensor.int32_data.len()
        + tensor.string_data.len()
        + tensor.int64_data.len()
        + tensor.double_data.len()
        + tensor.uint64_data.len();
    assert_eq!(header.has_typed_data, typed > 0);
    each(view.external_data(), &tensor.external_data, entry);
    each(view.metadata_props(), &tensor.metadata_props, entry);
    assert_eq!(
        view.int_values(64),
        slow::int_values(tensor, 64).map_err(|kind| DecodeError { offset: view.offset(), kind })
    );
}
