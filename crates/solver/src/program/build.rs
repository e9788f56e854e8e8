//! Builds a [`Body`] from the bytes of a graph in one pass over the nodes.
//!
//! The cost is linear in the size of the graph without its tensor data. Nested graphs are built by recursion,
//! which [`MAX_NESTING`] bounds.

use std::str::Utf8Error;
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_onnx::error::FieldName;
use typeloom_onnx::view::{
    AttributeView, FunctionView, GraphField, GraphView, NodeView, TypeView, ValueInfo, ValueInfoView,
};
use typeloom_onnx::wire::{Field, SmallField, WireValue};
use typeloom_onnx::{DecodeError, ErrorKind};

use super::names::Names;
use super::order;
use super::{
    Body, BodySource, Declaration, DeclarationId, DeclarationKind, Graph, GraphId, GraphOwner, Initializer,
    InitializerId, NameId, OpId, Origin, ProgramStep, ProgramValue, StepId, StepKind, ValueId,
};
use crate::signature::is_same_name;
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};

/// Maximum nesting of graphs.
pub const MAX_NESTING: usize = 64;

/// Error of a body that cannot be built at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The bytes are not a graph.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// Graphs are nested more than [`MAX_NESTING`] deep.
    #[error("graphs are nested more than {MAX_NESTING} deep")]
    NestingTooDeep,
}

/// Resolves the domain, name and overload of a node's operator.
pub(crate) type ResolveOp<'r, 'a> = &'r mut dyn FnMut(&'a str, &'a str, &'a str) -> OpId;

/// Whether an initializer with the name of an input is a constant. Before ONNX IR 4 every initializer had to
/// be an input too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defaults {
    /// It is a default that the caller may replace.
    Replaceable,
    /// It is a constant.
    Constant,
}

struct Builder<'a, 'r> {
    body: &'r mut Body<'a>,
    names: Names<'a>,
    resolve_op: ResolveOp<'r, 'a>,
    defaults: Defaults,
    /// Names in the open graphs that were read before their definition.
    undefined: Vec<UndefinedRead>,
    late: Vec<order::Late>,
    /// Recent operators without an overload, by a hash of name and domain.
    recent: [Option<Recent<'a>>; RECENT_OPERATORS],
}

/// The name and domain of an operator.
type Recent<'a> = ([&'a [u8]; 2], OpId);

/// Number of entries in the table of recent operators.
const RECENT_OPERATORS: usize = 32;

// Field numbers of `NodeProto`.
const INPUT: u32 = 1;
const OUTPUT: u32 = 2;
const OP_TYPE: u32 = 4;
const ATTRIBUTE: u32 = 5;
const DOMAIN: u32 = 7;
const OVERLOAD: u32 = 8;

/// A string that may not be UTF-8, with its position in the file.
#[derive(Clone, Copy, Default)]
struct Text<'a> {
    bytes: &'a [u8],
    offset: usize,
}

type NestedGraphs<'a> = SmallVec<[(GraphOwner<'a>, GraphView<'a>); 1]>;

/// The fields of a node, except for its inputs.
#[derive(Default)]
struct NodeParts<'a> {
    op_type: Text<'a>,
    domain: Text<'a>,
    overload: Text<'a>,
    outputs: SmallVec<[Text<'a>; 2]>,
    /// Start and end of its attributes, relative to the node.
    attributes: Option<(usize, usize)>,
    bodies: NestedGraphs<'a>,
}

