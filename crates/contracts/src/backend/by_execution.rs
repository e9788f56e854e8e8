//! Adapter from [`GraphExecutor`] to [`Backend`]: each primitive call becomes a graph of one node.
//!
//! Arguments that ONNX passes as tensors (axes, a shape, the bounds of a slice) become initializers of that
//! graph, because only the backend can create its tensors.

use typeloom_onnx::messages::{
    AttributeProto, GraphProto, IntoAttribute as _, NodeProto, TensorProto, ValueInfoProto,
};
use typeloom_types::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;

use super::{Backend, GraphExecutor};
use crate::primitives;

/// A backend implemented by a graph executor.
///
/// Execution takes tensors by value, so each call clones its arguments. Tensor types that share their data
/// (such as an `Arc`) make this clone cheap.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByExecution<E>(pub E);

/// An operand of a primitive.
enum Operand<'a, T> {
    Tensor(&'a T),
    Ints(&'a [i64]),
    Absent,
}

impl<'a, T> From<&'a T> for Operand<'a, T> {
    fn from(tensor: &'a T) -> Self {
        Self::Tensor(tensor)
    }
}

impl<'a, T> From<&'a [i64]> for Operand<'a, T> {
    fn from(values: &'a [i64]) -> Self {
        Self::Ints(values)
    }
}

impl<'a, T> From<Option<&'a [i64]>> for Operand<'a, T> {
    fn from(values: Option<&'a [i64]>) -> Self {
        values.map_or(Self::Absent, Self::Ints)
    }
}

impl<E: GraphExecutor<Tensor: Clone>> ByExecution<E> {
    /// Executes a graph of one node.
    fn call<'a>(
        &self,
        op: &str,
        operands: impl IntoIterator<Item = Operand<'a, E::Tensor>>,
        attribute: Vec<AttributeProto>,
        outputs: usize,
    ) -> Result<Vec<E::Tensor>, E::Error>
    where
        E::Tensor: 'a,
    {
        let mut node = NodeProto { op_type: Some(op.to_owned()), attribute, ..NodeProto::default() };
        let (mut graph, mut inputs) = (GraphProto::default(), Vec::new());
        for (at, operand) in operands.into_iter().enumerate() {
            let name = format!("in{at}");
            let value = Some(name.clone());
            node.input.push(match operand {
                Operand::Tensor(tensor) => {
                    graph.input.push(ValueInfoProto { name: value, ..ValueInfoProto::default() });
                    inputs.push(tensor.clone());
                    name
                }
                Operand::Ints(values) => {
                    let tensor = AnyTensor::from(values);
                    graph.initializer.push(TensorProto { name: value, ..TensorProto::from(&tensor) });
                    name
                }
                Operand::Absent => String::new(),
            });
        }
        node.output = (0..outputs).map(|at| format!("out{at}")).collect();
        let info = |name: &String| ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() };
        graph.output = node.output.iter().map(info).collect();
        graph.node.push(node);
        self.0.execute(&graph, inputs, &[])
    }
}

/// The operands of a primitive.
macro_rules! operands {
    ([..$parts:ident]) => { $parts.iter().map(|part| Operand::Tensor(*part)) };
    ([$($operand:ident),*]) => { [$(Operand::from($operand)),*] };
}

/// Calls a primitive by its form as a node.
///
/// # Panics
/// Panics if the executor violates its contract and returns no output.
macro_rules! call {
    ($executor:ident $op:literal ($operands:tt $(; $attribute:ident: $value:ident)?)) => {{
        let attribute = vec![$($value.into_attribute(stringify!($attribute)))?];
        let mut outputs = $executor.call($op, operands!($operands), attribute, 1)?;
        Ok(outputs.pop().expect("a graph with one output gives one"))
    }};
    ($executor:ident $op:literal ($operands:tt; $attribute:ident: $value:ident; $sizes:ident)) => {{
        let attribute = vec![$value.into_attribute(stringify!($attribute))];
        $executor.call($op, operands!($operands), attribute, $sizes.len())
    }};
}

macro_rules! as_graphs {
    ($($(#[doc = $doc:literal])* $op:literal $name:ident($($arg:ident: $ty:ty),*) -> $out:ty = $form:tt;)*) => {
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
    use typeloom_types::any_tensor::AnyTensor;

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
