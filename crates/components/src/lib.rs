//! Components for the slots of a module: at least one implementation of every contract except the backend.
//!
//! | component | contract | purpose |
//! |---|---|---|
//! | [`Exact`](index::Exact) | `Index` | exact nearest-vector search, computed by a bound backend |
//! | `index::approximate::Approximate` | `Index` | approximate nearest-vector search; feature `approximate` |
//! | [`Network`](model::Network) | `Model` | an ONNX graph for prediction and gradient-based training |
//! | [`FederatedAverage`](aggregator::FederatedAverage) | `Aggregator` | mean weighted by numbers of samples |
//! | [`TrimmedMean`](aggregator::TrimmedMean) | `Aggregator` | mean without the extremes |
//! | [`Int8`](codec::int8::Int8) | `Codec` | quantization of floats to 8-bit integers |
//! | [`Deflated`](codec::deflated::Deflated) | `Codec` | lossless compression |
//! | [`Samples`](source::Samples) | `DataSource` | batches from a `.npy`, safetensors or CSV file |
//! | [`PeerTable`](peers::PeerTable) | `PeerSelector` | peers by score and freshness, or at random |
//!
//! Backends are in `typeloom-runtime`.
//!
//! Components are generic over their storage if the contract has one: [`Dense`](dense::Dense) is implemented
//! for slices of every element type and for `AnyTensor`, and the same code handles both.
//!
//! **Invariant:** components do not open files, read clocks or use unseeded randomness. The same calls return
//! the same results on every machine. Contributions and peers are ordered by name or id, not by arrival.
//!
//! **Invariant:** external input (files, encoded messages, contributions of peers) is validated before memory
//! is allocated for it. Errors are typed and contain the position in the input.

pub mod aggregator;
pub mod codec;
pub mod dense;
pub mod index;
pub mod model;
pub mod peers;
pub mod seeded;
pub mod source;
