//! Methods of models. Predictions, losses and reads of parameters run concurrently. `backward` and updates of
//! parameters have exclusive access.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::model::Model;
use typeloom_onnx::messages::NodeProto;

use super::{Locked, Method, done, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) fn resolve<M: Model<Tensor: FromDatum + IntoDatum>>(
    model: Arc<Locked<M>>,
    name: &str,
    _: &NodeProto,
) -> Option<Method> {
    match name {
        "forward" => method(move |args| args.result(model.read().forward(&*args.input::<M::Tensor>(0)?))),
        "load_parameters" => {
            method(move |args| done(model.write().load_parameters(&*args.input::<M::Tensor>(0)?)))
        }
        "backward" => method(move |args| args.result(model.write().backward(&*args.input::<M::Tensor>(0)?))),
        "apply_delta" => method(move |args| done(model.write().apply_delta(&*args.input::<M::Tensor>(0)?))),
        "compute_loss" => method(move |args| {
            let (prediction, target) = (args.input::<M::Tensor>(0)?, args.input::<M::Tensor>(1)?);
            args.result(model.read().compute_loss(&prediction, &target))
        }),
        "params" => method(move |args| Ok(smallvec![args.output(0, model.read().params())])),
        _ => None,
    }
}
