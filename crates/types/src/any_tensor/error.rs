//! What can be wrong with the parts of a tensor.

use crate::dtype::Dtype;

/// Why parts do not make a tensor, or a tensor is not what was asked of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TensorError {
    /// Tensors would hold more memory than the limit of the run.
    #[error("{asked} bytes more are needed, and tensors hold {held} of the {limit} bytes that they may take")]
    OverBudget {
        /// The limit.
        limit: usize,
        /// How many bytes tensors hold.
        held: usize,
        /// How many more were asked for.
        asked: usize,
    },
    /// The shape asks for more bytes than can be addressed.
    #[error("shape {} is too large to be addressed", Shape(.shape))]
    ShapeOverflow {
        /// The shape.
        shape: Box<[usize]>,
    },
    /// There are more or fewer elements than the shape has room for.
    #[error("shape {} has {expected} elements, not {found}", Shape(.shape))]
    ElementCount {
        /// The shape.
        shape: Box<[usize]>,
        /// How many elements the shape has.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// There are more or fewer bytes than dtype and shape ask for.
    #[error("{dtype} elements in shape {} take {expected} bytes, not {found}", Shape(.shape))]
    ByteLength {
        /// The element type.
        dtype: Dtype,
        /// The shape.
        shape: Box<[usize]>,
        /// How many bytes they take.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The elements are of another type than was asked for.
    #[error("the elements are {found}, not {expected}")]
    DtypeMismatch {
        /// The type that was asked for.
        expected: Dtype,
        /// The type of the elements.
        found: Dtype,
    },
    /// A byte of a bool tensor is neither 0 nor 1.
    #[error("element {index} is {byte}, but a bool is 0 or 1")]
    NotBool {
        /// Which element.
        index: usize,
        /// The byte.
        byte: u8,
    },
    /// A code has more bits than the element type.
    #[error("element {index} is {code:#04x}, which does not fit in the bits of {dtype}")]
    CodeTooLarge {
        /// The element type.
        dtype: Dtype,
        /// Which element.
        index: usize,
        /// The code.
        code: u8,
    },
    /// Elements of this type are wider than a byte, or have no fixed width.
    #[error("elements of {dtype} are not codes of at most 8 bits")]
    NoCodes {
        /// The element type.
        dtype: Dtype,
    },
    /// The offsets of a string tensor are missing, fall, or point outside the text.
    #[error("the offsets of string {index} do not lie in the bytes of the tensor")]
    StringOffsets {
        /// The first string concerned.
        index: usize,
    },
    /// A string is not valid UTF-8.
    #[error("string {index} is not valid UTF-8")]
    NotUtf8 {
        /// Which string.
        index: usize,
    },
}

/// How many elements a shape has: the product of its dims.
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

/// A shape in brackets, cut off after a few dims.
pub(super) struct Shape<'a>(pub(super) &'a [usize]);

impl std::fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 12;
        f.write_str("[")?;
        for (at, dim) in self.0.iter().take(SHOWN).enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{dim}")?;
        }
        if self.0.len() > SHOWN {
            write!(f, ", ... {} dims", self.0.len())?;
        }
        f.write_str("]")
    }
}
