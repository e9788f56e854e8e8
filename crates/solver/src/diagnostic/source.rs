//! The line of the author's program that a node comes from, out of the node's metadata.
//!
//! Exporters keep a stack trace with each node; PyTorch's writes it as Python prints one, the
//! innermost call last. Frames of installed libraries belong to the exporter, not to the user's program,
//! so the innermost frame outside of them is taken.

use std::fmt;

use serde::Serialize;
use typeloom_onnx::view::NodeView;

use super::clip;

/// The key under which PyTorch's exporter keeps the stack trace of a node.
const STACK_TRACE: &str = "pkg.torch.onnx.stack_trace";

/// Maximum length of a displayed path or line, in characters.
const MAX_CHARS: usize = 160;

/// The maximum size of a stack trace that is read, in bytes.
const MAX_BYTES: usize = 1 << 16;

/// Parts of paths that belong to installed libraries.
const LIBRARIES: [&str; 6] =
    ["site-packages/", "dist-packages/", "/lib/python3", "torch/fx/", "torch/nn/modules/", "torch/onnx/"];

/// A line of source text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceLine {
    /// The file, as the exporter wrote it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The enclosing function; empty if unknown.
    pub function: String,
    /// The text of the line; empty if unknown.
    pub text: String,
}

impl SourceLine {
    /// The source line of a node, if its metadata has one.
    #[must_use]
    pub fn of_node(node: NodeView<'_>) -> Option<Self> {
        of_node(node)
    }

    /// Reads `file:line:column`.
    #[must_use]
    pub fn at(location: &str) -> Option<Self> {
        let (rest, _column) = location.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let line = line.parse().ok()?;
        Some(Self { file: file.to_owned(), line, function: String::new(), text: String::new() })
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, function, text } = self;
        write!(f, "{}:{line}", clip(file, MAX_CHARS))?;
        if !function.is_empty() {
            write!(f, ", in {}", clip(function, MAX_CHARS))?;
        }
        if text.is_empty() { Ok(()) } else { write!(f, ": {}", clip(text, MAX_CHARS)) }
    }
}

/// The key under which a recorded module keeps the line of a node: `file:line:column`.
const LINE: &str = "typeloom.place";

/// The source line of a node, if its metadata has one.
pub(super) fn of_node(node: NodeView<'_>) -> Option<SourceLine> {
    let own = |entry: &typeloom_onnx::view::EntryView<'_>| entry.key() == Ok(LINE);
    if let Some(entry) = node.metadata_props().filter_map(Result::ok).find(own) {
        return SourceLine::at(entry.value().ok()?);
    }
    let entry = node.metadata_props().filter_map(Result::ok).find(|entry| entry.key() == Ok(STACK_TRACE))?;
    let trace = entry.value().ok()?;
    if trace.len() > MAX_BYTES { None } else { innermost(trace) }
}

/// The innermost frame of a Python stack trace that is outside of libraries.
fn innermost(trace: &str) -> Option<SourceLine> {
    let lines: Vec<&str> = trace.lines().collect();
    lines.iter().enumerate().rev().find_map(|(at, line)| {
        let (file, line, function) = frame(line)?;
        let path = file.replace('\\', "/");
        if LIBRARIES.iter().any(|library| path.contains(library)) {
            return None;
        }
        let text = lines.get(at + 1).map_or("", |next| next.trim());
        let text = if frame(text).is_some() { "" } else { text };
        Some(SourceLine { file: file.to_owned(), line, function: function.to_owned(), text: text.to_owned() })
    })
}

/// Reads `File "decoder.py", line 91, in forward`.
fn frame(line: &str) -> Option<(&str, u32, &str)> {
    let rest = line.trim().strip_prefix("File \"")?;
    let (file, rest) = rest.split_once("\", line ")?;
    let (number, function) = match rest.split_once(',') {
        Some((number, rest)) => (number, rest.trim().strip_prefix("in ").unwrap_or("")),
        None => (rest, ""),
    };
    Some((file, number.trim().parse().ok()?, function.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_frame_outside_of_libraries_is_taken() {
        let trace = "File \"model.py\", line 10, in forward\n    x = self.block(x)\nFile \"block.py\", line 3, in \
                     forward\n    return x + mask\nFile \"/v/site-packages/torch/nn/functional.py\", line 9, in f\n    g()";
        let line = innermost(trace).unwrap();
        assert_eq!(line.to_string(), "block.py:3, in forward: return x + mask");
    }

    #[test]
    fn a_frame_without_text_or_function_is_still_a_line() {
        assert_eq!(innermost("File \"a.py\", line 7").unwrap().to_string(), "a.py:7");
        let two = "File \"a.py\", line 7, in f\nFile \"torch/fx/passes/p.py\", line 1, in g";
        assert_eq!(innermost(two).unwrap().to_string(), "a.py:7, in f");
    }

    #[test]
    fn a_malformed_trace_is_ignored() {
        for text in
            ["", "nothing here", "File \"a.py\", line x, in f", "File \"torch/fx/passes/p.py\", line 1, in g"]
        {
            assert_eq!(innermost(text), None, "{text}");
        }
    }
}
