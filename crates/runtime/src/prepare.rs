//! Preparation: converts graphs to plans.
//!
//! # The question
//!
//! A program refers to values by id and to operators by domain, name and imported version. A session that
//! interprets it looks each operator up for each run, decodes each attribute again, and keeps every
//! intermediate value until the end: a chain of 100 `Relu`s of 1 MB needs 100 MB. What can be decided once,
//! before the first run?
//!
//! # The idea
//!
//! All but the values. Preparation makes a plan in which
//!
//! - a value is a slot, a number in an array of the run. A value of an enclosing graph gets a slot in each
//!   graph in between, which captures it;
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
//! [`module_nodes`] takes the compiler's resolution of module nodes from the facts of the program. This module neither
//! solves types nor selects implementations: types of slots are those that the solver proved, and runs verify
//! values against them.
//!
//! # Cost and limits
//!
//! Linear in the model; a function is prepared once for each set of attributes that it is called with. Equal
//! nodes share attributes, types and component methods to keep the working set of long chains small.
//!
//! **Invariant:** recursion is over nested graphs and functions, at most [`MAX_DEPTH`] deep.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;
use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::ops::Operator;
use typeloom_cpu::{decode, ops};
use typeloom_module::{Map, Set};
use typeloom_onnx::header::header;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{AttributeProto, IntoAttribute, NodeProto, TensorProto, metadata_entry};
use typeloom_onnx::prost::Message as _;
use typeloom_program::declared::DeclaredType;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement};
use typeloom_program::program::{Callees, Graph, GraphId, Node, NodeId, Part, Program, ValueId, graph_count};
use typeloom_program::write::stated_type;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::ValueType;
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

use functions::{InstanceKey, max_nodes};
pub(crate) use functions::{imports, with_attributes};
pub(crate) use module_nodes::string;

/// Largest nesting of graphs and functions.
pub(crate) const MAX_DEPTH: usize = 64;

/// Minimum size in bytes of a tensor that is decoded on demand.
const MIN_LAZY: usize = 1 << 12;

/// Versions of the imported operator sets, by domain.
pub(crate) type Imports = Map<Domain, i64>;

/// Values on the wire of a program.
pub(crate) type WireValues = HashMap<ValueId, WireValue>;

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
    slots: Map<ValueId, SlotId>,
    plan: Plan,
}

impl Scope {
    fn add_slot(&mut self, value: ValueId, slot: Slot) -> SlotId {
        let id = SlotId::new(self.plan.slots.len());
        self.plan.slots.push(slot);
        self.slots.insert(value, id);
        id
    }
}

/// Shares equal parts of nodes and values.
#[derive(Default)]
struct Interner {
    /// By encoded type.
    types: Map<Vec<u8>, ValueType>,
    /// By domain, name, version and encoded attributes.
    kernels: Map<(&'static str, &'static str, i64, Vec<u8>), Arc<Kernel>>,
    /// By encoded node without names.
    module_nodes: Map<Vec<u8>, Arc<ModuleNode>>,
}

impl Interner {
    fn value_type(&mut self, ty: &DeclaredType) -> ValueType {
        let key = ty.message().encode_to_vec();
        self.types.entry(key).or_insert_with(|| ty.value_type()).clone()
    }
}

/// The origin of the types of slots.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Types {
    /// The declarations of the program.
    Declared,
    /// The solved types. The inputs of the main graph are part of the interface: their declarations are kept,
    /// and solved types complete them.
    Solved,
    /// The declarations and solved types of a compiled program, as its file states them.
    Stated,
}

/// An attribute of a call, with the graphs in it.
type Given = HashMap<String, (AttributeProto, Vec<GraphId>)>;

/// The attributes of a node. References to attributes of the function are replaced.
struct NodeAttributes<'m> {
    list: Cow<'m, [AttributeProto]>,
    /// The graphs of the attributes, in the order of attributes.
    graphs: Cow<'m, [GraphId]>,
}

impl NodeAttributes<'_> {
    /// The graph of an attribute.
    fn graph(&self, name: &str) -> Option<GraphId> {
        let mut at = 0;
        for attribute in &*self.list {
            let is_graph = attribute.effective_type() == AttributeType::Graph && attribute.g.is_some();
            if attribute.name() == name && is_graph {
                return self.graphs.get(at).copied();
            }
            at += graph_count(attribute);
        }
        None
    }

    /// Whether an attribute is a tensor, which can be large, and can be stored in another file.
    fn has_tensor(&self) -> bool {
        self.list.iter().any(|attribute| attribute.t.is_some())
    }
}

