//! Graphs to plans: names to slots, attributes and initializers to values, and lifetimes.
//!
//! A name that a nested graph does not make is looked for in the graphs around it; each graph on the way down
//! gets a slot that stands for it. What runs a node of a compiled module is read off its stamps, which is the [`Flow`]'s
//! business; nothing is solved or chosen here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use smallvec::SmallVec;
use typeloom_cpu::attributes::{Attributes, kind_of};
use typeloom_cpu::ops::Operator;
use typeloom_cpu::value::Value;
use typeloom_cpu::{decode, ops};
use typeloom_module::names;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::tensor_proto::DataLocation;
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto, ValueInfoProto,
};
use typeloom_onnx::prost::Message as _;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::error::PrepareError;
use crate::flow::Flow;
use crate::functions::{Functions, Key, imports, max_nodes};
use crate::fuse;
use crate::places::Places;
use crate::plan::{About, Action, Constant, Fast, Form, Kernel, Plan, Slot, SlotId, Step, Use};
use crate::session::ExternalData;

/// How deep graphs and functions may be nested.
pub(crate) const MAX_DEPTH: usize = 64;

/// The least bytes of a tensor that is left as it is stored until it is needed.
const LARGE: usize = 1 << 12;

/// The versions of operator sets that nodes refer to, by domain.
pub(crate) type Imports = HashMap<String, i64>;

/// A graph being prepared.
struct Scope<F: Flow> {
    names: HashMap<String, SlotId>,
    proved: HashMap<String, Arc<F::Proved>>,
    plan: Plan<F>,
}

impl<F: Flow> Default for Scope<F> {
    fn default() -> Self {
        Self { names: HashMap::new(), proved: HashMap::new(), plan: Plan::default() }
    }
}

impl<F: Flow> Scope<F> {
    fn slot(&mut self, name: &str) -> SlotId {
        let id = SlotId(u32::try_from(self.plan.slots.len()).unwrap_or(u32::MAX));
        let proved = self.proved.get(name).cloned().unwrap_or_default();
        self.plan.slots.push(Slot { name: name.to_owned(), proved });
        self.names.insert(name.to_owned(), id);
        id
    }

    fn known(&mut self, name: &str) -> SlotId {
        match self.names.get(name) {
            Some(slot) => *slot,
            None => self.slot(name),
        }
    }
}

/// What many nodes and values say alike, once.
struct Alike<F: Flow> {
    /// By the message of the type.
    proved: HashMap<Vec<u8>, Arc<F::Proved>>,
    /// By name, version and attributes as messages.
    kernels: HashMap<(&'static str, i64, Vec<u8>), Arc<Kernel>>,
    /// By what a node says beside its name and those of its values.
    own: HashMap<Vec<u8>, Arc<F::Own>>,
}

impl<F: Flow> Default for Alike<F> {
    fn default() -> Self {
        Self { proved: HashMap::new(), kernels: HashMap::new(), own: HashMap::new() }
    }
}

impl<F: Flow> Alike<F> {
    /// What is said of the values of a graph, by name.
    fn prove<'a>(
        &mut self,
        infos: impl Iterator<Item = &'a ValueInfoProto>,
    ) -> HashMap<String, Arc<F::Proved>> {
        let mut named = HashMap::new();
        for info in infos {
            if let Some(ty) = &info.r#type {
                let proved = self.proved.entry(ty.encode_to_vec()).or_insert_with(|| Arc::new(F::proved(ty)));
                named.insert(info.name().to_owned(), Arc::clone(proved));
            }
        }
        named
    }
}

/// What is prepared from the top down.
pub(crate) struct Preparation<'m, F: Flow> {
    /// What nodes of the flow's own are linked with.
    pub(crate) linked: F::Linked<'m>,
    functions: Functions<'m>,
    plans: HashMap<Key, Arc<Plan<F>>>,
    alike: Alike<F>,
    imports: Imports,
    external: &'m ExternalData<'m>,
    scopes: Vec<Scope<F>>,
    /// How many nodes there are in all plans, functions unfolded.
    nodes: usize,
    max_nodes: usize,
}

impl<'m, F: Flow> Preparation<'m, F> {
    pub(crate) fn new(model: &'m ModelProto, linked: F::Linked<'m>, external: &'m ExternalData<'m>) -> Self {
        Self {
            linked,
            functions: Functions::of(model),
            plans: HashMap::new(),
            alike: Alike::default(),
            imports: imports(&model.opset_import),
            external,
            scopes: Vec::new(),
            nodes: 0,
            max_nodes: max_nodes(model),
        }
    }

