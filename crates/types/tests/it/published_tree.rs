//! The published tree: ids, parents, wire tags, denotations and C names never change.

use typeloom_types::dtype::Dtype;
use typeloom_types::lattice::{Lattice, lookup_by_id, lookup_denotation};
use typeloom_types::tree::{TypeKind, TypeNode, builtin, onnx, registered_nodes};

/// id, parent, wire hash, denotation, C name.
type Row = (&'static str, Option<&'static str>, u64, &'static str, &'static str);

#[rustfmt::skip]
const PUBLISHED: &[Row] = &[
    ("any", None, 0, "", ""),
    ("tensor", Some("any"), 0, "", ""),
    ("scalar", Some("any"), 0, "", ""),
    ("tensor.f32", Some("tensor"), 0x101, "ai.bytesandbrains.tensor.f32", "bb_tensor_f32_t"),
    ("tensor.f64", Some("tensor"), 0x102, "ai.bytesandbrains.tensor.f64", "bb_tensor_f64_t"),
    ("tensor.f16", Some("tensor"), 0x103, "ai.bytesandbrains.tensor.f16", "bb_tensor_f16_t"),
    ("tensor.u8", Some("tensor"), 0x104, "ai.bytesandbrains.tensor.u8", "bb_tensor_u8_t"),
    ("tensor.i32", Some("tensor"), 0x105, "ai.bytesandbrains.tensor.i32", "bb_tensor_i32_t"),
    ("tensor.bool", Some("tensor"), 0x106, "ai.bytesandbrains.tensor.bool", "bb_tensor_bool_t"),
    ("tensor.bf16", Some("tensor"), 0x107, "ai.bytesandbrains.tensor.bf16", "bb_tensor_bf16_t"),
    ("tensor.i8", Some("tensor"), 0x108, "ai.bytesandbrains.tensor.i8", "bb_tensor_i8_t"),
    ("tensor.i16", Some("tensor"), 0x109, "ai.bytesandbrains.tensor.i16", "bb_tensor_i16_t"),
    ("tensor.i64", Some("tensor"), 0x10A, "ai.bytesandbrains.tensor.i64", "bb_tensor_i64_t"),
    ("tensor.u16", Some("tensor"), 0x10B, "ai.bytesandbrains.tensor.u16", "bb_tensor_u16_t"),
    ("tensor.u32", Some("tensor"), 0x10C, "ai.bytesandbrains.tensor.u32", "bb_tensor_u32_t"),
    ("tensor.u64", Some("tensor"), 0x10D, "ai.bytesandbrains.tensor.u64", "bb_tensor_u64_t"),
    ("scalar.f32", Some("scalar"), 0x201, "bb.f32", "bb_f32_t"),
    ("scalar.f64", Some("scalar"), 0x202, "bb.f64", "bb_f64_t"),
    ("scalar.f16", Some("scalar"), 0x203, "bb.f16", "bb_f16_t"),
    ("scalar.u8", Some("scalar"), 0x204, "bb.u8", "bb_u8_t"),
    ("scalar.i32", Some("scalar"), 0x205, "bb.i32", "bb_i32_t"),
    ("peer_id", Some("any"), 0x10, "bb.peer_id", "bb_peer_id_t"),
    ("peer_id_vec", Some("any"), 0x12, "bb.peer_id_vec", "bb_peer_id_vec_t"),
    ("trigger", Some("any"), 0x0A, "bb.trigger", "bb_trigger_t"),
    ("bytes", Some("any"), 0x0B, "ai.bytesandbrains.opaque", "bb_bytes_t"),
    ("wire_req_id", Some("any"), 0x11, "bb.wire_req_id", "bb_wire_req_id_t"),
    ("multiaddress", Some("any"), 0x301, "ai.bytesandbrains.multiaddress", "bb_multiaddress_t"),
    ("composite", Some("any"), 0x302, "ai.bytesandbrains.composite", "bb_composite_t"),
    ("address_vec", Some("any"), 0x303, "ai.bytesandbrains.address_vec", "bb_address_vec_t"),
];

#[test]
fn the_published_nodes_are_registered_as_published() {
    for (id, parent, wire_hash, denotation, ffi_name) in PUBLISHED {
        let node = lookup_by_id(id).unwrap_or_else(|| panic!("`{id}` is registered"));
        let kind = if *wire_hash == 0 { TypeKind::Abstract } else { TypeKind::Concrete };
        let expected = TypeNode { id, parent: *parent, kind, ffi_name, wire_hash: *wire_hash, denotation };
        assert_eq!(*node, expected);
    }
}

#[test]
fn the_default_lattice_is_the_published_tree_and_the_onnx_leaves() {
    assert_eq!(Lattice::get().len(), PUBLISHED.len() + 15);
    assert_eq!(registered_nodes().count(), Lattice::get().len());
    for dtype in Dtype::ALL {
        let node = dtype.type_node();
        assert_eq!(node.id, format!("tensor.{}", dtype.name()));
        assert_eq!(node.denotation, format!("ai.bytesandbrains.tensor.{}", dtype.name()));
        assert_eq!(node.parent, Some("tensor"));
        assert!(std::ptr::eq(lookup_by_id(node.id).unwrap(), node), "{dtype} is looked up as its static");
    }
}

