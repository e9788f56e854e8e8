//! `typeloom link A B -o FILE`: one model that computes B on outputs of A.
//!
//! [`relocate`] decides the locations of files with tensors. Nothing is copied through memory.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::bail;
use serde_json::{Map, Value, json};
use typeloom_project::file::{File, is_text_name};
use typeloom_project::parts::io::files::relocate::{Model, Placement, RelocateError, Relocated, relocate};
use typeloom_project::parts::link::{
    Casts, Connection, LinkError, LinkOptions, Narrowing, Outputs, Part, Unproven, external_locations,
};
use typeloom_project::parts::report;
use typeloom_project::plan::Plan;

use crate::args::{ExternalData, LinkArgs, LinkCasts, SolveArgs, TextFormat};
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::output::{self, complain, write};
use crate::settings::plan;
use crate::target::Target;

pub(crate) fn run(args: &LinkArgs) -> anyhow::Result<Outcome> {
    let sources = [input::source(&args.first), input::source(&args.second)];
    if sources.iter().all(|source| source.path().is_none()) {
        bail!("only one of the models can be standard input");
    }
    let target = target(args)?;
    let settings = SolveArgs { read: args.read.clone(), ..SolveArgs::default() };
    let plan = plan(&settings, &sources[0])?;
    let files = [sources[0].open()?, sources[1].open()?];
    let Relocated { locations, copies } = external(args, &sources, &files, &target)?;
    let options = options(args, locations, &plan)?;
    for (source, file) in sources.iter().zip(&files) {
        if let Some(outcome) = unusable(args, &plan, source, file)? {
            return Ok(outcome);
        }
    }
    let part = |at: usize| Part { name: &sources[at].name, bytes: files[at].model().shared() };
    let linked = match plan.link(&[part(0), part(1)], &options) {
        Ok(linked) => linked,
        Err(error) => return refuse(args, &sources, &target, &error),
    };
    let copies = copies.iter().map(|copied| Ok((copied, Target::output(&copied.to.display().to_string())?)));
    let copies = copies.collect::<anyhow::Result<Vec<_>>>()?;
    for (copied, to) in &copies {
        to.write_copy(copied.open().map_err(|reason| anyhow::anyhow!("cannot copy: {reason}"))?)?;
    }
    target.write_pieces(&[files[0].model(), files[1].model()], &linked.pieces)?;
    if target.is_stdout() {
        return Ok(Outcome::Typed);
    }
    write(&match args.format {
        TextFormat::Json => json(args, &sources, &target, report::link::value(&linked)),
        TextFormat::Human => format!(
            "{}{}{} + {} -> {}: {}\n",
            report::link::summary(&linked),
            copies.iter().map(|(file, to)| copied(&file.from(), to)).collect::<String>(),
            sources[0].name,
            sources[1].name,
            target.name(),
            typeloom_project::parts::onnx::text::escape(&linked.interface.to_string())
        ),
    })?;
    Ok(Outcome::Typed)
}

fn copied(from: &Path, to: &Target) -> String {
    format!(
        "{} -> {}: copied\n",
        typeloom_project::parts::onnx::text::escape(&from.display().to_string()),
        to.name()
    )
}

/// The file to write, which is neither of the models.
fn target(args: &LinkArgs) -> anyhow::Result<Target> {
    if is_text_name(std::ffi::OsStr::new(&args.output)) {
        bail!("linked models are written in binary form, not as a text; use --output with another name");
    }
    Target::output(&args.output)
}

fn options(
    args: &LinkArgs,
    locations: Vec<BTreeMap<String, String>>,
    plan: &Plan,
) -> anyhow::Result<LinkOptions> {
    let map = args.map.iter().map(|text| connection(text)).collect::<anyhow::Result<_>>()?;
    let outputs = match (args.keep_all, args.keep.is_empty()) {
        (true, _) => Outputs::All,
        (false, true) => Outputs::Unconsumed,
        (false, false) => Outputs::Named(args.keep.clone()),
    };
    Ok(LinkOptions {
        map,
        casts: match args.cast {
            LinkCasts::Never => Casts::Never,
            LinkCasts::Lossless => Casts::Lossless,
            LinkCasts::Any => Casts::Any,
        },
        narrowing: if args.narrow { Narrowing::Allow } else { Narrowing::Reject },
        unproven: if args.accept_unproven { Unproven::Accept } else { Unproven::Reject },
        outputs,
        prefixes: [args.prefix_a.clone(), args.prefix_b.clone()],
        locations: locations.try_into().unwrap_or_default(),
        mode: plan.options.mode,
    })
}

