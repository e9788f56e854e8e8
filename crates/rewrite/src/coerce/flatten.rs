//! A model with functions as one graph, in which every node and value tells where it comes from.
//!
//! Calls are put in as in `expand`, but what crosses the border of a call goes through a node of its own: a value outside and the
//! formal name that stands for it inside can be converted independently of one another. The graph is only read: its
//! names say which *instance* of which function a node belongs to, and where it stands there.
//!
//! **Invariant:** graphs of a function or of the model are counted as the IR is walked, from 0 for the outermost.

use std::collections::HashMap;

use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto,
};
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::program::MAX_NESTING;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, PortDecl};
use typeloom_types::relation::{PortRef, TypeRelation};
use typeloom_types::tree::builtin::TYPE_ANY;

use typeloom_onnx::inline::{Call, Key, key};
use typeloom_onnx::nested;

/// What stands before names that are not the model's own; a model that uses it is not flattened.
const MARK: char = '\u{1}';

/// The domain of [`BORDER`]. Only this file adds nodes of it.
const BORDER_DOMAIN: &str = "\u{1}border";

/// The operator between a value of a caller and the formal name for it in the callee.
static BORDER: AtomicOpDecl = AtomicOpDecl {
    name: "Identity",
    inputs: &[PortDecl::required("value", &TYPE_ANY)],
    outputs: &[PortDecl::required("same", &TYPE_ANY)],
    kind: AtomicOpKind::Pure,
    type_relations: &[TypeRelation::SameType(&[PortRef::Input(0), PortRef::Output(0)])],
};

/// The most nodes of the graph, and calls in it.
const MAX_NODES: usize = 1 << 15;
const MAX_CALLS: usize = 1 << 10;

/// The model's graph, or the body of one of its functions as a graph.
pub(super) struct Place {
    /// As it is written.
    pub(super) graph: GraphProto,
    /// The name of the function; nothing for the model.
    pub(super) name: String,
    /// For each graph but the outermost: the graph that it is in, and by which node.
    pub(super) parents: Vec<Option<(usize, usize)>>,
    /// The version of ONNX's operators.
    pub(super) version: i64,
}

impl Place {
    fn new(graph: GraphProto, name: &str, version: i64) -> Self {
        let mut parents = vec![None];
        let mut number = 0;
        // Graphs are numbered as they are reached; nodes say beforehand which those in them will be.
        let mut open = vec![(&graph, None)];
        while let Some((graph, parent)) = open.pop() {
            if parent.is_some() {
                parents.push(parent);
            }
            let own = number;
            number += 1;
            let nested: Vec<(&GraphProto, Option<(usize, usize)>)> = graph
                .node
                .iter()
                .enumerate()
                .flat_map(|(at, node)| nested::graphs(node).map(move |inner| (inner, Some((own, at)))))
                .collect();
            open.extend(nested.into_iter().rev());
        }
        Self { parents, version, name: name.to_owned(), graph }
    }

    /// The position in `into` of the node in which a node of `graph` stands; nothing where it is not inside.
    pub(super) fn lift(&self, graph: usize, node: usize, into: usize) -> Option<usize> {
        let (mut graph, mut node) = (graph, node);
        while graph != into {
            (graph, node) = self.parents.get(graph).copied().flatten()?;
        }
        Some(node)
    }
}

/// One call, by the way to it; the first is the model itself.
pub(super) struct Instance {
    /// The model's graph, 0, or a function, counted from 1.
    pub(super) place: usize,
    /// The instance that calls it, and the node there: graph and position.
    pub(super) caller: Option<(usize, (usize, usize))>,
}

/// A model as one graph.
pub(super) struct Flat {
    pub(super) model: ModelProto,
    pub(super) places: Vec<Place>,
    pub(super) instances: Vec<Instance>,
}

/// Where a node of the graph comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Origin {
    pub(super) instance: usize,
    pub(super) graph: usize,
    pub(super) node: usize,
    pub(super) role: Role,
}

/// What a node of the graph is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A node of the model or a function.
    Node,
    /// What goes into a call by an input, into an instance.
    In(usize, usize),
    /// What comes out of one by an output.
    Out(usize, usize),
}

