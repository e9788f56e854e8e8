//! Contract of models: prediction and training.

use std::error::Error;

use typeloom_types::storage::Storage;

/// Predicts, and is trained through parameters that callers can read and update.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "`{Self}` does not implement the `Model` contract"
)]
pub trait Model: Send + Sync + 'static {
    /// Storage of inputs, outputs and parameters.
    type Tensor: ?Sized + Storage;
    type Error: Error + Send + Sync + 'static;

    /// Computes the prediction for an input.
    ///
    /// # Errors
    /// The model cannot compute a prediction for this input.
    fn forward(&self, input: &Self::Tensor) -> Result<Box<Self::Tensor>, Self::Error>;

    /// Replaces the parameters.
    ///
    /// # Errors
    /// The parameters have another shape or element type than those of the model.
    fn load_parameters(&mut self, parameters: &Self::Tensor) -> Result<(), Self::Error>;

    /// Computes the gradient with respect to the parameters from the gradient of the last output.
    ///
    /// # Errors
    /// There was no forward pass, or the model cannot be differentiated.
    fn backward(&mut self, gradient: &Self::Tensor) -> Result<Box<Self::Tensor>, Self::Error>;

    /// Adds `delta` to the parameters.
    ///
    /// # Errors
    /// `delta` has another shape or element type than the parameters.
    fn apply_delta(&mut self, delta: &Self::Tensor) -> Result<(), Self::Error>;

    /// Loss of a prediction with respect to a target.
    ///
    /// # Errors
    /// The prediction and the target cannot be compared.
    fn compute_loss(
        &self,
        prediction: &Self::Tensor,
        target: &Self::Tensor,
    ) -> Result<Box<Self::Tensor>, Self::Error>;

    fn params(&self) -> &Self::Tensor;
}
