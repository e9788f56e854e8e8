//! `typeloom rust describe CRATE.json`, `typeloom rust diff OLD.json NEW.json`.

use anyhow::{Context as _, anyhow};
use typeloom::rust::{self, Version, report};
use typeloom::term::Symbols;

use crate::args::{RustArgs, RustCommand, RustDescribeArgs, RustDiffArgs, TextFormat};
use crate::input::{self, Bytes};
use crate::output::{Outcome, write};
use crate::target::Target;

pub(crate) fn run(args: &RustArgs) -> anyhow::Result<Outcome> {
    match &args.command {
        RustCommand::Describe(args) => describe(args),
        RustCommand::Diff(args) => diff(args),
    }
}

fn read(file: &str) -> anyhow::Result<Bytes> {
    input::source(file).open()
}

fn describe(args: &RustDescribeArgs) -> anyhow::Result<Outcome> {
    let json = read(&args.file)?;
    let mut symbols = Symbols::new();
    let api = rust::describe(&json, &mut symbols).with_context(|| format!("`{}`", args.file))?;
    let target = args.output.as_deref().map(Target::named);
    if let Some(target) = &target {
        let bundle = rust::bundle(&api, &mut symbols).with_context(|| format!("`{}`", args.file))?;
        target.write(bundle.as_bytes())?;
    }
    // What goes to standard output is the bundle then, and nothing else.
    if !target.is_some_and(|target| target.is_stdout()) {
        write(&report::description(&api, &mut symbols))?;
    }
    Ok(Outcome::Typed)
}

fn diff(args: &RustDiffArgs) -> anyhow::Result<Outcome> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let changes = rust::compare(&old, &new).map_err(|(version, error)| {
        let file = match version {
            Version::Old => &args.old,
            Version::New => &args.new,
        };
        anyhow!(error).context(format!("`{file}`"))
    })?;
    write(&match args.format {
        TextFormat::Human => report::changes_text(&changes),
        TextFormat::Json => format!("{}\n", report::changes_json(&changes)?),
    })?;
    Ok(if changes.iter().any(|change| change.breaking) { Outcome::Problems } else { Outcome::Typed })
}
