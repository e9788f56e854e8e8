//! Targets: where each node of a model runs, and the verdict about the model.
//!
//! The facts about devices and runtimes are in another crate, and the engine of a page does not contain them.
//! The caller adds the verdicts to a finished scene with [`Scene::add_target`].

use std::collections::BTreeMap;

use super::{MarkId, NodeId, Scene};
use crate::map::Map;

/// The verdict of a target about the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name.
    pub name: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether the target is a device or a runtime whose nodes were measured. Otherwise only nodes with
    /// problems have a place.
    pub is_measured: bool,
    /// The nodes with a known place, in their order.
    pub places: Vec<PlacedNode>,
    /// The bytes that cross between the device and the CPU in one run, as an expression in the symbols; `None`
    /// if a size is not known.
    pub crossing: Option<String>,
    /// Conditions on the symbols under which the verdict holds.
    pub conditions: Vec<String>,
    /// The symbols that have to be numbers, because only fixed extents were measured.
    pub fixed: Vec<String>,
    /// The diagnostics of the target.
    pub marks: Vec<MarkId>,
}

/// A node with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedNode {
    /// The node.
    pub node: NodeId,
    /// The place.
    pub place: Assignment,
    /// The number of its partition, from 0 and less than the number of nodes; `None` for a node that is not on the device.
    pub partition: Option<u32>,
}

/// The assignment of a node. A later one hides an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Assignment {
    /// On the device.
    Device,
    /// On the CPU instead of the device.
    Cpu,
    /// Unknown.
    Unknown,
    /// Nowhere: the target rejects the node.
    Nowhere,
}

impl Assignment {
    /// All places.
    pub const ALL: [Self; 4] = [Self::Device, Self::Cpu, Self::Unknown, Self::Nowhere];

    /// The place that the diagnostic of a node means.
    fn of_code(code: &str) -> Self {
        match code {
            "target-fallback" => Self::Cpu,
            "target-undecided" => Self::Unknown,
            _ => Self::Nowhere,
        }
    }
}

/// The verdict in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The model runs.
    Runs,
    /// It runs, with some nodes on the CPU instead of the device.
    RunsWithFallback,
    /// It does not run.
    Rejected,
    /// Unknown.
    Undecided,
}

impl Scene {
    /// Adds a target, which has its diagnostics and no places yet, with the places of nodes of the main graph
    /// by their positions. Other nodes, such as those of functions, have the places that the diagnostics of the
    /// target mean.
    pub fn add_target(
        &mut self,
        mut target: Target,
        placed: impl IntoIterator<Item = (usize, Assignment, Option<u32>)>,
    ) {
        let main = self.group(self.main()).nodes.clone();
        let nodes = main.map(|at| NodeId::new(at as usize));
        let node_at: Map<usize, NodeId> =
            nodes.map(|node| (self.node(node).position as usize, node)).collect();
        let mut places: BTreeMap<usize, (Assignment, Option<u32>)> = BTreeMap::new();
        for (position, place, partition) in placed {
            if let Some(node) = node_at.get(&position) {
                places.insert(node.index(), (place, partition));
            }
        }
        for mark in &target.marks {
            let mark = self.mark(*mark);
            for node in &mark.nodes {
                let place = Assignment::of_code(mark.code);
                let known = places.entry(node.index()).or_insert((place, None));
                if known.0 < place && known.1.is_none() {
                    known.0 = place;
                }
            }
        }
        target.places = places
            .into_iter()
            .map(|(at, (place, partition))| PlacedNode { node: NodeId::new(at), place, partition })
            .collect();
        self.targets.push(target);
    }
}
