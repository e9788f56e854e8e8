//! Models for tests, and their execution.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message as _;
use typeloom_link::error::ConflictKind;
use typeloom_link::{Connection, LinkError, LinkOptions, Linked, Part, link};
use typeloom_onnx::messages::{ModelProto, read};
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

/// A model in the textual syntax, serialized.
pub(crate) fn model(text: &str) -> Bytes {
    typeloom_onnx::text::parse_model(text).expect("the test's text is a model").encode_to_vec().into()
}

/// A graph in the textual syntax, as a model of operator set 21.
pub(crate) fn graph(text: &str) -> Bytes {
    model(&format!("<ir_version: 10, opset_import: [\"\" : 21]>\n{text}"))
}

/// Options with a map `y=x,z=w`.
pub(crate) fn mapped(map: &str) -> LinkOptions {
    let pairs = map.split(',').filter_map(|pair| pair.split_once('='));
    LinkOptions { map: pairs.map(|(y, x)| Connection::new(y, x)).collect(), ..LinkOptions::default() }
}

pub(crate) fn join(first: &Bytes, second: &Bytes, options: &LinkOptions) -> Result<Linked, LinkError> {
    let parts = [Part { name: "a.onnx", bytes: first }, Part { name: "b.onnx", bytes: second }];
    link(&parts, &Standard, Universe::standard(), options)
}

/// A linked model and its file.
pub(crate) fn joined(first: &Bytes, second: &Bytes, options: &LinkOptions) -> (Linked, ModelProto) {
    let linked = join(first, second, options).expect("the models fit");
    let file = linked.to_vec([first, second]);
    let model = read(file.into()).expect("the result is a model");
    (linked, model)
}

/// Links two graphs and returns the interface of the result.
pub(crate) fn interface(first: &str, second: &str, options: &LinkOptions) -> String {
    joined(&graph(first), &graph(second), options).0.interface.to_string()
}

/// The codes of the conflicts between two graphs.
pub(crate) fn conflicts(first: &str, second: &str, options: &LinkOptions) -> Vec<ConflictKind> {
    match join(&graph(first), &graph(second), options) {
        Err(LinkError::Types(conflicts)) => conflicts.into_iter().map(|conflict| conflict.kind).collect(),
        other => panic!("conflicts of types, not {other:?}"),
    }
}

pub(crate) fn codes(first: &str, second: &str, options: &LinkOptions) -> Vec<&'static str> {
    conflicts(first, second, options).iter().map(ConflictKind::code).collect()
}

/// Runs a model on this crate's runtime.
pub(crate) fn run(model: &Bytes, inputs: HashMap<String, Datum>) -> Result<HashMap<String, Datum>, String> {
    let mut checked = check(model, &Standard, Universe::standard(), &Options::default())
        .map_err(|error| error.to_string())?;
    let session = Session::of_checked(&mut checked, &|_| Err("no other files are read".to_owned()))
        .map_err(|error| error.to_string())?;
    let outcome = session.run(inputs, Verify::EveryValue).map_err(|error| error.to_string())?;
    Ok(outcome.outputs.into_iter().collect())
}

/// Whether two values are equal, up to the rounding of floats: kernels that are fused across the cut add in
/// another order.
pub(crate) fn equal(left: &Datum, right: &Datum) -> bool {
    match (left, right) {
        (Datum::Tensor(left), Datum::Tensor(right)) => {
            left.dtype() == right.dtype() && left.shape() == right.shape() && elements_equal(left, right)
        }
        (Datum::Sequence(left), Datum::Sequence(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Datum::Optional(left), Datum::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => equal(left, right),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        },
        _ => false,
    }
}

fn elements_equal(left: &AnyTensor, right: &AnyTensor) -> bool {
    let floats = |tensor: &AnyTensor| -> Option<Vec<f64>> {
        let bytes = tensor.bytes();
        match tensor.dtype() {
            Dtype::F32 => Some(
                bytes
                    .chunks_exact(4)
                    .map(|it| f64::from(f32::from_le_bytes(it.try_into().unwrap())))
                    .collect(),
            ),
            Dtype::F64 => {
                Some(bytes.chunks_exact(8).map(|it| f64::from_le_bytes(it.try_into().unwrap())).collect())
            }
            _ => None,
        }
    };
    match (floats(left), floats(right)) {
        (Some(left), Some(right)) => left.iter().zip(&right).all(|(a, b)| {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(1.0)
        }),
        _ => left == right,
    }
}