/// The preparation of a program.
pub(crate) struct Preparation<'m> {
    program: &'m Program,
    facts: &'m Facts,
    types: Types,
    linked: Option<Linked<'m>>,
    callees: Callees,
    instances: HashMap<InstanceKey, Arc<Plan>>,
    /// The attributes of the function around the current node; `None` outside of functions.
    given: Option<Given>,
    interner: Interner,
    imports: Imports,
    external: &'m ExternalData<'m>,
    scopes: Vec<Scope>,
    /// Number of nodes in all plans, with functions inlined.
    nodes: usize,
    max_nodes: usize,
}

impl<'m> Preparation<'m> {
    pub(crate) fn new(
        program: &'m Program,
        facts: &'m Facts,
        types: Types,
        external: &'m ExternalData<'m>,
    ) -> Self {
        Self {
            program,
            facts,
            types,
            linked: None,
            callees: program.callees(),
            instances: HashMap::new(),
            given: None,
            interner: Interner::default(),
            imports: imports(program.imports()),
            external,
            scopes: Vec::new(),
            nodes: 0,
            max_nodes: max_nodes(program),
        }
    }

    /// Links the nodes of a module with their components.
    pub(crate) fn link(self, linked: Linked<'m>) -> Self {
        Self { linked: Some(linked), ..self }
    }

    /// The plan of the main graph.
    pub(crate) fn main(&mut self) -> Result<Plan, PrepareError> {
        let imports = self.imports.clone();
        self.graph(self.program.main(), &imports, 0)
    }

    /// The plan of a part, without an optimized schedule. Its values are kept until the run ends, because
    /// steps that depend on messages run more than once.
    pub(crate) fn part(&mut self, part: &'m Part) -> Result<Plan, PrepareError> {
        let types = self.types_of(self.program.main());
        let mut scope = Scope::default();
        scope.plan.inputs =
            part.inputs.iter().map(|value| scope.add_slot(*value, self.slot(*value, &types))).collect();
        self.scopes.push(scope);
        let mut steps = Vec::new();
        for (value, tensor) in self.program.constants_of(part) {
            steps.push(self.constant_step(value, tensor, &types)?);
        }
        let imports = self.imports.clone();
        let mut plan = self.body(steps, &part.nodes, &part.outputs, &types, &imports, 0)?;
        plan.optimized = Optimized::default();
        plan.written.registers = Registers::one_per_slot(plan.slots.len());
        for step in &mut plan.written.steps {
            step.inputs.iter_mut().flatten().for_each(|used| used.last = false);
            step.dead.clear();
        }
        Ok(plan)
    }

    /// A step that makes a constant of the main graph.
    fn constant_step(
        &mut self,
        value: ValueId,
        tensor: &TensorProto,
        types: &SlotTypes,
    ) -> Result<PlanStep, PrepareError> {
        let (domain, op) = (Domain::Onnx, "Constant");
        let label = format!("`{op}`, which makes `{}`", self.program[value].name);
        let info = NodeInfo { label, on_slot: None, domain: domain.name().to_owned(), op: op.to_owned() };
        let operator = ops::find(domain.name(), op).expect("the embedded backend has constants");
        let attributes = self.decode(&[tensor.into_attribute("value")])?;
        let version = self.imports.get(&domain).copied().unwrap_or(1);
        let action = Action::Kernel(Arc::new(Kernel { operator, version, attributes }));
        let slot = self.slot(value, types);
        let outputs = self.scopes.last_mut().map(|scope| Some(scope.add_slot(value, slot)));
        let outputs = outputs.into_iter().collect();
        Ok(PlanStep { action, inputs: SmallVec::new(), outputs, dead: SmallVec::new(), info: Arc::new(info) })
    }

