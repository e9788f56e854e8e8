//! `typeloom specialize FILE --assume SYMBOL=DIM -o FILE`: a model for given sizes.

use serde_json::{Map, Value};
use typeloom_project::parts::report;

use crate::args::{SpecializeArgs, TextFormat};
use crate::exit::Outcome;
use crate::input;
use crate::output::{refuse, write};
use crate::scenes;
use crate::target::Target;

pub(crate) fn run(args: &SpecializeArgs) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let target = Target::of_new(&args.target, &source)?;
    let view = scenes::target(args.view.as_deref(), Some(&target))?;
    let file = source.open()?;
    let plan = crate::settings::plan(&args.solve, &source)?;
    let specialized = match plan.specialize(&file)? {
        Ok(specialized) => specialized,
        Err(diagnostics) => match args.format {
            TextFormat::Human => return refuse(&source.name, &diagnostics, args.color, "not specialized"),
            TextFormat::Json => {
                let mut object = Map::new();
                object.insert("diagnostics".to_owned(), report::json::values(&source.name, &diagnostics));
                write(&report::json::line(&source.name, object))?;
                return Ok(Outcome::Problems);
            }
        },
    };
    target.write(&specialized.file)?;
    if !target.is_stdout() {
        write(&match args.format {
            TextFormat::Json => {
                let mut object = report::specialize::value(&specialized);
                object.insert("diagnostics".to_owned(), Value::Array(Vec::new()));
                report::json::line(&source.name, object)
            }
            TextFormat::Human => format!(
                "{}{} -> {}: {}\n",
                report::specialize::summary(&specialized),
                source.name,
                target.name(),
                report::specialize::verdict(&specialized)
            ),
        })?;
    }
    if let Some(page) = &view {
        let changed = file.with_model(specialized.file);
        scenes::write_changes(&args.solve, &source, [&file, &changed], page, Some(&target))?;
    }
    Ok(Outcome::Typed)
}
