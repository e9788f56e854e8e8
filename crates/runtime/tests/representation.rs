//! Backends whose storage has one element type: values of other types are represented in it.
//!
//! The embedded backend computes the expected results.

#[path = "representation/law.rs"]
mod law;
#[path = "representation/own.rs"]
mod own;

use std::collections::HashMap;

use typeloom_compiler::compiler::Compiler;
use typeloom_contracts::backend::by_execution::ByExecution;
use typeloom_contracts::backend::{Backend as _, GraphExecutor};
use typeloom_cpu::ops::cast::convert_exactly;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::{CastAttrs, GatherAttrs, ReshapeAttrs, SplitAttrs};
use typeloom_module::module::Module;
use typeloom_onnx::messages::{AttributeProto, GraphProto};
use typeloom_onnx::text::parse_model;
use typeloom_runtime::backend::by_primitives::ByPrimitives;
use typeloom_runtime::backend::{Cpu, CpuError};
use typeloom_runtime::components::Components;
use typeloom_runtime::convert::IntoDatum as _;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_types::dtype::{Dtype, DtypeClass};
use typeloom_types::tree::builtin::TYPE_SCALAR_F32;

use crate::lowering::whole::inputs as whole_inputs;
use crate::modules::support::{Body, Outcome, TestError};
use own::{Parts, backend};

type Inputs = HashMap<String, Datum>;

fn named<const N: usize>(inputs: [(&str, AnyTensor); N]) -> Inputs {
    inputs.map(|(name, tensor)| (name.to_owned(), tensor.into())).into()
}

fn of_module(
    module: impl Module,
    components: &Components,
    inputs: Inputs,
) -> Result<Vec<(String, Datum)>, Box<dyn std::error::Error>> {
    let artifact = Compiler::new().with_bindings(components.bindings().clone()).compile(module)?;
    Ok(Executor::new(&artifact, components)?.run(inputs, Verify::EveryValue)?.outputs)
}

/// Runs a module on backends of 32-bit floats and compares the results with the embedded backend.
fn compare(name: &'static str, body: fn(&mut Graph), inputs: Inputs) -> Outcome {
    let embedded = Components::new().backend("compute", Cpu);
    let expected = of_module(Body(name, body), &embedded, inputs.clone())?;
    for parts in Parts::ALL {
        let (components, _) = backend(Dtype::F32, parts);
        let found = of_module(Body(name, body), &components, inputs.clone());
        let found = found.map_err(|error| TestError(format!("{name} on {parts:?}: {error}")))?;
        same(&found, &expected).map_err(|error| TestError(format!("{name} on {parts:?}: {error}")))?;
    }
    Ok(())
}

/// Compares results: floats up to the accuracy of operators that are lowered for 32 bits, others exactly.
fn same(found: &[(String, Datum)], expected: &[(String, Datum)]) -> Result<(), String> {
    let near = |(a, b): (&f64, &f64)| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 4e-6 * b.abs().max(0.5)
    };
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        let (Some(a), Some(b)) = (found.as_tensor(), expected.as_tensor()) else {
            return Err(format!("{name} is not a tensor"));
        };
        let is_same = match (convert_exactly(a, Dtype::F64), convert_exactly(b, Dtype::F64)) {
            (Ok(x), Ok(y)) if a.dtype().class() == DtypeClass::Float => {
                let (x, y) = (x.to_vec().unwrap_or_default(), y.to_vec().unwrap_or_default());
                (a.dtype(), a.shape()) == (b.dtype(), b.shape()) && x.iter().zip(&y).all(near)
            }
            _ => a == b,
        };
        if !is_same {
            return Err(format!("{name} is {a:?}, not {b:?}"));
        }
    }
    Ok(())
}

fn some_floats() -> AnyTensor {
    let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0];
    let numbers = [-100.0, -3.5, -2.0, -1.0, -0.3, -0.01, 0.0, 0.2, 0.5, 1.0, 1.5, 2.5, 7.0, 90.0];
    AnyTensor::from_slice(&[3, 6], &[&special[..], &numbers].concat()).expect("18 elements")
}

