//! The full pipeline of a model file: check, types, diagnostics, rendering.

use typeloom_report as report;
use typeloom_solver::diagnostic::{Diagnostic, diagnose, diagnose_error};
use typeloom_solver::model::{Mode, Options};

/// Checks the bytes strictly and permissively and renders all reports.
pub fn check(bytes: &[u8]) {
    for (mode, trace) in [(Mode::Strict, false), (Mode::Permissive, true)] {
        let options = Options { mode, trace, ..Options::default() };
        match typeloom_ops::check::check(bytes, &options) {
            Ok(mut checked) => {
                let _ = report::infer::types(&mut checked);
                render(&diagnose(&mut checked));
            }
            Err(error) => render(diagnose_error(&error).as_slice()),
        }
    }
}

fn render(diagnostics: &[Diagnostic]) {
    let _ = report::human::diagnostics("model.onnx", diagnostics, report::human::Color::Never);
    for diagnostic in diagnostics {
        let _ = report::concise::diagnostic("model.onnx", diagnostic);
        let _ = report::json::diagnostic("model.onnx", diagnostic);
        let _ = report::github::diagnostic("model.onnx", diagnostic);
    }
    let _ = report::sarif::document([("model.onnx", diagnostics)]);
}
