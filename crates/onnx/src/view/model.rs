//! Views of models, functions and metadata.

use super::{AttributeView, GraphView, NodeView, ValueInfoView};
use super::{decode, fields, getters, last_string, name, views};
use crate::error::DecodeError;
use crate::wire::{Field, Fields, WireValue};

/// A view of a model. In contrast to other views, creating it decodes the top-level records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelView<'a> {
    bytes: &'a [u8],
    ir_version: i64,
    model_version: i64,
    producer_name: &'a str,
    producer_version: &'a str,
    domain: &'a str,
    graph: Option<GraphView<'a>>,
    has_functions: bool,
}

impl<'a> ModelView<'a> {
    /// Decodes the top-level records of a model file. The error of a file in another format, or of one that is
    /// cut off, states that.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Self::decode(bytes).map_err(|error| error.of_file(bytes))
    }

    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut model = Self { bytes, ..Self::default() };
        decode! {
            Fields::new(bytes, 0), "ModelProto";
            1 "ir_version" int64 model.ir_version;
            2 "producer_name" string model.producer_name;
            3 "producer_version" string model.producer_version;
            4 "domain" string model.domain;
            5 "model_version" int64 model.model_version;
            7 "graph" (GraphView) model.graph;
            25 "functions" seen model.has_functions;
        }
        Ok(model)
    }

    /// The whole file.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The uninterpreted top-level records.
    pub const fn wire_fields(&self) -> Fields<'a> {
        Fields::new(self.bytes, 0)
    }

    /// The IR version; zero if absent.
    pub const fn ir_version(&self) -> i64 {
        self.ir_version
    }

    /// The version of the model itself; zero if absent.
    pub const fn model_version(&self) -> i64 {
        self.model_version
    }

    /// The tool that wrote the model.
    pub const fn producer_name(&self) -> &'a str {
        self.producer_name
    }

    /// The version of the producer.
    pub const fn producer_version(&self) -> &'a str {
        self.producer_version
    }

    /// The namespace of the model.
    pub const fn domain(&self) -> &'a str {
        self.domain
    }

    pub const fn graph(&self) -> Option<GraphView<'a>> {
        self.graph
    }

    /// Whether the model has functions.
    pub const fn has_functions(&self) -> bool {
        self.has_functions
    }

    /// The imported operator sets.
    pub fn opset_imports(&self) -> impl Iterator<Item = Result<OpsetId<'a>, DecodeError>> + Clone + use<'a> {
        opset_imports(self.wire_fields(), 8, name!("ModelProto", "opset_import"))
    }
}

getters! {
    ModelView of "ModelProto";
    /// Metadata entries.
    14 "metadata_props" all EntryView metadata_props;
    /// Training steps.
    20 "training_info" all TrainingInfoView training_info;
    /// Functions that nodes may call.
    25 "functions" all FunctionView functions;
}

views! {
    /// A view of one `OperatorSetIdProto`.
    OpsetIdView,
    /// A view of one `StringStringEntryProto`.
    EntryView,
    /// A view of one `TrainingInfoProto`.
    TrainingInfoView,
    /// A view of one `FunctionProto`.
    FunctionView,
}

/// One version of one operator set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OpsetId<'a> {
    /// The domain; empty for ONNX operators.
    pub domain: &'a str,
    /// The version; zero if absent.
    pub version: i64,
}

impl<'a> OpsetIdView<'a> {
    /// Decodes the operator set.
    pub fn parse(&self) -> Result<OpsetId<'a>, DecodeError> {
        let mut id = OpsetId::default();
        decode! {
            self.wire_fields(), "OperatorSetIdProto";
            1 "domain" string id.domain;
            2 "version" int64 id.version;
        }
        Ok(id)
    }
}

fn opset_imports<'a>(
    fields: Fields<'a>,
    number: u32,
    name: &'static crate::error::FieldName,
) -> impl Iterator<Item = Result<OpsetId<'a>, DecodeError>> + Clone {
    super::Select {
        fields,
        number,
        read: move |field: &Field<'a>| {
            let (bytes, offset) = field.bytes(name)?;
            OpsetIdView::from_body(bytes, offset).parse()
        },
    }
}

impl<'a> EntryView<'a> {
    pub fn key(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 1, name!("StringStringEntryProto", "key"))
    }

    /// Whether the entry has this key; `false` for a malformed entry. Cheaper than reading the key.
    pub fn has_key(&self, key: &str) -> bool {
        let mut found: &[u8] = &[];
        for field in self.wire_fields() {
            match field {
                Ok(Field { number: 1, value: WireValue::Len(bytes, _), .. }) => found = bytes,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        found == key.as_bytes()
    }

    pub fn value(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 2, name!("StringStringEntryProto", "value"))
    }
}

/// A training step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainingInfo<'a> {
    /// Computes the initial values of the trained state.
    pub initialization: Option<GraphView<'a>>,
    /// Computes one update of the trained state.
    pub algorithm: Option<GraphView<'a>>,
}

impl<'a> TrainingInfoView<'a> {
    /// Decodes the graphs.
    pub fn parse(&self) -> Result<TrainingInfo<'a>, DecodeError> {
        let mut info = TrainingInfo::default();
        decode! {
            self.wire_fields(), "TrainingInfoProto";
            1 "initialization" (GraphView) info.initialization;
            2 "algorithm" (GraphView) info.algorithm;
        }
        Ok(info)
    }
}

getters! {
    TrainingInfoView of "TrainingInfoProto";
    /// Pairs of an initializer and the output of `initialization` that is assigned to it.
    3 "initialization_binding" all EntryView initialization_binding;
    /// Pairs of an initializer and the output of `algorithm` that is assigned to it.
    4 "update_binding" all EntryView update_binding;
}

fields! {
    #[inline]
    pub enum FunctionField of FunctionView ("FunctionProto"), FunctionFields;
    /// The operator name of calls.
    1 "name" Name(str) => last name;
    /// Names of formal inputs.
    4 "input" Input(str) => all inputs;
    /// Names of formal outputs.
    5 "output" Output(str) => all outputs;
    /// Names of attributes without a default.
    6 "attribute" Attribute(str) => all attributes;
    /// Nodes of the body.
    7 "node" Node(NodeView) => all nodes;
    /// Imported operator sets.
    9 "opset_import" OpsetImport(OpsetIdView) => custom opset_imports;
    /// The domain of calls.
    10 "domain" Domain(str) => last domain;
    /// Attributes with their defaults.
    11 "attribute_proto" AttributeProto(AttributeView) => all attribute_protos;
    /// Types of values in the body.
    12 "value_info" ValueInfo(ValueInfoView) => all value_info;
    /// Distinguishes functions of the same name and domain.
    13 "overload" Overload(str) => last overload;
    /// Metadata entries.
    14 "metadata_props" Metadata(EntryView) => all metadata_props;
}

impl<'a> FunctionView<'a> {
    /// The operator sets imported by the body.
    pub fn opset_imports(&self) -> impl Iterator<Item = Result<OpsetId<'a>, DecodeError>> + Clone + use<'a> {
        opset_imports(self.wire_fields(), 9, name!("FunctionProto", "opset_import"))
    }
}