impl Origin {
    /// Out of the name of a node.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let (instance, rest) = instance_of(name);
        let (place, role) = match rest.find(['<', '>']) {
            None => (rest, Role::Node),
            Some(at) => {
                let (port, callee) = rest[at + 1..].split_once(':')?;
                let (port, callee) = (port.parse().ok()?, callee.parse().ok()?);
                (
                    &rest[..at],
                    if rest[at..].starts_with('<') {
                        Role::In(port, callee)
                    } else {
                        Role::Out(port, callee)
                    },
                )
            }
        };
        let (graph, node) = place.split_once('.')?;
        Some(Self { instance, graph: graph.parse().ok()?, node: node.parse().ok()?, role })
    }
}

/// The instance that a name belongs to, and the name there.
pub(super) fn instance_of(name: &str) -> (usize, &str) {
    let marked = name.strip_prefix(MARK).and_then(|rest| rest.split_once('/'));
    match marked.and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
        Some(found) => found,
        None => (0, name),
    }
}

/// The body of a function as a graph.
fn as_graph(function: &FunctionProto) -> GraphProto {
    let named = |name: &String| ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() };
    GraphProto {
        node: function.node.clone(),
        input: function.input.iter().map(named).collect(),
        output: function.output.iter().map(named).collect(),
        value_info: function.value_info.clone(),
        ..GraphProto::default()
    }
}

fn imported(imports: &[OperatorSetIdProto], domain: &str) -> Option<i64> {
    let same = |import: &&OperatorSetIdProto| key(import.domain(), "", "") == key(domain, "", "");
    imports.iter().find(same).map(OperatorSetIdProto::version)
}

/// The model as one graph; nothing where it calls no function, is too large, or calls itself.
pub(super) fn flatten(model: &ModelProto) -> Option<Flat> {
    let main = model.graph.as_ref()?;
    let own = imported(&model.opset_import, "").unwrap_or(0);
    let mut places = vec![Place::new(main.clone(), "", own)];
    for function in &model.functions {
        let version = imported(&function.opset_import, "").unwrap_or(own);
        places.push(Place::new(as_graph(function), function.name(), version));
    }
    let marked = |graph: &GraphProto| nested::value_names(graph).iter().any(|name| name.contains(MARK));
    if places.iter().any(|place| marked(&place.graph)) {
        return None;
    }
    let mut functions: HashMap<Key, usize> = HashMap::new();
    for (at, it) in model.functions.iter().enumerate() {
        functions.entry(key(it.domain(), it.name(), it.overload())).or_insert(at);
    }
    let mut imports = model.opset_import.clone();
    let bodies: Vec<FunctionProto> = model
        .functions
        .iter()
        .map(|function| {
            let mut body = as_graph(function);
            mark_versions(&mut body, &function.opset_import, &mut imports, &functions);
            annotate(&mut body);
            FunctionProto { node: body.node, value_info: Vec::new(), ..function.clone() }
        })
        .collect();
    let mut graph = main.clone();
    annotate(&mut graph);
    let mut flattening =
        Flattening { functions, bodies, instances: vec![Instance { place: 0, caller: None }], nodes: 0 };
    let mut fits = Some(());
    nested::each_graph_mut(&mut graph, |graph, depth| {
        let is_bounded = depth <= MAX_NESTING;
        fits = fits.filter(|()| is_bounded).and_then(|()| flattening.graph(graph));
    });
    fits?;
    let instances = flattening.instances;
    if instances.len() < 2 {
        return None;
    }
    let flat =
        ModelProto { graph: Some(graph), functions: Vec::new(), opset_import: imports, ..model.clone() };
    Some(Flat { model: flat, places, instances })
}

/// Puts the place of every node into its name.
fn annotate(graph: &mut GraphProto) {
    let mut number = 0;
    nested::each_graph_mut(graph, |graph, _| {
        graph.name = Some(number.to_string());
        for (at, node) in graph.node.iter_mut().enumerate() {
            node.name = Some(format!("{number}.{at}"));
        }
        number += 1;
    });
}

