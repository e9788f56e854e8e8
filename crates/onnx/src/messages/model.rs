//! Models, operator set imports, functions, training and devices.

use super::macros::{enumerations, messages};
use super::{AttributeProto, GraphProto, NodeProto, SharedText, Text, ValueInfoProto};

messages! {
    /// A model: a graph with the operator sets and functions it uses.
    pub struct ModelProto {
        /// The IR version of the file; see [`Version`].
        pub ir_version: Option<i64> = optional int64 1,
        /// The tool that wrote the model.
        pub producer_name: Text = optional string 2,
        pub producer_version: Text = optional string 3,
        /// The namespace of the model, as a reversed domain name.
        pub domain: Text = optional string 4,
        /// The version of the model itself.
        pub model_version: Option<i64> = optional int64 5,
        pub doc_string: Text = optional string 6,
        pub graph: Option<GraphProto> = optional message 7,
        /// The imported operator sets.
        pub opset_import: Vec<OperatorSetIdProto> = repeated message 8,
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 14,
        /// Training steps.
        pub training_info: Vec<TrainingInfoProto> = repeated message 20,
        /// Functions that nodes may call as operators.
        pub functions: Vec<FunctionProto> = repeated message 25,
        /// Device configurations that nodes may refer to.
        pub configuration: Vec<DeviceConfigurationProto> = repeated message 26,
    }

    /// One version of one operator set.
    pub struct OperatorSetIdProto {
        /// The domain; empty for ONNX operators.
        pub domain: Text = optional string 1,
        pub version: Option<i64> = optional int64 2,
    }

    /// A key and a value.
    pub struct StringStringEntryProto {
        pub key: Text<SharedText> = optional text 1,
        pub value: Text<SharedText> = optional text 2,
    }

    /// A training step.
    pub struct TrainingInfoProto {
        /// Computes the initial values of the trained state.
        pub initialization: Option<GraphProto> = optional message 1,
        /// Computes one update of the trained state.
        pub algorithm: Option<GraphProto> = optional message 2,
        /// Pairs of an initializer and the output of `initialization` that is assigned to it.
        pub initialization_binding: Vec<StringStringEntryProto> = repeated message 3,
        /// Pairs of an initializer and the output of `algorithm` that is assigned to it.
        pub update_binding: Vec<StringStringEntryProto> = repeated message 4,
    }

    /// A function: an operator with a body of nodes.
    pub struct FunctionProto {
        /// The operator name of calls.
        pub name: Text = optional string 1,
        /// Names of the formal inputs.
        pub input: Vec<String> = repeated string 4,
        /// Names of the formal outputs.
        pub output: Vec<String> = repeated string 5,
        /// Names of the attributes without a default.
        pub attribute: Vec<String> = repeated string 6,
        /// The body.
        pub node: Vec<NodeProto> = repeated message 7,
        pub doc_string: Text = optional string 8,
        /// The operator sets imported by the body.
        pub opset_import: Vec<OperatorSetIdProto> = repeated message 9,
        /// The domain of calls.
        pub domain: Text = optional string 10,
        /// Attributes with their defaults.
        pub attribute_proto: Vec<AttributeProto> = repeated message 11,
        /// Types of values in the body.
        pub value_info: Vec<ValueInfoProto> = repeated message 12,
        /// Distinguishes functions of the same name and domain.
        pub overload: Text = optional string 13,
        pub metadata_props: Vec<StringStringEntryProto> = repeated message 14,
    }

    /// A named group of devices that a model can be distributed over.
    pub struct DeviceConfigurationProto {
        /// The name that nodes refer to.
        pub name: Text = optional string 1,
        /// Number of devices.
        pub num_devices: Option<i32> = optional int32 2,
        /// The names of the devices.
        pub device: Vec<String> = repeated string 3,
    }
}

enumerations! {
    /// Published versions of ONNX's IR, the values of `ir_version`.
    pub enum Version {
        /// No version.
        StartVersion = 0 "_START_VERSION",
        /// IR version 1.
        IrVersion20171010 = 1 "IR_VERSION_2017_10_10",
        /// IR version 2: attributes have types.
        IrVersion20171030 = 2 "IR_VERSION_2017_10_30",
        /// IR version 3: opset imports.
        IrVersion2017113 = 3 "IR_VERSION_2017_11_3",
        /// IR version 4: initializers need not be inputs.
        IrVersion2019122 = 4 "IR_VERSION_2019_1_22",
        /// IR version 5: quantisation annotations.
        IrVersion2019318 = 5 "IR_VERSION_2019_3_18",
        /// IR version 6: sparse tensors.
        IrVersion2019919 = 6 "IR_VERSION_2019_9_19",
        /// IR version 7: training.
        IrVersion202058 = 7 "IR_VERSION_2020_5_8",
        /// IR version 8: functions, sequences of maps and optionals.
        IrVersion2021730 = 8 "IR_VERSION_2021_7_30",
        /// IR version 9: defaults of function attributes.
        IrVersion202355 = 9 "IR_VERSION_2023_5_5",
        /// IR version 10: overloads, metadata on nodes and values.
        IrVersion2024325 = 10 "IR_VERSION_2024_3_25",
        /// IR version 11: device configurations.
        IrVersion20250512 = 11 "IR_VERSION_2025_05_12",
        /// IR version 12: 8-bit exponents.
        IrVersion20250826 = 12 "IR_VERSION_2025_08_26",
        /// IR version 13: 2-bit integers.
        IrVersion20251106 = 13 "IR_VERSION_2025_11_06",
        /// IR version 14, implemented by these messages.
        IrVersion = 14 "IR_VERSION",
    }

    /// Stability of an operator.
    pub enum OperatorStatus {
        /// May change.
        Experimental = 0 "EXPERIMENTAL",
        /// Changes in new versions only.
        Stable = 1 "STABLE",
    }
}
