//! The methods of a [`Backend`] that only executes graphs: each call becomes a graph of one node.
//!
//! Arguments that ONNX passes as tensors (axes, a shape, the bounds of a slice) become initializers of that
//! graph, because only the backend can create its tensors.
//!
//! The graph has the types of ONNX. If the backend stores one element type, `Cast` nodes convert its form of
//! masks and indices to them, and results of other types to the storage: `less` of a backend of `f32` is
//!
//! ```text
//! out0.raw = Less(in0, in1)
//! out0 = Cast <to = float> (out0.raw)
//! ```

use std::borrow::Cow;
use std::cell::Cell;

use typeloom_onnx::messages::{
    AttributeProto, GraphProto, IntoAttribute as _, NodeProto, TensorProto, Text, ValueInfoProto,
};
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;
use typeloom_types::op::AtomicOpsetDecl;
use typeloom_types::storage::Storage;
use typeloom_types::tree::TypeNode;

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

/// Adds conversions to the graph of one primitive: of masks and indices from the storage of a backend, and of
/// a result of another type to it.
fn convert_from_storage(graph: &mut GraphProto, stored: &TypeNode) {
    let (Some(stored), [node]) = (Dtype::from_node_id(stored.id), &mut graph.node[..]) else { return };
    let cast = |from: &str, to: &str, dtype: Dtype| NodeProto {
        op_type: "Cast".into(),
        input: vec![from.to_owned()],
        output: vec![to.to_owned()],
        attribute: vec![dtype.into_attribute("to")],
        ..NodeProto::default()
    };
    let operand = match node.op_type() {
        "Where" if stored != Dtype::Bool => Some((0, Dtype::Bool)),
        "Gather" if !matches!(stored, Dtype::I32 | Dtype::I64) => Some((1, Dtype::I64)),
        _ => None,
    };
    let before = operand.map(|(at, dtype)| {
        let name = format!("{}.cast", node.input[at]);
        let before = cast(&node.input[at], &name, dtype);
        node.input[at] = name;
        before
    });
    let number = |name: &str| node.find_attribute(name).map(AttributeProto::i);
    let value = || node.find_attribute("value").and_then(|attribute| attribute.t.as_deref());
    let is_other = match node.op_type() {
        "Equal" | "Greater" | "Less" => stored != Dtype::Bool,
        "Cast" => number("to") != Some(stored.onnx_number().into()),
        "Constant" => value().is_some_and(|value| value.data_type != Some(stored.onnx_number())),
        _ => false,
    };
    let after = is_other.then(|| {
        let raw = format!("{}.raw", node.output[0]);
        let after = cast(&raw, &node.output[0], stored);
        node.output[0] = raw;
        after
    });
    graph.node.splice(0..0, before);
    graph.node.extend(after);
}

/// The operands of a primitive, by its form as a node.
#[doc(hidden)]
#[macro_export]
macro_rules! operands {
    ([..$parts:ident]) => { $parts.iter().map(|part| $crate::backend::by_execution::Operand::from(*part)) };
    ([$($operand:ident),*]) => { [$($crate::backend::by_execution::Operand::from($operand)),*] };
}

thread_local! {
    /// The number of graphs of one node that are executed on this thread, each for another.
    static NESTED: Cell<u32> = const { Cell::new(0) };
}

/// Maximum number of graphs of one node that backends execute for each other: a wrapper executes one for its
/// content.
const MAX_NESTED: u32 = 64;

/// Executes a graph of one node for a method that a backend does not implement.
///
/// # Panics
/// If the graph is executed by this method.
pub(super) fn execute_node<'a, B: Backend + ?Sized>(
    backend: &B,
    node: NodeProto,
    operands: impl IntoIterator<Item = Operand<'a, B::Tensor>>,
    outputs: usize,
) -> Result<Vec<B::Tensor>, B::Error> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            NESTED.set(NESTED.get() - 1);
        }
    }
    let op = node.op_type().to_owned();
    let (mut graph, inputs) = graph_of(node, operands.into_iter().collect(), outputs);
    convert_from_storage(&mut graph, <B::Tensor as Storage>::TYPE);
    NESTED.set(NESTED.get() + 1);
    let _leave = Leave;
    let name = std::any::type_name::<B>();
    assert!(
        NESTED.get() <= MAX_NESTED,
        "`execute` of `{name}` calls the method of `{op}`, which `{name}` does not implement"
    );
    backend.execute(&graph, inputs, &[])
}

/// The result of a graph with one output.
///
/// # Panics
/// If the backend returned another number of results.
pub(super) fn only<B: Backend + ?Sized>(op: &str, outputs: Vec<B::Tensor>) -> B::Tensor {
    let (name, count) = (std::any::type_name::<B>(), outputs.len());
    let [output] = <[B::Tensor; 1]>::try_from(outputs).unwrap_or_else(|_| {
        panic!("`execute` of `{name}` returned {count} tensors for `{op}`, which has one output")
    });
    output
}

