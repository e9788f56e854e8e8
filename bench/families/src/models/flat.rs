//! Graphs without nesting: chains, wide graphs, fans.

use std::io::{self, Write};

use super::write_model;
use crate::model::{Element::Float, Graph};

/// A chain of `n` nodes.
pub(super) fn chain(n: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut graph = start("chain");
    graph.input("v0", Float, &["batch", "64"]);
    for i in 0..n {
        step(&mut graph, i, &format!("v{i}"), &format!("v{}", i + 1));
    }
    graph.output(&format!("v{n}"), Float, &["batch", "64"]);
    write_model(out, &[], &graph)
}

/// About `n` nodes in branches of three that meet in one node.
pub(super) fn wide(n: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut graph = start("wide");
    let mut ends = Vec::new();
    for branch in 0..n / 3 {
        graph.input(&format!("x{branch}"), Float, &["batch", "64"]);
        let mut value = format!("x{branch}");
        for i in 0..3 {
            let next = format!("v{branch}_{i}");
            step(&mut graph, branch + i, &value, &next);
            value = next;
        }
        ends.push(value);
    }
    let ends: Vec<&str> = ends.iter().map(String::as_str).collect();
    graph.node("Sum", &ends, "y", &[]);
    graph.output("y", Float, &["batch", "64"]);
    write_model(out, &[], &graph)
}

/// `n` nodes that read the same value.
pub(super) fn fan(n: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut graph = start("fan");
    graph.input("x", Float, &["batch", "64"]);
    for i in 0..n {
        step(&mut graph, i, "x", &format!("v{i}"));
    }
    graph.output(&format!("v{}", n - 1), Float, &["batch", "64"]);
    write_model(out, &[], &graph)
}

fn start(name: &str) -> Graph {
    let mut graph = Graph::new(name);
    graph.floats("bias", &[64]);
    graph.floats("scale", &[]);
    graph
}

/// The `i`-th node of a chain, alternately unary and binary.
fn step(graph: &mut Graph, i: u64, from: &str, to: &str) {
    match i % 4 {
        0 => graph.node("Relu", &[from], to, &[]),
        1 => graph.node("Add", &[from, "bias"], to, &[]),
        2 => graph.node("Sigmoid", &[from], to, &[]),
        _ => graph.node("Mul", &[from, "scale"], to, &[]),
    }
}
