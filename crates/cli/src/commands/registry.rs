//! `typeloom registry`: versions of interfaces in a folder or an object store.

mod open;
mod push;
mod text;

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use typeloom::check::Diagnostic;
use typeloom_project::interfaces;
use typeloom_project::parts::io::stores::Missing;
use typeloom_project::parts::registry::entry::Ports;
use typeloom_project::parts::registry::gc::{Collection, Effect};
use typeloom_project::parts::registry::json as objects;
use typeloom_project::parts::registry::settings::Settings as Changes;
use typeloom_project::parts::registry::verify::Checkpoint;
use typeloom_project::parts::report;
use typeloom_project::parts::settings::effective::Settings;
use typeloom_project::settings::Resolver;

use crate::args::registry::{
    GcArgs, ListArgs, PullArgs, RegistryArgs, RegistryCheckArgs, RegistryCommand, RegistryLocation, SetArgs,
    ShowArgs, StateArgs, VerifyArgs,
};
use crate::args::{Color, SolveArgs, TextFormat};
use crate::commands::diff::{self, Versions};
use crate::exit::Outcome;
use crate::input::{self, Source};
use crate::output::{refuse, write};
use crate::settings;
use crate::target::Target;

pub(crate) use open::{now, open};

pub(crate) fn run(args: &RegistryArgs) -> anyhow::Result<Outcome> {
    let RegistryArgs { command, at } = args;
    match command {
        RegistryCommand::Push(args) => push::run(args, at),
        RegistryCommand::Pull(args) => run_pull(args, at),
        RegistryCommand::List(args) => run_list(args, at),
        RegistryCommand::Show(args) => run_show(args, at),
        RegistryCommand::Check(args) => run_check(args, at),
        RegistryCommand::Diff(args) => diff::compare(args, Versions::All),
        RegistryCommand::Set(args) => run_set(args, at),
        RegistryCommand::Verify(args) => run_verify(args, at),
        RegistryCommand::Gc(args) => run_gc(args, at),
    }
}

/// Prints a result.
fn show(
    format: TextFormat,
    human: impl FnOnce() -> String,
    object: impl FnOnce() -> Value,
) -> anyhow::Result<()> {
    write(&match format {
        TextFormat::Human => human(),
        TextFormat::Json => report::json::text(&object()) + "\n",
    })
}

/// The settings of the current folder.
fn resolver() -> anyhow::Result<Resolver> {
    settings::resolver(&SolveArgs::default(), Settings::default())
}

/// The settings of a subject that an argument changes.
fn changes(args: &StateArgs) -> Changes {
    let ports = match (args.by_name, args.by_position) {
        (true, _) => Some(Ports::Name),
        (false, true) => Some(Ports::NameAndPosition),
        (false, false) => None,
    };
    Changes { mode: args.mode, ports, ..Changes::default() }
}

/// The interface of a file as a bundle; the diagnostics of a model with errors.
fn read(source: &Source, settings: &mut Resolver) -> anyhow::Result<Result<Vec<u8>, Vec<Diagnostic>>> {
    let content = match interfaces::read(&source.open()?, &*settings.plan(source)?)? {
        Ok(content) => content,
        Err(diagnostics) => return Ok(Err(diagnostics)),
    };
    let bundle = content.bundle().with_context(|| format!("cannot describe `{}`", source.name))?;
    Ok(Ok(bundle.into_bytes()))
}

fn run_check(args: &RegistryCheckArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let source = input::source(&args.file);
    let mut settings = settings::resolver(&args.solve, Settings::default())?;
    let bundle = match read(&source, &mut settings)? {
        Ok(bundle) => bundle,
        Err(diagnostics) => return refuse(&source.name, &diagnostics, Color::Auto, "not compared"),
    };
    let registry =
        open(at.registry.as_deref(), settings.settings(&source)?.registry.as_ref(), Missing::Refuse)?;
    let verdict = registry.check(&args.reference, &bundle, args.mode)?;
    show(args.format, || text::verdict(&source.name, &verdict), || objects::verdict(&verdict))?;
    Ok(if verdict.is_compatible() { Outcome::Typed } else { Outcome::Problems })
}

