//! Codecs. `Train` takes samples along the first axis.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::codec::Codec;
use typeloom_onnx::messages::NodeProto;

use super::args::convert;
use super::{AnyComponent, ComponentError, Locked, Method, method, trigger};
use crate::convert::{FromDatum, IntoDatum};

pub(super) struct CodecAdapter<C>(pub(super) Locked<C>);

impl<C: Codec<In: FromDatum + IntoDatum, Out: FromDatum + IntoDatum>> AnyComponent for CodecAdapter<C> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "Train" => method(move |args| {
                let rows = args.rows(0)?;
                let samples =
                    rows.iter().map(|row| convert::<C::In>(row, 0)).collect::<Result<Vec<_>, _>>()?;
                let samples: Vec<&C::In> = samples.iter().map(|sample| &**sample).collect();
                self.0.write().train(&samples).map_err(ComponentError::failed)?;
                Ok(trigger())
            }),
            "Encode" => method(move |args| {
                let value = args.input::<C::In>(0)?;
                let encoded = self.0.read().encode(&value).map_err(ComponentError::failed)?;
                Ok(smallvec![args.output(0, &*encoded)])
            }),
            "Decode" => method(move |args| {
                let encoded = args.input::<C::Out>(0)?;
                let value = self.0.read().decode(&encoded).map_err(ComponentError::failed)?;
                Ok(smallvec![args.output(0, &*value)])
            }),
            _ => None,
        }
    }
}
