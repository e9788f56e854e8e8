//! The documented tree: `any`, `tensor` and `scalar` with their leaves, and leaves for other values that
//! components exchange.
//!
//! Ids, wire tags, denotations and the names of C structures are published and never change; a test compares
//! them with the published table. [`onnx`](super::onnx) adds the remaining ONNX element types.

use super::nodes;

nodes! {
    /// The root of the tree. It denotes an unknown type and is never the type of a value.
    TYPE_ANY = "any", None, Abstract, "", 0, "";
    /// Any tensor, for any element type.
    TYPE_TENSOR = "tensor", Some("any"), Abstract, "", 0, "";
    /// Any scalar.
    TYPE_SCALAR = "scalar", Some("any"), Abstract, "", 0, "";

    /// Tensors of 32-bit floats.
    TYPE_TENSOR_F32 = "tensor.f32", Some("tensor"), Concrete, "bb_tensor_f32_t", 0x101, "ai.bytesandbrains.tensor.f32";
    /// Tensors of 64-bit floats.
    TYPE_TENSOR_F64 = "tensor.f64", Some("tensor"), Concrete, "bb_tensor_f64_t", 0x102, "ai.bytesandbrains.tensor.f64";
    /// Tensors of IEEE 754 half-precision floats.
    TYPE_TENSOR_F16 = "tensor.f16", Some("tensor"), Concrete, "bb_tensor_f16_t", 0x103, "ai.bytesandbrains.tensor.f16";
    /// Tensors of 8-bit unsigned integers.
    TYPE_TENSOR_U8 = "tensor.u8", Some("tensor"), Concrete, "bb_tensor_u8_t", 0x104, "ai.bytesandbrains.tensor.u8";
    /// Tensors of 32-bit signed integers.
    TYPE_TENSOR_I32 = "tensor.i32", Some("tensor"), Concrete, "bb_tensor_i32_t", 0x105, "ai.bytesandbrains.tensor.i32";
    /// Tensors of truth values.
    TYPE_TENSOR_BOOL = "tensor.bool", Some("tensor"), Concrete, "bb_tensor_bool_t", 0x106, "ai.bytesandbrains.tensor.bool";
    /// Tensors of bfloat16 floats.
    TYPE_TENSOR_BF16 = "tensor.bf16", Some("tensor"), Concrete, "bb_tensor_bf16_t", 0x107, "ai.bytesandbrains.tensor.bf16";
    /// Tensors of 8-bit signed integers.
    TYPE_TENSOR_I8 = "tensor.i8", Some("tensor"), Concrete, "bb_tensor_i8_t", 0x108, "ai.bytesandbrains.tensor.i8";
    /// Tensors of 16-bit signed integers.
    TYPE_TENSOR_I16 = "tensor.i16", Some("tensor"), Concrete, "bb_tensor_i16_t", 0x109, "ai.bytesandbrains.tensor.i16";
    /// Tensors of 64-bit signed integers.
    TYPE_TENSOR_I64 = "tensor.i64", Some("tensor"), Concrete, "bb_tensor_i64_t", 0x10A, "ai.bytesandbrains.tensor.i64";
    /// Tensors of 16-bit unsigned integers.
    TYPE_TENSOR_U16 = "tensor.u16", Some("tensor"), Concrete, "bb_tensor_u16_t", 0x10B, "ai.bytesandbrains.tensor.u16";
    /// Tensors of 32-bit unsigned integers.
    TYPE_TENSOR_U32 = "tensor.u32", Some("tensor"), Concrete, "bb_tensor_u32_t", 0x10C, "ai.bytesandbrains.tensor.u32";
    /// Tensors of 64-bit unsigned integers.
    TYPE_TENSOR_U64 = "tensor.u64", Some("tensor"), Concrete, "bb_tensor_u64_t", 0x10D, "ai.bytesandbrains.tensor.u64";

    /// One 32-bit float.
    TYPE_SCALAR_F32 = "scalar.f32", Some("scalar"), Concrete, "bb_f32_t", 0x201, "bb.f32";
    /// One 64-bit float.
    TYPE_SCALAR_F64 = "scalar.f64", Some("scalar"), Concrete, "bb_f64_t", 0x202, "bb.f64";
    /// One IEEE 754 half-precision float.
    TYPE_SCALAR_F16 = "scalar.f16", Some("scalar"), Concrete, "bb_f16_t", 0x203, "bb.f16";
    /// One 8-bit unsigned integer.
    TYPE_SCALAR_U8 = "scalar.u8", Some("scalar"), Concrete, "bb_u8_t", 0x204, "bb.u8";
    /// One 32-bit signed integer.
    TYPE_SCALAR_I32 = "scalar.i32", Some("scalar"), Concrete, "bb_i32_t", 0x205, "bb.i32";

    /// A signal without a value.
    TYPE_TRIGGER = "trigger", Some("any"), Concrete, "bb_trigger_t", 0x0A, "bb.trigger";
    /// Opaque bytes. A type in its own right, not a placeholder for an unknown type.
    TYPE_BYTES = "bytes", Some("any"), Concrete, "bb_bytes_t", 0x0B, "ai.bytesandbrains.opaque";
    /// The identity of one peer.
    TYPE_PEER_ID = "peer_id", Some("any"), Concrete, "bb_peer_id_t", 0x10, "bb.peer_id";
    /// The handle of a request on the wire.
    TYPE_WIRE_REQ_ID = "wire_req_id", Some("any"), Concrete, "bb_wire_req_id_t", 0x11, "bb.wire_req_id";
    /// A list of peers.
    TYPE_PEER_ID_VEC = "peer_id_vec", Some("any"), Concrete, "bb_peer_id_vec_t", 0x12, "bb.peer_id_vec";
    /// One network address.
    TYPE_MULTIADDRESS = "multiaddress", Some("any"), Concrete, "bb_multiaddress_t", 0x301, "ai.bytesandbrains.multiaddress";
    /// Several values bundled into one.
    TYPE_COMPOSITE = "composite", Some("any"), Concrete, "bb_composite_t", 0x302, "ai.bytesandbrains.composite";
    /// A list of network addresses.
    TYPE_ADDRESS_VEC = "address_vec", Some("any"), Concrete, "bb_address_vec_t", 0x303, "ai.bytesandbrains.address_vec";
}
