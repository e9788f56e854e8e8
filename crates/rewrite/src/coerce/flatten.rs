//! Inlining of all calls of a model into one graph, with the origin of every node.
//!
//! Every call has separate classes, so the cost of a conversion in a body is known for each call. In contrast
//! to `expand` of the compiler, a border node separates each argument from the formal name in the callee, so
//! both can be converted independently. The flattened model is only checked, never written.
//!
//! The names of a call's values start with a prefix that is unique to the call. Operators of another version
//! than the model imports are moved to a domain per version, which [`VersionedCatalogue`] resolves.

use std::collections::{BTreeMap, HashMap};

use typeloom_onnx::inline::{self, Key, key};
use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, opset_import,
};
use typeloom_onnx::nested;
use typeloom_onnx::prost::Message as _;
use typeloom_solver::catalogue::{Catalogue, Lookup};
use typeloom_solver::program::{GraphId, MAX_NESTING};
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, PortDecl};
use typeloom_types::relation::{PortRef, TypeRelation};
use typeloom_types::tree::builtin::TYPE_ANY;

use super::layout::{BodyId, Layout, NodeId};
use super::problem::{BodyCalls, Call, CallId};
use crate::names::Names;

/// The first character of generated prefixes and domains. Models with names that contain it are not
/// flattened.
const MARK: char = '\u{1}';

/// The domain of [`BORDER`]. Only this module adds nodes of it.
const BORDER_DOMAIN: &str = "\u{1}border";

/// The operator between a value of a caller and the formal name for it in the callee.
static BORDER: AtomicOpDecl = AtomicOpDecl {
    name: "Identity",
    inputs: &[PortDecl::required("value", &TYPE_ANY)],
    outputs: &[PortDecl::required("same", &TYPE_ANY)],
    kind: AtomicOpKind::Pure,
    type_relations: &[TypeRelation::SameType(&[PortRef::Input(0), PortRef::Output(0)])],
};

/// The maximum numbers of nodes of a flattened model and of calls in it.
const MAX_NODES: usize = 1 << 15;
const MAX_CALLS: usize = 1 << 10;

/// A model with all calls inlined.
pub(crate) struct Flattened {
    pub(crate) bytes: Vec<u8>,
    pub(crate) calls: Vec<Call>,
    pub(crate) bodies: Vec<BodyCalls>,
    /// The origin of each graph.
    pub(crate) graphs: Vec<(CallId, GraphId)>,
    /// The origin of each node, by graph and position.
    pub(crate) nodes: Vec<Vec<NodeOrigin>>,
    domains: Domains,
}

/// The node of the original model from which a node was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeOrigin {
    pub(crate) call: CallId,
    pub(crate) node: NodeId,
    pub(crate) role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// The node itself.
    Node,
    /// The border in front of an input of the callee.
    Input { port: usize, callee: CallId },
    /// The border behind an output of the callee.
    Output { port: usize, callee: CallId },
}

