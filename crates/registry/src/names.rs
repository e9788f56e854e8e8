//! Names of subjects and aliases, and references to versions.
//!
//! ```
//! use typeloom_registry::{Reference, Selector};
//!
//! let reference: Reference = "vision/resnet@7".parse()?;
//! assert_eq!((reference.subject.as_str(), &reference.selector), ("vision/resnet", &Selector::Version(7)));
//! assert_eq!("vision/resnet".parse::<Reference>()?.selector, Selector::Latest);
//! # Ok::<(), typeloom_registry::names::NameError>(())
//! ```

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Maximum number of bytes of the name of a subject.
pub const MAX_SUBJECT: usize = 200;
/// Maximum number of bytes of a segment of a subject, and of an alias.
pub const MAX_SEGMENT: usize = 64;

/// Error of a name or a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A text that is not the name of a subject.
    #[error(
        "`{}` is no name of a subject: segments of letters, digits, `.`, `_` and `-` that begin with a letter or digit and do \
         not end with `.`, separated by `/`, of at most {MAX_SEGMENT} bytes each and {MAX_SUBJECT} in total",
        .0.escape_debug()
    )]
    Subject(String),
    /// A text that is not an alias.
    #[error(
        "`{}` is no alias: letters, digits, `.`, `_` and `-`, beginning with a letter, of at most {MAX_SEGMENT} bytes, and not \
         `latest`",
        .0.escape_debug()
    )]
    Alias(String),
    /// A text after `@` that is neither a version nor an alias.
    #[error("`{}` is no version: a number from 1, an alias, or `latest`", .0.escape_debug())]
    Selector(String),
}

fn is_plain(text: &str) -> bool {
    text.len() <= MAX_SEGMENT
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// The name of a subject: `vision/resnet`.
///
/// A segment begins with a letter or digit, so it differs from the names in a subject's folder, which begin
/// with `_`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Subject(String);

impl Subject {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is one segment of a name.
    #[must_use]
    pub fn is_segment(text: &str) -> bool {
        is_plain(text) && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && !text.ends_with('.')
    }
}

impl FromStr for Subject {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_name = text.len() <= MAX_SUBJECT && text.split('/').all(Self::is_segment);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NameError::Subject(text.to_owned())) }
    }
}

/// A name for a version that can be moved to another one: `production`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Alias(String);

/// The reference to the version with the largest number.
pub(crate) const LATEST: &str = "latest";

impl Alias {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Alias {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let is_name = is_plain(text) && text.starts_with(|c: char| c.is_ascii_alphabetic()) && text != LATEST;
        if is_name { Ok(Self(text.to_owned())) } else { Err(NameError::Alias(text.to_owned())) }
    }
}

/// Implements conversions to and from strings by `FromStr`.
macro_rules! as_string {
    ($($name:ident)*) => {
        $(
            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(&self.0)
                }
            }

            impl From<$name> for String {
                fn from(name: $name) -> Self {
                    name.0
                }
            }

            impl TryFrom<String> for $name {
                type Error = NameError;

                fn try_from(text: String) -> Result<Self, NameError> {
                    text.parse()
                }
            }
        )*
    };
}

as_string! { Subject Alias }

/// The choice of a version of a subject.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Selector {
    /// The version with the largest number.
    #[default]
    Latest,
    /// The version with a number, from 1.
    Version(u64),
    /// The version of an alias.
    Alias(Alias),
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str(LATEST),
            Self::Version(number) => write!(f, "{number}"),
            Self::Alias(alias) => write!(f, "{alias}"),
        }
    }
}

impl FromStr for Selector {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text == LATEST {
            return Ok(Self::Latest);
        }
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
            return number
                .filter(|number| *number > 0)
                .map(Self::Version)
                .ok_or_else(|| NameError::Selector(text.to_owned()));
        }
        text.parse().map(Self::Alias).map_err(|_| NameError::Selector(text.to_owned()))
    }
}

/// A version of a subject: `subject`, `subject@latest`, `subject@7`, `subject@production`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reference {
    /// The subject.
    pub subject: Subject,
    /// The version of it; the latest one if the text names none.
    pub selector: Selector,
    /// Whether the text names a version.
    pub version: Named,
}

/// Whether a [`Reference`] names a version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Named {
    /// The text has no `@`.
    No,
    /// The text has a version after `@`.
    Yes,
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Named::No => write!(f, "{}", self.subject),
            Named::Yes => write!(f, "{}@{}", self.subject, self.selector),
        }
    }
}

impl FromStr for Reference {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Ok(match text.split_once('@') {
            None => Self { subject: text.parse()?, selector: Selector::Latest, version: Named::No },
            Some((subject, selector)) => {
                Self { subject: subject.parse()?, selector: selector.parse()?, version: Named::Yes }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_subjects_are_plain_segments() {
        for name in ["a", "vision/resnet-50", "A.b_c", "0/1"] {
            assert_eq!(name.parse::<Subject>().map(|it| it.to_string()), Ok(name.to_owned()));
        }
        let long = ["a"; 150].join("/");
        for name in [
            "", "/a", "a/", "a//b", ".", "..", "a/..", ".a", "_log", "a/_log", "a.", "a b", "ä", "a@1",
            "a\n", &long,
        ] {
            assert!(name.parse::<Subject>().is_err(), "{name}");
        }
        assert!("a".repeat(MAX_SEGMENT).parse::<Subject>().is_ok());
        assert!("a".repeat(MAX_SEGMENT + 1).parse::<Subject>().is_err());
    }

    #[test]
    fn references_name_a_version_or_the_latest_one() {
        let of = |text: &str| text.parse::<Reference>().map(|it| it.selector);
        assert_eq!(of("a"), Ok(Selector::Latest));
        assert_eq!(of("a@latest"), Ok(Selector::Latest));
        assert_eq!(of("a@7"), Ok(Selector::Version(7)));
        assert_eq!(of("a@production"), "production".parse().map(Selector::Alias));
        for text in ["a@", "a@0", "a@7x", "a@-1", "a@+1", "a@99999999999999999999", "a@b@c", "@1", "a@.x"] {
            assert!(of(text).is_err(), "{text}");
        }
        for text in ["a", "a/b@latest", "a@7", "a@x"] {
            assert_eq!(text.parse::<Reference>().map(|it| it.to_string()), Ok(text.to_owned()));
        }
    }
}
