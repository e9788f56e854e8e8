//! Parses the arguments of one command without the definitions of the others.
//!
//! Building the definitions of all commands takes longer than checking a small model, and `check` is the
//! command that tools start for each file.

use std::ffi::OsString;

use clap::{FromArgMatches as _, Parser, Subcommand};

use super::{Args, CheckArgs, Command, CommonArgs, help, other_names};
use crate::exit::Outcome;

/// As [`Args`], with one command.
#[derive(Debug, Parser)]
#[command(name = "typeloom", version)]
struct OneCommand {
    #[command(subcommand)]
    command: Check,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Subcommand)]
enum Check {
    Check(CheckArgs),
}

/// The arguments of this process. `Err` is the exit code after `--help`, `--version`, or arguments that are
/// not understood.
pub(crate) fn parse(arguments: &[OsString]) -> Result<Args, u8> {
    let is_check = arguments.get(1).is_some_and(|command| command == "check");
    // The other parser writes help and errors, because it knows all commands.
    match is_check.then(|| OneCommand::try_parse_from(arguments)) {
        Some(Ok(OneCommand { command: Check::Check(check), common })) => {
            Ok(Args { command: Command::Check(check), common })
        }
        Some(Err(_)) | None => all(arguments).map_err(|message| show(&message)),
    }
}

/// The arguments of any command.
fn all(arguments: &[OsString]) -> Result<Args, clap::Error> {
    let mut command = help::command();
    let matches = command.try_get_matches_from_mut(arguments);
    matches.and_then(|matches| Args::from_arg_matches(&matches)).map_err(|mut message| {
        other_names::advise(&mut message, &command, arguments);
        message
    })
}

/// Shows the help, the version, or an error of the arguments. Returns the exit code.
fn show(message: &clap::Error) -> u8 {
    match message.print() {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Outcome::Unusable.code(),
        Ok(()) | Err(_) => u8::try_from(message.exit_code()).unwrap_or(Outcome::Unusable.code()),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, Parser as _};

    use super::*;

    #[test]
    fn the_command_has_the_arguments_of_the_parser_of_all() {
        let arguments = |all: clap::Command| -> Vec<String> {
            let check = all.find_subcommand("check").expect("the command").clone();
            // The position of the common arguments in the help depends on the number of commands.
            let common = all.get_arguments().map(|argument| argument.get_id().to_string());
            check.get_arguments().map(|argument| format!("{argument:?}")).chain(common).collect()
        };
        assert_eq!(arguments(OneCommand::command()), arguments(Args::command()));
        let line = ["typeloom", "check", "a.onnx", "--types", "t.json", "-q", "--jobs", "3", "--", "-b"];
        let one = parse(&line.map(OsString::from)).expect("the arguments are understood");
        assert_eq!(format!("{one:?}"), format!("{:?}", Args::parse_from(line)));
    }
}
