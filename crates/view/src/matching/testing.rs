//! Random programs, edits of them, and the cost of a matching, for tests.

use std::collections::HashMap;

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, GraphProto};

use super::{Matching, hash};
use crate::scene::Scene;
use crate::testing::{float, node, scene_of_graph};

/// A stream of numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(hash::of(&[seed]))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = hash::mix(self.0, 1);
        usize::try_from(self.0 % end.max(1) as u64).expect("the number is below a usize")
    }
}

/// A value of a program: an input, or the output of the node with a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Input(usize),
    Node(usize),
}

/// A node of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    /// The identity, kept by edits.
    pub(crate) key: usize,
    pub(crate) operator: usize,
    pub(crate) attribute: usize,
    pub(crate) name: String,
    pub(crate) inputs: Vec<Source>,
}

/// A program: nodes in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    pub(crate) inputs: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) outputs: Vec<Source>,
    pub(crate) next_key: usize,
}

const UNARY: [&str; 5] = ["Relu", "LeakyRelu", "Elu", "Selu", "Exp"];
const BINARY: [&str; 3] = ["Add", "Mul", "Sub"];

/// The number of inputs of a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    One,
    Two,
}

/// The names of nodes and values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Names {
    /// As in the program, and for values the keys of their nodes.
    Own,
    /// No names of nodes; values are numbered in the order of the file, and outputs in their own.
    Numbered,
}

impl Program {
    /// A random program in which most values are read. Few operators make many nodes equal.
    pub(crate) fn random(random: &mut Random, nodes: usize, operators: usize) -> Self {
        let inputs = 1 + random.below(3);
        let mut program = Self { inputs, steps: Vec::new(), outputs: Vec::new(), next_key: 0 };
        for at in 0..nodes {
            let arity = if random.below(2) == 0 { Arity::One } else { Arity::Two };
            let recent = |random: &mut Random| {
                let far = random.below(4) == 0;
                let back = random.below(if far { at + inputs } else { 4.min(at + inputs) });
                match at.checked_sub(1 + back) {
                    Some(node) => Source::Node(node),
                    None => Source::Input(random.below(inputs)),
                }
            };
            let count = if arity == Arity::One { 1 } else { 2 };
            let sources = (0..count).map(|_| recent(random)).collect();
            let operator =
                random.below(operators.min(if arity == Arity::One { UNARY.len() } else { BINARY.len() }));
            let attribute = random.below(2);
            program.steps.push(Step {
                key: at,
                operator,
                attribute,
                name: format!("n{at}"),
                inputs: sources,
            });
        }
        program.next_key = nodes;
        let is_read = |key: usize| program.steps.iter().any(|step| step.inputs.contains(&Source::Node(key)));
        program.outputs = (0..nodes).filter(|key| !is_read(*key)).map(Source::Node).collect();
        program
    }

    /// A chain of nodes with a period of operators.
    pub(crate) fn chain(nodes: usize, period: usize) -> Self {
        let steps = (0..nodes).map(|at| Step {
            key: at,
            operator: at % period % UNARY.len(),
            attribute: 0,
            name: format!("n{at}"),
            inputs: vec![at.checked_sub(1).map_or(Source::Input(0), Source::Node)],
        });
        Self { inputs: 1, steps: steps.collect(), outputs: vec![Source::Node(nodes - 1)], next_key: nodes }
    }

    /// Inserts a node on an edge.
    pub(crate) fn insert(&mut self, random: &mut Random, at: usize) {
        let port = random.below(self.steps[at].inputs.len());
        let key = self.next_key;
        self.next_key += 1;
        let source = std::mem::replace(&mut self.steps[at].inputs[port], Source::Node(key));
        let (operator, attribute) = (random.below(UNARY.len()), random.below(2));
        self.steps
            .insert(at, Step { key, operator, attribute, name: format!("n{key}"), inputs: vec![source] });
    }

    /// Deletes a node; its readers read its first input.
    pub(crate) fn delete(&mut self, at: usize) {
        let removed = self.steps.remove(at);
        let (own, first) = (Source::Node(removed.key), removed.inputs[0]);
        let inputs = self.steps.iter_mut().flat_map(|step| &mut step.inputs);
        inputs.chain(&mut self.outputs).filter(|source| **source == own).for_each(|source| *source = first);
    }

    /// One random edit; returns whether the program can be changed by it.
    pub(crate) fn edit(&mut self, random: &mut Random) {
        let at = random.below(self.steps.len());
        match random.below(6) {
            0 | 1 => self.insert(random, at),
            2 if self.steps.len() > 1 => self.delete(at),
            2 | 3 => self.steps[at].attribute += 2,
            4 => {
                let count = if self.steps[at].inputs.len() == 1 { UNARY.len() } else { BINARY.len() };
                self.steps[at].operator = (self.steps[at].operator + 1) % count;
            }
            _ => self.steps[at].name = format!("renamed{}", random.below(1000)),
        }
    }

    /// Moves nodes to other positions so that makers stay before readers.
    pub(crate) fn reorder(&mut self, random: &mut Random) {
        let mut rest = std::mem::take(&mut self.steps);
        while !rest.is_empty() {
            let start = random.below(rest.len());
            let count = rest.len();
            let is_ready = |at: &usize| {
                rest[*at].inputs.iter().all(|source| match source {
                    Source::Input(_) => true,
                    Source::Node(key) => rest.iter().all(|step| step.key != *key),
                })
            };
            let at =
                (start..start + count).map(|at| at % count).find(is_ready).expect("the program has no cycle");
            let step = rest.remove(at);
            self.steps.push(step);
        }
    }

