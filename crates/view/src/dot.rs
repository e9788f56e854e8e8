//! DOT, the language of Graphviz. Expanded groups, nested graphs and functions are clusters.
//!
//! **Invariant:** all text of a model is in double-quoted strings, in which quotes and backslashes are
//! escaped.

use std::fmt::Write as _;

use crate::label::{self, Role, Shape};
use crate::level::Item;
use crate::outline::{Event, walk};
use crate::plan::{Options, Plan};
use crate::scene::{Change, Child, Scene};
use crate::text::{MAX_DETAIL, short};
use typeloom_solver::diagnostic::Severity;

/// The graph of a scene.
#[must_use]
pub fn render(scene: &Scene, title: &str, options: &Options) -> String {
    let plan = Plan::of(scene, options);
    let mut out = String::new();
    push(&mut out, format_args!("digraph {} {{\n", quoted(&[&short(title, MAX_DETAIL)])));
    out.push_str("  graph [fontname=\"monospace\", fontsize=12];\n");
    out.push_str("  node [fontname=\"monospace\", fontsize=12, shape=box];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    if let Some(note) = plan.note() {
        push(&mut out, format_args!("  label={};\n", quoted(&[&note])));
    }
    for event in walk(scene, &plan) {
        match event {
            Event::Open { frame, depth, title } => {
                let indent = "  ".repeat(depth);
                push(&mut out, format_args!("{indent}subgraph cluster_{frame} {{\n"));
                push(&mut out, format_args!("{indent}  label={};\n", quoted(&[&title])));
            }
            Event::Item { frame, item, depth } => {
                let indent = "  ".repeat(depth);
                let attributes = node(scene, plan.frames[frame].level.items[item]);
                push(&mut out, format_args!("{indent}n{frame}_{item} [{attributes}];\n"));
            }
            Event::Close { depth } => push(&mut out, format_args!("{}}}\n", "  ".repeat(depth))),
        }
    }
    for ((from, start), (to, end), values) in plan.through_links(scene) {
        let label = plan.link_text(scene, (from, start), (to, end), &values);
        let label = if label.is_empty() { label } else { format!(" [label={}]", quoted(&[&label])) };
        push(&mut out, format_args!("  n{from}_{start} -> n{to}_{end}{label};\n"));
    }
    for ((from, item), (to, first)) in plan.nested(scene) {
        push(&mut out, format_args!("  n{from}_{item} -> n{to}_{first} [style=dashed, arrowhead=none];\n"));
    }
    out.push_str("}\n");
    out
}

/// The attributes of the node of an item.
fn node(scene: &Scene, item: Item) -> String {
    let label = label::of_item(scene, item);
    let lines: Vec<&str> = label.lines.iter().map(|line| line.text.as_str()).collect();
    let shape = match (label.shape, item) {
        (Shape::Node, _) => "box",
        (Shape::Group, _) => "box3d",
        (Shape::Port, _) => "oval",
    };
    let color = match label.severity {
        Some(Severity::Error) => ", color=\"#cf222e\", penwidth=2",
        Some(Severity::Warning) => ", color=\"#9a6700\", penwidth=2",
        None => match label.change {
            Change::Same => "",
            Change::Added => ", color=\"#1a7f37\", penwidth=2",
            Change::Removed => ", color=\"#cf222e\", style=dashed",
            Change::Changed => ", color=\"#bc4c00\", penwidth=2",
        },
    };
    let is_plain = label.lines.iter().all(|line| !matches!(line.role, Role::Error | Role::Warning));
    let font = if is_plain { "" } else { ", fontcolor=\"#a40e26\"" };
    let kind = match item {
        Item::Child(Child::Group(_)) if label.change == Change::Same => {
            ", style=filled, fillcolor=\"#e4edfb\""
        }
        Item::Child(Child::Group(_)) => "",
        Item::Child(Child::Node(_))
        | Item::Input(_)
        | Item::MoreInputs(_)
        | Item::Output(_)
        | Item::MoreOutputs(_) => "",
    };
    format!("label={}, shape={shape}{kind}{color}{font}", quoted(&lines))
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
}

/// Lines as a quoted string.
fn quoted(lines: &[&str]) -> String {
    let escaped = lines.iter().map(|line| line.replace('\\', "\\\\").replace('"', "\\\""));
    format!("\"{}\"", escaped.collect::<Vec<_>>().join("\\n"))
}