#[test]
fn statics_have_the_names_of_their_ids() {
    let named: [(&TypeNode, &str); 10] = [
        (&builtin::TYPE_ANY, "any"),
        (&builtin::TYPE_TENSOR, "tensor"),
        (&builtin::TYPE_TENSOR_F32, "tensor.f32"),
        (&builtin::TYPE_TENSOR_BF16, "tensor.bf16"),
        (&builtin::TYPE_SCALAR, "scalar"),
        (&builtin::TYPE_SCALAR_F32, "scalar.f32"),
        (&builtin::TYPE_PEER_ID, "peer_id"),
        (&builtin::TYPE_BYTES, "bytes"),
        (&onnx::TYPE_TENSOR_STRING, "tensor.string"),
        (&onnx::TYPE_TENSOR_INT4, "tensor.int4"),
    ];
    for (node, id) in named {
        assert_eq!(node.id, id);
    }
}

/// Derived tags are sent on the wire, so the derivation must not change either.
#[test]
fn derived_wire_tags_do_not_change() {
    #[rustfmt::skip]
    let golden: [(&TypeNode, u64); 15] = [
        (&onnx::TYPE_TENSOR_STRING, 0xaadf_770d_95b1_819f),
        (&onnx::TYPE_TENSOR_COMPLEX64, 0xbbb7_c05d_5217_9475),
        (&onnx::TYPE_TENSOR_COMPLEX128, 0xef05_13b1_c7f6_c077),
        (&onnx::TYPE_TENSOR_FLOAT8E4M3FN, 0xc05c_be5e_8a22_b4cf),
        (&onnx::TYPE_TENSOR_FLOAT8E4M3FNUZ, 0xec41_d386_a61a_71f8),
        (&onnx::TYPE_TENSOR_FLOAT8E5M2, 0xabf9_fac8_8527_afc9),
        (&onnx::TYPE_TENSOR_FLOAT8E5M2FNUZ, 0xc5de_aea7_ca07_cb8c),
        (&onnx::TYPE_TENSOR_FLOAT8E8M0, 0x86e1_34a4_0a62_f92e),
        (&onnx::TYPE_TENSOR_FLOAT6E2M3, 0x99fa_9c33_bd87_fec1),
        (&onnx::TYPE_TENSOR_FLOAT6E3M2, 0xb64a_8d93_e9a9_7255),
        (&onnx::TYPE_TENSOR_FLOAT4E2M1, 0x8c18_a878_846f_a969),
        (&onnx::TYPE_TENSOR_UINT4, 0xc53b_c0b9_c41d_9b77),
        (&onnx::TYPE_TENSOR_INT4, 0xe53e_beea_aad4_5687),
        (&onnx::TYPE_TENSOR_UINT2, 0x8f54_cd1b_eee8_2709),
        (&onnx::TYPE_TENSOR_INT2, 0xb261_e028_955f_ee69),
    ];
    for (node, tag) in golden {
        assert_eq!(node.wire_tag(), tag, "{node}");
        assert_eq!(Lattice::get().lookup_wire_hash(tag).unwrap().as_static(), Some(node));
    }
}

#[test]
fn a_node_is_found_by_each_of_its_names() {
    let lattice = Lattice::get();
    for node in lattice.nodes() {
        assert_eq!(lattice.lookup(node.id).unwrap().no, node.no);
        if !node.denotation.is_empty() {
            assert_eq!(lattice.lookup_denotation(node.denotation).unwrap().no, node.no);
            assert_eq!(lookup_denotation(node.denotation), node.as_static());
        }
        if node.wire_tag != 0 {
            assert_eq!(lattice.lookup_wire_hash(node.wire_tag).unwrap().no, node.no);
        }
        assert_eq!(node.is_concrete(), node.wire_tag != 0);
    }
    assert!(lattice.lookup("").is_none());
    assert!(lattice.lookup_denotation("").is_none());
    assert!(lattice.lookup_wire_hash(0).is_none());
    assert!(lookup_by_id("tensor.f33").is_none());
}

#[test]
fn statics_answer_queries_in_the_default_lattice() {
    assert!(builtin::TYPE_TENSOR_F32.is_subtype_of(&builtin::TYPE_TENSOR));
    assert!(builtin::TYPE_TENSOR_F32.is_subtype_of(&builtin::TYPE_ANY));
    assert!(!builtin::TYPE_TENSOR_F32.is_subtype_of(&builtin::TYPE_TENSOR_F64));
    assert!(!builtin::TYPE_TENSOR_F32.is_subtype_of(&builtin::TYPE_SCALAR_F32));
    assert!(!builtin::TYPE_TENSOR.is_subtype_of(&builtin::TYPE_TENSOR_F32));
    assert!(!builtin::TYPE_ANY.is_subtype_of(&builtin::TYPE_BYTES));
    assert!(builtin::TYPE_TENSOR.is_abstract() && builtin::TYPE_BYTES.is_concrete());
    assert!(Lattice::get().is_subtype(&builtin::TYPE_PEER_ID, "any"));
}
