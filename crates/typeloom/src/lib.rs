//! typeloom proves the type of every value in a tensor program, and carries those types across
//! modules, processes and languages.
//!
//! This crate is the one public surface with a stability promise; it alone re-exports.
//!
//! ```
//! let text = r#"<ir_version: 10, opset_import: ["" : 21]>
//! g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }"#;
//! let bytes = typeloom::model_from_text(text)?;
//!
//! let mut checked = typeloom::check(&bytes, &typeloom::Options::default())?;
//! assert!(checked.is_ok());
//! let y = checked.find("y").expect("the graph has a value `y`");
//! assert_eq!(checked.display_type(y), "float[N, 4]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | check a model | [`check`], [`Options`], [`Checked`] |
//! | show what was found | [`report`] |
//! | type a graph of declared operators | [`TypeSolver`] |
//! | add types to the tree | [`TypeNode`], [`Lattice`], [`Storage`] |
//! | read and write ONNX | [`onnx`] |
//! | look operators up | [`ops`] |

use std::sync::{Arc, OnceLock};

use typeloom_ops::catalogue::Standard;
use typeloom_solver::universe::Universe;

pub use typeloom_onnx as onnx;
pub use typeloom_ops as ops;
pub use typeloom_report as report;
pub use typeloom_solver as solver;
pub use typeloom_types as types;

pub use typeloom_solver::model::{CheckError, Checked, Mode, Options, Seed};

/// Checks a serialized ONNX model against the standard operators and the default type tree.
///
/// # Errors
/// [`CheckError`] where the bytes are not a model; what is wrong with a model is in [`Checked`].
pub fn check<'a>(bytes: &'a [u8], options: &Options) -> Result<Checked<'a>, CheckError> {
    typeloom_solver::model::check(bytes, &Standard, universe(), options)
}

/// A model in ONNX's textual syntax, serialized.
///
/// # Errors
/// [`onnx::text::ParseError`] with the place of the mistake.
pub fn model_from_text(text: &str) -> Result<Vec<u8>, onnx::text::ParseError> {
    use onnx::prost::Message as _;
    onnx::text::parse_model(text).map(|model| model.encode_to_vec())
}

/// The element types of the default type tree.
fn universe() -> &'static Arc<Universe> {
    static UNIVERSE: OnceLock<Arc<Universe>> = OnceLock::new();
    UNIVERSE.get_or_init(|| {
        Universe::of_default_lattice().expect("a program registers fewer element types than there are numbers")
    })
}
