//! One line per problem: `model.onnx:17: error[element-type-mismatch]: ...`.
//!
//! The file is followed by the path of a nested graph or function, if any, and by the position of the node.

use typeloom_onnx::text::escape;
use typeloom_solver::diagnostic::{Diagnostic, Location};

/// One problem of a file, without line break.
#[must_use]
pub fn diagnostic(file: &str, diagnostic: &Diagnostic) -> String {
    let Diagnostic { code, severity, message, location, .. } = diagnostic;
    let Location { function, graph, node, value: _, offset, subjects: _ } = location;
    let parts = [
        Some(file.to_owned()),
        function.clone(),
        Some(graph.to_string()).filter(|graph| !graph.is_empty()),
        node.as_ref().map(|node| node.index.to_string()),
        offset.map(|offset| offset.to_string()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().map(|part| escape(&part).into_owned()).collect();
    format!("{}: {severity}[{code}]: {}", parts.join(":"), escape(message))
}
