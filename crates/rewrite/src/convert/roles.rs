//! The element types that each class of ports can have in the converted model.
//!
//! | a class has a port of | element types |
//! |---|---|
//! | a node that is kept, an unknown operator, or an operator whose schema does not list the new type | the old one |
//! | a node that computes | the new one |
//! | only nodes without a preference, such as `Reshape` | both |
//!
//! A class of the interface and of a stored tensor has no preference either. Nor has arithmetic on shapes and
//! stored tensors alone: it is computed once, and its precision follows from its readers. Where an integer or
//! a branch follows from it, it keeps the old type: float16 counts exactly only to 2048.
//!
//! A *source* is a value whose element type the file states: an input, a stored tensor, or the output of a
//! node with an attribute for its type. Its class contains no other port, so the attribute can change.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::Checked;
use typeloom_solver::model::ports::{ClassId, Ports, Reader};
use typeloom_solver::program::{Body, Initializer, Origin, StepId, StepKind, ValueId};

use super::ValueKey;
use super::sources::states_type;
use crate::coerce::cast_operator::inner_allowed;
use crate::coerce::find::Origins;
use crate::coerce::flatten::Role as OriginRole;
use crate::coerce::layout::{BodyId, NodeId};
use crate::coerce::problem::LocalValue;

/// Operators that move elements, compare no numbers and compute none.
const MOVES: [&str; 46] = [
    "Cast",
    "CastLike",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "DepthToSpace",
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "Identity",
    "If",
    "Loop",
    "NonZero",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Pad",
    "Reshape",
    "ReverseSequence",
    "Scan",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "Shape",
    "Size",
    "Slice",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "Squeeze",
    "Tile",
    "Transpose",
    "Trilu",
    "Unsqueeze",
    "Where",
];

/// Operators that keep the old type although their schema lists the new one: scales of quantised values lose
/// range, and a random generator returns other values. The outputs of some have the type of an input by a
/// rule that the classes do not show.
const KEPT: [&str; 10] = [
    "Bernoulli",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "EyeLike",
    "MelWeightMatrix",
    "QuantizeLinear",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
];

/// The conversion to make.
pub(super) struct Wanted<'k> {
    pub(super) to: Elem,
    /// The element types that are converted.
    pub(super) from: ElemSet,
    pub(super) keep_io: bool,
    pub(super) kept_nodes: &'k HashSet<(BodyId, NodeId)>,
    pub(super) kept_values: &'k HashSet<ValueKey>,
}

/// A value whose element type the file states.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a> {
    pub(super) body: BodyId,
    pub(super) value: LocalValue<'a>,
    pub(super) class: ClassId,
}

/// The classes with their old element types.
pub(super) struct Roles<'a> {
    pub(super) ports: Ports,
    /// The old element type of each class; `None` if it is unknown.
    pub(super) old: Vec<Option<Elem>>,
    /// Whether the ports of a class belong to arithmetic on shapes and stored tensors.
    pub(super) is_static: Vec<bool>,
    pub(super) sources: Vec<Source<'a>>,
    /// The nodes that have a port of an element type to convert, and those of them that are converted.
    pub(super) nodes: BTreeMap<(BodyId, NodeId), Vec<ClassId>>,
    /// The nodes without a preference that support the new type.
    pub(super) free: HashSet<(BodyId, NodeId)>,
}

/// The role of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Keeps,
    Computes,
    Free,
}

struct Finder<'w, 'k, 'f, 'a> {
    wanted: &'w Wanted<'k>,
    origins: Origins<'f>,
    body: Arc<Body<'a>>,
    elems: Vec<Option<Elem>>,
    /// Whether a value depends on shapes and stored tensors only.
    static_values: Vec<bool>,
    kept: Vec<bool>,
    computes: Vec<bool>,
    free: HashSet<(BodyId, NodeId)>,
}

/// Determines the element types of all classes. `ports` are those of the checked model.
pub(super) fn roles<'a>(
    checked: &mut Checked<'a>,
    mut ports: Ports,
    origins: Origins<'_>,
    wanted: &Wanted<'_>,
) -> Option<Roles<'a>> {
    let body = checked.shared_body();
    let elems: Vec<Option<Elem>> =
        body.values().map(|value| checked.type_of(value).tensor().and_then(|it| it.elem.single())).collect();
    let mut finder = Finder {
        wanted,
        origins,
        static_values: vec![false; elems.len()],
        elems,
        kept: Vec::new(),
        computes: Vec::new(),
        free: HashSet::new(),
        body,
    };
    let sources = finder.separate(checked, &mut ports)?;
    let old = finder.old(&ports);
    finder.kept = vec![false; ports.classes.len()];
    finder.computes = vec![false; ports.classes.len()];
    finder.find_static();
    let nodes = finder.nodes(checked, &ports)?;
    finder.keep_counts(&ports);
    for (at, set) in ports.classes.iter_mut().enumerate() {
        let Some(elem) = old[at] else {
            *set = ElemSet::of(wanted.to);
            continue;
        };
        let converts = wanted.from.contains(elem) && set.contains(wanted.to) && !finder.kept[at];
        *set = match (converts, finder.computes[at]) {
            (false, _) => ElemSet::of(elem),
            (true, true) => ElemSet::of(wanted.to),
            (true, false) => ElemSet::of_all(&[elem, wanted.to]),
        };
    }
    let mut is_static = vec![true; ports.classes.len()];
    for (value, maker) in ports.makers.iter().enumerate() {
        if let Some(class) = maker {
            is_static[class.index()] &= finder.static_values[value];
        }
    }
    for read in &ports.reads {
        is_static[read.class.index()] &= finder.static_values[read.value.index()];
    }
    Some(Roles { ports, old, is_static, sources, nodes, free: finder.free })
}

