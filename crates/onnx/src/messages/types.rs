//! Types and shapes.

use super::SharedText;
use super::macros::messages;

messages! {
    /// The type of a value.
    pub struct TypeProto {
        /// The type's structure; absent where only the denotation is known.
        pub value: Option<type_proto::Value> = oneof (type_proto::Value) 1 | 4 | 5 | 7 | 8 | 9,
        /// What the type stands for: a name beyond its structure.
        pub denotation: Option<SharedText> = optional text 6,
    }

    /// A list of extents; absent as a whole where the rank is not known.
    pub struct TensorShapeProto {
        /// The extents, outermost first.
        pub dim: Vec<tensor_shape_proto::Dimension> = repeated message 1,
    }
}

/// What belongs to [`TypeProto`].
pub mod type_proto {
    use super::messages;
    use super::{TensorShapeProto, TypeProto};
    use crate::messages::schema::{Described, DescribedOneOf, FieldSchema, Kind};

    messages! {
        /// A dense tensor.
        pub struct Tensor {
            /// The element type, a [`DataType`](crate::messages::tensor_proto::DataType).
            pub elem_type: Option<i32> = optional int32 1,
            /// The shape; absent where the rank is not known.
            pub shape: Option<TensorShapeProto> = optional message 2,
        }

        /// A list of values of one type.
        pub struct Sequence {
            /// The type of its elements.
            pub elem_type: Option<Box<TypeProto>> = optional message 1,
        }

        /// A map.
        pub struct Map {
            /// The type of its keys, an integer type or string of [`DataType`](crate::messages::tensor_proto::DataType).
            pub key_type: Option<i32> = optional int32 1,
            /// The type of its values.
            pub value_type: Option<Box<TypeProto>> = optional message 2,
        }

        /// A value that may be missing.
        pub struct Optional {
            /// The type of the value.
            pub elem_type: Option<Box<TypeProto>> = optional message 1,
        }

        /// A sparse tensor.
        pub struct SparseTensor {
            /// The element type, a [`DataType`](crate::messages::tensor_proto::DataType).
            pub elem_type: Option<i32> = optional int32 1,
            /// The shape; absent where the rank is not known.
            pub shape: Option<TensorShapeProto> = optional message 2,
        }

        /// A type that only its domain knows.
        pub struct Opaque {
            /// The domain; empty for ONNX's own.
            pub domain: Option<String> = optional string 1,
            /// The type's name in the domain.
            pub name: Option<String> = optional string 2,
        }
    }

    /// A type's structure.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Value {
        /// A dense tensor.
        #[prost(message, tag = "1")]
        TensorType(Tensor),
        /// A list.
        #[prost(message, tag = "4")]
        SequenceType(Sequence),
        /// A map.
        #[prost(message, tag = "5")]
        MapType(Map),
        /// An opaque type.
        #[prost(message, tag = "7")]
        OpaqueType(Opaque),
        /// A sparse tensor.
        #[prost(message, tag = "8")]
        SparseTensorType(SparseTensor),
        /// A value that may be missing.
        #[prost(message, tag = "9")]
        OptionalType(Optional),
    }

    impl DescribedOneOf for Value {
        const MEMBERS: &'static [FieldSchema] = &[
            FieldSchema::one_of(1, "TypeProto", "tensor_type", Kind::Message(Tensor::schema)),
            FieldSchema::one_of(4, "TypeProto", "sequence_type", Kind::Message(Sequence::schema)),
            FieldSchema::one_of(5, "TypeProto", "map_type", Kind::Message(Map::schema)),
            FieldSchema::one_of(7, "TypeProto", "opaque_type", Kind::Message(Opaque::schema)),
            FieldSchema::one_of(8, "TypeProto", "sparse_tensor_type", Kind::Message(SparseTensor::schema)),
            FieldSchema::one_of(9, "TypeProto", "optional_type", Kind::Message(Optional::schema)),
        ];
    }
}

/// What belongs to [`TensorShapeProto`].
pub mod tensor_shape_proto {
    use super::SharedText;
    use super::messages;

    messages! {
        /// One extent.
        pub struct Dimension {
            /// A number or a symbol; absent where the extent is not known.
            pub value: Option<dimension::Value> = oneof (dimension::Value) 1 | 2,
            /// What the axis stands for, such as `DATA_BATCH`.
            pub denotation: Option<SharedText> = optional text 3,
        }
    }

    /// What belongs to [`Dimension`].
    pub mod dimension {
        use crate::messages::schema::{DescribedOneOf, FieldSchema, Kind};

        /// A known extent.
        #[derive(Clone, PartialEq, Eq, prost::Oneof)]
        pub enum Value {
            /// A number.
            #[prost(int64, tag = "1")]
            DimValue(i64),
            /// A symbol, or an expression over symbols.
            #[prost(string, tag = "2")]
            DimParam(String),
        }

        impl DescribedOneOf for Value {
            const MEMBERS: &'static [FieldSchema] = &[
                FieldSchema::one_of(1, "Dimension", "dim_value", Kind::Int64),
                FieldSchema::one_of(2, "Dimension", "dim_param", Kind::String),
            ];
        }
    }
}
