//! The state of a recording, shared by a [`Graph`](super::Graph) and its values.
//!
//! A recorder has a stack of open graphs: the module's graph and, while a branch or body is recorded, those
//! nested in it. Nodes are added to the innermost one. A branch can use values of outer graphs; values of a
//! closed branch cannot be used any more.
//!
//! **Invariant:** recording a node takes time linear in its size: names are looked up in hash maps.

use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{AttributeProto, FunctionProto, SharedText, TensorProto};
use typeloom_program::declared::DeclaredType;
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement};
use typeloom_program::program::{Graph, GraphId, Node, NodeId, Port, Program, ValueId};

use crate::authoring::{AuthoringError, AuthoringErrorKind};
use crate::graph::recorded::Recorded;
use crate::location::SourceLocation;
use crate::names::snake_case;
use crate::{Map, Set};

/// A node to be recorded.
pub(crate) struct NewNode<'n> {
    pub(crate) domain: Domain,
    pub(crate) op: &'n str,
    pub(crate) inputs: Vec<Option<ValueId>>,
    pub(crate) attributes: Vec<AttributeProto>,
    /// The graphs of the attributes.
    pub(crate) graphs: Vec<GraphId>,
    pub(crate) outputs: usize,
    /// The slot of the node and its contract.
    pub(crate) slot: Option<(&'n str, Role)>,
}

/// A slot of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotUse {
    pub role: Role,
    /// The first use in the module.
    pub location: SourceLocation,
}

/// The list of a graph that contains a declaration, and the position in this list.
#[derive(Clone, Copy)]
enum Listed {
    Input(usize),
    Output(usize),
    Value(usize),
}

/// Texts that many nodes share.
#[derive(Default)]
struct SharedTexts {
    texts: Map<String, SharedText>,
    locations: Map<SourceLocation, SharedText>,
    stems: Map<String, Rc<str>>,
}

impl SharedTexts {
    fn text(&mut self, text: &str) -> SharedText {
        match self.texts.get(text) {
            Some(shared) => shared.clone(),
            None => self.texts.entry(text.to_owned()).or_insert_with(|| text.into()).clone(),
        }
    }

    fn location(&mut self, location: SourceLocation) -> SharedText {
        self.locations.entry(location).or_insert_with(|| location.to_string().into()).clone()
    }

    /// The stem of names of an operator's results.
    fn stem(&mut self, op: &str) -> Rc<str> {
        match self.stems.get(op) {
            Some(stem) => Rc::clone(stem),
            None => Rc::clone(self.stems.entry(op.to_owned()).or_insert_with(|| snake_case(op).into())),
        }
    }
}

