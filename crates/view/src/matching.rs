//! The matching of the nodes and values of two scenes, by structure and name.
//!
//! # Algorithm
//!
//! Pairs of graphs are matched from the outside in: the models' graphs, functions with the same name, and
//! then the nested graphs of matched nodes with the same attribute. For one pair of graphs:
//!
//! 1. The inputs and outputs are matched: those of models and functions by name, then in order by type
//!    without extents; those of nested graphs by position (`interface`).
//! 2. **Names** (`names`): nodes with the same name match if one node of each graph has it, unless their
//!    neighbours contradict it: exporters number names, so an inserted node can rename later ones.
//! 3. **Colours** (`colour`): each node gets hashes of the expression that it computes, of all that is
//!    computed from it, and of its surroundings up to distance [`ROUNDS`] (colour refinement, Weisfeiler and
//!    Lehman 1968). Nodes with the same colour that is **unique** in both graphs match. Of nodes with the same
//!    colour, those with the same unique (operator, name, scope) match.
//! 4. **Propagation** (`spread`): from each pair along edges, to makers and readers at the same port with the
//!    same label and without a contradicting input.
//! 5. **Alignment** (`sequence`): the nodes in the order of the expression, and then in that of the file,
//!    with the pairs as anchors. Patience and a bounded greedy Myers search find a common subsequence of
//!    nodes with the same colour, then with the same label, then with the same operator; each is followed by
//!    propagation. This matches chains and repeated layers between two edits, where no colour is unique.
//! 6. **Correction** (`votes`): nodes without a pair, or with different inputs and names, get the node for which most
//!    matched neighbours vote (similarity flooding, Melnik, Garcia-Molina, Rahm 2002, with a fixed number of
//!    rounds). This also matches nodes whose operator changed. Pairs without a common neighbour, name or
//!    label are removed.
//!
//! Steps 3 to 5 run with labels of all that is local to a node (operator, attributes, types of stored inputs,
//! nested graphs), and then with the operator alone, only for the nodes that are left.
//!
//! # Guarantees
//!
//! - A matching never states that two nodes are equal: [`changes`](crate::changes) compares all pairs. A
//!   wrong pair costs additional changes, so hash collisions and limits are harmless.
//! - `matching(old, new)` is the inverse of `matching(new, old)`: the scenes are ordered by a digest first.
//! - The result does not depend on names that the two graphs do not share if the structure is unique, nor on the order in the file, except for
//!   nodes that are equal in all colours and names.
//! - The work is counted in [`Work`] and linear in the sizes of the scenes, times [`ROUNDS`] and the limits
//!   of `sequence` and `votes`. Nothing recurses.
//!
//! # Limits
//!
//! A minimum set of changes is a maximum common subgraph, which is hard to approximate; the matching can miss
//! it. In graphs with few operators, many equal nodes and many edits, it reports more changes than the edits.
//! Attributes and stored tensors are compared as the short texts of a scene: long lists that differ behind
//! their first elements only are equal, and so are weights of the same type.

mod colour;
mod hash;
mod interface;
mod names;
mod pairs;
mod sequence;
mod side;
mod spread;
mod votes;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use crate::map::{Map, Set};
use crate::scene::{GroupId, GroupKind, Maker, NodeId, Scene, ValueId};

use colour::Graph;
use side::{Side, nodes_of};

pub use interface::{Interface, Port};
pub use pairs::{Id, Pairs};

/// The number of rounds of colour refinement.
pub const ROUNDS: usize = 3;

/// The counted work of a matching.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Work {
    /// The rounds of colour refinement and passes over a graph.
    pub rounds: usize,
    /// The ports visited by them, and the nodes.
    pub ports: usize,
    /// The nodes and ports visited by propagation and correction.
    pub visits: usize,
    /// The tokens compared by alignment.
    pub tokens: usize,
}

impl Work {
    /// All steps.
    #[must_use]
    pub fn total(&self) -> usize {
        let Self { rounds: _, ports, visits, tokens } = self;
        ports + visits + tokens
    }
}

