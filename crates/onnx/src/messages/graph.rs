//! Graphs, nodes, attributes and values.

use bytes::Bytes;

use super::macros::{enumerations, messages, oneofs};
use super::{SparseTensorProto, StringStringEntryProto, TensorProto, Text, TypeProto};

messages! {
    /// A graph: nodes in topological order, with inputs, outputs and constants.
    pub struct GraphProto {
        /// The nodes in topological order.
        pub node: Vec<NodeProto> = repeated message 1,
        pub name: Text = optional string 2,
        /// Constants; one with the name of an input is the default of that input.
        pub initializer: Vec<TensorProto> = repeated message 5,
        pub doc_string: Text = optional string 10,
        pub input: Vec<ValueInfoProto> = repeated message 11,
        pub output: Vec<ValueInfoProto> = repeated message 12,
        /// Types of other values.
        pub value_info: Vec<ValueInfoProto> = repeated message 13,
        /// The tensors of quantisation parameters, by value.
        pub quantization_annotation: Vec<TensorAnnotation> = repeated message 14,
        /// Constants in sparse form.
        pub sparse_initializer: Vec<SparseTensorProto> = repeated message 15,
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 16,
    }

    /// An application of an operator or function.
    pub struct NodeProto {
        /// Names of the input values; empty for an omitted optional input.
        pub input: Vec<String> = repeated string 1,
        /// Names of the output values; empty for an omitted optional output.
        pub output: Vec<String> = repeated string 2,
        pub name: Text = optional string 3,
        /// The operator.
        pub op_type: Text = optional string 4,
        pub attribute: Vec<AttributeProto> = repeated message 5,
        pub doc_string: Text = optional string 6,
        /// The domain of the operator set; empty for ONNX operators.
        pub domain: Text = optional string 7,
        /// Distinguishes functions of the same name and domain.
        pub overload: Text = optional string 8,
        /// Metadata entries; exporters store the source location here.
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 9,
        /// The distribution of the node over devices.
        pub device_configurations: Vec<NodeDeviceConfigurationProto> = repeated message 10,
    }

    /// An attribute: a named value, or a reference to an attribute of the enclosing function.
    pub struct AttributeProto {
        pub name: Text = optional string 1,
        pub f: Option<f32> = optional float 2,
        pub i: Option<i64> = optional int64 3,
        /// A string, not necessarily UTF-8.
        pub s: Option<Bytes> = optional bytes 4,
        pub t: Option<Box<TensorProto>> = optional message 5,
        pub g: Option<Box<GraphProto>> = optional message 6,
        pub floats: Vec<f32> = repeated float 7,
        pub ints: Vec<i64> = repeated int64 8,
        pub strings: Vec<Bytes> = repeated bytes 9,
        pub tensors: Vec<TensorProto> = repeated message 10,
        pub graphs: Vec<GraphProto> = repeated message 11,
        pub doc_string: Text = optional string 13,
        pub tp: Option<Box<TypeProto>> = optional message 14,
        pub type_protos: Vec<TypeProto> = repeated message 15,
        /// The value in use; absent in the oldest files.
        pub r#type: Option<i32> = enumeration (attribute_proto::AttributeType) 20,
        /// The attribute of the enclosing function that provides the value.
        pub ref_attr_name: Text = optional string 21,
        pub sparse_tensor: Option<Box<SparseTensorProto>> = optional message 22,
        pub sparse_tensors: Vec<SparseTensorProto> = repeated message 23,
    }

    /// A value's name and type.
    pub struct ValueInfoProto {
        pub name: Text = optional string 1,
        /// The type; absent if it is unknown.
        pub r#type: Option<TypeProto> = optional message 2,
        pub doc_string: Text = optional string 3,
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 4,
    }

    /// Quantisation parameters of a value.
    pub struct TensorAnnotation {
        /// The name of the value.
        pub tensor_name: Text = optional string 1,
        /// The tensor of each parameter (`SCALE_TENSOR`, `ZERO_POINT_TENSOR`).
        pub quant_parameter_tensor_names: Vec<StringStringEntryProto> = repeated message 2,
    }

    /// The distribution of a node over the devices of one configuration.
    pub struct NodeDeviceConfigurationProto {
        /// The name of the configuration in the model.
        pub configuration_id: Text = optional string 1,
        /// The sharding of the node's values.
        pub sharding_spec: Vec<ShardingSpecProto> = repeated message 2,
        pub pipeline_stage: Option<i32> = optional int32 3,
    }

    /// The sharding of one value over devices.
    pub struct ShardingSpecProto {
        /// The name of an input or output of the node.
        pub tensor_name: Text = optional string 1,
        /// The devices; negative numbers are keys of `index_to_device_group_map`.
        pub device: Vec<i64> = repeated int64 2,
        /// Groups of devices by negative number.
        pub index_to_device_group_map: Vec<IntIntListEntryProto> = repeated message 3,
        /// The sharded axes.
        pub sharded_dim: Vec<ShardedDimProto> = repeated message 4,
    }

    /// A key and a list of integers.
    pub struct IntIntListEntryProto {
        pub key: Option<i64> = optional int64 1,
        pub value: Vec<i64> = repeated int64 2,
    }

    /// The sharding of one axis.
    pub struct ShardedDimProto {
        /// The axis; a negative number counts from the end.
        pub axis: Option<i64> = optional int64 1,
        /// The sharding of each part of the axis; several for an axis that was merged from several.
        pub simple_sharding: Vec<SimpleShardedDimProto> = repeated message 2,
    }

    /// The sharding of one extent.
    pub struct SimpleShardedDimProto {
        /// The extent before sharding.
        pub dim: Option<simple_sharded_dim_proto::Dim> = oneof (simple_sharded_dim_proto::Dim) 1 | 2,
        /// Number of shards.
        pub num_shards: Option<i64> = optional int64 3,
    }
}

/// Types of [`AttributeProto`].
pub mod attribute_proto {
    use super::enumerations;

    enumerations! {
        /// The field with an attribute's value.
        pub enum AttributeType {
            /// Unspecified.
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

/// Types of [`SimpleShardedDimProto`].
pub mod simple_sharded_dim_proto {
    use super::{messages, oneofs};

    oneofs! {
        /// The extent before sharding.
        pub enum Dim of "SimpleShardedDimProto" {
            /// A known extent.
            DimValue(i64) = int64 1 "dim_value",
            /// A symbolic extent.
            DimParam(String) = string 2 "dim_param",
        }
    }
}
