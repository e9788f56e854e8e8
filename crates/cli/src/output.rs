//! Text output, colours and exit codes.

use std::io::{IsTerminal as _, Write as _};

use typeloom_project::parts::onnx::text::{escape, is_unsafe};
use typeloom_project::parts::solver::diagnostic::Diagnostic;

use crate::args::Color;
use crate::exit::Outcome;

impl Color {
    /// The parameter of renderers for a file.
    pub(crate) fn paint_file(self) -> typeloom_project::parts::report::human::Color {
        match self {
            Self::Always => typeloom_project::parts::report::human::Color::Always,
            Self::Never | Self::Auto => typeloom_project::parts::report::human::Color::Never,
        }
    }

    /// The parameter of renderers for standard output.
    pub(crate) fn paint(self) -> typeloom_project::parts::report::human::Color {
        let on_terminal = || std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        match self {
            Self::Always => typeloom_project::parts::report::human::Color::Always,
            Self::Auto if on_terminal() => typeloom_project::parts::report::human::Color::Always,
            Self::Never | Self::Auto => typeloom_project::parts::report::human::Color::Never,
        }
    }
}

/// Escapes unsafe characters, except line breaks and the sequences that set colours.
///
/// Text of a model is escaped when a message is composed, see [`escape`]. This is a second barrier for
/// finished output.
pub(crate) fn guarded(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c| is_unsafe(c) && c != '\n') {
        let (before, after) = rest.split_at(at);
        safe.push_str(before);
        let length = match colour(after) {
            Some(length) => {
                safe.push_str(&after[..length]);
                length
            }
            None => {
                let length = after.chars().next().map_or(0, char::len_utf8);
                safe.push_str(&escape(&after[..length]));
                length
            }
        };
        rest = &after[length..];
    }
    safe + rest
}

/// The length of the sequence that a text begins with, if it sets colours.
fn colour(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

/// The columns of the terminal that standard output is, or those that the variable `COLUMNS` sets for it.
pub(crate) fn terminal_width() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|it| *it > 0);
    set.or_else(|| width_of(&out))
}

#[cfg(feature = "terminal")]
fn width_of(out: &std::io::Stdout) -> Option<usize> {
    terminal_size::terminal_size_of(out).map(|(width, _)| usize::from(width.0))
}

#[cfg(not(feature = "terminal"))]
fn width_of(_: &std::io::Stdout) -> Option<usize> {
    None
}

/// Maximum width of an aligned column, in characters; wider entries are not aligned. Widths of formats have
/// 16 bits.
pub(crate) const MAX_COLUMN: usize = 1000;

/// Writes to standard output. A closed reader (`| head`) ends the program quietly.
pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    match try_write(text)? {
        Reader::Open => Ok(()),
        Reader::Closed => std::process::exit(0),
    }
}

/// Whether standard output still has a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reader {
    Open,
    Closed,
}

/// Writes text of this command, which contains nothing of a model, to standard output without escapes.
#[cfg(feature = "shell")]
pub(crate) fn write_plain(text: &[u8]) -> anyhow::Result<()> {
    match send(text)? {
        Reader::Open => Ok(()),
        Reader::Closed => std::process::exit(0),
    }
}

/// Writes to standard output.
pub(crate) fn try_write(text: &str) -> anyhow::Result<Reader> {
    send(guarded(text).as_bytes())
}

fn send(bytes: &[u8]) -> anyhow::Result<Reader> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Reader::Closed),
        written => Ok(written.map(|()| Reader::Open)?),
    }
}

/// Writes an error of the command or of a file to standard error.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut err = anstream::stderr().lock();
    // A closed standard error cannot be reported.
    let _ = writeln!(err, "typeloom: {}", escape(&format!("{error:#}")));
}

/// Writes the output of another program to standard error, indented.
#[cfg(feature = "rust")]
pub(crate) fn quote(text: &str) {
    let mut err = anstream::stderr().lock();
    for line in text.lines() {
        // As above.
        let _ = writeln!(err, "  | {}", escape(line));
    }
}

/// Writes finished text to standard error, because standard output has a report for programs.
pub(crate) fn aside(text: &str) -> anyhow::Result<()> {
    let mut err = anstream::stderr().lock();
    // As above.
    let _ = write!(err, "{}", guarded(text));
    Ok(())
}

/// Writes additional information about an answer to standard error.
pub(crate) fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    // As above.
    let _ = writeln!(err, "note: {}", escape(text));
}

/// Shows the problems of a model that prevent a command.
pub(crate) fn refuse(
    file: &str,
    diagnostics: &[Diagnostic],
    color: Color,
    verdict: &str,
) -> anyhow::Result<Outcome> {
    write(&typeloom_project::parts::report::human::diagnostics(file, diagnostics, color.paint()))?;
    write(&format!("{file}: {verdict}\n"))?;
    Ok(Outcome::Problems)
}

/// The exit code of a command; an error is reported.
pub(crate) fn exit_code(result: anyhow::Result<Outcome>) -> u8 {
    let outcome = result.unwrap_or_else(|error| {
        complain(&error);
        Outcome::Unusable
    });
    outcome.code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_line_breaks_are_kept_and_nothing_else() {
        let coloured = "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m\n";
        assert_eq!(guarded(coloured), coloured);
        assert_eq!(guarded("a\u{1b}[2Jb\r\u{202e}\u{1b}"), "a\\u{1b}[2Jb\\u{d}\\u{202e}\\u{1b}");
    }
}
