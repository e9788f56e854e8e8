//! Colours of the nodes of one graph: hashes of their surroundings.
//!
//! - [`Graph::upstream`] and [`Graph::downstream`]: all that a node is computed from, and all that is
//!   computed from it, in one pass over a topological order. Equal colours mean equal expressions: this is
//!   hash-based value numbering (Cocke 1970).
//! - [`Graph::refined`]: colour refinement (Weisfeiler and Lehman 1968) with a given number of rounds: after
//!   `r` rounds, equal colours mean equal surroundings up to the distance `r`, in both directions.
//!
//! Inputs have positions; readers and captured values have none and are added as multisets.
//!
//! **Cost:** linear in the ports of the nodes, for each round.

use super::Work;
use super::hash::{self, mix};
use super::side::{CAPTURE, Side, nodes_of};
use crate::map::Map;
use crate::scene::{GroupId, GroupKind, Maker, NodeId, Scene, ValueId};

/// The origin of a value that a node reads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// A node of the same graph, by its position, and one of its outputs.
    Inside(u32, u32),
    /// Anything else, by a token that is equal for values that are known to match.
    Outside(u64),
}

/// The tokens of values from outside of a graph.
const STORED: u64 = 1;
const UNDEFINED: u64 = 2;
const OMITTED: u64 = 3;

/// The connections of the nodes of one graph.
pub(super) struct Graph {
    /// The first node.
    pub(super) first: usize,
    /// The start of the sources of each node.
    starts: Vec<usize>,
    /// The ports and sources.
    sources: Vec<(u32, Source)>,
    /// The nodes and tokens of the outputs of the graph.
    outputs: Vec<(u32, u64)>,
}

