//! The values and diagnostics of a scene as HTML tables, for readers without scripts.

use typeloom_solver::diagnostic::Severity;

use super::push as push_args;
use crate::scene::{Evidence, Maker, Mark, Scene, ValueId};
use crate::svg::escaped;
use crate::text::{MAX_DETAIL, MAX_NAME, counted, file_names, short};

/// Maximum number of rows of a table.
pub const MAX_ROWS: usize = 2000;

/// Maximum length of a message, in characters.
const MAX_MESSAGE: usize = 1000;

pub(super) fn push(out: &mut String, scene: &Scene, title: &str) {
    let name = file_names(title);
    let [title, name] = [title, &name].map(|text| escaped(&short(text, MAX_DETAIL)).into_owned());
    push_args(out, format_args!("<main id=\"fallback\">\n<h1 title=\"{title}\">{name}</h1>\n"));
    out.push_str("<p id=\"starting\" role=\"status\">Starting: the graph is being drawn.</p>\n");
    out.push_str("<p id=\"note\">The graph needs a browser that allows scripts and WebAssembly.</p>\n");
    push_changes(out, scene);
    push_diagnostics(out, scene);
    push_values(out, scene);
    out.push_str("</main>\n");
}

fn push_changes(out: &mut String, scene: &Scene) {
    let Some(comparison) = &scene.comparison else { return };
    if comparison.total == 0 {
        out.push_str("<p>The models have no differences.</p>\n");
        return;
    }
    push_start(
        out,
        comparison.total,
        comparison.listed.iter().take(MAX_ROWS).map(|listed| listed.count).sum(),
        "change",
        "",
        &["change", "item and differences"],
    );
    for change in comparison.listed.iter().take(MAX_ROWS) {
        out.push_str("<tr>");
        push_cells(out, &[change.change.name(), &short(&change.text, MAX_MESSAGE)]);
    }
    out.push_str("</tbody>\n</table>\n");
}

fn push_diagnostics(out: &mut String, scene: &Scene) {
    let unreported = &scene.about.unreported;
    if !unreported.is_empty() {
        push_args(out, format_args!("<p>Not reported: {}.</p>\n", escaped(&short(unreported, MAX_MESSAGE))));
    }
    if scene.marks.is_empty() {
        if unreported.is_empty() {
            out.push_str("<p>The model has no problems.</p>\n");
        }
        return;
    }
    push_head(out, scene.marks.len(), "problem", &["severity", "code", "message", "node or value"]);
    for mark in scene.marks.iter().take(MAX_ROWS) {
        let class = match mark.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let severity = mark.severity.name();
        push_args(out, format_args!("<tr><td class=\"{class}\">{severity}</td>"));
        push_cells(out, &[mark.code, &short(&mark.message, MAX_MESSAGE), &target(scene, mark)]);
    }
    out.push_str("</tbody>\n</table>\n");
}

fn push_values(out: &mut String, scene: &Scene) {
    push_head(out, scene.values.len(), "value", &["name", "type", "evidence", "definition"]);
    for (at, value) in scene.values.iter().enumerate().take(MAX_ROWS) {
        let evidence = match value.evidence {
            Evidence::Proven => "proven",
            Evidence::Assumed => "assumed",
            Evidence::Incomplete => "incomplete",
        };
        let ty = short(scene.type_text(ValueId::new(at)), MAX_DETAIL);
        let maker = maker(scene, value.maker, value.is_output);
        out.push_str("<tr>");
        push_cells(out, &[&short(&value.name, MAX_DETAIL), &ty, evidence, &maker]);
    }
    out.push_str("</tbody>\n</table>\n");
}

/// The start of a table with its caption, which states the number of rows that are left out.
fn push_head(out: &mut String, count: usize, noun: &str, columns: &[&str]) {
    push_start(out, count, MAX_ROWS, noun, ", and <code>typeloom infer</code> prints all", columns);
}

fn push_start(out: &mut String, count: usize, listed: usize, noun: &str, advice: &str, columns: &[&str]) {
    let more =
        if count > listed { format!("; the first {listed} are listed{advice}") } else { String::new() };
    push_args(out, format_args!("<table>\n<caption>{}{more}</caption>\n<thead><tr>", counted(count, noun)));
    for column in columns {
        push_args(out, format_args!("<th scope=\"col\">{column}</th>"));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
}

/// The cells of a row, and its end.
fn push_cells(out: &mut String, texts: &[&str]) {
    for text in texts {
        push_args(out, format_args!("<td>{}</td>", escaped(text)));
    }
    out.push_str("</tr>\n");
}

/// The first node or value of a diagnostic.
fn target(scene: &Scene, mark: &Mark) -> String {
    match (&mark.nodes[..], &mark.values[..]) {
        ([node, ..], _) => node_text(scene, *node),
        ([], [value, ..]) => short(&scene.value(*value).name, MAX_DETAIL),
        ([], []) => String::new(),
    }
}

fn maker(scene: &Scene, maker: Maker, is_output: bool) -> String {
    let text = match maker {
        Maker::Input => "input".to_owned(),
        Maker::Stored => "stored tensor".to_owned(),
        Maker::Undefined => "undefined".to_owned(),
        Maker::Node { node, output: _ } => node_text(scene, node),
    };
    if is_output { format!("{text}, output") } else { text }
}

/// The operator and the name of a node.
fn node_text(scene: &Scene, node: crate::scene::NodeId) -> String {
    let (operator, name) = (short(&scene.operator(node).name, MAX_NAME), &scene.node(node).name);
    if name.is_empty() { operator } else { format!("{operator} {}", short(name, MAX_DETAIL)) }
}
