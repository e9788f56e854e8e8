//! Checks of models against the standard operators and the default type tree.

use typeloom_solver::model::{CheckError, Checked, Options};
use typeloom_solver::universe::Universe;

use crate::described::Operators;

/// The operators of ONNX and ONNX Runtime.
pub static STANDARD: Operators = Operators::standard();

/// Checks a serialized model against the standard operators.
///
/// # Errors
/// [`CheckError`] if the bytes are not a model.
pub fn check<'a>(bytes: &'a [u8], options: &Options) -> Result<Checked<'a>, CheckError> {
    check_with(bytes, options, &STANDARD)
}

/// Checks a serialized model against the given operators.
///
/// # Errors
/// [`CheckError`] if the bytes are not a model.
pub fn check_with<'a>(
    bytes: &'a [u8],
    options: &Options,
    operators: &'a Operators,
) -> Result<Checked<'a>, CheckError> {
    typeloom_solver::model::check(bytes, operators, Universe::standard(), options)
}
