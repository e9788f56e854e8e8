//! The interfaces of two versions of a model and the differences that break callers.
//!
//! `cargo run --example interface_diff`

use typeloom::interface::{Direction, Interface, PortIdentity, compare};
use typeloom::onnx::model_from_text;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn interface(graph: &str) -> Outcome<Interface> {
    let model = model_from_text(&format!(r#"<ir_version: 10, opset_import: ["" : 21]> {graph}"#))?;
    Ok(Interface::of(&model)?)
}

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Outcome<()> {
    println!("{}", walk()?.join("\n"));
    Ok(())
}

/// The printed lines.
pub(crate) fn walk() -> Outcome<Vec<String>> {
    let old = interface("g (float[N, 3] x) => (y) { y = Relu(x) }")?;
    let new = interface("g (float[N, M] x, float[M] bias) => (y) { h = Add(x, bias)  y = Relu(h) }")?;
    let mut lines = vec![format!("old: {old}"), format!("new: {new}")];
    for direction in [Direction::Backward, Direction::Forward] {
        let comparison = compare(&old, &new, direction, PortIdentity::NameAndPosition);
        lines.push(format!("{direction} compatible: {}", comparison.is_compatible()));
        for difference in &comparison.differences {
            let kind = if comparison.is_breaking(difference) { "breaking" } else { "harmless" };
            lines.push(format!("  {kind}: {} {}", difference.path, difference.change));
        }
    }
    Ok(lines)
}