    /// The plan of the main graph.
    pub(crate) fn main(&mut self, graph: &GraphProto) -> Result<Plan<F>, F::Refused> {
        let imports = self.imports.clone();
        self.graph(graph, &imports, 0)
    }

    /// The plan of a part, as it was written. Its values live until the run ends: what depends on messages runs more than once.
    pub(crate) fn part(&mut self, part: &FunctionProto) -> Result<Plan<F>, F::Refused> {
        let mut all = self.imports.clone();
        all.extend(imports(&part.opset_import));
        let mut plan = self.function(&part.input, &part.node, &part.output, &part.value_info, &all, 0)?;
        plan.fast = Fast::default();
        plan.written.places = Places::apart(plan.slots.len());
        for step in &mut plan.written.steps {
            step.inputs.iter_mut().flatten().for_each(|used| used.last = false);
            step.dead.clear();
        }
        Ok(plan)
    }

    /// A plan for a graph; `depth` counts graphs and functions around it.
    fn graph(&mut self, graph: &GraphProto, imports: &Imports, depth: usize) -> Result<Plan<F>, F::Refused> {
        let infos = graph.value_info.iter().chain(&graph.output).chain(&graph.input);
        let mut scope = Scope { proved: self.alike.prove(infos), ..Scope::default() };
        scope.plan.inputs = graph.input.iter().map(|input| scope.slot(input.name())).collect();
        for tensor in &graph.initializer {
            let slot = scope.known(tensor.name());
            scope.plan.constants.push((slot, self.stored(tensor)?));
        }
        for sparse in &graph.sparse_initializer {
            let name = sparse.values.as_ref().map_or("", |values| values.name());
            let slot = scope.known(name);
            let value = decode::sparse(sparse).map_err(PrepareError::from)?;
            scope.plan.constants.push((slot, Constant::Ready(Value::Tensor(value))));
        }
        let outputs: Vec<&str> = graph.output.iter().map(ValueInfoProto::name).collect();
        self.body(scope, &graph.node, &outputs, imports, depth)
    }