impl<'a> Finder<'_, '_, '_, 'a> {
    fn is_converted(&self, value: ValueId) -> bool {
        self.elems[value.index()].is_some_and(|elem| self.wanted.from.contains(elem))
    }

    /// The name of a value in the body that defines it.
    fn local(&self, value: ValueId) -> Option<(BodyId, LocalValue<'a>)> {
        let own = self.body.value(value);
        let (call, graph) = match own.origin {
            Origin::Step(step) => {
                let origin = self.origins.node(&self.body, step)?;
                (origin.call, origin.node.graph)
            }
            _ => self.origins.graph(own.graph)?,
        };
        let body = self.origins.body(call);
        Some((body, LocalValue { graph, name: self.origins.own_name(call, self.body.value_name(value)) }))
    }

    fn is_kept_value(&self, body: BodyId, value: LocalValue<'_>) -> bool {
        // The set is empty for most models.
        !self.wanted.kept_values.is_empty()
            && self.wanted.kept_values.contains(&(body, value.graph, value.name.to_owned()))
    }

    /// Gives each source, and each output of the model, a class of its own.
    fn separate(&self, checked: &Checked<'a>, ports: &mut Ports) -> Option<Vec<Source<'a>>> {
        let body = &self.body;
        let to = self.wanted.to;
        let mut sources = Vec::new();
        for value in body.values() {
            let Some(elem) = self.elems[value.index()].filter(|elem| self.wanted.from.contains(*elem)) else {
                continue;
            };
            let is_main = body.value(value).graph == body.root();
            let can_change = match body.value(value).origin {
                Origin::Initializer(at) => matches!(body.initializer(at), Initializer::Dense(_)),
                Origin::Input | Origin::InputWithDefault(_) if is_main => !self.wanted.keep_io,
                Origin::Step(step) => {
                    let step = body.first_step(step);
                    let Some(schema) = checked.schema_of(body, step).filter(|it| it.domain.is_empty()) else {
                        continue;
                    };
                    if !states_type(body.step(step).node) {
                        continue;
                    }
                    schema.output(0).is_some_and(|formal| inner_allowed(schema, formal.ty).contains(to))
                }
                Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => continue,
            };
            let (owner, local) = self.local(value)?;
            let can_change = can_change && !self.is_kept_value(owner, local);
            let set = if can_change { ElemSet::of_all(&[elem, to]) } else { ElemSet::of(elem) };
            let class = ports.add_class(set);
            ports.makers[value.index()] = Some(class);
            sources.push(Source { body: owner, value: local, class });
        }
        for at in 0..ports.reads.len() {
            let read = ports.reads[at];
            if let Reader::Output { graph, .. } = read.by
                && graph == body.root()
                && let Some(elem) = self.elems[read.value.index()]
            {
                let can_change = self.wanted.from.contains(elem) && !self.wanted.keep_io;
                let set = if can_change { ElemSet::of_all(&[elem, to]) } else { ElemSet::of(elem) };
                ports.reads[at].class = ports.add_class(set);
            }
        }
        Some(sources)
    }

    fn old(&self, ports: &Ports) -> Vec<Option<Elem>> {
        let mut old = vec![None; ports.classes.len()];
        let made = ports.makers.iter().enumerate().filter_map(|(value, class)| Some((value, (*class)?)));
        let read = ports.reads.iter().map(|read| (read.value.index(), read.class));
        for (value, class) in made.chain(read) {
            old[class.index()] = old[class.index()].or(self.elems[value]);
        }
        old
    }

    /// Steps in order, each node once.
    fn steps(&self) -> impl Iterator<Item = StepId> + use<'_, 'a> {
        let (from, to) = self.body.graph(self.body.root()).steps;
        (from..to).map(StepId::new).filter(|step| !matches!(self.body.step(*step).kind, StepKind::Exit(_)))
    }

    fn find_static(&mut self) {
        let body = Arc::clone(&self.body);
        for value in body.values() {
            let origin = body.value(value).origin;
            self.static_values[value.index()] = matches!(origin, Origin::Initializer(_));
        }
        let steps: Vec<StepId> = self.steps().collect();
        for step in steps {
            let is_static = match body.op_name(step) {
                "Shape" | "Size" | "Constant" => true,
                _ if body.graphs_of(step).next().is_some() => false,
                name if name.starts_with("Random") => false,
                _ => {
                    let mut inputs = body.inputs(step).iter().flatten();
                    !body.inputs(step).is_empty() && inputs.all(|value| self.static_values[value.index()])
                }
            };
            for value in body.outputs(body.last_step(step)).iter().flatten() {
                self.static_values[value.index()] = is_static;
            }
        }
    }

    fn role(&self, checked: &Checked<'a>, step: StepId) -> Option<(Role, Option<(BodyId, NodeId)>)> {
        let origin = self.origins.node(&self.body, step)?;
        if origin.role != OriginRole::Node {
            return Some((Role::Free, None));
        }
        let node = (self.origins.body(origin.call), origin.node);
        let name = self.body.op_name(step);
        let schema = checked.schema_of(&self.body, step);
        let is_standard = schema.is_some_and(|schema| schema.domain.is_empty());
        let outputs = self.body.outputs(self.body.last_step(step));
        let is_static = outputs.iter().flatten().all(|value| self.static_values[value.index()]);
        let role = if self.wanted.kept_nodes.contains(&node)
            || schema.is_none()
            || is_standard && KEPT.contains(&name)
        {
            Role::Keeps
        } else if is_standard && MOVES.contains(&name) || is_static {
            Role::Free
        } else {
            Role::Computes
        };
        Some((role, Some(node)))
    }

    fn nodes(
        &mut self,
        checked: &Checked<'a>,
        ports: &Ports,
    ) -> Option<BTreeMap<(BodyId, NodeId), Vec<ClassId>>> {
        let mut of_step: BTreeMap<StepId, Vec<ClassId>> = BTreeMap::new();
        let mut add = |step: Option<StepId>, value: ValueId, class: ClassId| {
            if let Some(step) = step.filter(|_| self.is_converted(value)) {
                of_step.entry(step).or_default().push(class);
            }
        };
        let body = &self.body;
        for read in &ports.reads {
            let step = match read.by {
                Reader::Input { step, .. } => Some(body.first_step(step)),
                Reader::Output { graph, .. } => body.graph(graph).owner.map(|owner| owner.step),
            };
            add(step, read.value, read.class);
        }
        for value in body.values() {
            let Some(class) = ports.makers[value.index()] else { continue };
            let own = body.value(value);
            let step = match own.origin {
                Origin::Step(step) => Some(body.first_step(step)),
                Origin::Input => body.graph(own.graph).owner.map(|owner| owner.step),
                Origin::InputWithDefault(_) | Origin::Initializer(_) | Origin::Undefined => None,
            };
            add(step, value, class);
        }
        let mut nodes = BTreeMap::new();
        for (step, classes) in of_step {
            let (role, node) = self.role(checked, step)?;
            for class in &classes {
                match role {
                    Role::Keeps => self.kept[class.index()] = true,
                    Role::Computes => self.computes[class.index()] = true,
                    Role::Free => {}
                }
            }
            if let Some(node) = node {
                let supports = |class: &ClassId| ports.classes[class.index()].contains(self.wanted.to);
                if role == Role::Free && classes.iter().all(supports) {
                    self.free.insert(node);
                }
                nodes.entry(node).or_insert_with(Vec::new).extend(classes);
            }
        }
        Some(nodes)
    }

    /// Keeps the values from which arithmetic on shapes computes integers and decisions.
    fn keep_counts(&mut self, ports: &Ports) {
        let body = Arc::clone(&self.body);
        let is_static = |this: &Self, value: &ValueId| this.static_values[value.index()];
        let is_bool = |this: &Self, value: &ValueId| this.elems[value.index()] == Some(Elem::BOOL);
        let mut open: Vec<StepId> = Vec::new();
        for step in self.steps() {
            let mut outputs = body.outputs(body.last_step(step)).iter().flatten().peekable();
            let is_integer = outputs.peek().is_some()
                && outputs.all(|it| is_static(self, it) && !self.is_converted(*it) && !is_bool(self, it));
            let name = body.op_name(step);
            if is_integer && !matches!(name, "Shape" | "Size") || name == "If" {
                open.push(step);
            }
        }
        let mut reached: HashSet<StepId> = open.iter().copied().collect();
        let mut classes: BTreeMap<StepId, Vec<ClassId>> = BTreeMap::new();
        for read in &ports.reads {
            if let Reader::Input { step, .. } = read.by {
                classes.entry(body.first_step(step)).or_default().push(read.class);
            }
        }
        while let Some(step) = open.pop() {
            for class in classes.get(&step).into_iter().flatten() {
                self.kept[class.index()] = true;
            }
            for value in body.inputs(step).iter().flatten() {
                // A stored tensor can be stored in both types.
                let follows = is_static(self, value) && !body.is_stored(*value);
                let Some(maker) = body.maker(*value).filter(|_| follows) else { continue };
                if !self.is_converted(*value) && !is_bool(self, value) {
                    continue;
                }
                if let Some(class) = ports.makers[value.index()] {
                    self.kept[class.index()] = true;
                }
                if reached.insert(maker) {
                    open.push(maker);
                }
            }
        }
    }
}
