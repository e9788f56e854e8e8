//! Models: predictions run concurrently; parameter updates are exclusive.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::model::Model;
use typeloom_onnx::messages::NodeProto;

use super::{AnyComponent, Locked, Method, done, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) struct ModelAdapter<M>(pub(super) Locked<M>);

impl<M: Model<Tensor: FromDatum + IntoDatum>> AnyComponent for ModelAdapter<M> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "Forward" => {
                method(move |args| args.result(self.0.read().forward(&*args.input::<M::Tensor>(0)?)))
            }
            "LoadParameters" => {
                method(move |args| done(self.0.write().load_parameters(&*args.input::<M::Tensor>(0)?)))
            }
            "Backward" => {
                method(move |args| args.result(self.0.write().backward(&*args.input::<M::Tensor>(0)?)))
            }
            "ApplyDelta" => {
                method(move |args| done(self.0.write().apply_delta(&*args.input::<M::Tensor>(0)?)))
            }
            "ComputeLoss" => method(move |args| {
                let (prediction, target) = (args.input::<M::Tensor>(0)?, args.input::<M::Tensor>(1)?);
                args.result(self.0.read().compute_loss(&prediction, &target))
            }),
            "Params" => method(move |args| Ok(smallvec![args.output(0, self.0.read().params())])),
            _ => None,
        }
    }
}
