//! A model as the solver walks it: dense numbers for graphs, values and steps, in one flat order.
//!
//! A [`Body`] is the main graph or one model-local function, with every nested graph flattened into
//! it. A node without nested graphs is one step. A node with nested graphs is two, and the steps of
//! its graphs stand between them:
//!
//! ```text
//! Enter(If)  then_branch ...  else_branch ...  Exit(If)
//! ```
//!
//! so that a walk in step order sees every value after what it is made from, however deep it is
//! nested, without recursion. Names are resolved once, here, with the scoping rules of ONNX (a nested
//! graph sees the values of the graphs around it, and may shadow them).
//!
//! **Invariant:** nothing here copies a name or a payload; a body borrows the model's bytes.
//!
//! **Invariant:** building never fails on a wrong program: what is wrong with it is listed in
//! [`Body::errors`] and the rest of the body stands.

pub(crate) mod build;
mod names;
mod order;

pub use build::{BuildError, MAX_NESTING};

use std::sync::OnceLock;

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{FunctionView, GraphView, NodeView, SparseTensorView, TensorView, TypeView};

use crate::solve_error::SolveError;

/// Defines the id of an item in a table: a position in 32 bits, with a niche for `Option`.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(std::num::NonZeroU32);

        impl $name {
            /// The id of position `index`.
            #[must_use]
            pub fn new(index: usize) -> Self {
                let number = u32::try_from(index + 1).ok().and_then(std::num::NonZeroU32::new);
                Self(number.expect("a table has fewer than 2^32 items"))
            }

            /// The position.
            #[inline]
            #[must_use]
            pub fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    };
}

pub(crate) use id;

id!(
    /// A value of a body.
    ValueId
);
id!(
    /// A step of a body.
    StepId
);
id!(
    /// A graph of a body; number 0 is the outermost.
    GraphId
);
id!(
    /// A name of a body.
    NameId
);
id!(
    /// A declared type of a body.
    DeclarationId
);
id!(
    /// An initializer of a body.
    InitializerId
);
id!(
    /// An operator as one domain and name resolve under one set of operator set imports.
    OpId
);

/// A graph with everything nested in it, or a function.
#[derive(Debug)]
pub struct Body<'a> {
    pub(crate) source: BodySource<'a>,
    /// Each is UTF-8.
    pub(crate) names: Vec<&'a [u8]>,
    pub(crate) values: Vec<ProgramValue>,
    pub(crate) steps: Vec<ProgramStep<'a>>,
    pub(crate) ports: Vec<Option<ValueId>>,
    pub(crate) graphs: Vec<Graph<'a>>,
    pub(crate) declarations: Vec<Declaration<'a>>,
    pub(crate) initializers: Vec<Initializer<'a>>,
    pub(crate) errors: Vec<SolveError<'a>>,
    /// Whether a node reads what a later node makes.
    pub(crate) is_unsorted: bool,
    consumers: OnceLock<Consumers>,
}

/// What a body was built from.
#[derive(Clone, Copy, Debug)]
pub enum BodySource<'a> {
    /// The model's graph.
    Main(GraphView<'a>),
    /// One of its functions.
    Function(FunctionView<'a>),
}

/// A value: a name in a scope, made in one place.
#[derive(Clone, Copy, Debug)]
pub struct ProgramValue {
    /// Its name.
    pub name: NameId,
    /// The graph that it belongs to.
    pub graph: GraphId,
    /// Where it comes from.
    pub origin: Origin,
    /// The first of its declared types.
    pub declaration: Option<DeclarationId>,
}

/// Where a value comes from.
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
    /// Nothing makes it.
    Undefined,
}

/// One node, or one end of a node that has nested graphs.
#[derive(Clone, Copy, Debug)]
pub struct ProgramStep<'a> {
    /// The node's bytes.
    pub node: NodeView<'a>,
    /// Its operator.
    pub op: OpId,
    /// What kind of step this is.
    pub kind: StepKind,
    /// The graph that the node is in.
    pub graph: GraphId,
    /// The node's position in that graph.
    pub position: u32,
    inputs: (u32, u32),
    outputs: (u32, u32),
    first_graph: Option<GraphId>,
    /// Where in the node's bytes its attributes are: the first byte of the first and how many to the end of the last.
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
    /// The node (its first step), attribute and position in that attribute that this graph hangs on.
    pub owner: Option<GraphOwner<'a>>,
    /// Inputs in order.
    pub inputs: Vec<ValueId>,
    /// Outputs in order, with their declared names.
    pub outputs: Vec<ValueId>,
    /// The first step and the one past the last.
    pub steps: (usize, usize),
    next_sibling: Option<GraphId>,
}

/// What a nested graph hangs on.
#[derive(Clone, Copy, Debug)]
pub struct GraphOwner<'a> {
    /// The first step of the node.
    pub step: StepId,
    /// The attribute's name.
    pub attribute: &'a str,
    /// Its position, where the attribute holds several graphs.
    pub position: Option<u32>,
}

/// A type that the model declares for a value.
#[derive(Clone, Copy, Debug)]
pub struct Declaration<'a> {
    /// The declared type.
    pub ty: TypeView<'a>,
    /// In which list it stands.
    pub kind: DeclarationKind,
    /// Another declaration of the same value.
    pub next: Option<DeclarationId>,
}

/// The lists in which a graph declares types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DeclarationKind {
    /// Graph inputs.
    Input,
    /// Graph outputs.
    Output,
    /// `value_info`.
    Value,
}

