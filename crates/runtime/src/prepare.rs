//! Preparation: converts graphs to plans.
//!
//! # The question
//!
//! A graph refers to values by name and to operators by domain, name and imported version. A session that
//! interprets the messages looks each name up in a hash table for each run, decodes each attribute again, and
//! keeps every intermediate value until the end: a chain of 100 `Relu`s of 1 MB needs 100 MB. What can be
//! decided once, before the first run?
//!
//! # The idea
//!
//! All but the values. Preparation makes a plan in which
//!
//! - a name is a slot, a number in an array of the run. A name that a nested graph does not define is
//!   resolved in the enclosing graphs, and each graph in between gets a slot that captures the value;
//! - attributes and initializers are values, decoded, those above 4 KiB on first use;
//! - a node is an action: a kernel of the embedded backend, a method of a component, a nested plan, or a
//!   call;
//! - the last use of a slot is marked, so that its buffer is freed, or overwritten in place, at once. The
//!   chain above needs 2 MB.
//!
//! ```text
//! y = Relu (x)  z = Add (y, w)      slots  x=0 w=1 y=2 z=3
//!                                   steps  2 <- Relu(0, last)    3 <- Add(2 last, 1)
//! ```
//!
//! [`module_nodes`] reads the compiler's resolution of module nodes from their metadata. This module neither
//! solves types nor selects implementations: types of slots are those that the solver proved, and runs verify
//! values against them.
//!
//! # Cost and limits
//!
//! Linear in the model; a function is prepared once for each set of attributes that it is called with. Equal
//! nodes share attributes, types and component methods to keep the working set of long chains small.
//!
//! **Invariant:** recursion is over nested graphs and functions, at most [`MAX_DEPTH`] deep.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;
use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::ops::Operator;
use typeloom_cpu::{decode, ops};
use typeloom_module::ir::metadata;
use typeloom_module::names;
use typeloom_onnx::domain::canonical;
use typeloom_onnx::header::header;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto, ValueInfoProto,
};
use typeloom_onnx::nested::each_graph;
use typeloom_onnx::prost::Message as _;
use typeloom_solver::model::value_types::ValueTypes;
use typeloom_solver::value_type::ValueType;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::components::Components;
use crate::error::{LinkError, PrepareError};
use crate::options::ExternalData;
use crate::plan::{
    Action, Constant, Kernel, ModuleNode, NodeInfo, Optimized, Plan, PlanStep, Registers, Schedule, Slot,
    SlotId, Use, WireValue,
};

mod functions;
mod fuse;
mod module_nodes;

use functions::{Functions, InstanceKey, max_nodes};
pub(crate) use functions::{imports, with_attributes};
pub(crate) use module_nodes::string;

/// Largest nesting of graphs and functions.
pub(crate) const MAX_DEPTH: usize = 64;

/// Minimum size in bytes of a tensor that is decoded on demand.
const MIN_LAZY: usize = 1 << 12;

/// Versions of the imported operator sets, by domain.
pub(crate) type Imports = HashMap<String, i64>;

/// Values on the wire of a program, by name.
pub(crate) type WireValues = HashMap<String, WireValue>;

/// Components and wire values that the nodes of a module refer to.
#[derive(Clone, Copy)]
pub(crate) struct Linked<'m> {
    pub(crate) components: &'m Components,
    /// The values on the wire, if a part is prepared.
    pub(crate) wires: Option<&'m WireValues>,
}

/// A graph during its preparation.
#[derive(Default)]
struct Scope {
    slots: HashMap<String, SlotId>,
    types: HashMap<String, ValueType>,
    plan: Plan,
}

impl Scope {
    fn new(types: HashMap<String, ValueType>) -> Self {
        Self { types, ..Self::default() }
    }

    fn add_slot(&mut self, name: &str) -> SlotId {
        let ty = self.types.get(name).cloned().unwrap_or_default();
        self.add_slot_of_type(name, ty)
    }

