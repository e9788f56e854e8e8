//! typeloom proves the type of every value in a tensor program.
//!
//! This crate is the one public surface with a stability promise; everything else is behind it.

use std::sync::{Arc, OnceLock};

use typeloom_ops::catalogue::Standard;
use typeloom_solver::universe::Universe;

pub use typeloom_report::infer;
pub use typeloom_solver::model::{CheckError, Checked, Mode, Options};

/// Checks a serialized ONNX model against the standard operators and the default type tree.
///
/// # Errors
/// [`CheckError`] where the bytes are not a model; what is wrong with a model is in [`Checked`].
pub fn check<'a>(bytes: &'a [u8], options: &Options) -> Result<Checked<'a>, CheckError> {
    typeloom_solver::model::check(bytes, &Standard, universe(), options)
}

/// The element types of the default type tree.
fn universe() -> &'static Arc<Universe> {
    static UNIVERSE: OnceLock<Arc<Universe>> = OnceLock::new();
    UNIVERSE.get_or_init(|| {
        Universe::of_default_lattice().expect("a program registers fewer element types than there are numbers")
    })
}
