//! Aggregators: what several peers computed, as one.
//!
//! [`FederatedAverage`] is the mean weighted by how many samples each contribution comes from (McMahan et al.,
//! *Communication-Efficient Learning of Deep Networks from Decentralized Data*, 2017). [`TrimmedMean`] leaves the extremes of
//! each element out, so that some of the peers may be wrong or worse (Yin et al., *Byzantine-Robust Distributed Learning*, 2018).
//!
//! Contributions are kept until they are aggregated, under the name of their source: one that arrives twice counts once, the
//! later in place of the earlier, and the result does not depend on the order of arrival. Then a new round begins.
//!
//! **Invariant:** every element of a result lies between the least and the greatest of that element among the
//! contributions, so that equal contributions come to themselves, bit for bit, zeros of either sign aside.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use typeloom_contracts::aggregator::Aggregator;
use typeloom_runtime::components::FromMetadata;
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

use crate::dense::{Dense, Floats, FloatsError, NotFloats, shown, tensor_of};

mod mean;

/// What is said of a contribution: how many samples it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Contribution {
    /// How many samples.
    pub samples: u64,
}

impl Default for Contribution {
    /// One sample: contributions of which nothing is said count the same.
    fn default() -> Self {
        Self { samples: 1 }
    }
}

impl Contribution {
    /// As it travels: the number in eight bytes, the least first.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        self.samples.to_le_bytes()
    }
}

/// Bytes that say nothing of a contribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a number of samples has 8 bytes, not {found}")]
pub struct NoContribution {
    /// How many bytes there are.
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

/// What an aggregator has to say against contributions.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AggregateError {
    /// A contribution of another shape than the others.
    #[error("`{source_name}` contributed {}, where the others are {}", shown(.found), shown(.expected))]
    Shape {
        /// Whose it is.
        source_name: String,
        /// The shape of the others.
        expected: Vec<usize>,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A contribution of another element type than the others.
    #[error("`{source_name}` contributed {found}, where the others are {expected}")]
    ElementType {
        /// Whose it is.
        source_name: String,
        /// The type of the others.
        expected: Dtype,
        /// Its type.
        found: Dtype,
    },
    /// A contribution that cannot be computed with.
    #[error("`{source_name}`: {error}")]
    NotFloats {
        /// Whose it is.
        source_name: String,
        /// Why.
        error: NotFloats,
    },
    /// A contribution that would spoil the result.
    #[error("element {at} of what `{source_name}` contributed is not finite")]
    NotFinite {
        /// Whose it is.
        source_name: String,
        /// Which element.
        at: usize,
    },
    /// Fewer contributions than are needed; they are kept.
    #[error("{needed} contributions are needed, and there are {found}")]
    TooFew {
        /// How many are needed.
        needed: usize,
        /// How many there are.
        found: usize,
    },
    /// No contribution comes from any sample; they are kept.
    #[error("no contribution comes from any sample")]
    NoSamples,
    /// The result cannot be stored.
    #[error(transparent)]
    Result(#[from] FloatsError),
    /// The result is not what the aggregator stores.
    #[error(transparent)]
    Storage(#[from] TensorError),
}

/// The contributions of a round.
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
        // A source may replace its own contribution by one of another shape, if there is no other.
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

    /// One result for each element, from the contributions in the order of their sources.
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

/// The mean of contributions, weighted by their numbers of samples; see the [module](self).
///
/// ```
/// use typeloom_components::aggregator::{Contribution, FederatedAverage};
/// use typeloom_contracts::aggregator::Aggregator;
///
/// let mut average: FederatedAverage<[f32]> = FederatedAverage::default();
/// average.contribute("a", &[1.0, 0.0], Contribution { samples: 30 })?;
/// average.contribute("b", &[5.0, 0.0], Contribution { samples: 10 })?;
/// assert_eq!(*average.aggregate()?, [2.0, 0.0]);
/// # Ok::<(), typeloom_components::aggregator::AggregateError>(())
/// ```
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
    /// An average that needs this many contributions.
    #[must_use]
    pub fn of_at_least(needed: usize) -> Self {
        Self { round: Round::default(), needed: needed.max(1), element: PhantomData }
    }

    /// How many contributions there are in this round.
    #[must_use]
    pub fn len(&self) -> usize {
        self.round.held.len()
    }

    /// Whether there are none.
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

/// The mean of each element without its extremes; see the [module](self).
///
/// Numbers of samples are not heeded: a peer that may lie about its result may lie about them.
///
/// ```
/// use typeloom_components::aggregator::{Contribution, Trim, TrimmedMean};
/// use typeloom_contracts::aggregator::Aggregator;
///
/// let mut mean: TrimmedMean<[f64]> = TrimmedMean::new(Trim::Each(1));
/// for (peer, value) in [("a", 1.0), ("b", 3.0), ("c", 1e300)] {
///     mean.contribute(peer, &[value], Contribution::default())?;
/// }
/// assert_eq!(*mean.aggregate()?, [3.0]);
/// # Ok::<(), typeloom_components::aggregator::AggregateError>(())
/// ```
#[derive(Debug)]
pub struct TrimmedMean<E: ?Sized = AnyTensor> {
    round: Round,
    trim: Trim,
    element: PhantomData<fn(&E)>,
}

/// How many contributions are left out at either end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trim {
    /// This many; at least one more than twice as many contributions are needed.
    Each(usize),
    /// One in so many of the contributions, rounded down; of fewer than three in a row nothing would be left.
    OneIn(usize),
    /// As many as leave one or two: the median.
    ToMedian,
}

impl Trim {
    /// How many of `found` are left out at either end, and how many there must be.
    fn of(self, found: usize) -> (usize, usize) {
        match self {
            Self::Each(count) => (count, count.saturating_mul(2).saturating_add(1)),
            Self::OneIn(parts) => (found / parts.max(3), 1),
            Self::ToMedian => (found.saturating_sub(1) / 2, 1),
        }
    }
}

impl<E: ?Sized> Default for TrimmedMean<E> {
    /// Leaves one in ten out at either end.
    fn default() -> Self {
        Self::new(Trim::OneIn(10))
    }
}

impl<E: ?Sized> TrimmedMean<E> {
    /// A mean that leaves so many out.
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