    /// The plan of a graph; `depth` is the number of graphs and functions around it.
    fn graph(&mut self, id: GraphId, imports: &Imports, depth: usize) -> Result<Plan, PrepareError> {
        let types = self.types_of(id);
        let Graph { inputs, outputs, initializers, sparse_initializers, nodes, .. } = &self.program[id];
        let mut scope = Scope::default();
        for port in inputs {
            let slot = scope.add_slot(port.value, self.slot(port.value, &types));
            scope.plan.inputs.push(slot);
        }
        let mut constants = Vec::with_capacity(initializers.len() + sparse_initializers.len());
        for (value, tensor) in initializers {
            constants.push((*value, self.constant(*value, tensor)?));
        }
        for (value, sparse) in sparse_initializers {
            constants.push((*value, Constant::Ready(Datum::Tensor(decode::sparse(sparse)?))));
        }
        for (value, constant) in constants {
            let known = scope.slots.get(&value).copied();
            let slot = known.unwrap_or_else(|| scope.add_slot(value, self.slot(value, &types)));
            scope.plan.constants.push((slot, constant));
        }
        self.scopes.push(scope);
        let outputs: Vec<ValueId> = outputs.iter().map(|port| port.value).collect();
        self.body(Vec::new(), nodes, &outputs, &types, imports, depth)
    }

    /// The plan of the body of a function, which does not see the values of its callers. Calls share it, so it
    /// cannot contain the types of one of them.
    fn function(&mut self, body: GraphId, imports: &Imports, depth: usize) -> Result<Plan, PrepareError> {
        let outer = std::mem::take(&mut self.scopes);
        let Graph { inputs, outputs, nodes, .. } = &self.program[body];
        let types = SlotTypes::default();
        let mut scope = Scope::default();
        for port in inputs {
            let slot = scope.add_slot(port.value, self.slot(port.value, &types));
            scope.plan.inputs.push(slot);
        }
        self.scopes.push(scope);
        let outputs: Vec<ValueId> = outputs.iter().map(|port| port.value).collect();
        let plan = self.body(Vec::new(), nodes, &outputs, &types, imports, depth);
        self.scopes = outer;
        plan
    }

    /// The types of a graph's values.
    fn types_of(&mut self, id: GraphId) -> SlotTypes {
        let graph = &self.program[id];
        let is_main = id == self.program.main();
        let mut types = SlotTypes { declared: Map::default(), has_solved: self.types != Types::Declared };
        // Later entries replace earlier ones.
        for port in graph.infos.iter().chain(&graph.outputs).chain(&graph.inputs) {
            let declared = match self.types {
                Types::Declared => port.declared.as_ref().map(|ty| self.interner.value_type(ty)),
                Types::Stated => stated_type(self.facts, port).map(|ty| self.interner.value_type(&ty)),
                Types::Solved => None,
            };
            types.declared.extend(declared.map(|ty| (port.value, ty)));
        }
        if self.types == Types::Solved && is_main {
            for port in &graph.inputs {
                let solved = self.facts.types.get(port.value);
                if let Some(declared) = &port.declared {
                    types.declared.insert(port.value, declared.with_shape_of(solved));
                }
            }
        }
        types
    }

    fn slot(&self, value: ValueId, types: &SlotTypes) -> Slot {
        let solved = || {
            let solved = self.facts.types.get(value).filter(|_| types.has_solved)?;
            (self.types == Types::Solved || solved.is_concrete()).then(|| solved.clone())
        };
        let ty = types.declared.get(&value).cloned().or_else(solved).unwrap_or_default();
        Slot { name: self.program[value].name.to_string(), ty }
    }

