//! Graphs, nodes, attributes and values.

use bytes::Bytes;

use super::macros::{enumerations, messages};
use super::{SparseTensorProto, StringStringEntryProto, TensorProto, TypeProto};

messages! {
    /// A graph: nodes in topological order, with inputs, outputs and constants.
    pub struct GraphProto {
        /// The nodes, each after those it depends on.
        pub node: Vec<NodeProto> = repeated message 1,
        /// The graph's name.
        pub name: Option<String> = optional string 2,
        /// Constants, or defaults of the inputs of the same name.
        pub initializer: Vec<TensorProto> = repeated message 5,
        /// A description for people.
        pub doc_string: Option<String> = optional string 10,
        /// The inputs, with their types.
        pub input: Vec<ValueInfoProto> = repeated message 11,
        /// The outputs, with their types.
        pub output: Vec<ValueInfoProto> = repeated message 12,
        /// Types of other values.
        pub value_info: Vec<ValueInfoProto> = repeated message 13,
        /// Which tensors hold the quantisation parameters of which value.
        pub quantization_annotation: Vec<TensorAnnotation> = repeated message 14,
        /// Constants in sparse form.
        pub sparse_initializer: Vec<SparseTensorProto> = repeated message 15,
        /// Named facts, by key.
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 16,
    }

    /// A node: one application of an operator or function.
    pub struct NodeProto {
        /// Names of the values it reads; an empty name leaves out an optional input.
        pub input: Vec<String> = repeated string 1,
        /// Names of the values it makes; an empty name leaves out an optional output.
        pub output: Vec<String> = repeated string 2,
        /// The node's own name.
        pub name: Option<String> = optional string 3,
        /// The operator.
        pub op_type: Option<String> = optional string 4,
        /// The attributes, by name.
        pub attribute: Vec<AttributeProto> = repeated message 5,
        /// A description for people.
        pub doc_string: Option<String> = optional string 6,
        /// The operator set's domain; empty for ONNX's own.
        pub domain: Option<String> = optional string 7,
        /// Tells apart functions of one name and domain.
        pub overload: Option<String> = optional string 8,
        /// Named facts, by key; exporters put the origin in the author's source here.
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 9,
        /// How the node is distributed over devices.
        pub device_configurations: Vec<NodeDeviceConfigurationProto> = repeated message 10,
    }

    /// An attribute: a named value, or a reference to an attribute of the enclosing function.
    pub struct AttributeProto {
        /// The attribute's name.
        pub name: Option<String> = optional string 1,
        /// A float.
        pub f: Option<f32> = optional float 2,
        /// An integer.
        pub i: Option<i64> = optional int64 3,
        /// A string, or any bytes.
        pub s: Option<Bytes> = optional bytes 4,
        /// A tensor.
        pub t: Option<Box<TensorProto>> = optional message 5,
        /// A graph.
        pub g: Option<Box<GraphProto>> = optional message 6,
        /// Floats.
        pub floats: Vec<f32> = repeated float 7,
        /// Integers.
        pub ints: Vec<i64> = repeated int64 8,
        /// Strings.
        pub strings: Vec<Bytes> = repeated bytes 9,
        /// Tensors.
        pub tensors: Vec<TensorProto> = repeated message 10,
        /// Graphs.
        pub graphs: Vec<GraphProto> = repeated message 11,
        /// A description for people.
        pub doc_string: Option<String> = optional string 13,
        /// A type.
        pub tp: Option<Box<TypeProto>> = optional message 14,
        /// Types.
        pub type_protos: Vec<TypeProto> = repeated message 15,
        /// Which of the values holds; absent in the oldest files.
        pub r#type: Option<i32> = enumeration (attribute_proto::AttributeType) 20,
        /// The attribute of the enclosing function that gives the value.
        pub ref_attr_name: Option<String> = optional string 21,
        /// A sparse tensor.
        pub sparse_tensor: Option<Box<SparseTensorProto>> = optional message 22,
        /// Sparse tensors.
        pub sparse_tensors: Vec<SparseTensorProto> = repeated message 23,
    }

    /// A value's name and type.
    pub struct ValueInfoProto {
        /// The value's name.
        pub name: Option<String> = optional string 1,
        /// Its type; absent where it is not known.
        pub r#type: Option<TypeProto> = optional message 2,
        /// A description for people.
        pub doc_string: Option<String> = optional string 3,
        /// Named facts, by key.
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 4,
    }

    /// The quantisation parameters of a value.
    pub struct TensorAnnotation {
        /// The value.
        pub tensor_name: Option<String> = optional string 1,
        /// For each parameter (`SCALE_TENSOR`, `ZERO_POINT_TENSOR`), the tensor that holds it.
        pub quant_parameter_tensor_names: Vec<StringStringEntryProto> = repeated message 2,
    }

    /// How a node is distributed over the devices of one configuration.
    pub struct NodeDeviceConfigurationProto {
        /// The configuration's name in the model.
        pub configuration_id: Option<String> = optional string 1,
        /// How the node's values are split.
        pub sharding_spec: Vec<ShardingSpecProto> = repeated message 2,
        /// The pipeline stage the node belongs to.
        pub pipeline_stage: Option<i32> = optional int32 3,
    }

    /// How one value is split over devices.
    pub struct ShardingSpecProto {
        /// The value; an input or output of the node.
        pub tensor_name: Option<String> = optional string 1,
        /// The devices; negative numbers are keys of `index_to_device_group_map`.
        pub device: Vec<i64> = repeated int64 2,
        /// Groups of devices, by negative number.
        pub index_to_device_group_map: Vec<IntIntListEntryProto> = repeated message 3,
        /// The axes that are split.
        pub sharded_dim: Vec<ShardedDimProto> = repeated message 4,
    }

    /// A number and a list of numbers.
    pub struct IntIntListEntryProto {
        /// The number.
        pub key: Option<i64> = optional int64 1,
        /// The list.
        pub value: Vec<i64> = repeated int64 2,
    }

    /// How one axis is split.
    pub struct ShardedDimProto {
        /// The axis; negative counts from the end.
        pub axis: Option<i64> = optional int64 1,
        /// How each part of the axis is split; more than one for an axis that was merged from several.
        pub simple_sharding: Vec<SimpleShardedDimProto> = repeated message 2,
    }

    /// How one extent is split.
    pub struct SimpleShardedDimProto {
        /// The extent before the split.
        pub dim: Option<simple_sharded_dim_proto::Dim> = oneof (simple_sharded_dim_proto::Dim) 1 | 2,
        /// Into how many parts.
        pub num_shards: Option<i64> = optional int64 3,
    }
}

