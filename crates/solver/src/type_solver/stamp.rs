//! Writes a solution into a graph: every value gets its denotation and element type.

use typeloom_onnx::messages::tensor_shape_proto::{Dimension, dimension};
use typeloom_onnx::messages::{
    GraphProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto, type_proto,
};
use typeloom_types::lattice::NodeRef;

use super::solution::{SolvedValue, TypeSolution};
use crate::elem::ElemSet;
use crate::map::Set;
use crate::solution::{TensorType, Type};

/// Stamps the inputs, values and outputs of a graph with the types that were found.
///
/// A stamp is the denotation of the concrete node, and for tensors the element type; a shape is written
/// where the entry has none. Values of the graph that have no entry get one in `value_info`, in the order
/// of the nodes; constants carry their types themselves. Values that are not settled stay as they are,
/// and nothing is removed. Stamping twice changes nothing.
pub fn apply_solution_to_value_info(graph: &mut GraphProto, solution: &TypeSolution) {
    let GraphProto { input, output, value_info, .. } = &mut *graph;
    for info in input.iter_mut().chain(output).chain(value_info) {
        if let Some(value) = solution.get(info.name()) {
            stamp(&mut info.r#type, value, solution);
        }
    }
    let mut known: Set<String> = Set::default();
    let lists = [&graph.input, &graph.output, &graph.value_info];
    known.extend(lists.into_iter().flatten().map(|info| info.name().to_owned()));
    known.extend(graph.initializer.iter().map(|tensor| TensorProto::name(tensor).to_owned()));
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    known.extend(sparse.map(|tensor| tensor.name().to_owned()));
    let names = graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output));
    let mut missing = Vec::new();
    for name in names.filter(|name| !name.is_empty()) {
        if let Some(value) = solution.get(name).filter(|value| value.is_resolved())
            && known.insert(name.clone())
        {
            let mut info = ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() };
            stamp(&mut info.r#type, value, solution);
            missing.push(info);
        }
    }
    graph.value_info.extend(missing);
}

fn stamp(ty: &mut Option<TypeProto>, value: &SolvedValue, solution: &TypeSolution) {
    if !value.is_resolved() {
        return;
    }
    let ty = ty.get_or_insert_default();
    let denotation =
        solution.lattice().node(value.bound).filter(NodeRef::is_concrete).map(|node| node.denotation);
    if let Some(denotation) = denotation.filter(|denotation| !denotation.is_empty()) {
        ty.denotation = Some(denotation.to_owned());
    }
    structure(&mut ty.value, &value.ty, solution);
}

/// Fills in the structure of a type, from the outside in.
fn structure(value: &mut Option<type_proto::Value>, ty: &Type, solution: &TypeSolution) {
    let (mut value, mut ty) = (value, ty);
    loop {
        let inner = match ty {
            Type::Tensor(tensor) => {
                let Some(number) = onnx_number(tensor.elem) else { return };
                let empty = || type_proto::Value::TensorType(type_proto::Tensor::default());
                if let type_proto::Value::TensorType(message) = value.get_or_insert_with(empty) {
                    message.elem_type = Some(number);
                    fill_shape(&mut message.shape, tensor, solution);
                }
                return;
            }
            Type::Sparse(tensor) => {
                let Some(number) = onnx_number(tensor.elem) else { return };
                let empty = || type_proto::Value::SparseTensorType(type_proto::SparseTensor::default());
                if let type_proto::Value::SparseTensorType(message) = value.get_or_insert_with(empty) {
                    message.elem_type = Some(number);
                    fill_shape(&mut message.shape, tensor, solution);
                }
                return;
            }
            // ONNX has no structure for these: the denotation is the whole stamp.
            Type::Scalar(_) | Type::Leaf(_) | Type::Unknown(_) | Type::Error => return,
            Type::Sequence(inner) => {
                let empty = || type_proto::Value::SequenceType(type_proto::Sequence::default());
                match value.get_or_insert_with(empty) {
                    type_proto::Value::SequenceType(message) => (&mut message.elem_type, inner),
                    _ => return,
                }
            }
            Type::Optional(inner) => {
                let empty = || type_proto::Value::OptionalType(type_proto::Optional::default());
                match value.get_or_insert_with(empty) {
                    type_proto::Value::OptionalType(message) => (&mut message.elem_type, inner),
                    _ => return,
                }
            }
            Type::Map(key, inner) => {
                let empty = || type_proto::Value::MapType(type_proto::Map::default());
                match value.get_or_insert_with(empty) {
                    type_proto::Value::MapType(message) => {
                        message.key_type = Some(i32::from(key.number()));
                        (&mut message.value_type, inner)
                    }
                    _ => return,
                }
            }
        };
        value = &mut inner.0.get_or_insert_default().value;
        ty = inner.1;
    }
}

/// ONNX's number of the one element type; element types that the tree adds have none.
fn onnx_number(elem: ElemSet) -> Option<i32> {
    elem.single().filter(|elem| elem.onnx_name().is_some()).map(|elem| i32::from(elem.number()))
}

fn fill_shape(shape: &mut Option<TensorShapeProto>, tensor: &TensorType, solution: &TypeSolution) {
    let (None, Some(dims)) = (&shape, &tensor.shape) else { return };
    let dims = dims.iter().map(|dim| {
        let known = solution.dims();
        let value = match known.as_constant(*dim) {
            Some(extent) => Some(dimension::Value::DimValue(extent)),
            None if known.is_anonymous(*dim) => None,
            None => Some(dimension::Value::DimParam(known.display(*dim).to_string())),
        };
        Dimension { value, ..Dimension::default() }
    });
    *shape = Some(TensorShapeProto { dim: dims.collect(), ..TensorShapeProto::default() });
}
