//! Edits of one body: new nodes, the ports that read them, declarations, and the printed changes.
//!
//! A solution contains conversions of values. [`BodyWriter`] converts those of one copy of a body into edits
//! of the file, and describes each edit in the [`Repair`]. For `x` of type float and `w` of type double:
//!
//! | node | edit |
//! |---|---|
//! | `w_as_float = Cast <to = 1> (w)` | a new node, before the first reader |
//! | `y = Mul (x, w_as_float)` | input 1, which was `w`, has a new name |
//!
//! A reader can also bypass a cast of the model, which needs no new node.
//!
//! There are two steps. [`BodyWriter::convert`] names the conversions and collects, by position, the new
//! nodes and the new names of ports. Then each graph of the body, nested graphs included, is visited once,
//! and [`replace_strings`] and the splice writer edit the records that change.
//!
//! An output of the model keeps its name. So if it is converted, the `Cast` takes the name, and the value is
//! renamed where it is defined and where it is read without the conversion.
//!
//! **Invariant:** declarations of inputs and outputs of the main graph are not edited. Every edited or new
//! node is in a [`Hunk`] of the repair.
//!
//! **Invariant:** a declaration of a value follows the solution: it gets the new element type, or none if the
//! value has several in the calls that share the copy.
//!
//! **Cost:** linear in the body, in addition to one visit of the body for each renamed output. An edit is
//! described for the call in which it loses most, which [`BodyWriter::worst`] finds among all calls of the
//! copy.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use typeloom_onnx::messages::{NodeProto, ValueInfoProto, read};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::text::{PrintOptions, print_node};
use typeloom_onnx::view::NodeView;
use typeloom_onnx::wire::{Field, Fields};
use typeloom_solver::elem::Elem;
use typeloom_solver::program::GraphId;

use super::super::cast_operator::{NewNode, cast, cast_like, constant};
use super::super::layout::{BodyId, GraphLayout, Layout, NodeId, Site, Source};
use super::super::problem::{Conversion, LocalValue, Solution, Target};
use super::super::{
    BypassedCast, Cast, CastUse, CorrectedDeclaration, Hunk, Repair, graph_text, keeps_values,
};
use super::WriteError;
use super::copies::BodyCopy;
use crate::declared::retype;
use crate::fields::{
    FUNCTION_OUTPUT, GRAPH_OUTPUT, GRAPH_VALUE_INFO, NODE_INPUT, NODE_OP_TYPE, NODE_OUTPUT, TENSOR_NAME,
};
use crate::names::Names;

/// The new names of some ports, by position.
type Ports = BTreeMap<usize, String>;

pub(super) struct BodyWriter<'w, 'p, 'a> {
    layout: &'w Layout<'w>,
    copy: &'w BodyCopy,
    copies: &'w [BodyCopy],
    solution: &'w Solution<'p, 'a>,
    /// The version of the default operator set.
    version: i64,
    conversions: &'w [Conversion<'a>],
    inputs: BTreeMap<NodeId, Ports>,
    outputs: BTreeMap<NodeId, Ports>,
    /// The new names of outputs of graphs.
    results: BTreeMap<(GraphId, usize), String>,
    /// The new nodes before each node. Those at the end of a graph are stored by the position after its last
    /// node.
    new_nodes: BTreeMap<NodeId, Vec<NodeProto>>,
    /// Values of the main graph that are renamed because a conversion takes their name as an output of the
    /// model, with the element type of the conversion.
    renamed: BTreeMap<String, Elem>,
    /// The operators of nodes with conversions: a node with many inputs is read once.
    operators: HashMap<NodeId, &'w str>,
    has_changed: bool,
}

impl<'w, 'p, 'a> BodyWriter<'w, 'p, 'a> {
    pub(super) fn new(
        layout: &'w Layout<'w>,
        copy: &'w BodyCopy,
        copies: &'w [BodyCopy],
        solution: &'w Solution<'p, 'a>,
        version: i64,
    ) -> Self {
        Self {
            layout,
            copy,
            copies,
            solution,
            version,
            conversions: solution.conversions(copy.first_call()),
            inputs: BTreeMap::new(),
            outputs: BTreeMap::new(),
            results: BTreeMap::new(),
            new_nodes: BTreeMap::new(),
            renamed: BTreeMap::new(),
            operators: HashMap::new(),
            has_changed: false,
        }
    }

    pub(super) fn has_conversions(&self) -> bool {
        self.conversions.iter().any(|it| !matches!(it.target, Target::Source(_)))
    }

