//! Builds a scene from a checked model.
//!
//! [`scene`] copies what a picture can show out of the solve: after it, the model can be dropped.
//!
//! ```text
//! g (float[N, 2] x) => (y) <float[2, 3] w = {..}> {
//!     b = Constant <value_float = 1.0> ()  a = MatMul (x, w)  y = Add (a, b)
//! }
//!
//! nodes     MatMul, Add
//! values    x: an input; w and b: stored; a and y: outputs of nodes
//! groups    the main graph, with both nodes
//! ```
//!
//! [`Builder::body`] adds one body, the main graph or a function. All its values come first, so a value of
//! the solver becomes the value of the scene at a fixed distance. Then the graphs of the body are visited,
//! outer graphs before nested ones. The nodes of a graph are arranged in groups by their scopes (`tree`), and
//! numbered in the order of the tree. Nodes of nested graphs refer to values around them, so captures are
//! added last.
//!
//! **Invariant:** the nodes of each group are a contiguous range, and so are the values of each body.
//!
//! **Invariant:** a `Constant` node becomes a stored value only if it has no inputs and is ONNX's own
//! operator. If two nodes define one value, the first one makes it, as in the solver.
//!
//! **Limits:** a function has one group for all its calls, with the types that the calls have in common, and
//! only if the check kept them. Causes exist for values of the main graph, and only if the check had a trace.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use typeloom_onnx::domain::canonical;
use typeloom_solver::diagnostic::{self, Diagnostic, NextCause, SourceLine, graph_path, next_causes};
use typeloom_solver::model::Checked;
use typeloom_solver::model::bodies::SolvedBody;
use typeloom_solver::program::{self, Body, BodySource, DeclarationKind, GraphId, Origin, StepId, StepKind};
use typeloom_solver::solution::Type;

use super::about::{self, Sizes, Symbols};
use super::derive::complete;
use super::marks::{Sites, marks};
use super::solved::Solved;
use super::tree::{self, position};
use super::{
    Cause, Change, Evidence, Group, GroupId, GroupKind, MAX_ELEMENTS, Maker, Node, NodeId, Operator,
    OperatorId, RuleId, Scene, TypeId, Value, ValueId, attributes, scopes,
};

/// The scene of a checked model. The diagnostics are attached in their order.
///
/// Values have causes if the check had a [trace](typeloom_solver::model::Options::trace). Functions have
/// groups if the check kept their types, see
/// [`Options::functions`](typeloom_solver::model::Options::functions).
#[must_use]
pub fn scene(checked: &mut Checked<'_>, diagnostics: &[Diagnostic]) -> Scene {
    let mut builder = Builder {
        checked,
        scene: Scene::default(),
        operators: HashMap::new(),
        solved: Solved::default(),
        sites: Sites::default(),
        calls: Vec::new(),
        symbols: Symbols::default(),
        sizes: Sizes::default(),
    };
    builder.bodies();
    let Builder { mut scene, solved, sites, symbols, sizes, checked, .. } = builder;
    solved.finish(&mut scene);
    scene.about = about::of_model(checked, symbols, sizes);
    scene.marks = marks(&scene, &sites, diagnostics);
    complete(&mut scene);
    scene
}

/// The domain, name and overload of a function.
type FunctionKey<'a> = (&'a str, &'a str, &'a str);