    /// The scene of the program.
    pub(crate) fn scene(&self, names: Names) -> Scene {
        let positions = positions(self);
        let value = |source: &Source| match (source, names) {
            (Source::Input(at), Names::Own) => format!("x{at}"),
            (Source::Input(at), Names::Numbered) => format!("in{at}"),
            (Source::Node(key), Names::Own) => format!("v{key}"),
            (Source::Node(key), Names::Numbered) => match self.outputs.iter().position(|it| it == source) {
                Some(at) => format!("out{at}"),
                None => format!("t{}", positions[key]),
            },
        };
        let nodes = self.steps.iter().map(|step| {
            let operator = if step.inputs.len() == 1 { UNARY[step.operator] } else { BINARY[step.operator] };
            let inputs: Vec<String> = step.inputs.iter().map(value).collect();
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let name = if names == Names::Own { step.name.as_str() } else { "" };
            let mut made = node(operator, name, &inputs, &[&value(&Source::Node(step.key))]);
            made.attribute = vec![AttributeProto {
                name: "alpha".into(),
                r#type: Some(AttributeType::Float as i32),
                f: Some(step.attribute as f32),
                ..AttributeProto::default()
            }];
            made
        });
        scene_of_graph(GraphProto {
            node: nodes.collect(),
            input: (0..self.inputs).map(|at| float(&value(&Source::Input(at)))).collect(),
            output: self.outputs.iter().map(|source| float(&value(source))).collect(),
            ..GraphProto::default()
        })
    }
}

/// Positions of the nodes of a new program for those of an old one.
pub(crate) type Map = Vec<Option<usize>>;

/// The matching of nodes with the same key.
pub(crate) fn of_keys(old: &Program, new: &Program) -> Map {
    let positions = positions(new);
    old.steps.iter().map(|step| positions.get(&step.key).copied()).collect()
}

/// The result of a matching.
pub(crate) fn of_matching(matching: &Matching, old: &Scene, new: &Scene) -> Map {
    let mut map = vec![None; old.nodes.len()];
    for (first, second) in matching.nodes.iter() {
        map[old.node(first).position as usize] = Some(new.node(second).position as usize);
    }
    map
}

/// The positions of the nodes of a program by their keys.
fn positions(program: &Program) -> HashMap<usize, usize> {
    program.steps.iter().enumerate().map(|(at, step)| (step.key, at)).collect()
}

/// The number of changes that a matching reports: nodes without a pair, and pairs and outputs with
/// differences.
pub(crate) fn cost(old: &Program, new: &Program, map: &Map) -> usize {
    cost_at([old, new], [&positions(old), &positions(new)], map)
}

/// The cost of a matching of two programs with these positions of their nodes.
fn cost_at([old, new]: [&Program; 2], [first, second]: [&HashMap<usize, usize>; 2], map: &Map) -> usize {
    let is_equal = |a: &Source, b: &Source| match (a, b) {
        (Source::Input(a), Source::Input(b)) => a == b,
        (Source::Node(a), Source::Node(b)) => map[first[a]] == Some(second[b]),
        (Source::Input(_), Source::Node(_)) | (Source::Node(_), Source::Input(_)) => false,
    };
    let all_equal =
        |a: &[Source], b: &[Source]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b));
    let pairs = map.iter().enumerate().filter_map(|(old, new)| Some((old, (*new)?)));
    let (mut count, mut changed) = (0, 0);
    for (a, b) in pairs {
        let (a, b) = (&old.steps[a], &new.steps[b]);
        count += 1;
        let is_same =
            a.operator == b.operator && a.attribute == b.attribute && all_equal(&a.inputs, &b.inputs);
        changed += usize::from(!is_same);
    }
    let outputs = old.outputs.iter().zip(&new.outputs).filter(|(a, b)| !is_equal(a, b)).count();
    old.steps.len() + new.steps.len() - 2 * count + changed + outputs
}

/// The minimum cost of all matchings, by exhaustive search.
pub(crate) fn minimum(old: &Program, new: &Program) -> usize {
    let mut best = old.steps.len() + new.steps.len();
    let mut map = vec![None; old.steps.len()];
    let mut used = vec![false; new.steps.len()];
    // Choices for each old node: none, or a free new node.
    let positions = [positions(old), positions(new)];
    let cost = |map: &Map| cost_at([old, new], positions.each_ref(), map);
    search(&cost, 0, &mut map, &mut used, &mut best);
    best
}

fn search(cost: &dyn Fn(&Map) -> usize, at: usize, map: &mut Map, used: &mut [bool], best: &mut usize) {
    if at == map.len() {
        *best = (*best).min(cost(map));
        return;
    }
    let unmatched = map[..at].iter().filter(|mate| mate.is_none()).count();
    if unmatched >= *best {
        return;
    }
    for mate in 0..used.len() {
        if !std::mem::replace(&mut used[mate], true) {
            map[at] = Some(mate);
            search(cost, at + 1, map, used, best);
            map[at] = None;
            used[mate] = false;
        }
    }
    search(cost, at + 1, map, used, best);
}
