//! Conversions from and to slices and vectors of elements.

use super::AnyTensor;
use super::buffer::Buffer;
use super::error::TensorError;
use typeloom_types::element::Element;

impl<T: Element> From<&[T]> for AnyTensor {
    /// A tensor of rank 1.
    fn from(elements: &[T]) -> Self {
        let buffer = Buffer::from_bytes(bytemuck::cast_slice(elements));
        Self { dtype: T::DTYPE, shape: (&[elements.len()][..]).into(), buffer }
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
