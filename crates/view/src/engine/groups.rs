//! The tree of groups, one level at a time.

use super::Engine;
use super::answers::{Groups, InnerGroup};
use super::item::Subject;
use super::paths::joined;
use crate::label::{counts, title_of};
use crate::plan::Plan;
use crate::scene::{Child, GroupId, NodeId, Scene};
use crate::text::{MAX_DETAIL, short};

impl Engine {
    /// The groups at a path; none if it is unknown or too deep.
    pub(super) fn groups(&self, place: &str) -> Groups {
        let scene = &self.scene;
        let depth = place.bytes().filter(|byte| *byte == b'/').count();
        let last = place.rsplit('/').next().unwrap_or_default();
        let subject =
            if last.is_empty() { Some(Subject::Group(scene.main())) } else { Subject::parse(scene, last) };
        let groups = match subject {
            _ if depth >= 2 * Plan::MAX_DEPTH => Vec::new(),
            Some(Subject::Group(group)) => {
                inner(scene, group).map(|child| of_child(scene, place, child)).collect()
            }
            Some(Subject::Node(node)) => {
                graphs(scene, node).map(|group| of_group(scene, place, group)).collect()
            }
            Some(Subject::Value(_) | Subject::Mark(_)) | None => Vec::new(),
        };
        Groups { groups }
    }
}

/// The nested graphs and the function of a node.
fn graphs(scene: &Scene, node: NodeId) -> impl Iterator<Item = GroupId> + '_ {
    let node = scene.node(node);
    node.bodies.iter().chain(&node.callee).copied()
}

/// The children of a group that have contents.
pub(super) fn inner(scene: &Scene, group: GroupId) -> impl Iterator<Item = Child> + '_ {
    let children = scene.group(group).children.iter().copied();
    children.filter(|child| match child {
        Child::Group(_) => true,
        Child::Node(node) => graphs(scene, *node).next().is_some(),
    })
}

fn of_child(scene: &Scene, place: &str, child: Child) -> InnerGroup {
    let node = match child {
        Child::Group(group) => return of_group(scene, place, group),
        Child::Node(node) => node,
    };
    let (mut nodes, mut errors, mut warnings) = (0, 0, 0);
    for group in graphs(scene, node) {
        let group = scene.group(group);
        nodes += group.total;
        errors += group.errors;
        warnings += group.warnings;
    }
    let subject = Subject::Node(node).to_string();
    InnerGroup {
        place: joined(place, &subject),
        item: subject,
        operator: short(&scene.operator(node).name, MAX_DETAIL),
        title: short(&scene.node(node).name, MAX_DETAIL),
        nodes,
        errors,
        warnings,
        changes: String::new(),
        has_groups: true,
    }
}

fn of_group(scene: &Scene, place: &str, group: GroupId) -> InnerGroup {
    let shown = scene.group(group);
    let subject = Subject::Group(group).to_string();
    InnerGroup {
        place: joined(place, &subject),
        item: subject,
        operator: String::new(),
        title: title_of(shown),
        nodes: shown.total,
        errors: shown.errors,
        warnings: shown.warnings,
        changes: counts(&shown.changes),
        has_groups: inner(scene, group).next().is_some(),
    }
}
