//! What each node asks of its ports by itself: the model taken apart.
//!
//! A solve answers what types the values of a whole model have. This answers what every node would take and give if it
//! could choose for itself: each port that reads a value gets a variable of its own instead of the value's, and the
//! same rules run over the same nodes. What is tied together afterwards is tied by one node alone (with the graphs
//! nested in it), so the result is a list of *classes* of ports that share an element type, each with the element
//! types that it can have, and the list of places where a value that one class makes is read by another. Whoever wants to
//! put conversions between them chooses one element type a class.
//!
//! Declared types count where they are the interface of the model: its inputs, initializers and outputs. What is declared
//! about other values is derived from them, and does not count.
//!
//! **Invariant:** operators are known here as little as anywhere in this crate: the ties are those of signatures and rules.

use std::collections::HashMap;
use std::sync::Arc;

use crate::elem::{Elem, ElemSet};
use crate::engine::Engine;
use crate::engine::call::{self, Calls};
use crate::engine::initial;
use crate::model::{Checked, Mode};
use crate::program::{
    Body, Declaration, DeclarationId, DeclarationKind, GraphId, Origin, ProgramValue, StepId, StepKind,
    ValueId,
};
use crate::solution::Type;
use crate::state::Core;
use crate::state::frame::Frame;
use crate::ty::{Ty, Types};

/// A class of ports, by its position in [`Ports::classes`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(u32);

impl ClassId {
    /// The position.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reader {
    /// By an input of a node.
    Input {
        /// The node's first step.
        step: StepId,
        /// The input's position.
        at: usize,
    },
    /// By an output of a graph.
    Output {
        /// The graph.
        graph: GraphId,
        /// The output's position.
        at: usize,
    },
}

/// One place where a value is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Read {
    /// The value.
    pub value: ValueId,
    /// Where.
    pub by: Reader,
    /// The class of the port that reads it.
    pub class: ClassId,
}

/// A model taken apart.
#[derive(Clone, Debug, Default)]
pub struct Ports {
    /// The element types that each class can have.
    pub classes: Vec<ElemSet>,
    /// For each value by its position, the class of what makes it; `None` where that is in error.
    pub makers: Vec<Option<ClassId>>,
    /// Every place where a value is read whose element type matters, in the order of steps and then of graphs.
    pub reads: Vec<Read>,
}

/// The element type that a value of the main graph or of a graph in it is declared to have, in any list but one that
/// belongs to the interface of the model.
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

/// Takes a checked model apart.
#[must_use]
pub fn ports(checked: &mut Checked<'_>) -> Ports {
    let kinds: Vec<Type> =
        (0..checked.value_count()).map(|value| checked.type_of(ValueId::new(value))).collect();
    let Apart { body, reads, outputs } = apart(&checked.frame.body);
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
    let mut ports = Ports { classes: sets, makers, reads };
    pin_what_is_not_tied(&mut ports, &frame.body, &kinds);
    pin_what_is_seeded(&mut ports, &checked.frame.seeded, &kinds);
    ports
}

/// An element type that a node gives for reasons that are no tie (a rule that looks at another port's, or a
/// declaration of what an unknown operator gives) stays what the solve of the whole model says.
fn pin_what_is_not_tied(ports: &mut Ports, body: &Body<'_>, kinds: &[Type]) {
    let mut read = vec![false; ports.classes.len()];
    for Read { class, .. } in &ports.reads {
        read[class.index()] = true;
    }
    for (value, (maker, kind)) in ports.makers.iter().zip(kinds).enumerate() {
        let Some(class) = *maker else { continue };
        let made_by_node = matches!(body.value(ValueId::new(value)).origin, Origin::Step(_));
        if let Some(elem) = kind.tensor().and_then(|tensor| tensor.elem.single())
            && made_by_node
            && !read[class.index()]
        {
            let set = &mut ports.classes[class.index()];
            if set.contains(elem) {
                *set = ElemSet::of(elem);
            }
        }
    }
}

/// What the caller says of a value holds.
fn pin_what_is_seeded(ports: &mut Ports, seeded: &[ValueId], kinds: &[Type]) {
    for value in seeded {
        let elem = kinds[value.index()].tensor().and_then(|tensor| tensor.elem.single());
        if let (Some(class), Some(elem)) = (ports.makers[value.index()], elem) {
            let set = &mut ports.classes[class.index()];
            if set.contains(elem) {
                *set = ElemSet::of(elem);
            }
        }
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

/// The same constructors over an element type of which nothing is known.
fn kind_of(types: &mut Types, ty: &Type) -> Option<Ty> {
    Some(match ty {
        Type::Tensor(_) => types.tensor_of(ElemSet::ALL),
        Type::Sparse(_) => types.sparse_of(ElemSet::ALL),
        Type::Scalar(_) => types.scalar_of(ElemSet::ALL),
        Type::Sequence(inner) => {
            let inner = kind_of(types, inner)?;
            types.sequence(inner)
        }
        Type::Optional(inner) => {
            let inner = kind_of(types, inner)?;
            types.optional(inner)
        }
        Type::Map(key, inner) => {
            let inner = kind_of(types, inner)?;
            types.map(*key, inner)
        }
        // Most values that an error leaves without a type are tensors of another element type.
        Type::Error => types.tensor_of(ElemSet::ALL),
        Type::Unknown(_) | Type::Leaf(_) => return None,
    })
}

/// A body in which every port reads a value of its own.
struct Apart<'a> {
    body: Body<'a>,
    /// For each copy, the value and where it is read.
    reads: Vec<(ValueId, (ValueId, Reader))>,
    /// The copies that are outputs of the model, with what is declared of them.
    outputs: Vec<(ValueId, Declaration<'a>)>,
}

fn apart<'a>(body: &Body<'a>) -> Apart<'a> {
    let mut values = body.values.clone();
    let root = body.root();
    // What is declared of the inputs of the model counts, what is declared of others is derived.
    for value in &mut values {
        let is_given = value.graph == root && !matches!(value.origin, Origin::Step(_));
        let declares = |id: DeclarationId| body.declarations[id.index()].kind == DeclarationKind::Input;
        let mut next = value.declaration.filter(|_| is_given);
        while let Some(id) = next {
            if declares(id) {
                break;
            }
            next = body.declarations[id.index()].next;
        }
        value.declaration = next;
    }
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
    Apart { body, reads, outputs }
}
