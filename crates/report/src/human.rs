//! Reports for users: each problem with the printed node and labels under it.
//!
//! ```text
//! error[element-type-mismatch]: `Add` needs one element type, but `x` is float and `mask` is int64
//!   --> model.onnx: node `/attn/Add_3` (#17)
//!    |
//! 17 | scores = Add(x, mask)
//!    |              -  ^^^^ int64, from initializer `mask`
//!    |              |
//!    |              float, because `MatMul_2` takes it from graph input `query`
//!    = note: rule add.element (opset 14)
//!    = help: insert Cast(mask, to=float) before this node
//! ```
//!
//! A node of more than [`MAX_LINE`] characters has one input on a line, so that a terminal of 80 columns does not
//! wrap it and labels stay under their text. Other lines are neither wrapped nor cut.

use std::borrow::Cow;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Message, Origin, Renderer, Snippet};
use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::{
    Diagnostic, Explanation, Label, Location, Reason, Severity, Snippet as Printed, SourceLine, input_starts,
};

/// A width that no line exceeds, so that no line is cut.
const WIDTH: usize = 1 << 24;

/// Maximum number of characters of a node on one line.
pub const MAX_LINE: usize = 72;

/// The start of a line that continues a node; the number that is printed before it is removed.
const CONTINUED: char = '\u{e001}';

/// Follows a location; the line and column that are printed after it are removed.
const NO_COLUMN: char = '\u{e000}';

/// Whether a text is in colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Color {
    /// Plain text.
    #[default]
    Never,
    /// With escape sequences of a terminal.
    Always,
}

/// One problem of a file, ending in a line break.
#[must_use]
pub fn diagnostic(file: &str, diagnostic: &Diagnostic, color: Color) -> String {
    let location = &diagnostic.location;
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group =
        Group::with_title(level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.name()));
    if diagnostic.snippets.is_empty() && !file.is_empty() {
        group = group.element(Origin::path(at(file, location)));
    }
    for snippet in &diagnostic.snippets {
        let at = at(file, snippet.location.as_ref().unwrap_or(location));
        group = group.element(source_of(snippet, &at));
    }
    group = group
        .elements(diagnostic.notes.iter().map(|note| Level::NOTE.message(note.as_str())))
        .elements(diagnostic.help.iter().map(|help| Level::HELP.message(help.as_str())))
        .elements(diagnostic.source.iter().map(from));
    render(&[group], color)
}

/// All problems of a file, with an empty line between them.
#[must_use]
pub fn diagnostics(file: &str, diagnostics: &[Diagnostic], color: Color) -> String {
    let texts: Vec<String> = diagnostics.iter().map(|one| diagnostic(file, one, color)).collect();
    texts.join("\n")
}

/// The explanation of a value's type: the chain of its causes.
#[must_use]
pub fn explanation(file: &str, explanation: &Explanation, color: Color) -> String {
    let Explanation { value, location, ty, reasons, hidden, extents } = explanation;
    let title = |text: String| Group::with_title(Level::NOTE.primary_title(escape(&text).into_owned()));
    let mut texts = Vec::new();
    let of_extents = || {
        let notes = extents.iter().map(|extent| Level::NOTE.message(escape(extent).into_owned()));
        let group = title(format!("`{value}` is {ty}")).element(Origin::path(at(file, location)));
        render(&[group.elements(notes)], color)
    };
    if reasons.is_empty() {
        texts.push(of_extents());
    }
    for (index, reason) in reasons.iter().enumerate() {
        let Reason { text, location, rule, snippet, source } = reason;
        if *hidden > 0 && index + 1 == reasons.len() {
            texts.push(format!("... {hidden} more steps ...\n"));
        }
        let mut group = title(text.clone());
        let at = at(file, location);
        group = match snippet {
            Some(snippet) => group.element(source_of(snippet, &at)),
            None => group.element(Origin::path(at)),
        };
        let rule = (!rule.is_empty()).then(|| Level::NOTE.message(format!("rule {rule}")));
        texts.push(render(&[group.elements(rule).elements(source.iter().map(from))], color));
    }
    if !(reasons.is_empty() || extents.is_empty()) {
        texts.push(of_extents());
    }
    texts.join("\n")
}

