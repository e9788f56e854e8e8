//! The slow reference: for every value the set of possible leaves of the tree, narrowed relation by
//! relation until nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use typeloom_onnx::messages::NodeProto;
use typeloom_types::lattice::{Lattice, NodeRef};
use typeloom_types::op::AtomicOpDecl;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;
use typeloom_types::relation::{PortRef, TypeRelation};

use super::Answer;
use super::plan::Program;

type Leaves = BTreeSet<&'static str>;

/// The element of a leaf, if it has one.
fn element(leaf: &str) -> Option<&str> {
    leaf.strip_prefix("tensor.").or_else(|| leaf.strip_prefix("scalar."))
}

fn under(leaf: &str, bound: &str) -> bool {
    Lattice::get().is_subtype(leaf, bound)
}

struct Values(BTreeMap<String, Leaves>);

impl Values {
    /// Removes the leaves that fail a test; returns whether there were any.
    fn keep(&mut self, value: &str, pass: impl Fn(&str) -> bool) -> bool {
        let set = self.0.get_mut(value).unwrap();
        let before = set.len();
        set.retain(|leaf| pass(leaf));
        set.len() != before
    }

    fn all(&self, value: &str, pass: impl Fn(&str) -> bool) -> bool {
        self.0[value].iter().all(|leaf| pass(leaf))
    }
}

/// The values at the present ports of a node.
fn at(node: &NodeProto, ports: &[PortRef]) -> Vec<String> {
    let mut values = Vec::new();
    for port in ports {
        match *port {
            PortRef::Input(at) => values.extend(node.input.get(at)),
            PortRef::Output(at) => values.extend(node.output.get(at)),
            PortRef::InputsFrom(at) => values.extend(node.input.iter().skip(at)),
            PortRef::OutputsFrom(at) => values.extend(node.output.iter().skip(at)),
        }
    }
    values.into_iter().cloned().collect()
}

/// The values that share an element type by a relation.
fn element_group(node: &NodeProto, relation: &TypeRelation) -> Vec<String> {
    match relation {
        TypeRelation::SameElementType(ports) => at(node, ports),
        TypeRelation::ReduceOver { input, output } => at(node, &[*input, *output]),
        _ => Vec::new(),
    }
}

fn share_element(values: &mut Values, group: &[String]) -> bool {
    let mut changed = false;
    for value in group {
        let others: Vec<BTreeSet<_>> = group
            .iter()
            .map(|other| values.0[other].iter().filter_map(|leaf| element(leaf)).collect())
            .collect();
        changed |= values.keep(value, |leaf| {
            element(leaf).is_some_and(|element| others.iter().all(|other| other.contains(element)))
        });
    }
    changed
}

fn share_type(values: &mut Values, group: &[String]) -> bool {
    let mut changed = false;
    for value in group {
        for other in group {
            let other = values.0[other].clone();
            changed |= values.keep(value, |leaf| other.contains(leaf));
        }
    }
    changed
}

fn narrow(values: &mut Values, node: &NodeProto, relation: &TypeRelation) -> Result<bool, ()> {
    Ok(match relation {
        TypeRelation::SameType(ports) => share_type(values, &at(node, ports)),
        TypeRelation::Elementwise { input, output } => {
            let group = at(node, &[*input, *output]);
            let typed = share_type(values, &group);
            share_element(values, &group) || typed
        }
        TypeRelation::SameElementType(_) | TypeRelation::ReduceOver { .. } => {
            share_element(values, &element_group(node, relation))
        }
        TypeRelation::BroadcastShape { .. } => false,
        TypeRelation::Custom { name, .. } => match *name {
            "cast.to" => {
                let to = if node.attribute[0].i() == 1 { "tensor.f32" } else { "tensor.i64" };
                values.keep(&node.output[0], |leaf| leaf == to)
            }
            "constant.value" => {
                let value = if node.attribute[0].ints.is_empty() { "tensor.f32" } else { "tensor.i64" };
                values.keep(&node.output[0], |leaf| leaf == value)
            }
            "gather.indices" | "slice.indices" => {
                for value in node.input.iter().skip(1) {
                    let set = &values.0[value];
                    if set.len() == 1 && !set.contains("tensor.i32") && !set.contains("tensor.i64") {
                        return Err(());
                    }
                }
                false
            }
            "matmul.contract" | "where.broadcast" => false,
            other => panic!("{other} is not in the reference"),
        },
    })
}

fn settle(values: &mut Values, program: &Program) -> Result<(), ()> {
    loop {
        let mut changed = false;
        for node in &program.graph.node {
            for relation in declaration(node).type_relations {
                changed |= narrow(values, node, relation)?;
            }
        }
        if values.0.values().any(BTreeSet::is_empty) {
            return Err(());
        }
        if !changed {
            return Ok(());
        }
    }
}

fn declaration(node: &NodeProto) -> &'static AtomicOpDecl {
    TENSOR_PRIMITIVES.op(node.op_type()).unwrap()
}

/// Gives values of unknown kind the kind of a related value; returns whether there was one.
fn assume(values: &mut Values, program: &Program, kinds: &[&str]) -> bool {
    let mut changed = false;
    for kind in kinds {
        for node in &program.graph.node {
            for relation in declaration(node).type_relations {
                let group = element_group(node, relation);
                if !group.iter().any(|value| values.all(value, |leaf| under(leaf, kind))) {
                    continue;
                }
                for value in &group {
                    let open = !values.all(value, |leaf| under(leaf, "tensor"))
                        && !values.all(value, |leaf| under(leaf, "scalar"));
                    changed |= open && values.keep(value, |leaf| under(leaf, kind));
                }
            }
        }
    }
    changed
}

pub(crate) fn solve(program: &Program) -> Answer {
    let lattice = Lattice::get();
    let leaves: Leaves = lattice.nodes().filter(NodeRef::is_concrete).map(|node| node.id).collect();
    let mut values = Values(BTreeMap::new());
    for node in &program.graph.node {
        for value in node.input.iter().chain(&node.output) {
            values.0.insert(value.clone(), leaves.clone());
        }
    }
    for (value, bound) in &program.seeds {
        values.keep(value, |leaf| under(leaf, bound));
    }
    for node in &program.graph.node {
        let decl = declaration(node);
        for (at, value) in node.input.iter().enumerate() {
            values.keep(value, |leaf| under(leaf, decl.input(at).unwrap().bound.id));
        }
        for (at, value) in node.output.iter().enumerate() {
            values.keep(value, |leaf| under(leaf, decl.output(at).unwrap().bound.id));
        }
    }
    settle(&mut values, program).ok()?;
    for kinds in [&["tensor"][..], &["tensor", "scalar"]] {
        while assume(&mut values, program, kinds) {
            settle(&mut values, program).ok()?;
        }
    }
    let bound = |set: &Leaves| {
        let numbers = set.iter().map(|leaf| lattice.number_of(*leaf).unwrap());
        let joined = numbers.reduce(|a, b| lattice.join(a, b)).unwrap();
        (lattice.node(joined).unwrap().id.to_owned(), set.len() == 1)
    };
    Some(values.0.iter().map(|(value, set)| (value.clone(), bound(set))).collect())
}
