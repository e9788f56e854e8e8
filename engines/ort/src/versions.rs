//! Models of newer versions than the library knows, in the newest that it does.
//!
//! The library refuses a model by the numbers at its head, whatever is in it. Most operators are the same in the newest versions
//! of ONNX as in those before, so the numbers are lowered where that changes the meaning of no node. The types were solved for the model as it is.

use typeloom::ModelProto;
use typeloom_ops::table::{Found, Table};

/// The newest version of the format that the library reads. Later ones only add element types, which are not offered.
const IR: i64 = 13;

/// The newest version of ONNX's operators that the library knows.
const OPSET: i64 = 26;

/// The model with lower numbers, where it needs them.
pub(crate) fn lowered(model: &ModelProto) -> Option<ModelProto> {
    let import = model.opset_import.iter().position(|it| matches!(it.domain(), "" | "ai.onnx"));
    let version = import.map_or(0, |at| model.opset_import[at].version());
    let has_new_operators = version > OPSET && model.functions.is_empty() && is_the_same(model, version);
    if model.ir_version() <= IR && !has_new_operators {
        return None;
    }
    let mut lowered = model.clone();
    lowered.ir_version = Some(model.ir_version().min(IR));
    if let Some(at) = import.filter(|_| has_new_operators) {
        lowered.opset_import[at].version = Some(OPSET);
    }
    Some(lowered)
}

/// Whether every operator of ONNX means the same in the newest version that the library knows.
fn is_the_same(model: &ModelProto, version: i64) -> bool {
    let table = Table::get();
    let since = |op: &str, version: i64| match table.at("", op, version) {
        Found::Schema(_, schema) => Some(schema.since_version),
        Found::NewerThanOpset { .. } | Found::UnknownOperator | Found::UnknownDomain => None,
    };
    let mut graphs: Vec<_> = model.graph.iter().collect();
    while let Some(graph) = graphs.pop() {
        for node in &graph.node {
            let of_onnx = matches!(node.domain(), "" | "ai.onnx");
            let (old, new) = (since(node.op_type(), OPSET), since(node.op_type(), version));
            if of_onnx && (old.is_none() || old != new) {
                return false;
            }
            graphs.extend(node.attribute.iter().flat_map(|it| it.g.as_deref().into_iter().chain(&it.graphs)));
        }
    }
    true
}
