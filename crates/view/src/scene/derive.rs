//! The parts of a scene that follow from the others: texts of types, readers of values, numbers of nodes,
//! marks of items, counts of changes and diagnostics.

use std::collections::HashSet;

use typeloom_solver::diagnostic::Severity;

use super::types::derive_texts;
use super::{Change, Child, GroupId, Maker, Mark, MarkId, NodeId, Scene};

/// Sets the derived parts.
pub(crate) fn complete(scene: &mut Scene) {
    derive_texts(scene);
    index_readers(scene);
    count_nodes(scene);
    count_changes(scene);
    attach(scene);
}

/// Lists the marks at their nodes and values, and counts them in groups.
fn attach(scene: &mut Scene) {
    let marks = std::mem::take(&mut scene.marks);
    for (at, mark) in marks.iter().enumerate() {
        let id = MarkId::new(at);
        mark.nodes.iter().for_each(|node| scene.nodes[node.index()].marks.push(id));
        mark.values.iter().for_each(|value| scene.values[value.index()].marks.push(id));
        count(scene, mark);
    }
    scene.marks = marks;
}

/// Counts a mark in the groups around its nodes and values.
fn count(scene: &mut Scene, mark: &Mark) {
    let nodes = mark.nodes.iter().map(|node| scene.node(*node).group);
    let starts: Vec<GroupId> =
        nodes.chain(mark.values.iter().map(|value| scene.value(*value).graph)).collect();
    let mut counted = HashSet::new();
    for start in starts {
        let mut at = Some(start);
        while let Some(group) = at.filter(|group| counted.insert(*group)) {
            let group = &mut scene.groups[group.index()];
            match mark.severity {
                Severity::Error => group.errors += 1,
                Severity::Warning => group.warnings += 1,
            }
            at = group.parent;
        }
    }
}

/// Lists the readers of each value.
fn index_readers(scene: &mut Scene) {
    let mut first = vec![0_u32; scene.values.len() + 1];
    let nodes = || (0..scene.nodes.len()).map(NodeId::new);
    for value in nodes().flat_map(|node| scene.reads(node)) {
        first[value.index() + 1] += 1;
    }
    for at in 1..first.len() {
        first[at] += first[at - 1];
    }
    let mut fill = first.clone();
    let count = first.last().copied().unwrap_or_default() as usize;
    let mut readers = vec![NodeId::new(0); count];
    for node in nodes() {
        for value in scene.reads(node) {
            let at = &mut fill[value.index()];
            readers[*at as usize] = node;
            *at += 1;
        }
    }
    scene.first_reader = first;
    scene.readers = readers;
}

/// Counts the nodes below each group. Children and nested graphs have later groups.
fn count_nodes(scene: &mut Scene) {
    for at in (0..scene.groups.len()).rev() {
        let inner = |child: &Child| match child {
            Child::Group(group) => scene.group(*group).total,
            Child::Node(node) => {
                let bodies = scene.node(*node).bodies.iter();
                1 + bodies.map(|body| scene.group(*body).total).sum::<usize>()
            }
        };
        let total = scene.groups[at].children.iter().map(inner).sum();
        scene.groups[at].total = total;
    }
}

/// Counts the changes below each group. Children and nested graphs have later groups.
fn count_changes(scene: &mut Scene) {
    for node in &scene.nodes {
        let counts = &mut scene.groups[node.group.index()].changes;
        match node.change {
            Change::Same => {}
            Change::Added => counts.added += 1,
            Change::Removed => counts.removed += 1,
            Change::Changed => counts.changed += 1,
        }
    }
    for value in scene.values.iter().filter(|value| value.change == Change::Changed) {
        let group = match value.maker {
            Maker::Node { node, .. } => scene.nodes[node.index()].group,
            Maker::Input | Maker::Stored | Maker::Undefined => value.graph,
        };
        scene.groups[group.index()].changes.types += 1;
    }
    for at in (1..scene.groups.len()).rev() {
        let own = scene.groups[at].changes;
        if let Some(parent) = scene.groups[at].parent {
            let counts = &mut scene.groups[parent.index()].changes;
            counts.added += own.added;
            counts.removed += own.removed;
            counts.changed += own.changed;
            counts.types += own.types;
        }
    }
}
