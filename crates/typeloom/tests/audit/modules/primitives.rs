//! The Backend contract: a method for each of the thirty primitives, whole graphs, and the adapters between
//! the halves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use typeloom as bb;
use typeloom::module::{Artifact, Backend, Compiler, GraphExecutor, Primitives};
use typeloom::onnx::{AttributeProto, GraphProto, NodeProto, model_from_text};
use typeloom::run::engine::{ByExecution, ByPrimitives};
use typeloom::run::{Components, Cpu, Datum, Executor, RunLimits, Verify};
use typeloom::types::{AnyTensor, Dtype};

use super::support::{Outcome, named};

type Calls = Arc<Mutex<Vec<&'static str>>>;

/// Delegates to the embedded backend and records the calls.
#[derive(Clone, Default)]
struct Counting(Calls);

impl Counting {
    fn count(&self, method: &'static str) {
        self.0.lock().expect("no holder panics").push(method);
    }

    fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().expect("no holder panics"))
    }
}

macro_rules! primitives {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*) => {
        /// The names of the thirty methods.
        const METHODS: &[&str] = &[$(stringify!($name)),*];

        impl Backend for Counting {
            type Tensor = AnyTensor;
            type Error = <Cpu as Backend>::Error;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error> {
                    self.count(stringify!($name));
                    Backend::$name(&Cpu, $($arg),*)
                }
            )*

            fn execute(&self, _: &GraphProto, _: Vec<AnyTensor>, _: &[AttributeProto]) -> Result<Vec<AnyTensor>, Self::Error> {
                self.count("execute");
                Ok(Vec::new())
            }
        }

        impl Primitives for Counting {
            type Tensor = AnyTensor;
            type Error = <Cpu as Backend>::Error;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, Self::Error> {
                    Backend::$name(self, $($arg),*)
                }
            )*
        }
    };
}