    fn add_slot_of_type(&mut self, name: &str, ty: ValueType) -> SlotId {
        let id = SlotId::new(self.plan.slots.len());
        self.plan.slots.push(Slot { name: name.to_owned(), ty });
        self.slots.insert(name.to_owned(), id);
        id
    }

    fn find_or_add_slot(&mut self, name: &str) -> SlotId {
        match self.slots.get(name) {
            Some(slot) => *slot,
            None => self.add_slot(name),
        }
    }
}

/// Shares equal parts of nodes and values.
#[derive(Default)]
struct Interner {
    /// By encoded type.
    types: HashMap<Vec<u8>, ValueType>,
    /// By domain, name, version and encoded attributes.
    kernels: HashMap<(&'static str, &'static str, i64, Vec<u8>), Arc<Kernel>>,
    /// By encoded node without names.
    module_nodes: HashMap<Vec<u8>, Arc<ModuleNode>>,
}

impl Interner {
    /// The declared types of values, by name.
    fn declared_types<'a>(
        &mut self,
        infos: impl Iterator<Item = &'a ValueInfoProto>,
    ) -> HashMap<String, ValueType> {
        let mut named = HashMap::new();
        for info in infos {
            if let Some(ty) = &info.r#type {
                let ty = self.types.entry(ty.encode_to_vec()).or_insert_with(|| ValueType::from_message(ty));
                named.insert(info.name().to_owned(), ty.clone());
            }
        }
        named
    }
}

/// The solved types of a model.
struct SolvedTypes<'m> {
    types: &'m ValueTypes,
    /// Numbers of the graphs in `types`. Graphs are identified by address: the model is borrowed while it is
    /// prepared.
    graphs: HashMap<*const GraphProto, usize>,
}

impl SolvedTypes<'_> {
    /// The types of the values of a graph, by name.
    ///
    /// The inputs of the main graph are part of the model's interface: their declarations are kept, and
    /// solved types complete them.
    fn of_graph(&self, graph: &GraphProto) -> Option<HashMap<String, ValueType>> {
        let number = *self.graphs.get(&std::ptr::from_ref(graph))?;
        let inputs = graph.input.iter().map(ValueInfoProto::name);
        let initializers = graph.initializer.iter().map(TensorProto::name);
        let made = graph.node.iter().flat_map(|node| &node.output).map(String::as_str);
        let solved = |name: &str| Some((name.to_owned(), self.types.get(number, name)?.clone()));
        let mut types: HashMap<String, ValueType> =
            inputs.chain(initializers).chain(made).filter_map(solved).collect();
        for input in graph.input.iter().filter(|_| number == 0) {
            let Some(mut declared) = input.r#type.clone() else { continue };
            if let Some(solved) = types.get(input.name()) {
                solved.fill(&mut declared.value);
            }
            types.insert(input.name().to_owned(), ValueType::from_message(&declared));
        }
        Some(types)
    }
}

/// The preparation of a model.
pub(crate) struct Preparation<'m> {
    linked: Option<Linked<'m>>,
    solved: Option<SolvedTypes<'m>>,
    functions: Functions<'m>,
    instances: HashMap<InstanceKey, Arc<Plan>>,
    interner: Interner,
    imports: Imports,
    external: &'m ExternalData<'m>,
    scopes: Vec<Scope>,
    /// Number of nodes in all plans, with functions inlined.
    nodes: usize,
    max_nodes: usize,
}

impl<'m> Preparation<'m> {
    /// Prepares a model by its declared types.
    pub(crate) fn new(model: &'m ModelProto, external: &'m ExternalData<'m>) -> Self {
        Self {
            linked: None,
            solved: None,
            functions: Functions::of(model),
            instances: HashMap::new(),
            interner: Interner::default(),
            imports: imports(&model.opset_import),
            external,
            scopes: Vec::new(),
            nodes: 0,
            max_nodes: max_nodes(model),
        }
    }

    /// Links the nodes of a module with their components.
    pub(crate) fn link(self, linked: Linked<'m>) -> Self {
        Self { linked: Some(linked), ..self }
    }

