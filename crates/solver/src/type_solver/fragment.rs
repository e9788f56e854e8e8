//! Conversion of a graph message for the engine: encoded, in topological order, with all inputs declared.
//!
//! The engine reads borrowed views of bytes, so the message is encoded once. Unused parts are omitted:
//! declared types (they are seeds) and the payloads of constants that are too large to decide shapes. Nodes
//! are sorted topologically (Kahn's algorithm; of several ready nodes the first one of the graph comes
//! first). A graph with a cycle keeps its order, and the engine reports the cycle.

use std::borrow::Cow;
use std::collections::BTreeMap;

use prost::Message;
use typeloom_onnx::domain::{LONG_NAME, canonical};
use typeloom_onnx::messages::{GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use typeloom_onnx::nested;
use typeloom_types::op::AtomicOpDecl;

use crate::catalogue::{Catalogue, Lookup};
use crate::map::{Map, Set};
use crate::model::CheckError;
use crate::program::{MAX_NESTING, topological_order};
use crate::state::constants::MAX_ELEMENTS;

/// Numbers of the message fields that are encoded separately.
mod field {
    pub(super) const MODEL_GRAPH: u32 = 7;
    pub(super) const NODE: u32 = 1;
    pub(super) const INITIALIZER: u32 = 5;
    pub(super) const INPUT: u32 = 11;
    pub(super) const OUTPUT: u32 = 12;
    pub(super) const SPARSE_INITIALIZER: u32 = 15;
}

/// The version of ONNX's IR in which initializers need not be inputs.
const IR_VERSION: i64 = 10;

/// A graph as the engine reads it.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    /// The encoded model; `None` if graphs are nested too deep to encode.
    bytes: Option<Vec<u8>>,
    declarations: Declarations,
    /// Position of a node here -> its position in the graph that was given.
    order: Vec<usize>,
    values: Set<String>,
    is_sound: bool,
}

/// The declarations of the operators that a graph uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Declarations(BTreeMap<String, BTreeMap<String, Option<&'static AtomicOpDecl>>>);

impl Declarations {
    fn look_up(
        &mut self,
        node: &NodeProto,
        ask: &mut impl FnMut(&str, &str) -> Option<&'static AtomicOpDecl>,
    ) {
        let (written, name) = (node.domain(), node.op_type());
        let domain = canonical(written);
        if !self.0.contains_key(domain) {
            self.0.insert(domain.to_owned(), BTreeMap::new());
        }
        let Some(known) = self.0.get_mut(domain).filter(|known| !known.contains_key(name)) else { return };
        let other = match written {
            "" => Some(LONG_NAME),
            LONG_NAME => Some(""),
            _ => None,
        };
        let decl = ask(written, name).or_else(|| ask(other?, name));
        known.insert(name.to_owned(), decl);
    }
}

impl Fragment {
    pub(super) fn new(
        graph: &GraphProto,
        mut ask: impl FnMut(&str, &str) -> Option<&'static AtomicOpDecl>,
    ) -> Self {
        let mut declarations = Declarations::default();
        let mut nested = Nested { deepest: 0, defines_twice: false };
        let mut reads = Vec::with_capacity(graph.node.len());
        for node in &graph.node {
            declarations.look_up(node, &mut ask);
            reads.push(reads_of(node, &mut nested, &mut |inner| declarations.look_up(inner, &mut ask)));
        }
        let sorted = order(graph, &reads);
        let has_cycle = sorted.is_none();
        let order = sorted.unwrap_or_else(|| (0..graph.node.len()).collect());
        let implicit = implicit_inputs(graph, &reads);
        let mut values: Set<String> = implicit.iter().map(|name| (*name).to_owned()).collect();
        values.extend(defined(graph).map(str::to_owned));
        let bytes = (nested.deepest <= MAX_NESTING).then(|| encode(graph, &order, &implicit));
        let defines_twice = nested.defines_twice || defines_twice(graph);
        let is_sound = bytes.is_some() && !has_cycle && !defines_twice;
        Self { bytes, declarations, order, values, is_sound }
    }

    /// Whether no value is defined twice, no nodes wait for each other, and the nesting is bounded.
    pub(super) fn is_sound(&self) -> bool {
        self.is_sound
    }

    pub(super) fn bytes(&self) -> Result<&[u8], CheckError> {
        self.bytes.as_deref().ok_or(CheckError::NestingTooDeep)
    }

    pub(super) fn declarations(&self) -> &Declarations {
        &self.declarations
    }

    pub(super) fn has_value(&self, name: &str) -> bool {
        self.values.contains(name)
    }

    /// The position of a node of the outermost graph in the original graph.
    pub(super) fn position(&self, here: usize) -> usize {
        self.order.get(here).copied().unwrap_or(here)
    }
}

impl Catalogue for Declarations {
    fn lookup(&self, domain: &str, name: &str, _version: i64) -> Lookup<'_> {
        let known = self.0.get(domain).and_then(|known| *known.get(name)?);
        known.map_or(Lookup::UnknownOperator, Lookup::Declared)
    }

    fn names(&self, domain: &str) -> Vec<&str> {
        let ops = self.0.get(domain).into_iter().flatten();
        ops.filter(|(_, decl)| decl.is_some()).map(|(name, _)| name.as_str()).collect()
    }
}

