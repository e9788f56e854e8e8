//! Values that are not tensors: sequences, maps and optionals, as stored in data files.

use bytes::Bytes;

use super::macros::{enumerations, messages};
use super::{SparseTensorProto, TensorProto};

messages! {
    /// A sequence of values of one kind.
    pub struct SequenceProto {
        /// The value's name.
        pub name: Option<String> = optional string 1,
        /// Which of the lists holds, a [`sequence_proto::DataType`].
        pub elem_type: Option<i32> = optional int32 2,
        /// Tensors.
        pub tensor_values: Vec<TensorProto> = repeated message 3,
        /// Sparse tensors.
        pub sparse_tensor_values: Vec<SparseTensorProto> = repeated message 4,
        /// Sequences.
        pub sequence_values: Vec<SequenceProto> = repeated message 5,
        /// Maps.
        pub map_values: Vec<MapProto> = repeated message 6,
        /// Optionals.
        pub optional_values: Vec<OptionalProto> = repeated message 7,
    }

    /// A map: keys and values in the same order.
    pub struct MapProto {
        /// The value's name.
        pub name: Option<String> = optional string 1,
        /// The type of the keys, by the number of a [`Dtype`](typeloom_types::dtype::Dtype).
        pub key_type: Option<i32> = optional int32 2,
        /// The keys, where they are integers.
        pub keys: Vec<i64> = repeated int64 3,
        /// The keys, where they are strings.
        pub string_keys: Vec<Bytes> = repeated bytes 4,
        /// The values.
        pub values: Option<Box<SequenceProto>> = optional message 5,
    }

    /// A value that may be missing.
    pub struct OptionalProto {
        /// The value's name.
        pub name: Option<String> = optional string 1,
        /// Which of the values holds, a [`sequence_proto::DataType`]; `Undefined` where it is missing.
        pub elem_type: Option<i32> = optional int32 2,
        /// A tensor.
        pub tensor_value: Option<TensorProto> = optional message 3,
        /// A sparse tensor.
        pub sparse_tensor_value: Option<Box<SparseTensorProto>> = optional message 4,
        /// A sequence.
        pub sequence_value: Option<Box<SequenceProto>> = optional message 5,
        /// A map.
        pub map_value: Option<Box<MapProto>> = optional message 6,
        /// An optional.
        pub optional_value: Option<Box<OptionalProto>> = optional message 7,
    }
}

/// What belongs to [`SequenceProto`], and to [`OptionalProto`] alike.
pub mod sequence_proto {
    use super::enumerations;

    enumerations! {
        /// The kind of a value that may not be a tensor.
        pub enum DataType {
            /// Not said, or missing.
            Undefined = 0 "UNDEFINED",
            /// A tensor.
            Tensor = 1 "TENSOR",
            /// A sparse tensor.
            SparseTensor = 2 "SPARSE_TENSOR",
            /// A sequence.
            Sequence = 3 "SEQUENCE",
            /// A map.
            Map = 4 "MAP",
            /// An optional.
            Optional = 5 "OPTIONAL",
        }
    }
}
