//! Models without inputs.

use typeloom_onnx::messages::{ModelProto, TensorProto};
use typeloom_runtime::options::{RunLimits, Verify};
use typeloom_runtime::session::Session;
use typeloom_tensor::datum::Datum;

/// The limits of a run: it is an aside of another command.
const MAX_STEPS: u64 = 1 << 20;
const MAX_BYTES: usize = 1 << 28;
const MAX_WORK: u64 = 1 << 31;

/// The outputs of a model without inputs on the embedded backend; `None` if it does not run there.
pub(crate) fn evaluate(model: &ModelProto) -> Option<Vec<TensorProto>> {
    let limits = RunLimits { iterations: 0, steps: MAX_STEPS, memory: MAX_BYTES, work: MAX_WORK };
    let session = Session::new(model, &|_| Err("stored in another file".to_owned())).ok()?;
    let none: Vec<(String, Datum)> = Vec::new();
    let outcome = session.with_limits(limits).run(none, Verify::EveryValue).ok()?;
    let tensor = |(_, value): &(String, Datum)| match value {
        Datum::Tensor(tensor) => Some(TensorProto::from(tensor)),
        _ => None,
    };
    outcome.outputs.iter().map(tensor).collect()
}
