//! Data sources: batches of samples from files.
//!
//! [`Samples`] returns the entries of a tensor along its first axis in batches, in stored order or shuffled
//! from a seed. It is read from a NumPy array ([`Samples::from_npy`]), a tensor of a safetensors file
//! ([`Samples::from_safetensors`]) or columns of a CSV file ([`Samples::from_csv`]). The functions take
//! readers; the caller opens the file.
//!
//! A file is read into memory when the source is created, up to a size limit, so errors of the file are
//! reported at that time only.
//!
//! Example of [`Samples`]:
//!
//! ```
//! use typeloom_components::source::csv::Table;
//! use typeloom_components::source::{Batches, Samples};
//! use typeloom_contracts::data_source::DataSource;
//!
//! let text = "x,y\n1,2\n3,4\n5,6\n";
//! let mut samples: Samples<[f32]> = Samples::from_csv(text.as_bytes(), &Table::default(), Batches::of(2))?;
//! assert_eq!(samples.next_batch()?.as_deref(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
//! assert_eq!(samples.next_batch()?.as_deref(), Some(&[5.0, 6.0][..]));
//! assert_eq!(samples.next_batch()?, None);
//! # Ok::<(), typeloom_components::source::SourceError>(())
//! ```

use std::io::Read;
use std::marker::PhantomData;

use typeloom_contracts::data_source::DataSource;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::dense::{Dense, shown};
use crate::seeded::Seeded;

pub mod csv;
pub mod npy;
pub mod npz;
pub mod safetensors;

/// Maximum size of a file in bytes.
pub const LIMIT: u64 = 1 << 30;

/// Error of creating or using a data source.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Reading failed.
    #[error("the file cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// The file is larger than the limit.
    #[error("the file is larger than the limit of {limit} bytes")]
    TooLarge {
        /// Limit in bytes.
        limit: u64,
    },
    /// The bytes are not a valid NumPy array.
    #[error(transparent)]
    Npy(#[from] npy::NpyError),
    /// The bytes are not a valid safetensors file, or the tensor does not exist.
    #[error(transparent)]
    SafeTensors(#[from] safetensors::SafeTensorsError),
    /// The bytes are not a valid table of numbers.
    #[error(transparent)]
    Csv(#[from] csv::CsvError),
    /// The tensor has rank 0 and therefore no sample axis.
    #[error("a tensor of rank 0 has no samples")]
    NoAxis,
    /// Elements of this type do not have a whole number of bytes, so samples cannot be sliced.
    #[error("samples of type {dtype} do not fill whole bytes")]
    ElementType { dtype: Dtype },
    /// The samples have no elements.
    #[error("the samples have no elements: their shape is {}", shown(.shape))]
    NoElements { shape: Vec<usize> },
    /// The batch size is 0.
    #[error("a batch has at least one sample")]
    NoBatch,
    /// The acknowledged batch is not one that is in flight.
    #[error("a batch of shape {} was acknowledged, but no such batch is in flight", shown(.shape))]
    UnknownBatch { shape: Vec<usize> },
    /// A batch cannot be converted to the storage of the source.
    #[error(transparent)]
    Storage(#[from] TensorError),
}

/// Batching of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batches {
    /// Number of samples in a batch.
    pub size: usize,
    pub order: Order,
    /// Handling of a last, incomplete batch.
    pub rest: Rest,
}

impl Batches {
    /// Batches of this size in stored order, with a smaller last batch if necessary.
    #[must_use]
    pub fn of(size: usize) -> Self {
        Self { size, order: Order::AsStored, rest: Rest::Kept }
    }
}

/// Order of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Order of the file.
    #[default]
    AsStored,
    /// Pseudorandom order from a seed, different after each reset.
    Shuffled(u64),
}

/// Handling of a last, incomplete batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rest {
    /// Returned as a smaller batch.
    #[default]
    Kept,
    /// Omitted.
    Dropped,
}

