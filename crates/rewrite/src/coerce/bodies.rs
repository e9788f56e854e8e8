//! A repair carried out on a model with functions.
//!
//! Every call says what changes in its body. Calls of one function that change alike, in their own nodes and in what they call,
//! share one copy of it; the first copy keeps the function's name.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use typeloom_onnx::messages::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto,
};
use typeloom_onnx::splice::{Records, Splice};
use typeloom_onnx::view::ModelView;
use typeloom_solver::diagnostic::{GraphPath, GraphPathStep};
use typeloom_solver::elem::Elem;

use super::flatten::Flat;
use super::write::{Attribute, OPSET_IMPORT, Target, WriteError, cast_node, like_node, printed, retype};
use super::{Cast, Copied, Declaration, Hunk, NUMBERED, Reading, graph_text};
use typeloom_onnx::nested;

/// The fields of a model that hold its graph and its functions.
const GRAPH: u32 = 7;
const FUNCTION: u32 = 25;

/// Where a value is read: an input of a node, or an output of a graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Site {
    pub(super) graph: usize,
    /// The node's position; nothing for an output.
    pub(super) node: Option<usize>,
    pub(super) at: usize,
}

impl Site {
    pub(super) fn input(graph: usize, node: usize, at: usize) -> Self {
        Self { graph, node: Some(node), at }
    }

    pub(super) fn output(graph: usize, at: usize) -> Self {
        Self { graph, node: None, at }
    }
}

/// What a value is converted into.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    To(Elem),
    /// The type of another value of the function.
    Like(String),
}

/// A conversion to insert.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The graph that the value is of, and its name.
    pub(super) value: (usize, String),
    /// The graph that the conversion stands in.
    pub(super) graph: usize,
    pub(super) kind: Kind,
    pub(super) readers: Vec<Site>,
    pub(super) from: Elem,
    pub(super) to: Elem,
}

/// What changes in each instance, and the element types that come of it.
pub(super) struct Placed {
    pub(super) edits: BTreeMap<usize, Vec<Edit>>,
    /// By instance, graph and name.
    pub(super) values: BTreeMap<(usize, (usize, String)), Elem>,
    /// Outputs of graphs: by instance, graph and position.
    pub(super) outputs: BTreeMap<(usize, usize, usize), Elem>,
}

/// The parts of the file that become others.
#[derive(Default)]
pub(super) struct Changes {
    graph: Option<GraphProto>,
    functions: BTreeMap<usize, FunctionProto>,
    copies: Vec<FunctionProto>,
    import: Option<OperatorSetIdProto>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        let Self { graph, functions, copies, import } = self;
        graph.is_none() && functions.is_empty() && copies.is_empty() && import.is_none()
    }

    /// The file with them; all else is copied byte for byte.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<Vec<u8>, WriteError> {
        let mut splice = Splice::new::<ModelProto>(bytes);
        let mut function = 0;
        for field in ModelView::new(bytes)?.wire_fields() {
            let field = field?;
            match field.number {
                GRAPH => {
                    if let Some(graph) = &self.graph {
                        splice.replace(0, &field, &Records::new().message(GRAPH, graph));
                    }
                }
                FUNCTION => {
                    if let Some(new) = self.functions.get(&function) {
                        splice.replace(0, &field, &Records::new().message(FUNCTION, new));
                    }
                    function += 1;
                }
                _ => {}
            }
        }
        for copy in &self.copies {
            splice.append(0, &Records::new().message(FUNCTION, copy));
        }
        if let Some(import) = &self.import {
            splice.append(0, &Records::new().message(OPSET_IMPORT, import));
        }
        Ok(splice.finish()?.to_vec())
    }
}

/// A repair carried out.
#[derive(Default)]
pub(super) struct Written {
    pub(super) changes: Changes,
    pub(super) casts: Vec<Cast>,
    pub(super) declarations: Vec<Declaration>,
    pub(super) hunks: Vec<Hunk>,
    pub(super) copies: Vec<Copied>,
}

