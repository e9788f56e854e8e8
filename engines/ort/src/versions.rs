//! Conversion of models with newer versions than the library supports.
//!
//! The library rejects a model by its format and operator set versions alone. Most operators are unchanged in
//! the newest versions of ONNX, so the version numbers are lowered if this preserves the meaning of all
//! nodes. Types are solved for the original model.

use typeloom::ModelProto;
use typeloom_onnx::domain::is_onnx;
use typeloom_onnx::nested;
use typeloom_ops::table::{Found, Table};

/// Newest supported version of the format. Later versions only add element types, which are not offered.
const IR: i64 = 13;

/// Newest supported version of ONNX's operator set.
const OPSET: i64 = 26;

/// The model with lowered version numbers; `None` if no change is needed or possible.
pub(crate) fn lowered(model: &ModelProto) -> Option<ModelProto> {
    let import = model.opset_import.iter().position(|it| is_onnx(it.domain()));
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

/// Whether every ONNX operator of the model is unchanged since the newest supported version.
fn is_the_same(model: &ModelProto, version: i64) -> bool {
    let table = Table::get();
    let since = |op: &str, version: i64| match table.at("", op, version) {
        Found::Schema(schema) => Some(schema.since_version),
        Found::NewerThanOpset { .. } | Found::UnknownOperator | Found::UnknownDomain => None,
    };
    let mut graphs: Vec<_> = model.graph.iter().collect();
    while let Some(graph) = graphs.pop() {
        for node in &graph.node {
            let of_onnx = node.is_onnx();
            let (old, new) = (since(node.op_type(), OPSET), since(node.op_type(), version));
            if of_onnx && (old.is_none() || old != new) {
                return false;
            }
            graphs.extend(nested::graphs(node));
        }
    }
    true
}