impl<'a> NodeParts<'a> {
    /// Adds the graphs in an attribute of the node with the first step `step`.
    #[inline]
    fn add_graphs(&mut self, attribute: AttributeView<'a>, step: StepId) -> Result<(), DecodeError> {
        if !holds_graphs(attribute)? {
            return Ok(());
        }
        let attribute = attribute.parse()?;
        let owner = |position| GraphOwner { step, attribute: attribute.name, position };
        if let Some(graph) = attribute.g {
            self.bodies.push((owner(None), graph));
        }
        for (at, graph) in attribute.graphs().enumerate() {
            self.bodies.push((owner(u32::try_from(at).ok()), graph?));
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct UndefinedRead {
    value: ValueId,
    reader: StepId,
    input: usize,
    depth: usize,
}

/// Builds the body of a model's graph.
pub(crate) fn main<'a>(
    graph: GraphView<'a>,
    defaults: Defaults,
    resolve_op: ResolveOp<'_, 'a>,
) -> Result<Arc<Body<'a>>, BuildError> {
    let mut body = Body::default();
    let mut builder = Builder::new(&mut body, BodySource::Main(graph), defaults, resolve_op);
    builder.graph(graph, None, 0)?;
    builder.finish();
    Ok(Arc::new(body))
}

/// Builds the body of a function. Its inputs and outputs have names but no types.
pub(crate) fn function<'a>(
    function: FunctionView<'a>,
    resolve_op: ResolveOp<'_, 'a>,
) -> Result<Arc<Body<'a>>, BuildError> {
    let mut body = Body::default();
    let source = BodySource::Function(function);
    let mut builder = Builder::new(&mut body, source, Defaults::Replaceable, resolve_op);
    let graph = builder.open_graph(None);
    for name in function.inputs() {
        let name = builder.names.intern(name?);
        let input = builder.define(name, graph, Origin::Input, None);
        builder.body.graphs[graph.index()].inputs.push(input);
    }
    for (position, node) in function.nodes().enumerate() {
        builder.node(node?, graph, position, 0)?;
    }
    for name in function.outputs() {
        let name = builder.names.intern(name?);
        builder.graph_output(name, graph);
    }
    for info in function.value_info() {
        let info = info?.parse()?;
        let name = builder.names.intern(info.name);
        builder.declare(name, info.ty, graph, DeclarationKind::Value);
    }
    builder.close_graph(graph, 0);
    builder.finish();
    Ok(Arc::new(body))
}

impl<'a, 'r> Builder<'a, 'r> {
    fn new(
        body: &'r mut Body<'a>,
        source: BodySource<'a>,
        defaults: Defaults,
        resolve_op: ResolveOp<'r, 'a>,
    ) -> Self {
        body.source = source;
        body.graphs = Vec::with_capacity(1);
        Self {
            body,
            names: Names::default(),
            resolve_op,
            defaults,
            undefined: Vec::new(),
            late: Vec::new(),
            recent: [None; RECENT_OPERATORS],
        }
    }

    fn finish(self) {
        order::report(self.body, &self.late);
        self.body.names = self.names.names;
        self.body.errors.sort_by_key(|error| error.site);
    }

    fn reserve(&mut self, nodes: usize, others: usize) {
        // Most nodes have one output and at most two inputs.
        self.body.values.reserve(nodes + others);
        self.body.steps.reserve(nodes);
        self.body.ports.reserve(nodes * 3);
        self.names.reserve(nodes + others);
    }

    fn open_graph(&mut self, owner: Option<GraphOwner<'a>>) -> GraphId {
        let id = GraphId::new(self.body.graphs.len());
        let start = self.body.steps.len();
        self.body.graphs.push(Graph {
            owner,
            inputs: SmallVec::new(),
            outputs: SmallVec::new(),
            steps: (start, start),
            leading_nodes: 0,
            next_sibling: None,
        });
        id
    }

    /// Ends a graph. At the end of the outermost one, reports the names that were read but not defined.
    fn close_graph(&mut self, graph: GraphId, depth: usize) {
        self.body.graphs[graph.index()].steps.1 = self.body.steps.len();
        while let Some(undefined) =
            self.undefined.last().copied().filter(|undefined| undefined.depth >= depth && depth == 0)
        {
            self.undefined.pop();
            if self.body.values[undefined.value.index()].origin == Origin::Undefined {
                let kind = SolveErrorKind::UndefinedValue { value: undefined.value, input: undefined.input };
                self.body.errors.push(SolveError { site: ErrorSite::Step(undefined.reader), kind });
            }
        }
    }