/// What tells copies of a function apart: what is converted, and which copies are called by which node.
type Signature = (Vec<(usize, String, usize, Kind, Vec<Site>)>, Vec<((usize, usize), usize)>);

/// A copy of a place.
struct Copy {
    place: usize,
    /// The calls that use it.
    instances: Vec<usize>,
    /// Other names of what its nodes call.
    calls: BTreeMap<(usize, usize), usize>,
    name: String,
}

/// The path of a graph in its body.
fn nested_path(flat: &Flat, place: usize, graph: usize) -> GraphPath {
    let it = &flat.places[place];
    let mut parts = Vec::new();
    let mut at = graph;
    while let Some((parent, node)) = it.parents.get(at).copied().flatten() {
        // The graphs of one node are numbered in order.
        let before = (0..at).filter(|other| it.parents[*other] == Some((parent, node))).count();
        parts.push((parent, node, before));
        at = parent;
    }
    let mut path = Vec::new();
    let mut graphs = vec![&it.graph];
    for (_, node, nth) in parts.into_iter().rev() {
        let Some(found) = graphs.last().and_then(|graph| graph.node.get(node)) else { break };
        let named = found.attribute.iter().flat_map(|attribute| {
            let own = attribute.g.as_deref().into_iter().map(move |graph| (attribute.name(), None, graph));
            let many = attribute.graphs.iter().enumerate();
            own.chain(many.map(move |(at, graph)| (attribute.name(), Some(at), graph)))
        });
        let Some((attribute, index, inner)) = named.into_iter().nth(nth) else { break };
        path.push(GraphPathStep {
            node,
            operator: found.op_type().to_owned(),
            attribute: attribute.to_owned(),
            index,
        });
        graphs.push(inner);
    }
    GraphPath(path)
}

/// The path of a graph as text, with the name of its function; empty for the main graph.
fn path(flat: &Flat, place: usize, name: &str, graph: usize) -> String {
    graph_text((place != 0).then_some(name), &nested_path(flat, place, graph))
}

/// A call in words.
pub(super) fn call_site(flat: &Flat, caller: usize, graph: usize, node: usize) -> String {
    let place = flat.instances[caller].place;
    let at = path(flat, place, &flat.places[place].name, graph);
    if at.is_empty() { format!("node #{node}") } else { format!("{at} node #{node}") }
}

pub(super) fn write(model: &ModelProto, flat: &Flat, placed: &Placed, target: Target) -> Written {
    let copies = copies(model, flat, placed);
    let mut taken: HashSet<String> = HashSet::new();
    for place in &flat.places {
        taken.extend(nested::value_names(&place.graph));
        nested::each_node(&place.graph, |node| {
            taken.insert(node.name().to_owned());
        });
    }
    let mut written = Written::default();
    let mut changes = Changes::default();
    for (at, copy) in copies.iter().enumerate() {
        let place = &flat.places[copy.place];
        let is_first = !copies[..at].iter().any(|other| other.place == copy.place);
        let attribute = match copy.place {
            0 => target.attribute,
            _ if place.version < NUMBERED => Attribute::Word,
            _ => Attribute::Number,
        };
        let mut editing = Editing {
            flat,
            copy,
            placed,
            attribute,
            taken: &mut taken,
            written: &mut written,
            before: BTreeMap::new(),
            added: BTreeMap::new(),
            changed: false,
        };
        let mut graph = place.graph.clone();
        editing.redirect(&mut graph, &copies);
        editing.run(&mut graph);
        let casts = editing.added.values().any(|nodes| !nodes.is_empty());
        let has_changed = editing.changed;
        if copy.place == 0 {
            if has_changed {
                changes.graph = Some(graph);
            }
            if let (Some(version), true) = (target.import, casts) {
                changes.import = Some(import(version));
            }
            continue;
        }
        let function = copy.place - 1;
        let mut new = as_function(&model.functions[function], graph);
        if casts && !new.opset_import.iter().any(|import| matches!(import.domain(), "" | "ai.onnx")) {
            let has_own = !new.opset_import.is_empty();
            new.opset_import.extend(has_own.then(|| import(place.version)));
        }
        if is_first {
            if has_changed {
                changes.functions.insert(function, new);
            }
            continue;
        }
        new.name = Some(copy.name.clone());
        changes.copies.push(new);
        let calls = copy.instances.iter().filter_map(|instance| {
            let (caller, (graph, node)) = flat.instances[*instance].caller?;
            Some(call_site(flat, caller, graph, node))
        });
        let calls: BTreeSet<String> = calls.collect();
        written.copies.push(Copied {
            function: place.name.clone(),
            name: copy.name.clone(),
            calls: calls.into_iter().collect(),
        });
    }
    written.changes = changes;
    written
}

