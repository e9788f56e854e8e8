//! Operators on backends with various storage types, with primitives only or graphs only.

use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::backend::{Backend, GraphExecutor, Primitives};
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::{
    GatherAttrs, ReduceMaxAttrs, ReduceMeanAttrs, ReduceMinAttrs, ReduceSumAttrs, ReshapeAttrs, SplitAttrs,
    TransposeAttrs,
};
use typeloom_onnx::messages::{AttributeProto, GraphProto, TensorProto};
use typeloom_runtime::backend::by_primitives::ByPrimitives;
use typeloom_runtime::backend::{Cpu, CpuError};
use typeloom_runtime::components::Components;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_types::dtype::Dtype;

use crate::modules::support::{Outcome, TestError, floats, linked, run};

/// The primitives of the embedded backend only.
struct Thirty;

macro_rules! forwarded {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*) => {
        impl Primitives for Thirty {
            type Tensor = AnyTensor;
            type Error = CpuError;
            $(
                fn $name(&self, $($arg: $ty),*) -> Result<$out, CpuError> {
                    Backend::$name(&Cpu, $($arg),*)
                }
            )*
        }
    };
}

forwarded! {
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
    constant(value: &TensorProto) -> AnyTensor;
    gather(data: &AnyTensor, indices: &AnyTensor, axis: i64) -> AnyTensor;
}

/// Every primitive in the forms that modules record, and operators that are lowered for backends with
/// primitives only.
fn everything(components: &Components) -> Result<Vec<(String, AnyTensor)>, Box<dyn std::error::Error>> {
    let executor = linked(components, |g| {
        let x = g.input("x").of("float[2, 4]");
        let c = g.backend("compute");
        let half = c.mul(&x, &x);
        g.output("sum", &c.reduce_sum(&half, Some(&g.ints(&[1])), ReduceSumAttrs::default()));
        g.output(
            "mean",
            &c.reduce_mean(&x, None, ReduceMeanAttrs { keepdims: Some(0), ..Default::default() }),
        );
        g.output(
            "most",
            &c.reduce_max(
                &x,
                Some(&g.ints(&[0])),
                ReduceMaxAttrs { keepdims: Some(0), ..Default::default() },
            ),
        );
        g.output("least", &c.reduce_min(&x, Some(&g.ints(&[-1])), ReduceMinAttrs::default()));
        let flat = c.reshape(&x, &g.ints(&[4, -1]), ReshapeAttrs::default());
        g.output("flat", &c.transpose(&flat, TransposeAttrs::default()));
        g.output("joined", &c.concat(&[&x, &half], 1));
        g.output(
            "part",
            &c.slice(&x, &g.ints(&[3]), &g.ints(&[0]), Some(&g.ints(&[1])), Some(&g.ints(&[-2]))),
        );
        let parts = c.split(&x, None, SplitAttrs { axis: Some(1), num_outputs: Some(2) }, 2);
        g.output("right", &parts[1]);
        let wide = c.unsqueeze(&x, &g.ints(&[1]));
        g.output("wide", &wide);
        g.output("narrow", &c.squeeze(&wide, Some(&g.ints(&[1]))));
        let positive = c.greater(&x, &c.neg(&x));
        g.output("magnitude", &c.where_(&positive, &x, &c.neg(&x)));
        g.output("root", &c.sqrt(&c.abs(&x)));
        g.output("log", &c.log(&c.exp(&x)));
        g.output("power", &c.pow(&x, &x));
        g.output("product", &c.matmul(&x, &flat));
        g.output("column", &c.gather(&x, &g.ints(&[1, 1]), GatherAttrs { axis: Some(1) }));
        g.output("relu", &c.relu(&x));
        g.output("sigmoid", &c.sigmoid(&x));
        g.output("tanh", &c.tanh(&x));
    })?;
    let x = floats(&[2, 4], &[1.0, -2.0, 3.0, 0.5, -1.0, 2.0, 0.0, 4.0]);
    let outcome = run(&executor, [("x", x)])?;
    let tensor = |(name, value): (String, typeloom_tensor::datum::Datum)| {
        value.as_tensor().cloned().map(|tensor| (name, tensor)).ok_or_else(|| "no tensor".into())
    };
    outcome.outputs.into_iter().map(tensor).collect()
}

