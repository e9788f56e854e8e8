//! Errors of constructing and accessing tensors.

use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

/// Error of a tensor constructor or accessor.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TensorError {
    /// The memory limit of the run does not permit an allocation.
    #[error(
        "{requested} bytes more are needed, and tensors hold {held} of the {limit} bytes that they may take"
    )]
    OverBudget {
        limit: usize,
        /// Bytes that tensors hold.
        held: usize,
        /// Requested bytes.
        requested: usize,
    },
    /// The size of the shape in bytes exceeds the address space.
    #[error("shape {} is too large to be addressed", Shape(.shape))]
    ShapeOverflow { shape: Box<[usize]> },
    /// The number of elements does not match the shape.
    #[error("shape {} has {}, not {found}", Shape(.shape), counted(*expected, "element"))]
    ElementCount {
        shape: Box<[usize]>,
        /// Number of elements of the shape.
        expected: usize,
        /// Number of elements found.
        found: usize,
    },
    /// The number of bytes does not match element type and shape.
    #[error("{dtype} elements in shape {} take {expected} bytes, not {found}", Shape(.shape))]
    ByteLength {
        dtype: Dtype,
        shape: Box<[usize]>,
        /// Number of bytes for element type and shape.
        expected: usize,
        /// Number of bytes found.
        found: usize,
    },
    /// The element type is not the requested one.
    #[error("the elements are {found}, not {expected}")]
    DtypeMismatch {
        /// The requested element type.
        expected: Dtype,
        /// The element type of the tensor.
        found: Dtype,
    },
    /// A byte of a bool tensor is neither 0 nor 1.
    #[error("element {index} is {byte}, but a bool is 0 or 1")]
    NotBool {
        /// The index of the element.
        index: usize,
        byte: u8,
    },
    /// A code has more bits than the element type.
    #[error("element {index} is {code:#04x}, which does not fit in the bits of {dtype}")]
    CodeTooLarge {
        dtype: Dtype,
        /// The index of the element.
        index: usize,
        code: u8,
    },
    /// Elements of this type are wider than a byte or have no fixed width.
    #[error("elements of {dtype} are not codes of at most 8 bits")]
    NoCodes { dtype: Dtype },
    /// The offsets of a string tensor are missing, decrease, or are outside the text.
    #[error("the offsets of string {index} do not lie in the bytes of the tensor")]
    StringOffsets {
        /// The index of the first such string.
        index: usize,
    },
    /// A string is not valid UTF-8.
    #[error("string {index} is not valid UTF-8")]
    NotUtf8 {
        /// The index of the string.
        index: usize,
    },
}

/// Number of elements of a shape, the product of its extents.
pub(super) fn element_count(shape: &[usize]) -> Result<usize, TensorError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1_usize, |count, dim| count.checked_mul(*dim))
        .ok_or_else(|| TensorError::ShapeOverflow { shape: shape.into() })
}

/// Checks that a shape has exactly `found` elements.
pub(super) fn check_count(shape: &[usize], found: usize) -> Result<(), TensorError> {
    let expected = element_count(shape)?;
    if expected == found {
        Ok(())
    } else {
        Err(TensorError::ElementCount { shape: shape.into(), expected, found })
    }
}

/// A shape in brackets, truncated after a few extents.
pub(super) struct Shape<'a>(pub(super) &'a [usize]);

impl std::fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MAX_SHOWN: usize = 12;
        f.write_str("[")?;
        for (at, dim) in self.0.iter().take(MAX_SHOWN).enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{dim}")?;
        }
        if self.0.len() > MAX_SHOWN {
            write!(f, ", ... {} dims", self.0.len())?;
        }
        f.write_str("]")
    }
}
