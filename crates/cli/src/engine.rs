//! Backends that are separate commands.
//!
//! External engines are large, so `typeloom` does not contain them. Each is a crate with a command
//! `typeloom-engine-NAME`. That command uses this library with the engine as backend: it takes the arguments
//! of `typeloom run` and does all of the work, from reading the model to the exit code.
//! `typeloom run --backend NAME` looks for it in its own folder and then on the path, and starts it with its
//! own arguments.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use typeloom_project::parts::runtime::engine::Engine;

use crate::args::{CPU, RunArgs};
use crate::commands;
use crate::output;

/// `typeloom run`, for one engine.
#[derive(Debug, Parser)]
#[command(version, about = "Runs a model on behalf of `typeloom run --backend`")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// A command of an engine.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Run a model on given inputs, or on random inputs of the solved types
    Run(RunArgs),
}

/// The command `typeloom-engine-NAME`. `make` returns the engine; its argument is the shared library to load,
/// if given.
pub fn command(name: &str, make: impl Fn(Option<&Path>) -> anyhow::Result<Arc<dyn Engine>>) -> ExitCode {
    let Args { verb: Verb::Run(args) } = Args::parse();
    ExitCode::from(output::exit_code(if args.backend == CPU || args.backend == name {
        commands::run::run(&args, Some(&make))
    } else {
        Err(anyhow::anyhow!("this command runs models on {name}, not on {}", args.backend))
    }))
}
