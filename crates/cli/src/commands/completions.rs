//! `typeloom completions SHELL`: a script that completes commands and options.

use clap::CommandFactory as _;

use crate::args::{Args, CompletionsArgs};
use crate::exit::Outcome;
use crate::output::write_plain;

pub(crate) fn run(args: &CompletionsArgs) -> anyhow::Result<Outcome> {
    let mut command = Args::command();
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    write_plain(&script)?;
    Ok(Outcome::Typed)
}
