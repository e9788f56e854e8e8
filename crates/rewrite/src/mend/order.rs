//! Topological order with few moves.
//!
//! Algorithm: two stable orders are computed, and the one that moves fewer nodes is used. The first is a
//! depth-first search in file order, which moves definitions in front of their first reader. The second is
//! Kahn's algorithm with the first ready node in file order, which moves readers behind their inputs. The
//! nodes outside of a longest increasing subsequence of old positions move. The first order is best for
//! constants at the end, the second for a reader that comes too early; neither is always minimal.
//!
//! One call sorts the outermost unsorted graphs. The next call sorts graphs nested in moved nodes, because no
//! edit may be inside a record that another edit replaces.

use std::collections::{BTreeSet, HashMap, HashSet};

use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::ModelProto;
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::view::{GraphView, ModelView, NodeView};
use typeloom_solver::program::{GraphId, topological_order};

use super::MovedNode;
use crate::coerce::WriteError;
use crate::coerce::layout::{GraphLayout, Layout};

/// Sorts the outermost graphs and functions that are not in topological order; `None` if there are none, or
/// only cycles.
pub(super) fn sort(bytes: &[u8], moved: &mut Vec<MovedNode>) -> Result<Option<Vec<u8>>, WriteError> {
    let mut splice = Splice::new::<ModelProto>(bytes);
    for layout in &Layout::of_model(&ModelView::new(bytes)?)? {
        // The graphs that are sorted, or inside a sorted one.
        let mut sorted: HashSet<GraphId> = HashSet::new();
        for (id, graph) in layout.graphs() {
            let is_inside = layout.outer(id).is_some_and(|outer| sorted.contains(&outer));
            let order = if is_inside { None } else { order(&graph.nodes)? };
            if is_inside || order.is_some() {
                sorted.insert(id);
            }
            if let Some(order) = order {
                write(graph, &path(layout, id), &order, &mut splice, moved)?;
            }
        }
    }
    Ok(splice.changed()?)
}

/// The path of a graph in reports.
fn path(layout: &Layout<'_>, graph: GraphId) -> String {
    let function = layout.is_function().then(|| format!("function {}", layout.name));
    let steps = layout.path(graph).0.into_iter().map(|step| format!("node #{}", step.node));
    function.into_iter().chain(steps).collect::<Vec<_>>().join(", ")
}

/// The new order of nodes, by old positions; `None` for sorted nodes and for cycles.
fn order(nodes: &[NodeView<'_>]) -> Result<Option<Vec<usize>>, DecodeError> {
    let mut makers: HashMap<&str, usize> = HashMap::new();
    for (at, node) in nodes.iter().enumerate() {
        for name in node.outputs() {
            let name = name?;
            if !name.is_empty() {
                makers.entry(name).or_insert(at);
            }
        }
    }
    let mut needs: Vec<Vec<usize>> = Vec::with_capacity(nodes.len());
    let mut is_sorted = true;
    for (at, node) in nodes.iter().enumerate() {
        let mut own = BTreeSet::new();
        for name in reads(*node)? {
            if let Some(maker) = makers.get(name) {
                is_sorted &= *maker < at;
                own.insert(*maker);
            }
        }
        needs.push(own.into_iter().collect());
    }
    if is_sorted {
        return Ok(None);
    }
    let orders = [definitions_first(&needs), topological_order(&needs)];
    Ok(orders.into_iter().flatten().min_by_key(|order| order.len() - unmoved(order).len()))
}

/// The names that a node reads, including those that its graphs capture.
fn reads<'a>(node: NodeView<'a>) -> Result<Vec<&'a str>, DecodeError> {
    let mut found: Vec<&'a str> = node.inputs().collect::<Result<_, _>>()?;
    for graph in node.graphs()? {
        found.extend(captures(graph)?);
    }
    found.retain(|name| !name.is_empty());
    Ok(found)
}

