//! Text out: colours where they are wanted, exit codes.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use crate::args::Color;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// Every value has a proven type.
    Typed,
    /// A model has problems.
    Problems,
    /// A file could not be read.
    Unusable,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Typed => Self::SUCCESS,
            Outcome::Problems => Self::from(1),
            Outcome::Unusable => Self::from(2),
        }
    }
}

impl Color {
    /// What renderers are told.
    pub(crate) fn paint(self) -> typeloom::report::human::Color {
        if self.wanted() {
            typeloom::report::human::Color::Always
        } else {
            typeloom::report::human::Color::Never
        }
    }

    /// Whether standard output gets colours.
    fn wanted(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
        }
    }
}

/// Writes to standard output. A reader that has gone away (`| head`) ends the program quietly.
pub(crate) fn write(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}

/// Writes what is wrong with the command or a file to standard error.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut err = anstream::stderr().lock();
    // There is nobody left to tell if standard error is gone.
    let _ = writeln!(err, "typeloom: {error:#}");
}

/// Writes what the reader of an answer should know beside it to standard error.
pub(crate) fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    // As above.
    let _ = writeln!(err, "note: {text}");
}

/// Ends the program for a reason that is not in a model.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    complain(error);
    Outcome::Unusable.into()
}
