//! The embedded backend as a component.
//!
//! [`Cpu`] implements both halves of the backend contract: a primitive calls its kernel, and a graph is
//! prepared and run like a model. Its extension operators are all operators with a kernel, so nothing is
//! lowered for it. [`ByPrimitives`](by_primitives::ByPrimitives) extends an implementation of the primitives
//! to a backend.
//!
//! Example of [`Cpu`]:
//!
//! ```
//! use typeloom_contracts::backend::Backend;
//! use typeloom_runtime::backend::Cpu;
//! use typeloom_tensor::any_tensor::AnyTensor;
//!
//! let a = AnyTensor::from([1.0_f32, 2.0]);
//! let sum = Cpu.reduce_sum(&Cpu.add(&a, &a)?, None, false)?;
//! assert_eq!(sum, AnyTensor::from_scalar(6.0_f32));
//! # Ok::<(), typeloom_runtime::backend::CpuError>(())
//! ```

pub mod by_primitives;

mod primitives;

use std::collections::HashMap;
use std::sync::LazyLock;

use typeloom_contracts::backend::GraphExecutor;
use typeloom_cpu::attributes::Attributes;
use typeloom_cpu::call::Call;
use typeloom_cpu::decode::DecodeTensorError;
use typeloom_cpu::error::KernelError;
use typeloom_cpu::ops;
use typeloom_onnx::domain::LONG_NAME;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::op::{AtomicOpDecl, AtomicOpKind, AtomicOpsetDecl, PortDecl};
use typeloom_types::plural::counted;
use typeloom_types::relation::NO_RELATIONS;
use typeloom_types::tree::builtin::TYPE_ANY;

use crate::error::{PrepareError, RunError};
use crate::named::Inputs;
use crate::options::Verify;
use crate::prepare::with_attributes;
use crate::session::Session;

/// Version of the operator set of the primitives.
const VERSION: i64 = 18;

/// Operator set version of graphs outside of a model: the version that modules use.
pub(crate) const NEWEST: i64 = 28;

/// The embedded backend: ONNX's operators on the processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cpu;

/// Error of the embedded backend.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CpuError {
    /// The graph could not be prepared.
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// An operator could not be computed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A stored tensor is malformed.
    #[error(transparent)]
    Tensor(#[from] DecodeTensorError),
    /// The number of tensors differs from the number of inputs.
    #[error("the graph has {}, not {given}", counted(*expected, "input"))]
    InputCount { expected: usize, given: usize },
    /// A result is not a tensor.
    #[error("output `{0}` is not a tensor")]
    NoTensor(String),
}

impl Cpu {
    /// All operators with a kernel beyond the primitives. It is inherent too, as [`Cpu::execute`].
    #[must_use]
    pub fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        &*NATIVE
    }

    /// Executes a graph, as [`GraphExecutor::execute`] and `Backend::execute`. It is inherent too, so that a
    /// call is not ambiguous where both traits are in scope.
    ///
    /// # Errors
    /// [`CpuError`].
    pub fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, CpuError> {
        if graph.input.len() != inputs.len() {
            return Err(CpuError::InputCount { expected: graph.input.len(), given: inputs.len() });
        }
        if let [node] = &graph.node[..]
            && let Some(results) = single(graph, &with_attributes(node, &by_name(attrs)), &inputs)?
        {
            return Ok(results);
        }
        let model = model_of(graph.clone(), attrs);
        let session = Session::new(&model, &|_| Err("a graph by itself has no other files".to_owned()))?;
        let names = graph.input.iter().map(|input| input.name().to_owned());
        let inputs: Inputs = names.zip(inputs.into_iter().map(Datum::Tensor)).collect();
        let outcome = session.run(inputs, Verify::Inputs)?;
        outcome.outputs.into_iter().map(|(name, value)| expect_tensor(&name, value)).collect()
    }
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
        Self::execute(self, graph, inputs, attrs)
    }

    fn extension_opsets() -> &'static [AtomicOpsetDecl] {
        Self::extension_opsets()
    }
}

fn by_name(attrs: &[AttributeProto]) -> HashMap<&str, &AttributeProto> {
    attrs.iter().map(|it| (it.name(), it)).collect()
}

/// A graph with values of its attributes as a model of the newest operator set.
pub(crate) fn model_of(mut graph: GraphProto, attrs: &[AttributeProto]) -> ModelProto {
    graph.node = graph.node.iter().map(|node| with_attributes(node, &by_name(attrs))).collect();
    let import = OperatorSetIdProto { version: Some(NEWEST), ..OperatorSetIdProto::default() };
    ModelProto {
        ir_version: Some(10),
        graph: Some(graph),
        opset_import: vec![import],
        ..ModelProto::default()
    }
}

/// Runs a graph of one node without preparation; `None` if the graph is more than one kernel call on its
/// inputs.
fn single(
    graph: &GraphProto,
    node: &NodeProto,
    inputs: &[AnyTensor],
) -> Result<Option<Vec<AnyTensor>>, CpuError> {
    let Some(kernel) = ops::find(node.domain(), node.op_type()) else { return Ok(None) };
    let holds_graph = |attribute: &AttributeProto| attribute.r#type() == AttributeType::Graph;
    let outputs_are_its_own = node.output.iter().eq(graph.output.iter().map(ValueInfoProto::name));
    if !outputs_are_its_own || node.attribute.iter().any(holds_graph) {
        return Ok(None);
    }
    let constants = graph.initializer.iter().map(|constant| (constant.name(), Err(constant)));
    let given = graph.input.iter().zip(inputs).map(|(info, tensor)| (info.name(), Ok(tensor)));
    let known: HashMap<&str, Result<&AnyTensor, &TensorProto>> = constants.chain(given).collect();
    let mut values = Vec::with_capacity(node.input.len());
    for name in &node.input {
        values.push(match known.get(name.as_str()) {
            Some(Ok(tensor)) => Some(Datum::Tensor((*tensor).clone())),
            Some(Err(constant)) => Some(Datum::Tensor(typeloom_cpu::decode::tensor(constant)?)),
            None if name.is_empty() => None,
            None => return Ok(None),
        });
    }
    let attributes = Attributes::decode(&node.attribute)?;
    let call = Call { version: NEWEST, attributes: &attributes, inputs: values, outputs: node.output.len() };
    let results = kernel.run(call)?.into_iter().zip(&node.output);
    results.map(|(value, name)| expect_tensor(name, value)).collect::<Result<_, _>>().map(Some)
}

fn expect_tensor(name: &str, value: Datum) -> Result<AnyTensor, CpuError> {
    if let Datum::Tensor(tensor) = value { Ok(tensor) } else { Err(CpuError::NoTensor(name.to_owned())) }
}

/// Every operator with a kernel. The operator table defines the types of its ports.
static NATIVE: LazyLock<[AtomicOpsetDecl; 1]> = LazyLock::new(|| {
    const INPUTS: &[PortDecl] = &[PortDecl::variadic("inputs", &TYPE_ANY)];
    const OUTPUTS: &[PortDecl] = &[PortDecl::variadic("outputs", &TYPE_ANY)];
    static OPS: LazyLock<Vec<AtomicOpDecl>> = LazyLock::new(|| {
        let op = |name| AtomicOpDecl {
            name,
            inputs: INPUTS,
            outputs: OUTPUTS,
            kind: AtomicOpKind::Pure,
            type_relations: NO_RELATIONS,
        };
        ops::all().filter(|op| op.domain().is_empty()).map(|it| op(it.name())).collect()
    });
    [AtomicOpsetDecl { domain: LONG_NAME, version: NEWEST as u32, ops: &OPS }]
});
