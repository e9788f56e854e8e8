//! Detection of functions that call themselves, directly, through others, or from nested graphs.
//!
//! The expansion of such a function does not terminate. [`cycle`] is a depth-first search over the calls with
//! an explicit stack, starting at the model's graph. It is linear in the size of the model and ignores
//! functions that the graph does not reach.

use typeloom_program::program::{GraphId, Program};

/// The state of a function in the search: `Open` on the current path, `Done` if it reaches no cycle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

/// Returns the names of the functions on a cycle of calls, with the first repeated at the end.
pub(crate) fn cycle(program: &Program) -> Option<Vec<String>> {
    if program.functions.is_empty() {
        return None;
    }
    let callees = program.callees();
    let calls = |body: GraphId| -> Vec<usize> {
        program.nodes_in(body).filter_map(|node| callees.find(program, &program[node])).collect()
    };
    let mut states = vec![State::New; program.functions.len()];
    let mut path: Vec<usize> = Vec::new();
    // Calls not yet followed, for the graph and for each function on the path.
    let mut left = vec![calls(program.main())];
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
                    left.push(calls(program.functions[callee].body));
                }
                State::Open => {
                    let start = path.iter().position(|function| *function == callee).unwrap_or_default();
                    let names = path[start..].iter().chain([&callee]);
                    return Some(names.map(|at| program.functions[*at].name.clone()).collect());
                }
            },
        }
    }
    None
}