/// The matching of two scenes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matching {
    /// The matched nodes.
    pub nodes: Pairs<NodeId>,
    /// The matched values: outputs of matched nodes, inputs of matched graphs, and stored tensors.
    pub values: Pairs<ValueId>,
    /// The matched roots of graphs.
    pub graphs: Pairs<GroupId>,
    /// The inputs and outputs of each pair of graphs, from the outside in; the first is that of the models'
    /// graphs.
    pub interfaces: Vec<Interface>,
    /// The counted work.
    pub work: Work,
}

/// Matches two scenes.
#[must_use]
pub fn matching(old: &Scene, new: &Scene) -> Matching {
    let (old, new) = (Side::of(old), Side::of(new));
    // Ties are broken by the order of the first side.
    let rank = |side: &Side<'_>| (side.scene.nodes.len(), side.digest());
    if rank(&old) <= rank(&new) {
        return Matcher::new([old, new]).run();
    }
    let Matching { nodes, values, graphs, interfaces, work } = Matcher::new([new, old]).run();
    let interfaces = interfaces.into_iter().map(Interface::swapped).collect();
    Matching { nodes: nodes.swapped(), values: values.swapped(), graphs: graphs.swapped(), interfaces, work }
}

/// A pair of graphs during matching.
struct Pair {
    roots: [GroupId; 2],
    graphs: [Graph; 2],
    /// The colours after one round of refinement.
    near: [Vec<u64>; 2],
}

/// The state of a matching.
struct Matcher<'s> {
    sides: [Side<'s>; 2],
    nodes: Pairs<NodeId>,
    values: Pairs<ValueId>,
    groups: Pairs<GroupId>,
    interfaces: Vec<Interface>,
    /// Pairs of nodes whose neighbours were not visited.
    recent: VecDeque<[NodeId; 2]>,
    /// The old nodes that are matched by their names.
    named: Set<NodeId>,
    work: Work,
}

/// The labels of nodes that have to be equal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strength {
    /// All that is local to a node.
    Strong,
    /// The operator.
    Weak,
}

impl<'s> Matcher<'s> {
    fn new(sides: [Side<'s>; 2]) -> Self {
        let count = |of: fn(&Scene) -> usize| [of(sides[0].scene), of(sides[1].scene)];
        Self {
            nodes: Pairs::new(count(|scene| scene.nodes.len())),
            values: Pairs::new(count(|scene| scene.values.len())),
            groups: Pairs::new(count(|scene| scene.groups.len())),
            interfaces: Vec::new(),
            recent: VecDeque::new(),
            named: Set::default(),
            work: Work::default(),
            sides,
        }
    }

    fn run(mut self) -> Matching {
        self.undefined();
        let mut roots = VecDeque::from([[self.sides[0].scene.main(), self.sides[1].scene.main()]]);
        roots.extend(self.functions());
        let is_empty = self.sides.iter().any(|side| side.scene.groups.is_empty());
        while let Some(pair) = roots.pop_front().filter(|_| !is_empty) {
            if self.groups.join(pair[0], pair[1]) {
                self.graph(pair);
                roots.extend(self.bodies(pair[0]));
            }
        }
        self.stored();
        let Self { sides: _, nodes, values, groups, interfaces, recent: _, named: _, work } = self;
        Matching { nodes, values, graphs: groups, interfaces, work }
    }

    /// Matches undefined values with the same name.
    fn undefined(&mut self) {
        let [old, new] = self.sides.each_ref().map(|side| side.scene);
        let undefined = |scene: &'s Scene| {
            let values = scene.values.iter().enumerate();
            values.filter(|(_, value)| value.maker == Maker::Undefined)
        };
        let mut by_name: Map<&str, ValueId> = Map::default();
        for (at, value) in undefined(new) {
            by_name.entry(&value.name).or_insert(ValueId::new(at));
        }
        for (at, value) in undefined(old) {
            if let Some(mate) = by_name.remove(value.name.as_str()) {
                self.values.join(ValueId::new(at), mate);
            }
        }
    }

    /// The functions with the same name, each once.
    fn functions(&self) -> Vec<[GroupId; 2]> {
        let [old, new] = self.sides.each_ref().map(|side| side.scene);
        let mut by_name: Map<&str, GroupId> = Map::default();
        for function in &new.functions {
            by_name.entry(&new.group(*function).label).or_insert(*function);
        }
        let pairs = old
            .functions
            .iter()
            .filter_map(|function| Some([*function, by_name.remove(old.group(*function).label.as_str())?]));
        pairs.collect()
    }

