//! Casts, bundles, nested modules, branches and loops.

use typeloom_compiler::compiler::Compiler;
use typeloom_compiler::unit::Coercion;
use typeloom_module::graph::Graph;
use typeloom_module::graph::operators::OperatorMethods;
use typeloom_runtime::backend::Cpu;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::RunLimits;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;

use crate::modules::support::{Body, Outcome, floats, linked, run};

#[test]
fn casts_that_the_compiler_inserted_run() -> Outcome {
    let module = Body("cast", |g| {
        let x = g.input("x").of("float[N]");
        let same = g.node("", "Identity", &[&x], Vec::new(), 1).remove(0).of("double[N]");
        g.output("y", &(&same + &same));
    });
    let artifact = Compiler::new().with_coercion(Coercion::Lossless).compile(module)?;
    assert_eq!(artifact.report.casts.len(), 1);
    let executor = Executor::new(&artifact, &Components::new())?;
    let outcome = run(&executor, [("x", floats(&[2], &[1.5, 2.0]))])?;
    assert_eq!(outcome.get("y"), Some(&AnyTensor::from([3.0_f64, 4.0]).into()));
    Ok(())
}

#[test]
fn bundles_are_unbundled_by_name() -> Outcome {
    let pack = linked(&Components::new(), |g| {
        let (x, t) = (g.input("x").of("float[2]"), g.input("t").of("trigger"));
        g.output("both", &g.bundle(&[("x", &x), ("t", &t)]));
    })?;
    let unpack = linked(&Components::new(), |g| {
        let both = g.input("both").of("composite");
        let parts = g.unbundle(&both, &["x"]);
        g.output("x", &parts[0].clone().of("float[2]"));
    })?;
    let x = floats(&[2], &[1.0, 2.0]);
    let packed = run(&pack, [("x", x.clone()), ("t", Datum::Trigger)])?;
    let both = packed.get("both").cloned().ok_or("there is an output `both`")?;
    assert_eq!(run(&unpack, [("both", both)])?.get("x"), Some(&x));
    let other = Datum::Composite(vec![("y".into(), x)]);
    let text = run(&unpack, [("both", other)]).unwrap_err().to_string();
    assert!(text.contains("composite(y: float[2]) is not composite{x: float[...], ..}"), "{text}");
    Ok(())
}

/// `relu(x) * 2`, on a slot.
const DOUBLED: Body = Body("doubled", |g: &mut Graph| {
    let compute = g.backend("compute");
    let x = g.input("x");
    let positive = compute.relu(&x);
    g.output("y", &compute.add(&positive, &positive));
});

#[test]
fn modules_in_modules_and_branches_run_on_the_slots_of_the_whole() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let executor = linked(&components, |g| {
        let x = g.input("x").of("float[N]");
        let flag = g.input("flag");
        let results = g.if_(&flag, |g| g.call(&DOUBLED, &[&x]), |g| vec![g.backend("compute").neg(&x)]);
        g.output("y", &results[0]);
    })?;
    let flag = |flag: bool| -> Datum { AnyTensor::from_scalar(flag).into() };
    let x = || floats(&[2], &[-1.0, 2.0]);
    let outcome = run(&executor, [("x", x()), ("flag", flag(true))])?;
    assert_eq!(outcome.get("y"), Some(&floats(&[2], &[0.0, 4.0])));
    let outcome = run(&executor, [("x", x()), ("flag", flag(false))])?;
    assert_eq!(outcome.get("y"), Some(&floats(&[2], &[1.0, -2.0])));
    Ok(())
}

#[test]
fn loops_pass_values_through_components() -> Outcome {
    let components = Components::new().backend("compute", Cpu);
    let executor = linked(&components, |g| {
        let (x, turns) = (g.input("x").of("float[2]"), g.input("turns").of("int64[]"));
        let results = g.loop_(Some(&turns), None, &[&x], |g, _, go_on, carried| {
            let next = g.backend("compute").add(&carried[0], &carried[0]);
            vec![go_on.clone(), next.clone(), next]
        });
        g.output("last", &results[0]);
        g.output("all", &results[1]);
    })?;
    let turns = |turns: i64| -> Datum { AnyTensor::from_scalar(turns).into() };
    let outcome = run(&executor, [("x", floats(&[2], &[1.0, 3.0])), ("turns", turns(2))])?;
    assert_eq!(outcome.get("last"), Some(&floats(&[2], &[4.0, 12.0])));
    assert_eq!(outcome.get("all"), Some(&floats(&[2, 2], &[2.0, 6.0, 4.0, 12.0])));
    let outcome = run(&executor, [("x", floats(&[2], &[1.0, 3.0])), ("turns", turns(0))])?;
    assert_eq!(outcome.get("last"), Some(&floats(&[2], &[1.0, 3.0])));
    assert_eq!(outcome.get("all").and_then(Datum::as_tensor).map(|it| it.shape().to_vec()), Some(vec![0, 2]));
    Ok(())
}

#[test]
fn a_loop_that_never_ends_is_an_error() -> Outcome {
    let executor = linked(&Components::new(), |g| {
        let x = g.input("x").of("float[2]");
        let results =
            g.loop_(None, None, &[&x], |_, _, go_on, carried| vec![go_on.clone(), carried[0].clone()]);
        g.output("y", &results[0]);
    })?;
    let executor = executor.with_limits(RunLimits { iterations: 100, ..RunLimits::default() });
    let error = run(&executor, [("x", floats(&[2], &[0.0; 2]))]).expect_err("it never ends");
    assert!(error.to_string().contains("limit of 100"), "{error}");
    Ok(())
}

#[test]
fn a_model_of_onnx_runs_as_a_program_without_slots() -> Outcome {
    let text = r#"<ir_version: 10, opset_import: ["" : 18]>
    g (float[N] state, float[T, N] xs) => (last, sums) {
        last, sums = Scan <num_scan_inputs = 1, body = b (s, x) => (t, y) { t = Add(s, x)  y = Identity(t) }> (state, xs)
    }"#;
    let model = typeloom_onnx::text::parse_model(text)?;
    let executor = Executor::new(&Compiler::new().compile(model)?, &Components::new())?;
    let outcome = run(
        &executor,
        [("state", floats(&[2], &[0.0, 1.0])), ("xs", floats(&[2, 2], &[1.0, 2.0, 3.0, 4.0]))],
    )?;
    assert_eq!(outcome.get("last"), Some(&floats(&[2], &[4.0, 7.0])));
    assert_eq!(outcome.get("sums"), Some(&floats(&[2, 2], &[1.0, 3.0, 4.0, 7.0])));
    assert_eq!(outcome.symbols.get("T"), Some(2));
    Ok(())
}
