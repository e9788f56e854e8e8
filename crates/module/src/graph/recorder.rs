//! The state of a recording, shared by a [`Graph`](super::Graph) and its values.
//!
//! A recorder has a stack of open graphs: the module's graph and, while a branch or body is recorded, those
//! nested in it. Nodes are added to the innermost one. A branch can use values of outer graphs; values of a
//! closed branch cannot be used any more.
//!
//! **Invariant:** recording a node takes time linear in its size: names are looked up in hash maps.

use std::rc::Rc;

use indexmap::IndexMap;
use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, SharedText, TensorProto, TypeProto, ValueInfoProto,
    metadata_entry,
};

use crate::authoring::{AuthoringError, AuthoringErrorKind};
use crate::graph::recorded::Recorded;
use crate::ir::{Map, Set, show_type, value_info};
use crate::location::SourceLocation;
use crate::names::{self, snake_case};

/// A graph of a recorder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScopeId(pub(crate) u32);

/// A node to be recorded.
pub(crate) struct NewNode<'n> {
    pub(crate) domain: &'n str,
    pub(crate) op: &'n str,
    pub(crate) inputs: Vec<String>,
    pub(crate) attributes: Vec<AttributeProto>,
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

/// Number of metadata entries of a compiled node on a slot: source location, contract, slot, storage and
/// dispatch.
const STAMPS: usize = 5;

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
fn numbered(stem: &str, mut number: u32) -> String {
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
    name
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

#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) module: String,
    graphs: Vec<GraphProto>,
    open: Vec<ScopeId>,
    /// Generated names by stem, and names that authors chose.
    stems: Map<String, Stem>,
    taken: Map<String, SourceLocation>,
    /// Outputs of the module by name: the value, whether it goes to the network, and the location.
    outputs: IndexMap<String, (String, bool, SourceLocation)>,
    /// The declaration of each listed value, by graph and name.
    listed: Map<(u32, String), Listed>,
    /// Inputs of the module, and whether anything reads them.
    pub(crate) inputs: IndexMap<String, (SourceLocation, bool), foldhash::fast::RandomState>,
    shared: SharedTexts,
    pub(crate) slots: IndexMap<String, SlotUse>,
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
        let graph = GraphProto { name: module.clone().into(), ..GraphProto::default() };
        Self { module, graphs: vec![graph], open: vec![ScopeId(0)], callers, ..Self::default() }
    }

    pub(crate) fn error(&mut self, kind: AuthoringErrorKind, location: SourceLocation) {
        self.errors.push(AuthoringError { kind, location });
    }

    pub(crate) fn current(&self) -> ScopeId {
        self.open.last().copied().unwrap_or(ScopeId(0))
    }

    pub(crate) fn is_open(&self, scope: ScopeId) -> bool {
        self.open.contains(&scope)
    }

    pub(crate) fn graph(&mut self) -> &mut GraphProto {
        let at = self.current().0 as usize;
        &mut self.graphs[at]
    }

    /// Opens a graph nested in the current one.
    pub(crate) fn open_graph(&mut self, stem: &str, location: SourceLocation) {
        let name = self.fresh(stem, location);
        let scope = ScopeId(u32::try_from(self.graphs.len()).expect("a module has fewer than 2^32 graphs"));
        self.graphs.push(GraphProto { name: name.into(), ..GraphProto::default() });
        self.open.push(scope);
    }

    /// Closes the innermost graph and takes it.
    pub(crate) fn close_graph(&mut self) -> GraphProto {
        match self.open.pop() {
            Some(scope) => std::mem::take(&mut self.graphs[scope.0 as usize]),
            None => GraphProto::default(),
        }
    }

    /// Lists an input of the innermost open graph.
    pub(crate) fn add_input(&mut self, name: &str) {
        let scope = self.current();
        let graph = self.graph();
        graph.input.push(value_info(name));
        let at = graph.input.len() - 1;
        self.listed.insert((scope.0, name.to_owned()), Listed::Input(at));
    }

    /// Lists an output of the innermost open graph.
    pub(crate) fn add_output(&mut self, name: &str) -> &mut ValueInfoProto {
        let scope = self.current();
        let at = self.graph().output.len();
        self.listed.entry((scope.0, name.to_owned())).or_insert(Listed::Output(at));
        let graph = self.graph();
        graph.output.push(value_info(name));
        &mut graph.output[at]
    }

    /// Returns a new name.
    pub(crate) fn fresh(&mut self, stem: &str, location: SourceLocation) -> String {
        let numbers = match self.stems.get_mut(stem) {
            Some(numbers) => numbers,
            None => self.stems.entry(stem.to_owned()).or_default(),
        };
        loop {
            let name = numbered(stem, numbers.next(location));
            if !self.taken.contains_key(&name) {
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

    /// Takes the name of an output for a value; returns the location of the earlier use if it is taken.
    pub(crate) fn take_output(
        &mut self,
        name: &str,
        value: String,
        to_network: bool,
        location: SourceLocation,
    ) -> Option<SourceLocation> {
        if let Some((_, _, first)) = self.outputs.get(name) {
            return Some(*first);
        }
        if let Some(first) = self.taken_at(name).filter(|_| value != name) {
            return Some(first);
        }
        self.taken.insert(name.to_owned(), location);
        self.outputs.insert(name.to_owned(), (value, to_network, location));
        None
    }

    /// Whether a value is an input or constant of the innermost open graph.
    pub(crate) fn is_input_or_constant(&self, value: &str) -> bool {
        let graph = &self.graphs[self.current().0 as usize];
        graph.input.iter().any(|info| info.name() == value)
            || graph.initializer.iter().any(|tensor| tensor.name() == value)
    }

    /// Renames output values to the names of the outputs. Inputs, constants and values of other outputs are
    /// copied under the new name instead.
    pub(crate) fn name_outputs(&mut self) {
        let mut names: Map<String, String> = Map::default();
        let fixed: Set<String> = {
            let graph = self.graph();
            let inputs = graph.input.iter().map(|info| info.name().to_owned());
            inputs.chain(graph.initializer.iter().map(|tensor| tensor.name().to_owned())).collect()
        };
        let mut typed: Map<String, TypeProto> = Map::default();
        let outputs = std::mem::take(&mut self.outputs);
        let mut copies = Vec::new();
        for (name, (value, to_network, location)) in &outputs {
            if value != name {
                if fixed.contains(value) || names.contains_key(value) {
                    copies.push((value.clone(), name.clone(), *location));
                } else {
                    names.insert(value.clone(), name.clone());
                }
            }
            self.locations.insert(name.clone(), *location);
            let mut info = value_info(name);
            if *to_network {
                info.metadata_props.push(metadata_entry(names::NET_OUT, "1"));
            }
            self.graph().output.push(info);
        }
        for (value, name, location) in copies {
            self.alias(value, name, location);
        }
        typeloom_onnx::nested::rename_values(self.graph(), &names);
        for (old, new) in &names {
            if let Some(location) = self.locations.shift_remove(old) {
                self.locations.entry(new.clone()).or_insert(location);
            }
        }
        let graph = self.graph();
        // A declared type of an output belongs to the output's own entry.
        graph.value_info.retain_mut(|info| {
            let is_output = outputs.contains_key(info.name());
            if is_output && let Some(ty) = info.r#type.take() {
                typed.insert(info.name().to_owned(), ty);
            }
            !is_output
        });
        for info in &mut graph.output {
            info.r#type = typed.remove(info.name());
        }
    }

    /// Marks an input as read.
    pub(crate) fn read(&mut self, value: &str) {
        if let Some((_, read)) = self.inputs.get_mut(value) {
            *read = true;
        }
    }

    pub(crate) fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Records a node and names its outputs.
    pub(crate) fn node(&mut self, node: NewNode<'_>, location: SourceLocation) -> Vec<String> {
        let stem = self.shared.stem(node.op);
        let outputs = (0..node.outputs).map(|_| self.fresh(&stem, location)).collect();
        self.node_to(node, outputs, location)
    }

    /// Records a node with given output names.
    pub(crate) fn node_to(
        &mut self,
        node: NewNode<'_>,
        outputs: Vec<String>,
        location: SourceLocation,
    ) -> Vec<String> {
        let NewNode { domain, op, inputs, attributes, outputs: _, slot } = node;
        for input in &inputs {
            self.read(input);
        }
        let mut metadata_props = Vec::with_capacity(if slot.is_some() { STAMPS } else { 1 });
        metadata_props.push(metadata_entry(&*names::keys::SOURCE_LOCATION, self.shared.location(location)));
        if let Some((slot, role)) = slot {
            metadata_props
                .push(metadata_entry(&*names::keys::REQUIRED_TRAIT, self.shared.text(role.trait_name())));
            metadata_props.push(metadata_entry(&*names::keys::SLOT_ID, self.shared.text(slot)));
        }
        self.graph().node.push(NodeProto {
            input: inputs,
            output: outputs.clone(),
            op_type: op.into(),
            domain: (!domain.is_empty()).then(|| domain.to_owned()).into(),
            attribute: attributes,
            metadata_props,
            ..NodeProto::default()
        });
        outputs
    }

    /// Records a copy of a value under another name.
    pub(crate) fn alias(&mut self, value: String, name: String, location: SourceLocation) {
        let (inputs, attributes) = (vec![value], Vec::new());
        let (domain, op) = (names::TYPES_DOMAIN, "Identity");
        self.node_to(
            NewNode { domain, op, inputs, attributes, outputs: 1, slot: None },
            vec![name],
            location,
        );
    }

    pub(crate) fn initializer(&mut self, mut tensor: TensorProto, location: SourceLocation) -> String {
        let name = self.fresh("const", location);
        tensor.name = name.clone().into();
        self.graph().initializer.push(tensor);
        name
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
    pub(crate) fn declare(&mut self, value: &str, ty: TypeProto, location: SourceLocation) {
        let scope = self.current();
        let graph = &mut self.graphs[scope.0 as usize];
        let at = *self.listed.entry((scope.0, value.to_owned())).or_insert_with(|| {
            graph.value_info.push(value_info(value));
            Listed::Value(graph.value_info.len() - 1)
        });
        let slot = match at {
            Listed::Input(at) => &mut graph.input[at].r#type,
            Listed::Output(at) => &mut graph.output[at].r#type,
            Listed::Value(at) => &mut graph.value_info[at].r#type,
        };
        match slot {
            Some(first) if *first != ty => {
                let (value, first, second) = (value.to_owned(), show_type(first), show_type(&ty));
                self.error(AuthoringErrorKind::DeclaredTwice { value, first, second }, location);
            }
            Some(_) => {}
            None => *slot = Some(ty),
        }
        self.locations.entry(value.to_owned()).or_insert(location);
    }
}
