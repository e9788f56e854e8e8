//! Searches of items by name, operator, type and code.

use super::Engine;
use super::answers::{Hit, Results};
use super::item::Subject;
use crate::scene::{NodeId, ValueId};
use crate::text::{MAX_DETAIL, short};

/// The number of listed results if the request does not give it.
const FEW_RESULTS: usize = 100;

/// Maximum number of listed results.
const MAX_RESULTS: usize = 1000;

impl Engine {
    pub(super) fn search(&self, query: &str, limit: Option<usize>) -> Results {
        let scene = &self.scene;
        let limit = limit.unwrap_or(FEW_RESULTS).min(MAX_RESULTS);
        let nodes = (0..scene.nodes.len()).map(NodeId::new);
        let nodes = nodes
            .filter(|node| scene.node(*node).name.contains(query) || scene.operator(*node).name == query)
            .map(|node| (Subject::Node(node), short(&scene.node(node).name, MAX_DETAIL)));
        let values = (0..scene.values.len()).map(ValueId::new);
        let values = values
            .filter(|value| scene.value(*value).name.contains(query) || scene.type_text(*value) == query)
            .map(|value| (Subject::Value(value), crate::label::long_type_of(scene, value)));
        let mut found = Results { total: 0, results: Vec::new(), error: String::new() };
        for (subject, text) in nodes.chain(values) {
            found.total += 1;
            if found.results.len() < limit {
                found.results.push(Hit { item: subject.to_string(), title: subject.name_in(scene), text });
            }
        }
        found
    }
}
