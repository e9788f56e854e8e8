//! Functions of the model: found by name, their attributes put in.

use std::collections::HashMap;

use typeloom_onnx::messages::{AttributeProto, FunctionProto, ModelProto, NodeProto};
use typeloom_onnx::prost::Message as _;

use crate::prepare::Imports;

/// How many nodes all plans of a session may have together, whatever is written in the model.
const MAX_NODES: usize = 1 << 16;

/// How many times as many nodes as are written in a larger model its plans may have.
const MAX_TIMES: usize = 64;

/// How deep graphs inside the body of a function are looked into.
const MAX_GRAPHS: usize = 64;

/// The domain, the name and the overload of a function.
type Name<'m> = (&'m str, &'m str, &'m str);

/// How many nodes the plans of a model may have together.
pub(crate) fn max_nodes(model: &ModelProto) -> usize {
    let mut written = 0_usize;
    let main = model.graph.iter().flat_map(|graph| &graph.node);
    let mut open: Vec<&NodeProto> = main.chain(model.functions.iter().flat_map(|it| &it.node)).collect();
    while let Some(node) = open.pop() {
        written += 1;
        let graphs = node.attribute.iter().flat_map(|it| it.g.as_deref().into_iter().chain(&it.graphs));
        open.extend(graphs.flat_map(|graph| &graph.node));
    }
    MAX_NODES.max(written.saturating_mul(MAX_TIMES))
}

/// What makes two calls the same: the function and the attributes it is given.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Key {
    index: usize,
    attributes: Vec<Vec<u8>>,
}

/// A call of a function, with its attributes put in.
pub(crate) struct FunctionCall<'m> {
    pub(crate) key: Key,
    pub(crate) function: &'m FunctionProto,
    pub(crate) nodes: Vec<NodeProto>,
    pub(crate) imports: Imports,
}

/// The functions of a model.
pub(crate) struct Functions<'m> {
    list: &'m [FunctionProto],
    names: HashMap<Name<'m>, usize>,
    imports: Imports,
}

impl<'m> Functions<'m> {
    pub(crate) fn of(model: &'m ModelProto) -> Self {
        let domain = |domain: &'m str| if domain == "ai.onnx" { "" } else { domain };
        let name = |f: &'m FunctionProto| (domain(f.domain()), f.name(), f.overload());
        let names = model.functions.iter().enumerate().map(|(at, function)| (name(function), at)).collect();
        Self { list: &model.functions, names, imports: imports(&model.opset_import) }
    }

    /// The call that a node is, where its operator is a function of the model.
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
        let nodes = function.node.iter().map(|node| with_attributes(node, &given, 0)).collect();
        let mut all = self.imports.clone();
        all.extend(imports(&function.opset_import));
        Some(FunctionCall { key: Key { index, attributes }, function, nodes, imports: all })
    }
}

/// The versions that operator set imports say.
pub(crate) fn imports(list: &[typeloom_onnx::messages::OperatorSetIdProto]) -> Imports {
    let domain = |domain: &str| if domain == "ai.onnx" { String::new() } else { domain.to_owned() };
    list.iter().map(|import| (domain(import.domain()), import.version())).collect()
}

/// A node of a function's body with references to the function's attributes replaced by their values. A reference
/// to one that is not given leaves the attribute out.
pub(crate) fn with_attributes(
    node: &NodeProto,
    given: &HashMap<&str, &AttributeProto>,
    depth: usize,
) -> NodeProto {
    let mut node = node.clone();
    node.attribute = node
        .attribute
        .into_iter()
        .filter_map(|mut attribute| {
            if let Some(from) = attribute.ref_attr_name.as_deref().filter(|name| !name.is_empty()) {
                let name = attribute.name.clone();
                return given.get(from).map(|value| AttributeProto { name, ..(*value).clone() });
            }
            if let Some(graph) = attribute.g.as_deref_mut()
                && depth < MAX_GRAPHS
            {
                graph.node =
                    graph.node.iter().map(|inner| with_attributes(inner, given, depth + 1)).collect();
            }
            Some(attribute)
        })
        .collect();
    node
}