    /// Takes the types of values from a solve of the graph instead of its declarations.
    pub(crate) fn with_solved_types(self, graph: &'m GraphProto, types: &'m ValueTypes) -> Self {
        let mut graphs = HashMap::new();
        each_graph(graph, |graph, _| {
            graphs.insert(std::ptr::from_ref(graph), graphs.len());
        });
        Self { solved: Some(SolvedTypes { types, graphs }), ..self }
    }

    /// The plan of the main graph.
    pub(crate) fn main(&mut self, graph: &GraphProto) -> Result<Plan, PrepareError> {
        let imports = self.imports.clone();
        self.graph(graph, &imports, 0)
    }

    /// The plan of a part, without an optimized schedule. Its values are kept until the run ends, because
    /// steps that depend on messages run more than once.
    pub(crate) fn part(&mut self, part: &FunctionProto) -> Result<Plan, PrepareError> {
        let mut all = self.imports.clone();
        all.extend(imports(&part.opset_import));
        let mut plan = self.function(&part.input, &part.node, &part.output, &part.value_info, &all, 0)?;
        plan.optimized = Optimized::default();
        plan.written.registers = Registers::one_per_slot(plan.slots.len());
        for step in &mut plan.written.steps {
            step.inputs.iter_mut().flatten().for_each(|used| used.last = false);
            step.dead.clear();
        }
        Ok(plan)
    }

    /// The plan of a graph; `depth` is the number of graphs and functions around it.
    fn graph(&mut self, graph: &GraphProto, imports: &Imports, depth: usize) -> Result<Plan, PrepareError> {
        let types = match &self.solved {
            Some(solved) => solved.of_graph(graph).unwrap_or_default(),
            None => {
                let infos = graph.value_info.iter().chain(&graph.output).chain(&graph.input);
                self.interner.declared_types(infos)
            }
        };
        let mut scope = Scope::new(types);
        scope.plan.inputs = graph.input.iter().map(|input| scope.add_slot(input.name())).collect();
        for tensor in &graph.initializer {
            let slot = scope.find_or_add_slot(tensor.name());
            scope.plan.constants.push((slot, self.constant(tensor)?));
        }
        for sparse in &graph.sparse_initializer {
            let name = sparse.values.as_ref().map_or("", |values| values.name());
            let slot = scope.find_or_add_slot(name);
            scope.plan.constants.push((slot, Constant::Ready(Datum::Tensor(decode::sparse(sparse)?))));
        }
        let outputs: Vec<&str> = graph.output.iter().map(ValueInfoProto::name).collect();
        self.body(scope, &graph.node, &outputs, imports, depth)
    }

