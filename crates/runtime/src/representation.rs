//! The representation of values in the storage of a backend.
//!
//! A backend stores tensors of one type, and a program has values of others next to them: the masks of
//! comparisons, the indices of `Gather`. Their type in the program and their form in the backend differ:
//!
//! | value | form in a storage of `tensor.f32` |
//! |---|---|
//! | mask (`bool`) | 1 and 0 |
//! | integers | the same numbers |
//! | result of `Cast` | the numbers of the target type |
//!
//! [`stored`] converts a value that enters a method, and [`returned`] a result. Both are exact, or an error
//! that names the element. `Cast` rounds its result itself, so a result that is not a number of the target
//! type is rounded as `Cast` does.
//!
//! A storage type whose [`FromDatum`] accepts the value, such as `AnyTensor`, receives it unchanged.

use std::borrow::Cow;

use typeloom_cpu::ops::cast::convert_exactly;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::to_declared_form;
use typeloom_tensor::value_type::{Element, ValueType};
use typeloom_types::dtype::{Dtype, DtypeClass};
use typeloom_types::storage::Storage;

use crate::convert::FromDatum;
use crate::error::{ComponentError, NodeError};
use crate::execute::operand;
use crate::operator;

/// The element type of a storage type, if it is one of ONNX's.
pub(crate) fn dtype_of<T: Storage + ?Sized>() -> Option<Dtype> {
    Dtype::from_node_id(T::TYPE.id)
}

/// Converts an input to the storage type of a backend.
pub(crate) fn stored<T: FromDatum + ?Sized>(
    datum: &Datum,
    index: usize,
) -> Result<Cow<'_, T>, ComponentError> {
    if let Some(stored) = T::from_datum(datum) {
        return Ok(stored);
    }
    let wrong = || ComponentError::Storage { index, found: datum.describe(), stores: T::TYPE.id };
    let dtype = dtype_of::<T>().ok_or_else(wrong)?;
    let tensor = tensor(datum).filter(|tensor| tensor.dtype() != dtype).ok_or_else(wrong)?;
    let converted = convert_exactly(&tensor, dtype).map_err(|kind| ComponentError::Representation {
        port: format!("input {index}"),
        stores: T::TYPE.id,
        kind,
    })?;
    let converted = T::from_datum(&Datum::Tensor(converted)).map(|it| Cow::Owned(it.into_owned()));
    converted.ok_or_else(wrong)
}

/// As [`stored`], for the indices of `Gather`: negative ones become positions in the axis if its extent is
/// known, because not every storage type has negative numbers.
pub(crate) fn stored_indices<T: FromDatum + ?Sized>(
    datum: &Datum,
    index: usize,
    extent: Option<usize>,
) -> Result<Cow<'_, T>, ComponentError> {
    let is_unsigned =
        dtype_of::<T>().is_some_and(|it| matches!(it.class(), DtypeClass::UnsignedInt | DtypeClass::Bool));
    let indices = datum.as_tensor().filter(|_| is_unsigned && T::from_datum(datum).is_none());
    let (Some(indices), Some(extent)) = (indices.and_then(integers), extent) else {
        return stored(datum, index);
    };
    let position = |at: i64| if at < 0 { at.saturating_add_unsigned(extent as u64) } else { at };
    let positions: Vec<i64> = indices.1.into_iter().map(position).collect();
    let positions = AnyTensor::from_vec(&indices.0, positions);
    let positions = positions.map_err(|error| ComponentError::Inconsistent(error.to_string()))?;
    Ok(Cow::Owned(stored::<T>(&Datum::Tensor(positions), index)?.into_owned()))
}

/// The shape and the elements of a tensor of integers, or of whole numbers in another form.
pub(crate) fn integers(tensor: &AnyTensor) -> Option<(Vec<usize>, Vec<i64>)> {
    let converted = convert_exactly(tensor, Dtype::I64).ok()?;
    Some((converted.shape().to_vec(), converted.to_vec().ok()?))
}

/// Converts a result of a backend that stores `T` to the type of the output. `rounds` is set for `Cast`.
pub(crate) fn returned<T: Storage + ?Sized>(
    result: Datum,
    output: usize,
    ty: Option<&ValueType>,
    rounds: bool,
) -> Result<Datum, ComponentError> {
    let expected = ty.and_then(|ty| match ty.element {
        Element::Tensor(dtype) | Element::Scalar(dtype) => dtype.map(|dtype| (ty, dtype)),
        _ => None,
    });
    let (Some((ty, dtype)), Some(form)) = (expected, dtype_of::<T>()) else { return Ok(result) };
    if dtype == form {
        return Ok(result);
    }
    let Some(tensor) = tensor(&result).filter(|tensor| tensor.dtype() == form) else { return Ok(result) };
    let failed =
        |kind| ComponentError::Representation { port: format!("output {output}"), stores: T::TYPE.id, kind };
    let converted = match rounds {
        true => match operator::cast(Datum::Tensor(tensor.into_owned()), dtype) {
            Ok(converted) => converted,
            Err(NodeError::Kernel(error)) => return Err(failed(error.kind)),
            Err(error) => return Err(ComponentError::Inconsistent(error.to_string())),
        },
        false => convert_exactly(&tensor, dtype).map(Datum::Tensor).map_err(failed)?,
    };
    Ok(to_declared_form(converted, ty))
}

/// A tensor, or a scalar as a tensor of rank 0.
fn tensor(datum: &Datum) -> Option<Cow<'_, AnyTensor>> {
    match datum {
        Datum::Tensor(tensor) => Some(Cow::Borrowed(tensor)),
        Datum::Scalar(_) => operand(datum.clone(), 0).ok()?.as_tensor().cloned().map(Cow::Owned),
        _ => None,
    }
}
