//! Data sources: batches of samples out of files.
//!
//! [`Samples`] is a tensor whose first axis counts samples, given out a batch at a time, in order or shuffled from a seed. It
//! is read from a NumPy array ([`Samples::from_npy`]), a tensor of a safetensors file ([`Samples::from_safetensors`]) or the
//! columns of a CSV file ([`Samples::from_csv`]). Whoever calls opens the file: readers and bytes are taken here.
//!
//! Everything is read when the source is made, up to a limit, and held in memory; what is wrong with a file is an error
//! then, and none later.

use std::io::Read;
use std::marker::PhantomData;

use typeloom_contracts::data_source::DataSource;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::dense::{Dense, shown};
use crate::seeded::Seeded;

pub mod csv;

pub mod npy;

pub mod safetensors;

/// How many bytes are read at most, unless told otherwise.
pub const LIMIT: u64 = 1 << 30;

/// What a source has to say against a file or a call.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The bytes could not be read.
    #[error("the file cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// There are more bytes than are read.
    #[error("the file has more than the {limit} bytes that are read at most")]
    TooLarge {
        /// How many are read.
        limit: u64,
    },
    /// The bytes are no NumPy array.
    #[error(transparent)]
    Npy(#[from] npy::NpyError),
    /// The bytes are no safetensors file, or have no such tensor.
    #[error(transparent)]
    SafeTensors(#[from] safetensors::SafeTensorsError),
    /// The bytes are no table of numbers.
    #[error(transparent)]
    Csv(#[from] csv::CsvError),
    /// A tensor without an axis that counts samples.
    #[error("a number by itself is no list of samples")]
    NoAxis,
    /// A type whose samples cannot be taken apart.
    #[error("samples of type {dtype} do not lie on whole bytes")]
    ElementType {
        /// The type.
        dtype: Dtype,
    },
    /// Samples in which there is nothing.
    #[error("the samples have no elements: their shape is {}", shown(.shape))]
    NoElements {
        /// The shape of all of them.
        shape: Vec<usize>,
    },
    /// Batches of nothing.
    #[error("a batch has at least one sample")]
    NoBatch,
    /// A batch has arrived that was never given.
    #[error("a batch of shape {} arrived, which is none of those that were given", shown(.shape))]
    UnknownBatch {
        /// Its shape.
        shape: Vec<usize>,
    },
    /// A batch is not what the source stores.
    #[error(transparent)]
    Storage(#[from] TensorError),
}

/// How samples are put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batches {
    /// How many samples make a batch.
    pub size: usize,
    /// In which order samples come.
    pub order: Order,
    /// What happens to the last ones where they do not make a batch.
    pub rest: Rest,
}

impl Batches {
    /// Batches of this size, in the order of the file, the last one as large as what is left.
    #[must_use]
    pub fn of(size: usize) -> Self {
        Self { size, order: Order::AsStored, rest: Rest::Kept }
    }
}

/// In which order samples come.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// That of the file.
    #[default]
    AsStored,
    /// Another after each reset, which follows from the seed.
    Shuffled(u64),
}

/// What happens to samples that do not make a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rest {
    /// They come as a smaller one.
    #[default]
    Kept,
    /// They do not come.
    Dropped,
}

/// A tensor of samples, a batch at a time; see the [module](self).
///
/// A slice as storage holds the elements of a batch one after the other.
///
/// ```
/// use typeloom_components::source::csv::Table;
/// use typeloom_components::source::{Batches, Samples};
/// use typeloom_contracts::data_source::DataSource;
///
/// let text = "x,y\n1,2\n3,4\n5,6\n";
/// let mut samples: Samples<[f32]> = Samples::from_csv(text.as_bytes(), &Table::default(), Batches::of(2))?;
/// assert_eq!(samples.next_batch()?.as_deref(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
/// assert_eq!(samples.next_batch()?.as_deref(), Some(&[5.0, 6.0][..]));
/// assert_eq!(samples.next_batch()?, None);
/// # Ok::<(), typeloom_components::source::SourceError>(())
/// ```
#[derive(Debug)]
pub struct Samples<S: ?Sized = AnyTensor> {
    tensor: AnyTensor,
    batches: Batches,
    /// The samples in the order of this turn.
    order: Vec<usize>,
    /// How many samples of this turn were given.
    at: usize,
    /// How often it was started again.
    turn: u64,
    /// The numbers of samples of batches that were given and have not arrived.
    under_way: Vec<usize>,
    arrived: u64,
    sample: PhantomData<fn(&S)>,
}

