//! A tensor whose element type is known only at run time: a dtype, a shape and packed bytes.
//!
//! **Invariant:** dtype, shape and bytes always agree, and the bytes are canonical: exactly as long
//! as the shape says, booleans 0 or 1, unused bits zero, strings valid UTF-8. Every constructor and
//! deserialisation check it, no method can break it, and so two tensors are equal exactly when dtype, shape
//! and bytes are.
//!
//! Bytes are packed as [`Dtype`] describes, which for every fixed-width type is how ONNX's
//! `raw_data` packs them. A tensor of strings, which ONNX keeps as a list, packs `n` strings as
//! `n + 1` offsets (64-bit, little-endian, from 0 on, never falling) followed by the text of all of
//! them.
//!
//! The bytes are aligned for every element type, so that [`AnyTensor::as_slice`] is a view and not
//! a copy. They are shared between clones and copied when one of them is written to.
//!
//! This is a container. It does no arithmetic and knows no broadcasting; backends do.

use crate::dtype::Dtype;
use crate::element::Element;
use crate::tree::TypeNode;

mod buffer;

mod convert;

pub mod error;

mod fmt;

mod packed;

mod serial;

mod strings;

use buffer::Buffer;
use error::TensorError;
pub use strings::Strings;

#[cfg(target_endian = "big")]
compile_error!("tensors are viewed in place, which needs a little-endian target");

/// A tensor that carries its element type and shape.
///
/// `==` compares bits: a NaN equals the same NaN, and `0.0` differs from `-0.0`. `Hash` agrees.
///
/// ```
/// use typeloom_types::any_tensor::AnyTensor;
/// use typeloom_types::dtype::Dtype;
///
/// let tensor = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
/// assert_eq!(tensor.dtype(), Dtype::F32);
/// assert_eq!(tensor.as_slice::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
/// assert!(tensor.as_slice::<i32>().is_err());
/// # Ok::<(), typeloom_types::any_tensor::error::TensorError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AnyTensor {
    dtype: Dtype,
    shape: Box<[usize]>,
    buffer: Buffer,
}

impl AnyTensor {
    /// A tensor of these elements, in row-major order.
    ///
    /// # Errors
    /// [`TensorError::ElementCount`] and [`TensorError::ShapeOverflow`].
    pub fn from_slice<T: Element>(shape: &[usize], elements: &[T]) -> Result<Self, TensorError> {
        error::check_count(shape, elements.len())?;
        let buffer = Buffer::from_bytes(bytemuck::cast_slice(elements));
        Ok(Self { dtype: T::DTYPE, shape: shape.into(), buffer })
    }

    /// A tensor of these elements, in row-major order; they are copied to aligned memory once.
    ///
    /// # Errors
    /// As [`AnyTensor::from_slice`].
    pub fn from_vec<T: Element>(shape: &[usize], elements: Vec<T>) -> Result<Self, TensorError> {
        Self::from_slice(shape, &elements)
    }

    /// A tensor of rank 0.
    #[must_use]
    pub fn from_scalar<T: Element>(element: T) -> Self {
        let buffer = Buffer::from_bytes(bytemuck::bytes_of(&element));
        Self { dtype: T::DTYPE, shape: [].into(), buffer }
    }

