//! Models: they hold parameters, predict and learn.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Predicts, and learns by parameters that others can read and change.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "`{Self}` does not implement the `Model` contract"
)]
pub trait Model: Send + Sync + 'static {
    /// What inputs, outputs and parameters are stored as.
    type Tensor: ?Sized + Storage;
    /// What can go wrong.
    type Error: Error + Send + Sync + 'static;

    /// The prediction for an input.
    ///
    /// # Errors
    /// What the model cannot predict for.
    fn forward(&self, input: &Self::Tensor) -> Result<Box<Self::Tensor>, Self::Error>;

    /// Takes parameters in place of its own.
    ///
    /// # Errors
    /// Parameters that do not fit.
    fn load_parameters(&mut self, parameters: &Self::Tensor) -> Result<(), Self::Error>;

    /// The gradient of the parameters for the gradient of the output.
    ///
    /// # Errors
    /// Where there is nothing to go back over.
    fn backward(&mut self, gradient: &Self::Tensor) -> Result<Box<Self::Tensor>, Self::Error>;

    /// Adds to the parameters.
    ///
    /// # Errors
    /// A change that does not fit.
    fn apply_delta(&mut self, delta: &Self::Tensor) -> Result<(), Self::Error>;

    /// How far a prediction is from the target.
    ///
    /// # Errors
    /// What cannot be compared.
    fn compute_loss(
        &self,
        prediction: &Self::Tensor,
        target: &Self::Tensor,
    ) -> Result<Box<Self::Tensor>, Self::Error>;

    /// The parameters.
    fn params(&self) -> &Self::Tensor;
}
