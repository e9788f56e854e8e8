//! Conversions from and to slices and vectors of elements.

use super::AnyTensor;
use super::error::TensorError;
use crate::element::Element;

impl<T: Element> From<&[T]> for AnyTensor {
    /// A tensor of rank 1.
    fn from(elements: &[T]) -> Self {
        Self::from_slice(&[elements.len()], elements).expect("the shape is the slice's own")
    }
}

impl<T: Element> From<Vec<T>> for AnyTensor {
    /// A tensor of rank 1.
    fn from(elements: Vec<T>) -> Self {
        Self::from(&*elements)
    }
}

impl<T: Element, const N: usize> From<[T; N]> for AnyTensor {
    /// A tensor of rank 1.
    fn from(elements: [T; N]) -> Self {
        Self::from(&elements[..])
    }
}

impl<'a, T: Element> TryFrom<&'a AnyTensor> for &'a [T] {
    type Error = TensorError;

    fn try_from(tensor: &'a AnyTensor) -> Result<Self, TensorError> {
        tensor.as_slice()
    }
}

impl<T: Element> TryFrom<&AnyTensor> for Vec<T> {
    type Error = TensorError;

    fn try_from(tensor: &AnyTensor) -> Result<Self, TensorError> {
        tensor.to_vec()
    }
}

impl<T: Element> TryFrom<AnyTensor> for Vec<T> {
    type Error = TensorError;

    fn try_from(tensor: AnyTensor) -> Result<Self, TensorError> {
        tensor.to_vec()
    }
}