    /// The nested graphs of matched nodes of a graph, by attribute.
    fn bodies(&self, root: GroupId) -> Vec<[GroupId; 2]> {
        let [old, new] = self.sides.each_ref().map(|side| side.scene);
        let mut found = Vec::new();
        for node in nodes_of(old, root) {
            let Some(mate) = self.nodes.new_of(node) else { continue };
            let mut by_name: Map<&str, GroupId> = Map::default();
            for body in &new.node(mate).bodies {
                by_name.entry(&new.group(*body).label).or_insert(*body);
            }
            let bodies = old.node(node).bodies.iter();
            found.extend(bodies.filter_map(|body| {
                let other = by_name.remove(old.group(*body).label.as_str())?;
                Some([*body, other])
            }));
        }
        found
    }

    /// Matches one pair of graphs.
    fn graph(&mut self, roots: [GroupId; 2]) {
        let interface = interface::of(self, roots);
        let graphs = [0, 1].map(|side| self.connections(side, roots[side], &interface));
        self.interfaces.push(interface);
        let near = [0, 1].map(|side| {
            let base = self.base(side, roots[side], Strength::Strong);
            graphs[side].refined(base, 1, &mut self.work).pop().unwrap_or_default()
        });
        let pair = Pair { roots, graphs, near };
        names::unique(self, &pair);
        self.by_labels(&pair, Strength::Strong);
        self.by_labels(&pair, Strength::Weak);
        votes::correct(self, &pair);
        let at = self.interfaces.len() - 1;
        interface::complete(self, roots, at);
    }

    /// The connections of a graph, with tokens for matched values and outputs.
    fn connections(&self, side: usize, root: GroupId, interface: &Interface) -> Graph {
        let token = |value: ValueId| {
            let canonical =
                if side == 0 { self.values.new_of(value).map(|_| value) } else { self.values.old_of(value) };
            canonical.map_or(0, |value| 8 + value.index() as u64)
        };
        let outputs = interface.output_tokens(side, self.sides[side].scene.group(root).outputs.len());
        Graph::of(&self.sides[side], root, token, |at| outputs[at])
    }

    /// Whether both graphs have nodes without a pair.
    fn has_rest(&self, pair: &Pair) -> bool {
        [0, 1].iter().all(|side| {
            nodes_of(self.sides[*side].scene, pair.roots[*side])
                .any(|node| self.nodes.mate(*side, node).is_none())
        })
    }

    fn base(&self, side: usize, root: GroupId, strength: Strength) -> Vec<u64> {
        let nodes = nodes_of(self.sides[side].scene, root);
        nodes.map(|node| self.sides[side].label(node).of(strength)).collect()
    }

    /// Steps 3 to 5 with one kind of labels.
    fn by_labels(&mut self, pair: &Pair, strength: Strength) {
        if !self.has_rest(pair) {
            return;
        }
        let mut work = Work::default();
        let base = [0, 1].map(|side| self.base(side, pair.roots[side], strength));
        let from = [0, 1].map(|side| pair.graphs[side].upstream(&base[side], &mut work));
        let to = [0, 1].map(|side| pair.graphs[side].downstream(&base[side], &mut work));
        let both = [0, 1].map(|side| {
            from[side].iter().zip(&to[side]).map(|(from, to)| hash::mix(*from, *to)).collect::<Vec<_>>()
        });
        let [old, new] = [0, 1].map(|side| pair.graphs[side].refined(base[side].clone(), ROUNDS, &mut work));
        let mut refined: Vec<[Vec<u64>; 2]> = old.into_iter().zip(new).map(<[_; 2]>::from).collect();
        refined.reverse();
        for colours in [&both].into_iter().chain(&refined[..ROUNDS]) {
            self.unique(pair, colours, strength);
        }
        for colours in [&from, &to] {
            self.unique(pair, colours, strength);
        }
        spread::from_inputs(self, pair, strength);
        // Of nodes with the same label, unique names match.
        self.unique_names(pair, &base, strength);
        let orders = |graphs: &[Graph; 2], work: &mut Work| {
            [0, 1].map(|side: usize| graphs[side].expression_order(work))
        };
        let expressions = orders(&pair.graphs, &mut work);
        for colours in [&both].into_iter().chain(&refined) {
            self.align(pair, &expressions, colours, strength, &mut work);
        }
        let files = [0, 1].map(|side| self.file_order(side, pair.roots[side]));
        self.align(pair, &files, &base, strength, &mut work);
        self.work.add(work);
    }

