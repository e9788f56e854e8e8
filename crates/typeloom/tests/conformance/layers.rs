//! Repeats the nodes of a model on the same inputs, with renamed outputs.

use std::collections::HashSet;

use typeloom_onnx::messages::{ModelProto, NodeProto};
use typeloom_onnx::prost::Message;

/// Returns the model with every node of its graph three times, or `None` if it has no graph.
pub(crate) fn repeat(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut model = ModelProto::decode(bytes).ok()?;
    let graph = model.graph.as_mut()?;
    let nodes = graph.node.clone();
    let made: HashSet<String> = nodes.iter().flat_map(|node| node.output.iter().cloned()).collect();
    for layer in 2..=3 {
        let rename = |name: &String| match made.contains(name) && !name.is_empty() {
            true => format!("{name} again {layer}"),
            false => name.clone(),
        };
        graph.node.extend(nodes.iter().map(|node| NodeProto {
            input: node.input.iter().map(rename).collect(),
            output: node.output.iter().map(rename).collect(),
            ..node.clone()
        }));
    }
    Some(model.encode_to_vec())
}
