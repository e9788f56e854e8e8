//! Backends that are separate commands.
//!
//! External engines are large, so `typeloom` does not contain them. Each is a crate with a command `typeloom-engine-NAME`,
//! which is this library with that engine as backend: it takes the arguments of `typeloom run` and does all of the work,
//! from reading the model to the exit code. `typeloom run --backend NAME` searches that command in its own folder and
//! then on the path, and starts it with its own arguments.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Parser;
use typeloom_runtime::engine::Engine;

use crate::args::RunArgs;
use crate::commands;
use crate::output::{self, Outcome};

/// The backend that is built in.
pub(crate) const CPU: &str = "cpu";

/// The engines whose crates are in this repository, each in `engines/NAME`.
const OURS: &[&str] = &["ort", "tract"];

/// Makes an engine, from the shared library that the arguments name.
pub(crate) type Make<'m> = &'m dyn Fn(Option<&Path>) -> anyhow::Result<Arc<dyn Engine>>;

/// `typeloom run`, for one engine.
#[derive(Debug, Parser)]
#[command(version, about = "Runs a model, as `typeloom run --backend` asks for")]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

/// A command of an engine.
#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Run a model on inputs from files, or on random ones of the types that were solved
    Run(RunArgs),
}

/// The command `typeloom-engine-NAME`; `make` makes the engine, from the shared library that the arguments name.
pub fn command(name: &str, make: impl Fn(Option<&Path>) -> anyhow::Result<Arc<dyn Engine>>) -> ExitCode {
    let Args { verb: Verb::Run(args) } = Args::parse();
    let outcome = if args.backend == CPU || args.backend == name {
        commands::run::run(&args, Some(&make))
    } else {
        Err(anyhow::anyhow!("this command runs models on {name}, not on {}", args.backend))
    };
    match outcome {
        Ok(outcome) => outcome.into(),
        Err(error) => output::failure(&error),
    }
}

/// Starts the command of a backend with the arguments of this one.
pub(crate) fn start(backend: &str) -> anyhow::Result<Outcome> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if backend.is_empty() || !backend.chars().all(is_plain) {
        bail!("`{backend}` is no name of a backend");
    }
    let program = format!("typeloom-engine-{backend}{}", std::env::consts::EXE_SUFFIX);
    let Some(found) = find(&program) else {
        if OURS.contains(&backend) {
            bail!(
                "the backend `{backend}` is not installed: there is no `{program}` beside this command or on the path; \
                 in typeloom's repository, `cargo install --path engines/{backend}` installs it"
            );
        }
        let ours = OURS.join("`, `");
        bail!(
            "there is no backend `{backend}`: `{CPU}` is built in, `{ours}` can be installed, and others are commands on \
             the path, here `{program}`"
        );
    };
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let status = Command::new(&found).args(arguments).status();
    let status = status.with_context(|| format!("cannot start `{}`", found.display()))?;
    ended(status).with_context(|| format!("`{}` ended without an answer", found.display()))
}

fn ended(status: ExitStatus) -> anyhow::Result<Outcome> {
    match status.code() {
        Some(0) => Ok(Outcome::Typed),
        Some(1) => Ok(Outcome::Problems),
        Some(2) => Ok(Outcome::Unusable),
        Some(_) | None => bail!("{status}"),
    }
}

/// A program in the folder of this one, or on the path.
fn find(program: &str) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok().and_then(|this| this.parent().map(Path::to_path_buf));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    beside.into_iter().chain(on_path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
