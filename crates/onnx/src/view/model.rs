//! Views of a model and of what stands beside its graph.

use super::{AttributeView, GraphView, NodeView, ValueInfoView};
use super::{last_string, messages, name, set_once, strings, views};
use crate::error::DecodeError;
use crate::wire::{Field, Fields, Value};

/// A view of a model. Unlike the other views it has read its top-level records once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelView<'a> {
    bytes: &'a [u8],
    ir_version: i64,
    model_version: i64,
    producer_name: &'a str,
    producer_version: &'a str,
    domain: &'a str,
    graph: Option<GraphView<'a>>,
}

impl<'a> ModelView<'a> {
    /// Reads the top-level records of a model file.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut model = Self {
            bytes,
            ir_version: 0,
            model_version: 0,
            producer_name: "",
            producer_version: "",
            domain: "",
            graph: None,
        };
        for field in Fields::new(bytes, 0) {
            let field = field?;
            match field.number {
                1 => model.ir_version = field.int64(name!("ModelProto", "ir_version"))?,
                2 => model.producer_name = field.string(name!("ModelProto", "producer_name"))?,
                3 => model.producer_version = field.string(name!("ModelProto", "producer_version"))?,
                4 => model.domain = field.string(name!("ModelProto", "domain"))?,
                5 => model.model_version = field.int64(name!("ModelProto", "model_version"))?,
                7 => set_once(&mut model.graph, &field, name!("ModelProto", "graph"), GraphView::from_body)?,
                _ => {}
            }
        }
        Ok(model)
    }

    /// The whole file.
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The top-level records, uninterpreted.
    pub const fn wire_fields(&self) -> Fields<'a> {
        Fields::new(self.bytes, 0)
    }

    /// The IR version, zero where it is absent.
    pub const fn ir_version(&self) -> i64 {
        self.ir_version
    }

    /// The model's own version, zero where it is absent.
    pub const fn model_version(&self) -> i64 {
        self.model_version
    }

    /// The tool that wrote the model.
    pub const fn producer_name(&self) -> &'a str {
        self.producer_name
    }

    /// That tool's version.
    pub const fn producer_version(&self) -> &'a str {
        self.producer_version
    }

    /// The model's name space.
    pub const fn domain(&self) -> &'a str {
        self.domain
    }

    /// The graph.
    pub const fn graph(&self) -> Option<GraphView<'a>> {
        self.graph
    }

    /// The operator sets that the nodes refer to.
    pub fn opset_imports(&self) -> impl Iterator<Item = Result<OpsetId<'a>, DecodeError>> + Clone + use<'a> {
        opset_imports(self.wire_fields(), 8, name!("ModelProto", "opset_import"))
    }

    /// Named facts.
    pub fn metadata_props(
        &self,
    ) -> impl Iterator<Item = Result<EntryView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 14, name!("ModelProto", "metadata_props"), EntryView::from_body)
    }

    /// How the model is trained.
    pub fn training_info(
        &self,
    ) -> impl Iterator<Item = Result<TrainingInfoView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 20, name!("ModelProto", "training_info"), TrainingInfoView::from_body)
    }

    /// The functions that nodes may call.
    pub fn functions(&self) -> impl Iterator<Item = Result<FunctionView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 25, name!("ModelProto", "functions"), FunctionView::from_body)
    }
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
    /// The domain; empty for ONNX's own.
    pub domain: &'a str,
    /// The version, zero where it is absent.
    pub version: i64,
}

impl<'a> OpsetIdView<'a> {
    /// Reads it.
    pub fn parse(&self) -> Result<OpsetId<'a>, DecodeError> {
        let mut id = OpsetId::default();
        for field in self.wire_fields() {
            let field = field?;
            match field.number {
                1 => id.domain = field.string(name!("OperatorSetIdProto", "domain"))?,
                2 => id.version = field.int64(name!("OperatorSetIdProto", "version"))?,
                _ => {}
            }
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
    /// The key.
    pub fn key(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 1, name!("StringStringEntryProto", "key"))
    }

