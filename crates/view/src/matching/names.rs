//! Pairs of nodes with the same name, before their structure is compared.
//!
//! A name that one node of each graph has is a candidate. Exporters number names, so an inserted node can move a
//! name to another node. Then its neighbours move, too, and their candidates are not next to each other:
//!
//! ```text
//! old    add_1 -> relu_1 -> add_2 -> relu_2
//! new    add_1 -> relu_1 -> relu_2 -> add_2 -> relu_3      the candidates of relu_2 have different makers
//! ```
//!
//! A candidate is a pair unless more of its neighbours contradict it than confirm it. Nodes with different
//! operators need a neighbour that confirms them. Later steps do not break these pairs.
//!
//! **Cost:** each node is visited once, with its first [`MAX_PORTS`] ports and uses.

use super::side::nodes_of;
use super::spread::MAX_PORTS;
use super::{Matcher, Pair};
use crate::map::Map;
use crate::scene::{NodeId, ValueId};

/// The candidate of each old node, and that of each new node.
type Candidates = [Map<NodeId, NodeId>; 2];

/// Matches the nodes of two graphs by their names.
pub(super) fn unique(matcher: &mut Matcher<'_>, pair: &Pair) {
    let candidates = candidates(matcher, pair);
    let old = nodes_of(matcher.sides[0].scene, pair.roots[0]);
    let pairs: Vec<[NodeId; 2]> = old.filter_map(|old| Some([old, *candidates[0].get(&old)?])).collect();
    for nodes in pairs {
        if is_confirmed(matcher, &candidates, nodes) {
            matcher.join(nodes[0], nodes[1]);
            matcher.named.insert(nodes[0]);
        }
    }
}

fn candidates(matcher: &mut Matcher<'_>, pair: &Pair) -> Candidates {
    let mut known: Map<&str, [(u32, NodeId); 2]> = Map::default();
    for side in [0, 1] {
        let scene = matcher.sides[side].scene;
        for node in nodes_of(scene, pair.roots[side]) {
            matcher.work.visits += 1;
            let name = scene.node(node).name.as_str();
            if !name.is_empty() {
                let entry = &mut known.entry(name).or_insert([(0, node); 2])[side];
                *entry = (entry.0 + 1, node);
            }
        }
    }
    let mut found = Candidates::default();
    for [(first, old), (second, new)] in known.into_values() {
        if first == 1 && second == 1 {
            found[0].insert(old, new);
            found[1].insert(new, old);
        }
    }
    found
}

/// Whether the neighbours of a candidate confirm it.
fn is_confirmed(matcher: &mut Matcher<'_>, candidates: &Candidates, nodes: [NodeId; 2]) -> bool {
    let scenes = matcher.sides.each_ref().map(|side| side.scene);
    let (mut equal, mut other) = (0, 0);
    let mut count = |is_equal: Option<bool>| match is_equal {
        Some(true) => equal += 1,
        Some(false) => other += 1,
        None => {}
    };
    let inputs = scenes[0].node(nodes[0]).inputs.iter().zip(&scenes[1].node(nodes[1]).inputs);
    for (old, new) in inputs.take(MAX_PORTS) {
        matcher.work.visits += 1;
        if let (Some(old), Some(new)) = (*old, *new) {
            count(is_same_source(matcher, candidates, [old, new]));
        }
    }
    let outputs = scenes[0].node(nodes[0]).outputs.iter().zip(&scenes[1].node(nodes[1]).outputs);
    for (old, new) in outputs.filter_map(|(old, new)| Some(((*old)?, (*new)?))) {
        let uses = [matcher.sides[0].uses(old), matcher.sides[1].uses(new)];
        matcher.work.visits += uses[0].len().min(MAX_PORTS);
        for (reader, port) in uses[0].iter().take(MAX_PORTS) {
            let Some(mate) = candidates[0].get(reader) else { continue };
            count(Some(matcher.sides[1].input(*mate, *port) == Some(new)));
        }
    }
    let labels = [0, 1].map(|side| matcher.sides[side].label(nodes[side]).weak);
    equal >= other && (equal > 0 || labels[0] == labels[1])
}

/// Whether two values have the same source; `None` if their names do not tell.
fn is_same_source(matcher: &Matcher<'_>, candidates: &Candidates, [old, new]: [ValueId; 2]) -> Option<bool> {
    match (matcher.sides[0].maker(old), matcher.sides[1].maker(new)) {
        (Some((old, from)), Some((new, to))) => match (candidates[0].get(&old), candidates[1].get(&new)) {
            (Some(mate), _) if *mate == new => Some(from == to),
            (Some(_), Some(_)) => Some(false),
            (Some(_) | None, Some(_) | None) => None,
        },
        (None, None) if matcher.values.new_of(old).is_some() => Some(matcher.values.are(old, new)),
        (Some(_) | None, Some(_) | None) => None,
    }
}
