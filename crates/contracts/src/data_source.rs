//! Contract of data sources: batches of samples.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Returns samples in batches.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a data source",
    label = "`{Self}` does not implement the `DataSource` contract"
)]
pub trait DataSource: Send + Sync + 'static {
    /// Storage of a batch of samples.
    type Sample: ?Sized + Storage;
    type Error: Error + Send + Sync + 'static;

    /// Returns the next batch, or `None` at the end.
    ///
    /// # Errors
    /// The batch cannot be read.
    fn next_batch(&mut self) -> Result<Option<Box<Self::Sample>>, Self::Error>;

    /// Restarts from the first batch.
    ///
    /// # Errors
    /// The source cannot be restarted.
    fn reset(&mut self) -> Result<(), Self::Error>;

    /// Acknowledges that the consumer has received a batch.
    ///
    /// # Errors
    /// The source did not return this batch.
    fn on_data_loaded(&mut self, batch: &Self::Sample) -> Result<(), Self::Error>;
}
