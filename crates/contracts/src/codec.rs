//! Codecs: they turn one representation into another and back.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Encodes and decodes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a codec",
    label = "`{Self}` does not implement the `Codec` contract"
)]
pub trait Codec: Send + Sync + 'static {
    /// What is encoded.
    type In: ?Sized + Storage;
    /// What it is encoded as.
    type Out: ?Sized + Storage;
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Learns from samples.
    ///
    /// # Errors
    /// What the codec cannot learn from.
    fn train(&mut self, samples: &[&Self::In]) -> Result<(), Self::Error>;

    /// Encodes.
    ///
    /// # Errors
    /// What the codec cannot encode.
    fn encode(&self, value: &Self::In) -> Result<Box<Self::Out>, Self::Error>;

    /// Decodes.
    ///
    /// # Errors
    /// What the codec did not encode.
    fn decode(&self, value: &Self::Out) -> Result<Box<Self::In>, Self::Error>;
}
