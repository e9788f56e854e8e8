//! `typeloom infer FILE [VALUE]...`: the types of all values, or of some.

use std::path::Path;

use anyhow::bail;
use serde_json::{Map, json};
use typeloom::check::Checked;
use typeloom_project::check::SideFiles;
use typeloom_project::parts::report;
use typeloom_project::parts::report::selection::Selection;
use typeloom_project::parts::report::table::TableOptions;
use typeloom_project::parts::settings::effective::Settings;
use typeloom_project::parts::solver::diagnostic::text::{quote, suggestion};
use typeloom_project::plan::Plan;

use crate::args::{InferArgs, InferFormat};
use crate::barrier;
use crate::baselines;
use crate::exit::Outcome;
use crate::input::Source;
use crate::output::{complain, terminal_width, write};
use crate::settings;
use crate::sources::{ignored, sources};

pub(crate) fn run(args: &InferArgs) -> anyhow::Result<Outcome> {
    let settings = settings::resolver(&args.solve, Settings::default())?;
    let mut settings = settings::excluding(settings, &args.folders.exclude)?;
    let selection = Selection::new(args.values.iter().cloned(), &args.filters)?;
    let mut outcome = Outcome::Typed;
    for source in sources(std::slice::from_ref(&args.file), ignored(&args.folders), &mut settings)?.iter() {
        let plan = settings.plan(&source)?;
        let one = || one(args, &selection, &plan, &source);
        outcome = outcome.max(barrier::guard(&source.name, one).unwrap_or_else(|error| {
            complain(&error);
            Outcome::Unusable
        }));
    }
    Ok(outcome)
}

/// Shows the types of a model. An invalid file is a problem of the file, not of the command.
fn one(args: &InferArgs, selection: &Selection, plan: &Plan, source: &Source) -> anyhow::Result<Outcome> {
    let file = source.read()?;
    // The types do not depend on weights, so a model without them has types and no problem here.
    let mut examined = plan.check(&file, SideFiles::Unchecked)?;
    baselines::apply(plan, source, &mut examined.findings)?;
    let diagnostics = examined.findings.to_vec();
    let is_ok = examined.findings.is_ok();
    let mut checked = examined.checked.as_mut().map(Checked::solved);
    if let Some(checked) = &checked
        && let Some(name) = selection.missing(checked)
    {
        let near = checked.names_like(name);
        if near.is_empty() && Path::new(name).exists() {
            bail!(
                "`{}` has no value {}; several models are given as a folder, a glob or a list",
                source.name,
                quote(name)
            );
        }
        bail!("`{}` has no value {}{}", source.name, quote(name), suggestion(&near));
    }
    let text = match args.format {
        InferFormat::Json => {
            let mut object = Map::new();
            object.insert("ok".to_owned(), json!(is_ok));
            if let Some(checked) = &mut checked {
                object.extend(report::infer::types_of(checked, selection));
                let equations = report::infer::equations(checked);
                if selection.is_all() && !equations.is_empty() {
                    object.insert("equations".to_owned(), json!(equations));
                }
            }
            let diagnostics = report::json::values(&source.name, &diagnostics);
            object.insert("diagnostics".to_owned(), diagnostics);
            report::json::line(&source.name, object)
        }
        InferFormat::Table => {
            let mut text = String::new();
            if let Some(checked) = &mut checked {
                let width = args.width.map_or_else(terminal_width, |width| (width > 0).then_some(width));
                let table = report::table::render_with(checked, TableOptions { selection, width });
                text = match &table[..] {
                    "" if !selection.is_all() => format!("{}: no value matches\n", source.name),
                    table => format!("{}\n{table}", source.name),
                };
            }
            if !(text.is_empty() || diagnostics.is_empty()) {
                text.push('\n');
            }
            text + &report::human::diagnostics(&source.name, &diagnostics, args.color.paint())
        }
    };
    write(&text)?;
    Ok(if is_ok { Outcome::Typed } else { Outcome::Problems })
}
