//! Traverses a model through all views.

use super::super::*;

/// Maximum depth of nested graphs and types.
const DEPTH: usize = 40;

/// Traverses the well-formed part of a model and collects errors.
#[derive(Default)]
pub(super) struct Walk {
    pub(super) errors: Vec<DecodeError>,
}

impl Walk {
    fn each<T>(
        &mut self,
        items: impl Iterator<Item = Result<T, DecodeError>>,
        mut visit: impl FnMut(&mut Self, T),
    ) {
        let mut failed = false;
        for item in items {
            assert!(!failed, "nothing comes after an error");
            match item {
                Ok(item) => visit(self, item),
                Err(error) => {
                    failed = true;
                    self.errors.push(error);
                }
            }
        }
    }

    fn ok<T>(&mut self, result: Result<T, DecodeError>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    pub(super) fn model(&mut self, bytes: &[u8]) {
        let Some(model) = self.ok(ModelView::new(bytes)) else { return };
        self.each(model.opset_imports(), |_, _| {});
        self.each(model.functions(), |walk, function| {
            walk.each(function.fields(), |walk, field| match field {
                FunctionField::Node(node) => walk.node(node, DEPTH),
                FunctionField::AttributeProto(attribute) => walk.attribute(attribute, DEPTH),
                FunctionField::OpsetImport(id) => drop(walk.ok(id.parse())),
                FunctionField::ValueInfo(value) => walk.value(value),
                FunctionField::Metadata(entry) => walk.entry(entry),
                FunctionField::Name(_) | FunctionField::Input(_) | FunctionField::Output(_) => {}
                FunctionField::Attribute(_) | FunctionField::Domain(_) => {}
                FunctionField::Overload(_) | FunctionField::Other(_) => {}
            });
        });
        self.each(model.metadata_props(), Self::entry);
        self.each(model.training_info(), |walk, info| {
            if let Some(info) = walk.ok(info.parse()) {
                info.algorithm.into_iter().for_each(|graph| walk.graph(graph, DEPTH));
            }
        });
        model.graph().into_iter().for_each(|graph| self.graph(graph, DEPTH));
    }

    fn graph(&mut self, graph: GraphView<'_>, depth: usize) {
        self.each(graph.fields(), |walk, field| match field {
            GraphField::Node(node) => walk.node(node, depth),
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

    fn entry(&mut self, entry: EntryView<'_>) {
        self.ok(entry.key());
        self.ok(entry.value());
    }

    fn node(&mut self, node: NodeView<'_>, depth: usize) {
        self.each(node.fields(), |walk, field| match field {
            NodeField::Attribute(attribute) => walk.attribute(attribute, depth),
            NodeField::Metadata(entry) => walk.entry(entry),
            NodeField::Input(_) | NodeField::Output(_) | NodeField::Name(_) | NodeField::OpType(_) => {}
            NodeField::Domain(_) | NodeField::Overload(_) | NodeField::Other(_) => {}
        });
    }

    fn attribute(&mut self, attribute: AttributeView<'_>, depth: usize) {
        let Some(attribute) = self.ok(attribute.parse()) else { return };
        self.each(attribute.ints(), |_, _| {});
        self.each(attribute.floats(), |_, _| {});
        self.each(attribute.strings(), |_, _| {});
        attribute.t.into_iter().for_each(|tensor| self.tensor(tensor));
        self.each(attribute.tensors(), Self::tensor);
        attribute.tp.into_iter().for_each(|ty| self.ty(ty, DEPTH));
        self.each(attribute.type_protos(), |walk, ty| walk.ty(ty, DEPTH));
        attribute.sparse_tensor.into_iter().for_each(|sparse| self.sparse(sparse));
        self.each(attribute.sparse_tensors(), Self::sparse);
        if depth > 0 {
            attribute.g.into_iter().for_each(|graph| self.graph(graph, depth - 1));
            self.each(attribute.graphs(), |walk, graph| walk.graph(graph, depth - 1));
        }
    }

    fn tensor(&mut self, tensor: TensorView<'_>) {
        self.ok(tensor.header());
        self.ok(tensor.int_values(100));
        self.ok(tensor.float_values(100));
        self.ok(tensor.string_values(100));
        self.each(tensor.external_data(), Self::entry);
    }

    fn sparse(&mut self, sparse: SparseTensorView<'_>) {
        if let Some(sparse) = self.ok(sparse.parse()) {
            sparse.values.into_iter().chain(sparse.indices).for_each(|tensor| self.tensor(tensor));
        }
    }

    fn value(&mut self, value: ValueInfoView<'_>) {
        if let Some(ty) = self.ok(value.parse()).and_then(|value| value.ty) {
            self.ty(ty, DEPTH);
        }
    }

    fn ty(&mut self, ty: TypeView<'_>, depth: usize) {
        let inner = match self.ok(ty.parse()).unwrap_or_default().kind {
            TypeKindView::Tensor { shape, .. } | TypeKindView::Sparse { shape, .. } => {
                if let Some(shape) = shape {
                    self.each(shape.dims(), |_, _| {});
                }
                None
            }
            TypeKindView::Sequence(inner) | TypeKindView::Optional(inner) => inner,
            TypeKindView::Map { value, .. } => value,
            TypeKindView::Opaque { .. } | TypeKindView::None => None,
        };
        if let Some(inner) = inner.filter(|_| depth > 0) {
            self.ty(inner, depth - 1);
        }
    }
}