    /// The plan of the body of a function, which does not see the values of its callers.
    fn function(
        &mut self,
        inputs: &[String],
        nodes: &[NodeProto],
        outputs: &[String],
        infos: &[ValueInfoProto],
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan, PrepareError> {
        let outer = std::mem::take(&mut self.scopes);
        let mut scope = Scope::new(self.interner.declared_types(infos.iter()));
        scope.plan.inputs = inputs.iter().map(|name| scope.add_slot(name)).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let plan = self.body(scope, nodes, &outputs, imports, depth);
        self.scopes = outer;
        plan
    }

    fn body(
        &mut self,
        scope: Scope,
        nodes: &[NodeProto],
        outputs: &[&str],
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan, PrepareError> {
        self.nodes += nodes.len();
        if self.nodes > self.max_nodes {
            return Err(PrepareError::TooManyNodes { limit: self.max_nodes });
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
        let mut plan = self.scopes.pop().unwrap_or_default().plan;
        plan.outputs = results;
        let constant: HashSet<SlotId> = plan.constants.iter().map(|(slot, _)| *slot).collect();
        plan.defaults = (0..plan.inputs.len()).filter(|at| constant.contains(&plan.inputs[*at])).collect();
        plan.written.steps = steps;
        let (constants, optimized) = fuse::optimize(&mut plan);
        let written = std::mem::take(&mut plan.written.steps);
        let initial = plan.constants.iter().map(|(slot, _)| *slot).chain(plan.initial());
        plan.written = schedule(&plan, written, initial, &HashSet::new());
        let kept = constants.iter().map(|(slot, _)| *slot);
        let schedule = schedule(&plan, optimized, kept.clone().chain(plan.initial()), &kept.collect());
        plan.optimized = Optimized { constants, schedule, ..Optimized::default() };
        Ok(plan)
    }

    fn step(
        &mut self,
        node: &NodeProto,
        at: usize,
        imports: &Imports,
        depth: usize,
    ) -> Result<PlanStep, PrepareError> {
        let label = label(node, at);
        if depth > MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: label, limit: MAX_DEPTH });
        }
        let mut inputs = SmallVec::with_capacity(node.input.len());
        for name in &node.input {
            if name.is_empty() {
                inputs.push(None);
                continue;
            }
            match self.resolve(name) {
                Some(slot) => inputs.push(Some(Use { slot, last: false })),
                None => return Err(PrepareError::UnknownValue { node: label, value: name.clone() }),
            }
        }
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let domain = canonical(node.domain());
        let on_slot = self.linked.and_then(|_| metadata(node, names::SLOT_ID)).map(str::to_owned);
        let info = NodeInfo { label, on_slot, domain: domain.to_owned(), op: node.op_type().to_owned() };
        let action = self.action(node, &info, imports, depth)?;
        let outputs = match self.scopes.last_mut() {
            Some(scope) => {
                node.output.iter().map(|name| (!name.is_empty()).then(|| scope.add_slot(name))).collect()
            }
            None => SmallVec::new(),
        };
        Ok(PlanStep { action, inputs, outputs, dead: SmallVec::new(), info: Arc::new(info) })
    }

    /// The decoded attributes of a node.
    fn attributes(&self, node: &NodeProto) -> Result<Attributes, PrepareError> {
        let mut attributes = node.attribute.clone();
        for attribute in &mut attributes {
            if let Some(tensor) = attribute.t.as_deref_mut()
                && tensor.data_location() == DataLocation::External
            {
                tensor.raw_data = Some(self.external_bytes(tensor)?);
                tensor.data_location = None;
            }
        }
        Ok(Attributes::decode(&attributes)?)
    }

    fn external_bytes(&self, tensor: &TensorProto) -> Result<Bytes, PrepareError> {
        (self.external)(tensor)
            .map_err(|reason| PrepareError::ExternalData { name: tensor.name().to_owned(), reason })
    }

    fn constant(&self, tensor: &TensorProto) -> Result<Constant, PrepareError> {
        let is_external = tensor.data_location() == DataLocation::External;
        let raw = if is_external { Some(self.external_bytes(tensor)?) } else { tensor.raw_data.clone() };
        let (dtype, shape) = header(tensor).map_err(decode::DecodeTensorError::from)?;
        if let (Some(bytes), Dtype::F32 | Dtype::F64) = (&raw, dtype)
            && bytes.len() >= MIN_LAZY
            && AnyTensor::byte_len(dtype, &shape).is_ok_and(|len| len == bytes.len())
        {
            return Ok(Constant::Stored { dtype, shape, bytes: bytes.clone() });
        }
        let tensor = match raw {
            Some(bytes) if is_external => decode::tensor_of_bytes(tensor, &bytes)?,
            Some(_) | None => decode::tensor(tensor)?,
        };
        Ok(Constant::Ready(Datum::Tensor(tensor)))
    }

