//! Python environment of the reference, created next to the sources on first use.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Creates the environment with the pinned packages, unless it exists.
pub fn prepare() -> Result<()> {
    if interpreter().exists() {
        return Ok(());
    }
    eprintln!("making bench/.venv with the pinned reference");
    run(Command::new("python3").args(["-m", "venv", ".venv"]))?;
    run(&mut command(&["-m", "pip", "install", "--quiet", "-r", "requirements.txt"]))
}

/// A command that runs the environment's Python in the folder of the bench.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(interpreter());
    command.args(arguments).current_dir(here());
    command
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.current_dir(here()).status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}

fn interpreter() -> PathBuf {
    here().join(".venv/bin/python")
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