/// Operators of other versions than the model's get a domain that says so.
fn mark_versions(
    graph: &mut GraphProto,
    own: &[OperatorSetIdProto],
    imports: &mut Vec<OperatorSetIdProto>,
    functions: &HashMap<Key, usize>,
) {
    nested::each_node_mut(graph, |node| {
        if functions.contains_key(&key(node.domain(), node.op_type(), node.overload())) {
            return;
        }
        let Some(version) = imported(own, node.domain()) else { return };
        if imported(imports, node.domain()) == Some(version) {
            return;
        }
        let domain = format!("{MARK}{version}/{}", node.domain());
        if imported(imports, &domain).is_none() {
            imports.push(OperatorSetIdProto {
                domain: Some(domain.clone()),
                version: Some(version),
                ..OperatorSetIdProto::default()
            });
        }
        node.domain = Some(domain);
    });
}

struct Flattening {
    functions: HashMap<Key, usize>,
    bodies: Vec<FunctionProto>,
    instances: Vec<Instance>,
    nodes: usize,
}

impl Flattening {
    /// Puts calls into one graph.
    fn graph(&mut self, graph: &mut GraphProto) -> Option<()> {
        let mut open: Vec<NodeProto> = std::mem::take(&mut graph.node);
        open.reverse();
        while let Some(node) = open.pop() {
            let called = self.functions.get(&key(node.domain(), node.op_type(), node.overload())).copied();
            match called {
                None => {
                    self.nodes += 1;
                    graph.node.push(node);
                }
                Some(function) => self.call(&node, function, &mut open)?,
            }
            if self.nodes + open.len() > MAX_NODES || self.instances.len() > MAX_CALLS {
                return None;
            }
        }
        Some(())
    }

    /// Opens a call: what goes in, the nodes of the function, what comes out.
    fn call(&mut self, node: &NodeProto, function: usize, open: &mut Vec<NodeProto>) -> Option<()> {
        let origin = Origin::parse(node.name())?;
        let mut around = Some(origin.instance);
        while let Some(instance) = around {
            if self.instances[instance].place == function + 1 {
                return None;
            }
            around = self.instances[instance].caller.map(|(caller, _)| caller);
        }
        let callee = self.instances.len();
        let caller = Some((origin.instance, (origin.graph, origin.node)));
        self.instances.push(Instance { place: function + 1, caller });
        let function = &self.bodies[function];
        let prefix = format!("{MARK}{callee}/");
        let site = format!("{MARK}{}/{}.{}", origin.instance, origin.graph, origin.node);
        let given = |at: usize| node.input.get(at).filter(|name| !name.is_empty());
        let missing = function.input.iter().enumerate().filter(|(at, _)| given(*at).is_none());
        let missing = missing.map(|(_, formal)| (formal.clone(), String::new())).collect();
        let call = Call::new(function, node, missing, prefix);
        let outputs = function.output.iter().zip(&node.output).enumerate();
        for (at, (formal, actual)) in outputs.rev().filter(|(_, (_, actual))| !actual.is_empty()) {
            let inner = call.name(formal);
            if !inner.is_empty() {
                open.push(border(&inner, actual, format!("{site}>{at}:{callee}")));
            }
        }
        open.extend(function.node.iter().rev().map(|node| call.instance(node)));
        for (at, formal) in function.input.iter().enumerate().rev() {
            if let Some(actual) = given(at) {
                open.push(border(actual, &call.name(formal), format!("{site}<{at}:{callee}")));
            }
        }
        Some(())
    }
}

fn border(from: &str, to: &str, name: String) -> NodeProto {
    NodeProto {
        op_type: Some("Identity".to_owned()),
        domain: Some(BORDER_DOMAIN.to_owned()),
        input: vec![from.to_owned()],
        output: vec![to.to_owned()],
        name: Some(name),
        ..NodeProto::default()
    }
}

/// The operators of a flattened model.
pub(super) struct Operators<'c>(pub(super) &'c dyn Catalogue);

impl Operators<'_> {
    fn plain(domain: &str) -> &str {
        let marked = domain.strip_prefix(MARK).and_then(|rest| rest.split_once('/'));
        marked.map_or(domain, |(_, domain)| domain)
    }
}

impl Catalogue for Operators<'_> {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        if domain == BORDER_DOMAIN {
            return Lookup::Declared(&BORDER);
        }
        self.0.lookup(Self::plain(domain), name, version)
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        self.0.names(Self::plain(domain))
    }

    fn assumed_version(&self, domain: &str) -> Option<i64> {
        if domain == BORDER_DOMAIN { Some(1) } else { self.0.assumed_version(Self::plain(domain)) }
    }
}
