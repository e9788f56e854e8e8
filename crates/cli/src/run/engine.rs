//! Finds and starts backends that are separate commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use typeloom_project::parts::runtime::engine::Engine;

use crate::args::CPU;
use crate::exit::Outcome;

/// The engines whose crates are in this repository, each in `engines/NAME`.
const REPOSITORY_ENGINES: &[&str] = &["ort", "tract"];

/// Creates an engine; the argument is the shared library to load, if given.
pub(crate) type Make<'m> = &'m dyn Fn(Option<&Path>) -> anyhow::Result<Arc<dyn Engine>>;

/// Starts the command of a backend with the arguments of this one, without the name of the program.
pub(crate) fn start(backend: &str, arguments: &[OsString]) -> anyhow::Result<Outcome> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if backend.is_empty() || !backend.chars().all(is_plain) {
        bail!("`{backend}` is no name of a backend");
    }
    let program = format!("typeloom-engine-{backend}{}", std::env::consts::EXE_SUFFIX);
    let Some(found) = find(&program) else {
        if REPOSITORY_ENGINES.contains(&backend) {
            bail!(
                "the backend `{backend}` is not installed: there is no `{program}` in the folder of this command or on the path; \
                 in typeloom's repository, `cargo install --path engines/{backend}` installs it"
            );
        }
        let ours = REPOSITORY_ENGINES.join("`, `");
        bail!(
            "there is no backend `{backend}`: `{CPU}` is built in, `{ours}` can be installed, and others are commands on \
             the path, here `{program}`"
        );
    };
    let status = Command::new(&found).args(arguments).status();
    let status = status.with_context(|| format!("cannot start `{}`", found.display()))?;
    outcome(status).with_context(|| format!("`{}` ended without an answer", found.display()))
}

fn outcome(status: ExitStatus) -> anyhow::Result<Outcome> {
    match status.code() {
        Some(0) => Ok(Outcome::Typed),
        Some(1) => Ok(Outcome::Problems),
        Some(2) => Ok(Outcome::Unusable),
        Some(_) | None => bail!("{status}"),
    }
}

/// A program in the folder of this one, or on the path.
fn find(program: &str) -> Option<PathBuf> {
    let own_folder = std::env::current_exe().ok().and_then(|this| this.parent().map(Path::to_path_buf));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    own_folder.into_iter().chain(on_path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
