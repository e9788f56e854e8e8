use std::sync::Arc;

use typeloom_dim::Dims;
use typeloom_types::tree::builtin::TYPE_TENSOR;

use super::Converter;
use crate::elem::{Elem, ElemSet};
use crate::solution::{TensorType, Type};
use crate::ty::Constructor;
use crate::universe::Universe;

fn tensor(dims: &mut Dims, elem: ElemSet, shape: &[&str]) -> Type {
    let shape = shape.iter().map(|text| dims.parse(text).unwrap()).collect();
    Type::Tensor(TensorType { elem, shape: Some(shape) })
}

#[test]
fn types_are_printed_as_in_onnx_syntax() {
    let universe = Universe::standard().clone();
    let mut dims = Dims::new();
    let float = ElemSet::of(Elem::FLOAT);
    let image = tensor(&mut dims, float, &["N", "3", "2*H + 1", "?"]);
    let cases = [
        (image.clone(), "float[N, 3, 2*H + 1, ?]"),
        (tensor(&mut dims, float, &[]), "float"),
        (Type::Tensor(TensorType { elem: float, shape: None }), "float[...]"),
        (Type::Sparse(TensorType { elem: float, shape: None }), "sparse_tensor(float[...])"),
        (
            Type::within(vec![Constructor::Sequence, Constructor::Optional], image),
            "seq(optional(float[N, 3, 2*H + 1, ?]))",
        ),
        (Type::within(vec![Constructor::Map(Elem::INT64)], Type::Unknown(None)), "map(int64, ?)"),
        (Type::Scalar(float), "scalar.f32"),
        (Type::Leaf(universe.lattice().number_of("peer_id").unwrap()), "peer_id"),
        (Type::Unknown(universe.tensor_node()), "tensor"),
        (Type::Error, "?"),
    ];
    for (ty, text) in cases {
        assert_eq!(ty.value_type(&universe, &dims).to_string(), text);
    }
}

#[test]
fn open_element_types_have_the_lowest_common_node() {
    let universe = Universe::standard().clone();
    let mut dims = Dims::new();
    let floats = ElemSet::of_all(&[Elem::FLOAT, Elem::DOUBLE]);
    let ty = tensor(&mut dims, floats, &["2"]);
    let ty = ty.value_type(&universe, &dims);
    assert_eq!((ty.node, ty.dtype(), ty.is_concrete()), (Some(&TYPE_TENSOR), None, false));
    assert_eq!(ty.to_onnx(), None);
}

#[test]
fn converted_types_share_shapes_and_names() {
    let universe = Universe::standard().clone();
    let mut dims = Dims::new();
    let shape = ["N", "4"];
    let (float, int) = (ElemSet::of(Elem::FLOAT), ElemSet::of(Elem::INT64));
    let (a, b) = (tensor(&mut dims, float, &shape), tensor(&mut dims, int, &shape));
    let mut converter = Converter::default();
    let [a, b] = [a, b].map(|ty| converter.convert(&ty, &universe, &dims).shape.unwrap());
    assert!(Arc::ptr_eq(&a, &b));
}
