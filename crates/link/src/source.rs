//! One of the models to link: its solved types, and its messages without stored tensors.
//!
//! **Invariant:** initializers are not decoded. Other payloads are decoded as parts of the file's buffer.

use std::collections::HashSet;
use std::ops::Range;

use bytes::Bytes;
use indexmap::IndexMap;
use typeloom_interface::Interface;
use typeloom_onnx::DecodeError;
use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OnnxMessage, TensorAnnotation, ValueInfoProto, read,
};
use typeloom_onnx::view::{SparseTensorView, TensorView};
use typeloom_onnx::wire::{Field, Fields, WireValue};
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::diagnostic::diagnose;
use typeloom_solver::model::{Checked, Mode, Options, check};
use typeloom_solver::program::Origin;
use typeloom_solver::universe::Universe;

use crate::error::{End, LinkError};
use crate::{Part, fields};

/// The metadata of programs that another compiler stage depends on.
const PROGRAM_KEYS: &str = "ai.bytesandbrains.";

/// A decoded message and its record in the file.
pub(crate) struct Record<M> {
    pub(crate) message: M,
    /// The record with its key and length.
    pub(crate) old: Range<usize>,
}

/// A tensor that is stored in the main graph.
pub(crate) struct Stored {
    pub(crate) name: String,
    pub(crate) form: StoredForm,
    /// The record with its key and length.
    pub(crate) old: Range<usize>,
    /// The message.
    pub(crate) body: Range<usize>,
}

/// The form of a stored tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoredForm {
    Dense,
    Sparse,
}

/// A model to link.
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a Bytes,
    pub(crate) checked: Checked<'a>,
    pub(crate) interface: Interface,
    /// The model without graph and functions.
    pub(crate) header: ModelProto,
    /// The graph without the lists below.
    pub(crate) graph: GraphProto,
    pub(crate) nodes: Vec<Record<NodeProto>>,
    pub(crate) inputs: Vec<Record<ValueInfoProto>>,
    pub(crate) outputs: Vec<Record<ValueInfoProto>>,
    pub(crate) value_info: Vec<Record<ValueInfoProto>>,
    pub(crate) annotations: Vec<Record<TensorAnnotation>>,
    pub(crate) stored: Vec<Stored>,
    /// The names of `stored`.
    stored_names: HashSet<String>,
    pub(crate) functions: Vec<Record<FunctionProto>>,
    /// The imported version of each domain.
    pub(crate) imports: IndexMap<String, i64>,
}

impl<'a> Source<'a> {
    /// Checks and decodes a model.
    pub(crate) fn read(
        part: &Part<'a>,
        catalogue: &'a dyn Catalogue,
        universe: &std::sync::Arc<Universe>,
        mode: Mode,
    ) -> Result<Self, LinkError> {
        let file = || part.name.to_owned();
        let options = Options { mode, ..Options::default() };
        let mut checked = check(part.bytes, catalogue, universe, &options)
            .map_err(|error| LinkError::Check { file: file(), error })?;
        if !checked.is_ok() {
            return Err(LinkError::IllTyped { file: file(), diagnostics: diagnose(&mut checked) });
        }
        let interface = Interface::of_checked(&mut checked);
        let mut source = Self {
            name: part.name,
            bytes: part.bytes,
            checked,
            interface,
            header: ModelProto::default(),
            graph: GraphProto::default(),
            nodes: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            value_info: Vec::new(),
            annotations: Vec::new(),
            stored: Vec::new(),
            stored_names: HashSet::new(),
            functions: Vec::new(),
            imports: IndexMap::new(),
        };
        source.decode().map_err(|error| LinkError::Malformed { file: file(), error })?;
        for import in &source.header.opset_import {
            // Of two imports of one domain, the first is used.
            let version = import.version.unwrap_or_default();
            source.imports.entry(canonical(import.domain()).to_owned()).or_insert(version);
        }
        source.supported()?;
        Ok(source)
    }

    fn supported(&self) -> Result<(), LinkError> {
        let refuse = |reason| LinkError::Unsupported { file: self.name.to_owned(), reason };
        if self.header.metadata_props.iter().any(|entry| entry.key().starts_with(PROGRAM_KEYS)) {
            return Err(refuse("is a compiled program, which the compiler links from modules"));
        }
        let mut records = Fields::new(self.bytes, 0).flatten();
        if records.any(|field| field.number == fields::MODEL_TRAINING) {
            return Err(refuse("has training steps, which refer to its graph as a whole"));
        }
        Ok(())
    }

