//! The causes of types: the chain of a value back to a declaration, and the origins of the extents of its
//! shape.
//!
//! The chain follows the recorded links of the scene. The sentences are those of `typeloom explain`, see
//! [`explain_value`](typeloom_solver::diagnostic::explain_value).
//!
//! The origin of an extent is the one that [`trace_back`] finds, by which the solver explains extents, too: a
//! walk from a value to an input of its node with the same extent. A scene has the ids of extents that the
//! walk compares, and no links between them. The solver has none either, because equal dims have one id.
//! Links would repeat the ids for every axis and every element of all values, and a function that is shown
//! with the types of all its calls has no solve that they could come from.
//!
//! **Limits:** a scene does not record which extents of an assumed declaration are assumed, so a walk does
//! not end there. Only the listed elements of small tensors are compared.
//!
//! **Cost:** a chain has at most [`MAX_CHAIN`] links. A walk has the bound of the solver's, and each of its
//! nodes costs the first [`MAX_INPUTS`] inputs.

use typeloom_solver::diagnostic::lineage::{self, Having, Lineage, trace_back};
use typeloom_solver::diagnostic::text::{Ports, quote, verb, way};

use super::Engine;
use super::answers::{AxisOrigin, Cause as Step, Causes, NamedItem};
use super::item::Subject;
use super::messages::names;
use crate::map::{OrderedSet, Set};
use crate::scene::{Cause, Extent, ExtentId, GroupKind, Maker, MarkId, NodeId, Scene, ValueId};
use crate::text::{MAX_DETAIL, short};

/// Maximum number of links that are followed.
const MAX_CHAIN: usize = 4096;

/// Maximum number of links in the answer; those before the last are left out.
const MAX_LINKS: usize = 64;

/// Maximum number of explained axes.
const MAX_AXES: usize = 16;

/// Maximum number of inputs of a node that are searched for an extent.
const MAX_INPUTS: usize = 64;

/// Maximum number of nodes of a diagnostic, of inputs of each, and of values whose causes are listed.
const MAX_CONCERNED: usize = 4;