/// `OUTPUT=INPUT`; a name that contains `=` is in double quotes.
fn connection(text: &str) -> anyhow::Result<Connection> {
    let quoted = text.strip_prefix('"').and_then(|rest| rest.split_once("\"="));
    match quoted.or_else(|| text.split_once('=')) {
        Some((output, input)) if !output.is_empty() && !input.is_empty() => {
            let input = input.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(input);
            Ok(Connection::new(output, input))
        }
        Some(_) | None => bail!("a connection is written OUTPUT=INPUT, not `{text}`"),
    }
}

/// The outcome of a model with problems of its own, which are shown.
fn unusable(args: &LinkArgs, plan: &Plan, source: &Source, file: &File) -> anyhow::Result<Option<Outcome>> {
    let Err(diagnostics) =
        source.with_side_files(|side| plan.well_typed(file, side).map(|it| it.map(drop)))?
    else {
        return Ok(None);
    };
    match args.format {
        TextFormat::Json => {
            let mut object = Map::new();
            object.insert("linked".to_owned(), json!(false));
            object.insert("diagnostics".to_owned(), report::json::values(&source.name, &diagnostics));
            write(&report::json::line(&source.name, object))?;
            Ok(Some(Outcome::Problems))
        }
        TextFormat::Human => output::refuse(&source.name, &diagnostics, args.color, "not linked").map(Some),
    }
}

/// Shows the reasons why the models do not fit.
fn refuse(
    args: &LinkArgs,
    sources: &[Source; 2],
    target: &Target,
    error: &LinkError,
) -> anyhow::Result<Outcome> {
    let (name, diagnostics) = match error {
        LinkError::IllTypedResult { diagnostics } => (args.output.as_str(), &diagnostics[..]),
        LinkError::IllTyped { file, diagnostics } => (file.as_str(), &diagnostics[..]),
        _ => ("", &[][..]),
    };
    let is_argument = matches!(error, LinkError::Map(_));
    match args.format {
        TextFormat::Json => {
            let mut object = report::link::error_value(error);
            object.insert("diagnostics".to_owned(), report::json::values(name, diagnostics));
            write(&json(args, sources, target, object))?;
        }
        TextFormat::Human if is_argument => complain(&anyhow::anyhow!("{error}")),
        TextFormat::Human => write(&format!(
            "{}{}{} + {}: {}\n",
            report::human::diagnostics(name, diagnostics, args.color.paint()),
            report::link::error(error),
            sources[0].name,
            sources[1].name,
            report::link::verdict(error)
        ))?,
    }
    Ok(if is_argument { Outcome::Unusable } else { Outcome::Problems })
}

fn json(_: &LinkArgs, sources: &[Source; 2], target: &Target, object: Map<String, Value>) -> String {
    let mut all = Map::new();
    all.insert("first".to_owned(), json!(sources[0].name));
    all.insert("second".to_owned(), json!(sources[1].name));
    all.extend(object);
    report::json::line(target.name(), all)
}

/// New locations of the files with tensors, and the files to copy.
fn external(
    args: &LinkArgs,
    sources: &[Source; 2],
    files: &[File; 2],
    target: &Target,
) -> anyhow::Result<Relocated> {
    let model = |at: usize| Model {
        name: &sources[at].name,
        folder: sources[at].folder(),
        // Malformed files are reported by the check.
        locations: external_locations(files[at].model().shared()).unwrap_or_default(),
    };
    let placement = match args.external {
        ExternalData::Keep => Placement::Keep,
        ExternalData::Copy => Placement::Copy,
    };
    let models = [model(0), model(1)];
    if let (None, Some(model)) = (target.path(), models.iter().find(|model| !model.locations.is_empty())) {
        bail!("`{}` has tensors in other files, and standard output has no folder", model.name);
    }
    relocate(&models, target.path(), placement).map_err(|error| {
        let is_outside = matches!(error, RelocateError::Outside { .. });
        anyhow::anyhow!("{error}{}", if is_outside { " with `--external copy`" } else { "" })
    })
}
