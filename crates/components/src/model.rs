//! Models: ONNX graphs for prediction and training.
//!
//! [`Network`] loads an unmodified model file. Its float initializers become parameters, concatenated in file
//! order into one flat tensor, which peers exchange. Predictions, losses and gradients are separate graphs,
//! each type-checked and prepared once. The gradient graph is [derived](gradient) from the model's graph when
//! the network is created. A model with an operator that cannot be differentiated still predicts; `backward`
//! then returns an error that names the operator.
//!
//! **Invariant:** a call that returns an error leaves the parameters unchanged.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use typeloom_contracts::model::Model;
use typeloom_cpu::decode;
use typeloom_onnx::messages::{GraphProto, ModelProto, TensorProto, ValueInfoProto, read};
use typeloom_runtime::error::{PrepareError, RunError};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::any_tensor::error::TensorError;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::{Dim, ValueType};
use typeloom_types::dtype::Dtype;
use typeloom_types::plural::counted;

use crate::dense::{Dense, Floats, FloatsError, NotFloats, shown, tensor_of};

pub mod gradient;
mod loss;
mod parameters;
mod typed;

pub use loss::Loss;
pub use parameters::Parameter;

use gradient::{GradientError, SEED, differentiate};
use loss::Losses;
use parameters::promote;
use typed::solve;

/// Error of loading or running a model.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ModelError {
    /// The model does not type-check.
    #[error("the model is ill-typed: {message}")]
    IllTyped { message: String },
    /// The model cannot be prepared for execution.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The model does not have exactly one input and one output.
    #[error(
        "a network has one input and one output in addition to its parameters, but this model has {inputs} and {outputs}"
    )]
    Ports { inputs: usize, outputs: usize },
    /// The parameters have different element types.
    #[error("parameter `{name}` is {found}, but the parameters before it are {expected}")]
    MixedParameters {
        /// First parameter with another element type.
        name: String,
        expected: Dtype,
        found: Dtype,
    },
    /// A frozen parameter does not exist.
    #[error("the model has no parameter `{name}`")]
    NoParameter {
        /// Name given in [`Settings::frozen`].
        name: String,
    },
    /// Execution failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The elements of a slice cannot be arranged in a shape that the model accepts.
    #[error("{length} elements do not fill the shape {wanted}")]
    Elements { length: usize, wanted: String },
    /// A parameter tensor or delta has the wrong length.
    #[error("the model has {}, but {found} were passed", counted(*expected, "parameter"))]
    ParameterCount { expected: usize, found: usize },
    /// A parameter tensor or delta has the wrong element type.
    #[error("the parameters of the model are {expected}, but {found} was passed")]
    ParameterType { expected: Dtype, found: Dtype },
    /// An update would make a parameter infinite or NaN.
    #[error("parameter {at} would not be finite")]
    NotFinite {
        /// Index in the flat tensor.
        at: usize,
    },
    /// The type of the prediction is unknown, so the loss cannot be typed.
    #[error("the type of the prediction `{prediction}` is not known, so no loss can be computed")]
    Loss { prediction: String },
    /// `backward` was called before `forward`.
    #[error("`backward` requires a prediction, but `forward` was not called")]
    NothingPredicted,
    #[error(transparent)]
    Gradient(#[from] GradientError),
    /// The elements are not floats.
    #[error(transparent)]
    NotFloats(#[from] NotFloats),
    /// A result cannot be converted to the storage of the model.
    #[error(transparent)]
    Storage(#[from] TensorError),
    /// A result is not a float tensor.
    #[error(transparent)]
    Floats(#[from] FloatsError),
    /// A result is not a tensor.
    #[error("`{name}` is not a tensor")]
    NoTensor { name: String },
}

/// Training settings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    pub loss: Loss,
    /// Names of float initializers that are not trained.
    pub frozen: Vec<String>,
}

/// Input and output shape of the last prediction.
struct Last {
    input: AnyTensor,
    output_shape: Vec<usize>,
}

/// An ONNX graph for prediction and training; see the [module](self).
///
/// With a slice as storage, tensors take the shape that the model declares. At most one extent of it may be
/// open, and is inferred from the length.
pub struct Network<S: ?Sized = AnyTensor> {
    forward: Session,
    backward: Result<Session, GradientError>,
    losses: Losses,
    parameters: Vec<Parameter>,
    dtype: Dtype,
    /// All parameters, concatenated.
    flat: Box<S>,
    /// The parameters as separate named tensors; the same values as `flat`.
    inputs: Vec<(String, AnyTensor)>,
    input: String,
    last: Mutex<Option<Last>>,
}

impl<S: ?Sized> fmt::Debug for Network<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Network");
        shown.field("input", &self.input).field("dtype", &self.dtype).field("parameters", &self.parameters);
        shown.field("differentiable", &self.backward.as_ref().map(|_| ())).finish_non_exhaustive()
    }
}

