//! Tensors, dense and sparse.

use bytes::Bytes;

use super::StringStringEntryProto;
use super::macros::{enumerations, messages};

messages! {
    /// A tensor's element type, dims and elements.
    pub struct TensorProto {
        /// The extents; none for a scalar.
        pub dims: Vec<i64> = repeated int64 1,
        /// The element type, a [`tensor_proto::DataType`].
        pub data_type: Option<i32> = optional int32 2,
        /// Which part of a larger tensor this is.
        pub segment: Option<tensor_proto::Segment> = optional message 3,
        /// Elements of float and complex64.
        pub float_data: Vec<f32> = packed float 4,
        /// Elements of the integer types up to 32 bits, of bool and of the float types of 16 bits and less, as bits.
        pub int32_data: Vec<i32> = packed int32 5,
        /// Elements of string.
        pub string_data: Vec<Bytes> = repeated bytes 6,
        /// Elements of int64.
        pub int64_data: Vec<i64> = packed int64 7,
        /// The tensor's name.
        pub name: Option<String> = optional string 8,
        /// Elements of any type but string, little-endian, in row-major order.
        pub raw_data: Option<Bytes> = optional bytes 9,
        /// Elements of double and complex128.
        pub double_data: Vec<f64> = packed double 10,
        /// Elements of uint32 and uint64.
        pub uint64_data: Vec<u64> = packed uint64 11,
        /// A description for people.
        pub doc_string: Option<String> = optional string 12,
        /// Where the elements are, if not in this message: `location`, `offset`, `length`, `checksum`.
        pub external_data: Vec<StringStringEntryProto> = repeated message 13,
        /// Whether the elements are in this message.
        pub data_location: Option<i32> = enumeration (tensor_proto::DataLocation) 14,
        /// Named facts, by key.
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 16,
    }

    /// A sparse tensor in coordinate form.
    pub struct SparseTensorProto {
        /// The elements that differ from the default, one-dimensional; its name is the sparse tensor's.
        pub values: Option<TensorProto> = optional message 1,
        /// Where they are: linear indices, or one row of coordinates each.
        pub indices: Option<TensorProto> = optional message 2,
        /// The extents of the dense tensor.
        pub dims: Vec<i64> = repeated int64 3,
    }
}

/// What belongs to [`TensorProto`].
pub mod tensor_proto {
    use super::{enumerations, messages};

    messages! {
        /// A range of elements of a larger tensor.
        pub struct Segment {
            /// The first element.
            pub begin: Option<i64> = optional int64 1,
            /// One past the last element.
            pub end: Option<i64> = optional int64 2,
        }
    }

    enumerations! {
        /// An element type.
        pub enum DataType {
            /// Not said.
            Undefined = 0 "UNDEFINED",
            /// IEEE 754 binary32.
            Float = 1 "FLOAT",
            /// Unsigned, 8 bits.
            Uint8 = 2 "UINT8",
            /// Signed, 8 bits.
            Int8 = 3 "INT8",
            /// Unsigned, 16 bits.
            Uint16 = 4 "UINT16",
            /// Signed, 16 bits.
            Int16 = 5 "INT16",
            /// Signed, 32 bits.
            Int32 = 6 "INT32",
            /// Signed, 64 bits.
            Int64 = 7 "INT64",
            /// UTF-8 text.
            String = 8 "STRING",
            /// True or false, one byte.
            Bool = 9 "BOOL",
            /// IEEE 754 binary16.
            Float16 = 10 "FLOAT16",
            /// IEEE 754 binary64.
            Double = 11 "DOUBLE",
            /// Unsigned, 32 bits.
            Uint32 = 12 "UINT32",
            /// Unsigned, 64 bits.
            Uint64 = 13 "UINT64",
            /// Two floats.
            Complex64 = 14 "COMPLEX64",
            /// Two doubles.
            Complex128 = 15 "COMPLEX128",
            /// The upper half of a float.
            Bfloat16 = 16 "BFLOAT16",
            /// 4 exponent bits, 3 mantissa bits, no infinities.
            Float8e4m3fn = 17 "FLOAT8E4M3FN",
            /// 4 exponent bits, 3 mantissa bits, no infinities, no negative zero.
            Float8e4m3fnuz = 18 "FLOAT8E4M3FNUZ",
            /// 5 exponent bits, 2 mantissa bits.
            Float8e5m2 = 19 "FLOAT8E5M2",
            /// 5 exponent bits, 2 mantissa bits, no infinities, no negative zero.
            Float8e5m2fnuz = 20 "FLOAT8E5M2FNUZ",
            /// Unsigned, 4 bits, two to a byte.
            Uint4 = 21 "UINT4",
            /// Signed, 4 bits, two to a byte.
            Int4 = 22 "INT4",
            /// 2 exponent bits, 1 mantissa bit, two to a byte.
            Float4e2m1 = 23 "FLOAT4E2M1",
            /// A power of two, 8 exponent bits.
            Float8e8m0 = 24 "FLOAT8E8M0",
            /// Unsigned, 2 bits, four to a byte.
            Uint2 = 25 "UINT2",
            /// Signed, 2 bits, four to a byte.
            Int2 = 26 "INT2",
            /// 2 exponent bits, 3 mantissa bits.
            Float6e2m3 = 27 "FLOAT6E2M3",
            /// 3 exponent bits, 2 mantissa bits.
            Float6e3m2 = 28 "FLOAT6E3M2",
        }

        /// Where a tensor's elements are.
        pub enum DataLocation {
            /// In the message.
            Default = 0 "DEFAULT",
            /// In the file that `external_data` names.
            External = 1 "EXTERNAL",
        }
    }
}
