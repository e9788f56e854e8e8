//! Indices: they find the nearest of stored vectors.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Keeps vectors under ids and finds the nearest ones.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index",
    label = "`{Self}` does not implement the `Index` contract"
)]
pub trait Index: Send + Sync + 'static {
    /// What vectors are stored as.
    type Vector: ?Sized + Storage;
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Stores a vector under an id, in place of one that was there.
    ///
    /// # Errors
    /// What the index cannot store.
    fn add(&mut self, id: u64, vector: &Self::Vector) -> Result<(), Self::Error>;

    /// The ids of the `k` nearest vectors with their distances, the nearest first.
    ///
    /// # Errors
    /// What the index cannot compare with.
    fn search(&self, query: &Self::Vector, k: usize) -> Result<Vec<(u64, f32)>, Self::Error>;

    /// Forgets a vector; whether there was one.
    ///
    /// # Errors
    /// What the index cannot undo.
    fn remove(&mut self, id: u64) -> Result<bool, Self::Error>;

    /// Learns how vectors are spread, before or between additions.
    ///
    /// # Errors
    /// What the index cannot learn from.
    fn train(&mut self, vectors: &[&Self::Vector]) -> Result<(), Self::Error>;
}
