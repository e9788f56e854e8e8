//! Compatibility modes, with the names of established schema registries.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use typeloom_pool::compat::Direction;

/// The condition that a new version must fulfil.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// None.
    None,
    /// It can replace the latest version for existing callers.
    #[default]
    Backward,
    /// It can replace every version for existing callers.
    BackwardTransitive,
    /// The latest version can replace it.
    Forward,
    /// Every version can replace it.
    ForwardTransitive,
    /// Both, with the latest version.
    Full,
    /// Both, with every version.
    FullTransitive,
}

/// The versions that a new one is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reach {
    /// The latest version.
    Latest,
    /// All versions.
    All,
}

impl Mode {
    /// All modes.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Backward,
        Self::BackwardTransitive,
        Self::Forward,
        Self::ForwardTransitive,
        Self::Full,
        Self::FullTransitive,
    ];

    /// The name, such as `backward_transitive`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Backward => "backward",
            Self::BackwardTransitive => "backward_transitive",
            Self::Forward => "forward",
            Self::ForwardTransitive => "forward_transitive",
            Self::Full => "full",
            Self::FullTransitive => "full_transitive",
        }
    }

    /// The direction of each comparison, and the versions to compare with; `None` if nothing is compared.
    #[must_use]
    pub const fn comparison(self) -> Option<(Direction, Reach)> {
        match self {
            Self::None => None,
            Self::Backward => Some((Direction::Backward, Reach::Latest)),
            Self::BackwardTransitive => Some((Direction::Backward, Reach::All)),
            Self::Forward => Some((Direction::Forward, Reach::Latest)),
            Self::ForwardTransitive => Some((Direction::Forward, Reach::All)),
            Self::Full => Some((Direction::Full, Reach::Latest)),
            Self::FullTransitive => Some((Direction::Full, Reach::All)),
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Error of a text that is not the name of a [`Mode`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no compatibility mode: {}", .0.escape_debug(), Mode::ALL.map(Mode::name).join(", "))]
pub struct ModeError(String);

impl FromStr for Mode {
    type Err = ModeError;

    /// Accepts `-` for `_`, and upper case.
    fn from_str(text: &str) -> Result<Self, ModeError> {
        let name = text.replace('-', "_").to_ascii_lowercase();
        Self::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| ModeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_in_entries() {
        for mode in Mode::ALL {
            assert_eq!(serde_json::to_value(mode).ok(), Some(mode.name().into()));
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert_eq!("FULL-TRANSITIVE".parse(), Ok(Mode::FullTransitive));
        assert!(
            "backwards".parse::<Mode>().is_err_and(|error| error.to_string().contains("full_transitive"))
        );
    }
}
