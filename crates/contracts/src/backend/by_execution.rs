//! Adapter from [`GraphExecutor`] to [`Backend`]: each primitive call becomes a graph of one node.
//!
//! Arguments that ONNX passes as tensors (axes, a shape, the bounds of a slice) become initializers of that
//! graph, because only the backend can create its tensors.

use bytes::Bytes;
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto};
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;

use super::{Backend, GraphExecutor};

/// A backend implemented by a graph executor.
///
/// Execution takes tensors by value, so each call clones its arguments. Tensor types that share their data
/// (such as an `Arc`) make this clone cheap.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByExecution<E>(pub E);

/// Builder of a graph with one node.
#[derive(Default)]
struct Call<T> {
    node: NodeProto,
    graph: GraphProto,
    inputs: Vec<T>,
}

impl<T: Clone> Call<T> {
    fn new(op: &str) -> Self {
        let node = NodeProto { op_type: Some(op.to_owned()), ..NodeProto::default() };
        Self { node, graph: GraphProto::default(), inputs: Vec::new() }
    }

    fn input(mut self, tensor: &T) -> Self {
        let name = format!("in{}", self.node.input.len());
        self.graph.input.push(ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() });
        self.node.input.push(name);
        self.inputs.push(tensor.clone());
        self
    }

    fn ints(mut self, values: Option<&[i64]>) -> Self {
        let name = match values {
            None => String::new(),
            Some(values) => {
                let name = format!("in{}", self.node.input.len());
                self.graph.initializer.push(TensorProto {
                    name: Some(name.clone()),
                    dims: vec![i64::try_from(values.len()).unwrap_or(i64::MAX)],
                    data_type: Some(Dtype::I64.onnx_number()),
                    raw_data: Some(Bytes::from(
                        values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>(),
                    )),
                    ..TensorProto::default()
                });
                name
            }
        };
        self.node.input.push(name);
        self
    }

    fn int(mut self, name: &str, value: i64) -> Self {
        let kind = Some(AttributeType::Int as i32);
        let name = Some(name.to_owned());
        self.node.attribute.push(AttributeProto {
            name,
            i: Some(value),
            r#type: kind,
            ..AttributeProto::default()
        });
        self
    }

    fn int_list(mut self, name: &str, values: &[i64]) -> Self {
        let kind = Some(AttributeType::Ints as i32);
        let (name, ints) = (Some(name.to_owned()), values.to_vec());
        self.node.attribute.push(AttributeProto { name, ints, r#type: kind, ..AttributeProto::default() });
        self
    }

    fn tensor(mut self, name: &str, value: &TensorProto) -> Self {
        let kind = Some(AttributeType::Tensor as i32);
        let (name, t) = (Some(name.to_owned()), Some(Box::new(value.clone())));
        self.node.attribute.push(AttributeProto { name, t, r#type: kind, ..AttributeProto::default() });
        self
    }

    fn run<E: GraphExecutor<Tensor = T>>(self, executor: &E, outputs: usize) -> Result<Vec<T>, E::Error> {
        let Self { mut node, mut graph, inputs } = self;
        for at in 0..outputs {
            let name = format!("out{at}");
            graph.output.push(ValueInfoProto { name: Some(name.clone()), ..ValueInfoProto::default() });
            node.output.push(name);
        }
        graph.node.push(node);
        executor.execute(&graph, inputs, &[])
    }

    /// # Panics
    /// Panics if the executor violates its contract and returns no output.
    fn run_for_one<E: GraphExecutor<Tensor = T>>(self, executor: &E) -> Result<T, E::Error> {
        let mut outputs = self.run(executor, 1)?;
        Ok(outputs.pop().expect("a graph with one output gives one"))
    }
}

macro_rules! with_tensors {
    ($($op:literal $name:ident($($arg:ident),*);)*) => {
        $(
            fn $name(&self, $($arg: &Self::Tensor),*) -> Result<Self::Tensor, Self::Error> {
                Call::new($op)$(.input($arg))*.run_for_one(&self.0)
            }
        )*
    };
}

macro_rules! reductions {
    ($($op:literal $name:ident;)*) => {
        $(
            fn $name(
                &self,
                a: &Self::Tensor,
                axes: Option<&[i64]>,
                keepdims: bool,
            ) -> Result<Self::Tensor, Self::Error> {
                Call::new($op).input(a).ints(axes).int("keepdims", i64::from(keepdims)).run_for_one(&self.0)
            }
        )*
    };
}

impl<E: GraphExecutor<Tensor: Clone>> Backend for ByExecution<E> {
    type Tensor = E::Tensor;
    type Error = E::Error;

    with_tensors! {
        "Add" add(a, b); "Sub" sub(a, b); "Mul" mul(a, b); "Div" div(a, b); "Pow" pow(a, b);
        "Neg" neg(a); "Abs" abs(a); "Sqrt" sqrt(a); "Exp" exp(a); "Log" log(a); "Identity" identity(a);
        "MatMul" matmul(a, b); "Equal" equal(a, b); "Greater" greater(a, b); "Less" less(a, b);
        "Where" where_(condition, a, b);
    }

    reductions! {
        "ReduceSum" reduce_sum; "ReduceMean" reduce_mean; "ReduceMax" reduce_max; "ReduceMin" reduce_min;
    }

    fn reshape(&self, a: &Self::Tensor, shape: &[i64]) -> Result<Self::Tensor, Self::Error> {
        Call::new("Reshape").input(a).ints(Some(shape)).run_for_one(&self.0)
    }

    fn transpose(&self, a: &Self::Tensor, perm: &[i64]) -> Result<Self::Tensor, Self::Error> {
        Call::new("Transpose").input(a).int_list("perm", perm).run_for_one(&self.0)
    }

    fn concat(&self, parts: &[&Self::Tensor], axis: i64) -> Result<Self::Tensor, Self::Error> {
        let call = parts.iter().copied().fold(Call::new("Concat"), Call::input);
        call.int("axis", axis).run_for_one(&self.0)
    }

    fn slice(
        &self,
        a: &Self::Tensor,
        starts: &[i64],
        ends: &[i64],
        axes: &[i64],
        steps: &[i64],
    ) -> Result<Self::Tensor, Self::Error> {
        let call = Call::new("Slice").input(a).ints(Some(starts)).ints(Some(ends));
        call.ints(Some(axes)).ints(Some(steps)).run_for_one(&self.0)
    }

    fn split(&self, a: &Self::Tensor, sizes: &[i64], axis: i64) -> Result<Vec<Self::Tensor>, Self::Error> {
        Call::new("Split").input(a).ints(Some(sizes)).int("axis", axis).run(&self.0, sizes.len())
    }

    fn squeeze(&self, a: &Self::Tensor, axes: Option<&[i64]>) -> Result<Self::Tensor, Self::Error> {
        Call::new("Squeeze").input(a).ints(axes).run_for_one(&self.0)
    }

    fn unsqueeze(&self, a: &Self::Tensor, axes: &[i64]) -> Result<Self::Tensor, Self::Error> {
        Call::new("Unsqueeze").input(a).ints(Some(axes)).run_for_one(&self.0)
    }

    fn cast(&self, a: &Self::Tensor, dtype: Dtype) -> Result<Self::Tensor, Self::Error> {
        Call::new("Cast").input(a).int("to", i64::from(dtype.onnx_number())).run_for_one(&self.0)
    }

    fn constant(&self, value: &TensorProto) -> Result<Self::Tensor, Self::Error> {
        Call::new("Constant").tensor("value", value).run_for_one(&self.0)
    }

    fn gather(
        &self,
        data: &Self::Tensor,
        indices: &Self::Tensor,
        axis: i64,
    ) -> Result<Self::Tensor, Self::Error> {
        Call::new("Gather").input(data).input(indices).int("axis", axis).run_for_one(&self.0)
    }

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
