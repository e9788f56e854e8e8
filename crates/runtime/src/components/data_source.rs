//! Data sources. Reading an exhausted source is an error of the node; `Reset` restarts the source.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::data_source::DataSource;
use typeloom_onnx::messages::NodeProto;

use super::{ComponentError, Locked, Method, done, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) fn resolve<D: DataSource<Sample: FromDatum + IntoDatum>>(
    source: Arc<Locked<D>>,
    name: &str,
    _: &NodeProto,
) -> Option<Method> {
    match name {
        "next_batch" => method(move |args| {
            let batch = source.write().next_batch().map_err(ComponentError::failed)?;
            let batch = batch.ok_or(ComponentError::Exhausted)?;
            Ok(smallvec![args.output(0, &*batch)])
        }),
        "reset" => method(move |_| done(source.write().reset())),
        "on_data_loaded" => {
            method(move |args| done(source.write().on_data_loaded(&*args.input::<D::Sample>(0)?)))
        }
        _ => None,
    }
}
