//! Checks that a pass keeps the nodes with side effects.
//!
//! After the pass, the nodes with side effects that the program had must be the same, in the same order and
//! in the same graphs, and no other node may be a copy of one: have it as origin, define its results, or apply
//! its operator to its inputs.

use std::collections::HashSet;

use typeloom_module::registry::Registry;
use typeloom_program::facts::Facts;
use typeloom_program::program::{GraphId, NodeId, Program};

/// The nodes with side effects of a program, and the nodes around one, with their graphs.
pub(crate) struct Effects(Vec<(GraphId, NodeId)>);

impl Effects {
    /// Lists the nodes with side effects.
    pub(crate) fn of(registry: &Registry, program: &Program) -> Self {
        let graphs = program.bodies().flat_map(|body| program.graphs_in(body));
        let nodes = graphs.flat_map(|graph| program[graph].nodes.iter().map(move |node| (graph, *node)));
        Self(nodes.filter(|(_, node)| registry.has_effects(program, *node)).collect())
    }

    /// Compares the nodes with those of the program after the pass.
    ///
    /// # Errors
    /// The description of a node that is removed, moved or copied.
    pub(crate) fn check(&self, registry: &Registry, program: &Program, facts: &Facts) -> Result<(), String> {
        let known: HashSet<NodeId> = self.0.iter().map(|(_, node)| *node).collect();
        let Self(found) = Self::of(registry, program);
        let (kept, new): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, node)| known.contains(node));
        let first = self.0.iter().zip(&kept).position(|(expected, found)| expected != found);
        let first = first.or_else(|| (kept.len() < self.0.len()).then_some(kept.len()));
        if let Some((_, node)) = first.and_then(|at| self.0.get(at)) {
            let node = describe(program, facts, *node);
            return Err(format!("it removes or moves {node}, which has side effects"));
        }
        let copied =
            if kept.len() > self.0.len() { kept.get(self.0.len()).map(|(_, node)| *node) } else { None };
        let is_copy = |node: &NodeId| {
            let (new, origin) = (&program[*node], facts.origins.get(*node));
            known.iter().map(|node| (node, &program[*node])).any(|(id, node)| {
                let shares = new.outputs.iter().flatten().any(|output| node.outputs.contains(&Some(*output)));
                let repeats = new.is(&node.domain, &node.op) && new.inputs == node.inputs;
                origin == Some(id) || shares || repeats
            })
        };
        match copied.or_else(|| new.into_iter().map(|(_, node)| node).find(is_copy)) {
            Some(node) => {
                Err(format!("it copies {}, which has side effects", describe(program, facts, node)))
            }
            None => Ok(()),
        }
    }
}

fn describe(program: &Program, facts: &Facts, node: NodeId) -> String {
    let slot = facts.slot(node).filter(|slot| !slot.is_empty());
    let slot = slot.map(|slot| format!(" on slot `{slot}`")).unwrap_or_default();
    let location = Some(facts.location(node)).filter(|location| !location.is_empty());
    let location = location.map(|location| format!(" at {location}")).unwrap_or_default();
    format!("`{}`{slot}{location}", program[node].op)
}
