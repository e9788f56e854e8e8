//! Leaves under `tensor` for the ONNX element types beyond the documented thirteen.
//!
//! They use the public registration mechanism, and their wire tags are derived from their content like those
//! of any other crate. The id of a leaf is `tensor.` followed by ONNX's name.

use super::nodes;

nodes! {
    /// Tensors of UTF-8 strings.
    TYPE_TENSOR_STRING = "tensor.string", Some("tensor"), Concrete, "bb_tensor_string_t", 0, "ai.bytesandbrains.tensor.string";
    /// Tensors of complex numbers of two 32-bit floats.
    TYPE_TENSOR_COMPLEX64 = "tensor.complex64", Some("tensor"), Concrete, "bb_tensor_complex64_t", 0, "ai.bytesandbrains.tensor.complex64";
    /// Tensors of complex numbers of two 64-bit floats.
    TYPE_TENSOR_COMPLEX128 = "tensor.complex128", Some("tensor"), Concrete, "bb_tensor_complex128_t", 0, "ai.bytesandbrains.tensor.complex128";
    /// Tensors of 8-bit floats: 4 bits of exponent, 3 of mantissa, finite, with NaN.
    TYPE_TENSOR_FLOAT8E4M3FN = "tensor.float8e4m3fn", Some("tensor"), Concrete, "bb_tensor_float8e4m3fn_t", 0, "ai.bytesandbrains.tensor.float8e4m3fn";
    /// Tensors of 8-bit floats: 4 bits of exponent, 3 of mantissa, finite, one NaN, no negative zero.
    TYPE_TENSOR_FLOAT8E4M3FNUZ = "tensor.float8e4m3fnuz", Some("tensor"), Concrete, "bb_tensor_float8e4m3fnuz_t", 0, "ai.bytesandbrains.tensor.float8e4m3fnuz";
    /// Tensors of 8-bit floats: 5 bits of exponent, 2 of mantissa, with infinities.
    TYPE_TENSOR_FLOAT8E5M2 = "tensor.float8e5m2", Some("tensor"), Concrete, "bb_tensor_float8e5m2_t", 0, "ai.bytesandbrains.tensor.float8e5m2";
    /// Tensors of 8-bit floats: 5 bits of exponent, 2 of mantissa, finite, one NaN, no negative zero.
    TYPE_TENSOR_FLOAT8E5M2FNUZ = "tensor.float8e5m2fnuz", Some("tensor"), Concrete, "bb_tensor_float8e5m2fnuz_t", 0, "ai.bytesandbrains.tensor.float8e5m2fnuz";
    /// Tensors of 8-bit powers of two, the scales of micro-scaled formats.
    TYPE_TENSOR_FLOAT8E8M0 = "tensor.float8e8m0", Some("tensor"), Concrete, "bb_tensor_float8e8m0_t", 0, "ai.bytesandbrains.tensor.float8e8m0";
    /// Tensors of 6-bit floats: 2 bits of exponent, 3 of mantissa.
    TYPE_TENSOR_FLOAT6E2M3 = "tensor.float6e2m3", Some("tensor"), Concrete, "bb_tensor_float6e2m3_t", 0, "ai.bytesandbrains.tensor.float6e2m3";
    /// Tensors of 6-bit floats: 3 bits of exponent, 2 of mantissa.
    TYPE_TENSOR_FLOAT6E3M2 = "tensor.float6e3m2", Some("tensor"), Concrete, "bb_tensor_float6e3m2_t", 0, "ai.bytesandbrains.tensor.float6e3m2";
    /// Tensors of 4-bit floats: 2 bits of exponent, 1 of mantissa.
    TYPE_TENSOR_FLOAT4E2M1 = "tensor.float4e2m1", Some("tensor"), Concrete, "bb_tensor_float4e2m1_t", 0, "ai.bytesandbrains.tensor.float4e2m1";
    /// Tensors of 4-bit unsigned integers.
    TYPE_TENSOR_UINT4 = "tensor.uint4", Some("tensor"), Concrete, "bb_tensor_uint4_t", 0, "ai.bytesandbrains.tensor.uint4";
    /// Tensors of 4-bit signed integers.
    TYPE_TENSOR_INT4 = "tensor.int4", Some("tensor"), Concrete, "bb_tensor_int4_t", 0, "ai.bytesandbrains.tensor.int4";
    /// Tensors of 2-bit unsigned integers.
    TYPE_TENSOR_UINT2 = "tensor.uint2", Some("tensor"), Concrete, "bb_tensor_uint2_t", 0, "ai.bytesandbrains.tensor.uint2";
    /// Tensors of 2-bit signed integers.
    TYPE_TENSOR_INT2 = "tensor.int2", Some("tensor"), Concrete, "bb_tensor_int2_t", 0, "ai.bytesandbrains.tensor.int2";
}
