//! The recorded node cases as compiled programs: a program without slots returns the same bits as a session
//! of the same model, and fails if the session fails.
//!
//! The cases are read from a directory next to the repository or from `TYPELOOM_CONFORMANCE`. If they are
//! absent, the test prints a note and passes, except under `CI=true`.

use std::collections::HashMap;

use typeloom_tensor::datum::Datum;

use crate::cases::{self, Case};
use typeloom_compiler::compiler::Compiler;
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::Executor;
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;
use typeloom_testing::number;

/// Operators with a random result.
const RANDOM: &[&str] =
    &["Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"];

/// Domains that are out of scope.
const OUT_OF_SCOPE: &[&str] = &["ai.onnx.ml", "ai.onnx.preview.training"];

/// Results of a compiled program, first of its written and then of its optimized schedule.
fn compiled(case: &Case, inputs: HashMap<String, Datum>) -> Result<[Vec<(String, Datum)>; 2], String> {
    let bytes = case.model();
    let compiler = Compiler::new().with_permissive_types();
    let artifact = compiler.compile(bytes.as_slice()).map_err(|error| format!("compiling: {error}"))?;
    let executor =
        Executor::new(&artifact, &Components::new()).map_err(|error| format!("linking: {error}"))?;
    let inputs: HashMap<String, Datum> = inputs.into_iter().collect();
    let run = |verify| executor.run(inputs.clone(), verify).map_err(|error| format!("running: {error}"));
    Ok([run(Verify::EveryValue)?.outputs, run(Verify::Inputs)?.outputs])
}

#[test]
fn compiled_programs_and_sessions_compute_equal_results() {
    let Some(cases) = cases::list() else { return };
    let universe = Universe::standard().clone();
    let (mut compared, mut inside) = (0, 0);
    let mut odd = Vec::new();
    for case in cases.iter().step_by(number(10, 1)) {
        let ops = case.ops();
        let is_outside =
            |op: &str| RANDOM.contains(&op) || OUT_OF_SCOPE.iter().any(|domain| op.starts_with(domain));
        if ops.iter().any(|op| is_outside(op)) || case.is_training_dropout() {
            continue;
        }
        inside += 1;
        let bytes = case.model();
        let options = Options { mode: Mode::Permissive, ..Options::default() };
        let Ok(mut checked) = check(&bytes, &Standard, &universe, &options) else { continue };
        let external = |_: &_| Err("no case has other files".to_owned());
        let Ok(session) = Session::of_checked(&mut checked, &external) else { continue };
        let Ok(inputs) = case.inputs(&session) else { continue };
        let run = |verify| {
            let outputs = session.run(inputs.clone(), verify).ok()?.outputs.into_iter();
            Some(outputs.collect::<Vec<_>>())
        };
        let (Some(watched), Some(fast)) = (run(Verify::EveryValue), run(Verify::Inputs)) else { continue };
        compared += 1;
        match compiled(case, inputs.clone()) {
            Err(error) => odd.push(format!("{}: {error}", case.name())),
            Ok(found) if found == [watched, fast] => {}
            Ok(_) => odd.push(format!("{}: other outputs", case.name())),
        }
    }
    println!("{compared} of {inside} cases compared");
    assert!(odd.is_empty(), "{} of {compared}:\n{}", odd.len(), odd.join("\n"));
    assert!(compared * 20 >= inside * number(18, 19), "only {compared} of {inside} cases were compared");
}
