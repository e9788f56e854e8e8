//! Programs: arenas of graphs, nodes and values.
//!
//! # Questions that this structure answers
//!
//! *Which value is this?* A use refers to a definition by its id. [`read`](mod@crate::read) resolves each name
//! once: in its own graph, and then in the graphs around it. In each graph of the example `h` is another
//! value, and `x` is the same one:
//!
//! ```text
//! main (x, c) => (y)                        values   x: 0   c: 1   h: 2   y: 3
//!   h = Abs (x)                             nodes    0: Abs 0 -> 2
//!   y = If (c) <then_branch = t, ..>                 1: If 1 -> 3, with the graph t
//!     t () => (h) { h = Neg (x) }           value    h: 4, of the graph t
//!                                           node     2: Neg 0 -> 4
//! ```
//!
//! *Which node is this?* A node is listed by its graph, in an order that passes change. Its id stays the same
//! when others are inserted, and identifies it in the tables of [`Facts`](crate::facts::Facts).
//!
//! # Invalid programs
//!
//! A program holds what a file states, right or wrong, because the solver reports the errors: a name that
//! nothing defines is a value without a definition, and a name that one graph defines twice is one value.
//!
//! # Cost
//!
//! An id is four bytes, also in an `Option`. Access is an index into an array. Arenas only grow: a node that
//! a pass removes from its graph stays in memory until the program is dropped.

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use foldhash::fast::RandomState;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, SharedText,
    SparseTensorProto, TensorProto, ValueInfoProto, opset_import,
};

use crate::declared::DeclaredType;
use crate::domain::Domain;

/// A position in an arena or table.
pub trait Id: Copy + Eq {
    fn new(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $id:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $id(NonZeroU32);

        impl Id for $id {
            fn new(index: usize) -> Self {
                let number = u32::try_from(index).ok().and_then(|index| index.checked_add(1));
                let number = number.and_then(NonZeroU32::new);
                Self(number.expect("an arena has fewer than 2^32 - 1 elements"))
            }

            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )*};
}

ids! {
    /// A graph: the main graph, one nested in a node, or the body of a function.
    GraphId;
    /// A node.
    NodeId;
    /// A value: an input, a constant or a result.
    ValueId;
}

/// A value.
#[derive(Clone, Debug)]
pub struct Value {
    pub name: Arc<str>,
    /// The graph that defines the value.
    pub graph: GraphId,
}

/// A call of an operator or function.
#[derive(Clone, Debug, Default)]
pub struct Node {
    pub domain: Domain,
    pub op: String,
    /// `None` for an omitted optional input.
    pub inputs: Vec<Option<ValueId>>,
    /// `None` for a result that nothing reads.
    pub outputs: Vec<Option<ValueId>>,
    /// The attributes. Those that hold graphs have empty ones.
    pub attributes: Vec<AttributeProto>,
    /// The graphs of the attributes, in the order of attributes.
    pub graphs: Vec<GraphId>,
    /// Other fields of the message.
    pub(crate) rest: Option<Box<NodeProto>>,
}

impl Node {
    /// A node without attributes.
    #[must_use]
    pub fn new(
        domain: Domain,
        op: &str,
        inputs: Vec<Option<ValueId>>,
        outputs: Vec<Option<ValueId>>,
    ) -> Self {
        Self { domain, op: op.to_owned(), inputs, outputs, ..Self::default() }
    }

    /// Whether the node is an operator of a domain.
    #[must_use]
    pub fn is(&self, domain: &Domain, op: &str) -> bool {
        self.op == op && self.domain == *domain
    }

    /// The attribute with a name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.attributes.iter().find(|attribute| attribute.name() == name)
    }

    /// The texts of an attribute, such as the names of the children of a bundle.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<String> {
        let strings = self.attribute(name).map(|attribute| &attribute.strings[..]).unwrap_or_default();
        strings.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect()
    }

    /// Distinguishes functions of the same name and domain.
    #[must_use]
    pub fn overload(&self) -> &str {
        self.rest.as_deref().map_or("", NodeProto::overload)
    }

    /// The name of the node, which has no meaning.
    #[must_use]
    pub fn name(&self) -> &str {
        self.rest.as_deref().map_or("", NodeProto::name)
    }

    /// Sets the name of the node.
    pub fn set_name(&mut self, name: String) {
        self.rest.get_or_insert_default().name = name.into();
    }

    /// The first input; `None` if it is omitted.
    #[must_use]
    pub fn first_input(&self) -> Option<ValueId> {
        self.inputs.first().copied().flatten()
    }

    /// The first output; `None` if it is omitted.
    #[must_use]
    pub fn first_output(&self) -> Option<ValueId> {
        self.outputs.first().copied().flatten()
    }
}

