//! Renders the changes of a repaired model as a diff and as JSON.
//!
//! ```text
//! --- model.onnx
//! +++ fixed.onnx
//! @@ node #0 @@
//! -z = Add(x, y)
//! +y_as_float = Cast <to = 1> (y)
//! +z = Add(x, y_as_float)
//! ```

use serde_json::{Value, json};
use typeloom_onnx::text::escape;
use typeloom_rewrite::coerce::{
    BypassedCast, Cast, CastUse, CorrectedDeclaration, FunctionCopy, Hunk, LossOfKind, RefusedCast, Repair,
    TensorLoss,
};
use typeloom_rewrite::mend::{AppliedFix, CorrectedShape, MovedNode};
use typeloom_rewrite::safety::Withheld;
use typeloom_solver::diagnostic::text::count as count_of;
use typeloom_solver::elem::Elem;

/// The changed places as a unified diff over printed nodes, ending in a line break; empty if nothing changed.
#[must_use]
pub fn diff(old: &str, new: &str, repair: &Repair) -> String {
    if repair.hunks.is_empty() && repair.declarations.is_empty() && repair.reshaped.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", escape(old), escape(new));
    for Hunk { graph, position, before, after } in &repair.hunks {
        text.push_str(&format!("@@ {}node #{position} @@\n", within(graph)));
        for (sign, lines) in [('-', before.as_slice()), ('+', after.as_slice())] {
            for line in lines {
                text.push_str(&format!("{sign}{}\n", escape(line)));
            }
        }
    }
    for CorrectedShape { graph, name, from, to } in &repair.reshaped {
        text.push_str(&format!("@@ {}declaration of {} @@\n", within(graph), escape(name)));
        text.push_str(&format!("-{}\n", escape(from)));
        if !to.is_empty() {
            text.push_str(&format!("+{}\n", escape(to)));
        }
    }
    for CorrectedDeclaration { graph, name, from, to } in &repair.declarations {
        text.push_str(&format!("@@ {}declaration of {} @@\n", within(graph), escape(name)));
        text.push_str(&format!("-{}\n+{}\n", elem(*from), elem(*to)));
    }
    text
}

/// The changes of a repair: one line for each conversion, and the rejected ones.
#[must_use]
pub fn summary(repair: &Repair) -> String {
    let mut text = String::new();
    let mut push = |line: &str| text.push_str(&format!("{}\n", escape(line)));
    for MovedNode { graph, node, from, to } in &repair.moved {
        push(&format!("{}{node}: moved from #{from} to #{to}", within(graph)));
    }
    for AppliedFix { graph, change } in &repair.fixed {
        push(&format!("{}{change}", within(graph)));
    }
    for cast in &repair.casts {
        let Cast { graph, input, from, to, .. } = cast;
        let loses = match &cast.loss {
            Some(loss) if loss.changed() > 0 => changes(loss),
            Some(_) => "keeps every value".to_owned(),
            None if cast.is_lossy() => "can lose values".to_owned(),
            None => "keeps every value".to_owned(),
        };
        let to = match &cast.like {
            Some(other) => format!("the type of {other}"),
            None => elem(*to).to_owned(),
        };
        push(&format!("{}{input}: {} -> {to}, {loses}", within(graph), elem(*from)));
    }
    for BypassedCast { graph, value, source, uses: _ } in &repair.bypassed {
        push(&format!("{}{value}: its readers in error read {source}, before its cast", within(graph)));
    }
    for FunctionCopy { function, name, calls } in &repair.copies {
        push(&format!(
            "function {function}: no one set of casts suits all calls; {name} is a copy for {}",
            calls.join(", ")
        ));
    }
    for RefusedCast { value, from, to, calls } in &repair.refused {
        let called = if calls.is_empty() {
            String::new()
        } else {
            format!(" (in the function called by {})", calls.join(", "))
        };
        let (from, to) = (elem(*from), elem(*to));
        push(&format!(
            "refused: {value}{called}: {from} -> {to} can lose values; --policy widest or --policy to={to} allows it"
        ));
    }
    for Withheld { graph, repair } in &repair.withheld {
        push(&format!("unsafe, not applied: {}{repair}; --unsafe-fixes applies it", within(graph)));
    }
    text
}

/// The effect of a conversion on a stored tensor: `2 of 9 elements change: 1 overflowed (70000 becomes inf),
/// 1 rounded (0.1 becomes 0.09997559)`.
pub(crate) fn changes(loss: &TensorLoss) -> String {
    let kinds = loss
        .changes
        .iter()
        .map(|LossOfKind { kind, count, from, to }| format!("{count} {} ({from} becomes {to})", kind.name()));
    let kinds: Vec<String> = kinds.collect();
    let verb = if loss.changed() == 1 { "changes" } else { "change" };
    format!("{} of {} {verb}: {}", loss.changed(), count_of(loss.elements, "element"), kinds.join(", "))
}

