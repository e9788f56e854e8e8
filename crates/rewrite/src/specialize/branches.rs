//! `If` nodes whose condition is proven.
//!
//! The nodes, constants and declarations of the branch move into the graph of the node. A value of the branch
//! that is an output takes the name of the output of the `If`. The others keep their names, unless another
//! graph has a value of the same name.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, TensorProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::view::ModelView;
use typeloom_solver::model::{CheckError, Checked};
use typeloom_solver::program::{GraphId, StepId, StepKind};

use super::{SpecializeError, TakenBranch};
use crate::coerce::layout::{Layout, NodeId, Source};
use crate::fields::{
    GRAPH_INITIALIZER, GRAPH_NODE, GRAPH_QUANTIZATION, GRAPH_SPARSE_INITIALIZER, GRAPH_VALUE_INFO,
};
use crate::names::Names;
use crate::proven::{condition, doubtful};

/// A file in which branches are taken.
pub(super) struct Taken {
    pub(super) file: Vec<u8>,
    pub(super) branches: Vec<TakenBranch>,
}

/// A node with its proven condition.
struct Decided {
    node: NodeId,
    condition: bool,
    taken: GraphId,
}

/// Takes the outermost branches with a proven condition; `None` if there are none.
pub(super) fn take(bytes: &[u8], checked: &mut Checked<'_>) -> Result<Option<Taken>, SpecializeError> {
    let decided = decided(checked);
    if decided.is_empty() {
        return Ok(None);
    }
    let model = ModelView::new(bytes).map_err(CheckError::from)?;
    let layouts = Layout::of_model(&model)?;
    let Some(main) = layouts.first() else { return Ok(None) };
    let mut names = Names::default();
    for layout in &layouts {
        layout.take_names(&mut names)?;
    }
    let mut defined = definitions(main, &decided)?;
    let mut splice = Splice::new::<ModelProto>(bytes);
    let mut taken = Vec::new();
    for Decided { node, condition, taken: branch } in decided {
        let (Some(outer), Some(view)) = (main.graph(node.graph), main.node(node)) else { continue };
        let Some(Source::Graph(graph)) = main.graph(branch).map(|graph| graph.source) else { continue };
        let mut graph: GraphProto = read(bytes::Bytes::copy_from_slice(graph.bytes()))?;
        let outputs = view.outputs().collect::<Result<Vec<&str>, _>>()?;
        let renamed = renamed(&graph, &outputs, &mut defined, &mut names);
        rename(&mut graph, &renamed);
        let mut nodes = Records::new();
        for own in &graph.node {
            nodes = nodes.message(GRAPH_NODE, own);
        }
        for (result, output) in graph.output.iter().zip(&outputs) {
            if !output.is_empty() && result.name() != *output {
                nodes = nodes.message(GRAPH_NODE, &identity(result.name(), output));
            }
        }
        let message = outer.source.offset();
        splice.replace(message, &outer.records[node.position], nodes);
        let mut moved = Records::new();
        for tensor in &graph.initializer {
            moved = moved.message(GRAPH_INITIALIZER, tensor);
        }
        for info in &graph.value_info {
            moved = moved.message(GRAPH_VALUE_INFO, info);
        }
        for annotation in &graph.quantization_annotation {
            moved = moved.message(GRAPH_QUANTIZATION, annotation);
        }
        for tensor in &graph.sparse_initializer {
            moved = moved.message(GRAPH_SPARSE_INITIALIZER, tensor);
        }
        splice.append(message, moved);
        let name = view.name()?;
        let shown = if name.is_empty() { outputs.first().copied().unwrap_or_default() } else { name };
        taken.push(TakenBranch { node: shown.to_owned(), condition });
    }
    let file = splice.changed().map_err(crate::coerce::WriteError::from)?;
    Ok(file.map(|file| Taken { file, branches: taken }))
}

/// The outermost `If` nodes with a proven condition.
fn decided(checked: &mut Checked<'_>) -> Vec<Decided> {
    let body = checked.shared_body();
    let unproven = doubtful(checked);
    let mut decided = Vec::new();
    let (from, to) = body.graph(body.root()).steps;
    // The last step of the node that was taken last. Steps of its graphs come before it.
    let mut inside = None;
    for step in (from..to).map(StepId::new) {
        let own = body.step(step);
        let StepKind::Enter(exit) = own.kind else { continue };
        let is_if = body.op_name(step) == "If" && checked.domain_of(&body, step).is_empty();
        if !is_if || inside.is_some_and(|last| step < last) {
            continue;
        }
        let Some(Some(value)) = body.inputs(step).first() else { continue };
        let Some(condition) = condition(checked, *value, &unproven) else { continue };
        let wanted = if condition { "then_branch" } else { "else_branch" };
        let is_wanted = |owner: &Option<typeloom_solver::program::GraphOwner<'_>>| {
            owner.as_ref().is_some_and(|owner| owner.attribute == wanted)
        };
        let Some((taken, _)) = body.graphs_of(step).find(|(_, graph)| is_wanted(&graph.owner)) else {
            continue;
        };
        inside = Some(exit);
        let node = NodeId { graph: own.graph, position: own.position as usize };
        decided.push(Decided { node, condition, taken });
    }
    decided
}