/// What belongs to [`AttributeProto`].
pub mod attribute_proto {
    use super::enumerations;

    enumerations! {
        /// Which value an attribute holds.
        pub enum AttributeType {
            /// Not said.
            Undefined = 0 "UNDEFINED",
            /// `f`.
            Float = 1 "FLOAT",
            /// `i`.
            Int = 2 "INT",
            /// `s`.
            String = 3 "STRING",
            /// `t`.
            Tensor = 4 "TENSOR",
            /// `g`.
            Graph = 5 "GRAPH",
            /// `floats`.
            Floats = 6 "FLOATS",
            /// `ints`.
            Ints = 7 "INTS",
            /// `strings`.
            Strings = 8 "STRINGS",
            /// `tensors`.
            Tensors = 9 "TENSORS",
            /// `graphs`.
            Graphs = 10 "GRAPHS",
            /// `sparse_tensor`.
            SparseTensor = 11 "SPARSE_TENSOR",
            /// `sparse_tensors`.
            SparseTensors = 12 "SPARSE_TENSORS",
            /// `tp`.
            TypeProto = 13 "TYPE_PROTO",
            /// `type_protos`.
            TypeProtos = 14 "TYPE_PROTOS",
        }
    }
}

/// What belongs to [`SimpleShardedDimProto`].
pub mod simple_sharded_dim_proto {
    use crate::messages::schema::{DescribedOneOf, FieldSchema, Kind};

    /// The extent before the split.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Dim {
        /// A number.
        #[prost(int64, tag = "1")]
        DimValue(i64),
        /// A symbol.
        #[prost(string, tag = "2")]
        DimParam(String),
    }

    impl DescribedOneOf for Dim {
        const MEMBERS: &'static [FieldSchema] = &[
            FieldSchema::one_of(1, "SimpleShardedDimProto", "dim_value", Kind::Int64),
            FieldSchema::one_of(2, "SimpleShardedDimProto", "dim_param", Kind::String),
        ];
    }
}
