//! Prepares the nodes of a model for an engine: gives each a unique name, compares it with the limits of the
//! engine, and finds it by name in messages of the engine.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::domain::qualified;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use typeloom_types::dtype::Dtype;

use super::error::EngineError;
use super::{Engine, Offer};
use crate::options::ExternalData;
use crate::prepare::{Imports, imports};
use typeloom_onnx::nested::graphs;
use typeloom_program::domain::Domain;
use typeloom_tensor::value_type::{Dim, Element, ValueType};

/// Largest nesting of graphs.
pub(super) const MAX_DEPTH: usize = 64;

/// Description of a node for messages.
#[derive(Clone, Debug)]
pub(super) struct NodeDescription {
    pub(super) label: String,
    pub(super) operator: String,
    /// The element types of inputs and outputs.
    pub(super) types: String,
}

/// The nodes of a model by number. The name of a node in the engine is its number between two `@`.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    list: Vec<NodeDescription>,
    /// The nodes that define the values of the main graph.
    makers: HashMap<String, usize>,
}

impl Nodes {
    /// The node that defines a value of the main graph.
    pub(super) fn maker(&self, value: &str) -> Option<&NodeDescription> {
        self.list.get(*self.makers.get(value)?)
    }

    /// The first node that a message of the engine names, and the message with the labels of the nodes.
    pub(super) fn find(&self, text: &str) -> (Option<&NodeDescription>, String) {
        let mut first = None;
        let mut shown = String::new();
        for (at, part) in text.split('@').enumerate() {
            let node = part.parse::<usize>().ok().and_then(|number| self.list.get(number));
            match node {
                Some(node) if at > 0 => {
                    first = first.or(Some(node));
                    shown += &node.label;
                }
                Some(_) | None => shown += part,
            }
        }
        (first, shown)
    }

    /// The error for a message of an engine that rejects a model.
    pub(super) fn refused(&self, engine: &str, text: &str) -> EngineError {
        let (node, reason) = self.find(text);
        // A message without a name concerns the only node, if the model has one node.
        let node = node.or_else(|| if let [one] = &self.list[..] { Some(one) } else { None });
        let engine = engine.to_owned();
        match node.cloned() {
            Some(NodeDescription { label, operator, types }) => {
                EngineError::Unsupported { engine, node: label, operator, types, reason }
            }
            None => EngineError::Load { engine, reason },
        }
    }
}

/// Type of a value.
#[derive(Clone, Debug, Default)]
struct Known {
    ty: ValueType,
    is_constant: bool,
}

/// Compares every node of a model with an engine, names the nodes by number, and reads tensors in other
/// files.
pub(super) fn offer(
    model: &mut ModelProto,
    engine: &dyn Engine,
    external: &ExternalData<'_>,
) -> Result<Nodes, EngineError> {
    let imported = imports(&model.opset_import);
    let functions = model
        .functions
        .iter()
        .map(|it| (Domain::of(it.domain()), it.name().to_owned()))
        .collect::<HashSet<_>>();
    let read = reads(model);
    let mut walk = Walk { engine, external, functions, read, nodes: Nodes::default(), scopes: Vec::new() };
    if let Some(graph) = &mut model.graph {
        walk.graph(graph, &imported, 0)?;
    }
    for function in &mut model.functions {
        let mut all = imported.clone();
        all.extend(imports(&function.opset_import));
        // The types in a function depend on the call, so they are unknown here.
        walk.scopes = vec![HashMap::new()];
        for (at, node) in function.node.iter_mut().enumerate() {
            walk.node(node, at, &all, 1)?;
        }
    }
    Ok(walk.nodes)
}

/// The names that nodes, graphs and functions read. A name that is read anywhere counts as read everywhere.
fn reads(model: &ModelProto) -> HashSet<String> {
    let mut read = HashSet::new();
    let mut open: Vec<&GraphProto> = model.graph.iter().collect();
    let mut nodes: Vec<&NodeProto> = Vec::new();
    for function in &model.functions {
        read.extend(function.output.iter().cloned());
        nodes.extend(&function.node);
    }
    while !(open.is_empty() && nodes.is_empty()) {
        if let Some(graph) = open.pop() {
            read.extend(graph.output.iter().map(|info| info.name().to_owned()));
            nodes.extend(&graph.node);
        }
        for node in nodes.drain(..) {
            read.extend(node.input.iter().cloned());
            open.extend(graphs(node));
        }
    }
    read
}

struct Walk<'w> {
    engine: &'w dyn Engine,
    external: &'w ExternalData<'w>,
    functions: HashSet<(Domain, String)>,
    read: HashSet<String>,
    nodes: Nodes,
    scopes: Vec<HashMap<String, Known>>,
}

