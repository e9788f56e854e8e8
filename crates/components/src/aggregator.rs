//! Aggregators: combination of the contributions of several peers.
//!
//! [`FederatedAverage`] is the mean weighted by the number of samples of each contribution (McMahan et al.,
//! *Communication-Efficient Learning of Deep Networks from Decentralized Data*, 2017). [`TrimmedMean`] omits
//! the extremes of each element and so tolerates a limited number of incorrect or malicious peers (Yin et
//! al., *Byzantine-Robust Distributed Learning*, 2018).
//!
//! Contributions are stored by source until they are aggregated, which starts a new round. A later
//! contribution of the same source replaces the earlier one, and the result does not depend on the order of
//! arrival.
//!
//! **Invariant:** every element of a result is between the minimum and the maximum of that element over the
//! contributions. Equal contributions therefore yield the same value bit for bit, except for the sign of
//! zero.
//!
//! Example of [`FederatedAverage`]:
//!
//! ```
//! use typeloom_components::aggregator::{Contribution, FederatedAverage};
//! use typeloom_contracts::aggregator::Aggregator;
//!
//! let mut average: FederatedAverage<[f32]> = FederatedAverage::default();
//! average.contribute("a", &[1.0, 0.0], Contribution { samples: 30 })?;
//! average.contribute("b", &[5.0, 0.0], Contribution { samples: 10 })?;
//! assert_eq!(*average.aggregate()?, [2.0, 0.0]);
//! # Ok::<(), typeloom_components::aggregator::AggregateError>(())
//! ```
//!
//! Example of [`TrimmedMean`]:
//!
//! ```
//! use typeloom_components::aggregator::{Contribution, Trim, TrimmedMean};
//! use typeloom_contracts::aggregator::Aggregator;
//!
//! let mut mean: TrimmedMean<[f64]> = TrimmedMean::new(Trim::Each(1));
//! for (peer, value) in [("a", 1.0), ("b", 3.0), ("c", 1e300)] {
//!     mean.contribute(peer, &[value], Contribution::default())?;
//! }
//! assert_eq!(*mean.aggregate()?, [3.0]);
//! # Ok::<(), typeloom_components::aggregator::AggregateError>(())
//! ```

use std::collections::BTreeMap;
use std::marker::PhantomData;

use typeloom_contracts::aggregator::Aggregator;
use typeloom_runtime::components::FromMetadata;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::dense::{Dense, Floats, FloatsError, NotFloats, shown, tensor_of};

mod mean;

/// Metadata of a contribution.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Contribution {
    /// Number of samples behind the contribution.
    pub samples: u64,
}

impl Default for Contribution {
    /// One sample, so that contributions without metadata have equal weights.
    fn default() -> Self {
        Self { samples: 1 }
    }
}

impl Contribution {
    /// Encodes the number of samples as eight little-endian bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        self.samples.to_le_bytes()
    }
}

/// Error of decoding metadata of the wrong length.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a number of samples has 8 bytes, not {found}")]
pub struct NoContribution {
    /// Length in bytes.
    pub found: usize,
}

impl TryFrom<&[u8]> for Contribution {
    type Error = NoContribution;

    fn try_from(bytes: &[u8]) -> Result<Self, NoContribution> {
        let samples = bytes.try_into().map_err(|_| NoContribution { found: bytes.len() })?;
        Ok(Self { samples: u64::from_le_bytes(samples) })
    }
}

impl FromMetadata for Contribution {
    fn from_metadata(bytes: Option<&[u8]>) -> Result<Self, String> {
        bytes.map_or(Ok(Self::default()), |bytes| Self::try_from(bytes).map_err(|error| error.to_string()))
    }
}