/// The number of changes of each kind, as text.
#[must_use]
pub fn count(repair: &Repair) -> String {
    let mut parts = Vec::new();
    if !repair.moved.is_empty() {
        parts.push(format!("{} moved", count_of(repair.moved.len(), "node")));
    }
    if !repair.reshaped.is_empty() {
        parts.push(format!("{} corrected", count_of(repair.reshaped.len(), "shape")));
    }
    if !repair.bypassed.is_empty() {
        parts.push(format!("{} bypassed", count_of(repair.bypassed.len(), "cast")));
    }
    if !repair.fixed.is_empty() {
        let noun = if repair.fixed.len() == 1 { "fix" } else { "fixes" };
        parts.push(format!("{} {noun} applied", repair.fixed.len()));
    }
    if !repair.casts.is_empty() || repair.declarations.is_empty() && parts.is_empty() {
        let proved =
            if repair.is_minimal { ", the fewest possible" } else { ", not proved to be the fewest" };
        let proved = if repair.casts.is_empty() { "" } else { proved };
        parts.push(format!("{} inserted{proved}", count_of(repair.casts.len(), "cast")));
    }
    if !repair.declarations.is_empty() {
        parts.push(format!("{} corrected", count_of(repair.declarations.len(), "declaration")));
    }
    parts.join("; ")
}

/// A repair as JSON, without the names of files.
#[must_use]
pub fn value(repair: &Repair) -> Value {
    let bypassed = |BypassedCast { graph, value, source, uses }: &BypassedCast| json!({"graph": graph, "value": value, "source": source, "readers": uses.iter().map(reading_value).collect::<Vec<Value>>()});
    let declaration = |CorrectedDeclaration { graph, name, from, to }: &CorrectedDeclaration| json!({"graph": graph, "name": name, "from": elem(*from), "to": elem(*to)});
    let hunk = |Hunk { graph, position, before, after }: &Hunk| json!({"graph": graph, "node": position, "before": before, "after": after});
    let refused = |RefusedCast { value, from, to, calls }: &RefusedCast| json!({"value": value, "from": elem(*from), "to": elem(*to), "calls": calls});
    let withheld = |Withheld { graph, repair }: &Withheld| json!({"graph": graph, "repair": repair});
    let moved = |MovedNode { graph, node, from, to }: &MovedNode| json!({"graph": graph, "node": node, "from": from, "to": to});
    let fixed = |AppliedFix { graph, change }: &AppliedFix| json!({"graph": graph, "change": change});
    let reshaped = |CorrectedShape { graph, name, from, to }: &CorrectedShape| json!({"graph": graph, "name": name, "from": from, "to": to});
    let copy = |FunctionCopy { function, name, calls }: &FunctionCopy| json!({"function": function, "name": name, "calls": calls});
    json!({
        "ok": repair.is_ok,
        "changed": repair.file.is_some(),
        "minimal": repair.is_minimal,
        "casts": repair.casts.iter().map(cast_value).collect::<Vec<Value>>(),
        "bypassed": repair.bypassed.iter().map(bypassed).collect::<Vec<Value>>(),
        "declarations": repair.declarations.iter().map(declaration).collect::<Vec<Value>>(),
        "diff": repair.hunks.iter().map(hunk).collect::<Vec<Value>>(),
        "moved": repair.moved.iter().map(moved).collect::<Vec<Value>>(),
        "fixed": repair.fixed.iter().map(fixed).collect::<Vec<Value>>(),
        "shapes": repair.reshaped.iter().map(reshaped).collect::<Vec<Value>>(),
        "copies": repair.copies.iter().map(copy).collect::<Vec<Value>>(),
        "refused": repair.refused.iter().map(refused).collect::<Vec<Value>>(),
        "withheld": repair.withheld.iter().map(withheld).collect::<Vec<Value>>(),
    })
}

fn reading_value(reading: &CastUse) -> Value {
    let CastUse { function: _, graph: _, node, operator, at } = reading;
    match node {
        Some(node) => json!({"graph": reading.graph_text(), "node": node, "operator": operator, "input": at}),
        None => json!({"graph": reading.graph_text(), "output": at}),
    }
}

pub(crate) fn cast_value(cast: &Cast) -> Value {
    let Cast { graph, before, name, input, output, from, to, like, uses, loss } = cast;
    json!({
        "graph": graph,
        "before": before,
        "name": name,
        "input": input,
        "output": output,
        "from": elem(*from),
        "to": elem(*to),
        "like": like,
        "lossy": cast.is_lossy(),
        "loss": loss.as_ref().map(loss_value),
        "readers": uses.iter().map(reading_value).collect::<Vec<Value>>(),
    })
}

pub(crate) fn loss_value(TensorLoss { elements, changes }: &TensorLoss) -> Value {
    let change = |LossOfKind { kind, count, from, to }: &LossOfKind| json!({"kind": kind.name(), "count": count, "from": from, "to": to});
    json!({"elements": elements, "changes": changes.iter().map(change).collect::<Vec<Value>>()})
}

pub(crate) fn within(graph: &str) -> String {
    if graph.is_empty() { String::new() } else { format!("{} ", escape(graph)) }
}

pub(crate) fn elem(elem: Elem) -> &'static str {
    elem.onnx_name().unwrap_or("?")
}
