//! The law of repairs: a repair of element types changes no value that was right.
//!
//! A node is *right* if the checker accepts it together with the nodes that it depends on, and nothing else.
//! The model of the right nodes is executed before the repair, and the repaired model after it, and the
//! values of the right nodes are compared bit by bit.
//!
//! [`has_fewer`] is independent of the planner of repairs: it searches all conversions in front of all other
//! nodes, with the types of each node from the signature of its operator.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use typeloom_onnx::messages::{ModelProto, ValueInfoProto, read};
use typeloom_onnx::prost::Message as _;
use typeloom_ops::catalogue::Standard;
use typeloom_rewrite::coerce::{Policy, Repair, keeps_values, repair};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::elem::Elem;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::signature::{Formal, FormalType, Schema};
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use crate::broken::{Broken, Node};

/// A broken model and its repair.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The broken model.
    pub bytes: Vec<u8>,
    /// For each node, whether it is right.
    pub right: Vec<bool>,
    /// The repair, if it is complete.
    pub repair: Option<Repair>,
    /// The names of the values of right nodes before and after the repair.
    pub values: Vec<(String, String)>,
    /// The model of the right nodes, with these values as outputs.
    pub before: Vec<u8>,
    /// The repaired model, with these values as outputs.
    pub after: Option<Vec<u8>>,
}

fn options() -> Options {
    Options { mode: Mode::Strict, ..Options::default() }
}

fn is_accepted(bytes: &[u8]) -> bool {
    check(bytes, &Standard, Universe::standard(), &options()).is_ok_and(|checked| checked.is_ok())
}

fn decoded(bytes: &[u8]) -> Result<ModelProto, String> {
    read(bytes.to_vec().into()).map_err(|error| error.to_string())
}

/// Repairs a broken model; `None` if it has no errors.
///
/// # Errors
/// A violation of the law, or an error of the generator.
pub fn judge(broken: &Broken, policy: Policy) -> Result<Option<Judged>, String> {
    let text = broken.text();
    let bytes = typeloom_onnx::text::model_bytes(&text).map_err(|error| format!("no model: {error}"))?;
    if is_accepted(&bytes) {
        return Ok(None);
    }
    let model = decoded(&bytes)?;
    let right = right_nodes(&model);
    let repair = repair(&bytes, &Standard, Universe::standard(), &Options::default(), policy)
        .map_err(|error| format!("no repair: {error}"))?;
    let own = names(&model, &right, &BTreeSet::new());
    let before = part(&model, &right, &own).encode_to_vec();
    let mut judged = Judged { bytes, right, repair: None, values: Vec::new(), before, after: None };
    if !repair.is_ok {
        return Ok(Some(judged));
    }
    let file = repair.file.clone().ok_or("the repair of a model with errors changes nothing")?;
    if !is_accepted(&file) {
        return Err("the repaired model has errors".to_owned());
    }
    let mut repaired = decoded(&file)?;
    let new: BTreeSet<&str> = repair.casts.iter().map(|cast| cast.name.as_str()).collect();
    let after = names(&repaired, &judged.right, &new);
    if after.len() != own.len() {
        return Err("a node is missing".to_owned());
    }
    add_outputs(&mut repaired, &after);
    judged.values = own.into_iter().zip(after).collect();
    judged.after = Some(repaired.encode_to_vec());
    judged.repair = Some(repair);
    Ok(Some(judged))
}

/// The nodes that the checker accepts with the nodes that they depend on.
fn right_nodes(model: &ModelProto) -> Vec<bool> {
    let nodes = model.graph.as_ref().map_or(0, |graph| graph.node.len());
    let mut right = vec![false; nodes];
    for at in 0..nodes {
        right[at] = true;
        right[at] =
            is_accepted(&part(model, &right, &names(model, &right, &BTreeSet::new())).encode_to_vec());
    }
    right
}

/// The outputs of the right nodes, without new nodes.
fn names(model: &ModelProto, right: &[bool], new: &BTreeSet<&str>) -> Vec<String> {
    let nodes = model.graph.iter().flat_map(|graph| &graph.node);
    let old = nodes.filter(|node| !new.contains(node.name()));
    old.zip(right).filter(|(_, right)| **right).flat_map(|(node, _)| node.output.clone()).collect()
}

/// The model of the right nodes, with some values as outputs.
fn part(model: &ModelProto, right: &[bool], outputs: &[String]) -> ModelProto {
    let mut part = model.clone();
    if let Some(graph) = part.graph.as_mut() {
        let mut right = right.iter();
        graph.node.retain(|_| right.next().copied().unwrap_or(false));
        graph.output.clear();
        graph.value_info.clear();
    }
    add_outputs(&mut part, outputs);
    part
}

fn add_outputs(model: &mut ModelProto, names: &[String]) {
    let Some(graph) = model.graph.as_mut() else { return };
    for name in names {
        if !graph.output.iter().any(|output| output.name() == name) {
            graph.output.push(ValueInfoProto { name: name.clone().into(), ..ValueInfoProto::default() });
        }
    }
}

impl Judged {
    /// Executes both models and compares the values of right nodes; `None` if the runtime does not run the
    /// first model.
    ///
    /// # Errors
    /// A violation of the law.
    pub fn compare(&self, broken: &Broken) -> Result<Option<usize>, String> {
        let Some(after) = &self.after else { return Ok(None) };
        let Ok(expected) = run(&self.before, broken) else { return Ok(None) };
        let found =
            run(after, broken).map_err(|error| format!("the repaired model does not run: {error}"))?;
        for (before, after) in &self.values {
            let (Some(expected), Some(found)) = (expected.get(before), found.get(after)) else {
                return Err(format!("`{before}` has no value"));
            };
            if !is_same(expected, found) {
                return Err(format!("`{before}` was {} and is {}", expected.describe(), found.describe()));
            }
        }
        Ok(Some(self.values.len()))
    }
}

