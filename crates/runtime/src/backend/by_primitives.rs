//! Adapter from primitives to graphs: calls one primitive per node.
//!
//! The graph must contain primitives only. The compiler lowers other operators beforehand; a remaining one is
//! an error that names the node. Operands that ONNX passes as tensors (axes, a shape) are read from the
//! backend's tensors, which therefore convert to run-time values. Constants of other element types than the
//! backend's are kept as they are, and converted where a primitive takes them as tensors.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error;

use typeloom_contracts::backend::{Backend, Primitives};
use typeloom_cpu::decode;
use typeloom_onnx::messages::{AttributeProto, GraphProto, TensorProto};
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::plural::counted;
use typeloom_types::primitives;

use crate::convert::{FromDatum, IntoDatum};
use crate::error::ComponentError;
use crate::prepare::with_attributes;
use crate::primitive::{self, Operands};
use crate::representation::{dtype_of, integers, stored, stored_indices};

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
    #[error("the graph has {}, not {given}", counted(*expected, "input"))]
    InputCount { expected: usize, given: usize },
}

/// A value during the execution of a graph.
enum Value<T> {
    Stored(T),
    /// A constant of an element type that the backend does not store.
    Constant(Datum),
}

/// The inputs of a node during the execution of a graph.
struct Given<'v, T>(Vec<Option<&'v Value<T>>>);

impl<T: Clone> Given<'_, T> {
    fn value(&self, index: usize) -> Option<&Value<T>> {
        self.0.get(index).copied().flatten()
    }
}

impl<T: FromDatum + IntoDatum + Clone> Operands<T> for Given<'_, T> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn tensor(&self, index: usize) -> Result<Cow<'_, T>, ComponentError> {
        self.indices(index, None)
    }

    fn indices(&self, index: usize, extent: Option<usize>) -> Result<Cow<'_, T>, ComponentError> {
        match self.value(index).ok_or(ComponentError::Missing(index))? {
            Value::Stored(tensor) => Ok(Cow::Borrowed(tensor)),
            Value::Constant(datum) => stored_indices(datum, index, extent),
        }
    }

    fn datum(&self, index: usize) -> Option<Cow<'_, Datum>> {
        Some(match self.value(index)? {
            Value::Stored(tensor) => Cow::Owned(tensor.to_datum(None)),
            Value::Constant(datum) => Cow::Borrowed(datum),
        })
    }

    fn ints(&self, index: usize) -> Result<Option<Vec<i64>>, ComponentError> {
        let Some(datum) = self.datum(index) else { return Ok(None) };
        // A computed list is stored in the type of the backend.
        let computed = datum.as_tensor().filter(|tensor| dtype_of::<T>() == Some(tensor.dtype()));
        match computed.and_then(integers) {
            Some((_, values)) => Ok(Some(values)),
            None => primitive::ints(&datum, index).map(Some),
        }
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
    let constant = |constant: &TensorProto, value: &str| {
        let is_stored =
            dtype_of::<P::Tensor>().is_none_or(|dtype| constant.data_type() == dtype.onnx_number());
        if is_stored {
            return backend.constant(constant).map(Value::Stored);
        }
        let failed = |error| WalkError::Node {
            op: "Constant".to_owned(),
            value: value.to_owned(),
            source: ComponentError::failed(error),
        };
        decode::tensor(constant).map(|tensor| Value::Constant(tensor.into())).map_err(failed)
    };
    let mut values: HashMap<String, Value<P::Tensor>> = HashMap::new();
    for initializer in &graph.initializer {
        let name = initializer.name();
        values.insert(name.to_owned(), constant(initializer, name)?);
    }
    values.extend(
        graph.input.iter().map(|info| info.name().to_owned()).zip(inputs.into_iter().map(Value::Stored)),
    );
    let attributes: HashMap<&str, &AttributeProto> = attrs.iter().map(|it| (it.name(), it)).collect();
    for node in &graph.node {
        let node = with_attributes(node, &attributes);
        let value = || node.output.first().cloned().unwrap_or_default();
        let op = || node.op_type().to_owned();
        if let (true, [output]) = (node.is_onnx() && node.op_type() == "Constant", &node.output[..])
            && let Some(tensor) = primitive::constant(&node)
        {
            values.insert(output.clone(), constant(&tensor, output)?);
            continue;
        }
        let decoded = if node.is_onnx() { primitive::decode(node.op_type(), &node) } else { None };
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
        values.extend(node.output.iter().cloned().zip(results.into_iter().map(Value::Stored)));
    }
    let result = |name: &str| match values.get(name) {
        Some(Value::Stored(tensor)) => Ok(tensor.clone()),
        Some(Value::Constant(datum)) => stored::<P::Tensor>(datum, 0)
            .map(|it| (*it).clone())
            .map_err(|source| WalkError::Node { op: "Constant".to_owned(), value: name.to_owned(), source }),
        None => Err(WalkError::NoValue(name.to_owned())),
    };
    graph.output.iter().map(|output| result(output.name())).collect()
}
