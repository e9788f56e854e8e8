//! Facts about one item, in sections.
//!
//! **Invariant:** a section has at most [`MAX_ROWS`] rows and one with the number of the others; texts have a
//! maximum length.

use typeloom_solver::diagnostic::Severity;

use super::Engine;
use super::answers::{Details, Kind, Row, Section};
use super::item::Subject;
use super::targets;
use crate::label::{self, long_type_of, title_of};
use crate::scene::{
    Change, Child, Evidence, GroupId, GroupKind, Maker, Mark, MarkId, NodeId, Scene, ValueId,
};
use crate::text::{MAX_DETAIL, counted, short};

/// Maximum number of listed rows of a section.
pub(super) const MAX_ROWS: usize = 200;

/// Maximum length of a rendered message, in bytes.
const MAX_REPORT: usize = 1 << 16;

impl Engine {
    pub(super) fn details(&self, subject: Subject) -> Details {
        let scene = &self.scene;
        let (kind, title, sections) = match subject {
            Subject::Node(node) => {
                (Kind::Node, short(&scene.node(node).name, MAX_DETAIL), self.of_node(node))
            }
            Subject::Value(value) => {
                (Kind::Value, short(&scene.value(value).name, MAX_DETAIL), self.of_value(value))
            }
            Subject::Group(group) => (Kind::Group, title_of(scene.group(group)), self.of_group(group)),
            Subject::Mark(mark) => (Kind::Diagnostic, subject.name_in(scene), self.of_mark(mark)),
        };
        let sections: Vec<Section> =
            sections.into_iter().filter(|section| !section.rows.is_empty()).collect();
        let (message, text) = match subject {
            Subject::Mark(mark) => (Some(self.message(mark)), self.report(mark)),
            Subject::Node(_) | Subject::Value(_) | Subject::Group(_) => {
                (None, text_of(&subject.name_in(scene), &sections))
            }
        };
        let operator = subject.operator_in(scene);
        Details {
            item: subject.to_string(),
            kind,
            operator,
            title,
            link: self.link(subject),
            text,
            message,
            sections,
        }
    }

