//! `typeloom infer FILE...`: the type of every value.

use serde_json::{Map, Value};
use typeloom_report as report;
use typeloom_solver::diagnostic::diagnose_error;
use typeloom_solver::model::{CheckError, Checked};

use crate::args::{InferArgs, InferFormat};
use crate::input::{self, Solve, Source};
use crate::output::{Outcome, complain, write};

pub(crate) fn run(args: &InferArgs) -> anyhow::Result<Outcome> {
    let solve = input::solve(&args.solve)?;
    let mut outcome = Outcome::Typed;
    for source in input::sources(&args.files)? {
        outcome = outcome.max(one(args, &solve, &source).unwrap_or_else(|error| {
            complain(&error);
            Outcome::Unusable
        }));
    }
    Ok(outcome)
}

fn one(args: &InferArgs, solve: &Solve, source: &Source) -> anyhow::Result<Outcome> {
    let bytes = source.open()?;
    match solve.check(&bytes) {
        Ok(mut checked) => {
            let ok = checked.is_ok();
            match args.format {
                InferFormat::Json => write(&json(&source.name, solve, &bytes, &mut checked)?)?,
                InferFormat::Table => {
                    write(&format!("{}\n{}", source.name, report::table::render(&mut checked)))?;
                    let diagnostics = solve.diagnose(&bytes, &mut checked);
                    if !diagnostics.is_empty() {
                        write("\n")?;
                    }
                    write(&report::human::diagnostics(&source.name, &diagnostics, args.color.paint()))?;
                }
            }
            Ok(if ok { Outcome::Typed } else { Outcome::Problems })
        }
        Err(error) => unreadable(args, source, &error),
    }
}

/// An invalid file is a problem of the file, not of the command.
fn unreadable(args: &InferArgs, source: &Source, error: &CheckError) -> anyhow::Result<Outcome> {
    let Some(diagnostic) = diagnose_error(error) else {
        return Err(anyhow::Error::new(error.clone()).context(format!("cannot check `{}`", source.name)));
    };
    match args.format {
        InferFormat::Json => {
            let mut object = Map::new();
            object.insert("file".to_owned(), Value::String(source.name.clone()));
            object.insert("ok".to_owned(), Value::Bool(false));
            object.insert(
                "diagnostics".to_owned(),
                Value::Array(vec![report::json::value(&source.name, &diagnostic)]),
            );
            write(&(report::json::text(&Value::Object(object)) + "\n"))?;
        }
        InferFormat::Table => {
            write(&report::human::diagnostics(&source.name, &[diagnostic], args.color.paint()))?;
        }
    }
    Ok(Outcome::Problems)
}

fn json(name: &str, solve: &Solve, bytes: &[u8], checked: &mut Checked<'_>) -> anyhow::Result<String> {
    let ok = checked.is_ok();
    let mut object = Map::new();
    object.insert("file".to_owned(), Value::String(name.to_owned()));
    object.insert("ok".to_owned(), Value::Bool(ok));
    object.extend(report::infer::types(checked));
    let equations = report::infer::equations(checked);
    if !equations.is_empty() {
        object.insert("equations".to_owned(), Value::Array(equations));
    }
    let diagnostics = solve.diagnose(bytes, checked);
    let diagnostics = diagnostics.iter().map(|diagnostic| report::json::value(name, diagnostic)).collect();
    object.insert("diagnostics".to_owned(), Value::Array(diagnostics));
    Ok(report::json::text(&Value::Object(object)) + "\n")
}
