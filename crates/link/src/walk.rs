//! Traversal of every name, symbol and location in decoded messages.
//!
//! [`Edit`] receives each of them once and may change it. Scans and renames share the traversal, so no name
//! is found by one and missed by the other. Messages are destructured without `..`: a new field breaks the
//! build until it is handled.
//!
//! # Scopes
//!
//! A nested graph sees the values around it and may define the same name again. The traversal follows the
//! order of definitions, so a name denotes a value of a nested graph from its definition on.
//!
//! **Invariant:** recursion is bounded by the nesting of decoded messages, which is at most 100.

use std::collections::HashSet;

use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, NodeDeviceConfigurationProto, NodeProto, SharedText,
    SparseTensorProto, StringStringEntryProto, TensorAnnotation, TensorProto, TensorShapeProto, Text,
    TypeProto, ValueInfoProto, metadata_entry, type_proto,
};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::CompositeText;
use typeloom_rewrite::annotate::{FILLED, MARK};

/// The scope of the value that a name denotes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// The main graph.
    Main,
    /// A graph nested in the main graph.
    Nested,
    /// A function, or a graph nested in one.
    Function,
}

/// Receives the names, symbols and locations of a model.
pub(crate) trait Edit {
    /// The name of a value.
    fn value(&mut self, name: &mut String, scope: Scope);
    /// The name of a node.
    fn node(&mut self, name: &mut String, scope: Scope);
    /// The operator or function that a node calls.
    fn call(&mut self, node: &mut NodeProto);
    /// The extent of an axis in a declared type.
    fn extent(&mut self, extent: &mut Option<dimension::Value>);
    /// The file with the data of a tensor.
    fn location(&mut self, location: &mut Text<SharedText>);
    /// The name of a device configuration of the model.
    fn configuration(&mut self, name: &mut String);
}

/// Traverses messages of one graph or function.
pub(crate) struct Walk<'e, E> {
    edit: &'e mut E,
    /// The scope of names that no nested graph defines.
    root: Scope,
    /// The names that each open nested graph has defined.
    nested: Vec<HashSet<String>>,
}

impl<'e, E: Edit> Walk<'e, E> {
    /// A traversal of the main graph.
    pub(crate) fn main(edit: &'e mut E) -> Self {
        Self { edit, root: Scope::Main, nested: Vec::new() }
    }

    /// Traverses a function.
    pub(crate) fn function(edit: &'e mut E, function: &mut FunctionProto) {
        let mut walk = Self { edit, root: Scope::Function, nested: Vec::new() };
        let FunctionProto {
            name: _,
            input: _,
            output: _,
            attribute: _,
            node,
            doc_string: _,
            opset_import: _,
            domain: _,
            attribute_proto,
            value_info,
            overload: _,
            metadata_props: _,
            unknown_fields: _,
        } = function;
        attribute_proto.iter_mut().for_each(|attribute| walk.attribute(attribute));
        node.iter_mut().for_each(|node| walk.node(node));
        value_info.iter_mut().for_each(|info| walk.info(info));
    }

    fn value(&mut self, name: &mut String) {
        if name.is_empty() {
            return;
        }
        let is_nested = self.nested.iter().any(|names| names.contains(name));
        let scope = match self.root {
            Scope::Main if is_nested => Scope::Nested,
            root => root,
        };
        self.edit.value(name, scope);
    }

    fn definition(&mut self, name: &mut String) {
        if let (Some(innermost), false) = (self.nested.last_mut(), name.is_empty()) {
            innermost.insert(name.clone());
        }
        self.value(name);
    }

    fn text(&mut self, name: &mut Text) {
        if let Some(name) = name.as_mut() {
            self.value(name);
        }
    }

    fn defined_text(&mut self, name: &mut Text) {
        if let Some(name) = name.as_mut() {
            self.definition(name);
        }
    }

    /// Traverses a node with its nested graphs.
    pub(crate) fn node(&mut self, node: &mut NodeProto) {
        self.edit.call(node);
        let NodeProto {
            input,
            output,
            name,
            op_type: _,
            attribute,
            doc_string: _,
            domain: _,
            overload: _,
            metadata_props: _,
            device_configurations,
            unknown_fields: _,
        } = node;
        input.iter_mut().for_each(|name| self.value(name));
        attribute.iter_mut().for_each(|attribute| self.attribute(attribute));
        output.iter_mut().for_each(|name| self.definition(name));
        for configuration in device_configurations {
            let NodeDeviceConfigurationProto {
                configuration_id,
                sharding_spec,
                pipeline_stage: _,
                unknown_fields: _,
            } = configuration;
            if let Some(name) = configuration_id.as_mut() {
                self.edit.configuration(name);
            }
            sharding_spec.iter_mut().for_each(|spec| self.text(&mut spec.tensor_name));
        }
        let scope = match self.root {
            Scope::Main if !self.nested.is_empty() => Scope::Nested,
            root => root,
        };
        if let Some(name) = name.as_mut().filter(|name| !name.is_empty()) {
            self.edit.node(name, scope);
        }
    }

