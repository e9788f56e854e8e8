//! Tensors of strings: offsets, then text.

use super::buffer::Buffer;
use super::error::{TensorError, check_count};
use super::{AnyTensor, packed_len};
use typeloom_types::dtype::Dtype;

const OFFSET: usize = size_of::<u64>();

impl AnyTensor {
    /// Creates a tensor of strings in row-major order.
    ///
    /// # Errors
    /// [`TensorError::ElementCount`] and [`TensorError::ShapeOverflow`].
    pub fn from_strings<S: AsRef<str>>(shape: &[usize], strings: &[S]) -> Result<Self, TensorError> {
        check_count(shape, strings.len())?;
        let text: usize = strings.iter().map(|string| string.as_ref().len()).sum();
        let len = packed_len(Dtype::String, shape, strings.len())?.saturating_add(text);
        // The bytes are assembled here and then copied to aligned memory, so twice the size is requested.
        super::budget::admit(len.saturating_mul(2))?;
        let mut bytes = Vec::with_capacity(len);
        let mut offset = 0_u64;
        bytes.extend(offset.to_le_bytes());
        for string in strings {
            offset += string.as_ref().len() as u64;
            bytes.extend(offset.to_le_bytes());
        }
        for string in strings {
            bytes.extend(string.as_ref().as_bytes());
        }
        Ok(Self { dtype: Dtype::String, shape: shape.into(), buffer: Buffer::from_bytes(&bytes) })
    }

    /// The strings in row-major order.
    ///
    /// # Errors
    /// [`TensorError::DtypeMismatch`] if the elements are not strings.
    pub fn strings(&self) -> Result<Strings<'_>, TensorError> {
        self.expect_dtype(Dtype::String)?;
        let offsets_len = offsets_len(self.len()).unwrap_or(0);
        let (offsets, text) = self.bytes().split_at_checked(offsets_len).unwrap_or_default();
        Ok(Strings { offsets, text: std::str::from_utf8(text).unwrap_or_default() })
    }
}

/// Iterator over the strings of a tensor; see [`AnyTensor::strings`].
#[derive(Clone)]
pub struct Strings<'a> {
    /// The remaining offsets, starting with that of the next string.
    offsets: &'a [u8],
    text: &'a str,
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let start = offset(self.offsets, 0)?;
        let end = offset(self.offsets, 1)?;
        self.offsets = &self.offsets[OFFSET..];
        self.text.get(start..end)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.offsets.len() / OFFSET).saturating_sub(1);
        (left, Some(left))
    }
}

impl ExactSizeIterator for Strings<'_> {}

/// Size in bytes of the offsets of `count` strings.
pub(super) fn offsets_len(count: usize) -> Option<usize> {
    count.checked_add(1)?.checked_mul(OFFSET)
}

/// The offset number `at`, if it is present and fits in a `usize`.
fn offset(offsets: &[u8], at: usize) -> Option<usize> {
    let bytes = offsets.get(at * OFFSET..)?.first_chunk()?;
    usize::try_from(u64::from_le_bytes(*bytes)).ok()
}

/// Checks that the bytes are exactly `count` strings.
pub(super) fn check(bytes: &[u8], count: usize) -> Result<(), TensorError> {
    let split = offsets_len(count).and_then(|len| bytes.split_at_checked(len));
    let Some((offsets, text)) = split else { return Err(TensorError::StringOffsets { index: 0 }) };
    if offset(offsets, 0) != Some(0) {
        return Err(TensorError::StringOffsets { index: 0 });
    }
    let mut start = 0;
    for index in 0..count {
        let string = offset(offsets, index + 1).and_then(|end| Some((end, text.get(start..end)?)));
        let Some((end, string)) = string else { return Err(TensorError::StringOffsets { index }) };
        if std::str::from_utf8(string).is_err() {
            return Err(TensorError::NotUtf8 { index });
        }
        start = end;
    }
    if start == text.len() {
        Ok(())
    } else {
        Err(TensorError::StringOffsets { index: count.saturating_sub(1) })
    }
}