impl<S: ?Sized + Dense> Network<S> {
    /// Creates a network from a serialized model.
    ///
    /// # Errors
    /// See [`ModelError`]. A graph that cannot be differentiated is an error of `backward`, not of this
    /// function.
    pub fn from_bytes(bytes: &[u8], settings: &Settings) -> Result<Self, ModelError> {
        let model: ModelProto = read(Bytes::copy_from_slice(bytes)).map_err(PrepareError::from)?;
        Self::new(model, settings)
    }

    /// Creates a network from a model.
    ///
    /// # Errors
    /// See [`Network::from_bytes`].
    pub fn new(mut model: ModelProto, settings: &Settings) -> Result<Self, ModelError> {
        let graph = model.graph.get_or_insert_with(GraphProto::default);
        let (parameters, tensors) = promote(graph, &settings.frozen)?;
        let names: Vec<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let is_fed = |info: &&ValueInfoProto| {
            !names.iter().any(|name| name == info.name())
                && !graph.initializer.iter().any(|tensor| tensor.name() == info.name())
        };
        let ports: Vec<String> =
            graph.input.iter().filter(is_fed).map(|info| info.name().to_owned()).collect();
        let ([input], 1) = (&ports[..], graph.output.len()) else {
            return Err(ModelError::Ports { inputs: ports.len(), outputs: graph.output.len() });
        };
        let input = input.clone();
        let solved = solve(model)?;
        let backward = match differentiate(&solved, &names) {
            Ok(model) => Ok(solve(model)?.session),
            Err(error) => Err(error),
        };
        let losses = Losses::new(settings.loss, &solved)?;
        let dtype = parameters.first().map_or(Dtype::F32, |parameter| parameter.dtype);
        let flat = parameters::flat(dtype, &tensors)?;
        Ok(Self {
            forward: solved.session,
            backward,
            losses,
            inputs: names.into_iter().zip(tensors).collect(),
            flat: S::from_tensor(flat)?,
            parameters,
            dtype,
            input,
            last: Mutex::new(None),
        })
    }

    /// Parameters in the order of the flat tensor.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Reason why gradients cannot be computed, if any.
    #[must_use]
    pub fn not_differentiable(&self) -> Option<&GradientError> {
        self.backward.as_ref().err()
    }

    /// Gradient of the loss with respect to the prediction: the argument of [`Model::backward`].
    ///
    /// # Errors
    /// The prediction and the target cannot be compared.
    pub fn loss_gradient(&self, prediction: &S, target: &S) -> Result<Box<S>, ModelError> {
        let (prediction, target) = self.compared(prediction, target)?;
        Ok(S::from_tensor(self.losses.gradient(prediction, target)?)?)
    }

    /// Converts a prediction and a target to tensors in the shape of predictions.
    fn compared(&self, prediction: &S, target: &S) -> Result<(AnyTensor, AnyTensor), ModelError> {
        let stamp = self.forward.outputs().first().map(|port| &port.ty);
        let prediction = shaped::<S>(prediction.to_tensor(), stamp)?;
        let target = target.to_tensor();
        let target = if S::KEEPS_SHAPE { target } else { reshaped(target, prediction.shape())? };
        Ok((prediction, target))
    }

    /// Inputs of a run by name: the model input and the parameters.
    fn inputs(&self, input: AnyTensor) -> HashMap<String, Datum> {
        let parameters =
            self.inputs.iter().map(|(name, tensor)| (name.clone(), Datum::Tensor(tensor.clone())));
        parameters.chain([(self.input.clone(), Datum::Tensor(input))]).collect()
    }

    fn expect_parameters(&self, given: &AnyTensor) -> Result<(), ModelError> {
        let expected: usize = self.parameters.iter().map(Parameter::len).sum();
        if given.len() != expected {
            return Err(ModelError::ParameterCount { expected, found: given.len() });
        }
        if given.dtype() != self.dtype {
            return Err(ModelError::ParameterType { expected: self.dtype, found: given.dtype() });
        }
        Ok(())
    }

    fn set(&mut self, flat: AnyTensor) -> Result<(), ModelError> {
        if let Some(at) = Floats::of(&flat)?.first_not_finite() {
            return Err(ModelError::NotFinite { at });
        }
        let length = flat.len();
        let flat = flat.reshape(&[length])?;
        let tensors = parameters::each(&self.parameters, &flat)?;
        let stored = S::from_tensor(flat)?;
        self.inputs.iter_mut().zip(tensors).for_each(|((_, held), tensor)| *held = tensor);
        self.flat = stored;
        Ok(())
    }
}

impl<S: ?Sized + Dense> Model for Network<S> {
    type Tensor = S;
    type Error = ModelError;

