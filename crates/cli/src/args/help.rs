//! The help of `typeloom`: first the commands of most users, then the others.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory as _};

use super::Args;

/// The commands that the help lists first, in this order.
const FIRST: [&str; 9] = ["check", "infer", "explain", "fix", "view", "describe", "diff", "run", "registry"];

/// All commands, with this help.
pub(super) fn command() -> Command {
    let mut command = Args::command();
    // Adds the command `help`.
    command.build();
    let style = *command.get_styles().get_header();
    let heading = |text: &str| format!("{style}{text}:{style:#}\n");
    let more = hiding(command.clone(), |name| FIRST.contains(&name));
    let more = more.help_template("{subcommands}").render_help();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{subcommands}}\n\n{}{}\n{}{{options}}{{after-help}}",
        heading("Commands"),
        heading("More commands"),
        more.ansi(),
        heading("Options"),
    );
    let command = hiding(command, |name| !FIRST.contains(&name));
    command.help_template(StyledStr::from(template)).after_help(
        "`typeloom help COMMAND` has the arguments of a command. `typeloom check` checks the current folder.",
    )
}

/// The command with some of its commands hidden.
fn hiding(command: Command, is_hidden: impl Fn(&str) -> bool) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names
        .into_iter()
        .filter(|name| is_hidden(name))
        .fold(command, |all, name| all.mut_subcommand(name, |command| command.hide(true)))
}