fn run_pull(args: &PullArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let registry = of_current_folder(at)?;
    let pulled = registry.pull(&args.reference)?;
    if let Some(output) = &args.output {
        let target = Target::output(output)?;
        target.write(&pulled.bundle)?;
        if target.is_stdout() {
            return Ok(Outcome::Typed);
        }
    }
    show(args.format, || text::pulled(&pulled, args.output.as_deref()), || objects::pulled(&pulled))?;
    Ok(Outcome::Typed)
}

fn of_current_folder(at: &RegistryLocation) -> anyhow::Result<typeloom_project::parts::registry::Registry> {
    let settings = resolver()?.settings(&input::source("-"))?;
    open(at.registry.as_deref(), settings.registry.as_ref(), Missing::Refuse)
}

fn run_list(args: &ListArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let subjects = of_current_folder(at)?.list(args.prefix.as_ref())?;
    match args.format {
        TextFormat::Human => write(&text::list(&subjects))?,
        TextFormat::Json => {
            for subject in &subjects {
                write(&(report::json::text(&objects::current(subject)) + "\n"))?;
            }
        }
    }
    Ok(Outcome::Typed)
}

fn run_show(args: &ShowArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let registry = of_current_folder(at)?;
    match args.reference.version {
        typeloom_project::parts::registry::names::Named::No => {
            let history = registry.show(&args.reference.subject, args.limit)?;
            show(args.format, || text::history(&history), || objects::history(&history))?;
        }
        typeloom_project::parts::registry::names::Named::Yes => {
            let pulled = registry.pull(&args.reference)?;
            show(
                args.format,
                || text::version(&pulled),
                || {
                    let mut object = objects::pulled(&pulled);
                    object["interfaces"] = text::interfaces(&pulled);
                    object
                },
            )?;
        }
    }
    Ok(Outcome::Typed)
}

fn run_set(args: &SetArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let mut changes = changes(&args.state);
    changes.aliases = args.aliases.iter().cloned().collect::<BTreeMap<_, _>>();
    changes.removed = args.removed.iter().cloned().collect();
    if changes == Changes::default() {
        bail!("nothing to set: --mode, --by-name, --by-position, --alias or --remove-alias");
    }
    let current = of_current_folder(at)?.set(&args.subject, &changes, now()?)?;
    show(args.format, || text::list(std::slice::from_ref(&current)), || objects::current(&current))?;
    Ok(Outcome::Typed)
}

fn run_verify(args: &VerifyArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let checkpoint = match &args.checkpoint {
        None => None,
        Some(path) => {
            let cannot = || format!("cannot read `{}`", path.display());
            Some(Checkpoint::decode(&input::read(path).with_context(cannot)?).with_context(cannot)?)
        }
    };
    let target = match (&args.output, &args.checkpoint) {
        (Some(output), _) => Some(Target::output(output)?),
        (None, Some(path)) if args.in_place => Some(Target::replacing(&path.display().to_string())),
        (None, _) => None,
    };
    let report = of_current_folder(at)?.verify(args.subject.as_ref(), checkpoint.as_ref())?;
    show(args.format, || text::report(&report), || objects::report(&report))?;
    if !report.is_valid() {
        return Ok(Outcome::Problems);
    }
    if let Some(target) = target {
        let mut bytes = report.checkpoint().encode()?;
        bytes.push(b'\n');
        target.write(&bytes)?;
    }
    Ok(Outcome::Typed)
}

fn run_gc(args: &GcArgs, at: &RegistryLocation) -> anyhow::Result<Outcome> {
    let effect = if args.dry_run { Effect::DryRun } else { Effect::Delete };
    let collection = Collection { grace: args.older_than, time: now()?, effect };
    let collected = of_current_folder(at)?.gc(args.subject.as_ref(), collection)?;
    show(
        args.format,
        || text::collected(&collected, effect),
        || json!({"subjects": collected.iter().map(objects::collected).collect::<Vec<_>>()}),
    )?;
    Ok(Outcome::Typed)
}
