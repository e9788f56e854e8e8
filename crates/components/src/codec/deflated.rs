//! Lossless compression of tensors.
//!
//! The bytes of a tensor are first transposed, as by the shuffle filter of HDF5: the first bytes of all
//! elements, then the second bytes, and so on. The exponents of related floats are similar and their last
//! bits are not. The result is compressed in the zlib format (RFC 1950, 1951) by the crate `miniz_oxide`,
//! which contains no `unsafe`. The zlib checksum detects corruption. LZ4 would be faster, but it has a lower
//! ratio on shuffled floats and no checksum in its blocks.
//!
//! **Invariant:** decompression stops at the size that the message declares, and the declared size is checked
//! against a limit first. A small message therefore cannot allocate much memory.
//!
//! After the [common header](super::message), a message contains the size of the tensor in bytes (64 bits)
//! and the compressed bytes.
//!
//! Example of [`Deflated`]:
//!
//! ```
//! use typeloom_components::codec::deflated::Deflated;
//! use typeloom_contracts::codec::Codec;
//!
//! let codec: Deflated<[f32]> = Deflated::default();
//! let ramp: Vec<f32> = (0..1000).map(|at| at as f32).collect();
//! let message = codec.encode(&ramp)?;
//! assert!(message.len() < 2000);
//! assert_eq!(*codec.decode(&message)?, *ramp);
//! # Ok::<(), typeloom_components::codec::deflated::DeflatedError>(())
//! ```

use std::marker::PhantomData;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};
use typeloom_contracts::codec::Codec;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use super::message::{MessageError, Reader, begin};
use crate::dense::Dense;

/// Tag of messages: codec and version.
const TAG: [u8; 2] = [b'z', 1];
/// Default limit on the size of a tensor in bytes.
const DEFAULT_MAX_SIZE: usize = 1 << 30;
/// Compression level, from 0 to 10. Higher levels take much longer and reduce the size little.
const LEVEL: u8 = 6;

/// Error of encoding or decoding.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeflatedError {
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The decompressed data is larger than declared.
    #[error("the message unpacks to more than the {claimed} bytes that it declares")]
    Bomb {
        /// Declared size in bytes.
        claimed: usize,
    },
    /// The decompressed data is smaller than declared.
    #[error("the message unpacks to {found} bytes, and declares {claimed}")]
    Short {
        /// Declared size in bytes.
        claimed: usize,
        /// Actual size in bytes.
        found: usize,
    },
    /// The compressed data is corrupt.
    #[error("the message cannot be unpacked: {reason}")]
    Damaged {
        /// Message of the decompressor.
        reason: String,
    },
    /// The decoded tensor cannot be converted to the storage of the codec.
    #[error(transparent)]
    Storage(#[from] TensorError),
}

/// Compresses tensors without loss; see the [module](self).
#[derive(Debug)]
pub struct Deflated<In: ?Sized = AnyTensor> {
    limit: usize,
    input: PhantomData<fn(&In)>,
}

impl<In: ?Sized> Default for Deflated<In> {
    fn default() -> Self {
        Self::up_to(DEFAULT_MAX_SIZE)
    }
}

impl<In: ?Sized> Deflated<In> {
    /// Creates a codec that decodes tensors of at most `limit` bytes.
    #[must_use]
    pub fn up_to(limit: usize) -> Self {
        Self { limit, input: PhantomData }
    }
}

/// Size of an element in bytes; 1 for strings, which have no fixed size.
fn width(dtype: Dtype) -> usize {
    dtype.size_bytes().unwrap_or(1)
}

/// Transposes bytes from elements to planes. Bytes after the last whole element keep their position.
fn shuffled(bytes: &[u8], width: usize) -> Vec<u8> {
    let whole = bytes.len() - bytes.len() % width;
    let planes = (0..width).flat_map(|plane| bytes[..whole].iter().skip(plane).step_by(width));
    planes.chain(&bytes[whole..]).copied().collect()
}

fn unshuffled(bytes: &[u8], width: usize) -> Vec<u8> {
    let (whole, rest) = bytes.split_at(bytes.len() - bytes.len() % width);
    let count = whole.len() / width;
    let mut elements = vec![0; whole.len()];
    for (plane, from) in whole.chunks_exact(count.max(1)).enumerate() {
        elements.iter_mut().skip(plane).step_by(width).zip(from).for_each(|(to, from)| *to = *from);
    }
    elements.extend_from_slice(rest);
    elements
}

impl<In: ?Sized + Dense> Codec for Deflated<In> {
    type In = In;
    type Out = [u8];
    type Error = DeflatedError;

    /// Does nothing, because the codec has no parameters to learn.
    fn train(&mut self, _samples: &[&In]) -> Result<(), DeflatedError> {
        Ok(())
    }

    fn encode(&self, value: &In) -> Result<Box<[u8]>, DeflatedError> {
        let tensor = value.to_tensor();
        let mut bytes = begin(TAG, &tensor)?;
        bytes.extend((tensor.bytes().len() as u64).to_le_bytes());
        bytes.extend(compress_to_vec_zlib(&shuffled(tensor.bytes(), width(tensor.dtype())), LEVEL));
        Ok(bytes.into_boxed_slice())
    }

    fn decode(&self, value: &[u8]) -> Result<Box<In>, DeflatedError> {
        let (mut reader, dtype, shape) = Reader::begin(TAG, value)?;
        let claimed = reader.extent("number of bytes")?;
        if claimed > self.limit {
            return Err(MessageError::TooLarge { claimed: claimed as u64, limit: self.limit }.into());
        }
        let bytes = match decompress_to_vec_zlib_with_limit(reader.rest(), claimed) {
            Ok(bytes) if bytes.len() == claimed => bytes,
            Ok(bytes) => return Err(DeflatedError::Short { claimed, found: bytes.len() }),
            Err(error) if error.status == TINFLStatus::HasMoreOutput => {
                return Err(DeflatedError::Bomb { claimed });
            }
            Err(error) => return Err(DeflatedError::Damaged { reason: error.to_string() }),
        };
        let tensor = AnyTensor::from_le_bytes(dtype, &shape, &unshuffled(&bytes, width(dtype)))?;
        Ok(In::from_tensor(tensor)?)
    }
}
