//! Application of changes to a file. Bytes outside of changed nodes stay as they are.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use typeloom_onnx::messages::{AttributeProto, ModelProto, NodeProto, TensorProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::text::{PrintOptions, print_node};
use typeloom_onnx::view::{ModelView, TensorView};
use typeloom_onnx::wire::WireValue;
use typeloom_solver::program::GraphId;

use super::candidates::{Candidate, Change};
use crate::coerce::layout::{Layout, NodeId, Source};
use crate::coerce::{Hunk, WriteError};
use crate::fields::{GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_VALUE_INFO, MODEL_IR_VERSION};
use crate::names::Names;

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

/// The uses of the names of the main graph and the graphs nested in it.
struct Uses<'l> {
    count: HashMap<&'l str, usize>,
    makers: HashMap<&'l str, NodeId>,
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
    let mut uses = Uses::of(main)?;
    let mut unused: Vec<&str> = Vec::new();
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
        for (old, new) in view.inputs().flatten().zip(&node.input) {
            if old != new && uses.drop_one(old) {
                unused.push(old);
            }
        }
        let record = &graph.records[id.position];
        splice.replace(graph.source.offset(), record, Records::new().message(record.number, &node));
        hunks.insert(*id, hunk(main, *id, before, vec![printed(&node)]));
    }
    let removed = remove_unused(main, &mut uses, unused, &mut splice, &mut hunks)?;
    let hunks = hunks.into_values().collect();
    Ok(splice.changed()?.map(|file| Edited { file, hunks, removed }))
}

/// Removes the nodes, initializers and declarations of values that nothing uses any more.
fn remove_unused<'l>(
    main: &'l Layout<'_>,
    uses: &mut Uses<'l>,
    mut unused: Vec<&'l str>,
    splice: &mut Splice<'_>,
    hunks: &mut BTreeMap<NodeId, Hunk>,
) -> Result<BTreeSet<NodeId>, WriteError> {
    let mut removed = BTreeSet::new();
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = unused.pop() {
        let Some(id) = uses.makers.get(name).copied() else {
            gone.insert(name);
            continue;
        };
        let (Some(graph), Some(view)) = (main.graph(id.graph), main.node(id)) else { continue };
        let is_used = view.outputs().flatten().any(|output| uses.is_used(output));
        // A node with nested graphs reads values that are not its inputs.
        if is_used || main.nested(id, 0).is_some() || !removed.insert(id) {
            continue;
        }
        gone.extend(view.outputs().flatten());
        for input in view.inputs().flatten().filter(|input| !input.is_empty()) {
            if uses.drop_one(input) {
                unused.push(input);
            }
        }
        let node: NodeProto = read(bytes::Bytes::copy_from_slice(view.bytes()))?;
        splice.remove(graph.source.offset(), &graph.records[id.position]);
        hunks.insert(id, hunk(main, id, printed(&node), Vec::new()));
    }
    for (_, graph) in main.graphs() {
        let mut inputs = BTreeSet::new();
        for (record, info) in graph.source.declarations()? {
            let name = info.parse()?.name;
            match record.number {
                GRAPH_INPUT => {
                    inputs.insert(name);
                }
                GRAPH_VALUE_INFO if gone.contains(name) => splice.remove(graph.source.offset(), &record),
                _ => {}
            }
        }
        for field in graph.source.fields() {
            let field = field?;
            if let (GRAPH_INITIALIZER, WireValue::Len(bytes, offset)) = (field.number, &field.value) {
                let name = TensorView::from_body(bytes, *offset).header()?.name();
                if gone.contains(name) && !inputs.contains(name) {
                    splice.remove(graph.source.offset(), &field);
                }
            }
        }
    }
    Ok(removed)
}

impl<'l> Uses<'l> {
    fn of(layout: &'l Layout<'_>) -> Result<Self, WriteError> {
        let (mut count, mut makers) = (HashMap::new(), HashMap::new());
        for (graph, own) in layout.graphs() {
            for (position, node) in own.nodes.iter().enumerate() {
                for input in node.inputs() {
                    *count.entry(input?).or_default() += 1;
                }
                for output in node.outputs() {
                    makers.insert(output?, NodeId { graph, position });
                }
            }
            if let Source::Graph(view) = own.source {
                for output in view.outputs() {
                    *count.entry(output?.parse()?.name).or_default() += 1;
                }
            }
        }
        Ok(Self { count, makers })
    }

    fn is_used(&self, name: &str) -> bool {
        self.count.get(name).is_some_and(|count| *count > 0)
    }

    /// Whether the last use of a name is gone.
    fn drop_one(&mut self, name: &str) -> bool {
        match self.count.get_mut(name) {
            Some(count) => {
                *count = count.saturating_sub(1);
                *count == 0
            }
            None => false,
        }
    }
}

fn hunk(layout: &Layout<'_>, id: NodeId, before: String, after: Vec<String>) -> Hunk {
    let graph = layout.path(id.graph).to_string();
    Hunk { graph, position: id.position, before: Some(before), after }
}

fn printed(node: &NodeProto) -> String {
    print_node(node, &PrintOptions::display()).text
}
