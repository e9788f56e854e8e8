//! Codecs. `Train` takes samples along the first axis.

use std::sync::Arc;

use typeloom_contracts::codec::Codec;
use typeloom_onnx::messages::NodeProto;

use super::{Locked, Method, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) fn resolve<C: Codec<In: FromDatum + IntoDatum, Out: FromDatum + IntoDatum>>(
    codec: Arc<Locked<C>>,
    name: &str,
    _: &NodeProto,
) -> Option<Method> {
    match name {
        "train" => method(move |args| args.train::<C::In, _>(|samples| codec.write().train(samples))),
        "encode" => method(move |args| args.result(codec.read().encode(&*args.input::<C::In>(0)?))),
        "decode" => method(move |args| args.result(codec.read().decode(&*args.input::<C::Out>(0)?))),
        _ => None,
    }
}
