//! Inputs of runs, and comparisons of their outputs: what `typeloom run` does except for files, processes and
//! text.

pub mod difference;
pub mod literal;
pub mod precision;
pub mod random;

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::error::KernelError;
use typeloom_cpu::ops;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

/// Converts the elements to another type, as the operator `Cast` does.
///
/// # Errors
/// [`KernelError`] if `Cast` does not convert between the two types.
pub fn cast(tensor: &AnyTensor, to: Dtype) -> Result<AnyTensor, KernelError> {
    let attributes = Attributes::default().with("to", Attribute::Int(i64::from(to.onnx_number())));
    let inputs = vec![Some(Datum::Tensor(tensor.clone()))];
    let call = Call { version: 21, attributes: &attributes, inputs, outputs: 1 };
    let results = ops::find("", "Cast").map_or(Ok(Vec::new()), |cast| cast.run(call))?;
    Ok(results.first().and_then(Datum::as_tensor).unwrap_or(tensor).clone())
}
