//! Traversal of the graphs nested in the nodes of a graph.
//!
//! Visits are in pre-order, in the order of nodes and attributes.
//!
//! **Invariant:** nothing here recurses: each traversal keeps its own stack, so the nesting of a file is not
//! limited by the call stack.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use crate::messages::{GraphProto, NodeProto};

/// Returns the graphs in a node's attributes, in the order of the attributes.
pub fn graphs(node: &NodeProto) -> impl DoubleEndedIterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.as_deref().into_iter().chain(&attribute.graphs))
}

/// Mutable counterpart of [`graphs`].
pub fn graphs_mut(node: &mut NodeProto) -> impl DoubleEndedIterator<Item = &mut GraphProto> {
    node.attribute
        .iter_mut()
        .flat_map(|attribute| attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs))
}

/// Visits a graph and every graph nested in it, with the depth of each.
pub fn each_graph<'g>(graph: &'g GraphProto, mut visit: impl FnMut(&'g GraphProto, usize)) {
    let mut open = vec![(graph, 0)];
    while let Some((graph, depth)) = open.pop() {
        visit(graph, depth);
        open.extend(graph.node.iter().flat_map(graphs).rev().map(|nested| (nested, depth + 1)));
    }
}

/// Mutable counterpart of [`each_graph`]. Graphs of nodes that `visit` adds are visited too.
pub fn each_graph_mut(graph: &mut GraphProto, mut visit: impl FnMut(&mut GraphProto, usize)) {
    let mut open = vec![(graph, 0)];
    while let Some((graph, depth)) = open.pop() {
        visit(graph, depth);
        open.extend(
            graph.node.iter_mut().rev().flat_map(|node| graphs_mut(node).rev()).map(|it| (it, depth + 1)),
        );
    }
}

/// As [`each_graph_mut`], with the number of each graph in the order of visits instead of its depth.
pub fn each_numbered_graph_mut(graph: &mut GraphProto, mut visit: impl FnMut(&mut GraphProto, usize)) {
    let mut number = 0;
    each_graph_mut(graph, |graph, _| {
        visit(graph, number);
        number += 1;
    });
}

/// As [`each_graph_mut`], up to the first error.
///
/// # Errors
/// The first error of `visit`.
pub fn try_each_graph_mut<E>(
    graph: &mut GraphProto,
    mut visit: impl FnMut(&mut GraphProto, usize) -> Result<(), E>,
) -> Result<(), E> {
    let mut result = Ok(());
    each_graph_mut(graph, |graph, depth| {
        if result.is_ok() {
            result = visit(graph, depth);
        }
    });
    result
}

/// Visits every node of a graph and of the graphs nested in it.
pub fn each_node<'g>(graph: &'g GraphProto, mut visit: impl FnMut(&'g NodeProto)) {
    each_graph(graph, |graph, _| graph.node.iter().for_each(&mut visit));
}

/// Mutable counterpart of [`each_node`].
pub fn each_node_mut(graph: &mut GraphProto, mut visit: impl FnMut(&mut NodeProto)) {
    each_graph_mut(graph, |graph, _| graph.node.iter_mut().for_each(&mut visit));
}

/// Returns the names of all values in a graph and the graphs nested in it.
pub fn value_names(graph: &GraphProto) -> HashSet<String> {
    let mut names = HashSet::new();
    each_graph(graph, |graph, _| {
        names.extend(graph.input.iter().chain(&graph.output).map(|info| info.name().to_owned()));
        names.extend(graph.initializer.iter().map(|tensor| tensor.name().to_owned()));
        names.extend(graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output)).cloned());
    });
    names
}

/// Renames values of a graph and the graphs nested in it, at their definitions by nodes and at every use.
pub fn rename_values<S: BuildHasher>(graph: &mut GraphProto, names: &HashMap<String, String, S>) {
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
                info.name = name.clone().into();
            }
        }
    });
}