    /// The nodes of a graph in the order of the file, by position.
    fn file_order(&self, side: usize, root: GroupId) -> Vec<usize> {
        let scene = self.sides[side].scene;
        let first = scene.group(root).nodes.start as usize;
        let mut order: Vec<NodeId> = nodes_of(scene, root).collect();
        order.sort_by_key(|node| scene.node(*node).position);
        order.into_iter().map(|node| node.index() - first).collect()
    }

    /// Matches nodes with the same colour that is unique, also together with the name or the scope.
    fn unique(&mut self, pair: &Pair, colours: &[Vec<u64>; 2], strength: Strength) {
        self.unique_keys(pair, |_, _, at, side| Some(colours[side][at]), strength);
        self.unique_names(pair, colours, strength);
        self.unique_keys(
            pair,
            |side, node, at, on| Some(hash::mix(side.label(node).scope, colours[on][at])),
            strength,
        );
    }

    fn unique_names(&mut self, pair: &Pair, colours: &[Vec<u64>; 2], strength: Strength) {
        let name = |side: &Side<'_>, node: NodeId| Some(side.label(node).name).filter(|name| *name != 0);
        self.unique_keys(
            pair,
            |side, node, at, on| Some(hash::mix(name(side, node)?, colours[on][at])),
            strength,
        );
    }

