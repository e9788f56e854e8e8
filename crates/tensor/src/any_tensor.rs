//! A tensor whose element type is known only at run time: an element type, a shape and packed bytes.
//!
//! **Invariant:** element type, shape and bytes agree, and the bytes are canonical: the length matches the
//! shape, booleans are 0 or 1, unused bits are zero, strings are valid UTF-8. Every constructor and
//! deserialisation validate this and no method violates it. So two tensors are equal if and only if their
//! element types, shapes and bytes are equal.
//!
//! [`Dtype`] defines the packing. For types of fixed width, it is the packing of ONNX's `raw_data`. A tensor
//! of `n` strings is packed as `n + 1` offsets (64-bit, little-endian, starting at 0, non-decreasing)
//! followed by the text of all strings.
//!
//! The bytes are aligned for their elements, so [`AnyTensor::as_slice`] is a view. Clones share the bytes,
//! and a tensor can share the bytes of a mapped file. A write to shared bytes copies them first.
//!
//! This is a container: arithmetic and broadcasting are implemented by backends.
//!
//! Example of [`AnyTensor`]:
//!
//! ```
//! use typeloom_tensor::any_tensor::AnyTensor;
//! use typeloom_types::dtype::Dtype;
//!
//! let tensor = AnyTensor::from_slice(&[2, 2], &[1.0_f32, 2.0, 3.0, 4.0])?;
//! assert_eq!(tensor.dtype(), Dtype::F32);
//! assert_eq!(tensor.as_slice::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
//! assert!(tensor.as_slice::<i32>().is_err());
//! # Ok::<(), typeloom_tensor::any_tensor::error::TensorError>(())
//! ```

use typeloom_types::dtype::Dtype;
use typeloom_types::element::Element;
use typeloom_types::storage::Storage;
use typeloom_types::tree::TypeNode;
use typeloom_types::tree::builtin::TYPE_TENSOR;

pub mod budget;
mod buffer;
mod convert;
pub mod error;
mod fmt;
mod packed;
mod returned;
mod serial;
mod shape;
mod strings;

use std::sync::Arc;

use bytes::Bytes;

use buffer::Buffer;
pub use buffer::Memory;
use error::TensorError;
pub use returned::Returned;
use shape::Shape;
pub use strings::Strings;

#[cfg(target_endian = "big")]
compile_error!("tensors are viewed in place, which needs a little-endian target");

/// A tensor with its element type and shape.
///
/// `==` and `Hash` compare bits: a NaN equals the same NaN, and `0.0` differs from `-0.0`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AnyTensor {
    dtype: Dtype,
    shape: Shape,
    buffer: Buffer,
}

impl AnyTensor {
    /// Creates a tensor from elements in row-major order.
    ///
    /// # Errors
    /// [`TensorError::ElementCount`], [`TensorError::ShapeOverflow`] and [`TensorError::OverBudget`].
    pub fn from_slice<T: Element>(shape: &[usize], elements: &[T]) -> Result<Self, TensorError> {
        error::check_count(shape, elements.len())?;
        budget::admit(size_of_val(elements))?;
        let buffer = Buffer::from_bytes(bytemuck::cast_slice(elements));
        Ok(Self { dtype: T::DTYPE, shape: shape.into(), buffer })
    }

    /// Creates a tensor from elements in row-major order, with one copy into aligned memory.
    ///
    /// # Errors
    /// As [`AnyTensor::from_slice`].
    pub fn from_vec<T: Element>(shape: &[usize], elements: Vec<T>) -> Result<Self, TensorError> {
        Self::from_slice(shape, &elements)
    }

    /// Creates a tensor of rank 0.
    #[must_use]
    pub fn from_scalar<T: Element>(element: T) -> Self {
        let buffer = Buffer::from_bytes(bytemuck::bytes_of(&element));
        Self { dtype: T::DTYPE, shape: Shape::SCALAR, buffer }
    }