    /// Whether this is the key; `false` where the entry cannot be read. Cheaper than to read it.
    pub fn has_key(&self, key: &str) -> bool {
        let mut found: &[u8] = &[];
        for field in self.wire_fields() {
            match field {
                Ok(Field { number: 1, value: Value::Len(bytes, _), .. }) => found = bytes,
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        found == key.as_bytes()
    }

    /// The value.
    pub fn value(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 2, name!("StringStringEntryProto", "value"))
    }
}

/// One step of training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainingInfo<'a> {
    /// Computes the initial values of the trained state.
    pub initialization: Option<GraphView<'a>>,
    /// Computes one update of the trained state.
    pub algorithm: Option<GraphView<'a>>,
}

impl<'a> TrainingInfoView<'a> {
    /// Reads it.
    pub fn parse(&self) -> Result<TrainingInfo<'a>, DecodeError> {
        let mut info = TrainingInfo::default();
        for field in self.wire_fields() {
            let field = field?;
            let (slot, name) = match field.number {
                1 => (&mut info.initialization, name!("TrainingInfoProto", "initialization")),
                2 => (&mut info.algorithm, name!("TrainingInfoProto", "algorithm")),
                _ => continue,
            };
            set_once(slot, &field, name, GraphView::from_body)?;
        }
        Ok(info)
    }

    /// Which output of `initialization` becomes which initializer.
    pub fn initialization_binding(
        &self,
    ) -> impl Iterator<Item = Result<EntryView<'a>, DecodeError>> + Clone + use<'a> {
        let name = name!("TrainingInfoProto", "initialization_binding");
        messages(self.wire_fields(), 3, name, EntryView::from_body)
    }

    /// Which output of `algorithm` becomes which initializer.
    pub fn update_binding(
        &self,
    ) -> impl Iterator<Item = Result<EntryView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 4, name!("TrainingInfoProto", "update_binding"), EntryView::from_body)
    }
}

