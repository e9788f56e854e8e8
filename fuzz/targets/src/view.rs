//! Borrowed views of messages.

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{
    AttributeView, EntryView, FunctionField, FunctionView, GraphField, GraphView, ModelView, NodeField,
    NodeView, SparseTensorView, TensorView, TypeKindView, TypeView, ValueInfoView,
};

/// Visits everything that the views expose, at any depth.
///
/// # Panics
/// If an iterator continues after an error, or an error is located outside the file.
pub fn view(bytes: &[u8]) {
    let mut walk = Walk { size: bytes.len(), open: Vec::new() };
    let Some(model) = walk.ok(ModelView::new(bytes)) else { return };
    walk.model(&model);
    while let Some(next) = walk.open.pop() {
        match next {
            Open::Graph(graph) => walk.graph(graph),
            Open::Node(node) => walk.node(node),
            Open::Attribute(attribute) => walk.attribute(attribute),
            Open::Type(ty) => walk.ty(ty),
        }
    }
}

/// A nested view on the work list, which replaces recursion.
enum Open<'a> {
    Graph(GraphView<'a>),
    Node(NodeView<'a>),
    Attribute(AttributeView<'a>),
    Type(TypeView<'a>),
}

struct Walk<'a> {
    size: usize,
    open: Vec<Open<'a>>,
}

impl<'a> Walk<'a> {
    fn ok<T>(&self, result: Result<T, DecodeError>) -> Option<T> {
        result.inspect_err(|error| assert!(error.offset <= self.size, "an error is in the file")).ok()
    }

    fn each<T>(
        &mut self,
        items: impl Iterator<Item = Result<T, DecodeError>>,
        mut visit: impl FnMut(&mut Self, T),
    ) {
        let mut failed = false;
        for item in items {
            assert!(!failed, "nothing comes after an error");
            match self.ok(item) {
                Some(item) => visit(self, item),
                None => failed = true,
            }
        }
    }

    fn model(&mut self, model: &ModelView<'a>) {
        self.each(model.opset_imports(), |_, _| {});
        self.each(model.metadata_props(), Self::entry);
        self.each(model.functions(), Self::function);
        self.each(model.training_info(), |walk, info| {
            walk.each(info.initialization_binding(), Self::entry);
            walk.each(info.update_binding(), Self::entry);
            if let Some(info) = walk.ok(info.parse()) {
                walk.open.extend(info.initialization.into_iter().chain(info.algorithm).map(Open::Graph));
            }
        });
        self.open.extend(model.graph().map(Open::Graph));
    }

    fn function(&mut self, function: FunctionView<'a>) {
        self.ok(function.name());
        self.ok(function.domain());
        self.ok(function.overload());
        self.each(function.inputs(), |_, _| {});
        self.each(function.outputs(), |_, _| {});
        self.each(function.attributes(), |_, _| {});
        self.each(function.opset_imports(), |_, _| {});
        self.each(function.fields(), |walk, field| match field {
            FunctionField::Node(node) => walk.open.push(Open::Node(node)),
            FunctionField::AttributeProto(attribute) => walk.open.push(Open::Attribute(attribute)),
            FunctionField::OpsetImport(id) => drop(walk.ok(id.parse())),
            FunctionField::ValueInfo(value) => walk.value(value),
            FunctionField::Metadata(entry) => walk.entry(entry),
            FunctionField::Name(_) | FunctionField::Input(_) | FunctionField::Output(_) => {}
            FunctionField::Attribute(_) | FunctionField::Domain(_) => {}
            FunctionField::Overload(_) | FunctionField::Other(_) => {}
        });
    }

    fn graph(&mut self, graph: GraphView<'a>) {
        self.ok(graph.name());
        self.each(graph.fields(), |walk, field| match field {
            GraphField::Node(node) => walk.open.push(Open::Node(node)),
            GraphField::Initializer(tensor) => walk.tensor(tensor),
            GraphField::SparseInitializer(sparse) => walk.sparse(sparse),
            GraphField::Input(value) | GraphField::Output(value) | GraphField::ValueInfo(value) => {
                walk.value(value);
            }
            GraphField::QuantizationAnnotation(annotation) => {
                walk.ok(annotation.tensor_name());
                walk.each(annotation.quant_parameter_tensor_names(), Self::entry);
            }
            GraphField::Metadata(entry) => walk.entry(entry),
            GraphField::Name(_) | GraphField::Other(_) => {}
        });
    }

    fn entry(&mut self, entry: EntryView<'a>) {
        self.ok(entry.key());
        self.ok(entry.value());
    }

    fn node(&mut self, node: NodeView<'a>) {
        self.ok(node.name());
        self.ok(node.op_type());
        self.ok(node.domain());
        self.ok(node.overload());
        self.each(node.fields(), |walk, field| match field {
            NodeField::Attribute(attribute) => walk.open.push(Open::Attribute(attribute)),
            NodeField::Metadata(entry) => walk.entry(entry),
            NodeField::Input(_) | NodeField::Output(_) | NodeField::Name(_) | NodeField::OpType(_) => {}
            NodeField::Domain(_) | NodeField::Overload(_) | NodeField::Other(_) => {}
        });
    }

    fn attribute(&mut self, attribute: AttributeView<'a>) {
        self.ok(attribute.name());
        let Some(attribute) = self.ok(attribute.parse()) else { return };
        let _ = attribute.attribute_type();
        self.each(attribute.ints(), |_, _| {});
        self.each(attribute.floats(), |_, _| {});
        self.each(attribute.strings(), |_, _| {});
        attribute.t.into_iter().for_each(|tensor| self.tensor(tensor));
        self.each(attribute.tensors(), Self::tensor);
        attribute.sparse_tensor.into_iter().for_each(|sparse| self.sparse(sparse));
        self.each(attribute.sparse_tensors(), Self::sparse);
        self.open.extend(attribute.tp.map(Open::Type));
        self.each(attribute.type_protos(), |walk, ty| walk.open.push(Open::Type(ty)));
        self.open.extend(attribute.g.map(Open::Graph));
        self.each(attribute.graphs(), |walk, graph| walk.open.push(Open::Graph(graph)));
    }

    fn tensor(&mut self, tensor: TensorView<'a>) {
        if let Some(header) = self.ok(tensor.header()) {
            self.ok(header.element_count());
        }
        // With and without a limit: the file size bounds allocations, not the sizes that the file declares.
        for limit in [100, usize::MAX] {
            self.ok(tensor.int_values(limit));
            self.ok(tensor.float_values(limit));
            self.ok(tensor.string_values(limit));
        }
        self.each(tensor.external_data(), Self::entry);
        self.each(tensor.metadata_props(), Self::entry);
    }

    fn sparse(&mut self, sparse: SparseTensorView<'a>) {
        if let Some(sparse) = self.ok(sparse.parse()) {
            sparse.values.into_iter().chain(sparse.indices).for_each(|tensor| self.tensor(tensor));
        }
    }

    fn value(&mut self, value: ValueInfoView<'a>) {
        self.each(value.metadata_props(), Self::entry);
        if let Some(value) = self.ok(value.parse()) {
            self.open.extend(value.ty.map(Open::Type));
        }
    }

    fn ty(&mut self, ty: TypeView<'a>) {
        match self.ok(ty.parse()).unwrap_or_default().kind {
            TypeKindView::Tensor { shape, .. } | TypeKindView::Sparse { shape, .. } => {
                if let Some(shape) = shape {
                    self.each(shape.dims(), |_, _| {});
                }
            }
            TypeKindView::Sequence(inner) | TypeKindView::Optional(inner) => {
                self.open.extend(inner.map(Open::Type));
            }
            TypeKindView::Map { value, .. } => self.open.extend(value.map(Open::Type)),
            TypeKindView::Opaque { .. } | TypeKindView::None => {}
        }
    }
}
