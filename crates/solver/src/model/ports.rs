//! Element types of ports without the values between them.
//!
//! A check assigns one type to each value. This analysis instead gives each port that reads a value a
//! separate variable, and runs the same rules over the same nodes. Then only the ports of one node (with its
//! nested graphs) share variables. The result is a list of *classes* of ports that share an element type,
//! each with its possible element types, and a list of the use sites where one class reads a value of
//! another. Conversions can be inserted by choosing one element type for each class.
//!
//! Declared types of inputs, initializers and outputs of the model are used. Declared types of other values
//! are derived from these and are ignored.
//!
//! [`Ports::settled`] lists the ports whose element types are right although the model has errors. A repair
//! keeps them.
//!
//! **Invariant:** operators are not known by name: all relations come from signatures and rules.

mod settled;

use std::collections::HashMap;
use std::sync::Arc;

use crate::elem::{Elem, ElemSet};
use crate::engine::call::{self, Calls};
use crate::engine::{Engine, initial};
use crate::model::{Checked, Mode};
use crate::program::{
    Body, Declaration, DeclarationId, DeclarationKind, GraphId, Origin, ProgramValue, StepId, StepKind,
    ValueId,
};
use crate::solution::Type;
use crate::state::Core;
use crate::state::frame::Frame;
use crate::ty::{Ty, Types};
use settled::Settled;

/// A class of ports, by its position in [`Ports::classes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(u32);

impl ClassId {
    /// The position of the class.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The reader at a use site of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reader {
    /// An input of a node.
    Input {
        /// The first step of the node.
        step: StepId,
        /// The position of the input.
        at: usize,
    },
    /// An output of a graph.
    Output {
        /// The graph.
        graph: GraphId,
        /// The position of the output.
        at: usize,
    },
}

/// A use site of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The value that is read.
    pub value: ValueId,
    /// The port that reads it.
    pub by: Reader,
    /// The class of the port.
    pub class: ClassId,
}

/// A port that the errors of the model do not affect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SettledPort {
    /// The first step of the node of the port; `None` for an output of the model.
    pub step: Option<StepId>,
    /// The class of the port.
    pub class: ClassId,
    /// The element type that the port has.
    pub elem: Elem,
}

/// The element types of the ports of a model.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    /// The possible element types of each class.
    pub classes: Vec<ElemSet>,
    /// The class of the maker of each value, by position; `None` if it is in error.
    pub makers: Vec<Option<ClassId>>,
    /// The use sites of values whose element type matters, in the order of steps and then of graphs.
    pub reads: Vec<Read>,
    /// The ports that no error affects.
    pub settled: Vec<SettledPort>,
}

impl Ports {
    /// Adds a class without ports.
    pub fn add_class(&mut self, elems: ElemSet) -> ClassId {
        let id = ClassId(u32::try_from(self.classes.len()).unwrap_or(u32::MAX));
        self.classes.push(elems);
        id
    }
}

/// The element type in a declaration of a value of the main graph or its nested graphs, outside the interface
/// of the model.
#[must_use]
pub fn derived_declaration(checked: &mut Checked<'_>, value: ValueId) -> Option<Elem> {
    let body = Arc::clone(&checked.frame.body);
    let root = body.value(value).graph == body.root();
    let mut declarations = body.declarations(value);
    let declaration = declarations.find(|declaration| match declaration.kind {
        DeclarationKind::Input | DeclarationKind::Output => !root,
        DeclarationKind::Value => true,
    })?;
    declared_elem(&mut checked.core, declaration)
}

fn declared_elem<'a>(core: &mut Core<'a>, declaration: &Declaration<'a>) -> Option<Elem> {
    let ty = core.read_type(declaration.ty).ok()?.ty?;
    let inner = core.types.innermost(ty);
    core.types.elems(inner).and_then(ElemSet::single)
}

