//! Correction of pairs by the votes of matched neighbours.
//!
//! For each old node that is not matched by its name, and has no pair or one that has another label or other inputs, the candidates are the
//! new nodes that read matched values at the same ports, and those that make the values that matched readers
//! read at the same ports. The candidate with the best score replaces the pair if its score is better than
//! those of the pairs that it breaks. Then pairs without support are removed.
//!
//! **Cost:** [`MAX_ROUNDS`] rounds; a node looks at [`MAX_CANDIDATES`] candidates, and a score at the first
//! ports and uses of two nodes.

use super::side::{CAPTURE, nodes_of};
use super::spread::{self, MAX_PORTS};
use super::{Matcher, Pair, Strength};
use crate::scene::NodeId;

/// The maximum number of rounds.
const MAX_ROUNDS: usize = 6;

/// The maximum number of candidates of a node.
const MAX_CANDIDATES: usize = 12;

/// The number of uses of a value that are considered.
const MAX_USES: usize = 8;

/// The evidence that two nodes match.
#[derive(Clone, Copy, Default)]
struct Evidence {
    is_same_operator: bool,
    is_same_label: bool,
    is_same_name: bool,
    has_inputs: bool,
    inputs: spread::Agreement,
    /// The readers that agree, and those that do not. Outputs of the graph count twice.
    readers: usize,
    other_readers: usize,
}

impl Evidence {
    fn score(&self) -> isize {
        let bonus = |is_set: bool, value: isize| if is_set { value } else { 0 };
        let count = |count: usize| isize::try_from(count).unwrap_or(isize::MAX / 8);
        bonus(self.is_same_operator, 3)
            + bonus(self.is_same_label, 2)
            + bonus(self.is_same_name, 1)
            + 2 * count(self.inputs.equal)
            - 2 * count(self.inputs.conflicts)
            + 2 * count(self.readers)
            - count(self.other_readers)
    }

    /// Whether the nodes can be a pair: a neighbour, the name or the label states it. Nodes with different
    /// operators need neighbours on both sides.
    fn is_support(&self) -> bool {
        let spread::Agreement { equal, conflicts, open: _ } = self.inputs;
        if self.is_same_operator {
            return equal > 0
                || self.readers > 0
                || self.is_same_name
                || self.is_same_label && !self.has_inputs;
        }
        (equal > 0 || !self.has_inputs)
            && conflicts <= equal
            && self.readers > 0
            && self.other_readers <= self.readers
    }
}

/// Corrects the pairs of two graphs.
pub(super) fn correct(matcher: &mut Matcher<'_>, pair: &Pair) {
    let outputs = output_nodes(matcher, pair);
    for _ in 0..MAX_ROUNDS {
        let mut is_changed = false;
        for old in nodes_of(matcher.sides[0].scene, pair.roots[0]) {
            is_changed |= improve(matcher, pair, &outputs, old);
        }
        if !is_changed {
            break;
        }
        spread::all(matcher, pair, Strength::Weak);
    }
    matcher.recent.clear();
    for old in nodes_of(matcher.sides[0].scene, pair.roots[0]) {
        if let Some(new) = matcher.nodes.new_of(old)
            && !matcher.named.contains(&old)
            && !evidence(matcher, &outputs, [old, new]).is_support()
        {
            matcher.part(old);
        }
    }
}

/// The pairs of nodes that make matched outputs of the graphs at the same positions, sorted.
fn output_nodes(matcher: &Matcher<'_>, pair: &Pair) -> Vec<[NodeId; 2]> {
    let Some(interface) = matcher.interfaces.last() else { return Vec::new() };
    let both = interface.outputs.iter().filter_map(|port| {
        let made = |side: usize| {
            let value = matcher.sides[side].scene.group(pair.roots[side]).outputs[port[side]?];
            matcher.sides[side].maker(value)
        };
        let ((old, from), (new, to)) = (made(0)?, made(1)?);
        (from == to).then_some([old, new])
    });
    let mut both: Vec<[NodeId; 2]> = both.collect();
    both.sort_unstable();
    both
}

