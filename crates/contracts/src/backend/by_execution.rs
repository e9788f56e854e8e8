//! Adapter from [`GraphExecutor`] to [`Backend`]: each primitive call becomes a graph of one node.
//!
//! Arguments that ONNX passes as tensors (axes, a shape, the bounds of a slice) become initializers of that
//! graph, because only the backend can create its tensors.

use std::borrow::Cow;

use typeloom_onnx::messages::{
    AttributeProto, GraphProto, IntoAttribute as _, NodeProto, TensorProto, Text, ValueInfoProto,
};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::primitives;

use super::{Backend, GraphExecutor};

/// A backend implemented by a graph executor.
///
/// Execution takes tensors by value, so each call clones its arguments. Tensor types that share their data
/// (such as an `Arc`) make this clone cheap.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByExecution<E>(pub E);

/// An operand of a node.
#[derive(Debug)]
pub enum Operand<'a, T: Clone> {
    /// A tensor of the backend.
    Tensor(Cow<'a, T>),
    /// A value that the backend does not store.
    Constant(Cow<'a, AnyTensor>),
    /// An optional input without a value.
    Absent,
}

impl<'a, T: Clone> From<&'a T> for Operand<'a, T> {
    fn from(tensor: &'a T) -> Self {
        Self::Tensor(Cow::Borrowed(tensor))
    }
}

impl<T: Clone> From<&[i64]> for Operand<'_, T> {
    fn from(values: &[i64]) -> Self {
        Self::Constant(Cow::Owned(AnyTensor::from(values)))
    }
}

impl<T: Clone> From<Option<&[i64]>> for Operand<'_, T> {
    fn from(values: Option<&[i64]>) -> Self {
        values.map_or(Self::Absent, Self::from)
    }
}

/// The graph of one node with new names for its operands and results, and the inputs of that graph.
pub fn graph_of_node<'a, T: Clone + 'a>(
    node: NodeProto,
    operands: impl IntoIterator<Item = Operand<'a, T>>,
    outputs: usize,
) -> (GraphProto, Vec<T>) {
    graph_of(node, operands.into_iter().collect(), outputs)
}

/// Compiled once for each type of tensors, not for each kind of iterator.
fn graph_of<T: Clone>(
    mut node: NodeProto,
    operands: Vec<Operand<'_, T>>,
    outputs: usize,
) -> (GraphProto, Vec<T>) {
    let mut graph = GraphProto { name: node.op_type.clone(), ..GraphProto::default() };
    let mut inputs = Vec::new();
    node.input.clear();
    for (at, operand) in operands.into_iter().enumerate() {
        let name = format!("in{at}");
        let named = Text::from(&name);
        node.input.push(match operand {
            Operand::Tensor(tensor) => {
                graph.input.push(ValueInfoProto { name: named, ..ValueInfoProto::default() });
                inputs.push(tensor.into_owned());
                name
            }
            Operand::Constant(tensor) => {
                graph.initializer.push(TensorProto { name: named, ..TensorProto::from(&*tensor) });
                name
            }
            Operand::Absent => String::new(),
        });
    }
    node.output = (0..outputs).map(|at| format!("out{at}")).collect();
    let info = |name: &String| ValueInfoProto { name: name.clone().into(), ..ValueInfoProto::default() };
    graph.output = node.output.iter().map(info).collect();
    graph.node.push(node);
    (graph, inputs)
}

/// The operands of a primitive, by its form as a node.
#[doc(hidden)]
#[macro_export]
macro_rules! operands {
    ([..$parts:ident]) => { $parts.iter().map(|part| $crate::backend::by_execution::Operand::from(*part)) };
    ([$($operand:ident),*]) => { [$($crate::backend::by_execution::Operand::from($operand)),*] };
}

/// Calls a primitive by its form as a node.
///
/// # Panics
/// Panics if the executor violates its contract and returns no output.
macro_rules! call {
    ($executor:ident $op:literal ($operands:tt $(; $attribute:ident: $value:ident)?)) => {{
        let mut outputs = call!($executor $op $operands [$($attribute: $value)?] 1)?;
        Ok(outputs.pop().expect("a graph with one output gives one"))
    }};
    ($executor:ident $op:literal ($operands:tt; $attribute:ident: $value:ident; $sizes:ident)) => {
        call!($executor $op $operands [$attribute: $value] $sizes.len())
    };
    ($executor:ident $op:literal $operands:tt [$($attribute:ident: $value:ident)?] $outputs:expr) => {{
        let attribute = vec![$($value.into_attribute(stringify!($attribute)))?];
        let node = NodeProto { op_type: $op.into(), attribute, ..NodeProto::default() };
        let (graph, inputs) = graph_of_node(node, operands!($operands), $outputs);
        $executor.0.execute(&graph, inputs, &[])
    }};
}

macro_rules! as_graphs {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $form:tt $ports:tt;)*) => {
        impl<E: GraphExecutor<Tensor: Clone>> Backend for ByExecution<E> {
            type Tensor = E::Tensor;
            type Error = E::Error;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error> {
                    call!(self $op $form)
                }
            )*

            fn execute(
                &self,
                graph: &GraphProto,
                inputs: Vec<Self::Tensor>,
                attrs: &[AttributeProto],
            ) -> Result<Vec<Self::Tensor>, Self::Error> {
                self.0.execute(graph, inputs, attrs)
            }

            fn extension_opsets() -> &'static [AtomicOpsetDecl] {
                E::extension_opsets()
            }
        }
    };
}

primitives!(as_graphs);

#[cfg(test)]
mod tests {
    use super::*;
    use typeloom_onnx::text::PrintOptions;
    use typeloom_tensor::any_tensor::AnyTensor;

    /// Returns the text of the graph as its error.
    struct Echo;

    #[derive(Debug)]
    struct Asked(String);

    impl std::fmt::Display for Asked {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl std::error::Error for Asked {}

    impl GraphExecutor for Echo {
        type Tensor = AnyTensor;
        type Error = Asked;

        fn execute(
            &self,
            graph: &GraphProto,
            inputs: Vec<AnyTensor>,
            _attrs: &[AttributeProto],
        ) -> Result<Vec<AnyTensor>, Asked> {
            let text = typeloom_onnx::text::print_graph(graph, &PrintOptions::display()).text;
            assert_eq!(graph.input.len(), inputs.len());
            Err(Asked(text))
        }
    }

    #[test]
    fn a_primitive_becomes_a_graph_of_one_node() {
        let backend = ByExecution(Echo);
        let x = AnyTensor::from_slice(&[2], &[1.0f32, 2.0]).unwrap();
        let asked = backend.reduce_sum(&x, Some(&[0]), true).unwrap_err().to_string();
        assert!(
            asked.contains("ReduceSum") && asked.contains("keepdims") && asked.contains("in1"),
            "{asked}"
        );
        let asked = backend.squeeze(&x, None).unwrap_err().to_string();
        assert!(asked.contains("Squeeze"), "{asked}");
        let asked = backend.concat(&[&x, &x], 0).unwrap_err().to_string();
        assert!(asked.contains("in0, in1"), "{asked}");
    }
}