/// The names that a graph defines itself, except inputs that it does not list.
fn defined(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let inputs = graph.input.iter().map(ValueInfoProto::name);
    let made = graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str));
    inputs.chain(constants(graph)).chain(made).filter(|name| !name.is_empty())
}

fn constants(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let dense = graph.initializer.iter().map(TensorProto::name);
    dense.chain(graph.sparse_initializer.iter().filter_map(|sparse| Some(sparse.values.as_ref()?.name())))
}

/// Whether a value of a graph has two definitions. An initializer can be the default of an input.
fn defines_twice(graph: &GraphProto) -> bool {
    let (mut inputs, mut known) = (Set::<&str>::default(), Set::<&str>::default());
    let mut made = graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str));
    known.extend(constants(graph));
    let twice = graph.input.iter().any(|input| !inputs.insert(input.name()));
    known.extend(inputs);
    twice || made.any(|name| !name.is_empty() && !known.insert(name))
}

/// Facts about the graphs that are nested in nodes.
struct Nested {
    deepest: usize,
    defines_twice: bool,
}

/// The names that a node takes from its graph. Of a name that a nested graph defines anywhere inside the
/// node, it is taken that the node means that one.
fn reads_of<'g>(
    node: &'g NodeProto,
    nested: &mut Nested,
    visit: &mut impl FnMut(&'g NodeProto),
) -> Vec<&'g str> {
    let mut names: Vec<&str> =
        node.input.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let mut open: Vec<(&GraphProto, usize)> = nested::graphs(node).map(|graph| (graph, 1)).collect();
    if open.is_empty() {
        return names;
    }
    let (mut inner, mut captured) = (Set::<&str>::default(), Vec::new());
    while let Some((graph, depth)) = open.pop() {
        nested.deepest = nested.deepest.max(depth);
        nested.defines_twice |= defines_twice(graph);
        inner.extend(defined(graph));
        captured.extend(graph.output.iter().map(ValueInfoProto::name));
        for node in &graph.node {
            visit(node);
            captured.extend(node.input.iter().map(String::as_str));
            open.extend(nested::graphs(node).map(|graph| (graph, depth + 1)));
        }
    }
    names.extend(captured.into_iter().filter(|name| !name.is_empty() && !inner.contains(name)));
    names
}

/// The nodes in topological order; `None` if there is a cycle.
fn order(graph: &GraphProto, reads: &[Vec<&str>]) -> Option<Vec<usize>> {
    let mut makers = Map::<&str, usize>::default();
    for (at, node) in graph.node.iter().enumerate() {
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            makers.entry(name).or_insert(at);
        }
    }
    let maker = |name: &&str| makers.get(name).copied();
    let needs: Vec<Vec<usize>> = reads.iter().map(|names| names.iter().filter_map(maker).collect()).collect();
    let is_sorted = needs.iter().enumerate().all(|(at, needs)| needs.iter().all(|need| *need < at));
    if is_sorted { Some((0..graph.node.len()).collect()) } else { topological_order(&needs) }
}

/// The names that are read and that nothing defines, in the order in which they are first read.
fn implicit_inputs<'g>(graph: &'g GraphProto, reads: &[Vec<&'g str>]) -> Vec<&'g str> {
    let mut known: Set<&str> = defined(graph).collect();
    let read = reads.iter().flatten().copied();
    let promised = graph.output.iter().map(ValueInfoProto::name).filter(|name| !name.is_empty());
    read.chain(promised).filter(|name| known.insert(name)).collect()
}

fn encode(graph: &GraphProto, order: &[usize], implicit: &[&str]) -> Vec<u8> {
    let mut inner = Vec::new();
    let named = |name: &str| ValueInfoProto { name: name.into(), ..ValueInfoProto::default() };
    for name in graph.input.iter().map(ValueInfoProto::name).chain(implicit.iter().copied()) {
        prost::encoding::message::encode(field::INPUT, &named(name), &mut inner);
    }
    for tensor in &graph.initializer {
        prost::encoding::message::encode(field::INITIALIZER, without_payload(tensor).as_ref(), &mut inner);
    }
    for sparse in &graph.sparse_initializer {
        prost::encoding::message::encode(field::SPARSE_INITIALIZER, sparse, &mut inner);
    }
    for node in order.iter().filter_map(|at| graph.node.get(*at)) {
        prost::encoding::message::encode(field::NODE, node, &mut inner);
    }
    for output in &graph.output {
        prost::encoding::message::encode(field::OUTPUT, &named(output.name()), &mut inner);
    }
    let mut bytes = ModelProto { ir_version: Some(IR_VERSION), ..ModelProto::default() }.encode_to_vec();
    prost::encoding::bytes::encode(field::MODEL_GRAPH, &inner, &mut bytes);
    bytes
}

/// A constant without its elements if they are too many for the engine to read.
fn without_payload(tensor: &TensorProto) -> Cow<'_, TensorProto> {
    let extents = tensor.dims.iter().map(|dim| usize::try_from(*dim).ok());
    let count = extents.into_iter().try_fold(1_usize, |count, extent| count.checked_mul(extent?));
    if count.is_some_and(|count| count <= MAX_ELEMENTS) {
        return Cow::Borrowed(tensor);
    }
    Cow::Owned(TensorProto {
        dims: tensor.dims.clone(),
        data_type: tensor.data_type,
        name: tensor.name.clone(),
        ..TensorProto::default()
    })
}
