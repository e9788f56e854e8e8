//! `lower`: operators that a slot's backend does not compute itself become the primitives that it does.
//!
//! Every backend computes the thirty primitives, and declares what it computes besides. What is neither is written in
//! terms of primitives here, on the same slot, with constants of the element type that was solved; what has no such
//! form stays, and `resolve_dispatch` says so.

use std::collections::HashSet;

use bytes::Bytes;
use typeloom_onnx::messages::{
    AttributeProto, NodeProto, StringStringEntryProto, TensorProto, TypeProto, ValueInfoProto,
};
use typeloom_types::dtype::Dtype;
use typeloom_types::op::primitives::TENSOR_PRIMITIVES;

use crate::bindings::Binding;
use crate::error::BuildError;
use crate::graph::attributes::IntoAttribute;
use crate::graph::recorder::value_info;
use crate::ir::{self, Map};
use crate::names;
use crate::pass::Pass;
use crate::unit::{Stamp, Unit};

/// The pass.
pub struct Lower;

impl Pass for Lower {
    fn name(&self) -> &str {
        "lower"
    }

    fn run(&self, unit: &mut Unit) -> Result<(), BuildError> {
        let Some(solved) = unit.solved.take() else { return Ok(()) };
        let bindings = unit.bindings.clone();
        let graph = unit.model.graph.get_or_insert_default();
        let needed = |node: &NodeProto| needs_lowering(node, &bindings);
        let mut any = false;
        // Most programs have many nodes of few operators.
        let mut seen: Map<String, Map<String, bool>> = Map::default();
        ir::each_node(graph, |node| {
            let Some(slot) = ir::metadata(node, names::SLOT_ID) else { return };
            if !matches!(node.domain(), "" | "ai.onnx") {
                return;
            }
            if seen.get(slot).is_none_or(|ops| !ops.contains_key(node.op_type())) {
                let needs = needed(node);
                seen.entry(slot.to_owned()).or_default().insert(node.op_type().to_owned(), needs);
                any |= needs;
            }
        });
        if any {
            let mut taken = ir::value_names(graph);
            let mut lowered: Vec<(String, usize)> = Vec::new();
            let mut at = 0;
            ir::each_graph_mut(graph, |graph, _| {
                let mut nodes = Vec::with_capacity(graph.node.len());
                for node in std::mem::take(&mut graph.node) {
                    let input = node.input.first().map_or("", String::as_str);
                    // A value of a graph around this one is found there.
                    let mut graphs = solved.graphs.get(at).into_iter().chain(&solved.graphs);
                    let found = graphs.find_map(|stamps| stamps.get(input));
                    let form = match found {
                        Some(stamp) if needed(&node) => Form::new(&node, stamp, &mut taken),
                        Some(_) | None => None,
                    };
                    let Some(mut form) = form else {
                        nodes.push(node);
                        continue;
                    };
                    if form.lower(&node) {
                        let slot = ir::metadata(&node, names::SLOT_ID).unwrap_or_default().to_owned();
                        match lowered.iter_mut().find(|(known, _)| *known == slot) {
                            Some((_, count)) => *count += 1,
                            None => lowered.push((slot, 1)),
                        }
                        nodes.extend(form.nodes);
                        graph.value_info.extend(form.infos);
                    } else {
                        nodes.push(node);
                    }
                }
                graph.node = nodes;
                at += 1;
            });
            unit.report.lowered = lowered;
        }
        unit.solved = Some(solved);
        Ok(())
    }
}

/// Whether a node runs on a backend that does not compute it.
fn needs_lowering(node: &NodeProto, bindings: &crate::bindings::Bindings) -> bool {
    if !matches!(node.domain(), "" | "ai.onnx") {
        return false;
    }
    let bound = ir::metadata(node, names::SLOT_ID).and_then(|slot| bindings.get(slot));
    bound.is_some_and(|bound| !computes(bound, node))
}

/// Whether a backend computes a node: a primitive, or one of its own operators.
pub(crate) fn computes(bound: &Binding, node: &NodeProto) -> bool {
    let domain = |domain: &str| if domain == "ai.onnx" { String::new() } else { domain.to_owned() };
    let of_onnx = domain(node.domain()).is_empty();
    let own = bound
        .opsets
        .iter()
        .any(|opset| domain(opset.domain) == domain(node.domain()) && opset.op(node.op_type()).is_some());
    own || (of_onnx && TENSOR_PRIMITIVES.op(node.op_type()).is_some())
}

/// The primitives that one node becomes.
struct Form<'t> {
    taken: &'t mut HashSet<String>,
    stem: String,
    dtype: Dtype,
    /// The type of a single element, and that of the node's result.
    scalar: TypeProto,
    full: TypeProto,
    truth: TypeProto,
    metadata: Vec<StringStringEntryProto>,
    nodes: Vec<NodeProto>,
    infos: Vec<ValueInfoProto>,
}

