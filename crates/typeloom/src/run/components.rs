//! Ready-made components, one or more for each contract.
//!
//! ```
//! use typeloom::module::Index as _;
//! use typeloom::run::Cpu;
//! use typeloom::run::components::{Exact, Metric};
//!
//! let mut index: Exact<Cpu, [f32]> = Exact::new(Cpu, Metric::Euclidean);
//! index.add(1, &[0.0, 0.0])?;
//! index.add(2, &[3.0, 4.0])?;
//! assert_eq!(index.search(&[3.0, 3.0], 1)?[0].0, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Components open no files, read no clocks and use only seeded random numbers. Their storage type is
//! [`AnyTensor`](crate::types::AnyTensor) or a slice of elements.

/// Combination of contributions: a weighted mean, or a mean without the extremes.
///
/// ```
/// use typeloom::module::Aggregator as _;
/// use typeloom::run::components::{Contribution, FederatedAverage, Trim, TrimmedMean};
///
/// let mut average = FederatedAverage::<[f32]>::default();
/// average.contribute("a", &[1.0], Contribution { samples: 3 })?;
/// average.contribute("b", &[5.0], Contribution { samples: 1 })?;
/// assert_eq!(*average.aggregate()?, [2.0]);
///
/// let mut median = TrimmedMean::<[f32]>::new(Trim::ToMedian);
/// median.contribute("a", &[1.0], Contribution::default())?;
/// assert_eq!(*median.aggregate()?, [1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_components::aggregator::FederatedAverage;
/// [`FederatedAverage`] has an example.
#[doc(inline)]
pub use typeloom_components::aggregator::{Contribution, Trim, TrimmedMean};
/// Compression: floats as 8-bit integers, and lossless compression.
///
/// ```
/// use typeloom::module::Codec as _;
/// use typeloom::run::components::{Deflated, Int8};
///
/// let values = [0.5_f32, -1.0, 2.0];
/// let deflated = Deflated::<[f32]>::default();
/// assert_eq!(*deflated.decode(&deflated.encode(&values)?)?, values);
/// let int8 = Int8::<[f32]>::default();
/// assert_eq!(int8.decode(&int8.encode(&values)?)?.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_components::codec::deflated::Deflated;
/// [`Deflated`] has an example.
#[doc(inline)]
pub use typeloom_components::codec::int8::Int8;
/// Storage types of floats, for functions that are generic over the storage of a component.
///
/// ```
/// use typeloom::run::components::{Dense, FederatedAverage};
///
/// fn average<E: Dense + ?Sized>() -> FederatedAverage<E> {
///     FederatedAverage::of_at_least(2)
/// }
///
/// assert!(average::<[f32]>().is_empty());
/// ```
#[doc(inline)]
pub use typeloom_components::dense::Dense;
/// The exact index of nearest neighbours, and its measures of distance.
///
/// ```
/// use typeloom::module::Index as _;
/// use typeloom::run::Cpu;
/// use typeloom::run::components::{Exact, Metric};
///
/// let mut index: Exact<Cpu, [f32]> = Exact::new(Cpu, Metric::Cosine);
/// index.add(1, &[1.0, 0.0])?;
/// assert_eq!(index.search(&[0.0, 1.0], 1)?, [(1, 1.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_components::index::Exact;
/// [`Exact`] has an example.
#[doc(inline)]
pub use typeloom_components::index::Metric;
/// The approximate index of nearest neighbours.
///
/// ```
/// use typeloom::module::Index as _;
/// use typeloom::run::Cpu;
/// use typeloom::run::components::{Approximate, ApproximateSettings, Exact, Metric};
///
/// let settings = ApproximateSettings::default();
/// let mut index: Approximate<Cpu, [f32]> = Approximate::new(Exact::new(Cpu, Metric::Euclidean), settings);
/// index.add(7, &[0.5])?;
/// assert_eq!(index.search(&[0.0], 1)?[0].0, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "approximate")]
#[doc(inline)]
pub use typeloom_components::index::approximate::Approximate;
/// [`Approximate`] has an example.
#[cfg(feature = "approximate")]
#[doc(inline)]
pub use typeloom_components::index::approximate::Settings as ApproximateSettings;
/// A network with loss and gradients.
///
/// ```
/// use typeloom::module::Model as _;
/// use typeloom::run::components::{Loss, Network, NetworkSettings};
///
/// let model = typeloom::onnx::model_from_text(
///     r#"<ir_version: 10, opset_import: ["" : 21]>
///     g (float[N, 2] x) => (y) <float[2, 1] w = {0.5, 0.5}> { y = MatMul(x, w) }"#,
/// )?;
/// let settings = NetworkSettings { loss: Loss::MeanSquaredError, ..NetworkSettings::default() };
/// let network = Network::<[f32]>::from_bytes(&model, &settings)?;
/// assert_eq!(*network.params(), [0.5, 0.5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_components::model::Network;
/// [`Network`] has an example.
#[doc(inline)]
pub use typeloom_components::model::{Loss, Settings as NetworkSettings};
/// Selection of peers by score or freshness, or at random from a seed.
///
/// ```
/// use typeloom::module::{PeerId, PeerSelector as _};
/// use typeloom::run::components::{PeerTable, Preference};
///
/// let mut table = PeerTable::new(Preference::Score, 42);
/// table.observe(PeerId(b"a".to_vec()), 0.5, 1)?;
/// assert_eq!(table.select(1)?, [PeerId(b"a".to_vec())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_components::peers::PeerTable;
/// [`PeerTable`] has an example.
#[doc(inline)]
pub use typeloom_components::peers::Preference;
/// Pseudorandom numbers from a seed.
///
/// ```
/// use typeloom::run::components::Seeded;
///
/// assert_eq!(Seeded::new(7).bits(), Seeded::new(7).bits());
/// ```
#[doc(inline)]
pub use typeloom_components::seeded::Seeded;
/// Batches of the samples of a file.
///
/// ```
/// use typeloom::module::DataSource as _;
/// use typeloom::run::components::{Batches, Columns, CsvTable, FirstLine, Order, Rest, Samples};
///
/// let table = CsvTable { columns: Columns::All, first_line: FirstLine::Names, ..CsvTable::default() };
/// let batches = Batches { size: 2, order: Order::AsStored, rest: Rest::Dropped };
/// let mut samples = Samples::<[f32]>::from_csv(&b"a,b\n1,2\n3,4\n"[..], &table, batches)?;
/// assert_eq!(samples.next_batch()?.as_deref(), Some(&[1.0, 2.0, 3.0, 4.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(inline)]
pub use typeloom_components::source::{
    Batches, Order, Rest, Samples,
    csv::{Columns, FirstLine, Table as CsvTable},
};
