//! Data sources: they give batches of samples.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Gives batches.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a data source",
    label = "`{Self}` does not implement the `DataSource` contract"
)]
pub trait DataSource: Send + Sync + 'static {
    /// What samples are stored as.
    type Sample: ?Sized + Storage;
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// What the source cannot read.
    fn next_batch(&mut self) -> Result<Option<Box<Self::Sample>>, Self::Error>;

    /// Starts again.
    ///
    /// # Errors
    /// What the source cannot undo.
    fn reset(&mut self) -> Result<(), Self::Error>;

    /// Is told that a batch has arrived where it is used.
    ///
    /// # Errors
    /// What the source cannot make of it.
    fn on_data_loaded(&mut self, batch: &Self::Sample) -> Result<(), Self::Error>;
}
