//! The peak that `typeloom-cost` predicts is the one that a run has.
//!
//! A run is measured by the memory of live tensors, with its inputs and without constants. Scratch memory of
//! kernels is not part of either number.

use std::collections::{BTreeMap, HashMap};

use typeloom_cost::executor::Executor;
use typeloom_dim::DimId;
use typeloom_onnx::messages::tensor_shape_proto::dimension::Value;
use typeloom_onnx::messages::{ModelProto, type_proto};
use typeloom_onnx::prost::Message as _;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::{Port, Session};
use typeloom_solver::model::Options;
use typeloom_tensor::any_tensor::{AnyTensor, budget};
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_check::SymbolBindings;
use typeloom_tensor::value_type::Dim;
use typeloom_testing::is_all;
use typeloom_types::dtype::Dtype;

use crate::lowering::whole::{self, Whole};

/// The largest difference, in parts of the measured peak.
const TOLERANCE: f64 = 0.05;

/// The measured and the predicted peak. The symbols of inputs have values from `base` on.
fn peaks(model: &ModelProto, base: usize) -> Result<(u64, i128), String> {
    let bytes = model.encode_to_vec();
    let options = Options { functions: true, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).map_err(|error| error.to_string())?;
    if !checked.is_ok() {
        return Err("the model has errors".to_owned());
    }
    let cost = typeloom_cost::cost(&mut checked);
    let external = |_: &_| Err("there are no other files".to_owned());
    let session = Session::of_checked(&mut checked, &external).map_err(|error| error.to_string())?;
    let inputs = inputs(session.inputs(), base);
    // The inputs are copies without another owner, as those of a caller that keeps nothing.
    let (outcome, measured) = budget::peak(|| {
        let copy =
            |tensor: &AnyTensor| AnyTensor::from_le_bytes(tensor.dtype(), tensor.shape(), tensor.bytes());
        let copies = inputs.iter().map(|(name, tensor)| {
            Ok((name.clone(), Datum::Tensor(copy(tensor).map_err(|error| error.to_string())?)))
        });
        let copies: HashMap<String, Datum> = copies.collect::<Result<_, String>>()?;
        session.run(copies, Verify::Inputs).map_err(|error| error.to_string())
    });
    let dims = checked.dims_mut();
    let values: Vec<(DimId, i64)> =
        outcome?.symbols.iter().map(|(name, value)| (dims.symbol(name), value as i64)).collect();
    let predicted = cost.peak(Executor::Embedded);
    let predicted = predicted.evaluate(dims, &values).ok_or_else(|| predicted.text(dims))?;
    Ok((measured, predicted))
}

/// Inputs with extents from `base` on.
fn inputs(ports: &[Port], base: usize) -> BTreeMap<String, AnyTensor> {
    let mut symbols = SymbolBindings::default();
    let mut found = BTreeMap::new();
    for port in ports.iter().filter(|port| !port.has_default) {
        let shape = port.ty.shape.as_deref().unwrap_or_default();
        let mut extent = |dim: &Dim| {
            for symbol in symbols.unbound(dim).map(str::to_owned).collect::<Vec<_>>() {
                symbols.bind(&symbol, base + symbols.iter().count());
            }
            symbols.evaluate(dim).unwrap_or(base)
        };
        let shape: Vec<usize> = shape.iter().map(&mut extent).collect();
        let dtype = port.ty.dtype().expect("the inputs are tensors");
        // True conditions take the branches that need more.
        let one = u8::from(dtype == Dtype::Bool);
        let zeros = AnyTensor::from_bytes_with(dtype, &shape, |bytes| bytes.fill(one));
        found.insert(port.name.clone(), zeros.expect("it fits"));
    }
    found
}

/// The model for another batch and image.
fn resized(whole: &Whole, batch: i64, image: i64) -> ModelProto {
    let mut model = whole.model();
    let Some(graph) = &mut model.graph else { return model };
    for info in &mut graph.input {
        let Some(Some(type_proto::Value::TensorType(tensor))) = info.r#type.as_mut().map(|ty| &mut ty.value)
        else {
            continue;
        };
        let Some(shape) = tensor.shape.as_mut().filter(|shape| shape.dim.len() == 4) else { continue };
        for (axis, dim) in shape.dim.iter_mut().enumerate() {
            dim.value = match dim.value.take() {
                Some(Value::DimValue(1)) if axis == 0 => Some(Value::DimValue(batch)),
                Some(Value::DimValue(224)) => Some(Value::DimValue(image)),
                other => other,
            };
        }
    }
    // The outputs are solved.
    graph.output.iter_mut().for_each(|info| info.r#type = None);
    graph.value_info.clear();
    model
}

#[test]
fn the_predicted_peak_is_the_measured_one() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for whole in whole::list() {
        let sizes: Vec<(ModelProto, usize)> = if whole.is_light {
            // Without optimisation, only small images and networks take seconds. A network that fixes the
            // size of its input has no others.
            let is_fast = is_all() && !cfg!(debug_assertions);
            let images: &[(i64, i64)] = match whole.small() {
                _ if is_fast => &[(1, 224), (2, 224), (1, 288), (1, 32), (2, 96)],
                Some(_) => &[(1, 32), (2, 40), (1, 48)],
                None => &[],
            };
            images.iter().map(|(batch, image)| (resized(&whole, *batch, *image), 1)).collect()
        } else {
            [3, 8, 17].map(|base| (whole.model(), base)).into()
        };
        for (at, (model, base)) in sizes.iter().enumerate() {
            let (measured, predicted) = match peaks(model, *base) {
                Ok(peaks) => peaks,
                Err(reason) => {
                    println!("{:24} {at} {reason}", whole.name);
                    continue;
                }
            };
            compared += 1;
            let difference = (predicted as f64 - measured as f64) / measured as f64;
            println!("{:24} {at} {measured:>12} {predicted:>12} {:+.2} %", whole.name, 100.0 * difference);
            if difference.abs() > TOLERANCE {
                wrong.push((whole.name.clone(), at));
            }
        }
    }
    assert!(wrong.is_empty() && compared > 10, "{wrong:?}, {compared} compared");
}