/// Number of graphs of an attribute: that many of [`Node::graphs`] belong to it.
#[must_use]
pub fn graph_count(attribute: &AttributeProto) -> usize {
    usize::from(attribute.g.is_some()) + attribute.graphs.len()
}

/// An entry of a list of inputs, outputs or declared values.
#[derive(Clone, Debug)]
pub struct Port {
    pub value: ValueId,
    pub declared: Option<DeclaredType>,
    /// Whether the value is an output that goes to the network.
    pub to_network: bool,
    /// Other fields of the message.
    pub(crate) rest: Option<Box<ValueInfoProto>>,
}

impl Port {
    /// A port without a declared type.
    #[must_use]
    pub fn new(value: ValueId) -> Self {
        Self { value, declared: None, to_network: false, rest: None }
    }

    /// A port with a declared type.
    #[must_use]
    pub fn of_type(value: ValueId, declared: DeclaredType) -> Self {
        Self { declared: Some(declared), ..Self::new(value) }
    }
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub name: String,
    /// The graph around this one; `None` for the main graph and the bodies of functions.
    pub outer: Option<GraphId>,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    /// Types of values that are neither inputs nor outputs.
    pub infos: Vec<Port>,
    /// Constants, see [`Program::add_initializer`].
    pub initializers: Vec<(ValueId, TensorProto)>,
    pub sparse_initializers: Vec<(ValueId, SparseTensorProto)>,
    /// The nodes, in the order in which they run.
    pub nodes: Vec<NodeId>,
    /// Other fields of the message.
    pub(crate) rest: Option<Box<GraphProto>>,
}

impl Graph {
    /// A graph without values.
    #[must_use]
    pub fn new(name: String, outer: Option<GraphId>) -> Self {
        Self { name, outer, ..Self::default() }
    }

    /// All ports: inputs, outputs, declared values.
    pub fn ports(&self) -> impl Iterator<Item = &Port> {
        self.inputs.iter().chain(&self.outputs).chain(&self.infos)
    }

    /// The values of constants.
    pub fn constants(&self) -> impl Iterator<Item = ValueId> {
        let dense = self.initializers.iter().map(|(value, _)| *value);
        dense.chain(self.sparse_initializers.iter().map(|(value, _)| *value))
    }
}

/// A function that nodes call as an operator.
#[derive(Clone, Debug)]
pub struct Function {
    pub domain: Domain,
    pub name: String,
    pub overload: String,
    /// The body, with the formal parameters as inputs and outputs.
    pub body: GraphId,
    /// Other fields of the message.
    pub(crate) rest: FunctionProto,
}

impl Function {
    /// Whether a node calls the function.
    #[must_use]
    pub fn is_called_by(&self, node: &Node) -> bool {
        self.name == node.op && self.domain == node.domain && self.overload == node.overload()
    }

    /// The operator sets that the body imports.
    #[must_use]
    pub fn imports(&self) -> &[OperatorSetIdProto] {
        &self.rest.opset_import
    }

    /// The imports, mutable.
    pub fn imports_mut(&mut self) -> &mut Vec<OperatorSetIdProto> {
        &mut self.rest.opset_import
    }

    /// Attributes with their defaults.
    #[must_use]
    pub fn defaults(&self) -> &[AttributeProto] {
        &self.rest.attribute_proto
    }
}

/// The nodes of one class of peers.
#[derive(Clone, Debug)]
pub struct Part {
    /// The class; empty for the module's own peer.
    pub class: SharedText,
    /// The inputs of the main graph that the nodes read.
    pub inputs: Vec<ValueId>,
    /// The outputs of the main graph that the nodes make.
    pub outputs: Vec<ValueId>,
    /// Constants of the main graph that the nodes read, in the order of the graph.
    pub constants: Vec<ValueId>,
    /// The nodes, in order. Nodes that depend on no input are in each part that reads their results.
    pub nodes: Vec<NodeId>,
}

impl Part {
    /// The name of the part that runs on the module's own peer.
    pub const OWN: &str = "self";

    /// The name of the part: that of its class, or [`OWN`](Self::OWN).
    #[must_use]
    pub fn name(&self) -> &str {
        if self.class.is_empty() { Self::OWN } else { &self.class }
    }
}

