//! Tensors as compressed bytes, without loss.
//!
//! The bytes of a tensor are put in another order first: the first bytes of all elements, then the second bytes, and so on
//! (as HDF5's shuffle filter does it), because the exponents of floats that belong together resemble each other and their
//! last bits do not. Then they are compressed as zlib does it (RFC 1950, 1951), by the crate `miniz_oxide`, which is free
//! of `unsafe`; zlib's checksum says whether what arrives is what was sent. LZ4 would be faster, and has neither the ratio on
//! shuffled floats nor a checksum in its blocks.
//!
//! **Invariant:** a message is never unpacked beyond what it says that it holds, and what it says is held to a limit
//! first, so that a small message cannot take much memory.
//!
//! After the [common beginning](super::message) a message has the number of bytes of the tensor (64 bits), and the compressed bytes.

use std::marker::PhantomData;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};
use typeloom_contracts::codec::Codec;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use super::message::{MessageError, Reader, begin};
use crate::dense::Dense;

/// The beginning of its messages.
const TAG: [u8; 2] = [b'z', 1];
/// How many bytes a tensor may have, unless told otherwise.
const LIMIT: usize = 1 << 30;
/// How hard to try, from 0 to 10; beyond this, time grows much and messages shrink little.
const LEVEL: u8 = 6;

/// What the codec has to say against a tensor or a message.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DeflatedError {
    /// The message is malformed.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The compressed bytes hold more than the message says.
    #[error("the message unpacks to more than the {claimed} bytes that it says it holds")]
    Bomb {
        /// How many bytes it says it holds.
        claimed: usize,
    },
    /// The compressed bytes hold less than the message says.
    #[error("the message unpacks to {found} bytes, and says that it holds {claimed}")]
    Short {
        /// How many bytes it says it holds.
        claimed: usize,
        /// How many there are.
        found: usize,
    },
    /// The compressed bytes are damaged.
    #[error("the message cannot be unpacked: {reason}")]
    Damaged {
        /// In which way.
        reason: String,
    },
    /// What was decoded is not what the codec stores.
    #[error(transparent)]
    Storage(#[from] TensorError),
}

/// Anything as compressed bytes; see the [module](self).
///
/// ```
/// use typeloom_components::codec::deflated::Deflated;
/// use typeloom_contracts::codec::Codec;
///
/// let codec: Deflated<[f32]> = Deflated::default();
/// let ramp: Vec<f32> = (0..1000).map(|at| at as f32).collect();
/// let message = codec.encode(&ramp)?;
/// assert!(message.len() < 2000);
/// assert_eq!(*codec.decode(&message)?, *ramp);
/// # Ok::<(), typeloom_components::codec::deflated::DeflatedError>(())
/// ```
#[derive(Debug)]
pub struct Deflated<In: ?Sized = AnyTensor> {
    limit: usize,
    input: PhantomData<fn(&In)>,
}

impl<In: ?Sized> Default for Deflated<In> {
    fn default() -> Self {
        Self::up_to(LIMIT)
    }
}

impl<In: ?Sized> Deflated<In> {
    /// A codec that unpacks tensors of at most so many bytes.
    #[must_use]
    pub fn up_to(limit: usize) -> Self {
        Self { limit, input: PhantomData }
    }
}

/// The bytes of each element; text has no elements of one width.
fn width(dtype: Dtype) -> usize {
    dtype.size_bytes().unwrap_or(1)
}

/// First bytes first. Bytes behind the last whole element stay where they are.
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

    /// There is nothing to learn: each message is compressed by itself.
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
