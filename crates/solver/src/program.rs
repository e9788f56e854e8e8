//! Programs: the input of a solve, with dense ids and nested graphs flattened into one order.
//!
//! A [`Body`] is the main graph or a model-local function with all nested graphs. A node without nested
//! graphs is one step. A node with nested graphs is two steps, and the steps of its graphs are between them:
//!
//! ```text
//! Enter(If)  then_branch ...  else_branch ...  Exit(If)
//! ```
//!
//! So a loop in step order visits every value after its inputs at any depth of nesting, without recursion.
//! Names are resolved with the scoping rules of ONNX: a nested graph sees the values of the surrounding
//! graphs and may shadow them.
//!
//! **Invariant:** a body borrows names and data from the bytes of the model.
//!
//! **Invariant:** a wrong program can be built. [`Body::errors`] lists its errors, and the rest of the body
//! is usable.

pub(crate) mod build;
pub(crate) mod id;
mod names;
mod order;

pub use build::{BuildError, MAX_NESTING};
pub(crate) use id::id;
pub use id::{DeclarationId, DeclarationKind, GraphId, InitializerId, NameId, OpId, StepId, ValueId};
pub use order::topological_order;

use std::sync::OnceLock;

use smallvec::SmallVec;
use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{
    FunctionView, GraphView, NodeView, SparseTensorView, TensorDims, TensorView, TypeView,
};

use crate::map::Map;
use crate::rule::port::Port;
use crate::solve_error::SolveError;

/// A graph with all nested graphs, or a function.
#[derive(Debug, Default)]
pub struct Body<'a> {
    pub(crate) source: BodySource<'a>,
    /// The names in order of their ids. Each is UTF-8.
    pub(crate) names: Vec<&'a [u8]>,
    pub(crate) values: Vec<ProgramValue>,
    pub(crate) steps: Vec<ProgramStep<'a>>,
    pub(crate) ports: Vec<Option<ValueId>>,
    pub(crate) graphs: Vec<Graph<'a>>,
    pub(crate) declarations: Vec<Declaration<'a>>,
    pub(crate) initializers: Vec<Initializer<'a>>,
    pub(crate) errors: Vec<SolveError<'a>>,
    /// Whether a node reads a value of a later node.
    pub(crate) is_unsorted: bool,
    consumers: OnceLock<Consumers>,
}

/// The source of a body.
#[derive(Clone, Copy, Debug)]
pub enum BodySource<'a> {
    /// The model's graph.
    Main(GraphView<'a>),
    /// A model-local function.
    Function(FunctionView<'a>),
}

impl Default for BodySource<'_> {
    fn default() -> Self {
        Self::Main(GraphView::from_body(&[], 0))
    }
}

/// A value: a name in a scope, with one definition.
#[derive(Clone, Copy, Debug)]
pub struct ProgramValue {
    /// The name of the value.
    pub name: NameId,
    /// The graph that defines the value.
    pub graph: GraphId,
    /// The definition of the value.
    pub origin: Origin,
    /// The first declaration of the value.
    pub declaration: Option<DeclarationId>,
}

/// The definition of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// An input of its graph or function.
    Input,
    /// An input with a default that the caller may replace.
    InputWithDefault(InitializerId),
    /// A constant of the graph.
    Initializer(InitializerId),
    /// An output of a step.
    Step(StepId),
    /// Undefined.
    Undefined,
}

impl Origin {
    /// The step that defines the value.
    #[must_use]
    pub fn step(self) -> Option<StepId> {
        match self {
            Self::Step(step) => Some(step),
            Self::Input | Self::InputWithDefault(_) | Self::Initializer(_) | Self::Undefined => None,
        }
    }

    /// The constant of an initializer or default.
    #[must_use]
    pub fn initializer(self) -> Option<InitializerId> {
        match self {
            Self::InputWithDefault(initializer) | Self::Initializer(initializer) => Some(initializer),
            Self::Input | Self::Step(_) | Self::Undefined => None,
        }
    }
}

/// The start and length of a part of a list.
pub(crate) type Span = (u32, u32);

/// A node, or one end of a node with nested graphs.
#[derive(Clone, Copy, Debug)]
pub struct ProgramStep<'a> {
    /// The encoded node.
    pub node: NodeView<'a>,
    /// The operator of the node.
    pub op: OpId,
    /// Whether the step is a whole node.
    pub kind: StepKind,
    /// The graph of the node.
    pub graph: GraphId,
    /// The position of the node in its graph.
    pub position: u32,
    inputs: Span,
    outputs: Span,
    first_graph: Option<GraphId>,
    /// The start and length of its attributes in the encoded node.
    pub(crate) attributes: (u32, u32),
}

