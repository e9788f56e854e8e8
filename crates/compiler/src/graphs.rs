//! The graphs of a checked model beside the bytes that they were read from.

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{GraphView, NodeView};
use typeloom_solver::program::{Body, BodySource, GraphId, StepId, StepKind};

/// The graphs in the attributes of a node, in the order of the attributes: the order of
/// [`Body::graphs_of`].
pub(crate) fn graphs_of_node<'a>(node: NodeView<'a>) -> Result<Vec<GraphView<'a>>, DecodeError> {
    let mut graphs = Vec::new();
    for attribute in node.attributes() {
        let attribute = attribute?.parse()?;
        graphs.extend(attribute.g());
        for graph in attribute.graphs() {
            graphs.push(graph?);
        }
    }
    Ok(graphs)
}

/// Every graph nested in a body with its bytes, and the main graph where the body has one; outer graphs first.
pub(crate) fn graphs_of_body<'a>(body: &Body<'a>) -> Result<Vec<(GraphId, GraphView<'a>)>, DecodeError> {
    let mut found = Vec::new();
    if let BodySource::Main(view) = body.source() {
        found.push((body.root(), view));
    }
    let (from, to) = body.graph(body.root()).steps;
    for step in (from..to).map(StepId::new) {
        if matches!(body.step(step).kind, StepKind::Enter(_)) {
            let views = graphs_of_node(body.step(step).node)?;
            found.extend(body.graphs_of(step).map(|(id, _)| id).zip(views));
        }
    }
    Ok(found)
}
