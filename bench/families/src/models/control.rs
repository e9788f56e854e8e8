//! Nested models: branches in a chain, functions in functions.

use std::io::{self, Write};

use super::write_model;
use crate::model::{
    Attribute,
    Element::{Bool, Float},
    Graph, function,
};

/// A chain of `n` nodes, in which every tenth is an `If` over outer values.
pub(super) fn ifs(n: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut graph = Graph::new("ifs");
    graph.input("condition", Bool, &[]);
    graph.input("v0", Float, &["batch", "64"]);
    for i in 0..n {
        let (from, to) = (format!("v{i}"), format!("v{}", i + 1));
        if i % 10 == 9 {
            let then = branch("Relu", &from, &format!("then{i}"));
            let other = branch("Sigmoid", &from, &format!("else{i}"));
            let branches = [Attribute::Graph("then_branch", &then), Attribute::Graph("else_branch", &other)];
            graph.node("If", &["condition"], &to, &branches);
        } else {
            graph.node("Relu", &[&from], &to, &[]);
        }
    }
    graph.output(&format!("v{n}"), Float, &["batch", "64"]);
    write_model(out, &[], &graph)
}

/// Functions `f1` to `f<depth>`; each applies the next one twice, the last is a `Relu`.
pub(super) fn functions(depth: u64, out: &mut dyn Write) -> io::Result<u64> {
    let twice = |level: u64| {
        function(&format!("f{level}"), |body| {
            let next = format!("f{}", level + 1);
            body.call(&next, "x", "half");
            body.call(&next, "half", "y");
        })
    };
    let last = function(&format!("f{depth}"), |body| body.node("Relu", &["x"], "y", &[]));
    let functions: Vec<_> = (1..depth).map(twice).chain([last]).collect();
    let mut graph = Graph::new("functions");
    graph.input("x", Float, &["batch", "64"]);
    graph.call("f1", "x", "y");
    graph.output("y", Float, &["batch", "64"]);
    Ok(write_model(out, &functions, &graph)? + 2 * (depth - 1) + 1)
}

fn branch(op: &str, from: &str, to: &str) -> Graph {
    let mut graph = Graph::new(to);
    graph.node(op, &[from], to, &[]);
    graph.bare_output(to);
    graph
}