impl Flattened {
    /// Flattens a model; `None` if it calls no function, is too large or recursive.
    pub(crate) fn of(model: &ModelProto, layouts: &[Layout<'_>]) -> Option<Self> {
        let mut graph = model.graph.clone()?;
        let mut names = Names::default();
        layouts.iter().try_for_each(|layout| layout.take_names(&mut names)).ok()?;
        if names.any(|name| name.contains(MARK)) {
            return None;
        }
        let own_version = imported(&model.opset_import, "").unwrap_or(0);
        let mut bodies = vec![BodyCalls { calls: vec![CallId::MAIN], version: own_version }];
        let functions = inline::positions(&model.functions);
        bodies.extend(model.functions.iter().map(|function| {
            let version = imported(&function.opset_import, "").unwrap_or(own_version);
            BodyCalls { calls: Vec::new(), version }
        }));
        let (mut imports, mut domains) = (model.opset_import.clone(), Domains::new());
        let versioned = |function: &FunctionProto| {
            let mut function = function.clone();
            separate_versions(&mut function, &mut imports, &mut domains, &functions);
            function
        };
        let functions_versioned: Vec<FunctionProto> = model.functions.iter().map(versioned).collect();
        let mut flattening = Flattening {
            layouts,
            callees: functions,
            functions: functions_versioned,
            calls: vec![Call { body: BodyId::MAIN, caller: None }],
            nodes: 0,
        };
        let (mut graphs, mut nodes) = (Vec::new(), Vec::new());
        let mut open = vec![(&mut graph, CallId::MAIN, GraphId::new(0), 0)];
        while let Some((graph, call, id, depth)) = open.pop() {
            if depth > MAX_NESTING {
                return None;
            }
            let origins = flattening.expand(graph, call, id)?;
            let mut inner = Vec::new();
            for (node, origin) in graph.node.iter_mut().zip(&origins) {
                let layout = flattening.layout(origin.call);
                for (nth, graph) in nested::graphs_mut(node).enumerate() {
                    inner.push((graph, origin.call, layout.nested(origin.node, nth)?, depth + 1));
                }
            }
            open.extend(inner.into_iter().rev());
            graphs.push((call, id));
            nodes.push(origins);
        }
        let calls = flattening.calls;
        if calls.len() < 2 {
            return None;
        }
        for (at, call) in calls.iter().enumerate().skip(1) {
            bodies[call.body.index()].calls.push(CallId::new(at));
        }
        let model =
            ModelProto { graph: Some(graph), functions: Vec::new(), opset_import: imports, ..model.clone() };
        Some(Self { bytes: model.encode_to_vec(), calls, bodies, graphs, nodes, domains })
    }

    /// The name that a value has in its body.
    pub(crate) fn own_name<'n>(&self, call: CallId, name: &'n str) -> &'n str {
        name.strip_prefix(&prefix(call)).unwrap_or(name)
    }

    /// `catalogue` with the domains of the flattened model.
    pub(crate) fn catalogue<'c>(&'c self, catalogue: &'c dyn Catalogue) -> VersionedCatalogue<'c> {
        VersionedCatalogue { domains: &self.domains, catalogue }
    }
}

/// The prefix of names of a call.
fn prefix(call: CallId) -> String {
    if call == CallId::MAIN { String::new() } else { format!("{MARK}{}/", call.index()) }
}

fn imported(imports: &[OperatorSetIdProto], domain: &str) -> Option<i64> {
    let is_same = |import: &&OperatorSetIdProto| key(import.domain(), "", "") == key(domain, "", "");
    imports.iter().find(is_same).map(OperatorSetIdProto::version)
}

/// The original domain of each generated domain.
type Domains = BTreeMap<String, String>;

/// Moves operators of a function to a domain per version, if the model imports another version.
fn separate_versions(
    function: &mut FunctionProto,
    imports: &mut Vec<OperatorSetIdProto>,
    domains: &mut Domains,
    functions: &HashMap<Key, usize>,
) {
    let own = std::mem::take(&mut function.opset_import);
    let mut separate = |node: &mut NodeProto| {
        if functions.contains_key(&inline::callee(node)) {
            return;
        }
        let Some(version) = imported(&own, node.domain()) else { return };
        if imported(imports, node.domain()) == Some(version) {
            return;
        }
        let domain = format!("{MARK}{version}/{}", node.domain());
        if domains.insert(domain.clone(), node.domain().to_owned()).is_none() {
            imports.push(opset_import(&domain, version));
        }
        node.domain = domain.into();
    };
    for node in &mut function.node {
        separate(node);
        nested::graphs_mut(node).for_each(|graph| nested::each_node_mut(graph, &mut separate));
    }
}

struct Flattening<'l, 'a> {
    layouts: &'l [Layout<'a>],
    callees: HashMap<Key, usize>,
    functions: Vec<FunctionProto>,
    calls: Vec<Call>,
    /// Number of nodes so far.
    nodes: usize,
}

impl<'l, 'a> Flattening<'l, 'a> {
    fn layout(&self, call: CallId) -> &'l Layout<'a> {
        &self.layouts[self.calls[call.index()].body.index()]
    }

    /// Inlines the calls of one graph, and returns the origins of its nodes.
    fn expand(&mut self, graph: &mut GraphProto, call: CallId, id: GraphId) -> Option<Vec<NodeOrigin>> {
        self.count(graph.node.len())?;
        let nodes = std::mem::take(&mut graph.node).into_iter().enumerate();
        let nodes = nodes.map(|(position, node)| (node, origin(call, id, position)));
        let expanded =
            inline::expand(nodes, |(node, origin)| match self.callees.get(&inline::callee(node)).copied() {
                Some(function) => self.call(node, *origin, function).map(Some).ok_or(()),
                None => Ok(None),
            });
        let (nodes, origins) = expanded.ok()?.into_iter().unzip();
        graph.node = nodes;
        Some(origins)
    }

