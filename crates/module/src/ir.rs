//! Helpers for the IR, which consists of ONNX messages.

use typeloom_onnx::domain::canonical;
use typeloom_onnx::messages::{
    ModelProto, NodeProto, SharedText, StringStringEntryProto, TypeProto, ValueInfoProto, metadata_entry,
};
use typeloom_onnx::nested::{each_node, graphs};

use crate::names;

/// A hash map for lookups. Its order must not affect results.
pub type Map<K, V> = std::collections::HashMap<K, V, foldhash::fast::RandomState>;

/// A hash set for lookups. Its order must not affect results.
pub type Set<K> = std::collections::HashSet<K, foldhash::fast::RandomState>;

/// Returns the version of a domain that a model imports.
pub fn imported(model: &ModelProto, domain: &str) -> Option<i64> {
    let wanted = canonical(domain);
    let found = model.opset_import.iter().find(|import| canonical(import.domain()) == wanted)?;
    Some(found.version())
}

/// Returns the value of a key in a node's metadata.
pub fn metadata<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    lookup(&node.metadata_props, key)
}

/// Returns the value of a key in a list of entries.
pub fn lookup<'e>(entries: &'e [StringStringEntryProto], key: &str) -> Option<&'e str> {
    entries.iter().find(|entry| entry.key() == key).map(StringStringEntryProto::value)
}

/// Returns the names of the children of a `Bundle` or `Unbundle`.
pub fn keys(node: &NodeProto) -> Vec<String> {
    let strings = node.find_attribute("keys").map(|keys| &keys.strings[..]).unwrap_or_default();
    strings.iter().map(|key| String::from_utf8_lossy(key).into_owned()).collect()
}

/// Sets the value of a key in a list of entries.
pub fn set(
    entries: &mut Vec<StringStringEntryProto>,
    key: impl Into<SharedText> + AsRef<str>,
    value: impl Into<SharedText>,
) {
    match entries.iter_mut().find(|entry| entry.key() == key.as_ref()) {
        Some(entry) => entry.value = value.into().into(),
        None => entries.push(metadata_entry(key, value)),
    }
}

/// Returns a name that is not in `taken`, and adds it.
pub fn fresh(taken: &mut std::collections::HashSet<String>, stem: &str) -> String {
    let mut name = stem.to_owned();
    let mut number = 1;
    while taken.contains(&name) {
        number += 1;
        name = format!("{stem}.{number}");
    }
    taken.insert(name.clone());
    name
}

/// Returns the domains of a model's operators; the default domain is always among them.
pub fn domains(model: &ModelProto) -> Set<String> {
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

/// Prints a declared type in ONNX's syntax, or as the id of its type node if ONNX has no syntax for it.
pub fn show_type(ty: &TypeProto) -> String {
    match (&ty.value, ty.denotation.as_deref()) {
        (None, Some(denotation)) => typeloom_types::lattice::Lattice::try_get()
            .ok()
            .and_then(|lattice| lattice.lookup_denotation(denotation))
            .map_or_else(|| denotation.to_owned(), |node| node.id.to_owned()),
        (Some(_), _) | (None, None) => typeloom_onnx::text::print_type(ty),
    }
}

pub fn value_info(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: name.into(), ..ValueInfoProto::default() }
}

/// Returns the entry with the source location of a node, for nodes that replace it.
pub fn source_location(node: &NodeProto) -> Vec<StringStringEntryProto> {
    let location = metadata(node, names::SOURCE_LOCATION);
    location.map(|location| metadata_entry(&*names::keys::SOURCE_LOCATION, location)).into_iter().collect()
}

/// Returns a node with one input and one output, whose operator is of the domain of types.
pub fn types_node(op: &str, from: &str, to: &str, metadata_props: Vec<StringStringEntryProto>) -> NodeProto {
    NodeProto {
        op_type: op.into(),
        domain: names::TYPES_DOMAIN.into(),
        input: vec![from.to_owned()],
        output: vec![to.to_owned()],
        metadata_props,
        ..NodeProto::default()
    }
}
