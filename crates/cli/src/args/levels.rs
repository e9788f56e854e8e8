//! `--allow`, `--warn` and `--deny`, whose order on the command line matters.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};
use typeloom_project::parts::settings::effective::Sourced;
use typeloom_project::parts::settings::levels::{Level, Rule, Selector};

/// The severity rules of a command line, in the order of its options.
#[derive(Clone, Debug, Default)]
pub(crate) struct LevelArgs {
    pub(crate) rules: Vec<Rule>,
}

impl LevelArgs {
    /// The rules as settings with the command line as their source.
    pub(crate) fn settings(&self) -> Vec<Sourced<Rule>> {
        self.rules.iter().cloned().map(Sourced::of_command_line).collect()
    }
}

/// The options, with their short forms and help.
const OPTIONS: [(Level, char, &str); 3] = [
    (
        Level::Allow,
        'A',
        "Do not report the problems with this code; a glob (`*-mismatch`), a group (`typeloom explain --list`), `all` or \
         `warnings` selects several codes. The last of --allow, --warn and --deny decides",
    ),
    (Level::Warn, 'W', "Report these problems as warnings"),
    (Level::Deny, 'D', "Report these problems as errors: `-D warnings`"),
];

impl Args for LevelArgs {
    fn augment_args(command: Command) -> Command {
        command.args(OPTIONS.map(|(level, short, help)| {
            Arg::new(level.name())
                .long(level.name())
                .short(short)
                .value_name("CODE")
                .help_heading("Severities and exceptions")
                .action(ArgAction::Append)
                .value_parser(|text: &str| Selector::parse(text))
                .help(help)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LevelArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut args = Self::default();
        args.update_from_arg_matches(matches)?;
        Ok(args)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        let mut found: Vec<(usize, Rule)> = Vec::new();
        for (level, ..) in OPTIONS {
            let selectors = matches.get_many::<Selector>(level.name()).into_iter().flatten();
            let positions = matches.indices_of(level.name()).into_iter().flatten();
            let rules = selectors.map(|selector| Rule { selector: selector.clone(), level });
            found.extend(positions.zip(rules));
        }
        found.sort_by_key(|(position, _)| *position);
        self.rules.extend(found.into_iter().map(|(_, rule)| rule));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(arguments: &[&str]) -> Result<Vec<String>, Error> {
        let command = LevelArgs::augment_args(Command::new("typeloom"));
        let matches =
            command.try_get_matches_from(std::iter::once("typeloom").chain(arguments.iter().copied()))?;
        let args = LevelArgs::from_arg_matches(&matches)?;
        Ok(args.rules.iter().map(|rule| format!("{} {}", rule.level, rule.selector)).collect())
    }

    #[test]
    fn the_order_of_the_options_is_kept() -> Result<(), Error> {
        let found = rules(&["-D", "warnings", "--allow=types", "-W", "dim-mismatch", "--deny", "*-rank"])?;
        assert_eq!(found, ["deny warnings", "allow types", "warn dim-mismatch", "deny *-rank"]);
        Ok(())
    }

    #[test]
    fn an_unknown_code_is_an_error() {
        let error = rules(&["-A", "wrong-rnak"]).map(|_| ()).map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("did you mean `wrong-rank`?")));
    }
}
