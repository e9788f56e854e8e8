//! Data sources. Reading an exhausted source is an error of the node; `Reset` restarts the source.

use std::sync::Arc;

use smallvec::smallvec;
use typeloom_contracts::data_source::DataSource;
use typeloom_onnx::messages::NodeProto;

use super::{AnyComponent, ComponentError, Locked, Method, done, method};
use crate::convert::{FromDatum, IntoDatum};

pub(super) struct DataSourceAdapter<D>(pub(super) Locked<D>);

impl<D: DataSource<Sample: FromDatum + IntoDatum>> AnyComponent for DataSourceAdapter<D> {
    fn method(self: Arc<Self>, node: &NodeProto) -> Option<Method> {
        match node.op_type() {
            "NextBatch" => method(move |args| {
                let batch = self.0.write().next_batch().map_err(ComponentError::failed)?;
                let batch = batch.ok_or(ComponentError::Exhausted)?;
                Ok(smallvec![args.output(0, &*batch)])
            }),
            "Reset" => method(move |_| done(self.0.write().reset())),
            "OnDataLoaded" => {
                method(move |args| done(self.0.write().on_data_loaded(&*args.input::<D::Sample>(0)?)))
            }
            _ => None,
        }
    }
}
