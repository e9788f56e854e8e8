//! Functions that call themselves, directly, through others, or from the branches and bodies of their nodes.
//!
//! Expanding such a function does not end. [`cycle`] is a depth-first search over the calls, started at the model's graph,
//! with a stack of its own; it is linear in the size of the model. Functions that the graph does not reach are not searched.

use std::collections::HashMap;

use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto};

use typeloom_onnx::inline::{Key, key};
use typeloom_onnx::nested;

/// Functions that were entered: those on the path to the current one, and those that lead to no cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// The names of the functions on a cycle of calls, from one function back to itself.
pub(crate) fn cycle(model: &ModelProto) -> Option<Vec<String>> {
    if model.functions.is_empty() {
        return None;
    }
    let mut functions: HashMap<Key, usize> = HashMap::new();
    for (at, it) in model.functions.iter().enumerate() {
        functions.entry(key(it.domain(), it.name(), it.overload())).or_insert(at);
    }
    let calls = |nodes: &[NodeProto]| -> Vec<usize> {
        let mut found = Vec::new();
        let mut of_node = |node: &NodeProto| {
            found.extend(functions.get(&key(node.domain(), node.op_type(), node.overload())).copied());
        };
        for node in nodes {
            of_node(node);
            nested::graphs(node).for_each(|graph: &GraphProto| nested::each_node(graph, &mut of_node));
        }
        found
    };
    let mut states = vec![State::New; model.functions.len()];
    let mut path: Vec<usize> = Vec::new();
    // The calls that are left to follow, for the graph and for each function of the path.
    let mut left = vec![calls(&model.graph.as_ref()?.node)];
    while let Some(callees) = left.last_mut() {
        match callees.pop() {
            None => {
                left.pop();
                if let Some(function) = path.pop() {
                    states[function] = State::Done;
                }
            }
            Some(callee) => match states[callee] {
                State::Done => {}
                State::New => {
                    states[callee] = State::Open;
                    path.push(callee);
                    left.push(calls(&model.functions[callee].node));
                }
                State::Open => {
                    let start = path.iter().position(|function| *function == callee).unwrap_or_default();
                    let names = path[start..].iter().chain([&callee]);
                    return Some(names.map(|at| model.functions[*at].name().to_owned()).collect());
                }
            },
        }
    }
    None
}
