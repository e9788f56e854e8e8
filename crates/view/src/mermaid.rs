//! Mermaid, which code hosts draw in Markdown. Expanded groups, nested graphs and functions are subgraphs.
//!
//! Mermaid's own default limits are 500 links and 50,000 characters; [`Options::default`] stays below them
//! for most models.
//!
//! **Invariant:** all text of a model is in double-quoted strings, in which every character except letters,
//! digits and a few harmless ones is an entity code of Mermaid, so that it is neither Markdown nor HTML.

use std::fmt::Write as _;

use typeloom_solver::diagnostic::Severity;

use crate::label::{self, Shape};
use crate::outline::{Event, walk};
use crate::plan::{Options, Plan};
use crate::scene::{Change, Scene};
use crate::text::{MAX_DETAIL, short};

/// The styles of boxes.
const CLASSES: &str =
    "  classDef error stroke:#cf222e,stroke-width:2px\n  classDef warning stroke:#9a6700,stroke-width:2px\n";

/// The styles of boxes with changes.
const CHANGES: &str = "  classDef added stroke:#1a7f37,stroke-width:2px\n  classDef removed stroke:#cf222e,stroke-dasharray:6\n  \
                       classDef changed stroke:#bc4c00,stroke-width:2px\n";

/// The flowchart of a scene.
#[must_use]
pub fn render(scene: &Scene, title: &str, options: &Options) -> String {
    let plan = Plan::of(scene, options);
    let mut out = String::from("flowchart TB\n");
    push(&mut out, format_args!("  %% Graph of {}\n", escaped(&short(title, MAX_DETAIL))));
    if let Some(note) = plan.note() {
        push(&mut out, format_args!("  hidden[\"{}\"]\n", escaped(&note)));
    }
    for event in walk(scene, &plan) {
        match event {
            Event::Open { frame, depth, title } => {
                push(
                    &mut out,
                    format_args!("{}subgraph s{frame}[\"{}\"]\n", "  ".repeat(depth), escaped(&title)),
                );
            }
            Event::Item { frame, item, depth } => {
                let label = label::of_item(scene, plan.frames[frame].level.items[item]);
                let lines: Vec<String> = label.lines.iter().map(|line| escaped(&line.text)).collect();
                let (open, close) = match label.shape {
                    Shape::Node => ("[", "]"),
                    Shape::Group => ("[[", "]]"),
                    Shape::Port => ("([", "])"),
                };
                let class = match label.severity {
                    Some(Severity::Error) => ":::error",
                    Some(Severity::Warning) => ":::warning",
                    None => match label.change {
                        Change::Same => "",
                        Change::Added => ":::added",
                        Change::Removed => ":::removed",
                        Change::Changed => ":::changed",
                    },
                };
                let (indent, text) = ("  ".repeat(depth), lines.join("<br/>"));
                push(&mut out, format_args!("{indent}n{frame}_{item}{open}\"{text}\"{close}{class}\n"));
            }
            Event::Close { depth } => push(&mut out, format_args!("{}end\n", "  ".repeat(depth))),
        }
    }
    for ((from, start), (to, end), values) in plan.through_links(scene) {
        let text = escaped(&plan.link_text(scene, (from, start), (to, end), &values));
        let label = if text.is_empty() { String::new() } else { format!("|\"{text}\"|") };
        push(&mut out, format_args!("  n{from}_{start} -->{label} n{to}_{end}\n"));
    }
    for ((from, item), (to, first)) in plan.nested(scene) {
        push(&mut out, format_args!("  n{from}_{item} -.- n{to}_{first}\n"));
    }
    out.push_str(CLASSES);
    if scene.comparison.is_some() {
        out.push_str(CHANGES);
    }
    out
}

fn push(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = out.write_fmt(text);
}

/// Text with entity codes for all characters that could be syntax.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_alphanumeric() || " .,:/+=()[]-\u{2026}".contains(c) {
            safe.push(c);
        } else {
            push(&mut safe, format_args!("#{};", u32::from(c)));
        }
    }
    safe
}
