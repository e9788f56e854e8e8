//! `partition`: splits the program into one typed function for each class of peers.
//!
//! A [`Part`] lists the nodes of its class, in order. Its inputs are the program inputs that its nodes read.
//! Constants are listed by every part that reads them. In files, a part is a function of the domain
//! [`PARTITION`](typeloom_program::domain::PARTITION), see [`Writer::parts`].
//!
//! **Invariant:** every node of the program that has a class is in exactly one part.
//!
//! [`Writer::parts`]: typeloom_program::write::Writer::parts

use std::collections::HashSet;

use typeloom_module::registry::Registry;
use typeloom_onnx::messages::SharedText;
use typeloom_program::program::{Graph, NodeId, Part, Program, ValueId};

use super::infer_peer_classes::{Classes, has_sends};
use crate::error::BuildError;
use crate::stage::Dispatched;

/// The name of the part that runs on the module's own peer.
pub const OWN: &str = Part::OWN;

/// Adds a part for each class of peers, if the program has sends.
pub(crate) fn run(mut dispatched: Dispatched) -> Result<Dispatched, BuildError> {
    let Dispatched { unit, .. } = &mut dispatched;
    if has_sends(&unit.program) {
        let classes = Classes::of(&unit.program, &unit.facts, &Registry::of(&unit.bindings)?)?;
        unit.program.parts = parts(&unit.program, &classes);
    }
    Ok(dispatched)
}

/// The parts of a program, its own side first.
pub(crate) fn parts(program: &Program, classes: &Classes) -> Vec<Part> {
    let mut names: Vec<SharedText> = vec![SharedText::default()];
    for class in classes.nodes.iter().map(|(_, class)| class).chain(classes.targets.values()) {
        if !names.contains(class) {
            names.push(class.clone());
        }
    }
    names[1..].sort();
    names.into_iter().map(|class| part(program, classes, class)).collect()
}

fn part(program: &Program, classes: &Classes, class: SharedText) -> Part {
    let Graph { nodes: all, inputs, outputs, initializers, .. } = &program[program.main()];
    // Values that this part reads, and the nodes that compute constants among them.
    let mut needed: HashSet<ValueId> = HashSet::new();
    let mut nodes: Vec<NodeId> = Vec::new();
    for id in all.iter().rev() {
        let is_taken = match classes.nodes.get(*id) {
            Some(of) => *of == class,
            None => program[*id].outputs.iter().flatten().any(|output| needed.contains(output)),
        };
        if is_taken {
            needed.extend(program.reads(*id));
            nodes.push(*id);
        }
    }
    nodes.reverse();
    let constants: Vec<ValueId> =
        initializers.iter().map(|(value, _)| *value).filter(|value| needed.contains(value)).collect();
    let made = nodes.iter().flat_map(|node| program[*node].outputs.iter().copied().flatten());
    let made: HashSet<ValueId> = made.chain(constants.iter().copied()).collect();
    let is_read = |value: &ValueId| needed.contains(value) && !made.contains(value);
    let is_result =
        |value: &ValueId| made.contains(value) && classes.values.get(value).is_none_or(|of| *of == class);
    let inputs = inputs.iter().map(|port| port.value).filter(is_read).collect();
    let outputs = outputs.iter().map(|port| port.value).filter(is_result).collect();
    Part { class, inputs, outputs, constants, nodes }
}
