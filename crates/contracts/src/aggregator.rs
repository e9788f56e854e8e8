//! Aggregators: they combine the contributions of several peers.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Collects contributions and combines them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an aggregator",
    label = "`{Self}` does not implement the `Aggregator` contract"
)]
pub trait Aggregator: Send + Sync + 'static {
    /// What contributions are stored as.
    type Element: ?Sized + Storage;
    /// What is said of a contribution besides (a weight, a round).
    type Metadata: Send + Sync + 'static;
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// Takes the contribution of a source.
    ///
    /// # Errors
    /// A contribution that does not fit the others.
    fn contribute(
        &mut self,
        source: &str,
        element: &Self::Element,
        metadata: Self::Metadata,
    ) -> Result<(), Self::Error>;

    /// What the contributions so far come to.
    ///
    /// # Errors
    /// Where there are too few.
    fn aggregate(&mut self) -> Result<Box<Self::Element>, Self::Error>;
}
