//! Gradients: reverse-mode differentiation of an ONNX graph into an ONNX graph.
//!
//! What comes out computes the model's own nodes and then, from the gradient of one output, the gradients of chosen
//! values; it is type-checked and run as any model is. The sweep is the textbook one (Griewank and Walther, *Evaluating
//! Derivatives*, chapter 3): nodes backwards, each rule turning the gradients of a node's outputs into those of its
//! inputs, gradients that meet at one value added.
//!
//! An operand that was broadcast gets the sum over what it was repeated along. Which axes those are is read off the solved
//! types; where types leave it open, that is an error and not a guess.
//!
//! [`OPERATORS`] lists what can be differentiated; another operator on the way is [`GradientError::Operator`], with the node.

use std::collections::{HashMap, HashSet};

use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, ValueInfoProto};

use super::typed::{Solved, Typed};
use tape::Tape;

pub(super) mod tape;

mod rules;

mod convolution;

mod pooling;

mod normalization;

mod shapes;

pub use rules::OPERATORS;

/// The first version of ONNX's operators whose forms the rules write.
const FIRST_VERSION: i64 = 13;

/// Why a graph cannot be differentiated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum GradientError {
    /// An operator without a rule.
    #[error("{node}: operator `{op}` cannot be differentiated")]
    Operator {
        /// The node.
        node: String,
        /// The operator.
        op: String,
    },
    /// A use of an operator for which its rule does not hold.
    #[error("{node}: `{op}` cannot be differentiated here: {reason}")]
    Form {
        /// The node.
        node: String,
        /// The operator.
        op: String,
        /// What is in the way.
        reason: &'static str,
    },
    /// Operators that are too old for the rules.
    #[error("operators of version {found} cannot be differentiated; the first that can is 13")]
    Version {
        /// The version that the model imports.
        found: i64,
    },
}

/// The input of a gradient graph that is the gradient of the model's output.
pub(super) const SEED: &str = "output.gradient";

/// The model that computes the gradients of `wrt`, in that order, from the model's inputs and the gradient of its
/// first output.
pub(super) fn differentiate(solved: &Solved, wrt: &[String]) -> Result<ModelProto, GradientError> {
    let empty = GraphProto::default();
    let graph = solved.model.graph.as_ref().unwrap_or(&empty);
    let version = solved.model.opset_import.iter().find(|it| ["", "ai.onnx"].contains(&it.domain()));
    let version = version.map_or(1, typeloom_onnx::messages::OperatorSetIdProto::version);
    if version < FIRST_VERSION {
        return Err(GradientError::Version { found: version });
    }
    let mut sweep = Sweep {
        tape: Tape::of(graph, version),
        types: &solved.types,
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
        // A value may be an output twice, or an input at the same time; a name of its own is always right.
        let gradient = sweep.tape.op("Identity", &[&gradient]);
        outputs.push(ValueInfoProto { name: Some(gradient), ..ValueInfoProto::default() });
    }
    let mut made = graph.clone();
    made.value_info.clear();
    let seed_type = output.and_then(|output| output.r#type.clone());
    made.input.push(ValueInfoProto { name: Some(seed), r#type: seed_type, ..ValueInfoProto::default() });
    made.output = outputs;
    let Tape { nodes, initializers, .. } = sweep.tape;
    made.node.extend(nodes);
    made.initializer.extend(initializers);
    Ok(ModelProto { graph: Some(made), ..solved.model.clone() })
}

/// The values that depend on one of `wrt`, those included.
fn needed(graph: &GraphProto, wrt: &[String]) -> HashSet<String> {
    let mut needed: HashSet<String> = wrt.iter().cloned().collect();
    for node in &graph.node {
        if node.input.iter().any(|input| needed.contains(input)) {
            needed.extend(node.output.iter().filter(|output| !output.is_empty()).cloned());
        }
    }
    needed
}

/// A sweep over a graph, backwards.
struct Sweep<'a> {
    tape: Tape,
    types: &'a HashMap<String, Typed>,
    /// Lists of whole numbers that the graph holds.
    constants: HashMap<String, Vec<i64>>,
    /// The gradient of a value, so far.
    gradients: HashMap<String, String>,
    needed: HashSet<String>,
}

/// A node whose gradient is being written, in the words of errors.
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
        let op = match self.node.domain() {
            "" | "ai.onnx" => self.node.op_type().to_owned(),
            domain => format!("{domain}.{}", self.node.op_type()),
        };
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

    /// Whether the gradient of an input of a node is asked for.
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
            [..] => return Err(site.form("its outputs beside the first are used")),
        }
        if !["", "ai.onnx"].contains(&node.domain()) {
            return Err(site.operator());
        }
        let gradient = self.gradients[&node.output[0]].clone();
        for (at, gradient) in self.rule(&site, &gradient)? {
            self.add(&node.input[at].clone(), gradient);
        }
        Ok(())
    }
}
