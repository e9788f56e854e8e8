//! Codecs. `Train` takes samples along the first axis.

use std::sync::Arc;

use typeloom_contracts::codec::Codec;
use typeloom_onnx::messages::NodeProto;

use super::{AnyComponent, Locked, Method, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) struct CodecAdapter<C>(pub(super) Locked<C>);

impl<C: Codec<In: FromDatum + IntoDatum, Out: FromDatum + IntoDatum>> AnyComponent for CodecAdapter<C> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "Train" => method(move |args| args.train::<C::In, _>(|samples| self.0.write().train(samples))),
            "Encode" => method(move |args| args.result(self.0.read().encode(&*args.input::<C::In>(0)?))),
            "Decode" => method(move |args| args.result(self.0.read().decode(&*args.input::<C::Out>(0)?))),
            _ => None,
        }
    }
}
