//! Helpers on the IR, which is ONNX's own messages.
//!
//! **Invariant:** nothing here recurses; graphs nested in nodes are visited with a stack of their own.

use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, SharedText, StringStringEntryProto};

/// A map for lookups; its order reaches nothing.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// A set for lookups; its order reaches nothing.
pub(crate) type Set<K> = std::collections::HashSet<K, foldhash::fast::RandomState>;

/// The version of a domain that a model imports.
pub(crate) fn imported(model: &ModelProto, domain: &str) -> Option<i64> {
    let canonical = |domain: &str| if domain == "ai.onnx" { String::new() } else { domain.to_owned() };
    let wanted = canonical(domain);
    let found = model.opset_import.iter().find(|import| canonical(import.domain()) == wanted)?;
    Some(found.version())
}

/// What a node's metadata says under a key.
pub(crate) fn metadata<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    lookup(&node.metadata_props, key)
}

/// What a list of entries says under a key.
pub(crate) fn lookup<'e>(entries: &'e [StringStringEntryProto], key: &str) -> Option<&'e str> {
    entries.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

/// Sets an entry of a list, in place of one that was there.
pub(crate) fn set(
    entries: &mut Vec<StringStringEntryProto>,
    key: impl Into<SharedText> + AsRef<str>,
    value: impl Into<SharedText>,
) {
    match entries.iter_mut().find(|entry| entry.key() == key.as_ref()) {
        Some(entry) => entry.value = Some(value.into()),
        None => entries.push(crate::graph::recorder::entry(key, value)),
    }
}

/// The graphs in a node's attributes, in the order of the attributes.
pub(crate) fn graphs(node: &NodeProto) -> impl DoubleEndedIterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.as_deref().into_iter().chain(&attribute.graphs))
}

/// The same, to be changed.
pub(crate) fn graphs_mut(node: &mut NodeProto) -> impl DoubleEndedIterator<Item = &mut GraphProto> {
    node.attribute
        .iter_mut()
        .flat_map(|attribute| attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs))
}

/// Visits a graph and every graph in it; outer ones first, in the order of nodes and attributes.
pub(crate) fn each_graph<'g>(graph: &'g GraphProto, mut visit: impl FnMut(&'g GraphProto, usize)) {
    let mut open = vec![(graph, 0)];
    while let Some((graph, depth)) = open.pop() {
        visit(graph, depth);
        open.extend(graph.node.iter().flat_map(graphs).rev().map(|nested| (nested, depth + 1)));
    }
}

/// The same, with graphs that can be changed; their nodes may not be taken away.
pub(crate) fn each_graph_mut(graph: &mut GraphProto, mut visit: impl FnMut(&mut GraphProto, usize)) {
    let mut open = vec![(graph, 0)];
    while let Some((graph, depth)) = open.pop() {
        visit(graph, depth);
        open.extend(
            graph.node.iter_mut().rev().flat_map(|node| graphs_mut(node).rev()).map(|it| (it, depth + 1)),
        );
    }
}

/// Visits every node of a graph and of the graphs in it.
pub(crate) fn each_node<'g>(graph: &'g GraphProto, mut visit: impl FnMut(&'g NodeProto)) {
    each_graph(graph, |graph, _| graph.node.iter().for_each(&mut visit));
}

/// The same, with nodes that can be changed.
pub(crate) fn each_node_mut(graph: &mut GraphProto, mut visit: impl FnMut(&mut NodeProto)) {
    each_graph_mut(graph, |graph, _| graph.node.iter_mut().for_each(&mut visit));
}

/// A name that is not taken, and takes it.
pub(crate) fn fresh(taken: &mut std::collections::HashSet<String>, stem: &str) -> String {
    let mut name = stem.to_owned();
    let mut number = 1;
    while taken.contains(&name) {
        number += 1;
        name = format!("{stem}.{number}");
    }
    taken.insert(name.clone());
    name
}

/// Every name of a value in a graph and the graphs in it.
pub(crate) fn value_names(graph: &GraphProto) -> std::collections::HashSet<String> {
    let mut taken = std::collections::HashSet::new();
    each_graph(graph, |graph, _| {
        let infos = graph.input.iter().chain(&graph.output).map(|info| info.name().to_owned());
        taken.extend(infos);
        taken.extend(graph.initializer.iter().map(|tensor| tensor.name().to_owned()));
        taken.extend(graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output)).cloned());
    });
    taken
}

/// Gives values of a graph and of the graphs in it other names, where they are made and where they are read.
pub(crate) fn rename(graph: &mut GraphProto, names: &Map<String, String>) {
    if names.is_empty() {
        return;
    }
    each_graph_mut(graph, |graph, _| {
        let ports = graph.node.iter_mut().flat_map(|node| node.input.iter_mut().chain(&mut node.output));
        for port in ports {
            if let Some(name) = names.get(port) {
                port.clone_from(name);
            }
        }
        for info in graph.value_info.iter_mut().chain(&mut graph.output) {
            if let Some(name) = names.get(info.name()) {
                info.name = Some(name.clone());
            }
        }
    });
}

/// The domains of a model's operators; the default one always counts.
pub(crate) fn domains(model: &ModelProto) -> Set<String> {
    let mut used: Set<String> = [String::new()].into_iter().collect();
    let mut of_node = |node: &NodeProto| {
        if !used.contains(node.domain()) {
            used.insert(node.domain().to_owned());
        }
    };
    if let Some(graph) = &model.graph {
        each_node(graph, &mut of_node);
    }
    for node in model.functions.iter().flat_map(|function| &function.node) {
        of_node(node);
        graphs(node).for_each(|graph| each_node(graph, &mut of_node));
    }
    used
}
