//! Encodes scenes.
//!
//! [`encode`] writes a scene for the page of a model, where its size decides how fast the page loads. The
//! fields of all nodes are in columns, one for each field, and each column encodes differences, because
//! networks repeat their layers:
//!
//! ```text
//! nodes           block/add, block/mul, each of which reads the output of the node before it
//! node_shared     0, 6                     bytes in common with the name before
//! node_texts      block/add mul            the rest of each name
//! inputs          1, 1                     distance 0 from the last output
//! ```
//!
//! A compressor then finds long runs of equal bytes. Attribute lists, source lines, classes of scopes and
//! the texts of types are stored once, in tables in the order of their first use ([`Table`]). An entry of more than [`MAX_SHARED`]
//! bytes is not shared: each item that uses it has a copy.
//!
//! **Invariant:** this file and `decode` visit the items of a column in the same order, with the same state:
//! the last name, the last output, the last stored value. A change of one is a change of the other and of
//! [`VERSION`](super::VERSION).
//!
//! **Invariant:** nodes and values are taken apart without `..`. A new field does not compile until it is
//! written, derived by the decoder, or listed in the column of changes.
//!
//! **Invariant:** the same scene gives the same bytes: maps are only searched, and never iterated.
//!
//! **Cost:** time and memory are linear in the scene. The scene must keep its invariants; another one can be
//! written, and is rejected by the decoder.

use typeloom_solver::diagnostic::{Severity, SourceLine};

use super::MAX_SHARED;
use super::bytes::{NameWriter, Writer, shared, signed, zigzag};
use super::columns::Columns;
use crate::map::{Map, Table};
use crate::scene::{
    About, Attribute, Cause, Child, Evidence, Extent, Form, GroupId, GroupKind, Maker, Mark, Node, Preview,
    Scene, Sizes, Symbol, Type, Value, ValueId,
};

/// The bytes of a scene.
#[must_use]
pub fn encode(scene: &Scene) -> Vec<u8> {
    let mut columns = Columns::default();
    about(&scene.about, &mut columns.about);
    tables(scene, &mut columns);
    types(scene, &mut columns);
    let graphs = groups(scene, &mut columns);
    columns.counts.count(scene.nodes.len());
    columns.counts.count(scene.values.len());
    columns.counts.count(graphs.len());
    nodes(scene, &mut columns);
    values(scene, &graphs, &mut columns);
    marks(&scene.marks, &mut columns.marks);
    super::changes::write(scene, &mut columns.changes);
    super::targets::write(scene, &mut columns.targets);
    columns.finish()
}

fn about(about: &About, out: &mut Writer) {
    let About { title, producer, opsets, symbols, equations, sizes, unreported } = about;
    out.text(title);
    out.text(producer);
    out.text(unreported);
    let Sizes { file, parameters, initializers, constants } = sizes;
    [file, parameters, initializers, constants].iter().for_each(|size| out.number(**size));
    for texts in [opsets, equations] {
        out.count(texts.len());
        texts.iter().for_each(|text| out.text(text));
    }
    out.count(symbols.len());
    for Symbol { name, value, axis } in symbols {
        out.text(name);
        out.number(value.map_or(0, |value| value.index() as u64 + 1));
        out.number(u64::from(*axis));
    }
}

fn tables(scene: &Scene, columns: &mut Columns) {
    columns.operators.count(scene.operators.len());
    for operator in &scene.operators {
        columns.operators.text(&operator.domain);
        columns.operators.text(&operator.name);
    }
    columns.rules.count(scene.rules.len());
    scene.rules.iter().for_each(|rule| columns.rules.text(rule));
}

