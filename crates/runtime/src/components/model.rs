//! Models: predictions are made by several threads at once, changes of the parameters alone.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::model::Model;
use typeloom_onnx::messages::NodeProto;

use super::{ComponentFault, Erased, Guarded, Method, done, method};
use crate::carry::Carried;

pub(super) struct OfModel<M>(pub(super) Guarded<M>);

impl<M: Model<Tensor: Carried>> Erased for OfModel<M> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "Forward" => method(move |args| {
                let input = args.stored::<M::Tensor>(0)?;
                let output = self.0.read().forward(&input).map_err(ComponentFault::failed)?;
                Ok(smallvec![args.give(0, &*output)])
            }),
            "LoadParameters" => method(move |args| {
                let parameters = args.stored::<M::Tensor>(0)?;
                self.0.write().load_parameters(&parameters).map_err(ComponentFault::failed)?;
                Ok(done())
            }),
            "Backward" => method(move |args| {
                let gradient = args.stored::<M::Tensor>(0)?;
                let parameters = self.0.write().backward(&gradient).map_err(ComponentFault::failed)?;
                Ok(smallvec![args.give(0, &*parameters)])
            }),
            "ApplyDelta" => method(move |args| {
                let delta = args.stored::<M::Tensor>(0)?;
                self.0.write().apply_delta(&delta).map_err(ComponentFault::failed)?;
                Ok(done())
            }),
            "ComputeLoss" => method(move |args| {
                let (prediction, target) = (args.stored::<M::Tensor>(0)?, args.stored::<M::Tensor>(1)?);
                let loss =
                    self.0.read().compute_loss(&prediction, &target).map_err(ComponentFault::failed)?;
                Ok(smallvec![args.give(0, &*loss)])
            }),
            "Params" => method(move |args| Ok(smallvec![args.give(0, self.0.read().params())])),
            _ => None,
        }
    }
}
