//! Recorded node cases on an engine; included in the tests of each engine.
//!
//! The cases are read from a directory next to the repository or from `TYPELOOM_CONFORMANCE`. If they are
//! absent, the test prints a note and passes, except under `CI=true`. `TYPELOOM_OPS=Relu,Conv` restricts a
//! run to cases that use these operators.
//!
//! A case is *reproduced*; *refused* by a typed error, either before the run or because a result differs from
//! its solved type; or *wrong*: a wrong value or a run that does not terminate. A wrong case fails the test;
//! the remedy is a new objection of the engine.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use typeloom_runtime::engine::Engine;
use typeloom_runtime::engine::session::EngineSession;
use typeloom_runtime::options::Verify;
use typeloom_solver::model::{Mode, Options};

use crate::cases::{self, Case};
use crate::compare;
use crate::worker::{Verdict, Worker};

/// Domains that are out of scope.
const OUT_OF_SCOPE: &[&str] = &["ai.onnx.ml", "ai.onnx.preview.training"];

/// Operators with a random result, of which only the type is compared.
const RANDOM: &[&str] =
    &["Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"];

/// First word of the jobs; the rest is the name of a case.
pub(crate) const JOB: &str = "case";

/// Time limit of a case. An optimised engine on an idle machine needs milliseconds.
const LIMIT: Duration = Duration::from_secs(60);

fn judge(case: &Case, engine: &Arc<dyn Engine>, verify: Verify) -> Result<Verdict, String> {
    let bytes = case.model();
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = typeloom_ops::check::check(&bytes, &options).map_err(|error| error.to_string())?;
    let external = |_: &_| Err("no case has other files".to_owned());
    let session = EngineSession::of_checked(Arc::clone(engine), &mut checked, &external, verify)
        .map_err(|error| error.to_string())?;
    let outcome = session.run(case.inputs_of(session.inputs())?).map_err(|error| error.to_string())?;
    let is_random = case.ops().iter().any(|op| RANDOM.contains(op)) || case.is_training_dropout();
    for (at, (name, found)) in outcome.outputs.iter().enumerate() {
        let Some(expected) = case.output(at).transpose()? else { continue };
        let difference = if is_random {
            compare::types(found, &expected)
        } else {
            compare::values(found, &expected, tolerance(case))
        };
        if let Some(difference) = difference {
            return Ok(Verdict::Wrong(format!("`{name}`: {difference}")));
        }
    }
    Ok(Verdict::Same)
}

/// Absolute and relative tolerance. Engines add 16-bit floats in different orders, so a result can differ by
/// two steps of 1 in 1024.
fn tolerance(case: &Case) -> (f64, f64) {
    let (relative, absolute) = case.tolerance();
    (if case.has_halves() { relative.max(1.0 / 512.0) } else { relative }, absolute)
}

/// Verdict of a worker on a case.
pub(crate) fn answer(engine: &Arc<dyn Engine>, name: &str) -> Verdict {
    static CASES: OnceLock<Option<Vec<Case>>> = OnceLock::new();
    let cases = CASES.get_or_init(cases::list).iter().flatten();
    let Some(case) = cases.into_iter().find(|case| case.name() == name) else {
        return Verdict::Wrong("there is no such case".to_owned());
    };
    match judge(case, engine, Verify::Inputs).unwrap_or_else(Verdict::Refused) {
        // Verifying every value disables operator fusion in the engine; the results must not change.
        Verdict::Same => match judge(case, engine, Verify::EveryValue) {
            Ok(Verdict::Wrong(why)) => Verdict::Wrong(format!("{why}, if every value is verified")),
            Ok(_) | Err(_) => Verdict::Same,
        },
        other => other,
    }
}

/// Runs all cases and prints a table by operator.
///
/// # Errors
/// If a case is wrong, or fewer than `floor` percent are reproduced.
pub(crate) fn run(engine: &str, worker: &mut Worker, floor: f64) -> Result<(), String> {
    let Some(cases) = cases::list() else { return Ok(()) };
    let wanted = std::env::var("TYPELOOM_OPS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|op| !op.is_empty()).collect();
    let mut table: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let (mut total, mut good) = (0_usize, 0_usize);
    let mut wrong = Vec::new();
    for case in &cases {
        let ops = case.ops();
        let is_outside = ops.iter().any(|op| OUT_OF_SCOPE.iter().any(|domain| op.starts_with(domain)));
        if is_outside || (!wanted.is_empty() && !ops.iter().any(|op| wanted.contains(op))) {
            continue;
        }
        total += 1;
        let row = table.entry(case.subject().to_owned()).or_default();
        row[1] += 1;
        match worker.ask(&format!("{JOB} {}", case.name()), LIMIT) {
            Verdict::Same => {
                good += 1;
                row[0] += 1;
            }
            Verdict::Refused(why) | Verdict::Unasked(why) => {
                println!("refused       {}: {why}", case.name());
            }
            Verdict::Wrong(why) | Verdict::Lost(why) => {
                println!("WRONG         {}: {why}", case.name());
                wrong.push(case.name());
            }
        }
    }
    println!("\n{:<28} reproduced", "operator");
    for (op, [good, all]) in &table {
        println!("{op:<28} {good:>4} of {all:>4}{}", if good == all { "" } else { "  <- the rest refused" });
    }
    let share = 100.0 * good as f64 / total.max(1) as f64;
    println!("\n{engine}: {good} of {total} cases ({share:.1} %), the others refused");
    if !wrong.is_empty() {
        return Err(format!("silently wrong: {wrong:?}"));
    }
    let is_whole = wanted.is_empty() && total > 0;
    if is_whole && share < floor {
        return Err(format!("{share:.1} % of the cases are reproduced, less than {floor} %"));
    }
    Ok(())
}
