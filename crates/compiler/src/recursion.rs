//! Detection of functions that call themselves, directly, through others, or from nested graphs.
//!
//! The expansion of such a function does not terminate. [`cycle`] is a depth-first search over the calls with
//! an explicit stack, starting at the model's graph. It is linear in the size of the model and ignores
//! functions that the graph does not reach.

use typeloom_onnx::inline;
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto};
use typeloom_onnx::nested;

/// The state of a function in the search: `Open` on the current path, `Done` if it reaches no cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// Returns the names of the functions on a cycle of calls, with the first repeated at the end.
pub(crate) fn cycle(model: &ModelProto) -> Option<Vec<String>> {
    if model.functions.is_empty() {
        return None;
    }
    let functions = inline::positions(&model.functions);
    let calls = |nodes: &[NodeProto]| -> Vec<usize> {
        let mut found = Vec::new();
        let mut of_node = |node: &NodeProto| {
            found.extend(functions.get(&inline::callee(node)).copied());
        };
        for node in nodes {
            of_node(node);
            nested::graphs(node).for_each(|graph: &GraphProto| nested::each_node(graph, &mut of_node));
        }
        found
    };
    let mut states = vec![State::New; model.functions.len()];
    let mut path: Vec<usize> = Vec::new();
    // Calls not yet followed, for the graph and for each function on the path.
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
