//! Operator calls: inputs, attributes, and typed accessors for kernels.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::attributes::Attributes;
use crate::error::{KernelErrorKind, invalid};
use crate::memory;

/// One application of an operator.
///
/// Inputs are owned, so that a kernel can write its result into the memory of an input that is not used
/// afterwards.
#[derive(Debug)]
pub struct Call<'a> {
    /// The opset version that the model imports.
    pub version: i64,
    /// Attributes of the node.
    pub attributes: &'a Attributes,
    /// Inputs in order; `None` for an omitted one.
    pub inputs: Vec<Option<Datum>>,
    /// Number of listed outputs.
    pub outputs: usize,
}

impl Call<'_> {
    /// Whether the input is present.
    pub(crate) fn has(&self, index: usize) -> bool {
        self.inputs.get(index).is_some_and(Option::is_some)
    }

    pub(crate) fn value(&self, index: usize) -> Result<&Datum, KernelErrorKind> {
        self.inputs.get(index).and_then(Option::as_ref).ok_or(KernelErrorKind::MissingInput(index))
    }

    pub(crate) fn take_value(&mut self, index: usize) -> Result<Datum, KernelErrorKind> {
        self.inputs.get_mut(index).and_then(Option::take).ok_or(KernelErrorKind::MissingInput(index))
    }

    pub(crate) fn tensor(&self, index: usize) -> Result<&AnyTensor, KernelErrorKind> {
        self.value(index)?.as_tensor().ok_or(KernelErrorKind::InputKind { index, wanted: "a tensor" })
    }

    pub(crate) fn optional(&self, index: usize) -> Result<Option<&AnyTensor>, KernelErrorKind> {
        if self.has(index) { self.tensor(index).map(Some) } else { Ok(None) }
    }

    pub(crate) fn take(&mut self, index: usize) -> Result<AnyTensor, KernelErrorKind> {
        let value = self.take_value(index)?;
        if let Datum::Tensor(tensor) = value {
            Ok(tensor)
        } else {
            Err(KernelErrorKind::InputKind { index, wanted: "a tensor" })
        }
    }

    pub(crate) fn sequence(&self, index: usize) -> Result<&[Datum], KernelErrorKind> {
        self.value(index)?.as_sequence().ok_or(KernelErrorKind::InputKind { index, wanted: "a sequence" })
    }

    /// All inputs, which must be tensors.
    pub(crate) fn tensors(&self) -> Result<Vec<&AnyTensor>, KernelErrorKind> {
        (0..self.inputs.len()).map(|index| self.tensor(index)).collect()
    }

    /// Elements of an integer input, or `None` if it is omitted.
    pub(crate) fn integers(&self, index: usize) -> Result<Option<Vec<i64>>, KernelErrorKind> {
        self.optional(index)?.map(integers).transpose()
    }

    /// Elements of an integer input of rank 1.
    pub(crate) fn vector(&self, index: usize) -> Result<Vec<i64>, KernelErrorKind> {
        let tensor = self.tensor(index)?;
        match tensor.rank() {
            1 => integers(tensor),
            rank => invalid(format!("input {index} has rank {rank}, not 1")),
        }
    }

    /// The single element of an integer input, or `None` if it is omitted.
    pub(crate) fn integer(&self, index: usize) -> Result<Option<i64>, KernelErrorKind> {
        match self.integers(index)? {
            None => Ok(None),
            Some(values) => match values.first() {
                Some(value) => Ok(Some(*value)),
                None => invalid(format!("input {index} is empty")),
            },
        }
    }

    pub(crate) fn int(&self, name: &str, default: i64) -> Result<i64, KernelErrorKind> {
        Ok(self.attributes.int(name)?.unwrap_or(default))
    }

    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, KernelErrorKind> {
        Ok(self.attributes.int(name)?.map_or(default, |value| value != 0))
    }

    pub(crate) fn float(&self, name: &str, default: f32) -> Result<f32, KernelErrorKind> {
        Ok(self.attributes.float(name)?.unwrap_or(default))
    }

    pub(crate) fn text<'s>(&'s self, name: &str, default: &'s str) -> Result<&'s str, KernelErrorKind> {
        Ok(self.attributes.text(name)?.unwrap_or(default))
    }

    /// The choice named by a string attribute, or the first choice if the attribute is missing.
    pub(crate) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, KernelErrorKind> {
        let given = self.text(name, choices[0].0)?;
        match choices.iter().find(|(text, _)| *text == given) {
            Some((_, value)) => Ok(*value),
            None => invalid(format!("`{name}` = `{given}` is not known")),
        }
    }

    /// A required integer input of any shape.
    pub(crate) fn required_integers(&self, index: usize) -> Result<Vec<i64>, KernelErrorKind> {
        self.integers(index)?.ok_or(KernelErrorKind::MissingInput(index))
    }

    /// Element type given by an attribute as its ONNX number.
    pub(crate) fn dtype(&self, name: &str) -> Result<Option<Dtype>, KernelErrorKind> {
        match self.attributes.int(name)? {
            None | Some(0) => Ok(None),
            Some(number) => match i32::try_from(number).ok().and_then(Dtype::from_onnx_number) {
                Some(dtype) => Ok(Some(dtype)),
                None => invalid(format!("`{name}` = {number} is not an element type")),
            },
        }
    }

    /// Integers that are an input in newer versions and an attribute in older ones.
    pub(crate) fn integers_or(&self, index: usize, name: &str) -> Result<Option<Vec<i64>>, KernelErrorKind> {
        match self.optional(index)? {
            Some(_) => self.vector(index).map(Some),
            None => Ok(self.attributes.ints(name)?.map(<[i64]>::to_vec)),
        }
    }
}

/// Elements of a tensor of 32-bit or 64-bit integers.
pub(crate) fn integers(tensor: &AnyTensor) -> Result<Vec<i64>, KernelErrorKind> {
    memory::admit(tensor.len().saturating_mul(size_of::<i64>()))?;
    match tensor.dtype() {
        Dtype::I64 => Ok(tensor.to_vec()?),
        Dtype::I32 => Ok(tensor.as_slice::<i32>()?.iter().map(|value| i64::from(*value)).collect()),
        other => Err(KernelErrorKind::Dtype(other)),
    }
}

/// Result of a kernel.
pub(crate) type Outcome = Result<Vec<Datum>, KernelErrorKind>;

/// Wraps a single tensor as an outcome.
pub(crate) fn one(tensor: AnyTensor) -> Outcome {
    Ok(vec![Datum::Tensor(tensor)])
}
