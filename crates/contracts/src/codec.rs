//! Contract of codecs: conversion to another representation and back.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Encodes and decodes values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a codec",
    label = "`{Self}` does not implement the `Codec` contract"
)]
pub trait Codec: Send + Sync + 'static {
    /// Storage of decoded values.
    type In: ?Sized + Storage;
    /// Storage of encoded values.
    type Out: ?Sized + Storage;
    type Error: Error + Send + Sync + 'static;

    /// Fits the codec to samples.
    ///
    /// # Errors
    /// The codec cannot be trained on these samples.
    fn train(&mut self, samples: &[&Self::In]) -> Result<(), Self::Error>;

    /// Encodes a value.
    ///
    /// # Errors
    /// The value cannot be encoded.
    fn encode(&self, value: &Self::In) -> Result<Box<Self::Out>, Self::Error>;

    /// Decodes an encoded value.
    ///
    /// # Errors
    /// The value is not a valid encoding of this codec.
    fn decode(&self, value: &Self::Out) -> Result<Box<Self::In>, Self::Error>;
}
