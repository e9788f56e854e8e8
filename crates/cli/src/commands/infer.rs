//! `typeloom infer FILE...`: the type of every value.

use serde_json::{Map, json};
use typeloom_report as report;
use typeloom_settings::effective::Settings;
use typeloom_solver::model::Checked;

use crate::args::{InferArgs, InferFormat};
use crate::exit::Outcome;
use crate::input::{self, Checker, Source};
use crate::output::{complain, write};
use crate::settings::Resolver;

pub(crate) fn run(args: &InferArgs) -> anyhow::Result<Outcome> {
    let mut settings = Resolver::new(&args.solve, Settings::default())?;
    let mut outcome = Outcome::Typed;
    for source in input::sources(&args.files, &mut settings)? {
        let plan = settings.plan(&source)?;
        outcome = outcome.max(one(args, &plan.checker, &source).unwrap_or_else(|error| {
            complain(&error);
            Outcome::Unusable
        }));
    }
    Ok(outcome)
}

/// Shows the types of a model. An invalid file is a problem of the file, not of the command.
fn one(args: &InferArgs, checker: &Checker, source: &Source) -> anyhow::Result<Outcome> {
    let bytes = source.open()?;
    let mut checked = checker.check(source, &bytes)?;
    let is_ok = checked.as_ref().is_ok_and(Checked::is_ok);
    let text = match args.format {
        InferFormat::Json => {
            let mut object = Map::new();
            object.insert("ok".to_owned(), json!(is_ok));
            if let Ok(checked) = &mut checked {
                object.extend(report::infer::types(checked));
                let equations = report::infer::equations(checked);
                if !equations.is_empty() {
                    object.insert("equations".to_owned(), json!(equations));
                }
            }
            let diagnostics = checker.diagnose(&bytes, &mut checked);
            let diagnostics = report::json::values(&source.name, &diagnostics);
            object.insert("diagnostics".to_owned(), diagnostics);
            report::json::line(&source.name, object)
        }
        InferFormat::Table => {
            let mut text = String::new();
            if let Ok(checked) = &mut checked {
                text = format!("{}\n{}", source.name, report::table::render(checked));
            }
            let diagnostics = checker.diagnose(&bytes, &mut checked);
            if !(text.is_empty() || diagnostics.is_empty()) {
                text.push('\n');
            }
            text + &report::human::diagnostics(&source.name, &diagnostics, args.color.paint())
        }
    };
    write(&text)?;
    Ok(if is_ok { Outcome::Typed } else { Outcome::Problems })
}
