//! Arguments of the program.

use anyhow::{Context, Result, bail};

/// The usage, for errors.
const USAGE: &str = "usage: typeloom-bench-guards [--only WORD]... [--bless [--reason TEXT] | --repeat TIMES]
       typeloom-bench-guards run FAMILY SIZE";

/// The parsed arguments.
#[derive(Debug, PartialEq)]
pub(crate) struct Arguments {
    pub(crate) command: Command,
}

/// The operation. Without words in `only`, it is on all families.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// Process one input, for callgrind.
    Run { family: String, size: usize },
    /// Compare the counts with the recorded ones.
    Check { only: Vec<String> },
    /// Record the counts.
    Bless { only: Vec<String>, reason: Option<String> },
    /// Count several times.
    Repeat { only: Vec<String>, times: usize },
}

impl Arguments {
    /// Parses the arguments after the name of the program.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut arguments = arguments.peekable();
        if arguments.next_if(|word| word == "run").is_some() {
            let (Some(family), Some(size), None) = (arguments.next(), arguments.next(), arguments.next())
            else {
                bail!("{USAGE}")
            };
            let size = size.parse().context("a size is a number")?;
            return Ok(Self { command: Command::Run { family, size } });
        }
        let (mut only, mut is_blessed, mut reason, mut times) = (Vec::new(), false, None, None);
        while let Some(flag) = arguments.next() {
            let mut value = || arguments.next().with_context(|| format!("{flag} needs a value\n{USAGE}"));
            match flag.as_str() {
                "--only" => only.push(value()?),
                "--bless" => is_blessed = true,
                "--reason" => reason = Some(value()?),
                "--repeat" => times = Some(value()?.parse().context("a number of times")?),
                _ => bail!("{USAGE}"),
            }
        }
        let command = match (is_blessed, reason, times) {
            (true, reason, None) => Command::Bless { only, reason },
            (false, None, Some(times)) => Command::Repeat { only, times },
            (false, None, None) => Command::Check { only },
            _ => bail!("{USAGE}"),
        };
        Ok(Self { command })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Command> {
        Some(Arguments::parse(text.split_whitespace().map(str::to_owned)).ok()?.command)
    }

    #[test]
    fn each_form_is_parsed() {
        assert_eq!(parsed(""), Some(Command::Check { only: vec![] }));
        let only = vec!["check".to_owned(), "pool".to_owned()];
        assert_eq!(parsed("--only check --only pool"), Some(Command::Check { only }));
        let reason = Some("faster".to_owned());
        assert_eq!(parsed("--bless --reason faster"), Some(Command::Bless { only: vec![], reason }));
        let run = Command::Run { family: "check/chain".to_owned(), size: 100 };
        assert_eq!(parsed("run check/chain 100"), Some(run));
    }

    #[test]
    fn incomplete_and_contradictory_arguments_are_refused() {
        for text in ["run x", "run x y", "--reason because", "--only", "--bless --repeat 3", "chain"] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