    pub(super) fn write(
        &mut self,
        names: &mut Names,
        splice: &mut Splice<'_>,
        changes: &mut Repair,
    ) -> Result<(), WriteError> {
        self.has_changed = !self.conversions.is_empty();
        self.convert(names, splice, changes)?;
        let mut undeclared = Vec::new();
        for (graph, layout) in self.layout.graphs() {
            self.graph(graph, layout, splice, changes, &mut undeclared)?;
        }
        if self.has_changed {
            for (message, field, info) in undeclared {
                splice.replace(message, &field, Records::new().message(field.number, &info));
            }
        }
        Ok(())
    }

    /// The name of the function; `None` for the main graph.
    fn function(&self) -> Option<&str> {
        self.layout.is_function().then_some(self.copy.name.as_str())
    }

    fn graph_text(&self, graph: GraphId) -> String {
        graph_text(self.function(), &self.layout.path(graph))
    }

    /// Names the conversions, and collects the new nodes and the new names of ports.
    fn convert(
        &mut self,
        names: &mut Names,
        splice: &mut Splice<'_>,
        changes: &mut Repair,
    ) -> Result<(), WriteError> {
        // An output of the model keeps its name, so its conversion takes the name of the value.
        let is_interface = |conversion: &Conversion<'_>| {
            let is_output = |site: &Site| site.node.is_none() && site.graph.index() == 0;
            self.copy.body == BodyId::MAIN && conversion.readers.iter().any(is_output)
        };
        let mut own_names: BTreeMap<&str, String> = BTreeMap::new();
        let mut outputs = Vec::new();
        for conversion in self.conversions {
            let name = conversion.value.name;
            outputs.push(if is_interface(conversion) {
                own_names.insert(name, names.fresh(&format!("{name}_as_{}", elem_name(conversion.from))));
                self.renamed.insert(name.to_owned(), conversion.to);
                name.to_owned()
            } else {
                names.fresh(&match conversion.target {
                    Target::Elem(elem) => format!("{name}_as_{}", elem_name(elem)),
                    Target::Like(other) => format!("{name}_like_{}", other.name),
                    Target::Source(source) => {
                        outputs.push(source.name.to_owned());
                        continue;
                    }
                })
            });
        }
        for (at, (conversion, output)) in self.conversions.iter().zip(outputs).enumerate() {
            let Conversion { value, graph, target, readers, .. } = conversion;
            if let Target::Source(source) = target {
                let source = own_names.get(source.name).map_or(source.name, String::as_str);
                readers.iter().for_each(|site| self.read(*site, source));
                changes.bypassed.push(BypassedCast {
                    graph: self.graph_text(*graph),
                    value: value.name.to_owned(),
                    source: source.to_owned(),
                    uses: readers.iter().map(|site| self.cast_use(*site)).collect(),
                });
                continue;
            }
            let end = self.layout.graph(*graph).map_or(0, |graph| graph.nodes.len());
            let before = readers.iter().filter_map(|site| self.layout.position_in(*graph, *site)).min();
            let before = before.unwrap_or(end);
            let name = names.fresh(&format!("Cast_{output}"));
            let key = (self.copy.body, *value);
            if let Some(tensor) = self.solution.folded.get(&key) {
                let position = NodeId { graph: *graph, position: before };
                let node = constant(&output, tensor);
                self.new_nodes.entry(position).or_default().push(node);
                readers.iter().for_each(|site| self.read(*site, &output));
                continue;
            }
            let source = self.solution.cast_inputs.get(&key).map_or(value.name, |source| source.name);
            let input = own_names.get(source).map_or(source, String::as_str);
            let node = NewNode { name: &name, input, output: &output };
            let node = match target {
                Target::Elem(elem) => cast(&node, *elem, self.version),
                Target::Like(other) => cast_like(&node, other.name),
                Target::Source(_) => continue,
            };
            let position = NodeId { graph: *graph, position: before };
            self.new_nodes.entry(position).or_default().push(node);
            for site in readers {
                self.read(*site, &output);
            }
            let (from, to) = self.worst(at, conversion);
            changes.casts.push(Cast {
                graph: self.graph_text(*graph),
                before,
                name,
                input: input.to_owned(),
                output,
                from,
                to,
                like: match target {
                    Target::Elem(_) | Target::Source(_) => None,
                    Target::Like(other) => Some(other.name.to_owned()),
                },
                uses: readers.iter().map(|site| self.cast_use(*site)).collect(),
                loss: self.solution.problem.loss(self.copy.body, *value, from, to),
            });
        }
        for (old, new) in own_names {
            self.rename(old, &new, splice)?;
        }
        Ok(())
    }

    fn cast_use(&mut self, site: Site) -> CastUse {
        let layout = self.layout;
        let operator = |node| *self.operators.entry(node).or_insert_with(|| layout.operator(node));
        let operator = site.node().map(operator).unwrap_or_default();
        CastUse {
            function: self.function().map(str::to_owned),
            graph: self.layout.path(site.graph),
            node: site.node,
            operator: operator.to_owned(),
            at: site.port,
        }
    }

    /// Sets the name of the value at a use. Outputs of the model keep their names.
    fn read(&mut self, site: Site, name: &str) {
        match site.node() {
            Some(node) => {
                self.inputs.entry(node).or_default().entry(site.port).or_insert_with(|| name.to_owned());
            }
            None if self.copy.body == BodyId::MAIN && site.graph.index() == 0 => {}
            None => {
                self.results.entry((site.graph, site.port)).or_insert_with(|| name.to_owned());
            }
        }
    }

    /// The element types of a conversion in the call in which it loses the most precision.
    fn worst(&self, at: usize, conversion: &Conversion<'_>) -> (Elem, Elem) {
        let is_same = |other: &&Conversion<'_>| other.is_same_node(conversion);
        let in_calls = self.copy.calls.iter().filter_map(|call| {
            let conversions = self.solution.conversions(*call);
            // Most calls have the same conversions in the same order.
            conversions.get(at).filter(is_same).or_else(|| conversions.iter().find(is_same))
        });
        let elems: Vec<(Elem, Elem)> = in_calls.map(|other| (other.from, other.to)).collect();
        let lossy = elems.iter().find(|(from, to)| !keeps_values(*from, *to));
        let real = elems.iter().find(|(from, to)| from != to);
        lossy.or(real).copied().unwrap_or((conversion.from, conversion.to))
    }

    /// Renames a value of the main graph at its definition and at every use without a conversion.
    fn rename(&mut self, old: &str, new: &str, splice: &mut Splice<'_>) -> Result<(), WriteError> {
        let mut sees_value: Vec<bool> = Vec::new();
        for (graph, GraphLayout { source, nodes, .. }) in self.layout.graphs() {
            let outer = self.layout.outer(graph);
            let sees =
                outer.is_none_or(|outer| sees_value[outer.index()] && !self.layout.defines(graph, old));
            sees_value.push(sees);
            if !sees {
                continue;
            }
            for (position, node) in nodes.iter().enumerate() {
                for (port, input) in node.inputs().enumerate() {
                    if input? == old {
                        self.read(Site { graph, node: Some(position), port }, new);
                    }
                }
                for (port, output) in node.outputs().enumerate() {
                    if output? == old {
                        let ports = self.outputs.entry(NodeId { graph, position }).or_default();
                        ports.insert(port, new.to_owned());
                    }
                }
            }
            let Source::Graph(view) = source else { continue };
            for (port, info) in view.outputs().enumerate() {
                if info?.parse()?.name == old {
                    self.read(Site { graph, node: None, port }, new);
                }
            }
            for tensor in view.initializers() {
                let tensor = tensor?;
                if outer.is_none() && tensor.header()?.name() == old {
                    replace_strings(
                        tensor.wire_fields(),
                        tensor.offset(),
                        TENSOR_NAME,
                        |_| Some(new),
                        splice,
                    )?;
                }
            }
        }
        Ok(())
    }

    fn graph(
        &mut self,
        graph: GraphId,
        layout: &GraphLayout<'w>,
        splice: &mut Splice<'_>,
        changes: &mut Repair,
        undeclared: &mut Vec<(usize, Field<'w>, ValueInfoProto)>,
    ) -> Result<(), WriteError> {
        let message = layout.source.offset();
        for (position, (view, record)) in layout.nodes.iter().zip(&layout.records).enumerate() {
            self.node(NodeId { graph, position }, *view, message, record, splice, changes)?;
        }
        let end = NodeId { graph, position: layout.nodes.len() };
        if let Some(nodes) = self.new_nodes.remove(&end) {
            for node in &nodes {
                splice.append(message, Records::new().message(layout.source.node_field(), node));
            }
            changes.hunks.push(self.hunk(end, None, nodes.iter().map(printed).collect()));
        }
        if let Source::Function(view) = layout.source {
            let of_graph = self.results.iter().filter(|((own, _), _)| *own == graph);
            let names: Ports = of_graph.map(|((_, port), name)| (*port, name.clone())).collect();
            replace_strings(view.wire_fields(), message, FUNCTION_OUTPUT, |port| names.get(&port), splice)?;
        }
        let mut ports = 0..;
        for (record, info) in layout.source.declarations()? {
            let is_graph = matches!(layout.source, Source::Graph(_));
            let port = if is_graph && record.number == GRAPH_OUTPUT { ports.next() } else { None };
            if is_graph && graph.index() == 0 && record.number != GRAPH_VALUE_INFO {
                continue;
            }
            let elems: BTreeSet<Elem> = match port {
                Some(port) => {
                    let of_call = |call: &_| self.solution.output_elem(*call, graph, port);
                    self.copy.calls.iter().filter_map(of_call).collect()
                }
                None => self.elems(LocalValue { graph, name: info.parse()?.name }),
            };
            let result = port.and_then(|port| self.results.get(&(graph, port)).cloned());
            let mut info: ValueInfoProto = read(bytes::Bytes::copy_from_slice(info.bytes()))?;
            if elems.len() > 1 {
                let name = result.map_or(info.name, Into::into);
                undeclared.push((message, record, ValueInfoProto { name, r#type: None, ..info }));
                continue;
            }
            let corrected = elems.first().and_then(|to| {
                let from = retype(info.r#type.as_mut(), *to)?;
                let (graph, name) = (self.graph_text(graph), info.name().to_owned());
                Some(CorrectedDeclaration { graph, name, from, to: *to })
            });
            if corrected.is_none() && result.is_none() {
                continue;
            }
            self.has_changed = true;
            changes.declarations.extend(corrected);
            if let Some(result) = result {
                info.name = result.into();
            }
            splice.replace(message, &record, Records::new().message(record.number, &info));
        }
        Ok(())
    }

    /// The element types of a declared value in the calls of the copy.
    fn elems(&self, value: LocalValue<'_>) -> BTreeSet<Elem> {
        match self.renamed.get(value.name) {
            Some(elem) if value.graph.index() == 0 => BTreeSet::from([*elem]),
            Some(_) | None => {
                self.copy.calls.iter().filter_map(|call| self.solution.value_elem(*call, value)).collect()
            }
        }
    }

    fn node(
        &mut self,
        id: NodeId,
        view: NodeView<'_>,
        message: usize,
        field: &Field<'_>,
        splice: &mut Splice<'_>,
        changes: &mut Repair,
    ) -> Result<(), WriteError> {
        let mut after = Vec::new();
        for node in self.new_nodes.remove(&id).unwrap_or_default() {
            splice.insert_before(message, field, Records::new().message(field.number, &node));
            after.push(printed(&node));
        }
        let inputs = self.inputs.remove(&id).unwrap_or_default();
        let outputs = self.outputs.remove(&id).unwrap_or_default();
        let callee = self.copy.callees.get(&id).map(|callee| &self.copies[callee.index()].name);
        let callee = callee.filter(|name| **name != self.layout.operator(id));
        let mut before = None;
        if !inputs.is_empty() || !outputs.is_empty() || callee.is_some() {
            self.has_changed = true;
            let (fields, message) = (view.wire_fields(), view.offset());
            replace_strings(fields, message, NODE_INPUT, |port| inputs.get(&port), splice)?;
            replace_strings(fields, message, NODE_OUTPUT, |port| outputs.get(&port), splice)?;
            replace_strings(fields, message, NODE_OP_TYPE, |_| callee, splice)?;
            let mut node: NodeProto = read(bytes::Bytes::copy_from_slice(view.bytes()))?;
            before = Some(printed(&node));
            for (ports, names) in [(&mut node.input, inputs), (&mut node.output, outputs)] {
                for (at, name) in names {
                    if let Some(port) = ports.get_mut(at) {
                        *port = name;
                    }
                }
            }
            if let Some(callee) = callee {
                node.op_type = callee.clone().into();
            }
            after.push(printed(&node));
        }
        if !after.is_empty() {
            changes.hunks.push(self.hunk(id, before, after));
        }
        Ok(())
    }

    fn hunk(&self, node: NodeId, before: Option<String>, after: Vec<String>) -> Hunk {
        Hunk { graph: self.graph_text(node.graph), position: node.position, before, after }
    }
}

/// Replaces some occurrences of a string field of a message, by their positions.
pub(super) fn replace_strings<'s, S: AsRef<str> + ?Sized + 's>(
    fields: Fields<'_>,
    message: usize,
    number: u32,
    string: impl Fn(usize) -> Option<&'s S>,
    splice: &mut Splice<'_>,
) -> Result<(), WriteError> {
    let mut position = 0;
    for field in fields {
        let field = field?;
        if field.number == number {
            if let Some(string) = string(position) {
                splice.replace(message, &field, Records::new().bytes(number, string.as_ref()));
            }
            position += 1;
        }
    }
    Ok(())
}

fn printed(node: &NodeProto) -> String {
    print_node(node, &PrintOptions::display()).text
}

/// An element type as a part of a name.
fn elem_name(elem: Elem) -> &'static str {
    elem.onnx_name().unwrap_or("other")
}
