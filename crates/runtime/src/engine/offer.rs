//! The nodes of a model as they are offered to an engine: named, held against what is known of it, and found again in
//! what it says.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use typeloom_types::dtype::Dtype;

use super::error::EngineError;
use super::{Engine, Offer};
use crate::functions::imports;
use crate::prepare::Imports;
use crate::session::ExternalData;
use typeloom_wire::stamp::{Extent, Stamp};

/// How deep graphs may be nested.
pub(super) const MAX_DEPTH: usize = 64;

/// What a message says of a node.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// The node in words.
    pub(super) words: String,
    /// Its operator.
    pub(super) operator: String,
    /// Its element types.
    pub(super) types: String,
}

/// The nodes of a model, by the numbers that are their names in the engine.
#[derive(Clone, Debug, Default)]
pub(super) struct Nodes {
    list: Vec<Told>,
    /// What makes the values of the main graph.
    makers: HashMap<String, usize>,
}

impl Nodes {
    /// What makes a value of the main graph.
    pub(super) fn maker(&self, value: &str) -> Option<&Told> {
        self.list.get(*self.makers.get(value)?)
    }

    /// The first node that a text of the engine names, and the text with the names that the model has.
    pub(super) fn find(&self, text: &str) -> (Option<&Told>, String) {
        let mut first = None;
        let mut shown = String::new();
        for (at, part) in text.split('@').enumerate() {
            // Numbers between two marks are nodes; every other part lies between marks.
            let told = part.parse::<usize>().ok().and_then(|number| self.list.get(number));
            match told {
                Some(told) if at > 0 => {
                    first = first.or(Some(told));
                    shown += &told.words;
                }
                Some(_) | None => shown += part,
            }
        }
        (first, shown)
    }

    /// The error for what an engine says when it does not take a model.
    pub(super) fn refused(&self, engine: &str, text: &str) -> EngineError {
        let (told, reason) = self.find(text);
        // A model of one node leaves no doubt.
        let told = told.or_else(|| if let [one] = &self.list[..] { Some(one) } else { None });
        let engine = engine.to_owned();
        match told.cloned() {
            Some(Told { words, operator, types }) => {
                EngineError::Unsupported { engine, node: words, operator, types, reason }
            }
            None => EngineError::Load { engine, reason },
        }
    }
}

/// What is known of a value.
#[derive(Clone, Debug)]
struct Known {
    stamp: Stamp,
    is_constant: bool,
}

