//! Nodes, lattices and storage.

use std::sync::Arc;

use typeloom as bb;
use typeloom::half::{bf16, f16};
use typeloom::types::{AnyTensor, Dtype, ElementStorage, Lattice, Storage, TypeKind, TypeNode, builtins};

use super::Outcome;

/// The published table: static, id, parent, wire hash, denotation, C name.
#[test]
fn every_row_of_the_published_table_is_a_node() {
    use builtins::*;
    let tensor = |name: &str| (format!("ai.bytesandbrains.tensor.{name}"), format!("bb_tensor_{name}_t"));
    let tensors: [(&TypeNode, u64, &str); 13] = [
        (&TYPE_TENSOR_F32, 0x101, "f32"),
        (&TYPE_TENSOR_F64, 0x102, "f64"),
        (&TYPE_TENSOR_F16, 0x103, "f16"),
        (&TYPE_TENSOR_U8, 0x104, "u8"),
        (&TYPE_TENSOR_I32, 0x105, "i32"),
        (&TYPE_TENSOR_BOOL, 0x106, "bool"),
        (&TYPE_TENSOR_BF16, 0x107, "bf16"),
        (&TYPE_TENSOR_I8, 0x108, "i8"),
        (&TYPE_TENSOR_I16, 0x109, "i16"),
        (&TYPE_TENSOR_I64, 0x10A, "i64"),
        (&TYPE_TENSOR_U16, 0x10B, "u16"),
        (&TYPE_TENSOR_U32, 0x10C, "u32"),
        (&TYPE_TENSOR_U64, 0x10D, "u64"),
    ];
    for (node, wire_hash, name) in tensors {
        let (denotation, ffi_name) = tensor(name);
        let found = (node.id, node.parent, node.wire_hash, node.denotation, node.ffi_name, node.kind);
        let id = format!("tensor.{name}");
        let row = (&*id, Some("tensor"), wire_hash, &*denotation, &*ffi_name, TypeKind::Concrete);
        assert_eq!(found, row);
        assert_eq!(lookup_by_id(&id), Some(node));
        assert_eq!(lookup_denotation(&denotation), Some(node));
    }
    let scalars: [(&TypeNode, u64, &str); 5] = [
        (&TYPE_SCALAR_F32, 0x201, "f32"),
        (&TYPE_SCALAR_F64, 0x202, "f64"),
        (&TYPE_SCALAR_F16, 0x203, "f16"),
        (&TYPE_SCALAR_U8, 0x204, "u8"),
        (&TYPE_SCALAR_I32, 0x205, "i32"),
    ];
    for (node, wire_hash, name) in scalars {
        let found = (node.id, node.parent, node.wire_hash, node.denotation, node.ffi_name);
        let (id, denotation, ffi_name) =
            (format!("scalar.{name}"), format!("bb.{name}"), format!("bb_{name}_t"));
        assert_eq!(found, (&*id, Some("scalar"), wire_hash, &*denotation, &*ffi_name));
    }
    let leaves: [(&TypeNode, &str, u64, &str); 8] = [
        (&TYPE_PEER_ID, "peer_id", 0x10, "bb.peer_id"),
        (&TYPE_PEER_ID_VEC, "peer_id_vec", 0x12, "bb.peer_id_vec"),
        (&TYPE_TRIGGER, "trigger", 0x0A, "bb.trigger"),
        (&TYPE_BYTES, "bytes", 0x0B, "ai.bytesandbrains.opaque"),
        (&TYPE_WIRE_REQ_ID, "wire_req_id", 0x11, "bb.wire_req_id"),
        (&TYPE_MULTIADDRESS, "multiaddress", 0x301, "ai.bytesandbrains.multiaddress"),
        (&TYPE_COMPOSITE, "composite", 0x302, "ai.bytesandbrains.composite"),
        (&TYPE_ADDRESS_VEC, "address_vec", 0x303, "ai.bytesandbrains.address_vec"),
    ];
    for (node, id, wire_hash, denotation) in leaves {
        let ffi_name = format!("bb_{id}_t");
        let found = (node.id, node.parent, node.wire_hash, node.denotation, node.ffi_name);
        assert_eq!(found, (id, Some("any"), wire_hash, denotation, &*ffi_name));
        assert!(node.is_concrete() && node.is_subtype_of(&TYPE_ANY));
    }
    for (node, id, parent) in [
        (&TYPE_ANY, "any", None),
        (&TYPE_TENSOR, "tensor", Some("any")),
        (&TYPE_SCALAR, "scalar", Some("any")),
    ] {
        assert_eq!((node.id, node.parent, node.wire_hash), (id, parent, 0));
        assert!(node.is_abstract() && node.denotation.is_empty() && node.ffi_name.is_empty());
    }
}

