//! Data sources. A source at its end is an error of the node that asks; `Reset` starts again.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::data_source::DataSource;
use typeloom_onnx::messages::NodeProto;

use super::{ComponentFault, Erased, Guarded, Method, done, method};
use crate::carry::Carried;

pub(super) struct OfDataSource<D>(pub(super) Guarded<D>);

impl<D: DataSource<Sample: Carried>> Erased for OfDataSource<D> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "NextBatch" => method(move |args| {
                let batch = self.0.write().next_batch().map_err(ComponentFault::failed)?;
                let batch = batch.ok_or(ComponentFault::Exhausted)?;
                Ok(smallvec![args.give(0, &*batch)])
            }),
            "Reset" => method(move |_| {
                self.0.write().reset().map_err(ComponentFault::failed)?;
                Ok(done())
            }),
            "OnDataLoaded" => method(move |args| {
                let batch = args.stored::<D::Sample>(0)?;
                self.0.write().on_data_loaded(&batch).map_err(ComponentFault::failed)?;
                Ok(done())
            }),
            _ => None,
        }
    }
}