fn types(scene: &Scene, columns: &mut Columns) {
    let Columns { extents, type_texts, long_type_texts, types, previews, .. } = columns;
    extents.count(scene.extents.len());
    for extent in &scene.extents {
        let (kind, text) = match extent {
            Extent::Number(number) => {
                extents.byte(0);
                extents.signed(*number);
                continue;
            }
            Extent::Symbol(text) => (1, text.as_str()),
            Extent::Expression(text) => (2, text.as_str()),
            Extent::Unknown(text) => (3, text.as_str()),
            Extent::Rest => {
                extents.byte(4);
                continue;
            }
        };
        extents.byte(kind);
        extents.text(text);
    }
    let mut lists: Table<Vec<u8>> = Table::default();
    types.count(scene.types.len());
    for Type { texts, shapes } in &scene.types {
        types.count(reference(&mut lists, Some(text_list(texts)), long_type_texts));
        for shape in shapes {
            types.count(shape.len());
            shape.iter().for_each(|extent| types.count(extent.index()));
        }
    }
    write_table(&lists, type_texts);
    previews.count(scene.previews.len());
    for preview in &scene.previews {
        match preview {
            Preview::Text(text) => {
                previews.byte(0);
                previews.text(text);
            }
            Preview::Extents { elements, form } => {
                previews.byte(match form {
                    Form::Scalar => 1,
                    Form::List => 2,
                    Form::Beginning => 3,
                });
                previews.count(elements.len());
                elements.iter().for_each(|extent| previews.count(extent.index()));
            }
        }
    }
}

/// Writes the groups; returns the graphs, in order.
fn groups(scene: &Scene, columns: &mut Columns) -> Vec<GroupId> {
    let mut labels = NameWriter::default();
    let mut classes: Table<Vec<u8>> = Table::default();
    let mut graphs = Vec::new();
    let all = (0..scene.groups.len()).map(GroupId::new);
    let mut last = 0;
    for root in all.filter(|group| scene.group(*group).kind.is_root()) {
        graphs.push(root);
        let group = scene.group(root);
        match group.kind {
            GroupKind::Main => columns.graphs.byte(0),
            GroupKind::Function => columns.graphs.byte(1),
            GroupKind::Body { node } => {
                columns.graphs.byte(2);
                columns.graphs.signed(signed(node.index()) - last);
                last = signed(node.index());
            }
            // Not the roots of graphs.
            GroupKind::Scope { .. } | GroupKind::Part => {}
        }
        labels.next(&group.label);
        let mut port = -1;
        for values in [&group.inputs, &group.outputs] {
            columns.ports.count(values.len());
            for value in values {
                columns.ports.signed(signed(value.index()) - (port + 1));
                port = signed(value.index());
            }
        }
        tree(scene, root, columns, &mut labels, &mut classes);
    }
    columns.label_shared = labels.shared;
    columns.label_lengths = labels.lengths;
    columns.label_texts = labels.texts;
    write_table(&classes, &mut columns.classes);
    graphs
}

/// Writes the groups of one graph in pre-order.
fn tree<'s>(
    scene: &'s Scene,
    root: GroupId,
    columns: &mut Columns,
    labels: &mut NameWriter<'s>,
    classes: &mut Table<Vec<u8>>,
) {
    let mut run = 0;
    // The open groups, each with the position of its next child.
    let mut open = vec![(root, 0)];
    while let Some((group, next)) = open.pop() {
        match scene.group(group).children.get(next) {
            Some(Child::Node(_)) => {
                run += 1;
                open.push((group, next + 1));
            }
            Some(Child::Group(inner)) => {
                columns.runs.count(run);
                run = 0;
                let inner_group = scene.group(*inner);
                match &inner_group.kind {
                    GroupKind::Scope { class } => {
                        columns.brackets.byte(1);
                        let class = (!class.is_empty()).then(|| text(class));
                        let class = reference(classes, class, &mut columns.long_classes);
                        columns.group_class.count(class);
                    }
                    GroupKind::Part | GroupKind::Main | GroupKind::Function | GroupKind::Body { .. } => {
                        columns.brackets.byte(2);
                    }
                }
                labels.next(&inner_group.label);
                open.push((group, next + 1));
                open.push((*inner, 0));
            }
            None => {
                columns.runs.count(run);
                run = 0;
                columns.brackets.byte(0);
            }
        }
    }
}

