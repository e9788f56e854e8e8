//! Transformations of a model with a known effect on its types.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};
use typeloom_onnx::messages::tensor_shape_proto::dimension;
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, TypeProto, ValueInfoProto, type_proto};

/// Prefix of renamed values and symbols.
const PREFIX: &str = "q_";

/// Deterministic linear congruential generator (the constants of Knuth's MMIX).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }
}

/// Result of reordering the nodes of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Done,
    Impossible,
}

/// Reorders the nodes of the main graph randomly, keeping every definition before its uses.
pub(crate) fn shuffle(model: &mut ModelProto, seed: u64) -> Shuffle {
    let Some(graph) = model.graph.as_mut() else { return Shuffle::Impossible };
    let nodes = std::mem::take(&mut graph.node);
    let mut makers: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if makers.insert(output, at).is_some() {
                graph.node = nodes;
                return Shuffle::Impossible;
            }
        }
    }
    let mut waits: Vec<BTreeSet<usize>> = nodes
        .iter()
        .enumerate()
        .map(|(at, node)| {
            let mut names = BTreeSet::new();
            mentioned(node, &mut names);
            names.iter().filter_map(|name| makers.get(name).copied()).filter(|maker| *maker != at).collect()
        })
        .collect();
    if waits.iter().enumerate().any(|(at, makers)| makers.iter().any(|maker| *maker > at)) {
        graph.node = nodes;
        return Shuffle::Impossible;
    }
    let mut numbers = Numbers::new(seed);
    let mut order = Vec::with_capacity(nodes.len());
    let mut left: Vec<usize> = (0..nodes.len()).collect();
    while !left.is_empty() {
        let ready: Vec<usize> = left.iter().copied().filter(|at| waits[*at].is_empty()).collect();
        let next = ready[numbers.below(ready.len())];
        left.retain(|at| *at != next);
        waits.iter_mut().for_each(|makers| {
            makers.remove(&next);
        });
        order.push(next);
    }
    if order.windows(2).all(|pair| pair[0] < pair[1]) {
        graph.node = nodes;
        return Shuffle::Impossible;
    }
    graph.node = order.into_iter().map(|at| nodes[at].clone()).collect();
    Shuffle::Done
}

/// Collects the names that a node, and the graphs in it, read.
fn mentioned<'m>(node: &'m NodeProto, names: &mut BTreeSet<&'m str>) {
    names.extend(node.input.iter().map(String::as_str));
    for attribute in &node.attribute {
        for graph in attribute.g.iter().map(|graph| &**graph).chain(&attribute.graphs) {
            graph.node.iter().for_each(|node| mentioned(node, names));
            names.extend(graph.output.iter().map(ValueInfoProto::name));
        }
    }
}

/// Applies a change to every graph of a model, and to the types that functions declare.
fn every_graph(graph: &mut GraphProto, change: &mut impl FnMut(&mut GraphProto)) {
    change(graph);
    for node in &mut graph.node {
        for attribute in &mut node.attribute {
            let nested = attribute.g.iter_mut().map(|graph| &mut **graph).chain(&mut attribute.graphs);
            nested.for_each(|graph| every_graph(graph, change));
        }
    }
}

/// Renames every value of the main graph and of its nested graphs.
pub(crate) fn rename_values(model: &mut ModelProto) {
    let Some(graph) = model.graph.as_mut() else { return };
    let rename = |name: &mut String| {
        if !name.is_empty() {
            name.insert_str(0, PREFIX);
        }
    };
    every_graph(graph, &mut |graph| {
        for info in graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info) {
            info.name.as_mut().into_iter().for_each(rename);
        }
        graph.initializer.iter_mut().for_each(|tensor| tensor.name.as_mut().into_iter().for_each(rename));
        for sparse in &mut graph.sparse_initializer {
            sparse.values.iter_mut().for_each(|values| values.name.as_mut().into_iter().for_each(rename));
        }
        for node in &mut graph.node {
            node.input.iter_mut().chain(&mut node.output).for_each(rename);
        }
    });
}

/// Applies a change to every declared dim.
fn every_dim(model: &mut ModelProto, change: &mut impl FnMut(&mut Option<dimension::Value>)) {
    let mut of_list = |infos: &mut [ValueInfoProto]| {
        for info in infos {
            info.r#type.iter_mut().for_each(|ty| dims_of(ty, change));
        }
    };
    for function in &mut model.functions {
        of_list(&mut function.value_info);
    }
    if let Some(graph) = model.graph.as_mut() {
        every_graph(graph, &mut |graph| {
            of_list(&mut graph.input);
            of_list(&mut graph.output);
            of_list(&mut graph.value_info);
        });
    }
}

