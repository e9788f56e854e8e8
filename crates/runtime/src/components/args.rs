//! Arguments of component methods.

use std::borrow::Cow;

use bytes::Bytes;
use smallvec::smallvec;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::ValueType;
use typeloom_types::dtype::Dtype;

use super::{ComponentError, Results, done};
use crate::convert::{FromDatum, IntoDatum};
use typeloom_tensor::value_check::SymbolBindings;

/// Inputs of a node and types of its outputs.
pub(crate) struct Args<'a> {
    pub(crate) inputs: &'a [Option<Datum>],
    pub(crate) outputs: &'a dyn Fn(usize) -> Option<&'a ValueType>,
    pub(crate) symbols: &'a SymbolBindings,
}

impl Args<'_> {
    pub(crate) fn datum(&self, index: usize) -> Result<&Datum, ComponentError> {
        self.optional(index).ok_or_else(|| ComponentError::Missing(index))
    }

    pub(crate) fn optional(&self, index: usize) -> Option<&Datum> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// Converts an input to the storage type of the component.
    pub(crate) fn input<T: FromDatum + ?Sized>(&self, index: usize) -> Result<Cow<'_, T>, ComponentError> {
        convert(self.datum(index)?, index)
    }

    /// Converts a result of the component. The type of the output determines the shape if the result has
    /// none.
    pub(crate) fn output<T: IntoDatum + ?Sized>(&self, output: usize, convert: &T) -> Datum {
        if T::KNOWS_SHAPE {
            return convert.to_datum(None);
        }
        let extents = (self.outputs)(output).and_then(|ty| self.symbols.extents(ty));
        convert.to_datum(extents.as_deref())
    }

    /// Like [`Args::output`], but can reuse the memory of the result.
    pub(crate) fn output_owned<T: IntoDatum>(&self, output: usize, convert: T) -> Datum {
        if T::KNOWS_SHAPE { convert.into_datum(None) } else { self.output(output, &convert) }
    }

    /// The only result of a method of the component.
    pub(crate) fn result<T, E>(&self, result: Result<Box<T>, E>) -> Result<Results, ComponentError>
    where
        T: IntoDatum + ?Sized,
        E: std::error::Error + Send + Sync + 'static,
    {
        let result = result.map_err(ComponentError::failed)?;
        Ok(smallvec![self.output(0, &*result)])
    }

    /// Trains the component with the slices of the first input along its first axis.
    pub(crate) fn train<T, E>(
        &self,
        train: impl FnOnce(&[&T]) -> Result<(), E>,
    ) -> Result<Results, ComponentError>
    where
        T: FromDatum + ?Sized,
        E: std::error::Error + Send + Sync + 'static,
    {
        let rows = self.rows(0)?;
        let samples = rows.iter().map(|row| convert::<T>(row, 0)).collect::<Result<Vec<_>, _>>()?;
        done(train(&samples.iter().map(|sample| &**sample).collect::<Vec<_>>()))
    }

    pub(crate) fn tensor(&self, index: usize) -> Result<&AnyTensor, ComponentError> {
        let datum = self.datum(index)?;
        datum.as_tensor().ok_or_else(|| wrong_argument(datum, index, "a tensor"))
    }

    /// Ids: a tensor of `u64`.
    pub(crate) fn ids(&self, index: usize) -> Result<&[u64], ComponentError> {
        let tensor = self.tensor(index)?;
        tensor.as_slice().map_err(|_| ComponentError::Argument {
            index,
            found: tensor.dtype().onnx_name().to_owned(),
            wanted: "ids (uint64)",
        })
    }

    pub(crate) fn bytes(&self, index: usize) -> Result<Option<&Bytes>, ComponentError> {
        match self.optional(index) {
            None => Ok(None),
            Some(Datum::Bytes(bytes)) => Ok(Some(bytes)),
            Some(other) => Err(wrong_argument(other, index, "bytes")),
        }
    }

    /// The slices of an input along its first axis; the input itself if its rank is at most 1.
    pub(crate) fn rows(&self, index: usize) -> Result<Vec<Datum>, ComponentError> {
        let datum = self.datum(index)?;
        match datum.as_tensor() {
            Some(tensor) if tensor.rank() >= 2 => split(tensor),
            Some(_) | None => Ok(vec![datum.clone()]),
        }
    }
}

pub(crate) fn wrong_argument(datum: &Datum, index: usize, wanted: &'static str) -> ComponentError {
    ComponentError::Argument { index, found: datum.describe(), wanted }
}

/// Converts a value to the storage type of a component.
pub(crate) fn convert<T: FromDatum + ?Sized>(
    datum: &Datum,
    index: usize,
) -> Result<Cow<'_, T>, ComponentError> {
    let wrong = || ComponentError::Storage { index, found: datum.describe(), stores: T::TYPE.id };
    T::from_datum(datum).ok_or_else(wrong)
}

/// The slices of a tensor along its first axis.
pub(crate) fn split(tensor: &AnyTensor) -> Result<Vec<Datum>, ComponentError> {
    let Some((count, inner)) = tensor.shape().split_first() else { return Ok(vec![tensor.clone().into()]) };
    let failed = |message: String| ComponentError::Inconsistent(message);
    let Some(width) = tensor.dtype().size_bytes().filter(|_| tensor.dtype() != Dtype::String) else {
        return Err(failed(format!("a tensor of {} has no entries of whole bytes", tensor.dtype())));
    };
    let each = inner.iter().product::<usize>() * width;
    let entry = |at: usize| {
        let bytes = tensor.bytes().get(at * each..(at + 1) * each).unwrap_or_default();
        AnyTensor::from_le_bytes(tensor.dtype(), inner, bytes).map(Datum::from)
    };
    (0..*count).map(entry).collect::<Result<_, _>>().map_err(|error| failed(error.to_string()))
}