/// A constant that stands in the graph.
#[derive(Clone, Copy, Debug)]
pub enum Initializer<'a> {
    /// Dense.
    Dense(TensorView<'a>),
    /// Sparse.
    Sparse(SparseTensorView<'a>),
}

/// For each value, the steps that read it.
#[derive(Debug, Default)]
pub struct Consumers {
    start: Vec<u32>,
    steps: Vec<StepId>,
}

impl ProgramStep<'_> {
    /// Where its inputs start in [`Body::ports`].
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
    /// The part of the node that holds its attributes, as a view of its own: empty where there are none.
    #[inline]
    pub(crate) fn attribute_part(&self) -> NodeView<'a> {
        let (start, len) = (self.attributes.0 as usize, self.attributes.1 as usize);
        let part = self.node.bytes().get(start..start + len);
        NodeView::from_body(part.unwrap_or(self.node.bytes()), self.node.offset() + start)
    }

    /// The bytes of its attributes, and of whatever a writer put between them.
    #[inline]
    pub(crate) fn attribute_bytes(&self) -> &'a [u8] {
        self.attribute_part().bytes()
    }

    /// Whether the node has attributes at all.
    #[inline]
    pub(crate) fn has_attributes(&self) -> bool {
        self.attributes.1 > 0
    }
}

/// A name as text; names were checked when they were interned.
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
            errors: Vec::new(),
            is_unsorted: self.is_unsorted,
            consumers: OnceLock::new(),
        }
    }

    /// The same body with these values left out wherever a node reads them.
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

    /// What it was built from.
    #[must_use]
    pub fn source(&self) -> BodySource<'a> {
        self.source
    }

    /// What is wrong with its names and structure.
    #[must_use]
    pub fn errors(&self) -> &[SolveError<'a>] {
        &self.errors
    }

    /// A value's name.
    #[must_use]
    pub fn value_name(&self, value: ValueId) -> &'a str {
        text(self.names[self.values[value.index()].name.index()])
    }

    /// Every name, in the order in which names were met.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.names.iter().map(|name| text(name))
    }

    /// A value.
    #[must_use]
    pub fn value(&self, value: ValueId) -> ProgramValue {
        self.values[value.index()]
    }

    /// Every value, in the order in which names were met.
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        (0..self.values.len()).map(ValueId::new)
    }

    /// An initializer.
    #[must_use]
    pub fn initializer(&self, initializer: InitializerId) -> Initializer<'a> {
        self.initializers[initializer.index()]
    }

    /// The names of the nodes that have one, in the order of steps; malformed ones are left out.
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

    /// The values that a step reads; `None` where an optional input is left out.
    #[inline]
    #[must_use]
    pub fn inputs(&self, step: StepId) -> &[Option<ValueId>] {
        let (from, count) = self.steps[step.index()].inputs;
        &self.ports[from as usize..(from + count) as usize]
    }

    /// The values that a step makes; `None` where an optional output is left out. An `Enter` step makes none.
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

    /// Returns the main graph, where the body has one, and every nested graph with its bytes, in pre-order.
    ///
    /// # Errors
    /// [`DecodeError`] for malformed attributes.
    pub fn graph_views(&self) -> Result<Vec<(GraphId, GraphView<'a>)>, DecodeError> {
        let mut views = Vec::new();
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

    /// The graphs nested directly in a graph, in the order of their nodes and attributes.
    pub fn children(&self, graph: GraphId) -> impl Iterator<Item = GraphId> {
        let (from, to) = self.graph(graph).steps;
        let direct = move |step: &StepId| {
            let ProgramStep { graph: of, kind, .. } = self.step(*step);
            *of == graph && matches!(kind, StepKind::Enter(_))
        };
        (from..to).map(StepId::new).filter(direct).flat_map(|step| self.graphs_of(step).map(|(id, _)| id))
    }

    /// The operator that a step's node names; empty where the bytes are malformed.
    #[must_use]
    pub fn op_name(&self, step: StepId) -> &'a str {
        self.step(step).node.op_type().unwrap_or_default()
    }

    /// The first step of the node that `step` belongs to.
    #[must_use]
    pub fn first_step(&self, step: StepId) -> StepId {
        match self.step(step).kind {
            StepKind::Node | StepKind::Enter(_) => step,
            StepKind::Exit(enter) => enter,
        }
    }

    /// The last step of the node that `step` belongs to: the one that makes its outputs.
    #[must_use]
    pub fn last_step(&self, step: StepId) -> StepId {
        match self.step(step).kind {
            StepKind::Node | StepKind::Exit(_) => step,
            StepKind::Enter(exit) => exit,
        }
    }

    /// The declared types of a value.
    pub fn declarations(&self, value: ValueId) -> impl Iterator<Item = &Declaration<'a>> {
        let mut next = self.value(value).declaration;
        std::iter::from_fn(move || {
            let declaration = &self.declarations[next?.index()];
            next = declaration.next;
            Some(declaration)
        })
    }

    /// For each value, who reads it; made on first use, because a solve in which all knowledge flows forward never asks.
    pub fn consumers(&self) -> &Consumers {
        self.consumers.get_or_init(|| {
            let mut start = vec![0_u32; self.values.len() + 1];
            let reads = || {
                (0..self.steps.len())
                    .map(StepId::new)
                    .flat_map(|step| self.inputs(step).iter().flatten().map(move |value| (*value, step)))
            };
            for (value, _) in reads() {
                start[value.index() + 1] += 1;
            }
            for at in 1..start.len() {
                start[at] += start[at - 1];
            }
            let mut fill = start.clone();
            let mut steps = vec![StepId::new(0); reads().count()];
            for (value, step) in reads() {
                let at = &mut fill[value.index()];
                steps[*at as usize] = step;
                *at += 1;
            }
            Consumers { start, steps }
        })
    }
}