/// The kinds of steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StepKind {
    /// A whole node.
    Node,
    /// Before the nested graphs of a node; holds the last step of the same node.
    Enter(StepId),
    /// After the nested graphs of a node; holds the first step of the same node.
    Exit(StepId),
}

/// One graph of a body.
#[derive(Clone, Debug)]
pub struct Graph<'a> {
    /// The node of the graph; `None` for the outermost graph.
    pub owner: Option<GraphOwner<'a>>,
    /// The inputs in order.
    pub inputs: SmallVec<[ValueId; 4]>,
    /// The outputs in order.
    pub outputs: SmallVec<[ValueId; 4]>,
    /// Start and end of its steps.
    pub steps: (usize, usize),
    /// The length in bytes of the nodes at the start of the encoded graph, before any other field.
    pub leading_nodes: usize,
    next_sibling: Option<GraphId>,
}

/// The node and attribute of a nested graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphOwner<'a> {
    /// The first step of the node.
    pub step: StepId,
    /// The name of the attribute.
    pub attribute: &'a str,
    /// The position in the attribute, if the attribute is a list of graphs.
    pub position: Option<u32>,
}

/// A declared type of a value.
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'a> {
    /// The declared type.
    pub ty: TypeView<'a>,
    /// The list that contains the declaration.
    pub kind: DeclarationKind,
    /// The next declaration of the same value.
    pub next: Option<DeclarationId>,
}

/// A constant of a graph.
#[derive(Clone, Copy, Debug)]
pub enum Initializer<'a> {
    /// Dense.
    Dense(TensorView<'a>),
    /// Sparse.
    Sparse(SparseTensorView<'a>),
}

impl Initializer<'_> {
    /// The number of the element type, and the dims.
    pub(crate) fn number_and_dims(&self) -> Result<(i32, TensorDims), DecodeError> {
        match self {
            Self::Dense(tensor) => tensor.header().map(|header| (header.data_type, header.dims)),
            Self::Sparse(sparse) => {
                let parts = sparse.parse()?;
                let header = parts.values.map(|values| values.header()).transpose()?;
                Ok((header.map_or(0, |header| header.data_type), parts.dims))
            }
        }
    }
}

/// The readers of each value.
#[derive(Debug, Default)]
pub struct Consumers {
    start: Vec<u32>,
    steps: Vec<StepId>,
}

impl ProgramStep<'_> {
    /// The position of its inputs in [`Body::ports`].
    pub(crate) fn first_input(&self) -> usize {
        self.inputs.0 as usize
    }
}

impl Consumers {
    /// The steps that read `value`, in order.
    #[must_use]
    pub fn of(&self, value: ValueId) -> &[StepId] {
        let at = value.index();
        match (self.start.get(at), self.start.get(at + 1)) {
            (Some(from), Some(to)) => &self.steps[*from as usize..*to as usize],
            (Some(_) | None, Some(_) | None) => &[],
        }
    }
}

impl<'a> ProgramStep<'a> {
    /// The part of the node that contains its attributes; empty if it has none.
    #[inline]
    pub(crate) fn attribute_part(&self) -> NodeView<'a> {
        let (start, len) = (self.attributes.0 as usize, self.attributes.1 as usize);
        let part = self.node.bytes().get(start..start + len);
        NodeView::from_body(part.unwrap_or(self.node.bytes()), self.node.offset() + start)
    }

    /// The bytes of its attributes, and of any fields between them.
    #[inline]
    pub(crate) fn attribute_bytes(&self) -> &'a [u8] {
        self.attribute_part().bytes()
    }

    /// Whether the node has attributes.
    #[inline]
    pub(crate) fn has_attributes(&self) -> bool {
        self.attributes.1 > 0
    }
}

/// A name as text. Interning checked the UTF-8.
fn text(name: &[u8]) -> &str {
    std::str::from_utf8(name).unwrap_or_default()
}

impl<'a> Body<'a> {
    /// The same steps over other values.
    pub(crate) fn with_parts(
        &self,
        values: Vec<ProgramValue>,
        ports: Vec<Option<ValueId>>,
        graphs: Vec<Graph<'a>>,
    ) -> Self {
        Self {
            source: self.source,
            names: self.names.clone(),
            values,
            steps: self.steps.clone(),
            ports,
            graphs,
            declarations: self.declarations.clone(),
            initializers: self.initializers.clone(),
            is_unsorted: self.is_unsorted,
            ..Self::default()
        }
    }