/// Returns `stem_number`. Formats by hand, since nearly every value has such a name.
fn numbered(stem: &str, mut number: u32) -> Arc<str> {
    let mut digits = [0_u8; 10];
    let mut count = 0;
    loop {
        digits[count] = b'0' + u8::try_from(number % 10).unwrap_or_default();
        count += 1;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    let mut name = String::with_capacity(stem.len() + 1 + count);
    name.push_str(stem);
    name.push('_');
    name.extend(digits[..count].iter().rev().map(|digit| char::from(*digit)));
    name.into()
}

/// The names `stem_0`, `stem_1`, ... that exist so far, stored as ranges.
#[derive(Default)]
struct Stem {
    count: u32,
    /// The first number of each run of names with the same location.
    locations: Vec<(u32, SourceLocation)>,
}

impl Stem {
    /// The next number.
    fn next(&mut self, location: SourceLocation) -> u32 {
        let number = self.count;
        self.count += 1;
        if self.locations.last().is_none_or(|(_, last)| *last != location) {
            self.locations.push((number, location));
        }
        number
    }

    /// The location of a number.
    fn location(&self, number: u32) -> Option<SourceLocation> {
        if number >= self.count {
            return None;
        }
        let after = self.locations.partition_point(|(first, _)| *first <= number);
        Some(self.locations.get(after.checked_sub(1)?)?.1)
    }
}

pub(crate) struct Recorder {
    pub(crate) module: String,
    pub(crate) program: Program,
    pub(crate) facts: Facts,
    open: Vec<GraphId>,
    /// Generated names by stem, and names that authors chose.
    stems: Map<String, Stem>,
    taken: Map<String, SourceLocation>,
    /// Outputs of the module by name: the value, whether it goes to the network, and the location.
    outputs: IndexMap<String, (ValueId, bool, SourceLocation)>,
    /// The number of given outputs, including those with an error.
    pub(crate) given_outputs: usize,
    /// The port that declares a value in a graph.
    listed: Map<(GraphId, ValueId), Listed>,
    /// Inputs of the module, and whether anything reads them.
    pub(crate) inputs: IndexMap<ValueId, (SourceLocation, bool), foldhash::fast::RandomState>,
    shared: SharedTexts,
    pub(crate) slots: IndexMap<String, SlotUse>,
    /// Called modules. Two of one name must be equal.
    pub(crate) functions: IndexMap<String, (FunctionProto, SourceLocation)>,
    /// Public functions by name.
    pub(crate) exports: IndexMap<String, (Recorded, SourceLocation)>,
    pub(crate) locations: IndexMap<String, SourceLocation>,
    pub(crate) errors: Vec<AuthoringError>,
    /// The callers of this module, outermost first.
    pub(crate) callers: Vec<String>,
}

impl Recorder {
    pub(crate) fn new(module: String, callers: Vec<String>) -> Self {
        let program = Program::new(module.clone());
        Self {
            module,
            open: vec![program.main()],
            program,
            facts: Facts::default(),
            stems: Map::default(),
            taken: Map::default(),
            outputs: IndexMap::new(),
            given_outputs: 0,
            listed: Map::default(),
            inputs: IndexMap::default(),
            shared: SharedTexts::default(),
            slots: IndexMap::new(),
            functions: IndexMap::new(),
            exports: IndexMap::new(),
            locations: IndexMap::new(),
            errors: Vec::new(),
            callers,
        }
    }

    pub(crate) fn error(&mut self, kind: AuthoringErrorKind, location: SourceLocation) {
        self.errors.push(AuthoringError { kind, location });
    }

    /// The innermost open graph.
    pub(crate) fn current(&self) -> GraphId {
        self.open.last().copied().unwrap_or_else(|| self.program.main())
    }

    pub(crate) fn is_open(&self, graph: GraphId) -> bool {
        self.open.contains(&graph)
    }

    fn graph(&mut self) -> &mut Graph {
        let graph = self.current();
        &mut self.program[graph]
    }

    /// Opens a graph nested in the current one.
    pub(crate) fn open_graph(&mut self, stem: &str, location: SourceLocation) {
        let name = self.fresh(stem, location);
        let outer = Some(self.current());
        let graph = self.program.add_graph(Graph::new(name.to_string(), outer));
        self.open.push(graph);
    }

    /// Closes the innermost graph.
    pub(crate) fn close_graph(&mut self) -> GraphId {
        let closed = self.current();
        self.open.pop();
        closed
    }

    /// Adds an input to the innermost open graph.
    pub(crate) fn add_input(&mut self, name: impl Into<Arc<str>>) -> ValueId {
        let graph = self.current();
        let value = self.program.add_value(graph, name);
        let inputs = &mut self.program[graph].inputs;
        inputs.push(Port::new(value));
        self.listed.insert((graph, value), Listed::Input(inputs.len() - 1));
        value
    }

    /// Lists an output of the innermost open graph.
    pub(crate) fn add_output(&mut self, value: ValueId) {
        let graph = self.current();
        let outputs = &mut self.program[graph].outputs;
        self.listed.entry((graph, value)).or_insert(Listed::Output(outputs.len()));
        outputs.push(Port::new(value));
    }

    /// Adds a value with a generated name to the innermost open graph.
    fn fresh_value(&mut self, stem: &str, location: SourceLocation) -> ValueId {
        let name = self.fresh(stem, location);
        let graph = self.current();
        self.program.add_value(graph, name)
    }

    /// Returns a new name.
    pub(crate) fn fresh(&mut self, stem: &str, location: SourceLocation) -> Arc<str> {
        let numbers = match self.stems.get_mut(stem) {
            Some(numbers) => numbers,
            None => self.stems.entry(stem.to_owned()).or_default(),
        };
        loop {
            let name = numbered(stem, numbers.next(location));
            if !self.taken.contains_key(&*name) {
                return name;
            }
        }
    }

    /// The location at which a name was taken.
    fn taken_at(&self, name: &str) -> Option<SourceLocation> {
        if let Some(location) = self.taken.get(name) {
            return Some(*location);
        }
        let (stem, number) = name.rsplit_once('_')?;
        let is_number = number == "0" || number.starts_with(|first: char| ('1'..='9').contains(&first));
        let number = number.parse().ok().filter(|_| is_number)?;
        self.stems.get(stem)?.location(number)
    }

    /// Takes a name for a port; returns the location of the earlier use if it is taken.
    pub(crate) fn take_name(&mut self, name: &str, location: SourceLocation) -> Option<SourceLocation> {
        let first = self.taken_at(name);
        if first.is_none() {
            self.taken.insert(name.to_owned(), location);
        }
        first
    }

    /// Adds an input of the module; the error of its name if it is taken.
    pub(crate) fn add_module_input(
        &mut self,
        name: &str,
        location: SourceLocation,
    ) -> Result<ValueId, AuthoringErrorKind> {
        if let Some(first) = self.take_name(name, location) {
            return Err(self.name_taken("input", name, first));
        }
        let value = self.add_input(name);
        self.inputs.insert(value, (location, false));
        self.locations.insert(name.to_owned(), location);
        Ok(value)
    }

    /// Adds an output of the module; the error of its name if it is taken.
    pub(crate) fn add_module_output(
        &mut self,
        name: &str,
        value: ValueId,
        to_network: bool,
        location: SourceLocation,
    ) -> Result<(), AuthoringErrorKind> {
        let is_other = |_: &SourceLocation| *self.program[value].name != *name;
        let listed = self.outputs.get(name).map(|(_, _, first)| *first);
        if let Some(first) = listed.or_else(|| self.taken_at(name).filter(is_other)) {
            return Err(self.name_taken("output", name, first));
        }
        self.taken.insert(name.to_owned(), location);
        self.outputs.insert(name.to_owned(), (value, to_network, location));
        Ok(())
    }

    /// The error of a port whose name is taken.
    fn name_taken(&self, port: &'static str, name: &str, first: SourceLocation) -> AuthoringErrorKind {
        let is_input = self.inputs.keys().any(|input| *self.program[*input].name == *name);
        let name = name.to_owned();
        match (port, is_input, self.outputs.contains_key(&name)) {
            ("input", true, _) => AuthoringErrorKind::DuplicateInput { name, first },
            ("output", _, true) => AuthoringErrorKind::DuplicateOutput { name, first },
            (_, true, _) => AuthoringErrorKind::NameTaken { port, name, other: "an input", first },
            (_, _, true) => AuthoringErrorKind::NameTaken { port, name, other: "an output", first },
            (_, false, false) => {
                AuthoringErrorKind::NameTaken { port, name, other: "a computed value", first }
            }
        }
    }

    /// Whether a value is an input or constant of the innermost open graph.
    pub(crate) fn is_input_or_constant(&self, value: ValueId) -> bool {
        let graph = &self.program[self.current()];
        graph.inputs.iter().map(|port| port.value).chain(graph.constants()).any(|known| known == value)
    }

    /// Renames output values to the names of the outputs. Inputs, constants and values of other outputs are
    /// copied under the new name instead.
    pub(crate) fn name_outputs(&mut self) {
        let main = self.program.main();
        let Graph { inputs, initializers, .. } = &self.program[main];
        let inputs = inputs.iter().map(|port| port.value);
        let mut fixed: Set<ValueId> = inputs.chain(initializers.iter().map(|(value, _)| *value)).collect();
        for (name, (value, to_network, location)) in std::mem::take(&mut self.outputs) {
            let mut value = value;
            let own = Arc::clone(&self.program[value].name);
            if *own != *name {
                if fixed.contains(&value) {
                    let copy = self.program.add_value(main, name.as_str());
                    self.copy(value, copy, location);
                    value = copy;
                } else {
                    self.program[value].name = name.as_str().into();
                    if let Some(location) = self.locations.shift_remove(&*own) {
                        self.locations.entry(name.clone()).or_insert(location);
                    }
                }
            }
            fixed.insert(value);
            self.locations.insert(name, location);
            let mut port = Port::new(value);
            port.to_network = to_network;
            self.program[main].outputs.push(port);
        }
        // A declared type of an output belongs to the output's own entry.
        let Graph { outputs, infos, .. } = &mut self.program[main];
        let mut positions: Map<ValueId, usize> =
            outputs.iter().enumerate().map(|(at, output)| (output.value, at)).collect();
        infos.retain_mut(|info| match positions.remove(&info.value) {
            Some(at) => {
                outputs[at].declared = info.declared.take();
                false
            }
            None => true,
        });
    }

    /// Marks an input as read.
    pub(crate) fn read(&mut self, value: ValueId) {
        if let Some((_, read)) = self.inputs.get_mut(&value) {
            *read = true;
        }
    }

    /// Records a node and names its outputs.
    pub(crate) fn node(&mut self, node: NewNode<'_>, location: SourceLocation) -> Vec<ValueId> {
        let stem = self.shared.stem(node.op);
        let outputs: Vec<ValueId> = (0..node.outputs).map(|_| self.fresh_value(&stem, location)).collect();
        self.node_to(node, outputs.iter().copied().map(Some).collect(), location);
        outputs
    }

    /// Records a node with given outputs.
    fn node_to(&mut self, node: NewNode<'_>, outputs: Vec<Option<ValueId>>, location: SourceLocation) {
        let NewNode { domain, op, inputs, attributes, graphs, outputs: _, slot } = node;
        for input in inputs.iter().flatten() {
            self.read(*input);
        }
        let mut node = Node::new(domain, op, inputs, outputs);
        (node.attributes, node.graphs) = (attributes, graphs);
        let id = self.program.add_node(node);
        self.facts.locations.set(id, self.shared.location(location));
        if let Some((slot, role)) = slot {
            let (slot, storages) = (self.shared.text(slot), Arc::default());
            self.facts.placements.set(id, Placement { slot, role, storages, method: None });
        }
        self.graph().nodes.push(id);
    }

    /// The last node of the innermost open graph.
    pub(crate) fn last_node(&self) -> Option<NodeId> {
        self.program[self.current()].nodes.last().copied()
    }

    /// Records a copy of a value; returns the copy, with a generated name.
    pub(crate) fn alias(&mut self, value: ValueId, stem: &str, location: SourceLocation) -> ValueId {
        let copy = self.fresh_value(stem, location);
        self.copy(value, copy, location);
        copy
    }

    fn copy(&mut self, from: ValueId, to: ValueId, location: SourceLocation) {
        let node = NewNode {
            domain: Domain::Types,
            op: "Identity",
            inputs: vec![Some(from)],
            attributes: Vec::new(),
            graphs: Vec::new(),
            outputs: 1,
            slot: None,
        };
        self.node_to(node, vec![Some(to)], location);
    }

    pub(crate) fn initializer(&mut self, tensor: TensorProto, location: SourceLocation) -> ValueId {
        let value = self.fresh_value("const", location);
        self.program.add_initializer(self.current(), value, tensor);
        value
    }

    pub(crate) fn use_slot(&mut self, slot: &str, role: Role, location: SourceLocation) {
        match self.slots.get(slot) {
            Some(known) if known.role != role => {
                let (earlier, first) = (known.role, known.location);
                let kind =
                    AuthoringErrorKind::SlotRole { slot: slot.to_owned(), found: role, earlier, first };
                self.error(kind, location);
            }
            Some(_) => {}
            None => {
                self.slots.insert(slot.to_owned(), SlotUse { role, location });
            }
        }
    }

    /// Declares the type of a value of the innermost open graph.
    pub(crate) fn declare(&mut self, value: ValueId, ty: DeclaredType, location: SourceLocation) {
        let graph = self.current();
        let Graph { inputs, outputs, infos, .. } = &mut self.program[graph];
        let at = *self.listed.entry((graph, value)).or_insert_with(|| {
            infos.push(Port::new(value));
            Listed::Value(infos.len() - 1)
        });
        let declared = match at {
            Listed::Input(at) => &mut inputs[at].declared,
            Listed::Output(at) => &mut outputs[at].declared,
            Listed::Value(at) => &mut infos[at].declared,
        };
        let contradicted = match declared {
            Some(first) if *first != ty => Some(first.to_string()),
            Some(_) => None,
            None => {
                *declared = Some(ty.clone());
                None
            }
        };
        let name = self.program[value].name.to_string();
        if let Some(first) = contradicted {
            let (value, second) = (name.clone(), ty.to_string());
            self.error(AuthoringErrorKind::DeclaredTwice { value, first, second }, location);
        }
        self.locations.entry(name).or_insert(location);
    }
}