/// The names that a graph reads and does not define. The recursion is bounded, because a check has limited
/// the nesting.
fn captures<'a>(graph: GraphView<'a>) -> Result<Vec<&'a str>, DecodeError> {
    let mut own: HashSet<&str> = HashSet::new();
    for input in graph.inputs() {
        own.insert(input?.parse()?.name);
    }
    for tensor in graph.initializers() {
        own.insert(tensor?.header()?.name());
    }
    let mut found = Vec::new();
    for node in graph.nodes() {
        let node = node?;
        found.extend(reads(node)?);
        for name in node.outputs() {
            own.insert(name?);
        }
    }
    for output in graph.outputs() {
        found.push(output?.parse()?.name);
    }
    found.retain(|name| !own.contains(name));
    Ok(found)
}

/// File order, with the definitions that a node reads in front of it.
fn definitions_first(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const DONE: u8 = 2;
    let mut state = vec![NEW; needs.len()];
    let mut order = Vec::with_capacity(needs.len());
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in 0..needs.len() {
        if state[start] == NEW {
            state[start] = OPEN;
            path.push((start, 0));
        }
        while let Some((at, next)) = path.last_mut() {
            match needs[*at].get(*next) {
                None => {
                    state[*at] = DONE;
                    order.push(*at);
                    path.pop();
                }
                Some(need) => {
                    *next += 1;
                    match state[*need] {
                        DONE => {}
                        NEW => {
                            state[*need] = OPEN;
                            path.push((*need, 0));
                        }
                        _ => return None,
                    }
                }
            }
        }
    }
    Some(order)
}

/// The nodes that need not move: a longest increasing subsequence of old positions, by patience sorting.
fn unmoved(order: &[usize]) -> HashSet<usize> {
    let mut last: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; order.len()];
    let mut pile_of = vec![0; order.len()];
    for at in order.iter().copied() {
        let pile = last.partition_point(|top| *top < at);
        before[at] = pile.checked_sub(1).map(|pile| last[pile]);
        pile_of[at] = pile;
        match last.get_mut(pile) {
            Some(top) => *top = at,
            None => last.push(at),
        }
    }
    let mut next = last.last().copied();
    let mut found = HashSet::new();
    while let Some(at) = next {
        found.insert(at);
        next = before[at];
    }
    found
}

/// Writes the records of the nodes in a new order; unmoved records are not edited.
fn write(
    graph: &GraphLayout<'_>,
    path: &str,
    order: &[usize],
    splice: &mut Splice<'_>,
    moved: &mut Vec<MovedNode>,
) -> Result<(), DecodeError> {
    let unmoved = unmoved(order);
    for (to, from) in order.iter().copied().enumerate() {
        let node = graph.nodes[from];
        if to != from {
            let slot = &graph.records[to];
            splice.replace(graph.source.offset(), slot, Records::new().bytes(slot.number, node.bytes()));
        }
        if !unmoved.contains(&from) {
            let name = match node.name()? {
                "" => node.op_type()?,
                name => name,
            };
            moved.push(MovedNode { graph: path.to_owned(), node: name.to_owned(), from, to });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_nodes_move() {
        // The constant at the end moves forward, the reader at the start moves back.
        let constant_last = [vec![3], vec![0], vec![1], vec![]];
        assert_eq!(definitions_first(&constant_last), Some(vec![3, 0, 1, 2]));
        let order = definitions_first(&constant_last).unwrap_or_default();
        assert_eq!(order.len() - unmoved(&order).len(), 1);
        let reader_first = [vec![3], vec![], vec![1], vec![2]];
        assert_eq!(topological_order(&reader_first), Some(vec![1, 2, 3, 0]));
        let order = topological_order(&reader_first).unwrap_or_default();
        assert_eq!(order.len() - unmoved(&order).len(), 1);
    }

    #[test]
    fn cycles_have_no_order() {
        let cycle = [vec![1], vec![0]];
        assert_eq!((definitions_first(&cycle), topological_order(&cycle)), (None, None));
    }

    #[test]
    fn long_chains_do_not_recurse() {
        let reversed: Vec<Vec<usize>> =
            (0..100_000).map(|at| if at + 1 < 100_000 { vec![at + 1] } else { vec![] }).collect();
        assert_eq!(definitions_first(&reversed), Some((0..100_000).rev().collect()));
    }
}
