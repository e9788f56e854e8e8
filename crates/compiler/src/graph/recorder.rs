//! The recording behind a [`Graph`](super::Graph) and its values.
//!
//! A recorder holds a stack of open graphs: the module's own and, while a branch or body is recorded, those
//! nested in it. Every node goes to the innermost open one, so a value of an outer graph can be used in a
//! branch, and one of a branch that is closed cannot be used any more.
//!
//! **Invariant:** recording a node costs its own size: names are looked up in a hash map, nothing is searched.

use std::rc::Rc;

use indexmap::IndexMap;
use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{
    AttributeProto, FunctionProto, GraphProto, NodeProto, SharedText, StringStringEntryProto, TensorProto,
    TypeProto, ValueInfoProto,
};

use crate::authoring::{AuthoringError, AuthoringErrorKind};
use crate::ir::Map;
use crate::names;
use crate::place::Place;

/// A graph of a recorder, open or closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScopeId(pub(crate) u32);

/// A node to be recorded.
pub(crate) struct NewNode<'n> {
    pub(crate) domain: &'n str,
    pub(crate) op: &'n str,
    pub(crate) inputs: Vec<String>,
    pub(crate) attributes: Vec<AttributeProto>,
    pub(crate) outputs: usize,
    /// The slot that the node runs on.
    pub(crate) slot: Option<(&'n str, Role)>,
}

/// A slot of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotUse {
    /// The contract that it asks for.
    pub role: Role,
    /// Where the module uses it first.
    pub place: Place,
}

/// The place of a declaration in its graph.
#[derive(Clone, Copy)]
enum Listed {
    Input(usize),
    Output(usize),
    Value(usize),
}

/// How many stamps a node on a slot has once it is compiled: its place, contract, slot, storage and dispatch.
const STAMPS: usize = 5;

/// Words that many nodes share.
#[derive(Default)]
struct Words {
    texts: Map<String, SharedText>,
    places: Map<Place, SharedText>,
    stems: Map<String, Rc<str>>,
}

impl Words {
    fn text(&mut self, word: &str) -> SharedText {
        match self.texts.get(word) {
            Some(text) => text.clone(),
            None => self.texts.entry(word.to_owned()).or_insert_with(|| word.into()).clone(),
        }
    }

    fn place(&mut self, place: Place) -> SharedText {
        self.places.entry(place).or_insert_with(|| place.to_string().into()).clone()
    }

    /// What values that an operator makes are named after.
    fn stem(&mut self, op: &str) -> Rc<str> {
        match self.stems.get(op) {
            Some(stem) => Rc::clone(stem),
            None => Rc::clone(self.stems.entry(op.to_owned()).or_insert_with(|| snake(op).into())),
        }
    }
}

/// `stem_number`, without the machinery of formatting: every value of a module gets such a name.
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

/// The names `stem_0`, `stem_1`, ... that were made so far. They are not kept one by one: most values have such a name.
#[derive(Default)]
struct Stem {
    count: u32,
    /// From which number on names were made at a place.
    places: Vec<(u32, Place)>,
}

impl Stem {
    /// The next number.
    fn next(&mut self, place: Place) -> u32 {
        let number = self.count;
        self.count += 1;
        if self.places.last().is_none_or(|(_, last)| *last != place) {
            self.places.push((number, place));
        }
        number
    }

    /// Where a number was made.
    fn place(&self, number: u32) -> Option<Place> {
        if number >= self.count {
            return None;
        }
        let after = self.places.partition_point(|(first, _)| *first <= number);
        Some(self.places.get(after.checked_sub(1)?)?.1)
    }
}

#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) module: String,
    graphs: Vec<GraphProto>,
    open: Vec<ScopeId>,
    /// The names that were made, by what they begin with, and those that authors gave.
    stems: Map<String, Stem>,
    taken: Map<String, Place>,
    /// Outputs of the module by name: the value, whether it goes to the network, and where that is said.
    outputs: IndexMap<String, (String, bool, Place)>,
    /// Where the type of a value of a graph is declared.
    listed: Map<(u32, String), Listed>,
    /// Inputs of the module, and whether anything reads them.
    pub(crate) inputs: IndexMap<String, (Place, bool), foldhash::fast::RandomState>,
    words: Words,
    pub(crate) slots: IndexMap<String, SlotUse>,
    pub(crate) functions: IndexMap<String, (FunctionProto, Place)>,
    pub(crate) places: IndexMap<String, Place>,
    pub(crate) errors: Vec<AuthoringError>,
    /// The modules that are being recorded around this one, outermost first.
    pub(crate) callers: Vec<String>,
}