impl<'t> Form<'t> {
    /// The form of a node whose first input has this stamp; nothing for elements that constants cannot be made of.
    fn new(node: &NodeProto, stamp: &Stamp, taken: &'t mut HashSet<String>) -> Option<Self> {
        use typeloom_onnx::messages::{TensorShapeProto, type_proto};
        let dtype = stamp.node.and_then(|id| id.strip_prefix("tensor.")).and_then(Dtype::from_name)?;
        if !matches!(dtype, Dtype::F32 | Dtype::F64) {
            return None;
        }
        let typed = |dtype: Dtype, shape: Option<TensorShapeProto>| TypeProto {
            denotation: Some(dtype.type_node().denotation.into()),
            value: Some(type_proto::Value::TensorType(type_proto::Tensor {
                elem_type: Some(dtype.onnx_number()),
                shape,
                ..Default::default()
            })),
            ..TypeProto::default()
        };
        let shape = match &stamp.ty.value {
            Some(type_proto::Value::TensorType(tensor)) => tensor.shape.clone(),
            Some(_) | None => None,
        };
        Some(Self {
            taken,
            stem: node.output.first()?.clone(),
            dtype,
            scalar: typed(dtype, Some(TensorShapeProto::default())),
            truth: typed(Dtype::Bool, shape),
            full: stamp.ty.clone(),
            metadata: node.metadata_props.clone(),
            nodes: Vec::new(),
            infos: Vec::new(),
        })
    }

    fn record(&mut self, op: &str, inputs: &[&str], output: Option<&str>, ty: &TypeProto) -> String {
        let name = match output {
            Some(output) => output.to_owned(),
            None => {
                let name = ir::fresh(self.taken, &format!("{}.{}", self.stem, op.to_lowercase()));
                let mut info = value_info(&name);
                info.r#type = Some(ty.clone());
                self.infos.push(info);
                name
            }
        };
        self.nodes.push(NodeProto {
            op_type: Some(op.to_owned()),
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: vec![name.clone()],
            metadata_props: self.metadata.clone(),
            ..NodeProto::default()
        });
        name
    }

    fn step(&mut self, op: &str, inputs: &[&str]) -> String {
        let ty = self.full.clone();
        self.record(op, inputs, None, &ty)
    }

    /// A constant of the node's element type.
    fn number(&mut self, value: f64) -> String {
        #[expect(clippy::cast_possible_truncation, reason = "the element type asks for 32 bits")]
        let bytes = match self.dtype {
            Dtype::F32 => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        };
        let tensor = TensorProto {
            data_type: Some(self.dtype.onnx_number()),
            raw_data: Some(Bytes::from(bytes)),
            ..TensorProto::default()
        };
        let ty = self.scalar.clone();
        let name = self.record("Constant", &[], None, &ty);
        if let Some(node) = self.nodes.last_mut() {
            node.attribute = vec![tensor.into_attribute("value")];
        }
        name
    }

    fn finish(&mut self, op: &str, inputs: &[&str], output: &str) {
        let ty = self.full.clone();
        self.record(op, inputs, Some(output), &ty);
    }

    /// Writes the node in primitives; false where it has no such form.
    fn lower(&mut self, node: &NodeProto) -> bool {
        let (Some(x), Some(y)) = (node.input.first(), node.output.first()) else { return false };
        let (x, y) = (x.as_str(), y.as_str());
        let float = |name: &str, default: f32| {
            let found = node.attribute.iter().find(|attribute| attribute.name() == name);
            f64::from(found.map_or(default, AttributeProto::f))
        };
        match node.op_type() {
            "Relu" => {
                let zero = self.number(0.0);
                let truth = self.truth.clone();
                let positive = self.record("Greater", &[x, &zero], None, &truth);
                self.finish("Where", &[&positive, x, &zero], y);
            }
            "LeakyRelu" => {
                let (zero, alpha) = (self.number(0.0), self.number(float("alpha", 0.01)));
                let truth = self.truth.clone();
                let negative = self.record("Less", &[x, &zero], None, &truth);
                let scaled = self.step("Mul", &[x, &alpha]);
                self.finish("Where", &[&negative, &scaled, x], y);
            }
            "Sigmoid" => {
                let one = self.number(1.0);
                let negative = self.step("Neg", &[x]);
                let exponential = self.step("Exp", &[&negative]);
                let sum = self.step("Add", &[&one, &exponential]);
                self.finish("Div", &[&one, &sum], y);
            }
            "Tanh" => {
                // 1 - 2 / (exp(2 x) + 1), which neither overflows to a quotient of infinities nor to NaN.
                let (one, two) = (self.number(1.0), self.number(2.0));
                let doubled = self.step("Mul", &[x, &two]);
                let exponential = self.step("Exp", &[&doubled]);
                let sum = self.step("Add", &[&exponential, &one]);
                let quotient = self.step("Div", &[&two, &sum]);
                self.finish("Sub", &[&one, &quotient], y);
            }
            "Softplus" => {
                let one = self.number(1.0);
                let exponential = self.step("Exp", &[x]);
                let sum = self.step("Add", &[&one, &exponential]);
                self.finish("Log", &[&sum], y);
            }
            "Reciprocal" => {
                let one = self.number(1.0);
                self.finish("Div", &[&one, x], y);
            }
            // More terms have no one type to be stamped with on the way.
            "Sum" if node.input.len() == 2 => self.finish("Add", &[x, &node.input[1]], y),
            _ => return false,
        }
        true
    }
}
