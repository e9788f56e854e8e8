//! The embedded backend as the contract of backends asks for it.
//!
//! [`Cpu`] runs graphs: it has that half of the contract, and
//! [`ByExecution<Cpu>`](typeloom_contracts::backend::by_execution::ByExecution) is the whole of it.

use std::collections::HashMap;

use typeloom_contracts::backend::GraphExecutor;
use typeloom_cpu::value::Value;
use typeloom_onnx::messages::{AttributeProto, GraphProto, ModelProto, OperatorSetIdProto};
use typeloom_types::any_tensor::AnyTensor;

use crate::error::{PrepareError, RunError};
use crate::functions::with_attributes;
use crate::session::{Session, Verify};

/// The version of ONNX's operators that the contract speaks of.
const VERSION: i64 = 18;

/// The embedded backend: ONNX's operators on the processor.
///
/// ```
/// use typeloom_contracts::backend::Backend;
/// use typeloom_contracts::backend::by_execution::ByExecution;
/// use typeloom_runtime::backend::Cpu;
/// use typeloom_types::any_tensor::AnyTensor;
///
/// let backend = ByExecution(Cpu);
/// let a = AnyTensor::from([1.0_f32, 2.0]);
/// let sum = backend.reduce_sum(&backend.add(&a, &a)?, None, false)?;
/// assert_eq!(sum, AnyTensor::from_scalar(6.0_f32));
/// # Ok::<(), typeloom_runtime::backend::CpuError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

/// Why the embedded backend gave no result.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CpuError {
    /// The graph could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// More or fewer tensors than the graph has inputs.
    #[error("the graph has {expected} inputs, not {given}")]
    InputCount {
        /// How many inputs the graph lists.
        expected: usize,
        /// How many tensors were given.
        given: usize,
    },
    /// A result that the contract cannot carry.
    #[error("output `{0}` is no tensor")]
    NoTensor(String),
}

impl GraphExecutor for Cpu {
    type Tensor = AnyTensor;
    type Error = CpuError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, CpuError> {
        if graph.input.len() != inputs.len() {
            return Err(CpuError::InputCount { expected: graph.input.len(), given: inputs.len() });
        }
        let given: HashMap<&str, &AttributeProto> = attrs.iter().map(|it| (it.name(), it)).collect();
        let mut graph = graph.clone();
        graph.node = graph.node.iter().map(|node| with_attributes(node, &given, 0)).collect();
        let names: Vec<String> = graph.input.iter().map(|input| input.name().to_owned()).collect();
        let import = OperatorSetIdProto { version: Some(VERSION), ..OperatorSetIdProto::default() };
        let model = ModelProto { graph: Some(graph), opset_import: vec![import], ..ModelProto::default() };
        let session = Session::new(&model, &|_| Err("a graph by itself has no other files".to_owned()))?;
        let inputs = names.into_iter().zip(inputs.into_iter().map(Value::Tensor)).collect();
        let outcome = session.run(inputs, Verify::Inputs)?;
        let tensor = |(name, value): (String, Value)| match value {
            Value::Tensor(tensor) => Ok(tensor),
            Value::Sequence(_) | Value::Optional(_) => Err(CpuError::NoTensor(name)),
        };
        outcome.outputs.into_iter().map(tensor).collect()
    }
}