    /// Creates a tensor from packed bytes. Unused bits are ignored.
    ///
    /// # Errors
    /// [`TensorError::ByteLength`] if element type and shape require another length,
    /// [`TensorError::ShapeOverflow`], [`TensorError::NotBool`], [`TensorError::OverBudget`], and for strings
    /// [`TensorError::StringOffsets`] and [`TensorError::NotUtf8`].
    pub fn from_le_bytes(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<Self, TensorError> {
        check(dtype, shape, bytes)?;
        budget::admit(bytes.len())?;
        let mut buffer = Buffer::from_bytes(bytes);
        if let Some(bits) = partial_bits(dtype) {
            packed::clear_padding(buffer.bytes_mut(), error::element_count(shape)?, bits);
        }
        Ok(Self { dtype, shape: shape.into(), buffer })
    }

    /// Creates a tensor that shares packed bytes until it is written to.
    ///
    /// Bytes are copied instead if they are not aligned for their elements, if several elements share a byte,
    /// or if there are at most 16 bytes.
    ///
    /// # Errors
    /// As [`AnyTensor::from_le_bytes`].
    pub fn from_shared(dtype: Dtype, shape: &[usize], bytes: Bytes) -> Result<Self, TensorError> {
        if partial_bits(dtype).is_some() {
            return Self::from_le_bytes(dtype, shape, &bytes);
        }
        check(dtype, shape, &bytes)?;
        let align = dtype.size_bytes().unwrap_or(8).min(8);
        Ok(Self { dtype, shape: shape.into(), buffer: Buffer::view(bytes, align) })
    }

    /// Creates a tensor whose packed bytes `fill` writes in place. `fill` receives zeros. Unused bits are
    /// ignored. Strings have no fixed width and are created by [`AnyTensor::from_strings`].
    ///
    /// # Errors
    /// As [`AnyTensor::from_le_bytes`].
    pub fn from_bytes_with(
        dtype: Dtype,
        shape: &[usize],
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Self, TensorError> {
        let tensor = Self::zeros(dtype, shape)?;
        tensor.filled(fill)
    }

    /// As [`AnyTensor::from_bytes_with`], in the memory of another tensor. `fill` receives unspecified bytes,
    /// or zeros for booleans, strings, and elements that share a byte.
    ///
    /// # Errors
    /// As [`AnyTensor::from_le_bytes`].
    pub fn from_memory_with(
        dtype: Dtype,
        shape: &[usize],
        memory: Memory,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Self, TensorError> {
        if matches!(dtype, Dtype::Bool | Dtype::String) || partial_bits(dtype).is_some() {
            return Self::from_bytes_with(dtype, shape, fill);
        }
        let mut tensor = Self::in_memory(dtype, shape, memory)?;
        fill(tensor.buffer.bytes_mut());
        Ok(tensor)
    }

    /// Creates a tensor whose elements `fill` writes in place, in the memory of another tensor. `fill`
    /// receives unspecified elements.
    ///
    /// # Errors
    /// [`TensorError::ShapeOverflow`], and for booleans [`TensorError::OverBudget`].
    pub fn from_elements_with<T: Element>(
        shape: &[usize],
        memory: Memory,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<Self, TensorError> {
        let mut tensor = if T::DTYPE == Dtype::Bool {
            Self::zeros(Dtype::Bool, shape)?
        } else {
            Self::in_memory(T::DTYPE, shape, memory)?
        };
        fill(tensor.as_mut_slice()?);
        Ok(tensor)
    }

    /// The tensor's memory for reuse; `None` if it is shared, belongs to another owner, or has at most 16
    /// bytes.
    #[must_use]
    pub fn into_memory(self) -> Option<Memory> {
        self.buffer.into_memory()
    }

    /// Returns the tensor's memory to `home` when the last tensor that shares it is dropped. This call has no
    /// effect if the memory is already shared, belongs to another owner, or has at most 16 bytes.
    pub fn return_to(&mut self, home: &Arc<Returned>) {
        self.buffer.return_to(home);
    }

    /// Whether a write copies the bytes first.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.buffer.is_shared()
    }

    /// Size of a tensor in bytes; for strings, the size of the offsets without the text.
    ///
    /// # Errors
    /// [`TensorError::ShapeOverflow`].
    pub fn byte_len(dtype: Dtype, shape: &[usize]) -> Result<usize, TensorError> {
        packed_len(dtype, shape, error::element_count(shape)?)
    }

    fn in_memory(dtype: Dtype, shape: &[usize], memory: Memory) -> Result<Self, TensorError> {
        let buffer = Buffer::reused(memory, Self::byte_len(dtype, shape)?);
        Ok(Self { dtype, shape: shape.into(), buffer })
    }

    fn filled(mut self, fill: impl FnOnce(&mut [u8])) -> Result<Self, TensorError> {
        fill(self.buffer.bytes_mut());
        match self.dtype {
            Dtype::String => strings::check(self.buffer.bytes(), self.len())?,
            Dtype::Bool => check_bools(self.bytes())?,
            other => {
                if let Some(bits) = partial_bits(other) {
                    let count = self.len();
                    packed::clear_padding(self.buffer.bytes_mut(), count, bits);
                }
            }
        }
        Ok(self)
    }

    /// Creates a tensor of zeros (false, or empty strings).
    ///
    /// The memory is allocated at once. Callers limit a shape from an untrusted source beforehand, or set a
    /// memory limit, see [`budget`].
    ///
    /// # Errors
    /// [`TensorError::ShapeOverflow`] and [`TensorError::OverBudget`].
    pub fn zeros(dtype: Dtype, shape: &[usize]) -> Result<Self, TensorError> {
        let len = packed_len(dtype, shape, error::element_count(shape)?)?;
        budget::admit(len)?;
        let buffer = Buffer::zeroed(len);
        Ok(Self { dtype, shape: shape.into(), buffer })
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The leaf of the type tree for this tensor.
    #[must_use]
    pub fn type_node(&self) -> &'static TypeNode {
        self.dtype.type_node()
    }

    /// The extents.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        // The shape was validated on construction: the product does not overflow unless an extent is 0.
        if self.is_empty() { 0 } else { self.shape.iter().product() }
    }

    /// Whether the number of elements is zero.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The packed bytes, aligned for their elements.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.buffer.bytes()
    }

    /// The elements.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] if the element type is not `T`.
    pub fn as_slice<T: Element>(&self) -> Result<&[T], TensorError> {
        self.expect_dtype(T::DTYPE)?;
        Ok(bytemuck::checked::try_cast_slice(self.buffer.bytes()).expect(VIEWABLE))
    }

    /// The elements, writable; shared bytes are copied first.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] if the element type is not `T`.
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T], TensorError> {
        self.expect_dtype(T::DTYPE)?;
        Ok(bytemuck::checked::try_cast_slice_mut(self.buffer.bytes_mut()).expect(VIEWABLE))
    }