#[test]
fn masks_and_indices_are_represented_in_the_storage() -> Outcome {
    let body = |g: &mut Graph| {
        let (x, y) = (g.input("x").of("float[3, 6]"), g.input("y").of("float[3, 6]"));
        let (at, mask) = (g.input("at").of("int64[2]"), g.input("mask").of("bool[6]"));
        let c = g.backend("compute");
        let less = c.less(&x, &y);
        g.output("less", &less);
        g.output("greater", &c.greater(&x, &y));
        g.output("equal", &c.equal(&x, &x));
        g.output("chosen", &c.where_(&less, &x, &y));
        g.output("masked", &c.where_(&mask, &x, &y));
        g.output("rows", &c.gather(&x, &at, GatherAttrs::default()));
        g.output("columns", &c.gather(&x, &at, GatherAttrs { axis: Some(-1) }));
        g.output("largest", &c.max(&[&x, &y]));
        g.output("sign", &c.sign(&x));
        g.output("not", &c.not(&less));
        g.output("both", &c.and(&less, &mask));
        g.output("powers", &c.pow(&y, &g.ints(&[3])));
        g.output("first", &c.arg_max(&y, Default::default()));
    };
    let (x, y) = (some_floats(), AnyTensor::from_slice(&[3, 6], &[0.5_f32; 18])?);
    let (at, mask) = (AnyTensor::from([2_i64, -3]), AnyTensor::from([true, false, true, true, false, false]));
    compare("masks", body, named([("x", x), ("y", y), ("at", at), ("mask", mask)]))
}

#[test]
fn masks_are_data_of_the_primitives_that_onnx_defines_for_them() -> Outcome {
    let body = |g: &mut Graph| {
        let slot = g.backend("compute");
        let [a, b] = ["a", "b"].map(|name| g.input(name).of("bool[3]"));
        g.output("numbers", &slot.cast(&a, Dtype::F32, CastAttrs::default()));
        g.output("equal", &slot.equal(&a, &b));
    };
    let masks = [[true, false, true], [true, true, false]].map(AnyTensor::from);
    let [a, b] = masks;
    compare("masks", body, named([("a", a), ("b", b)]))
}

#[test]
fn a_cast_returns_the_numbers_of_its_target() -> Outcome {
    let body = |g: &mut Graph| {
        let x = g.input("x").of("float[N]");
        let c = g.backend("compute");
        let targets = own::DTYPES.into_iter().chain([Dtype::Float8E4M3Fn, Dtype::Int4]);
        for dtype in targets {
            g.output(&dtype.to_string(), &c.cast(&x, dtype, CastAttrs::default()));
        }
    };
    let x = AnyTensor::from([-100.0_f32, -1.5, -0.3, 0.0, 0.7, 1.0, 2.5, 6.9, 100.0]);
    compare("casts", body, named([("x", x)]))
}

