//! Checks a model, prints its values and problems, and applies the fix of the first problem.
//!
//! `cargo run --example check_and_print`

use std::fmt::Write as _;

use typeloom::check::{Color, Options, check, render};
use typeloom::onnx::model_from_text;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Outcome<()> {
    print!("{}", walk()?);
    Ok(())
}

/// The printed text.
pub(crate) fn walk() -> Outcome<String> {
    let model = model_from_text(
        r#"<ir_version: 10, opset_import: ["" : 21]>
        scores (float[N, 4] query, float[4, 8] weights, int64[8] mask) => (y) {
            hidden = MatMul(query, weights)
            y = Add(hidden, mask)
        }"#,
    )?;
    let mut checked = check(&model, &Options::default())?;
    let mut out = String::new();
    for value in checked.values() {
        writeln!(out, "{value} from {}", value.origin())?;
    }
    let diagnostics = checked.diagnostics();
    for diagnostic in &diagnostics {
        out += &render("scores.onnx", diagnostic, Color::Never);
    }
    let first = diagnostics.first().ok_or("the model has a problem")?;
    let fixed = checked.apply_fix(first).ok_or("the problem has a fix")?;
    let mut checked = check(&fixed, &Options::default())?;
    writeln!(out, "after the fix: {}", checked.value("y").ok_or("the model has this value")?)?;
    Ok(out)
}
