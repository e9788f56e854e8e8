//! Codecs. `Train` takes samples along the first axis.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::codec::Codec;
use typeloom_onnx::messages::NodeProto;

use super::args::stored;
use super::{ComponentFault, Erased, Guarded, Method, done, method};
use crate::carry::Carried;

pub(super) struct OfCodec<C>(pub(super) Guarded<C>);

impl<C: Codec<In: Carried, Out: Carried>> Erased for OfCodec<C> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "Train" => method(move |args| {
                let rows = args.rows(0)?;
                let samples =
                    rows.iter().map(|row| stored::<C::In>(row, 0)).collect::<Result<Vec<_>, _>>()?;
                let samples: Vec<&C::In> = samples.iter().map(|sample| &**sample).collect();
                self.0.write().train(&samples).map_err(ComponentFault::failed)?;
                Ok(done())
            }),
            "Encode" => method(move |args| {
                let value = args.stored::<C::In>(0)?;
                let encoded = self.0.read().encode(&value).map_err(ComponentFault::failed)?;
                Ok(smallvec![args.give(0, &*encoded)])
            }),
            "Decode" => method(move |args| {
                let encoded = args.stored::<C::Out>(0)?;
                let value = self.0.read().decode(&encoded).map_err(ComponentFault::failed)?;
                Ok(smallvec![args.give(0, &*value)])
            }),
            _ => None,
        }
    }
}
