//! Values other than tensors, as stored in data files: sequences, maps and optionals.

use bytes::Bytes;

use super::macros::{enumerations, messages};
use super::{SparseTensorProto, TensorProto, Text};

messages! {
    /// A sequence of values of one kind.
    pub struct SequenceProto {
        pub name: Text = optional string 1,
        /// The list in use, a [`sequence_proto::DataType`].
        pub elem_type: Option<i32> = optional int32 2,
        pub tensor_values: Vec<TensorProto> = repeated message 3,
        pub sparse_tensor_values: Vec<SparseTensorProto> = repeated message 4,
        pub sequence_values: Vec<SequenceProto> = repeated message 5,
        pub map_values: Vec<MapProto> = repeated message 6,
        pub optional_values: Vec<OptionalProto> = repeated message 7,
    }

    /// A map: keys and values in corresponding order.
    pub struct MapProto {
        pub name: Text = optional string 1,
        /// The type of the keys, by the number of a [`Dtype`](typeloom_types::dtype::Dtype).
        pub key_type: Option<i32> = optional int32 2,
        /// Integer keys.
        pub keys: Vec<i64> = repeated int64 3,
        /// String keys.
        pub string_keys: Vec<Bytes> = repeated bytes 4,
        pub values: Option<Box<SequenceProto>> = optional message 5,
    }

    /// An optional value.
    pub struct OptionalProto {
        pub name: Text = optional string 1,
        /// The value in use, a [`sequence_proto::DataType`]; `Undefined` for none.
        pub elem_type: Option<i32> = optional int32 2,
        pub tensor_value: Option<TensorProto> = optional message 3,
        pub sparse_tensor_value: Option<Box<SparseTensorProto>> = optional message 4,
        pub sequence_value: Option<Box<SequenceProto>> = optional message 5,
        pub map_value: Option<Box<MapProto>> = optional message 6,
        pub optional_value: Option<Box<OptionalProto>> = optional message 7,
    }
}

/// Types of [`SequenceProto`] and [`OptionalProto`].
pub mod sequence_proto {
    use super::enumerations;

    enumerations! {
        /// The kind of an element or optional value.
        pub enum DataType {
            /// Unspecified, or no value.
            Undefined = 0 "UNDEFINED",
            Tensor = 1 "TENSOR",
            SparseTensor = 2 "SPARSE_TENSOR",
            Sequence = 3 "SEQUENCE",
            Map = 4 "MAP",
            Optional = 5 "OPTIONAL",
        }
    }
}
