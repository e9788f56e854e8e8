//! A plan carried out on the file, byte for byte the same elsewhere, and what it comes to as text.

use std::collections::{BTreeMap, HashMap};

use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::type_proto::Value as TypeValue;
use typeloom_onnx::messages::{
    AttributeProto, ModelProto, NodeProto, OperatorSetIdProto, TypeProto, ValueInfoProto, read,
};
use typeloom_onnx::splice::{Records, Splice, SpliceError, Spliced};
use typeloom_onnx::text::{PrintOptions, print_node};
use typeloom_onnx::view::{GraphView, NodeView, ValueInfoView};
use typeloom_onnx::wire::{Field, WireValue};
use typeloom_solver::diagnostic::graph_path;
use typeloom_solver::elem::Elem;
use typeloom_solver::model::Checked;
use typeloom_solver::model::ports::Reader;
use typeloom_solver::program::{Body, GraphId, Initializer, Origin, StepId, StepKind, ValueId};

use super::plan::{Names, Plan, Planned};
use super::{Cast, Declaration, Hunk, Reading};

/// The field of a model that holds operator sets.
pub(super) const OPSET_IMPORT: u32 = 8;
const NODE: u32 = 1;
const INPUT: u32 = 11;
const OUTPUT: u32 = 12;
const VALUE_INFO: u32 = 13;
/// The field of a tensor that holds its name.
const TENSOR_NAME: u32 = 8;

/// Why a plan cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The bytes are malformed where no check reads them.
    #[error(transparent)]
    Malformed(#[from] DecodeError),
    /// The file could not be put together.
    #[error(transparent)]
    Splice(#[from] SpliceError),
}

/// A plan carried out.
pub(crate) struct Written<'a> {
    pub(crate) file: Spliced<'a>,
    pub(crate) casts: Vec<Cast>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) hunks: Vec<Hunk>,
}

/// The operator that converts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) attribute: Attribute,
    /// The version of its operator set to import, where the model imports none.
    pub(crate) import: Option<i64>,
}

/// Whether it takes its type as a number, or as a word like the oldest one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attribute {
    Number,
    Word,
}

struct Writer<'p, 'a> {
    /// The positions of the conversions of each value in the plan.
    casts_of: BTreeMap<ValueId, Vec<usize>>,
    body: &'p Body<'a>,
    plan: &'p Plan,
    splice: Splice<'a>,
    /// New names of inputs and outputs of nodes, by first step.
    inputs: BTreeMap<StepId, Vec<(usize, String)>>,
    outputs: BTreeMap<StepId, Vec<(usize, String)>>,
    /// New names of outputs of nested graphs.
    results: BTreeMap<(GraphId, usize), String>,
    /// The nodes to insert, by graph and position.
    nodes: BTreeMap<(GraphId, usize), Vec<NodeProto>>,
    declarations: Vec<Declaration>,
    hunks: Vec<Hunk>,
}

pub(crate) fn write<'a>(
    checked: &Checked<'a>,
    bytes: &'a [u8],
    plan: &Plan,
    target: Target,
) -> Result<Written<'a>, WriteError> {
    let body = checked.body();
    let mut names = Names::new(body);
    for planned in &plan.casts {
        names.fresh(&planned.output);
    }
    let mut casts_of: BTreeMap<ValueId, Vec<usize>> = BTreeMap::new();
    for (at, planned) in plan.casts.iter().enumerate() {
        casts_of.entry(planned.value).or_default().push(at);
    }
    let mut writer = Writer {
        casts_of,
        body,
        plan,
        splice: Splice::new::<ModelProto>(bytes),
        inputs: BTreeMap::new(),
        outputs: BTreeMap::new(),
        results: BTreeMap::new(),
        nodes: BTreeMap::new(),
        declarations: Vec::new(),
        hunks: Vec::new(),
    };
    let mut casts = Vec::new();
    for planned in &plan.casts {
        let input = writer.name_of(planned.value).to_owned();
        let name = names.fresh(&format!("Cast_{}", planned.output));
        casts.push(writer.cast(planned, &input, &name));
        let key = (planned.graph, planned.before);
        let node = cast_node(&input, &planned.output, &name, planned.to, target.attribute);
        writer.nodes.entry(key).or_default().push(node);
    }
    writer.renames()?;
    for (graph, view) in body.graph_views()? {
        writer.graph(graph, view)?;
    }
    if let (Some(version), false) = (target.import, casts.is_empty()) {
        let import = OperatorSetIdProto {
            domain: Some(String::new()),
            version: Some(version),
            ..OperatorSetIdProto::default()
        };
        writer.splice.append(0, &Records::new().message(OPSET_IMPORT, &import));
    }
    let Writer { splice, declarations, hunks, .. } = writer;
    Ok(Written { file: splice.finish()?, casts, declarations, hunks })
}

