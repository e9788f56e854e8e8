//! Adapter from primitives to graphs: calls one primitive per node.
//!
//! The graph must contain primitives only. The compiler lowers other operators beforehand; a remaining one is
//! an error that names the node. Operands that ONNX passes as tensors (axes, a shape) are read from the
//! backend's tensors, which therefore convert to run-time values.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;

use typeloom_contracts::backend::{Backend, Primitives};
use typeloom_onnx::messages::{AttributeProto, GraphProto, TensorProto};
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::primitives;

use crate::convert::{FromDatum, IntoDatum};
use crate::error::ComponentError;
use crate::prepare::with_attributes;
use crate::primitive::{Operands, decode};

/// A backend built from an implementation of the primitives.
///
/// Extension operators that the type declares have no method, so a graph with one is an error. A type with
/// extension operators implements [`Backend`] itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByPrimitives<P>(pub P);

/// Error of running a graph.
#[derive(Debug, thiserror::Error)]
pub enum WalkError<E: Error + 'static> {
    /// A primitive failed.
    #[error(transparent)]
    Primitive(E),
    /// A primitive of a graph failed or rejected an operand.
    #[error("`{op}`, which makes `{value}`: {source}")]
    Node { op: String, value: String, source: ComponentError },
    /// An operator that is not a primitive.
    #[error("`{op}`, which makes `{value}`, is not a primitive")]
    NoPrimitive { op: String, value: String },
    /// A value without a definition.
    #[error("no node makes `{0}`")]
    NoValue(String),
    /// The number of tensors differs from the number of inputs.
    #[error("the graph has {expected} inputs, not {given}")]
    InputCount { expected: usize, given: usize },
}

/// The inputs of a node during the execution of a graph.
struct Given<'v, T>(Vec<Option<&'v T>>);

impl<T: FromDatum + IntoDatum + Clone> Operands<T> for Given<'_, T> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn tensor(&self, index: usize) -> Result<Cow<'_, T>, ComponentError> {
        let found = self.0.get(index).copied().flatten();
        found.map(Cow::Borrowed).ok_or(ComponentError::Missing(index))
    }

    fn datum(&self, index: usize) -> Option<Cow<'_, Datum>> {
        Some(Cow::Owned(self.0.get(index).copied().flatten()?.to_datum(None)))
    }
}

macro_rules! forwarded {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $form:tt $ports:tt;)*) => {
        impl<P: Primitives<Tensor: FromDatum + IntoDatum + Clone>> Backend for ByPrimitives<P> {
            type Tensor = P::Tensor;
            type Error = WalkError<P::Error>;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error> {
                    self.0.$name($($arg),*).map_err(WalkError::Primitive)
                }
            )*

            fn execute(
                &self,
                graph: &GraphProto,
                inputs: Vec<P::Tensor>,
                attrs: &[AttributeProto],
            ) -> Result<Vec<P::Tensor>, Self::Error> {
                walk(self, graph, inputs, attrs)
            }

            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                P::extension_opsets()
            }
        }
    };
}

primitives!(forwarded);

/// Calls the primitive of each node of a graph.
fn walk<P: Primitives<Tensor: FromDatum + IntoDatum + Clone>>(
    backend: &ByPrimitives<P>,
    graph: &GraphProto,
    inputs: Vec<P::Tensor>,
    attrs: &[AttributeProto],
) -> Result<Vec<P::Tensor>, WalkError<P::Error>> {
    if graph.input.len() != inputs.len() {
        return Err(WalkError::InputCount { expected: graph.input.len(), given: inputs.len() });
    }
    let mut values: HashMap<String, P::Tensor> = HashMap::new();
    for constant in &graph.initializer {
        values.insert(constant.name().to_owned(), backend.constant(constant)?);
    }
    values.extend(graph.input.iter().map(|info| info.name().to_owned()).zip(inputs));
    let attributes: HashMap<&str, &AttributeProto> = attrs.iter().map(|it| (it.name(), it)).collect();
    for node in &graph.node {
        let node = with_attributes(node, &attributes);
        let value = || node.output.first().cloned().unwrap_or_default();
        let op = || node.op_type().to_owned();
        let decoded = if node.is_onnx() { decode(node.op_type(), &node) } else { None };
        let Some(primitive) = decoded else {
            return Err(WalkError::NoPrimitive { op: op(), value: value() });
        };
        let given = node.input.iter().map(|name| match values.get(name) {
            None if name.is_empty() => Ok(None),
            None => Err(WalkError::NoValue(name.clone())),
            some => Ok(some),
        });
        let given = Given(given.collect::<Result<_, _>>()?);
        let failed = |source| WalkError::Node { op: op(), value: value(), source };
        let results = primitive(backend, &given).map_err(failed)?;
        values.extend(node.output.iter().cloned().zip(results));
    }
    let result = |name: &str| values.get(name).cloned().ok_or_else(|| WalkError::NoValue(name.to_owned()));
    graph.output.iter().map(|output| result(output.name())).collect()
}
