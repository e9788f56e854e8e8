//! The files in which a model stores tensors.

use std::collections::BTreeSet;

use crate::view::{AttributeView, GraphView, ModelView, NodeView, SparseTensorView, TensorView};

/// The locations of external data in a model, as they are written in it: relative to the folder of the model.
/// Parts that cannot be decoded have none.
#[must_use]
pub fn locations<'m>(model: &ModelView<'m>) -> BTreeSet<&'m str> {
    let mut found = Found::default();
    found.graphs.extend(model.graph());
    for function in model.functions().flatten() {
        function.nodes().flatten().for_each(|node| found.node(&node));
        function.attribute_protos().flatten().for_each(|attribute| found.attribute(&attribute));
    }
    while let Some(graph) = found.graphs.pop() {
        graph.initializers().flatten().for_each(|tensor| found.tensor(tensor));
        graph.sparse_initializers().flatten().for_each(|tensor| found.sparse(tensor));
        graph.nodes().flatten().for_each(|node| found.node(&node));
    }
    found.locations
}

#[derive(Default)]
struct Found<'m> {
    locations: BTreeSet<&'m str>,
    /// The graphs that have not been searched.
    graphs: Vec<GraphView<'m>>,
}

impl<'m> Found<'m> {
    fn node(&mut self, node: &NodeView<'m>) {
        node.attributes().flatten().for_each(|attribute| self.attribute(&attribute));
    }

    fn attribute(&mut self, attribute: &AttributeView<'m>) {
        let Ok(attribute) = attribute.parse() else { return };
        self.graphs.extend(attribute.g);
        self.graphs.extend(attribute.graphs().flatten());
        attribute.t.into_iter().chain(attribute.tensors().flatten()).for_each(|tensor| self.tensor(tensor));
        let sparse = attribute.sparse_tensor.into_iter().chain(attribute.sparse_tensors().flatten());
        sparse.for_each(|tensor| self.sparse(tensor));
    }

    fn sparse(&mut self, sparse: SparseTensorView<'m>) {
        let Ok(sparse) = sparse.parse() else { return };
        sparse.values.into_iter().chain(sparse.indices).for_each(|tensor| self.tensor(tensor));
    }

    fn tensor(&mut self, tensor: TensorView<'m>) {
        let entries = tensor.external_data().flatten().filter(|entry| entry.has_key("location"));
        self.locations.extend(entries.filter_map(|entry| entry.value().ok()));
    }
}