fn nodes(scene: &Scene, columns: &mut Columns) {
    let mut names = NameWriter::default();
    let mut attributes: Table<Vec<u8>> = Table::default();
    let mut sources: Table<Vec<u8>> = Table::default();
    let mut ports = Ports::default();
    let functions: Map<GroupId, usize> =
        scene.functions.iter().enumerate().map(|(at, group)| (*group, at)).collect();
    let (mut position, mut source_at) = (-1, 0);
    for node in &scene.nodes {
        let Node {
            operator,
            name,
            position: own_position,
            attributes: own_attributes,
            inputs,
            outputs,
            captures,
            callee,
            source,
            // Derived.
            group: _,
            slot: _,
            bodies: _,
            marks: _,
            // In the column of changes.
            change: _,
            differences: _,
            old_reads: _,
        } = node;
        columns.node_operator.count(operator.index());
        names.next(name);
        columns.node_position.signed(i64::from(*own_position) - (position + 1));
        position = i64::from(*own_position);

        let set = (!own_attributes.is_empty()).then(|| attribute_list(own_attributes));
        let set = reference(&mut attributes, set, &mut columns.long_attributes);
        columns.node_attributes.count(set);
        let line = source.as_ref().map(|line| source_line(line));
        let line = signed(reference(&mut sources, line, &mut columns.long_sources));
        columns.node_source.signed(line - source_at);
        source_at = line;

        columns.input_count.count(inputs.len());
        for input in inputs {
            columns.inputs.number(input.map_or(0, |value| 1 + ports.read(scene, value)));
        }
        columns.capture_count.count(captures.len());
        for value in captures {
            columns.captures.number(ports.read(scene, *value));
        }
        columns.output_count.count(outputs.len());
        for output in outputs {
            columns.outputs.number(output.map_or(0, |value| 1 + ports.make(value)));
        }
        let function = callee.and_then(|group| functions.get(&group)).map_or(0, |at| at + 1);
        columns.node_callee.count(function);
    }
    columns.node_shared = names.shared;
    columns.node_lengths = names.lengths;
    columns.node_texts = names.texts;
    write_table(&attributes, &mut columns.attributes);
    write_table(&sources, &mut columns.sources);
}

fn text(text: &str) -> Vec<u8> {
    let mut out = Writer::default();
    out.text(text);
    out.0
}

fn text_list(texts: &[String]) -> Vec<u8> {
    let mut out = Writer::default();
    out.count(texts.len());
    texts.iter().for_each(|text| out.text(text));
    out.0
}

fn attribute_list(attributes: &[Attribute]) -> Vec<u8> {
    let mut out = Writer::default();
    out.count(attributes.len());
    for Attribute { name, text } in attributes {
        out.text(name);
        out.text(text);
    }
    out.0
}

fn source_line(line: &SourceLine) -> Vec<u8> {
    let SourceLine { file, line, function, text } = line;
    let mut out = Writer::default();
    out.text(file);
    out.number(u64::from(*line));
    out.text(function);
    out.text(text);
    out.0
}

/// The last values, from which distances are counted.
#[derive(Default)]
struct Ports {
    output: i64,
    stored: i64,
}

impl Ports {
    /// A value that is read.
    fn read(&mut self, scene: &Scene, value: ValueId) -> u64 {
        let at = signed(value.index());
        if scene.value(value).maker == Maker::Stored {
            let distance = at - (self.stored + 1);
            self.stored = at;
            zigzag(distance) << 1 | 1
        } else {
            zigzag(self.output - at) << 1
        }
    }

    /// A value that a node makes.
    fn make(&mut self, value: ValueId) -> u64 {
        let at = signed(value.index());
        let distance = at - (self.output + 1);
        self.output = at;
        zigzag(distance)
    }
}

