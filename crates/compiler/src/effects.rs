//! Checks that a pass keeps the nodes with side effects.
//!
//! Before the pass, each node with side effects, and each node around one, gets a number in its metadata.
//! After the pass, the numbered nodes must be the same, in the same order and in the same graphs. Numbers
//! identify nodes, because nodes of one source line can be equal, and a pass can rename values.

use typeloom_module::ir::metadata;
use typeloom_module::names;
use typeloom_module::registry::Registry;
use typeloom_onnx::messages::{ModelProto, NodeProto, metadata_entry};
use typeloom_onnx::nested;

/// The metadata key of the number of a node.
const NUMBER: &str = "typeloom.effect";

/// The graph that contains a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Site {
    Main,
    Function(usize),
    /// A graph of the node with a number; the second number is the position of the graph in the node.
    Nested(usize, usize),
    /// A graph of a node without a number.
    Elsewhere,
}

/// The nodes with side effects of a program, by number.
pub(crate) struct Effects(Vec<(Site, String)>);

impl Effects {
    /// Numbers the nodes with side effects.
    pub(crate) fn number(registry: &Registry, model: &mut ModelProto) -> Self {
        let mut found = Vec::new();
        each_node(model, |node, site| {
            if !registry.has_effects(node) {
                return None;
            }
            let number = found.len();
            found.push((site, describe(node)));
            node.metadata_props.push(metadata_entry(NUMBER, number.to_string()));
            Some(number)
        });
        Self(found)
    }

    /// Removes the numbers.
    ///
    /// # Errors
    /// The description of a node that is removed, moved or copied.
    pub(crate) fn check(self, model: &mut ModelProto) -> Result<(), String> {
        let mut found = Vec::new();
        each_node(model, |node, site| {
            let number = metadata(node, NUMBER).and_then(|number| number.parse::<usize>().ok())?;
            node.metadata_props.retain(|entry| entry.key() != NUMBER);
            found.push((number, site));
            Some(number)
        });
        let expected = self.0.iter().enumerate().map(|(number, (site, _))| (number, *site));
        let first = expected.zip(&found).position(|(expected, found)| expected != *found);
        match first.or_else(|| (found.len() < self.0.len()).then_some(found.len())) {
            Some(number) => Err(format!("it removes or moves {}, which has side effects", self.0[number].1)),
            None => match found.get(self.0.len()).and_then(|(number, _)| self.0.get(*number)) {
                Some((_, node)) => Err(format!("it copies {node}, which has side effects")),
                None => Ok(()),
            },
        }
    }
}

/// Visits all nodes, those of a graph before those of the graphs nested in it. `visit` returns the number of
/// the node.
fn each_node(model: &mut ModelProto, mut visit: impl FnMut(&mut NodeProto, Site) -> Option<usize>) {
    let main = model.graph.iter_mut().map(|graph| (&mut graph.node, Site::Main));
    let functions = model.functions.iter_mut().enumerate();
    let functions = functions.map(|(at, function)| (&mut function.node, Site::Function(at)));
    let mut open: Vec<(&mut Vec<NodeProto>, Site)> = main.chain(functions).collect();
    open.reverse();
    while let Some((nodes, site)) = open.pop() {
        let first = open.len();
        for node in nodes {
            let number = visit(node, site);
            let graphs = nested::graphs_mut(node).enumerate();
            let site = |at| number.map_or(Site::Elsewhere, |number| Site::Nested(number, at));
            open.extend(graphs.map(|(at, graph)| (&mut graph.node, site(at))));
        }
        open[first..].reverse();
    }
}

fn describe(node: &NodeProto) -> String {
    let key = |key| metadata(node, key).filter(|text| !text.is_empty());
    let slot = key(names::SLOT_ID).map(|slot| format!(" on slot `{slot}`")).unwrap_or_default();
    let location = key(names::SOURCE_LOCATION).map(|at| format!(" at {at}")).unwrap_or_default();
    format!("`{}`{slot}{location}", node.op_type())
}
