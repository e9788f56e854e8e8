//! Models: predictions run concurrently; parameter updates are exclusive.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::model::Model;
use typeloom_onnx::messages::NodeProto;

use super::{Locked, Method, done, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) fn resolve<M: Model<Tensor: FromDatum + IntoDatum>>(
    model: Arc<Locked<M>>,
    node: &NodeProto,
) -> Option<Method> {
    match node.op_type() {
        "Forward" => method(move |args| args.result(model.read().forward(&*args.input::<M::Tensor>(0)?))),
        "LoadParameters" => {
            method(move |args| done(model.write().load_parameters(&*args.input::<M::Tensor>(0)?)))
        }
        "Backward" => method(move |args| args.result(model.write().backward(&*args.input::<M::Tensor>(0)?))),
        "ApplyDelta" => method(move |args| done(model.write().apply_delta(&*args.input::<M::Tensor>(0)?))),
        "ComputeLoss" => method(move |args| {
            let (prediction, target) = (args.input::<M::Tensor>(0)?, args.input::<M::Tensor>(1)?);
            args.result(model.read().compute_loss(&prediction, &target))
        }),
        "Params" => method(move |args| Ok(smallvec![args.output(0, model.read().params())])),
        _ => None,
    }
}
