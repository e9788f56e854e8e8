//! The causes of types: the chain of a value back to a declaration, and the origins of the extents of its
//! shape.
//!
//! The chain follows the recorded links of the scene. The sentences are those of `typeloom explain`, see
//! [`explain_value`](typeloom_solver::diagnostic::explain_value).
//!
//! A scene has no record of extents. The origin of an extent is found by a walk backward: from a value to an
//! input of its node with the same extent as text, in its shape or among its elements. Numbers can be equal
//! by chance, so for a number the walk continues only if exactly one input has it.
//!
//! **Cost:** a chain has at most [`MAX_CHAIN`] links, a walk [`MAX_WALK`] nodes, and each node costs its
//! first inputs.

use typeloom_solver::diagnostic::text::{Ports, quote, verb, way};

use super::Engine;
use super::answers::{AxisOrigin, Cause as Step, Causes};
use super::extents::extents;
use super::item::Subject;
use crate::map::{OrderedSet, Set};
use crate::scene::{Cause, GroupKind, Maker, MarkId, NodeId, Scene, ValueId};
use crate::text::{MAX_DETAIL, short};

/// Maximum number of links that are followed.
const MAX_CHAIN: usize = 4096;

/// Maximum number of links in the answer; those before the last are left out.
const MAX_LINKS: usize = 64;

/// Maximum number of explained axes.
const MAX_AXES: usize = 16;

/// Maximum number of nodes in the walk of an extent.
const MAX_WALK: usize = 64;

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
            highlight: highlight.iter().map(ToString::to_string).collect(),
        }
    }
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
    match scene.type_text(value) {
        "?" => "of unknown type".to_owned(),
        text => match text.split_once('[') {
            Some((element, _)) if !element.contains('(') => short(element, MAX_DETAIL),
            Some(_) | None => short(text, MAX_DETAIL),
        },
    }
}

/// The origins of the extents of a value.
fn axes(scene: &Scene, value: ValueId) -> Vec<AxisOrigin> {
    let extents = of_type(scene.type_text(value));
    let named = extents
        .iter()
        .enumerate()
        .take(MAX_AXES)
        .filter(|(_, extent)| !extent.contains('?') && **extent != "...");
    named.map(|(axis, extent)| origin(scene, value, axis, extent)).collect()
}

fn origin(scene: &Scene, value: ValueId, axis: usize, extent: &str) -> AxisOrigin {
    let by_chance = extent.bytes().all(|byte| byte.is_ascii_digit());
    let (mut source, mut through) = (value, Vec::new());
    while through.len() < MAX_WALK
        && let Maker::Node { node, .. } = scene.value(source).maker
    {
        let shown = scene.node(node);
        if !shown.bodies.is_empty() {
            break;
        }
        let mut having: OrderedSet<ValueId> = OrderedSet::default();
        having.extend(
            shown.inputs.iter().take(MAX_INPUTS).flatten().filter(|input| has_extent(scene, **input, extent)),
        );
        match having.first() {
            Some(next) if having.len() == 1 || !by_chance => source = *next,
            Some(_) | None => break,
        }
        through.push(node);
    }
    through.reverse();
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
    let shown = short(extent, MAX_DETAIL);
    let shown = if by_chance { shown } else { quote(&shown) };
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

/// Whether a value has an extent in its shape, or among its elements.
fn has_extent(scene: &Scene, value: ValueId, extent: &str) -> bool {
    let of_shape = of_type(scene.type_text(value)).contains(&extent);
    of_shape || scene.value(value).preview.as_ref().is_some_and(|text| elements(text).contains(&extent))
}

/// The extents in the text of a type.
fn of_type(ty: &str) -> Vec<&str> {
    ty.split_once('[').map_or_else(Vec::new, |(_, shape)| extents(shape))
}

/// The elements in the text of a small tensor.
fn elements(text: &str) -> Vec<&str> {
    extents(text.strip_prefix('[').unwrap_or(text))
}