impl Recorder {
    pub(crate) fn new(module: String, callers: Vec<String>) -> Self {
        let graph = GraphProto { name: Some(module.clone()), ..GraphProto::default() };
        Self { module, graphs: vec![graph], open: vec![ScopeId(0)], callers, ..Self::default() }
    }

    pub(crate) fn error(&mut self, kind: AuthoringErrorKind, place: Place) {
        self.errors.push(AuthoringError { kind, place });
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
    pub(crate) fn open_graph(&mut self, stem: &str, place: Place) {
        let name = self.fresh(stem, place);
        let scope = ScopeId(u32::try_from(self.graphs.len()).unwrap_or(u32::MAX));
        self.graphs.push(GraphProto { name: Some(name), ..GraphProto::default() });
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

    /// A name that no value has.
    pub(crate) fn fresh(&mut self, stem: &str, place: Place) -> String {
        let numbers = match self.stems.get_mut(stem) {
            Some(numbers) => numbers,
            None => self.stems.entry(stem.to_owned()).or_default(),
        };
        loop {
            let name = numbered(stem, numbers.next(place));
            if !self.taken.contains_key(&name) {
                return name;
            }
        }
    }

    /// Where a name was given to a value, if it was.
    fn taken_at(&self, name: &str) -> Option<Place> {
        if let Some(place) = self.taken.get(name) {
            return Some(*place);
        }
        let (stem, number) = name.rsplit_once('_')?;
        let is_number = number == "0" || number.starts_with(|first: char| ('1'..='9').contains(&first));
        let number = number.parse().ok().filter(|_| is_number)?;
        self.stems.get(stem)?.place(number)
    }

    /// Takes a name for a port; where it is taken already, by whom.
    pub(crate) fn take_name(&mut self, name: &str, place: Place) -> Option<Place> {
        let first = self.taken_at(name);
        if first.is_none() {
            self.taken.insert(name.to_owned(), place);
        }
        first
    }

    /// Takes the name of an output for a value; where it is taken already, by whom.
    pub(crate) fn take_output(
        &mut self,
        name: &str,
        value: String,
        to_network: bool,
        place: Place,
    ) -> Option<Place> {
        if let Some((_, _, first)) = self.outputs.get(name) {
            return Some(*first);
        }
        if let Some(first) = self.taken_at(name).filter(|_| value != name) {
            return Some(first);
        }
        self.taken.insert(name.to_owned(), place);
        self.outputs.insert(name.to_owned(), (value, to_network, place));
        None
    }

    /// Whether a value is an input of the innermost open graph or one of its constants.
    pub(crate) fn is_given(&self, value: &str) -> bool {
        let graph = &self.graphs[self.current().0 as usize];
        graph.input.iter().any(|info| info.name() == value)
            || graph.initializer.iter().any(|tensor| tensor.name() == value)
    }

    /// Gives values that are outputs the names of the outputs. A value that is an input, a constant or another
    /// output already gets a second name.
    pub(crate) fn name_outputs(&mut self) {
        let mut names: Map<String, String> = Map::default();
        let given: crate::ir::Set<String> = {
            let graph = self.graph();
            let inputs = graph.input.iter().map(|info| info.name().to_owned());
            inputs.chain(graph.initializer.iter().map(|tensor| tensor.name().to_owned())).collect()
        };
        let mut typed: Map<String, TypeProto> = Map::default();
        let outputs = std::mem::take(&mut self.outputs);
        let mut copies = Vec::new();
        for (name, (value, to_network, place)) in &outputs {
            if value != name {
                if given.contains(value) || names.contains_key(value) {
                    copies.push((value.clone(), name.clone(), *place));
                } else {
                    names.insert(value.clone(), name.clone());
                }
            }
            self.places.insert(name.clone(), *place);
            let mut info = value_info(name);
            if *to_network {
                info.metadata_props.push(entry(names::NET_OUT, "1"));
            }
            self.graph().output.push(info);
        }
        for (value, name, place) in copies {
            let node = NewNode {
                domain: names::TYPES_DOMAIN,
                op: "Identity",
                inputs: vec![value],
                attributes: Vec::new(),
                outputs: 1,
                slot: None,
            };
            self.node_to(node, vec![name], place);
        }
        typeloom_onnx::nested::rename_values(self.graph(), &names);
        for (old, new) in &names {
            if let Some(place) = self.places.shift_remove(old) {
                self.places.entry(new.clone()).or_insert(place);
            }
        }
        let graph = self.graph();
        // A type that is declared of an output stands with the output.
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

    /// Notes that something reads a value.
    pub(crate) fn read(&mut self, value: &str) {
        if let Some((_, read)) = self.inputs.get_mut(value) {
            *read = true;
        }
    }

    pub(crate) fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Records a node and names its outputs.
    pub(crate) fn node(&mut self, node: NewNode<'_>, place: Place) -> Vec<String> {
        let stem = self.words.stem(node.op);
        let outputs = (0..node.outputs).map(|_| self.fresh(&stem, place)).collect();
        self.node_to(node, outputs, place)
    }

    /// Records a node with outputs of these names.
    pub(crate) fn node_to(&mut self, node: NewNode<'_>, outputs: Vec<String>, place: Place) -> Vec<String> {
        let NewNode { domain, op, inputs, attributes, outputs: _, slot } = node;
        for input in &inputs {
            self.read(input);
        }
        let mut metadata_props = Vec::with_capacity(if slot.is_some() { STAMPS } else { 1 });
        metadata_props.push(entry(&*names::keys::PLACE, self.words.place(place)));
        if let Some((slot, role)) = slot {
            metadata_props.push(entry(&*names::keys::REQUIRED_TRAIT, self.words.text(role.trait_name())));
            metadata_props.push(entry(&*names::keys::SLOT_ID, self.words.text(slot)));
        }
        self.graph().node.push(NodeProto {
            input: inputs,
            output: outputs.clone(),
            op_type: Some(op.to_owned()),
            domain: (!domain.is_empty()).then(|| domain.to_owned()),
            attribute: attributes,
            metadata_props,
            ..NodeProto::default()
        });
        outputs
    }

    pub(crate) fn initializer(&mut self, mut tensor: TensorProto, place: Place) -> String {
        let name = self.fresh("const", place);
        tensor.name = Some(name.clone());
        self.graph().initializer.push(tensor);
        name
    }

    pub(crate) fn use_slot(&mut self, slot: &str, role: Role, place: Place) {
        match self.slots.get(slot) {
            Some(known) if known.role != role => {
                let (earlier, first) = (known.role, known.place);
                let kind =
                    AuthoringErrorKind::SlotRole { slot: slot.to_owned(), found: role, earlier, first };
                self.error(kind, place);
            }
            Some(_) => {}
            None => {
                self.slots.insert(slot.to_owned(), SlotUse { role, place });
            }
        }
    }

    /// Declares the type of a value of the innermost open graph that lists it.
    pub(crate) fn declare(&mut self, value: &str, ty: TypeProto, place: Place) {
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
                let show = |ty: &TypeProto| show_type(ty);
                let kind = AuthoringErrorKind::DeclaredTwice {
                    value: value.to_owned(),
                    first: show(first),
                    second: show(&ty),
                };
                self.error(kind, place);
            }
            Some(_) => {}
            None => *slot = Some(ty),
        }
        self.places.entry(value.to_owned()).or_insert(place);
    }
}

/// A type as messages show it: ONNX's syntax, or the denotation where ONNX has no structure for it.
pub(crate) fn show_type(ty: &TypeProto) -> String {
    match (&ty.value, &ty.denotation) {
        (None, Some(denotation)) => typeloom_types::lattice::Lattice::try_get()
            .ok()
            .and_then(|lattice| lattice.lookup_denotation(denotation))
            .map_or_else(|| denotation.to_string(), |node| node.id.to_owned()),
        (Some(_), _) | (None, None) => typeloom_onnx::text::print_type(ty),
    }
}

pub(crate) fn value_info(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.to_owned()), ..ValueInfoProto::default() }
}

pub(crate) fn entry(key: impl Into<SharedText>, value: impl Into<SharedText>) -> StringStringEntryProto {
    StringStringEntryProto {
        key: Some(key.into()),
        value: Some(value.into()),
        ..StringStringEntryProto::default()
    }
}

/// `ReduceSum` as `reduce_sum`, `GRU` as `gru`, `MatMul` as `mat_mul`.
pub(crate) fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let starts_word = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || (before.is_ascii_digit() && chars.get(at + 1).is_some_and(char::is_ascii_lowercase))
                    || (before.is_ascii_uppercase()
                        && chars.get(at + 1).is_some_and(char::is_ascii_lowercase))
            });
        if starts_word {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}