fn values(scene: &Scene, graphs: &[GroupId], columns: &mut Columns) {
    let mut names = NameWriter::default();
    let graph_of: Map<GroupId, usize> = graphs.iter().enumerate().map(|(at, group)| (*group, at)).collect();
    let (mut graph_at, mut last_type) = (0, None);
    for (at, value) in scene.values.iter().enumerate() {
        let Value {
            name,
            ty,
            evidence,
            graph,
            maker,
            preview,
            cause,
            // Derived.
            is_output: _,
            marks: _,
            // In the column of changes.
            change: _,
            old_type: _,
            old_name: _,
        } = value;
        let maker_bits = match maker {
            Maker::Node { .. } | Maker::Undefined => 0,
            Maker::Input => 1,
            Maker::Stored => 2,
        };
        let evidence_bits = match evidence {
            Evidence::Proven => 0,
            Evidence::Assumed => 1,
            Evidence::Incomplete => 2,
        };
        columns.value_kind.byte(maker_bits | evidence_bits << 2 | u8::from(preview.is_some()) << 4);
        columns.value_type.count(if last_type == Some(*ty) { 0 } else { ty.index() + 1 });
        last_type = Some(*ty);
        let own_graph = signed(graph_of.get(graph).copied().unwrap_or_default());
        columns.value_graph.signed(own_graph - graph_at);
        graph_at = own_graph;

        let node = match maker {
            Maker::Node { node, .. } => Some(scene.node(*node)),
            Maker::Input | Maker::Stored | Maker::Undefined => None,
        };
        let base = node.map(|node| node.name.as_str());
        let base = base.filter(|base| shared(base, name) >= shared(names.previous(), name));
        columns.value_base.byte(u8::from(base.is_some()));
        names.push(base.unwrap_or(names.previous()), name);
        if let Some(preview) = preview {
            columns.value_preview.count(preview.index());
        }
        write_cause(scene, at, *maker, cause.as_ref(), columns);
    }
    columns.value_shared = names.shared;
    columns.value_lengths = names.lengths;
    columns.value_texts = names.texts;
}

fn write_cause(scene: &Scene, at: usize, maker: Maker, cause: Option<&Cause>, columns: &mut Columns) {
    let own = match maker {
        Maker::Node { node, .. } => Some(node),
        Maker::Input | Maker::Stored | Maker::Undefined => None,
    };
    let out = &mut columns.value_cause;
    match cause {
        None => out.number(0),
        Some(Cause::Input) => out.number(1),
        Some(Cause::Declared) => out.number(2),
        Some(Cause::Stored) => out.number(3),
        Some(Cause::Given) => out.number(4),
        Some(Cause::Argument) => out.number(5),
        Some(Cause::Rule { node, rule }) => {
            columns.cause_rule.count(rule.index());
            match node {
                None => out.number(6),
                Some(node) if Some(*node) == own => out.number(7),
                Some(node) => {
                    out.number(8);
                    columns.cause_nodes.count(node.index());
                }
            }
        }
        Some(Cause::Tie { node, rule, next }) => {
            columns.cause_rule.count(rule.index());
            let mut inputs = scene.node(*node).inputs.iter();
            let input = inputs.position(|input| *input == Some(*next)).filter(|_| Some(*node) == own);
            match input {
                Some(input) => out.count(10 + input),
                None => {
                    out.number(9);
                    columns.cause_nodes.count(node.index());
                    columns.cause_values.signed(signed(next.index()) - signed(at));
                }
            }
        }
    }
}

fn marks(marks: &[Mark], out: &mut Writer) {
    out.count(marks.len());
    for Mark { code, severity, message, report, parts, nodes, values } in marks {
        out.text(code);
        out.byte(match severity {
            Severity::Error => 0,
            Severity::Warning => 1,
        });
        out.text(message);
        out.text(report);
        super::messages::write(parts, out);
        out.count(nodes.len());
        nodes.iter().for_each(|node| out.count(node.index()));
        out.count(values.len());
        values.iter().for_each(|value| out.count(value.index()));
    }
}

/// The reference to an item: 0 for none, 1 for a long one, which is written to `long`, or its position in the
/// table from 2 on.
fn reference(table: &mut Table<Vec<u8>>, item: Option<Vec<u8>>, long: &mut Writer) -> usize {
    match item {
        None => 0,
        Some(item) if item.len() > MAX_SHARED => {
            long.0.extend_from_slice(&item);
            1
        }
        Some(item) => table.position(item) + 2,
    }
}

fn write_table(table: &Table<Vec<u8>>, out: &mut Writer) {
    out.count(table.items().len());
    table.items().iter().for_each(|item| out.0.extend_from_slice(item));
}