struct Builder<'c, 'a> {
    checked: &'c mut Checked<'a>,
    scene: Scene,
    operators: HashMap<(&'a str, &'a str), OperatorId>,
    solved: Solved,
    sites: Sites,
    calls: Vec<(NodeId, FunctionKey<'a>)>,
    symbols: Symbols,
    sizes: Sizes,
}

/// The origin of the types of a body.
enum Types<'t, 'a> {
    /// The types of the main graph.
    Main,
    /// The types of the only solve of a function.
    Solved(&'t SolvedBody<'a>),
    /// The types common to all calls of a function.
    Common(&'t [Type]),
}

impl<'a> Builder<'_, 'a> {
    fn bodies(&mut self) {
        let solved = self.checked.bodies();
        let mut functions: Vec<(usize, Vec<&SolvedBody<'a>>)> = Vec::new();
        let mut position_of: HashMap<usize, usize> = HashMap::new();
        for body in &solved {
            match body.body.source() {
                _ if body.is_main() => {
                    self.body(&body.body, &Types::Main, None);
                }
                BodySource::Main(_) => {}
                BodySource::Function(view) => {
                    let offset = view.offset();
                    let position = *position_of.entry(offset).or_insert(functions.len());
                    if position == functions.len() {
                        functions.push((offset, Vec::new()));
                    }
                    functions[position].1.push(body);
                }
            }
        }
        if functions.is_empty() {
            return;
        }
        let common = self.checked.function_types();
        let mut common_of = HashMap::new();
        for function in &common {
            if let BodySource::Function(view) = function.body.source() {
                common_of.entry(view.offset()).or_insert(function);
            }
        }
        let mut known: HashMap<FunctionKey<'a>, GroupId> = HashMap::new();
        for (offset, bodies) in &functions {
            let body = &bodies[0].body;
            let BodySource::Function(view) = body.source() else { continue };
            let Ok(key) = function_key(view) else { continue };
            let types = match (&bodies[..], common_of.get(offset)) {
                ([only], _) => Types::Solved(only),
                (_, Some(common)) => Types::Common(&common.types),
                (_, None) => continue,
            };
            let name = view.domain().ok().filter(|domain| !domain.is_empty());
            let label = name.map_or_else(|| key.1.to_owned(), |domain| format!("{domain}.{}", key.1));
            let group = self.body(body, &types, Some(label));
            self.scene.functions.push(group);
            known.insert(key, group);
        }
        for (node, key) in std::mem::take(&mut self.calls) {
            self.scene.nodes[node.index()].callee = known.get(&key).copied();
        }
    }

    /// Adds the graphs of a body; returns the group of the outermost.
    fn body(&mut self, body: &Arc<Body<'a>>, types: &Types<'_, 'a>, function: Option<String>) -> GroupId {
        let outermost = GroupId::new(self.scene.groups.len());
        let first_value = self.scene.values.len();
        let scene_value = |value: program::ValueId| ValueId::new(first_value + value.index());
        self.values(body, types, outermost);
        let steps = steps_by_graph(body);
        let mut node_of: Vec<Option<NodeId>> = vec![None; steps.count];
        let mut graphs = vec![(body.root(), None)];
        let mut next = 0;
        while let Some((graph, owner)) = graphs.get(next).copied() {
            next += 1;
            let root = self.root(body, graph, owner, function.as_deref());
            self.sites.add_graph(function.clone(), graph_path(body, graph).to_string(), root);
            let listed = body.graph(graph);
            // Up to IR version 3, stored tensors are inputs too.
            let inputs = listed.inputs.iter().copied().map(scene_value);
            let inputs = inputs.filter(|input| self.scene.value(*input).maker != Maker::Stored).collect();
            self.scene.groups[root.index()].inputs = inputs;
            self.scene.groups[root.index()].outputs =
                listed.outputs.iter().copied().map(scene_value).collect();
            for output in &listed.outputs {
                self.scene.values[scene_value(*output).index()].is_output = true;
            }
            for value in steps.values_of(graph) {
                self.scene.values[scene_value(*value).index()].graph = root;
            }
            let (mut shown, mut scopes) = (Vec::new(), Vec::new());
            for step in steps.of(graph) {
                let record = body.step(*step);
                let stored = body.outputs(body.last_step(*step)).iter().flatten().next();
                if let Some(value) = stored.filter(|_| self.is_constant(body, *step)) {
                    let value = scene_value(*value);
                    self.scene.values[value.index()].maker = Maker::Stored;
                    self.sizes.constants += 1;
                    self.scene.values[value.index()].preview =
                        attributes::of_constant(record.node).map(|elements| self.solved.stored(elements));
                    self.sites.add_value(root, record.position, value);
                    continue;
                }
                scopes.push(scopes::of_node(record.node, record.node.name().unwrap_or_default()));
                shown.push(*step);
            }
            let first = self.scene.nodes.len();
            let order = tree::arrange(&mut self.scene.groups, root, first, &scopes);
            for (old, group, slot) in order {
                let step = shown[old];
                let id = self.node(body, step, (group, slot), &scene_value);
                node_of[step.index()] = Some(id);
                self.sites.add_node(root, body.step(step).position, id);
                graphs.extend(body.graphs_of(step).map(|(inner, _)| (inner, Some(id))));
            }
        }
        self.captures(body, &node_of, &scene_value);
        if matches!(types, Types::Main) {
            self.causes(first_value, &node_of, &scene_value);
        }
        outermost
    }

    /// Adds the values of a body.
    fn values(&mut self, body: &Body<'a>, types: &Types<'_, 'a>, graph: GroupId) {
        for value in body.values() {
            if let Some(at) = body.value(value).origin.initializer() {
                let Sizes { initializers, parameters, .. } = &mut self.sizes;
                *initializers += 1;
                *parameters = parameters.saturating_add(attributes::count(body.initializer(at)));
            }
            let (ty, evidence) = self.type_of(types, value);
            let (maker, stored) = match body.value(value).origin {
                Origin::Input | Origin::InputWithDefault(_) => (Maker::Input, None),
                Origin::Initializer(at) => (Maker::Stored, attributes::of_initializer(body.initializer(at))),
                // Set with the node.
                Origin::Step(_) | Origin::Undefined => (Maker::Undefined, None),
            };
            let computed = match types {
                Types::Main if stored.is_none() => self.checked.elements(value, MAX_ELEMENTS),
                Types::Main | Types::Solved(_) | Types::Common(_) => None,
            };
            let stored = stored.map(|elements| self.solved.stored(elements));
            let computed = computed.map(|ints| self.solved.computed(self.checked.dims(), &ints));
            self.scene.values.push(Value {
                name: body.value_name(value).to_owned(),
                ty,
                evidence,
                graph,
                maker,
                is_output: false,
                preview: stored.or(computed),
                cause: None,
                marks: Vec::new(),
                change: Change::Same,
                old_type: None,
                old_name: None,
            });
        }
    }

    /// The type of the next value of the scene.
    fn type_of(&mut self, types: &Types<'_, 'a>, value: program::ValueId) -> (TypeId, Evidence) {
        let Self { checked, solved, symbols, .. } = self;
        let (converted, is_assumed) = match types {
            Types::Main => {
                let id = ValueId::new(self.scene.values.len());
                (solved.value(checked, symbols, value, id), checked.is_assumed(value))
            }
            Types::Solved(body) => {
                let ty = checked.type_within(body, value);
                (solved.ty(checked, &ty), false)
            }
            Types::Common(types) => (solved.ty(checked, &types[value.index()]), false),
        };
        let evidence = match (converted.is_complete, is_assumed) {
            (_, true) => Evidence::Assumed,
            (true, false) => Evidence::Proven,
            (false, false) => Evidence::Incomplete,
        };
        (converted.ty, evidence)
    }

    /// Adds the root group of a graph.
    fn root(
        &mut self,
        body: &Body<'a>,
        graph: GraphId,
        owner: Option<NodeId>,
        function: Option<&str>,
    ) -> GroupId {
        let id = GroupId::new(self.scene.groups.len());
        let (kind, label, parent) = match (owner, body.graph(graph).owner) {
            (Some(node), Some(by)) => {
                let at = by.position.map(|at| format!("[{at}]")).unwrap_or_default();
                self.scene.nodes[node.index()].bodies.push(id);
                let parent = self.scene.nodes[node.index()].group;
                (GroupKind::Body { node }, format!("{}{at}", by.attribute), Some(parent))
            }
            (_, _) => match function {
                Some(name) => (GroupKind::Function, name.to_owned(), None),
                None => (GroupKind::Main, String::new(), None),
            },
        };
        self.scene.groups.push(Group { kind, label, parent, ..Group::default() });
        id
    }

    /// Whether a node is a `Constant` without references to attributes of a function.
    fn is_constant(&self, body: &Body<'a>, step: StepId) -> bool {
        body.op_name(step) == "Constant"
            && body.inputs(step).is_empty()
            && self.checked.domain_of(body, step).is_empty()
            && !self.checked.is_call(body, step)
    }

    fn node(
        &mut self,
        body: &Body<'a>,
        step: StepId,
        (group, slot): (GroupId, u32),
        scene_value: &impl Fn(program::ValueId) -> ValueId,
    ) -> NodeId {
        let record = body.step(step);
        let id = NodeId::new(self.scene.nodes.len());
        let (domain, name) = (self.checked.domain_of(body, step), body.op_name(step));
        let operator = *self.operators.entry((domain, name)).or_insert_with(|| {
            self.scene.operators.push(Operator { domain: domain.to_owned(), name: name.to_owned() });
            OperatorId::new(self.scene.operators.len() - 1)
        });
        let ports = |values: &[Option<program::ValueId>]| {
            values.iter().map(|value| value.map(scene_value)).collect::<Vec<_>>()
        };
        let outputs = ports(body.outputs(body.last_step(step)));
        for (at, output) in outputs.iter().enumerate() {
            let Some(output) = output else { continue };
            // Of two definitions of a value, the solver uses the first.
            let value = &mut self.scene.values[output.index()];
            if value.maker == Maker::Undefined {
                value.maker = Maker::Node { node: id, output: position(at) };
            }
        }
        if self.checked.is_call(body, step) {
            self.calls.push((id, (domain, name, record.node.overload().unwrap_or_default())));
        }
        self.scene.nodes.push(Node {
            operator,
            name: record.node.name().unwrap_or_default().to_owned(),
            position: record.position,
            group,
            slot,
            attributes: attributes::of_node(record.node),
            inputs: ports(body.inputs(step)),
            outputs,
            captures: Vec::new(),
            bodies: Vec::new(),
            callee: None,
            source: SourceLine::of_node(record.node).map(Box::new),
            marks: Vec::new(),
            change: Change::Same,
            differences: Vec::new(),
            old_reads: Vec::new(),
        });
        id
    }

    /// Sets the causes of the values of the main graph.
    fn causes(
        &mut self,
        first_value: usize,
        node_of: &[Option<NodeId>],
        scene_value: &impl Fn(program::ValueId) -> ValueId,
    ) {
        let mut rules: HashMap<&'static str, RuleId> = HashMap::new();
        let scene = &mut self.scene;
        for (at, cause) in next_causes(self.checked).into_iter().enumerate() {
            let mut rule_id = |rule: &'static str| {
                *rules.entry(rule).or_insert_with(|| {
                    scene.rules.push(rule.to_owned());
                    RuleId::new(scene.rules.len() - 1)
                })
            };
            let node = |step: StepId| node_of.get(step.index()).copied().flatten();
            scene.values[first_value + at].cause = match cause {
                None => None,
                Some(NextCause::Tie { step, rule, next }) => {
                    node(step).map(|node| Cause::Tie { node, rule: rule_id(rule), next: scene_value(next) })
                }
                Some(NextCause::End(end)) => Some(match end {
                    diagnostic::Cause::Rule { step, rule } => {
                        Cause::Rule { node: node(step), rule: rule_id(rule) }
                    }
                    diagnostic::Cause::Declared(DeclarationKind::Input) => Cause::Input,
                    diagnostic::Cause::Declared(DeclarationKind::Output | DeclarationKind::Value) => {
                        Cause::Declared
                    }
                    diagnostic::Cause::Initializer => Cause::Stored,
                    diagnostic::Cause::Seed => Cause::Given,
                    diagnostic::Cause::Argument => Cause::Argument,
                }),
            };
        }
    }