#[test]
fn a_module_computes_the_same_on_both_parts_of_a_backend() -> Outcome {
    let direct = everything(&Components::new().backend("compute", Cpu))?;
    let by_execution = everything(&Components::new().backend("compute", ByExecution(Cpu)))?;
    let by_primitives = everything(&Components::new().backend("compute", ByPrimitives(Thirty)))?;
    assert_eq!(direct.len(), 19);
    for ((name, direct), ((_, executed), (_, walked))) in
        direct.iter().zip(by_execution.iter().zip(&by_primitives))
    {
        assert_eq!(direct, executed, "{name}");
        let elements = direct.as_slice::<f32>()?.iter().zip(walked.as_slice::<f32>()?);
        for (a, b) in elements {
            assert!((a - b).abs() <= 1e-6 || (a.is_nan() && b.is_nan()), "{name}: {direct:?} {walked:?}");
        }
        assert_eq!(direct.shape(), walked.shape(), "{name}");
    }
    Ok(())
}

#[test]
fn a_graph_of_primitives_is_executed() -> Outcome {
    let graph = typeloom_onnx::text::parse_model(
        r#"<ir_version: 10, opset_import: ["" : 18]>
        g (float[2, 3] x) => (y, n) <int64[2] shape = {3, 2}> {
            flat = Reshape(x, shape)
            y = Transpose(flat)
            n = ReduceSum <keepdims = 0> (flat)
        }"#,
    )?
    .graph
    .ok_or("there is a graph")?;
    let x = AnyTensor::from_slice(&[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let results = ByPrimitives(Thirty).execute(&graph, vec![x.clone()], &[])?;
    assert_eq!(results[0], AnyTensor::from_slice(&[2, 3], &[1.0_f32, 3.0, 5.0, 2.0, 4.0, 6.0])?);
    assert_eq!(results[1], AnyTensor::from_scalar(21.0_f32));
    let mut odd = graph;
    odd.node[1].op_type = "Softmax".into();
    let text = ByPrimitives(Thirty).execute(&odd, vec![x], &[]).unwrap_err().to_string();
    assert_eq!(text, "`Softmax`, which makes `y`, is not a primitive");
    Ok(())
}

/// Runs `Add` and `MatMul` of doubles stored as vectors without a shape.
struct Doubles;

impl GraphExecutor for Doubles {
    type Tensor = Vec<f64>;
    type Error = TestError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<Vec<f64>>,
        _: &[AttributeProto],
    ) -> Result<Vec<Vec<f64>>, TestError> {
        match (graph.node[0].op_type(), &inputs[..]) {
            ("Add", [a, b]) => Ok(vec![a.iter().zip(b).map(|(a, b)| a + b).collect()]),
            ("Reshape", [a]) if graph.initializer.len() == 1 => Ok(vec![a.clone()]),
            (op, _) => Err(TestError(format!("{op} is not supported"))),
        }
    }
}

#[test]
fn a_backend_of_plain_vectors_gets_the_shapes_that_were_proved() -> Outcome {
    let components = Components::new().backend("compute", ByExecution(Doubles));
    let executor = linked(&components, |g| {
        let x = g.input("x").of("double[N, 2]");
        let c = g.backend("compute");
        let sum = c.add(&x, &x);
        g.output("sum", &sum);
        g.output("flat", &c.reshape(&sum, &g.ints(&[-1]), ReshapeAttrs::default()));
    })?;
    let x = AnyTensor::from_slice(&[3, 2], &[1.0_f64; 6])?;
    let outcome = run(&executor, [("x", x.into())])?;
    assert_eq!(outcome.get("sum"), Some(&AnyTensor::from_slice(&[3, 2], &[2.0_f64; 6])?.into()));
    assert_eq!(outcome.get("flat"), Some(&AnyTensor::from([2.0_f64; 6]).into()));
    Ok(())
}
