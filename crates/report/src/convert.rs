//! Renders a conversion to another precision for people and as JSON.
//!
//! ```text
//! input x: float -> float16
//! keeps its type: 2 Resize (the operator does not support it): up1, up2
//! mask: 1 of 4 elements changes: 1 overflowed (-3.4028235e38 becomes -65504)
//! w: 12 of 900 elements change: 2 vanished (1e-9 becomes 0), 10 rounded (0.1 becomes 0.099975586)
//! ```

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use typeloom_onnx::text::escape;
use typeloom_rewrite::coerce::{Cast, FunctionCopy, LossKind};
use typeloom_rewrite::convert::{ChangedPort, Converted, ConvertedTensor, KeptNode, Reason};
use typeloom_solver::diagnostic::text::count as count_of;

use crate::repair::{cast_value, changes, elem, loss_value, within};

/// The number of names in a line.
const MAX_NAMES: usize = 8;

/// The effects of a conversion, one line each: the interface, the nodes that keep their type, casts, and the
/// stored tensors with elements that overflow or vanish.
#[must_use]
pub fn summary(converted: &Converted) -> String {
    let mut text = String::new();
    let mut push = |line: &str| text.push_str(&format!("{}\n", escape(line)));
    for ChangedPort { name, is_output, from, to } in &converted.interface {
        let kind = if *is_output { "output" } else { "input" };
        push(&format!("{kind} {name}: {} -> {}", elem(*from), elem(*to)));
    }
    let mut kept: BTreeMap<(Reason, &str), Vec<&str>> = BTreeMap::new();
    for KeptNode { graph: _, name, operator, reason } in &converted.kept {
        kept.entry((*reason, operator)).or_default().push(name);
    }
    for ((reason, operator), names) in kept {
        let shown = names.iter().take(MAX_NAMES).copied().collect::<Vec<_>>().join(", ");
        let more = if names.len() > MAX_NAMES { ", ..." } else { "" };
        push(&format!("keeps its type: {} {operator} ({}): {shown}{more}", names.len(), reason.text()));
    }
    for Cast { graph, input, output, from, to, .. } in &converted.casts {
        push(&format!("cast {}{input}: {} -> {} {output}", within(graph), elem(*from), elem(*to)));
    }
    for FunctionCopy { function, name, calls } in &converted.copies {
        push(&format!("function {function}: {name} is a copy in another type for {}", calls.join(", ")));
    }
    for ConvertedTensor { graph, name, to: _, loss } in &converted.tensors {
        let is_notable = |kind| matches!(kind, LossKind::Overflowed | LossKind::Vanished);
        if loss.changes.iter().any(|change| is_notable(change.kind)) {
            push(&format!("{}{name}: {}", within(graph), changes(loss)));
        }
    }
    text
}

/// The numbers of a conversion, as text.
#[must_use]
pub fn count(converted: &Converted) -> String {
    let mut parts = vec![format!("{} converted", count_of(converted.converted, "node"))];
    if !converted.kept.is_empty() {
        parts.push(format!("{} kept", converted.kept.len()));
    }
    let proved = match (converted.casts.len(), converted.is_minimal) {
        (0, _) => "",
        (_, true) => ", the fewest possible",
        (_, false) => ", not proved to be the fewest",
    };
    parts.push(format!("{} inserted{proved}", count_of(converted.casts.len(), "cast")));
    if converted.removed > 0 {
        parts.push(format!("{} without an effect removed", count_of(converted.removed, "cast")));
    }
    let sum = |kind: LossKind| -> usize {
        let changes = converted.tensors.iter().flat_map(|tensor| &tensor.loss.changes);
        changes.filter(|change| change.kind == kind).map(|change| change.count).sum()
    };
    let elements: usize = converted.tensors.iter().map(|tensor| tensor.loss.elements).sum();
    if elements > 0 {
        let kinds = [LossKind::Overflowed, LossKind::Vanished, LossKind::Rounded];
        let kinds = kinds.map(|kind| format!("{} {}", sum(kind), kind.name())).join(", ");
        parts.push(format!("{}: {kinds}", count_of(elements, "stored element")));
    }
    parts.join("; ")
}

/// A conversion as JSON, without the names of files.
#[must_use]
pub fn value(converted: &Converted) -> Map<String, Value> {
    let port = |ChangedPort { name, is_output, from, to }: &ChangedPort| {
        let kind = if *is_output { "output" } else { "input" };
        json!({"kind": kind, "name": name, "from": elem(*from), "to": elem(*to)})
    };
    let kept = |KeptNode { graph, name, operator, reason }: &KeptNode| json!({"graph": graph, "name": name, "operator": operator, "reason": reason.text()});
    let tensor = |ConvertedTensor { graph, name, to, loss }: &ConvertedTensor| json!({"graph": graph, "name": name, "to": elem(*to), "loss": loss_value(loss)});
    let copy = |FunctionCopy { function, name, calls }: &FunctionCopy| json!({"function": function, "name": name, "calls": calls});
    let list = |values: Vec<Value>| Value::Array(values);
    Map::from_iter([
        ("converted".to_owned(), json!(converted.converted)),
        ("minimal".to_owned(), json!(converted.is_minimal)),
        ("removed_casts".to_owned(), json!(converted.removed)),
        ("interface".to_owned(), list(converted.interface.iter().map(port).collect())),
        ("kept".to_owned(), list(converted.kept.iter().map(kept).collect())),
        ("casts".to_owned(), list(converted.casts.iter().map(cast_value).collect())),
        ("copies".to_owned(), list(converted.copies.iter().map(copy).collect())),
        ("tensors".to_owned(), list(converted.tensors.iter().map(tensor).collect())),
    ])
}
