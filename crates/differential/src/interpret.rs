//! Interpreter of programs on the kernels of the embedded backend. It reports every value, including those of
//! nested graphs.
//!
//! Control flow is implemented independently of the runtime, so that the two can be compared.
//!
//! **Invariant:** an execution is bounded: a loop by [`MAX_ITERATIONS`], a value by [`MAX_ELEMENTS`].

use std::collections::HashMap;

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::program::{Function, Graph, Node, OPSET, Program};

/// Maximum number of iterations of a loop.
pub const MAX_ITERATIONS: i64 = 12;
/// Maximum number of elements of a value.
pub const MAX_ELEMENTS: usize = 20_000;

/// Error of executing a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An operator rejects its inputs. The message names it.
    Rejected(String),
    /// A bound of the interpreter is exceeded, or it does not implement a case. No conclusion about the
    /// program is possible.
    Unsupported(String),
}

/// Callback for every value that a node computes, with its name.
pub type Watch<'w> = dyn FnMut(&str, &Datum) + 'w;
/// Lookup of values in the enclosing graphs.
pub type Outer<'o> = dyn Fn(&str) -> Option<Datum> + 'o;

/// Executes nodes and graphs of one program.
#[derive(Clone, Copy)]
pub struct Machine<'p> {
    functions: &'p [Function],
}

impl Program {
    /// Runs the main graph on inputs in order and returns its outputs.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn run(&self, inputs: Vec<Datum>, watch: &mut Watch<'_>) -> Result<Vec<Datum>, Failure> {
        Machine::new(&self.functions).graph(&self.graph, inputs, &|_| None, watch)
    }
}

fn unsupported<T>(what: &str) -> Result<T, Failure> {
    Err(Failure::Unsupported(what.to_owned()))
}

impl<'p> Machine<'p> {
    /// Returns a machine that can call these functions.
    #[must_use]
    pub fn new(functions: &'p [Function]) -> Self {
        Self { functions }
    }

    /// Runs a graph and returns its outputs.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn graph(
        &self,
        graph: &Graph,
        inputs: Vec<Datum>,
        outer: &Outer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Datum>, Failure> {
        let mut values: HashMap<&str, Datum> = HashMap::new();
        for (input, value) in graph.inputs.iter().zip(inputs) {
            watch(&input.name, &value);
            values.insert(&input.name, value);
        }
        for (name, tensor) in &graph.constants {
            values.insert(name, Datum::Tensor(tensor.clone()));
        }
        for node in &graph.nodes {
            let results = {
                let known = |name: &str| values.get(name).cloned().or_else(|| outer(name));
                self.node(node, &known, watch)?
            };
            for (name, value) in node.outputs.iter().zip(results) {
                watch(name, &value);
                values.insert(name, value);
            }
        }
        let output = |name: &str| values.get(name).cloned().or_else(|| outer(name));
        let outputs = graph.outputs.iter().map(|port| output(&port.name)).collect::<Option<_>>();
        outputs.map_or_else(|| unsupported("an output without a value"), Ok)
    }