/// One field of a function.
#[derive(Clone, Copy, Debug)]
pub enum FunctionField<'a> {
    /// The operator name it is called by.
    Name(&'a str),
    /// The name of a formal input.
    Input(&'a str),
    /// The name of a formal output.
    Output(&'a str),
    /// The name of an attribute without a default.
    Attribute(&'a str),
    /// An attribute with its default.
    AttributeProto(AttributeView<'a>),
    /// A node of the body.
    Node(NodeView<'a>),
    /// An operator set that the body refers to.
    OpsetImport(OpsetIdView<'a>),
    /// The domain it is called in.
    Domain(&'a str),
    /// Tells apart functions of one name and domain.
    Overload(&'a str),
    /// The type of a value in the body.
    ValueInfo(ValueInfoView<'a>),
    /// A named fact.
    Metadata(EntryView<'a>),
    /// A field that no reader of graphs needs, or an unknown one.
    Other(Field<'a>),
}

/// The fields of a function in file order.
#[derive(Clone, Copy, Debug)]
pub struct FunctionFields<'a> {
    fields: Fields<'a>,
}

impl<'a> Iterator for FunctionFields<'a> {
    type Item = Result<FunctionField<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.fields.next()?.and_then(|field| read_function_field(&field));
        Some(field.inspect_err(|_| self.fields.stop()))
    }
}

impl std::iter::FusedIterator for FunctionFields<'_> {}

fn read_function_field<'a>(field: &Field<'a>) -> Result<FunctionField<'a>, DecodeError> {
    Ok(match field.number {
        1 => FunctionField::Name(field.string(name!("FunctionProto", "name"))?),
        4 => FunctionField::Input(field.string(name!("FunctionProto", "input"))?),
        5 => FunctionField::Output(field.string(name!("FunctionProto", "output"))?),
        6 => FunctionField::Attribute(field.string(name!("FunctionProto", "attribute"))?),
        7 => {
            let (bytes, offset) = field.bytes(name!("FunctionProto", "node"))?;
            FunctionField::Node(NodeView::from_body(bytes, offset))
        }
        9 => {
            let (bytes, offset) = field.bytes(name!("FunctionProto", "opset_import"))?;
            FunctionField::OpsetImport(OpsetIdView::from_body(bytes, offset))
        }
        10 => FunctionField::Domain(field.string(name!("FunctionProto", "domain"))?),
        11 => {
            let (bytes, offset) = field.bytes(name!("FunctionProto", "attribute_proto"))?;
            FunctionField::AttributeProto(AttributeView::from_body(bytes, offset))
        }
        12 => {
            let (bytes, offset) = field.bytes(name!("FunctionProto", "value_info"))?;
            FunctionField::ValueInfo(ValueInfoView::from_body(bytes, offset))
        }
        13 => FunctionField::Overload(field.string(name!("FunctionProto", "overload"))?),
        14 => {
            let (bytes, offset) = field.bytes(name!("FunctionProto", "metadata_props"))?;
            FunctionField::Metadata(EntryView::from_body(bytes, offset))
        }
        _ => FunctionField::Other(*field),
    })
}

impl<'a> FunctionView<'a> {
    /// The fields in file order, in one pass.
    pub const fn fields(&self) -> FunctionFields<'a> {
        FunctionFields { fields: self.wire_fields() }
    }

    /// The operator name it is called by.
    pub fn name(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 1, name!("FunctionProto", "name"))
    }

    /// The domain it is called in.
    pub fn domain(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 10, name!("FunctionProto", "domain"))
    }

    /// Tells apart functions of one name and domain.
    pub fn overload(&self) -> Result<&'a str, DecodeError> {
        last_string(self.wire_fields(), 13, name!("FunctionProto", "overload"))
    }

    /// Names of the formal inputs.
    pub fn inputs(&self) -> impl Iterator<Item = Result<&'a str, DecodeError>> + Clone + use<'a> {
        strings(self.wire_fields(), 4, name!("FunctionProto", "input"))
    }

    /// Names of the formal outputs.
    pub fn outputs(&self) -> impl Iterator<Item = Result<&'a str, DecodeError>> + Clone + use<'a> {
        strings(self.wire_fields(), 5, name!("FunctionProto", "output"))
    }

    /// Names of the attributes without a default.
    pub fn attributes(&self) -> impl Iterator<Item = Result<&'a str, DecodeError>> + Clone + use<'a> {
        strings(self.wire_fields(), 6, name!("FunctionProto", "attribute"))
    }

    /// Attributes with their defaults.
    pub fn attribute_protos(
        &self,
    ) -> impl Iterator<Item = Result<AttributeView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 11, name!("FunctionProto", "attribute_proto"), AttributeView::from_body)
    }

    /// The body.
    pub fn nodes(&self) -> impl Iterator<Item = Result<NodeView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 7, name!("FunctionProto", "node"), NodeView::from_body)
    }

    /// The operator sets that the body refers to.
    pub fn opset_imports(&self) -> impl Iterator<Item = Result<OpsetId<'a>, DecodeError>> + Clone + use<'a> {
        opset_imports(self.wire_fields(), 9, name!("FunctionProto", "opset_import"))
    }

    /// Types of values in the body.
    pub fn value_info(
        &self,
    ) -> impl Iterator<Item = Result<ValueInfoView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 12, name!("FunctionProto", "value_info"), ValueInfoView::from_body)
    }

    /// Named facts.
    pub fn metadata_props(
        &self,
    ) -> impl Iterator<Item = Result<EntryView<'a>, DecodeError>> + Clone + use<'a> {
        messages(self.wire_fields(), 14, name!("FunctionProto", "metadata_props"), EntryView::from_body)
    }
}
