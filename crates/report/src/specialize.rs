//! Renders a model for given sizes: what changed, and which extents remain open.
//!
//! ```text
//! 2 branches taken: prefill (true), If_41 (false)
//! 12 values became constants
//! removed 31 of 240 nodes, 5 initializers
//! open: past at axis 2 of input past_key_values.0.key
//! open: axis 0 of NonZero_3_output, decided by NonZero (node NonZero_3)
//! ```

use serde_json::{Map, Value, json};
use typeloom_onnx::text::escape;
use typeloom_rewrite::specialize::{Cause, Open, Specialized};
use typeloom_solver::diagnostic::text::count;

/// The largest number of branches or open extents that are listed.
const SHOWN: usize = 20;

/// The changes, one line for each kind.
#[must_use]
pub fn changes(specialized: &Specialized) -> Vec<String> {
    let Specialized { branches, constants, nodes: [before, after], removed_initializers, .. } = specialized;
    let mut lines = Vec::new();
    if !branches.is_empty() {
        let shown = branches.iter().take(SHOWN).map(|taken| format!("{} ({})", taken.node, taken.condition));
        let shown: Vec<String> = shown.collect();
        let more = if branches.len() > SHOWN { ", ..." } else { "" };
        lines.push(format!("took {}: {}{more}", branches_of(branches.len()), shown.join(", ")));
    }
    if *constants > 0 {
        let verb = if *constants == 1 { "became a constant" } else { "became constants" };
        lines.push(format!("{} {verb}", count(*constants, "value")));
    }
    if after < before || *removed_initializers > 0 {
        let initializers = match removed_initializers {
            0 => String::new(),
            number => format!(" and {}", count(*number, "initializer")),
        };
        // A branch has nodes that replace its `If`, so the number can grow.
        let nodes = format!("{} of {}", before.saturating_sub(*after), count(*before, "node"));
        lines.push(format!("removed {nodes}{initializers}"));
    }
    lines
}

fn branches_of(number: usize) -> String {
    format!("{number} {}", if number == 1 { "branch" } else { "branches" })
}

/// The changes and the open extents, as lines.
#[must_use]
pub fn summary(specialized: &Specialized) -> String {
    let mut lines = changes(specialized);
    lines.extend(specialized.open.iter().take(SHOWN).map(|open| format!("open: {}", described(open))));
    lines.extend(specialized.conditions.iter().map(|condition| format!("required now: {condition}")));
    if let Some(more) = specialized.open.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        lines.push(format!("open: {} more", count(more, "extent")));
    }
    lines.iter().map(|line| format!("{}\n", escape(line))).collect()
}

/// Whether all extents are numbers.
#[must_use]
pub fn verdict(specialized: &Specialized) -> String {
    let [_, after] = specialized.nodes;
    let extents = match specialized.open.len() {
        0 => "every extent is a number".to_owned(),
        open => format!("{} open", count(open, "extent")),
    };
    format!("{}, {extents}", count(after, "node"))
}

fn described(open: &Open) -> String {
    let Open { value, axis, symbol, cause } = open;
    let place = match (axis, symbol) {
        (None, _) => format!("the number of axes of {value}"),
        (Some(axis), Some(symbol)) => format!("{symbol} at axis {axis} of {value}"),
        (Some(axis), None) => format!("axis {axis} of {value}"),
    };
    match cause {
        Cause::Input => format!("{place}, an input"),
        Cause::Node { name, operator } if name.is_empty() => format!("{place}, decided by {operator}"),
        Cause::Node { name, operator } => format!("{place}, decided by {operator} ({name})"),
    }
}

/// The result as JSON.
#[must_use]
pub fn value(specialized: &Specialized) -> Map<String, Value> {
    let branches =
        specialized.branches.iter().map(|taken| json!({"node": taken.node, "condition": taken.condition}));
    let open = specialized.open.iter().map(|Open { value, axis, symbol, cause }| {
        let mut object = json!({"value": value, "axis": axis, "symbol": symbol});
        match cause {
            Cause::Input => object["cause"] = json!("input"),
            Cause::Node { name, operator } => {
                object["cause"] = json!("node");
                object["node"] = json!(name);
                object["operator"] = json!(operator);
            }
        }
        object
    });
    let [before, after] = specialized.nodes;
    let mut object = Map::new();
    object.insert("branches".to_owned(), branches.collect());
    object.insert("constants".to_owned(), json!(specialized.constants));
    object.insert("nodes".to_owned(), json!({"before": before, "after": after}));
    object.insert("removed_initializers".to_owned(), json!(specialized.removed_initializers));
    object.insert("open".to_owned(), open.collect());
    object.insert("conditions".to_owned(), json!(specialized.conditions));
    object
}