#[test]
fn every_method_computes_on_32_bit_floats() -> Outcome {
    let body = |g: &mut Graph| {
        let (x, y) = (g.input("x").of("float[2, 3]"), g.input("y").of("float[3, 2]"));
        let c = g.backend("compute");
        let axes = g.ints(&[1]);
        let half = g.constant(&AnyTensor::from([0.5_f32]));
        let shape = g.ints(&[3, -1]);
        let wide = c.unsqueeze(&x, &axes);
        for (at, value) in [
            c.add(&x, &half),
            c.sub(&x, &half),
            c.mul(&x, &x),
            c.div(&x, &half),
            c.neg(&x),
            c.abs(&x),
            c.sqrt(&c.abs(&x)),
            c.pow(&x, &g.constant(&AnyTensor::from([2.0_f32]))),
            c.exp(&x),
            c.log(&c.abs(&x)),
            c.matmul(&x, &y),
            c.reduce_sum(&x, Some(&axes), Default::default()),
            c.reduce_mean(&x, None, Default::default()),
            c.reduce_max(&x, Some(&axes), Default::default()),
            c.reduce_min(&x, None, Default::default()),
            c.reshape(&x, &shape, Default::default()),
            c.transpose(&x, Default::default()),
            c.concat(&[&x, &x], -1),
            c.slice(&x, &g.ints(&[2]), &g.ints(&[-9]), Some(&axes), Some(&g.ints(&[-2]))),
            c.squeeze(&wide, Some(&axes)),
            c.identity(&x),
            c.cast(&x, Dtype::I64, CastAttrs::default()),
            c.equal(&x, &x),
            c.greater(&x, &half),
            c.less(&x, &half),
            c.where_(&c.less(&x, &half), &x, &half),
            c.gather(&x, &g.constant(&AnyTensor::from([1_i32, 0])), GatherAttrs { axis: Some(1) }),
        ]
        .iter()
        .chain(&c.split(&x, None, SplitAttrs { axis: Some(1), num_outputs: Some(3) }, 3))
        .enumerate()
        {
            g.output(&format!("y{at}"), value);
        }
    };
    let numbers = [1.0_f32, -2.5, 0.25, 3.0, -0.5, 2.0];
    let (x, y) = (AnyTensor::from_slice(&[2, 3], &numbers)?, AnyTensor::from_slice(&[3, 2], &numbers)?);
    compare("methods", body, named([("x", x), ("y", y)]))
}

#[test]
fn special_numbers_keep_their_meaning() -> Outcome {
    let body = |g: &mut Graph| {
        let x = g.input("x").of("float[3, 6]");
        let c = g.backend("compute");
        let zero = g.constant(&AnyTensor::from([0.0_f32]));
        for (name, y) in [
            ("relu", c.relu(&x)),
            ("leaky_relu", c.leaky_relu(&x, Default::default())),
            ("tanh", c.tanh(&x)),
            ("softplus", c.softplus(&x)),
            ("sign", c.sign(&x)),
            ("max", c.max(&[&x, &zero])),
            ("floor", c.floor(&x)),
            ("is_nan", c.is_nan(&x)),
            ("is_inf", c.is_inf(&x, Default::default())),
        ] {
            g.output(name, &y);
        }
    };
    compare("special", body, named([("x", some_floats())]))
}

#[test]
fn models_of_the_repository_run_on_32_bit_floats() -> Outcome {
    let mut run = Vec::new();
    let names = ["classifier", "baked_length_fixed", "decoder", "control_flow"];
    for name in names {
        let path = format!("{}/../../models/{name}.onnx", env!("CARGO_MANIFEST_DIR"));
        let bytes = std::fs::read(path)?;
        let plain = Compiler::new().compile(&bytes[..])?;
        let session = Session::new(plain.model(), &|_| Err("the model has no other files".to_owned()))?;
        let inputs = whole_inputs(session.inputs());
        let expected = session.run(inputs.clone(), Verify::EveryValue)?;
        for parts in Parts::ALL {
            let (components, compiler) = backend(Dtype::F32, parts);
            // No primitive makes a shape at run time.
            let artifact = match compiler.compile(&bytes[..]) {
                Err(error) if error.to_string().contains("does not compute `Expand`") => continue,
                compiled => compiled?,
            };
            let found = Executor::new(&artifact, &components)?.run(inputs.clone(), Verify::EveryValue)?;
            same(&found.outputs, &expected.outputs)
                .map_err(|error| TestError(format!("{name} on {parts:?}: {error}")))?;
            run.push((name, parts));
        }
    }
    let runs_on =
        |parts: Parts| run.iter().filter(|(_, on)| *on == parts).map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(runs_on(Parts::Methods), ["classifier", "baked_length_fixed", "decoder"]);
    assert_eq!(runs_on(Parts::Graphs), runs_on(Parts::Methods));
    assert_eq!(runs_on(Parts::Both), names);
    Ok(())
}

