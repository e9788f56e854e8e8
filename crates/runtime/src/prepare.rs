//! Graphs to plans: names to slots, attributes and initializers to values, and lifetimes.
//!
//! A name that a nested graph does not make is looked for in the graphs around it; each graph on the way down
//! gets a slot that stands for it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use typeloom_cpu::attributes::{Attributes, kind_of};
use typeloom_cpu::value::Value;
use typeloom_cpu::{decode, ops};
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{GraphProto, NodeProto, TensorProto, ValueInfoProto};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::error::PrepareError;
use crate::functions::{Functions, MAX_NODES};
use crate::fuse;
use crate::plan::{Action, Constant, Fast, Plan, Slot, SlotId, Step, Use};
use crate::session::ExternalData;
use crate::stamp::Stamp;

/// How deep graphs and functions may be nested.
pub(crate) const MAX_DEPTH: usize = 64;

/// The least bytes of a tensor that is left as it is stored until it is needed.
const LARGE: usize = 1 << 12;

/// The versions of operator sets that nodes refer to, by domain.
pub(crate) type Imports = HashMap<String, i64>;

/// A graph being prepared.
#[derive(Default)]
struct Scope {
    names: HashMap<String, SlotId>,
    slots: Vec<Slot>,
    stamps: HashMap<String, Stamp>,
    captures: Vec<(SlotId, SlotId)>,
}

impl Scope {
    fn slot(&mut self, name: &str) -> SlotId {
        let id = SlotId(u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        let stamp = self.stamps.get(name).cloned().unwrap_or(Stamp::Open);
        self.slots.push(Slot { name: name.to_owned(), stamp });
        self.names.insert(name.to_owned(), id);
        id
    }

    fn stamps_of<'a>(&mut self, infos: impl Iterator<Item = &'a ValueInfoProto>) {
        for info in infos {
            if let Some(ty) = &info.r#type {
                self.stamps.insert(info.name().to_owned(), Stamp::of(ty));
            }
        }
    }
}

/// What is prepared from the top down.
pub(crate) struct Preparation<'m> {
    pub(crate) functions: Functions<'m>,
    pub(crate) external: &'m ExternalData<'m>,
    scopes: Vec<Scope>,
    /// How many nodes there are in all plans, functions unfolded.
    nodes: usize,
}

impl<'m> Preparation<'m> {
    pub(crate) fn new(functions: Functions<'m>, external: &'m ExternalData<'m>) -> Self {
        Self { functions, external, scopes: Vec::new(), nodes: 0 }
    }

