//! Model-local functions: lookup by name and substitution of their attributes.

use std::collections::HashMap;

use typeloom_onnx::domain::canonical;
use typeloom_onnx::inline::replace_references;
use typeloom_onnx::messages::{AttributeProto, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto};
use typeloom_onnx::nested::{each_node_mut, graphs, graphs_mut};
use typeloom_onnx::prost::Message as _;

use super::Imports;

/// Number of nodes that the plans of a model may have, even if the model is small.
const MAX_NODES: usize = 1 << 16;

/// Maximum ratio of nodes in the plans of a large model to nodes in its file.
const MAX_GROWTH: usize = 64;

/// The domain, the name and the overload of a function.
type Name<'m> = (&'m str, &'m str, &'m str);

/// Maximum number of nodes of all plans of a model together.
pub(crate) fn max_nodes(model: &ModelProto) -> usize {
    let mut written = 0_usize;
    let main = model.graph.iter().flat_map(|graph| &graph.node);
    let mut open: Vec<&NodeProto> = main.chain(model.functions.iter().flat_map(|it| &it.node)).collect();
    while let Some(node) = open.pop() {
        written += 1;
        open.extend(graphs(node).flat_map(|graph| &graph.node));
    }
    MAX_NODES.max(written.saturating_mul(MAX_GROWTH))
}

/// Identity of an instance of a function: the function and its attributes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct InstanceKey {
    index: usize,
    attributes: Vec<Vec<u8>>,
}

/// A call of a function. References to attributes of the function are replaced in `nodes`.
pub(crate) struct FunctionCall<'m> {
    pub(crate) key: InstanceKey,
    pub(crate) function: &'m FunctionProto,
    pub(crate) nodes: Vec<NodeProto>,
    pub(crate) imports: Imports,
}

/// The model-local functions of a model.
pub(crate) struct Functions<'m> {
    list: &'m [FunctionProto],
    names: HashMap<Name<'m>, usize>,
    imports: Imports,
}

impl<'m> Functions<'m> {
    pub(crate) fn of(model: &'m ModelProto) -> Self {
        let name = |f: &'m FunctionProto| (canonical(f.domain()), f.name(), f.overload());
        let names = model.functions.iter().enumerate().map(|(at, function)| (name(function), at)).collect();
        Self { list: &model.functions, names, imports: imports(&model.opset_import) }
    }

    /// Returns the call if the node's operator is a model-local function.
    pub(crate) fn call(&self, domain: &str, node: &NodeProto) -> Option<FunctionCall<'m>> {
        let index = *self.names.get(&(domain, node.op_type(), node.overload()))?;
        let function = self.list.get(index)?;
        let mut given: HashMap<&str, &AttributeProto> = HashMap::new();
        for attribute in function.attribute_proto.iter().chain(&node.attribute) {
            given.insert(attribute.name(), attribute);
        }
        let mut attributes: Vec<Vec<u8>> =
            given.values().map(|attribute| attribute.encode_to_vec()).collect();
        attributes.sort_unstable();
        let nodes = function.node.iter().map(|node| with_attributes(node, &given)).collect();
        let mut all = self.imports.clone();
        all.extend(imports(&function.opset_import));
        Some(FunctionCall { key: InstanceKey { index, attributes }, function, nodes, imports: all })
    }
}

/// Versions of the imported operator sets, by domain.
pub(crate) fn imports(list: &[OperatorSetIdProto]) -> Imports {
    list.iter().map(|import| (canonical(import.domain()).to_owned(), import.version())).collect()
}

/// A node in which references to attributes of the function, also in nested graphs, are replaced.
pub(crate) fn with_attributes(node: &NodeProto, given: &HashMap<&str, &AttributeProto>) -> NodeProto {
    let mut node = node.clone();
    let replace = |node: &mut NodeProto| replace_references(node, |name| given.get(name).copied());
    replace(&mut node);
    graphs_mut(&mut node).for_each(|graph| each_node_mut(graph, replace));
    node
}
