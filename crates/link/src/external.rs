//! The files with tensors of a model.

use std::collections::BTreeSet;

use bytes::Bytes;
use typeloom_onnx::DecodeError;
use typeloom_onnx::messages::{FunctionProto, NodeProto, read};
use typeloom_onnx::view::{ModelView, TensorView};

use crate::scan::Scan;
use crate::walk::Walk;

/// The locations of external data in a model, as they are written in it: relative to the folder of the model.
///
/// # Errors
/// The first error of malformed bytes.
pub fn external_locations(model: &Bytes) -> Result<BTreeSet<String>, DecodeError> {
    let view = ModelView::new(model)?;
    let mut scan = Scan::default();
    if let Some(graph) = view.graph() {
        for node in graph.nodes() {
            let mut node: NodeProto = read(model.slice_ref(node?.bytes()))?;
            Walk::main(&mut scan).node(&mut node);
        }
        for tensor in graph.initializers() {
            add(&mut scan.locations, tensor?)?;
        }
        for sparse in graph.sparse_initializers() {
            let sparse = sparse?.parse()?;
            for tensor in sparse.values.into_iter().chain(sparse.indices) {
                add(&mut scan.locations, tensor)?;
            }
        }
    }
    for function in view.functions() {
        let mut function: FunctionProto = read(model.slice_ref(function?.bytes()))?;
        Walk::function(&mut scan, &mut function);
    }
    Ok(scan.locations)
}

fn add(locations: &mut BTreeSet<String>, tensor: TensorView<'_>) -> Result<(), DecodeError> {
    for entry in tensor.external_data() {
        let entry = entry?;
        if entry.has_key("location") {
            locations.insert(entry.value()?.to_owned());
        }
    }
    Ok(())
}
