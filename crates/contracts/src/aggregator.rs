//! Contract of aggregators: combination of the contributions of several peers.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Collects contributions and combines them into one result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an aggregator",
    label = "`{Self}` does not implement the `Aggregator` contract"
)]
pub trait Aggregator: Send + Sync + 'static {
    /// Storage of contributions and results.
    type Element: ?Sized + Storage;
    /// Metadata of a contribution, such as a weight or a round.
    type Metadata: Send + Sync + 'static;
    type Error: Error + Send + Sync + 'static;

    /// Adds the contribution of a source.
    ///
    /// # Errors
    /// The contribution is incompatible with the others, for instance in shape or element type.
    fn contribute(
        &mut self,
        source: &str,
        element: &Self::Element,
        metadata: Self::Metadata,
    ) -> Result<(), Self::Error>;

    /// Combines the contributions of the current round.
    ///
    /// # Errors
    /// There are too few contributions.
    fn aggregate(&mut self) -> Result<Box<Self::Element>, Self::Error>;
}
