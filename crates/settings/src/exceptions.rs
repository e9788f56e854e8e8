//! Exceptions that a model contains: entries of `metadata_props` with the key [`KEY`].
//!
//! The value is a list of codes, globs and groups, separated by commas or blanks. An entry of the model or of
//! its main graph concerns the whole file, an entry of a node in the main graph or in a graph nested in it
//! the problems of that node.
//!
//! **Limits:** nodes in functions have no exceptions of their own. A model has at most `MAX_GLOBS` different
//! globs, and each is compiled once.

use std::collections::BTreeMap;

use typeloom_onnx::DecodeError;
use typeloom_onnx::view::{AttributeView, EntryView, GraphView, ModelView};
use typeloom_solver::diagnostic::text::clip;
use typeloom_solver::diagnostic::{Code, Diagnostic, Location};

use crate::levels::{Level, Levels, Rule, Selector};

/// The key of the metadata.
pub const KEY: &str = "typeloom.allow";

/// The deepest nested graph whose nodes are read.
const MAX_DEPTH: usize = 64;

/// The greatest number of different globs; further ones select no code.
const MAX_GLOBS: usize = 64;

/// The maximum number of texts without a code that are kept.
const MAX_UNKNOWN: usize = 8;

/// The maximum length of such a text, in characters.
const MAX_NAME: usize = 64;

/// The exceptions of a model.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    model: Levels,
    /// By the path of the graph and the position of the node.
    nodes: BTreeMap<(String, usize), Levels>,
    /// The globs that were read; `None` for one that selects no code.
    globs: BTreeMap<String, Option<Selector>>,
    unknown: Vec<String>,
}

/// The problems that exceptions removed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Excepted {
    /// The number of removed problems of each code.
    pub codes: BTreeMap<Code, usize>,
    /// The texts that select no code.
    pub unknown: Vec<String>,
}

impl Exceptions {
    /// Reads the exceptions of a model. Parts that cannot be decoded have none.
    #[must_use]
    pub fn of_model(model: &ModelView<'_>) -> Self {
        let mut found = Self::default();
        let graph = model.graph();
        let of_graph = graph.as_ref().into_iter().flat_map(GraphView::metadata_props);
        let selectors = found.selectors(model.metadata_props().chain(of_graph));
        found.model = allow(selectors);
        if let Some(graph) = graph {
            found.add_nodes(&graph, "", 0);
        }
        found
    }

    /// Removes the diagnostics that are excepted.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) -> Excepted {
        let mut codes = BTreeMap::new();
        diagnostics.retain(|diagnostic| {
            let is_excepted = self.excepts(diagnostic);
            if is_excepted {
                *codes.entry(diagnostic.code).or_insert(0) += 1;
            }
            !is_excepted
        });
        Excepted { codes, unknown: self.unknown.clone() }
    }

    fn excepts(&self, diagnostic: &Diagnostic) -> bool {
        let allows = |levels: &Levels| levels.level(diagnostic.code, diagnostic.severity) == Level::Allow;
        let of_node = |location: &Location| {
            let Location { function: None, graph, node: Some(node), .. } = location else { return false };
            self.nodes.get(&(graph.to_string(), node.index)).is_some_and(allows)
        };
        allows(&self.model) || (of_node(&diagnostic.location) && diagnostic.also.iter().all(of_node))
    }

    fn add_nodes(&mut self, graph: &GraphView<'_>, path: &str, depth: usize) {
        for (at, node) in graph.nodes().enumerate() {
            let Ok(node) = node else { continue };
            let selectors = self.selectors(node.metadata_props());
            if !selectors.is_empty() {
                self.nodes.insert((path.to_owned(), at), allow(selectors));
            }
            for attribute in node.attributes().flatten().filter(|_| depth < MAX_DEPTH) {
                // Reading the operator takes time in proportion to the size of the node.
                let location = || format!("{path}/{at}:{}", node.op_type().unwrap_or_default());
                // An attribute that cannot be decoded is reported by the check.
                let _ = self.add_graphs(&attribute, location, depth);
            }
        }
    }

    fn add_graphs(
        &mut self,
        attribute: &AttributeView<'_>,
        node: impl FnOnce() -> String,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let attribute = attribute.parse()?;
        if attribute.g.is_none() && attribute.graphs().next().is_none() {
            return Ok(());
        }
        let path = format!("{}.{}", node(), attribute.name);
        if let Some(graph) = &attribute.g {
            self.add_nodes(graph, &path, depth + 1);
        }
        for (at, graph) in attribute.graphs().enumerate() {
            self.add_nodes(&graph?, &format!("{path}[{at}]"), depth + 1);
        }
        Ok(())
    }

    fn selectors<'m>(
        &mut self,
        entries: impl Iterator<Item = Result<EntryView<'m>, DecodeError>>,
    ) -> Vec<Selector> {
        let mut selectors = Vec::new();
        for entry in entries.flatten() {
            if !entry.has_key(KEY) {
                continue;
            }
            let text = entry.value().unwrap_or_default();
            for name in text.split([',', ' ', '\n', '\t']).filter(|name| !name.is_empty()) {
                match self.selector(name) {
                    Some(selector) => selectors.push(selector),
                    None if self.unknown.len() < MAX_UNKNOWN => self.unknown.push(clip(name, MAX_NAME)),
                    None => {}
                }
            }
        }
        selectors
    }

    fn selector(&mut self, text: &str) -> Option<Selector> {
        if !Selector::is_glob(text) {
            return Selector::named(text);
        }
        match self.globs.get(text) {
            Some(known) => known.clone(),
            None if self.globs.len() == MAX_GLOBS => None,
            None => self.globs.entry(text.to_owned()).or_insert(Selector::parse(text).ok()).clone(),
        }
    }
}

fn allow(selectors: Vec<Selector>) -> Levels {
    selectors.into_iter().map(|selector| Rule { selector, level: Level::Allow }).collect()
}