    fn of_node(&self, node: NodeId) -> Vec<Section> {
        let scene = &self.scene;
        let (shown, operator) = (scene.node(node), scene.operator(node));
        let mut own = vec![row("operator", short(&operator.name, MAX_DETAIL))];
        if !operator.domain.is_empty() {
            own.push(row("domain", short(&operator.domain, MAX_DETAIL)));
        }
        if !shown.name.is_empty() {
            own.push(row("name", short(&shown.name, MAX_DETAIL)));
        }
        own.push(row("position", format!("#{}", shown.position)));
        own.push(self.row_of("group", Subject::Group(shown.group)));
        if let Some(source) = &shown.source {
            own.push(row("source", short(&source.to_string(), MAX_DETAIL)));
        }
        let attributes =
            shown.attributes.iter().map(|it| row(&short(&it.name, MAX_DETAIL), short(&it.text, MAX_DETAIL)));
        let (mut inputs, mut weights) = (Vec::new(), Vec::new());
        for (at, input) in shown.inputs.iter().enumerate() {
            match input {
                Some(value) if scene.value(*value).maker == Maker::Stored => weights.push((at, *value)),
                Some(value) => inputs.push((at, *value)),
                None => {}
            }
        }
        let outputs: Vec<_> =
            shown.outputs.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))).collect();
        let captures: Vec<_> = shown.captures.iter().copied().enumerate().collect();
        let graphs = shown.bodies.iter().map(|body| self.row_of("graph", Subject::Group(*body)));
        let callee = shown.callee.iter().map(|group| self.row_of("function", Subject::Group(*group)));
        let marks: Vec<MarkId> = (shown.marks.iter().copied())
            .chain(
                weights
                    .iter()
                    .take(MAX_ROWS)
                    .flat_map(|(_, value)| scene.value(*value).marks.iter().copied()),
            )
            .collect();
        let differences = shown.differences.iter().map(|text| row("", short(text, MAX_DETAIL)));
        vec![
            self.diagnostics(&marks),
            change_section(shown.change, differences.collect()),
            Section { title: "Targets".to_owned(), rows: targets::rows_of(scene, node) },
            Section { title: "Node".to_owned(), rows: own },
            section("Attributes", attributes, shown.attributes.len()),
            self.values("Inputs", &inputs),
            self.values("Stored values", &weights),
            self.values("Values of surrounding graphs", &captures),
            self.values("Outputs", &outputs),
            section("Graphs", graphs.chain(callee), shown.bodies.len() + usize::from(shown.callee.is_some())),
        ]
    }

    fn of_value(&self, value: ValueId) -> Vec<Section> {
        let scene = &self.scene;
        let shown = scene.value(value);
        let evidence = match shown.evidence {
            Evidence::Proven => "proven",
            Evidence::Assumed => "part of it depends on an assumed declaration",
            Evidence::Incomplete => "part of it is unknown or in error",
        };
        let mut own = vec![
            Row { ty: short(scene.type_text(value), MAX_DETAIL), ..row("type", String::new()) },
            row("evidence", evidence.to_owned()),
        ];
        own.push(match shown.maker {
            Maker::Node { node, .. } => self.row_of("made by", Subject::Node(node)),
            Maker::Input => row("made by", format!("input of {}", title_of(scene.group(shown.graph)))),
            Maker::Stored => row("made by", "stored in the file".to_owned()),
            Maker::Undefined => row("made by", "undefined".to_owned()),
        });
        if shown.is_output {
            own.push(row("output", format!("of {}", title_of(scene.group(shown.graph)))));
        }
        if let Some(preview) = scene.preview_text(value) {
            own.push(row("elements", short(preview, MAX_DETAIL)));
        }
        let old_type = shown.old_type.map(|ty| row("type was", short(scene.text_of(ty), MAX_DETAIL)));
        let old_name = shown.old_name.as_ref().map(|name| row("name was", short(name, MAX_DETAIL)));
        let differences = old_type.into_iter().chain(old_name).collect();
        let readers = self.index.readers(scene, value);
        let rows = readers.iter().map(|node| self.row_of("", Subject::Node(*node)));
        vec![
            self.diagnostics(&shown.marks),
            change_section(shown.change, differences),
            Section { title: "Value".to_owned(), rows: own },
            section("Read by", rows, readers.len()),
        ]
    }

    fn of_group(&self, group: GroupId) -> Vec<Section> {
        let scene = &self.scene;
        let shown = scene.group(group);
        let mut own = Vec::new();
        if let GroupKind::Scope { class } = &shown.kind
            && !class.is_empty()
        {
            own.push(row("class", short(class, MAX_DETAIL)));
        }
        if !shown.label.is_empty() {
            own.push(row("name", short(&shown.label, MAX_DETAIL)));
        }
        own.push(row("nodes", shown.total.to_string()));
        if shown.errors > 0 {
            own.push(Row {
                severity: Some(Severity::Error.into()),
                ..row("errors", shown.errors.to_string())
            });
        }
        if shown.warnings > 0 {
            let text = shown.warnings.to_string();
            own.push(Row { severity: Some(Severity::Warning.into()), ..row("warnings", text) });
        }
        if let Some(node) = shown.kind.owner() {
            own.push(self.row_of("graph of", Subject::Node(node)));
        } else if let Some(parent) = shown.parent {
            own.push(self.row_of("group", Subject::Group(parent)));
        }
        let ports = |values: &[ValueId]| values.iter().copied().enumerate().collect::<Vec<_>>();
        let children = shown.children.iter().map(|child| {
            let subject = match child {
                Child::Node(node) => Subject::Node(*node),
                Child::Group(group) => Subject::Group(*group),
            };
            self.row_of("", subject)
        });
        let change = shown.change();
        let counts = (change == Change::Changed).then(|| row("below", label::counts(&shown.changes)));
        vec![
            change_section(change, counts.into_iter().collect()),
            Section { title: "Group".to_owned(), rows: own },
            self.values("Inputs", &ports(&shown.inputs)),
            self.values("Outputs", &ports(&shown.outputs)),
            section("Contents", children, shown.children.len()),
        ]
    }

    fn of_mark(&self, mark: MarkId) -> Vec<Section> {
        let shown = self.scene.mark(mark);
        let nodes = shown.nodes.iter().map(|node| self.row_of("node", Subject::Node(*node)));
        let values = shown.values.iter().map(|value| value_row(&self.scene, "value", *value));
        let count = shown.nodes.len() + shown.values.len();
        vec![section("Concerns", nodes.chain(values), count)]
    }

    /// The rendered message of a diagnostic, or its first line.
    fn report(&self, mark: MarkId) -> String {
        let Mark { code, severity, message, report, .. } = self.scene.mark(mark);
        if report.is_empty() {
            return format!("{}[{code}]: {}\n", severity.name(), short(message, MAX_DETAIL));
        }
        cut(report)
    }

    /// The diagnostics of an item.
    fn diagnostics(&self, marks: &[MarkId]) -> Section {
        let rows = marks.iter().map(|mark| {
            let shown = self.scene.mark(*mark);
            Row {
                item: Some(Subject::Mark(*mark).to_string()),
                severity: Some(shown.severity.into()),
                ..row(shown.code, short(&shown.message, MAX_DETAIL))
            }
        });
        section("Diagnostics", rows, marks.len())
    }

    /// Values with their positions, names and types.
    fn values(&self, title: &str, values: &[(usize, ValueId)]) -> Section {
        let rows = values.iter().map(|(at, value)| value_row(&self.scene, &at.to_string(), *value));
        section(title, rows, values.len())
    }

    fn row_of(&self, label: &str, subject: Subject) -> Row {
        let (scene, item) = (&self.scene, Some(subject.to_string()));
        Row { item, operator: subject.operator_in(scene), ..row(label, subject.own_name_in(scene)) }
    }
}