/// The element types of ONNX beyond the table are leaves under `tensor`.
#[test]
fn other_element_types_of_onnx_are_leaves() {
    let others = ["string", "complex64", "complex128", "float8e4m3fn", "uint4", "int4", "int2", "float4e2m1"];
    for name in others {
        let dtype = Dtype::from_name(name).unwrap_or_else(|| panic!("{name}"));
        let node = dtype.type_node();
        assert_eq!(node.id, format!("tensor.{name}"));
        assert!(node.is_concrete() && node.is_subtype_of(&builtins::TYPE_TENSOR));
        assert_eq!(Dtype::from_onnx_number(dtype.onnx_number()), Some(dtype));
    }
    let sizes = [
        ("f32", 4),
        ("f64", 8),
        ("f16", 2),
        ("bf16", 2),
        ("u8", 1),
        ("i64", 8),
        ("bool", 1),
        ("complex128", 16),
    ];
    for (name, size) in sizes {
        assert_eq!(Dtype::from_name(name).and_then(Dtype::size_bytes), Some(size), "{name}");
    }
    let numbers = [("f32", 1), ("u8", 2), ("i64", 7), ("string", 8), ("bool", 9), ("f16", 10), ("bf16", 16)];
    for (name, number) in numbers {
        assert_eq!(Dtype::from_name(name).map(Dtype::onnx_number), Some(number), "{name}");
    }
    assert_eq!((Dtype::from_onnx_number(0), Dtype::from_onnx_number(99)), (None, None));
}

/// A trait whose associated type is unsized, as those of the contracts.
trait Holds {
    type Stored: ?Sized + Storage;
}

struct Slices;

impl Holds for Slices {
    type Stored = [bf16];
}

#[test]
fn rust_types_reach_the_leaf_of_their_elements() {
    use builtins::*;
    macro_rules! reaches {
        ($($element:ty => $node:ident;)*) => {$(
            for ty in [
                <[$element] as Storage>::TYPE,
                <Vec<$element> as Storage>::TYPE,
                <Box<[$element]> as Storage>::TYPE,
                <[$element; 7] as Storage>::TYPE,
                <Arc<[$element]> as Storage>::TYPE,
            ] {
                assert_eq!(ty, &$node);
            }
        )*};
    }
    reaches! {
        f32 => TYPE_TENSOR_F32; f64 => TYPE_TENSOR_F64; f16 => TYPE_TENSOR_F16;
        bf16 => TYPE_TENSOR_BF16; u8 => TYPE_TENSOR_U8; u16 => TYPE_TENSOR_U16;
        u32 => TYPE_TENSOR_U32; u64 => TYPE_TENSOR_U64; i8 => TYPE_TENSOR_I8; i16 => TYPE_TENSOR_I16;
        i32 => TYPE_TENSOR_I32; i64 => TYPE_TENSOR_I64; bool => TYPE_TENSOR_BOOL;
    }
    let scalars = [
        (<f32 as Storage>::TYPE, &TYPE_SCALAR_F32),
        (<f64 as Storage>::TYPE, &TYPE_SCALAR_F64),
        (<f16 as Storage>::TYPE, &TYPE_SCALAR_F16),
        (<u8 as Storage>::TYPE, &TYPE_SCALAR_U8),
        (<i32 as Storage>::TYPE, &TYPE_SCALAR_I32),
    ];
    assert!(scalars.iter().all(|(found, node)| found == node));
    assert_eq!(<AnyTensor as Storage>::TYPE, &TYPE_TENSOR);
    assert_eq!(<<Slices as Holds>::Stored as Storage>::TYPE, &TYPE_TENSOR_BF16);
}

