//! Models: predictions run concurrently; parameter updates are exclusive.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::model::Model;
use typeloom_onnx::messages::NodeProto;

use super::{AnyComponent, ComponentError, Locked, Method, method, trigger};
use crate::convert::{FromDatum, IntoDatum};

pub(super) struct ModelAdapter<M>(pub(super) Locked<M>);

impl<M: Model<Tensor: FromDatum + IntoDatum>> AnyComponent for ModelAdapter<M> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "Forward" => method(move |args| {
                let input = args.input::<M::Tensor>(0)?;
                let output = self.0.read().forward(&input).map_err(ComponentError::failed)?;
                Ok(smallvec![args.output(0, &*output)])
            }),
            "LoadParameters" => method(move |args| {
                let parameters = args.input::<M::Tensor>(0)?;
                self.0.write().load_parameters(&parameters).map_err(ComponentError::failed)?;
                Ok(trigger())
            }),
            "Backward" => method(move |args| {
                let gradient = args.input::<M::Tensor>(0)?;
                let parameters = self.0.write().backward(&gradient).map_err(ComponentError::failed)?;
                Ok(smallvec![args.output(0, &*parameters)])
            }),
            "ApplyDelta" => method(move |args| {
                let delta = args.input::<M::Tensor>(0)?;
                self.0.write().apply_delta(&delta).map_err(ComponentError::failed)?;
                Ok(trigger())
            }),
            "ComputeLoss" => method(move |args| {
                let (prediction, target) = (args.input::<M::Tensor>(0)?, args.input::<M::Tensor>(1)?);
                let loss =
                    self.0.read().compute_loss(&prediction, &target).map_err(ComponentError::failed)?;
                Ok(smallvec![args.output(0, &*loss)])
            }),
            "Params" => method(move |args| Ok(smallvec![args.output(0, self.0.read().params())])),
            _ => None,
        }
    }
}
