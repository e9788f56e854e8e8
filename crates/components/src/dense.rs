//! Conversion between storages and tensors.
//!
//! Components are implemented once, for [`AnyTensor`]. A slice is converted to a tensor of rank 1, and a
//! tensor to the slice of its elements in row-major order.
//!
//! Example of [`Dense`]:
//!
//! ```
//! use typeloom_components::dense::Dense;
//! use typeloom_tensor::any_tensor::AnyTensor;
//!
//! let tensor = [1.0_f32, 2.0][..].to_tensor();
//! assert_eq!(tensor, AnyTensor::from([1.0_f32, 2.0]));
//! assert_eq!(*<[f32]>::from_tensor(tensor)?, [1.0, 2.0]);
//! assert!(<[f64]>::from_tensor(AnyTensor::from([1.0_f32])).is_err());
//! # Ok::<(), typeloom_tensor::any_tensor::error::TensorError>(())
//! ```

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;
use typeloom_types::storage::Storage;

/// A storage that is convertible from and to a tensor.
///
/// **Law.** `from_tensor(x.to_tensor()) == x`.
pub trait Dense: Storage {
    /// Whether the storage preserves the shape of a tensor; a slice preserves the length only.
    const KEEPS_SHAPE: bool;

    /// Converts to a tensor.
    fn to_tensor(&self) -> AnyTensor;

    /// Converts from a tensor.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] if the storage has another element type.
    fn from_tensor(tensor: AnyTensor) -> Result<Box<Self>, TensorError>;
}

impl Dense for AnyTensor {
    const KEEPS_SHAPE: bool = true;

    fn to_tensor(&self) -> AnyTensor {
        self.clone()
    }

    fn from_tensor(tensor: AnyTensor) -> Result<Box<Self>, TensorError> {
        Ok(Box::new(tensor))
    }
}

impl<T: Element> Dense for [T] {
    const KEEPS_SHAPE: bool = false;

    fn to_tensor(&self) -> AnyTensor {
        AnyTensor::from(self)
    }

    fn from_tensor(tensor: AnyTensor) -> Result<Box<Self>, TensorError> {
        Ok(tensor.to_vec::<T>()?.into_boxed_slice())
    }
}

/// Error of an element type that is not a float type of 16 bits or more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("elements of type {found} are not floats of at least 16 bits")]
pub struct NotFloats {
    /// Element type of the tensor.
    pub found: Dtype,
}

/// Elements of a float tensor, read as `f64`, which represents all of them exactly.
#[derive(Clone, Copy, Debug)]
pub enum Floats<'a> {
    F64(&'a [f64]),
    F32(&'a [f32]),
    /// IEEE half precision.
    F16(&'a [half::f16]),
    /// The upper 16 bits of a 32-bit float.
    BF16(&'a [half::bf16]),
}

impl<'a> Floats<'a> {
    /// Views the elements of a tensor.
    ///
    /// # Errors
    /// [`NotFloats`].
    pub fn of(tensor: &'a AnyTensor) -> Result<Self, NotFloats> {
        let f64s = tensor.as_slice().map(Self::F64);
        let all = f64s.or_else(|_| tensor.as_slice().map(Self::F32));
        let all = all.or_else(|_| tensor.as_slice().map(Self::F16));
        let all = all.or_else(|_| tensor.as_slice().map(Self::BF16));
        all.map_err(|_| NotFloats { found: tensor.dtype() })
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F64(all) => all.len(),
            Self::F32(all) => all.len(),
            Self::F16(all) => all.len(),
            Self::BF16(all) => all.len(),
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element at an index, or NaN past the end.
    #[must_use]
    pub fn get(&self, at: usize) -> f64 {
        match self {
            Self::F64(all) => all.get(at).copied().unwrap_or(f64::NAN),
            Self::F32(all) => all.get(at).copied().map_or(f64::NAN, f64::from),
            Self::F16(all) => all.get(at).copied().map_or(f64::NAN, f64::from),
            Self::BF16(all) => all.get(at).copied().map_or(f64::NAN, f64::from),
        }
    }

    /// Subslice from an index, clipped to the end.
    #[must_use]
    pub fn part(&self, from: usize, count: usize) -> Self {
        let from = from.min(self.len());
        let to = from.saturating_add(count).min(self.len());
        match self {
            Self::F64(all) => Self::F64(&all[from..to]),
            Self::F32(all) => Self::F32(&all[from..to]),
            Self::F16(all) => Self::F16(&all[from..to]),
            Self::BF16(all) => Self::BF16(&all[from..to]),
        }
    }

    pub fn iter(self) -> impl Iterator<Item = f64> + 'a {
        (0..self.len()).map(move |at| self.get(at))
    }

    /// Index of the first element that is infinite or NaN.
    #[must_use]
    pub fn first_not_finite(self) -> Option<usize> {
        self.iter().position(|value| !value.is_finite())
    }

    /// Bound on the absolute error of an operation whose result underflows.
    #[must_use]
    pub fn underflow(&self) -> f64 {
        match self {
            Self::F64(_) | Self::F32(_) | Self::BF16(_) => f64::from(f32::MIN_POSITIVE),
            Self::F16(_) => f64::from(half::f16::MIN_POSITIVE_SUBNORMAL),
        }
    }

    /// Distance from 1 to the next number of the element type.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        match self {
            Self::F64(_) => f64::EPSILON,
            Self::F32(_) => f64::from(f32::EPSILON),
            Self::F16(_) => f64::from(half::f16::EPSILON),
            Self::BF16(_) => f64::from(half::bf16::EPSILON),
        }
    }
}

/// Creates a float tensor with each value rounded to the nearest element.
///
/// # Errors
/// [`FloatsError`].
pub fn tensor_of(dtype: Dtype, shape: &[usize], values: &[f64]) -> Result<AnyTensor, FloatsError> {
    fn all<T: Element>(
        shape: &[usize],
        values: &[f64],
        as_element: fn(f64) -> T,
    ) -> Result<AnyTensor, FloatsError> {
        let elements: Vec<T> = values.iter().copied().map(as_element).collect();
        Ok(AnyTensor::from_vec(shape, elements)?)
    }
    if dtype == Dtype::F64 {
        Ok(AnyTensor::from_slice(shape, values)?)
    } else if dtype == Dtype::F32 {
        all(shape, values, |value| value as f32)
    } else if dtype == Dtype::F16 {
        all(shape, values, half::f16::from_f64)
    } else if dtype == Dtype::BF16 {
        all(shape, values, half::bf16::from_f64)
    } else {
        Err(NotFloats { found: dtype }.into())
    }
}

/// Greatest finite number of a float type.
#[must_use]
pub fn greatest(dtype: Dtype) -> Option<f64> {
    let of = [
        (Dtype::F64, f64::MAX),
        (Dtype::F32, f64::from(f32::MAX)),
        (Dtype::F16, f64::from(half::f16::MAX)),
        (Dtype::BF16, f64::from(half::bf16::MAX)),
    ];
    of.into_iter().find(|(other, _)| *other == dtype).map(|(_, greatest)| greatest)
}

/// Error of creating a float tensor.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FloatsError {
    /// The element type is not a float type.
    #[error(transparent)]
    NotFloats(#[from] NotFloats),
    /// The number of values does not match the shape.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Formats a shape for messages.
pub(crate) fn shown(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("[{}]", extents.join(", "))
}