/// Error of an aggregator.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AggregateError {
    /// The contribution has another shape than the others.
    #[error("`{source_name}` contributed {}, but the others have shape {}", shown(.found), shown(.expected))]
    Shape { source_name: String, expected: Vec<usize>, found: Vec<usize> },
    /// The contribution has another element type than the others.
    #[error("`{source_name}` contributed {found}, but the others are {expected}")]
    ElementType { source_name: String, expected: Dtype, found: Dtype },
    /// The elements of the contribution are not floats.
    #[error("`{source_name}`: {error}")]
    NotFloats { source_name: String, error: NotFloats },
    /// The contribution contains an infinity or NaN.
    #[error("element {at} of the contribution of `{source_name}` is not finite")]
    NotFinite { source_name: String, at: usize },
    /// There are too few contributions; the round continues.
    #[error("{needed} contributions are needed, but there are {found}")]
    TooFew { needed: usize, found: usize },
    /// All contributions have zero samples; the round continues.
    #[error("all contributions have zero samples")]
    NoSamples,
    /// The result is not representable in the element type.
    #[error(transparent)]
    Result(#[from] FloatsError),
    /// The result cannot be converted to the storage of the aggregator.
    #[error(transparent)]
    Storage(#[from] TensorError),
}

/// Contributions of a round, by source.
#[derive(Clone, Debug, Default)]
struct Round {
    held: BTreeMap<String, (AnyTensor, Contribution)>,
}

impl Round {
    fn take(
        &mut self,
        source: &str,
        element: AnyTensor,
        metadata: Contribution,
    ) -> Result<(), AggregateError> {
        let source_name = source.to_owned();
        let floats = match Floats::of(&element) {
            Ok(floats) => floats,
            Err(error) => return Err(AggregateError::NotFloats { source_name, error }),
        };
        if let Some(at) = floats.first_not_finite() {
            return Err(AggregateError::NotFinite { source_name, at });
        }
        // A source may replace its contribution by one of another shape if it is the only source.
        let mut others = self.held.iter().filter(|(other, _)| other.as_str() != source);
        if let Some((_, (other, _))) = others.next() {
            if other.dtype() != element.dtype() {
                let (expected, found) = (other.dtype(), element.dtype());
                return Err(AggregateError::ElementType { source_name, expected, found });
            }
            if other.shape() != element.shape() {
                let (expected, found) = (other.shape().to_vec(), element.shape().to_vec());
                return Err(AggregateError::Shape { source_name, expected, found });
            }
        }
        self.held.insert(source_name, (element, metadata));
        Ok(())
    }

    /// Computes each element of the result from the contributions in the order of their sources.
    fn each(
        &self,
        needed: usize,
        mut result: impl FnMut(&[Floats<'_>], usize) -> f64,
    ) -> Result<AnyTensor, AggregateError> {
        let found = self.held.len();
        let first = self.held.values().next().map(|(first, _)| first);
        let Some(first) = first.filter(|_| found >= needed) else {
            return Err(AggregateError::TooFew { needed: needed.max(1), found });
        };
        let all: Result<Vec<Floats<'_>>, NotFloats> =
            self.held.values().map(|(tensor, _)| Floats::of(tensor)).collect();
        let all = all.map_err(FloatsError::from)?;
        let values: Vec<f64> = (0..first.len()).map(|at| result(&all, at)).collect();
        Ok(tensor_of(first.dtype(), first.shape(), &values)?)
    }
}

/// Mean of contributions, weighted by their numbers of samples; see the [module](self).
#[derive(Debug)]
pub struct FederatedAverage<E: ?Sized = AnyTensor> {
    round: Round,
    needed: usize,
    element: PhantomData<fn(&E)>,
}

impl<E: ?Sized> Default for FederatedAverage<E> {
    fn default() -> Self {
        Self::of_at_least(1)
    }
}

impl<E: ?Sized> FederatedAverage<E> {
    /// Creates an average that requires this many contributions.
    #[must_use]
    pub fn of_at_least(needed: usize) -> Self {
        Self { round: Round::default(), needed: needed.max(1), element: PhantomData }
    }

    /// Number of contributions in this round.
    #[must_use]
    pub fn len(&self) -> usize {
        self.round.held.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.round.held.is_empty()
    }
}

impl<E: ?Sized + Dense> Aggregator for FederatedAverage<E> {
    type Element = E;
    type Metadata = Contribution;
    type Error = AggregateError;

    fn contribute(
        &mut self,
        source: &str,
        element: &E,
        metadata: Contribution,
    ) -> Result<(), AggregateError> {
        self.round.take(source, element.to_tensor(), metadata)
    }

    fn aggregate(&mut self) -> Result<Box<E>, AggregateError> {
        let samples = self.round.held.values().map(|(_, said)| said.samples as f64);
        let total: f64 = samples.clone().sum();
        let shares: Vec<f64> = samples.map(|samples| samples / total).collect();
        if total == 0.0 && self.round.held.len() >= self.needed {
            return Err(AggregateError::NoSamples);
        }
        let result = self.round.each(self.needed, |all, at| mean::weighted(all, &shares, at))?;
        let stored = E::from_tensor(result)?;
        self.round = Round::default();
        Ok(stored)
    }
}

/// Mean of each element without its extremes; see the [module](self).
///
/// Numbers of samples are ignored, because a malicious peer can report any number.
#[derive(Debug)]
pub struct TrimmedMean<E: ?Sized = AnyTensor> {
    round: Round,
    trim: Trim,
    element: PhantomData<fn(&E)>,
}

/// Number of contributions omitted at each end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trim {
    /// A fixed number `n`; requires at least `2 n + 1` contributions.
    Each(usize),
    /// One in `n` of the contributions, rounded down. Values of `n` below 3 are treated as 3, to keep at
    /// least one contribution.
    OneIn(usize),
    /// All but the middle one or two: the median.
    ToMedian,
}

impl Trim {
    /// Returns the number omitted at each end of `found` contributions, and the required number of
    /// contributions.
    fn of(self, found: usize) -> (usize, usize) {
        match self {
            Self::Each(count) => (count, count.saturating_mul(2).saturating_add(1)),
            Self::OneIn(parts) => (found / parts.max(3), 1),
            Self::ToMedian => (found.saturating_sub(1) / 2, 1),
        }
    }
}

impl<E: ?Sized> Default for TrimmedMean<E> {
    /// Omits one in ten at each end.
    fn default() -> Self {
        Self::new(Trim::OneIn(10))
    }
}

impl<E: ?Sized> TrimmedMean<E> {
    /// Creates a trimmed mean.
    #[must_use]
    pub fn new(trim: Trim) -> Self {
        Self { round: Round::default(), trim, element: PhantomData }
    }
}

impl<E: ?Sized + Dense> Aggregator for TrimmedMean<E> {
    type Element = E;
    type Metadata = Contribution;
    type Error = AggregateError;

    fn contribute(
        &mut self,
        source: &str,
        element: &E,
        metadata: Contribution,
    ) -> Result<(), AggregateError> {
        self.round.take(source, element.to_tensor(), metadata)
    }

    fn aggregate(&mut self) -> Result<Box<E>, AggregateError> {
        let (cut, needed) = self.trim.of(self.round.held.len());
        let mut sorted = Vec::new();
        let result = self.round.each(needed, |all, at| mean::trimmed(all, cut, at, &mut sorted))?;
        let stored = E::from_tensor(result)?;
        self.round = Round::default();
        Ok(stored)
    }
}