/// The functions of a program by name, to find those that nodes call.
#[derive(Clone, Debug, Default)]
pub struct Callees(HashMap<String, Vec<usize>, RandomState>);

impl Callees {
    /// The position of the function that a node calls. Of equal functions, the first is called.
    #[must_use]
    pub fn find(&self, program: &Program, node: &Node) -> Option<usize> {
        let named = self.0.get(&node.op)?;
        named.iter().copied().find(|at| program.functions[*at].is_called_by(node))
    }
}

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    graphs: Vec<Graph>,
    nodes: Vec<Node>,
    values: Vec<Value>,
    pub functions: Vec<Function>,
    /// The parts of a program that sends values.
    pub parts: Vec<Part>,
    /// The message without its graph and functions.
    pub(crate) header: ModelProto,
}

impl Default for Program {
    fn default() -> Self {
        Self::new(String::new())
    }
}

macro_rules! index {
    ($($id:ident $item:ident $list:ident;)*) => {$(
        impl Index<$id> for Program {
            type Output = $item;

            fn index(&self, id: $id) -> &$item {
                &self.$list[id.index()]
            }
        }

        impl IndexMut<$id> for Program {
            fn index_mut(&mut self, id: $id) -> &mut $item {
                &mut self.$list[id.index()]
            }
        }
    )*};
}

index! {
    GraphId Graph graphs;
    NodeId Node nodes;
    ValueId Value values;
}

fn push<I: Id, T>(list: &mut Vec<T>, item: T) -> I {
    let id = I::new(list.len());
    list.push(item);
    id
}

impl Program {
    /// A program with an empty main graph.
    #[must_use]
    pub fn new(name: String) -> Self {
        let graphs = vec![Graph::new(name, None)];
        let header = ModelProto::default();
        let (nodes, values, functions, parts) = Default::default();
        Self { graphs, nodes, values, functions, parts, header }
    }

    /// The main graph.
    #[must_use]
    pub fn main(&self) -> GraphId {
        GraphId::new(0)
    }

    /// The name of the program: that of its main graph.
    #[must_use]
    pub fn name(&self) -> &str {
        &self[self.main()].name
    }

    /// Adds a graph. The node that contains it lists it in [`Node::graphs`].
    pub fn add_graph(&mut self, graph: Graph) -> GraphId {
        push(&mut self.graphs, graph)
    }

    /// Adds a node, which a graph then lists in [`Graph::nodes`].
    pub fn add_node(&mut self, node: Node) -> NodeId {
        push(&mut self.nodes, node)
    }

    /// Adds a value of a graph. The name must be new: see [`Names::fresh`].
    pub fn add_value(&mut self, graph: GraphId, name: impl Into<Arc<str>>) -> ValueId {
        push(&mut self.values, Value { name: name.into(), graph })
    }

    /// The constants that a part reads.
    pub fn constants_of(&self, part: &Part) -> impl Iterator<Item = (ValueId, &TensorProto)> {
        let mut wanted = part.constants.iter().peekable();
        let initializers = self[self.main()].initializers.iter();
        let read = initializers.filter(move |(value, _)| wanted.next_if_eq(&value).is_some());
        read.map(|(value, tensor)| (*value, tensor))
    }

    /// Adds a constant to a graph. Errors about the tensor state the name of the value, so the tensor gets it.
    pub fn add_initializer(&mut self, graph: GraphId, value: ValueId, mut tensor: TensorProto) {
        tensor.name = self.name_of(Some(value)).into();
        self[graph].initializers.push((value, tensor));
    }

    /// Number of values.
    #[must_use]
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The name of a value; empty for an omitted one.
    #[must_use]
    pub fn name_of(&self, value: Option<ValueId>) -> &str {
        value.map_or("", |value| &self[value].name)
    }

    /// The value of the main graph with a name.
    #[must_use]
    pub fn value_named(&self, name: &str) -> Option<ValueId> {
        let main = self.main();
        let found = self.values.iter().position(|value| value.graph == main && &*value.name == name);
        found.map(ValueId::new)
    }

    /// A graph and all graphs nested in it, each before those nested in it, in the order of nodes and
    /// attributes.
    #[must_use]
    pub fn graphs_in(&self, graph: GraphId) -> Vec<GraphId> {
        let mut found = Vec::new();
        let mut open = vec![graph];
        while let Some(graph) = open.pop() {
            found.push(graph);
            let nested = self[graph].nodes.iter().flat_map(|node| &self[*node].graphs);
            let first = open.len();
            open.extend(nested);
            open[first..].reverse();
        }
        found
    }

