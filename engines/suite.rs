//! Test suite shared by all engines; included in the tests of each engine.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use typeloom_runtime::engine::Engine;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::options::Verify;
use typeloom_solver::model::Options;
use typeloom_tensor::any_tensor::AnyTensor;

use crate::worker::{SERVE, Verdict, Worker, serve};
use crate::{conformance, differential, models};

/// Entry point of the test program. `make` creates the engine or returns the reason for its absence; `floor`
/// is the minimum percentage of recorded cases to reproduce.
pub(crate) fn main(floor: f64, make: fn() -> Result<Arc<dyn Engine>, String>) -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        let engine = make().expect("the process that started the worker created the engine too");
        serve(|job| answer(&engine, job));
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let name = match make() {
        Ok(engine) => engine.name().to_owned(),
        Err(reason) => {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "{reason}");
            println!("skipped: {reason}");
            return ExitCode::SUCCESS;
        }
    };
    let trial = |test: &str, run: fn(&str, &mut Worker, f64) -> Result<(), String>| {
        let name = name.clone();
        Trial::test(test, move || run(&name, &mut Worker::default(), floor).map_err(Into::into))
    };
    let trials = vec![
        Trial::test("results_outlive_their_session", move || Ok(outlive(make()?)?)),
        trial("recorded_node_cases_are_reproduced_or_refused", conformance::run),
        trial("what_is_not_refused_is_what_the_embedded_backend_computes", |name, worker, _| {
            differential::run(name, worker)
        }),
        trial("whole_models_give_what_the_embedded_backend_gives", |name, worker, _| {
            models::run(name, worker)
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Results can reference memory of the engine: neither a later run nor dropping the session may change them.
fn outlive(engine: Arc<dyn Engine>) -> Result<(), String> {
    const TEXT: &str = "<ir_version: 10, opset_import: [\"\" : 18]> g (float[4, 3000] x) => (y, z) { y = Add(x, x) z = Identity(x) }";
    let bytes = typeloom_onnx::text::model_bytes(TEXT).map_err(|error| error.to_string())?;
    let mut checked =
        typeloom_ops::check::check(&bytes, &Options::default()).map_err(|error| error.to_string())?;
    let no_files = |_: &_| Err("no other files are read".to_owned());
    let session = EngineSession::of_checked(engine, &mut checked, &no_files, Verify::Inputs);
    let session = session.map_err(|error| error.to_string())?;
    let run = |number: f32| {
        let x = AnyTensor::from_vec(&[4, 3000], vec![number; 12_000]).map_err(|error| error.to_string())?;
        session.run_in_order(vec![x]).map_err(|error| error.to_string())
    };
    let results: Vec<Vec<AnyTensor>> = [1.0, 2.0, 3.0].into_iter().map(run).collect::<Result<_, _>>()?;
    drop(session);
    for (results, number) in results.into_iter().zip([1.0_f32, 2.0, 3.0]) {
        let [y, z] = &results[..] else { return Err("there are two outputs".to_owned()) };
        for (tensor, expected) in [(y, number * 2.0), (z, number)] {
            let elements = tensor.as_slice::<f32>().map_err(|error| error.to_string())?;
            if elements.len() != 12_000 || elements.iter().any(|element| *element != expected) {
                return Err(format!("a result is no longer {expected}"));
            }
        }
    }
    Ok(())
}

/// Runs a job. Its first word selects the group of tests.
fn answer(engine: &Arc<dyn Engine>, job: &str) -> Verdict {
    match job.split_once(' ') {
        Some((conformance::JOB, rest)) => conformance::answer(engine, rest),
        Some((differential::JOB, rest)) => differential::answer(engine, rest),
        Some((models::JOB, rest)) => models::answer(engine, rest),
        _ => Verdict::Wrong(format!("`{job}` is not a job")),
    }
}