/// Analyses the ports of a checked model.
#[must_use]
pub fn ports(checked: &mut Checked<'_>) -> Ports {
    let kinds: Vec<Type> =
        (0..checked.value_count()).map(|value| checked.type_of(ValueId::new(value))).collect();
    let Separated { body, reads, outputs } = separate_uses(&checked.frame.body);
    let (bodies, _) = call::build_bodies(&mut checked.operators);
    let mut core = Core::new(Arc::clone(checked.core.types.universe()));
    let mut frame = Frame::new(0, Arc::new(body));
    for (copy, read) in &reads {
        frame.slots[copy.index()].ty = kind_of(&mut core.types, &kinds[read.0.index()]);
    }
    for (copy, declaration) in outputs {
        if let Ok(declared) = core.read_type(declaration.ty)
            && declared.ty.is_some()
        {
            frame.slots[copy.index()].ty = declared.ty;
        }
    }
    initial::start(&mut core, &mut frame);
    let mut engine = Engine::new(core, &checked.operators, Calls::new(bodies), Mode::Permissive);
    let frame = engine.run(frame);
    let mut classes = Classes { types: &mut engine.core.types, ids: HashMap::new(), sets: Vec::new() };
    let makers = (0..kinds.len()).map(|value| classes.of(frame.slots[value].ty)).collect();
    let reads = reads
        .into_iter()
        .filter_map(|(copy, (value, by))| {
            let class = classes.of(frame.slots[copy.index()].ty)?;
            Some(Read { value, by, class })
        })
        .collect();
    let sets = classes.sets;
    let mut ports = Ports { classes: sets, makers, reads, settled: Vec::new() };
    pin_unrelated(&mut ports, &frame.body, &kinds);
    pin_seeded(&mut ports, &checked.frame.rare.seeded, &kinds);
    let body = Arc::clone(&checked.frame.body);
    let given = body.with_parts(given_values(&body), body.ports.clone(), body.graphs.clone());
    let settled = Settled::of(checked, given);
    ports.settled = settled_ports(&ports, &body, &settled);
    ports
}

fn settled_ports(ports: &Ports, body: &Body<'_>, settled: &Settled) -> Vec<SettledPort> {
    let made = body.values().filter_map(|value| {
        let step = body.first_step(body.value(value).origin.step()?);
        Some((step, ports.makers[value.index()]?, value))
    });
    let made = made.map(|(step, class, value)| (Some(step), class, value));
    let read = ports.reads.iter().filter_map(|Read { value, by, class }| match by {
        Reader::Input { step, .. } => Some((Some(*step), *class, *value)),
        Reader::Output { graph, .. } => (*graph == body.root()).then_some((None, *class, *value)),
    });
    let found = made.chain(read).filter(|(step, ..)| step.is_none_or(|step| settled.step(step)));
    found
        .filter_map(|(step, class, value)| Some(SettledPort { step, class, elem: settled.elem(value)? }))
        .collect()
}

/// The first declaration of a value as an input, from `next` on.
fn input_declaration(body: &Body<'_>, next: Option<DeclarationId>) -> Option<DeclarationId> {
    let mut next = next;
    while let Some(id) = next {
        let declaration = &body.declarations[id.index()];
        if declaration.kind == DeclarationKind::Input {
            break;
        }
        next = declaration.next;
    }
    next
}

/// Narrows the classes of node outputs that contain no use to the element types of the check. Relations
/// between ports do not determine them: a rule derives them from another port, or they are declared results
/// of unknown operators.
fn pin_unrelated(ports: &mut Ports, body: &Body<'_>, kinds: &[Type]) {
    let mut read = vec![false; ports.classes.len()];
    for Read { class, .. } in &ports.reads {
        read[class.index()] = true;
    }
    for (value, (maker, kind)) in ports.makers.iter().zip(kinds).enumerate() {
        let Some(class) = *maker else { continue };
        let made_by_node = matches!(body.value(ValueId::new(value)).origin, Origin::Step(_));
        if made_by_node && !read[class.index()] {
            pin(&mut ports.classes[class.index()], kind);
        }
    }
}

/// Narrows the classes of seeded values to their seeds.
fn pin_seeded(ports: &mut Ports, seeded: &[ValueId], kinds: &[Type]) {
    for value in seeded {
        if let Some(class) = ports.makers[value.index()] {
            pin(&mut ports.classes[class.index()], &kinds[value.index()]);
        }
    }
}

