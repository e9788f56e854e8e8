//! Runs a checked model on tensors and reports the sizes of its symbols.
//!
//! `cargo run --example run_model`

use std::collections::HashMap;

use typeloom::check::{Options, check};
use typeloom::onnx::model_from_text;
use typeloom::run::{Verify, session};
use typeloom::types::AnyTensor;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[expect(clippy::print_stdout, reason = "an example prints")]
pub(crate) fn main() -> Outcome<()> {
    println!("{}", walk()?.join("\n"));
    Ok(())
}

/// The printed lines.
pub(crate) fn walk() -> Outcome<Vec<String>> {
    let model = model_from_text(
        r#"<ir_version: 10, opset_import: ["" : 21]>
        layer (float[N, 2] x, float[2, M] w) => (y) { h = MatMul(x, w)  y = Softmax(h) }"#,
    )?;
    let mut checked = check(&model, &Options::default())?;
    if !checked.is_ok() {
        return Err("the model has errors".into());
    }
    let session = session(&mut checked)?;
    let inputs = session.inputs().iter().map(|port| format!("{}: {}", port.name, port.ty));
    let mut lines: Vec<String> = inputs.collect();

    let run = |rows: &[f32]| -> Outcome<_> {
        let x = AnyTensor::from_slice(&[rows.len() / 2, 2], rows)?;
        let w = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 0.0, 0.0, 1.0])?;
        let inputs = HashMap::from([("x".to_owned(), x.into()), ("w".to_owned(), w.into())]);
        Ok(session.run(inputs, Verify::EveryValue)?)
    };
    for rows in [&[0.0, 0.0][..], &[1.0, 1.0, 2.0, 2.0]] {
        let outcome = run(rows)?;
        let y = outcome.get("y").and_then(|y| y.as_tensor()).ok_or("the output is a tensor")?;
        let symbols: Vec<String> =
            outcome.symbols.iter().map(|(name, size)| format!("{name} = {size}")).collect();
        lines.push(format!("{}: y = {:?}", symbols.join(", "), y.as_slice::<f32>()?));
    }
    Ok(lines)
}