    /// Lists the values of surrounding graphs that nested graphs read, at every node between the graph of the
    /// value and the read.
    fn captures(
        &mut self,
        body: &Body<'a>,
        node_of: &[Option<NodeId>],
        scene_value: &impl Fn(program::ValueId) -> ValueId,
    ) {
        let mut known: HashSet<(StepId, program::ValueId)> = HashSet::new();
        let scene = &mut self.scene;
        let mut read = |graph: GraphId, value: program::ValueId| {
            let own = body.value(value).graph;
            let captured = scene_value(value);
            if own == graph || scene.value(captured).maker == Maker::Stored {
                return;
            }
            let mut at = graph;
            while at != own
                && let Some(owner) = body.graph(at).owner
                && known.insert((owner.step, value))
            {
                if let Some(node) = node_of[owner.step.index()] {
                    scene.nodes[node.index()].captures.push(captured);
                }
                at = body.step(owner.step).graph;
            }
        };
        for step in (0..node_of.len()).map(StepId::new) {
            let record = body.step(step);
            if matches!(record.kind, StepKind::Node | StepKind::Enter(_)) {
                body.inputs(step).iter().flatten().for_each(|value| read(record.graph, *value));
            }
            for (inner, graph) in body.graphs_of(step) {
                graph.outputs.iter().for_each(|value| read(inner, *value));
            }
        }
    }
}

fn function_key(
    view: typeloom_onnx::view::FunctionView<'_>,
) -> Result<FunctionKey<'_>, typeloom_onnx::DecodeError> {
    Ok((canonical(view.domain()?), view.name()?, view.overload()?))
}