fn run(bytes: &[u8], broken: &Broken) -> Result<HashMap<String, Datum>, String> {
    let mut checked =
        check(bytes, &Standard, Universe::standard(), &options()).map_err(|error| error.to_string())?;
    let session = Session::of_checked(&mut checked, &|_| Err("no other files are read".to_owned()))
        .map_err(|error| error.to_string())?;
    let inputs: Vec<_> =
        broken.inputs.iter().map(|(port, value)| (port.name.clone(), value.clone())).collect();
    let outcome = session.run(inputs, Verify::EveryValue).map_err(|error| error.to_string())?;
    Ok(outcome.outputs.into_iter().collect())
}

/// Whether two values have the same bits.
fn is_same(left: &Datum, right: &Datum) -> bool {
    let bits = |tensor: &AnyTensor| (tensor.dtype(), tensor.shape().to_vec(), tensor.bytes().to_vec());
    left.as_tensor().map(bits) == right.as_tensor().map(bits)
}

/// Whether a model without nested graphs has a repair with fewer than `count` conversions that keeps its
/// right nodes.
///
/// Comparisons and texts are not converted with loss, as in a safe repair. Stored tensors are judged by their
/// element types.
#[must_use]
pub fn has_fewer(broken: &Broken, right: &[bool], count: usize) -> bool {
    let mut search = Search { broken, right, limit: count, elems: BTreeMap::new(), casts: BTreeSet::new() };
    let inputs = broken.inputs.iter().map(|(port, _)| port);
    for port in inputs.chain(broken.constants.iter().map(|(port, _)| port)) {
        search.elems.insert(port.name.clone(), port.elem);
    }
    search.from(0)
}

/// The element types into which values are converted. Every element type of [`Broken`] is one of them.
const TARGETS: [Elem; 8] = [
    Elem::FLOAT,
    Elem::FLOAT16,
    Elem::DOUBLE,
    Elem::INT32,
    Elem::INT64,
    Elem::UINT8,
    Elem::BOOL,
    Elem::STRING,
];

struct Search<'b> {
    broken: &'b Broken,
    right: &'b [bool],
    /// The search is for repairs with fewer conversions.
    limit: usize,
    /// The element types of the values so far.
    elems: BTreeMap<String, Elem>,
    casts: BTreeSet<(String, Elem)>,
}

impl Search<'_> {
    /// Whether the nodes from a position on can be typed.
    fn from(&mut self, node: usize) -> bool {
        if self.casts.len() >= self.limit {
            return false;
        }
        let Some(own) = self.broken.nodes.get(node) else { return self.outputs() };
        self.inputs(node, &mut Vec::with_capacity(own.inputs.len()))
    }

    /// Chooses the element types of the further inputs of a node.
    fn inputs(&mut self, at: usize, chosen: &mut Vec<Elem>) -> bool {
        let node = &self.broken.nodes[at];
        let Some(name) = node.inputs.get(chosen.len()) else {
            let Some(result) = result(node, chosen, self.broken.opset) else { return false };
            let old = self.elems.insert(node.output.clone(), result);
            let found = self.from(at + 1);
            match old {
                Some(old) => self.elems.insert(node.output.clone(), old),
                None => self.elems.remove(&node.output),
            };
            return found;
        };
        let from = self.elems[name];
        let is_compared = matches!(node.op, "Equal" | "Less" | "Greater" | "LessOrEqual" | "GreaterOrEqual");
        let targets = TARGETS.into_iter().filter(|to| {
            *to != from
                && from != Elem::STRING
                && !self.right[at]
                // The elements of a constant may all be kept.
                && (!is_compared || keeps_values(from, *to))
        });
        for to in [from].into_iter().chain(targets) {
            let cast = (name.clone(), to);
            let is_new = to != from && self.casts.insert(cast.clone());
            chosen.push(to);
            let found = self.casts.len() < self.limit && self.inputs(at, chosen);
            chosen.pop();
            if is_new {
                self.casts.remove(&cast);
            }
            if found {
                return true;
            }
        }
        false
    }

    /// Whether the declared outputs can be reached.
    fn outputs(&self) -> bool {
        let mut casts = self.casts.clone();
        let declared = self.broken.outputs.iter().filter_map(|(name, elem)| Some((name, (*elem)?)));
        for (name, to) in declared {
            let from = self.elems[name];
            if from == Elem::STRING && to != from {
                return false;
            }
            if from != to {
                casts.insert((name.clone(), to));
            }
        }
        casts.len() < self.limit
    }
}

/// The element type of the output of a node, from the signature of its operator; `None` if it does not take
/// the inputs.
fn result(node: &Node, inputs: &[Elem], opset: i64) -> Option<Elem> {
    let Lookup::Found(operator) = Standard.lookup("", node.op, opset) else { return None };
    let schema: &Schema = operator.schema;
    let mut bound: BTreeMap<u8, Elem> = BTreeMap::new();
    for (at, elem) in inputs.iter().enumerate() {
        let accepted = match schema.input(at)?.ty {
            FormalType::Tensor(own) => own == *elem,
            FormalType::Var(variable) => {
                schema.type_vars[usize::from(variable)].allowed.tensor.contains(*elem)
                    && *bound.entry(variable).or_insert(*elem) == *elem
            }
        };
        if !accepted {
            return None;
        }
    }
    let Formal { ty, .. } = schema.output(0)?;
    match ty {
        FormalType::Tensor(elem) => Some(*elem),
        FormalType::Var(variable) => bound.get(variable).copied().or(node.to),
    }
}