/// Refusals at compile time, each with the reason.
#[test]
fn values_without_a_form_in_the_storage_are_refused() {
    let refused = |dtype: Dtype, body: fn(&mut Graph)| {
        let (components, _) = backend(dtype, Parts::Methods);
        let compiled =
            Compiler::new().with_bindings(components.bindings().clone()).compile(Body("refused", body));
        compiled.expect_err("the module is refused").to_string()
    };
    let text = refused(Dtype::F32, |g| {
        let (x, e) = (g.input("x").of("float[N]"), g.input("e").of("double[N]"));
        g.output("y", &g.backend("compute").pow(&x, &e));
    });
    let reason =
        "does not compute `Pow` on tensor.f32, tensor.f64: tensor.f32 does not represent all values of f64";
    assert!(text.contains(reason), "{text}");
    let text = refused(Dtype::F16, |g| {
        let (x, at) = (g.input("x").of("float16[5000, 2]"), g.input("at").of("int64[N]"));
        g.output("y", &g.backend("compute").gather(&x, &at, GatherAttrs::default()));
    });
    let reason = "tensor.f16 does not represent all positions of an axis of extent 5000";
    assert!(text.contains(reason), "{text}");
    let text = refused(Dtype::F32, |g| {
        let x = g.input("x").of("float[N]");
        g.output("y", &g.backend("compute").cast(&x, Dtype::String, CastAttrs::default()));
    });
    assert!(text.contains("tensor.f32 does not represent all values of string"), "{text}");
    let text = refused(Dtype::I16, |g| {
        let x = g.input("x").of("int16[2, 3]");
        g.output("y", &g.backend("compute").arg_max(&x, Default::default()));
    });
    let reason = "its form would compute `ReduceMax` on tensor.i16, which ONNX does not define";
    assert!(text.contains(reason), "{text}");
}

/// The session runs these nodes of a model that is assigned to a backend.
#[test]
fn the_session_runs_nodes_that_do_not_fit_into_the_storage() -> Outcome {
    let model = parse_model(
        r#"<ir_version: 10, opset_import: ["" : 18]>
        g (float16[3000, 2] x, int64[2] at, double[2] e, int16[2, 3] i) => (rows, power, text, first, padded)
        <int64[4] pads = {0, 300, 0, 0}>
        {
            rows = Gather(x, at)  power = Pow(rows, e)  text = Cast <to = 8> (rows)
            first = ArgMax(i)  padded = Pad(i, pads)
        }"#,
    )?;
    let inputs = named([
        ("x", convert_exactly(&AnyTensor::from_slice(&[3000, 2], &[1.5_f32; 6000])?, Dtype::F16)?),
        ("at", AnyTensor::from([2999_i64, -3000])),
        ("e", AnyTensor::from([2.0_f64, 0.1])),
        ("i", AnyTensor::from_slice(&[2, 3], &[1_i16, 5, 3, 4, 2, 6])?),
    ]);
    let plain = Compiler::new().compile(model.clone())?;
    let expected = Executor::new(&plain, &Components::new())?.run(inputs.clone(), Verify::EveryValue)?;
    for (dtype, parts) in
        [Dtype::F16, Dtype::I16].into_iter().flat_map(|it| Parts::ALL.map(|parts| (it, parts)))
    {
        let (components, compiler) = backend(dtype, parts);
        let artifact = compiler.compile(model.clone())?;
        let found = Executor::new(&artifact, &components)?.run(inputs.clone(), Verify::EveryValue)?;
        same(&found.outputs, &expected.outputs).map_err(TestError)?;
    }
    Ok(())
}

/// `Reshape` with `allowzero` is a primitive, also to an extent of 0, which the method would copy.
#[test]
fn zeros_of_a_reshape_are_extents() -> Outcome {
    let body = |g: &mut Graph| {
        let (x, empty) = (g.input("x").of("float[2, 3]"), g.input("empty").of("float[2, 0, 5]"));
        let c = g.backend("compute");
        let reshape = |x, shape: &[i64]| c.reshape(x, &g.ints(shape), ReshapeAttrs { allowzero: Some(1) });
        g.output("flat", &reshape(&x, &[3, -1]));
        g.output("none", &reshape(&empty, &[7, 0, 5, 0]));
        g.output("same", &reshape(&empty, &[2, 0, 5]));
    };
    let (x, empty) =
        (AnyTensor::from_slice(&[2, 3], &[1.5_f32; 6])?, AnyTensor::zeros(Dtype::F32, &[2, 0, 5])?);
    compare("reshapes", body, named([("x", x), ("empty", empty)]))
}

