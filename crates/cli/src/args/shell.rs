//! `typeloom completions` and `typeloom man`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap_complete::Shell;

/// `typeloom completions`
#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// `typeloom man`
#[derive(Debug, ClapArgs)]
pub(crate) struct ManArgs {
    /// A command: `check`, `rust diff`; without one, the page of `typeloom`
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder: `typeloom.1`, `typeloom-check.1`, ...
    #[arg(long, short, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) output: Option<PathBuf>,
}
