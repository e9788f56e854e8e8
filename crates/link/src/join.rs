//! The steps of linking in order, and the graph of the result.
//!
//! [`join`] runs the steps that the [crate documentation](crate) lists. For two models that are connected by
//! `y` and `x`, with casts permitted, the graph of the result is
//!
//! ```text
//! a (float[N, 8] x) => (float[N, 8] y)           { y = Relu (x) }
//! b (double[batch, 8] x) => (double[batch, 8] z) { z = Exp (x) }
//!
//! (float[N, 8] x) => (double[N, 8] z) {
//!     y = Relu (x)                         the nodes of the first model
//!     y_as_double = Cast <to = 11> (y)     the nodes between the models
//!     z = Exp (y_as_double)                the nodes of the second model, with the names of the result
//! }
//! ```
//!
//! The nodes are in topological order without sorting, because no node of the first model reads a value of
//! the second one. Inputs that need the same cast of an output share one node. An output of the second model
//! that is one of its connected inputs, under another name, becomes an `Identity` node.
//!
//! **Invariant:** a record that does not change is a range of its file ([`put`]), so payloads are not copied.
//! The caller receives a result only after it was checked like any other model and its interface was compared
//! with the expected one.
//!
//! **Cost:** three checks, one for each model and one for the result, and time linear in the records.
//!
//! **Limits:** two metadata entries, or device configurations, with one name and different contents are both
//! kept, the second under a new name. Of two quantization annotations of one value, that of the first model
//! is kept.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use typeloom_dim::DimId;
use typeloom_onnx::messages::{
    DeviceConfigurationProto, GraphProto, ModelProto, NodeProto, OnnxMessage, StringStringEntryProto,
    TypeProto, ValueInfoProto, tensor_shape_proto, type_proto,
};
use typeloom_rewrite::coerce::{NewNode, cast};
use typeloom_rewrite::names::Names;
use typeloom_solver::catalogue::Catalogue;
use typeloom_solver::elem::Elem;
use typeloom_solver::solution::Type;
use typeloom_solver::universe::Universe;

use crate::functions::FunctionPlan;
use crate::map::{Connection, Joint, positions, resolve};
use crate::opsets::{Reconciled, reconcile};
use crate::plan::{Plan, Port, Rename};
use crate::rename::Renamer;
use crate::scan::Scan;
use crate::source::{Record, Source};
use crate::symbols::{SymbolPlan, extent};
use crate::unify::Unifier;
use crate::walk::Walk;
use crate::write::{Writer, header};
use crate::{InsertedCast, Joined, LinkError, LinkOptions, Linked, Part, fields, verify};

/// The first version of the default domain in which `Identity` accepts sequences, and optional values.
const IDENTITY_OF_CONTAINERS: i64 = 16;

pub(crate) fn join<'a>(
    parts: &[Part<'a>; 2],
    catalogue: &'a dyn Catalogue,
    universe: &Arc<Universe>,
    options: &LinkOptions,
) -> Result<Linked, LinkError> {
    let [first, second] = parts;
    let first = Source::read(first, catalogue, universe, options.mode)?;
    let second = Source::read(second, catalogue, universe, options.mode)?;
    let joints = resolve(&options.map, &first, &second).map_err(LinkError::Map)?;
    let mut unifier = Unifier::unify(&first, &second, &joints, options).map_err(LinkError::Types)?;
    let opsets = reconcile(&first, &second, catalogue).map_err(LinkError::Opsets)?;
    let models = [&first, &second];
    let scans = models.map(Scan::of);
    let ir_version = first.ir_version().max(second.ir_version());
    let plan = Plan::new(models, &scans, &joints, options, ir_version)?;
    let symbols = SymbolPlan::new(&mut unifier, models, &scans);
    let expected = verify::expected(&mut unifier, &symbols, models, &joints, &plan);
    let joiner = Joiner {
        models,
        joints: &joints,
        options,
        opsets,
        unifier,
        plan,
        symbols,
        casts: HashMap::new(),
        dropped: Vec::new(),
    };
    let (file, mut linked) = joiner.write(&scans, ir_version)?;
    let verified = verify::verify(&file.skeleton, &expected, catalogue, universe, options.mode)?;
    linked.interface = verified.interface;
    linked.unproven.extend(verified.refuted);
    linked.pieces = file.pieces;
    for joined in &mut linked.joined {
        joined.ty = verify::type_of_output(&expected, &joined.connection.output);
    }
    Ok(linked)
}