    fn decode(&mut self) -> Result<(), DecodeError> {
        let bytes = self.bytes;
        let mut header = Vec::new();
        for field in Fields::new(bytes, 0) {
            let field = field?;
            match field.number {
                fields::MODEL_GRAPH => self.decode_graph(&field)?,
                fields::MODEL_FUNCTION => self.functions.push(record(bytes, &field)?),
                fields::MODEL_TRAINING => {}
                _ => header.extend_from_slice(&bytes[field.offset..field.end]),
            }
        }
        self.header = read(header.into())?;
        Ok(())
    }

    fn decode_graph(&mut self, graph: &Field<'_>) -> Result<(), DecodeError> {
        let bytes = self.bytes;
        let WireValue::Len(body, offset) = graph.value else { return Ok(()) };
        let mut rest = Vec::new();
        for field in Fields::new(body, offset) {
            let field = field?;
            match field.number {
                fields::GRAPH_NODE => self.nodes.push(record(bytes, &field)?),
                fields::GRAPH_INPUT => self.inputs.push(record(bytes, &field)?),
                fields::GRAPH_OUTPUT => self.outputs.push(record(bytes, &field)?),
                fields::GRAPH_VALUE_INFO => self.value_info.push(record(bytes, &field)?),
                fields::GRAPH_ANNOTATION => self.annotations.push(record(bytes, &field)?),
                fields::GRAPH_INITIALIZER | fields::GRAPH_SPARSE_INITIALIZER => {
                    self.stored.extend(stored(&field)?);
                }
                _ => rest.extend_from_slice(&bytes[field.offset..field.end]),
            }
        }
        self.graph = read(rest.into())?;
        self.stored_names = self.stored.iter().map(|stored| stored.name.clone()).collect();
        Ok(())
    }

    pub(crate) fn ir_version(&self) -> i64 {
        self.header.ir_version.unwrap_or_default()
    }

    /// Whether an initializer with the name of an input is a constant.
    pub(crate) fn has_constant_inputs(&self) -> bool {
        self.ir_version() < FIRST_WITH_DEFAULTS
    }

    /// Whether a tensor of this name is stored in the main graph.
    pub(crate) fn stores(&self, name: &str) -> bool {
        self.stored_names.contains(name)
    }

    /// One side of a conflict at an input or output.
    pub(crate) fn end(&self, parameter: &typeloom_interface::Parameter) -> End {
        End {
            file: self.name.to_owned(),
            name: parameter.name.clone(),
            ty: self.interface.show(&parameter.ty),
            origin: self.origin(&parameter.name),
        }
    }

    fn origin(&self, name: &str) -> String {
        let body = self.checked.body();
        let Some(value) = self.checked.find(name) else { return "undefined".to_owned() };
        match body.value(value).origin {
            Origin::Input => "graph input".to_owned(),
            Origin::InputWithDefault(_) => "graph input with a default".to_owned(),
            Origin::Initializer(_) => "initializer".to_owned(),
            Origin::Undefined => "undefined".to_owned(),
            Origin::Step(step) => {
                let (_, operator) = self.checked.operator(body.maker(value).unwrap_or(step));
                let step = body.step(step);
                match step.node.name() {
                    Ok(name) if !name.is_empty() => format!("output of {operator} node `{name}`"),
                    Ok(_) | Err(_) => format!("output of {operator} node #{}", step.position),
                }
            }
        }
    }
}

/// The first IR version in which an initializer with the name of an input is a default.
pub(crate) const FIRST_WITH_DEFAULTS: i64 = 4;

fn record<M: OnnxMessage>(bytes: &Bytes, field: &Field<'_>) -> Result<Record<M>, DecodeError> {
    let old = field.offset..field.end;
    let WireValue::Len(body, offset) = field.value else {
        return Ok(Record { message: M::default(), old });
    };
    let message = read::<M>(bytes.slice(offset..offset + body.len()))
        .map_err(|error| DecodeError { offset: error.offset + offset, ..error })?;
    Ok(Record { message, old })
}

fn stored(field: &Field<'_>) -> Result<Option<Stored>, DecodeError> {
    let WireValue::Len(body, offset) = field.value else { return Ok(None) };
    let (form, name) = if field.number == fields::GRAPH_INITIALIZER {
        (StoredForm::Dense, TensorView::from_body(body, offset).header()?.name())
    } else {
        let values = SparseTensorView::from_body(body, offset).parse()?.values;
        let header = values.map(|values| values.header()).transpose()?;
        (StoredForm::Sparse, header.map_or("", |header| header.name()))
    };
    let name = name.to_owned();
    Ok(Some(Stored { name, form, old: field.offset..field.end, body: offset..offset + body.len() }))
}