    /// Counts an addition to the model.
    fn count(&mut self, nodes: usize) -> Option<()> {
        self.nodes += nodes;
        (self.nodes <= MAX_NODES && self.calls.len() <= MAX_CALLS).then_some(())
    }

    /// Returns the replacement of a call: the borders of its inputs, the nodes of the function and the
    /// borders of its outputs.
    fn call(
        &mut self,
        node: &NodeProto,
        origin_of_call: NodeOrigin,
        function: usize,
    ) -> Option<Vec<(NodeProto, NodeOrigin)>> {
        let body = BodyId::of_function(function);
        let mut enclosing = Some(origin_of_call.call);
        while let Some(call) = enclosing {
            if self.calls[call.index()].body == body {
                return None;
            }
            enclosing = self.calls[call.index()].caller.map(|(caller, _)| caller);
        }
        let callee = CallId::new(self.calls.len());
        self.calls.push(Call { body, caller: Some((origin_of_call.call, origin_of_call.node)) });
        let function = &self.functions[function];
        let actual = |port: usize| node.input.get(port).filter(|name| !name.is_empty());
        let missing = function.input.iter().enumerate().filter(|(port, _)| actual(*port).is_none());
        let missing = missing.map(|(_, formal)| (formal.clone(), String::new())).collect();
        let call = inline::Call::new(function, node, missing, prefix(callee));
        let mut nodes = Vec::with_capacity(function.node.len());
        for (port, formal) in function.input.iter().enumerate() {
            if let Some(actual) = actual(port) {
                let role = Role::Input { port, callee };
                nodes.push((border(actual, &call.name(formal)), NodeOrigin { role, ..origin_of_call }));
            }
        }
        for (position, node) in function.node.iter().enumerate() {
            nodes.push((call.instance(node), origin(callee, GraphId::new(0), position)));
        }
        for (port, (formal, actual)) in function.output.iter().zip(&node.output).enumerate() {
            let inner = call.name(formal);
            if !actual.is_empty() && !inner.is_empty() {
                let role = Role::Output { port, callee };
                nodes.push((border(&inner, actual), NodeOrigin { role, ..origin_of_call }));
            }
        }
        // The call itself is replaced.
        self.nodes -= 1;
        self.count(nodes.len())?;
        Some(nodes)
    }
}

/// The origin of a node of the original model.
fn origin(call: CallId, graph: GraphId, position: usize) -> NodeOrigin {
    NodeOrigin { call, node: NodeId { graph, position }, role: Role::Node }
}

fn border(from: &str, to: &str) -> NodeProto {
    NodeProto {
        op_type: BORDER.name.into(),
        domain: BORDER_DOMAIN.into(),
        input: vec![from.to_owned()],
        output: vec![to.to_owned()],
        ..NodeProto::default()
    }
}

/// The operators of a flattened model.
pub(crate) struct VersionedCatalogue<'c> {
    domains: &'c Domains,
    catalogue: &'c dyn Catalogue,
}

impl VersionedCatalogue<'_> {
    fn own_domain<'d>(&'d self, domain: &'d str) -> &'d str {
        self.domains.get(domain).map_or(domain, String::as_str)
    }
}

impl Catalogue for VersionedCatalogue<'_> {
    fn lookup(&self, domain: &str, name: &str, version: i64) -> Lookup<'_> {
        if domain == BORDER_DOMAIN {
            return Lookup::Declared(&BORDER);
        }
        self.catalogue.lookup(self.own_domain(domain), name, version)
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        match self.domains.get(domain) {
            Some(domain) => self.catalogue.names(domain),
            None => self.catalogue.names(domain),
        }
    }

    fn assumed_version(&self, domain: &str) -> Option<i64> {
        if domain == BORDER_DOMAIN {
            Some(1)
        } else {
            self.catalogue.assumed_version(self.own_domain(domain))
        }
    }
}