    /// Runs a node and returns its outputs.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn node(&self, node: &Node, known: &Outer<'_>, watch: &mut Watch<'_>) -> Result<Vec<Datum>, Failure> {
        let input = |name: &String| if name.is_empty() { Some(None) } else { known(name).map(Some) };
        let Some(inputs) = node.inputs.iter().map(input).collect::<Option<Vec<Option<Datum>>>>() else {
            return unsupported("an input without a value");
        };
        if !node.domain.is_empty() {
            let Some(function) = self.functions.iter().find(|it| it.name == node.op) else {
                return unsupported("a function that is not there");
            };
            let inputs = inputs.into_iter().collect::<Option<_>>();
            return match inputs {
                Some(inputs) => self.graph(&function.graph, inputs, &|_| None, watch),
                None => unsupported("a call with an omitted argument"),
            };
        }
        match node.op.as_str() {
            "If" => {
                let graph = usize::from(!truth(inputs.first())?);
                self.graph(&node.graphs[graph].1, Vec::new(), known, watch)
            }
            "Loop" => self.repeat(node, inputs, known, watch),
            "Scan" => self.scan(node, inputs, known, watch),
            _ => kernel(node, inputs),
        }
    }

    fn repeat(
        &self,
        node: &Node,
        inputs: Vec<Option<Datum>>,
        known: &Outer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Datum>, Failure> {
        let body = &node.graphs[0].1;
        let mut inputs = inputs.into_iter();
        let trips = inputs.next().flatten().map(|value| number(&value)).transpose()?.unwrap_or(i64::MAX);
        let mut goes_on = inputs.next().flatten().map_or(Ok(true), |value| truth(Some(&Some(value))))?;
        let mut state: Vec<Datum> = inputs.flatten().collect();
        let mut scans: Vec<Vec<Datum>> = vec![Vec::new(); body.outputs.len() - 1 - state.len()];
        let mut at = 0;
        while goes_on && at < trips {
            if at >= MAX_ITERATIONS {
                return unsupported("a long loop");
            }
            let mut given = vec![
                Datum::Tensor(AnyTensor::from_scalar(at)),
                Datum::Tensor(AnyTensor::from_scalar(goes_on)),
            ];
            given.append(&mut state);
            let count = given.len() - 2;
            let mut results = self.graph(body, given, known, watch)?.into_iter();
            goes_on = truth(Some(&results.next()))?;
            state = results.by_ref().take(count).collect();
            scans.iter_mut().zip(results).for_each(|(scan, value)| scan.push(value));
            at += 1;
        }
        with_stacked(state, scans)
    }

    fn scan(
        &self,
        node: &Node,
        inputs: Vec<Option<Datum>>,
        known: &Outer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Datum>, Failure> {
        let body = &node.graphs[0].1;
        let count = node.attributes.iter().find_map(|(name, value)| match value {
            Attribute::Int(count) if *name == "num_scan_inputs" => usize::try_from(*count).ok(),
            _ => None,
        });
        let mut state: Vec<Datum> = inputs.into_iter().flatten().collect();
        let scanned = state.split_off(state.len().saturating_sub(count.unwrap_or(0)));
        let length = |value: &Datum| value.as_tensor().and_then(|it| it.shape().first().copied());
        let Some(trips) = scanned.first().and_then(length) else {
            return unsupported("a scan without inputs");
        };
        if scanned.iter().any(|value| length(value) != Some(trips)) {
            return Err(Failure::Rejected("Scan: inputs of different lengths".to_owned()));
        }
        let mut scans: Vec<Vec<Datum>> = vec![Vec::new(); body.outputs.len() - state.len()];
        for at in 0..trips {
            let states = state.len();
            let index = Datum::Tensor(AnyTensor::from_scalar(i64::try_from(at).unwrap_or(0)));
            let mut given = std::mem::take(&mut state);
            for value in &scanned {
                given.extend(operator("Gather", vec![value.clone(), index.clone()], &[])?);
            }
            let mut results = self.graph(body, given, known, watch)?.into_iter();
            state = results.by_ref().take(states).collect();
            scans.iter_mut().zip(results).for_each(|(scan, value)| scan.push(value));
        }
        with_stacked(state, scans)
    }
}

/// The final state, followed by the stacked values of all iterations.
fn with_stacked(mut state: Vec<Datum>, scans: Vec<Vec<Datum>>) -> Result<Vec<Datum>, Failure> {
    for scan in scans {
        state.push(stacked(scan)?);
    }
    Ok(state)
}

/// Stacks the values of all iterations along a new first axis.
fn stacked(values: Vec<Datum>) -> Result<Datum, Failure> {
    if values.is_empty() {
        return unsupported("an output of no iterations");
    }
    let axes = Datum::Tensor(
        AnyTensor::from_slice(&[1], &[0_i64]).map_err(|error| Failure::Unsupported(error.to_string()))?,
    );
    let mut parts = Vec::with_capacity(values.len());
    for value in values {
        parts.extend(operator("Unsqueeze", vec![value, axes.clone()], &[])?);
    }
    let mut joined = operator("Concat", parts, &[("axis", 0)])?;
    joined.pop().map_or_else(|| unsupported("a kernel without a result"), Ok)
}

fn truth(value: Option<&Option<Datum>>) -> Result<bool, Failure> {
    let tensor = value.and_then(Option::as_ref).and_then(Datum::as_tensor);
    match tensor.map(|tensor| (tensor.dtype(), tensor.bytes())) {
        Some((Dtype::Bool, [value])) => Ok(*value != 0),
        _ => Err(Failure::Rejected("a condition that is not one bool".to_owned())),
    }
}

fn number(value: &Datum) -> Result<i64, Failure> {
    match value.as_tensor().map(AnyTensor::to_vec::<i64>) {
        Some(Ok(values)) if values.len() == 1 => Ok(values[0]),
        _ => Err(Failure::Rejected("a trip count that is not one int64".to_owned())),
    }
}

/// Calls a kernel with integer attributes.
fn operator(op: &str, inputs: Vec<Datum>, attributes: &[(&str, i64)]) -> Result<Vec<Datum>, Failure> {
    let attributes = attributes
        .iter()
        .fold(Attributes::default(), |all, (name, value)| all.with(name, Attribute::Int(*value)));
    run(op, &attributes, inputs.into_iter().map(Some).collect(), 1)
}

fn kernel(node: &Node, inputs: Vec<Option<Datum>>) -> Result<Vec<Datum>, Failure> {
    if makes_large_values(&node.op) {
        let large = |value: &Datum| {
            let numbers = value.as_tensor().filter(|it| it.dtype() == Dtype::I64 && it.len() <= 8);
            let numbers = numbers.and_then(|it| it.to_vec::<i64>().ok()).unwrap_or_default();
            numbers.iter().any(|it| it.unsigned_abs() > 600)
                || numbers.iter().fold(1_i64, |all, it| all.saturating_mul((*it).max(1))) > 4000
        };
        // The first input of most of these operators is data.
        let skipped = usize::from(!matches!(node.op.as_str(), "ConstantOfShape" | "Range"));
        if inputs.iter().skip(skipped).flatten().any(large) {
            return unsupported("a large value");
        }
    }
    run(&node.op, &node.kernel_attributes(), inputs, node.outputs.len())
}

/// Operators whose results can be much larger than their inputs.
fn makes_large_values(op: &str) -> bool {
    matches!(op, "ConstantOfShape" | "Range" | "Expand" | "Tile" | "Pad" | "Resize" | "OneHot" | "Reshape")
}

fn run(
    op: &str,
    attributes: &Attributes,
    inputs: Vec<Option<Datum>>,
    outputs: usize,
) -> Result<Vec<Datum>, Failure> {
    let Some(operator) = ops::find("", op) else { return unsupported(op) };
    let call = Call { version: OPSET, attributes, inputs, outputs };
    let results = operator.run(call).map_err(|error| Failure::Rejected(error.to_string()))?;
    let large = |value: &Datum| value.as_tensor().is_some_and(|tensor| tensor.len() > MAX_ELEMENTS);
    if results.iter().any(large) { unsupported("a large value") } else { Ok(results) }
}