fn import(version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto {
        domain: Some(String::new()),
        version: Some(version),
        ..OperatorSetIdProto::default()
    }
}

fn as_function(function: &FunctionProto, graph: GraphProto) -> FunctionProto {
    FunctionProto {
        node: graph.node,
        output: graph.output.into_iter().map(|info| info.name.unwrap_or_default()).collect(),
        value_info: graph.value_info,
        ..function.clone()
    }
}

/// Which copies of which place there are, in the order of places and calls.
fn copies(model: &ModelProto, flat: &Flat, placed: &Placed) -> Vec<Copy> {
    let mut children: Vec<Vec<((usize, usize), usize)>> = vec![Vec::new(); flat.instances.len()];
    let mut known: BTreeMap<(usize, Signature), usize> = BTreeMap::new();
    let mut of_instance = vec![0; flat.instances.len()];
    // Who is called comes after who calls.
    for at in (0..flat.instances.len()).rev() {
        let instance = &flat.instances[at];
        let edits = placed.edits.get(&at).into_iter().flatten();
        let edits = edits.map(|Edit { value: (graph, name), graph: inside, kind, readers, .. }| {
            (*graph, name.clone(), *inside, kind.clone(), readers.clone())
        });
        let mut called = std::mem::take(&mut children[at]);
        called.sort_unstable();
        let signature = (edits.collect(), called);
        let number = known.len();
        let number = *known.entry((instance.place, signature)).or_insert(number);
        of_instance[at] = number;
        if let Some((caller, site)) = instance.caller {
            children[caller].push((site, number));
        }
    }
    let mut numbers: BTreeMap<usize, Copy> = BTreeMap::new();
    let mut order: Vec<usize> = Vec::new();
    for (at, instance) in flat.instances.iter().enumerate() {
        let number = of_instance[at];
        let copy = numbers.entry(number).or_insert_with(|| {
            order.push(number);
            Copy { place: instance.place, instances: Vec::new(), calls: BTreeMap::new(), name: String::new() }
        });
        copy.instances.push(at);
        if let Some((caller, site)) = instance.caller
            && let Some(caller) = numbers.get_mut(&of_instance[caller])
        {
            caller.calls.insert(site, number);
        }
    }
    order.sort_by_key(|number| numbers[number].place);
    let mut names: HashSet<(String, String)> = HashSet::new();
    names.extend(model.functions.iter().map(|it| (it.domain().to_owned(), it.name().to_owned())));
    let mut seen: HashSet<usize> = HashSet::new();
    for number in &order {
        let Some(copy) = numbers.get_mut(number) else { continue };
        if copy.place == 0 {
            continue;
        }
        let function = &model.functions[copy.place - 1];
        copy.name = function.name().to_owned();
        if !seen.insert(copy.place) {
            let own = copy.instances.first().copied().unwrap_or_default();
            let words = function.input.iter().filter_map(|formal| {
                placed.values.get(&(own, (0, formal.clone()))).and_then(|elem| elem.onnx_name())
            });
            let wanted = words.fold(copy.name.clone(), |name, word| name + "_" + word);
            let numbered = (2_usize..).map(|number| format!("{wanted}_{number}"));
            let is_free = |name: &String| !names.contains(&(function.domain().to_owned(), name.clone()));
            copy.name = std::iter::once(wanted.clone()).chain(numbered).find(is_free).unwrap_or(wanted);
            names.insert((function.domain().to_owned(), copy.name.clone()));
        }
    }
    let position: BTreeMap<usize, usize> =
        order.iter().enumerate().map(|(at, number)| (*number, at)).collect();
    for copy in numbers.values_mut() {
        for call in copy.calls.values_mut() {
            *call = position[call];
        }
    }
    order.iter().filter_map(|number| numbers.remove(number)).collect()
}

