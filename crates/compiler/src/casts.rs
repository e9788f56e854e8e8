//! Casts between solved types: which exist, and which keep every value.

use typeloom_solver::elem::Elem;
use typeloom_solver::value_type::{Element, ValueType};

use typeloom_rewrite::coerce::keeps_values;

/// The element type, if a cast can read and write it: a number that ONNX defines.
fn number(ty: &ValueType) -> Option<Elem> {
    let (Element::Tensor(Some(dtype)) | Element::Scalar(Some(dtype))) = ty.element else { return None };
    let elem = Elem::from_onnx(dtype.onnx_number())?;
    (![Elem::STRING, Elem::COMPLEX64, Elem::COMPLEX128].contains(&elem)).then_some(elem)
}

/// Whether there is a cast from one type to another: both are tensors, or both scalars, of numbers.
pub(crate) fn is_convertible(from: &ValueType, to: &ValueType) -> bool {
    from.is_tensor() == to.is_tensor() && number(from).is_some() && number(to).is_some()
}

/// Whether a cast keeps every value.
pub(crate) fn is_lossless(from: &ValueType, to: &ValueType) -> bool {
    number(from).zip(number(to)).is_some_and(|(from, to)| keeps_values(from, to))
}