/// Holds every node of a model against an engine, names the nodes by number, and brings in tensors of other files.
pub(super) fn offer(
    model: &mut ModelProto,
    engine: &dyn Engine,
    external: &ExternalData<'_>,
) -> Result<Nodes, EngineError> {
    let imported = imports(&model.opset_import);
    let domain = |domain: &str| if domain == "ai.onnx" { String::new() } else { domain.to_owned() };
    let functions =
        model.functions.iter().map(|it| (domain(it.domain()), it.name().to_owned())).collect::<HashSet<_>>();
    let read = reads(model);
    let mut walk = Walk { engine, external, functions, read, nodes: Nodes::default(), scopes: Vec::new() };
    if let Some(graph) = &mut model.graph {
        walk.graph(graph, &imported, 0)?;
    }
    for function in &mut model.functions {
        let mut all = imported.clone();
        all.extend(imports(&function.opset_import));
        // The types inside depend on the call; what is known of an engine is applied as if they were any.
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
    let mut graphs: Vec<&GraphProto> = model.graph.iter().collect();
    let mut nodes: Vec<&NodeProto> = Vec::new();
    for function in &model.functions {
        read.extend(function.output.iter().cloned());
        nodes.extend(&function.node);
    }
    while !(graphs.is_empty() && nodes.is_empty()) {
        if let Some(graph) = graphs.pop() {
            read.extend(graph.output.iter().map(|info| info.name().to_owned()));
            nodes.extend(&graph.node);
        }
        for node in nodes.drain(..) {
            read.extend(node.input.iter().cloned());
            graphs.extend(node.attribute.iter().flat_map(|it| it.g.as_deref().into_iter().chain(&it.graphs)));
        }
    }
    read
}

struct Walk<'w> {
    engine: &'w dyn Engine,
    external: &'w ExternalData<'w>,
    functions: HashSet<(String, String)>,
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
            scope.insert(info.name().to_owned(), Known { stamp: Stamp::of(ty), is_constant: false });
        }
        for tensor in &mut graph.initializer {
            self.bring_in(tensor)?;
            scope.insert(tensor.name().to_owned(), Known { stamp: of_tensor(tensor), is_constant: true });
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
                self.bring_in(tensor)?;
            }
        }
        let domain = if node.domain() == "ai.onnx" { "" } else { node.domain() };
        let known = |name: &String| (!name.is_empty()).then(|| self.known(name));
        let inputs: Vec<Option<Known>> = node.input.iter().map(known).collect();
        let outputs: Vec<Option<Known>> = node.output.iter().map(known).collect();
        let offer = Offer {
            node,
            version: imports.get(domain).copied().unwrap_or(1),
            read: node.output.iter().map(|name| self.read.contains(name)).collect(),
            constant: inputs.iter().map(|it| it.as_ref().is_some_and(|it| it.is_constant)).collect(),
            inputs: inputs.into_iter().map(|known| known.map(|it| it.stamp)).collect(),
            outputs: outputs.into_iter().map(|known| known.map(|it| it.stamp)).collect(),
        };
        let told = tell(&offer, at);
        let is_call = self.functions.contains(&(domain.to_owned(), node.op_type().to_owned()));
        let objection = if is_call {
            (!self.engine.calls_functions()).then(|| "it does not know functions of a model".to_owned())
        } else {
            self.lacks(&offer).or_else(|| self.engine.objection(&offer))
        };
        if let Some(reason) = objection {
            let engine = self.engine.name().to_owned();
            let Told { words, operator, types } = told;
            return Err(EngineError::Unsupported { engine, node: words, operator, types, reason });
        }
        let makes_constant = domain.is_empty() && node.op_type() == "Constant";
        let number = self.nodes.list.len();
        self.nodes.list.push(told);
        for output in node.output.iter().filter(|name| !name.is_empty()) {
            if depth == 0 {
                self.nodes.makers.insert(output.clone(), number);
            }
            if makes_constant && let Some(scope) = self.scopes.last_mut() {
                let stamp = scope.get(output).map_or(Stamp::Open, |known| known.stamp.clone());
                scope.insert(output.clone(), Known { stamp, is_constant: true });
            }
        }
        node.name = Some(format!("@{number}@"));
        for attribute in &mut node.attribute {
            for inner in attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs) {
                self.graph(inner, imports, depth + 1)?;
            }
        }
        Ok(())
    }

    fn known(&self, name: &str) -> Known {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name));
        found.cloned().unwrap_or(Known { stamp: Stamp::Open, is_constant: false })
    }

    /// An element type of the node that the engine does not have.
    fn lacks(&self, offer: &Offer<'_>) -> Option<String> {
        let stamps = offer.inputs.iter().chain(&offer.outputs).flatten();
        let missing = stamps.filter_map(innermost).find(|dtype| !self.engine.dtypes().contains(dtype))?;
        Some(format!("it has no {}", missing.onnx_name()))
    }

    fn bring_in(&self, tensor: &mut TensorProto) -> Result<(), EngineError> {
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

/// The element type of a tensor, or of what a container holds.
fn innermost(stamp: &Stamp) -> Option<Dtype> {
    let mut stamp = stamp;
    loop {
        match stamp {
            Stamp::Tensor { dtype, .. } => return *dtype,
            Stamp::Open => return None,
            Stamp::Sequence(inner) | Stamp::Optional(inner) => stamp = inner,
        }
    }
}

fn of_tensor(tensor: &TensorProto) -> Stamp {
    let extent = |extent: &i64| usize::try_from(*extent).map_or(Extent::Open, Extent::Known);
    Stamp::Tensor {
        dtype: tensor.data_type.and_then(Dtype::from_onnx_number),
        shape: Some(tensor.dims.iter().map(extent).collect()),
    }
}

fn tell(offer: &Offer<'_>, at: usize) -> Told {
    let node = offer.node;
    let words = if node.name().is_empty() { format!("node {at}") } else { format!("`{}`", node.name()) };
    let operator = match node.domain() {
        "" | "ai.onnx" => node.op_type().to_owned(),
        domain => format!("{domain}.{}", node.op_type()),
    };
    let name = |stamp: &Option<Stamp>| match stamp {
        None => "nothing".to_owned(),
        Some(Stamp::Tensor { dtype: Some(dtype), .. }) => dtype.onnx_name().to_owned(),
        Some(other) => other.to_string(),
    };
    let names = |stamps: &[Option<Stamp>]| stamps.iter().map(name).collect::<Vec<_>>().join(", ");
    let types = format!("({}) -> ({})", names(&offer.inputs), names(&offer.outputs));
    Told { words, operator, types }
}
