//! Adapter that runs typed ONNX models on tract, as far as tract preserves their types.
//!
//! tract is a Rust library for inference. It identifies ONNX operators by name only and ignores the domain.
//! It computes extents and values derived from them in its type `TDim`, which this adapter reads as 64-bit
//! integers. It needs concrete input extents to optimise well, so a model with symbols is loaded once per set
//! of extents.
//!
//! ```
//! use std::collections::HashMap;
//! use std::sync::Arc;
//!
//! use typeloom::check::Options;
//! use typeloom::run::engine::EngineSession;
//! use typeloom::run::{Datum, Verify};
//! use typeloom::types::AnyTensor;
//! use typeloom_tract::Tract;
//!
//! let bytes = typeloom::onnx::model_from_text(
//!     r#"<ir_version: 10, opset_import: ["" : 18]>
//!     g (float[N, 2] x) => (y) { h = Add(x, x)  y = Relu(h) }"#,
//! )?;
//! let mut checked = typeloom::check(&bytes, &Options::default())?;
//! let no_files = |_: &_| Err("no other files are read".to_owned());
//! let session = EngineSession::of_checked(Arc::new(Tract), checked.solved(), &no_files, Verify::Inputs)?;
//!
//! let x = AnyTensor::from_slice(&[1, 2], &[1.0_f32, -2.0])?;
//! let outcome = session.run(HashMap::from([("x".to_owned(), Datum::Tensor(x))]))?;
//! assert_eq!(outcome.outputs[0].1, Datum::Tensor(AnyTensor::from_slice(&[1, 2], &[2.0_f32, 0.0])?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod objections;
mod spelling;
mod tensor;

use std::sync::Arc;

use tract_onnx::pb;
use tract_onnx::prelude::{
    Framework as _, InferenceModel, InferenceModelExt as _, IntoRunnable as _, TVec, TractResult, TypedModel,
    TypedRunnableModel,
};
use tract_onnx::tract_core::optim::Optimizer;
use tract_onnx::tract_hir::infer::Factoid as _;
use typeloom::ModelProto;
use typeloom_onnx::prost::Message as _;
use typeloom_runtime::engine::{Engine, Loaded, Loads, Offer, Program};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::value_type::{Dim, Element, ValueType};
use typeloom_types::dtype::Dtype;

/// Base limit on rewrite steps, in addition to [`STEPS_PER_NODE`].
const STEPS: usize = 500;

/// Limit on rewrite steps per node. The light models of ONNX's backend tests need 3.
const STEPS_PER_NODE: usize = 20;

/// The tract engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tract;

impl Engine for Tract {
    fn name(&self) -> &str {
        "tract"
    }

    fn dtypes(&self) -> &[Dtype] {
        tensor::DTYPES
    }

    fn loads(&self) -> Loads {
        Loads::ForFixedExtents
    }

    fn objection(&self, offer: &Offer<'_>) -> Option<String> {
        objections::of(offer)
    }

    fn load(&self, model: &ModelProto) -> Result<Loaded, String> {
        load(model).map_err(|error| format!("{error:#}"))
    }
}

fn load(model: &ModelProto) -> TractResult<Loaded> {
    let mut model = model.clone();
    spelling::respell(&mut model);
    let bytes = model.encode_to_vec();
    drop(model);
    // All other fields are copied into tract's own messages.
    let proto = pb::ModelProto::decode(&bytes[..])?;
    drop(bytes);
    let mut model = tract_onnx::onnx().model_for_proto_model(&proto)?;
    drop(proto);
    model.analyse(false)?;
    let types = types(&model);
    let model = optimized(model)?.into_runnable()?;
    Ok(Loaded { program: Box::new(Running { model }), types })
}

/// Optimises a model.
///
/// Some of tract's rewrites undo each other indefinitely, such as moving an axis over a `Scan` and back.
/// Every intermediate model is equivalent, so the optimisation stops at a limit that ordinary models do not
/// reach and returns the current model.
fn optimized(model: InferenceModel) -> TractResult<TypedModel> {
    let mut model = model.into_typed()?;
    let most = |model: &TypedModel| STEPS + STEPS_PER_NODE * model.nodes.len();
    Optimizer::declutter().stopping_at(most(&model)).optimize(&mut model)?;
    let codegen = Optimizer::codegen().stopping_at(most(&model));
    model.optimize_with_session(&mut codegen.session())?;
    Ok(model)
}

/// Types that tract reports for named values.
fn types(model: &InferenceModel) -> Vec<(String, ValueType)> {
    let mut types = Vec::new();
    for (outlet, name) in &model.outlet_labels {
        let Ok(fact) = model.outlet_fact(*outlet) else { continue };
        let dtype = fact.datum_type.concretize().map(tensor::dtype);
        // An element type that ONNX lacks differs from every solved type; it is not unknown.
        let Some(dtype) = dtype.map_or(Some(None), |known| known.map(Some)) else {
            let element = Element::Sequence(Arc::default());
            types.push((name.clone(), ValueType { element, ..ValueType::default() }));
            continue;
        };
        let shape = fact.shape.concretize().map(|dims| {
            let dim = |dim: &tract_onnx::prelude::TDim| {
                let known = dim.as_i64().and_then(|extent| usize::try_from(extent).ok());
                known.map_or(Dim::Unknown, Dim::Fixed)
            };
            dims.iter().map(dim).collect()
        });
        let node = dtype.map(Dtype::type_node);
        types.push((name.clone(), ValueType { node, element: Element::Tensor(dtype), shape }));
    }
    types.sort_by(|(a, _), (b, _)| a.cmp(b));
    types
}

struct Running {
    model: Arc<TypedRunnableModel>,
}

impl Program for Running {
    fn run(&self, inputs: Vec<AnyTensor>) -> Result<Vec<AnyTensor>, String> {
        let tensors = inputs.iter().map(tensor::to_tract).collect::<Result<TVec<_>, _>>()?;
        drop(inputs);
        let results = self.model.run(tensors).map_err(|error| format!("{error:#}"))?;
        results.into_iter().map(tensor::from_tract).collect()
    }
}