impl<S: ?Sized> Samples<S> {
    /// The entries of a tensor along its first axis.
    ///
    /// # Errors
    /// [`SourceError::NoAxis`], [`SourceError::ElementType`], [`SourceError::NoElements`] and [`SourceError::NoBatch`].
    pub fn new(tensor: AnyTensor, batches: Batches) -> Result<Self, SourceError> {
        let Some(count) = tensor.shape().first().copied() else { return Err(SourceError::NoAxis) };
        if tensor.dtype().size_bytes().is_none() {
            return Err(SourceError::ElementType { dtype: tensor.dtype() });
        }
        // A file of a few bytes can claim any number of samples in which there is nothing.
        if count > 0 && tensor.is_empty() {
            return Err(SourceError::NoElements { shape: tensor.shape().to_vec() });
        }
        if batches.size == 0 {
            return Err(SourceError::NoBatch);
        }
        let order = (0..count).collect();
        let (at, turn, under_way, arrived) = (0, 0, Vec::new(), 0);
        let mut samples = Self { tensor, batches, order, at, turn, under_way, arrived, sample: PhantomData };
        samples.put_in_order();
        Ok(samples)
    }

    /// The entries of a NumPy array along its first axis.
    ///
    /// # Errors
    /// What is wrong with the file, and as [`Samples::new`].
    pub fn from_npy(file: impl Read, batches: Batches) -> Result<Self, SourceError> {
        Self::new(npy::read(&all_of(file, LIMIT)?)?, batches)
    }

    /// The entries of a tensor of a safetensors file along its first axis.
    ///
    /// # Errors
    /// What is wrong with the file, and as [`Samples::new`].
    pub fn from_safetensors(file: impl Read, name: &str, batches: Batches) -> Result<Self, SourceError> {
        Self::new(safetensors::read(&all_of(file, LIMIT)?, name)?, batches)
    }

    /// The rows of a CSV file.
    ///
    /// # Errors
    /// What is wrong with the file, and as [`Samples::new`].
    pub fn from_csv(file: impl Read, table: &csv::Table, batches: Batches) -> Result<Self, SourceError> {
        Self::new(csv::read(&all_of(file, LIMIT)?, table)?, batches)
    }

    /// How many samples there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// How many batches have arrived where they are used.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// How many batches were given and have not arrived yet, since the last reset.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    fn put_in_order(&mut self) {
        self.order.sort_unstable();
        match self.batches.order {
            Order::AsStored => {}
            Order::Shuffled(seed) => {
                // Turns are far apart in the generator's sequence, so that no two orders are alike.
                let mixed = Seeded::new(seed).bits() ^ self.turn.wrapping_mul(0xd134_2543_de82_ef95);
                Seeded::new(mixed).shuffle(&mut self.order);
            }
        }
    }

    fn shape(&self, count: usize) -> Vec<usize> {
        std::iter::once(count).chain(self.tensor.shape().iter().skip(1).copied()).collect()
    }
}

impl<S: ?Sized + Dense> DataSource for Samples<S> {
    type Sample = S;
    type Error = SourceError;

    fn next_batch(&mut self) -> Result<Option<Box<S>>, SourceError> {
        let count = self.batches.size.min(self.order.len() - self.at);
        let is_rest = count < self.batches.size;
        if count == 0 || (is_rest && self.batches.rest == Rest::Dropped) {
            return Ok(None);
        }
        let width = self.tensor.bytes().len() / self.order.len();
        let rows = &self.order[self.at..self.at + count];
        let bytes: Vec<u8> =
            rows.iter().flat_map(|row| &self.tensor.bytes()[row * width..][..width]).copied().collect();
        let batch = AnyTensor::from_le_bytes(self.tensor.dtype(), &self.shape(count), &bytes)?;
        let batch = S::from_tensor(batch)?;
        self.at += count;
        self.under_way.push(count);
        Ok(Some(batch))
    }

    /// Starts again, in another order where samples are shuffled. Batches that are under way no longer count.
    fn reset(&mut self) -> Result<(), SourceError> {
        self.at = 0;
        self.turn = self.turn.wrapping_add(1);
        self.under_way.clear();
        self.put_in_order();
        Ok(())
    }

    /// Takes note that a batch has arrived; it has to be as large as one that is under way.
    fn on_data_loaded(&mut self, batch: &S) -> Result<(), SourceError> {
        let batch = batch.to_tensor();
        let per_sample: usize = self.tensor.shape().iter().skip(1).product();
        let fits = |count: &usize| {
            batch.dtype() == self.tensor.dtype()
                && batch.len() == count * per_sample
                && (batch.rank() == 1 || batch.shape() == self.shape(*count))
        };
        let Some(which) = self.under_way.iter().position(fits) else {
            return Err(SourceError::UnknownBatch { shape: batch.shape().to_vec() });
        };
        self.under_way.remove(which);
        self.arrived += 1;
        Ok(())
    }
}

/// All bytes of a file, up to a limit.
fn all_of(file: impl Read, limit: u64) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(SourceError::TooLarge { limit }) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::{SourceError, all_of};

    #[test]
    fn a_file_is_read_up_to_a_limit_and_not_beyond() {
        assert_eq!(all_of(&b"abc"[..], 3).expect("three bytes are allowed"), b"abc");
        assert!(matches!(all_of(std::io::repeat(7), 3), Err(SourceError::TooLarge { limit: 3 })));
    }
}