#[test]
fn a_tensor_is_packed_little_endian_and_agrees_with_its_type() -> Outcome {
    let tensor = AnyTensor::from_slice(&[2], &[0x0102_0304_i32, -1])?;
    assert_eq!(tensor.bytes(), [4, 3, 2, 1, 255, 255, 255, 255]);
    assert_eq!(AnyTensor::from_le_bytes(Dtype::I32, &[2], tensor.bytes())?, tensor);
    assert_eq!(tensor.type_node(), &builtins::TYPE_TENSOR_I32);
    assert!(AnyTensor::from_slice(&[3], &[1.0_f32]).is_err());
    assert!(AnyTensor::from_le_bytes(Dtype::I64, &[2], &[0; 9]).is_err());
    assert!(AnyTensor::from_le_bytes(Dtype::Bool, &[1], &[2]).is_err());
    assert_eq!(AnyTensor::from_vec(&[2, 1], vec![1_u16, 2])?.to_vec::<u16>()?, [1, 2]);
    let text = serde_json::to_string(&tensor)?;
    assert_eq!(serde_json::from_str::<AnyTensor>(&text)?, tensor);
    // The views are aligned also for bytes at an odd address.
    let bytes: Vec<u8> = [&[0_u8][..], tensor.bytes()].concat();
    assert_eq!(AnyTensor::from_le_bytes(Dtype::I32, &[2], &bytes[1..])?.as_slice::<i32>()?[1], -1);
    Ok(())
}

#[test]
fn the_default_lattice_answers_the_published_queries() {
    let lattice = Lattice::get();
    assert!(lattice.is_subtype("tensor.u16", "tensor") && lattice.is_subtype("tensor", "any"));
    assert!(!lattice.is_subtype("tensor", "tensor.u16") && !lattice.is_subtype("scalar.u8", "tensor"));
    assert!(lattice.lookup("peer_id_vec").is_some() && lattice.lookup("no such node").is_none());
    assert!(lattice.nodes().filter(|node| node.is_subtype_of("tensor") && node.is_concrete()).count() >= 28);
    let number = |id: &str| lattice.number_of(id).expect("the lattice has it");
    assert_eq!(lattice.join(number("tensor.u8"), number("tensor.f64")), number("tensor"));
    assert_eq!(lattice.join(number("tensor.u8"), number("scalar.u8")), number("any"));
    assert_eq!(lattice.meet(number("tensor"), number("tensor.u8")), Some(number("tensor.u8")));
    assert_eq!(lattice.meet(number("bytes"), number("tensor")), None);
    assert_eq!(bb::lookup_by_id("bytes"), Some(&builtins::TYPE_BYTES));
    assert_eq!(bb::lookup_denotation(""), None);
}

const fn leaf(id: &'static str, parent: &'static str) -> TypeNode {
    TypeNode {
        id,
        parent: Some(parent),
        kind: TypeKind::Concrete,
        ffi_name: "",
        wire_hash: 0,
        denotation: "",
    }
}