struct Joiner<'s, 'a> {
    models: [&'s Source<'a>; 2],
    joints: &'s [Joint],
    options: &'s LinkOptions,
    opsets: Reconciled,
    unifier: Unifier<'s, 'a>,
    plan: Plan,
    symbols: SymbolPlan,
    /// The results of casts, by output and element type.
    casts: HashMap<(String, Elem), String>,
    dropped: Vec<String>,
}

/// Appends a record: its range in the file if the message did not change.
fn put<M: OnnxMessage + PartialEq>(
    file: &mut Writer,
    (model, source): (usize, &Source<'_>),
    number: u32,
    record: &Record<M>,
    new: &M,
) {
    if *new == record.message {
        file.old(model, source, record.old.clone());
    } else {
        file.message(number, new);
    }
}

/// Entries of both models. An entry of the second model whose key has another value in the first one gets
/// another key.
fn metadata(
    [first, second]: [&[StringStringEntryProto]; 2],
    file: &str,
    renames: &mut Vec<Rename>,
) -> Vec<StringStringEntryProto> {
    let mut names = Names::default();
    first.iter().chain(second).for_each(|entry| names.take(entry.key()));
    let mut all = first.to_vec();
    for entry in second {
        match first.iter().find(|other| other.key() == entry.key()) {
            None => all.push(entry.clone()),
            Some(other) if other.value() == entry.value() => {}
            Some(_) => {
                let key = names.fresh(entry.key());
                let (from, to) = (entry.key().to_owned(), key.clone());
                renames.push(Rename { file: file.to_owned(), kind: "metadata", from, to });
                all.push(StringStringEntryProto {
                    key: typeloom_onnx::messages::SharedText::from(key).into(),
                    ..entry.clone()
                });
            }
        }
    }
    all
}

/// Two texts as paragraphs.
fn paragraphs([first, second]: [&str; 2]) -> Option<String> {
    match (first, second) {
        ("", "") => None,
        (text, "") | ("", text) => Some(text.to_owned()),
        (a, b) if a == b => Some(a.to_owned()),
        (a, b) => Some(format!("{a}\n\n{b}")),
    }
}

/// The device configurations of both models, and the new names of those of the second one.
fn configurations(
    models: [&Source<'_>; 2],
    renames: &mut Vec<Rename>,
) -> (Vec<DeviceConfigurationProto>, HashMap<String, String>) {
    let [first, second] = models.map(|source| &source.header.configuration);
    let (mut names, mut renamed) = (Names::default(), HashMap::new());
    first.iter().chain(second).for_each(|it| names.take(it.name()));
    let mut all = first.clone();
    for configuration in second {
        match first.iter().find(|other| other.name() == configuration.name()) {
            None => all.push(configuration.clone()),
            Some(other) if other == configuration => {}
            Some(_) => {
                let name = names.fresh(configuration.name());
                let (from, to) = (configuration.name().to_owned(), name.clone());
                renames.push(Rename {
                    file: models[1].name.to_owned(),
                    kind: "configuration",
                    from: from.clone(),
                    to,
                });
                all.push(DeviceConfigurationProto { name: name.as_str().into(), ..configuration.clone() });
                renamed.insert(from, name);
            }
        }
    }
    (all, renamed)
}

impl Joiner<'_, '_> {
    fn write(mut self, scans: &[Scan; 2], ir_version: i64) -> Result<(Writer, Linked), LinkError> {
        let models = self.models;
        let locations = &self.options.locations;
        let functions = FunctionPlan::new(models, scans, &mut self.symbols.symbols, locations);
        let mut renames = std::mem::take(&mut self.plan.renames);
        renames.append(&mut self.symbols.renames);
        renames.extend(functions.renames.iter().cloned());
        let (configuration, configuration_names) = configurations(models, &mut renames);
        let (between, joined) = self.joints()?;

        let none = HashMap::new();
        let [symbols_first, symbols_second] = &mut self.symbols.symbols;
        let mut renamers = [
            Renamer {
                values: &self.plan.values[0],
                joined: HashMap::new(),
                nodes: &self.plan.nodes[0],
                symbols: symbols_first,
                functions: &functions.names[0],
                configurations: &none,
                locations: &locations[0],
            },
            Renamer {
                values: &self.plan.values[1],
                joined,
                nodes: &self.plan.nodes[1],
                symbols: symbols_second,
                functions: &functions.names[1],
                configurations: &configuration_names,
                locations: &locations[1],
            },
        ];
        let mut graph = Writer::default();
        let mut body = Body {
            models,
            plan: &self.plan,
            joints: self.joints,
            outputs: positions(&models[0].interface.outputs),
            unifier: &mut self.unifier,
            named: self.symbols.named.iter().map(|(leaf, name)| (*leaf, *name)).collect(),
            dropped: &mut self.dropped,
        };
        body.write(&mut graph, &mut renamers, &between)?;
        let rest = models.map(|source| &source.graph);
        let mut last = rest[0].clone();
        last.name = match rest.map(GraphProto::name) {
            ["", ""] => None,
            [name, ""] | ["", name] => Some(name.to_owned()),
            [a, b] => Some(format!("{a}_{b}")),
        }
        .into();
        last.doc_string = paragraphs(rest.map(GraphProto::doc_string)).into();
        let entries = rest.map(|it| &it.metadata_props[..]);
        last.metadata_props = metadata(entries, models[1].name, &mut renames);
        graph.fields(&last);
        graph.new_bytes(rest[1].unknown_fields.as_wire());

        let mut file = Writer::default();
        let headers = models.map(|source| &source.header);
        let mut new = header(ir_version);
        let is_common = headers[0].domain == headers[1].domain;
        new.domain = headers[0].domain.clone().into_option().filter(|_| is_common).into();
        new.model_version =
            headers[0].model_version.filter(|version| headers[1].model_version == Some(*version));
        new.doc_string = paragraphs(headers.map(ModelProto::doc_string)).into();
        new.opset_import = std::mem::take(&mut self.opsets.imports);
        let entries = headers.map(|it| &it.metadata_props[..]);
        new.metadata_props = metadata(entries, models[1].name, &mut renames);
        new.configuration = configuration;
        file.fields(&new);
        file.nested(fields::MODEL_GRAPH, graph);
        for (model, source) in models.into_iter().enumerate() {
            for (at, record) in source.functions.iter().enumerate() {
                if model == 0 || !functions.shared[at] {
                    let new = renamers[model].function(&record.message);
                    put(&mut file, (model, source), fields::MODEL_FUNCTION, record, &new);
                }
            }
            file.new_bytes(source.header.unknown_fields.as_wire());
        }
        let linked = Linked {
            pieces: Vec::new(),
            interface: models[0].interface.clone(),
            joined: self.reported(),
            substitutions: self.symbols.substitutions,
            renames,
            opsets: self.opsets.changes,
            unproven: self.unifier.unproven,
            dropped: self.dropped,
        };
        Ok((file, linked))
    }

    /// The connections of the result, still without types.
    fn reported(&self) -> Vec<Joined> {
        let one = |(at, Joint { connection, .. }): (usize, &Joint)| {
            let cast = self.unifier.casts.get(&at).map(|cast| InsertedCast {
                from: cast.from,
                to: cast.to,
                value: self.casts.get(&(connection.output.clone(), cast.to)).cloned().unwrap_or_default(),
            });
            Joined { connection: connection.clone(), ty: String::new(), cast }
        };
        self.joints.iter().enumerate().map(one).collect()
    }

    /// The nodes between the two models, and the value of the result for each connected input.
    fn joints(&mut self) -> Result<(Vec<NodeProto>, HashMap<String, String>), LinkError> {
        let mut nodes = Vec::new();
        let mut joined: HashMap<String, String> = HashMap::new();
        let version = self.opsets.default_version();
        let needs_operators =
            |reason| LinkError::Unsupported { file: self.models[1].name.to_owned(), reason };
        for (at, Joint { connection: Connection { output, input }, .. }) in self.joints.iter().enumerate() {
            let plain = self.plan.joined[input].clone();
            let Some(needed) = self.unifier.casts.get(&at) else {
                joined.insert(input.clone(), plain);
                continue;
            };
            let version =
                version.ok_or_else(|| needs_operators("needs a cast, and neither model imports ai.onnx"))?;
            let key = (output.clone(), needed.to);
            if let Some(known) = self.casts.get(&key) {
                joined.insert(input.clone(), known.clone());
                continue;
            }
            let elem = self.models[1].interface.universe.elem_name(needed.to);
            let value = self.plan.value_names.fresh(&format!("{plain}_as_{elem}"));
            let name = self.plan.node_names.fresh(&format!("{value}_cast"));
            let node = NewNode { name: &name, input: &plain, output: &value };
            nodes.push(cast(&node, needed.to, version));
            self.casts.insert(key, value.clone());
            joined.insert(input.clone(), value);
        }
        for Port { model, at: _, own, name } in &self.plan.outputs {
            let Some(value) = joined.get(own).filter(|value| *model == 1 && *value != name) else { continue };
            let input = self.joints.iter().find(|joint| joint.connection.input == *own);
            let is_tensor = input.is_some_and(|it| matches!(it.input(self.models[1]).ty, Type::Tensor(_)));
            let least = if is_tensor { 1 } else { IDENTITY_OF_CONTAINERS };
            if version.is_none_or(|version| version < least) {
                return Err(needs_operators(
                    "returns an input, for which the imported operators have no `Identity`",
                ));
            }
            let node_name = self.plan.node_names.fresh(&format!("{name}_identity"));
            nodes.push(NodeProto {
                input: vec![value.clone()],
                output: vec![name.clone()],
                name: node_name.into(),
                op_type: "Identity".into(),
                ..NodeProto::default()
            });
        }
        Ok((nodes, joined))
    }
}

/// The records of the graph of the result.
struct Body<'b, 's, 'a> {
    models: [&'b Source<'a>; 2],
    plan: &'b Plan,
    joints: &'b [Joint],
    /// The positions of the outputs of the first model by name.
    outputs: HashMap<&'b str, usize>,
    unifier: &'b mut Unifier<'s, 'a>,
    /// The symbols that name extents of the first model.
    named: BTreeMap<DimId, DimId>,
    dropped: &'b mut Vec<String>,
}

impl Body<'_, '_, '_> {
    fn write(
        &mut self,
        graph: &mut Writer,
        renamers: &mut [Renamer<'_>; 2],
        between: &[NodeProto],
    ) -> Result<(), LinkError> {
        let models = self.models;
        for (model, source) in models.into_iter().enumerate() {
            for record in &source.nodes {
                let mut node = record.message.clone();
                Walk::main(&mut renamers[model]).node(&mut node);
                put(graph, (model, source), fields::GRAPH_NODE, record, &node);
            }
            if model == 0 {
                between.iter().for_each(|node| graph.message(fields::GRAPH_NODE, node));
            }
        }
        for (model, source) in models.into_iter().enumerate() {
            for stored in source.stored.iter().filter(|stored| !self.is_connected(model, &stored.name)) {
                graph
                    .stored(model, source, stored, &renamers[model])
                    .map_err(|error| LinkError::Splice { file: source.name.to_owned(), error })?;
            }
        }
        for port in &self.plan.inputs {
            let source = models[port.model];
            self.port(graph, fields::GRAPH_INPUT, port, &source.inputs, renamers);
        }
        for port in &self.plan.outputs {
            let source = models[port.model];
            self.port(graph, fields::GRAPH_OUTPUT, port, &source.outputs, renamers);
        }
        self.value_info(graph, renamers);
        self.annotations(graph, renamers);
        Ok(())
    }

    /// Whether a name of the second model is a connected input.
    fn is_connected(&self, model: usize, name: &str) -> bool {
        model == 1 && self.plan.joined.contains_key(name)
    }

    fn port(
        &mut self,
        graph: &mut Writer,
        number: u32,
        port: &Port,
        records: &[Record<ValueInfoProto>],
        renamers: &mut [Renamer<'_>; 2],
    ) {
        let Some(record) = records.get(port.at) else { return };
        let mut info = record.message.clone();
        Walk::main(&mut renamers[port.model]).declared(&mut info);
        if number == fields::GRAPH_OUTPUT && port.model == 0 {
            self.name_extents(&mut info, &port.own);
        }
        if info.name() != port.name {
            info.name = port.name.as_str().into();
        }
        put(graph, (port.model, self.models[port.model]), number, record, &info);
    }

    /// Types of values that are no inputs or outputs, those of connected outputs included.
    fn value_info(&mut self, graph: &mut Writer, renamers: &mut [Renamer<'_>; 2]) {
        let models = self.models;
        let moved = self.moved_outputs();
        for (model, source) in models.into_iter().enumerate() {
            for record in &source.value_info {
                let name = record.message.name();
                if self.is_connected(model, name) || (model == 0 && moved.contains(name)) {
                    continue;
                }
                let mut info = record.message.clone();
                Walk::main(&mut renamers[model]).info(&mut info);
                put(graph, (model, source), fields::GRAPH_VALUE_INFO, record, &info);
            }
            if model == 1 {
                continue;
            }
            for record in source.outputs.iter().filter(|record| moved.contains(record.message.name())) {
                let output = record.message.name();
                let mut info = record.message.clone();
                self.complete(&mut info, output);
                Walk::main(&mut renamers[0]).declared(&mut info);
                self.name_extents(&mut info, output);
                info.name = renamers[0].main(output).into();
                graph.message(fields::GRAPH_VALUE_INFO, &info);
            }
        }
    }

    /// The outputs of the first model that are computed values of the result without another declaration.
    fn moved_outputs(&self) -> HashSet<String> {
        let first = self.models[0];
        let kept = self.plan.outputs.iter().filter(|port| port.model == 0).map(|port| port.own.as_str());
        let inputs = first.inputs.iter().map(|record| record.message.name());
        let declared: HashSet<&str> = kept.chain(inputs).collect();
        let connected = self.joints.iter().map(|joint| &joint.connection.output);
        connected
            .filter(|output| !declared.contains(output.as_str()) && !first.stores(output))
            .cloned()
            .collect()
    }

    /// Adds the solved type of an output of the first model to its declaration.
    fn complete(&self, info: &mut ValueInfoProto, output: &str) {
        let first = self.models[0];
        let parameter = self.outputs.get(output).map(|at| &first.interface.outputs[*at]);
        // An assumed type is the declared one.
        if let Some(parameter) = parameter.filter(|parameter| !parameter.assumed) {
            let ty = parameter.ty.value_type(&first.interface.universe, &first.interface.dims);
            ty.fill(&mut info.r#type.get_or_insert_default().value);
        }
    }

    /// Gives unnamed extents of an output of the first model the symbols by which the second model names
    /// them.
    fn name_extents(&mut self, info: &mut ValueInfoProto, output: &str) {
        if self.named.is_empty() {
            return;
        }
        let first = self.models[0];
        let parameter = self.outputs.get(output).map(|at| &first.interface.outputs[*at]);
        let Some(Type::Tensor(tensor)) = parameter.map(|parameter| &parameter.ty) else { return };
        let Some(shape) = tensor.shape.as_deref() else { return };
        let dims = info.r#type.as_mut().and_then(axes).into_iter().flatten();
        for (dim, solved) in dims.zip(shape) {
            let solved = self.unifier.first_dim(*solved);
            if dim.value.is_none()
                && let Some(name) = self.named.get(&solved)
            {
                dim.value = extent(&self.unifier.dims, *name);
            }
        }
    }

    fn annotations(&mut self, graph: &mut Writer, renamers: &mut [Renamer<'_>; 2]) {
        let models = self.models;
        let mut annotated: HashSet<String> = HashSet::new();
        for (model, source) in models.into_iter().enumerate() {
            for record in &source.annotations {
                let mut annotation = record.message.clone();
                Walk::main(&mut renamers[model]).annotation(&mut annotation);
                let name = annotation.tensor_name().to_owned();
                if model == 1 && annotated.contains(&name) {
                    self.dropped.push(format!(
                        "the quantization annotation of `{}` in `{}`, because `{}` annotates the same value",
                        record.message.tensor_name(),
                        source.name,
                        models[0].name
                    ));
                    continue;
                }
                annotated.insert(name);
                put(graph, (model, source), fields::GRAPH_ANNOTATION, record, &annotation);
            }
        }
    }
}

/// The declared axes of a dense tensor.
fn axes(ty: &mut TypeProto) -> Option<&mut Vec<tensor_shape_proto::Dimension>> {
    match &mut ty.value {
        Some(type_proto::Value::TensorType(tensor)) => tensor.shape.as_mut().map(|shape| &mut shape.dim),
        Some(_) | None => None,
    }
}
