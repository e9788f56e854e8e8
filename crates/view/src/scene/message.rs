//! The parts of a message: the printed nodes and declarations with their labels, notes, and the help.
//!
//! A page lays them out. The rendered message ([`Mark::report`](super::Mark::report)) has the same facts as
//! text of a fixed width.

use std::ops::Range;

use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::{Diagnostic, Location, Snippet, input_starts};

use super::{NodeId, ValueId};

/// The parts of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The nodes and declarations; the first is the one with the problem.
    pub excerpts: Vec<Excerpt>,
    /// Further explanation; a note can have several lines.
    pub notes: Vec<String>,
    /// A proposed repair; empty if there is none.
    pub help: String,
    /// The line of the author's program; empty if unknown.
    pub source: String,
}

/// A printed node or declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excerpt {
    /// The location as text; of a node that the scene has, without its operator and name.
    pub location: String,
    /// The node, if the scene has it.
    pub node: Option<NodeId>,
    /// The value of a declaration or `Constant`, if the scene has it.
    pub value: Option<ValueId>,
    /// The text; of a node, each input has a line of its own.
    pub lines: Vec<ExcerptLine>,
}

/// A line of an excerpt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExcerptLine {
    /// The text.
    pub text: String,
    /// The labels below it, in the order of the text.
    pub labels: Vec<ExcerptLabel>,
}

/// A label of a part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcerptLabel {
    /// The bytes of the line.
    pub span: Range<u32>,
    /// May be empty.
    pub text: String,
    /// Whether this part is the cause of the problem.
    pub is_primary: bool,
}

impl Message {
    /// The parts of a message; `find` returns the node or value at a location.
    pub(super) fn of(
        diagnostic: &Diagnostic,
        find: impl Fn(&Location) -> (Option<NodeId>, Option<ValueId>),
    ) -> Self {
        let place = |snippet: Option<&Snippet>| {
            let location = snippet.and_then(|it| it.location.as_ref()).unwrap_or(&diagnostic.location);
            let (node, value) = find(location);
            let lines = snippet.map(lines).unwrap_or_default();
            let mut shown = location.to_string();
            // Next to the operator and the name of the node, its position is enough.
            if let (Some(_), Some(at)) = (node, &location.node) {
                shown = shown.replacen(&at.to_string(), &format!("#{}", at.index), 1);
            }
            Excerpt { location: escape(&shown).into_owned(), node, value, lines }
        };
        let mut excerpts: Vec<Excerpt> = diagnostic.snippets.iter().map(|it| place(Some(it))).collect();
        if excerpts.is_empty() {
            excerpts.push(place(None));
        }
        Self {
            excerpts,
            notes: diagnostic.notes.clone(),
            help: diagnostic.help.clone().unwrap_or_default(),
            source: diagnostic.source.as_ref().map_or_else(String::new, ToString::to_string),
        }
    }
}

/// The lines of a printed node or declaration.
fn lines(snippet: &Snippet) -> Vec<ExcerptLine> {
    // Only nodes have inputs.
    let starts = if snippet.line.is_some() { input_starts(&snippet.text) } else { Vec::new() };
    let ends = starts.iter().copied().chain([snippet.text.len()]);
    let ranges = std::iter::once(0).chain(starts.iter().copied()).zip(ends);
    let lines = ranges.map(|(from, to)| {
        let text = snippet.text[from..to].trim_end();
        let to = from + text.len();
        let own = snippet.labels.iter().filter(|label| (from..to.max(from + 1)).contains(&label.span.start));
        let labels = own.map(|label| {
            let at = |at: usize| u32::try_from(at.clamp(from, to) - from).unwrap_or(u32::MAX);
            ExcerptLabel {
                span: at(label.span.start)..at(label.span.end),
                text: label.text.clone(),
                is_primary: label.primary,
            }
        });
        ExcerptLine { text: text.to_owned(), labels: labels.collect() }
    });
    // Without inputs, the last line is empty.
    lines.filter(|line| !line.text.is_empty() || !line.labels.is_empty()).collect()
}