    /// A plan for the body of a function: it sees nothing of where it is called.
    fn function(
        &mut self,
        inputs: &[String],
        nodes: &[NodeProto],
        outputs: &[String],
        infos: &[ValueInfoProto],
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan<F>, F::Refused> {
        let outer = std::mem::take(&mut self.scopes);
        let mut scope = Scope { proved: self.alike.prove(infos.iter()), ..Scope::default() };
        scope.plan.inputs = inputs.iter().map(|name| scope.slot(name)).collect();
        let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
        let plan = self.body(scope, nodes, &outputs, imports, depth);
        self.scopes = outer;
        plan
    }

    fn body(
        &mut self,
        scope: Scope<F>,
        nodes: &[NodeProto],
        outputs: &[&str],
        imports: &Imports,
        depth: usize,
    ) -> Result<Plan<F>, F::Refused> {
        self.nodes += nodes.len();
        if self.nodes > self.max_nodes {
            return Err(PrepareError::TooManyNodes { limit: self.max_nodes }.into());
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
        let Scope { mut plan, names: _, proved: _ } = self.scopes.pop().unwrap_or_default();
        plan.outputs = results;
        let constant: HashSet<SlotId> = plan.constants.iter().map(|(slot, _)| *slot).collect();
        plan.defaults = (0..plan.inputs.len()).filter(|at| constant.contains(&plan.inputs[*at])).collect();
        plan.written.steps = steps;
        plan.fast = fuse::fast(&mut plan);
        let (written, fast) = (std::mem::take(&mut plan.written), std::mem::take(&mut plan.fast));
        let constants = plan.constants.iter().map(|(slot, _)| *slot);
        plan.written = form(&plan, written.steps, constants.chain(plan.given()), &HashSet::new());
        let kept = fast.constants.iter().map(|(slot, _)| *slot);
        let form = form(&plan, fast.form.steps, kept.clone().chain(plan.given()), &kept.collect());
        plan.fast = Fast { constants: fast.constants, form, spare: fast.spare };
        Ok(plan)
    }

    fn step(
        &mut self,
        node: &NodeProto,
        at: usize,
        imports: &Imports,
        depth: usize,
    ) -> Result<Step<F>, F::Refused> {
        let words = match (node.name(), node.output.iter().find(|output| !output.is_empty())) {
            ("", Some(output)) => format!("`{}`, which makes `{output}`", node.op_type()),
            ("", None) => format!("node {at} (`{}`)", node.op_type()),
            (name, _) => format!("node `{name}` (`{}`)", node.op_type()),
        };
        if depth > MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: words, limit: MAX_DEPTH }.into());
        }
        let mut inputs = SmallVec::with_capacity(node.input.len());
        for name in &node.input {
            if name.is_empty() {
                inputs.push(None);
                continue;
            }
            match self.resolve(name) {
                Some(slot) => inputs.push(Some(Use { slot, last: false })),
                None => {
                    return Err(PrepareError::UnknownValue { node: words, value: name.clone() }.into());
                }
            }
        }
        while inputs.last().is_some_and(Option::is_none) {
            inputs.pop();
        }
        let domain = if node.domain() == "ai.onnx" { "" } else { node.domain() };
        let on = stamp(node, names::SLOT_ID).map(str::to_owned);
        let about = About { node: words, on, domain: domain.to_owned(), op: node.op_type().to_owned() };
        let action = self.action(node, &about, imports, depth)?;
        let outputs = match self.scopes.last_mut() {
            Some(scope) => {
                node.output.iter().map(|name| (!name.is_empty()).then(|| scope.slot(name))).collect()
            }
            None => SmallVec::new(),
        };
        Ok(Step { action, inputs, outputs, dead: SmallVec::new(), about: Arc::new(about) })
    }

    /// The attributes of a node, decoded.
    pub(crate) fn attributes(&self, node: &NodeProto) -> Result<Attributes, PrepareError> {
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
        about: &About,
        imports: &Imports,
        depth: usize,
    ) -> Result<Action<F>, F::Refused> {
        if let Some(own) = F::own(self, node, about)? {
            // What runs a node is the same for all that say the same, whatever they read.
            if node.attribute.iter().any(|attribute| attribute.t.is_some()) {
                return Ok(Action::Own(Arc::new(own)));
            }
            let shared =
                self.alike.own.entry(nameless(node).encode_to_vec()).or_insert_with(|| Arc::new(own));
            return Ok(Action::Own(Arc::clone(shared)));
        }
        if let Some(plan) = self.call(node, about, depth)? {
            return Ok(Action::Function(plan));
        }
        let version = imports.get(&about.domain).copied().unwrap_or(1);
        let mut body = |name: &'static str| {
            let missing = || PrepareError::MissingGraph { node: about.node.clone(), attribute: name };
            let plan = self.nested(node, name, imports, depth)?;
            plan.ok_or_else(|| F::Refused::from(missing()))
        };
        Ok(match (&*about.domain, &*about.op) {
            ("", "If") => Action::If { then_branch: body("then_branch")?, else_branch: body("else_branch")? },
            ("", "Loop") => Action::Loop(body("body")?),
            ("", "SequenceMap") => Action::SequenceMap(body("body")?),
            ("", "Scan") => {
                let body = body("body")?;
                Action::Scan { body, attributes: Arc::new(self.attributes(node)?), version }
            }
            ("ai.onnx.preview", "FlexAttention") => Action::Flex {
                scores: self.nested(node, "score_mod", imports, depth)?,
                probabilities: self.nested(node, "prob_mod", imports, depth)?,
                attributes: Arc::new(self.attributes(node)?),
            },
            (domain, op) => match ops::find(domain, op) {
                Some(operator) => Action::Kernel(self.kernel(operator, version, node)?),
                None => {
                    F::unknown(about)?;
                    Action::Unknown
                }
            },
        })
    }

    /// An operator with the attributes of a node.
    fn kernel(
        &mut self,
        operator: &'static Operator,
        version: i64,
        node: &NodeProto,
    ) -> Result<Arc<Kernel>, PrepareError> {
        // A tensor can be large, and can lie in another file.
        if node.attribute.iter().any(|attribute| attribute.t.is_some()) {
            return Ok(Arc::new(Kernel { operator, version, attributes: self.attributes(node)? }));
        }
        let mut message = Vec::new();
        for attribute in &node.attribute {
            message.extend(attribute.encode_length_delimited_to_vec());
        }
        let key = (operator.name(), version, message);
        if let Some(kernel) = self.alike.kernels.get(&key) {
            return Ok(Arc::clone(kernel));
        }
        let kernel = Arc::new(Kernel { operator, version, attributes: self.attributes(node)? });
        self.alike.kernels.insert(key, Arc::clone(&kernel));
        Ok(kernel)
    }

    /// The plan of a function of the model, where the node calls one: one for all calls with the same attributes.
    fn call(
        &mut self,
        node: &NodeProto,
        about: &About,
        depth: usize,
    ) -> Result<Option<Arc<Plan<F>>>, F::Refused> {
        let Some(call) = self.functions.call(&about.domain, node) else { return Ok(None) };
        if let Some(plan) = self.plans.get(&call.key) {
            return Ok(Some(Arc::clone(plan)));
        }
        if depth >= MAX_DEPTH {
            return Err(PrepareError::TooDeep { node: about.node.clone(), limit: MAX_DEPTH }.into());
        }
        let function = call.function;
        // Its types are those of no one call.
        let infos = &[];
        let plan =
            self.function(&function.input, &call.nodes, &function.output, infos, &call.imports, depth + 1)?;
        Ok(Some(Arc::clone(self.plans.entry(call.key).or_insert_with(|| Arc::new(plan)))))
    }

    fn nested(
        &mut self,
        node: &NodeProto,
        name: &str,
        imports: &Imports,
        depth: usize,
    ) -> Result<Option<Arc<Plan<F>>>, F::Refused> {
        let found = node
            .attribute
            .iter()
            .find(|attribute| attribute.name() == name && kind_of(attribute) == AttributeType::Graph);
        let Some(graph) = found.and_then(|attribute| attribute.g.as_deref()) else { return Ok(None) };
        self.graph(graph, imports, depth + 1).map(|plan| Some(Arc::new(plan)))
    }

    /// The slot in the innermost graph that stands for a name.
    fn resolve(&mut self, name: &str) -> Option<SlotId> {
        let home = self.scopes.iter().rposition(|scope| scope.names.contains_key(name))?;
        let mut slot = self.scopes[home].names[name];
        let proved = Arc::clone(&self.scopes[home].plan.slot(slot).proved);
        for scope in &mut self.scopes[home + 1..] {
            scope.proved.insert(name.to_owned(), Arc::clone(&proved));
            let inner = scope.slot(name);
            scope.plan.captures.push((slot, inner));
            slot = inner;
        }
        Some(slot)
    }
}