/// A number without an exact form is an error of the run that names it.
#[test]
fn a_number_without_a_form_is_named() -> Outcome {
    let body = |g: &mut Graph| {
        let (x, e) = (g.input("x").of("float[N]"), g.input("e").of("int64[N]"));
        g.output("y", &g.backend("compute").pow(&x, &e));
    };
    let (components, _) = backend(Dtype::F32, Parts::Methods);
    let x = AnyTensor::from([1.0_f32]);
    let run = |e: i64| {
        of_module(Body("powers", body), &components, named([("x", x.clone()), ("e", AnyTensor::from([e]))]))
    };
    assert_eq!(run(1 << 24)?[0].1, x.clone().into());
    let text = run((1 << 24) + 1).unwrap_err().to_string();
    let reason = "input 1, which the component represents as tensor.f32: 16777217 has no exact form as f32";
    assert!(text.contains(reason), "{text}");
    Ok(())
}

/// A `cast` without effect is completed, and a mask of other numbers than 1 and 0 is an error.
#[test]
fn results_are_converted_to_the_types_of_the_program() -> Outcome {
    let body = |g: &mut Graph| {
        let x = g.input("x").of("float[3]");
        let c = g.backend("compute");
        g.output("whole", &c.cast(&x, Dtype::I64, CastAttrs::default()));
        g.output("mask", &c.cast(&x, Dtype::Bool, CastAttrs::default()));
    };
    let components = Components::new().backend("compute", ByPrimitives(own::Thirty::<f32>::naive()));
    let x = AnyTensor::from([1.5_f32, 0.0, -2.5]);
    let found = of_module(Body("casts", body), &components, named([("x", x.clone())]))?;
    assert_eq!(found[0].1, AnyTensor::from([1_i64, 0, -2]).into());
    assert_eq!(found[1].1, AnyTensor::from([true, false, true]).into());
    let body = |g: &mut Graph| {
        let x = g.input("x").of("float[3]");
        let c = g.backend("compute");
        g.output("mask", &c.less(&x, &c.add(&x, &x)));
    };
    let text = of_module(Body("masks", body), &components, named([("x", x)])).unwrap_err().to_string();
    let reason = "output 0, which the component represents as tensor.f32: 1.5 has no exact form as bool";
    assert!(text.contains(reason), "{text}");
    Ok(())
}

/// Single numbers, computed by graphs.
struct Numbers;

impl GraphExecutor for Numbers {
    type Tensor = f32;
    type Error = CpuError;

    fn execute(
        &self,
        graph: &GraphProto,
        inputs: Vec<f32>,
        attrs: &[AttributeProto],
    ) -> Result<Vec<f32>, CpuError> {
        let inputs = inputs.into_iter().map(AnyTensor::from_scalar).collect();
        let results = GraphExecutor::execute(&Cpu, graph, inputs, attrs)?;
        Ok(results
            .iter()
            .map(|result| result.as_slice::<f32>().expect("the graph casts its results")[0])
            .collect())
    }
}

#[test]
fn masks_are_represented_as_single_numbers() -> Outcome {
    let body = |g: &mut Graph| {
        let x = g.input("x").of(&TYPE_SCALAR_F32);
        let c = g.backend("compute");
        let less = c.less(&x, &c.neg(&x));
        g.output("less", &less);
        g.output("chosen", &c.where_(&less, &c.neg(&x), &x));
    };
    let components = Components::new().backend("compute", ByExecution(Numbers));
    let found =
        of_module(Body("numbers", body), &components, named([("x", AnyTensor::from_scalar(-2.5_f32))]))?;
    assert_eq!(found[0].1, AnyTensor::from_scalar(true).into());
    assert_eq!(found[1].1, Datum::Scalar(Scalar::F32(2.5)));
    let body = |g: &mut Graph| {
        let x = g.input("x").of(&TYPE_SCALAR_F32);
        g.output("y", &g.backend("compute").relu(&x));
    };
    let refused = Compiler::new().with_bindings(components.bindings().clone()).compile(Body("relu", body));
    let text = refused.err().ok_or("a constant of a form is no scalar")?.to_string();
    assert!(text.contains("its form would have a constant, which is a tensor"), "{text}");
    Ok(())
}

