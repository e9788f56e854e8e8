//! Types and shapes.

use super::SharedText;
use super::macros::messages;

messages! {
    pub struct TypeProto {
        /// The structure; absent if only the denotation is known.
        pub value: Option<type_proto::Value> = oneof (type_proto::Value) 1 | 4 | 5 | 7 | 8 | 9,
        /// The meaning of the type beyond its structure.
        pub denotation: Option<SharedText> = optional text 6,
    }

    /// A list of extents; an unknown rank is represented by the absence of the message.
    pub struct TensorShapeProto {
        /// The extents, outermost first.
        pub dim: Vec<tensor_shape_proto::Dimension> = repeated message 1,
    }
}

/// Types of [`TypeProto`].
pub mod type_proto {
    use super::messages;
    use super::{TensorShapeProto, TypeProto};
    use crate::messages::schema::{Described, DescribedOneOf, FieldSchema, Kind};

    messages! {
        /// A dense tensor.
        pub struct Tensor {
            /// The element type, by the number of a [`Dtype`](typeloom_types::dtype::Dtype).
            pub elem_type: Option<i32> = optional int32 1,
            /// The shape; absent if the rank is unknown.
            pub shape: Option<TensorShapeProto> = optional message 2,
        }

        /// A sequence of values of one type.
        pub struct Sequence {
            /// The type of the elements.
            pub elem_type: Option<Box<TypeProto>> = optional message 1,
        }

        pub struct Map {
            /// The type of the keys (an integer type or string), by the number of a
            /// [`Dtype`](typeloom_types::dtype::Dtype).
            pub key_type: Option<i32> = optional int32 1,
            pub value_type: Option<Box<TypeProto>> = optional message 2,
        }

        /// An optional value.
        pub struct Optional {
            pub elem_type: Option<Box<TypeProto>> = optional message 1,
        }

        pub struct SparseTensor {
            /// The element type, by the number of a [`Dtype`](typeloom_types::dtype::Dtype).
            pub elem_type: Option<i32> = optional int32 1,
            /// The shape; absent if the rank is unknown.
            pub shape: Option<TensorShapeProto> = optional message 2,
        }

        /// A type defined by a domain, without structure in ONNX.
        pub struct Opaque {
            /// The domain; empty for ONNX.
            pub domain: Option<String> = optional string 1,
            /// The name of the type in the domain.
            pub name: Option<String> = optional string 2,
        }
    }

    /// The structure of a type.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Value {
        /// A dense tensor.
        #[prost(message, tag = "1")]
        TensorType(Tensor),
        /// A sequence.
        #[prost(message, tag = "4")]
        SequenceType(Sequence),
        #[prost(message, tag = "5")]
        MapType(Map),
        #[prost(message, tag = "7")]
        OpaqueType(Opaque),
        #[prost(message, tag = "8")]
        SparseTensorType(SparseTensor),
        /// An optional value.
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

/// Types of [`TensorShapeProto`].
pub mod tensor_shape_proto {
    use super::SharedText;
    use super::messages;

    messages! {
        /// One axis of a shape.
        pub struct Dimension {
            /// The extent; absent if it is unknown.
            pub value: Option<dimension::Value> = oneof (dimension::Value) 1 | 2,
            /// The meaning of the axis, such as `DATA_BATCH`.
            pub denotation: Option<SharedText> = optional text 3,
        }
    }

    /// Types of [`Dimension`].
    pub mod dimension {
        use crate::messages::schema::{DescribedOneOf, FieldSchema, Kind};

        /// An extent.
        #[derive(Clone, PartialEq, Eq, prost::Oneof)]
        pub enum Value {
            /// A known extent.
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
