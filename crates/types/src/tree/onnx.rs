//! Leaves under `tensor` for the ONNX element types beyond the documented thirteen.
//!
//! They use the public registration mechanism, and their wire tags are derived from their content like those
//! of any other crate. The id of a leaf is `tensor.` followed by ONNX's name.

use super::nodes;

macro_rules! leaves {
    ($($(#[$doc:meta])* $leaf:ident $name:literal;)*) => {
        nodes! {
            $(
                $(#[$doc])*
                $leaf = concat!("tensor.", $name), Some("tensor"), Concrete, concat!("bb_tensor_", $name, "_t"), 0,
                concat!("ai.bytesandbrains.tensor.", $name);
            )*
        }
    };
}

leaves! {
    /// Tensors of UTF-8 strings.
    TYPE_TENSOR_STRING "string";
    /// Tensors of complex numbers of two 32-bit floats.
    TYPE_TENSOR_COMPLEX64 "complex64";
    /// Tensors of complex numbers of two 64-bit floats.
    TYPE_TENSOR_COMPLEX128 "complex128";
    /// Tensors of 8-bit floats: 4 bits of exponent, 3 of mantissa, finite, with NaN.
    TYPE_TENSOR_FLOAT8E4M3FN "float8e4m3fn";
    /// Tensors of 8-bit floats: 4 bits of exponent, 3 of mantissa, finite, one NaN, no negative zero.
    TYPE_TENSOR_FLOAT8E4M3FNUZ "float8e4m3fnuz";
    /// Tensors of 8-bit floats: 5 bits of exponent, 2 of mantissa, with infinities.
    TYPE_TENSOR_FLOAT8E5M2 "float8e5m2";
    /// Tensors of 8-bit floats: 5 bits of exponent, 2 of mantissa, finite, one NaN, no negative zero.
    TYPE_TENSOR_FLOAT8E5M2FNUZ "float8e5m2fnuz";
    /// Tensors of 8-bit powers of two, the scales of micro-scaled formats.
    TYPE_TENSOR_FLOAT8E8M0 "float8e8m0";
    /// Tensors of 6-bit floats: 2 bits of exponent, 3 of mantissa.
    TYPE_TENSOR_FLOAT6E2M3 "float6e2m3";
    /// Tensors of 6-bit floats: 3 bits of exponent, 2 of mantissa.
    TYPE_TENSOR_FLOAT6E3M2 "float6e3m2";
    /// Tensors of 4-bit floats: 2 bits of exponent, 1 of mantissa.
    TYPE_TENSOR_FLOAT4E2M1 "float4e2m1";
    /// Tensors of 4-bit unsigned integers.
    TYPE_TENSOR_UINT4 "uint4";
    /// Tensors of 4-bit signed integers.
    TYPE_TENSOR_INT4 "int4";
    /// Tensors of 2-bit unsigned integers.
    TYPE_TENSOR_UINT2 "uint2";
    /// Tensors of 2-bit signed integers.
    TYPE_TENSOR_INT2 "int2";
}
