//! Components to bind to the slots of a module: at least one real one for each contract but the backend's.
//!
//! | component | contract | what it does |
//! |---|---|---|
//! | [`Exact`](index::Exact) | `Index` | the nearest vectors, compared by a bound backend |
//! | `index::approximate::Approximate` | `Index` | a graph proposes, the exact index compares; feature `approximate` |
//! | [`Network`](model::Network) | `Model` | an ONNX graph that predicts and learns by gradients |
//! | [`FederatedAverage`](aggregator::FederatedAverage) | `Aggregator` | the mean, weighted by numbers of samples |
//! | [`TrimmedMean`](aggregator::TrimmedMean) | `Aggregator` | the mean without the extremes |
//! | [`Int8`](codec::int8::Int8) | `Codec` | floats as 8-bit integers |
//! | [`Deflated`](codec::deflated::Deflated) | `Codec` | anything as compressed bytes, without loss |
//! | [`Samples`](source::Samples) | `DataSource` | batches of a `.npy`, safetensors or CSV file |
//! | [`PeerTable`](peers::PeerTable) | `PeerSelector` | peers by score and freshness, or at random |
//!
//! Backends are in `typeloom-runtime`.
//!
//! Components are generic over what they store, where their contract is: [`Dense`](dense::Dense) is implemented for slices
//! of every element type and for `AnyTensor`, and the same code runs on both.
//!
//! **Invariant:** nothing here opens a file, reads a clock or draws a number that was not seeded. The same calls give the
//! same results, on every machine; contributions and peers have an order of their own, not that of their arrival.
//!
//! **Invariant:** what comes from outside (files, encoded messages, contributions of peers) is checked before memory is
//! taken for it, and what is wrong with it is a typed error that says where.

pub mod dense;

pub mod seeded;

pub mod index;

pub mod model;

pub mod aggregator;

pub mod codec;

pub mod source;

pub mod peers;