/// All violations of one set, in one error.
#[test]
fn a_lattice_lists_every_violation() {
    static SAME_ID: TypeNode = TypeNode { denotation: "org.example.other", ..leaf("tensor.u8", "tensor") };
    static ORPHAN: TypeNode = leaf("audit.orphan", "audit.absent");
    static ONE: TypeNode = TypeNode { kind: TypeKind::Abstract, ..leaf("audit.one", "audit.two") };
    static TWO: TypeNode = TypeNode { kind: TypeKind::Abstract, ..leaf("audit.two", "audit.one") };
    static BELOW_LEAF: TypeNode = leaf("audit.below", "tensor.f32");
    static SAME_TAG: TypeNode = TypeNode { wire_hash: 0x10, ..leaf("audit.tag", "any") };
    static SAME_TEXT: TypeNode = TypeNode { denotation: "bb.peer_id", ..leaf("audit.text", "any") };
    let nodes = [&SAME_ID, &ORPHAN, &ONE, &TWO, &BELOW_LEAF, &SAME_TAG, &SAME_TEXT];
    let build = |nodes: &mut dyn Iterator<Item = &'static TypeNode>| {
        let mut lattice = Lattice::builder().with_registered();
        for node in nodes {
            lattice = lattice.with_node(node);
        }
        lattice.build()
    };
    let error = build(&mut nodes.into_iter()).expect_err("it is no lattice");
    assert_eq!(error.violations().len(), nodes.len() - 1, "{error}");
    let text = error.to_string();
    for part in [
        "id `tensor.u8` is declared 2 times, with different contents",
        "`audit.orphan` has the unknown parent `audit.absent`",
        "the parents of `audit.one` -> `audit.two` -> `audit.one` form a cycle",
        "`audit.below` is declared under `tensor.f32`, which is concrete",
        "wire hash 0x10 belongs to `audit.tag` and `peer_id`",
        "denotation `bb.peer_id` belongs to `audit.text` and `peer_id`",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let reversed = build(&mut nodes.into_iter().rev()).expect_err("it is no lattice");
    assert_eq!(reversed.to_string(), text);
    // The content of a built-in node a second time is no violation.
    static AGAIN: TypeNode = builtins::TYPE_PEER_ID;
    assert!(Lattice::builder().with_registered().with_node(&AGAIN).build().is_ok());
}

#[test]
fn the_tag_of_a_leaf_follows_from_its_content() {
    static ONE: TypeNode = leaf("audit.derived", "any");
    static OTHER: TypeNode = TypeNode { denotation: "org.example.derived", ..leaf("audit.derived", "any") };
    assert_ne!(ONE.wire_tag(), 0);
    assert_ne!(ONE.wire_tag(), OTHER.wire_tag());
    let lattice = Lattice::builder().with_registered().with_node(&ONE).build().expect("it is a lattice");
    assert_eq!(lattice.lookup_wire_hash(ONE.wire_tag()).map(|node| node.id), Some("audit.derived"));
    assert_eq!(lattice.lookup_wire_hash(0x10D).map(|node| node.id), Some("tensor.u64"));
}

/// An element type of a program, registered with the default lattice.
pub(super) static TYPE_AUDIT_P16: TypeNode = TypeNode {
    id: "tensor.audit_p16",
    parent: Some("tensor"),
    kind: TypeKind::Concrete,
    ffi_name: "audit_p16_t",
    wire_hash: 0,
    denotation: "org.example.audit.p16",
};
bb::register_type_node!(TYPE_AUDIT_P16);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct P16(pub(super) u16);

impl ElementStorage for P16 {
    const SLICE: &'static TypeNode = &TYPE_AUDIT_P16;
}

#[test]
fn a_registered_leaf_is_a_node_like_the_built_in_ones() -> Outcome {
    assert_eq!(bb::lookup_by_id("tensor.audit_p16"), Some(&TYPE_AUDIT_P16));
    assert_eq!(bb::lookup_denotation("org.example.audit.p16"), Some(&TYPE_AUDIT_P16));
    assert!(TYPE_AUDIT_P16.is_subtype_of(&builtins::TYPE_TENSOR));
    assert_eq!(<Vec<P16> as Storage>::TYPE, <[P16] as Storage>::TYPE);
    let header = typeloom::interface::c_header("audit", &[])?;
    assert!(header.contains("audit_p16_t") && header.contains("bb_wire_req_id_t"), "{header}");
    Ok(())
}