fn dims_of(ty: &mut TypeProto, change: &mut impl FnMut(&mut Option<dimension::Value>)) {
    let shape = match &mut ty.value {
        Some(type_proto::Value::TensorType(tensor)) => tensor.shape.as_mut(),
        Some(type_proto::Value::SparseTensorType(tensor)) => tensor.shape.as_mut(),
        Some(type_proto::Value::SequenceType(inner)) => {
            return inner.elem_type.iter_mut().for_each(|ty| dims_of(ty, change));
        }
        Some(type_proto::Value::OptionalType(inner)) => {
            return inner.elem_type.iter_mut().for_each(|ty| dims_of(ty, change));
        }
        Some(type_proto::Value::MapType(inner)) => {
            return inner.value_type.iter_mut().for_each(|ty| dims_of(ty, change));
        }
        Some(_) | None => None,
    };
    for dim in shape.into_iter().flat_map(|shape| &mut shape.dim) {
        change(&mut dim.value);
    }
}

fn is_identifier(name: &str) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether every declared dim is a number or a plain name, so that it can be renamed and replaced.
pub(crate) fn is_plain(model: &ModelProto) -> bool {
    let mut plain = true;
    every_dim(&mut model.clone(), &mut |dim| {
        if let Some(dimension::Value::DimParam(name)) = dim {
            plain &= name.is_empty() || (is_identifier(name) && !["min", "max"].contains(&name.as_str()));
        }
    });
    plain
}

/// Renames every symbol.
pub(crate) fn rename_symbols(model: &mut ModelProto) {
    every_dim(model, &mut |dim| {
        if let Some(dimension::Value::DimParam(name)) = dim
            && !name.is_empty()
        {
            name.insert_str(0, PREFIX);
        }
    });
}

/// Returns an answer with every value and symbol renamed.
pub(crate) fn renamed(types: &Map<String, Value>) -> Map<String, Value> {
    let list = |list: &Value| -> Value {
        let entries = list.as_object().into_iter().flatten();
        let rename = |name: &String| if name.is_empty() { String::new() } else { format!("{PREFIX}{name}") };
        Value::Object(entries.map(|(name, ty)| (rename(name), renamed_type(ty))).collect())
    };
    let entry = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            ("inputs" | "value_info" | "outputs", value) => list(value),
            ("sub", Value::Array(graphs)) => graphs
                .iter()
                .filter_map(Value::as_object)
                .map(|graph| Value::Object(renamed(graph)))
                .collect(),
            (_, value) => value.clone(),
        };
        (key.clone(), value)
    };
    types.iter().map(entry).collect()
}

fn renamed_type(ty: &Value) -> Value {
    let Some(object) = ty.as_object() else { return ty.clone() };
    let entry = |(key, value): (&String, &Value)| {
        let value = match (key.as_str(), value) {
            ("s", Value::Array(dims)) => dims
                .iter()
                .map(|dim| match dim {
                    Value::String(text) => Value::String(renamed_dim(text)),
                    other => other.clone(),
                })
                .collect(),
            ("of" | "val", inner) => renamed_type(inner),
            (_, value) => value.clone(),
        };
        (key.clone(), value)
    };
    Value::Object(object.iter().map(entry).collect())
}

fn renamed_dim(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = if is_word(first) {
            rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let word = &rest[..end];
        if is_identifier(word) && !["min", "max"].contains(&word) {
            out.push_str(PREFIX);
        }
        out.push_str(word);
        rest = &rest[end..];
    }
    out
}

/// Replaces the symbols that inputs of the main graph declare by numbers.
pub(crate) fn substitute(model: &mut ModelProto, numbers: &[i64]) -> BTreeMap<String, i64> {
    let mut names = BTreeSet::new();
    for info in model.graph.iter_mut().flat_map(|graph| &mut graph.input) {
        info.r#type.iter_mut().for_each(|ty| {
            dims_of(ty, &mut |dim| {
                if let Some(dimension::Value::DimParam(name)) = dim
                    && !name.is_empty()
                {
                    names.insert(name.clone());
                }
            });
        });
    }
    let symbols: BTreeMap<String, i64> =
        names.into_iter().zip(numbers.iter().cycle()).map(|(name, number)| (name, *number)).collect();
    every_dim(model, &mut |dim| {
        if let Some(dimension::Value::DimParam(name)) = dim
            && let Some(number) = symbols.get(name)
        {
            *dim = Some(dimension::Value::DimValue(*number));
        }
    });
    symbols
}

/// Removes every declared type except those of the inputs of the main graph and of nested graphs.
pub(crate) fn strip(model: &mut ModelProto) {
    if let Some(graph) = model.graph.as_mut() {
        every_graph(graph, &mut |graph| {
            graph.value_info.clear();
            graph.output.iter_mut().for_each(|info| info.r#type = None);
        });
    }
}
