//! Application of changes to a file. Bytes outside of changed nodes stay as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use typeloom_onnx::messages::{AttributeProto, ModelProto, NodeProto, TensorProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::text::{PrintOptions, print_node};
use typeloom_onnx::view::ModelView;
use typeloom_solver::program::GraphId;

use super::candidates::{Candidate, Change};
use crate::coerce::layout::{Layout, NodeId};
use crate::coerce::{Hunk, WriteError};
use crate::fields::{GRAPH_INITIALIZER, MODEL_IR_VERSION};
use crate::names::Names;
use crate::unused::{Changes, Unchanged, Used, unused_records, used};

/// A changed file.
pub(super) struct Edited {
    pub(super) file: Vec<u8>,
    pub(super) hunks: Vec<Hunk>,
    removed: BTreeSet<NodeId>,
}

impl Edited {
    /// Whether a node of the original file is gone.
    pub(super) fn removes(&self, node: Option<(GraphId, usize)>) -> bool {
        node.is_some_and(|(graph, position)| self.removed.contains(&NodeId { graph, position }))
    }

    /// The original positions of nodes of the changed file.
    pub(super) fn original(&self, nodes: &BTreeSet<(GraphId, usize)>) -> BTreeSet<(GraphId, usize)> {
        nodes
            .iter()
            .map(|(graph, position)| {
                let mut at = *position;
                for removed in self.removed.iter().filter(|removed| removed.graph == *graph) {
                    at += usize::from(removed.position <= at);
                }
                (*graph, at)
            })
            .collect()
    }
}

/// The inputs of changed nodes.
struct NewInputs<'l>(HashMap<NodeId, Vec<&'l str>>);

impl<'l> Changes<'l> for NewInputs<'l> {
    fn inputs(&self, node: NodeId) -> Option<Vec<&'l str>> {
        self.0.get(&node).cloned()
    }
}

/// Applies changes; `None` if there are none.
pub(super) fn edited(bytes: &[u8], candidates: &[&Candidate]) -> Result<Option<Edited>, WriteError> {
    let model = ModelView::new(bytes)?;
    let layouts = Layout::of_model(&model)?;
    let Some(main) = layouts.first() else { return Ok(None) };
    let mut names = Names::default();
    for layout in &layouts {
        layout.take_names(&mut names)?;
    }
    let mut splice = Splice::new::<ModelProto>(bytes);
    let mut new_inputs = NewInputs(HashMap::new());
    let mut by_node: BTreeMap<NodeId, Vec<&Change>> = BTreeMap::new();
    for Candidate { node, change, .. } in candidates {
        match (node, change) {
            (Some((graph, position)), change) => {
                by_node.entry(NodeId { graph: *graph, position: *position }).or_default().push(change);
            }
            (None, Change::IrVersion(version)) => {
                let mut fields = model.wire_fields().flatten();
                if let Some(record) = fields.find(|field| field.number == MODEL_IR_VERSION) {
                    splice.replace(0, &record, Records::new().int(MODEL_IR_VERSION, *version));
                }
            }
            (None, _) => {}
        }
    }
    let mut hunks: BTreeMap<NodeId, Hunk> = BTreeMap::new();
    for (id, changes) in &by_node {
        let (Some(graph), Some(view)) = (main.graph(id.graph), main.node(*id)) else { continue };
        let mut node: NodeProto = read(bytes::Bytes::copy_from_slice(view.bytes()))?;
        let before = printed(&node);
        for change in changes {
            match change {
                Change::Inputs(inputs) => {
                    for (at, tensor) in inputs {
                        let Some(input) = node.input.get_mut(*at) else { continue };
                        let name = names.fresh(&format!("{}_constant", tensor.name));
                        *input = name.clone();
                        let tensor = TensorProto { name: name.as_str().into(), ..tensor.clone() };
                        let records = Records::new().message(GRAPH_INITIALIZER, &tensor);
                        splice.append(graph.source.offset(), records);
                    }
                }
                Change::SetAttribute(attribute) => {
                    node.attribute.retain(|own| own.name() != attribute.name());
                    node.attribute.push(AttributeProto::clone(attribute));
                }
                Change::RemoveAttribute(name) => node.attribute.retain(|own| own.name() != name),
                Change::IrVersion(_) => {}
            }
        }
        // The other inputs are new initializers.
        let same = view.inputs().flatten().zip(&node.input).filter(|(old, new)| old == new);
        new_inputs.0.insert(*id, same.map(|(old, _)| old).collect());
        let record = &graph.records[id.position];
        splice.replace(graph.source.offset(), record, Records::new().message(record.number, &node));
        hunks.insert(*id, hunk(main, *id, before, vec![printed(&node)]));
    }
    let (before, after) = (used(main, &Unchanged)?, used(main, &new_inputs)?);
    let removed = before.nodes.difference(&after.nodes).copied().collect();
    remove_unused(main, [&before, &after], &mut splice, &mut hunks)?;
    let hunks = hunks.into_values().collect();
    Ok(splice.changed()?.map(|file| Edited { file, hunks, removed }))
}

/// Removes the nodes, initializers and declarations of values that are not used any more.
fn remove_unused(
    main: &Layout<'_>,
    [before, after]: [&Used<'_>; 2],
    splice: &mut Splice<'_>,
    hunks: &mut BTreeMap<NodeId, Hunk>,
) -> Result<(), WriteError> {
    for (id, graph) in main.graphs().filter(|(id, _)| after.graphs.contains(id)) {
        let message = graph.source.offset();
        for (position, (view, record)) in graph.nodes.iter().zip(&graph.records).enumerate() {
            let node = NodeId { graph: id, position };
            if before.nodes.contains(&node) && !after.nodes.contains(&node) {
                splice.remove(message, record);
                let old: NodeProto = read(bytes::Bytes::copy_from_slice(view.bytes()))?;
                hunks.insert(node, hunk(main, node, printed(&old), Vec::new()));
            }
        }
        for (record, name) in unused_records(graph.source, id, after)? {
            if before.values.contains(&(id, name)) {
                splice.remove(message, &record);
            }
        }
    }
    Ok(())
}

fn hunk(layout: &Layout<'_>, id: NodeId, before: String, after: Vec<String>) -> Hunk {
    let graph = layout.path(id.graph).to_string();
    Hunk { graph, position: id.position, before: Some(before), after }
}

fn printed(node: &NodeProto) -> String {
    print_node(node, &PrintOptions::display()).text
}
