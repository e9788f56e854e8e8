//! The error of a converted model as text and as JSON.

use serde_json::{Value, json};
use typeloom_onnx::text::escape;

use super::measure::{Measurement, ValueError};

/// The number of inner values in the text.
const MAX_VALUES: usize = 8;

impl Measurement {
    /// The errors as lines: the outputs, the inner values with the largest errors, and the nodes to keep.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut push = |line: &str| text.push_str(&format!("{}\n", escape(line)));
        for ValueError { value, operator, relative, .. } in &self.outputs {
            push(&format!("error of output {value} ({operator}): {relative:.1e}"));
        }
        let inner = self.values.iter().filter(|error| error.relative > 0.0).take(MAX_VALUES);
        for ValueError { value, operator, relative, inputs, .. } in inner {
            push(&format!("error of {value} ({operator}): {relative:.1e}, of its inputs {inputs:.1e}"));
        }
        for node in &self.proposed {
            push(&format!("increases the error most: --keep {}", quoted(node)));
        }
        text
    }

    /// The errors as JSON.
    #[must_use]
    pub fn value(&self) -> Value {
        let error = |ValueError { value, node, operator, relative, inputs, is_converted }: &ValueError| {
            // JSON has no infinity.
            let number = |number: f64| if number.is_finite() { json!(number) } else { json!("inf") };
            json!({
                "value": value,
                "node": node,
                "operator": operator,
                "relative": number(*relative),
                "inputs": number(*inputs),
                "converted": is_converted,
            })
        };
        json!({
            "outputs": self.outputs.iter().map(error).collect::<Vec<Value>>(),
            "values": self.values.iter().map(error).collect::<Vec<Value>>(),
            "proposed": self.proposed,
        })
    }
}

/// A name for a shell.
fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:".contains(letter);
    if name.chars().all(is_plain) { name.to_owned() } else { format!("'{name}'") }
}
