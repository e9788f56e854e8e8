//! The type node of each Rust type.

use std::sync::Arc;

use half::{bf16, f16};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::element::Element;
use typeloom_types::lattice::Lattice;
use typeloom_types::storage::{ElementStorage, Storage};
use typeloom_types::tree::{TypeKind, TypeNode};

fn id<T: ?Sized + Storage>() -> &'static str {
    T::TYPE.id
}

#[test]
fn every_owner_of_a_slice_stores_the_leaf_of_its_elements() {
    fn check<T: Element>(expected: &str) {
        assert_eq!(id::<[T]>(), expected);
        assert_eq!(id::<Vec<T>>(), expected);
        assert_eq!(id::<Box<[T]>>(), expected);
        assert_eq!(id::<Arc<[T]>>(), expected);
        assert_eq!(id::<[T; 3]>(), expected);
        assert_eq!(T::DTYPE.type_node().id, expected);
    }
    check::<f32>("tensor.f32");
    check::<f64>("tensor.f64");
    check::<f16>("tensor.f16");
    check::<bf16>("tensor.bf16");
    check::<u8>("tensor.u8");
    check::<u16>("tensor.u16");
    check::<u32>("tensor.u32");
    check::<u64>("tensor.u64");
    check::<i8>("tensor.i8");
    check::<i16>("tensor.i16");
    check::<i32>("tensor.i32");
    check::<i64>("tensor.i64");
    check::<bool>("tensor.bool");
}

#[test]
fn single_numbers_are_scalars_and_any_tensor_is_abstract() {
    let ids = [id::<f32>(), id::<f64>(), id::<f16>(), id::<u8>(), id::<i32>()];
    assert_eq!(ids, ["scalar.f32", "scalar.f64", "scalar.f16", "scalar.u8", "scalar.i32"]);
    assert_eq!(id::<AnyTensor>(), "tensor");
    assert!(AnyTensor::TYPE.is_abstract());
}

struct Posit16;

static TYPE_TENSOR_POSIT16: TypeNode = TypeNode {
    id: "tensor.posit16",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "",
    wire_hash: 0,
    denotation: "org.example.tensor.posit16",
};

impl ElementStorage for Posit16 {
    const SLICE: &'static TypeNode = &TYPE_TENSOR_POSIT16;
}

#[test]
fn a_custom_element_type_has_slices_and_vectors() {
    assert_eq!(id::<[Posit16]>(), "tensor.posit16");
    assert_eq!(id::<Vec<Posit16>>(), "tensor.posit16");
    let lattice = Lattice::builder().with_registered().with_node(&TYPE_TENSOR_POSIT16).build().unwrap();
    assert!(lattice.is_subtype(<[Posit16]>::TYPE, AnyTensor::TYPE));
    assert_eq!(lattice.lookup("tensor.posit16").unwrap().as_static(), Some(&TYPE_TENSOR_POSIT16));
}