impl Engine {
    pub(super) fn causes(&self, value: ValueId) -> Causes {
        let scene = &self.scene;
        let chain = chain(scene, value);
        let head = chain.len().min(MAX_LINKS).saturating_sub(1);
        let is_shown = |at: usize| at < head || at + 1 == chain.len();
        let shown = chain.iter().enumerate().filter(|(at, _)| is_shown(*at));
        let steps = shown.map(|(_, (value, cause))| step(scene, *value, cause)).collect();
        let axes = axes(scene, value);
        let mut highlight: OrderedSet<Subject> = OrderedSet::default();
        for (value, cause) in &chain {
            highlight.insert(Subject::Value(*value));
            highlight.extend(node_of(cause).map(Subject::Node));
        }
        Causes {
            item: Subject::Value(value).to_string(),
            steps,
            hidden: chain.len().saturating_sub(MAX_LINKS),
            axes,
            names: names_of(scene, &highlight),
            highlight: highlight.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The names of the nodes and values of a chain.
fn names_of(scene: &Scene, chain: &OrderedSet<Subject>) -> Vec<NamedItem> {
    let nodes: Vec<NodeId> =
        chain.iter().filter_map(|it| if let Subject::Node(node) = it { Some(*node) } else { None }).collect();
    let values: Vec<ValueId> = chain
        .iter()
        .filter_map(|it| if let Subject::Value(value) = it { Some(*value) } else { None })
        .collect();
    names(scene, &nodes, &values)
}

impl Engine {
    /// The chains of the values that a diagnostic concerns, one after the other: those it names, and the
    /// inputs of its nodes. Links that chains share are listed once.
    pub(super) fn causes_of_mark(&self, mark: MarkId) -> Causes {
        let shown = self.scene.mark(mark);
        let mut values: OrderedSet<ValueId> = shown.values.iter().copied().collect();
        let nodes = shown.nodes.iter().take(MAX_CONCERNED);
        values.extend(
            nodes.flat_map(|node| self.scene.node(*node).inputs.iter().flatten().take(MAX_CONCERNED)),
        );
        let mut all = Causes { item: Subject::Mark(mark).to_string(), ..Causes::default() };
        let mut highlight: OrderedSet<String> = OrderedSet::default();
        highlight.insert(all.item.clone());
        let mut known: Set<String> = Set::default();
        for value in values.iter().take(MAX_CONCERNED) {
            let own = self.causes(*value);
            all.hidden += own.hidden;
            all.steps.extend(own.steps.into_iter().filter(|step| known.insert(step.value.clone())));
            let of_value = name(&self.scene, *value);
            all.axes.extend(
                own.axes
                    .into_iter()
                    .map(|origin| AxisOrigin { text: format!("{of_value}: {}", origin.text), ..origin }),
            );
            highlight.extend(own.highlight);
            all.names.extend(own.names);
        }
        highlight.extend(all.axes.iter().flat_map(|origin| origin.through.iter().cloned()));
        all.highlight = highlight.into_iter().collect();
        all
    }
}

/// The links of the chain of a value.
fn chain(scene: &Scene, value: ValueId) -> Vec<(ValueId, Cause)> {
    let mut links = Vec::new();
    let mut known: Set<ValueId> = Set::default();
    let mut at = Some(value);
    while let Some(value) = at.filter(|value| links.len() < MAX_CHAIN && known.insert(*value)) {
        let Some(cause) = scene.value(value).cause else { break };
        links.push((value, cause));
        at = match cause {
            Cause::Tie { next, .. } => Some(next),
            Cause::Rule { .. }
            | Cause::Input
            | Cause::Declared
            | Cause::Stored
            | Cause::Given
            | Cause::Argument => None,
        };
    }
    links
}

fn node_of(cause: &Cause) -> Option<NodeId> {
    match cause {
        Cause::Tie { node, .. } => Some(*node),
        Cause::Rule { node, .. } => *node,
        Cause::Input | Cause::Declared | Cause::Stored | Cause::Given | Cause::Argument => None,
    }
}

fn step(scene: &Scene, value: ValueId, cause: &Cause) -> Step {
    let rule = match cause {
        Cause::Tie { rule, .. } | Cause::Rule { rule, .. } => short(&scene.rules[rule.index()], MAX_DETAIL),
        Cause::Input | Cause::Declared | Cause::Stored | Cause::Given | Cause::Argument => String::new(),
    };
    let node = node_of(cause);
    let source = node.and_then(|node| scene.node(node).source.as_ref());
    let text =
        format!("{} is {}, {}", name(scene, value), element_type(scene, value), reason(scene, value, cause));
    Step {
        text,
        value: Subject::Value(value).to_string(),
        node: node.map(|node| Subject::Node(node).to_string()),
        rule,
        source: source.map_or_else(String::new, |line| short(&line.to_string(), MAX_DETAIL)),
    }
}

/// The end of a sentence about a link.
fn reason(scene: &Scene, value: ValueId, cause: &Cause) -> String {
    match cause {
        Cause::Tie { node, next, .. } => {
            let ports = |value| Ports {
                makes: makes(scene, *node, value),
                reads: scene.node(*node).inputs.contains(&Some(value)),
            };
            let verb = verb(ports(value), ports(*next));
            format!("because {} {verb} {}", node_text(scene, *node), name(scene, *next))
        }
        Cause::Rule { node: Some(node), .. } if makes(scene, *node, value) => {
            format!("made by {}", node_text(scene, *node))
        }
        Cause::Rule { node: Some(node), .. } => format!("because {} needs it", node_text(scene, *node)),
        Cause::Rule { node: None, .. } => "stored in the file".to_owned(),
        Cause::Input => format!("from {}", input_text(scene, value)),
        Cause::Stored => format!("from initializer {}", name(scene, value)),
        Cause::Argument => format!("from argument {} of the call", name(scene, value)),
        Cause::Declared => "as it is declared".to_owned(),
        Cause::Given => "as the caller specified".to_owned(),
    }
}

fn makes(scene: &Scene, node: NodeId, value: ValueId) -> bool {
    scene.node(node).outputs.contains(&Some(value))
}

fn name(scene: &Scene, value: ValueId) -> String {
    quote(&short(&scene.value(value).name, MAX_DETAIL))
}

/// A node, as a noun: its name, or its operator and position.
fn node_text(scene: &Scene, node: NodeId) -> String {
    let shown = scene.node(node);
    match shown.name.as_str() {
        "" => format!("{} (#{})", quote(&short(&scene.operator(node).name, MAX_DETAIL)), shown.position),
        name => quote(&short(name, MAX_DETAIL)),
    }
}

fn input_text(scene: &Scene, value: ValueId) -> String {
    let graph = scene.group(scene.value(value).graph);
    let name = name(scene, value);
    match graph.kind {
        GroupKind::Body { .. } => format!("input {name} of {}", quote(&short(&graph.label, MAX_DETAIL))),
        GroupKind::Main | GroupKind::Function | GroupKind::Scope { .. } | GroupKind::Part => {
            format!("graph input {name}")
        }
    }
}

/// The element type of a tensor, or another type.
fn element_type(scene: &Scene, value: ValueId) -> String {
    let text = scene.type_text(value);
    match &scene.type_of(value).texts[..] {
        _ if text == "?" => "of unknown type".to_owned(),
        // A tensor, which can have several cases.
        [element, .., last] if last.is_empty() => short(element, MAX_DETAIL),
        [..] => short(text, MAX_DETAIL),
    }
}

/// The origins of the extents of a value.
fn axes(scene: &Scene, value: ValueId) -> Vec<AxisOrigin> {
    let shape = scene.type_of(value).shape().unwrap_or_default().iter().enumerate().take(MAX_AXES);
    let known = shape.filter(|(_, extent)| scene.extent(**extent).is_known());
    known.map(|(axis, extent)| origin(scene, value, axis, *extent)).collect()
}

/// An extent in a scene.
struct Shown<'s> {
    scene: &'s Scene,
    extent: ExtentId,
}

impl lineage::Extent for Shown<'_> {
    type Value = ValueId;
    type Node = NodeId;

    fn can_be_by_chance(&self) -> bool {
        is_number(self.scene.extent(self.extent))
    }

    fn maker(&mut self, value: ValueId) -> Option<NodeId> {
        match self.scene.value(value).maker {
            Maker::Node { node, .. } => Some(node).filter(|node| self.scene.node(*node).bodies.is_empty()),
            Maker::Input | Maker::Stored | Maker::Undefined => None,
        }
    }

    fn having(&mut self, node: NodeId) -> Having<ValueId> {
        let inputs = self.scene.node(node).inputs.iter().take(MAX_INPUTS).flatten().copied();
        Having::of(inputs, |input| self.scene.has_extent(input, self.extent))
    }
}

fn is_number(extent: &Extent) -> bool {
    match extent {
        Extent::Number(_) => true,
        Extent::Symbol(_) | Extent::Expression(_) | Extent::Unknown(_) | Extent::Rest => false,
    }
}

fn origin(scene: &Scene, value: ValueId, axis: usize, extent: ExtentId) -> AxisOrigin {
    let Lineage { source, through } = trace_back(&mut Shown { scene, extent }, value);
    let origin = origin_text(scene, source);
    let by = match scene.value(source).maker {
        Maker::Node { .. } if source != value => format!("from {}, {origin},", name(scene, source)),
        Maker::Node { .. } | Maker::Input | Maker::Stored | Maker::Undefined => origin,
    };
    let way = if through.is_empty() {
        String::new()
    } else {
        format!(" through {}", way(through.iter().map(|node| node_text(scene, *node)).collect()))
    };
    let extent = scene.extent(extent);
    let shown = short(&extent.text(), MAX_DETAIL);
    let shown = if is_number(extent) { shown } else { quote(&shown) };
    AxisOrigin {
        axis,
        text: format!("axis {axis} is {shown}, {by}{way}"),
        source: Subject::Value(source).to_string(),
        through: through.iter().map(|node| Subject::Node(*node).to_string()).collect(),
    }
}

fn origin_text(scene: &Scene, value: ValueId) -> String {
    match scene.value(value).maker {
        Maker::Node { node, .. } => format!("made by {}", node_text(scene, node)),
        Maker::Input => format!("from {}", input_text(scene, value)),
        Maker::Stored => match scene.value(value).cause {
            Some(Cause::Rule { .. }) => format!("from constant {}", name(scene, value)),
            Some(Cause::Stored | Cause::Input) | None => format!("from initializer {}", name(scene, value)),
            Some(_) => format!("from stored tensor {}", name(scene, value)),
        },
        Maker::Undefined => "defined by nothing".to_owned(),
    }
}