fn value_row(scene: &Scene, label: &str, value: ValueId) -> Row {
    let name = short(&scene.value(value).name, MAX_DETAIL);
    let preview =
        scene.preview_text(value).map_or_else(String::new, |it| format!(" = {}", short(it, MAX_DETAIL)));
    let ty = format!("{}{preview}", long_type_of(scene, value));
    Row { item: Some(Subject::Value(value).to_string()), ty, ..row(label, name) }
}

/// The change of an item and its differences; empty if there is none.
fn change_section(change: Change, mut rows: Vec<Row>) -> Section {
    if change != Change::Same {
        rows.insert(0, row("change", change.name().to_owned()));
    }
    Section { title: "Changes".to_owned(), rows }
}

pub(super) fn row(label: &str, text: String) -> Row {
    Row { label: label.to_owned(), text, ..Row::default() }
}

/// A section of the first rows, and the number of the others.
fn section(title: &str, rows: impl Iterator<Item = Row>, count: usize) -> Section {
    let mut rows: Vec<Row> = rows.take(MAX_ROWS).collect();
    if count > rows.len() {
        rows.push(row("", format!("and {}", counted(count - rows.len(), "other"))));
    }
    Section { title: title.to_owned(), rows }
}

/// The first part of a long text.
fn cut(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= MAX_REPORT) {
        Some((at, _)) => format!("{}\u{2026}", &text[..at]),
        None => text.to_owned(),
    }
}

/// All facts as text.
fn text_of(title: &str, sections: &[Section]) -> String {
    let mut out = format!("{title}\n");
    for Section { title, rows } in sections {
        out.push_str(&format!("\n{title}\n"));
        for Row { label, operator, text, ty, item: _, severity: _ } in rows {
            let name = [operator.as_str(), text].map(|part| Some(part).filter(|part| !part.is_empty()));
            let name: Vec<&str> = name.into_iter().flatten().collect();
            let parts = [label, &name.join(" "), ty];
            let parts: Vec<&str> =
                parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
            out.push_str(&format!("  {}\n", parts.join(": ")));
        }
    }
    out
}
