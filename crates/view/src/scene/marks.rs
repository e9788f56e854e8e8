//! Attaches diagnostics to nodes and values by their locations, and to the values that the main labels of
//! their nodes point at.

use std::collections::{HashMap, HashSet};

use typeloom_solver::diagnostic::{Diagnostic, Location, Snippet};

use super::{GroupId, GroupKind, MAX_REPORTS, Mark, Message, NodeId, Scene, ValueId};

/// The nodes and stored values of a scene by location.
#[derive(Debug, Default)]
pub(super) struct Sites {
    /// The root of each graph, by function and path.
    graphs: HashMap<(Option<String>, String), GroupId>,
    /// The site of each position of a graph.
    nodes: HashMap<(GroupId, u32), Site>,
}

/// The part of the scene for a node of the model.
#[derive(Clone, Copy, Debug)]
enum Site {
    Node(NodeId),
    Value(ValueId),
}

impl Sites {
    pub(super) fn add_graph(&mut self, function: Option<String>, path: String, root: GroupId) {
        self.graphs.entry((function, path)).or_insert(root);
    }

    pub(super) fn add_node(&mut self, root: GroupId, position: u32, node: NodeId) {
        self.nodes.insert((root, position), Site::Node(node));
    }

    pub(super) fn add_value(&mut self, root: GroupId, position: u32, value: ValueId) {
        self.nodes.insert((root, position), Site::Value(value));
    }
}

/// A mark for each diagnostic.
pub(super) fn marks(scene: &Scene, sites: &Sites, diagnostics: &[Diagnostic]) -> Vec<Mark> {
    let is_named = |location: &Location| location.node.is_none() && location.value.is_some();
    let needs_names = diagnostics.iter().any(|one| {
        let locations = one.also.iter().chain([&one.location]);
        !one.snippets.is_empty() || locations.into_iter().any(is_named)
    });
    let names: HashMap<(GroupId, &str), ValueId> = if needs_names {
        let values = scene.values.iter().enumerate();
        values.map(|(at, value)| ((value.graph, value.name.as_str()), ValueId::new(at))).collect()
    } else {
        HashMap::new()
    };
    let root_of = |location: &Location| {
        sites.graphs.get(&(location.function.clone(), location.graph.to_string())).copied()
    };
    let find = |location: &Location| {
        let root = root_of(location)?;
        match (&location.node, &location.value) {
            (Some(node), _) => sites.nodes.get(&(root, u32::try_from(node.index).ok()?)).copied(),
            (None, Some(value)) => names.get(&(root, value.name.as_str())).copied().map(Site::Value),
            (None, None) => None,
        }
    };
    let mut marks = Vec::with_capacity(diagnostics.len());
    let site = |location: &Location| match find(location) {
        Some(Site::Node(node)) => (Some(node), None),
        Some(Site::Value(value)) => (None, Some(value)),
        None => (None, None),
    };
    for (at, diagnostic) in diagnostics.iter().enumerate() {
        let parts = if at < MAX_REPORTS { Message::of(diagnostic, site) } else { Message::default() };
        let mut mark = Mark {
            code: diagnostic.code.name(),
            severity: diagnostic.severity,
            message: diagnostic.message.clone(),
            report: String::new(),
            parts,
            nodes: Vec::new(),
            values: Vec::new(),
        };
        let mut known = HashSet::new();
        for location in std::iter::once(&diagnostic.location).chain(&diagnostic.also) {
            match find(location) {
                Some(Site::Node(node)) if known.insert((Some(node), None)) => mark.nodes.push(node),
                Some(Site::Value(value)) if known.insert((None, Some(value))) => mark.values.push(value),
                Some(Site::Node(_) | Site::Value(_)) | None => {}
            }
        }
        let root = root_of(&diagnostic.location);
        let pointed = diagnostic.snippets.first().into_iter().flat_map(pointed);
        let values = pointed.filter_map(|name| names.get(&(root?, name)).copied());
        mark.values.extend(values.filter(|value| known.insert((None, Some(*value)))));
        marks.push(mark);
    }
    marks
}

/// The operands of a printed node that its main labels point at.
fn pointed(snippet: &Snippet) -> impl Iterator<Item = &str> {
    let labels = snippet.labels.iter().filter(|label| label.primary);
    labels.filter_map(|label| snippet.text.get(label.span.clone()))
}

impl Scene {
    /// The names of the groups around a node, from the outside in, without parts.
    #[must_use]
    pub fn path(&self, node: NodeId) -> Vec<&str> {
        let mut path = Vec::new();
        let mut at = Some(self.node(node).group);
        while let Some(group) = at {
            let group = self.group(group);
            if !matches!(group.kind, GroupKind::Main | GroupKind::Part) {
                path.push(group.label.as_str());
            }
            at = group.parent;
        }
        path.reverse();
        path
    }
}
