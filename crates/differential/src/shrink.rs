//! Reduction of a case that breaks a law to a smaller one that breaks the same law with the same signature.
//!
//! Greedy: applies the following edits until none preserves the finding: remove outputs and declarations,
//! remove dead nodes, replace nodes by one of their inputs, remove worlds.

use std::collections::HashSet;

use crate::generate::Case;
use crate::laws::{Finding, examine};
use crate::program::{Declaration, Graph};

/// Returns the reduced case.
#[must_use]
pub fn shrink(case: &Case, finding: &Finding) -> Case {
    let breaks = |case: &Case| {
        examine(case).findings.iter().any(|it| it.law == finding.law && it.signature == finding.signature)
    };
    let mut best = case.clone();
    let keep = |candidate: Case, best: &mut Case| {
        let smaller = candidate.program.text().len() < best.program.text().len() && breaks(&candidate);
        if smaller {
            *best = candidate;
        }
        smaller
    };
    if let Some(value) = &finding.value {
        let mut candidate = best.clone();
        let graph = &mut candidate.program.graph;
        if !graph.outputs.iter().any(|output| output.name == *value) {
            graph.outputs = vec![Declaration { name: value.clone(), ty: None }];
        }
        sweep(graph);
        keep(candidate, &mut best);
    }
    loop {
        let mut progress = false;
        let mut at = 0;
        while let Some(candidate) = edited(&best, at) {
            if keep(candidate, &mut best) {
                progress = true;
            } else {
                at += 1;
            }
        }
        if !progress {
            return best;
        }
    }
}

/// The case after the edit of this number; `None` after the last one.
fn edited(case: &Case, mut at: usize) -> Option<Case> {
    let mut case = case.clone();
    let graph = &mut case.program.graph;
    if at < graph.outputs.len() {
        if graph.outputs.len() > 1 {
            graph.outputs.remove(at);
            sweep(graph);
        }
        return Some(case);
    }
    at -= graph.outputs.len();
    if at < graph.values.len() {
        graph.values.remove(at);
        return Some(case);
    }
    at -= graph.values.len();
    if edit_node(graph, &mut at) {
        return Some(case);
    }
    if at == 0 {
        sweep(graph);
        return Some(case);
    }
    at -= 1;
    for function in &mut case.program.functions {
        if edit_node(&mut function.graph, &mut at) {
            return Some(case);
        }
    }
    None
}

/// Removes an unread node, or replaces the outputs of a node by one of its inputs. Counts `at` down to the
/// edit.
fn edit_node(graph: &mut Graph, at: &mut usize) -> bool {
    for index in 0..graph.nodes.len() {
        if *at == 0 {
            let mut used: HashSet<&String> = HashSet::new();
            graph.walk(&mut |inner| {
                used.extend(inner.nodes.iter().flat_map(|node| &node.inputs));
                used.extend(inner.outputs.iter().map(|output| &output.name));
            });
            if !graph.nodes[index].outputs.iter().any(|output| used.contains(output)) {
                graph.nodes.remove(index);
            }
            return true;
        }
        *at -= 1;
        let inputs = graph.nodes[index].inputs.len();
        if *at < inputs {
            let node = graph.nodes[index].clone();
            let replacement = node.inputs[*at].clone();
            if !replacement.is_empty() && !graph.outputs.iter().any(|it| node.outputs.contains(&it.name)) {
                for output in &node.outputs {
                    rename(graph, output, &replacement);
                }
                graph.nodes.remove(index);
            }
            return true;
        }
        *at -= inputs;
        for nested in 0..graph.nodes[index].graphs.len() {
            if edit_node(&mut graph.nodes[index].graphs[nested].1, at) {
                return true;
            }
        }
    }
    false
}

fn rename(graph: &mut Graph, from: &str, to: &str) {
    for node in &mut graph.nodes {
        for input in &mut node.inputs {
            if input == from {
                to.clone_into(input);
            }
        }
        for (_, nested) in &mut node.graphs {
            rename(nested, from, to);
        }
    }
}

/// Removes nodes and constants that no output depends on.
fn sweep(graph: &mut Graph) {
    loop {
        let mut used: HashSet<String> = graph.outputs.iter().map(|it| it.name.clone()).collect();
        graph.walk(&mut |inner| {
            used.extend(inner.nodes.iter().flat_map(|node| node.inputs.iter().cloned()));
            used.extend(inner.outputs.iter().map(|output| output.name.clone()));
        });
        let before = size(graph);
        remove(graph, &used);
        if size(graph) == before {
            return;
        }
    }
}

fn size(graph: &Graph) -> usize {
    let mut size = 0;
    graph.walk(&mut |inner| size += inner.nodes.len() + inner.constants.len() + inner.values.len());
    size
}

fn remove(graph: &mut Graph, used: &HashSet<String>) {
    graph.nodes.retain(|node| node.outputs.iter().any(|output| used.contains(output)));
    graph.constants.retain(|(name, _)| used.contains(name));
    let nodes = &graph.nodes;
    graph.values.retain(|value| nodes.iter().any(|node| node.outputs.contains(&value.name)));
    for node in &mut graph.nodes {
        for (_, nested) in &mut node.graphs {
            remove(nested, used);
        }
    }
}