    /// Computes a prediction and records its input for `backward`. If several threads predict concurrently,
    /// any of them may be the last one recorded.
    fn forward(&self, input: &S) -> Result<Box<S>, ModelError> {
        let stamp = self.forward.inputs().iter().find(|port| port.name == self.input).map(|port| &port.ty);
        let input = shaped::<S>(input.to_tensor(), stamp)?;
        let outcome = self.forward.run(self.inputs(input.clone()), Verify::Inputs)?;
        let output = only(outcome.outputs)?;
        let output_shape = output.shape().to_vec();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Last { input, output_shape });
        Ok(S::from_tensor(output)?)
    }

    fn load_parameters(&mut self, parameters: &S) -> Result<(), ModelError> {
        let parameters = parameters.to_tensor();
        self.expect_parameters(&parameters)?;
        self.set(parameters)
    }

    /// Flat gradient of all parameters from the gradient of the last prediction. The prediction is recomputed
    /// with the current parameters.
    fn backward(&mut self, gradient: &S) -> Result<Box<S>, ModelError> {
        let session = self.backward.as_ref().map_err(Clone::clone)?;
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Last { input, output_shape }) = last.as_ref() else {
            return Err(ModelError::NothingPredicted);
        };
        let gradient = gradient.to_tensor();
        let gradient = if S::KEEPS_SHAPE { gradient } else { reshaped(gradient, output_shape)? };
        let mut inputs = self.inputs(input.clone());
        let seed = session.inputs().last().map_or(SEED, |port| port.name.as_str());
        inputs.insert(seed.to_owned(), Datum::Tensor(gradient));
        let outcome = session.run(inputs, Verify::Inputs)?;
        let tensors: Vec<AnyTensor> = outcome.outputs.into_iter().map(tensor).collect::<Result<_, _>>()?;
        Ok(S::from_tensor(parameters::flat(self.dtype, &tensors)?)?)
    }

    fn apply_delta(&mut self, delta: &S) -> Result<(), ModelError> {
        let delta = delta.to_tensor();
        self.expect_parameters(&delta)?;
        let flat = self.flat.to_tensor();
        let sums: Vec<f64> =
            Floats::of(&flat)?.iter().zip(Floats::of(&delta)?.iter()).map(|(a, b)| a + b).collect();
        self.set(tensor_of(self.dtype, &[sums.len()], &sums)?)
    }

    fn compute_loss(&self, prediction: &S, target: &S) -> Result<Box<S>, ModelError> {
        let (prediction, target) = self.compared(prediction, target)?;
        Ok(S::from_tensor(self.losses.loss(prediction, target)?)?)
    }

    fn params(&self) -> &S {
        &self.flat
    }
}

fn tensor((name, value): (String, Datum)) -> Result<AnyTensor, ModelError> {
    if let Datum::Tensor(tensor) = value { Ok(tensor) } else { Err(ModelError::NoTensor { name }) }
}

fn only(outputs: Vec<(String, Datum)>) -> Result<AnyTensor, ModelError> {
    let missing = || ModelError::NoTensor { name: "output".to_owned() };
    outputs.into_iter().next().ok_or_else(missing).and_then(tensor)
}

fn reshaped(tensor: AnyTensor, shape: &[usize]) -> Result<AnyTensor, ModelError> {
    let length = tensor.len();
    tensor.reshape(shape).map_err(|_| ModelError::Elements { length, wanted: shown(shape) })
}

/// Reshapes a tensor to the declared shape of a port if its storage has no shape.
fn shaped<S: ?Sized + Dense>(tensor: AnyTensor, ty: Option<&ValueType>) -> Result<AnyTensor, ModelError> {
    let Some((ty, dims)) = ty.and_then(|ty| Some((ty, ty.shape.as_deref()?))) else { return Ok(tensor) };
    if S::KEEPS_SHAPE || !ty.is_tensor() {
        return Ok(tensor);
    }
    let length = tensor.len();
    let misfit = || ModelError::Elements { length, wanted: ty.to_string() };
    let product = dims.iter().filter_map(Dim::fixed).try_fold(1, usize::checked_mul);
    let product = product.ok_or_else(misfit)?;
    let open = dims.iter().filter(|dim| dim.fixed().is_none()).count();
    if open > 1 || (open == 1 && (product == 0 || !length.is_multiple_of(product))) {
        return Err(misfit());
    }
    let shape: Vec<usize> = dims.iter().map(|dim| dim.fixed().unwrap_or_else(|| length / product)).collect();
    reshaped(tensor, &shape)
}

/// Converts an ONNX tensor message to a tensor.
fn decoded(tensor: &TensorProto) -> Result<AnyTensor, ModelError> {
    Ok(decode::tensor(tensor).map_err(PrepareError::from)?)
}
