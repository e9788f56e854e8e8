//! Loss functions as graphs, with their gradients.

use std::collections::HashMap;

use typeloom_onnx::messages::{ModelProto, TypeProto, ValueInfoProto};
use typeloom_onnx::text::parse_model;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::{Dim, ValueType};

use super::gradient::{SEED, differentiate};
use super::typed::solve;
use super::{ModelError, only, typed};
use crate::dense::tensor_of;

/// Loss function. The target has the type and shape of the prediction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Loss {
    /// Mean of the squared differences.
    #[default]
    MeanSquaredError,
    /// Cross-entropy between the target and the softmax of the prediction along the last axis, averaged over
    /// all other axes. The target is a distribution over the classes, for instance one-hot.
    CrossEntropy,
}

impl Loss {
    fn body(self) -> &'static str {
        match self {
            Self::MeanSquaredError => {
                "difference = Sub(prediction, target)
                 square = Mul(difference, difference)
                 loss = ReduceMean <keepdims = 0> (square)"
            }
            Self::CrossEntropy => {
                "logarithm = LogSoftmax <axis = -1> (prediction)
                 term = Mul(target, logarithm)
                 last = Constant <value_ints = [-1]> ()
                 sum = ReduceSum <keepdims = 0> (term, last)
                 mean = ReduceMean <keepdims = 0> (sum)
                 loss = Neg(mean)"
            }
        }
    }

    /// Builds the graph of the loss for a type of predictions.
    fn model(self, prediction: &ValueType) -> Result<ModelProto, ModelError> {
        let text = format!(
            "<ir_version: 10, opset_import: [\"\" : 21]>
             loss (float prediction, float target) => (loss) {{ {} }}",
            self.body()
        );
        let mut model =
            parse_model(&text).map_err(|error| ModelError::IllTyped { message: error.to_string() })?;
        for input in model.graph.iter_mut().flat_map(|graph| &mut graph.input) {
            input.r#type = Some(named(prediction));
        }
        Ok(model)
    }
}

/// Names every open extent of a type, so that the prediction and the target have equal extents.
fn named(ty: &ValueType) -> TypeProto {
    let named = |(at, dim): (usize, &Dim)| match dim {
        Dim::Fixed(_) => dim.clone(),
        Dim::Symbol(_) | Dim::Expression(_) | Dim::Unknown => Dim::Symbol(format!("axis{at}").into()),
    };
    let shape = ty.shape.as_deref().map(|shape| shape.iter().enumerate().map(named).collect());
    ValueType { shape, ..ty.clone() }.to_message()
}

/// A loss and its gradient, prepared for execution.
pub(super) struct Losses {
    loss: Session,
    gradient: Session,
}

impl Losses {
    pub(super) fn new(loss: Loss, network: &typed::Solved) -> Result<Self, ModelError> {
        let output = network.model.graph.as_ref().and_then(|graph| graph.output.first());
        let prediction = output.map(ValueInfoProto::name).unwrap_or_default();
        let unusable = || ModelError::Loss { prediction: prediction.to_owned() };
        let ty = network.type_of(prediction).ok_or_else(unusable)?;
        let solved = solve(loss.model(ty)?)?;
        let gradient = differentiate(&solved, &["prediction".to_owned()])?;
        Ok(Self { gradient: solve(gradient)?.session, loss: solved.session })
    }

    pub(super) fn loss(&self, prediction: AnyTensor, target: AnyTensor) -> Result<AnyTensor, ModelError> {
        only(self.loss.run(given(prediction, target), Verify::Inputs)?.outputs)
    }

    pub(super) fn gradient(&self, prediction: AnyTensor, target: AnyTensor) -> Result<AnyTensor, ModelError> {
        let one = tensor_of(prediction.dtype(), &[], &[1.0])?;
        let mut inputs = given(prediction, target);
        inputs.insert(SEED.to_owned(), Datum::Tensor(one));
        only(self.gradient.run(inputs, Verify::Inputs)?.outputs)
    }
}

fn given(prediction: AnyTensor, target: AnyTensor) -> HashMap<String, Datum> {
    HashMap::from([
        ("prediction".to_owned(), Datum::Tensor(prediction)),
        ("target".to_owned(), Datum::Tensor(target)),
    ])
}