/// How many graphs define each name, without the branches that are dropped.
fn definitions<'l>(
    main: &'l Layout<'_>,
    decided: &[Decided],
) -> Result<HashMap<&'l str, usize>, SpecializeError> {
    let dropped: HashSet<GraphId> = decided
        .iter()
        .flat_map(|one| main.all_nested(one.node).filter(|graph| *graph != one.taken))
        .collect();
    let mut defined: HashMap<&str, usize> = HashMap::new();
    for (id, graph) in main.graphs() {
        let mut around = std::iter::successors(Some(id), |graph| main.outer(*graph));
        let Source::Graph(view) = graph.source else { continue };
        if around.any(|graph| dropped.contains(&graph)) {
            continue;
        }
        for node in &graph.nodes {
            for output in node.outputs() {
                *defined.entry(output?).or_default() += 1;
            }
        }
        for input in view.inputs() {
            *defined.entry(input?.parse()?.name).or_default() += 1;
        }
        for tensor in view.initializers() {
            *defined.entry(tensor?.header()?.name()).or_default() += 1;
        }
    }
    Ok(defined)
}

/// The new names of the values of a branch.
fn renamed(
    graph: &GraphProto,
    outputs: &[&str],
    defined: &mut HashMap<&str, usize>,
    names: &mut Names,
) -> HashMap<String, String> {
    let mut renamed: HashMap<String, String> = HashMap::new();
    let made: HashSet<&str> = graph
        .node
        .iter()
        .flat_map(|node| &node.output)
        .map(|name| &**name)
        .filter(|name| !name.is_empty())
        .collect();
    for (result, output) in graph.output.iter().zip(outputs) {
        if !output.is_empty() && made.contains(result.name()) && !renamed.contains_key(result.name()) {
            renamed.insert(result.name().to_owned(), (*output).to_owned());
        }
    }
    let stored = graph.initializer.iter().map(TensorProto::name);
    for name in made.into_iter().chain(stored) {
        if !renamed.contains_key(name) && defined.get(name).is_some_and(|count| *count > 1) {
            renamed.insert(name.to_owned(), names.fresh(name));
        }
    }
    renamed
}

/// Renames values in a graph and in the graphs nested in it.
fn rename(graph: &mut GraphProto, names: &HashMap<String, String>) {
    if names.is_empty() {
        return;
    }
    for tensor in &mut graph.initializer {
        if let Some(new) = names.get(tensor.name()) {
            tensor.name = new.as_str().into();
        }
    }
    for tensor in graph.sparse_initializer.iter_mut().filter_map(|sparse| sparse.values.as_mut()) {
        if let Some(new) = names.get(tensor.name()) {
            tensor.name = new.as_str().into();
        }
    }
    for info in graph.value_info.iter_mut().chain(&mut graph.output) {
        if let Some(new) = names.get(info.name()) {
            info.name = new.as_str().into();
        }
    }
    for annotation in &mut graph.quantization_annotation {
        if let Some(new) = names.get(annotation.tensor_name()) {
            annotation.tensor_name = new.as_str().into();
        }
    }
    let mut open: Vec<&mut NodeProto> = graph.node.iter_mut().collect();
    while let Some(node) = open.pop() {
        for name in node.input.iter_mut().chain(&mut node.output) {
            if let Some(new) = names.get(&**name) {
                *name = new.as_str().into();
            }
        }
        for attribute in &mut node.attribute {
            let own = attribute.g.as_deref_mut();
            for nested in own.into_iter().chain(&mut attribute.graphs) {
                for info in &mut nested.output {
                    if let Some(new) = names.get(info.name()) {
                        info.name = new.as_str().into();
                    }
                }
                open.extend(&mut nested.node);
            }
        }
    }
}

fn identity(input: &str, output: &str) -> NodeProto {
    NodeProto {
        op_type: "Identity".into(),
        input: vec![input.into()],
        output: vec![output.into()],
        ..NodeProto::default()
    }
}