fn from(source: &SourceLine) -> Message<'_> {
    Level::NOTE.message(escape(&format!("from {source}")).into_owned())
}

fn render(groups: &[Group<'_>], color: Color) -> String {
    let renderer = match color {
        Color::Never => Renderer::plain(),
        Color::Always => Renderer::styled(),
    };
    let text = renderer.term_width(WIDTH).decor_style(DecorStyle::Ascii).render(groups);
    let lines: Vec<&str> = text.lines().collect();
    let mut kept = String::with_capacity(text.len() + 1);
    for (at, line) in lines.iter().enumerate() {
        // Notes follow the node directly.
        let spacer = visible(line).trim() == "|";
        if spacer && lines.get(at + 1).is_some_and(|next| visible(next).trim_start().starts_with("= ")) {
            continue;
        }
        push_without_column(&mut kept, &without_number(line));
        kept.push('\n');
    }
    kept
}

/// Removes the line and column after a location: a printed node is not a line of the file.
fn push_without_column(text: &mut String, line: &str) {
    let Some((before, after)) = line.split_once(NO_COLUMN) else { return text.push_str(line) };
    text.push_str(before);
    text.push_str(after.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit()));
}

/// A line that continues a node, without the number before it: the number is that of another node.
fn without_number(line: &str) -> Cow<'_, str> {
    let Some((before, after)) = line.split_once(CONTINUED) else { return Cow::Borrowed(line) };
    let mut text = String::with_capacity(line.len());
    let mut is_escape = false;
    for letter in before.chars() {
        is_escape = (is_escape || letter == '\u{1b}') && letter != 'm';
        text.push(if letter.is_ascii_digit() && !is_escape { ' ' } else { letter });
    }
    Cow::Owned(text + " " + after)
}

/// A line without the escape sequences that colour it.
fn visible(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        text.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    text
}

fn at(file: &str, location: &Location) -> String {
    let text = match (file, location.to_string()) {
        (file, location) if location.is_empty() => file.to_owned(),
        ("", location) => location,
        (file, location) => format!("{file}: {location}"),
    };
    escape(&text).into_owned()
}

/// The characters before an input on a line of its own.
const BREAK: &str = "\n\u{e001}   ";

/// The text of a node, with each input on a line of its own if it is wide: the text, and the positions of these
/// inputs in the given text and in the result.
fn on_lines(text: &str) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    let starts = if text.chars().count() > MAX_LINE { input_starts(text) } else { Vec::new() };
    if starts.is_empty() {
        return (Cow::Borrowed(text), Vec::new());
    }
    let mut lines = String::with_capacity(text.len() + starts.len() * BREAK.len());
    let (mut moves, mut from) = (Vec::new(), 0);
    for start in starts {
        lines.push_str(text[from..start].trim_end());
        lines.push_str(BREAK);
        moves.push((start, lines.len()));
        from = start;
    }
    lines.push_str(&text[from..]);
    (Cow::Owned(lines), moves)
}

fn source_of<'s>(snippet: &'s Printed, at: &str) -> Snippet<'s, Annotation<'s>> {
    let Printed { text, line, location: _, labels } = snippet;
    let (text, moves) = on_lines(text);
    let moved = |at: usize| {
        let last = moves.iter().take_while(|(from, _)| *from <= at).last();
        last.map_or(at, |(from, to)| to + (at - from))
    };
    let annotations = labels.iter().map(|Label { span, text, primary }| {
        let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        // A part ends after its last character, not at the start of the next line.
        let end = if span.is_empty() { moved(span.start) } else { moved(span.end - 1) + 1 };
        let annotation = kind.span(moved(span.start)..end);
        if text.is_empty() { annotation } else { annotation.label(text.as_str()) }
    });
    Snippet::source(text)
        .fold(false)
        .path(format!("{at}{NO_COLUMN}"))
        .line_start(line.unwrap_or_default())
        .line_numbering(line.is_some())
        .annotations(annotations)
}