    /// A tensor of packed bytes. Bits that belong to no element are ignored.
    ///
    /// # Errors
    /// [`TensorError::ByteLength`] where dtype and shape ask for another length,
    /// [`TensorError::ShapeOverflow`], [`TensorError::NotBool`], and for strings
    /// [`TensorError::StringOffsets`] and [`TensorError::NotUtf8`].
    pub fn from_le_bytes(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<Self, TensorError> {
        let count = error::element_count(shape)?;
        let expected = packed_len(dtype, shape, count)?;
        if dtype == Dtype::String {
            strings::check(bytes, count)?;
        } else if expected != bytes.len() {
            let found = bytes.len();
            return Err(TensorError::ByteLength { dtype, shape: shape.into(), expected, found });
        }
        if dtype == Dtype::Bool
            && let Some(index) = bytes.iter().position(|byte| *byte > 1)
        {
            return Err(TensorError::NotBool { index, byte: bytes[index] });
        }
        let mut buffer = Buffer::from_bytes(bytes);
        if let Some(bits) = dtype.size_bits().filter(|bits| bits % 8 != 0) {
            packed::clear_padding(buffer.bytes_mut(), count, bits);
        }
        Ok(Self { dtype, shape: shape.into(), buffer })
    }

    /// A tensor whose packed bytes are written in place: `fill` is given zeros. Bits that belong to no
    /// element are ignored. Strings have no fixed width and are made by
    /// [`AnyTensor::from_strings`].
    ///
    /// # Errors
    /// As [`AnyTensor::from_le_bytes`].
    pub fn from_bytes_with(
        dtype: Dtype,
        shape: &[usize],
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Self, TensorError> {
        let mut tensor = Self::zeros(dtype, shape)?;
        fill(tensor.buffer.bytes_mut());
        match dtype {
            Dtype::String => strings::check(tensor.buffer.bytes(), tensor.len())?,
            Dtype::Bool => {
                if let Some(index) = tensor.bytes().iter().position(|byte| *byte > 1) {
                    return Err(TensorError::NotBool { index, byte: tensor.bytes()[index] });
                }
            }
            other => {
                if let Some(bits) = other.size_bits().filter(|bits| bits % 8 != 0) {
                    let count = tensor.len();
                    packed::clear_padding(tensor.buffer.bytes_mut(), count, bits);
                }
            }
        }
        Ok(tensor)
    }

    /// A tensor of zeros (false, or empty strings).
    ///
    /// It takes the memory that the shape asks for at once; a shape from an untrusted source is
    /// bounded by the caller first.
    ///
    /// # Errors
    /// [`TensorError::ShapeOverflow`].
    pub fn zeros(dtype: Dtype, shape: &[usize]) -> Result<Self, TensorError> {
        let count = error::element_count(shape)?;
        let buffer = Buffer::zeroed(packed_len(dtype, shape, count)?);
        Ok(Self { dtype, shape: shape.into(), buffer })
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The leaf of the tree that this tensor has at run time.
    #[must_use]
    pub fn type_node(&self) -> &'static TypeNode {
        self.dtype.type_node()
    }

    /// The extent of each dim.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// How many dims there are.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        error::element_count(&self.shape).expect("the shape was checked when the tensor was made")
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The packed bytes, aligned for every element type.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// The elements.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] where they are not `T`.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        self.expect_dtype(T::DTYPE)?;
        Ok(bytemuck::checked::try_cast_slice(self.buffer.bytes()).expect(VIEWABLE))
    }

    /// The elements, to be written to; a tensor that shares its bytes with a clone gets its own first.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] where they are not `T`.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], TensorError> {
        self.expect_dtype(T::DTYPE)?;
        Ok(bytemuck::checked::try_cast_slice_mut(self.buffer.bytes_mut()).expect(VIEWABLE))
    }

    /// A copy of the elements.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] where they are not `T`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        self.as_slice().map(<[T]>::to_vec)
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    /// [`TensorError::ElementCount`] and [`TensorError::ShapeOverflow`].
    pub fn reshape(mut self, shape: &[usize]) -> Result<Self, TensorError> {
        error::check_count(shape, self.len())?;
        self.shape = shape.into();
        Ok(self)
    }

    fn expect_dtype(&self, expected: Dtype) -> Result<(), TensorError> {
        if self.dtype == expected {
            Ok(())
        } else {
            Err(TensorError::DtypeMismatch { expected, found: self.dtype })
        }
    }
}

/// Why typed views cannot fail once the dtype is right.
const VIEWABLE: &str = "length, alignment and bit patterns hold for every tensor";

/// The bytes that a shape takes; for strings those of the offsets alone.
fn packed_len(dtype: Dtype, shape: &[usize], count: usize) -> Result<usize, TensorError> {
    let length = if dtype == Dtype::String { strings::offsets_len(count) } else { dtype.packed_len(count) };
    length
        .filter(|length| isize::try_from(*length).is_ok())
        .ok_or_else(|| TensorError::ShapeOverflow { shape: shape.into() })
}
