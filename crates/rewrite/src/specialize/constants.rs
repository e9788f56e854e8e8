//! Nodes whose outputs are proven.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, NodeProto, TensorProto};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_solver::model::Checked;
use typeloom_solver::program::{Body, StepId, StepKind, ValueId};

use super::SpecializeError;
use super::evaluate::{Evaluate, evaluated};
use crate::coerce::layout::{Layout, NodeId};
use crate::fields::{GRAPH_INITIALIZER, GRAPH_NODE};
use crate::proven::{doubtful, tensor};
use crate::unused::{Changes, Used};

/// The first version of the format in which an initializer need not be an input.
const INITIALIZERS_WITHOUT_INPUTS: i64 = 4;

/// The nodes to replace, and those to keep.
pub(super) struct Constants {
    /// Nodes whose outputs are known, with these.
    nodes: HashMap<NodeId, Vec<(ValueId, TensorProto)>>,
    /// Nodes that can do more than to compute their outputs.
    kept: HashSet<NodeId>,
    /// Nodes that become `Constant` nodes.
    written: HashSet<NodeId>,
    outputs: HashSet<ValueId>,
    has_initializers: bool,
}

impl<'l> Changes<'l> for Constants {
    fn is_replaced(&self, node: NodeId) -> bool {
        self.nodes.contains_key(&node)
    }

    fn is_kept(&self, node: NodeId) -> bool {
        self.kept.contains(&node)
    }
}

impl Constants {
    /// The constants of a checked model; `evaluate` computes those that are not proven.
    pub(super) fn of(
        checked: &mut Checked<'_>,
        main: &Layout<'_>,
        evaluate: Option<&Evaluate<'_>>,
    ) -> Result<Self, SpecializeError> {
        let body = checked.shared_body();
        let doubtful = doubtful(checked);
        let outputs: HashSet<ValueId> =
            main.graphs().flat_map(|(id, _)| body.graph(id).outputs.iter().copied()).collect();
        let has_initializers =
            checked.model().is_some_and(|model| model.ir_version() >= INITIALIZERS_WITHOUT_INPUTS);
        let mut kept = HashSet::new();
        let mut nodes: HashMap<NodeId, Vec<(ValueId, TensorProto)>> = HashMap::new();
        let mut known = HashMap::new();
        let (from, to) = body.graph(body.root()).steps;
        for step in (from..to).map(StepId::new) {
            let own = body.step(step);
            let node = NodeId { graph: own.graph, position: own.position as usize };
            if matches!(own.kind, StepKind::Enter(_)) {
                continue;
            }
            let made: Vec<ValueId> = body.outputs(step).iter().flatten().copied().collect();
            let is_known = checked.schema_of(&body, step).is_some() || checked.is_call(&body, step);
            if made.is_empty() || !is_known {
                kept.insert(node);
                continue;
            }
            let is_constant = body.op_name(step) == "Constant" && checked.domain_of(&body, step).is_empty();
            let mut tensors = Vec::new();
            for value in made.iter().filter(|value| !doubtful.contains(value)) {
                tensors.extend(tensor(checked, *value, None).map(|tensor| (*value, tensor)));
            }
            known.extend(tensors.iter().cloned());
            if own.kind == StepKind::Node && !is_constant && tensors.len() == made.len() {
                nodes.insert(node, tensors);
            }
        }
        if let Some(evaluate) = evaluate {
            for (node, value, tensor) in evaluated(checked, &known, &doubtful, evaluate)? {
                nodes.entry(node).or_default().push((value, tensor));
            }
        }
        let is_written = |values: &Vec<(ValueId, _)>| {
            values.iter().any(|(value, _)| outputs.contains(value)) || !has_initializers
        };
        let written = nodes.iter().filter(|(_, values)| is_written(values)).map(|(node, _)| *node).collect();
        Ok(Self { nodes, kept, written, outputs, has_initializers })
    }

    /// Whether the record of a node is replaced by `Constant` nodes.
    pub(super) fn is_written(&self, node: NodeId) -> bool {
        self.written.contains(&node)
    }

    /// Writes the constants that are used; returns their number.
    pub(super) fn write(
        &self,
        body: &Body<'_>,
        main: &Layout<'_>,
        used: &Used<'_>,
        splice: &mut Splice<'_>,
    ) -> Result<usize, SpecializeError> {
        let mut count = 0;
        let mut nodes: Vec<_> = self.nodes.iter().collect();
        nodes.sort_unstable_by_key(|(node, _)| **node);
        for (id, values) in nodes {
            let Some(graph) = main.graph(id.graph).filter(|_| used.graphs.contains(&id.graph)) else {
                continue;
            };
            let message = graph.source.offset();
            let mut records = Records::new();
            for (value, tensor) in values {
                let name = body.value_name(*value);
                if !used.values.contains(&(id.graph, name)) {
                    continue;
                }
                let mut tensor = tensor.clone();
                count += 1;
                if self.has_initializers && !self.outputs.contains(value) {
                    tensor.name = name.into();
                    splice.append(message, Records::new().message(GRAPH_INITIALIZER, &tensor));
                } else {
                    let own = graph.nodes[id.position].name()?;
                    records = records.message(GRAPH_NODE, &constant_node(own, name, tensor));
                }
            }
            if self.is_written(*id) {
                splice.replace(message, &graph.records[id.position], records);
            }
        }
        Ok(count)
    }
}

fn constant_node(node: &str, output: &str, tensor: TensorProto) -> NodeProto {
    let value = AttributeProto {
        name: "value".into(),
        t: Some(tensor.into()),
        r#type: Some(AttributeType::Tensor as i32),
        ..AttributeProto::default()
    };
    NodeProto {
        op_type: "Constant".into(),
        name: node.into(),
        output: vec![output.into()],
        attribute: vec![value],
        ..NodeProto::default()
    }
}