/// Calls a primitive by its form as a node.
macro_rules! call {
    ($backend:ident $op:literal ($operands:tt $(; $attribute:ident: $value:ident)?)) => {{
        let outputs = $crate::backend::by_execution::call!($backend $op $operands [$($attribute: $value)?] 1)?;
        Ok(by_execution::only::<Self>($op, outputs))
    }};
    ($backend:ident $op:literal ($operands:tt; $attribute:ident: $value:ident; $sizes:ident)) => {
        $crate::backend::by_execution::call!($backend $op $operands [$attribute: $value] $sizes.len())
    };
    ($backend:ident $op:literal $operands:tt [$($attribute:ident: $value:ident)?] $outputs:expr) => {{
        let attribute = vec![$($value.into_attribute(stringify!($attribute)))?];
        let node = NodeProto { op_type: $op.into(), attribute, ..NodeProto::default() };
        by_execution::execute_node($backend, node, $crate::operands!($operands), $outputs)
    }};
}
pub(super) use call;

impl<E: GraphExecutor<Tensor: Clone>> Backend for ByExecution<E> {
    type Tensor = E::Tensor;
    type Error = E::Error;

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
    use std::marker::PhantomData;

    use super::*;
    use typeloom_onnx::text::PrintOptions;
    use typeloom_tensor::any_tensor::AnyTensor;

    /// Returns the text of the graph as its error.
    struct Echo<T>(PhantomData<fn() -> T>);

    fn echo<T>() -> ByExecution<Echo<T>> {
        ByExecution(Echo(PhantomData))
    }

    #[derive(Debug)]
    struct Asked(String);

    impl std::fmt::Display for Asked {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.0)
        }
    }

    impl std::error::Error for Asked {}

    impl<T: Storage> GraphExecutor for Echo<T> {
        type Tensor = T;
        type Error = Asked;

        fn execute(
            &self,
            graph: &GraphProto,
            inputs: Vec<T>,
            _attrs: &[AttributeProto],
        ) -> Result<Vec<T>, Asked> {
            let text = typeloom_onnx::text::print_graph(graph, &PrintOptions::display()).text;
            assert_eq!(graph.input.len(), inputs.len());
            Err(Asked(text))
        }
    }

    #[test]
    fn a_primitive_becomes_a_graph_of_one_node() {
        let backend = echo::<AnyTensor>();
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
        let nodes = |asked: Asked| asked.0.matches(" = ").count();
        assert_eq!(nodes(backend.less(&x, &x).unwrap_err()), 1);
    }

    #[test]
    fn a_graph_of_a_backend_of_one_element_type_has_the_types_of_onnx() {
        let (floats, doubles, flags) = (vec![0.0_f32], vec![0.0_f64], vec![false]);
        let of_floats = echo::<Vec<f32>>();
        let asked = of_floats.less(&floats, &floats).unwrap_err().0;
        assert!(asked.contains("out0.raw = Less(in0, in1)"), "{asked}");
        assert!(asked.contains("out0 = Cast <to = float> (out0.raw)"), "{asked}");
        let asked = of_floats.where_(&floats, &floats, &floats).unwrap_err().0;
        assert!(asked.contains("in0.cast = Cast <to = bool> (in0)"), "{asked}");
        assert!(asked.contains("out0 = Where(in0.cast, in1, in2)"), "{asked}");
        let asked = echo::<Vec<f64>>().gather(&doubles, &doubles, 0).unwrap_err().0;
        assert!(asked.contains("in1.cast = Cast <to = int64> (in1)"), "{asked}");
        assert!(asked.contains("Gather <axis = 0> (in0, in1.cast)"), "{asked}");
        let asked = of_floats.cast(&floats, Dtype::I64).unwrap_err().0;
        assert!(asked.contains("out0 = Cast <to = float> (out0.raw)"), "{asked}");
        let asked = echo::<Vec<bool>>().equal(&flags, &flags).unwrap_err().0;
        assert!(!asked.contains("Cast"), "{asked}");
    }

    /// Calls its own method, which it does not implement.
    struct Circular;

    impl Backend for Circular {
        type Tensor = AnyTensor;
        type Error = Asked;

        fn execute(
            &self,
            _: &GraphProto,
            inputs: Vec<AnyTensor>,
            _: &[AttributeProto],
        ) -> Result<Vec<AnyTensor>, Asked> {
            self.neg(&inputs[0]).map(|result| vec![result])
        }
    }

    #[test]
    #[should_panic(expected = "calls the method of `Neg`, which")]
    fn a_backend_does_not_recurse_into_itself() {
        let _ = Circular.neg(&AnyTensor::from([1.0_f32]));
    }

    /// Returns its inputs.
    struct Inputs;

    impl Backend for Inputs {
        type Tensor = AnyTensor;
        type Error = Asked;

        fn execute(
            &self,
            _: &GraphProto,
            inputs: Vec<AnyTensor>,
            _: &[AttributeProto],
        ) -> Result<Vec<AnyTensor>, Asked> {
            Ok(inputs)
        }
    }

    #[test]
    #[should_panic(expected = "Inputs` returned 2 tensors for `Add`, which has one output")]
    fn another_number_of_results_is_not_taken_for_the_result() {
        let x = AnyTensor::from([1.0_f32]);
        let _ = Inputs.add(&x, &x);
    }
}