    fn attribute(&mut self, attribute: &mut AttributeProto) {
        let AttributeProto {
            name: _,
            f: _,
            i: _,
            s: _,
            t,
            g,
            floats: _,
            ints: _,
            strings: _,
            tensors,
            graphs,
            doc_string: _,
            tp,
            type_protos,
            r#type: _,
            ref_attr_name: _,
            sparse_tensor,
            sparse_tensors,
            unknown_fields: _,
        } = attribute;
        t.as_deref_mut().into_iter().chain(tensors).for_each(|tensor| self.data(tensor));
        g.as_deref_mut().into_iter().chain(graphs).for_each(|graph| self.graph(graph));
        tp.as_deref_mut().into_iter().chain(type_protos).for_each(|ty| self.ty(ty));
        let sparse = sparse_tensor.as_deref_mut().into_iter().chain(sparse_tensors);
        sparse.for_each(|sparse| self.sparse_data(sparse));
    }

    /// A graph nested in a node.
    fn graph(&mut self, graph: &mut GraphProto) {
        self.nested.push(HashSet::new());
        let GraphProto {
            node,
            name: _,
            initializer,
            doc_string: _,
            input,
            output,
            value_info,
            quantization_annotation,
            sparse_initializer,
            metadata_props: _,
            unknown_fields: _,
        } = graph;
        for info in input {
            self.defined_text(&mut info.name);
            self.declared(info);
        }
        for tensor in initializer {
            self.defined_text(&mut tensor.name);
            self.data(tensor);
        }
        for sparse in sparse_initializer {
            if let Some(values) = &mut sparse.values {
                self.defined_text(&mut values.name);
            }
            self.sparse_data(sparse);
        }
        node.iter_mut().for_each(|node| self.node(node));
        output.iter_mut().chain(value_info).for_each(|info| self.info(info));
        quantization_annotation.iter_mut().for_each(|annotation| self.annotation(annotation));
        self.nested.pop();
    }

    /// The name and type of a value.
    pub(crate) fn info(&mut self, info: &mut ValueInfoProto) {
        self.text(&mut info.name);
        self.declared(info);
    }

    /// The declared type of a value, and the older type in a tag of annotations.
    pub(crate) fn declared(&mut self, info: &mut ValueInfoProto) {
        let ValueInfoProto { name: _, r#type, doc_string: _, metadata_props, unknown_fields: _ } = info;
        if let Some(ty) = r#type {
            self.ty(ty);
        }
        for entry in metadata_props.iter_mut().filter(|entry| entry.key() == MARK) {
            let record = entry.value().strip_prefix(FILLED).and_then(|text| hex::decode(text).ok());
            let Some(mut old) = record.and_then(|record| ValueInfoProto::decode(&record[..]).ok()) else {
                continue;
            };
            // A tag inside a tag is not followed: no writer makes one.
            old.metadata_props.clear();
            let before = old.clone();
            self.info(&mut old);
            if old != before {
                let text = format!("{FILLED}{}", hex::encode(old.encode_to_vec()));
                *entry = StringStringEntryProto {
                    unknown_fields: std::mem::take(&mut entry.unknown_fields),
                    ..metadata_entry(MARK, text)
                };
            }
        }
    }

    /// The quantisation parameters of a value.
    pub(crate) fn annotation(&mut self, annotation: &mut TensorAnnotation) {
        let TensorAnnotation { tensor_name, quant_parameter_tensor_names, unknown_fields: _ } = annotation;
        self.text(tensor_name);
        for entry in quant_parameter_tensor_names {
            let mut name = entry.value().to_owned();
            self.value(&mut name);
            if name != entry.value() {
                entry.value = SharedText::from(name).into();
            }
        }
    }

    fn ty(&mut self, ty: &mut TypeProto) {
        let mut next = Some(ty);
        while let Some(ty) = next.take() {
            match &mut ty.value {
                Some(type_proto::Value::TensorType(tensor)) => self.shape(tensor.shape.as_mut()),
                Some(type_proto::Value::SparseTensorType(tensor)) => self.shape(tensor.shape.as_mut()),
                Some(type_proto::Value::SequenceType(inner)) => next = inner.elem_type.as_deref_mut(),
                Some(type_proto::Value::OptionalType(inner)) => next = inner.elem_type.as_deref_mut(),
                Some(type_proto::Value::MapType(inner)) => next = inner.value_type.as_deref_mut(),
                Some(type_proto::Value::OpaqueType(opaque)) => self.composite(opaque),
                None => {}
            }
        }
    }

    /// The types of the children of a composite, which are stored as text. The parser of the text bounds its
    /// nesting.
    fn composite(&mut self, opaque: &mut type_proto::Opaque) {
        let Some(mut composite) = CompositeText::of_opaque(opaque.domain(), opaque.name()) else { return };
        composite.children.iter_mut().for_each(|(_, ty)| self.ty(ty));
        let changed = composite.to_opaque();
        if CompositeText::of_opaque(changed.domain(), changed.name())
            != CompositeText::of_opaque(opaque.domain(), opaque.name())
        {
            *opaque =
                type_proto::Opaque { unknown_fields: std::mem::take(&mut opaque.unknown_fields), ..changed };
        }
    }

    fn shape(&mut self, shape: Option<&mut TensorShapeProto>) {
        shape.into_iter().flat_map(|shape| &mut shape.dim).for_each(|dim| self.edit.extent(&mut dim.value));
    }

    fn sparse_data(&mut self, sparse: &mut SparseTensorProto) {
        let SparseTensorProto { values, indices, dims: _, unknown_fields: _ } = sparse;
        values.iter_mut().chain(indices).for_each(|tensor| self.data(tensor));
    }

    fn data(&mut self, tensor: &mut TensorProto) {
        tensor
            .external_data
            .iter_mut()
            .filter(|entry| entry.key() == "location")
            .for_each(|entry| self.edit.location(&mut entry.value));
    }
}
