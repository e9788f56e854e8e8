//! `typeloom targets [NAME]`: the targets that `check --target` knows, or what is known about some.

use std::fmt::Write as _;

use serde_json::{Value, json};
use typeloom::targets::{Assignment, Known, Target};
use typeloom_project::parts::onnx::domain::shown;
use typeloom_project::parts::report::json;
use typeloom_project::parts::report::list::aligned;
use typeloom_project::targets::{WITHOUT_FACTS, details, named, summary};

use crate::args::{TargetsArgs, TextFormat};
use crate::exit::Outcome;
use crate::output::write;

pub(crate) fn run(args: &TargetsArgs) -> anyhow::Result<Outcome> {
    let targets = args.name.as_deref().map(named).transpose()?;
    let text = match (targets, args.format) {
        (None, TextFormat::Human) => list(),
        (None, TextFormat::Json) => {
            let targets: Vec<Value> = Target::all().map(|target| Value::Object(summary(target))).collect();
            let groups: serde_json::Map<String, Value> =
                Target::groups().iter().map(|(group, names)| ((*group).to_owned(), json!(names))).collect();
            let all = json!({"targets": targets, "groups": groups, "without_facts": WITHOUT_FACTS});
            json::text(&all) + "\n"
        }
        (Some(targets), TextFormat::Human) => {
            targets.into_iter().map(describe).collect::<Vec<_>>().join("\n")
        }
        (Some(targets), TextFormat::Json) => {
            targets.into_iter().map(|it| json::text(&Value::Object(details(it))) + "\n").collect()
        }
    };
    write(&text)?;
    Ok(Outcome::Typed)
}

/// All targets and groups.
fn list() -> String {
    let head = ["target", "device or provider", "source", "operators"].map(str::to_owned).to_vec();
    let row = |target: Target| {
        let operators = match target.facts() {
            Known::Kernels(facts) => facts.operator_count(),
            Known::Measured(table) => table.operators().count(),
        };
        let [name, provider, source] =
            [target.name(), target.provider(), target.package()].map(str::to_owned);
        vec![name, provider, source, operators.to_string()]
    };
    let targets: Vec<Vec<String>> = std::iter::once(head).chain(Target::all().map(row)).collect();
    let groups = Target::groups().iter().map(|(group, names)| vec![(*group).to_owned(), names.join(", ")]);
    let head = vec!["group".to_owned(), "targets".to_owned()];
    let groups: Vec<Vec<String>> = std::iter::once(head).chain(groups).collect();
    format!(
        "{}\n{}\nno facts were found about {} (docs/targets.md)\n",
        aligned(&targets),
        aligned(&groups),
        WITHOUT_FACTS.join(", ")
    )
}

/// The known facts about a target.
fn describe(target: Target) -> String {
    let mut text = format!("{}\n", target.name());
    let _ = writeln!(text, "  source       {}", target.package());
    match target.facts() {
        Known::Kernels(facts) => {
            let _ = writeln!(text, "  provider     {}", facts.provider);
            let _ = writeln!(text, "  IR versions  up to {}", facts.ir);
            for (domain, newest) in &facts.domains {
                if facts.operators_of(domain) > 0 {
                    let _ = writeln!(text, "  {} up to {newest}", shown(domain));
                }
            }
            let _ = writeln!(text, "  operators    {}", facts.operator_count());
            let _ = writeln!(text, "  kernels      {}", facts.kernel_count());
        }
        Known::Measured(table) => {
            let _ = writeln!(text, "  device       {}", table.device);
            if let Some(through) = table.through {
                let _ = writeln!(text, "  through      {through}");
            }
            let extents = if table.is_fixed { "fixed in all measurements" } else { "fixed and open" };
            let _ = writeln!(text, "  extents      {extents}");
            if let Some(need) = table.inputs.need() {
                let _ = writeln!(text, "  inputs       {need}");
            }
            if table.removes_unused {
                let _ = writeln!(text, "  unused nodes are removed");
            }
            if table.rejects_functions {
                let _ = writeln!(text, "  functions    do not run");
            }
            let _ = writeln!(text, "  operators    {}", table.operators().count());
            let _ = writeln!(text, "  measurements {}", table.rows());
            let head = ["operator", "versions", "measurements", "cases: device", "CPU", "fail", "undecided"];
            let rows = table.operators().map(|(name, operator)| {
                let places = [Assignment::Device, Assignment::Cpu, Assignment::Nowhere, Assignment::Unknown];
                let counts = places.map(|place| operator.cases(place).to_string());
                let versions = operator.versions().join(" ");
                [name.to_owned(), versions, operator.rows.to_string()].into_iter().chain(counts).collect()
            });
            let head = head.map(str::to_owned).to_vec();
            let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
            for line in aligned(&rows).lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
    }
    text
}