/// Returns a tensor of samples in batches; see the [module](self).
///
/// With a slice as storage, a batch contains the elements of its samples in row-major order.
#[derive(Debug)]
pub struct Samples<S: ?Sized = AnyTensor> {
    tensor: AnyTensor,
    batches: Batches,
    /// Order of samples in the current epoch.
    order: Vec<usize>,
    /// Number of samples returned in the current epoch.
    at: usize,
    /// Number of resets.
    epoch: u64,
    /// Sizes of the batches that were returned and not yet acknowledged.
    under_way: Vec<usize>,
    arrived: u64,
    sample: PhantomData<fn(&S)>,
}

impl<S: ?Sized> Samples<S> {
    /// Creates a source from the entries of a tensor along its first axis.
    ///
    /// # Errors
    /// [`SourceError::NoAxis`], [`SourceError::ElementType`], [`SourceError::NoElements`]
    /// and [`SourceError::NoBatch`].
    pub fn new(tensor: AnyTensor, batches: Batches) -> Result<Self, SourceError> {
        let Some(count) = tensor.shape().first().copied() else { return Err(SourceError::NoAxis) };
        if tensor.dtype().size_bytes().is_none() {
            return Err(SourceError::ElementType { dtype: tensor.dtype() });
        }
        // Without this check, a file of a few bytes could declare any number of empty samples.
        if count > 0 && tensor.is_empty() {
            return Err(SourceError::NoElements { shape: tensor.shape().to_vec() });
        }
        if batches.size == 0 {
            return Err(SourceError::NoBatch);
        }
        let order = (0..count).collect();
        let (at, epoch, under_way, arrived) = (0, 0, Vec::new(), 0);
        let mut samples = Self { tensor, batches, order, at, epoch, under_way, arrived, sample: PhantomData };
        samples.put_in_order();
        Ok(samples)
    }

    /// Creates a source from the entries of a NumPy array along its first axis.
    ///
    /// # Errors
    /// The file is invalid, or an error of [`Samples::new`].
    pub fn from_npy(file: impl Read, batches: Batches) -> Result<Self, SourceError> {
        Self::new(npy::read(&all_of(file, LIMIT)?)?, batches)
    }

    /// Creates a source from the entries of a tensor in a safetensors file along its first axis.
    ///
    /// # Errors
    /// The file is invalid, or an error of [`Samples::new`].
    pub fn from_safetensors(file: impl Read, name: &str, batches: Batches) -> Result<Self, SourceError> {
        Self::new(safetensors::read(&all_of(file, LIMIT)?, name)?, batches)
    }

    /// Creates a source from the rows of a CSV file.
    ///
    /// # Errors
    /// The file is invalid, or an error of [`Samples::new`].
    pub fn from_csv(file: impl Read, table: &csv::Table, batches: Batches) -> Result<Self, SourceError> {
        Self::new(csv::read(&all_of(file, LIMIT)?, table)?, batches)
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Number of acknowledged batches.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Number of batches returned since the last reset and not yet acknowledged.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    fn put_in_order(&mut self) {
        self.order.sort_unstable();
        match self.batches.order {
            Order::AsStored => {}
            Order::Shuffled(seed) => {
                // The multiplier spreads the epochs over the generator's sequence, so that their orders are
                // unrelated.
                let mixed = Seeded::new(seed).bits() ^ self.epoch.wrapping_mul(0xd134_2543_de82_ef95);
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

    /// Restarts, with a new order if samples are shuffled. The count of batches in flight is reset.
    fn reset(&mut self) -> Result<(), SourceError> {
        self.at = 0;
        self.epoch = self.epoch.wrapping_add(1);
        self.under_way.clear();
        self.put_in_order();
        Ok(())
    }

    /// Acknowledges a batch, which must have the size of one that is in flight.
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

/// Reads a file completely, up to a limit.
fn all_of(file: impl Read, limit: u64) -> Result<Vec<u8>, SourceError> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(SourceError::TooLarge { limit }) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::{SourceError, all_of};

    #[test]
    fn a_file_is_read_up_to_a_limit() {
        assert_eq!(all_of(&b"abc"[..], 3).expect("three bytes are allowed"), b"abc");
        assert!(matches!(all_of(std::io::repeat(7), 3), Err(SourceError::TooLarge { limit: 3 })));
    }
}
