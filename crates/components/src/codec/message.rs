//! What encoded messages have in common: a tag, an element type and a shape.
//!
//! | bytes | what |
//! |---|---|
//! | 2 | the tag of the codec and of its version |
//! | 1 | the element type, by ONNX's number |
//! | 1 | the rank |
//! | 8 each | the extents |
//!
//! Numbers have their least byte first.

use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

/// Why bytes are no message of a codec.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// Another codec, or none, wrote the bytes.
    #[error("the message does not begin as this codec's do")]
    Tag,
    /// The message ends too early.
    #[error("the message ends at byte {at}, where {needed} more are needed")]
    CutOff {
        /// Where it ends.
        at: usize,
        /// How many bytes are missing at least.
        needed: usize,
    },
    /// There is more behind the message.
    #[error("the message ends at byte {at}, and there are {more} more")]
    Trailing {
        /// Where it ends.
        at: usize,
        /// How many bytes follow.
        more: usize,
    },
    /// A number that stands for no element type.
    #[error("{number} at byte {at} is no element type")]
    ElementType {
        /// Where it is.
        at: usize,
        /// The number.
        number: u8,
    },
    /// A number that makes no sense where it is.
    #[error("the {what} at byte {at} is not usable")]
    Number {
        /// What it should be.
        what: &'static str,
        /// Where it is.
        at: usize,
    },
    /// The tensor takes more bytes than are allowed.
    #[error("the tensor takes {claimed} bytes, and {limit} are allowed")]
    TooLarge {
        /// How many bytes it says it takes.
        claimed: u64,
        /// How many are allowed.
        limit: usize,
    },
}

/// The beginning of a message.
///
/// The rank of tensors from elsewhere is bounded by what one byte can say.
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

/// A message being read.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads the beginning.
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

    /// All that is left.
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