    fn action(
        &mut self,
        node: &NodeProto,
        info: &NodeInfo,
        imports: &Imports,
        depth: usize,
    ) -> Result<Action, PrepareError> {
        if let Some(node) = self.module_node(node, info)? {
            return Ok(Action::Module(node));
        }
        if let Some(plan) = self.call(node, info, depth)? {
            return Ok(Action::Function(plan));
        }
        let version = imports.get(&info.domain).copied().unwrap_or(1);
        let mut body = |name: &'static str| {
            let missing = || PrepareError::MissingGraph { node: info.label.clone(), attribute: name };
            self.nested(node, name, imports, depth)?.ok_or_else(missing)
        };
        Ok(match (&*info.domain, &*info.op) {
            ("", "If") => Action::If { then_branch: body("then_branch")?, else_branch: body("else_branch")? },
            ("", "Loop") => Action::Loop(body("body")?),
            ("", "SequenceMap") => Action::SequenceMap(body("body")?),
            ("", "Scan") => {
                let body = body("body")?;
                Action::Scan { body, attributes: Arc::new(self.attributes(node)?), version }
            }
            ("ai.onnx.preview", "FlexAttention") => Action::FlexAttention {
                scores: self.nested(node, "score_mod", imports, depth)?,
                probabilities: self.nested(node, "prob_mod", imports, depth)?,
                attributes: Arc::new(self.attributes(node)?),
            },
            (domain, op) => match ops::find(domain, op) {
                Some(operator) => Action::Kernel(self.kernel(operator, version, node)?),
                None if self.linked.is_some() => {
                    let (node, domain, op) = (info.label.clone(), info.domain.clone(), info.op.clone());
                    return Err(LinkError::UnknownOperator { node, domain, op }.into());
                }
                None => Action::Unknown,
            },
        })
    }

    /// Resolves a node that occurs in modules only. Nodes that are equal up to names share the result.
    fn module_node(
        &mut self,
        node: &NodeProto,
        info: &NodeInfo,
    ) -> Result<Option<Arc<ModuleNode>>, PrepareError> {
        let Some(linked) = self.linked else { return Ok(None) };
        let Some(found) = module_nodes::resolve(linked, node, info)? else { return Ok(None) };
        // The tensor of an attribute can be large.
        if node.attribute.iter().any(|attribute| attribute.t.is_some()) {
            return Ok(Some(Arc::new(found)));
        }
        let key = without_names(node).encode_to_vec();
        Ok(Some(Arc::clone(self.interner.module_nodes.entry(key).or_insert_with(|| Arc::new(found)))))
    }

    /// An operator with the attributes of a node.
    fn kernel(
        &mut self,
        operator: &'static Operator,
        version: i64,
        node: &NodeProto,
    ) -> Result<Arc<Kernel>, PrepareError> {
        // The tensor of an attribute can be large, and can be stored in another file.
        if node.attribute.iter().any(|attribute| attribute.t.is_some()) {
            return Ok(Arc::new(Kernel { operator, version, attributes: self.attributes(node)? }));
        }
        let mut encoded = Vec::new();
        for attribute in &node.attribute {
            encoded.extend(attribute.encode_length_delimited_to_vec());
        }
        let key = (operator.domain(), operator.name(), version, encoded);
        if let Some(kernel) = self.interner.kernels.get(&key) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(Kernel { operator, version, attributes: self.attributes(node)? });
        self.interner.kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// The plan of a called function. Calls with the same attributes share a plan.
    fn call(
        &mut self,
        node: &NodeProto,
        info: &NodeInfo,
        depth: usize,
    ) -> Result<Option<Arc<Plan>>, PrepareError> {
        let Some(call) = self.functions.call(&info.domain, node) else { return Ok(None) };
        if let Some(plan) = self.instances.get(&call.key) {
            return Ok(Some(Arc::clone(plan)));
        }
        if depth >= MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: info.label.clone(), limit: MAX_DEPTH });
        }
        let function = call.function;
        // Calls share the plan, so it cannot contain the types of one of them.
        let infos = &[];
        let plan =
            self.function(&function.input, &call.nodes, &function.output, infos, &call.imports, depth + 1)?;
        Ok(Some(Arc::clone(self.instances.entry(call.key).or_insert_with(|| Arc::new(plan)))))
    }

    fn nested(
        &mut self,
        node: &NodeProto,
        name: &str,
        imports: &Imports,
        depth: usize,
    ) -> Result<Option<Arc<Plan>>, PrepareError> {
        let found = node
            .attribute
            .iter()
            .find(|attribute| attribute.name() == name && attribute.effective_type() == AttributeType::Graph);
        let Some(graph) = found.and_then(|attribute| attribute.g.as_deref()) else { return Ok(None) };
        self.graph(graph, imports, depth + 1).map(|plan| Some(Arc::new(plan)))
    }

    /// The slot of a name in the innermost graph; captures the value in each graph below the one that defines
    /// it.
    fn resolve(&mut self, name: &str) -> Option<SlotId> {
        let defining = self.scopes.iter().rposition(|scope| scope.slots.contains_key(name))?;
        let mut slot = self.scopes[defining].slots[name];
        let ty = self.scopes[defining].plan.slot(slot).ty.clone();
        for scope in &mut self.scopes[defining + 1..] {
            let inner = scope.add_slot_of_type(name, ty.clone());
            scope.plan.captures.push((slot, inner));
            slot = inner;
        }
        Some(slot)
    }
}

