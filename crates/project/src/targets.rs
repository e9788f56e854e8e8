//! Targets by name, and what is known about them, for lists and details.

use serde_json::{Map, Value, json};
use typeloom::targets::{Assignment, Known, Target};
use typeloom_onnx::domain::shown;
use typeloom_solver::diagnostic::text::suggestion;
use typeloom_types::suggest::nearest;

use crate::error::Error;

/// Runtimes and providers for which no facts were found. `docs/targets.md` describes the search.
pub const WITHOUT_FACTS: [&str; 5] = ["CoreML", "DirectML", "CUDA", "WebNN", "WebGPU"];

/// The targets with a name: one, or those of a group.
///
/// # Errors
/// If there is none.
pub fn named(name: &str) -> Result<Vec<Target>, Error> {
    let found = Target::group(name);
    if found.is_empty() {
        let groups = Target::groups().iter().map(|(group, _)| *group);
        let near = nearest(name, Target::all().map(Target::name).chain(groups));
        return Err(Error::Target { name: name.to_owned(), suggestion: suggestion(&near) });
    }
    Ok(found)
}

/// A target in a list, for programs.
#[must_use]
pub fn summary(target: Target) -> Map<String, Value> {
    let mut object = Map::new();
    let mut add = |key: &str, value: Value| object.insert(key.to_owned(), value);
    add("name", json!(target.name()));
    add("source", json!(target.package()));
    match target.facts() {
        Known::Kernels(facts) => {
            add("provider", json!(facts.provider));
            add("operators", json!(facts.operator_count()));
        }
        Known::Measured(table) => {
            add("device", json!(table.device));
            add("operators", json!(table.operators().count()));
        }
    }
    object
}

/// The known facts about a target, for programs.
#[must_use]
pub fn details(target: Target) -> Map<String, Value> {
    let mut object = summary(target);
    let mut add = |key: &str, value: Value| object.insert(key.to_owned(), value);
    match target.facts() {
        Known::Kernels(facts) => {
            add("kernels", json!(facts.kernel_count()));
            add("ir", json!(facts.ir));
            let domains = facts.domains.iter().filter(|(domain, _)| facts.operators_of(domain) > 0);
            let domains = domains.map(|(domain, newest)| (shown(domain).to_owned(), json!(newest)));
            add("domains", Value::Object(domains.collect()));
        }
        Known::Measured(table) => {
            add("through", json!(table.through));
            add("fixed", json!(table.is_fixed));
            add("inputs", json!(table.inputs.need()));
            add("removes_unused", json!(table.removes_unused));
            add("rejects_functions", json!(table.rejects_functions));
            add("measurements", json!(table.rows()));
            let operators = table.operators().map(|(name, operator)| {
                let value = json!({
                    "versions": operator.versions(),
                    "measurements": operator.rows,
                    "cases": {
                        "device": operator.cases(Assignment::Device),
                        "cpu": operator.cases(Assignment::Cpu),
                        "rejected": operator.cases(Assignment::Nowhere),
                        "undecided": operator.cases(Assignment::Unknown),
                    },
                });
                (name.to_owned(), value)
            });
            add("measured", Value::Object(operators.collect()));
        }
    }
    object
}