impl Graph {
    /// The graph of a root. Inputs and values of surrounding graphs have tokens, and so have the outputs, by
    /// position.
    pub(super) fn of(
        side: &Side<'_>,
        root: GroupId,
        token: impl Fn(ValueId) -> u64,
        output_token: impl Fn(usize) -> u64,
    ) -> Self {
        let scene = side.scene;
        let nodes = scene.group(root).nodes.clone();
        let source = |value: ValueId| match scene.value(value).maker {
            Maker::Node { node, output } => match inside(node, &nodes) {
                Some(at) => Source::Inside(at, output),
                None => Source::Outside(token(value)),
            },
            Maker::Input => Source::Outside(token(value)),
            Maker::Stored => Source::Outside(STORED),
            Maker::Undefined => Source::Outside(UNDEFINED),
        };
        let (mut starts, mut sources) = (vec![0], Vec::new());
        for node in nodes_of(scene, root) {
            let ports = side.ports(node);
            sources.extend(ports.map(|(port, value)| (port, value.map_or(Source::Outside(OMITTED), source))));
            starts.push(sources.len());
        }
        let outputs = scene.group(root).outputs.iter().enumerate().filter_map(|(at, value)| {
            let (node, output) = side.maker(*value)?;
            Some((inside(node, &nodes)?, mix(output_token(at), output.into())))
        });
        Self { first: nodes.start as usize, starts, sources, outputs: outputs.collect() }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn sources(&self, node: usize) -> &[(u32, Source)] {
        &self.sources[self.starts[node]..self.starts[node + 1]]
    }

    fn makers(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        self.sources(node).iter().filter_map(|(_, source)| match source {
            Source::Inside(maker, _) => Some(*maker as usize),
            Source::Outside(_) => None,
        })
    }

    /// The nodes so that makers come before readers (Kahn 1962); nodes of and behind cycles are last.
    fn topological(&self) -> Vec<usize> {
        let mut missing = vec![0_u32; self.len()];
        let mut starts = vec![0_u32; self.len() + 1];
        for (node, missing) in missing.iter_mut().enumerate() {
            for maker in self.makers(node) {
                *missing += 1;
                starts[maker + 1] += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut fill = starts.clone();
        let mut readers = vec![0_usize; starts[self.len()] as usize];
        for node in 0..self.len() {
            for maker in self.makers(node) {
                readers[fill[maker] as usize] = node;
                fill[maker] += 1;
            }
        }
        let mut order: Vec<usize> = (0..self.len()).filter(|node| missing[*node] == 0).collect();
        let mut next = 0;
        while let Some(node) = order.get(next).copied() {
            next += 1;
            for reader in &readers[starts[node] as usize..starts[node + 1] as usize] {
                missing[*reader] -= 1;
                if missing[*reader] == 0 {
                    order.push(*reader);
                }
            }
        }
        order.extend((0..self.len()).filter(|node| missing[*node] > 0));
        order
    }

    /// The colour of a node from those of its sources.
    fn gather(&self, node: usize, own: u64, colours: &[u64]) -> u64 {
        let (mut ordered, mut captured) = (own, 0_u64);
        for (port, source) in self.sources(node) {
            let colour = match source {
                Source::Inside(maker, output) => mix(colours[*maker as usize], u64::from(*output)),
                Source::Outside(token) => mix(hash::EMPTY, *token),
            };
            if *port == CAPTURE {
                captured = captured.wrapping_add(mix(CAPTURE.into(), colour));
            } else {
                ordered = mix(ordered, colour);
            }
        }
        mix(ordered, captured)
    }

    /// Adds the colour of a reader to those of its sources.
    fn scatter(&self, node: usize, colour: u64, sums: &mut [u64]) {
        for (port, source) in self.sources(node) {
            if let Source::Inside(maker, output) = source {
                let sum = &mut sums[*maker as usize];
                *sum = sum.wrapping_add(hash::of(&[colour, u64::from(*port), u64::from(*output)]));
            }
        }
    }

    /// The sums of the tokens of outputs.
    fn output_sums(&self) -> Vec<u64> {
        let mut sums = vec![0_u64; self.len()];
        for (node, token) in &self.outputs {
            let sum = &mut sums[*node as usize];
            *sum = sum.wrapping_add(mix(hash::EMPTY, *token));
        }
        sums
    }

    fn count(&self, rounds: usize, work: &mut Work) {
        work.rounds += rounds;
        work.ports += rounds * (self.len() + self.sources.len());
    }

    /// The colours of the expressions of nodes.
    pub(super) fn upstream(&self, base: &[u64], work: &mut Work) -> Vec<u64> {
        self.count(1, work);
        let mut colours = base.to_vec();
        for node in self.topological() {
            colours[node] = self.gather(node, base[node], &colours);
        }
        colours
    }

    /// The colours of all that is computed from nodes.
    pub(super) fn downstream(&self, base: &[u64], work: &mut Work) -> Vec<u64> {
        self.count(1, work);
        let mut sums = self.output_sums();
        for node in self.topological().into_iter().rev() {
            let colour = mix(base[node], sums[node]);
            sums[node] = colour;
            self.scatter(node, colour, &mut sums);
        }
        sums
    }

    /// The colours after each round of refinement; the first ones are given.
    pub(super) fn refined(&self, base: Vec<u64>, rounds: usize, work: &mut Work) -> Vec<Vec<u64>> {
        self.count(rounds, work);
        let mut all = vec![base];
        for _ in 0..rounds {
            let Some(last) = all.last() else { break };
            let mut sums = self.output_sums();
            for (node, colour) in last.iter().enumerate() {
                self.scatter(node, *colour, &mut sums);
            }
            let nodes = last.iter().enumerate();
            all.push(nodes.map(|(node, own)| mix(self.gather(node, *own, last), sums[node])).collect());
        }
        all
    }

    /// The nodes in depth-first post-order from the outputs, along the inputs in their order: that of the
    /// expression, which does not depend on the order of nodes in the file. Nodes without a path to an output
    /// are last.
    pub(super) fn expression_order(&self, work: &mut Work) -> Vec<usize> {
        work.ports += self.len() + self.sources.len();
        let mut is_known = vec![false; self.len()];
        let mut has_reader = vec![false; self.len()];
        for node in 0..self.len() {
            self.makers(node).filter(|maker| *maker != node).for_each(|maker| has_reader[maker] = true);
        }
        let sinks = (0..self.len()).filter(|node| !has_reader[*node]);
        let starts = self.outputs.iter().map(|(node, _)| *node as usize).chain(sinks).chain(0..self.len());
        let mut order = Vec::with_capacity(self.len());
        let mut open: Vec<(usize, usize)> = Vec::new();
        for start in starts {
            if !std::mem::replace(&mut is_known[start], true) {
                open.push((start, self.starts[start]));
            }
            while let Some((node, next)) = open.pop() {
                if next == self.starts[node + 1] {
                    order.push(node);
                    continue;
                }
                open.push((node, next + 1));
                if let Source::Inside(maker, _) = self.sources[next].1
                    && !std::mem::replace(&mut is_known[maker as usize], true)
                {
                    open.push((maker as usize, self.starts[maker as usize]));
                }
            }
        }
        order
    }
}

/// The position of a node in a graph.
fn inside(node: NodeId, nodes: &std::ops::Range<u32>) -> Option<u32> {
    let at = u32::try_from(node.index()).ok()?;
    nodes.contains(&at).then(|| at - nodes.start)
}

/// The positions of the inputs of a graph.
pub(super) fn input_positions(scene: &Scene, root: GroupId) -> Map<ValueId, usize> {
    // Of two positions, the first.
    let inputs = scene.group(root).inputs.iter().enumerate().rev();
    inputs.map(|(at, value)| (*value, at)).collect()
}

/// Adds the hashes of nested graphs to the labels of their nodes. Nested graphs have later groups than the
/// graphs around them.
pub(super) fn add_bodies(side: &mut Side<'_>) {
    let mut work = Work::default();
    for root in (0..side.scene.groups.len()).rev().map(GroupId::new) {
        let GroupKind::Body { node } = side.scene.group(root).kind else { continue };
        let positions = input_positions(side.scene, root);
        let token = |value: ValueId| positions.get(&value).map_or(UNDEFINED, |at| 8 + *at as u64);
        let graph = Graph::of(side, root, token, |at| at as u64);
        let base: Vec<u64> = nodes_of(side.scene, root).map(|node| side.label(node).strong).collect();
        let inner = graph.downstream(&graph.upstream(&base, &mut work), &mut work);
        let inner = inner.into_iter().fold(0_u64, u64::wrapping_add);
        let outputs = side.scene.group(root).outputs.len() as u64;
        let label = hash::text(&side.scene.group(root).label);
        let strong = &mut side.labels[node.index()].strong;
        *strong = strong.wrapping_add(hash::of(&[label, inner, outputs]));
    }
}