/// Narrows a class to the element type of a value, if it has one.
fn pin(class: &mut ElemSet, kind: &Type) {
    let elem = kind.tensor().and_then(|tensor| tensor.elem.single());
    if let Some(elem) = elem.filter(|elem| class.contains(*elem)) {
        *class = ElemSet::of(elem);
    }
}

struct Classes<'t> {
    types: &'t mut Types,
    ids: HashMap<(u8, u32), ClassId>,
    sets: Vec<ElemSet>,
}

impl Classes<'_> {
    fn of(&mut self, ty: Option<Ty>) -> Option<ClassId> {
        let ty = ty.unwrap_or_else(|| self.types.fresh());
        let inner = self.types.innermost(ty);
        if inner == Types::ERROR {
            return None;
        }
        let key = self.types.class(inner);
        if let Some(id) = self.ids.get(&key) {
            return Some(*id);
        }
        let id = ClassId(u32::try_from(self.sets.len()).ok()?);
        self.sets.push(self.types.elems(inner).unwrap_or(ElemSet::ALL));
        self.ids.insert(key, id);
        Some(id)
    }
}

/// The same constructors over an unknown element type.
fn kind_of(types: &mut Types, ty: &Type) -> Option<Ty> {
    let (constructors, inner) = ty.split();
    let inner = match inner {
        // Most values without a type because of an error are tensors of another element type.
        Type::Tensor(_) | Type::Error => types.tensor_of(ElemSet::ALL),
        Type::Sparse(_) => types.sparse_of(ElemSet::ALL),
        Type::Scalar(_) => types.scalar_of(ElemSet::ALL),
        Type::Unknown(_) | Type::Composite(_) | Type::Leaf(_) | Type::Container(..) => return None,
    };
    Some(constructors.into_iter().rev().fold(inner, |ty, constructor| types.container(constructor, ty)))
}

/// A body in which every port reads a separate value.
struct Separated<'a> {
    body: Body<'a>,
    /// The value and use site of each copy.
    reads: Vec<(ValueId, (ValueId, Reader))>,
    /// The copies that are outputs of the model, with their declarations.
    outputs: Vec<(ValueId, Declaration<'a>)>,
}

/// The values of a body without the declarations of derived values.
fn given_values(body: &Body<'_>) -> Vec<ProgramValue> {
    let mut values = body.values.clone();
    for value in &mut values {
        let is_given = value.graph == body.root() && !matches!(value.origin, Origin::Step(_));
        value.declaration = input_declaration(body, value.declaration.filter(|_| is_given));
    }
    values
}

fn separate_uses<'a>(body: &Body<'a>) -> Separated<'a> {
    let root = body.root();
    let mut values = given_values(body);
    let mut reads = Vec::new();
    let mut copy = |values: &mut Vec<ProgramValue>, value: ValueId, by: Reader| {
        let id = ValueId::new(values.len());
        values.push(ProgramValue { origin: Origin::Input, declaration: None, ..body.value(value) });
        reads.push((id, (value, by)));
        id
    };
    let mut ports = body.ports.clone();
    for (at, step) in body.steps.iter().enumerate() {
        // The two steps of a node with graphs share their inputs.
        if matches!(step.kind, StepKind::Exit(_)) {
            continue;
        }
        let from = step.first_input();
        for (position, value) in body.inputs(StepId::new(at)).iter().enumerate() {
            if let Some(value) = value {
                let by = Reader::Input { step: StepId::new(at), at: position };
                ports[from + position] = Some(copy(&mut values, *value, by));
            }
        }
    }
    let mut graphs = body.graphs.clone();
    let mut outputs = Vec::new();
    for (number, graph) in graphs.iter_mut().enumerate() {
        let id = GraphId::new(number);
        for (at, output) in graph.outputs.iter_mut().enumerate() {
            let value = *output;
            *output = copy(&mut values, value, Reader::Output { graph: id, at });
            let declared = body.declarations(value).find(|it| it.kind == DeclarationKind::Output);
            if let Some(declared) = declared.filter(|_| id == root) {
                outputs.push((*output, *declared));
            }
        }
    }
    let body = body.with_parts(values, ports, graphs);
    Separated { body, reads, outputs }
}
