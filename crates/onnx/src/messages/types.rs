//! Types and shapes.

use super::macros::{messages, oneofs};
use super::{SharedText, Text};

messages! {
    pub struct TypeProto {
        /// The structure; absent if only the denotation is known.
        pub value: Option<type_proto::Value> = oneof (type_proto::Value) 1 | 4 | 5 | 7 | 8 | 9,
        /// The meaning of the type beyond its structure.
        pub denotation: Text<SharedText> = optional text 6,
    }

    /// A list of extents; an unknown rank is represented by the absence of the message.
    pub struct TensorShapeProto {
        /// The extents, outermost first.
        pub dim: Vec<tensor_shape_proto::Dimension> = repeated message 1,
    }
}

/// Types of [`TypeProto`].
pub mod type_proto {
    use super::{TensorShapeProto, Text, TypeProto};
    use super::{messages, oneofs};

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
            pub domain: Text = optional string 1,
            /// The name of the type in the domain.
            pub name: Text = optional string 2,
        }
    }

    oneofs! {
        /// The structure of a type.
        pub enum Value of "TypeProto" {
            /// A dense tensor.
            TensorType(Tensor) = message 1 "tensor_type",
            /// A sequence.
            SequenceType(Sequence) = message 4 "sequence_type",
            MapType(Map) = message 5 "map_type",
            OpaqueType(Opaque) = message 7 "opaque_type",
            SparseTensorType(SparseTensor) = message 8 "sparse_tensor_type",
            /// An optional value.
            OptionalType(Optional) = message 9 "optional_type",
        }
    }
}

/// Types of [`TensorShapeProto`].
pub mod tensor_shape_proto {
    use super::messages;
    use super::{SharedText, Text};

    messages! {
        /// One axis of a shape.
        pub struct Dimension {
            /// The extent; absent if it is unknown.
            pub value: Option<dimension::Value> = oneof (dimension::Value) 1 | 2,
            /// The meaning of the axis, such as `DATA_BATCH`.
            pub denotation: Text<SharedText> = optional text 3,
        }
    }

    /// Types of [`Dimension`].
    pub mod dimension {
        use super::super::{messages, oneofs};

        oneofs! {
            /// An extent.
            #[derive(Eq)]
            pub enum Value of "Dimension" {
                /// A known extent.
                DimValue(i64) = int64 1 "dim_value",
                /// A symbol, or an expression over symbols.
                DimParam(String) = string 2 "dim_param",
            }
        }
    }
}
