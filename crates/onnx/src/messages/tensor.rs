//! Tensors, dense and sparse.

use bytes::Bytes;

use super::macros::{enumerations, messages};
use super::{StringStringEntryProto, Text};

messages! {
    /// A tensor's element type, dims and elements.
    pub struct TensorProto {
        /// The extents; none for a scalar.
        pub dims: Vec<i64> = repeated int64 1,
        /// The element type, by the number of a [`Dtype`](typeloom_types::dtype::Dtype); 0 is undefined.
        pub data_type: Option<i32> = optional int32 2,
        /// The position within a larger tensor.
        pub segment: Option<tensor_proto::Segment> = optional message 3,
        /// Elements of float and complex64.
        pub float_data: Vec<f32> = packed float 4,
        /// Elements of the integer types up to 32 bits, of bool and of the float types of 16 bits and less,
        /// as bits.
        pub int32_data: Vec<i32> = packed int32 5,
        /// Elements of string.
        pub string_data: Vec<Bytes> = repeated bytes 6,
        /// Elements of int64.
        pub int64_data: Vec<i64> = packed int64 7,
        pub name: Text = optional string 8,
        /// Elements of any type but string, little-endian, in row-major order.
        pub raw_data: Option<Bytes> = optional bytes 9,
        /// Elements of double and complex128.
        pub double_data: Vec<f64> = packed double 10,
        /// Elements of uint32 and uint64.
        pub uint64_data: Vec<u64> = packed uint64 11,
        pub doc_string: Text = optional string 12,
        /// Entries `location`, `offset`, `length` and `checksum` of elements in another file.
        pub external_data: Vec<StringStringEntryProto> = repeated message 13,
        /// The location of the elements.
        pub data_location: Option<i32> = enumeration (tensor_proto::DataLocation) 14,
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 16,
    }

    /// A sparse tensor in coordinate form.
    pub struct SparseTensorProto {
        /// The non-default elements, one-dimensional. The name is that of the sparse tensor.
        pub values: Option<TensorProto> = optional message 1,
        /// Positions of the elements: linear indices, or a row of coordinates each.
        pub indices: Option<TensorProto> = optional message 2,
        /// The extents of the dense tensor.
        pub dims: Vec<i64> = repeated int64 3,
    }
}

/// Types of [`TensorProto`].
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
        /// Location of a tensor's elements.
        pub enum DataLocation {
            /// In the message.
            Default = 0 "DEFAULT",
            /// In the file of the entry `location` in `external_data`.
            External = 1 "EXTERNAL",
        }
    }
}
