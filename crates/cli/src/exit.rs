//! The exit codes of all commands.

/// The result of a command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Outcome {
    /// The command found nothing to report: every value has a proven type, the versions are compatible.
    Typed,
    /// A model has problems, or two versions are not compatible.
    Problems,
    /// A file or the command line is not usable.
    Unusable,
    /// Ctrl-C, or a request to end, before the command was done.
    Interrupted,
}

impl Outcome {
    const ALL: [Self; 4] = [Self::Typed, Self::Problems, Self::Unusable, Self::Interrupted];

    /// The exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Typed => 0,
            Self::Problems => 1,
            Self::Unusable => 2,
            Self::Interrupted => 130,
        }
    }

    /// The meaning of the exit code.
    const fn meaning(self) -> &'static str {
        match self {
            Self::Typed => "no problems, or warnings only",
            Self::Problems => {
                "a problem of a model: an error of `check`, `infer` or `view`, a model that cannot be repaired, compiled or run, \
                 outputs that differ from those of a reference, a breaking difference, a damaged registry"
            }
            Self::Unusable => {
                "a file that cannot be read or written, a settings file or an argument with an error"
            }
            Self::Interrupted => "the command was interrupted",
        }
    }
}

/// The table of exit codes, in Markdown.
pub fn table() -> String {
    let row = |outcome: Outcome| format!("| {} | {} |\n", outcome.code(), outcome.meaning());
    format!("| exit code | meaning |\n|---|---|\n{}", Outcome::ALL.map(row).concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_the_table() {
        let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ci.md");
        let guide = std::fs::read_to_string(guide).unwrap_or_default();
        assert!(guide.contains(&table()), "docs/ci.md does not contain\n{}", table());
    }
}