/// A conversion into an element type.
pub(super) fn cast_node(
    input: &str,
    output: &str,
    name: &str,
    elem: Elem,
    attribute: Attribute,
) -> NodeProto {
    let mut to = AttributeProto { name: Some("to".to_owned()), ..AttributeProto::default() };
    match attribute {
        Attribute::Number => {
            to.i = Some(i64::from(elem.number()));
            to.r#type = Some(AttributeType::Int as i32);
        }
        Attribute::Word => {
            let word = elem.onnx_name().unwrap_or_default().to_uppercase();
            to.s = Some(word.into_bytes().into());
            to.r#type = Some(AttributeType::String as i32);
        }
    }
    converting("Cast", vec![input.to_owned()], output, name, vec![to])
}

/// A conversion into the type of another value.
pub(super) fn like_node(input: &str, other: &str, output: &str, name: &str) -> NodeProto {
    converting("CastLike", vec![input.to_owned(), other.to_owned()], output, name, Vec::new())
}

fn converting(
    op: &str,
    input: Vec<String>,
    output: &str,
    name: &str,
    attribute: Vec<AttributeProto>,
) -> NodeProto {
    NodeProto {
        input,
        output: vec![output.to_owned()],
        name: Some(name.to_owned()),
        op_type: Some(op.to_owned()),
        attribute,
        ..NodeProto::default()
    }
}

pub(super) fn printed(node: &NodeProto) -> String {
    print_node(node, &PrintOptions::display()).text
}

