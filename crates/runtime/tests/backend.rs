//! The recorded node cases: models with inputs and the outputs of the ONNX reference implementation.
//!
//! The cases are read from a directory next to the repository or from `TYPELOOM_CONFORMANCE`. If they are
//! absent, the test prints a note and passes, except under `CI=true`. It prints a table by operator and names
//! every failing case; `TYPELOOM_OPS=Relu,Conv` restricts a run to cases that use these operators. Every run
//! is verified: a value that contradicts its solved type fails the test.

#![expect(clippy::print_stdout, reason = "the test prints a table")]

#[path = "backend/cases.rs"]
mod cases;
#[path = "backend/compare.rs"]
mod compare;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cases::Case;
use typeloom_cpu::ops;
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::error::{NodeError, RunError};
use typeloom_runtime::options::Verify;
use typeloom_runtime::session::{RunOutcome, Session};
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;

/// Domains that are out of scope. Images are decoded with the feature `images` only.
const OUT_OF_SCOPE: &[&str] = &["ai.onnx.preview.training"];

/// Operators with a random result, of which only the type is compared.
const RANDOM: &[&str] =
    &["Bernoulli", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial"];

enum Verdict {
    Reproduced,
    Refused(String),
    Wrong(String),
    Contradicted(String),
}

fn contradicts(error: &RunError) -> bool {
    match error {
        RunError::Input { .. } => true,
        RunError::Node { error: NodeError::Mismatch { .. }, .. } => true,
        RunError::Node { error: NodeError::Nested(inside), .. } => contradicts(inside),
        RunError::Precondition { .. } => true,
        _ => false,
    }
}

fn judge(case: &Case, universe: &Arc<Universe>) -> Verdict {
    let bytes = case.model();
    let options = Options { mode: Mode::Permissive, ..Options::default() };
    let mut checked = match check(&bytes, &Standard, universe, &options) {
        Ok(checked) => checked,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let is_well_typed = checked.is_ok();
    let external = |_: &_| Err("no case has other files".to_owned());
    let session = match Session::of_checked(&mut checked, &external) {
        Ok(session) => session,
        Err(error) => return Verdict::Refused(error.to_string()),
    };
    let inputs = match case.inputs(&session) {
        Ok(inputs) => inputs,
        Err(error) => return Verdict::Refused(error),
    };
    // The written schedule with verification of every value, then the optimized one.
    for verify in [Verify::EveryValue, Verify::Inputs] {
        let outcome = match session.run(inputs.clone(), verify) {
            Ok(outcome) => outcome,
            // Ill-typed models may contradict their declared types.
            Err(error) if is_well_typed && contradicts(&error) => {
                return Verdict::Contradicted(error.to_string());
            }
            Err(error) => return Verdict::Refused(error.to_string()),
        };
        if let Some(verdict) = compared(case, &outcome) {
            return verdict;
        }
    }
    Verdict::Reproduced
}

/// Difference between the outputs and the recorded ones.
fn compared(case: &Case, outcome: &RunOutcome) -> Option<Verdict> {
    let is_random = case.ops().iter().any(|op| RANDOM.contains(op)) || case.is_training_dropout();
    for (at, (name, found)) in outcome.outputs.iter().enumerate() {
        let Some(expected) = case.output(at) else { continue };
        let expected = match expected {
            Ok(expected) => expected,
            Err(error) => return Some(Verdict::Refused(error)),
        };
        let difference = if is_random {
            compare::types(found, &expected)
        } else {
            compare::values(found, &expected, case.tolerance())
        };
        if let Some(difference) = difference {
            return Some(Verdict::Wrong(format!("`{name}`: {difference}")));
        }
    }
    None
}

#[test]
fn recorded_node_cases_are_reproduced() {
    let Some(cases) = cases::list() else { return };
    let universe = Universe::standard().clone();
    let wanted = std::env::var("TYPELOOM_OPS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|op| !op.is_empty()).collect();
    let mut table: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    let decodes_images = ops::find("", "ImageDecoder").is_some();
    let (mut total, mut good) = (0_usize, 0_usize);
    let mut forbidden = Vec::new();
    for case in &cases {
        let own = case.ops();
        let is_outside = own.iter().any(|op| OUT_OF_SCOPE.iter().any(|domain| op.starts_with(domain)))
            || (!decodes_images && own.contains(&"ImageDecoder"));
        if is_outside || (!wanted.is_empty() && !own.iter().any(|op| wanted.contains(op))) {
            continue;
        }
        let verdict = catch_unwind(AssertUnwindSafe(|| judge(case, &universe)))
            .unwrap_or_else(|_| Verdict::Wrong("it panicked".to_owned()));
        total += 1;
        let row = table.entry(case.subject().to_owned()).or_default();
        row[1] += 1;
        match verdict {
            Verdict::Reproduced => {
                good += 1;
                row[0] += 1;
            }
            Verdict::Refused(why) => println!("refused       {}: {why}", case.name()),
            Verdict::Wrong(why) => {
                println!("WRONG         {}: {why}", case.name());
                forbidden.push(case.name().to_owned());
            }
            Verdict::Contradicted(why) => {
                println!("CONTRADICTED  {}: {why}", case.name());
                forbidden.push(case.name().to_owned());
            }
        }
    }
    println!("\n{:<28} reproduced", "operator");
    for (op, [good, all]) in &table {
        println!("{op:<28} {good:>4} of {all:>4}{}", if good == all { "" } else { "  <-" });
    }
    let share = 100.0 * good as f64 / total.max(1) as f64;
    println!("\n{good} of {total} cases ({share:.1} %)");
    assert!(forbidden.is_empty(), "silently wrong, or against the solved types: {forbidden:?}");
    assert!(good == total, "{good} of {total} cases are reproduced");
}
