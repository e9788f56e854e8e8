//! Rewrites models into equivalent ones that tract handles correctly.
//!
//! - An unread optional output is removed: tract accepts masks of `Dropout` as booleans only, and old
//!   networks name masks that they do not use.
//! - In tract, the maximum of a set of negative infinities is the least finite number, the start value of its
//!   reduction. For `ReduceMax` and `ReduceMin` of floats, added nodes detect whether the set contains
//!   another number:
//!
//! ```text
//! y = ReduceMax(x, axes)         found = ReduceMax(x, axes)
//!                                other = Greater(x, -inf)
//!                                counted = Cast<int32>(other)
//!                                most = ReduceMax(counted, axes)
//!                                any = Cast<bool>(most)
//!                                y = Where(any, found, -inf)
//! ```
//!
//! New nodes extend the name of the node that they replace.

use std::collections::{HashMap, HashSet};

use half::f16;
use typeloom::{GraphProto, ModelProto, NodeProto};
use typeloom_onnx::domain::is_onnx;
use typeloom_onnx::messages::{IntoAttribute as _, OperatorSetIdProto, TensorProto, type_proto};
use typeloom_onnx::nested;
use typeloom_ops::table::{Found, Table};
use typeloom_solver::signature::Arity;
use typeloom_types::dtype::Dtype;

/// Prefix of the names of added values, assumed not to occur in models.
const OURS: &str = "typeloom/tract/";

/// Rewrites a model whose graphs are nested no deeper than the limit for engines.
pub(crate) fn respell(model: &mut ModelProto) {
    let is_onnx = |it: &&OperatorSetIdProto| is_onnx(it.domain());
    let version = model.opset_import.iter().find(is_onnx).map_or(1, OperatorSetIdProto::version);
    let Some(graph) = &mut model.graph else { return };
    let mut read = HashSet::new();
    collect_reads(graph, &mut read);
    let mut added = 0;
    respell_graph(graph, version, &read, &HashMap::new(), &mut added);
}

/// Collects the names that nodes and outputs of a graph and its nested graphs read. Scopes are not
/// distinguished: a name read in any graph counts as read in all.
fn collect_reads(graph: &GraphProto, read: &mut HashSet<String>) {
    nested::each_graph(graph, |graph, _| {
        read.extend(graph.output.iter().map(|info| info.name().to_owned()));
        read.extend(graph.node.iter().flat_map(|node| &node.input).cloned());
    });
}

fn respell_graph(
    graph: &mut GraphProto,
    version: i64,
    read: &HashSet<String>,
    outside: &HashMap<String, Dtype>,
    added: &mut usize,
) {
    let mut dtypes = outside.clone();
    for info in graph.value_info.iter().chain(&graph.output).chain(&graph.input) {
        let ty = info.r#type.as_ref().and_then(|ty| ty.value.as_ref());
        if let Some(type_proto::Value::TensorType(tensor)) = ty
            && let Some(dtype) = tensor.elem_type.and_then(Dtype::from_onnx_number)
        {
            dtypes.insert(info.name().to_owned(), dtype);
        }
    }
    for tensor in &graph.initializer {
        if let Some(dtype) = tensor.data_type.and_then(Dtype::from_onnx_number) {
            dtypes.insert(tensor.name().to_owned(), dtype);
        }
    }
    for mut node in std::mem::take(&mut graph.node) {
        for inner in nested::graphs_mut(&mut node) {
            respell_graph(inner, version, read, &dtypes, added);
        }
        leave_out(&mut node, version, read);
        let infinity = match node.op_type() {
            "ReduceMax" => Some(("Greater", f64::NEG_INFINITY)),
            "ReduceMin" => Some(("Less", f64::INFINITY)),
            _ => None,
        };
        let bytes = infinity.and_then(|(_, infinity)| {
            let dtype = dtypes.get(node.input.first()?)?;
            let bytes = match dtype {
                Dtype::F16 => f16::from_f64(infinity).to_le_bytes().to_vec(),
                Dtype::F32 => (infinity as f32).to_le_bytes().to_vec(),
                Dtype::F64 => infinity.to_le_bytes().to_vec(),
                _ => return None,
            };
            Some((*dtype, bytes))
        });
        match (infinity, bytes) {
            (Some((compare, _)), Some((dtype, bytes))) if node.output.len() == 1 => {
                *added += 1;
                let bound = format!("{OURS}{added}/infinity");
                graph.initializer.push(TensorProto {
                    data_type: Some(dtype.onnx_number()),
                    name: bound.clone().into(),
                    raw_data: Some(bytes.into()),
                    ..TensorProto::default()
                });
                graph.node.extend(comparison_nodes(node, compare, &bound, *added));
            }
            _ => graph.node.push(node),
        }
    }
}

/// Removes trailing outputs that are not read.
fn leave_out(node: &mut NodeProto, version: i64, read: &HashSet<String>) {
    if !node.is_onnx() {
        return;
    }
    let Found::Schema(schema) = Table::get().at("", node.op_type(), version) else { return };
    while let Some(last) = node.output.last() {
        let formal = schema.outputs.get(node.output.len() - 1);
        let is_optional = formal.is_some_and(|formal| formal.arity == Arity::Optional);
        if !is_optional || read.contains(last) {
            return;
        }
        node.output.pop();
    }
}

/// Replaces a maximum or minimum reduction with one that handles infinities.
fn comparison_nodes(node: NodeProto, compare: &str, bound: &str, number: usize) -> Vec<NodeProto> {
    let value = |what: &str| format!("{OURS}{number}/{what}");
    let made = |op: &str, inputs: &[&str], output: String| NodeProto {
        op_type: op.into(),
        name: format!("{}{output}", node.name()).into(),
        input: inputs.iter().map(|&input| input.to_owned()).collect(),
        output: vec![output],
        ..NodeProto::default()
    };
    let cast = |input: &str, output: String, to: Dtype| NodeProto {
        attribute: vec![to.into_attribute("to")],
        ..made("Cast", &[input], output)
    };
    let mut found = node.clone();
    found.output = vec![value("found")];
    let mut most = node.clone();
    most.input[0] = value("counted");
    most.output = vec![value("most")];
    most.op_type = "ReduceMax".into();
    most.name = format!("{}{}", node.name(), value("most")).into();
    let mut chosen = made("Where", &[&value("any"), &value("found"), bound], node.output[0].clone());
    chosen.name = format!("{}{}", node.name(), value("chosen")).into();
    vec![
        found,
        made(compare, &[&node.input[0], bound], value("other")),
        cast(&value("other"), value("counted"), Dtype::I32),
        most,
        cast(&value("most"), value("any"), Dtype::Bool),
        chosen,
    ]
}
