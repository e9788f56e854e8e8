//! Codecs. `Train` takes samples along the first axis.

use std::sync::Arc;

use typeloom_contracts::codec::Codec;
use typeloom_onnx::messages::NodeProto;

use super::{Locked, Method, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) fn resolve<C: Codec<In: FromDatum + IntoDatum, Out: FromDatum + IntoDatum>>(
    codec: Arc<Locked<C>>,
    node: &NodeProto,
) -> Option<Method> {
    match node.op_type() {
        "Train" => method(move |args| args.train::<C::In, _>(|samples| codec.write().train(samples))),
        "Encode" => method(move |args| args.result(codec.read().encode(&*args.input::<C::In>(0)?))),
        "Decode" => method(move |args| args.result(codec.read().decode(&*args.input::<C::Out>(0)?))),
        _ => None,
    }
}