/// Names a node in error messages: by its name, its first output or its position.
fn label(node: &NodeProto, at: usize) -> String {
    match (node.name(), node.output.iter().find(|output| !output.is_empty())) {
        ("", Some(output)) => format!("`{}`, which makes `{output}`", node.op_type()),
        ("", None) => format!("node {at} (`{}`)", node.op_type()),
        (name, _) => format!("node `{name}` (`{}`)", node.op_type()),
    }
}

/// The node without its own name, with placeholders for the names of its values, and with the metadata that
/// linking reads.
fn without_names(node: &NodeProto) -> NodeProto {
    let placeholders = |names: &[String]| -> Vec<String> {
        names.iter().map(|name| if name.is_empty() { "" } else { "_" }.to_owned()).collect()
    };
    let linking = [names::SLOT_ID, names::REQUIRED_TRAIT, names::DISPATCH];
    let is_for_linking = |entry: &&StringStringEntryProto| linking.contains(&entry.key());
    NodeProto {
        input: placeholders(&node.input),
        output: placeholders(&node.output),
        op_type: node.op_type.clone(),
        domain: node.domain.clone(),
        overload: node.overload.clone(),
        attribute: node.attribute.clone(),
        metadata_props: node.metadata_props.iter().filter(is_for_linking).cloned().collect(),
        ..NodeProto::default()
    }
}

/// Computes lifetimes and registers. `initial` slots are filled before the first step; `kept` slots are never
/// released.
fn schedule(
    plan: &Plan,
    mut steps: Vec<PlanStep>,
    initial: impl Iterator<Item = SlotId>,
    kept: &HashSet<SlotId>,
) -> Schedule {
    compute_lifetimes(&mut steps, kept.iter().chain(&plan.outputs).copied().collect());
    let mut read = kept.clone();
    let outputs = plan.outputs.iter().rev();
    // The last of several outputs with the same value takes it.
    let mut results: Vec<Use> = outputs.map(|slot| Use { slot: *slot, last: read.insert(*slot) }).collect();
    results.reverse();
    let registers = Registers::allocate(plan.slots.len(), initial, &steps);
    Schedule { steps, results, registers }
}

/// Marks the last read of every slot that is not in `read_later`.
fn compute_lifetimes(steps: &mut [PlanStep], mut read_later: HashSet<SlotId>) {
    for step in steps.iter_mut().rev() {
        let mut dead = SmallVec::new();
        // Captures of a nested graph are alive until the step is done.
        for (slot, _) in step.action.bodies().flat_map(|body| &body.captures) {
            if read_later.insert(*slot) {
                dead.push(*slot);
            }
        }
        for used in step.inputs.iter_mut().rev().flatten() {
            used.last = read_later.insert(used.slot);
        }
        dead.extend(step.outputs.iter().flatten().filter(|slot| !read_later.contains(slot)).copied());
        step.dead = dead;
    }
}
