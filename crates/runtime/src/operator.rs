//! Single ONNX operators, called by name.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::error::NodeError;

/// Version of the operators that are called by name.
const VERSION: i64 = 21;

/// Runs an operator of ONNX's default domain and returns its first result.
pub(crate) fn run(name: &str, attributes: &Attributes, inputs: Vec<Datum>) -> Result<Datum, NodeError> {
    let unknown = || NodeError::UnknownOperator { domain: String::new(), op: name.to_owned() };
    let operator = ops::find("", name).ok_or_else(unknown)?;
    let inputs = inputs.into_iter().map(Some).collect();
    let results = operator.run(Call { version: VERSION, attributes, inputs, outputs: 1 })?;
    results.into_iter().next().ok_or_else(|| NodeError::ControlFlow(format!("`{name}` returned no result")))
}

/// Runs `Cast`.
pub(crate) fn cast(value: Datum, to: Dtype) -> Result<Datum, NodeError> {
    let attributes = Attributes::default().with("to", Attribute::Int(i64::from(to.onnx_number())));
    run("Cast", &attributes, vec![value])
}
