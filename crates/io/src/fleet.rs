//! Fetches the parts of models that checks need from object stores.
//!
//! An ONNX file is mostly weights, of which a check reads only names, element types and dims.
//! [`Client::fetch`] reads a file by byte ranges, skips the weights, and returns its *skeleton*: a smaller,
//! valid ONNX file with the same graph. A file that fits in the first read is its own skeleton.
//!
//! | module | serves |
//! |---|---|
//! | [`client`] | listing, the blocking interface |
//! | [`reader`] | byte ranges with read-ahead, limits, counts |
//! | [`skeleton`] | the walk over a file, and what replaces a payload |
//!
//! **Invariant:** memory and the numbers of bytes and requests per model are bounded by [`Limits`] for any
//! file.
//!
//! **Invariant:** all ranges of one skeleton are of one version of the object: later reads require its entity
//! tag.
//!
//! Not for weights, and not for tensors in other files: of these, [`Client::size`] asks only for the size.

pub mod client;
mod error;
pub mod reader;
pub mod skeleton;

pub use client::{Client, Fetched};
pub use error::FetchError;
pub use reader::{Counts, Limits};
pub use skeleton::OMITTED;
