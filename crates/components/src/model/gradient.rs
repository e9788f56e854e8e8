//! Reverse-mode differentiation of an ONNX graph into an ONNX graph.
//!
//! The result computes the nodes of the model and then, from the gradient of one output, the gradients of
//! chosen values. It is type-checked and executed like any other model. The algorithm is the textbook reverse
//! sweep (Griewank and Walther, *Evaluating Derivatives*, chapter 3): it visits the nodes in reverse order,
//! each rule computes the gradients of a node's inputs from those of its outputs, and the gradients of a
//! value with several uses are added.
//!
//! The gradient of a broadcast operand is summed over the axes along which it was repeated. These axes follow
//! from the solved types; an ambiguous case is an error.
//!
//! [`OPERATORS`] lists the operators that can be differentiated. For any other operator the result is
//! [`GradientError::Operator`] with the name of the node.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::domain::{is_onnx, qualified};
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, ValueInfoProto};
use typeloom_tensor::value_type::ValueType;

use super::typed::Solved;
use tape::Tape;

mod convolution;
mod normalization;
mod pooling;
mod rules;
mod shapes;
pub(super) mod tape;

pub use rules::OPERATORS;

/// First ONNX operator set version whose operator signatures the rules use.
const FIRST_VERSION: i64 = 13;

/// Error of differentiating a graph.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GradientError {
    /// The operator has no rule.
    #[error("{node}: operator `{op}` cannot be differentiated")]
    Operator {
        /// Node, as displayed in messages.
        node: String,
        op: String,
    },
    /// The rule of the operator does not support this use.
    #[error("{node}: `{op}` cannot be differentiated here: {reason}")]
    Form { node: String, op: String, reason: &'static str },
    /// The operator set version is older than the rules support.
    #[error("operators of version {found} cannot be differentiated; the first supported version is 13")]
    Version { found: i64 },
}

/// Input of a gradient graph: the gradient of the model's output.
pub(super) const SEED: &str = "output.gradient";

/// Returns a model that computes the gradients of `wrt`, in that order, from the model's inputs and the
/// gradient of its first output.
pub(super) fn differentiate(solved: &Solved, wrt: &[String]) -> Result<ModelProto, GradientError> {
    let empty = GraphProto::default();
    let graph = solved.model.graph.as_ref().unwrap_or(&empty);
    let version = solved.model.opset_import.iter().find(|it| is_onnx(it.domain()));
    let version = version.map_or(1, typeloom_onnx::messages::OperatorSetIdProto::version);
    if version < FIRST_VERSION {
        return Err(GradientError::Version { found: version });
    }
    let mut sweep = Sweep {
        tape: Tape::of(graph, version),
        solved,
        constants: shapes::constants(graph),
        gradients: HashMap::new(),
        needed: needed(graph, wrt),
    };
    let seed = sweep.tape.reserve(SEED);
    let output = graph.output.first();
    let output_name = output.map(ValueInfoProto::name).unwrap_or_default();
    sweep.add(output_name, seed.clone());
    for (position, node) in graph.node.iter().enumerate().rev() {
        sweep.node(position, node)?;
    }
    let mut outputs = Vec::with_capacity(wrt.len());
    for name in wrt {
        let gradient = match sweep.gradients.get(name) {
            Some(gradient) => gradient.clone(),
            None => sweep.zeros(name),
        };
        // A value may be an output twice, or both an input and an output; `Identity` gives each output a
        // unique name.
        let gradient = sweep.tape.op("Identity", &[&gradient]);
        outputs.push(ValueInfoProto { name: gradient.into(), ..ValueInfoProto::default() });
    }
    let mut made = graph.clone();
    made.value_info.clear();
    let seed_type = solved.type_of(output_name).map(ValueType::to_message);
    made.input.push(ValueInfoProto { name: seed.into(), r#type: seed_type, ..ValueInfoProto::default() });
    made.output = outputs;
    let Tape { nodes, initializers, .. } = sweep.tape;
    made.node.extend(nodes);
    made.initializer.extend(initializers);
    Ok(ModelProto { graph: Some(made), ..solved.model.clone() })
}

/// Returns the values that depend on `wrt`, including `wrt`.
fn needed(graph: &GraphProto, wrt: &[String]) -> HashSet<String> {
    let mut needed: HashSet<String> = wrt.iter().cloned().collect();
    for node in &graph.node {
        if node.input.iter().any(|input| needed.contains(input)) {
            needed.extend(node.output.iter().filter(|output| !output.is_empty()).cloned());
        }
    }
    needed
}

/// State of the reverse sweep over a graph.
struct Sweep<'a> {
    tape: Tape,
    solved: &'a Solved,
    /// Integer lists that are constants of the graph.
    constants: HashMap<String, Vec<i64>>,
    /// Accumulated gradient of each value.
    gradients: HashMap<String, String>,
    needed: HashSet<String>,
}

/// The node being differentiated, with the context for error messages.
struct NodeSite<'a> {
    position: usize,
    node: &'a NodeProto,
}

impl NodeSite<'_> {
    fn describe(&self) -> String {
        match self.node.name() {
            "" => format!("node #{} (`{}`)", self.position, self.node.op_type()),
            name => format!("node `{name}` (#{})", self.position),
        }
    }

    fn form(&self, reason: &'static str) -> GradientError {
        GradientError::Form { node: self.describe(), op: self.node.op_type().to_owned(), reason }
    }

    fn operator(&self) -> GradientError {
        let op = qualified(self.node.domain(), self.node.op_type());
        GradientError::Operator { node: self.describe(), op }
    }
}

impl Sweep<'_> {
    /// Adds to the gradient of a value.
    fn add(&mut self, value: &str, gradient: String) {
        let sum = match self.gradients.get(value) {
            Some(before) => self.tape.op("Add", &[before, &gradient]),
            None => gradient,
        };
        self.gradients.insert(value.to_owned(), sum);
    }

    fn zeros(&mut self, value: &str) -> String {
        let zero = self.zero_like(value);
        let shape = self.tape.op("Shape", &[value]);
        self.tape.op("Expand", &[&zero, &shape])
    }

    /// Whether the gradient of an input of a node is needed.
    fn wants(&self, node: &NodeProto, at: usize) -> bool {
        node.input.get(at).is_some_and(|input| self.needed.contains(input))
    }

    fn node(&mut self, position: usize, node: &NodeProto) -> Result<(), GradientError> {
        if !node.input.iter().any(|input| self.needed.contains(input)) {
            return Ok(());
        }
        let site = NodeSite { position, node };
        let reached: Vec<usize> =
            (0..node.output.len()).filter(|at| self.gradients.contains_key(&node.output[*at])).collect();
        match reached[..] {
            [] => return Ok(()),
            [0] => {}
            [..] => return Err(site.form("its outputs after the first are used")),
        }
        if !node.is_onnx() {
            return Err(site.operator());
        }
        let gradient = self.gradients[&node.output[0]].clone();
        for (at, gradient) in self.rule(&site, &gradient)? {
            self.add(&node.input[at].clone(), gradient);
        }
        Ok(())
    }
}
