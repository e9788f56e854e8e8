//! Contract of indices: search for the vectors nearest to a query.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Stores vectors under ids and returns the nearest ones to a query.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an index",
    label = "`{Self}` does not implement the `Index` contract"
)]
pub trait Index: Send + Sync + 'static {
    /// Storage of vectors.
    type Vector: ?Sized + Storage;
    type Error: Error + Send + Sync + 'static;

    /// Stores a vector under an id and replaces any previous vector of that id.
    ///
    /// # Errors
    /// The index cannot store the vector.
    fn add(&mut self, id: u64, vector: &Self::Vector) -> Result<(), Self::Error>;

    /// Returns the ids of the `k` nearest vectors with their distances, nearest first.
    ///
    /// # Errors
    /// The index cannot compare the query with its vectors.
    fn search(&self, query: &Self::Vector, k: usize) -> Result<Vec<(u64, f32)>, Self::Error>;

    /// Removes a vector. Returns whether the id was present.
    ///
    /// # Errors
    /// The index cannot remove vectors.
    fn remove(&mut self, id: u64) -> Result<bool, Self::Error>;

    /// Fits the index to the distribution of the given vectors. May be called before or between additions.
    ///
    /// # Errors
    /// The index cannot be trained on these vectors.
    fn train(&mut self, vectors: &[&Self::Vector]) -> Result<(), Self::Error>;
}
