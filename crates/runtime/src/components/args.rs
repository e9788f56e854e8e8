//! What a node gives a component, and how components ask for it.

use std::borrow::Cow;

use bytes::Bytes;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use super::ComponentFault;
use crate::carry::Carried;
use crate::executor::declared::Declared;
use typeloom_wire::datum::Datum;
use typeloom_wire::stamp::Symbols;

/// The inputs of a node, and what is known of its outputs.
pub(crate) struct Args<'a> {
    pub(crate) inputs: &'a [Option<Datum>],
    /// What was proved of each output.
    pub(crate) outputs: &'a dyn Fn(usize) -> Option<&'a Declared>,
    /// What symbols stand for at this point of the run.
    pub(crate) symbols: &'a Symbols,
}

impl Args<'_> {
    pub(crate) fn datum(&self, index: usize) -> Result<&Datum, ComponentFault> {
        self.optional(index).ok_or_else(|| ComponentFault::Missing(index))
    }

    pub(crate) fn optional(&self, index: usize) -> Option<&Datum> {
        self.inputs.get(index).and_then(Option::as_ref)
    }

    /// An input as what the component stores.
    pub(crate) fn stored<T: Carried + ?Sized>(&self, index: usize) -> Result<Cow<'_, T>, ComponentFault> {
        stored(self.datum(index)?, index)
    }

    /// What a component gives as an output, as a value of the module.
    pub(crate) fn give<T: Carried + ?Sized>(&self, output: usize, stored: &T) -> Datum {
        if T::KNOWS_SHAPE {
            return stored.to_datum(None);
        }
        let extents = (self.outputs)(output).and_then(|declared| declared.extents(self.symbols));
        stored.to_datum(extents.as_deref())
    }

    /// As [`Args::give`], of something that nobody else needs.
    pub(crate) fn give_owned<T: Carried>(&self, output: usize, stored: T) -> Datum {
        if T::KNOWS_SHAPE { stored.into_datum(None) } else { self.give(output, &stored) }
    }

    pub(crate) fn tensor(&self, index: usize) -> Result<&AnyTensor, ComponentFault> {
        let datum = self.datum(index)?;
        datum.as_tensor().ok_or_else(|| unfit(datum, index, "a tensor"))
    }

    /// Ids: a tensor of `u64`.
    pub(crate) fn ids(&self, index: usize) -> Result<&[u64], ComponentFault> {
        let tensor = self.tensor(index)?;
        tensor.as_slice().map_err(|_| ComponentFault::Argument {
            index,
            found: tensor.dtype().onnx_name().to_owned(),
            wanted: "ids (uint64)",
        })
    }

    pub(crate) fn bytes(&self, index: usize) -> Result<Option<&Bytes>, ComponentFault> {
        match self.optional(index) {
            None => Ok(None),
            Some(Datum::Bytes(bytes)) => Ok(Some(bytes)),
            Some(other) => Err(unfit(other, index, "bytes")),
        }
    }

    /// The entries of an input along its first axis; the input itself where it has one axis or none.
    pub(crate) fn rows(&self, index: usize) -> Result<Vec<Datum>, ComponentFault> {
        let datum = self.datum(index)?;
        match datum.as_tensor() {
            Some(tensor) if tensor.rank() >= 2 => split(tensor),
            Some(_) | None => Ok(vec![datum.clone()]),
        }
    }
}

pub(crate) fn unfit(datum: &Datum, index: usize, wanted: &'static str) -> ComponentFault {
    ComponentFault::Argument { index, found: datum.describe(), wanted }
}

/// A datum as what a component stores.
pub(crate) fn stored<T: Carried + ?Sized>(datum: &Datum, index: usize) -> Result<Cow<'_, T>, ComponentFault> {
    let wrong = || ComponentFault::Storage { index, found: datum.describe(), stores: T::TYPE.id };
    T::of(datum).ok_or_else(wrong)
}

/// The entries of a tensor along its first axis.
pub(crate) fn split(tensor: &AnyTensor) -> Result<Vec<Datum>, ComponentFault> {
    let Some((count, inner)) = tensor.shape().split_first() else { return Ok(vec![tensor.clone().into()]) };
    let unfit = |message: String| ComponentFault::Unfit(message);
    let Some(width) = tensor.dtype().size_bytes().filter(|_| tensor.dtype() != Dtype::String) else {
        return Err(unfit(format!("a tensor of {} has no entries of whole bytes", tensor.dtype())));
    };
    let each = inner.iter().product::<usize>() * width;
    let entry = |at: usize| {
        let bytes = tensor.bytes().get(at * each..(at + 1) * each).unwrap_or_default();
        AnyTensor::from_le_bytes(tensor.dtype(), inner, bytes).map(Datum::from)
    };
    (0..*count).map(entry).collect::<Result<_, _>>().map_err(|error| unfit(error.to_string()))
}
