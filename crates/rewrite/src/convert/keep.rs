//! The nodes and values that keep their types.

use std::collections::{BTreeMap, HashSet};

use super::roles::Roles;
use super::{ConvertError, ValueKey};
use crate::coerce::graph_text;
use crate::coerce::layout::{BodyId, Layout, NodeId, Source};

/// A node that keeps the old type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptNode {
    /// The path of the graph; empty for the main graph.
    pub graph: String,
    /// The name of the node, or of its first output.
    pub name: String,
    /// The operator.
    pub operator: String,
    /// The reason.
    pub reason: Reason,
}

/// The reason why a node keeps its type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// The caller asked for it.
    Requested,
    /// The operator does not support the new type, or a value of it is needed in the old one.
    Operator,
    /// The target has no kernel for it.
    Target,
    /// It has no preference: it moves values, or computes from shapes and stored tensors alone.
    Values,
}

impl Reason {
    /// The reason as a clause.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Requested => "kept on request",
            Self::Operator => "the operator does not support it",
            Self::Target => "the target has no kernel",
            Self::Values => "for the fewest casts",
        }
    }
}

/// The nodes and values that keep their types.
#[derive(Clone, Debug, Default)]
pub(super) struct Kept {
    nodes: BTreeMap<(BodyId, NodeId), Reason>,
    pub(super) values: HashSet<ValueKey>,
}

impl Kept {
    /// The nodes and values that patterns match: an operator, a node, a value, or a glob of names.
    pub(super) fn of_patterns(patterns: &[String], layouts: &[Layout<'_>]) -> Result<Self, ConvertError> {
        let mut kept = Self::default();
        for pattern in patterns {
            let mut is_used = false;
            let matches = |name: &str| !name.is_empty() && is_match(pattern, name);
            for (at, layout) in layouts.iter().enumerate() {
                let body = BodyId::new(at);
                for (graph, own) in layout.graphs() {
                    for (position, node) in own.nodes.iter().enumerate() {
                        let operator = node.op_type().unwrap_or_default();
                        let domain = node.domain().unwrap_or_default();
                        let is_kept = matches(operator)
                            || matches(&format!("{domain}::{operator}"))
                            || matches(node.name().unwrap_or_default())
                            || node.outputs().flatten().any(matches);
                        if is_kept {
                            kept.nodes.insert((body, NodeId { graph, position }), Reason::Requested);
                            is_used = true;
                        }
                    }
                    let Source::Graph(view) = own.source else { continue };
                    let inputs = view.inputs().flatten().filter_map(|it| Some(it.parse().ok()?.name));
                    let tensors =
                        view.initializers().flatten().filter_map(|it| Some(it.header().ok()?.name()));
                    for name in inputs.chain(tensors).filter(|name| matches(name)) {
                        kept.values.insert((body, graph, name.to_owned()));
                        is_used = true;
                    }
                }
            }
            if !is_used {
                return Err(ConvertError::UnknownKeep(pattern.clone()));
            }
        }
        Ok(kept)
    }

    /// Keeps a node; whether it was not kept before.
    pub(super) fn add(&mut self, node: (BodyId, NodeId), reason: Reason) -> bool {
        self.nodes.insert(node, reason).is_none()
    }

    pub(super) fn nodes(&self) -> HashSet<(BodyId, NodeId)> {
        self.nodes.keys().copied().collect()
    }

    pub(super) fn describe(
        &self,
        layouts: &[Layout<'_>],
        (body, node): (BodyId, NodeId),
        roles: &Roles<'_>,
    ) -> Option<KeptNode> {
        let layout = &layouts[body.index()];
        let view = layout.node(node)?;
        let own = view.name().ok().filter(|name| !name.is_empty());
        let name = own.or_else(|| view.outputs().flatten().find(|name| !name.is_empty()));
        let requested = self.nodes.get(&(body, node)).copied();
        let reason = if roles.free.contains(&(body, node)) { Reason::Values } else { Reason::Operator };
        Some(KeptNode {
            graph: graph_text(layout.is_function().then_some(layout.name), &layout.path(node.graph)),
            name: name.unwrap_or_default().to_owned(),
            operator: view.op_type().unwrap_or_default().to_owned(),
            reason: requested.unwrap_or(reason),
        })
    }
}

/// Whether a name matches a pattern in which `*` is any text and `?` any character.
fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut of_name) = (0, 0);
    // The last `*`, and the position of the name up to which it matches.
    let mut star: Option<(usize, usize)> = None;
    while of_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, of_name));
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == name[of_name] => {
                at += 1;
                of_name += 1;
            }
            Some(_) | None => {
                let Some((of_star, matched)) = star else { return false };
                star = Some((of_star, matched + 1));
                at = of_star + 1;
                of_name = matched + 1;
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        let cases = [
            ("Softmax", "Softmax", true),
            ("Soft", "Softmax", false),
            ("/encoder/*", "/encoder/layer.0/Add", true),
            ("*norm*", "layer_norm_1", true),
            ("*norm", "layer_norm_1", false),
            ("a?c", "abc", true),
            ("a*b*c", "aXbYbZc", true),
            ("", "x", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(is_match(pattern, name), expected, "{pattern} {name}");
        }
    }
}