/// One copy on its way.
struct Editing<'e> {
    flat: &'e Flat,
    copy: &'e Copy,
    placed: &'e Placed,
    attribute: Attribute,
    taken: &'e mut HashSet<String>,
    written: &'e mut Written,
    /// Nodes as they were, by graph and position.
    before: BTreeMap<(usize, usize), String>,
    /// Nodes to insert, by graph and position.
    added: BTreeMap<(usize, usize), Vec<NodeProto>>,
    changed: bool,
}

impl Editing<'_> {
    fn path(&self, graph: usize) -> String {
        path(self.flat, self.copy.place, &self.copy.name, graph)
    }

    /// The first call that uses the copy.
    fn own(&self) -> usize {
        self.copy.instances.first().copied().unwrap_or_default()
    }

    /// A name that nothing has.
    fn fresh(&mut self, wanted: &str) -> String {
        let numbered = (2_usize..).map(|number| format!("{wanted}_{number}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
        let name = names.find(|name| !self.taken.contains(name)).unwrap_or_default();
        self.taken.insert(name.clone());
        name
    }

    /// Lets nodes call the copies that are theirs.
    fn redirect(&mut self, graph: &mut GraphProto, copies: &[Copy]) {
        let mut number = 0;
        nested::each_graph_mut(graph, |graph, _| {
            for (at, node) in graph.node.iter_mut().enumerate() {
                let Some(callee) = self.copy.calls.get(&(number, at)) else { continue };
                if node.op_type() != copies[*callee].name {
                    self.before.insert((number, at), printed(node));
                    node.op_type = Some(copies[*callee].name.clone());
                    self.changed = true;
                }
            }
            number += 1;
        });
    }

    fn run(&mut self, graph: &mut GraphProto) {
        let edits = self.placed.edits.get(&self.own()).cloned().unwrap_or_default();
        let place = &self.flat.places[self.copy.place];
        // A conversion that an output of the model reads takes its name, which callers know.
        let mut renamed: BTreeMap<String, String> = BTreeMap::new();
        let is_interface = |edit: &Edit| {
            self.copy.place == 0 && edit.readers.iter().any(|it| it.node.is_none() && it.graph == 0)
        };
        let of_interface: Vec<(String, Elem)> = edits
            .iter()
            .filter(|edit| is_interface(edit))
            .map(|edit| (edit.value.1.clone(), edit.from))
            .collect();
        for (name, from) in of_interface {
            let own = self.fresh(&format!("{name}_as_{}", word(from)));
            renamed.insert(name, own);
        }
        let mut inputs: BTreeMap<(usize, usize), Vec<(usize, String)>> = BTreeMap::new();
        let mut outputs: BTreeMap<(usize, usize), String> = BTreeMap::new();
        let mut graphs = Vec::new();
        nested::each_graph(&place.graph, |graph, _| graphs.push(graph));
        let operator = |site: &Site| {
            let node = site.node.and_then(|node| graphs.get(site.graph)?.node.get(node));
            node.map(|node| node.op_type().to_owned()).unwrap_or_default()
        };
        for edit in &edits {
            let Edit { value: (_, name), graph: inside, kind, readers, from, to } = edit;
            let output = if is_interface(edit) {
                name.clone()
            } else {
                let end = match kind {
                    Kind::To(_) => format!("as_{}", word(*to)),
                    Kind::Like(other) => format!("like_{other}"),
                };
                self.fresh(&format!("{name}_{end}"))
            };
            let end = graphs.get(*inside).map_or(0, |graph| graph.node.len());
            let lifted = readers.iter().filter_map(|site| match site.node {
                Some(node) => place.lift(site.graph, node, *inside),
                None if site.graph == *inside => Some(end),
                None => {
                    let (graph, node) = place.parents.get(site.graph).copied().flatten()?;
                    place.lift(graph, node, *inside)
                }
            });
            let before = lifted.min().unwrap_or(end);
            let node_name = self.fresh(&format!("Cast_{output}"));
            let input = renamed.get(name).unwrap_or(name).clone();
            let node = match kind {
                Kind::To(elem) => cast_node(&input, &output, &node_name, *elem, self.attribute),
                Kind::Like(other) => like_node(&input, other, &output, &node_name),
            };
            let mut readings = Vec::new();
            for site in readers {
                match site.node {
                    Some(node) => {
                        inputs.entry((site.graph, node)).or_default().push((site.at, output.clone()));
                    }
                    None => {
                        outputs.insert((site.graph, site.at), output.clone());
                    }
                }
                readings.push(Reading {
                    function: (self.copy.place != 0).then(|| self.copy.name.clone()),
                    graph: nested_path(self.flat, self.copy.place, site.graph),
                    node: site.node,
                    operator: operator(site),
                    at: site.at,
                });
            }
            let (from, to) = self.worst(edit).unwrap_or((*from, *to));
            self.written.casts.push(Cast {
                graph: self.path(*inside),
                before,
                name: node_name,
                input,
                output: output.clone(),
                from,
                to,
                like: match kind {
                    Kind::To(_) => None,
                    Kind::Like(other) => Some(other.clone()),
                },
                readings,
            });
            self.added.entry((*inside, before)).or_default().push(node);
            self.changed = true;
        }
        self.declarations(graph);
        self.ports(graph, &inputs, &outputs, &renamed);
    }

    /// The types of a conversion in the call where it loses most.
    fn worst(&self, edit: &Edit) -> Option<(Elem, Elem)> {
        let same =
            |other: &&Edit| other.value == edit.value && other.graph == edit.graph && other.kind == edit.kind;
        let of = |instance: &usize| self.placed.edits.get(instance)?.iter().find(same);
        let all: Vec<(Elem, Elem)> =
            self.copy.instances.iter().filter_map(of).map(|edit| (edit.from, edit.to)).collect();
        let lossy = all.iter().find(|(from, to)| !super::keeps_values(*from, *to));
        let real = all.iter().find(|(from, to)| from != to);
        lossy.or(real).or(all.first()).copied()
    }

    /// Corrects what is declared of values; where calls differ, nothing is declared.
    fn declarations(&mut self, graph: &mut GraphProto) {
        let mut number = 0;
        let mut found = Vec::new();
        nested::each_graph_mut(graph, |graph, _| {
            let outermost = number == 0;
            let GraphProto { input, output, value_info, .. } = graph;
            let own = if outermost { &mut [][..] } else { input.as_mut_slice() };
            for info in own.iter_mut().chain(value_info) {
                let key = |instance: &usize| (*instance, (number, info.name().to_owned()));
                let elems: BTreeSet<Elem> = self
                    .copy
                    .instances
                    .iter()
                    .filter_map(|it| self.placed.values.get(&key(it)).copied())
                    .collect();
                found.extend(correct(info, &elems).map(|change| (number, change)));
            }
            if !outermost {
                for (at, info) in output.iter_mut().enumerate() {
                    let key = |instance: &usize| (*instance, number, at);
                    let elems: BTreeSet<Elem> = self
                        .copy
                        .instances
                        .iter()
                        .filter_map(|it| self.placed.outputs.get(&key(it)).copied())
                        .collect();
                    found.extend(correct(info, &elems).map(|change| (number, change)));
                }
            }
            number += 1;
        });
        self.changed |= !found.is_empty();
        for (graph, (name, from, to)) in found {
            let graph = self.path(graph);
            self.written.declarations.push(Declaration { graph, name, from, to });
        }
    }

    /// Gives ports their new names, puts the new nodes in, and notes what changed.
    fn ports(
        &mut self,
        graph: &mut GraphProto,
        inputs: &BTreeMap<(usize, usize), Vec<(usize, String)>>,
        outputs: &BTreeMap<(usize, usize), String>,
        renamed: &BTreeMap<String, String>,
    ) {
        if !renamed.is_empty() {
            self.rename(graph, renamed);
        }
        let mut number = 0;
        let mut after: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
        nested::each_graph_mut(graph, |graph, _| {
            for (at, info) in graph.output.iter_mut().enumerate() {
                if let Some(name) = outputs.get(&(number, at)) {
                    info.name = Some(name.clone());
                }
            }
            for (at, node) in graph.node.iter_mut().enumerate() {
                if let Some(ports) = inputs.get(&(number, at)) {
                    self.before.entry((number, at)).or_insert_with(|| printed(node));
                    for (port, name) in ports {
                        if let Some(input) = node.input.get_mut(*port) {
                            input.clone_from(name);
                        }
                    }
                }
                if self.before.contains_key(&(number, at)) {
                    after.entry((number, at)).or_default().push(printed(node));
                }
            }
            number += 1;
        });
        for (place, nodes) in &self.added {
            let lines = after.entry(*place).or_default();
            lines.splice(0..0, nodes.iter().map(printed));
        }
        for ((graph, position), lines) in after {
            let before = self.before.get(&(graph, position)).cloned();
            let graph = self.path(graph);
            self.written.hunks.push(Hunk { graph, position, before, after: lines });
        }
        // From the back, so that positions stay what they are.
        let mut number = 0;
        nested::each_graph_mut(graph, |graph, _| {
            let here = self.added.range((number, 0)..=(number, usize::MAX)).rev();
            for ((_, position), nodes) in here {
                let position = (*position).min(graph.node.len());
                graph.node.splice(position..position, nodes.iter().cloned());
            }
            number += 1;
        });
    }

    /// Gives values of the main graph that leave their names to conversions their own.
    fn rename(&mut self, graph: &mut GraphProto, renamed: &BTreeMap<String, String>) {
        let outputs: Vec<Option<String>> = graph.output.iter().map(|info| info.name.clone()).collect();
        let mut number = 0;
        nested::each_graph_mut(graph, |graph, _| {
            for (at, node) in graph.node.iter().enumerate() {
                if node.input.iter().chain(&node.output).any(|name| renamed.contains_key(name)) {
                    self.before.entry((number, at)).or_insert_with(|| printed(node));
                }
            }
            number += 1;
        });
        let names: HashMap<String, String> =
            renamed.iter().map(|(old, new)| (old.clone(), new.clone())).collect();
        nested::rename_values(graph, &names);
        for (info, name) in graph.output.iter_mut().zip(outputs) {
            info.name = name;
        }
        for tensor in &mut graph.initializer {
            if let Some(name) = renamed.get(tensor.name()) {
                tensor.name = Some(name.clone());
            }
        }
    }
}

/// Corrects one declaration: its name, what it said and what it says now.
fn correct(info: &mut ValueInfoProto, elems: &BTreeSet<Elem>) -> Option<(String, Elem, Elem)> {
    let to = elems.first().copied()?;
    if elems.len() > 1 {
        info.r#type = None;
        return None;
    }
    let from = retype(info.r#type.as_mut(), to)?;
    Some((info.name().to_owned(), from, to))
}

/// An element type as a part of a name.
fn word(elem: Elem) -> &'static str {
    elem.onnx_name().unwrap_or("other")
}