/// Graphs of primitives have constants of other types than the backend's.
#[test]
fn a_graph_of_primitives_has_axes_indices_and_masks() -> Outcome {
    let graph = parse_model(
        r#"<ir_version: 10, opset_import: ["" : 18]>
        g (float[2, 3] x) => (y, n, i) <int64[2] at = {1, -1}, int64[1] end = {9223372036854775807}, bool[3] mask = {1, 0, 1}>
        {
            one = Constant <value_ints = [1]> ()
            part = Slice(x, one, end, one)
            y = Gather <axis = 1> (x, at)
            masked = Where(mask, x, x)
            n = ReduceSum <keepdims = 0> (masked, one)
            i = Identity(at)
        }"#,
    )?;
    let graph = graph.graph.ok_or("there is a graph")?;
    let x = AnyTensor::from_slice(&[2, 3], &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let found = ByPrimitives(own::Thirty::<f32>::new()).execute(&graph, vec![own::Own::new(x)], &[])?;
    let found: Vec<Datum> = found.iter().map(|it| it.to_datum(None)).collect();
    assert_eq!(found[0], AnyTensor::from_slice(&[2, 2], &[2.0_f32, 3.0, 5.0, 6.0])?.into());
    assert_eq!(found[1], AnyTensor::from([6.0_f32, 15.0]).into());
    assert_eq!(found[2], AnyTensor::from([1.0_f32, -1.0]).into());
    Ok(())
}

#[test]
fn every_activation_of_onnx_runs_on_32_bit_floats() -> Outcome {
    let body = |g: &mut Graph| {
        let x = g.input("x").of("float[3, 6]");
        let c = g.backend("compute");
        for (name, y) in [
            ("relu", c.relu(&x)),
            ("leaky_relu", c.leaky_relu(&x, Default::default())),
            ("prelu", c.p_relu(&x, &g.constant(&AnyTensor::from([0.25_f32])))),
            ("thresholded_relu", c.thresholded_relu(&x, Default::default())),
            ("elu", c.elu(&x, Default::default())),
            ("celu", c.celu(&x, Default::default())),
            ("selu", c.selu(&x, Default::default())),
            ("sigmoid", c.sigmoid(&x)),
            ("hard_sigmoid", c.hard_sigmoid(&x, Default::default())),
            ("hard_swish", c.hard_swish(&x)),
            ("softplus", c.softplus(&x)),
            ("softsign", c.softsign(&x)),
            ("tanh", c.tanh(&x)),
            ("mish", c.mish(&x)),
            ("swish", c.swish(&x, Default::default())),
            ("gelu", c.gelu(&x, Default::default())),
            ("erf", c.erf(&x)),
            ("shrink", c.shrink(&x, Default::default())),
            ("softmax", c.softmax(&x, Default::default())),
            ("log_softmax", c.log_softmax(&x, Default::default())),
            ("hardmax", c.hardmax(&x, Default::default())),
            ("clip", c.clip(&x, None, None)),
            ("floor", c.floor(&x)),
            ("ceil", c.ceil(&x)),
            ("round", c.round(&x)),
            ("sign", c.sign(&x)),
        ] {
            g.output(name, &y);
        }
    };
    let x = AnyTensor::from_slice(
        &[3, 6],
        &[
            -90.0_f32, -3.5, -2.0, -1.0, -0.3, -0.01, 0.0, 0.2, 0.5, 1.0, 1.5, 2.5, 7.0, 20.0, 3.0, -4.25,
            0.75, 5.0,
        ],
    )?;
    compare("activations", body, named([("x", x)]))
}
