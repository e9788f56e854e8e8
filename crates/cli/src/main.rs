//! The `typeloom` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    typeloom_cli::command()
}
