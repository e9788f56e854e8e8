//! The settings of the command line, and where settings files are looked for.

use std::path::PathBuf;
use std::sync::Arc;

use typeloom_project::parts::settings::effective::{SeedText, Settings, Sourced};
use typeloom_project::plan::Plan;
use typeloom_project::settings::{Resolver, SettingsFiles, operators};

use crate::args::{ExcludeArgs, SolveArgs};
use crate::input::{Source, read, read_assumption, read_seed};

/// Looks up the settings of models, over which those of the command line take precedence.
pub(crate) fn resolver(args: &SolveArgs, mut command_line: Settings) -> anyhow::Result<Resolver> {
    let files = match &args.read.config {
        _ if args.read.no_config => SettingsFiles::Ignored,
        Some(path) => SettingsFiles::One(path.clone()),
        None => SettingsFiles::Nearest,
    };
    command_line.extend(solve_settings(args)?);
    Ok(Resolver::new(&files, command_line, current(), read)?)
}

/// A resolver that leaves out the models of `--exclude`.
pub(crate) fn excluding(resolver: Resolver, args: &ExcludeArgs) -> anyhow::Result<Resolver> {
    resolver.excluding(&args.exclude).map_err(|error| anyhow::anyhow!("--exclude: {error}"))
}

/// The plan of the check of a model whose problems are shown, with all settings.
#[cfg(feature = "view")]
pub(crate) fn plan_of_check(
    args: &SolveArgs,
    targets: &[String],
    source: &Source,
) -> anyhow::Result<Arc<Plan>> {
    let targets = targets.iter().cloned().map(Sourced::of_command_line).collect();
    Ok(resolver(args, Settings { targets, ..Settings::default() })?.plan(source)?)
}

/// The plan of a command that uses a model: with the settings of the solver.
pub(crate) fn plan(args: &SolveArgs, source: &Source) -> anyhow::Result<Plan> {
    plan_for(args, source, &[])
}

/// As [`plan`], with the targets of the command line. Those of settings files are for checks.
pub(crate) fn plan_for(args: &SolveArgs, source: &Source, targets: &[String]) -> anyhow::Result<Plan> {
    let targets = targets.iter().cloned().map(Sourced::of_command_line).collect();
    let settings = resolver(args, Settings::default())?.settings(source)?.of_solver();
    let settings = Settings { targets, ..settings };
    let operators = operators(settings.ops.iter().map(|path| &*path.value), read)?;
    Ok(Plan::new(settings, Arc::new(operators), Vec::new())?)
}

/// The current folder.
pub(crate) fn current() -> PathBuf {
    std::env::current_dir().unwrap_or_default()
}

/// The settings of these arguments.
fn solve_settings(args: &SolveArgs) -> anyhow::Result<Settings> {
    let on = |flag: bool| flag.then(|| Sourced::of_command_line(true));
    let seeds = args.seeds.iter().map(|text| {
        let (name, text, seed) = read_seed(text)?;
        Ok((name, Sourced::of_command_line(SeedText { text, seed })))
    });
    let assume = args.assume.iter().map(|text| {
        let (symbol, dim) = read_assumption(text)?;
        Ok((symbol, Sourced::of_command_line(dim)))
    });
    Ok(Settings {
        seeds: seeds.collect::<anyhow::Result<_>>()?,
        assume: assume.collect::<anyhow::Result<_>>()?,
        ops: args.read.ops.iter().cloned().map(Sourced::of_command_line).collect(),
        permissive: on(args.read.permissive),
        merge_symbols: on(args.merge_symbols),
        ..Settings::default()
    })
}
