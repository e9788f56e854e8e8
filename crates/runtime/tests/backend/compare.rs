//! Comparison of values with expected values.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::{Dtype, DtypeClass};

/// Difference of the types of two values.
pub(crate) fn types(found: &Datum, expected: &Datum) -> Option<String> {
    let (found, expected) = (found.describe(), expected.describe());
    (found != expected).then(|| format!("{found} instead of {expected}"))
}

/// Difference of two values that exceeds a relative and an absolute tolerance.
pub(crate) fn values(found: &Datum, expected: &Datum, tolerance: (f64, f64)) -> Option<String> {
    match (found, expected) {
        (Datum::Tensor(found), Datum::Tensor(expected)) => tensors(found, expected, tolerance),
        (Datum::Sequence(found), Datum::Sequence(expected)) => {
            if found.len() != expected.len() {
                return Some(format!("{} elements instead of {}", found.len(), expected.len()));
            }
            found.iter().zip(expected).find_map(|(found, expected)| values(found, expected, tolerance))
        }
        (Datum::Optional(None), Datum::Optional(None)) => None,
        (Datum::Optional(Some(found)), Datum::Optional(Some(expected))) => values(found, expected, tolerance),
        (Datum::Map(found), Datum::Map(expected)) if found.keys() == expected.keys() => {
            tensors(found.values(), expected.values(), tolerance)
        }
        (Datum::Map(_), Datum::Map(_)) => Some(format!("{found:?} instead of {expected:?}")),
        (found, expected) => types(found, expected),
    }
}

fn tensors(found: &AnyTensor, expected: &AnyTensor, (relative, absolute): (f64, f64)) -> Option<String> {
    if found.dtype() != expected.dtype() || found.shape() != expected.shape() {
        return types(&Datum::Tensor(found.clone()), &Datum::Tensor(expected.clone()));
    }
    if found == expected {
        return None;
    }
    if found.dtype().class() == DtypeClass::String {
        let pairs = found.strings().ok()?.zip(expected.strings().ok()?);
        return pairs.enumerate().find_map(|(at, (found, expected))| {
            (found != expected).then(|| format!("`{found}` instead of `{expected}` at {at}"))
        });
    }
    let (found, expected) = (numbers(found), numbers(expected));
    found.iter().zip(&expected).enumerate().find_map(|(at, (found, expected))| {
        let same = found == expected
            || (found.is_nan() && expected.is_nan())
            || (found - expected).abs() <= absolute + relative * expected.abs();
        (!same).then(|| format!("{found} instead of {expected} at {at}"))
    })
}

/// The elements as 64-bit floats, converted by the backend's `Cast`. An error of `Cast` affects both sides
/// unless the bits differ.
fn numbers(tensor: &AnyTensor) -> Vec<f64> {
    let cast = cast(tensor, Dtype::F64).expect("numbers are cast");
    cast.to_vec().expect("a cast returns the requested type")
}

/// The elements as another type, converted by the backend's `Cast`.
pub(crate) fn cast(tensor: &AnyTensor, to: Dtype) -> Option<AnyTensor> {
    let attributes = Attributes::default().with("to", Attribute::Int(i64::from(to.onnx_number())));
    let call =
        Call { version: 21, attributes: &attributes, inputs: vec![Some(tensor.clone().into())], outputs: 1 };
    let results = ops::find("", "Cast")?.run(call).ok()?;
    results.first()?.as_tensor().cloned()
}