    /// Matches nodes without a pair whose key is unique among them, and spreads the pairs.
    fn unique_keys(
        &mut self,
        pair: &Pair,
        key: impl Fn(&Side<'_>, NodeId, usize, usize) -> Option<u64>,
        strength: Strength,
    ) {
        let mut known: Map<u64, [(u32, Option<NodeId>); 2]> = Map::default();
        let mut keys = Vec::new();
        for side in [0, 1] {
            for (at, node) in nodes_of(self.sides[side].scene, pair.roots[side]).enumerate() {
                if self.nodes.mate(side, node).is_some() {
                    continue;
                }
                let Some(key) = key(&self.sides[side], node, at, side) else { continue };
                let entry = &mut known.entry(key).or_default()[side];
                *entry = (entry.0 + 1, Some(node));
                keys.extend((side == 0).then_some(key));
            }
            self.work.visits += pair.graphs[side].len();
        }
        for key in keys {
            if let Some([(1, Some(old)), (1, Some(new))]) = known.get(&key) {
                self.join(*old, *new);
            }
        }
        spread::all(self, pair, strength);
    }

    /// Matches nodes that an alignment finds, with the pairs as anchors.
    fn align(
        &mut self,
        pair: &Pair,
        orders: &[Vec<usize>; 2],
        colours: &[Vec<u64>; 2],
        strength: Strength,
        work: &mut Work,
    ) {
        if !self.has_rest(pair) {
            return;
        }
        let node = |side: usize, at: usize| NodeId::new(pair.graphs[side].first + at);
        let tokens = [0, 1].map(|side| {
            let token = |at: &usize| match self.nodes.mate(side, node(side, *at)) {
                Some(mate) => {
                    hash::of(&[1, if side == 0 { *at } else { mate.index() - pair.graphs[0].first } as u64])
                }
                None => colours[side][*at],
            };
            orders[side].iter().map(token).collect::<Vec<_>>()
        });
        for (old, new) in sequence::align(&tokens[0], &tokens[1], work) {
            self.join(node(0, orders[0][old]), node(1, orders[1][new]));
        }
        spread::all(self, pair, strength);
    }

    /// Matches two nodes and their outputs, if both are free.
    fn join(&mut self, old: NodeId, new: NodeId) {
        if !self.nodes.join(old, new) {
            return;
        }
        self.recent.push_back([old, new]);
        for [old, new] in self.outputs(old, new) {
            self.values.join(old, new);
        }
    }

    /// Removes a pair of nodes, with their outputs.
    fn part(&mut self, old: NodeId) {
        let Some(new) = self.nodes.new_of(old) else { return };
        self.nodes.part(old);
        for [old, new] in self.outputs(old, new) {
            if self.values.are(old, new) {
                self.values.part(old);
            }
        }
    }

    /// The outputs that two nodes make at the same positions.
    fn outputs(&self, old: NodeId, new: NodeId) -> Vec<[ValueId; 2]> {
        let [first, second] = [(0, old), (1, new)]
            .map(|(side, node): (usize, NodeId)| &self.sides[side].scene.node(node).outputs);
        let both = first.iter().zip(second).filter_map(|(old, new)| Some([(*old)?, (*new)?]));
        let is_made = |side: usize, value: ValueId, node: NodeId| {
            self.sides[side].maker(value).is_some_and(|(maker, _)| maker == node)
        };
        both.filter(|[a, b]| is_made(0, *a, old) && is_made(1, *b, new)).collect()
    }

    /// Whether two values of matched graphs correspond. Stored tensors do: their types are part of labels.
    fn correspond(&self, old: ValueId, new: ValueId) -> bool {
        self.values.are(old, new) || self.sides[0].is_stored(old) && self.sides[1].is_stored(new)
    }

    /// Matches stored tensors: those with the same name if most tensors at the same inputs of matched nodes
    /// have the same name, then those at the same inputs.
    fn stored(&mut self) {
        let [old, new] = self.sides.each_ref().map(|side| side.scene);
        let mut at_ports: Vec<[ValueId; 2]> = Vec::new();
        for (first, second) in self.nodes.iter() {
            let inputs = old.node(first).inputs.iter().zip(&new.node(second).inputs);
            let both = inputs.filter_map(|(old, new)| Some([(*old)?, (*new)?]));
            at_ports.extend(both.filter(|it| (0..2).all(|side| self.sides[side].is_stored(it[side]))));
        }
        let names = [0, 1].map(|side| {
            let values = self.sides[side].scene.values.iter().enumerate();
            let mut known: Map<(Option<GroupId>, &str), ValueId> = Map::default();
            for (at, value) in values.filter(|(at, _)| self.sides[side].is_stored(ValueId::new(*at))) {
                let graph = if side == 0 { self.groups.new_of(value.graph) } else { Some(value.graph) };
                known.entry((graph, value.name.as_str())).or_insert(ValueId::new(at));
            }
            known
        });
        let other = |side: usize, value: ValueId| {
            let value = self.sides[side].scene.value(value);
            let graph = if side == 0 { self.groups.new_of(value.graph) } else { Some(value.graph) };
            names[1 - side].get(&(graph, value.name.as_str())).copied()
        };
        let known: Vec<bool> = at_ports
            .iter()
            .filter_map(|[first, second]| {
                let named = other(0, *first)?;
                other(1, *second)?;
                Some(named == *second)
            })
            .collect();
        let equal = known.iter().filter(|is_equal| **is_equal).count();
        let mut found: Vec<[ValueId; 2]> = Vec::new();
        if 4 * (known.len() - equal) <= equal {
            let tensors =
                (0..old.values.len()).map(ValueId::new).filter(|value| self.sides[0].is_stored(*value));
            found.extend(tensors.filter_map(|value| Some([value, other(0, value)?])));
        }
        found.extend(&at_ports);
        self.work.visits += found.len();
        for [first, second] in found {
            self.values.join(first, second);
        }
    }

    /// Whether a group is a nested graph.
    fn is_body(&self, side: usize, root: GroupId) -> bool {
        matches!(self.sides[side].scene.group(root).kind, GroupKind::Body { .. })
    }
}

impl side::Label {
    fn of(&self, strength: Strength) -> u64 {
        match strength {
            Strength::Strong => self.strong,
            Strength::Weak => self.weak,
        }
    }
}

impl Work {
    fn add(&mut self, other: Self) {
        let Self { rounds, ports, visits, tokens } = other;
        self.rounds += rounds;
        self.ports += ports;
        self.visits += visits;
        self.tokens += tokens;
    }
}
