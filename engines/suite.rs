//! The tests of an engine, which are the same for each; part of the tests of each engine.

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use typeloom::runtime::engine::Engine;

use crate::worker::{SERVE, Verdict, Worker, serve};
use crate::{conformance, differential, models};

/// The program of the tests. `make` makes the engine, or says why it is not there; `floor` is the least share of recorded cases that must be
/// reproduced, in percent.
pub(crate) fn main(floor: f64, make: fn() -> Result<Arc<dyn Engine>, String>) -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(SERVE) {
        let engine = make().expect("whoever started the worker made the engine as well");
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

/// What a worker does with a job: the first word says whose it is.
fn answer(engine: &Arc<dyn Engine>, job: &str) -> Verdict {
    match job.split_once(' ') {
        Some((conformance::JOB, rest)) => conformance::answer(engine, rest),
        Some((differential::JOB, rest)) => differential::answer(engine, rest),
        Some((models::JOB, rest)) => models::answer(engine, rest),
        _ => Verdict::Wrong(format!("`{job}` is no job")),
    }
}