/// The nodes and values of each graph of a body.
struct Steps {
    count: usize,
    steps: Vec<Vec<StepId>>,
    values: Vec<Vec<program::ValueId>>,
}

impl Steps {
    fn of(&self, graph: GraphId) -> &[StepId] {
        self.steps.get(graph.index()).map_or(&[], Vec::as_slice)
    }

    fn values_of(&self, graph: GraphId) -> &[program::ValueId] {
        self.values.get(graph.index()).map_or(&[], Vec::as_slice)
    }
}

/// Sorts the nodes of a body by graph and position, by their first steps.
fn steps_by_graph(body: &Body<'_>) -> Steps {
    let (from, to) = body.graph(body.root()).steps;
    let mut found = Steps { count: to, steps: Vec::new(), values: Vec::new() };
    for step in (from..to).map(StepId::new) {
        let record = body.step(step);
        if matches!(record.kind, StepKind::Exit(_)) {
            continue;
        }
        let at = record.graph.index();
        if found.steps.len() <= at {
            found.steps.resize_with(at + 1, Vec::new);
        }
        found.steps[at].push(step);
    }
    for steps in &mut found.steps {
        steps.sort_by_key(|step| body.step(*step).position);
    }
    for value in body.values() {
        let at = body.value(value).graph.index();
        if found.values.len() <= at {
            found.values.resize_with(at + 1, Vec::new);
        }
        found.values[at].push(value);
    }
    found
}