impl Walk<'_> {
    fn graph(&mut self, graph: &mut GraphProto, imports: &Imports, depth: usize) -> Result<(), EngineError> {
        if depth > MAX_DEPTH {
            return Err(EngineError::TooDeep { limit: MAX_DEPTH });
        }
        let mut scope = HashMap::new();
        let infos = graph.value_info.iter().chain(&graph.output).chain(&graph.input);
        for (info, ty) in infos.filter_map(|info: &ValueInfoProto| Some((info, info.r#type.as_ref()?))) {
            scope.insert(
                info.name().to_owned(),
                Known { ty: ValueType::from_message(ty), is_constant: false },
            );
        }
        for tensor in &mut graph.initializer {
            self.read_external(tensor)?;
            scope.insert(tensor.name().to_owned(), Known { ty: type_of(tensor), is_constant: true });
        }
        self.scopes.push(scope);
        for (at, node) in graph.node.iter_mut().enumerate() {
            self.node(node, at, imports, depth)?;
        }
        self.scopes.pop();
        Ok(())
    }

    fn node(
        &mut self,
        node: &mut NodeProto,
        at: usize,
        imports: &Imports,
        depth: usize,
    ) -> Result<(), EngineError> {
        for attribute in &mut node.attribute {
            for tensor in attribute.t.as_deref_mut().into_iter().chain(&mut attribute.tensors) {
                self.read_external(tensor)?;
            }
        }
        let known = |name: &String| (!name.is_empty()).then(|| self.known(name));
        let inputs: Vec<Option<Known>> = node.input.iter().map(known).collect();
        let outputs: Vec<Option<Known>> = node.output.iter().map(known).collect();
        let offer = Offer {
            node,
            version: imports.get(&Domain::of(node.domain())).copied().unwrap_or(1),
            read: node.output.iter().map(|name| self.read.contains(name)).collect(),
            constant: inputs.iter().map(|it| it.as_ref().is_some_and(|it| it.is_constant)).collect(),
            inputs: inputs.into_iter().map(|known| known.map(|it| it.ty)).collect(),
            outputs: outputs.into_iter().map(|known| known.map(|it| it.ty)).collect(),
        };
        let description = describe(&offer, at);
        let is_call = self.functions.contains(&(Domain::of(node.domain()), node.op_type().to_owned()));
        let objection = if is_call {
            (!self.engine.calls_functions()).then(|| "it does not support model-local functions".to_owned())
        } else {
            self.missing_element_type(&offer).or_else(|| self.engine.objection(&offer))
        };
        if let Some(reason) = objection {
            let engine = self.engine.name().to_owned();
            let NodeDescription { label: node, operator, types } = description;
            return Err(EngineError::Unsupported { engine, node, operator, types, reason });
        }
        let makes_constant = node.is_onnx() && node.op_type() == "Constant";
        let number = self.nodes.list.len();
        self.nodes.list.push(description);
        for output in node.output.iter().filter(|name| !name.is_empty()) {
            if depth == 0 {
                self.nodes.makers.insert(output.clone(), number);
            }
            if makes_constant && let Some(scope) = self.scopes.last_mut() {
                scope.entry(output.clone()).or_default().is_constant = true;
            }
        }
        node.name = format!("@{number}@").into();
        for attribute in &mut node.attribute {
            for inner in attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs) {
                self.graph(inner, imports, depth + 1)?;
            }
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Known {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        found.cloned().unwrap_or_default()
    }

    /// The objection to an element type that the engine does not have.
    fn missing_element_type(&self, offer: &Offer<'_>) -> Option<String> {
        let types = offer.inputs.iter().chain(&offer.outputs).flatten();
        let missing = types.filter_map(innermost).find(|dtype| !self.engine.dtypes().contains(dtype))?;
        Some(format!("it has no {}", missing.onnx_name()))
    }

    fn read_external(&self, tensor: &mut TensorProto) -> Result<(), EngineError> {
        if tensor.data_location == Some(DataLocation::External as i32) {
            let bytes = (self.external)(tensor)
                .map_err(|reason| EngineError::ExternalData { name: tensor.name().to_owned(), reason })?;
            tensor.raw_data = Some(bytes);
            tensor.external_data.clear();
            tensor.data_location = None;
        }
        Ok(())
    }
}

/// The element type of a tensor, or of the tensors in a container.
fn innermost(ty: &ValueType) -> Option<Dtype> {
    let mut ty = ty;
    while let Element::Sequence(inner) | Element::Optional(inner) | Element::Map(_, inner) = &ty.element {
        ty = inner;
    }
    ty.dtype()
}

fn type_of(tensor: &TensorProto) -> ValueType {
    let dim = |extent: &i64| usize::try_from(*extent).map_or(Dim::Unknown, Dim::Fixed);
    let dtype = tensor.data_type.and_then(Dtype::from_onnx_number);
    let shape = Some(tensor.dims.iter().map(dim).collect());
    ValueType { node: dtype.map(Dtype::type_node), element: Element::Tensor(dtype), shape }
}

fn describe(offer: &Offer<'_>, at: usize) -> NodeDescription {
    let node = offer.node;
    let label = if node.name().is_empty() { format!("node {at}") } else { format!("`{}`", node.name()) };
    let operator = qualified(node.domain(), node.op_type());
    let name = |ty: &Option<ValueType>| match ty {
        None => "nothing".to_owned(),
        Some(ty) => ty.dtype().map_or_else(|| ty.to_string(), |dtype| dtype.onnx_name().to_owned()),
    };
    let names = |types: &[Option<ValueType>]| types.iter().map(name).collect::<Vec<_>>().join(", ");
    let types = format!("({}) -> ({})", names(&offer.inputs), names(&offer.outputs));
    NodeDescription { label, operator, types }
}