    /// The plan of the innermost scope: `steps`, and a step for each node.
    fn body(
        &mut self,
        mut steps: Vec<PlanStep>,
        nodes: &'m [NodeId],
        outputs: &[ValueId],
        types: &SlotTypes,
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan, PrepareError> {
        self.nodes += nodes.len();
        if self.nodes > self.max_nodes {
            return Err(PrepareError::TooManyNodes { limit: self.max_nodes });
        }
        steps.reserve(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            steps.push(self.step(*node, at, types, imports, depth)?);
        }
        let mut results = Vec::with_capacity(outputs.len());
        for value in outputs {
            let unknown = || {
                let value = self.program[*value].name.to_string();
                PrepareError::UnknownValue { node: "the graph".to_owned(), value }
            };
            results.push(self.resolve(*value).ok_or_else(unknown)?);
        }
        let mut plan = self.scopes.pop().unwrap_or_default().plan;
        plan.outputs = results;
        let constant: Set<SlotId> = plan.constants.iter().map(|(slot, _)| *slot).collect();
        plan.defaults = (0..plan.inputs.len()).filter(|at| constant.contains(&plan.inputs[*at])).collect();
        plan.written.steps = steps;
        let (constants, optimized) = fuse::optimize(&mut plan);
        let written = std::mem::take(&mut plan.written.steps);
        let initial = plan.constants.iter().map(|(slot, _)| *slot).chain(plan.initial());
        plan.written = schedule(&plan, written, initial, &Set::default());
        let kept = constants.iter().map(|(slot, _)| *slot);
        let schedule = schedule(&plan, optimized, kept.clone().chain(plan.initial()), &kept.collect());
        plan.optimized = Optimized { constants, schedule, ..Optimized::default() };
        Ok(plan)
    }

    fn step(
        &mut self,
        id: NodeId,
        at: usize,
        types: &SlotTypes,
        imports: &Imports,
        depth: usize,
    ) -> Result<PlanStep, PrepareError> {
        let node = &self.program[id];
        let label = label(self.program, node, at);
        if depth > MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: label, limit: MAX_DEPTH });
        }
        // In a part, the value that a receive reads is on the wire.
        let is_on_wire = self.linked.is_some_and(|linked| linked.wires.is_some());
        let is_receive = is_on_wire && node.is(&Domain::Wire, "Recv");
        let mut inputs = SmallVec::with_capacity(node.inputs.len());
        for value in node.inputs.iter().filter(|_| !is_receive) {
            let Some(value) = value else {
                inputs.push(None);
                continue;
            };
            match self.resolve(*value) {
                Some(slot) => inputs.push(Some(Use { slot, last: false })),
                None => {
                    let value = self.program[*value].name.to_string();
                    return Err(PrepareError::UnknownValue { node: label, value });
                }
            }
        }
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let on_slot = self.linked.and_then(|_| self.facts.slot(id)).map(str::to_owned);
        let info = NodeInfo { label, on_slot, domain: node.domain.name().to_owned(), op: node.op.clone() };
        let action = self.action(id, &info, imports, depth)?;
        let mut outputs = SmallVec::with_capacity(node.outputs.len());
        for output in &node.outputs {
            let slot = output.map(|value| (value, self.slot(value, types)));
            let scope = self.scopes.last_mut();
            outputs.push(scope.zip(slot).map(|(scope, (value, slot))| scope.add_slot(value, slot)));
        }
        Ok(PlanStep { action, inputs, outputs, dead: SmallVec::new(), info: Arc::new(info) })
    }

    /// The attributes of a node, with the attributes of the call instead of references to them.
    fn attributes(&self, node: &'m Node) -> NodeAttributes<'m> {
        let is_reference =
            |attribute: &AttributeProto| attribute.ref_attr_name.as_deref().is_some_and(|it| !it.is_empty());
        let given = self.given.as_ref().filter(|_| node.attributes.iter().any(is_reference));
        let Some(given) = given else {
            let (list, graphs) = (Cow::Borrowed(&*node.attributes), Cow::Borrowed(&*node.graphs));
            return NodeAttributes { list, graphs };
        };
        let (mut list, mut graphs) = (Vec::new(), Vec::new());
        let mut own = node.graphs.iter().copied();
        for attribute in &node.attributes {
            let own: Vec<GraphId> = own.by_ref().take(graph_count(attribute)).collect();
            if !is_reference(attribute) {
                list.push(attribute.clone());
                graphs.extend(own);
            } else if let Some((found, inner)) = given.get(attribute.ref_attr_name.as_str()) {
                list.push(AttributeProto { name: attribute.name.clone(), ..found.clone() });
                graphs.extend(inner);
            }
        }
        NodeAttributes { list: list.into(), graphs: graphs.into() }
    }

    /// Decodes attributes, with tensors from other files.
    fn decode(&self, attributes: &[AttributeProto]) -> Result<Attributes, PrepareError> {
        let mut attributes = attributes.to_vec();
        for attribute in &mut attributes {
            if let Some(tensor) = attribute.t.as_deref_mut()
                && tensor.data_location() == DataLocation::External
            {
                tensor.raw_data = Some(self.external_bytes(tensor, tensor.name())?);
                tensor.data_location = None;
            }
        }
        Ok(Attributes::decode(&attributes)?)
    }

    fn external_bytes(&self, tensor: &TensorProto, name: &str) -> Result<Bytes, PrepareError> {
        (self.external)(tensor).map_err(|reason| PrepareError::ExternalData { name: name.to_owned(), reason })
    }

    fn constant(&self, value: ValueId, tensor: &TensorProto) -> Result<Constant, PrepareError> {
        let is_external = tensor.data_location() == DataLocation::External;
        let external = || self.external_bytes(tensor, &self.program[value].name);
        let raw = if is_external { Some(external()?) } else { tensor.raw_data.clone() };
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
        id: NodeId,
        info: &NodeInfo,
        imports: &Imports,
        depth: usize,
    ) -> Result<Action, PrepareError> {
        let node = &self.program[id];
        let attributes = self.attributes(node);
        if let Some(node) = self.module_node(id, &attributes, info)? {
            return Ok(Action::Module(node));
        }
        if let Some(plan) = self.call(node, &attributes, info, depth)? {
            return Ok(Action::Function(plan));
        }
        let version = imports.get(&node.domain).copied().unwrap_or(1);
        let mut body = |name: &'static str| {
            let missing = || PrepareError::MissingGraph { node: info.label.clone(), attribute: name };
            self.nested(&attributes, name, imports, depth)?.ok_or_else(missing)
        };
        Ok(match (&node.domain, &*info.op) {
            (Domain::Onnx, "If") => {
                Action::If { then_branch: body("then_branch")?, else_branch: body("else_branch")? }
            }
            (Domain::Onnx, "Loop") => Action::Loop(body("body")?),
            (Domain::Onnx, "SequenceMap") => Action::SequenceMap(body("body")?),
            (Domain::Onnx, "Scan") => {
                let body = body("body")?;
                Action::Scan { body, attributes: Arc::new(self.decode(&attributes.list)?), version }
            }
            (Domain::Preview, "FlexAttention") => Action::FlexAttention {
                scores: self.nested(&attributes, "score_mod", imports, depth)?,
                probabilities: self.nested(&attributes, "prob_mod", imports, depth)?,
                attributes: Arc::new(self.decode(&attributes.list)?),
            },
            (domain, op) => match ops::find(domain.name(), op) {
                Some(operator) => Action::Kernel(self.kernel(operator, version, &attributes)?),
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
        id: NodeId,
        attributes: &NodeAttributes<'_>,
        info: &NodeInfo,
    ) -> Result<Option<Arc<ModuleNode>>, PrepareError> {
        let Some(linked) = self.linked else { return Ok(None) };
        let found = module_nodes::resolve(linked, self.program, self.facts, (id, &attributes.list), info)?;
        let Some(found) = found else { return Ok(None) };
        if attributes.has_tensor() || matches!(found, ModuleNode::Send(_) | ModuleNode::Receive(_)) {
            return Ok(Some(Arc::new(found)));
        }
        let key = self.without_names(id, &attributes.list).encode_to_vec();
        Ok(Some(Arc::clone(self.interner.module_nodes.entry(key).or_insert_with(|| Arc::new(found)))))
    }

    /// A message that is the same for nodes that differ in names only.
    fn without_names(&self, id: NodeId, attributes: &[AttributeProto]) -> NodeProto {
        let node = &self.program[id];
        let placeholders = |values: &[Option<ValueId>]| -> Vec<String> {
            values.iter().map(|value| if value.is_some() { "_" } else { "" }.to_owned()).collect()
        };
        let placement = self.facts.placements.get(id).map(|Placement { slot, role, method, .. }| {
            metadata_entry(slot, format!("{role} {}", method.as_deref().unwrap_or_default()))
        });
        NodeProto {
            input: placeholders(&node.inputs),
            output: placeholders(&node.outputs),
            op_type: node.op.as_str().into(),
            domain: node.domain.name().into(),
            overload: node.overload().into(),
            attribute: attributes.to_vec(),
            metadata_props: placement.into_iter().collect(),
            ..NodeProto::default()
        }
    }

    /// An operator with the attributes of a node.
    fn kernel(
        &mut self,
        operator: &'static Operator,
        version: i64,
        attributes: &NodeAttributes<'_>,
    ) -> Result<Arc<Kernel>, PrepareError> {
        let list = &attributes.list;
        if attributes.has_tensor() {
            return Ok(Arc::new(Kernel { operator, version, attributes: self.decode(list)? }));
        }
        let mut encoded = Vec::new();
        for attribute in &**list {
            encoded.extend(attribute.encode_length_delimited_to_vec());
        }
        let key = (operator.domain(), operator.name(), version, encoded);
        if let Some(kernel) = self.interner.kernels.get(&key) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(Kernel { operator, version, attributes: self.decode(list)? });
        self.interner.kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// The plan of a called function. Calls with the same attributes share a plan.
    fn call(
        &mut self,
        node: &Node,
        attributes: &NodeAttributes<'_>,
        info: &NodeInfo,
        depth: usize,
    ) -> Result<Option<Arc<Plan>>, PrepareError> {
        let Some(index) = self.callees.find(self.program, node) else { return Ok(None) };
        let function = &self.program.functions[index];
        let mut given = Given::new();
        for default in function.defaults() {
            given.insert(default.name().to_owned(), (default.clone(), Vec::new()));
        }
        let mut graphs = attributes.graphs.iter().copied();
        for attribute in &*attributes.list {
            let graphs = graphs.by_ref().take(graph_count(attribute)).collect();
            given.insert(attribute.name().to_owned(), (attribute.clone(), graphs));
        }
        let key = InstanceKey::new(index, &given);
        if let Some(plan) = self.instances.get(&key) {
            return Ok(Some(Arc::clone(plan)));
        }
        if depth >= MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: info.label.clone(), limit: MAX_DEPTH });
        }
        let mut all = self.imports.clone();
        all.extend(imports(function.imports()));
        let outer = self.given.replace(given);
        let plan = self.function(function.body, &all, depth + 1);
        self.given = outer;
        let plan = Arc::new(plan?);
        Ok(Some(Arc::clone(self.instances.entry(key).or_insert(plan))))
    }

    fn nested(
        &mut self,
        attributes: &NodeAttributes<'_>,
        name: &str,
        imports: &Imports,
        depth: usize,
    ) -> Result<Option<Arc<Plan>>, PrepareError> {
        let Some(graph) = attributes.graph(name) else { return Ok(None) };
        self.graph(graph, imports, depth + 1).map(|plan| Some(Arc::new(plan)))
    }

    /// The slot of a value in the innermost graph; captures the value in each graph below the one that defines
    /// it.
    fn resolve(&mut self, value: ValueId) -> Option<SlotId> {
        let scopes = self.scopes.iter().enumerate().rev();
        let (defining, mut slot) =
            scopes.filter_map(|(at, scope)| Some((at, *scope.slots.get(&value)?))).next()?;
        if defining + 1 == self.scopes.len() {
            return Some(slot);
        }
        let Slot { name, ty } = self.scopes[defining].plan.slot(slot);
        let (name, ty) = (name.clone(), ty.clone());
        for scope in &mut self.scopes[defining + 1..] {
            let inner = scope.add_slot(value, Slot { name: name.clone(), ty: ty.clone() });
            scope.plan.captures.push((slot, inner));
            slot = inner;
        }
        Some(slot)
    }
}

/// The types of the slots of one graph.
#[derive(Default)]
struct SlotTypes {
    /// Types of ports, which take precedence over solved ones.
    declared: Map<ValueId, ValueType>,
    has_solved: bool,
}

/// Names a node in error messages: by its name, its first output or its position.
fn label(program: &Program, node: &Node, at: usize) -> String {
    let output = node.outputs.iter().copied().flatten().next();
    match (node.name(), output) {
        ("", Some(output)) => format!("`{}`, which makes `{}`", node.op, program[output].name),
        ("", None) => format!("node {at} (`{}`)", node.op),
        (name, _) => format!("node `{name}` (`{}`)", node.op),
    }
}

/// Computes lifetimes and registers. `initial` slots are filled before the first step; `kept` slots are never
/// released.
fn schedule(
    plan: &Plan,
    mut steps: Vec<PlanStep>,
    initial: impl Iterator<Item = SlotId>,
    kept: &Set<SlotId>,
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
fn compute_lifetimes(steps: &mut [PlanStep], mut read_later: Set<SlotId>) {
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