    /// A plan for a graph; `depth` counts graphs and functions around it.
    pub(crate) fn graph(
        &mut self,
        graph: &GraphProto,
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan, PrepareError> {
        let mut scope = Scope::default();
        scope.stamps_of(graph.value_info.iter().chain(&graph.output).chain(&graph.input));
        let inputs = graph.input.iter().map(|input| scope.slot(input.name())).collect();
        let mut constants = Vec::new();
        for tensor in &graph.initializer {
            let slot = match scope.names.get(tensor.name()) {
                Some(slot) => *slot,
                None => scope.slot(tensor.name()),
            };
            constants.push((slot, self.stored(tensor)?));
        }
        for sparse in &graph.sparse_initializer {
            let name = sparse.values.as_ref().map_or("", |values| values.name());
            let slot = match scope.names.get(name) {
                Some(slot) => *slot,
                None => scope.slot(name),
            };
            constants.push((slot, Constant::Ready(Value::Tensor(decode::sparse(sparse)?))));
        }
        let outputs: Vec<&str> = graph.output.iter().map(ValueInfoProto::name).collect();
        self.body(scope, inputs, constants, &graph.node, &outputs, imports, depth)
    }

    /// A plan for the body of a function.
    pub(crate) fn function(
        &mut self,
        inputs: &[String],
        nodes: &[NodeProto],
        outputs: &[String],
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan, PrepareError> {
        // A function sees nothing of where it is called.
        let outer = std::mem::take(&mut self.scopes);
        let mut scope = Scope::default();
        let inputs = inputs.iter().map(|name| scope.slot(name)).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let plan = self.body(scope, inputs, Vec::new(), nodes, &outputs, imports, depth);
        self.scopes = outer;
        plan
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the parts of a graph, which functions have under other names"
    )]
    fn body(
        &mut self,
        scope: Scope,
        inputs: Vec<SlotId>,
        constants: Vec<(SlotId, Constant)>,
        nodes: &[NodeProto],
        outputs: &[&str],
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan, PrepareError> {
        self.nodes += nodes.len();
        if self.nodes > MAX_NODES {
            return Err(PrepareError::TooManyNodes { limit: MAX_NODES });
        }
        self.scopes.push(scope);
        let mut steps = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            steps.push(self.step(node, at, imports, depth)?);
        }
        let mut results = Vec::with_capacity(outputs.len());
        for name in outputs {
            let unknown =
                || PrepareError::UnknownValue { node: "the graph".to_owned(), value: (*name).to_owned() };
            results.push(self.resolve(name).ok_or_else(unknown)?);
        }
        let scope = self.scopes.pop().unwrap_or_default();
        let Scope { slots, captures, names: _, stamps: _ } = scope;
        let constant: HashSet<SlotId> = constants.iter().map(|(slot, _)| *slot).collect();
        let defaults = (0..inputs.len()).filter(|at| constant.contains(&inputs[*at])).collect();
        let fast = Fast::default();
        let mut plan = Plan { slots, inputs, defaults, captures, constants, steps, outputs: results, fast };
        lifetimes(&mut plan.steps, &plan.outputs);
        plan.fast = fuse::fast(&mut plan);
        lifetimes(&mut plan.fast.steps, &plan.outputs);
        Ok(plan)
    }

    fn step(
        &mut self,
        node: &NodeProto,
        at: usize,
        imports: &Imports,
        depth: usize,
    ) -> Result<Step, PrepareError> {
        let words = match node.name() {
            "" => format!("node {at} (`{}`)", node.op_type()),
            name => format!("node `{name}` (`{}`)", node.op_type()),
        };
        if depth > MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: words, limit: MAX_DEPTH });
        }
        let mut inputs = Vec::with_capacity(node.input.len());
        for name in &node.input {
            if name.is_empty() {
                inputs.push(None);
                continue;
            }
            match self.resolve(name) {
                Some(slot) => inputs.push(Some(Use { slot, last: false })),
                None => return Err(PrepareError::UnknownValue { node: words, value: name.clone() }),
            }
        }
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let domain = if node.domain() == "ai.onnx" { "" } else { node.domain() };
        let version = imports.get(domain).copied().unwrap_or(1);
        let action = self.action(node, domain, &words, imports, depth)?;
        let attributes = self.attributes(node)?;
        let scope = self.scopes.last_mut();
        let outputs = match scope {
            Some(scope) => {
                node.output.iter().map(|name| (!name.is_empty()).then(|| scope.slot(name))).collect()
            }
            None => Vec::new(),
        };
        let (domain, op) = (domain.to_owned(), node.op_type().to_owned());
        Ok(Step { node: words, domain, op, version, action, attributes, inputs, outputs, dead: Vec::new() })
    }

    fn attributes(&self, node: &NodeProto) -> Result<Attributes, PrepareError> {
        let mut attributes = node.attribute.clone();
        for attribute in &mut attributes {
            if let Some(tensor) = attribute.t.as_deref_mut()
                && tensor.data_location() == DataLocation::External
            {
                let bytes = self.read(tensor)?;
                tensor.raw_data = Some(bytes);
                tensor.data_location = None;
            }
        }
        Ok(Attributes::decode(&attributes)?)
    }

    fn read(&self, tensor: &TensorProto) -> Result<Bytes, PrepareError> {
        (self.external)(tensor)
            .map_err(|reason| PrepareError::ExternalData { name: tensor.name().to_owned(), reason })
    }

    fn stored(&self, tensor: &TensorProto) -> Result<Constant, PrepareError> {
        let is_external = tensor.data_location() == DataLocation::External;
        let raw = if is_external { Some(self.read(tensor)?) } else { tensor.raw_data.clone() };
        let (dtype, shape) = decode::header(tensor)?;
        if let (Some(bytes), Dtype::F32 | Dtype::F64) = (&raw, dtype)
            && bytes.len() >= LARGE
            && AnyTensor::byte_len(dtype, &shape).is_ok_and(|len| len == bytes.len())
        {
            return Ok(Constant::Stored { dtype, shape, bytes: bytes.clone() });
        }
        let tensor = match raw {
            Some(bytes) if is_external => decode::tensor_of_bytes(tensor, &bytes)?,
            Some(_) | None => decode::tensor(tensor)?,
        };
        Ok(Constant::Ready(Value::Tensor(tensor)))
    }

    fn action(
        &mut self,
        node: &NodeProto,
        domain: &str,
        words: &str,
        imports: &Imports,
        depth: usize,
    ) -> Result<Action, PrepareError> {
        if let Some(plan) = self.call(node, domain, words, depth)? {
            return Ok(Action::Function(plan));
        }
        let missing = |attribute| PrepareError::MissingGraph { node: words.to_owned(), attribute };
        Ok(match (domain, node.op_type()) {
            ("", "If") => Action::If {
                then_branch: self
                    .nested(node, "then_branch", imports, depth)?
                    .ok_or_else(|| missing("then_branch"))?,
                else_branch: self
                    .nested(node, "else_branch", imports, depth)?
                    .ok_or_else(|| missing("else_branch"))?,
            },
            ("", "Loop") => {
                Action::Loop(self.nested(node, "body", imports, depth)?.ok_or_else(|| missing("body"))?)
            }
            ("", "Scan") => {
                Action::Scan(self.nested(node, "body", imports, depth)?.ok_or_else(|| missing("body"))?)
            }
            ("", "SequenceMap") => Action::SequenceMap(
                self.nested(node, "body", imports, depth)?.ok_or_else(|| missing("body"))?,
            ),
            ("ai.onnx.preview", "FlexAttention") => Action::Flex {
                scores: self.nested(node, "score_mod", imports, depth)?,
                probabilities: self.nested(node, "prob_mod", imports, depth)?,
            },
            (domain, op) => ops::find(domain, op).map_or(Action::Unknown, Action::Kernel),
        })
    }

    /// The plan of a function of the model, where the node calls one.
    fn call(
        &mut self,
        node: &NodeProto,
        domain: &str,
        words: &str,
        depth: usize,
    ) -> Result<Option<Arc<Plan>>, PrepareError> {
        let Some(call) = self.functions.call(domain, node) else { return Ok(None) };
        if let Some(plan) = self.functions.known(&call.key) {
            return Ok(Some(plan));
        }
        if depth >= MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: words.to_owned(), limit: MAX_DEPTH });
        }
        let plan = self.function(
            &call.function.input,
            &call.nodes,
            &call.function.output,
            &call.imports,
            depth + 1,
        )?;
        Ok(Some(self.functions.remember(call.key, plan)))
    }

    fn nested(
        &mut self,
        node: &NodeProto,
        name: &str,
        imports: &Imports,
        depth: usize,
    ) -> Result<Option<Plan>, PrepareError> {
        let found = node
            .attribute
            .iter()
            .find(|attribute| attribute.name() == name && kind_of(attribute) == AttributeType::Graph);
        let Some(graph) = found.and_then(|attribute| attribute.g.as_deref()) else { return Ok(None) };
        self.graph(graph, imports, depth + 1).map(Some)
    }

    /// The slot in the innermost graph that stands for a name.
    fn resolve(&mut self, name: &str) -> Option<SlotId> {
        let home = self.scopes.iter().rposition(|scope| scope.names.contains_key(name))?;
        let mut slot = self.scopes[home].names[name];
        for scope in &mut self.scopes[home + 1..] {
            let inner = scope.slot(name);
            scope.captures.push((slot, inner));
            slot = inner;
        }
        Some(slot)
    }
}

/// Marks the last use of every value that is not a result.
fn lifetimes(steps: &mut [Step], outputs: &[SlotId]) {
    let mut seen: HashSet<SlotId> = outputs.iter().copied().collect();
    for step in steps.iter_mut().rev() {
        let mut dead = Vec::new();
        // What a graph inside reads must live until the step is done.
        for slot in step.action.bodies().iter().flat_map(|body| &body.captures).map(|(outer, _)| *outer) {
            if seen.insert(slot) {
                dead.push(slot);
            }
        }
        for used in step.inputs.iter_mut().rev().flatten() {
            used.last = seen.insert(used.slot);
        }
        for slot in step.outputs.iter().flatten() {
            if !seen.contains(slot) {
                dead.push(*slot);
            }
        }
        step.dead = dead;
    }
}