/// A node without names of its own: of its values is said which there are, and of what is stamped on it what it runs on.
fn nameless(node: &NodeProto) -> NodeProto {
    let said = |names: &[String]| -> Vec<String> {
        names.iter().map(|name| if name.is_empty() { "" } else { "_" }.to_owned()).collect()
    };
    let resolving = [names::SLOT_ID, names::REQUIRED_TRAIT, names::DISPATCH];
    let is_said = |entry: &&StringStringEntryProto| resolving.contains(&entry.key());
    NodeProto {
        input: said(&node.input),
        output: said(&node.output),
        op_type: node.op_type.clone(),
        domain: node.domain.clone(),
        overload: node.overload.clone(),
        attribute: node.attribute.clone(),
        metadata_props: node.metadata_props.iter().filter(is_said).cloned().collect(),
        ..NodeProto::default()
    }
}

/// What a pass of the compiler stamped on a node.
pub(crate) fn stamp<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    node.metadata_props.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

/// Steps with lifetimes and places. `given` is there before they run; what is `kept` is there afterwards too.
fn form<F: Flow>(
    plan: &Plan<F>,
    mut steps: Vec<Step<F>>,
    given: impl Iterator<Item = SlotId>,
    kept: &HashSet<SlotId>,
) -> Form<F> {
    lifetimes(&mut steps, kept.iter().chain(&plan.outputs).copied().collect());
    let mut seen = kept.clone();
    let outputs = plan.outputs.iter().rev();
    // The last time that a value is given out it need not be shared.
    let mut results: Vec<Use> = outputs.map(|slot| Use { slot: *slot, last: seen.insert(*slot) }).collect();
    results.reverse();
    let places = Places::shared(plan.slots.len(), given, &steps);
    Form { steps, results, places }
}

/// Marks the last use of every value that nobody has seen.
fn lifetimes<F: Flow>(steps: &mut [Step<F>], mut seen: HashSet<SlotId>) {
    for step in steps.iter_mut().rev() {
        let mut dead = SmallVec::new();
        // What a graph inside reads must live until the step is done.
        for slot in step.action.bodies().flat_map(|body| &body.captures).map(|(outer, _)| *outer) {
            if seen.insert(slot) {
                dead.push(slot);
            }
        }
        for used in step.inputs.iter_mut().rev().flatten() {
            used.last = seen.insert(used.slot);
        }
        dead.extend(step.outputs.iter().flatten().filter(|slot| !seen.contains(slot)).copied());
        step.dead = dead;
    }
}