    /// The number of graphs around the innermost graph in a graph.
    #[must_use]
    pub fn depth(&self, graph: GraphId) -> usize {
        let mut deepest = 0;
        let mut open = vec![(graph, 0)];
        while let Some((graph, depth)) = open.pop() {
            deepest = deepest.max(depth);
            let nested = self[graph].nodes.iter().flat_map(|node| &self[*node].graphs);
            open.extend(nested.map(|graph| (*graph, depth + 1)));
        }
        deepest
    }

    /// The nodes of a graph and of all graphs nested in it.
    pub fn nodes_in(&self, graph: GraphId) -> impl Iterator<Item = NodeId> {
        self.graphs_in(graph).into_iter().flat_map(|graph| self[graph].nodes.iter().copied())
    }

    /// The nodes of the graphs nested in a node.
    pub fn nodes_inside(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        self[node].graphs.iter().flat_map(|graph| self.nodes_in(*graph))
    }

    /// The main graph and the bodies of all functions.
    pub fn bodies(&self) -> impl Iterator<Item = GraphId> {
        std::iter::once(self.main()).chain(self.functions.iter().map(|function| function.body))
    }

    /// All nodes of the program.
    pub fn all_nodes(&self) -> impl Iterator<Item = NodeId> {
        self.bodies().flat_map(|body| self.nodes_in(body))
    }

    /// The values that a node reads: its inputs, and the values that its nested graphs read or return.
    #[must_use]
    pub fn reads(&self, node: NodeId) -> Vec<ValueId> {
        let mut all: Vec<ValueId> = self[node].inputs.iter().copied().flatten().collect();
        for graph in self[node].graphs.iter().flat_map(|graph| self.graphs_in(*graph)) {
            let Graph { nodes, outputs, .. } = &self[graph];
            all.extend(nodes.iter().flat_map(|node| self[*node].inputs.iter().copied().flatten()));
            all.extend(outputs.iter().map(|port| port.value));
        }
        all
    }

    /// Takes the nodes of a graph, which has none afterwards.
    pub fn take_nodes(&mut self, graph: GraphId) -> Vec<NodeId> {
        std::mem::take(&mut self[graph].nodes)
    }

    /// The functions by name.
    #[must_use]
    pub fn callees(&self) -> Callees {
        let mut callees = Callees::default();
        for (at, function) in self.functions.iter().enumerate() {
            callees.0.entry(function.name.clone()).or_default().push(at);
        }
        callees
    }

    /// The names of all values.
    #[must_use]
    pub fn names(&self) -> Names {
        let taken = self.values.iter().map(|value| Arc::clone(&value.name)).collect();
        Names { taken, numbers: HashMap::default() }
    }

    /// The imported operator sets.
    #[must_use]
    pub fn imports(&self) -> &[OperatorSetIdProto] {
        &self.header.opset_import
    }

    /// The imported version of a domain.
    #[must_use]
    pub fn imported(&self, domain: &Domain) -> Option<i64> {
        imported(self.imports(), domain)
    }

    /// Imports a version of a domain.
    pub fn import(&mut self, domain: &Domain, version: i64) {
        self.header.opset_import.push(opset_import(domain.name(), version));
    }

    /// Replaces the imports and the fields of the message about its origin.
    pub fn set_header(&mut self, header: ModelProto) {
        self.header = ModelProto { graph: None, functions: Vec::new(), ..header };
    }
}

/// The version of a domain in a list of imports.
#[must_use]
pub fn imported(imports: &[OperatorSetIdProto], domain: &Domain) -> Option<i64> {
    imports.iter().find(|import| Domain::of(import.domain()) == *domain).map(OperatorSetIdProto::version)
}

/// The names in use, for new ones.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: HashSet<Arc<str>, RandomState>,
    /// The last number after each stem that was taken.
    numbers: HashMap<Box<str>, u32, RandomState>,
}

impl Names {
    /// A new name: `stem`, or `stem` with a number.
    pub fn fresh(&mut self, stem: &str) -> Arc<str> {
        let mut name: Arc<str> = stem.into();
        if self.taken.contains(&name) {
            let number = self.numbers.entry(stem.into()).or_insert(1);
            while self.taken.contains(&name) {
                *number += 1;
                name = format!("{stem}.{number}").into();
            }
        }
        self.taken.insert(Arc::clone(&name));
        name
    }

    /// The names, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.taken.iter().map(|name| &**name)
    }
}
