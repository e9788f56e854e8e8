//! Models: ONNX graphs that predict and learn.
//!
//! [`Network`] takes a model file as it is. Its float initializers become parameters, one flat tensor for all of them in the
//! order of the file, which is what peers send each other; predictions, losses and gradients are graphs of their own, each
//! type-checked and prepared once. Gradients are [differentiated](gradient) from the model's graph when the network is made.
//! A model with an operator that has no derivative here still predicts; `backward` then says which operator it is.
//!
//! **Invariant:** a call that fails leaves the parameters as they were.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use typeloom_contracts::model::Model;
use typeloom_cpu::decode;
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::{GraphProto, ModelProto, TensorProto, ValueInfoProto, read};
use typeloom_runtime::error::{PrepareError, RunError};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::value_type::{Dim, ValueType};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::any_tensor::error::TensorError;
use typeloom_types::dtype::Dtype;

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

/// What a model has to say against a file or a tensor.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ModelError {
    /// The model does not type-check.
    #[error("the model is ill-typed: {message}")]
    IllTyped {
        /// The first thing that is wrong with it.
        message: String,
    },
    /// The model cannot be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The model has more or fewer inputs or outputs than a network.
    #[error(
        "a network has one input and one output beside its parameters, and this has {inputs} and {outputs}"
    )]
    Ports {
        /// How many inputs there are.
        inputs: usize,
        /// How many outputs there are.
        outputs: usize,
    },
    /// Parameters that cannot be one tensor.
    #[error("parameter `{name}` is of {found}, and those before it are of {expected}")]
    MixedParameters {
        /// The first that differs.
        name: String,
        /// The type of the others.
        expected: Dtype,
        /// Its type.
        found: Dtype,
    },
    /// A parameter that was to be left alone is none.
    #[error("the model has no parameter `{name}`")]
    NoParameter {
        /// The name.
        name: String,
    },
    /// The model cannot be run on what it was given.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A slice that has no shape that the model takes.
    #[error("{length} elements cannot be in the shape {wanted}")]
    Elements {
        /// How many there are.
        length: usize,
        /// The shape.
        wanted: String,
    },
    /// Parameters, or a change of them, of another length.
    #[error("the model has {expected} parameters, and these are {found}")]
    ParameterCount {
        /// How many there are.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// Parameters, or a change of them, of another element type.
    #[error("the parameters are of {expected}, and these are of {found}")]
    ParameterType {
        /// What they are.
        expected: Dtype,
        /// What was given.
        found: Dtype,
    },
    /// Parameters that would not be finite.
    #[error("parameter {at} would not be finite")]
    NotFinite {
        /// Which one, in the order of the flat tensor.
        at: usize,
    },
    /// A prediction whose type is not known.
    #[error("the type of the prediction `{prediction}` is not known, so that no loss can be computed")]
    Loss {
        /// The output.
        prediction: String,
    },
    /// There was no prediction yet whose gradient this could be.
    #[error("nothing was predicted yet, so there is nothing to go back over")]
    NothingPredicted,
    /// The graph cannot be differentiated.
    #[error(transparent)]
    Gradient(#[from] GradientError),
    /// Numbers that are no floats.
    #[error(transparent)]
    NotFloats(#[from] NotFloats),
    /// A result is not what the model stores.
    #[error(transparent)]
    Storage(#[from] TensorError),
    /// A result is no tensor of floats.
    #[error(transparent)]
    Floats(#[from] FloatsError),
    /// A result is none.
    #[error("`{name}` is no tensor")]
    NoTensor {
        /// The output.
        name: String,
    },
}

/// How a model learns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// How far predictions are from targets.
    pub loss: Loss,
    /// Float initializers that are no parameters.
    pub frozen: Vec<String>,
}

/// What the last prediction was made from.
struct Last {
    input: AnyTensor,
    output_shape: Vec<usize>,
}

/// An ONNX graph that predicts and learns; see the [module](self).
///
/// A slice as storage takes the shape that the model declares; at most one of its extents may be open, and follows.
pub struct Network<S: ?Sized = AnyTensor> {
    forward: Session,
    backward: Result<Session, GradientError>,
    losses: Losses,
    parameters: Vec<Parameter>,
    dtype: Dtype,
    /// All parameters, one after the other.
    flat: Box<S>,
    /// The same, each by itself under its name.
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
    /// The network of a serialized model.
    ///
    /// # Errors
    /// [`ModelError`]. That the graph cannot be differentiated is an error of `backward`, not here.
    pub fn from_bytes(bytes: &[u8], settings: &Settings) -> Result<Self, ModelError> {
        let model: ModelProto = read(Bytes::copy_from_slice(bytes)).map_err(PrepareError::from)?;
        Self::new(model, settings)
    }

    /// The network of a model.
    ///
    /// # Errors
    /// As [`Network::from_bytes`].
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
        let solved = solve(&model)?;
        let backward = match differentiate(&solved, &names) {
            Ok(model) => Ok(solve(&model)?.session),
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

    /// The parameters, in the order in which they stand in the flat tensor.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Why gradients cannot be computed, where they cannot.
    #[must_use]
    pub fn not_differentiable(&self) -> Option<&GradientError> {
        self.backward.as_ref().err()
    }

    /// The gradient of the loss for a prediction: what [`Model::backward`] takes.
    ///
    /// # Errors
    /// What cannot be compared.
    pub fn loss_gradient(&self, prediction: &S, target: &S) -> Result<Box<S>, ModelError> {
        let (prediction, target) = self.compared(prediction, target)?;
        Ok(S::from_tensor(self.losses.gradient(prediction, target)?)?)
    }

    /// A prediction and a target in the shape of predictions.
    fn compared(&self, prediction: &S, target: &S) -> Result<(AnyTensor, AnyTensor), ModelError> {
        let stamp = self.forward.outputs().first().map(|port| &port.ty);
        let prediction = shaped::<S>(prediction.to_tensor(), stamp)?;
        let target = target.to_tensor();
        let target = if S::KEEPS_SHAPE { target } else { reshaped(target, prediction.shape())? };
        Ok((prediction, target))
    }

    /// The inputs of a run, by name.
    fn inputs(&self, input: AnyTensor) -> HashMap<String, Value> {
        let parameters =
            self.inputs.iter().map(|(name, tensor)| (name.clone(), Value::Tensor(tensor.clone())));
        parameters.chain([(self.input.clone(), Value::Tensor(input))]).collect()
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

    /// The prediction; the next `backward` goes back over it. Of predictions that several threads make at once, any may be
    /// the last.
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

    /// The gradient of all parameters, as flat as they are, for the gradient of the last prediction. The prediction is computed
    /// again on the way, with the parameters as they are now.
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
        inputs.insert(seed.to_owned(), Value::Tensor(gradient));
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

fn tensor((name, value): (String, Value)) -> Result<AnyTensor, ModelError> {
    if let Value::Tensor(tensor) = value { Ok(tensor) } else { Err(ModelError::NoTensor { name }) }
}

fn only(outputs: Vec<(String, Value)>) -> Result<AnyTensor, ModelError> {
    let missing = || ModelError::NoTensor { name: "output".to_owned() };
    outputs.into_iter().next().ok_or_else(missing).and_then(tensor)
}

fn reshaped(tensor: AnyTensor, shape: &[usize]) -> Result<AnyTensor, ModelError> {
    let length = tensor.len();
    tensor.reshape(shape).map_err(|_| ModelError::Elements { length, wanted: shown(shape) })
}

/// A tensor in the shape that a port declares, where its storage has none of its own.
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

/// A stored tensor as a value.
fn decoded(tensor: &TensorProto) -> Result<AnyTensor, ModelError> {
    Ok(decode::tensor(tensor).map_err(PrepareError::from)?)
}
