//! Operator descriptions: reads arbitrary text and checks a model with the described operators.

use std::sync::OnceLock;

use typeloom_ops::described::{Described, Operators};
use typeloom_solver::catalogue::Catalogue as _;
use typeloom_solver::diagnostic::diagnose;
use typeloom_solver::model::{Mode, Options};

/// Nodes of operators `A` to `D` of the domain `d`, with symbols, numbers and a constant among their inputs.
const MODEL: &str = r#"<ir_version: 10, opset_import: ["" : 21, "d" : 1]>
g (float[N, 6, 4] x, float[4, M] w, float[] u) => (y) <int64[3] n = {2, 0, -1}> {
   a = d.A <k = 2, mode = "x", list = [3, -4]> (x, w, n)
   b = d.B (w)
   c = d.C <k = 0> (a, u)
   y = d.D (x, x, x, n)
}"#;

fn model() -> &'static [u8] {
    static MODEL_BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    MODEL_BYTES.get_or_init(|| typeloom_onnx::text::model_bytes(MODEL).expect("the text is a model"))
}

/// Reads the bytes as a description and checks a model with the described operators.
pub fn described(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(described) = Described::parse(text) else { return };
    for (domain, _) in described.domains() {
        let _ = described.names(domain);
    }
    let operators = Operators::standard().with(described);
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    if let Ok(mut checked) = typeloom_ops::check::check_with(model(), &options, &operators) {
        let _ = diagnose(&mut checked);
    }
}
