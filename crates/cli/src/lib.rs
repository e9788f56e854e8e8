//! The `typeloom` command: files in, types and diagnostics out.
//!
//! This crate is a thin layer: it reads files, draws progress, writes to the terminal and chooses the exit
//! code. Other crates check the models and render the results.
//!
//! It is a library, so that the crate of an external engine can provide `typeloom run` with that engine as
//! backend: see [`engine`].
//!
//! Exit codes: see [`exit`].

mod args;
mod barrier;
mod baselines;
mod commands;
#[cfg(feature = "rust")]
mod documentation;
mod input;
mod interrupt;
mod ordered;
mod output;
#[cfg(feature = "terminal")]
mod progress;
#[cfg(not(feature = "terminal"))]
#[path = "progress/absent.rs"]
mod progress;
mod reads;
mod reports;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "view")]
mod scenes;
#[cfg(not(feature = "view"))]
#[path = "scenes/absent.rs"]
mod scenes;
#[cfg(feature = "view")]
mod serve;
mod settings;
mod sources;
mod target;
mod worker;

#[cfg(feature = "run")]
pub mod engine;
pub mod exit;

use std::ffi::OsString;
use std::process::ExitCode;

/// The command `typeloom` with the arguments of this process.
#[must_use]
pub fn command() -> ExitCode {
    ExitCode::from(command_with(std::env::args_os()))
}

/// The command `typeloom` with these arguments, the name of the program first; returns the exit code.
///
pub fn command_with<T: Into<OsString> + Clone>(arguments: impl IntoIterator<Item = T>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let arguments = args::renamed(&arguments).unwrap_or(arguments);
    let args = match args::parse(&arguments) {
        Ok(args) => args,
        Err(code) => return code,
    };
    barrier::install();
    output::exit_code(barrier::guard("typeloom", || run(&args, &arguments)))
}

fn run(args: &args::Args, arguments: &[OsString]) -> anyhow::Result<exit::Outcome> {
    if let Some(types) = &args.common.types {
        input::extend_types(types)?;
    }
    match &args.command {
        args::Command::Check(check) => commands::check::run(check, arguments),
        args::Command::Config(config) => commands::config::run(config),
        args::Command::Convert(convert) => commands::convert::run(convert),
        args::Command::Infer(infer) => commands::infer::run(infer),
        args::Command::View(view) => commands::view::run(view),
        args::Command::Explain(explain) => commands::explain::run(explain),
        args::Command::Ops(ops) => commands::ops::run(ops),
        args::Command::Run(run) => commands::run::start(run, arguments.get(1..).unwrap_or_default()),
        args::Command::Fix(fix) => commands::fix::run(fix),
        args::Command::Annotate(annotate) => commands::annotate::run(annotate),
        args::Command::Specialize(specialize) => commands::specialize::run(specialize),
        args::Command::Describe(describe) => commands::describe::run(describe),
        args::Command::Compile(compile) => commands::compile::run(compile),
        args::Command::Diff(diff) => commands::diff::run(diff),
        args::Command::Registry(registry) => commands::registry::run(registry),
        args::Command::Cost(cost) => commands::cost::run(cost),
        args::Command::Link(link) => commands::link::run(link),
        args::Command::Rust(rust) => commands::rust::run(rust),
        args::Command::Targets(targets) => commands::targets::run(targets),
        args::Command::Completions(completions) => commands::completions::run(completions),
        args::Command::Man(man) => commands::man::run(man),
    }
}
