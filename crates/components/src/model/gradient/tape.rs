//! Builder of graphs: nodes and constants with unique names.

use std::collections::HashSet;

use typeloom_onnx::messages::{AttributeProto, GraphProto, NodeProto, TensorProto};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// Nodes and constants written so far.
pub(in crate::model) struct Tape {
    pub(super) nodes: Vec<NodeProto>,
    pub(super) initializers: Vec<TensorProto>,
    /// Version of the ONNX operator set.
    pub(super) version: i64,
    used: HashSet<String>,
    count: usize,
}

impl Tape {
    /// Creates an empty tape that does not reuse the names of a graph.
    pub(super) fn of(graph: &GraphProto, version: i64) -> Self {
        let mut used: HashSet<String> = graph.input.iter().map(|info| info.name().to_owned()).collect();
        used.extend(graph.initializer.iter().map(|tensor| tensor.name().to_owned()));
        used.extend(graph.node.iter().flat_map(|node| node.output.iter().cloned()));
        Self { nodes: Vec::new(), initializers: Vec::new(), version, used, count: 0 }
    }

    /// Returns an unused name, derived from `wanted`.
    pub(super) fn reserve(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while !self.used.insert(name.clone()) {
            self.count += 1;
            name = format!("{wanted}.{}", self.count);
        }
        name
    }

    /// Adds an operator and returns the name of its result.
    pub(super) fn op(&mut self, op: &str, inputs: &[&str]) -> String {
        self.op_with(op, inputs, Vec::new())
    }

    /// Adds an operator with attributes and returns the name of its result.
    pub(super) fn op_with(&mut self, op: &str, inputs: &[&str], attribute: Vec<AttributeProto>) -> String {
        let [output] = self.ops_with(op, inputs, attribute);
        output
    }

    /// Adds an operator with `N` outputs and returns their names.
    pub(super) fn ops_with<const N: usize>(
        &mut self,
        op: &str,
        inputs: &[&str],
        attribute: Vec<AttributeProto>,
    ) -> [String; N] {
        let outputs = [(); N].map(|()| {
            self.count += 1;
            self.reserve(&format!("gradient.{}", self.count))
        });
        self.nodes.push(NodeProto {
            op_type: op.into(),
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output: outputs.to_vec(),
            attribute,
            ..NodeProto::default()
        });
        outputs
    }

    /// Adds a constant.
    pub(super) fn constant(&mut self, tensor: &AnyTensor) -> String {
        self.count += 1;
        let name = self.reserve(&format!("gradient.{}", self.count));
        self.initializers.push(TensorProto { name: name.clone().into(), ..TensorProto::from(tensor) });
        name
    }

    /// Adds a constant list of integers.
    pub(super) fn list(&mut self, values: &[i64]) -> String {
        self.constant(&AnyTensor::from(values))
    }

    /// Adds a float constant. For other element types it is a 32-bit NaN, which the type check of the graph
    /// rejects.
    pub(super) fn number(&mut self, dtype: Dtype, value: f64) -> String {
        let tensor = crate::dense::tensor_of(dtype, &[], &[value]);
        self.constant(&tensor.unwrap_or_else(|_| AnyTensor::from_scalar(f32::NAN)))
    }
}