/// Gives a node a better pair; returns whether there was one.
fn improve(matcher: &mut Matcher<'_>, pair: &Pair, outputs: &[[NodeId; 2]], old: NodeId) -> bool {
    if matcher.named.contains(&old) {
        return false;
    }
    let mate = matcher.nodes.new_of(old);
    let mut current = 0;
    if let Some(new) = mate {
        let own = evidence(matcher, outputs, [old, new]);
        let inputs = own.inputs;
        if own.is_same_label && inputs.conflicts + inputs.open + own.other_readers == 0 {
            return false;
        }
        current = own.score();
    }
    let mut best: Option<(isize, NodeId)> = None;
    for new in candidates(matcher, pair, outputs, old) {
        let is_named = matcher.nodes.old_of(new).is_some_and(|other| matcher.named.contains(&other));
        if Some(new) == mate || is_named {
            continue;
        }
        let own = evidence(matcher, outputs, [old, new]);
        if !own.is_support() {
            continue;
        }
        let broken = match matcher.nodes.old_of(new) {
            Some(other) => evidence(matcher, outputs, [other, new]).score(),
            None => 0,
        };
        let gain = own.score() - current - broken;
        if gain > 0 && best.is_none_or(|(known, _)| gain > known) {
            best = Some((gain, new));
        }
    }
    let Some((_, new)) = best else { return false };
    let other = matcher.nodes.old_of(new);
    matcher.part(old);
    if let Some(other) = other {
        matcher.part(other);
    }
    matcher.join(old, new);
    if let (Some(other), Some(mate)) = (other, mate)
        && evidence(matcher, outputs, [other, mate]).is_support()
    {
        matcher.join(other, mate);
    }
    true
}

/// The new nodes next to the pairs of the neighbours of an old node.
fn candidates(matcher: &mut Matcher<'_>, pair: &Pair, outputs: &[[NodeId; 2]], old: NodeId) -> Vec<NodeId> {
    let mut found: Vec<NodeId> = Vec::new();
    let [first, second] = &matcher.sides;
    let mut add = |node: NodeId| {
        if found.len() < MAX_CANDIDATES && pair.contains(1, node) && !found.contains(&node) {
            found.push(node);
        }
    };
    let mut visits = 0;
    for output in first.scene.node(old).outputs.iter().flatten() {
        let Some((_, at)) = first.maker(*output).filter(|(maker, _)| *maker == old) else { continue };
        for (reader, port) in first.uses(*output).iter().filter(|(_, port)| *port != CAPTURE).take(MAX_USES) {
            visits += 1;
            let mate = matcher.nodes.new_of(*reader);
            let value = mate.and_then(|mate| second.input(mate, *port));
            value
                .and_then(|value| second.maker(value))
                .filter(|(_, to)| *to == at)
                .into_iter()
                .for_each(|it| add(it.0));
        }
    }
    let made = outputs.partition_point(|it| it[0] < old);
    outputs[made..].iter().take_while(|it| it[0] == old).for_each(|it| add(it[1]));
    for (port, value) in first.ports(old).take(MAX_PORTS) {
        let Some(mate) = value.and_then(|value| matcher.values.new_of(value)) else { continue };
        let uses = second.uses(mate).iter().filter(|(_, other)| *other == port).take(MAX_USES);
        uses.for_each(|(node, _)| {
            visits += 1;
            add(*node);
        });
    }
    matcher.work.visits += visits;
    found
}

/// The evidence for a pair.
fn evidence(matcher: &mut Matcher<'_>, outputs: &[[NodeId; 2]], nodes: [NodeId; 2]) -> Evidence {
    let inputs = spread::inputs(matcher, nodes);
    let [first, second] = &matcher.sides;
    let labels = [first.label(nodes[0]), second.label(nodes[1])];
    let (mut readers, mut other_readers, mut visits) = (0, 0, 0);
    for output in first.scene.node(nodes[0]).outputs.iter().flatten() {
        let Some((_, at)) = first.maker(*output).filter(|(maker, _)| *maker == nodes[0]) else { continue };
        for (reader, port) in first.uses(*output).iter().filter(|(_, port)| *port != CAPTURE).take(MAX_USES) {
            visits += 1;
            let Some(mate) = matcher.nodes.new_of(*reader) else { continue };
            let made = second.input(mate, *port).and_then(|value| second.maker(value));
            if made == Some((nodes[1], at)) {
                readers += 1;
            } else {
                other_readers += 1;
            }
        }
    }
    if outputs.binary_search(&nodes).is_ok() {
        readers += 2;
    } else if outputs.binary_search_by_key(&nodes[0], |it| it[0]).is_ok() {
        other_readers += 2;
    }
    matcher.work.visits += visits;
    let has_inputs = first.scene.node(nodes[0]).inputs.iter().flatten().next().is_some();
    Evidence {
        is_same_operator: labels[0].weak == labels[1].weak,
        is_same_label: labels[0].strong == labels[1].strong,
        is_same_name: labels[0].name != 0 && labels[0].name == labels[1].name,
        has_inputs,
        inputs,
        readers,
        other_readers,
    }
}
