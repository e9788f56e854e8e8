//! `typeloom convert FILE --to TYPE -o FILE`: another floating-point precision.

use anyhow::bail;
use typeloom_project::check::{SideFiles, problem};
use typeloom_project::convert::Conversion;
use typeloom_project::parts::report;
use typeloom_project::parts::rewrite::convert::ConvertError;

use crate::args::{ConvertArgs, TextFormat};
use crate::exit::Outcome;
use crate::input;
use crate::output::{refuse, write};
use crate::target::Target;

pub(crate) fn run(args: &ConvertArgs) -> anyhow::Result<Outcome> {
    let mut conversion = Conversion::to(&args.to)?;
    conversion.keep_io = args.keep_io;
    conversion.keep.clone_from(&args.keep);
    let source = input::source(&args.file);
    let target = if args.dry_run { None } else { Some(Target::of(&args.target, &source)?) };
    let file = source.open()?;
    let plan = crate::settings::plan_for(&args.solve, &source, &args.targets)?;
    let converted = match plan.convert(&file, &conversion) {
        Ok(converted) => converted,
        Err(ConvertError::HasErrors) => {
            let diagnostics = match plan.well_typed(&file, SideFiles::Unchecked)? {
                Ok(_) => Vec::new(),
                Err(diagnostics) => diagnostics,
            };
            return refuse(&source.name, &diagnostics, args.color, "not converted");
        }
        Err(ConvertError::Check(error)) => {
            let problem = problem(&file, error)?;
            return refuse(&source.name, &[problem], args.color, "not converted");
        }
        Err(error) => bail!("cannot convert `{}`: {error}", source.name),
    };
    if let Some(target) = &target {
        target.write(&converted.file)?;
        if target.is_stdout() {
            return Ok(Outcome::Typed);
        }
    }
    let name = target.as_ref().map_or("<dry run>", Target::name);
    write(&match args.format {
        TextFormat::Json => report::json::line(&source.name, report::convert::value(&converted)),
        TextFormat::Human => format!(
            "{}{} -> {name}: {}\n",
            report::convert::summary(&converted),
            source.name,
            report::convert::count(&converted)
        ),
    })?;
    Ok(Outcome::Typed)
}