    fn graph(
        &mut self,
        view: GraphView<'a>,
        owner: Option<GraphOwner<'a>>,
        depth: usize,
    ) -> Result<GraphId, BuildError> {
        if depth > MAX_NESTING {
            return Err(BuildError::NestingTooDeep);
        }
        let graph = self.open_graph(owner);
        // Inputs and initializers may follow the nodes that read them, so the nodes are read last.
        let (mut nodes, mut inputs) = (0, SmallVec::<[ValueInfoView<'a>; 4]>::new());
        let (mut initializers, mut declared) = (SmallVec::<[_; 2]>::new(), SmallVec::<[_; 4]>::new());
        let mut fields = view.fields();
        nodes += fields.skip_nodes();
        self.body.graphs[graph.index()].leading_nodes = fields.offset() - view.offset();
        while let Some(field) = fields.next() {
            match field? {
                GraphField::Node(_) => nodes += 1 + fields.skip_nodes(),
                GraphField::Input(info) => inputs.push(info),
                GraphField::Initializer(tensor) => initializers.push(Initializer::Dense(tensor)),
                GraphField::SparseInitializer(sparse) => initializers.push(Initializer::Sparse(sparse)),
                GraphField::Output(info) => declared.push((info, DeclarationKind::Output)),
                GraphField::ValueInfo(info) => declared.push((info, DeclarationKind::Value)),
                GraphField::Name(_)
                | GraphField::QuantizationAnnotation(_)
                | GraphField::Metadata(_)
                | GraphField::Other(_) => {}
            }
        }
        self.reserve(nodes, inputs.len() + initializers.len());
        self.body.declarations.reserve(inputs.len() + declared.len());
        self.body.initializers.reserve(initializers.len());
        self.body.graphs[graph.index()].inputs.reserve(inputs.len());
        for info in inputs {
            let ValueInfo { name, ty } = info.parse()?;
            let name = self.names.intern(name);
            let input = self.define(name, graph, Origin::Input, None);
            self.body.graphs[graph.index()].inputs.push(input);
            self.declare_value(input, ty, DeclarationKind::Input);
        }
        for initializer in initializers {
            let name = match initializer {
                Initializer::Dense(tensor) => tensor.header()?.name(),
                Initializer::Sparse(sparse) => {
                    let values = sparse.parse()?.values;
                    values.map(|values| values.header()).transpose()?.map_or("", |it| it.name())
                }
            };
            self.initializer(name, graph, initializer);
        }
        if depth > 0 && self.defaults == Defaults::Constant {
            self.drop_constant_inputs(graph);
        }
        let mut position = 0;
        let mut fields = view.wire_fields();
        loop {
            let (number, bytes) = match fields.next_bytes() {
                Some(record) => record,
                None => match fields.next() {
                    None => break,
                    Some(field) => match field? {
                        Field { number, value: WireValue::Len(bytes, _), .. } => (number, bytes),
                        Field { .. } => continue,
                    },
                },
            };
            if number == GraphView::NODE {
                let node = NodeView::from_body(bytes, fields.offset() - bytes.len());
                self.node(node, graph, position, depth)?;
                position += 1;
            }
        }
        for (info, kind) in declared {
            let ValueInfo { name, ty } = info.parse()?;
            let name = self.names.intern(name);
            if kind == DeclarationKind::Output {
                self.graph_output(name, graph);
            }
            self.declare(name, ty, graph, kind);
        }
        self.close_graph(graph, depth);
        Ok(graph)
    }

    fn node(
        &mut self,
        node: NodeView<'a>,
        graph: GraphId,
        position: usize,
        depth: usize,
    ) -> Result<(), BuildError> {
        let step = StepId::new(self.body.steps.len());
        let first_port = self.body.ports.len();
        let mut parts = NodeParts::default();
        self.node_fields(node, (graph, step, depth), &mut parts)?;
        let op = self.operator(parts.domain, parts.op_type, parts.overload)?;
        let range = |(from, to): (usize, usize)| match (u32::try_from(from), u32::try_from(to - from)) {
            (Ok(from), Ok(len)) => (from, len),
            // The whole node.
            (Ok(_) | Err(_), Ok(_) | Err(_)) => (0, u32::MAX),
        };
        let attributes = parts.attributes.map_or((0, 0), range);
        let inputs = (index32(first_port), index32(self.body.ports.len() - first_port));
        self.body.steps.push(ProgramStep {
            node,
            op,
            kind: StepKind::Node,
            graph,
            position: index32(position),
            inputs,
            outputs: (0, 0),
            first_graph: None,
            attributes,
        });
        let maker = match parts.bodies.is_empty() {
            true => step,
            false => self.nested_graphs(step, std::mem::take(&mut parts.bodies), depth)?,
        };
        let first_port = self.body.ports.len();
        for (at, Text { bytes, offset }) in parts.outputs.iter().copied().enumerate() {
            let value = match bytes {
                [] => None,
                name => {
                    let name = self.names.intern_bytes(name);
                    let name = name.map_err(|error| not_utf8(offset, OUTPUT, error))?;
                    Some(self.define(name, graph, Origin::Step(maker), Some(at)))
                }
            };
            self.body.ports.push(value);
        }
        let count = self.body.ports.len() - first_port;
        self.body.steps[maker.index()].outputs = (index32(first_port), index32(count));
        Ok(())
    }

    /// Reads the fields of a node and resolves its inputs.
    #[inline]
    fn node_fields(
        &mut self,
        node: NodeView<'a>,
        (graph, step, depth): (GraphId, StepId, usize),
        parts: &mut NodeParts<'a>,
    ) -> Result<(), BuildError> {
        let mut input = 0;
        let mut fields = node.wire_fields();
        loop {
            let start = fields.offset();
            let (number, bytes, offset) = match fields.next_bytes() {
                Some((number, bytes)) => (number, bytes, fields.offset() - bytes.len()),
                None => {
                    let Some(field) = fields.next() else { return Ok(()) };
                    let field = field?;
                    let Some(name) = field_name(field.number) else { continue };
                    let (bytes, offset) = field.bytes(name)?;
                    (field.number, bytes, offset)
                }
            };
            match number {
                INPUT => {
                    let name =
                        self.names.intern_input(bytes).map_err(|error| not_utf8(offset, INPUT, error))?;
                    let value = name.map(|name| self.read(name, graph, step, input, depth));
                    self.body.ports.push(value);
                    input += 1;
                }
                OUTPUT => parts.outputs.push(Text { bytes, offset }),
                OP_TYPE => parts.op_type = Text { bytes, offset },
                DOMAIN => parts.domain = Text { bytes, offset },
                OVERLOAD => parts.overload = Text { bytes, offset },
                ATTRIBUTE => {
                    let from = parts.attributes.map_or(start - node.offset(), |(from, _)| from);
                    parts.attributes = Some((from, fields.offset() - node.offset()));
                    parts.add_graphs(AttributeView::from_body(bytes, offset), step)?;
                }
                _ => {}
            }
        }
    }

    /// Builds the graphs nested in a node between its two steps; returns the second one.
    fn nested_graphs(
        &mut self,
        step: StepId,
        bodies: NestedGraphs<'a>,
        depth: usize,
    ) -> Result<StepId, BuildError> {
        let mut last: Option<GraphId> = None;
        for (owner, view) in bodies {
            let mark = self.names.enter();
            let child = self.graph(view, Some(owner), depth + 1)?;
            self.names.leave(mark);
            match last.replace(child) {
                Some(before) => self.body.graphs[before.index()].next_sibling = Some(child),
                None => self.body.steps[step.index()].first_graph = Some(child),
            }
        }
        let exit = StepId::new(self.body.steps.len());
        self.body.steps[step.index()].kind = StepKind::Enter(exit);
        let enter = *self.body.step(step);
        self.body.steps.push(ProgramStep { kind: StepKind::Exit(step), ..enter });
        Ok(exit)
    }

    /// Returns the operator of a node. Models have many nodes of few operators, so recent results are kept in
    /// a small table, which must have the results of `resolve_op` (a test of `ops` compares them): with a
    /// lookup there for each node, a check of 5,000 nodes takes 1.1 times as long.
    fn operator(
        &mut self,
        domain: Text<'a>,
        op_type: Text<'a>,
        overload: Text<'a>,
    ) -> Result<OpId, DecodeError> {
        let spelling = [op_type.bytes, domain.bytes];
        let first = op_type.bytes.first().map_or(0, |byte| usize::from(*byte));
        let last = op_type.bytes.last().map_or(0, |byte| usize::from(*byte));
        let at = (first ^ last << 1 ^ op_type.bytes.len() << 3) % RECENT_OPERATORS;
        let is_plain = overload.bytes.is_empty();
        if let Some((known, op)) = &self.recent[at]
            && is_plain
            && known.iter().zip(spelling).all(|(known, given)| is_same_name(known, given))
        {
            return Ok(*op);
        }
        let read = |text: Text<'a>, field| {
            if text.bytes.is_empty() {
                return Ok("");
            }
            std::str::from_utf8(text.bytes).map_err(|error| not_utf8(text.offset, field, error))
        };
        let (name, of) = (read(op_type, OP_TYPE)?, read(domain, DOMAIN)?);
        let op = (self.resolve_op)(of, name, read(overload, OVERLOAD)?);
        if is_plain {
            self.recent[at] = Some((spelling, op));
        }
        Ok(op)
    }

    fn new_value(&mut self, name: NameId, graph: GraphId, origin: Origin) -> ValueId {
        let value = ValueId::new(self.body.values.len());
        self.body.values.push(ProgramValue { name, graph, origin, declaration: None });
        value
    }

    /// Defines a value in a graph, and reports a name that the graph defines twice.
    fn define(&mut self, name: NameId, graph: GraphId, origin: Origin, output: Option<usize>) -> ValueId {
        if let Some(known) = self.names.meaning(name) {
            let before = self.body.values[known.index()];
            if before.origin == Origin::Undefined {
                self.body.values[known.index()].origin = origin;
                self.body.values[known.index()].graph = graph;
                return known;
            }
            if before.graph == graph {
                let maker = origin.step().map(|step| self.body.first_step(step));
                let site = maker.map_or(ErrorSite::Value(known), ErrorSite::Step);
                let kind = SolveErrorKind::DuplicateValue { first: known, output };
                self.body.errors.push(SolveError { site, kind });
            }
        }
        let value = self.new_value(name, graph, origin);
        self.names.define(name, value);
        value
    }

    /// The value that a name denotes at an input; an undefined value if there is no definition so far.
    fn read(&mut self, name: NameId, graph: GraphId, reader: StepId, input: usize, depth: usize) -> ValueId {
        let value = match self.names.meaning(name) {
            Some(value) if self.body.values[value.index()].origin != Origin::Undefined => return value,
            Some(value) => value,
            None => {
                let value = self.new_value(name, graph, Origin::Undefined);
                self.names.define_everywhere(name, value);
                self.undefined.push(UndefinedRead { value, reader, input, depth });
                value
            }
        };
        self.late.push(order::Late { value, reader, input });
        value
    }

    fn initializer(&mut self, name: &'a str, graph: GraphId, initializer: Initializer<'a>) {
        let id = InitializerId::new(self.body.initializers.len());
        self.body.initializers.push(initializer);
        let known = self.names.intern(name);
        if let Some(input) = self.names.meaning(known)
            && self.body.values[input.index()].graph == graph
            && self.body.values[input.index()].origin == Origin::Input
        {
            self.body.values[input.index()].origin = match self.defaults {
                Defaults::Replaceable => Origin::InputWithDefault(id),
                Defaults::Constant => Origin::Initializer(id),
            };
            return;
        }
        self.define(known, graph, Origin::Initializer(id), None);
    }

    /// Removes the last inputs of a nested graph that are constants: its node has no inputs for them.
    fn drop_constant_inputs(&mut self, graph: GraphId) {
        let Body { graphs, values, .. } = &mut *self.body;
        let inputs = &mut graphs[graph.index()].inputs;
        let is_kept = |input: &ValueId| values[input.index()].origin.initializer().is_none();
        let kept = inputs.iter().rposition(is_kept).map_or(0, |last| last + 1);
        inputs.truncate(kept);
    }

    /// Adds an output of a graph.
    fn graph_output(&mut self, id: NameId, graph: GraphId) {
        let known = self.names.meaning(id);
        let value = match known.filter(|value| self.body.values[value.index()].origin != Origin::Undefined) {
            Some(value) => value,
            None => {
                let value = known.unwrap_or_else(|| self.new_value(id, graph, Origin::Undefined));
                self.body.errors.push(SolveError {
                    site: ErrorSite::Graph(graph),
                    kind: SolveErrorKind::UndefinedOutput { value },
                });
                value
            }
        };
        self.body.graphs[graph.index()].outputs.push(value);
    }

    /// Adds a declaration. One without a definition in the same graph is ignored.
    fn declare(&mut self, name: NameId, ty: Option<TypeView<'a>>, graph: GraphId, kind: DeclarationKind) {
        if let Some(value) = self.names.meaning(name)
            && self.body.values[value.index()].graph == graph
        {
            self.declare_value(value, ty, kind);
        }
    }

    fn declare_value(&mut self, value: ValueId, ty: Option<TypeView<'a>>, kind: DeclarationKind) {
        if let Some(ty) = ty {
            let id = DeclarationId::new(self.body.declarations.len());
            let next = self.body.values[value.index()].declaration.replace(id);
            self.body.declarations.push(Declaration { ty, kind, next });
        }
    }
}

/// Whether an attribute contains a graph, from its field numbers.
fn holds_graphs(attribute: AttributeView<'_>) -> Result<bool, DecodeError> {
    const GRAPH: u32 = 6;
    const GRAPHS: u32 = 11;
    let mut fields = attribute.wire_fields();
    loop {
        let number = match fields.next_small() {
            Some(SmallField::Varint(number, _) | SmallField::Bytes(number, _)) => number,
            None => match fields.next() {
                Some(field) => field?.number,
                None => return Ok(false),
            },
        };
        if number == GRAPH || number == GRAPHS {
            return Ok(true);
        }
    }
}

/// The names of the fields of nodes that the builder reads, for errors.
static FIELD_NAMES: [(u32, FieldName); 6] = {
    const fn of(field: &'static str) -> FieldName {
        FieldName { message: "NodeProto", field }
    }
    [
        (INPUT, of("input")),
        (OUTPUT, of("output")),
        (OP_TYPE, of("op_type")),
        (ATTRIBUTE, of("attribute")),
        (DOMAIN, of("domain")),
        (OVERLOAD, of("overload")),
    ]
};

fn field_name(number: u32) -> Option<&'static FieldName> {
    FIELD_NAMES.iter().find(|(own, _)| *own == number).map(|(_, name)| name)
}

#[cold]
fn not_utf8(offset: usize, field: u32, error: Utf8Error) -> DecodeError {
    let kind = ErrorKind::InvalidUtf8 { field: field_name(field).expect("the builder reads the field") };
    DecodeError { offset: offset.saturating_add(error.valid_up_to()), kind }
}

fn index32(index: usize) -> u32 {
    u32::try_from(index).expect("memory ends before 2^32 ports")
}