primitives! {
    add(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    sub(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    mul(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    div(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    neg(a: &AnyTensor) -> AnyTensor;
    abs(a: &AnyTensor) -> AnyTensor;
    sqrt(a: &AnyTensor) -> AnyTensor;
    pow(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    exp(a: &AnyTensor) -> AnyTensor;
    log(a: &AnyTensor) -> AnyTensor;
    matmul(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    reduce_sum(a: &AnyTensor, axes: Option<&[i64]>, keepdims: bool) -> AnyTensor;
    reduce_mean(a: &AnyTensor, axes: Option<&[i64]>, keepdims: bool) -> AnyTensor;
    reduce_max(a: &AnyTensor, axes: Option<&[i64]>, keepdims: bool) -> AnyTensor;
    reduce_min(a: &AnyTensor, axes: Option<&[i64]>, keepdims: bool) -> AnyTensor;
    reshape(a: &AnyTensor, shape: &[i64]) -> AnyTensor;
    transpose(a: &AnyTensor, perm: &[i64]) -> AnyTensor;
    concat(parts: &[&AnyTensor], axis: i64) -> AnyTensor;
    slice(a: &AnyTensor, starts: &[i64], ends: &[i64], axes: &[i64], steps: &[i64]) -> AnyTensor;
    split(a: &AnyTensor, sizes: &[i64], axis: i64) -> Vec<AnyTensor>;
    squeeze(a: &AnyTensor, axes: Option<&[i64]>) -> AnyTensor;
    unsqueeze(a: &AnyTensor, axes: &[i64]) -> AnyTensor;
    identity(a: &AnyTensor) -> AnyTensor;
    cast(a: &AnyTensor, dtype: Dtype) -> AnyTensor;
    equal(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    greater(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    less(a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    where_(condition: &AnyTensor, a: &AnyTensor, b: &AnyTensor) -> AnyTensor;
    constant(value: &bb::onnx::TensorProto) -> AnyTensor;
    gather(data: &AnyTensor, indices: &AnyTensor, axis: i64) -> AnyTensor;
}

/// Every primitive, with attributes and constants other than the defaults.
const EVERYTHING: &str = r#"<ir_version: 10, opset_import: ["" : 18]>
everything (double[2, 3] x, double[2, 3] y, int32[2] at)
    => (add, sub, mul, div, neg, abs, sqrt, pow, exp, log, matmul, sum, mean, max, min, reshaped, transposed, joined,
        sliced, left, right, squeezed, unsqueezed, same, casted, equal, greater, less, chosen, constant, gathered)
<int64[1] last = {-1}, int64[2] flat = {3, -1}, int64[1] one = {1}, int64[1] from = {5}, int64[1] to = {0}, int64[1] step = {-2},
 int64[2] sizes = {1, 2}>
{
    transposed = Transpose <perm = [1, 0]> (y)  add = Add(x, y)  sub = Sub(x, y)  mul = Mul(x, y)  div = Div(x, y)  neg = Neg(x)  abs = Abs(neg)
    sqrt = Sqrt(abs)  pow = Pow(abs, y)  exp = Exp(sub)  log = Log(abs)  matmul = MatMul(x, transposed)
    sum = ReduceSum <keepdims = 0> (x, last)  mean = ReduceMean <keepdims = 1> (x, last)  max = ReduceMax <keepdims = 0> (y)
    min = ReduceMin <keepdims = 0> (y, last)  reshaped = Reshape(x, flat)  joined = Concat <axis = 1> (x, y)
    sliced = Slice(joined, from, to, last, step)  left, right = Split <axis = -1> (x, sizes)
    unsqueezed = Unsqueeze(x, one)  squeezed = Squeeze(unsqueezed, one)  same = Identity(y)  casted = Cast <to = 3> (x)
    equal = Equal(x, y)  greater = Greater(x, y)  less = Less(x, y)  chosen = Where(greater, x, y)
    constant = Constant <value = double[2] {0.5, -0.25}> ()  gathered = Gather <axis = 1> (y, at)
}"#;

fn doubles(shape: &[usize], elements: &[f64]) -> Datum {
    AnyTensor::from_slice(shape, elements).expect("as many elements as the shape has").into()
}

fn everything() -> Vec<u8> {
    model_from_text(EVERYTHING).expect("the text is a model").to_vec()
}

fn inputs() -> HashMap<String, Datum> {
    named([
        ("x", doubles(&[2, 3], &[1.0, -4.0, 2.25, 8.0, -0.5, 3.0])),
        ("y", doubles(&[2, 3], &[2.0, -4.0, 0.5, 1.0, 2.0, 3.0])),
        ("at", AnyTensor::from([2_i32, 0]).into()),
    ])
}

#[test]
fn every_primitive_is_a_method_that_the_program_calls() -> Outcome {
    assert_eq!((METHODS.len(), bb::TENSOR_PRIMITIVES_OPS.len()), (30, 30));
    let backend = Counting::default();
    let components = Components::new().backend("compute", backend.clone());
    let artifact = Compiler::new().run_on_backend::<Counting>("compute").compile(&everything()[..])?;
    let executor = Executor::new(&artifact, &components)?;
    backend.take();
    let outcome = executor.run(inputs(), Verify::EveryValue)?;
    let mut called = backend.take();
    called.sort_unstable();
    let mut methods = METHODS.to_vec();
    methods.sort_unstable();
    // A constant may be computed when the program is prepared.
    called.retain(|name| *name != "constant");
    methods.retain(|name| *name != "constant");
    assert_eq!(called, methods);
    let expected = [
        ("add", doubles(&[2, 3], &[3.0, -8.0, 2.75, 9.0, 1.5, 6.0])),
        ("div", doubles(&[2, 3], &[0.5, 1.0, 4.5, 8.0, -0.25, 1.0])),
        ("pow", doubles(&[2, 3], &[1.0, 4.0_f64.powi(-4), 1.5, 8.0, 0.25, 27.0])),
        ("matmul", doubles(&[2, 2], &[19.125, -0.25, 19.5, 16.0])),
        ("sum", doubles(&[2], &[-0.75, 10.5])),
        ("mean", doubles(&[2, 1], &[-0.25, 3.5])),
        ("max", doubles(&[], &[3.0])),
        ("min", doubles(&[2], &[-4.0, 1.0])),
        ("reshaped", doubles(&[3, 2], &[1.0, -4.0, 2.25, 8.0, -0.5, 3.0])),
        ("sliced", doubles(&[2, 3], &[0.5, 2.0, -4.0, 3.0, 1.0, -0.5])),
        ("left", doubles(&[2, 1], &[1.0, 8.0])),
        ("right", doubles(&[2, 2], &[-4.0, 2.25, -0.5, 3.0])),
        ("unsqueezed", doubles(&[2, 1, 3], &[1.0, -4.0, 2.25, 8.0, -0.5, 3.0])),
        ("casted", AnyTensor::from_slice(&[2, 3], &[1_i8, -4, 2, 8, 0, 3])?.into()),
        ("equal", AnyTensor::from_slice(&[2, 3], &[false, true, false, false, false, true])?.into()),
        ("chosen", doubles(&[2, 3], &[2.0, -4.0, 2.25, 8.0, 2.0, 3.0])),
        ("constant", doubles(&[2], &[0.5, -0.25])),
        ("gathered", doubles(&[2, 2], &[0.5, 2.0, 3.0, 1.0])),
    ];
    for (name, value) in expected {
        assert_eq!(outcome.get(name), Some(&value), "{name}");
    }
    Ok(())
}

/// A backend with one half computes everything through the adapter, and the adapter never calls itself.
#[test]
fn each_half_becomes_a_backend_and_gives_the_same_results() -> Outcome {
    let plain = Compiler::new().compile(&everything()[..])?;
    let expected = Executor::new(&plain, &Components::new())?.run(inputs(), Verify::EveryValue)?;

    let counting = Counting::default();
    let components = Components::new().backend("compute", ByPrimitives(counting.clone()));
    let artifact =
        Compiler::new().run_on_backend::<ByPrimitives<Counting>>("compute").compile(&everything()[..])?;
    let by_primitives = Executor::new(&artifact, &components)?.run(inputs(), Verify::EveryValue)?;
    assert_eq!(by_primitives.outputs, expected.outputs);
    assert!(!counting.take().contains(&"execute"));

    let components = Components::new().backend("compute", ByExecution(OneNode));
    let artifact =
        Compiler::new().run_on_backend::<ByExecution<OneNode>>("compute").compile(&everything()[..])?;
    let by_execution = Executor::new(&artifact, &components)?.run(inputs(), Verify::EveryValue)?;
    assert_eq!(by_execution.outputs, expected.outputs);

    // A graph of several nodes is given to the other half node by node.
    let graph = artifact_graph("g (float[2] x) => (y) { h = Exp(x)  y = Add(h, x) }");
    let outputs =
        ByPrimitives(counting.clone()).execute(&graph, vec![AnyTensor::from([0.0_f32, 0.0])], &[])?;
    assert_eq!((outputs, counting.take()), (vec![AnyTensor::from([1.0_f32, 1.0])], vec!["exp", "add"]));
    Ok(())
}

fn artifact_graph(text: &str) -> GraphProto {
    use typeloom::onnx::Message as _;
    let bytes =
        model_from_text(&format!(r#"<ir_version: 10, opset_import: ["" : 18]> {text}"#)).expect("a model");
    bb::ModelProto::decode(&bytes[..]).expect("a model").graph.expect("a graph")
}

/// Only executes graphs, of one node each.
struct OneNode;

impl GraphExecutor for OneNode {
    type Tensor = AnyTensor;
    type Error = <Cpu as Backend>::Error;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<AnyTensor>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<AnyTensor>, Self::Error> {
        assert_eq!(graph.node.len(), 1);
        Backend::execute(&Cpu, graph, inputs, attrs)
    }
}

/// Operators outside of the thirty are lowered, so that a backend of primitives runs them.
#[test]
fn extension_operators_are_lowered_to_primitives() -> Outcome {
    let model = model_from_text(
        r#"<ir_version: 10, opset_import: ["" : 21]>
        g (float[2, 3] x, float[3, 2] w) => (y) <float[2] one = {1.0, 2.0}> {
            h = Gemm <alpha = 0.5> (x, w)  s = Softmax <axis = 0> (h)  l = LeakyRelu <alpha = 0.25> (s)  y = LayerNormalization(l, one)
        }"#,
    )?;
    let backend = Counting::default();
    let components = Components::new().backend("compute", ByPrimitives(backend.clone()));
    let lowered = Compiler::new().run_on_backend::<ByPrimitives<Counting>>("compute").compile(&model[..])?;
    let is_primitive =
        |node: &NodeProto| bb::TENSOR_PRIMITIVES_OPS.iter().any(|op| op.name == node.op_type());
    assert!(lowered.model().graph.iter().flat_map(|graph| &graph.node).all(is_primitive));
    let run =
        |artifact: &Artifact, components: &Components| -> Result<Vec<f32>, Box<dyn std::error::Error>> {
            let inputs = named([
                ("x", AnyTensor::from_slice(&[2, 3], &[1.0_f32, 2.0, -3.0, 0.5, 0.0, 4.0])?.into()),
                ("w", AnyTensor::from_slice(&[3, 2], &[1.0_f32, -1.0, 0.25, 2.0, 0.5, 1.0])?.into()),
            ]);
            let outcome = Executor::new(artifact, components)?.run(inputs, Verify::EveryValue)?;
            Ok(outcome.get("y").and_then(Datum::as_tensor).ok_or("a tensor")?.to_vec()?)
        };
    let expected = run(&Compiler::new().compile(&model[..])?, &Components::new())?;
    let found = run(&lowered, &components)?;
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?} {expected:?}");
    assert!(!backend.take().is_empty());
    Ok(())
}

/// Memory and steps of a run are bounded before they are used.
#[test]
fn a_run_has_budgets_for_memory_and_steps() -> Outcome {
    let model = model_from_text(
        r#"<ir_version: 10, opset_import: ["" : 21]>
        g (float[N] x, int64[1] size) => (y) { a = Exp(x)  b = Exp(a)  y = ConstantOfShape(size) }"#,
    )?;
    let executor = Executor::new(&Compiler::new().compile(&model[..])?, &Components::new())?;
    let run = |limits: RunLimits, size: i64| {
        let inputs =
            named([("x", AnyTensor::from([1.0_f32]).into()), ("size", AnyTensor::from([size]).into())]);
        executor.clone().with_limits(limits).run(inputs, Verify::Inputs).map(|_| ())
    };
    assert!(run(RunLimits::default(), 3).is_ok());
    let steps = run(RunLimits { steps: 2, ..RunLimits::default() }, 3).expect_err("three nodes").to_string();
    assert!(steps.contains('2'), "{steps}");
    let memory =
        run(RunLimits { memory: 1 << 20, ..RunLimits::default() }, 1 << 40).expect_err("4 TiB").to_string();
    assert!(memory.contains("memory") || memory.contains("bytes"), "{memory}");
    Ok(())
}