impl<'a> Writer<'_, 'a> {
    /// The name that a value has afterwards.
    fn name_of(&self, value: ValueId) -> &str {
        self.plan.renamed.get(&value).map_or_else(|| self.body.value_name(value), String::as_str)
    }

    /// Notes who reads a conversion, and tells about it.
    fn cast(&mut self, planned: &Planned, input: &str, name: &str) -> Cast {
        let mut readings = Vec::new();
        for reader in &planned.readers {
            self.reads(*reader, &planned.output);
            readings.push(match *reader {
                Reader::Input { step, at } => {
                    let it = self.body.step(step);
                    Reading {
                        function: None,
                        graph: graph_path(self.body, it.graph),
                        node: Some(it.position as usize),
                        operator: self.body.op_name(step).to_owned(),
                        at,
                    }
                }
                Reader::Output { graph, at } => Reading {
                    function: None,
                    graph: graph_path(self.body, graph),
                    node: None,
                    operator: String::new(),
                    at,
                },
            });
        }
        Cast {
            graph: graph_path(self.body, planned.graph).to_string(),
            before: planned.before,
            name: name.to_owned(),
            input: input.to_owned(),
            output: planned.output.clone(),
            from: planned.from,
            to: planned.to,
            like: None,
            readings,
        }
    }

    fn reads(&mut self, reader: Reader, name: &str) {
        match reader {
            Reader::Input { step, at } => self.inputs.entry(step).or_default().push((at, name.to_owned())),
            Reader::Output { graph, .. } if graph == self.body.root() => {}
            Reader::Output { graph, at } => {
                self.results.insert((graph, at), name.to_owned());
            }
        }
    }

    /// Gives values that leave their name to a conversion their new one, wherever it stands.
    fn renames(&mut self) -> Result<(), WriteError> {
        if self.plan.renamed.is_empty() {
            return Ok(());
        }
        let body = self.body;
        let mut converted: std::collections::HashSet<Reader> = std::collections::HashSet::new();
        for planned in &self.plan.casts {
            converted.extend(planned.readers.iter().copied());
        }
        let new = |value: &Option<ValueId>| value.and_then(|value| self.plan.renamed.get(&value)).cloned();
        let mut renamed = Vec::new();
        for step in (0..body.graph(body.root()).steps.1).map(StepId::new) {
            if !matches!(body.step(step).kind, StepKind::Exit(_)) {
                for (at, value) in body.inputs(step).iter().enumerate() {
                    if let Some(name) = new(value) {
                        renamed.push((Reader::Input { step, at }, name));
                    }
                }
            }
            for (at, value) in body.outputs(step).iter().enumerate() {
                if let Some(name) = new(value) {
                    self.outputs.entry(body.first_step(step)).or_default().push((at, name));
                }
            }
        }
        for (graph, _) in body.graph_views()? {
            for (at, value) in body.graph(graph).outputs.iter().enumerate() {
                if let Some(name) = new(&Some(*value)) {
                    renamed.push((Reader::Output { graph, at }, name));
                }
            }
        }
        for (reader, name) in renamed {
            if !converted.contains(&reader) {
                self.reads(reader, &name);
            }
        }
        for (value, name) in &self.plan.renamed {
            if let Origin::Initializer(at) = body.value(*value).origin
                && let Initializer::Dense(tensor) = body.initializer(at)
            {
                for field in tensor.wire_fields() {
                    let field = field?;
                    if field.number == TENSOR_NAME {
                        let records = Records::new().bytes(TENSOR_NAME, name);
                        self.splice.replace(tensor.offset(), &field, &records);
                    }
                }
            }
        }
        Ok(())
    }

    fn graph(&mut self, graph: GraphId, view: GraphView<'a>) -> Result<(), WriteError> {
        let (mut position, mut inputs, mut outputs) = (0, 0, 0);
        let steps = self.steps_of(graph);
        let values: HashMap<&str, ValueId> = self.values_of(graph);
        for field in view.wire_fields() {
            let field = field?;
            let WireValue::Len(bytes, offset) = field.value else { continue };
            match field.number {
                NODE => {
                    self.at_node(graph, view.offset(), position, &field, steps.get(&position).copied())?;
                    position += 1;
                }
                INPUT => {
                    let value = self.body.graph(graph).inputs.get(inputs).copied();
                    inputs += 1;
                    if graph != self.body.root() {
                        let elem = value.and_then(|value| self.plan.elems[value.index()]);
                        self.declaration(graph, view, &field, (bytes, offset), elem, None)?;
                    }
                }
                OUTPUT => {
                    if graph != self.body.root() {
                        let elem = self.plan.outputs.get(&(graph, outputs)).copied();
                        let name = self.results.get(&(graph, outputs)).cloned();
                        self.declaration(graph, view, &field, (bytes, offset), elem, name)?;
                    }
                    outputs += 1;
                }
                VALUE_INFO => {
                    let name = ValueInfoView::from_body(bytes, offset).parse()?.name;
                    let value = values.get(name).copied();
                    // A name that went to a conversion means what that gives.
                    let cast = value.and_then(|value| {
                        let own = self.casts_of.get(&value).into_iter().flatten();
                        own.map(|at| &self.plan.casts[*at]).find(|it| it.output == name)
                    });
                    let own = || value.and_then(|value| self.plan.elems[value.index()]);
                    let elem = cast.map(|cast| cast.to).or_else(own);
                    self.declaration(graph, view, &field, (bytes, offset), elem, None)?;
                }
                _ => {}
            }
        }
        // Behind the last node, in front of whatever stands there.
        if let Some(nodes) = self.nodes.remove(&(graph, position)) {
            for node in &nodes {
                self.splice.append(view.offset(), &Records::new().message(NODE, node));
            }
            self.hunk(graph, position, None, nodes.iter().map(printed).collect());
        }
        Ok(())
    }

    /// The first steps of a graph's nodes by position.
    fn steps_of(&self, graph: GraphId) -> HashMap<usize, StepId> {
        let (from, to) = self.body.graph(graph).steps;
        let own = (from..to).map(StepId::new).filter(|step| {
            let it = self.body.step(*step);
            it.graph == graph && !matches!(it.kind, StepKind::Exit(_))
        });
        own.map(|step| (self.body.step(step).position as usize, step)).collect()
    }

    fn values_of(&self, graph: GraphId) -> HashMap<&'a str, ValueId> {
        let own = self.body.values().filter(|value| self.body.value(*value).graph == graph);
        own.map(|value| (self.body.value_name(value), value)).collect()
    }

    fn at_node(
        &mut self,
        graph: GraphId,
        message: usize,
        position: usize,
        field: &Field<'a>,
        step: Option<StepId>,
    ) -> Result<(), WriteError> {
        let mut after = Vec::new();
        for node in self.nodes.remove(&(graph, position)).unwrap_or_default() {
            self.splice.insert_before(message, field, &Records::new().message(NODE, &node));
            after.push(printed(&node));
        }
        let mut before = None;
        if let Some(step) = step {
            let view = self.body.step(step).node;
            let inputs = self.inputs.remove(&step).unwrap_or_default();
            let outputs = self.outputs.remove(&step).unwrap_or_default();
            if !inputs.is_empty() || !outputs.is_empty() {
                self.ports(view, 1, &inputs)?;
                self.ports(view, 2, &outputs)?;
                let mut node: NodeProto = read(bytes::Bytes::copy_from_slice(view.bytes()))?;
                before = Some(printed(&node));
                for (list, names) in [(&mut node.input, inputs), (&mut node.output, outputs)] {
                    for (at, name) in names {
                        if let Some(port) = list.get_mut(at) {
                            *port = name;
                        }
                    }
                }
                after.push(printed(&node));
            }
        }
        if !after.is_empty() {
            self.hunk(graph, position, before, after);
        }
        Ok(())
    }

    /// Changes the names of some ports of a node.
    fn ports(
        &mut self,
        view: NodeView<'a>,
        number: u32,
        names: &[(usize, String)],
    ) -> Result<(), WriteError> {
        let mut position = 0;
        for field in view.wire_fields() {
            let field = field?;
            if field.number != number {
                continue;
            }
            if let Some((_, name)) = names.iter().find(|(at, _)| *at == position) {
                self.splice.replace(view.offset(), &field, &Records::new().bytes(number, name));
            }
            position += 1;
        }
        Ok(())
    }

    /// Changes the element type of a declaration, or the name it is about, where they are others now.
    fn declaration(
        &mut self,
        graph: GraphId,
        view: GraphView<'a>,
        field: &Field<'a>,
        (bytes, _): (&'a [u8], usize),
        elem: Option<Elem>,
        name: Option<String>,
    ) -> Result<(), WriteError> {
        if elem.is_none() && name.is_none() {
            return Ok(());
        }
        let mut info: ValueInfoProto = read(bytes::Bytes::copy_from_slice(bytes))?;
        let old = elem.and_then(|elem| retype(info.r#type.as_mut(), elem));
        if old.is_none() && name.is_none() {
            return Ok(());
        }
        if let (Some(from), Some(to)) = (old, elem) {
            self.declarations.push(Declaration {
                graph: graph_path(self.body, graph).to_string(),
                name: info.name().to_owned(),
                from,
                to,
            });
        }
        if name.is_some() {
            info.name = name;
        }
        self.splice.replace(view.offset(), field, &Records::new().message(field.number, &info));
        Ok(())
    }

    fn hunk(&mut self, graph: GraphId, position: usize, before: Option<String>, after: Vec<String>) {
        let graph = graph_path(self.body, graph).to_string();
        self.hunks.push(Hunk { graph, position, before, after });
    }
}

/// Sets the element type of the tensor in a type; gives the old one where it was another.
pub(super) fn retype(ty: Option<&mut TypeProto>, elem: Elem) -> Option<Elem> {
    let mut at = ty?;
    loop {
        let number = match at.value.as_mut()? {
            TypeValue::TensorType(tensor) => &mut tensor.elem_type,
            TypeValue::SparseTensorType(tensor) => &mut tensor.elem_type,
            TypeValue::SequenceType(inner) => {
                at = inner.elem_type.as_deref_mut()?;
                continue;
            }
            TypeValue::OptionalType(inner) => {
                at = inner.elem_type.as_deref_mut()?;
                continue;
            }
            TypeValue::MapType(inner) => {
                at = inner.value_type.as_deref_mut()?;
                continue;
            }
            TypeValue::OpaqueType(_) => return None,
        };
        let old = Elem::from_onnx(number.unwrap_or(0))?;
        *number = Some(i32::from(elem.number()));
        return (old != elem).then_some(old);
    }
}
