//! Backends whose storage has one element type: values of other types are represented in it.
//!
//! The embedded backend computes the expected results.

#[path = "representation/law.rs"]
mod law;
#[path = "representation/own.rs"]
mod own;

use std::collections::HashMap;

use typeloom_compiler::compiler::Compiler;
use typeloom_cpu::ops::cast::convert_exactly;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_module::graph::operators::attributes::{CastAttrs, GatherAttrs};
use typeloom_module::module::Module;
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::Verify;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::{Dtype, DtypeClass};

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
    let x = AnyTensor::from_slice(&[3, 6], &[
        -90.0_f32, -3.5, -2.0, -1.0, -0.3, -0.01, 0.0, 0.2, 0.5, 1.0, 1.5, 2.5, 7.0, 20.0, 3.0, -4.25, 0.75, 5.0,
    ])?;
    compare("activations", body, named([("x", x)]))
}
