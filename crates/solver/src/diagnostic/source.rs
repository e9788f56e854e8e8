//! The line of the author's program that a node comes from, out of the node's metadata.
//!
//! Exporters keep a stack trace with each node; PyTorch's writes it as Python prints one, the innermost call
//! last. Frames of installed libraries are rarely part of the user's program, so the innermost frame outside
//! of them is taken. A model of an installed library has no other frames than theirs: then it is the
//! innermost frame outside of PyTorch and of Python itself.

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
const LIBRARIES: [&str; 2] = ["site-packages/", "dist-packages/"];

/// Parts of paths after the folder of installed libraries, if there is one, that belong to the exporter.
const EXPORTERS: [&str; 3] = ["torch/", "functorch/", "torch_onnx/"];

/// Parts of paths that belong to PyTorch wherever it is installed.
const TORCH: [&str; 3] = ["torch/fx/", "torch/nn/modules/", "torch/onnx/"];

/// The part of a path that belongs to Python itself.
const PYTHON: &str = "/lib/python3";

/// The origin of a frame; the best one is the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FrameOrigin {
    Program,
    Library,
    Exporter,
}

impl FrameOrigin {
    fn of(file: &str) -> Self {
        let path = file.replace('\\', "/");
        let installed = LIBRARIES.iter().find_map(|library| path.split_once(library));
        let is_exporter = match installed {
            Some((_, package)) => EXPORTERS.iter().any(|exporter| package.starts_with(exporter)),
            None => path.contains(PYTHON) || path.starts_with('<'),
        };
        if is_exporter || TORCH.iter().any(|part| path.contains(part)) {
            Self::Exporter
        } else if installed.is_some() {
            Self::Library
        } else {
            Self::Program
        }
    }
}

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

/// The innermost frame of a Python stack trace that is outside of libraries; otherwise the innermost one
/// outside of the exporter.
fn innermost(trace: &str) -> Option<SourceLine> {
    let lines: Vec<&str> = trace.lines().collect();
    let frames = lines.iter().enumerate().rev().filter_map(|(at, line)| Some((at, frame(line)?)));
    let known = frames.map(|(at, frame)| (FrameOrigin::of(frame.0), at, frame));
    // The first of equal ones.
    let (_, at, (file, line, function)) =
        known.filter(|(origin, ..)| *origin < FrameOrigin::Exporter).min_by_key(|(origin, ..)| *origin)?;
    let text = lines.get(at + 1).map_or("", |next| next.trim());
    let text = if frame(text).is_some() { "" } else { text };
    Some(SourceLine { file: file.to_owned(), line, function: function.to_owned(), text: text.to_owned() })
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
    fn a_model_of_a_library_has_the_line_of_the_library() {
        let library = "/v/lib/python3.12/site-packages/transformers/models/llama/modeling_llama.py";
        let trace = format!(
            "File \"/v/lib/python3.12/site-packages/torch/export/_trace.py\", line 5, in call\n    f()\nFile \"{library}\", line \
             31, in forward\n    return x * cos\nFile \"/v/lib/python3.12/site-packages/torch/nn/functional.py\", line 9, in f\n    \
             g()\nFile \"<string>\", line 1, in h\nFile \"/usr/lib/python3.12/contextlib.py\", line 81, in inner\n    i()"
        );
        let line = innermost(&trace).unwrap();
        assert_eq!(line.to_string(), format!("{library}:31, in forward: return x * cos"));
        let own = format!("File \"train.py\", line 2, in main\n    model(x)\n{trace}");
        assert_eq!(innermost(&own).unwrap().to_string(), "train.py:2, in main: model(x)");
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
