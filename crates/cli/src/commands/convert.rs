//! `typeloom convert FILE --to TYPE -o FILE`: another floating-point precision.

#[cfg(feature = "run")]
use anyhow::Context as _;
use anyhow::bail;
use serde_json::{Map, Value};
use typeloom_project::check::{SideFiles, problem};
use typeloom_project::convert::Conversion;
#[cfg(feature = "run")]
use typeloom_project::convert::measure::Found;
use typeloom_project::file::File;
#[cfg(feature = "run")]
use typeloom_project::parts::components::source::npz;
#[cfg(feature = "run")]
use typeloom_project::parts::onnx::text::escape;
use typeloom_project::parts::report;
use typeloom_project::parts::rewrite::convert::{ConvertError, Converted};
use typeloom_project::plan::Plan;

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
    let target = if args.dry_run { None } else { Some(Target::of_new(&args.target, &source)?) };
    let file = source.open()?;
    let plan = crate::settings::plan_for(&args.solve, &source, &args.targets)?;
    let (converted, evidence) = match converted(args, &plan, &file, &conversion)? {
        Ok(found) => found,
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
        TextFormat::Json => {
            let mut fields = report::convert::value(&converted);
            fields.extend(evidence.fields);
            report::json::line(&source.name, fields)
        }
        TextFormat::Human => format!(
            "{}{}{} -> {name}: {}\n",
            report::convert::summary(&converted),
            evidence.text,
            source.name,
            report::convert::count(&converted)
        ),
    })?;
    Ok(Outcome::Typed)
}

/// The measured error as text and as JSON.
#[derive(Default)]
struct Evidence {
    text: String,
    fields: Map<String, Value>,
}

type Result<T> = std::result::Result<T, ConvertError>;

#[cfg(not(feature = "run"))]
fn converted(
    _args: &ConvertArgs,
    plan: &Plan,
    file: &File,
    conversion: &Conversion,
) -> anyhow::Result<Result<(Converted, Evidence)>> {
    Ok(plan.convert(file, conversion).map(|converted| (converted, Evidence::default())))
}

/// Converts the model, and measures its error if the arguments ask for it.
#[cfg(feature = "run")]
fn converted(
    args: &ConvertArgs,
    plan: &Plan,
    file: &File,
    conversion: &Conversion,
) -> anyhow::Result<Result<(Converted, Evidence)>> {
    if !args.measure && args.data.is_none() && args.tolerance.is_none() {
        return Ok(plan.convert(file, conversion).map(|converted| (converted, Evidence::default())));
    }
    // Errors of the model are reported before it runs.
    let first = match plan.convert(file, conversion) {
        Ok(converted) => converted,
        Err(error) => return Ok(Err(error)),
    };
    let given = match &args.data {
        Some(path) => {
            let cannot = || format!("cannot read `{}`", path.display());
            let bytes = input::read(path).with_context(cannot)?;
            npz::read(&bytes).with_context(cannot)?
        }
        None => Vec::new(),
    };
    let original = plan.original(file, given, args.random_seed)?;
    let Some(tolerance) = args.tolerance else {
        let measurement = plan.measure(file, &original, &first, conversion.to)?;
        let fields = Map::from_iter([("error".to_owned(), measurement.value())]);
        return Ok(Ok((first, Evidence { text: measurement.text(), fields })));
    };
    if tolerance.is_nan() || tolerance < 0.0 {
        bail!("the tolerance is a number of at least 0, not {tolerance}");
    }
    let Found { converted, measurement, keep, runs } = plan.search(file, &original, conversion, tolerance)?;
    let reached = measurement.error();
    let verdict = if reached <= tolerance { "within" } else { "above" };
    let kept: String =
        keep.iter().map(|node| format!("kept for the tolerance: {}\n", escape(node))).collect();
    let text = format!(
        "{}{kept}error {reached:.1e}, {verdict} the tolerance of {tolerance:.1e}, after {runs} conversions\n",
        measurement.text()
    );
    let fields = Map::from_iter([
        ("error".to_owned(), measurement.value()),
        ("kept_for_tolerance".to_owned(), keep.into()),
        ("within_tolerance".to_owned(), (reached <= tolerance).into()),
    ]);
    Ok(Ok((converted, Evidence { text, fields })))
}
