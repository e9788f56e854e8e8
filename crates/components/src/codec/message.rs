//! Common header of encoded messages: a tag, an element type and a shape.
//!
//! | bytes | content |
//! |---|---|
//! | 2 | tag of the codec and its version |
//! | 1 | element type (ONNX number) |
//! | 1 | rank |
//! | 8 each | extents |
//!
//! All integers are little-endian.

use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// Error of decoding a malformed message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// The tag is not that of this codec.
    #[error("the message does not begin with the tag of this codec")]
    Tag,
    /// The message is truncated.
    #[error("the message ends at byte {at}, but at least {needed} more bytes are needed")]
    CutOff {
        /// Length of the message in bytes.
        at: usize,
        /// Lower bound on the number of missing bytes.
        needed: usize,
    },
    /// Bytes follow the end of the message.
    #[error("the message ends at byte {at}, but {more} more bytes follow")]
    Trailing {
        at: usize,
        /// Number of bytes that follow.
        more: usize,
    },
    /// The number does not identify an element type.
    #[error("{number} at byte {at} is not an element type")]
    ElementType {
        /// Offset in bytes.
        at: usize,
        number: u8,
    },
    /// A field has an invalid value.
    #[error("the {what} at byte {at} is invalid")]
    Number {
        what: &'static str,
        /// Offset in bytes.
        at: usize,
    },
    /// The tensor is larger than the limit.
    #[error("the tensor takes {claimed} bytes, but at most {limit} are allowed")]
    TooLarge {
        /// Size of the tensor according to the header.
        claimed: u64,
        /// Maximum size in bytes.
        limit: usize,
    },
}

/// Encodes the header.
///
/// The rank of a foreign tensor is limited to 255, because it is stored in one byte.
pub(super) fn begin(tag: [u8; 2], tensor: &AnyTensor) -> Result<Vec<u8>, MessageError> {
    let rank = u8::try_from(tensor.rank()).map_err(|_| MessageError::Number { what: "rank", at: 3 })?;
    let number = u8::try_from(tensor.dtype().onnx_number());
    let number = number.map_err(|_| MessageError::Number { what: "element type", at: 2 })?;
    let mut bytes = tag.to_vec();
    bytes.extend([number, rank]);
    for extent in tensor.shape() {
        bytes.extend((*extent as u64).to_le_bytes());
    }
    Ok(bytes)
}

/// Cursor over an encoded message.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Decodes the header.
    pub(super) fn begin(tag: [u8; 2], bytes: &'a [u8]) -> Result<(Self, Dtype, Vec<usize>), MessageError> {
        let mut reader = Self { bytes, at: 0 };
        if reader.bytes(2).map_err(|_| MessageError::Tag)? != tag {
            return Err(MessageError::Tag);
        }
        let [number, rank] = reader.array()?;
        let dtype = Dtype::from_onnx_number(i32::from(number));
        let dtype = dtype.ok_or(MessageError::ElementType { at: 2, number })?;
        let mut shape = Vec::with_capacity(usize::from(rank));
        for _ in 0..rank {
            shape.push(reader.extent("extent")?);
        }
        Ok((reader, dtype, shape))
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn bytes(&mut self, count: usize) -> Result<&'a [u8], MessageError> {
        let left = &self.bytes[self.at..];
        let Some((taken, _)) = left.split_at_checked(count) else {
            return Err(MessageError::CutOff { at: self.bytes.len(), needed: count - left.len() });
        };
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let mut array = [0; N];
        array.copy_from_slice(self.bytes(N)?);
        Ok(array)
    }

    pub(super) fn extent(&mut self, what: &'static str) -> Result<usize, MessageError> {
        let at = self.at;
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| MessageError::Number { what, at })
    }

    /// Returns the bytes after the current position.
    pub(super) fn rest(self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    pub(super) fn end(self) -> Result<(), MessageError> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            more => Err(MessageError::Trailing { at: self.at, more }),
        }
    }
}
