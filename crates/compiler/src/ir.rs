//! Helpers on the IR, which is ONNX's own messages.

use typeloom_onnx::messages::{ModelProto, NodeProto, SharedText, StringStringEntryProto};
use typeloom_onnx::nested::{each_node, graphs};

/// A map for lookups; its order reaches nothing.
pub(crate) type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// A set for lookups; its order reaches nothing.
pub(crate) type Set<K> = std::collections::HashSet<K, foldhash::fast::RandomState>;

/// The version of a domain that a model imports.
pub(crate) fn imported(model: &ModelProto, domain: &str) -> Option<i64> {
    let canonical = |domain: &str| if domain == "ai.onnx" { String::new() } else { domain.to_owned() };
    let wanted = canonical(domain);
    let found = model.opset_import.iter().find(|import| canonical(import.domain()) == wanted)?;
    Some(found.version())
}

/// What a node's metadata says under a key.
pub(crate) fn metadata<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    lookup(&node.metadata_props, key)
}

/// What a list of entries says under a key.
pub(crate) fn lookup<'e>(entries: &'e [StringStringEntryProto], key: &str) -> Option<&'e str> {
    entries.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

/// Sets an entry of a list, in place of one that was there.
pub(crate) fn set(
    entries: &mut Vec<StringStringEntryProto>,
    key: impl Into<SharedText> + AsRef<str>,
    value: impl Into<SharedText>,
) {
    match entries.iter_mut().find(|entry| entry.key() == key.as_ref()) {
        Some(entry) => entry.value = Some(value.into()),
        None => entries.push(crate::graph::recorder::entry(key, value)),
    }
}

/// A name that is not taken, and takes it.
pub(crate) fn fresh(taken: &mut std::collections::HashSet<String>, stem: &str) -> String {
    let mut name = stem.to_owned();
    let mut number = 1;
    while taken.contains(&name) {
        number += 1;
        name = format!("{stem}.{number}");
    }
    taken.insert(name.clone());
    name
}

/// The domains of a model's operators; the default one always counts.
pub(crate) fn domains(model: &ModelProto) -> Set<String> {
    let mut used: Set<String> = [String::new()].into_iter().collect();
    let mut of_node = |node: &NodeProto| {
        if !used.contains(node.domain()) {
            used.insert(node.domain().to_owned());
        }
    };
    if let Some(graph) = &model.graph {
        each_node(graph, &mut of_node);
    }
    for node in model.functions.iter().flat_map(|function| &function.node) {
        of_node(node);
        graphs(node).for_each(|graph| each_node(graph, &mut of_node));
    }
    used
}
