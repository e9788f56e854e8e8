//! Propagation of pairs along edges.
//!
//! From each pair, once: the makers of the values at the same input match if they make them at the same
//! output and have the same label; of the readers of a matched output, those match whose label and port are
//! unique among the free readers, or unique together with the colour after one round of refinement. No pair
//! is added that has an input whose values are matched differently.
//!
//! **Cost:** each pair is visited once, with its ports and the uses of its outputs; the check of a candidate
//! looks at the first [`MAX_PORTS`] ports only.

use super::side::Use;
use super::{Matcher, Pair, Strength, hash};
use crate::map::Map;
use crate::scene::{NodeId, ValueId};

/// The number of ports of a candidate that are compared.
pub(super) const MAX_PORTS: usize = 16;

/// Spreads all recent pairs.
pub(super) fn all(matcher: &mut Matcher<'_>, pair: &Pair, strength: Strength) {
    while let Some([old, new]) = matcher.recent.pop_front() {
        if matcher.nodes.are(old, new) {
            makers(matcher, pair, strength, [old, new]);
            readers(matcher, pair, strength, [old, new]);
        }
    }
}

fn makers(matcher: &mut Matcher<'_>, pair: &Pair, strength: Strength, nodes: [NodeId; 2]) {
    let ports = [0, 1].map(|side| &matcher.sides[side].scene.node(nodes[side]).inputs);
    for (old, new) in ports[0].iter().zip(ports[1]) {
        matcher.work.visits += 1;
        let (Some(old), Some(new)) = (*old, *new) else { continue };
        let makers = (matcher.sides[0].maker(old), matcher.sides[1].maker(new));
        let (Some((old, from)), Some((new, to))) = makers else { continue };
        if from == to && is_candidate(matcher, pair, strength, [old, new]) {
            matcher.join(old, new);
        }
    }
}

fn readers(matcher: &mut Matcher<'_>, pair: &Pair, strength: Strength, nodes: [NodeId; 2]) {
    for [old, new] in matcher.outputs(nodes[0], nodes[1]) {
        from_value(matcher, pair, strength, [old, new]);
    }
}

/// The free readers with a label and port.
type Readers = [(u32, Option<NodeId>); 2];

/// Matches the readers of two matched values.
fn from_value(matcher: &mut Matcher<'_>, pair: &Pair, strength: Strength, values: [ValueId; 2]) {
    let mut known: Map<u64, Readers> = Map::default();
    let mut keys = Vec::new();
    for side in [0, 1] {
        let uses = matcher.sides[side].uses(values[side]);
        matcher.work.visits += uses.len();
        for (node, port) in uses {
            if matcher.nodes.mate(side, *node).is_some() || !pair.contains(side, *node) {
                continue;
            }
            for key in keys_of(matcher, pair, side, strength, (*node, *port)) {
                let entry = &mut known.entry(key).or_default()[side];
                *entry = (entry.0 + 1, Some(*node));
                keys.extend((side == 0).then_some(key));
            }
        }
    }
    for key in keys {
        if let Some([(1, Some(old)), (1, Some(new))]) = known.get(&key)
            && is_candidate(matcher, pair, strength, [*old, *new])
        {
            matcher.join(*old, *new);
        }
    }
}

/// The keys of a reader: with its neighbours, and without.
fn keys_of(
    matcher: &Matcher<'_>,
    pair: &Pair,
    side: usize,
    strength: Strength,
    (node, port): Use,
) -> [u64; 2] {
    let plain = hash::of(&[matcher.sides[side].label(node).of(strength), port.into()]);
    let near = pair.near[side][node.index() - pair.graphs[side].first];
    [hash::mix(plain, near), plain]
}

/// Whether two nodes are free, are in the graphs of a pair, have the same label, and have no input whose
/// values are matched differently.
fn is_candidate(matcher: &mut Matcher<'_>, pair: &Pair, strength: Strength, nodes: [NodeId; 2]) -> bool {
    let is_free =
        |side: usize| matcher.nodes.mate(side, nodes[side]).is_none() && pair.contains(side, nodes[side]);
    let label = |side: usize| matcher.sides[side].label(nodes[side]).of(strength);
    if !is_free(0) || !is_free(1) || label(0) != label(1) {
        return false;
    }
    let agreement = inputs(matcher, nodes);
    agreement.conflicts == 0
}

/// The agreement of the inputs of two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Agreement {
    /// The inputs with matched values.
    pub(super) equal: usize,
    /// The inputs with values of which one is matched to another value, or that only one node has.
    pub(super) conflicts: usize,
    /// The inputs with values without pairs.
    pub(super) open: usize,
}

/// Compares the first inputs of two nodes.
pub(super) fn inputs(matcher: &mut Matcher<'_>, nodes: [NodeId; 2]) -> Agreement {
    let mut agreement = Agreement::default();
    let ports = [0, 1].map(|side| &matcher.sides[side].scene.node(nodes[side]).inputs);
    let count = ports[0].len().max(ports[1].len()).min(MAX_PORTS);
    for port in 0..count {
        let value = |side: usize| ports[side].get(port).copied().flatten();
        match (value(0), value(1)) {
            (None, None) => {}
            (Some(old), Some(new)) if matcher.correspond(old, new) => agreement.equal += 1,
            (Some(old), Some(new)) if matcher.is_open(old, new) => agreement.open += 1,
            (Some(_) | None, Some(_) | None) => agreement.conflicts += 1,
        }
    }
    matcher.work.visits += count;
    agreement
}

impl Matcher<'_> {
    /// Whether two values are both made by nodes and have no pairs.
    fn is_open(&self, old: ValueId, new: ValueId) -> bool {
        let is_open = |side: usize, value| {
            self.values.mate(side, value).is_none() && self.sides[side].maker(value).is_some()
        };
        is_open(0, old) && is_open(1, new)
    }
}

impl Pair {
    /// Whether a node is in the graph of a side.
    pub(super) fn contains(&self, side: usize, node: NodeId) -> bool {
        let first = self.graphs[side].first;
        (first..first + self.graphs[side].len()).contains(&node.index())
    }
}

/// Matches the readers of the matched inputs of two graphs.
pub(super) fn from_inputs(matcher: &mut Matcher<'_>, pair: &Pair, strength: Strength) {
    let inputs = &matcher.sides[0].scene.group(pair.roots[0]).inputs;
    for old in inputs {
        if let Some(new) = matcher.values.new_of(*old) {
            from_value(matcher, pair, strength, [*old, new]);
        }
    }
    all(matcher, pair, strength);
}
