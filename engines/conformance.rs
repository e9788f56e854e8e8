//! The recorded node cases on an engine; part of the tests of each engine.
//!
//! The cases lie beside the repository or where `TYPELOOM_CONFORMANCE` says. Where they are absent the test says so and
//! passes, except under `CI=true`. `TYPELOOM_OPS=Relu,Conv` restricts a run to cases that use these operators. A case is
//! *reproduced*, *refused* by a typed error before anything ran or because a result had another type than its solved one, or *wrong*, which
//! is never forgiven: a wrong value is to become an objection of the engine.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use typeloom::runtime::engine::Engine;
use typeloom::runtime::engine::session::EngineSession;
use typeloom::{Mode, Options, Verify};

use crate::cases::{self, Case};
use crate::compare;

/// Domains that are not part of the bargain.
const OUT_OF_SCOPE: &[&str] = &["ai.onnx.ml", "ai.onnx.preview.training"];

/// Operators whose result is random, so that only its type can be compared.
const RANDOM: &[&str] =
    &["Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"];

enum Verdict {
    Reproduced,
    Refused(String),
    Wrong(String),
}

fn judge(case: &Case, engine: &Arc<dyn Engine>, verify: Verify) -> Verdict {
    let bytes = case.model();
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = match typeloom::check(&bytes, &options) {
        Ok(checked) => checked,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let external = |_: &_| Err("no case has other files".to_owned());
    let session = match EngineSession::of_checked(Arc::clone(engine), &mut checked, &external, verify) {
        Ok(session) => session,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let inputs = match case.inputs_of(session.inputs()) {
        Ok(inputs) => inputs,
        Err(error) => return Verdict::Refused(error),
    };
    let outcome = match session.run(inputs) {
        Ok(outcome) => outcome,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let is_random = case.ops().iter().any(|op| RANDOM.contains(op)) || case.is_training_dropout();
    for (at, (name, found)) in outcome.outputs.iter().enumerate() {
        let Some(expected) = case.output(at) else { continue };
        let expected = match expected {
            Ok(expected) => expected,
            Err(error) => return Verdict::Refused(error),
        };
        let difference = if is_random {
            compare::types(found, &expected)
        } else {
            compare::values(found, &expected, case.tolerance())
        };
        if let Some(difference) = difference {
            return Verdict::Wrong(format!("`{name}`: {difference}"));
        }
    }
    Verdict::Reproduced
}

/// Runs all cases and prints a table by operator.
///
/// # Panics
/// Where a case is wrong, or fewer than `floor` percent are reproduced.
pub(crate) fn run(engine: &Arc<dyn Engine>, floor: f64) {
    let Some(cases) = cases::list() else { return };
    let wanted = std::env::var("TYPELOOM_OPS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|op| !op.is_empty()).collect();
    let mut table: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let (mut total, mut good) = (0_usize, 0_usize);
    let mut wrong = Vec::new();
    // What engines panic about is in the reasons; the messages of the hook would drown the table.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| ()));
    for case in &cases {
        let ops = case.ops();
        let is_outside = ops.iter().any(|op| OUT_OF_SCOPE.iter().any(|domain| op.starts_with(domain)));
        if is_outside || (!wanted.is_empty() && !ops.iter().any(|op| wanted.contains(op))) {
            continue;
        }
        total += 1;
        let row = table.entry(case.subject().to_owned()).or_default();
        row[1] += 1;
        let judged = |verify| {
            catch_unwind(AssertUnwindSafe(|| judge(case, engine, verify)))
                .unwrap_or_else(|_| Verdict::Wrong("it panicked".to_owned()))
        };
        let verdict = match judged(Verify::Inputs) {
            // With every value looked at, an engine cannot fuse operators: what it computes must not change.
            Verdict::Reproduced => match judged(Verify::EveryValue) {
                Verdict::Wrong(why) => Verdict::Wrong(format!("{why}, when every value is held")),
                Verdict::Reproduced | Verdict::Refused(_) => Verdict::Reproduced,
            },
            other => other,
        };
        match verdict {
            Verdict::Reproduced => {
                good += 1;
                row[0] += 1;
            }
            Verdict::Refused(why) => println!("refused       {}: {why}", case.name()),
            Verdict::Wrong(why) => {
                println!("WRONG         {}: {why}", case.name());
                wrong.push(case.name().to_owned());
            }
        }
    }
    std::panic::set_hook(hook);
    println!("\n{:<28} reproduced", "operator");
    for (op, [good, all]) in &table {
        println!("{op:<28} {good:>4} of {all:>4}{}", if good == all { "" } else { "  <- the rest refused" });
    }
    let share = 100.0 * good as f64 / total.max(1) as f64;
    println!("\n{}: {good} of {total} cases ({share:.1} %), the others refused", engine.name());
    assert!(wrong.is_empty(), "silently wrong: {wrong:?}");
    let is_whole = wanted.is_empty() && total > 0;
    assert!(!is_whole || share >= floor, "{share:.1} % of the cases are reproduced, less than {floor} %");
}