    /// A copy of the elements.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] if the element type is not `T`.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        self.as_slice().map(<[T]>::to_vec)
    }

    /// Changes the shape and keeps the elements.
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

/// Reason why a typed view of a matching element type cannot fail.
const VIEWABLE: &str = "length, alignment and bit patterns hold for every tensor";

/// Size in bytes of `count` elements; for strings, the size of the offsets without the text.
fn packed_len(dtype: Dtype, shape: &[usize], count: usize) -> Result<usize, TensorError> {
    let length = if dtype == Dtype::String { strings::offsets_len(count) } else { dtype.packed_len(count) };
    length
        .filter(|length| isize::try_from(*length).is_ok())
        .ok_or_else(|| TensorError::ShapeOverflow { shape: shape.into() })
}

/// Size of an element in bits, if several elements share a byte.
fn partial_bits(dtype: Dtype) -> Option<u32> {
    dtype.size_bits().filter(|bits| bits % 8 != 0)
}

/// Checks that `bytes` are the elements of a shape.
fn check(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Result<(), TensorError> {
    let count = error::element_count(shape)?;
    let expected = packed_len(dtype, shape, count)?;
    if dtype == Dtype::String {
        return strings::check(bytes, count);
    }
    if expected != bytes.len() {
        let found = bytes.len();
        return Err(TensorError::ByteLength { dtype, shape: shape.into(), expected, found });
    }
    if dtype == Dtype::Bool { check_bools(bytes) } else { Ok(()) }
}

fn check_bools(bytes: &[u8]) -> Result<(), TensorError> {
    // The compiler vectorises a loop without an early exit.
    if bytes.iter().fold(0, |all, byte| all | byte) <= 1 {
        return Ok(());
    }
    match bytes.iter().position(|byte| *byte > 1) {
        Some(index) => Err(TensorError::NotBool { index, byte: bytes[index] }),
        None => Ok(()),
    }
}

impl Storage for AnyTensor {
    const TYPE: &'static TypeNode = &TYPE_TENSOR;
}