    /// The same body with these values omitted at all inputs of nodes.
    pub(crate) fn without(&self, values: &[ValueId]) -> Self {
        let mut ports = self.ports.clone();
        for step in values.iter().flat_map(|value| self.consumers().of(*value)) {
            let (from, count) = self.steps[step.index()].inputs;
            for port in &mut ports[from as usize..(from + count) as usize] {
                if port.is_some_and(|port| values.contains(&port)) {
                    *port = None;
                }
            }
        }
        Self {
            errors: self.errors.clone(),
            ..self.with_parts(self.values.clone(), ports, self.graphs.clone())
        }
    }

    /// The outermost graph.
    #[must_use]
    pub fn root(&self) -> GraphId {
        GraphId::new(0)
    }

    /// The source of the body.
    #[must_use]
    pub fn source(&self) -> BodySource<'a> {
        self.source
    }

    /// The errors in its names and structure.
    #[must_use]
    pub fn errors(&self) -> &[SolveError<'a>] {
        &self.errors
    }

    /// The name of a value.
    #[must_use]
    pub fn value_name(&self, value: ValueId) -> &'a str {
        text(self.names[self.values[value.index()].name.index()])
    }

    /// The name of a value as bytes, which are UTF-8.
    #[inline]
    #[must_use]
    pub fn value_name_bytes(&self, value: ValueId) -> &'a [u8] {
        self.names[self.values[value.index()].name.index()]
    }

    /// All names, in the order of their first use.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().map(|name| text(name))
    }

    /// A value.
    #[must_use]
    pub fn value(&self, value: ValueId) -> ProgramValue {
        self.values[value.index()]
    }

    /// The first step of the node that defines a value; `None` for inputs, initializers and undefined values.
    #[must_use]
    pub fn maker(&self, value: ValueId) -> Option<StepId> {
        self.value(value).origin.step().map(|step| self.first_step(step))
    }

    /// The value at a port of a node.
    #[inline]
    pub(crate) fn at_port(&self, step: StepId, port: Port) -> Option<ValueId> {
        match port {
            Port::In(at) => self.inputs(step).get(at).copied().flatten(),
            Port::Out(at) => self.outputs(self.last_step(step)).get(at).copied().flatten(),
            Port::BodyIn(graph, at) => self.graph(graph).inputs.get(at).copied(),
            Port::BodyOut(graph, at) => self.graph(graph).outputs.get(at).copied(),
        }
    }

    /// The first step of each node, by the position of the node in the file.
    pub(crate) fn steps_by_offset(&self) -> Map<usize, StepId> {
        let mut steps = Map::default();
        for step in (0..self.steps.len()).map(StepId::new) {
            steps.entry(self.step(step).node.offset()).or_insert(step);
        }
        steps
    }

    /// All values, in the order of their first use.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = ValueId> + ExactSizeIterator + use<> {
        (0..self.values.len()).map(ValueId::new)
    }

    /// The values with a declaration, in the order of their first use.
    pub(crate) fn declared_values(&self) -> impl Iterator<Item = ValueId> {
        let values = self.values.iter().enumerate();
        values.filter(|(_, value)| value.declaration.is_some()).map(|(at, _)| ValueId::new(at))
    }

    /// An initializer.
    #[must_use]
    pub fn initializer(&self, initializer: InitializerId) -> Initializer<'a> {
        self.initializers[initializer.index()]
    }

    /// The names of named nodes, in step order. Malformed names are skipped.
    pub fn node_names(&self) -> impl Iterator<Item = &'a str> {
        let names = self.steps.iter().filter_map(|step| step.node.name().ok());
        names.filter(|name| !name.is_empty())
    }

    /// A graph.
    #[must_use]
    pub fn graph(&self, graph: GraphId) -> &Graph<'a> {
        &self.graphs[graph.index()]
    }

    /// A step.
    #[must_use]
    pub fn step(&self, step: StepId) -> &ProgramStep<'a> {
        &self.steps[step.index()]
    }

    /// The inputs of a step; `None` if an optional one is omitted.
    #[inline]
    #[must_use]
    pub fn inputs(&self, step: StepId) -> &[Option<ValueId>] {
        let (from, count) = self.steps[step.index()].inputs;
        &self.ports[from as usize..(from + count) as usize]
    }

    /// The positions of the inputs and outputs of a node in the list of ports, given either of its steps.
    #[inline]
    pub(crate) fn ports_of(&self, step: StepId) -> [Span; 2] {
        [self.step(step).inputs, self.step(self.last_step(step)).outputs]
    }

    /// The outputs of a step; `None` if an optional one is omitted. An `Enter` step has none.
    #[inline]
    #[must_use]
    pub fn outputs(&self, step: StepId) -> &[Option<ValueId>] {
        let (from, count) = self.steps[step.index()].outputs;
        &self.ports[from as usize..(from + count) as usize]
    }

    /// The graphs nested directly in a node, given either of its steps.
    pub fn graphs_of(&self, step: StepId) -> impl Iterator<Item = (GraphId, &Graph<'a>)> {
        let mut next = self.step(step).first_graph;
        std::iter::from_fn(move || {
            let id = next?;
            let graph = self.graph(id);
            next = graph.next_sibling;
            Some((id, graph))
        })
    }

    /// Returns the main graph, if the body has one, and every nested graph with its bytes, in pre-order.
    ///
    /// # Errors
    /// [`DecodeError`] for malformed attributes.
    pub fn graph_views(&self) -> Result<SmallVec<[(GraphId, GraphView<'a>); 1]>, DecodeError> {
        let mut views = SmallVec::new();
        if let BodySource::Main(view) = self.source() {
            views.push((self.root(), view));
        }
        let (from, to) = self.graph(self.root()).steps;
        for step in (from..to).map(StepId::new) {
            if matches!(self.step(step).kind, StepKind::Enter(_)) {
                let graphs = self.step(step).node.graphs()?;
                views.extend(self.graphs_of(step).map(|(id, _)| id).zip(graphs));
            }
        }
        Ok(views)
    }

    /// A graph and the graphs around it, from the inside out.
    pub(crate) fn enclosing(&self, graph: GraphId) -> impl Iterator<Item = GraphId> {
        std::iter::successors(Some(graph), |graph| Some(self.step(self.graph(*graph).owner?.step).graph))
    }

    /// The graphs nested directly in a graph, in the order of their nodes and attributes.
    pub fn children(&self, graph: GraphId) -> impl Iterator<Item = GraphId> {
        let (from, to) = self.graph(graph).steps;
        let direct = move |step: &StepId| {
            let ProgramStep { graph: of, kind, .. } = self.step(*step);
            *of == graph && matches!(kind, StepKind::Enter(_))
        };
        (from..to).map(StepId::new).filter(direct).flat_map(|step| self.graphs_of(step).map(|(id, _)| id))
    }

    /// The name of a step's operator; empty if the bytes are malformed.
    #[must_use]
    pub fn op_name(&self, step: StepId) -> &'a str {
        self.step(step).node.op_type().unwrap_or_default()
    }

    /// The first step of the node of `step`.
    #[must_use]
    pub fn first_step(&self, step: StepId) -> StepId {
        match self.step(step).kind {
            StepKind::Node | StepKind::Enter(_) => step,
            StepKind::Exit(enter) => enter,
        }
    }

    /// The last step of the node of `step`, which defines its outputs.
    #[must_use]
    pub fn last_step(&self, step: StepId) -> StepId {
        match self.step(step).kind {
            StepKind::Node | StepKind::Exit(_) => step,
            StepKind::Enter(exit) => exit,
        }
    }

    /// The declarations of a value.
    pub fn declarations(&self, value: ValueId) -> impl Iterator<Item = &Declaration<'a>> {
        let mut next = self.value(value).declaration;
        std::iter::from_fn(move || {
            let declaration = &self.declarations[next?.index()];
            next = declaration.next;
            Some(declaration)
        })
    }

    /// The readers of each value, computed on demand: a solve in which types only flow forward does not need
    /// them.
    pub fn consumers(&self) -> &Consumers {
        self.consumers.get_or_init(|| {
            let mut start = vec![0_u32; self.values.len() + 1];
            let steps = || (0..self.steps.len()).map(StepId::new);
            let mut reads = 0;
            for step in steps() {
                for value in self.inputs(step).iter().flatten() {
                    start[value.index() + 1] += 1;
                    reads += 1;
                }
            }
            for at in 1..start.len() {
                start[at] += start[at - 1];
            }
            let mut fill = start.clone();
            let mut readers = vec![StepId::new(0); reads];
            for step in steps() {
                for value in self.inputs(step).iter().flatten() {
                    let at = &mut fill[value.index()];
                    readers[*at as usize] = step;
                    *at += 1;
                }
            }
            let steps = readers;
            Consumers { start, steps }
        })
    }
}
