//! Errors of files, settings and arguments. Problems of a model are diagnostics, not errors.

use std::io;
use std::path::PathBuf;

use typeloom::check::CheckError;
use typeloom::targets::TargetError;
use typeloom_ops::described::DescribeError;
use typeloom_settings::baseline::BaselineError;
use typeloom_settings::file::FileError;

/// The reason why a file is not checked. `Display` prints what was tried, and
/// [`source`](std::error::Error::source) the reason.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read `{name}`")]
    Read {
        /// The name in texts.
        name: String,
        /// The path; `None` for standard input.
        path: Option<PathBuf>,
        #[source]
        source: io::Error,
    },
    /// A settings file has an error.
    #[error(transparent)]
    Settings(#[from] FileError),
    /// A file that has to contain settings has none.
    #[error("`{}` has no table `tool.typeloom`", path.display())]
    NoSettings {
        /// The file.
        path: PathBuf,
    },
    /// A file does not describe operators.
    #[error("`{}`, {reason}", path.display())]
    Operators {
        /// The file.
        path: PathBuf,
        /// The error with its line.
        reason: Box<DescribeError>,
    },
    /// There is no target with this name.
    #[error("there is no target `{name}`{suggestion}; `typeloom targets` lists all")]
    Target {
        /// The name.
        name: String,
        /// The nearest name as a clause; may be empty.
        suggestion: String,
    },
    /// A file has no facts about a target.
    #[error("`{}`", path.display())]
    TargetFile {
        /// The file.
        path: PathBuf,
        #[source]
        source: TargetError,
    },
    /// A text is not a glob.
    #[error("`{text}` is not a glob: {reason}")]
    Glob {
        /// The text.
        text: String,
        /// The reason.
        reason: String,
    },
    /// An option of a check is wrong for the model.
    #[error("cannot check `{name}`")]
    Check {
        /// The name of the model.
        name: String,
        #[source]
        source: CheckError,
    },
    /// A changed model cannot be written.
    #[error("cannot change `{name}`")]
    Change {
        /// The name of the model.
        name: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A baseline cannot be read.
    #[error("cannot read the baseline `{}`; --update-baseline writes a new one", path.display())]
    ReadBaseline {
        /// The file.
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file is not a baseline.
    #[error("`{}`", path.display())]
    Baseline {
        /// The file.
        path: PathBuf,
        #[source]
        source: BaselineError,
    },
    /// An interface cannot be read or written.
    #[cfg(feature = "interfaces")]
    #[error("cannot {attempt} `{name}`")]
    Interface {
        /// The attempt: `read`, `describe` or `read the interface of`.
        attempt: &'static str,
        /// The file.
        name: String,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl Error {
    /// The error with its reasons, separated by colons.
    #[must_use]
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(reason) = next {
            text.push_str(": ");
            text.push_str(&reason.to_string());
            next = reason.source();
        }
        text
    }
}
